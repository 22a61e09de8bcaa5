//! What differs between two looks at the sessions. Pure.

use std::collections::HashSet;

use crate::roster::{End, Listed, Roster, State};
use crate::session::{Moment, PaneId, WaitKind};

/// What was seen at the last look.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<Listed>);

#[derive(Debug)]
pub(super) struct Change {
    pub(super) listed: Listed,
    /// The state before; nothing for a session that was not there.
    pub(super) was: Option<&'static str>,
}

/// A session in its place: one that is open twice is two.
type Identity = (String, Option<(u32, PaneId)>);

pub(super) fn changes(seen: &mut Seen, roster: &Roster) -> Vec<Change> {
    let now = roster.read_at;
    let mut next: Vec<Listed> = Vec::new();
    let mut changes = Vec::new();
    for listed in roster.sessions.iter().filter(|listed| !listed.is_scripted) {
        let before = seen.0.iter().find(|before| identity(before) == identity(listed));
        // What only seems to be so for a moment is looked at again when it is settled.
        let is_unsettled = listed.has_just_begun(now) && listed.health.state == State::Idle;
        match before {
            Some(before) if is_unsettled => {
                next.push(before.clone());
                continue;
            }
            Some(before) if key(before) == key(listed) => {}
            before => {
                let was = before.map(|before| before.health.state.word());
                changes.push(Change { listed: listed.clone(), was });
            }
        }
        next.push(listed.clone());
    }
    let there: HashSet<Identity> = next.iter().map(identity).collect();
    for gone in seen.0.iter().filter(|before| !there.contains(&identity(before))) {
        if gone.is_alive() {
            changes.push(Change { listed: ended(gone, now), was: Some(gone.health.state.word()) });
        }
    }
    seen.0 = next;
    changes
}

fn identity(listed: &Listed) -> Identity {
    let place = listed.pane.as_ref().map(|pane| (pane.server_pid, pane.id));
    (listed.id.as_str().to_owned(), place)
}

/// What counts as a change.
fn key(listed: &Listed) -> (State, Option<(WaitKind, Moment)>) {
    (listed.health.state, listed.waits_for().map(|wait| (wait.kind, wait.since)))
}

/// A session whose pane is gone left nothing that says how it ended.
fn ended(listed: &Listed, now: Moment) -> Listed {
    let mut ended = listed.clone();
    ended.health.state = State::Ended(End::Past);
    ended.health.status = None;
    ended.health.waits.clear();
    ended.health.since = Some(now);
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{NOW, pane, session, wait};

    fn roster(sessions: Vec<Listed>) -> Roster {
        Roster {
            sessions,
            panes: Vec::new(),
            clients: Vec::new(),
            visits: Vec::new(),
            config_dirs: Vec::new(),
            silent_servers: Vec::new(),
            read_at: NOW,
        }
    }

    /// Each change as `was state kind`.
    fn look(seen: &mut Seen, sessions: Vec<Listed>) -> Vec<String> {
        let word = |change: Change| {
            let kind = change.listed.waits_for().map_or("", |wait| wait.kind.word());
            let state = change.listed.health.state.word();
            format!("{} {state} {kind}", change.was.unwrap_or("-"))
        };
        changes(seen, &roster(sessions)).into_iter().map(word).collect()
    }

    #[test]
    fn every_change_is_told_once() {
        let mut seen = Seen::default();
        let running = || session(Some(pane("/s", 1)), Vec::new());
        let waiting = |letter, since| session(Some(pane("/s", 1)), vec![wait(letter, since)]);
        assert_eq!(look(&mut seen, vec![running()]), ["- running "]);
        assert_eq!(look(&mut seen, vec![running()]), [""; 0]);
        assert_eq!(look(&mut seen, vec![waiting('p', 5)]), ["running waiting permission"]);
        assert_eq!(look(&mut seen, vec![waiting('p', 5)]), [""; 0]);
        assert_eq!(look(&mut seen, vec![waiting('q', 7)]), ["waiting waiting question"]);
        assert_eq!(look(&mut seen, Vec::new()), ["waiting ended "]);
        assert_eq!(look(&mut seen, Vec::new()), [""; 0]);
    }

    #[test]
    fn a_session_that_is_open_twice_is_two() {
        let mut seen = Seen::default();
        let one = session(Some(pane("/s", 1)), Vec::new());
        let mut other = one.clone();
        other.pane = Some(pane("/s", 2));
        assert_eq!(look(&mut seen, vec![one.clone(), other]).len(), 2);
        assert_eq!(look(&mut seen, vec![one]), ["running ended "]);
    }

    #[test]
    fn an_ended_session_that_goes_away_is_no_news() {
        let mut seen = Seen::default();
        let mut closed = session(Some(pane("/s", 1)), Vec::new());
        closed.health.state = State::Ended(End::Closed);
        assert_eq!(look(&mut seen, vec![closed]), ["- ended "]);
        assert_eq!(look(&mut seen, Vec::new()), [""; 0]);
    }
}
