//! Sessions for other programs. Fields are only ever added without a new version.

use std::path::Path;

use serde::Serialize;

use crate::roster::Listed;
use crate::session::{Moment, Status, Wait};
use crate::text::{harmless_json, one_line};
use crate::tmux::Pane;

const VERSION: u32 = 1;
const LONGEST_TEXT: usize = 512;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    sessions: Vec<Session<'a>>,
}

#[derive(Serialize)]
struct Change<'a> {
    version: u32,
    at: u64,
    /// The state before; nothing for a session that was not there.
    was: Option<&'static str>,
    session: Session<'a>,
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
    /// Skipped or snoozed: left out of the queue until it waits for something new.
    put_off: bool,
    /// When that ends by itself.
    put_off_until: Option<u64>,
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

pub(crate) fn document<'a>(sessions: impl IntoIterator<Item = &'a Listed>, now: Moment) -> String {
    let sessions = sessions.into_iter().map(|listed| Session::of(listed, now)).collect();
    let json = serde_json::to_string(&Document { version: VERSION, sessions });
    harmless_json(&json.unwrap_or_default()) + "\n"
}

/// One session that changed, as a line of its own.
pub(crate) fn change(listed: &Listed, was: Option<&'static str>, now: Moment) -> String {
    let change =
        Change { version: VERSION, at: now.seconds(), was, session: Session::of(listed, now) };
    harmless_json(&serde_json::to_string(&change).unwrap_or_default()) + "\n"
}

/// One session as a document of its own.
pub(crate) fn document_of(listed: &Listed, now: Moment) -> serde_json::Value {
    serde_json::to_value(Session::of(listed, now)).unwrap_or_default()
}

impl<'a> Session<'a> {
    fn of(listed: &'a Listed, now: Moment) -> Self {
        let hooks = listed.pane.as_ref().and_then(|pane| pane.kept.as_ref());
        let hooks = hooks.filter(|kept| kept.session == listed.id);
        Self {
            session_id: listed.id.as_str(),
            title: listed.title.as_deref().map(|title| one_line(title, LONGEST_TEXT)),
            status: listed.status().map(Status::word),
            state: listed.health.state.word(),
            alive: listed.is_alive(),
            waiting: listed.waits_for().map(|wait| Waiting::of(wait, listed, now)),
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
    fn of(wait: &Wait, listed: &Listed, now: Moment) -> Self {
        let put_off = listed.pane.as_ref().and_then(|pane| pane.put_off);
        let put_off = put_off.filter(|put_off| put_off.covers(&listed.health.waits, now));
        Self {
            kind: wait.kind.word(),
            since: wait.since.seconds(),
            context: one_line(&wait.context, LONGEST_TEXT),
            put_off: put_off.is_some(),
            put_off_until: put_off.and_then(|put_off| Some(put_off.until?.seconds())),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_is_a_document() {
        assert_eq!(document(&[], Moment::from_seconds(0)), "{\"version\":1,\"sessions\":[]}\n");
    }
}
