//! Whether and how the hub works.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::clock;
use crate::hub::metrics::{self, Line};
use crate::hub::sessions::Stage;

use super::{Shared, json_answer};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Needs no token, so it tells nothing but that somebody is here.
pub(super) async fn health(State(hub): Shared) -> Response {
    let document = json!({ "ok": true, "version": VERSION, "boot_id": hub.boot_id() });
    json_answer(StatusCode::OK, &document)
}

pub(super) async fn status(State(hub): Shared) -> Response {
    let usage = hub.store.usage();
    let managed = hub.sessions.all();
    let alive = managed.iter().filter(|managed| managed.stage != Stage::Ended).count();
    let document = json!({
        "version": VERSION,
        "boot_id": hub.boot_id(),
        "pid": std::process::id(),
        "started": hub.started.seconds(),
        "uptime": clock::now().seconds_since(hub.started),
        "socket": hub.addresses.socket.to_string_lossy(),
        "url": hub.addresses.url,
        "collector": hub.addresses.collector,
        "needs_token": hub.settings.needs_token,
        "sessions": alive,
        "streams": hub.metrics.streams.get(),
        "events": hub.metrics.events.get(),
        "ring_bytes": usage.bytes,
        "spool_errors": hub.metrics.spool_errors.get(),
    });
    json_answer(StatusCode::OK, &document)
}

pub(super) async fn metrics(State(hub): Shared) -> Response {
    let figures = &hub.metrics;
    let usage = hub.store.usage();
    let managed = hub.sessions.all();
    let alive = managed.iter().filter(|managed| managed.stage != Stage::Ended).count();
    let counter = |name, help, value| Line { name, kind: "counter", help, value };
    let gauge = |name, help, value| Line { name, kind: "gauge", help, value };
    let text = metrics::text(&[
        counter("events_total", "Events that were taken in.", figures.events.get()),
        counter("event_bytes_total", "Bytes of their payloads.", figures.event_bytes.get()),
        counter("events_refused_total", "Events that were refused.", figures.events_refused.get()),
        counter("oversize_total", "Payloads that were too large.", figures.oversize.get()),
        counter("spool_errors_total", "Events that are not on disk.", figures.spool_errors.get()),
        counter("requests_total", "Requests.", figures.requests.get()),
        counter("requests_refused_total", "Requests not let in.", figures.requests_refused.get()),
        counter("gaps_total", "Gaps declared to readers.", figures.gaps.get()),
        counter("slow_readers_total", "Streams closed as too slow.", figures.slow_readers.get()),
        counter("messages_total", "Messages typed into sessions.", figures.messages.get()),
        counter("sessions_started_total", "Sessions started.", figures.sessions_started.get()),
        gauge("sessions", "Sessions of the hub that have not ended.", alive as u64),
        gauge("streams", "Open streams.", figures.streams.get()),
        gauge("connections", "Open connections.", figures.connections.get()),
        gauge("rings", "Sessions with events in memory.", usage.rings as u64),
        gauge("ring_entries", "Events in memory.", usage.entries as u64),
        gauge("ring_bytes", "Bytes of the events in memory.", usage.bytes as u64),
    ]);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

pub(super) async fn description() -> Response {
    let text = include_str!("../openapi.json").replace("\"0.0.0\"", &format!("\"{VERSION}\""));
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
