//! The dashboard: files that are part of the program.

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

struct Part {
    path: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

const PARTS: &[Part] = &[
    Part {
        path: "/",
        kind: "text/html; charset=utf-8",
        content: include_bytes!("page/index.html"),
    },
    Part {
        path: "/app.css",
        kind: "text/css; charset=utf-8",
        content: include_bytes!("page/app.css"),
    },
    Part {
        path: "/app.js",
        kind: "text/javascript; charset=utf-8",
        content: include_bytes!("page/app.js"),
    },
];

/// The whole page is smaller than a picture, so that a phone has it at once.
const LARGEST: usize = 100_000;
const _: () =
    assert!(PARTS[0].content.len() + PARTS[1].content.len() + PARTS[2].content.len() < LARGEST);

/// Whether a path is a part of the page, which holds no data and needs no token.
pub(super) fn is_part(path: &str) -> bool {
    PARTS.iter().any(|part| part.path == path)
}

pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.path)
}

pub(super) fn serve(path: &str) -> Option<Response> {
    let part = PARTS.iter().find(|part| part.path == path)?;
    let mut response = part.content.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(part.kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Some(response)
}
