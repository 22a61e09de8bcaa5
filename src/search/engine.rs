//! Searching many files at once, with the results in order: the newest session first, as soon as it
//! and all newer ones are through.
//!
//! The caller's thread hands out results; workers search. Results that wait for an older one to be
//! finished are held back in bounded memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::gather::{Gathered, Wanted};
use super::query::Query;
use super::record::Hit;
use super::scan::Scanner;
use super::schedule::Schedule;
use super::scope::Scope;
use crate::roster::{Listed, past};
use crate::transcript::{Reader, Session, Source};

/// More threads than this do not make a disk faster.
const MOST_WORKERS: usize = 8;
/// How much may wait for its turn, in bytes.
const MOST_HELD: usize = 8 * 1024 * 1024;
const TICK: Duration = Duration::from_millis(100);

/// A session in which all words occur.
#[derive(Debug, Clone)]
pub struct Found {
    pub file: Session,
    /// What its transcript says about the session.
    pub session: Listed,
    /// In the order of the file; never empty.
    pub hits: Vec<Hit>,
}

#[derive(Debug)]
pub enum Told {
    Found(Box<Found>),
    /// Told from time to time, also when nothing was found.
    Progress(Progress),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub files: usize,
    pub files_done: usize,
    pub bytes: u64,
    pub bytes_done: u64,
}

/// How a search went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub sessions: usize,
    /// Files that are there and could not be read.
    pub unreadable: usize,
    /// Sessions that match and were left out because scripts drive them.
    pub scripted: usize,
}

/// Lets any thread end a search at once. Good for one search: it is set when that is over.
#[derive(Debug, Default)]
pub struct Cancel(AtomicBool);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Searches `files`, which come with the newest first, until all are through, `tell` breaks, or the
/// search is cancelled. Blocks; what is found is told on this thread.
pub fn run(
    files: &[Session],
    query: &Query,
    scope: &Scope,
    cancel: &Cancel,
    mut tell: impl FnMut(Told) -> ControlFlow<()>,
) -> Summary {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.min(MOST_WORKERS).min(files.len()).max(1);
    let sizes: Vec<u64> = files.iter().map(|file| file.size).collect();
    let search = Search {
        files,
        query,
        rarest: (query.terms.len() > 1).then(|| query.rarest()),
        scope,
        cancel,
        bytes: sizes.iter().sum(),
        bytes_done: AtomicU64::new(0),
        schedule: Mutex::new(Schedule::new(sizes, workers)),
        held: Mutex::new(Held { bytes: 0, next: 0 }),
        released: Condvar::new(),
    };
    let (results, told) = mpsc::channel();
    thread::scope(|scope| {
        let mut started = 0;
        for worker in 0..workers {
            let (search, results) = (&search, results.clone());
            let work = move || search.work(worker, &results);
            started += usize::from(thread::Builder::new().spawn_scoped(scope, work).is_ok());
        }
        if started < workers {
            // Where threads cannot be had, this one does their work, and tells afterwards.
            search.release_all();
            search.work(0, &results);
        }
        drop(results);
        let summary = search.tell_in_order(&told, &mut tell);
        search.cancel.cancel();
        search.release_all();
        summary
    })
}

/// Every hit in one transcript, in the order of the file, also where not all words occur.
pub fn hits_in(path: &Path, query: &Query) -> io::Result<Vec<Hit>> {
    let mut all = Vec::new();
    Scanner::new().scan(&Source::open(path)?, query, &AtomicBool::new(false), &mut |hits| {
        all.extend(hits);
        ControlFlow::Continue(query.all())
    })?;
    Ok(all)
}

/// What became of one file.
enum Outcome {
    Nothing,
    Unreadable,
    Scripted,
    Found(Box<Found>),
}

struct Held {
    bytes: usize,
    /// The file whose result is told next.
    next: usize,
}

