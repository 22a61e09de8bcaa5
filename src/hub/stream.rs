//! One reader of events: from its cursor to the newest, then live, until it goes or is too slow.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::frame::{self, comment, frame};
use super::metrics::Gauge;
use super::shared::{Hub, Phase};
use super::spool::{self, Payload, Section};
use super::store::{Entry, Id, Kind, Read, Scope};

/// What is handed to a connection at once. What a reader that does not read holds in memory is
/// this, and what its connection buffers.
const PIECE: usize = 64 * 1024;

/// Where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    After(Id),
    Oldest,
    Latest,
}

/// A response body that a task of its own fills.
pub(super) fn body(hub: &Arc<Hub>, scope: Scope, start: Start, open: Gauge) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    let hub = Arc::clone(hub);
    tokio::spawn(async move {
        let _open = open;
        let stream = Stream { hub, scope, cursor: 0, sender };
        // Whoever went away needs no answer.
        let _ = stream.run(start).await;
    });
    Body::new(Streamed(receiver))
}

/// Why a stream does not go on.
enum Over {
    /// The connection is closed.
    Gone,
    /// The reader was in the middle of an event that is no longer there.
    TooSlow,
}

type Piece = Result<Bytes, TooSlow>;

#[derive(Debug)]
struct TooSlow;

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the reader is too slow")
    }
}

impl std::error::Error for TooSlow {}

struct Streamed(mpsc::Receiver<Piece>);

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = TooSlow;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TooSlow>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

struct Stream {
    hub: Arc<Hub>,
    scope: Scope,
    /// The last event that was sent.
    cursor: u64,
    sender: mpsc::Sender<Piece>,
}

impl Stream {
    async fn run(mut self, start: Start) -> Result<(), Over> {
        let ran = self.read_all(start).await;
        if matches!(ran, Err(Over::TooSlow)) {
            self.hub.metrics.slow_readers.add(1);
            // An error closes the connection in the middle, so that half an event is not taken for
            // a whole one.
            let _ = self.sender.send(Err(TooSlow)).await;
        }
        ran
    }

    async fn read_all(&mut self, start: Start) -> Result<(), Over> {
        let mut changed = self.hub.store.watch(&self.scope);
        // Panes are looked at for whoever hears of them, so only readers of everything do.
        let hears = (self.scope == Scope::All).then(|| self.hub.sessions_changed.subscribe());
        let mut sessions = hears.unwrap_or_else(|| watch::channel(0).1);
        let mut phase = self.hub.phase.subscribe();
        self.greet().await?;
        self.begin(start).await?;
        let beat = self.hub.settings.heartbeat;
        let mut heart = interval_at(Instant::now() + beat, beat);
        heart.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut beats = 0_u64;
        loop {
            changed.borrow_and_update();
            match self.hub.store.read(&self.scope, self.cursor, PIECE) {
                Read::Entries(entries) => {
                    self.send_entries(entries).await?;
                    continue;
                }
                Read::Missing { through, count } => {
                    self.catch_up(through, count).await?;
                    continue;
                }
                Read::End => return Ok(()),
                Read::Nothing => {}
            }
            if *phase.borrow_and_update() == Phase::Closing {
                return self.tell(&json!({ "type": "hub_shutdown" })).await;
            }
            tokio::select! {
                _ = changed.changed() => {}
                _ = phase.changed() => {}
                _ = sessions.changed(), if self.scope == Scope::All => {
                    sessions.borrow_and_update();
                    self.tell(&json!({ "type": "sessions_changed" })).await?;
                }
                _ = heart.tick() => {
                    beats += 1;
                    self.send(comment("still here")).await?;
                    if beats.is_multiple_of(2) {
                        // Code in a page does not see comments.
                        self.tell(&json!({ "type": "ping" })).await?;
                    }
                }
                () = self.sender.closed() => return Err(Over::Gone),
            }
        }
    }

    async fn greet(&self) -> Result<(), Over> {
        let store = &self.hub.store;
        let id = |seq: u64| store.id(seq).to_string();
        let hello = json!({
            "type": "hello",
            "boot_id": self.hub.boot_id(),
            "oldest": store.oldest(&self.scope).map(id),
            "latest": id(store.latest(&self.scope)),
        });
        let mut first = b"retry: 1000\n: connected\n\n".to_vec();
        first.extend_from_slice(&frame(None, "hub", &hello.to_string()));
        self.send(Bytes::from(first)).await
    }

    /// Sets the cursor; events of an earlier start of the hub are only on the disk.
    async fn begin(&mut self, start: Start) -> Result<(), Over> {
        let store = &self.hub.store;
        self.cursor = match start {
            Start::Latest => store.latest(&self.scope),
            Start::Oldest => store.oldest(&self.scope).map_or(0, |oldest| oldest - 1),
            Start::After(id) if id.boot == store.boot => id.seq.min(store.latest(&Scope::All)),
            Start::After(id) => {
                let dir = store.spool_dir();
                // Where nothing is left of that start, nobody knows how much is missing.
                let is_known = spool::segments(&dir).iter().any(|(first, _)| *first <= id.next());
                if !is_known {
                    self.tell(&gap(id, store.id(0), None)).await?;
                }
                let reader = spool::Reader::new(&dir, id, store.id(0), self.scope.clone());
                self.send_spooled(reader).await?;
                0
            }
        };
        Ok(())
    }

