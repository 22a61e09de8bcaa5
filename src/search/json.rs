//! What was found, for other programs: one object a line for each hit, written as it is found.
//! Fields are only ever added without a new version.

use std::path::Path;

use serde::Serialize;

use super::engine::Found;
use super::record::{Hit, Who};
use crate::roster::{Listed, past};
use crate::text::{harmless_json, one_line};

const VERSION: u32 = 1;
const LONGEST_TEXT: usize = 512;

/// Times are unix seconds.
#[derive(Serialize)]
struct Line<'a> {
    version: u32,
    session_id: &'a str,
    title: Option<String>,
    directory: Option<String>,
    branch: Option<&'a str>,
    transcript: String,
    alive: bool,
    state: &'static str,
    /// When somebody last said something in the session.
    last_active: Option<u64>,
    who: &'static str,
    tool: Option<&'a str>,
    said_at: Option<u64>,
    /// The id of the record, as Claude Code gave it.
    uuid: Option<String>,
    /// Where the line of the record begins in the transcript.
    offset: u64,
    text: &'a str,
    /// The matches: where each begins and ends in `text`, in characters.
    marks: Vec<[usize; 2]>,
}

pub(super) fn lines(found: &Found, alive: Option<&Listed>) -> String {
    found.hits.iter().map(|hit| line(found, alive, hit)).collect()
}

fn line(found: &Found, alive: Option<&Listed>, hit: &Hit) -> String {
    let session = &found.session;
    let title = alive.and_then(|listed| listed.title.as_deref()).or(session.title.as_deref());
    let characters = |at: usize| hit.context.text[..at].chars().count();
    let line = Line {
        version: VERSION,
        session_id: session.id.as_str(),
        title: title.map(|title| one_line(title, LONGEST_TEXT)),
        directory: session.directory.as_deref().map(text),
        branch: hit.branch.as_deref().or(session.branch.as_deref()),
        transcript: text(&found.file.path),
        alive: alive.is_some(),
        state: alive.unwrap_or(session).health.state.word(),
        last_active: session.health.since.map(crate::session::Moment::seconds),
        who: word(hit.who),
        tool: hit.tool.as_deref(),
        said_at: hit.said_at.map(|at| past::moment(at).seconds()),
        uuid: hit.uuid.map(uuid),
        offset: hit.offset,
        text: &hit.context.text,
        marks: hit.context.marks.iter().map(|m| [characters(m.start), characters(m.end)]).collect(),
    };
    harmless_json(&serde_json::to_string(&line).unwrap_or_default()) + "\n"
}

fn word(who: Who) -> &'static str {
    match who {
        Who::Title => "title",
        Who::User => "user",
        Who::Claude => "assistant",
        Who::ToolInput => "tool_input",
        Who::ToolResult => "tool_result",
    }
}

fn uuid(id: u128) -> String {
    let digits = format!("{id:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

/// JSON has no bytes; a path that is no text cannot be given exactly.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
