//! The sessions of which a transcript is left, read off the screen's thread and told in pieces, the
//! newest first.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use super::row::{Reader, Row};
use super::threads::{Message, Shared};
use crate::clock;
use crate::ls::retention::Retention;
use crate::roster::past;
use crate::session::SessionId;
use crate::transcript::{self, Session};

/// How often it is looked whether there are others. A list of 10,000 files takes some milliseconds.
const REST: Duration = Duration::from_secs(15);
/// One screen comes first, then larger pieces.
const FIRST_PIECE: usize = 64;
const PIECE: usize = 512;

/// Tells of every transcript, then of those that change, until nobody listens: `leave` is never
/// sent anything.
pub(super) fn watch(shared: &Shared, tell: &Sender<Message>, leave: &Receiver<()>) {
    let mut known: HashMap<PathBuf, (SystemTime, u64)> = HashMap::new();
    loop {
        let mut files = transcript::all(&shared.config_dirs());
        let there: HashSet<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let gone = known
            .keys()
            .filter(|path| !there.contains(*path))
            .filter_map(|path| id_of(path))
            .collect();
        known.retain(|path, _| there.contains(path));
        if tell.send(Message::PastGone(gone)).is_err() {
            return;
        }
        files.retain(|file| known.get(&file.path) != Some(&(file.modified, file.size)));
        known.extend(files.iter().map(|file| (file.path.clone(), (file.modified, file.size))));
        let (first, later) = files.split_at(files.len().min(FIRST_PIECE));
        for piece in std::iter::once(first).chain(later.chunks(PIECE)) {
            let rows = rows(piece, shared);
            if !rows.is_empty() && tell.send(Message::Past(rows)).is_err() {
                return;
            }
        }
        if tell.send(Message::PastRead).is_err() {
            return;
        }
        if leave.recv_timeout(REST) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

fn id_of(path: &Path) -> Option<SessionId> {
    SessionId::parse(path.file_stem()?.to_str()?)
}

fn rows(files: &[Session], shared: &Shared) -> Vec<Row> {
    let reader =
        Reader { now: clock::now(), home: shared.home.as_deref(), own_server: &shared.own_server };
    let mut retention = Retention::default();
    let sessions = past::read(files, usize::MAX, |listed| !listed.is_scripted);
    let row = |listed| {
        let deleted_in = retention.days_left(&listed, reader.now);
        Row::new(listed, deleted_in, reader)
    };
    sessions.into_iter().map(row).collect()
}