    /// Sends small events together and large ones in pieces.
    async fn send_entries(&mut self, entries: Vec<Arc<Entry>>) -> Result<(), Over> {
        let mut together = Vec::new();
        for entry in entries {
            self.cursor = entry.seq;
            if entry.frame.len() <= PIECE {
                together.extend_from_slice(&entry.frame);
                continue;
            }
            if !together.is_empty() {
                self.send(Bytes::from(std::mem::take(&mut together))).await?;
            }
            self.send_large(&Arc::downgrade(&entry), entry.frame.len(), entry).await?;
        }
        if together.is_empty() { Ok(()) } else { self.send(Bytes::from(together)).await }
    }

    /// Holds the event only while a piece is copied, so that readers that do not read cannot keep
    /// events in memory that the rings have dropped.
    async fn send_large(
        &self,
        event: &Weak<Entry>,
        length: usize,
        held: Arc<Entry>,
    ) -> Result<(), Over> {
        drop(held);
        let mut sent = 0;
        while sent < length {
            let piece = {
                let entry = event.upgrade().ok_or(Over::TooSlow)?;
                let end = length.min(sent + PIECE);
                Bytes::copy_from_slice(&entry.frame[sent..end])
            };
            sent += piece.len();
            self.send(piece).await?;
        }
        Ok(())
    }

    /// What is no longer in memory may still be on the disk; what is not there either is declared.
    async fn catch_up(&mut self, through: u64, count: u64) -> Result<(), Over> {
        let store = &self.hub.store;
        let (from, to) = (store.id(self.cursor), store.id(through));
        let reader = spool::Reader::new(&store.spool_dir(), from, to, self.scope.clone());
        let found = self.send_spooled(reader).await?;
        self.cursor = through;
        if found < count {
            self.hub.metrics.gaps.add(1);
            self.tell(&gap(from, to, Some(count - found))).await?;
        }
        Ok(())
    }

    async fn send_spooled(&self, mut reader: spool::Reader) -> Result<u64, Over> {
        let mut found = 0;
        loop {
            let read = tokio::task::spawn_blocking(move || {
                let batch = reader.next_batch(PIECE);
                (reader, batch)
            });
            let batch;
            (reader, batch) = read.await.map_err(|_| Over::Gone)?;
            if batch.is_empty() {
                return Ok(found);
            }
            let mut together = Vec::new();
            for event in batch {
                found += 1;
                let id = event.id.to_string();
                match event.payload {
                    Payload::Here(text) => {
                        together.extend_from_slice(&frame(Some(&id), event.kind.word(), &text));
                    }
                    Payload::OnDisk(section) => {
                        if !together.is_empty() {
                            self.send(Bytes::from(std::mem::take(&mut together))).await?;
                        }
                        self.send_section(&id, event.kind, section).await?;
                    }
                }
            }
            if !together.is_empty() {
                self.send(Bytes::from(together)).await?;
            }
        }
    }

    /// Reads a large event from the disk no faster than it is taken.
    async fn send_section(&self, id: &str, kind: Kind, section: Section) -> Result<(), Over> {
        self.send(frame::begin(id, kind.word())).await?;
        let section = Arc::new(section);
        let mut sent = 0;
        while sent < section.length {
            let from = Arc::clone(&section);
            let read = tokio::task::spawn_blocking(move || from.read(sent, PIECE)).await;
            let piece = read.map_err(|_| Over::TooSlow)?.map_err(|_| Over::TooSlow)?;
            sent += piece.len() as u64;
            self.send(Bytes::from(piece)).await?;
        }
        self.send(Bytes::from_static(frame::END)).await
    }

    /// Says something of its own, which is not an event that could be missed.
    async fn tell(&self, what: &Value) -> Result<(), Over> {
        self.send(frame(None, "hub", &what.to_string())).await
    }

    async fn send(&self, piece: Bytes) -> Result<(), Over> {
        self.sender.send(Ok(piece)).await.map_err(|_| Over::Gone)
    }
}

/// How many are missing is not always known.
fn gap(from: Id, to: Id, count: Option<u64>) -> Value {
    json!({ "type": "gap", "from": from.to_string(), "to": to.to_string(), "count": count })
}

/// Tells readers of everything that the list of sessions looks different now.
pub(super) fn announce(sessions_changed: &watch::Sender<u64>) {
    sessions_changed.send_modify(|version| *version += 1);
}

/// How often a reader is told that it is still connected, unless it is configured otherwise.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);
