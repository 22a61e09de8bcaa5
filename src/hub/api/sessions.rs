//! The list of sessions: those of the hub, and those that are found in panes.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::hub::message::{self, Message};
use crate::hub::problem::Problem;
use crate::hub::sessions::{Managed, Outcome, Stage};
use crate::hub::shared::Hub;
use crate::hub::wanted::Wanted;
use crate::hub::{keys, observed, start, stop};
use crate::roster::{Listed, Roster};
use crate::session::Moment;
use crate::{ls, paste, paths};

use super::{Answer, Shared, json_answer, query, read_json};

const LONGEST_TEXT: usize = 1024 * 1024;
const DEFAULT_WAIT_MS: u64 = 5000;
const LONGEST_WAIT_MS: u64 = 30_000;

const STATES: [&str; 7] = ["starting", "running", "waiting", "idle", "ending", "ended", "unknown"];

pub(super) async fn list(State(hub): Shared, uri: Uri) -> Answer {
    let wanted = query(&uri, "state");
    if let Some(state) = wanted.filter(|state| !STATES.contains(state)) {
        let detail = format!("{state:?} is no state; there are {}", STATES.join(", "));
        return Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_state", detail));
    }
    let mut sessions = sessions(&hub, &*hub.observer.look().await);
    sessions.retain(|session| wanted.is_none_or(|wanted| session["state"] == wanted));
    let home = paths::home().map(|home| home.to_string_lossy().into_owned());
    let document = json!({ "version": 1, "home": home, "sessions": sessions });
    Ok(json_answer(StatusCode::OK, &document))
}

pub(super) async fn one(State(hub): Shared, Path(id): Path<String>) -> Answer {
    let roster = hub.observer.look().await;
    let document = match hub.sessions.find(&id) {
        Some(managed) => Some(of_managed(&managed, &roster)),
        None => sessions(&hub, &roster).into_iter().find(|session| session["session_id"] == *id),
    };
    let document = document.ok_or_else(|| Problem::session_not_found(&id))?;
    Ok(json_answer(StatusCode::OK, &document))
}

