//! JSON with positions: where everything of a settings file begins and ends.
//!
//! Comments and trailing commas are understood, because people write them. Claude Code itself does
//! not, see [`Document::strict`].

use std::fmt;

/// Deeper nesting than any settings file has, and shallow enough for the stack.
const DEEPEST: usize = 500;

#[derive(Debug)]
pub(super) struct Document {
    /// Nothing for a file that holds nothing but blanks.
    pub(super) root: Option<Value>,
    pub(super) comments: Vec<Comment>,
    /// Without comments and trailing commas. Claude Code ignores a file that has some.
    pub(super) strict: bool,
}

#[derive(Debug)]
pub(super) struct Comment {
    pub(super) start: usize,
    pub(super) end: usize,
    /// `// ...`, which goes on until the line ends.
    pub(super) to_end_of_line: bool,
}

#[derive(Debug)]
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    Object(Vec<Item>),
    Array(Vec<Item>),
    Text(String),
    Number,
    True,
    False,
    Null,
}

/// A member of an object, or an element of an array, which has no key.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) key: Option<Key>,
    pub(super) value: Value,
    /// Where the comma after it stands.
    pub(super) comma: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: String,
}

/// Why a file is left as it is, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub line: usize,
    pub column: usize,
    pub problem: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(in crate::setup) fn at(text: &str, position: usize, problem: impl Into<String>) -> Self {
        let before = &text[..position];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().filter(|c| *c != '\u{feff}').count() + 1,
            problem: problem.into(),
        }
    }
}

impl Value {
    pub(super) fn members(&self) -> &[Item] {
        match &self.shape {
            Shape::Object(members) => members,
            _ => &[],
        }
    }

    pub(super) fn elements(&self) -> &[Item] {
        match &self.shape {
            Shape::Array(elements) => elements,
            _ => &[],
        }
    }

    pub(super) fn items(&self) -> &[Item] {
        match &self.shape {
            Shape::Object(items) | Shape::Array(items) => items,
            _ => &[],
        }
    }

    /// The member of that name that counts: of several, the last.
    pub(super) fn member(&self, name: &str) -> Option<&Value> {
        self.members().iter().rfind(|member| member.name() == name).map(|member| &member.value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.shape {
            Shape::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self.shape {
            Shape::Object(_) => "an object",
            Shape::Array(_) => "an array",
            Shape::Text(_) => "a string",
            Shape::Number => "a number",
            Shape::True | Shape::False => "a boolean",
            Shape::Null => "null",
        }
    }
}

impl Item {
    pub(super) fn start(&self) -> usize {
        self.key.as_ref().map_or(self.value.start, |key| key.start)
    }

    pub(super) fn name(&self) -> &str {
        self.key.as_ref().map_or("", |key| &key.name)
    }
}

pub(super) fn scan(text: &str) -> Result<Document, Refusal> {
    let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut scanner = Scanner { text, at, depth: 0, comments: Vec::new(), strict: true };
    scanner.skip_blanks()?;
    let blank = scanner.peek().is_none() && scanner.comments.is_empty();
    let root = if blank { None } else { Some(scanner.value()?) };
    scanner.skip_blanks()?;
    if scanner.peek().is_some() {
        return Err(scanner.refuse("expected the end of the file"));
    }
    let strict = scanner.strict && scanner.comments.is_empty();
    Ok(Document { root, comments: scanner.comments, strict })
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    comments: Vec<Comment>,
    strict: bool,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn refuse(&self, problem: &str) -> Refusal {
        if self.at >= self.text.len() {
            return Refusal::at(
                self.text,
                self.text.len(),
                format!("{problem}, the file ends here"),
            );
        }
        Refusal::at(self.text, self.at, problem)
    }

    fn skip_blanks(&mut self) -> Result<(), Refusal> {
        loop {
            let rest = self.rest();
            let start = self.at;
            if rest.starts_with([' ', '\t', '\r', '\n']) {
                self.at += 1;
                continue;
            }
            if rest.starts_with("//") {
                self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return Err(self.refuse("this comment has no end"));
                };
                self.at += length + 4;
            } else {
                return Ok(());
            }
            let to_end_of_line = self.text[start..].starts_with("//");
            self.comments.push(Comment { start, end: self.at, to_end_of_line });
        }
    }

    fn value(&mut self) -> Result<Value, Refusal> {
        let start = self.at;
        let shape = match self.peek() {
            Some(b'{') => Shape::Object(self.items(b'}')?),
            Some(b'[') => Shape::Array(self.items(b']')?),
            Some(b'"') => Shape::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Value { start, end: self.at, shape })
    }

    fn items(&mut self, close: u8) -> Result<Vec<Item>, Refusal> {
        if self.depth == DEEPEST {
            return Err(self.refuse("nested too deeply"));
        }
        self.depth += 1;
        self.at += 1;
        let mut items: Vec<Item> = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.peek() == Some(close) {
                self.strict &= items.last().is_none_or(|last| last.comma.is_none());
                self.at += 1;
                self.depth -= 1;
                return Ok(items);
            }
            if items.last().is_some_and(|last| last.comma.is_none()) {
                let problem = format!("expected `,` or `{}`", char::from(close));
                return Err(self.refuse(&problem));
            }
            let key = if close == b'}' { Some(self.key()?) } else { None };
            let value = self.value()?;
            self.skip_blanks()?;
            let comma = (self.peek() == Some(b',')).then_some(self.at);
            self.at += usize::from(comma.is_some());
            items.push(Item { key, value, comma });
        }
    }

