//! `[notify]`: through which channels you are told of a wait that nobody sees, and when not.

use std::time::Duration;

use toml::de::DeValue;

use crate::session::WaitKind;
use crate::spelling;
use crate::text::one_line;

use super::reader::Section;
use super::show::string;
use super::template::Template;
use super::values::{Quiet, Value, one_of, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    pub quiet: Option<Quiet>,
    pub min_gap: Duration,
    /// The ones to use, in the order they are named in.
    pub channels: Vec<Channel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    pub name: String,
    pub way: Way,
    pub kinds: Vec<WaitKind>,
    pub template: Template,
    /// How long it may take before it is given up.
    pub deadline: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// In the status line of every client.
    Tmux {
        show_ms: u64,
    },
    /// The bell of the pane, as if Claude itself had rung it.
    Bell,
    /// A notification of the desktop, shown by the terminal itself.
    Terminal {
        protocol: Protocol,
        title: Template,
    },
    NotifySend {
        title: Template,
    },
    TerminalNotifier {
        title: Template,
    },
    /// A file, or the sound the system has for messages.
    Sound {
        file: String,
    },
    /// Program and arguments.
    Command(Vec<String>),
}

/// The escape sequence a terminal takes a notification by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Whichever the terminal of a client is known to take.
    Auto,
    Osc9,
    Osc99,
    Osc777,
}

impl Protocol {
    const ALL: [(&'static str, Self); 4] = [
        ("auto", Self::Auto),
        ("osc9", Self::Osc9),
        ("osc99", Self::Osc99),
        ("osc777", Self::Osc777),
    ];
}

impl Value for Protocol {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let word = one_of(text(value)?, Self::ALL.map(|(word, _)| word))?;
        let known = Self::ALL.iter().find(|(known, _)| *known == word);
        Ok(known.map_or(Self::Auto, |(_, protocol)| *protocol))
    }

    fn write(&self) -> String {
        let known = Self::ALL.iter().find(|(_, protocol)| protocol == self);
        string(known.map_or("auto", |(word, _)| word))
    }
}

/// The channels that need no table of their own in the file.
const BUILT_IN: [&str; 6] =
    ["tmux", "bell", "terminal", "notify-send", "terminal-notifier", "sound"];

const USUAL_DEADLINE: Duration = Duration::from_secs(5);
/// tmux shows nothing else in the panes of a client while it shows a message.
const USUAL_SHOW_MS: u64 = 1500;

impl Notify {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        let (names, kinds) = (names(section), kinds(section));
        let quiet = section.get(
            "quiet",
            None,
            "Hours in which you are told of nothing, such as \"22:00-08:00\", or \"off\"",
        );
        let min_gap = section.get(
            "min_gap",
            Duration::ZERO,
            "The least time between two notifications, such as \"30s\"; what comes earlier is dropped",
        );
        let mut known: Vec<Channel> =
            BUILT_IN.iter().map(|name| channel(section, name, &kinds)).collect();
        for name in section.other_tables() {
            known.push(channel(section, &name, &kinds));
        }
        let channels = chosen(section, &names, &known);
        Self { quiet, min_gap, channels }
    }

    /// The kinds of waits of which a channel may tell. The tables of the channels are not read.
    pub(super) fn read_kinds(section: &mut Section<'_, '_>) -> Vec<WaitKind> {
        if names(section).is_empty() { Vec::new() } else { kinds(section) }
    }
}

fn names(section: &mut Section<'_, '_>) -> Vec<String> {
    section.get(
        "channels",
        vec!["tmux".to_owned()],
        "How you are told of a wait in a window nobody looks at: \"tmux\", \"bell\", \"terminal\", \"notify-send\", \"terminal-notifier\", \"sound\", or a table [notify.NAME] with a command",
    )
}

fn kinds(section: &mut Section<'_, '_>) -> Vec<WaitKind> {
    section.get("kinds", WaitKind::ALL.to_vec(), "The kinds of waits you are told of")
}

fn chosen(section: &mut Section<'_, '_>, names: &[String], known: &[Channel]) -> Vec<Channel> {
    let mut chosen: Vec<Channel> = Vec::new();
    for name in names {
        match known.iter().find(|channel| channel.name == *name) {
            Some(channel) if chosen.contains(channel) => {}
            Some(Channel { way: Way::Command(words), .. }) if words.is_empty() => {
                let name = one_line(name, 40);
                let message =
                    format!("`notify.channels` names \"{name}\", whose table has no command");
                section.object("channels", message);
            }
            Some(channel) => chosen.push(channel.clone()),
            None => {
                let near = spelling::nearest(name, known.iter().map(|one| one.name.as_str()));
                let hint = near.map_or_else(
                    || {
                        format!(
                            "a command needs a table [notify.{}]",
                            super::show::key(&one_line(name, 40))
                        )
                    },
                    |near| format!("did you mean \"{near}\"?"),
                );
                let name = one_line(name, 40);
                section.object("channels", format!("`notify.channels` names \"{name}\"; {hint}"));
            }
        }
    }
    chosen
}

fn channel(section: &mut Section<'_, '_>, name: &str, kinds: &[WaitKind]) -> Channel {
    section.section(name, |section| {
        let way = way(section, name);
        let (usual, about) = match way {
            Way::Tmux { .. } => (
                "Claude in {window} {reason}: {context}",
                "The text; it may name {project} {title} {reason} {context} {window}",
            ),
            Way::Command(_) => ("{project} {reason}: {context}", "The text in $CLD_MESSAGE"),
            _ => ("{title} {reason}: {context}", "The text"),
        };
        let says_nothing = matches!(way, Way::Bell | Way::Sound { .. });
        let usual = Template::plain(usual);
        let template = if says_nothing { usual } else { section.get("template", usual, about) };
        let own: Vec<WaitKind> =
            section.get("kinds", WaitKind::ALL.to_vec(), "Which of the kinds above it tells of");
        let kinds = kinds.iter().copied().filter(|kind| own.contains(kind)).collect();
        let is_program = !matches!(way, Way::Tmux { .. } | Way::Bell | Way::Terminal { .. });
        let deadline = match is_program {
            true => section.get("deadline", USUAL_DEADLINE, "When the program is killed"),
            false => USUAL_DEADLINE,
        };
        Channel { name: name.to_owned(), way, kinds, template, deadline }
    })
}

fn way(section: &mut Section<'_, '_>, name: &str) -> Way {
    let title = |section: &mut Section<'_, '_>| {
        section.get("title", Template::plain("Claude: {project}"), "The heading")
    };
    match name {
        "tmux" => Way::Tmux {
            show_ms: section.get(
                "show_ms",
                USUAL_SHOW_MS,
                "How long the message stays, in milliseconds; before tmux 3.6 the panes stand still meanwhile",
            ),
        },
        "bell" => Way::Bell,
        "terminal" => Way::Terminal {
            protocol: section.get(
                "protocol",
                Protocol::Auto,
                "How the terminal is told: \"osc9\", \"osc99\", \"osc777\", or \"auto\" for what it is known to take",
            ),
            title: title(section),
        },
        "notify-send" => Way::NotifySend { title: title(section) },
        "terminal-notifier" => Way::TerminalNotifier { title: title(section) },
        "sound" => Way::Sound {
            file: section.get(
                "file",
                String::new(),
                "The sound to play; empty for the one the system has for messages",
            ),
        },
        _ => Way::Command(section.get(
            "command",
            Vec::new(),
            "Program and arguments, started without a shell; what it is about is in $CLD_* variables",
        )),
    }
}
