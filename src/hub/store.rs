//! The events of every session in memory: rings that are bounded by bytes and serve readers that
//! are up to date as well as those that come back.
//!
//! One number counts all events of a start. Whoever reads is nothing but such a number, so a reader
//! costs the others nothing; where its next event is no longer in memory, it is told so.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::watch;

use crate::clock;
use crate::session::Moment;

use super::frame::frame;
use super::spool::Spool;

/// What an entry costs beside its frame.
const OVERHEAD: usize = 160;
/// What was dropped from a ring stays for readers that are in the middle of it.
const AFTERLIFE: usize = 8 * 1024 * 1024;
/// How many dropped events of a session are remembered by their number, to count what is missing.
const REMEMBERED: usize = 262_144;
/// Sessions that never end, but of which nothing is heard any more, are forgotten beyond this.
const MOST_RINGS: usize = 1024;

/// What one stream of events belongs to: a launch of the hub, else a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key(Arc<str>);

impl Key {
    /// Only for text that is made of letters, digits and dashes.
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What Claude Code sent, and nothing else.
    Hook,
    /// What the hub itself has to say.
    Hub,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Hub => "hub",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Hook, Self::Hub].into_iter().find(|kind| kind.word() == word)
    }
}

/// The name of an event for ever: which start of the hub, and which event of it. Written
/// `661b2c5e3f0a8-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) boot: u64,
    pub(super) seq: u64,
}

impl Id {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (boot, seq) = text.split_once('-')?;
        let is_number = |text: &str, digit: fn(&u8) -> bool| {
            !text.is_empty() && text.len() <= 20 && text.as_bytes().iter().all(digit)
        };
        if !is_number(boot, u8::is_ascii_hexdigit) || !is_number(seq, u8::is_ascii_digit) {
            return None;
        }
        Some(Self { boot: u64::from_str_radix(boot, 16).ok()?, seq: seq.parse().ok()? })
    }

    pub(super) fn next(self) -> Self {
        Self { seq: self.seq.saturating_add(1), ..self }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:013x}-{}", self.boot, self.seq)
    }
}

/// Which events a reader wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    One(Key),
}

impl Scope {
    pub(super) fn holds(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::One(own) => own.as_str() == key,
        }
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) at: Moment,
    pub(super) kind: Kind,
    key: Key,
    pub(super) frame: Bytes,
}

impl Entry {
    fn cost(&self) -> usize {
        self.frame.len() + OVERHEAD
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) ring_bytes: usize,
    pub(super) ring_events: usize,
    pub(super) total_bytes: usize,
}

/// What a reader gets next.
#[derive(Debug)]
pub(super) enum Read {
    Entries(Vec<Arc<Entry>>),
    /// So many events up to `through` are no longer in memory.
    Missing {
        through: u64,
        count: u64,
    },
    Nothing,
    /// The session has ended and everything was read.
    End,
}

#[derive(Debug)]
pub(super) struct Store {
    pub(super) boot: u64,
    inner: Mutex<Inner>,
    latest: watch::Sender<u64>,
}

#[derive(Debug)]
struct Inner {
    limits: Limits,
    seq: u64,
    entries: BTreeMap<u64, Arc<Entry>>,
    bytes: usize,
    rings: HashMap<Key, Ring>,
    spool: Spool,
    afterlife: VecDeque<Arc<Entry>>,
    afterlife_bytes: usize,
}

#[derive(Debug)]
struct Ring {
    seqs: VecDeque<u64>,
    bytes: usize,
    dropped: VecDeque<u64>,
    latest: u64,
    has_ended: bool,
    changed: watch::Sender<u64>,
}

impl Ring {
    fn new() -> Self {
        Self {
            seqs: VecDeque::new(),
            bytes: 0,
            dropped: VecDeque::new(),
            latest: 0,
            has_ended: false,
            changed: watch::Sender::new(0),
        }
    }
}

/// What was appended, and whether it is on the disk.
#[derive(Debug)]
pub(super) struct Appended {
    pub(super) id: Id,
    pub(super) spooled: io::Result<()>,
}

/// Figures for the metrics.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) rings: usize,
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

