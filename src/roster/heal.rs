//! What is true of one session, out of what its hooks, the registry and its process say. Pure.
//!
//! Hooks tell at once, but not of an approval, a denial, an interrupt or a kill. The registry
//! tells of the first three within [`LAG`], the process of the last. Where there is no registry, the
//! transcript tells of a denial, an interrupt, and a session that went on.

use crate::pane::Kept;
use crate::registry::{self, Entry, Liveness};
use crate::session::{Activity, DialogKind, Moment, SessionId, Status, Wait, WaitKind};
use crate::transcript::{Later, ToolCall};

/// How long after the fact the registry may still be written, in milliseconds.
const LAG: u64 = 500;
/// After this time, in milliseconds, the registry has seen whatever a hook has told.
const SETTLED: u64 = 900;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub state: State,
    /// The value of the pane's status option, healed; nothing after the end.
    pub status: Option<Status>,
    /// What waits for the person: dialogs, oldest first, then the turn that came to its end.
    pub waits: Vec<Wait>,
    /// Since when the state is known to hold.
    pub since: Option<Moment>,
    /// Who had the last word.
    pub told_by: Teller,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    Waiting,
    Idle,
    Ended(End),
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It said good-bye.
    Closed,
    /// Its process is gone without a word.
    Killed,
    /// Only its transcript is left, which does not tell how it ended.
    Past,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teller {
    Hooks,
    Registry,
    Process,
    Transcript,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Ended(_) => "ended",
            Self::Unknown => "unknown",
        }
    }

    pub fn has_ended(self) -> bool {
        matches!(self, Self::Ended(_))
    }
}

/// The session a process is in now. `/clear` and `/resume` change it, and where hooks no longer
/// run only the registry follows; then what the hooks told belongs to the session before.
pub(super) fn current<'a>(
    kept: Option<&'a Kept>,
    entry: Option<&Entry>,
) -> Option<(Option<&'a Kept>, SessionId)> {
    let in_registry = entry.and_then(|entry| SessionId::parse(&entry.session_id));
    match (kept, in_registry) {
        (Some(kept), Some(id)) if id != kept.session && is_outdated(kept, entry) => {
            Some((None, id))
        }
        (Some(kept), _) => Some((Some(kept), kept.session.clone())),
        (None, Some(id)) => Some((None, id)),
        (None, None) => None,
    }
}

/// Whether the registry has changed long after the last hook ran.
fn is_outdated(kept: &Kept, entry: Option<&Entry>) -> bool {
    let updated = entry.and_then(|entry| entry.updated_at).map(Moment::from_millis);
    let hook = kept.latest_time.map(|time| time.plus_seconds(2));
    updated.is_some_and(|updated| hook.is_none_or(|hook| updated > hook))
}

pub fn heal(kept: Option<&Kept>, entry: Option<&Entry>, liveness: Liveness, now: Moment) -> Health {
    let registry = entry.and_then(|entry| Registry::of(entry, now));
    if liveness == Liveness::Dead {
        return ended(kept, registry.as_ref());
    }
    match (kept, registry) {
        (Some(kept), _) if kept.has_ended() && !is_outdated(kept, entry) => ended(Some(kept), None),
        (Some(kept), Some(registry)) => both(kept, &registry, now),
        (Some(kept), None) => by_hooks(kept, kept.dialogs.clone()),
        (None, Some(registry)) => registry.verdict(None),
        (None, None) => unknown(),
    }
}

/// Whether nobody but the hooks knows of the waits, so that the transcript has to be asked.
pub(super) fn needs_transcript(health: &Health, entry: Option<&Entry>) -> bool {
    health.state == State::Waiting
        && entry.is_none_or(|entry| entry.status == registry::Status::Unknown)
}

/// Leaves out the waits that the transcript shows to be over. `is_about` tells whether a dialog asks
/// for a call.
pub(super) fn went_on(
    health: Health,
    later: &Later,
    is_about: impl Fn(&Wait, &ToolCall) -> bool,
) -> Health {
    // Whoever can interrupt Claude has no dialog in front of it any more. Other signs of life do not
    // end a dialog: other calls run beside it, and the main thread beside a subagent.
    let is_over = |wait: &&Wait| match wait.kind {
        WaitKind::Dialog(_) => {
            let answers =
                |(at, call): &(Moment, ToolCall)| *at > wait.since && is_about(wait, call);
            later.interrupted > Some(wait.since) || later.answered.iter().any(answers)
        }
        WaitKind::Turn(_) => later.spoken > Some(wait.since),
    };
    let (over, open): (Vec<&Wait>, Vec<&Wait>) = health.waits.iter().partition(is_over);
    if over.is_empty() {
        return health;
    }
    let waits: Vec<Wait> = open.into_iter().cloned().collect();
    let answered = later.answered.iter().map(|(at, _)| *at).max();
    let since = later.spoken.max(later.interrupted).max(answered);
    let (state, status) = match waits.is_empty() {
        false => (State::Waiting, Status::Stopped),
        true if later.interrupted == since => (State::Idle, Status::Stopped),
        true => (State::Running, Status::Running),
    };
    let since = waits.first().map(|wait| wait.since).or(since);
    Health { state, status: Some(status), waits, since, told_by: Teller::Transcript }
}

