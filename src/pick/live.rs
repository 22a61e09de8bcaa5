//! The sessions that have a pane or a process, looked at about once a second, off the screen's
//! thread.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime};

use super::row::{Reader, Row};
use super::threads::{Message, Shared};
use crate::queue::{Entry, Order, Queue};
use crate::roster::{self, Listed, Roster, Servers, past};
use crate::transcript;

const REST: Duration = Duration::from_secs(1);
/// A session that works writes to its transcript all the time; its title hardly ever changes.
const KNOWN_FOR: Duration = Duration::from_secs(10);

/// Tells of every change until nobody listens. Something sent to `wake` makes it look at once.
pub(super) fn watch(shared: &Shared, tell: &Sender<Message>, wake: &Receiver<()>) {
    let mut details = Details::default();
    let mut told: Option<Vec<Row>> = None;
    loop {
        let mut roster = roster::read(Servers::All);
        // A server that is busy has not lost its panes.
        let is_told = told.is_some() && roster.silent_servers.contains(&shared.own_server);
        if is_told {
            match wake.recv_timeout(REST) {
                Err(RecvTimeoutError::Disconnected) => return,
                _ => continue,
            }
        }
        shared.set_config_dirs(&roster.config_dirs);
        details.fill_known(&mut roster.sessions);
        for round in [Round::Known, Round::Complete] {
            if round == Round::Complete && !details.read_missing(&mut roster.sessions) {
                break;
            }
            let rows = rows(&roster, shared);
            if told.as_ref() != Some(&rows) {
                told = Some(rows.clone());
                if tell.send(Message::Live(rows)).is_err() {
                    return;
                }
            }
        }
        if wake.recv_timeout(REST) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// What is known at once is told at once; what has to be read from transcripts follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Known,
    Complete,
}

fn rows(roster: &Roster, shared: &Shared) -> Vec<Row> {
    let reader = Reader {
        now: roster.read_at,
        home: shared.home.as_deref(),
        own_server: &shared.own_server,
    };
    let queue = Queue::of(&roster.sessions, Order::Age, roster.read_at);
    let queued: Vec<&Entry> = queue.open().chain(queue.put_off()).collect();
    let place = |listed: &Listed| queued.iter().position(|entry| entry.listed == *listed);
    let wanted = roster.sessions.iter().filter(|listed| !listed.is_scripted);
    let mut rows: Vec<(usize, Row)> = wanted
        .map(|listed| {
            let row = Row::new(listed.clone(), None, reader);
            match place(listed) {
                Some(at) => (at, row.in_queue(queued[at].standing)),
                None => (usize::MAX, row),
            }
        })
        .collect();
    rows.sort_by_key(|(at, _)| *at);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// What transcripts say of sessions that are open, by their paths.
#[derive(Default)]
struct Details(HashMap<PathBuf, Detail>);

struct Detail {
    title: Option<String>,
    branch: Option<String>,
    /// When the transcript had been changed last, and when it was read.
    version: Option<SystemTime>,
    read_at: Instant,
}

impl Details {
    fn fill_known(&self, sessions: &mut [Listed]) {
        for listed in sessions {
            let path = listed.transcript.as_deref();
            if let Some(detail) = path.and_then(|path| self.0.get(path)) {
                detail.fill(listed);
            }
        }
    }

    /// Reads what is not known or no longer true; false where that is nothing.
    fn read_missing(&mut self, sessions: &mut [Listed]) -> bool {
        let mut reader = transcript::Reader::new();
        let mut has_read = false;
        for listed in sessions {
            let Some(path) = listed.transcript.clone() else { continue };
            let version = path.metadata().and_then(|found| found.modified()).ok();
            let is_fresh =
                |detail: &Detail| detail.version == version || detail.read_at.elapsed() < KNOWN_FOR;
            if self.0.get(&path).is_some_and(is_fresh) {
                continue;
            }
            let detail = Detail::read(&path, version, &mut reader);
            detail.fill(listed);
            self.0.insert(path, detail);
            has_read = true;
        }
        has_read
    }
}

impl Detail {
    fn read(path: &Path, version: Option<SystemTime>, reader: &mut transcript::Reader) -> Self {
        let bucket = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let summary = reader.summary(path, &bucket, past::slug_of).unwrap_or_default();
        Self {
            title: summary.title.map(|title| title.text),
            branch: summary.branch,
            version,
            read_at: Instant::now(),
        }
    }

    /// What hooks or the registry call a session is newer than what the transcript says.
    fn fill(&self, listed: &mut Listed) {
        if listed.title.is_none() {
            listed.title.clone_from(&self.title);
        }
        listed.branch.clone_from(&self.branch);
    }
}