impl Store {
    pub(super) fn new(boot: u64, limits: Limits, spool: Spool) -> Self {
        let inner = Inner {
            limits,
            seq: 0,
            entries: BTreeMap::new(),
            bytes: 0,
            rings: HashMap::new(),
            spool,
            afterlife: VecDeque::new(),
            afterlife_bytes: 0,
        };
        Self { boot, inner: Mutex::new(inner), latest: watch::Sender::new(0) }
    }

    pub(super) fn id(&self, seq: u64) -> Id {
        Id { boot: self.boot, seq }
    }

    /// Puts an event on the disk and into its ring, and wakes who waits for it.
    pub(super) fn append(&self, key: &Key, kind: Kind, payload: &str) -> Appended {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let id = self.id(inner.seq + 1);
        inner.seq = id.seq;
        let at = clock::now();
        let spooled = inner.spool.append(id.seq, at, kind, key, payload);
        let frame = frame(Some(&id.to_string()), kind.word(), payload);
        inner.push(Entry { seq: id.seq, at, kind, key: key.clone(), frame });
        let ring = inner.rings.get(key).map(|ring| ring.changed.clone());
        drop(guard);
        if let Some(changed) = ring {
            changed.send_replace(id.seq);
        }
        self.latest.send_if_modified(|latest| {
            let newer = id.seq > *latest;
            *latest = id.seq.max(*latest);
            newer
        });
        Appended { id, spooled }
    }

    /// Says that nothing follows for this key: whoever has read everything is at the end.
    pub(super) fn end(&self, key: &Key) {
        let mut inner = self.lock();
        let ring = inner.rings.entry(key.clone()).or_insert_with(Ring::new);
        ring.has_ended = true;
        ring.changed.send_modify(|_| {});
    }

    /// A session that goes on again after its end.
    pub(super) fn begin(&self, key: &Key) {
        self.lock().rings.entry(key.clone()).or_insert_with(Ring::new).has_ended = false;
    }

    /// What tells that there may be something new to read.
    pub(super) fn watch(&self, scope: &Scope) -> watch::Receiver<u64> {
        match scope {
            Scope::All => self.latest.subscribe(),
            Scope::One(key) => {
                let mut inner = self.lock();
                let ring = inner.rings.entry(key.clone()).or_insert_with(Ring::new);
                ring.changed.subscribe()
            }
        }
    }

    /// The events after `cursor`, about as many as fit into `limit` bytes.
    pub(super) fn read(&self, scope: &Scope, cursor: u64, limit: usize) -> Read {
        let inner = self.lock();
        match scope {
            Scope::All => inner.read_all(cursor, limit),
            Scope::One(key) => inner.read_one(key, cursor, limit),
        }
    }

    /// The last event, of all or of one session; zero where there is none.
    pub(super) fn latest(&self, scope: &Scope) -> u64 {
        let inner = self.lock();
        match scope {
            Scope::All => inner.seq,
            Scope::One(key) => inner.rings.get(key).map_or(0, |ring| ring.latest),
        }
    }

    /// The oldest event in memory.
    pub(super) fn oldest(&self, scope: &Scope) -> Option<u64> {
        let inner = self.lock();
        match scope {
            Scope::All => inner.entries.first_key_value().map(|(seq, _)| *seq),
            Scope::One(key) => inner.rings.get(key)?.seqs.front().copied(),
        }
    }

    pub(super) fn knows(&self, key: &Key) -> bool {
        self.lock().rings.contains_key(key)
    }

    pub(super) fn has_ended(&self, key: &Key) -> bool {
        self.lock().rings.get(key).is_some_and(|ring| ring.has_ended)
    }

    pub(super) fn spool_dir(&self) -> PathBuf {
        self.lock().spool.dir().to_owned()
    }

