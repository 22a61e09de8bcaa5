//! What a request must look like before anything of it is parsed. Pure.
//!
//! A browser sends requests to a local port for any page that asks it to. So a request has to name
//! this hub as its host, must not come from a foreign page, and has to bring a token.

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};

use crate::text::one_line;

use super::keys::Scope;
use super::page;
use super::problem::Problem;

const LARGEST_HEAD: usize = 32 * 1024;

/// The listener a request came in by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Door {
    /// Only the user can open it, and no browser can.
    Unix,
    Tcp(Hosts),
    /// For containers: events go in, nothing comes out.
    Collector(Hosts),
}

/// The names a listener goes by, with their ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hosts {
    plain: Vec<String>,
    /// Names that were given, which may stand behind a proxy that speaks TLS.
    given: Vec<String>,
}

impl Hosts {
    pub(super) fn new(port: u16, names: &[&str], given: &[String]) -> Self {
        let plain = names.iter().map(|name| format!("{name}:{port}")).collect();
        let given = given.iter().map(|name| name.to_ascii_lowercase());
        let given = given.flat_map(|name| [format!("{name}:{port}"), name]).collect();
        Self { plain, given }
    }

    fn holds(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.plain.contains(&host) || self.given.contains(&host)
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        let own = |host: &String| origin.strip_prefix("http://") == Some(host);
        let secure = |host: &String| origin.strip_prefix("https://") == Some(host);
        self.plain.iter().chain(&self.given).any(own) || self.given.iter().any(secure)
    }
}

/// What it takes to be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Holds no data, or brings its own proof.
    Public,
    Token(Scope),
}

/// Everything that can be told from the head alone; what is left is to look at the token.
pub(super) fn check(
    door: &Door,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Access, Problem> {
    check_size(uri, headers)?;
    check_host(door, uri, headers)?;
    check_origin(door, headers)?;
    let path = uri.path();
    if let Some(allowed) = methods(path).filter(|allowed| !names(allowed, method)) {
        let detail = format!("this path takes {allowed}, not {method}");
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
        return Err(problem.allowing(allowed));
    }
    let is_collector = matches!(door, Door::Collector(_));
    let takes_events = method == Method::POST && matches!(path, "/events" | "/events/oversize");
    if is_collector && !takes_events && (method.as_str(), path) != ("GET", "/healthz") {
        return Err(Problem::not_found("only events can be posted here"));
    }
    if method == Method::POST {
        check_content_type(headers)?;
    }
    Ok(access(method, path))
}

/// The token of an `Authorization` header.
pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub(super) fn unauthorized() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "a token is needed: Authorization: Bearer $(cld hub token)",
    )
}

pub(super) fn forbidden(wanted: Scope) -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "wrong_scope",
        format!("this needs a token of the scope {}", wanted.word()),
    )
}

fn access(method: &Method, path: &str) -> Access {
    let reads = method == Method::GET || method == Method::HEAD;
    match path {
        "/healthz" if reads => Access::Public,
        path if reads && page::is_part(path) => Access::Public,
        // The ticket in its body is the proof.
        "/auth/session" if method == Method::POST => Access::Public,
        // A ticket lets nobody do more than the token that it was asked for with.
        "/auth/session" | "/auth/tickets" => Access::Token(Scope::Read),
        "/events" | "/events/oversize" if method == Method::POST => Access::Token(Scope::Collect),
        _ if reads => Access::Token(Scope::Read),
        _ => Access::Token(Scope::Control),
    }
}

/// Whether events are streamed from a path, and so a ticket may stand in its address.
pub(super) fn is_stream(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match *parts {
        ["events"] => true,
        ["sessions", id, "events"] => !id.is_empty(),
        _ => false,
    }
}

/// What a path takes, as an `Allow` header says it; nothing for a path that there is not.
fn methods(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    Some(match *parts {
        ["events" | "sessions"] => "GET, HEAD, POST",
        ["healthz" | "status" | "metrics" | "openapi.json" | "queue"]
        | ["sessions", _, "events" | "history"] => "GET, HEAD",
        ["sessions", _] => "GET, HEAD, DELETE",
        ["sessions", _, "message"] | ["auth", "tickets" | "rotate"] | ["events", "oversize"] => {
            "POST"
        }
        ["auth", "session"] => "POST, DELETE",
        _ => return page::is_part(path).then_some("GET, HEAD"),
    })
}

fn names(allowed: &str, method: &Method) -> bool {
    allowed.split(", ").any(|known| known == method.as_str())
}

fn check_size(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let fields = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    if path + fields.sum::<usize>() <= LARGEST_HEAD {
        return Ok(());
    }
    let detail = format!("the head of the request is larger than {LARGEST_HEAD} bytes");
    Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large", detail))
}

fn check_host(door: &Door, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut given = headers.get_all(HOST).iter();
    let (first, second) = (given.next(), given.next());
    let host = first.and_then(|host| host.to_str().ok()).unwrap_or_default();
    // A request line may name a host too, and then that one counts for others on the way.
    let named = uri.authority().map(axum::http::uri::Authority::as_str);
    let fits = |host: &str| match door {
        Door::Unix => {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            matches!(name, "localhost" | "cld" | "127.0.0.1" | "[::1]") || host == "[::1]"
        }
        Door::Tcp(hosts) | Door::Collector(hosts) => hosts.holds(host),
    };
    if second.is_none() && fits(host) && named.is_none_or(fits) {
        return Ok(());
    }
    let shown = one_line(named.filter(|named| !fits(named)).unwrap_or(host), 80);
    let name = shown.rsplit_once(':').map_or(&*shown, |(name, _)| name);
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "host_not_allowed",
        format!(
            "the host {shown:?} is not this hub; if it should be, start it with \
             cld hub --allowed-host {name}"
        ),
    ))
}

/// `Sec-Fetch-Site` tells of requests that carry no `Origin`, such as images and links.
fn check_origin(door: &Door, headers: &HeaderMap) -> Result<(), Problem> {
    let refuse =
        |what: String| Err(Problem::new(StatusCode::FORBIDDEN, "origin_not_allowed", what));
    for origin in headers.get_all(ORIGIN) {
        let origin = origin.to_str().unwrap_or("?");
        let own = match door {
            Door::Tcp(hosts) => hosts.is_own_origin(origin),
            Door::Unix | Door::Collector(_) => false,
        };
        if !own {
            return refuse(format!("requests of {:?} are refused", one_line(origin, 80)));
        }
    }
    for site in headers.get_all("sec-fetch-site") {
        if !matches!(site.as_bytes(), b"same-origin" | b"none") {
            return refuse("requests of other pages are refused".to_owned());
        }
    }
    Ok(())
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let mut given = headers.get_all(CONTENT_TYPE).iter();
    let (first, second) = (given.next(), given.next());
    let value = first.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if second.is_none() && essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "the body has to be JSON: Content-Type: application/json",
    ))
}

#[cfg(test)]
mod tests;
