//! Which pane and which registry entry speak of the same session. Pure.

use std::collections::HashMap;

use crate::pane::Kept;
use crate::registry::{Entry, Liveness};
use crate::session::{Moment, PaneId};
use crate::tmux::Pane;

use super::Listed;

/// What is known of one session: at least one of both is there.
#[derive(Debug)]
pub(super) struct Joined<'a> {
    pub(super) pane: Option<&'a Pane>,
    /// What the pane keeps, unless it is about a process that was there before.
    pub(super) kept: Option<&'a Kept>,
    pub(super) entry: Option<Entry>,
}

impl Joined<'_> {
    /// The process a pane names, where no entry speaks for it.
    pub(super) fn noted_process(&self) -> Option<(u32, Option<&str>)> {
        let kept = self.kept.filter(|_| self.entry.is_none())?;
        Some((kept.pid?, kept.pid_start.as_deref()))
    }
}

/// `server_of` names the tmux server a process runs in: pane numbers alone mean nothing where
/// there are several servers.
pub(super) fn join<'a>(
    panes: &'a [Pane],
    entries: Vec<Entry>,
    server_of: impl Fn(u32) -> Option<u32>,
) -> Vec<Joined<'a>> {
    let mut entries: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
    let mut joined = Vec::new();
    let mut free: HashMap<PaneId, Vec<&Pane>> = HashMap::new();
    for pane in panes {
        let matching =
            entries.iter_mut().find(|entry| entry.as_ref().is_some_and(|e| is_of(pane, e)));
        let entry = matching.and_then(Option::take);
        // A pane whose session has ended can hold the next one, of which no hook has told.
        if entry.is_none() {
            free.entry(pane.id).or_default().push(pane);
        }
        if pane.kept.is_some() {
            joined.push(Joined { pane: Some(pane), kept: pane.kept.as_ref(), entry });
        }
    }
    for entry in entries.into_iter().flatten() {
        let pane = place_of(&entry, &free, &server_of);
        // An entry that a killed process left behind says something only where its pane does not.
        let says_something = match entry.liveness {
            Liveness::Dead => pane.is_some_and(|pane| {
                pane.kept.is_none()
                    && entry.started_at.map(Moment::from_millis) > Some(pane.server_started)
            }),
            Liveness::Alive | Liveness::Unknown => true,
        };
        if says_something {
            joined.push(Joined { pane, kept: None, entry: Some(entry) });
        }
    }
    joined
}

/// Whether an entry speaks of the very process that the pane's hooks have named.
fn is_of(pane: &Pane, entry: &Entry) -> bool {
    let Some(kept) = &pane.kept else { return false };
    match (kept.pid, &kept.pid_start, &entry.proc_start) {
        (Some(pid), Some(noted), Some(start)) => pid == entry.pid && noted == start,
        (Some(pid), _, _) => pid == entry.pid,
        (None, _, _) => {
            let elsewhere =
                entry.tmux.as_ref().is_some_and(|tmux| tmux.pane != pane.id.to_string());
            kept.session.as_str() == entry.session_id && !elsewhere
        }
    }
}

fn place_of<'a>(
    entry: &Entry,
    free: &HashMap<PaneId, Vec<&'a Pane>>,
    server_of: impl Fn(u32) -> Option<u32>,
) -> Option<&'a Pane> {
    let tmux = entry.tmux.as_ref()?;
    let panes = free.get(&PaneId::parse(&tmux.pane)?)?;
    let server = server_of(entry.pid);
    let mut fitting = panes.iter().filter(|pane| {
        // A pane may have been moved to another window since.
        server.map_or(pane.window == tmux.window, |server| server == pane.server_pid)
    });
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Drops what is left of a session that goes on elsewhere, or ended a second time elsewhere, and
/// what is left in a pane where another session lives now.
pub(super) fn without_remains(sessions: Vec<Listed>) -> Vec<Listed> {
    let is_remains = |(at, one): (usize, &Listed)| {
        one.health.state.has_ended()
            && sessions.iter().enumerate().any(|(other_at, other)| {
                let same = other.id == one.id || (one.pane.is_some() && is_same_pane(one, other));
                let later = (other.health.since, other_at) > (one.health.since, at);
                other_at != at && same && (!other.health.state.has_ended() || later)
            })
    };
    let remains: Vec<bool> = sessions.iter().enumerate().map(is_remains).collect();
    let kept = sessions.into_iter().zip(remains).filter(|(_, is_remains)| !is_remains);
    kept.map(|(session, _)| session).collect()
}

fn is_same_pane(one: &Listed, other: &Listed) -> bool {
    let place = |session: &Listed| session.pane.as_ref().map(|p| (p.server_pid, p.id));
    place(one) == place(other)
}

#[cfg(test)]
mod tests;
