//! One line of a transcript. Fields are read by name and stay raw until somebody wants them: types
//! and shapes of records keep changing, and most of a line is never looked at.

use crate::lenient::{text, words};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The longest text that is kept of a prompt, a reply or a title, in bytes.
const TEXT_LIMIT: usize = 4096;

/// Lines that begin like this hold nothing that is asked for here; some of them are tens of
/// kilobytes long. Titles are in the list because they are searched for on their own.
const BARREN: [&[u8]; 12] = [
    b"api-request",
    b"file-history-",
    b"mode\"",
    b"permission-mode\"",
    b"atis-latch\"",
    b"cost-state\"",
    b"last-prompt\"",
    b"queue-operation\"",
    b"tools-used\"",
    b"agent-name\"",
    b"custom-title\"",
    b"ai-title\"",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) git_branch: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) entrypoint: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_sidechain: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_meta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_compact_summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_visible_in_transcript_only: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) prompt_source: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) team_name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) agent_name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) request_session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) forked_from: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) parent_session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) relocated_cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) worktree_session: Option<&'a RawValue>,
}

impl<'a> Record<'a> {
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let line = object(line)?;
        let is_barren = line
            .strip_prefix(b"{\"type\":\"")
            .is_some_and(|kind| BARREN.iter().any(|barren| kind.starts_with(barren)));
        if is_barren { None } else { serde_json::from_slice(line).ok() }
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        text(self.kind).is_some_and(|actual| actual == kind)
    }
}

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
}

/// A part of a message. Text content without parts counts as one part of text.
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    ToolResult,
    Other,
}

impl<'a> Message<'a> {
    pub(super) fn parse(raw: Option<&'a RawValue>) -> Option<Self> {
        inner(raw)
    }

    pub(super) fn is_made_by_the_client(&self) -> bool {
        text(self.model).is_some_and(|model| model == "<synthetic>")
    }

    pub(super) fn parts(&self) -> Vec<Part<'a>> {
        if let Some(text) = text(self.content) {
            return vec![Part::Text(text)];
        }
        parts_of(self).map(part).collect()
    }
}

/// The parts of a message as they stand there; nothing where its content is a text.
pub(super) fn parts_of<'a>(message: &Message<'a>) -> impl Iterator<Item = &'a RawValue> {
    let blocks: Vec<&RawValue> =
        message.content.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    blocks.into_iter()
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

fn part(raw: &RawValue) -> Part<'_> {
    let Some(block) = inner::<Block<'_>>(Some(raw)) else { return Part::Other };
    match (text(block.kind).as_deref(), text(block.text)) {
        (Some("tool_result"), _) => Part::ToolResult,
        (Some("text"), Some(text)) => Part::Text(text),
        _ => Part::Other,
    }
}

/// An object inside a record; None where something else stands.
pub(super) fn inner<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    let raw = raw?.get();
    raw.starts_with('{').then(|| serde_json::from_str(raw).ok()).flatten()
}

/// The line without what surrounds its object: a crash can leave zeroes before the next record.
pub(super) fn object(line: &[u8]) -> Option<&[u8]> {
    let start = line.iter().position(|b| *b != 0 && !b.is_ascii_whitespace())?;
    let line = &line[start..];
    (line[0] == b'{').then_some(line)
}

/// At most [`TEXT_LIMIT`] bytes, cut between characters.
pub(super) fn bounded(text: &str) -> String {
    let mut end = text.len().min(TEXT_LIMIT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

pub(super) fn bounded_words(raw: Option<&RawValue>) -> Option<String> {
    words(raw).map(|text| bounded(&text))
}

#[cfg(test)]
mod tests {
    use super::{Message, Part, Record, TEXT_LIMIT, bounded};
    use crate::lenient::text;
    use serde_json::value::RawValue;

    fn parts(content: &str) -> Vec<String> {
        let raw =
            RawValue::from_string(format!(r#"{{"role":"user","content":{content}}}"#)).unwrap();
        let message = Message::parse(Some(&raw)).unwrap();
        let name = |part| match part {
            Part::Text(text) => format!("text {text}"),
            Part::ToolResult => "tool result".to_owned(),
            Part::Other => "other".to_owned(),
        };
        message.parts().into_iter().map(name).collect()
    }

    #[test]
    fn content_is_a_text_or_a_list_of_parts() {
        assert_eq!(parts(r#""hello""#), ["text hello"]);
        assert_eq!(
            parts(r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#),
            ["text a", "text b"]
        );
        assert_eq!(
            parts(r#"[{"tool_use_id":"x","type":"tool_result","content":"hi"}]"#),
            ["tool result"]
        );
        assert_eq!(parts(r#"[{"type":"image"},7,"loose",null,{"type":"text"}]"#), ["other"; 5]);
        assert!(parts("null").is_empty());
        assert!(parts("7").is_empty());
    }

    #[test]
    fn a_field_of_another_kind_does_not_cost_the_record() {
        let record =
            Record::parse(br#"{"type":"user","cwd":7,"message":[],"gitBranch":"main","new":{}}"#)
                .unwrap();
        assert!(record.is("user"));
        assert_eq!(text(record.cwd), None);
        assert_eq!(text(record.git_branch).as_deref(), Some("main"));
    }

    #[test]
    fn what_is_no_record_is_passed_over() {
        for line in [
            &b""[..],
            b"   ",
            b"null",
            b"[\"user\"]",
            b"{\"type\":\"user\"",
            b"{\"type\":\"user\"}}",
            b"{\"type\":\"user\",\"cwd\":\"\xff\"}",
            b"{\"type\":\"api-request-shape\",\"cwd\":\"/a\"}",
            b"{\"type\":\"mode\",\"mode\":\"normal\"}",
        ] {
            assert!(Record::parse(line).is_none(), "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn zeroes_before_a_record_are_passed_over() {
        assert!(Record::parse(b"\0\0\0 {\"type\":\"user\"}\r").unwrap().is("user"));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let long = "é".repeat(TEXT_LIMIT);
        assert_eq!(bounded(&long), "é".repeat(TEXT_LIMIT / 2));
        let odd = format!("x{long}");
        assert_eq!(bounded(&odd).len(), TEXT_LIMIT - 1);
        assert_eq!(bounded("short"), "short");
    }
}
