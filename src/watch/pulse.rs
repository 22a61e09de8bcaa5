//! When it is worth looking at the sessions again, found out without asking tmux: hooks write the
//! journal, Claude Code its registry, and processes end.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::roster::{Listed, Roster};
use crate::{journal, paths};

const INTERVAL: Duration = Duration::from_millis(100);
/// While much happens, tmux is asked no more often than this.
const BUSY: Duration = Duration::from_millis(250);
/// After a change the registry may take this long to come to rest.
const SETTLED: Duration = Duration::from_millis(1100);
/// What leaves no trace in any file, such as a pane that was moved, is seen this much later.
const IDLE: Duration = Duration::from_secs(5);

/// What a look has seen of the files and processes that tell of changes.
#[derive(Debug, Default)]
pub struct Pulse {
    files: Vec<PathBuf>,
    pids: Vec<Pid>,
    stamps: Vec<Stamp>,
    looked_at: Option<Instant>,
    changed_at: Option<Instant>,
}

/// A file as it was: its number, size and times; nothing for one that is not there.
type Stamp = Option<(u64, u64, i64, i64)>;

impl Pulse {
    /// Remembers how things stand after a look at the sessions.
    pub fn look(&mut self, roster: &Roster) {
        let journal = paths::state_dir().map(|dir| dir.join(journal::JOURNAL));
        let folders = roster.config_dirs.iter().map(|dir| dir.join("sessions"));
        let entries = roster.sessions.iter().filter_map(|listed| listed.entry.as_ref());
        let entries =
            entries.map(|e| e.config_dir.join("sessions").join(format!("{}.json", e.pid)));
        let files = journal.into_iter().chain(folders).chain(entries).collect();
        let living = roster.sessions.iter().filter(|listed| listed.is_alive());
        let pids = living.flat_map(pids_of);
        let pids = pids.filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let is_first = self.looked_at.is_none();
        let known = std::mem::take(&mut self.stamps);
        let known_files = std::mem::replace(&mut self.files, files);
        self.pids = pids.filter(|pid| is_there(*pid)).collect();
        self.stamps = self.files.iter().map(|path| stamp(path)).collect();
        // What was written while the sessions were read may not have been seen.
        let moved = !is_first && known_files == self.files && known != self.stamps;
        let now = Instant::now();
        if is_first || moved {
            self.changed_at = Some(now);
        }
        self.looked_at = Some(now);
    }

    /// Waits until there may be something new to see. False when `is_over` said so, or at the
    /// deadline.
    pub fn wait(&mut self, deadline: Option<Instant>, is_over: impl Fn() -> bool) -> bool {
        loop {
            let now = Instant::now();
            if is_over() || deadline.is_some_and(|deadline| now >= deadline) {
                return false;
            }
            let looked = self.looked_at.unwrap_or(now);
            if now >= looked + BUSY && self.has_changed() {
                self.changed_at = Some(now);
                return true;
            }
            // A look that was taken before everything had come to rest is taken once more.
            let is_settled = self
                .changed_at
                .is_some_and(|changed| now >= changed + SETTLED && looked < changed + SETTLED);
            if is_settled || now >= looked + IDLE {
                return true;
            }
            let left =
                deadline.map_or(INTERVAL, |deadline| deadline.saturating_duration_since(now));
            thread::sleep(left.min(INTERVAL));
        }
    }

    fn has_changed(&self) -> bool {
        self.files.iter().zip(&self.stamps).any(|(path, known)| stamp(path) != *known)
            || self.pids.iter().any(|pid| !is_there(*pid))
    }
}

/// The process of a session, and the one its pane was started with.
fn pids_of(listed: &Listed) -> impl Iterator<Item = u32> {
    listed.pid.into_iter().chain(listed.pane.as_ref().and_then(|pane| pane.process))
}

/// A process of somebody else is there, too.
fn is_there(pid: Pid) -> bool {
    !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}
