//! Sessions for other programs. Fields are only ever added without a new version.

use std::path::Path;

use serde::Serialize;

use crate::roster::Listed;
use crate::session::{Status, Wait};
use crate::text::{is_unsafe, one_line};
use crate::tmux::Pane;

const VERSION: u32 = 1;
const LONGEST_TEXT: usize = 512;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    sessions: Vec<Session<'a>>,
}

/// Times are unix seconds.
#[derive(Serialize)]
struct Session<'a> {
    session_id: &'a str,
    title: Option<String>,
    status: Option<&'static str>,
    state: &'static str,
    alive: bool,
    waiting: Option<Waiting>,
    directory: Option<String>,
    transcript: Option<String>,
    config_dir: Option<String>,
    pid: Option<u32>,
    background: usize,
    pane: Option<Place<'a>>,
    latest_hook_event: Option<&'a str>,
    latest_hook_time: Option<u64>,
}

#[derive(Serialize)]
struct Waiting {
    kind: &'static str,
    since: u64,
    context: String,
}

#[derive(Serialize)]
struct Place<'a> {
    id: String,
    session: &'a str,
    window_id: &'a str,
    window_index: u32,
    pane_index: u32,
    server: String,
}

pub(super) fn document(sessions: &[Listed]) -> String {
    let sessions = sessions.iter().map(Session::of).collect();
    let json = serde_json::to_string(&Document { version: VERSION, sessions });
    harmless(&json.unwrap_or_default()) + "\n"
}

impl<'a> Session<'a> {
    fn of(listed: &'a Listed) -> Self {
        let hooks = listed.pane.as_ref().and_then(|pane| pane.kept.as_ref());
        let hooks = hooks.filter(|kept| kept.session == listed.id);
        Self {
            session_id: listed.id.as_str(),
            title: listed.title.as_deref().map(|title| one_line(title, LONGEST_TEXT)),
            status: listed.status().map(Status::word),
            state: listed.health.state.word(),
            alive: listed.is_alive(),
            waiting: listed.waits_for().map(Waiting::of),
            directory: listed.directory.as_deref().map(text),
            transcript: listed.transcript.as_deref().map(text),
            config_dir: listed.config_dir.as_deref().map(text),
            pid: listed.pid,
            background: listed.background,
            pane: listed.pane.as_ref().map(Place::of),
            latest_hook_event: hooks.and_then(|kept| kept.latest_event.as_deref()),
            latest_hook_time: hooks.and_then(|kept| Some(kept.latest_time?.seconds())),
        }
    }
}

impl Waiting {
    fn of(wait: &Wait) -> Self {
        Self {
            kind: wait.kind.word(),
            since: wait.since.seconds(),
            context: one_line(&wait.context, LONGEST_TEXT),
        }
    }
}

impl<'a> Place<'a> {
    fn of(pane: &'a Pane) -> Self {
        Self {
            id: pane.id.to_string(),
            session: &pane.session,
            window_id: &pane.window,
            window_index: pane.window_index,
            pane_index: pane.index,
            server: text(&pane.socket),
        }
    }
}

/// JSON has no bytes; a path that is no text cannot be given exactly.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// JSON may hold characters that act on a terminal; written as escapes they mean the same.
fn harmless(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for character in json.chars() {
        if is_unsafe(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                plain.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmful_characters_are_escaped_and_mean_the_same() {
        let text = "/a\u{9b}31m\u{202e}\u{7f}\n\u{e0041}é";
        let json = harmless(&serde_json::to_string(text).unwrap());
        assert!(!json.chars().any(is_unsafe), "{json:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn an_empty_list_is_a_document() {
        assert_eq!(document(&[]), "{\"version\":1,\"sessions\":[]}\n");
    }
}