struct Search<'a> {
    files: &'a [Session],
    query: &'a Query,
    /// Of several words the one that occurs least. A file that does not have it is done, so most
    /// files are searched for one word only.
    rarest: Option<Query>,
    scope: &'a Scope,
    cancel: &'a Cancel,
    bytes: u64,
    bytes_done: AtomicU64,
    schedule: Mutex<Schedule>,
    held: Mutex<Held>,
    released: Condvar,
}

impl Search<'_> {
    fn work(&self, worker: usize, results: &Sender<(usize, Outcome)>) {
        let mut hands = Hands { scanner: Scanner::new(), reader: Reader::new() };
        let nothing = HashSet::new();
        while !self.cancel.is_cancelled() {
            let next = self.schedule.lock().unwrap_or_else(PoisonError::into_inner).next(worker);
            let Some(at) = next else { return };
            let outcome = self.search(at, &mut hands, &nothing);
            self.bytes_done.fetch_add(self.files[at].size, Ordering::Relaxed);
            let is_found = matches!(outcome, Outcome::Found(_));
            if let Outcome::Found(found) = &outcome {
                self.wait_for_room(at, size(found));
            }
            if results.send((at, outcome)).is_err() {
                return;
            }
            if is_found {
                // All processors may be searching. Whoever waits for the first line comes first.
                thread::yield_now();
            }
        }
    }

    /// The result that is told next never waits, so that there is always an end to waiting.
    fn wait_for_room(&self, at: usize, size: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while held.bytes > MOST_HELD && held.next < at && !self.cancel.is_cancelled() {
            held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.bytes += size;
    }

    fn release(&self, next: usize, size: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.next = next;
        held.bytes = held.bytes.saturating_sub(size);
        self.released.notify_all();
    }

    fn release_all(&self) {
        self.release(usize::MAX, usize::MAX);
    }

    fn search(&self, at: usize, hands: &mut Hands, excluded: &HashSet<u128>) -> Outcome {
        let file = &self.files[at];
        let source = match Source::open(&file.path) {
            Ok(source) => source,
            // Claude Code deletes old sessions whenever it starts.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Outcome::Nothing,
            Err(_) => return Outcome::Unreadable,
        };
        match self.rarest.as_ref().map(|rarest| self.holds(&source, rarest, hands)) {
            Some(Ok(false)) => return Outcome::Nothing,
            Some(Err(_)) => return Outcome::Unreadable,
            Some(Ok(true)) | None => {}
        }
        let wanted = Wanted {
            all: self.query.all(),
            most: self.scope.hits_each,
            by_score: self.scope.by_score,
            excluded,
        };
        let mut gathered = Gathered::new(&wanted);
        let mut found = |hits: Vec<Hit>| {
            let mut admitted = hits.into_iter().filter(|hit| self.scope.admits(hit));
            admitted.try_for_each(|hit| gathered.take(hit))?;
            ControlFlow::Continue(gathered.sought())
        };
        if hands.scanner.scan(&source, self.query, &self.cancel.0, &mut found).is_err() {
            return Outcome::Unreadable;
        }
        let hits = gathered.finish();
        if hits.is_empty() || self.cancel.is_cancelled() {
            return Outcome::Nothing;
        }
        let Some(session) = past::read_one(file, &mut hands.reader) else {
            return Outcome::Nothing;
        };
        match session {
            session if !self.scope.admits_session(&session) => Outcome::Nothing,
            session if session.is_scripted && !self.scope.with_scripted => Outcome::Scripted,
            session => Outcome::Found(Box::new(Found { file: file.clone(), session, hits })),
        }
    }

    fn holds(&self, source: &Source, query: &Query, hands: &mut Hands) -> io::Result<bool> {
        let mut holds = false;
        hands.scanner.scan(source, query, &self.cancel.0, &mut |hits| {
            holds = hits.iter().any(|hit| self.scope.admits(hit));
            if holds { ControlFlow::Break(()) } else { ControlFlow::Continue(query.all()) }
        })?;
        Ok(holds)
    }

    fn tell_in_order(
        &self,
        results: &Receiver<(usize, Outcome)>,
        tell: &mut impl FnMut(Told) -> ControlFlow<()>,
    ) -> Summary {
        let mut summary = Summary::default();
        let mut waiting: BTreeMap<usize, Outcome> = BTreeMap::new();
        let mut copies = Copies::default();
        let (mut next, mut done, mut told_at) = (0, 0, Instant::now());
        while next < self.files.len() && !self.cancel.is_cancelled() {
            match results.recv_timeout(TICK) {
                Ok((at, outcome)) => {
                    done += 1;
                    waiting.insert(at, outcome);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Some(outcome) = waiting.remove(&next) {
                let size = match &outcome {
                    Outcome::Found(found) => size(found),
                    _ => 0,
                };
                if self.tell_one(next, outcome, &mut copies, &mut summary, tell).is_break() {
                    return summary;
                }
                next += 1;
                self.release(next, size);
            }
            if told_at.elapsed() < TICK {
                continue;
            }
            told_at = Instant::now();
            let bytes_done = self.bytes_done.load(Ordering::Relaxed);
            let (files, bytes) = (self.files.len(), self.bytes);
            let progress = Progress { files, files_done: done, bytes, bytes_done };
            if tell(Told::Progress(progress)).is_break() {
                break;
            }
        }
        summary
    }

    fn tell_one(
        &self,
        at: usize,
        outcome: Outcome,
        copies: &mut Copies,
        summary: &mut Summary,
        tell: &mut impl FnMut(Told) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let found = match outcome {
            Outcome::Nothing => None,
            Outcome::Unreadable => {
                summary.unreadable += 1;
                None
            }
            Outcome::Scripted => {
                summary.scripted += 1;
                None
            }
            Outcome::Found(found) if self.scope.with_forks => Some(found),
            Outcome::Found(found) => self.without_copies(at, found, copies),
        };
        let Some(found) = found else { return ControlFlow::Continue(()) };
        summary.sessions += 1;
        tell(Told::Found(found))?;
        match self.scope.limit {
            Some(limit) if summary.sessions >= limit => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// A fork begins with a copy of another conversation. Where a newer session has shown something
    /// of it, only what that one does not have is shown.
    fn without_copies(
        &self,
        at: usize,
        found: Box<Found>,
        copies: &mut Copies,
    ) -> Option<Box<Found>> {
        let mut found = Some(found);
        let mut excluded = HashSet::new();
        let mut hands = None;
        while let Some(twins) = found.as_ref().map(|found| copies.twins(&found.hits, &excluded))
            && !twins.is_empty()
        {
            let hands = hands
                .get_or_insert_with(|| Hands { scanner: Scanner::new(), reader: Reader::new() });
            for twin in twins {
                excluded.extend(super::uuids::all(&self.files[twin].path).unwrap_or_default());
            }
            excluded.extend(copies.shown.keys());
            found = match self.search(at, hands, &excluded) {
                Outcome::Found(found) => Some(found),
                _ => None,
            };
        }
        let found = found?;
        copies.add(at, &found.hits);
        Some(found)
    }
}

/// What a worker needs again and again.
struct Hands {
    scanner: Scanner,
    reader: Reader,
}

/// The records that were shown, and of which file.
#[derive(Debug, Default)]
struct Copies {
    shown: HashMap<u128, usize>,
}

impl Copies {
    fn twins(&self, hits: &[Hit], excluded: &HashSet<u128>) -> HashSet<usize> {
        let uuids = hits.iter().filter_map(|hit| hit.uuid).filter(|uuid| !excluded.contains(uuid));
        uuids.filter_map(|uuid| self.shown.get(&uuid).copied()).collect()
    }

    fn add(&mut self, at: usize, hits: &[Hit]) {
        self.shown.extend(hits.iter().filter_map(|hit| Some((hit.uuid?, at))));
    }
}

fn size(found: &Found) -> usize {
    let hits = found.hits.iter().map(|hit| size_of::<Hit>() + hit.context.text.len());
    size_of::<Found>() + hits.sum::<usize>()
}
