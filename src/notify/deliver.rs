//! Tells through each channel, all at the same time, none longer than its deadline.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::config::{Channel, Field, Protocol, Template, Way};
use crate::program::Program;
use crate::text::one_line;
use crate::tmux::{Answer, Batch, Look, Server, Viewer};
use crate::{paths, tmux, tty};

use super::message::{Message, for_markup, for_terminal, for_terminal_notifier, for_tmux};

const TMUX_LIMIT: Duration = Duration::from_secs(3);

/// The players of sounds, and what each plays where no file is named.
const PLAYERS: [(&str, &[&str], Option<&str>); 4] = [
    ("canberra-gtk-play", &["-i", "message-new-instant"], Some("-f")),
    ("afplay", &["/System/Library/Sounds/Glass.aiff"], None),
    ("paplay", &["/usr/share/sounds/freedesktop/stereo/message.oga"], None),
    ("pw-play", &["/usr/share/sounds/freedesktop/stereo/message.oga"], None),
];

/// What a notification is about, for all channels.
#[derive(Debug)]
pub(super) struct Delivery<'a> {
    pub(super) message: &'a Message,
    /// Where clients and the pane are reached; a trial may be made outside of tmux.
    pub(super) tmux: Option<(&'a Server, &'a Look)>,
    /// More that a command may want to know, as variables.
    pub(super) facts: Vec<(&'static str, OsString)>,
}

/// How it went, or what was wrong. The details may hold what a program has printed, so they are for
/// the person and not for a log; the word before is for both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) what: String,
    pub(super) details: String,
}

impl Failure {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), details: String::new() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(match error.kind() {
            io::ErrorKind::TimedOut => "not done in time".to_owned(),
            io::ErrorKind::NotFound => "no such program".to_owned(),
            _ => error.to_string(),
        })
    }
}

pub(super) type Outcome = Result<String, Failure>;

impl Delivery<'_> {
    pub(super) fn through(&self, channels: &[&Channel]) -> Vec<Outcome> {
        thread::scope(|scope| {
            let start =
                |channel| thread::Builder::new().spawn_scoped(scope, move || self.tell(channel));
            let started: Vec<_> = channels.iter().copied().map(start).collect();
            let finish = |thread: io::Result<thread::ScopedJoinHandle<'_, Outcome>>| {
                thread?.join().unwrap_or_else(|_| Err(Failure::new("broke")))
            };
            started.into_iter().map(finish).collect()
        })
    }

    fn tell(&self, channel: &Channel) -> Outcome {
        let text = self.message.text(&channel.template);
        let heading = |title: &Template| self.message.text(title);
        match &channel.way {
            Way::Tmux { show_ms } => self.show(&text, *show_ms),
            Way::Bell => self.ring(),
            Way::Terminal { protocol, title } => self.write(*protocol, &heading(title), &text),
            Way::NotifySend { title } => {
                let words = ["--app-name=cld", "--", &heading(title), &for_markup(&text)];
                self.run("notify-send", &words, channel, &text)
            }
            Way::TerminalNotifier { title } => {
                let (title, text) =
                    (for_terminal_notifier(&heading(title)), for_terminal_notifier(&text));
                let words = ["-title", &title, "-message", &text, "-group", &self.id()];
                self.run("terminal-notifier", &words, channel, &text)
            }
            Way::Sound { file } => self.play(file, channel),
            Way::Command(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let [program, arguments @ ..] = words.as_slice() else {
                    return Err(Failure::new("no command"));
                };
                self.run(program, arguments, channel, &text)
            }
        }
    }

    /// A message in the status line of every client, one request each: a client that is gone by now
    /// must not cost the others theirs.
    fn show(&self, text: &str, show_ms: u64) -> Outcome {
        let (server, look) = self.tmux()?;
        let text = for_tmux(text);
        let version = tmux::version_number(&look.version);
        let shown = look.screens().filter(|client| {
            let batch = shown(client, &text, show_ms, version);
            matches!(server.run(&batch, Instant::now() + TMUX_LIMIT), Answer::Done(_))
        });
        told(shown.count())
    }

    fn ring(&self) -> Outcome {
        let (_, look) = self.tmux()?;
        tty::write(Path::new(&look.tty), b"\x07")?;
        Ok(format!("rung in {}", look.pane))
    }

    fn write(&self, protocol: Protocol, title: &str, text: &str) -> Outcome {
        let (_, look) = self.tmux()?;
        let id = self.id();
        let mut failure = None;
        let reached = look.screens().filter(|client| {
            let bytes = for_terminal(client, protocol, &id, title, text);
            let written = tty::write(Path::new(&client.tty), &bytes);
            written.map_err(|error| failure = Some(error)).is_ok()
        });
        match (reached.count(), failure) {
            (0, Some(error)) => Err(error.into()),
            (count, _) => told(count),
        }
    }

    fn play(&self, file: &str, channel: &Channel) -> Outcome {
        let found = PLAYERS.iter().find(|(player, _, _)| is_installed(player));
        let (player, usual, flag) = found.ok_or_else(|| Failure::new("no program plays sounds"))?;
        let file = from_tilde(file).into_os_string();
        let file = file.to_str().ok_or_else(|| Failure::new("the name of the file is no text"))?;
        let words: Vec<&str> = match file {
            "" => usual.to_vec(),
            file => flag.iter().copied().chain([file]).collect(),
        };
        self.run(player, &words, channel, "")
    }

    fn run(&self, program: &str, arguments: &[&str], channel: &Channel, text: &str) -> Outcome {
        let mut program = Program::new(from_tilde(program), arguments);
        program.environment = self.variables(&channel.name, text);
        let finished = program.run(channel.deadline * paths::patience())?;
        match finished.code {
            Some(0) => Ok("done".to_owned()),
            code => Err(Failure {
                what: code.map_or("killed".to_owned(), |code| format!("exit code {code}")),
                details: one_line(&finished.err, 200),
            }),
        }
    }

    fn variables(&self, channel: &str, text: &str) -> Vec<(&'static str, Option<OsString>)> {
        let field = |field| OsString::from(self.message.field(field));
        let mut variables = vec![
            ("CLD_CHANNEL", channel.into()),
            ("CLD_MESSAGE", text.into()),
            ("CLD_KIND", self.message.kind.word().into()),
            ("CLD_PROJECT", field(Field::Project)),
            ("CLD_TITLE", field(Field::Title)),
            ("CLD_REASON", field(Field::Reason)),
            ("CLD_CONTEXT", field(Field::Context)),
            ("CLD_WINDOW", field(Field::Window)),
        ];
        variables.extend(self.facts.iter().cloned());
        variables.into_iter().map(|(name, value)| (name, Some(value))).collect()
    }

    /// A newer notification of a pane replaces the one before.
    fn id(&self) -> String {
        self.tmux.map_or("cld".to_owned(), |(_, look)| format!("cld{}", look.pane.0))
    }

    fn tmux(&self) -> Result<(&Server, &Look), Failure> {
        self.tmux.ok_or_else(|| Failure::new("not inside tmux"))
    }
}

