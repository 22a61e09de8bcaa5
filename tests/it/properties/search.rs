//! Any bytes can be searched, what comes out is safe to show, and a text is found however it is
//! written exactly where it holds the word.

use std::io::Write;

use cld::search::{Case, Query, hits_in};
use cld::text::is_unsafe;
use tempfile::NamedTempFile;

/// The first line is what is looked for, the rest is where.
pub(crate) fn holds(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (word, rest) = (&data[..at], data.get(at + 1..).unwrap_or_default());
    let Ok(word) = std::str::from_utf8(word) else { return };
    let Ok(query) = Query::words(&[word], Case::Smart) else { return };
    check_any_bytes(rest, &query);
    let text = format!("said: {}", String::from_utf8_lossy(rest));
    if let Some(expected) = contains(&text, word) {
        for content in [serde_json::to_string(&text).expect("text is JSON"), escaped(&text)] {
            let line =
                format!(r#"{{"message":{{"role":"user","content":{content}}},"type":"user"}}"#);
            assert_eq!(is_found(line.as_bytes(), &query), expected, "{word:?} in {line}");
        }
    }
    // Any text is a pattern or is refused.
    if let Ok(pattern) = Query::regexes(&[word], Case::Smart) {
        check_any_bytes(rest, &pattern);
    }
}

fn file(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary directory");
    file.write_all(content).expect("the file is writable");
    file
}

fn is_found(content: &[u8], query: &Query) -> bool {
    !hits_in(file(content).path(), query).expect("the file is there").is_empty()
}

fn check_any_bytes(content: &[u8], query: &Query) {
    for hit in hits_in(file(content).path(), query).expect("the file is there") {
        let text = &hit.context.text;
        assert!(!text.chars().any(is_unsafe), "{text:?}");
        assert!(hit.offset < content.len() as u64);
        let mut end = 0;
        for mark in &hit.context.marks {
            assert!(end <= mark.start && !text[mark.clone()].is_empty(), "{hit:?}");
            end = mark.end;
        }
    }
}

/// All that can be escaped is, but for letters, digits and the plainest signs.
fn escaped(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || " -_.,:;!?()[]{}@#$%^*|~".contains(character) {
            json.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            json.push_str(&format!("\\u{unit:04X}"));
        }
    }
    json + "\""
}

/// Whether a text holds a word, in any case where the word has no upper case. None for letters
/// that are more than one in another case.
fn contains(text: &str, word: &str) -> Option<bool> {
    if word.chars().any(char::is_uppercase) {
        return Some(text.contains(word));
    }
    if word.chars().any(|c| c.to_uppercase().count() > 1 || c.to_lowercase().count() > 1) {
        return None;
    }
    let (text, word): (Vec<char>, Vec<char>) = (text.chars().collect(), word.chars().collect());
    let begins = |part: &[char]| part.iter().zip(&word).all(|(one, other)| is_same(*one, *other));
    Some(text.windows(word.len()).any(begins))
}

fn is_same(one: char, other: char) -> bool {
    let fold = |c: char| -> String {
        let upper: String = c.to_lowercase().flat_map(char::to_uppercase).collect();
        upper.to_lowercase()
    };
    match (one.is_ascii(), other.is_ascii()) {
        (true, true) => one.eq_ignore_ascii_case(&other),
        (false, false) => one == other || fold(one) == fold(other),
        _ => false,
    }
}
