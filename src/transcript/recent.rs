//! What happened since the last prompt, read from the end: which tool calls have no result yet, and
//! Claude's last words.

use super::pieces::{PIECE, Source, lines_from_the_end};
use super::prompt::{Said, said};
use super::record::{Message, Part, Record, inner, parts_of};
use crate::lenient::{exact, flag, text};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// How far back the calls of a turn are looked for: one call can hold a whole file.
pub(super) const DEEPEST: usize = 2 * 1024 * 1024;

/// How many subagents are looked at, the one that wrote last first.
const MOST_AGENTS: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// Tool calls without a result, newest first.
    pub open_calls: Vec<ToolCall>,
    /// The calls that have one, newest first.
    pub done_calls: Vec<ToolCall>,
    /// What Claude said last in this turn.
    pub last_words: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ToolCall {
    pub name: String,
    pub input: Box<RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// The last turn of a session.
pub fn recent(transcript: &Path) -> io::Result<Recent> {
    read(transcript, false)
}

/// The last turns of its subagents, of the one that wrote last first.
pub fn recent_of_agents(transcript: &Path) -> Vec<Recent> {
    let folder = transcript.with_extension("").join("subagents");
    let entries = std::fs::read_dir(folder).into_iter().flatten().map_while(Result::ok);
    let written = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let is_transcript = path.extension().is_some_and(|extension| extension == "jsonl");
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
        is_transcript.then_some((modified, path))
    };
    let mut files: Vec<(std::time::SystemTime, PathBuf)> = entries.filter_map(written).collect();
    files.sort_by(|one, other| other.cmp(one));
    files.iter().take(MOST_AGENTS).filter_map(|(_, path)| read(path, true).ok()).collect()
}

fn read(path: &Path, is_agent: bool) -> io::Result<Recent> {
    let source = Source::open(path)?;
    let mut buffer = Vec::new();
    let mut length = PIECE;
    loop {
        let start = source.read_tail(length, &mut buffer)?;
        let (recent, is_whole) = gather(&buffer, is_agent);
        if is_whole || start == 0 || length >= DEEPEST {
            return Ok(recent);
        }
        length = (length * 4).min(DEEPEST);
    }
}

/// What a piece says, and whether it reaches back to the beginning of the turn.
fn gather(piece: &[u8], is_agent: bool) -> (Recent, bool) {
    let mut recent = Recent::default();
    let mut results: HashSet<String> = HashSet::new();
    for line in lines_from_the_end(piece) {
        let Some(record) = Record::parse(line) else { continue };
        if flag(record.is_sidechain) != is_agent {
            continue;
        }
        let Some(message) = Message::parse(record.message) else { continue };
        if record.is("assistant") {
            take_answer(&message, &results, &mut recent);
        } else if record.is("user") {
            match said(&record) {
                Said::ToolResult => {
                    let blocks = parts_of(&message).filter_map(|raw| inner::<Block<'_>>(Some(raw)));
                    results.extend(blocks.filter_map(|block| exact(block.tool_use_id)));
                }
                Said::Prompt(_) | Said::Interruption => return (recent, true),
                Said::Command(_) | Said::Aside => {}
            }
        }
    }
    (recent, false)
}

fn take_answer(message: &Message<'_>, results: &HashSet<String>, recent: &mut Recent) {
    for (id, call) in calls_of(message).into_iter().rev() {
        let has_result = results.contains(&id);
        let calls = if has_result { &mut recent.done_calls } else { &mut recent.open_calls };
        calls.push(call);
    }
    if recent.last_words.is_none() && !message.is_made_by_the_client() {
        let mut texts = message.parts().into_iter().filter_map(|part| match part {
            Part::Text(text) if !text.trim().is_empty() => Some(text.into_owned()),
            _ => None,
        });
        recent.last_words = texts.next_back();
    }
}

/// The tool calls of a message with their ids, in its order.
pub(super) fn calls_of(message: &Message<'_>) -> Vec<(String, ToolCall)> {
    let blocks = parts_of(message).filter_map(|raw| inner::<Block<'_>>(Some(raw)));
    let calls = blocks.filter(|block| text(block.kind).as_deref() == Some("tool_use"));
    let call = |block: Block<'_>| {
        let call = ToolCall { name: exact(block.name)?, input: block.input?.to_owned() };
        Some((exact(block.id).unwrap_or_default(), call))
    };
    calls.filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::fs;

    fn assistant(blocks: &Value) -> Value {
        json!({"type": "assistant", "isSidechain": false, "message": {"role": "assistant", "content": blocks}})
    }

    fn call(id: &str, command: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}})
    }

    fn result(id: &str) -> Value {
        let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]);
        json!({"type": "user", "isSidechain": false, "message": {"role": "user", "content": content}})
    }

    fn prompt(words: &str) -> Value {
        json!({"type": "user", "isSidechain": false, "message": {"role": "user", "content": words}})
    }

    fn written(lines: &[Value]) -> Recent {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).unwrap();
        recent(&path).unwrap()
    }

    fn inputs(calls: &[ToolCall]) -> Vec<&str> {
        calls.iter().map(|call| call.input.get()).collect()
    }

    #[test]
    fn calls_without_a_result_are_open() {
        let found = written(&[
            prompt("an earlier one"),
            assistant(&json!([call("0", "old")])),
            prompt("go"),
            assistant(&json!([{"type": "text", "text": "I look."}, call("1", "ls")])),
            result("1"),
            assistant(&json!([call("2", "a"), call("3", "b")])),
            result("2"),
        ]);
        assert_eq!(inputs(&found.open_calls), [r#"{"command":"b"}"#]);
        assert_eq!(inputs(&found.done_calls), [r#"{"command":"a"}"#, r#"{"command":"ls"}"#]);
        assert_eq!(found.last_words.as_deref(), Some("I look."));
    }

    #[test]
    fn what_was_interrupted_is_not_open() {
        let found = written(&[
            prompt("go"),
            assistant(&json!([call("1", "ls")])),
            prompt("[Request interrupted by user for tool use]"),
        ]);
        assert!(found.open_calls.is_empty());
    }

    #[test]
    fn a_call_larger_than_a_piece_is_found() {
        let found = written(&[
            prompt("go"),
            assistant(&json!([call("1", &"x".repeat(5 * PIECE))])),
            json!({"type": "system", "content": "y".repeat(2 * PIECE)}),
        ]);
        assert_eq!(found.open_calls.len(), 1);
    }

    #[test]
    fn subagents_have_transcripts_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        fs::write(&path, "").unwrap();
        assert!(recent_of_agents(&path).is_empty());
        let folder = dir.path().join("t/subagents");
        fs::create_dir_all(&folder).unwrap();
        let mut line = assistant(&json!([call("1", "ls")]));
        line["isSidechain"] = json!(true);
        fs::write(folder.join("agent-1.jsonl"), format!("{line}\n")).unwrap();
        fs::write(folder.join("agent-1.meta.json"), "{}").unwrap();
        let agents = recent_of_agents(&path);
        assert_eq!(agents.iter().map(|agent| agent.open_calls.len()).collect::<Vec<_>>(), [1]);
    }
}
