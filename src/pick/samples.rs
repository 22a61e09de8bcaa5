//! Rows for tests.

use std::path::{Path, PathBuf};

use super::row::{Reader, Row};
use crate::registry::Liveness;
use crate::roster::{End, Health, Listed, State, Teller};
use crate::session::{DialogKind, Moment, PaneId, SessionId, Wait, WaitKind};
use crate::tmux::Pane;

#[derive(Debug, Clone)]
pub(super) struct Sample<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) directory: &'a str,
    pub(super) branch: &'a str,
    pub(super) state: State,
    pub(super) since: u64,
    /// Nothing for a session that is in no pane.
    pub(super) pane: Option<u32>,
}

impl Default for Sample<'_> {
    fn default() -> Self {
        Self {
            id: "23e30f82-0000-4000-8000-000000000001",
            title: "a title",
            directory: "/srv/proj",
            branch: "main",
            state: State::Ended(End::Past),
            since: 0,
            pane: None,
        }
    }
}

pub(super) fn row(sample: &Sample<'_>) -> Row {
    let reader =
        Reader { now: Moment::from_seconds(1000), home: None, own_server: Path::new("/tmp/s") };
    Row::new(listed(sample), None, reader)
}

fn listed(sample: &Sample<'_>) -> Listed {
    let since = Moment::from_seconds(sample.since);
    let kind = WaitKind::Dialog(DialogKind::Permission);
    let wait = Wait { kind, since, context: "Bash: make".to_owned() };
    let is_waiting = sample.state == State::Waiting;
    Listed {
        id: SessionId::parse(sample.id).unwrap(),
        health: Health {
            state: sample.state,
            status: None,
            waits: if is_waiting { vec![wait] } else { Vec::new() },
            since: Some(since),
            told_by: Teller::Hooks,
        },
        liveness: Liveness::Alive,
        title: Some(sample.title.to_owned()),
        directory: Some(PathBuf::from(sample.directory)),
        branch: Some(sample.branch.to_owned()),
        transcript: None,
        config_dir: None,
        pid: None,
        background: 0,
        is_scripted: false,
        pane: sample.pane.map(pane),
        entry: None,
        modified: None,
    }
}

fn pane(number: u32) -> Pane {
    Pane {
        socket: "/tmp/s".into(),
        server_pid: 7,
        server_started: Moment::from_seconds(0),
        id: PaneId(number),
        process: Some(1),
        is_dead: false,
        session: "work".to_owned(),
        window: "@1".to_owned(),
        window_index: 1,
        index: 0,
        links: Vec::new(),
        put_off: None,
        kept: None,
    }
}