    pub(super) fn usage(&self) -> Usage {
        let inner = self.lock();
        Usage { rings: inner.rings.len(), entries: inner.entries.len(), bytes: inner.bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics halfway through a change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, entry: Entry) {
        let (seq, cost) = (entry.seq, entry.cost());
        if !self.rings.contains_key(&entry.key) && self.rings.len() >= MOST_RINGS {
            self.forget_a_ring();
        }
        let ring = self.rings.entry(entry.key.clone()).or_insert_with(Ring::new);
        ring.seqs.push_back(seq);
        ring.bytes += cost;
        ring.latest = seq;
        self.bytes += cost;
        let key = entry.key.clone();
        self.entries.insert(seq, Arc::new(entry));
        let limits = self.limits;
        while let Some(ring) = self.rings.get(&key)
            && (ring.bytes > limits.ring_bytes || ring.seqs.len() > limits.ring_events)
            && ring.seqs.len() > 1
        {
            self.drop_oldest_of(&key);
        }
        while self.bytes > limits.total_bytes && self.entries.len() > 1 {
            self.make_room();
        }
    }

    /// Sessions that have ended give way first, the one that ended longest ago before the others.
    fn make_room(&mut self) {
        let ended = self.rings.iter().filter(|(_, ring)| ring.has_ended && !ring.seqs.is_empty());
        let oldest = ended.min_by_key(|(_, ring)| ring.latest).map(|(key, _)| key.clone());
        let first = || self.entries.first_key_value().map(|(_, entry)| entry.key.clone());
        if let Some(key) = oldest.or_else(first) {
            self.drop_oldest_of(&key);
        }
    }

    fn drop_oldest_of(&mut self, key: &Key) {
        let Some(ring) = self.rings.get_mut(key) else { return };
        let Some(seq) = ring.seqs.pop_front() else { return };
        let Some(entry) = self.entries.remove(&seq) else { return };
        let cost = entry.cost();
        ring.bytes -= cost;
        ring.dropped.push_back(seq);
        if ring.dropped.len() > REMEMBERED {
            ring.dropped.pop_front();
        }
        self.bytes -= cost;
        self.afterlife_bytes += cost;
        self.afterlife.push_back(entry);
        while self.afterlife_bytes > AFTERLIFE
            && let Some(entry) = self.afterlife.pop_front()
        {
            self.afterlife_bytes -= entry.cost();
        }
    }

    fn forget_a_ring(&mut self) {
        let unread = self.rings.iter().filter(|(_, ring)| ring.changed.receiver_count() == 0);
        let oldest = unread.min_by_key(|(_, ring)| (!ring.has_ended, ring.latest));
        let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
        while self.rings.get(&key).is_some_and(|ring| !ring.seqs.is_empty()) {
            self.drop_oldest_of(&key);
        }
        self.rings.remove(&key);
    }

    /// Every number is an event of some session, so one that is not there is missing. Where one is,
    /// all up to the last hole are called missing: the disk has them too, and is read once then and
    /// not for each hole that a loud session left between the events of quiet ones.
    fn read_all(&self, cursor: u64, limit: usize) -> Read {
        if cursor >= self.seq {
            return Read::Nothing;
        }
        let next = self.entries.range(cursor + 1..).next().map(|(seq, _)| *seq);
        if next != Some(cursor + 1) {
            let newest_first = self.entries.range(cursor + 1..).rev().map(|(seq, _)| *seq);
            let in_a_row = (cursor + 1..=self.seq).rev().zip(newest_first);
            let tail = in_a_row.take_while(|(expected, seq)| expected == seq).count() as u64;
            let through = self.seq - tail;
            return Read::Missing { through, count: through - cursor };
        }
        let (mut batch, mut length) = (Vec::new(), 0);
        for (expected, (seq, entry)) in (cursor + 1..).zip(self.entries.range(cursor + 1..)) {
            if *seq != expected || length >= limit {
                break;
            }
            length += entry.frame.len();
            batch.push(Arc::clone(entry));
        }
        Read::Entries(batch)
    }

    fn read_one(&self, key: &Key, cursor: u64, limit: usize) -> Read {
        let Some(ring) = self.rings.get(key) else { return Read::Nothing };
        if let Some(through) = ring.dropped.back().copied().filter(|last| *last > cursor) {
            let before = ring.dropped.partition_point(|seq| *seq <= cursor);
            return Read::Missing { through, count: (ring.dropped.len() - before) as u64 };
        }
        let next = ring.seqs.partition_point(|seq| *seq <= cursor);
        let (mut batch, mut length) = (Vec::new(), 0);
        for entry in ring.seqs.range(next..).filter_map(|seq| self.entries.get(seq)) {
            if length >= limit {
                break;
            }
            length += entry.frame.len();
            batch.push(Arc::clone(entry));
        }
        match batch.is_empty() {
            true if ring.has_ended => Read::End,
            true => Read::Nothing,
            false => Read::Entries(batch),
        }
    }
}

#[cfg(test)]
mod tests;
