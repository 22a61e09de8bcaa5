//! What a run of the hook leaves behind: a line in the journal when the state changed, and a line
//! in the debug log when that is on. Never any text of the payload.

use std::time::Instant;

use serde::Serialize;

use crate::pane::Dialog;
use crate::session::{Moment, PaneId, Status};
use crate::tmux::Place;
use crate::{clock, journal, paths};

use super::event::{Event, NAMES};
use super::transition::{Change, Scope};

#[derive(Debug)]
pub(super) struct Report {
    began: Moment,
    started: Instant,
    event: String,
    session: String,
    place: Option<(PaneId, u32)>,
    forwarded: Option<String>,
}

/// One line of the journal: what an event said. Never any text.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    at: u64,
    event: &'a str,
    session: &'a str,
    pane: String,
    server: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    /// The prompt came from a task that ended, and not from a person.
    #[serde(skip_serializing_if = "is_false")]
    by_machine: bool,
    /// `AGENT.CALL.KIND` of a dialog, or the KIND of a finished turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<String>,
    /// `AGENT.CALL.KIND@MOMENT` of each dialog that was open before a tool event ended it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ended: Vec<String>,
    /// Where the session is found again after the end of its tmux server, when that is not in the
    /// default config directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_dir: Option<&'a str>,
}

impl Report {
    pub(super) fn new(began: Moment) -> Self {
        Self {
            began,
            started: Instant::now(),
            event: String::new(),
            session: String::new(),
            place: None,
            forwarded: None,
        }
    }

    pub(super) fn began(&self) -> Moment {
        self.began
    }

    pub(super) fn about(&mut self, event: &Event<'_>) {
        // An unknown name is foreign text; it may say no more than that it is new.
        let known = NAMES.iter().find(|name| **name == event.name);
        self.event = (*known.unwrap_or(&"(unknown event)")).to_owned();
        self.session = event.session.as_str().to_owned();
    }

    pub(super) fn at(&mut self, place: &Place) {
        self.place = Some((place.pane, place.server.pid));
    }

    pub(super) fn forwarded(&mut self, outcome: &str) {
        self.forwarded = Some(outcome.to_owned());
    }

    /// Writes down a change of state. `printed` holds the dialogs that were open before, where the
    /// event could have ended some.
    pub(super) fn journal(&self, changes: &[Change], printed: &str) {
        let ended = ended(changes, printed);
        let folds = |change: &Change| matches!(change, Change::Latest { folds: true, .. });
        let status = changes.iter().find_map(said_status).filter(|_| !changes.iter().any(folds));
        let opened = changes.iter().find_map(opened);
        if status.is_none() && opened.is_none() && ended.is_empty() {
            return;
        }
        let (Some((pane, server)), Some(dir)) = (self.place, paths::state_dir()) else { return };
        let entry = Entry {
            at: self.began.micros(),
            event: &self.event,
            session: &self.session,
            pane: pane.to_string(),
            server,
            status,
            by_machine: status.is_some() && changes.contains(&Change::End(Scope::Turn)),
            opened,
            ended,
            config_dir: changes.iter().find_map(config_dir),
        };
        if let Ok(line) = serde_json::to_string(&entry) {
            // Nobody is there to be told that the disk is full.
            let _ = journal::append(&dir, journal::JOURNAL, &line);
        }
    }

    pub(super) fn finish(self, decision: &str) {
        if !paths::debug() {
            return;
        }
        let Some(dir) = paths::state_dir() else { return };
        let pane = self.place.map_or("-".to_owned(), |(pane, _)| pane.to_string());
        let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let mut line = format!(
            "{} {} session={} pane={pane} {decision}",
            clock::utc(self.began),
            or_dash(&self.event),
            or_dash(&self.session),
        );
        if let Some(outcome) = &self.forwarded {
            line.push_str(&format!("; forwarding {outcome}"));
        }
        line.push_str(&format!("; {} us", self.started.elapsed().as_micros()));
        let _ = journal::append(&dir, journal::DEBUG, &line);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn said_status(change: &Change) -> Option<&'static str> {
    match change {
        Change::Status(Status::Running) => Some("running"),
        Change::Status(Status::Stopped) => Some("stopped"),
        Change::Status(Status::Removed) => Some("ended"),
        _ => None,
    }
}

fn config_dir(change: &Change) -> Option<&str> {
    match change {
        Change::Identity(identity) => identity.config_dir.as_deref(),
        _ => None,
    }
}

fn opened(change: &Change) -> Option<String> {
    match change {
        Change::Ask { agent, call, kind, .. } => Some(format!("{agent}.{call}.{}", kind.letter())),
        Change::Finish { how, .. } => Some(how.letter().to_string()),
        _ => None,
    }
}

fn ended(changes: &[Change], open_before: &str) -> Vec<String> {
    let covered = |dialog: &Dialog<'_>| {
        changes.iter().any(|change| matches!(change, Change::End(scope) if scope.covers(dialog)))
    };
    let ended = Dialog::parse_all(open_before.trim_end()).filter(covered);
    ended.map(|d| format!("{}.{}.{}@{}", d.agent, d.call, d.kind, d.since)).collect()
}
