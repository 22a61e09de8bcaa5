//! Sessions of which only a transcript is left.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::registry::Liveness;
use crate::session::{Moment, SessionId};
use crate::slug;
use crate::transcript::{Reader, Session, Summary};

use super::{End, Health, Listed, State, Teller};

/// More threads than this do not make a disk faster.
const MOST_THREADS: usize = 8;

/// The sessions of these files, the one that was active last first. Only as many files are read as
/// are needed to fill `limit` rows that are `wanted`; files of which nothing can be resumed are no
/// sessions, and of several files of one session the one changed last speaks for it.
///
/// Files come with the one changed last first, so a limit is filled by the time of change, while
/// rows are ordered by when somebody last said something.
pub fn read(files: &[Session], limit: usize, wanted: impl Fn(&Listed) -> bool) -> Vec<Listed> {
    let mut found: Vec<Listed> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut rest = files;
    while found.len() < limit && !rest.is_empty() {
        let (next, later) = rest.split_at(rest.len().min(limit - found.len()));
        let read = in_parallel(next, |reader, file| read_one(file, reader));
        let wanted = read.into_iter().filter(&wanted);
        found.extend(wanted.filter(|listed| seen.insert(listed.id.as_str().to_owned())));
        rest = later;
    }
    found.sort_by_key(|session| std::cmp::Reverse(session.health.since));
    found
}

/// One session with what its transcript says; nothing where that is nothing to resume.
pub fn read_one(file: &Session, reader: &mut Reader) -> Option<Listed> {
    let summary = reader.summary(&file.path, &file.bucket, slug_of).ok()?;
    let directory = match &summary.bucket_cwd {
        Some(dir) => Some(PathBuf::from(dir)),
        None => other_directory(file, &summary, reader),
    };
    summary.is_session().then(|| listed(file, summary, directory)).flatten()
}

/// The slug as transcripts compare it with the name of their folder.
pub fn slug_of(dir: &str) -> String {
    slug::encode(Path::new(dir)).unwrap_or_default()
}

pub fn moment(time: SystemTime) -> Moment {
    let elapsed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

/// Reads the titles that neither hooks nor the registry have told from the transcripts.
pub fn name_untitled(sessions: &mut [Listed]) {
    let untitled: Vec<(usize, PathBuf)> = sessions
        .iter()
        .enumerate()
        .filter(|(_, listed)| listed.title.is_none())
        .filter_map(|(at, listed)| Some((at, listed.transcript.clone()?)))
        .collect();
    let titles = in_parallel(&untitled, |reader, (at, path)| {
        let bucket = path.parent()?.file_name()?.to_str()?;
        let near_end = reader.title_near_end(path).ok()?;
        let title = near_end.or_else(|| reader.summary(path, bucket, slug_of).ok()?.title)?;
        Some((*at, title.text))
    });
    for (at, title) in titles {
        sessions[at].title = Some(title);
    }
}

/// What can be read of each, in the order given.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    read: impl Fn(&mut Reader, &T) -> Option<R> + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        let mut reader = Reader::new();
        let mut own = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            own.extend(read(&mut reader, item).map(|result| (at, result)));
        }
        if let Ok(mut found) = found.lock() {
            found.extend(own);
        }
    };
    let threads = match items.len() {
        0 | 1 => 1,
        some => thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(some),
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread can be had, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}

/// Where a session belongs whose transcript names no directory that fits its folder: it was moved,
/// or the folder was named freely.
fn other_directory(file: &Session, summary: &Summary, reader: &mut Reader) -> Option<PathBuf> {
    let origin = reader.origin(&file.path, &file.bucket, slug_of).ok()?;
    let worktree = origin.worktree.and_then(|worktree| worktree.path);
    let moved = origin.relocated_cwd.into_iter().chain(worktree);
    let is_slug = file.bucket.starts_with('-');
    let fitting = moved.into_iter().find(|dir| *slug_of(dir) == *file.bucket);
    let named_freely = || if is_slug { None } else { summary.last_cwd.clone() };
    fitting.or_else(named_freely).map(PathBuf::from)
}

fn listed(file: &Session, summary: Summary, directory: Option<PathBuf>) -> Option<Listed> {
    let is_scripted = summary.is_scripted();
    Some(Listed {
        id: SessionId::parse(&file.id)?,
        health: Health {
            state: State::Ended(End::Past),
            status: None,
            waits: Vec::new(),
            since: Some(moment(summary.last_active.unwrap_or(file.modified))),
            told_by: Teller::Transcript,
        },
        liveness: Liveness::Dead,
        title: summary.title.map(|title| title.text),
        directory,
        branch: summary.branch,
        transcript: Some(file.path.clone()),
        config_dir: Some(file.config_dir.to_path_buf()),
        pid: None,
        background: 0,
        is_scripted,
        pane: None,
        entry: None,
        modified: Some(file.modified),
    })
}
