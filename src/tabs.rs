//! How the tab of a window shows what the sessions in its panes are doing. Pure.
//!
//! The formats that compute it stand once in the tmux server, as options that only cld reads, and
//! requests name them. They are kept under a word that is made from all of them: a server that
//! knows the word has exactly these formats.

use crate::config::{TabStyle, Tabs};
use crate::pane::{ACTIVITY, ASKING, ATTENTION, FINISHED, SOON, WINDOW_STATE};
use crate::tmux::Batch;

/// The styles of a window's tab, and where its own ones are kept while cld sets them.
const STYLES: [(&str, &str); 2] = [
    ("window-status-style", "@cld-own-style"),
    ("window-status-current-style", "@cld-own-current-style"),
];

/// Server options: what the window of the target shows, in which style, whether that is the
/// theme's, whether somebody looks at it, and the program that is started for a wait.
const STATE: &str = "@cld-state";
const STYLE: &str = "@cld-style";
const THEMED: &str = "@cld-themed";
const SEEN: &str = "@cld-seen";
const PROGRAM: &str = "@cld-program";

/// The word is another name of a command that does nothing, at an index of its own. A command with
/// arguments would not do: tmux 3.3 to 3.7 never free what they have read by another name.
const ALIAS: &str = "command-alias[990]";
const NOTHING: &str = "start-server";

/// Since 3.4 a client whose terminal is not in front does not look, and one that is a program does
/// not either. Before, a window is looked at when it is the current one of any client.
///
/// The loop also visits clients that have only just connected. Those have no name, and 3.4 to 3.6
/// crash when asked for it; so it is asked only of clients that are in a session, which have one.
const IS_SEEN: &str = "#{?#{m/r:^(3[.][4-9]|next|[4-9]),#{version}},\
    #{m:*y*,#{L:#{?#{client_session},\
    #{?#{&&:#{m:*focused*,#{client_flags}},#{&&:#{==:#{client_control_mode},0},\
    #{m:*#,#{client_name}#,*,#,#{window_active_clients_list}#,}}},y,},}}},\
    #{?#{window_active_clients},1,0}}";

/// The formats as the server is to know them.
#[derive(Debug)]
pub struct Vocabulary {
    word: String,
    options: [(&'static str, String); 5],
    leaves_to_theme: bool,
}

impl Vocabulary {
    /// `program` is cld itself, quoted for a shell.
    pub fn new(look: &Tabs, program: &str) -> Self {
        let by_state = |waiting: &str, running: &str, idle: &str| {
            let is = |state: &str| format!("#{{==:#{{{WINDOW_STATE}}},{state}}}");
            format!("#{{?{},{waiting},#{{?{},{running},{idle}}}}}", is("waiting"), is("running"))
        };
        let style = |style: &TabStyle| match style {
            TabStyle::Theme => String::new(),
            TabStyle::Style(style) => literal(style),
        };
        let themed = |style: &TabStyle| if *style == TabStyle::Theme { "1" } else { "" };
        let options = [
            (STATE, state_of_window()),
            (STYLE, by_state(&style(&look.waiting), &style(&look.running), &style(&look.idle))),
            (THEMED, by_state(themed(&look.waiting), themed(&look.running), themed(&look.idle))),
            (SEEN, IS_SEEN.to_owned()),
            (PROGRAM, literal(program)),
        ];
        let leaves_to_theme =
            [&look.idle, &look.running, &look.waiting].contains(&&TabStyle::Theme);
        let word = format!("cld-{:016x}", hash(options.iter().map(|(_, format)| format.as_str())));
        Self { word, options, leaves_to_theme }
    }

    /// A command to a server that has these formats, and none to any other one. Nor is it to the
    /// tmux client, which therefore leaves a request that begins with it to the server instead of
    /// parsing it, too.
    pub fn word(&self) -> &str {
        &self.word
    }

    pub fn define(&self, batch: &mut Batch) {
        for (option, format) in &self.options {
            batch.push(["set", "-s", option, format]);
        }
        batch.push(["set", "-s", ALIAS, &format!("{}={NOTHING}", self.word)]);
    }

    /// Keeps the window's own styles, if it has any, before the first one is set.
    pub fn take_over(&self, batch: &mut Batch, pane: &str) {
        let kept = STYLES.map(|(style, own)| {
            let different = format!("#{{!=:#{{{own}}},#{{{style}}}}}");
            format!(
                "set -wF -t {pane} {own} '#{{{style}}}' ; set -wu -t {pane} {style} ; \
                 set -wF -t {pane} {own} '#{{?{different},#{{{own}}},}}'"
            )
        });
        let is_new = format!("#{{?#{{{WINDOW_STATE}}},0,1}}");
        batch.push(["if", "-F", "-t", pane, &is_new, &kept.join(" ; ")]);
    }

    /// Whether some state is shown in the style of the theme.
    pub fn leaves_to_theme(&self) -> bool {
        self.leaves_to_theme
    }
}

/// Shows the worst of the panes at the window that holds `target`.
pub fn show(batch: &mut Batch, target: &str, leaves_to_theme: bool) {
    batch.push(["set", "-wF", "-t", target, WINDOW_STATE, &named(STATE)]);
    for (style, _) in STYLES {
        batch.push(["set", "-wF", "-t", target, style, &named(STYLE)]);
    }
    if leaves_to_theme {
        batch.push(["if", "-F", "-t", target, &named(THEMED), &restore(target)]);
    }
}

/// Whether somebody looks at the window of the target.
pub fn is_seen() -> String {
    named(SEEN)
}

/// A command of tmux that starts cld, and waits for it nowhere. The words are cld's own. Before 3.2
/// tmux cannot start it later.
pub fn start(words: &str, after_ms: Option<u64>) -> String {
    let delay = after_ms.map(|ms| format!(" -d {}.{:03}", ms / 1000, ms % 1000));
    let delay = delay.unwrap_or_default();
    // What a shell command prints, or that it failed, would be shown over the pane.
    format!("run-shell -b{delay} \"{} {words} >/dev/null 2>&1 || :\"", named(PROGRAM))
}

/// Commands that give a window its own styles back.
fn restore(target: &str) -> String {
    let styles = STYLES.map(|(style, own)| {
        format!(
            "set -wu -t {target} {style} ; \
             if -F -t {target} '#{{{own}}}' \"set -wF -t {target} {style} '#{{{own}}}'\""
        )
    });
    styles.join(" ; ")
}

fn named(option: &str) -> String {
    format!("#{{E:{option}}}")
}

/// Waiting when a pane has a wait that was not looked at, else running when one runs, else idle. A
/// turn that ended just now may go on by itself, and is shown as running until that is known.
fn state_of_window() -> String {
    let waits = format!("#{{?#{{{ATTENTION}}},#{{?#{{==:#{{{ATTENTION}}},{SOON}}},r,w}},}}");
    let works = format!("#{{?#{{==:#{{{ACTIVITY}}},running}},r,}}");
    let letters = format!("#{{P:#{{?#{{{ASKING}}}#{{{FINISHED}}},{waits},{works}}}}}");
    format!("#{{?#{{m:*w*,{letters}}},waiting,#{{?#{{m:*r*,{letters}}},running,idle}}}}")
}

/// Text that stands for itself inside a format.
fn literal(text: &str) -> String {
    text.replace('#', "##").replace(',', "#,")
}

/// 64-bit FNV-1a; the end of a text counts.
fn hash<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    texts.fold(0xcbf2_9ce4_8422_2325, |hash, text| step(text.bytes().fold(hash, step), 0xff))
}