fn both(kept: &Kept, registry: &Registry<'_>, now: Moment) -> Health {
    let is_over = |wait: &&Wait| {
        registry.status != registry::Status::Waiting && registry.has_seen(wait.since, now)
    };
    let (over, open): (Vec<&Wait>, Vec<&Wait>) = kept.dialogs.iter().partition(is_over);
    if !open.is_empty() {
        return by_hooks(kept, open.into_iter().cloned().collect());
    }
    // Hooks note their moment in whole seconds only; in the same second the registry is believed,
    // because it puts itself right at once while nothing may follow on a hook.
    let is_newer = kept.latest_time.is_none_or(|hook| registry.stamp >= hook)
        && kept.finished.iter().all(|turn| registry.has_seen(turn.since, now));
    if is_newer || !over.is_empty() {
        return registry.verdict(Some(kept));
    }
    let health = by_hooks(kept, Vec::new());
    // Hooks tell when something happened last, the registry since when it is so.
    let agrees = match health.state {
        State::Running => registry.status == registry::Status::Busy,
        State::Idle => registry.status == registry::Status::Idle,
        _ => false,
    };
    if agrees { Health { since: Some(registry.stamp), ..health } } else { health }
}

fn by_hooks(kept: &Kept, dialogs: Vec<Wait>) -> Health {
    let (status, goes_on) = match kept.status {
        _ if !dialogs.is_empty() => (Some(Status::Stopped), false),
        status => (status, goes_on(kept)),
    };
    let mut waits = dialogs;
    waits.extend(kept.finished.clone());
    let state = match status {
        Some(Status::Running) => State::Running,
        Some(Status::Stopped) if !waits.is_empty() => State::Waiting,
        Some(Status::Stopped) if goes_on => State::Running,
        Some(Status::Stopped) => State::Idle,
        Some(Status::Removed) | None => State::Unknown,
    };
    if state != State::Waiting {
        waits.clear();
    }
    let since = waits.first().map(|wait| wait.since).or(kept.latest_time);
    Health { state, status, waits, since, told_by: Teller::Hooks }
}

/// Its turn is over, but subagents still work, and it will go on by itself.
fn goes_on(kept: &Kept) -> bool {
    kept.status == Some(Status::Stopped)
        && kept.activity == Some(Activity::Running)
        && kept.finished.is_none()
        && kept.dialogs.is_empty()
}

fn ended(kept: Option<&Kept>, registry: Option<&Registry<'_>>) -> Health {
    let said = kept.is_some_and(Kept::has_ended);
    let hook = kept.and_then(|kept| kept.latest_time);
    Health {
        state: State::Ended(if said { End::Closed } else { End::Killed }),
        status: None,
        waits: Vec::new(),
        since: hook.max(registry.filter(|_| !said).map(|registry| registry.stamp)),
        told_by: if said { Teller::Hooks } else { Teller::Process },
    }
}

fn unknown() -> Health {
    Health {
        state: State::Unknown,
        status: None,
        waits: Vec::new(),
        since: None,
        told_by: Teller::Registry,
    }
}

/// What the registry says, where it says anything.
struct Registry<'a> {
    status: registry::Status,
    waiting_for: Option<&'a str>,
    stamp: Moment,
}

impl<'a> Registry<'a> {
    fn of(entry: &'a Entry, now: Moment) -> Option<Self> {
        let stamp = entry.status_updated_at.or(entry.updated_at).map_or(now, Moment::from_millis);
        let waiting_for = entry.waiting_for.as_deref();
        let says = entry.status != registry::Status::Unknown;
        says.then_some(Self { status: entry.status, waiting_for, stamp })
    }

    /// Whether the status was written with knowledge of a wait that opened then. Shortly after it
    /// the registry may still have been writing what was true before.
    fn has_seen(&self, opened: Moment, now: Moment) -> bool {
        self.stamp > opened
            && (self.stamp >= opened.plus_millis(LAG) || now >= opened.plus_millis(SETTLED))
    }

    /// What the registry makes of it, with what the hooks told of the session before.
    fn verdict(&self, kept: Option<&Kept>) -> Health {
        let finished = kept.and_then(|kept| kept.finished.clone());
        let (state, status, waits) = match self.status {
            registry::Status::Busy => (State::Running, Status::Running, Vec::new()),
            registry::Status::Waiting => (State::Waiting, Status::Stopped, self.waits(kept)),
            // A shell that runs in the background does not make Claude busy.
            registry::Status::Idle | registry::Status::Shell => match finished {
                Some(finished) => (State::Waiting, Status::Stopped, vec![finished]),
                None if kept.is_some_and(goes_on) => (State::Running, Status::Stopped, Vec::new()),
                None => (State::Idle, Status::Stopped, Vec::new()),
            },
            registry::Status::Unknown => return unknown(),
        };
        let since = waits.first().map_or(self.stamp, |wait| wait.since);
        Health { state, status: Some(status), waits, since: Some(since), told_by: Teller::Registry }
    }

    /// The dialogs the hooks have told of, else the one the registry names.
    fn waits(&self, kept: Option<&Kept>) -> Vec<Wait> {
        let mut waits = kept.map(|kept| kept.dialogs.clone()).unwrap_or_default();
        if waits.is_empty() {
            let context = self.waiting_for.unwrap_or_default().to_owned();
            let kind = WaitKind::Dialog(kind_of(&context));
            waits.push(Wait { kind, since: self.stamp, context });
        }
        waits.extend(kept.and_then(|kept| kept.finished.clone()));
        waits
    }
}

/// The registry names what it waits for in words for people.
fn kind_of(waiting_for: &str) -> DialogKind {
    let words = waiting_for.to_ascii_lowercase();
    let says = |word: &str| words.contains(word);
    match () {
        () if says("plan") => DialogKind::Plan,
        () if says("question") => DialogKind::Question,
        () if says("permission") || says("approv") => DialogKind::Permission,
        () => DialogKind::Input,
    }
}

#[cfg(test)]
mod tests;