    fn key(&mut self) -> Result<Key, Refusal> {
        if self.peek() != Some(b'"') {
            return Err(self.refuse("expected a key in double quotes or `}`"));
        }
        let start = self.at;
        let name = self.string()?;
        let end = self.at;
        self.skip_blanks()?;
        if self.peek() != Some(b':') {
            return Err(self.refuse("expected `:` after the key"));
        }
        self.at += 1;
        self.skip_blanks()?;
        Ok(Key { start, end, name })
    }

    fn string(&mut self) -> Result<String, Refusal> {
        let opening = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(['"', '\\', '\n', '\r']).unwrap_or(rest.len());
            let piece = &rest[..plain];
            if let Some(control) = piece.find(|c: char| c < ' ') {
                self.at += control;
                return Err(self.refuse("a control character in a string has to be escaped"));
            }
            text.push_str(piece);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(Refusal::at(self.text, opening, "this string has no end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        let escaped = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.refuse("unknown escape in a string")),
        };
        self.at += 2;
        Ok(escaped)
    }

    /// Half of a surrogate pair stands for no character; JavaScript accepts it nevertheless.
    fn unicode_escape(&mut self) -> Result<char, Refusal> {
        let first =
            self.hex(self.at).ok_or_else(|| self.refuse("expected `\\u` and four digits"))?;
        let second = self.hex(self.at + 6).filter(|unit| (0xdc00..0xe000).contains(unit));
        let pair = match second {
            Some(second) if (0xd800..0xdc00).contains(&first) => {
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            }
            _ => None,
        };
        self.at += if pair.is_some() { 12 } else { 6 };
        Ok(pair.or_else(|| char::from_u32(first)).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&self, at: usize) -> Option<u32> {
        let escape = self.text.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
        let digits = escape.iter().all(u8::is_ascii_hexdigit).then_some(escape)?;
        u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    }

    fn number(&mut self) -> Result<Shape, Refusal> {
        let end = |c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c));
        let number = self.rest().split(end).next().unwrap_or_default();
        if !is_number(number) {
            return Err(self.refuse("this is not a number"));
        }
        self.at += number.len();
        Ok(Shape::Number)
    }

    fn word(&mut self) -> Result<Shape, Refusal> {
        let word = self.rest().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let shape = match word {
            "true" => Shape::True,
            "false" => Shape::False,
            "null" => Shape::Null,
            _ => return Err(self.refuse("expected a value")),
        };
        self.at += word.len();
        Ok(shape)
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
        }
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && digits(fraction)
        && digits(exponent)
        && (whole == "0" || !whole.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn refused(text: &str, line: usize, column: usize, problem: &str) {
        let refusal = scan(text).map(|_| ()).unwrap_err();
        assert_eq!((refusal.line, refusal.column), (line, column), "{text:?}: {refusal}");
        assert!(refusal.problem.contains(problem), "{text:?}: {refusal}");
    }

    #[test]
    fn a_file_that_does_not_parse_is_refused_with_its_place() {
        refused("{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, "expected `,` or `}`");
        refused("{\"a\" 1}", 1, 6, "expected `:`");
        refused("{a: 1}", 1, 2, "key in double quotes");
        refused("{\"a\": 'b'}", 1, 7, "expected a value");
        refused("{\"é\": x}", 1, 7, "expected a value");
        refused("\u{feff}{x}", 1, 2, "key in double quotes");
        refused("{\"a\": 1", 1, 8, "the file ends here");
        refused("{\r\n\"a\": \"b\r\n}", 2, 6, "no end");
        refused("{\"a\": \"b\t\"}", 1, 9, "control character");
        refused("{\n\"a\": \"b\n}", 2, 6, "no end");
        refused("{\"a\": \"\\x\"}", 1, 8, "unknown escape");
        refused("{\"a\": \"\\u12g4\"}", 1, 8, "four digits");
        refused("{} {}", 1, 4, "the end of the file");
        refused("{ /*/", 1, 3, "no end");
        refused("[1,,2]", 1, 4, "expected a value");
        refused("[,]", 1, 2, "expected a value");
        refused("// only this\n", 2, 1, "expected a value");
        refused("[truetrue]", 1, 2, "expected a value");
        refused(&"[".repeat(100_000), 1, DEEPEST + 1, "too deeply");
    }

    #[test]
    fn numbers_are_those_of_json() {
        for number in ["0", "-0", "10", "1.50", "1e5", "1E+5", "-1.5e-7", "123456789012345678901"] {
            assert!(is_number(number), "{number}");
        }
        for number in ["", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x10", "1-1"] {
            assert!(!is_number(number), "{number}");
        }
    }

    #[test]
    fn strings_are_decoded() {
        let document = scan(r#"["a\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\ud800x"]"#).unwrap();
        let root = document.root.unwrap();
        let text = root.elements()[0].value.text().unwrap();
        assert_eq!(text, "a\"\\/\u{8}\u{c}\n\r\tA\u{1f600}\u{fffd}x");
    }

    #[test]
    fn only_plain_json_is_strict() {
        for (text, strict) in [
            ("{\"a\":[1,2]}", true),
            ("\u{feff}{}\r\n", true),
            ("{\"a\":\"// no comment\"}", true),
            ("{\"a\":[1,2,]}", false),
            ("{\"a\":1,}", false),
            ("{}// c", false),
            ("{/* c */}", false),
        ] {
            assert_eq!(scan(text).unwrap().strict, strict, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = scan(&text);
        }

        #[test]
        fn nothing_that_json_parsers_take_is_refused(text in r#"[\[\]{}",:0-9a-u\\ \n/*.-]{0,12}"#) {
            if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
                prop_assert!(scan(&text).unwrap().strict);
            } else if let Ok(document) = scan(&text) {
                prop_assert!(!document.strict || document.root.is_none());
            }
        }
    }
}
