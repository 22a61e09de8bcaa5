//! The journal played back: which waits there were, when they were answered, and how long sessions
//! ran and waited. Pure.
//!
//! The journal says what each event said; a wait is over when a later line of its session ends it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::journal::{Entry, NOTIFY};
use crate::session::{Moment, WaitKind};

/// What happened in a span of time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// When somebody was told of a wait.
    pub(super) notifications: Vec<Moment>,
    pub(super) waits: Vec<Wait>,
    /// By the id of the session.
    pub(super) sessions: BTreeMap<String, Times>,
}

/// A wait that opened in the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) kind: WaitKind,
    pub(super) since: Moment,
    pub(super) answered: Option<Moment>,
}

/// Microseconds of the span in which a session ran, and in which it waited for a person.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) running: u64,
    pub(super) waiting: u64,
}

/// Events are taken in the order in which they began, whatever the order of their lines. A session
/// that `is_alive` goes on to the end of the span; of any other it is not known when it ended.
pub(super) fn replay(
    mut entries: Vec<Entry>,
    span: Range<Moment>,
    is_alive: impl Fn(&str) -> bool,
) -> Tally {
    entries.retain(|entry| Moment::from_micros(entry.at) < span.end);
    entries.sort_by_key(|entry| entry.at);
    let mut tally = Tally::default();
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    for entry in &entries {
        let at = Moment::from_micros(entry.at);
        if entry.event == NOTIFY {
            let counts = at >= span.start && !entry.told.is_empty();
            tally.notifications.extend(counts.then_some(at));
            continue;
        }
        let session = sessions.entry(entry.session.clone()).or_default();
        session.take(entry, at, &span);
    }
    for (id, mut session) in sessions {
        if is_alive(&id) {
            session.pass(span.end, &span);
        }
        let Session { times, open, closed, .. } = session;
        let waits = closed.into_iter().chain(open.into_iter().map(|open| open.wait));
        tally.waits.extend(waits.filter(|wait| wait.since >= span.start));
        if times != Times::default() {
            tally.sessions.insert(id, times);
        }
    }
    tally.waits.sort_by_key(|wait| wait.since);
    tally
}

#[derive(Debug, Default)]
struct Session {
    times: Times,
    /// Until when the times are known.
    known: Option<Moment>,
    state: State,
    open: Vec<Open>,
    closed: Vec<Wait>,
}

/// What a session does while nothing waits.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    Idle,
    Running,
}

#[derive(Debug)]
struct Open {
    /// Agent and call of a dialog; nothing for the end of a turn.
    dialog: Option<(String, String)>,
    wait: Wait,
}

impl Open {
    fn is_of(&self, agent: &str) -> bool {
        self.dialog.as_ref().is_some_and(|(of, _)| of == agent)
    }
}

const MAIN: &str = "main";
/// A dialog of which only a notification told.
const UNNAMED: &str = "none";

impl Session {
    /// Adds the time up to `at` to what the session does.
    fn pass(&mut self, at: Moment, span: &Range<Moment>) {
        let Some(from) = self.known.replace(at) else { return };
        let (from, to) = (from.max(span.start), at.min(span.end));
        let time = to.micros().saturating_sub(from.micros());
        match self.state {
            _ if !self.open.is_empty() => self.times.waiting += time,
            State::Running => self.times.running += time,
            State::Idle | State::Unknown => {}
        }
    }

    fn take(&mut self, entry: &Entry, at: Moment, span: &Range<Moment>) {
        match entry.event.as_str() {
            // What was before was left behind by a process that is gone, nobody knows since when.
            // So the time since the last line belongs to nothing.
            "SessionStart" => self.known = Some(at),
            _ => self.pass(at, span),
        }
        for ended in &entry.ended {
            self.end_dialog(ended, at);
        }
        match entry.event.as_str() {
            "SessionStart" => self.end_all(State::Idle),
            "SessionEnd" => self.end_all(State::Unknown),
            "UserPromptSubmit" if entry.by_machine => {
                self.close(|open| open.dialog.is_none(), None);
                self.state = State::Running;
            }
            "UserPromptSubmit" => {
                self.close(|open| open.dialog.is_none() || open.is_of(MAIN), Some(at));
                self.state = State::Running;
            }
            "Stop" | "StopFailure" => {
                self.close(|open| open.dialog.is_none() || open.is_of(MAIN), None);
                // Without a wait there is work in the background, after which Claude goes on.
                let goes_on = entry.opened.is_empty();
                self.state = if goes_on { State::Running } else { State::Idle };
            }
            _ => {}
        }
        self.open(&entry.opened, at);
    }

    fn end_all(&mut self, state: State) {
        self.close(|_| true, None);
        self.state = state;
    }

    fn open(&mut self, opened: &str, at: Moment) {
        let mut parts = opened.rsplit('.');
        let Some(kind) = parts.next().and_then(kind_of) else { return };
        let wait = Wait { kind, since: at, answered: None };
        let dialog = match (parts.next(), parts.next()) {
            (Some(call), Some(agent)) => Some((agent.to_owned(), call.to_owned())),
            _ => None,
        };
        // A notification announces a dialog that is open under its own name already.
        let is_announced = dialog.as_ref().is_some_and(|(_, call)| call == UNNAMED)
            && self.open.iter().any(|open| open.dialog.is_some());
        let is_open = dialog.is_some() && self.open.iter().any(|open| open.dialog == dialog);
        if !is_announced && !is_open {
            self.open.push(Open { dialog, wait });
        }
    }

    /// `AGENT.CALL.KIND@MOMENT` of a dialog that a tool's end has ended.
    fn end_dialog(&mut self, ended: &str, at: Moment) {
        let key = ended.split('@').next().unwrap_or_default();
        let mut parts = key.split('.');
        let (Some(agent), Some(call)) = (parts.next(), parts.next()) else { return };
        let is_it = |open: &Open| {
            open.dialog.as_ref().is_some_and(|(of, name)| of == agent && name == call)
        };
        self.close(is_it, Some(at));
        self.state = State::Running;
    }

    fn close(&mut self, is_over: impl Fn(&Open) -> bool, answered: Option<Moment>) {
        let (over, open) = std::mem::take(&mut self.open).into_iter().partition(is_over);
        let over: Vec<Open> = over;
        self.open = open;
        self.closed.extend(over.into_iter().map(|open| Wait { answered, ..open.wait }));
    }
}

fn kind_of(letter: &str) -> Option<WaitKind> {
    let mut letters = letter.chars();
    let kind = WaitKind::from_letter(letters.next()?)?;
    letters.next().is_none().then_some(kind)
}
