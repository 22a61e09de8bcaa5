//! Tickets, with which `cld hub open` lets a browser in, and tokens.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::json;

use crate::clock;
use crate::hub::guard::{self, Door};
use crate::hub::keys::{Grant, Scope};
use crate::hub::problem::Problem;
use crate::hub::shared::Hub;

use super::{Answer, Shared, json_answer, read_json};

/// Enough for every id that a session can have.
const LONGEST_PATH: usize = 200;

#[derive(Deserialize)]
pub(super) struct Wanted {
    scope: Option<String>,
    path: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Ticket {
    ticket: String,
}

/// For a page without a path, and for one reader of a stream with one.
pub(super) async fn ticket(
    State(hub): Shared,
    Extension(grant): Extension<Grant>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let wanted: Wanted = read_json(&hub, &headers, body).await?;
    let Some(path) = wanted.path else {
        return page_ticket(&hub, &grant, wanted.scope.as_deref());
    };
    if wanted.scope.as_deref().is_some_and(|scope| scope != Scope::Read.word()) {
        return Err(invalid_scope("read for a stream"));
    }
    if path.len() > LONGEST_PATH || !guard::is_stream(&path) || path.contains(['?', '#']) {
        let detail = "the path has to be /events or /sessions/{id}/events";
        return Err(Problem::unprocessable("invalid_path", detail));
    }
    let ticket = hub.keys.stream_ticket(&path, clock::now());
    let document = json!({ "ticket": ticket, "scope": Scope::Read.word(), "path": path });
    Ok(json_answer(StatusCode::CREATED, &document))
}

/// A page stays logged in longer than the token lives that let it in, so only one for everything
/// can do that.
fn page_ticket(hub: &Hub, grant: &Grant, scope: Option<&str>) -> Answer {
    let scope = match scope.map_or(Some(Scope::Control), Scope::parse) {
        Some(scope) if scope != Scope::Collect => scope,
        _ => return Err(invalid_scope("read or control")),
    };
    if !grant.scope.allows(Scope::Control) {
        return Err(guard::forbidden(Scope::Control));
    }
    let ticket = hub.keys.ticket(scope, clock::now());
    Ok(json_answer(StatusCode::CREATED, &json!({ "ticket": ticket, "scope": scope.word() })))
}

pub(super) async fn exchange(State(hub): Shared, headers: HeaderMap, body: Body) -> Answer {
    let given: Ticket = read_json(&hub, &headers, body).await?;
    let Some((token, scope, seconds)) = hub.keys.exchange(&given.ticket, clock::now()) else {
        return Err(ticket_invalid("run: cld hub open"));
    };
    let document = json!({ "token": token, "scope": scope.word(), "expires_in": seconds });
    Ok(json_answer(StatusCode::OK, &document))
}

pub(super) fn ticket_invalid(next: &str) -> Problem {
    let detail = format!("the ticket was used, is too old, or is for something else; {next}");
    Problem::new(StatusCode::UNAUTHORIZED, "ticket_invalid", detail)
}

/// Ends the token that the request came with.
pub(super) async fn revoke(State(hub): Shared, headers: HeaderMap) -> Answer {
    match guard::token(&headers) {
        Some(token) if hub.keys.revoke(token) => Ok(StatusCode::NO_CONTENT.into_response()),
        _ => Err(Problem::not_found("only the token of a page can be given back")),
    }
}

/// Only the user's own programs may replace a token, not whoever has stolen one.
pub(super) async fn rotate(
    State(hub): Shared,
    Extension(door): Extension<Door>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    if door != Door::Unix {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "socket_only",
            "tokens are replaced with: cld hub token --rotate",
        ));
    }
    let wanted: Wanted = read_json(&hub, &headers, body).await?;
    let scope = wanted.scope.as_deref().and_then(Scope::parse);
    let scope = scope.ok_or_else(|| invalid_scope("control, read or collect"))?;
    let token = hub.keys.rotate(scope).map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Problem::new(status, "token_not_written", format!("{error:#}"))
    })?;
    Ok(json_answer(StatusCode::OK, &json!({ "token": token, "scope": scope.word() })))
}

fn invalid_scope(known: &str) -> Problem {
    Problem::unprocessable("invalid_scope", format!("the scope has to be {known}"))
}
