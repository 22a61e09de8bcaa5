//! Events in, events out.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::clock;
use crate::hook::event::Malformed;
use crate::hub::fact::Fact;
use crate::hub::keys::Grant;
use crate::hub::problem::Problem;
use crate::hub::shared::Hub;
use crate::hub::store::{Appended, Id, Key, Kind};
use crate::hub::stream::{self, Start};
use crate::session::SessionId;
use crate::text::one_line;

use super::{Answer, Scope, Shared, json_answer, query, read_body, read_json};

const LARGEST_EVENT: usize = 32 * 1024 * 1024;
/// Of the name of an event that was not read as a whole.
const LONGEST_NAME: usize = 100;

/// Takes an event in as it is, and answers when it is on the disk and readers can get it.
pub(super) async fn collect(
    State(hub): Shared,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let collected = take_in(&hub, &grant, &headers, body).await;
    if collected.is_err() {
        hub.metrics.events_refused.add(1);
    }
    collected
}

async fn take_in(hub: &Hub, grant: &Grant, headers: &HeaderMap, body: Body) -> Answer {
    let bytes = read_body(hub, headers, body, LARGEST_EVENT).await?;
    let text =
        str::from_utf8(&bytes).map_err(|_| Problem::invalid_json("the body is not UTF-8"))?;
    // White space around the JSON is not part of it; Claude Code ends it with a line break.
    let payload = text.trim_matches([' ', '\t', '\r', '\n']);
    serde_json::from_str::<&RawValue>(payload).map_err(|error| {
        Problem::invalid_json(format!("line {} column {}", error.line(), error.column()))
    })?;
    let fact = Fact::read(payload).map_err(|malformed: Malformed| {
        Problem::unprocessable("missing_field", malformed.to_string())
    })?;
    let key = stream_for(hub, grant, headers, fact.session.as_str())?;
    let appended = hub.store.append(&key, Kind::Hook, payload);
    // A `claude -p` in a tool has the token of the session that runs it, but is not that session.
    let is_nested = headers.contains_key("x-cld-nested");
    if !is_nested && hub.sessions.apply(&key, &fact, appended.id, clock::now()) {
        stream::announce(&hub.sessions_changed);
    }
    hub.metrics.events.add(1);
    hub.metrics.event_bytes.add(payload.len() as u64);
    Ok(accepted(hub, appended))
}

/// What the hook tells of a payload that was too large to be sent.
#[derive(Deserialize)]
pub(super) struct Oversize {
    session_id: Option<String>,
    hook_event_name: Option<String>,
    bytes: u64,
}

/// Tells readers that a payload is missing because it was too large. It is an event of the hub, and
/// says nothing about the state of the session: nobody knows what was in it.
pub(super) async fn collect_oversize(
    State(hub): Shared,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let marker: Oversize = read_json(&hub, &headers, body).await?;
    let missing = |detail: &str| Problem::unprocessable("missing_field", detail);
    let session = match marker.session_id.as_deref().map(SessionId::parse) {
        Some(None) => return Err(missing("session_id is not [0-9A-Za-z-]{1,64}")),
        given => given.flatten(),
    };
    let session = session.as_ref().map(SessionId::as_str);
    let key = match (session, &grant.launch) {
        (Some(session), _) => stream_for(&hub, &grant, &headers, session)?,
        // The payload did not say it at its beginning, but the token does.
        (None, Some(launch)) => launch.clone(),
        (None, None) => return Err(missing("session_id is needed with this token")),
    };
    let event = json!({
        "type": "oversize",
        "session_id": session,
        "hook_event_name": marker.hook_event_name.map(|name| one_line(&name, LONGEST_NAME)),
        "bytes": marker.bytes,
    });
    let appended = hub.store.append(&key, Kind::Hub, &event.to_string());
    hub.metrics.oversize.add(1);
    Ok(accepted(&hub, appended))
}

/// The stream that a request may post to for a session.
fn stream_for(
    hub: &Hub,
    grant: &Grant,
    headers: &HeaderMap,
    session: &str,
) -> Result<Key, Problem> {
    let named = headers.get("x-cld-launch").map(|launch| launch.to_str().unwrap_or_default());
    let is_other =
        named.is_some_and(|named| grant.launch.as_ref().is_some_and(|own| own.as_str() != named));
    let route = hub.sessions.route(grant, session);
    route.ok().filter(|_| !is_other).ok_or_else(|| {
        let detail = "the token belongs to another session";
        Problem::new(StatusCode::FORBIDDEN, "wrong_launch", detail)
    })
}

fn accepted(hub: &Hub, appended: Appended) -> Response {
    let mut document = json!({ "id": appended.id.to_string() });
    if let Err(error) = appended.spooled {
        if hub.metrics.spool_errors.get() == 0 {
            crate::hub::log::line(&format!("events are not written to the disk: {error}"));
        }
        hub.metrics.spool_errors.add(1);
        document["spooled"] = Value::Bool(false);
    }
    json_answer(StatusCode::ACCEPTED, &document)
}

/// Everything, from now on unless a cursor says otherwise.
pub(super) async fn all(State(hub): Shared, headers: HeaderMap, uri: Uri) -> Answer {
    let start = cursor(&headers, &uri)?.unwrap_or(Start::Latest);
    open(&hub, Scope::All, start)
}

/// One session, from its first event in memory unless a cursor says otherwise.
pub(super) async fn of_session(
    State(hub): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Answer {
    let key = stream_of(&hub, &id).await?;
    let start = cursor(&headers, &uri)?.unwrap_or(Start::Oldest);
    let scope = Scope::One(key.clone());
    let latest = hub.store.id(hub.store.latest(&scope));
    if hub.store.has_ended(&key) && matches!(start, Start::After(id) if id >= latest) {
        // Tells an EventSource not to come back.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    open(&hub, scope, start)
}

/// Every session that is listed has a stream, even if nothing was heard of it yet.
pub(super) async fn stream_of(hub: &Hub, id: &str) -> Result<Key, Problem> {
    let managed = hub.sessions.find(id).map(|managed| managed.launch);
    let key = managed.unwrap_or_else(|| Key::new(id));
    if hub.store.knows(&key) {
        return Ok(key);
    }
    let roster = hub.observer.look().await;
    match roster.sessions.iter().any(|listed| listed.id.as_str() == id) {
        true => Ok(key),
        false => Err(Problem::session_not_found(id)),
    }
}

/// `?after=` wins over the header that browsers send by themselves.
fn cursor(headers: &HeaderMap, uri: &Uri) -> Result<Option<Start>, Problem> {
    let header = headers.get("last-event-id").map(|id| id.to_str().unwrap_or("?"));
    query(uri, "after").or(header.filter(|id| !id.is_empty())).map(parse_cursor).transpose()
}

pub(super) fn parse_cursor(text: &str) -> Result<Start, Problem> {
    match text {
        "oldest" => Ok(Start::Oldest),
        "latest" => Ok(Start::Latest),
        id => Id::parse(id).map(Start::After).ok_or_else(|| {
            let detail = "a cursor is the id of an event, `oldest` or `latest`";
            Problem::new(StatusCode::BAD_REQUEST, "invalid_cursor", detail)
        }),
    }
}

fn open(hub: &std::sync::Arc<Hub>, scope: Scope, start: Start) -> Answer {
    let Some(open) = hub.metrics.streams.enter(hub.settings.most_streams) else {
        let detail = format!("{} streams are open already", hub.settings.most_streams);
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail));
    };
    let mut response = Response::new(stream::body(hub, scope, start, open));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}
