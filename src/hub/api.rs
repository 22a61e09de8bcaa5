//! The routes: from a request that was let in to an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Serialize;

use crate::clock;

use super::guard::{self, Access, Door};
use super::keys::{Grant, Scope as Rights};
use super::page;
use super::problem::Problem;
use super::shared::Hub;
use super::store::Scope;

mod auth;
mod events;
mod history;
mod operation;
mod sessions;

pub(super) use sessions::signature;

pub(super) type Shared = State<Arc<Hub>>;
type Answer = Result<Response, Problem>;

/// One permit of the bodies in memory stands for so many bytes.
const UNIT: usize = 1024;
/// Bodies that are in memory at the same time, over all requests.
pub(super) const BODIES: usize = 64 * 1024;
const BODY_TIME: Duration = Duration::from_secs(10);
/// A text of 1 MiB takes up to six times as much in JSON.
const LARGEST_BODY: usize = 8 * 1024 * 1024;

/// Nothing is loaded from elsewhere, framed, or sent anywhere but here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn app(hub: &Arc<Hub>) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(operation::health))
        .route("/status", get(operation::status))
        .route("/metrics", get(operation::metrics))
        .route("/openapi.json", get(operation::description))
        .route("/events", get(events::all).post(events::collect))
        .route("/events/oversize", post(events::collect_oversize))
        .route("/queue", get(sessions::queue))
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/{id}", get(sessions::one).delete(sessions::end))
        .route("/sessions/{id}/message", post(sessions::message))
        .route("/sessions/{id}/events", get(events::of_session))
        .route("/sessions/{id}/history", get(history::history))
        .route("/auth/tickets", post(auth::ticket))
        .route("/auth/session", post(auth::exchange).delete(auth::revoke))
        .route("/auth/rotate", post(auth::rotate));
    for path in page::paths() {
        router = router.route(path, get(part_of_page));
    }
    router
        .fallback(|| async { Problem::not_found("there is nothing at this path") })
        .layer(middleware::from_fn_with_state(Arc::clone(hub), admit))
        .with_state(Arc::clone(hub))
}

async fn part_of_page(uri: Uri) -> Answer {
    page::serve(uri.path()).ok_or_else(|| Problem::not_found("there is nothing at this path"))
}

/// Lets a request in or not, before anything of it is parsed.
async fn admit(
    State(hub): Shared,
    Extension(door): Extension<Door>,
    mut request: Request,
    next: Next,
) -> Response {
    hub.metrics.requests.add(1);
    let admitted = guard::check(&door, request.method(), request.uri(), request.headers())
        .and_then(|access| grant(&hub, &door, access, &request));
    let mut response = match admitted {
        Ok(grant) => {
            request.extensions_mut().insert(grant);
            next.run(request).await
        }
        Err(problem) => {
            hub.metrics.requests_refused.add(1);
            problem.into_response()
        }
    };
    protect(response.headers_mut());
    response
}

fn grant(hub: &Hub, door: &Door, access: Access, request: &Request) -> Result<Grant, Problem> {
    let needs_token = *door != Door::Unix && hub.settings.needs_token;
    let granted = match (guard::token(request.headers()), ticket(request)) {
        (Some(token), _) => match hub.keys.grant(token, clock::now()) {
            Some(grant) => Some(grant),
            None if access == Access::Public => None,
            None => return Err(guard::unauthorized()),
        },
        (None, Some(ticket)) if needs_token => {
            match hub.keys.open_stream(ticket, request.uri().path(), clock::now()) {
                true => Some(Grant { scope: Rights::Read, launch: None }),
                false => return Err(auth::ticket_invalid("ask for another: POST /auth/tickets")),
            }
        }
        (None, _) => (!needs_token).then(Grant::everything),
    };
    match (access, granted) {
        (Access::Public, granted) => {
            Ok(granted.unwrap_or(Grant { scope: Rights::Collect, launch: None }))
        }
        (Access::Token(wanted), Some(grant)) if grant.scope.allows(wanted) => Ok(grant),
        (Access::Token(wanted), Some(_)) => Err(guard::forbidden(wanted)),
        (Access::Token(_), None) => Err(guard::unauthorized()),
    }
}

/// The ticket of a reader that cannot send a header; other requests have to.
fn ticket(request: &Request) -> Option<&str> {
    let uri = request.uri();
    let may_have_one = request.method() == Method::GET && guard::is_stream(uri.path());
    may_have_one.then(|| query(uri, "ticket")).flatten()
}

fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

fn json_answer(status: StatusCode, document: &impl Serialize) -> Response {
    let text = serde_json::to_string(document).unwrap_or_default();
    let mut response = (status, text).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Reads a body, bounded in size, in time, and together with all others in memory.
async fn read_body(
    hub: &Hub,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("the body is larger than {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    };
    let announced =
        headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length: usize = announced.unwrap_or(most);
    if length > most {
        return Err(too_large());
    }
    let read = async {
        let permits = u32::try_from(length.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let _room = hub.bodies.acquire_many(permits).await.map_err(|_| Problem::shutting_down())?;
        to_bytes(body, most).await.map_err(|error| {
            // Nothing but the limit has an error of its own inside.
            let source = std::error::Error::source(&error);
            match source.is_some_and(|source| source.to_string().contains("length limit")) {
                true => too_large(),
                false => Problem::invalid_json("the body was cut off"),
            }
        })
    };
    match tokio::time::timeout(BODY_TIME, read).await {
        Ok(read) => read,
        Err(_) => Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "overloaded",
            "the body was not read within 10 s",
        )),
    }
}

/// A JSON document with the fields of `T`. A list would be read as its fields in their order, which is
/// nothing that anybody means.
async fn read_json<T: serde::de::DeserializeOwned>(
    hub: &Hub,
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Problem> {
    let bytes = read_body(hub, headers, body, LARGEST_BODY).await?;
    let document = serde_json::from_slice(&bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            Problem::unprocessable("invalid_field", error.to_string())
        }
        _ => Problem::invalid_json(error.to_string()),
    })?;
    match bytes.trim_ascii_start().starts_with(b"{") {
        true => Ok(document),
        false => Err(Problem::unprocessable("invalid_field", "the body has to be an object")),
    }
}

/// The value of a query parameter; none of those used here needs to be decoded.
fn query<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query().unwrap_or_default().split('&');
    pairs
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}
