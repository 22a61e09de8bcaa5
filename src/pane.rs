//! The schema of the database: the tmux options that hold what cld knows of a pane.

use std::fmt;
use std::path::PathBuf;

use crate::session::{Activity, Moment, SessionId, Status, Wait, WaitKind};

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
/// What the person did with a wait instead of answering it; see [`PutOff`].
pub const PUT_OFF: &str = "@meta.claude.put_off";
/// `1` while something open was not yet looked at, or [`SOON`]. Not in the `meta` namespace, because one
/// `set -wU` clears it in all panes of a window.
pub const ATTENTION: &str = "@claude-attn";
/// A turn has ended, and asks for attention if it still has after a while.
pub const SOON: &str = "soon";
/// The moment of the newest wait that a notification was sent for.
pub const NOTIFIED: &str = "@meta.claude.notified";

/// Window option: `idle`, `running` or `waiting`, the worst of the window's panes.
pub const WINDOW_STATE: &str = "@claude-state";

/// Session option: the window that had the focus last, by its id, for `cld dismiss --switched`.
pub const LAST_FOCUSED_WINDOW: &str = "@last-focused-window";

/// Server option: where each client was brought to, and where it came from. The mark stands at the
/// beginning of every value, so that it is known among other lines.
pub const VISITS: &str = "@meta.claude.visits";
pub const VISITS_MARK: &str = "visits ";

/// The options a reader asks for, in the order in which [`Kept::read`] takes their values.
pub const READ: [&str; 15] = [
    SESSION_ID,
    SESSION_ID_SET_ON,
    STATUS,
    LATEST_HOOK_EVENT,
    LATEST_HOOK_TIME,
    ACTIVITY,
    BACKGROUND,
    PID,
    PID_START,
    SESSION_DIR,
    TRANSCRIPT,
    CONFIG_DIR,
    TITLE,
    ASKING,
    FINISHED,
];

/// What the options of one pane say about its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub session: SessionId,
    pub set_on: String,
    pub status: Option<Status>,
    pub latest_event: Option<String>,
    /// In whole seconds.
    pub latest_time: Option<Moment>,
    pub activity: Option<Activity>,
    pub background: usize,
    pub pid: Option<u32>,
    pub pid_start: Option<String>,
    pub directory: Option<PathBuf>,
    pub transcript: Option<PathBuf>,
    /// Only when it is not the default one.
    pub config_dir: Option<PathBuf>,
    pub title: Option<String>,
    /// The open dialogs, oldest first.
    pub dialogs: Vec<Wait>,
    pub finished: Option<Wait>,
}

impl Kept {
    /// Takes the values of [`READ`]; nothing for a pane that never had a session.
    pub fn read(values: [&str; READ.len()]) -> Option<Self> {
        let [session, set_on, status, event, time, activity, background, rest @ ..] = values;
        let [pid, pid_start, directory, transcript, config_dir, title, asking, finished] = rest;
        let text = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        let path = |value: &str| text(value).map(PathBuf::from);
        let mut dialogs: Vec<Wait> = Dialog::parse_all(asking).filter_map(Dialog::wait).collect();
        dialogs.sort_by_key(|dialog| dialog.since);
        Some(Self {
            session: SessionId::parse(session)?,
            set_on: set_on.to_owned(),
            status: Status::parse(status),
            latest_event: text(event),
            latest_time: time.parse().ok().map(Moment::from_seconds),
            activity: Activity::parse(activity),
            background: background.parse().unwrap_or(0),
            pid: pid.parse().ok(),
            pid_start: text(pid_start),
            directory: path(directory),
            transcript: path(transcript),
            config_dir: path(config_dir),
            title: text(title),
            dialogs,
            finished: finished_turn(finished),
        })
    }

    /// Whether the session said good-bye, and no other one has begun in the pane since.
    pub fn has_ended(&self) -> bool {
        self.set_on == "SessionEnd" && self.status.is_none()
    }
}

/// Written `MOMENT UNTIL`, or `MOMENT` alone for a wait that was skipped for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutOff {
    /// The newest wait that was open then. One that opens later was not meant.
    pub newest_wait: Moment,
    pub until: Option<Moment>,
}

