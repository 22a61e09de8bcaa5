//! Titles: the one the user gave, else the one Claude wrote. Both are appended again and again; the
//! last one counts.

use super::bytes::{find_byte, rfind, rfind_byte};
use super::pieces::{CHUNK, PIECE, Source};
use super::record::{bounded, bounded_words, inner, object};
use crate::lenient::text;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    pub text: String,
    pub source: TitleSource,
}

/// Where a title comes from, the best source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleSource {
    /// `/rename` or `--name`.
    Custom,
    /// Written by Claude after the first prompt.
    Ai,
    /// No title: the first prompt stands in for one.
    Prompt,
    /// No title and no prompt: the first slash command stands in for one.
    Command,
}

/// The newest title records of a part of a file. An empty custom title is kept as such: it takes an
/// older one back.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Titles {
    pub(super) custom: Option<String>,
    pub(super) ai: Option<String>,
}

impl Titles {
    pub(super) fn or_older(self, older: Titles) -> Titles {
        Titles { custom: self.custom.or(older.custom), ai: self.ai.or(older.ai) }
    }

    pub(super) fn best(self) -> Option<Title> {
        let of = |text: Option<String>, source| {
            text.filter(|text| !text.is_empty()).map(|text| Title { text, source })
        };
        of(self.custom, TitleSource::Custom).or_else(|| of(self.ai, TitleSource::Ai))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.custom.as_ref().is_none_or(String::is_empty)
            && self.ai.as_ref().is_none_or(String::is_empty)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TitleRecord<'a> {
    #[serde(borrow)]
    custom_title: Option<&'a RawValue>,
    #[serde(borrow)]
    ai_title: Option<&'a RawValue>,
}

/// The newest titles in whole lines. Only lines in which the name of a title field stands are
/// parsed.
pub(super) fn newest_in(data: &[u8]) -> Titles {
    let mut titles = Titles::default();
    let mut end = data.len();
    while titles.custom.as_ref().is_none_or(String::is_empty)
        && let Some(at) = rfind(&data[..end], b"Title\"")
    {
        end = at;
        if !data[..at].ends_with(b"\"custom") && !data[..at].ends_with(b"\"ai") {
            continue;
        }
        let line_start = rfind_byte(&data[..at], b'\n').map_or(0, |newline| newline + 1);
        let line_end = find_byte(&data[at..], b'\n').map_or(data.len(), |newline| at + newline);
        titles = titles.or_older(of_line(&data[line_start..line_end]));
        end = line_start;
    }
    titles
}

fn of_line(line: &[u8]) -> Titles {
    let record = object(line).and_then(|line| serde_json::from_slice::<TitleRecord<'_>>(line).ok());
    record.map_or_else(Titles::default, |record| Titles {
        custom: text(record.custom_title).map(|title| bounded(title.trim())),
        ai: bounded_words(record.ai_title),
    })
}

/// The newest titles between two line starts, read in bounded steps from the end. Lines longer than
/// a step are no title records and are passed over.
pub(super) fn newest_between(source: &Source, from: u64, to: u64, buffer: &mut Vec<u8>) -> Titles {
    let mut titles = Titles::default();
    let mut high = to;
    while high > from && titles.custom.as_ref().is_none_or(String::is_empty) {
        let low = high.saturating_sub(CHUNK as u64).max(from);
        let length = usize::try_from(high - low).unwrap_or(CHUNK);
        if source.read(low, length, buffer).is_err() {
            break;
        }
        let first_line =
            if low == from { Some(0) } else { find_byte(buffer, b'\n').map(|newline| newline + 1) };
        // The next step ends where this one's first whole line begins, so that the line before it
        // comes whole.
        high = match first_line {
            Some(start) if start < buffer.len() => {
                titles = titles.or_older(newest_in(&buffer[start..]));
                low + start as u64
            }
            _ => low,
        };
    }
    titles
}

/// What `/rename` leaves beside the transcript, in `<uuid>/custom-title.json`.
pub(super) fn beside(transcript: &Path, buffer: &mut Vec<u8>) -> Option<String> {
    let source = Source::open(&transcript.with_extension("").join("custom-title.json")).ok()?;
    source.read(0, PIECE, buffer).ok()?;
    let raw = serde_json::from_slice::<&RawValue>(buffer).ok()?;
    bounded_words(inner::<TitleRecord<'_>>(Some(raw))?.custom_title)
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Source, Titles, beside, newest_between, newest_in};
    use proptest::prelude::{prop, proptest};
    use std::fs;
    use tempfile::TempDir;

    fn titles(custom: Option<&str>, ai: Option<&str>) -> Titles {
        Titles { custom: custom.map(str::to_owned), ai: ai.map(str::to_owned) }
    }

    fn custom(title: &str) -> String {
        format!("{{\"type\":\"custom-title\",\"customTitle\":\"{title}\",\"sessionId\":\"s\"}}\n")
    }

    fn ai(title: &str) -> String {
        format!("{{\"type\":\"ai-title\",\"aiTitle\":\"{title}\",\"sessionId\":\"s\"}}\n")
    }

    /// A line of exactly `length` bytes, the newline included, that holds no title.
    fn filler(length: usize) -> String {
        let (before, after) = ("{\"type\":\"x\",\"text\":\"", "\"}\n");
        format!("{before}{}{after}", "T".repeat(length - before.len() - after.len()))
    }

    fn between(content: &str) -> Titles {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, content).unwrap();
        newest_between(&Source::open(&path).unwrap(), 0, content.len() as u64, &mut Vec::new())
    }

    #[track_caller]
    fn check(content: &str, expected: &Titles) {
        assert_eq!(newest_in(content.as_bytes()), *expected, "{content}");
        assert_eq!(between(content), *expected, "in steps: {content}");
    }

    #[test]
    fn the_last_title_of_each_kind_counts() {
        check("", &titles(None, None));
        check(&ai("one"), &titles(None, Some("one")));
        check(&(ai("one") + &ai("two")), &titles(None, Some("two")));
        check(&(ai("ai") + &custom("one") + &custom("two")), &titles(Some("two"), None));
        check(&(custom("mine") + &ai("ai")), &titles(Some("mine"), Some("ai")));
    }

    #[test]
    fn an_empty_custom_title_takes_the_older_one_back() {
        check(&(custom("old") + &custom("")), &titles(Some(""), None));
        assert_eq!(newest_in((ai("ai") + &custom("")).as_bytes()).best().unwrap().text, "ai");
    }

    #[test]
    fn only_fields_of_the_record_itself_are_titles() {
        check("{\"type\":\"user\",\"input\":{\"customTitle\":\"inside\"}}\n", &titles(None, None));
        check(
            "{\"type\":\"user\",\"text\":\"say \\\"customTitle\\\":\\\"no\\\"\"}\n",
            &titles(None, None),
        );
        check(
            "{\"sessionId\":\"s\",\"customTitle\" : \"spaced\"}\n",
            &titles(Some("spaced"), None),
        );
        check("{\"customTitle\":7}\n", &titles(None, None));
        check("{\"customTitle\":\"torn\n", &titles(None, None));
    }

    #[test]
    fn steps_through_a_large_middle_find_what_one_look_finds() {
        for before in [CHUNK - 40, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            for after in [100, CHUNK - 40, CHUNK, 2 * CHUNK + 7] {
                let content =
                    filler(100) + &ai("ai") + &filler(before) + &custom("mine") + &filler(after);
                assert_eq!(between(&content).best().unwrap().text, "mine", "{before} {after}");
                let content = filler(before) + &ai("old") + &ai("ai") + &filler(after);
                assert_eq!(between(&content), titles(None, Some("ai")), "{before} {after}");
            }
        }
    }

    #[test]
    fn a_title_field_deep_in_a_huge_line_is_none() {
        let huge =
            format!("{{\"a\":\"{}\",\"b\":{{\"customTitle\":\"no\"}}}}\n", "x".repeat(3 * CHUNK));
        assert_eq!(between(&(ai("ai") + &huge)), titles(None, Some("ai")));
    }

    #[test]
    fn the_file_beside_a_transcript_is_read() {
        let dir = TempDir::new().unwrap();
        let transcript = dir.path().join("23e30f82-0000-4000-8000-00000000000a.jsonl");
        let folder = transcript.with_extension("");
        assert_eq!(beside(&transcript, &mut Vec::new()), None);
        fs::create_dir(&folder).unwrap();
        for (content, expected) in [
            (r#"{"customTitle":"my name"}"#, Some("my name")),
            (" {\n \"customTitle\": \"pretty\"\n}\n", Some("pretty")),
            ("", None),
            (r#"{"customTitle":"#, None),
            (r#"{"customTitle":{}}"#, None),
            (r#"["my name"]"#, None),
        ] {
            fs::write(folder.join("custom-title.json"), content).unwrap();
            assert_eq!(beside(&transcript, &mut Vec::new()).as_deref(), expected, "{content}");
        }
    }

    proptest! {
        #[test]
        fn any_mixture_of_lines_gives_the_last_of_each(kinds in prop::collection::vec(0u8..4, 0..20)) {
            let mut content = String::new();
            let mut expected = Titles::default();
            for (number, kind) in kinds.iter().enumerate() {
                let name = format!("title {number}");
                match kind {
                    0 => {
                        content += &custom(&name);
                        expected = Titles { custom: Some(name), ai: None };
                    }
                    1 => {
                        content += &ai(&name);
                        expected.ai = Some(name);
                    }
                    2 => content += &filler(70 + number),
                    _ => content += "\0 torn {\"customTitle\"\n",
                }
            }
            assert_eq!(newest_in(content.as_bytes()), expected);
            assert_eq!(between(&content), expected);
        }
    }
}
