//! The queue: panes with an open wait, oldest first. Pure: sessions in, ordered entries out.

use std::path::Path;

use crate::pane::{Kept, PutOff};
use crate::roster::{End, Listed, State};
use crate::session::{DialogKind, Moment, PaneId, TurnEnd, Wait, WaitKind};
use crate::tmux::Pane;

pub mod go;
pub mod list;
mod snooze;
mod table;
mod visits;

pub use go::{put_off, take_back};
pub use visits::{Key, Place, Visits};

/// Every wait there is, in order: those to be answered, those put off, and those whose Claude died.
#[derive(Debug, Default)]
pub struct Queue {
    entries: Vec<Entry>,
    order: Order,
}

/// One session that waits in a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub listed: Listed,
    pub pane: Pane,
    /// What it has waited for longest.
    pub wait: Wait,
    pub standing: Standing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Open,
    /// Until it waits for something new.
    Skipped,
    /// Until then, or until it waits for something new.
    Snoozed(Moment),
    /// Its Claude was killed while it waited; nobody hears an answer any more.
    Dead,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Age,
    /// What holds up the work first, and oldest first within a kind.
    Kind,
}

impl Queue {
    pub fn of(sessions: &[Listed], order: Order, now: Moment) -> Self {
        let wanted = sessions.iter().filter(|listed| !listed.is_scripted);
        let mut entries: Vec<Entry> = wanted.filter_map(|listed| Entry::of(listed, now)).collect();
        entries.sort_by(|one, other| one.rank(order).cmp(&other.rank(order)));
        Self { entries, order }
    }

    /// The sessions that wait for an answer.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.standing == Standing::Open)
    }

    /// The sessions that were skipped or snoozed.
    pub fn put_off(&self) -> impl Iterator<Item = &Entry> {
        let is_put_off =
            |entry: &&Entry| matches!(entry.standing, Standing::Skipped | Standing::Snoozed(_));
        self.entries.iter().filter(is_put_off)
    }

    /// The entry in a pane, whatever its standing.
    pub fn in_pane(&self, pane: &Pane) -> Option<&Entry> {
        let is_there =
            |entry: &&Entry| (&entry.pane.socket, entry.pane.id) == (&pane.socket, pane.id);
        self.entries.iter().find(is_there)
    }

    /// Where `next` goes from a place, best first: to what comes after it, then from the beginning
    /// on, each once and never to that pane itself. Dead entries are among them, to be named.
    pub fn from(&self, place: Option<&Place>) -> impl Iterator<Item = &Entry> {
        let rank = place.and_then(|place| place.wait.map(|_| place.rank(self.order)));
        let start = rank
            .map_or(0, |rank| self.entries.partition_point(|entry| entry.rank(self.order) <= rank));
        let (before, after) = self.entries.split_at(start);
        let is_here = move |entry: &Entry| {
            place.is_some_and(|p| (&p.socket, p.pane) == (&entry.pane.socket, entry.pane.id))
        };
        after.iter().chain(before).filter(move |entry| {
            matches!(entry.standing, Standing::Open | Standing::Dead) && !is_here(entry)
        })
    }
}

impl Entry {
    fn of(listed: &Listed, now: Moment) -> Option<Self> {
        let pane = listed.pane.clone()?;
        let (wait, standing) = match listed.health.state {
            State::Waiting => {
                let covers = |put_off: &PutOff| put_off.covers(&listed.health.waits, now);
                let standing = match pane.put_off.filter(covers) {
                    Some(PutOff { until: Some(until), .. }) => Standing::Snoozed(until),
                    Some(PutOff { until: None, .. }) => Standing::Skipped,
                    None => Standing::Open,
                };
                (listed.waits_for()?.clone(), standing)
            }
            State::Ended(End::Killed) => {
                let kept = pane.kept.as_ref().filter(|kept| kept.session == listed.id)?;
                (left_open(kept)?.clone(), Standing::Dead)
            }
            _ => return None,
        };
        Some(Self { listed: listed.clone(), pane, wait, standing })
    }

    fn rank(&self, order: Order) -> Rank<'_> {
        let wait = Key { kind: self.wait.kind, since: self.wait.since };
        rank(order, Some(wait), &self.pane.socket, self.pane.id)
    }

    /// Where `next` brings somebody who goes to this entry.
    pub fn place(&self) -> Place {
        let wait = Key { kind: self.wait.kind, since: self.wait.since };
        Place { socket: self.pane.socket.clone(), pane: self.pane.id, wait: Some(wait) }
    }

    /// What has to be written into the pane for this entry to be put off.
    pub fn put_off_until(&self, until: Option<Moment>) -> PutOff {
        let newest = self.listed.health.waits.iter().map(|wait| wait.since).max();
        PutOff { newest_wait: newest.unwrap_or(self.wait.since), until }
    }
}

fn left_open(kept: &Kept) -> Option<&Wait> {
    kept.dialogs.first().or(kept.finished.as_ref())
}

/// Two waits of one moment are told apart by where they are.
type Rank<'a> = (u8, Moment, &'a Path, u32);

impl Place {
    fn rank(&self, order: Order) -> Rank<'_> {
        rank(order, self.wait, &self.socket, self.pane)
    }
}

fn rank(order: Order, wait: Option<Key>, socket: &Path, pane: PaneId) -> Rank<'_> {
    let (kind, since) = match wait {
        Some(key) => (urgency(key.kind), key.since),
        None => (0, Moment::from_micros(0)),
    };
    (if order == Order::Kind { kind } else { 0 }, since, socket, pane.0)
}

/// Dialogs hold up a turn that is under way; a turn that is over can wait.
fn urgency(kind: WaitKind) -> u8 {
    match kind {
        WaitKind::Dialog(DialogKind::Permission) => 0,
        WaitKind::Dialog(DialogKind::Question) => 1,
        WaitKind::Dialog(DialogKind::Plan) => 2,
        WaitKind::Dialog(DialogKind::Input) => 3,
        WaitKind::Turn(TurnEnd::Error) => 4,
        WaitKind::Turn(TurnEnd::Done) => 5,
    }
}

#[cfg(test)]
pub(crate) mod tests;