fn told(clients: usize) -> Outcome {
    match clients {
        0 => Err(Failure::new("no client is attached")),
        1 => Ok("told 1 client".to_owned()),
        count => Ok(format!("told {count} clients")),
    }
}

/// Versions of tmux differ in what they take. One that has no number is newer than all that have.
fn shown(client: &Viewer, text: &str, show_ms: u64, version: Option<(u32, u32)>) -> Batch {
    let version = version.unwrap_or((u32::MAX, 0));
    let milliseconds = show_ms.to_string();
    let mut words = vec!["display-message"];
    if version >= (3, 2) {
        words.extend(["-d", &milliseconds]);
    }
    // In 3.2 alone, `-c` takes no name.
    if version != (3, 2) {
        words.extend(["-c", &client.name]);
    }
    // Without it the panes of the client stand still until the message is gone.
    if version >= (3, 6) {
        words.push("-C");
    }
    words.extend(["--", text]);
    let mut batch = Batch::default();
    batch.push_words(&words);
    batch
}

fn is_installed(program: &str) -> bool {
    which::which_in(program, Some(paths::search_path()), "/").is_ok()
}

/// What a shell would make of `~/` in a file that is read without one.
fn from_tilde(name: &str) -> PathBuf {
    match (name.strip_prefix("~/"), paths::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_tmux_gets_the_words_it_takes() {
        let client = Viewer {
            name: "/dev/pts/3".to_owned(),
            tty: String::new(),
            is_control: false,
            is_focused: true,
            window: String::new(),
            terminal: String::new(),
            term: String::new(),
        };
        for (version, expected) in [
            (Some((3, 1)), "display-message -c /dev/pts/3 -- x"),
            (Some((3, 2)), "display-message -d 1500 -- x"),
            (Some((3, 3)), "display-message -d 1500 -c /dev/pts/3 -- x"),
            (Some((3, 6)), "display-message -d 1500 -c /dev/pts/3 -C -- x"),
            (None, "display-message -d 1500 -c /dev/pts/3 -C -- x"),
        ] {
            assert_eq!(shown(&client, "x", 1500, version).words().join(" "), expected);
        }
    }
}
