//! Single JSON values that may be absent or of another kind than expected.
//!
//! Claude Code's files are undocumented and change with every version. A field is first kept as the
//! raw slice it is, and read here when it is wanted, so that one field of a new shape never costs
//! the whole record.

use serde::Deserializer;
use serde::de::{Error, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

pub(crate) fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw?.get();
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) => Some(Cow::Owned(text)),
        Err(_) => with_lone_surrogates(raw).map(Cow::Owned),
    }
}

/// A text that must not be touched, such as a path, which may begin or end with a space.
pub(crate) fn exact(raw: Option<&RawValue>) -> Option<String> {
    text(raw).map(Cow::into_owned).filter(|text| !text.is_empty())
}

/// A text that says something: white space around it is dropped, and nothing else than white space
/// is no text.
pub(crate) fn words(raw: Option<&RawValue>) -> Option<String> {
    text(raw).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(crate) fn flag(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

pub(crate) fn number(raw: Option<&RawValue>) -> Option<u64> {
    raw?.get().parse().ok()
}

/// JavaScript cuts strings between the halves of an emoji and writes the half that is left as an
/// escape, which is no Unicode text. The rest of such a string is still worth having.
fn with_lone_surrogates(raw: &str) -> Option<String> {
    let mut deserializer = serde_json::Deserializer::from_str(raw);
    deserializer.deserialize_bytes(LossyText).ok()
}

struct LossyText;

impl Visitor<'_> for LossyText {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<String, E> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{exact, flag, number, text, words};
    use serde_json::value::RawValue;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[track_caller]
    fn check_text(json: &str, expected: Option<&str>) {
        assert_eq!(text(Some(&raw(json))).as_deref(), expected, "{json}");
    }

    #[test]
    fn text_is_read_from_strings_and_nothing_else() {
        check_text(r#""plain""#, Some("plain"));
        check_text(r#""""#, Some(""));
        check_text(
            r#""a \"quoted\" line\nand \u00e9 \ud83d\ude42""#,
            Some("a \"quoted\" line\nand é 🙂"),
        );
        check_text("null", None);
        check_text("7", None);
        check_text(r#"{"a":"b"}"#, None);
        check_text(r#"["a"]"#, None);
        assert_eq!(text(None), None);
    }

    #[test]
    fn a_string_cut_inside_an_emoji_keeps_the_rest() {
        let cut = raw(r#""half \ud83d""#);
        assert!(text(Some(&cut)).unwrap().starts_with("half "));
    }

    #[test]
    fn words_need_more_than_white_space() {
        assert_eq!(words(Some(&raw(r#""  two words\n""#))).as_deref(), Some("two words"));
        assert_eq!(words(Some(&raw(r#"" \n\t""#))), None);
    }

    #[test]
    fn exact_text_keeps_its_spaces() {
        assert_eq!(exact(Some(&raw(r#""/a dir ""#))).as_deref(), Some("/a dir "));
        assert_eq!(exact(Some(&raw(r#""""#))), None);
    }

    #[test]
    fn flags_and_numbers_ignore_other_kinds() {
        assert!(flag(Some(&raw("true"))));
        assert!(!flag(Some(&raw("false"))));
        assert!(!flag(Some(&raw(r#""true""#))));
        assert!(!flag(None));
        assert_eq!(number(Some(&raw("42"))), Some(42));
        assert_eq!(number(Some(&raw("-1"))), None);
        assert_eq!(number(Some(&raw(r#""42""#))), None);
    }
}
