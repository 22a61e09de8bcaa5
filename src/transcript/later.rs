//! What happened in a session after a moment, read from the end.

use super::pieces::{PIECE, Source, lines_from_the_end};
use super::prompt::{Said, said};
use super::recent::{Block, DEEPEST, ToolCall, calls_of};
use super::record::{Message, Record, inner, parts_of};
use super::time::parse_utc;
use crate::lenient::{exact, flag, text};
use crate::session::Moment;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Each with the moment it happened.
#[derive(Clone, Debug, Default)]
pub struct Later {
    /// Tool calls that were given a result: they ran, failed, or were denied.
    pub answered: Vec<(Moment, ToolCall)>,
    /// The last time the person stopped Claude.
    pub interrupted: Option<Moment>,
    /// The last time the person wrote or Claude spoke.
    pub spoken: Option<Moment>,
}

/// What the main thread did after `since`; what subagents do stands in files of their own.
pub fn later(transcript: &Path, since: Moment) -> io::Result<Later> {
    let source = Source::open(transcript)?;
    let mut buffer = Vec::new();
    let mut length = PIECE;
    loop {
        let start = source.read_tail(length, &mut buffer)?;
        let (later, is_whole) = gather(&buffer, since);
        if is_whole || start == 0 || length >= DEEPEST {
            return Ok(later);
        }
        length = (length * 4).min(DEEPEST);
    }
}

/// What a piece says, and whether it holds all that is asked for.
fn gather(piece: &[u8], since: Moment) -> (Later, bool) {
    let mut later = Later::default();
    let mut results: HashMap<String, Moment> = HashMap::new();
    for line in lines_from_the_end(piece) {
        let Some(record) = Record::parse(line).filter(|record| !flag(record.is_sidechain)) else {
            continue;
        };
        let (is_answer, is_user) = (record.is("assistant"), record.is("user"));
        let Some(at) = moment(&record).filter(|_| is_answer || is_user) else { continue };
        let Some(message) = Message::parse(record.message) else { continue };
        if is_answer {
            for (id, call) in calls_of(&message) {
                later.answered.extend(results.remove(&id).map(|at| (at, call)));
            }
        }
        if at <= since {
            if results.is_empty() {
                return (later, true);
            }
            continue;
        }
        // An error of the client stands there like an answer.
        if is_answer && !message.is_made_by_the_client() {
            later.spoken = later.spoken.max(Some(at));
        } else if is_user {
            match said(&record) {
                Said::ToolResult => {
                    let blocks = parts_of(&message).filter_map(|raw| inner::<Block<'_>>(Some(raw)));
                    results
                        .extend(blocks.filter_map(|block| Some((exact(block.tool_use_id)?, at))));
                }
                Said::Interruption => later.interrupted = later.interrupted.max(Some(at)),
                Said::Prompt(_) => later.spoken = later.spoken.max(Some(at)),
                Said::Command(_) | Said::Aside => {}
            }
        }
    }
    (later, false)
}

fn moment(record: &Record<'_>) -> Option<Moment> {
    let at = parse_utc(&text(record.timestamp)?)?.duration_since(UNIX_EPOCH).ok()?;
    Some(Moment::from_micros(u64::try_from(at.as_micros()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A record of the main thread at a second of the first minute.
    fn record(second: u32, kind: &str, content: &Value) -> Value {
        json!({
            "type": kind, "isSidechain": false, "timestamp": format!("1970-01-01T00:00:{second:02}.500Z"),
            "message": {"role": kind, "content": content},
        })
    }

    fn call(second: u32, id: &str, command: &str) -> Value {
        let input = json!({"command": command});
        record(
            second,
            "assistant",
            &json!([{"type": "tool_use", "id": id, "name": "Bash", "input": input}]),
        )
    }

    fn result(second: u32, id: &str) -> Value {
        record(
            second,
            "user",
            &json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]),
        )
    }

    /// What happened after the second 5: the commands that were answered, then when somebody
    /// interrupted and spoke.
    #[track_caller]
    fn check(lines: &[Value], answered: &[&str], interrupted: Option<u64>, spoken: Option<u64>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
        let found = later(&path, Moment::from_seconds(5)).unwrap();
        let inputs: Vec<&str> = found.answered.iter().map(|(_, call)| call.input.get()).collect();
        let expected: Vec<String> =
            answered.iter().map(|command| json!({ "command": command }).to_string()).collect();
        assert_eq!(inputs, expected, "{lines:#?}");
        let seconds = |at: Option<Moment>| at.map(Moment::seconds);
        assert_eq!(
            (seconds(found.interrupted), seconds(found.spoken)),
            (interrupted, spoken),
            "{lines:#?}"
        );
    }

    #[test]
    fn a_denied_call_has_a_result_and_an_interruption() {
        let mark = record(
            8,
            "user",
            &json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        );
        check(&[call(4, "a", "make"), result(7, "a"), mark], &["make"], Some(8), None);
    }

    #[test]
    fn what_was_answered_before_does_not_count() {
        check(&[call(2, "a", "make"), result(3, "a"), call(4, "b", "make")], &[], None, None);
    }

    #[test]
    fn a_call_is_found_however_far_back_it_stands() {
        let filler = record(
            4,
            "user",
            &json!([{"type": "tool_result", "tool_use_id": "x", "content": "y".repeat(3 * PIECE)}]),
        );
        check(&[call(1, "a", "make"), filler, result(7, "a")], &["make"], None, None);
    }

    #[test]
    fn prompts_and_answers_count_but_not_what_the_client_adds() {
        let mut error = record(9, "assistant", &json!([{"type": "text", "text": "API Error"}]));
        error["message"]["model"] = json!("<synthetic>");
        let mut agent = call(9, "z", "ls");
        agent["isSidechain"] = json!(true);
        let summary = json!({"type": "system", "subtype": "turn_duration", "timestamp": "1970-01-01T00:00:09.000Z"});
        let aside = record(9, "user", &json!("<system-reminder>\nnamed</system-reminder>"));
        check(&[error, agent, summary, aside], &[], None, None);
        check(&[record(6, "user", &json!("go on"))], &[], None, Some(6));
        check(
            &[record(7, "assistant", &json!([{"type": "text", "text": "Yes."}]))],
            &[],
            None,
            Some(7),
        );
        check(
            &[record(4, "assistant", &json!([{"type": "text", "text": "Yes."}]))],
            &[],
            None,
            None,
        );
    }
}
