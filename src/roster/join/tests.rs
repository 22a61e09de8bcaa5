use std::path::PathBuf;

use super::{Joined, join};
use crate::pane::{Kept, PID, PID_START, READ, SESSION_ID, STATUS};
use crate::registry::{Entry, Liveness, Status, TmuxPlace};
use crate::session::{Moment, PaneId};
use crate::tmux::Pane;

const SERVER: u32 = 100;
const OTHER_SERVER: u32 = 200;

fn pane(server_pid: u32, id: u32, kept: Option<Kept>) -> Pane {
    Pane {
        socket: PathBuf::from(format!("/tmp/{server_pid}")),
        server_pid,
        server_started: Moment::from_seconds(1000),
        id: PaneId(id),
        process: Some(1),
        is_dead: false,
        session: "main".to_owned(),
        window: format!("@{id}"),
        window_index: 0,
        index: 0,
        links: Vec::new(),
        put_off: None,
        kept,
    }
}

/// What hooks have told of a session and its process.
fn kept(session: &str, pid: &str, start: &str) -> Option<Kept> {
    Kept::read(READ.map(|name| match name {
        SESSION_ID => session,
        STATUS => "running",
        PID => pid,
        PID_START => start,
        _ => "",
    }))
}

fn entry(session: &str, pid: u32, start: &str, pane: Option<u32>) -> Entry {
    let place = |number| TmuxPlace {
        session: "main".to_owned(),
        window: format!("@{number}"),
        pane: format!("%{number}"),
    };
    Entry {
        config_dir: PathBuf::from("/c"),
        pid,
        session_id: session.to_owned(),
        liveness: Liveness::Alive,
        status: Status::Idle,
        waiting_for: None,
        cwd: None,
        name: None,
        tmux: pane.map(place),
        kind: None,
        entrypoint: None,
        version: None,
        proc_start: Some(start.to_owned()),
        started_at: Some(2_000_000),
        updated_at: None,
        status_updated_at: None,
    }
}

fn dead(entry: Entry) -> Entry {
    Entry { liveness: Liveness::Dead, ..entry }
}

/// `pane hooks registry` of each session, with `-` for what does not speak of it.
fn words(joined: &[Joined<'_>]) -> Vec<String> {
    let word = |joined: &Joined<'_>| {
        let pane =
            joined.pane.map_or("-".to_owned(), |pane| format!("{}{}", pane.server_pid, pane.id));
        let hooks = joined.kept.map_or("-", |kept| kept.session.as_str());
        let registry = joined.entry.as_ref().map_or("-", |entry| &entry.session_id);
        format!("{pane} {hooks} {registry}")
    };
    joined.iter().map(word).collect()
}

#[track_caller]
fn check(panes: &[Pane], entries: Vec<Entry>, expected: &[&str]) {
    check_in(panes, entries, None, expected);
}

/// With a process that runs in the given tmux server.
#[track_caller]
fn check_in(panes: &[Pane], entries: Vec<Entry>, server: Option<u32>, expected: &[&str]) {
    assert_eq!(words(&join(panes, entries, |_| server)), expected);
}

#[test]
fn hooks_and_registry_of_one_process_are_one_session() {
    let panes = [pane(SERVER, 1, kept("a", "7", "42")), pane(SERVER, 2, None)];
    check(&panes, vec![entry("a", 7, "42", None)], &["100%1 a a"]);
    check(&panes, vec![entry("b", 7, "42", Some(1))], &["100%1 a b"]);
}

#[test]
fn a_process_with_the_same_number_and_another_start_is_another_one() {
    let panes = [pane(SERVER, 1, kept("a", "7", "42"))];
    check(&panes, vec![entry("b", 7, "43", None)], &["100%1 a -", "- - b"]);
    let untold = [pane(SERVER, 1, kept("a", "7", ""))];
    check(&untold, vec![entry("a", 7, "43", None)], &["100%1 a a"]);
}

#[test]
fn without_a_process_the_session_id_tells_unless_it_is_elsewhere() {
    let panes = [pane(SERVER, 1, kept("a", "", ""))];
    check(&panes, vec![entry("a", 7, "42", Some(1))], &["100%1 a a"]);
    check(&panes, vec![entry("a", 7, "42", None)], &["100%1 a a"]);
    check(&panes, vec![entry("a", 7, "42", Some(2))], &["100%1 a -", "- - a"]);
}

#[test]
fn a_session_without_hooks_is_put_into_its_pane() {
    let panes = [pane(SERVER, 1, None), pane(SERVER, 2, kept("old", "9", "1"))];
    check(&panes, vec![entry("a", 7, "42", Some(1))], &["100%2 old -", "100%1 - a"]);
    check(&panes, vec![entry("a", 7, "42", Some(2))], &["100%2 old -", "100%2 - a"]);
    check(&panes, vec![entry("a", 7, "42", Some(3))], &["100%2 old -", "- - a"]);
    check(&panes, vec![entry("a", 7, "42", None)], &["100%2 old -", "- - a"]);
}

#[test]
fn panes_of_the_same_number_are_told_apart_by_the_server_of_the_process() {
    let panes = [pane(SERVER, 1, None), pane(OTHER_SERVER, 1, None)];
    let entries = || vec![entry("a", 7, "42", Some(1))];
    check_in(&panes, entries(), Some(OTHER_SERVER), &["200%1 - a"]);
    check_in(&panes, entries(), Some(300), &["- - a"]);
    check_in(&panes, entries(), None, &["- - a"]);
    check_in(&panes[..1], entries(), Some(OTHER_SERVER), &["- - a"]);
    check_in(&panes[..1], entries(), None, &["100%1 - a"]);
}

#[test]
fn a_pane_that_moved_to_another_window_is_still_the_place_of_its_process() {
    let panes = [Pane { window: "@9".to_owned(), ..pane(SERVER, 1, None) }];
    check_in(&panes, vec![entry("a", 7, "42", Some(1))], Some(SERVER), &["100%1 - a"]);
    check_in(&panes, vec![entry("a", 7, "42", Some(1))], None, &["- - a"]);
}

#[test]
fn what_a_killed_process_left_behind_is_told_only_of_a_pane_that_tells_nothing() {
    let panes = [pane(SERVER, 1, None), pane(SERVER, 2, kept("old", "9", "1"))];
    check(&panes, vec![dead(entry("a", 7, "42", Some(1)))], &["100%2 old -", "100%1 - a"]);
    check(&panes, vec![dead(entry("a", 7, "42", Some(2)))], &["100%2 old -"]);
    check(&panes, vec![dead(entry("a", 7, "42", None))], &["100%2 old -"]);
    // The numbers of panes begin anew with every server.
    let before = Entry { started_at: Some(999_000), ..dead(entry("a", 7, "42", Some(1))) };
    check(&panes, vec![before], &["100%2 old -"]);
}
