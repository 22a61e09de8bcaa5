//! The schema of the database: the tmux options that hold what cld knows of a pane.

use crate::session::Moment;

/// The session's id, and the hook that last set it.
pub const SESSION_ID: &str = "@meta.claude.session_id";
pub const SESSION_ID_SET_ON: &str = "@meta.claude.session_id_set_on";
/// The directory the session was started in; a `cd` inside the session does not change it.
pub const SESSION_DIR: &str = "@meta.claude.session_dir";
/// `running` or `stopped`; absent after the session ended.
pub const STATUS: &str = "@meta.claude.status";
pub const LATEST_HOOK_EVENT: &str = "@meta.claude.latest_hook_event";
/// Unix time in seconds.
pub const LATEST_HOOK_TIME: &str = "@meta.claude.latest_hook_time";

/// The open dialogs, each `|AGENT.CALL.KIND@MOMENT one line of context`.
pub const ASKING: &str = "@meta.claude.asking";
/// The turn that ended and waits for the next prompt: `MOMENT KIND one line of context`.
pub const FINISHED: &str = "@meta.claude.finished";
/// `running` or `idle`: what the tab shows while nothing waits.
pub const ACTIVITY: &str = "@meta.claude.activity";
pub const TITLE: &str = "@meta.claude.title";
/// Background tasks that ran when a turn last ended.
pub const BACKGROUND: &str = "@meta.claude.background";
pub const TRANSCRIPT: &str = "@meta.claude.transcript";
pub const PID: &str = "@meta.claude.pid";
pub const PID_START: &str = "@meta.claude.pid_start";
/// Only set when it is not the default one.
pub const CONFIG_DIR: &str = "@meta.claude.config_dir";
/// `1` while something open was not yet looked at. Not in the `meta` namespace, because one
/// `set -wU` clears it in all panes of a window.
pub const ATTENTION: &str = "@claude-attn";

/// Window option: `idle`, `running` or `waiting`, the worst of the window's panes.
pub const WINDOW_STATE: &str = "@claude-state";

/// Separates dialogs inside [`ASKING`], so it may not occur in their text.
const SEPARATOR: char = '|';

/// A context line as it may stand inside [`ASKING`].
pub fn without_separator(context: &str) -> String {
    context.replace(SEPARATOR, "¦")
}

/// One open dialog as it stands in [`ASKING`].
#[derive(Debug, PartialEq, Eq)]
pub struct Dialog<'a> {
    pub agent: &'a str,
    pub call: &'a str,
    pub kind: char,
    pub since: Moment,
    pub context: &'a str,
}

impl<'a> Dialog<'a> {
    /// The dialogs of an [`ASKING`] value; what cannot be read is left out.
    pub fn parse_all(asking: &'a str) -> impl Iterator<Item = Self> {
        asking.split(SEPARATOR).filter_map(Self::parse)
    }

    fn parse(text: &'a str) -> Option<Self> {
        let (head, context) = text.split_once(' ').unwrap_or((text, ""));
        let (key, since) = head.split_once('@')?;
        let mut parts = key.split('.');
        let (agent, call, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let since = Moment::from_micros(since.parse().ok()?);
        Some(Self { agent, call, kind: kind.chars().next()?, since, context })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialogs_are_read_with_and_without_their_text() {
        let asking = "|main.700f042276e9.p@1794973885217063 Bash: touch a.txt|0000beef.none.i@1794973885217064";
        let dialogs: Vec<Dialog<'_>> = Dialog::parse_all(asking).collect();
        let since = Moment::from_micros;
        assert_eq!(
            dialogs,
            [
                Dialog {
                    agent: "main",
                    call: "700f042276e9",
                    kind: 'p',
                    since: since(1_794_973_885_217_063),
                    context: "Bash: touch a.txt"
                },
                Dialog {
                    agent: "0000beef",
                    call: "none",
                    kind: 'i',
                    since: since(1_794_973_885_217_064),
                    context: ""
                },
            ]
        );
        assert_eq!(Dialog::parse_all("").count(), 0);
        assert_eq!(Dialog::parse_all("|nonsense|a.b@1|a.b.c@x").count(), 0);
    }
}
