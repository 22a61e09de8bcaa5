//! The sessions that the hub has started: what each is doing, by which ids it goes, and who waits
//! for it to change.
//!
//! A session is kept under its launch, because `/clear` and `/resume` change the session id inside
//! of one process. Every id it ever had leads to it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::session::{Agent, Call, Moment, PaneId};

use super::fact::{Change, Fact};
use super::keys::Grant;
use super::metrics::Count;
use super::store::{Id, Key};

mod receipts;

pub(super) use receipts::{Outcome, Receipts};

/// How many sessions that have ended are remembered.
const MOST_ENDED: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Claude Code was started, but has not said so itself.
    Starting,
    Ready,
    Ending,
    Ended,
}

#[derive(Debug, Clone)]
pub(super) struct Managed {
    pub(super) launch: Key,
    /// The ids of the session in the order in which it had them; the last is the one it has now.
    pub(super) ids: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) name: Option<String>,
    pub(super) stage: Stage,
    /// Since when the state is what it is.
    pub(super) since: Moment,
    pub(super) started: Moment,
    pub(super) place: Option<Place>,
    pub(super) last_event: Option<Id>,
    pub(super) session_end_seen: bool,
    is_working: bool,
    dialogs: Vec<Dialog>,
    pub(super) receipts: Receipts,
    pub(super) turn: Arc<Turn>,
    /// Readers were told that it has ended.
    pub(super) is_marked: bool,
    pub(super) was_forced: bool,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Dialog {
    agent: Agent,
    call: Call,
    since: Moment,
}

/// Who may type next.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) lock: tokio::sync::Mutex<()>,
    pub(super) waiting: Count,
}

/// Where in tmux it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) socket: PathBuf,
    pub(super) server_pid: u32,
    pub(super) session: String,
    pub(super) pane: PaneId,
    pub(super) pid: u32,
    /// The start time of the process, which tells it from another one with the same number.
    pub(super) pid_start: String,
}

impl Managed {
    pub(super) fn new(
        launch: Key,
        id: &str,
        cwd: PathBuf,
        name: Option<String>,
        now: Moment,
    ) -> Self {
        Self {
            launch,
            ids: vec![id.to_owned()],
            cwd,
            name,
            stage: Stage::Starting,
            since: now,
            started: now,
            place: None,
            last_event: None,
            session_end_seen: false,
            is_working: false,
            dialogs: Vec::new(),
            receipts: Receipts::default(),
            turn: Arc::default(),
            is_marked: false,
            was_forced: false,
            changed: watch::Sender::new(0),
        }
    }

    pub(super) fn id(&self) -> &str {
        self.ids.last().map_or("", String::as_str)
    }

    /// In the words of `cld ls`, and two of its own.
    pub(super) fn state(&self) -> &'static str {
        match self.stage {
            Stage::Starting => "starting",
            Stage::Ending => "ending",
            Stage::Ended => "ended",
            Stage::Ready if !self.dialogs.is_empty() => "waiting",
            Stage::Ready if self.is_working => "running",
            Stage::Ready => "idle",
        }
    }

    /// Since when the newest open dialog is open.
    pub(super) fn asked_since(&self) -> Option<Moment> {
        self.dialogs.iter().map(|dialog| dialog.since).max()
    }

    pub(super) fn is_working(&self) -> bool {
        self.is_working
    }

    /// Takes an event of this launch in; true when it looks different from outside.
    fn apply(&mut self, fact: &Fact, id: Id, now: Moment) -> bool {
        let before = (self.state(), self.ids.len());
        self.last_event = Some(id);
        let session = fact.session.as_str();
        if self.id() != session && fact.change == Change::Started {
            self.ids.retain(|known| known != session);
            self.ids.push(session.to_owned());
        }
        match &fact.change {
            Change::Started => {
                if self.stage == Stage::Starting {
                    self.stage = Stage::Ready;
                }
                self.is_working = false;
                self.dialogs.clear();
            }
            Change::Prompted { prompt } => {
                self.is_working = true;
                self.dialogs.retain(|dialog| dialog.agent != Agent::Main);
                self.receipts.submitted(prompt, id);
            }
            Change::Working => self.is_working = true,
            Change::Asked { agent, call } => {
                let is_known = match call {
                    Call::Unnamed => !self.dialogs.is_empty(),
                    Call::Named(_) => {
                        let is_same = |open: &Dialog| (open.agent, open.call) == (*agent, *call);
                        self.dialogs.iter().any(is_same)
                    }
                };
                if !is_known {
                    self.dialogs.push(Dialog { agent: *agent, call: *call, since: now });
                }
            }
            Change::Answered { agent, call } => {
                self.dialogs.retain(|open| {
                    (open.agent, open.call) != (*agent, *call) && open.call != Call::Unnamed
                });
            }
            Change::Settled { agent } | Change::AgentEnded { agent } => {
                self.dialogs.retain(|dialog| dialog.agent != *agent);
            }
            Change::TurnEnded => {
                self.is_working = false;
                self.dialogs.retain(|dialog| dialog.agent != Agent::Main);
            }
            Change::Ended => {
                self.session_end_seen = true;
                self.is_working = false;
                self.dialogs.clear();
            }
            Change::Compacted | Change::Replaced | Change::Nothing => {}
        }
        let changed = before != (self.state(), self.ids.len());
        if changed {
            self.since = now;
        }
        self.changed.send_modify(|version| *version += 1);
        changed
    }
}