impl PutOff {
    pub fn parse(text: &str) -> Option<Self> {
        let (newest_wait, until) = match text.split_once(' ') {
            Some((newest_wait, until)) => (newest_wait, Some(until.parse().ok()?)),
            None => (text, None),
        };
        let newest_wait = Moment::from_micros(newest_wait.parse().ok()?);
        Some(Self { newest_wait, until: until.map(Moment::from_micros) })
    }

    /// Whether these waits are still put off.
    pub fn covers(self, waits: &[Wait], now: Moment) -> bool {
        waits.iter().all(|wait| wait.since <= self.newest_wait)
            && self.until.is_none_or(|until| now < until)
    }
}

impl fmt::Display for PutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(f, "{} {until}", self.newest_wait),
            None => write!(f, "{}", self.newest_wait),
        }
    }
}

fn finished_turn(text: &str) -> Option<Wait> {
    let mut words = text.splitn(3, ' ');
    let since = Moment::from_micros(words.next()?.parse().ok()?);
    let kind = WaitKind::from_letter(words.next()?.chars().next()?)?;
    Some(Wait { kind, since, context: words.next().unwrap_or_default().to_owned() })
}

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

    fn wait(self) -> Option<Wait> {
        let kind = WaitKind::from_letter(self.kind)?;
        Some(Wait { kind, since: self.since, context: self.context.to_owned() })
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

    fn kept(session: &str, status: &str, asking: &str, finished: &str) -> Option<Kept> {
        let mut values = [""; READ.len()];
        for (option, value) in
            [(SESSION_ID, session), (STATUS, status), (ASKING, asking), (FINISHED, finished)]
        {
            values[READ.iter().position(|name| *name == option).unwrap()] = value;
        }
        Kept::read(values)
    }

    #[test]
    fn a_pane_without_a_session_keeps_nothing() {
        assert_eq!(kept("", "running", "", ""), None);
        assert_eq!(kept("#(id)", "running", "", ""), None);
        assert!(kept("23e30f82", "", "", "").is_some());
    }

    #[test]
    fn waits_are_read_back_with_their_kinds_the_oldest_first() {
        let asking = "|main.00ff.q@0000000000000009 Which?|main.00fe.p@0000000000000007 Bash: ls";
        let kept = kept("23e30f82", "stopped", asking, "0000000000000005 d all is well").unwrap();
        let read = |wait: &Wait| (wait.kind.word(), wait.since.micros(), wait.context.clone());
        assert_eq!(
            kept.dialogs.iter().map(read).collect::<Vec<_>>(),
            [("permission", 7, "Bash: ls".to_owned()), ("question", 9, "Which?".to_owned())]
        );
        assert_eq!(kept.finished.as_ref().map(read), Some(("done", 5, "all is well".to_owned())));
    }

    #[test]
    fn values_of_another_shape_are_left_out() {
        let kept = kept("23e30f82", "removed", "|a.b.z@1 odd", "soon d text").unwrap();
        assert_eq!((kept.status, kept.finished, kept.dialogs.len()), (None, None, 0));
    }

    #[test]
    fn what_was_put_off_is_read_back() {
        let (newest_wait, until) = (Moment::from_micros(7), Some(Moment::from_micros(9)));
        for put_off in [PutOff { newest_wait, until: None }, PutOff { newest_wait, until }] {
            assert_eq!(PutOff::parse(&put_off.to_string()), Some(put_off));
        }
        for odd in ["", "x", "7 x", " 7"] {
            assert_eq!(PutOff::parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_later_wait_and_the_time_end_what_was_put_off() {
        let wait = |since| Wait {
            kind: WaitKind::from_letter('p').unwrap(),
            since: Moment::from_micros(since),
            context: String::new(),
        };
        let moment = Moment::from_micros;
        let skipped = PutOff { newest_wait: moment(7), until: None };
        assert!(skipped.covers(&[wait(5), wait(7)], moment(1000)));
        assert!(!skipped.covers(&[wait(5), wait(8)], moment(1000)));
        let snoozed = PutOff { until: Some(moment(100)), ..skipped };
        assert!(snoozed.covers(&[wait(7)], moment(99)));
        assert!(!snoozed.covers(&[wait(7)], moment(100)));
    }
}