pub(super) async fn create(State(hub): Shared, headers: HeaderMap, body: Body) -> Answer {
    if !hub.is_running() {
        return Err(Problem::shutting_down());
    }
    let wanted = Wanted::check(read_json(&hub, &headers, body).await?)?;
    let id = wanted.session_id.clone();
    let roster = || hub.observer.look();
    let managed = match start::start(&hub, wanted).await {
        Ok(managed) => managed,
        Err(problem) if problem.code == "session_exists" => {
            let known = hub.sessions.find(&id);
            let roster = roster().await;
            let known = known.map(|managed| of_managed(&managed, &roster)).or_else(|| {
                let mut observed = roster.sessions.iter();
                observed
                    .find(|listed| listed.id.as_str() == id)
                    .map(|listed| of_observed(listed, roster.read_at))
            });
            return Err(problem.with("session", json!(known)));
        }
        Err(problem) => return Err(problem),
    };
    let mut response = json_answer(StatusCode::CREATED, &of_managed(&managed, &*roster().await));
    if let Ok(location) = HeaderValue::from_str(&format!("/sessions/{id}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// Stops a session of the hub; others are not the hub's to stop.
pub(super) async fn end(State(hub): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let longest = stop::LONGEST.as_millis() as u64;
    let limit = match query(&uri, "timeout_ms").map(str::parse::<u64>) {
        None => stop::LONGEST,
        Some(Ok(limit)) if limit <= longest => Duration::from_millis(limit),
        Some(_) => {
            let detail = format!("timeout_ms has to be 0 to {longest}");
            return Err(Problem::new(StatusCode::BAD_REQUEST, "invalid_timeout", detail));
        }
    };
    let managed = find(&hub, &id).await?;
    match stop::stop(&hub, &managed.launch, limit).await {
        Some(stopped) => Ok(json_answer(
            StatusCode::OK,
            &json!({
                "state": "ended",
                "session_end_seen": stopped.session_end_seen,
                "forced": stopped.forced,
            }),
        )),
        None => Err(Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            "stop_timeout",
            "the process of the session cannot be ended",
        )),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    text: String,
    message_id: Option<String>,
    wait_ms: Option<u64>,
}

pub(super) async fn message(
    State(hub): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let sent: Sent = read_json(&hub, &headers, body).await?;
    if !hub.is_running() {
        return Err(Problem::shutting_down());
    }
    if sent.text.len() > LONGEST_TEXT {
        let detail = format!("the text is longer than {LONGEST_TEXT} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
    }
    let wait = sent.wait_ms.unwrap_or(DEFAULT_WAIT_MS);
    if wait > LONGEST_WAIT_MS {
        let detail = format!("wait_ms is at most {LONGEST_WAIT_MS}");
        return Err(Problem::unprocessable("invalid_wait", detail));
    }
    let text = paste::pasteable(&sent.text);
    let plain = sent.text.trim_end().replace("\r\n", "\n");
    let stripped = plain.chars().count().saturating_sub(text.chars().count());
    if text.trim().is_empty() {
        return Err(Problem::unprocessable("empty_text", "there is nothing to type"));
    }
    let message_id = sent.message_id.unwrap_or_else(keys::random);
    if !(1..=128).contains(&message_id.len()) {
        let detail = "message_id has 1 to 128 bytes";
        return Err(Problem::unprocessable("invalid_message_id", detail));
    }
    let managed = find(&hub, &id).await?;
    if managed.stage == Stage::Ended {
        return Err(message::ended());
    }
    let wanted = Message { text, id: message_id.clone(), wait: Duration::from_millis(wait) };
    let outcome = message::send(&hub, &managed.launch, wanted).await?;
    let (status, state, event) = match outcome {
        Outcome::Submitted { event } => (StatusCode::OK, "submitted", Some(event)),
        Outcome::Queued { event } => (StatusCode::ACCEPTED, "queued", event),
        Outcome::Unconfirmed | Outcome::Pending => {
            let detail = "the text was typed, but Claude Code did not confirm it in time; \
                          commands such as /clear are never confirmed";
            let problem = Problem::new(StatusCode::GATEWAY_TIMEOUT, "unconfirmed", detail);
            return Err(problem.with("message_id", json!(message_id)));
        }
    };
    let document = json!({
        "state": state,
        "event_id": event.map(|event| event.to_string()),
        "message_id": message_id,
        "stripped": stripped,
    });
    Ok(json_answer(status, &document))
}

/// A session of the hub. One that is only found in a pane can be seen, but not be touched.
async fn find(hub: &Hub, id: &str) -> Result<Managed, Problem> {
    if let Some(managed) = hub.sessions.find(id) {
        return Ok(managed);
    }
    let roster = hub.observer.look().await;
    match roster.sessions.iter().any(|listed| listed.id.as_str() == id) {
        true => Err(Problem::conflict(
            "not_managed",
            "this session was not started by the hub; use: cld send, cld jump",
        )),
        false => Err(Problem::session_not_found(id)),
    }
}

/// Who waits for the person, the longest first.
pub(super) async fn queue(State(hub): Shared) -> Answer {
    let mut waiting = sessions(&hub, &*hub.observer.look().await);
    waiting.retain(|session| {
        session["state"] == "waiting" && session["waiting"]["put_off"] == Value::Bool(false)
    });
    waiting.sort_by_key(|session| session["waiting"]["since"].as_u64());
    Ok(json_answer(StatusCode::OK, &json!({ "version": 1, "queue": waiting })))
}

/// Tells two lists apart by what people see of them.
pub(in crate::hub) fn signature(hub: &Hub, roster: &Roster) -> String {
    let sessions = sessions(hub, roster);
    let seen = |session: &Value| {
        let fields = ["session_id", "state", "title", "waiting", "pane", "directory"];
        fields.map(|field| session[field].to_string()).join("\t")
    };
    sessions.iter().map(seen).collect::<Vec<_>>().join("\n")
}

fn sessions(hub: &Hub, roster: &Roster) -> Vec<Value> {
    let managed = hub.sessions.current();
    let is_managed = |listed: &&Listed| {
        managed.iter().any(|managed| {
            let in_its_pane = managed.place.as_ref().is_some_and(|place| {
                managed.stage != Stage::Ended
                    && listed
                        .pane
                        .as_ref()
                        .is_some_and(|pane| pane.id == place.pane && pane.socket == place.socket)
            });
            in_its_pane || managed.ids.iter().any(|id| id == listed.id.as_str())
        })
    };
    let observed = roster.sessions.iter().filter(|listed| !listed.is_scripted);
    let observed = observed.filter(|listed| !is_managed(listed));
    let observed = observed.map(|listed| of_observed(listed, roster.read_at));
    managed.iter().map(|managed| of_managed(managed, roster)).chain(observed).collect()
}

fn of_observed(listed: &Listed, now: Moment) -> Value {
    let mut document = ls::document_of(listed, now);
    document["managed"] = Value::Bool(false);
    document["since"] = json!(listed.health.since.map(Moment::seconds));
    document
}

/// What the pane tells is put right by Claude's own list, so it is believed about the state of a
/// session that has started.
pub(super) fn of_managed(managed: &Managed, roster: &Roster) -> Value {
    let place = managed.place.as_ref();
    let listed = place.and_then(|place| observed::in_pane(roster, &place.socket, place.pane));
    let listed = listed.filter(|listed| listed.id.as_str() == managed.id());
    let mut document =
        listed.map_or_else(|| json!({}), |listed| ls::document_of(listed, roster.read_at));
    document["session_id"] = json!(managed.id());
    document["managed"] = Value::Bool(true);
    document["launch_id"] = json!(managed.launch.as_str());
    document["aliases"] = json!(managed.ids[..managed.ids.len().saturating_sub(1)]);
    document["cwd"] = json!(managed.cwd.to_string_lossy());
    document["last_event_id"] = json!(managed.last_event.map(|id| id.to_string()));
    document["tmux"] = json!(place.map(|place| {
        json!({
            "socket": place.socket.to_string_lossy(),
            "session": place.session,
            "pane": place.pane.to_string(),
        })
    }));
    let is_ready = managed.stage == Stage::Ready;
    match listed.filter(|listed| is_ready && listed.is_alive()) {
        Some(listed) => {
            document["since"] = json!(listed.health.since.map(Moment::seconds));
        }
        None => {
            document["state"] = json!(managed.state());
            document["since"] = json!(managed.since.seconds());
            document["alive"] = json!(managed.stage != Stage::Ended);
            document["waiting"] = Value::Null;
        }
    }
    for (name, value) in [
        ("title", json!(managed.name)),
        ("directory", json!(managed.cwd.to_string_lossy())),
        ("status", Value::Null),
        ("transcript", Value::Null),
        ("pid", json!(place.map(|place| place.pid))),
        ("pane", Value::Null),
    ] {
        if document[name].is_null() {
            document[name] = value;
        }
    }
    document
}
