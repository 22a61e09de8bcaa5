//! Which sessions were open when a tmux server ended, out of the lines of the journal. Pure.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::journal;
use crate::session::{Moment, PaneId, SessionId};

/// A session that nobody closed, as the journal last heard of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) session: SessionId,
    pub(super) pane: PaneId,
    /// The process id of its tmux server.
    pub(super) server: u32,
    pub(super) at: Moment,
    /// Only when it is not the default one.
    pub(super) config_dir: Option<PathBuf>,
}

/// What is read of a line; see the hook's report for the writing side.
#[derive(Deserialize)]
struct Line {
    at: u64,
    #[serde(default)]
    event: String,
    session: String,
    pane: String,
    server: u32,
    #[serde(default)]
    status: String,
    #[serde(default)]
    config_dir: Option<PathBuf>,
}

/// A tmux server that is gone, as the journal knows it. Two that had the same process id are taken
/// for one that lived longer.
#[derive(Debug, Clone, Copy)]
struct Life {
    first: Moment,
    last: Moment,
}

/// The sessions that were open when their server ended, in the order of their panes. `began` tells
/// since when there is a tmux server with a process id; what was heard of one earlier came from
/// another that had the same id.
///
/// Servers that ended before the last one to end had begun are of an earlier day: whoever went on
/// without their sessions has no use for them now, unless `all` are wanted.
pub(super) fn open<'a>(
    lines: impl Iterator<Item = &'a str>,
    began: impl Fn(u32) -> Option<Moment>,
    all: bool,
) -> Vec<Recorded> {
    let mut lives: HashMap<u32, Life> = HashMap::new();
    let mut sessions: HashMap<String, Option<Recorded>> = HashMap::new();
    let mut config_dirs: HashMap<String, PathBuf> = HashMap::new();
    let mut beginnings: HashMap<u32, Option<Moment>> = HashMap::new();
    let lines = lines.filter_map(|line| serde_json::from_str::<Line>(line).ok());
    // A notification may be written down after the end of the session it was about.
    for line in lines.filter(|line| line.event != journal::NOTIFY) {
        let at = Moment::from_micros(line.at);
        let began = beginnings.entry(line.server).or_insert_with(|| began(line.server));
        let runs = began.is_some_and(|began| began <= at);
        if !runs {
            let life = lives.entry(line.server).or_insert(Life { first: at, last: at });
            life.last = life.last.max(at);
        }
        if let Some(dir) = line.config_dir {
            config_dirs.insert(line.session.clone(), dir);
        }
        let (Some(session), Some(pane)) =
            (SessionId::parse(&line.session), PaneId::parse(&line.pane))
        else {
            continue;
        };
        let config_dir = config_dirs.get(&line.session).cloned();
        let open = Recorded { session, pane, server: line.server, at, config_dir };
        let is_lost = line.status != "ended" && !runs;
        sessions.insert(line.session, is_lost.then_some(open));
    }
    let last = lives.values().max_by_key(|life| life.last).copied();
    let is_recent = |life: &Life| all || last.is_some_and(|last| life.last >= last.first);
    let mut open: Vec<Recorded> = sessions.into_values().flatten().collect();
    open.retain(|recorded| lives.get(&recorded.server).is_some_and(is_recent));
    open.sort_by_key(|recorded| {
        (lives.get(&recorded.server).map(|life| life.first), recorded.pane.0)
    });
    open.iter().filter(|one| is_last(one, &open)).cloned().collect()
}

/// Of several sessions in one pane only the last was open: `/clear` and a killed Claude leave the
/// one before without an end.
fn is_last(one: &Recorded, open: &[Recorded]) -> bool {
    let same = |other: &&Recorded| (other.server, other.pane) == (one.server, one.pane);
    !open.iter().filter(same).any(|other| other.at > one.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: u64, session: u32, place: (u32, &str), status: &str) -> String {
        let (server, pane) = place;
        format!(
            "{{\"at\":{at},\"event\":\"Stop\",\"session\":\"{}\",\"pane\":\"{pane}\",\
             \"server\":{server},\"status\":\"{status}\"}}",
            id(session)
        )
    }

    fn id(number: u32) -> String {
        format!("{number:08x}-0000-4000-8000-000000000000")
    }

    /// The sessions to restore where the server 9 runs since the moment 5.
    #[track_caller]
    fn check(lines: &[String], all: bool, expected: &[u32]) {
        let lines = lines.iter().map(String::as_str);
        let began = |server| (server == 9).then_some(Moment::from_micros(5));
        let found = open(lines, began, all);
        let found: Vec<String> =
            found.iter().map(|recorded| recorded.session.as_str().to_owned()).collect();
        assert_eq!(found, expected.iter().map(|number| id(*number)).collect::<Vec<_>>());
    }

    #[test]
    fn what_was_not_closed_on_a_server_that_is_gone_was_open() {
        let lines = [
            line(1, 1, (5, "%10"), "running"),
            line(2, 2, (5, "%2"), "stopped"),
            line(3, 3, (5, "%3"), "stopped"),
            line(4, 3, (5, "%3"), "ended"),
            line(5, 4, (9, "%4"), "running"),
        ];
        check(&lines, false, &[2, 1]);
    }

    #[test]
    fn a_notification_opens_nothing() {
        let notified = line(1, 1, (5, "%1"), "").replace("Stop", journal::NOTIFY);
        check(&[line(2, 1, (5, "%1"), "ended"), notified], false, &[]);
    }

    #[test]
    fn a_session_that_went_on_on_a_server_that_runs_is_not_lost() {
        check(&[line(1, 1, (5, "%1"), "stopped"), line(6, 1, (9, "%7"), "stopped")], false, &[]);
        check(&[line(1, 1, (5, "%1"), "ended"), line(2, 1, (5, "%1"), "stopped")], false, &[1]);
    }

    #[test]
    fn a_server_with_the_number_of_an_earlier_one_is_another() {
        check(&[line(1, 1, (9, "%1"), "stopped"), line(6, 2, (9, "%1"), "stopped")], false, &[1]);
    }

    #[test]
    fn of_one_pane_only_the_last_session_was_open() {
        check(&[line(1, 1, (5, "%1"), "stopped"), line(2, 2, (5, "%1"), "stopped")], false, &[2]);
    }

    #[test]
    fn servers_of_an_earlier_day_count_only_when_all_are_wanted() {
        let lines = [
            line(1, 1, (4, "%1"), "stopped"),
            line(2, 2, (5, "%1"), "stopped"),
            line(3, 3, (6, "%1"), "stopped"),
            line(4, 2, (5, "%1"), "stopped"),
        ];
        check(&lines, false, &[2, 3]);
        check(&lines, true, &[1, 2, 3]);
    }

    #[test]
    fn the_config_directory_is_remembered_from_the_start_of_the_session() {
        let named = line(1, 1, (5, "%1"), "stopped").replace("}", ",\"config_dir\":\"/c\"}");
        let lines = [named, line(2, 1, (5, "%1"), "running")];
        let found = open(lines.iter().map(String::as_str), |_| None, false);
        assert_eq!(found[0].config_dir.as_deref(), Some(std::path::Path::new("/c")));
    }

    #[test]
    fn lines_that_are_no_entries_are_passed_over() {
        let torn = line(1, 1, (5, "%1"), "stopped");
        let lines = [torn[..30].to_owned(), String::new(), "[]".to_owned()];
        check(&lines, false, &[]);
    }
}
