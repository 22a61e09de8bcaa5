//! The events of a session as documents, for pages and for whoever cannot keep a stream open.

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::hub::frame;
use crate::hub::problem::Problem;
use crate::hub::shared::Hub;
use crate::hub::spool::{self, Spooled};
use crate::hub::store::{Entry, Id, Kind, Read};
use crate::hub::stream::Start;
use crate::session::Moment;

use super::events::{parse_cursor, stream_of};
use super::{Answer, Scope, Shared, json_answer, query};

const LARGEST_PAGE: usize = 1000;
const PAGE_BYTES: usize = 1024 * 1024;

pub(super) async fn history(State(hub): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let key = stream_of(&hub, &id).await?;
    // A launch is not older than the hub; other sessions may have been here before it.
    let oldest = match hub.sessions.get(&key) {
        Some(_) => hub.store.id(0),
        None => Id { boot: 0, seq: 0 },
    };
    let scope = Scope::One(key);
    let limit = match query(&uri, "limit").map(str::parse::<usize>) {
        None => 100,
        Some(Ok(limit)) if (1..=LARGEST_PAGE).contains(&limit) => limit,
        Some(_) => {
            let detail = format!("the limit has to be 1 to {LARGEST_PAGE}");
            return Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_limit", detail));
        }
    };
    let cursor = match query(&uri, "after").map(parse_cursor).transpose()? {
        Some(Start::After(id)) => id.clamp(oldest, hub.store.id(u64::MAX)),
        Some(Start::Latest) => hub.store.id(hub.store.latest(&scope)),
        Some(Start::Oldest) | None => oldest,
    };
    let page = Page { cursor, limit, missing: 0, bytes: 0, events: Vec::new() };
    let page = page.fill(&hub, &scope).await?;
    let document = Document {
        events: page.events,
        missing: page.missing,
        next: page.cursor.to_string(),
        ended: page.cursor.boot == hub.store.boot
            && matches!(hub.store.read(&scope, page.cursor.seq, 1), Read::End),
    };
    Ok(json_answer(StatusCode::OK, &document))
}

#[derive(Serialize)]
struct Document {
    events: Vec<Event>,
    /// How many events in between are kept nowhere any more.
    missing: u64,
    /// The cursor for the page after this one.
    next: String,
    ended: bool,
}

#[derive(Serialize)]
struct Event {
    id: String,
    /// Unix time in milliseconds.
    at: u64,
    event: &'static str,
    data: Option<Box<RawValue>>,
}

struct Page {
    cursor: Id,
    limit: usize,
    missing: u64,
    bytes: usize,
    events: Vec<Event>,
}

impl Page {
    async fn fill(mut self, hub: &Hub, scope: &Scope) -> Result<Self, Problem> {
        while self.cursor.boot != hub.store.boot && !self.is_full() {
            let from = self.cursor;
            self.read_spool(hub, scope, hub.store.id(0)).await?;
            if self.cursor == from {
                self.cursor = hub.store.id(0);
            }
        }
        while !self.is_full() {
            match hub.store.read(scope, self.cursor.seq, 1) {
                Read::Entries(entries) => {
                    for entry in entries {
                        self.add(hub, &entry);
                    }
                }
                Read::Missing { through, count } => {
                    let (from, through) = (self.cursor, hub.store.id(through));
                    self.read_spool(hub, scope, through).await?;
                    if self.cursor == from {
                        self.missing += count;
                        self.cursor = through;
                    }
                }
                Read::Nothing | Read::End => break,
            }
        }
        Ok(self)
    }

    fn is_full(&self) -> bool {
        self.events.len() >= self.limit || self.bytes >= PAGE_BYTES
    }

    fn add(&mut self, hub: &Hub, entry: &Entry) {
        self.cursor = hub.store.id(entry.seq);
        self.bytes += entry.frame.len();
        self.events.push(event(self.cursor, entry.at, entry.kind, frame::data(&entry.frame)));
    }

    /// What is not in memory may be on the disk; the cursor stays where nothing is.
    async fn read_spool(&mut self, hub: &Hub, scope: &Scope, to: Id) -> Result<(), Problem> {
        let from = self.cursor;
        let mut reader = spool::Reader::new(&hub.store.spool_dir(), from, to, scope.clone());
        let budget = PAGE_BYTES.saturating_sub(self.bytes).max(1);
        let read = tokio::task::spawn_blocking(move || reader.next_batch(budget));
        let batch: Vec<Spooled> = read.await.map_err(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Problem::new(status, "spool_unreadable", "the events on the disk cannot be read")
        })?;
        for found in batch {
            if self.is_full() {
                break;
            }
            self.cursor = found.id;
            let payload = found.payload.text().unwrap_or_default();
            self.bytes += payload.len();
            self.events.push(event(found.id, found.at, found.kind, payload));
        }
        Ok(())
    }
}

fn event(id: Id, at: Moment, kind: Kind, payload: String) -> Event {
    Event {
        id: id.to_string(),
        at: at.micros() / 1000,
        event: kind.word(),
        data: RawValue::from_string(payload).ok(),
    }
}
