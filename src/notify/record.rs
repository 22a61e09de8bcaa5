//! What was told, by which channel: a line in the journal, and one in the debug log where that is
//! on. Never any text of the message.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::config::Channel;
use crate::journal::NOTIFY;
use crate::pane::Kept;
use crate::session::{Moment, PaneId, Wait};
use crate::text::one_line;
use crate::tmux::Look;
use crate::{clock, journal, paths};

use super::deliver::Outcome;

#[derive(Debug, Serialize)]
pub(super) struct Record {
    at: u64,
    event: &'static str,
    session: String,
    pane: String,
    server: u32,
    /// `KIND@MOMENT` of the wait.
    about: String,
    told: Vec<String>,
    /// The channels that did not work, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<String, String>,
}

impl Record {
    pub(super) fn new(
        now: Moment,
        kept: &Kept,
        look: &Look,
        wait: &Wait,
        channels: &[&Channel],
        outcomes: &[Outcome],
    ) -> Self {
        let (mut told, mut failed) = (Vec::new(), BTreeMap::new());
        for (channel, outcome) in channels.iter().zip(outcomes) {
            let name = one_line(&channel.name, 40);
            match outcome {
                Ok(_) => told.push(name),
                Err(failure) => _ = failed.insert(name, failure.what.clone()),
            }
        }
        Self {
            at: now.micros(),
            event: NOTIFY,
            session: kept.session.as_str().to_owned(),
            pane: look.pane.to_string(),
            server: look.server_pid,
            about: format!("{}@{}", wait.kind.letter(), wait.since),
            told,
            failed,
        }
    }

    pub(super) fn journal(&self) {
        let (Some(dir), Ok(line)) = (paths::state_dir(), serde_json::to_string(self)) else {
            return;
        };
        // Nobody is there to be told that the disk is full.
        let _ = journal::append(&dir, journal::JOURNAL, &line);
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "told through [{}]", self.told.join(", "))?;
        let failed = self.failed.iter().map(|(name, why)| format!("{name} failed: {why}"));
        failed.into_iter().try_for_each(|failed| write!(f, "; {failed}"))
    }
}

pub(super) fn debug(pane: PaneId, decided: &str) {
    if !paths::debug() {
        return;
    }
    let Some(dir) = paths::state_dir() else { return };
    let line = format!("{} {NOTIFY} pane={pane} {decided}", clock::utc(clock::now()));
    let _ = journal::append(&dir, journal::DEBUG, &line);
}
