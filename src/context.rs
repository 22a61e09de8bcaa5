//! What a session asks, in full: for a preview, before somebody goes there.
//!
//! The line that the hook has kept comes first, what the end of the transcript adds to it second.
//! Where neither says what it is about, the screen of the pane has to do.

use std::time::{Duration, Instant};

use crate::hook;
use crate::pane::without_separator;
use crate::paths;
use crate::roster::Listed;
use crate::session::{DialogKind, Wait, WaitKind};
use crate::tmux::{self, Answer, Batch, Pane};
use crate::transcript::{self, Recent, ToolCall};

mod line;
mod tool;

pub use line::{Line, Mark};

use line::{last_lines, lines};

const LIMIT: Duration = Duration::from_secs(1);
/// More lines than this are cut, where the less important end is.
const MOST_LINES: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Harmless to any terminal, but not cut to a width.
    pub lines: Vec<Line>,
    pub source: Source,
}

/// Where the lines are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Hooks,
    Transcript,
    Screen,
}

/// What a session waits for; nothing for one that does not wait.
pub fn of(listed: &Listed) -> Option<Context> {
    let wait = listed.waits_for()?;
    let transcript = listed.transcript.as_deref();
    let recent = transcript.and_then(|path| transcript::recent(path).ok()).unwrap_or_default();
    let from_transcript = match wait.kind {
        WaitKind::Dialog(kind) => asked(wait, kind, &recent).or_else(|| {
            let agents = transcript.map(transcript::recent_of_agents).unwrap_or_default();
            agents.iter().find_map(|agent| asked(wait, kind, agent))
        }),
        WaitKind::Turn(_) => said(wait, &recent),
    };
    if let Some(lines) = from_transcript {
        return Some(Context { lines, source: Source::Transcript });
    }
    let screen = listed.pane.as_ref().filter(|_| is_vague(wait)).and_then(screen);
    Some(match screen {
        Some(text) => Context { lines: last_lines(&text, MOST_LINES), source: Source::Screen },
        None => Context { lines: lines(&wait.context, MOST_LINES), source: Source::Hooks },
    })
}

/// The call that a dialog is about, in full.
fn asked(wait: &Wait, kind: DialogKind, recent: &Recent) -> Option<Vec<Line>> {
    if kind == DialogKind::Plan {
        return tool::plan(recent).map(|plan| lines(&plan, MOST_LINES));
    }
    let is_meant = |call: &&ToolCall| is_about(wait, call);
    let call =
        recent.open_calls.iter().find(is_meant).or_else(|| match recent.open_calls.as_slice() {
            // Whoever only knows that there is a dialog means the only call that can have one.
            [only] if is_vague(wait) => Some(only),
            _ => None,
        })?;
    Some(tool::detail(call, &headline(call), MOST_LINES))
}

/// Whether a dialog asks for this call.
pub fn is_about(wait: &Wait, call: &ToolCall) -> bool {
    without_separator(&headline(call)) == wait.context
}

/// The end of a turn's last message, if it is the one that the hook has seen.
fn said(wait: &Wait, recent: &Recent) -> Option<Vec<Line>> {
    let words = recent.last_words.as_deref()?;
    let is_meant = hook::context::of_last_words(Some(words)) == wait.context;
    is_meant.then(|| last_lines(words, MOST_LINES))
}

fn headline(call: &ToolCall) -> String {
    let tool = hook::event::Tool { name: (&*call.name).into(), input: Some(&call.input) };
    hook::context::of_tool(&tool)
}

/// Whether the line says no more than that something is asked: announcements of Claude Code do not
/// name the tool, and a plan is not in the request for its approval.
fn is_vague(wait: &Wait) -> bool {
    let says_nothing = |words: &str| {
        let words = words.to_ascii_lowercase();
        words.is_empty()
            || words.starts_with("claude")
            || words.starts_with("auto mode")
            || ["permission", "permission prompt", "a plan is ready", "dialog open", "input needed"]
                .contains(&&*words)
    };
    matches!(wait.kind, WaitKind::Dialog(_)) && says_nothing(&wait.context)
}

/// What the pane shows now.
fn screen(pane: &Pane) -> Option<String> {
    let mut batch = Batch::default();
    batch.push(["capture-pane", "-p", "-t", &pane.id.to_string()]);
    match tmux::run(&paths::tmux_program(), &pane.socket, &batch, Instant::now() + LIMIT) {
        Answer::Done(text) => Some(text).filter(|text| !text.trim().is_empty()),
        _ => None,
    }
}