#[derive(Debug, Default)]
pub(super) struct Sessions {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    launches: HashMap<Key, Managed>,
    /// Every id that a launch has or had.
    ids: HashMap<String, Key>,
}

/// Events of a launch were posted by somebody else.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrongLaunch;

/// Why a session was not taken on.
#[derive(Debug)]
pub(super) enum Refused {
    Exists(Box<Managed>),
    TooMany,
}

impl Sessions {
    /// Takes a new session on, unless there is one with its id or there are too many.
    pub(super) fn add(&self, managed: Managed, most: usize) -> Result<(), Refused> {
        let mut held = self.lock();
        let id = managed.id().to_owned();
        let known = held.ids.get(&id).and_then(|key| held.launches.get(key));
        if let Some(known) = known.filter(|known| known.stage != Stage::Ended) {
            return Err(Refused::Exists(Box::new(known.clone())));
        }
        let alive = held.launches.values().filter(|known| known.stage != Stage::Ended).count();
        if alive >= most {
            return Err(Refused::TooMany);
        }
        held.ids.insert(id, managed.launch.clone());
        held.launches.insert(managed.launch.clone(), managed);
        held.forget_ended();
        Ok(())
    }

    /// As if it had never been there.
    pub(super) fn remove(&self, launch: &Key) {
        let mut held = self.lock();
        held.launches.remove(launch);
        held.ids.retain(|_, key| key != launch);
    }

    /// The stream that an event of a session belongs to. Whoever may post for one launch only
    /// cannot post for another one, unless that one has ended: then its session goes on in this one.
    pub(super) fn route(&self, grant: &Grant, session: &str) -> Result<Key, WrongLaunch> {
        let held = self.lock();
        let known = held.ids.get(session);
        match (&grant.launch, known) {
            (Some(launch), Some(known)) if launch != known && held.is_open(known) => {
                Err(WrongLaunch)
            }
            (Some(launch), _) => Ok(launch.clone()),
            (None, Some(known)) => Ok(known.clone()),
            (None, None) => Ok(Key::new(session)),
        }
    }

    /// Takes an event in; true when the list of sessions looks different now.
    pub(super) fn apply(&self, key: &Key, fact: &Fact, id: Id, now: Moment) -> bool {
        let mut held = self.lock();
        let Some(managed) = held.launches.get_mut(key) else { return false };
        let changed = managed.apply(fact, id, now);
        if changed {
            let (current, launch) = (managed.id().to_owned(), managed.launch.clone());
            let other = held.ids.get(&current).is_some_and(|known| held.is_open(known));
            if !other {
                held.ids.insert(current, launch);
            }
        }
        changed
    }

    /// By its launch, or by any id that it has or had.
    pub(super) fn find(&self, id: &str) -> Option<Managed> {
        let held = self.lock();
        let key = held.ids.get(id).cloned().unwrap_or_else(|| Key::new(id));
        held.launches.get(&key).cloned()
    }

    pub(super) fn get(&self, launch: &Key) -> Option<Managed> {
        self.lock().launches.get(launch).cloned()
    }

    /// All of them, the oldest first.
    pub(super) fn all(&self) -> Vec<Managed> {
        let mut all: Vec<Managed> = self.lock().launches.values().cloned().collect();
        all.sort_by_key(|managed| (managed.started, managed.launch.clone()));
        all
    }

    /// All that a person would call a session: not those that have ended and go on under a later
    /// launch.
    pub(super) fn current(&self) -> Vec<Managed> {
        let mut all = self.all();
        let held = self.lock();
        all.retain(|managed| {
            let leads_to = held.ids.get(managed.id());
            managed.stage != Stage::Ended || leads_to.is_none_or(|key| *key == managed.launch)
        });
        all
    }

    /// Changes one, and wakes who waits for it.
    pub(super) fn update<T>(
        &self,
        launch: &Key,
        change: impl FnOnce(&mut Managed) -> T,
    ) -> Option<T> {
        let mut held = self.lock();
        let managed = held.launches.get_mut(launch)?;
        let result = change(managed);
        managed.changed.send_modify(|version| *version += 1);
        Some(result)
    }

    /// Changes what nobody waits for.
    pub(super) fn peek<T>(
        &self,
        launch: &Key,
        change: impl FnOnce(&mut Managed) -> T,
    ) -> Option<T> {
        self.lock().launches.get_mut(launch).map(change)
    }

    /// Tells of every event and every change of one session.
    pub(super) fn watch(&self, launch: &Key) -> Option<watch::Receiver<u64>> {
        self.lock().launches.get(launch).map(|managed| managed.changed.subscribe())
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn is_open(&self, launch: &Key) -> bool {
        self.launches.get(launch).is_some_and(|managed| managed.stage != Stage::Ended)
    }

    fn forget_ended(&mut self) {
        let ended = self.launches.values().filter(|managed| managed.stage == Stage::Ended);
        let mut ended: Vec<(Moment, Key)> =
            ended.map(|managed| (managed.since, managed.launch.clone())).collect();
        ended.sort();
        let surplus = ended.len().saturating_sub(MOST_ENDED);
        for (_, launch) in &ended[..surplus] {
            self.launches.remove(launch);
            self.ids.retain(|_, key| key != launch);
        }
    }
}

#[cfg(test)]
mod tests;
