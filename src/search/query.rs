//! What is looked for: words that must all occur, as they may stand in a transcript.
//!
//! A transcript is JSON, so a word may stand there with escapes. Each term has two sides: an anchor,
//! which is a part of it in every form it can have in the file and is cheap to look for, and a
//! pattern, which decides on the decoded text.

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::finder::Finder;

/// Terms are counted in the bits of a number.
pub(super) const MOST_TERMS: usize = 64;
const LONGEST_TERM: usize = 1000;
/// A run of plain characters that is at least this long is a good anchor by itself.
const GOOD_RUN: usize = 3;
const LONGEST_WINDOW: usize = 4;
const MOST_FORMS: usize = 12;
const REGEX_CACHE: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Upper case matters where the query has some.
    Smart,
    Ignore,
    Exact,
}

#[derive(Debug, Clone)]
pub struct Query {
    pub(super) terms: Vec<Term>,
}

#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) pattern: Regex,
    /// One of these stands in every line that holds the term. None: nothing is known, so every line
    /// has to be looked at.
    pub(super) anchors: Option<Vec<Finder>>,
}

impl Query {
    /// Each text is looked for as it is, so one with blanks is a phrase.
    pub fn words<T: AsRef<str>>(words: &[T], case: Case) -> Result<Self, String> {
        let ignores = ignores_case(case, words.iter().any(|word| has_upper(word.as_ref())));
        Self::of(words, |word| literal(word, ignores))
    }

    /// Each text is a regular expression; `^` and `$` are the ends of a line.
    pub fn regexes<T: AsRef<str>>(patterns: &[T], case: Case) -> Result<Self, String> {
        let has_upper =
            patterns.iter().any(|pattern| has_upper(&without_escapes(pattern.as_ref())));
        let ignores = ignores_case(case, has_upper);
        Self::of(patterns, |pattern| regex(pattern, ignores))
    }

    /// What a person types into one line: words, and phrases in double quotes. A quote that is not
    /// closed reaches to the end, so that every step of typing means something.
    pub fn typed(text: &str) -> Result<Self, String> {
        let mut words = Vec::new();
        for (at, piece) in text.split('"').enumerate() {
            match at % 2 {
                0 => words.extend(piece.split_whitespace().map(str::to_owned)),
                _ if !piece.is_empty() => words.push(piece.to_owned()),
                _ => {}
            }
        }
        Self::words(&words, Case::Smart)
    }

    fn of<T: AsRef<str>>(
        texts: &[T],
        term: impl Fn(&str) -> Result<Term, String>,
    ) -> Result<Self, String> {
        if texts.len() > MOST_TERMS {
            return Err(format!("{} words are too many: at most {MOST_TERMS}", texts.len()));
        }
        if texts.is_empty() || texts.iter().any(|text| text.as_ref().is_empty()) {
            return Err("nothing to search for: give one word or more".to_owned());
        }
        if texts.iter().any(|text| text.as_ref().len() > LONGEST_TERM) {
            return Err(format!("a word is too long: at most {LONGEST_TERM} bytes"));
        }
        let terms = texts.iter().map(|text| term(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// The bits of all terms.
    pub(super) fn all(&self) -> u64 {
        u64::MAX >> (MOST_TERMS - self.terms.len())
    }

    /// The term that occurs least, as far as can be told from its length, as a query of its own.
    pub(super) fn rarest(&self) -> Self {
        let length = |term: &&Term| term.anchors.as_ref()?.iter().map(Finder::length).min();
        Self { terms: self.terms.iter().max_by_key(length).into_iter().cloned().collect() }
    }

    pub(super) fn longest_anchor(&self) -> usize {
        let anchors = self.terms.iter().filter_map(|term| term.anchors.as_ref()).flatten();
        anchors.map(Finder::length).max().unwrap_or(1)
    }
}

fn ignores_case(case: Case, has_upper: bool) -> bool {
    match case {
        Case::Smart => !has_upper,
        Case::Ignore => true,
        Case::Exact => false,
    }
}

fn has_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase)
}

/// A regular expression without `\S`, `\W` and the like, whose upper case is not that of a letter.
fn without_escapes(pattern: &str) -> String {
    let mut rest = pattern.chars();
    let mut plain = String::new();
    while let Some(character) = rest.next() {
        match character {
            '\\' => drop(rest.next()),
            _ => plain.push(character),
        }
    }
    plain
}

fn literal(word: &str, ignores_case: bool) -> Result<Term, String> {
    let mut pattern = String::new();
    for character in word.chars() {
        match cases(character, ignores_case).as_slice() {
            [one] => pattern.push_str(&regex::escape(&one.to_string())),
            several => {
                let class: String = several.iter().collect();
                pattern.push_str(&format!("[{class}]"));
            }
        }
    }
    let pattern = compile(&pattern, false)?;
    let characters: Vec<char> = word.chars().collect();
    Ok(Term { pattern, anchors: Some(anchors(&characters, ignores_case)) })
}

fn regex(text: &str, ignores_case: bool) -> Result<Term, String> {
    let pattern = compile(text, ignores_case)?;
    // Read as if case mattered, so that letters stay letters; the anchors see to the case.
    let read = regex_syntax::ParserBuilder::new().multi_line(true).build().parse(text);
    let required = read.ok().and_then(|hir| required(&hir));
    let anchors = required.map(|texts| {
        let of_text = |text: &String| {
            let characters: Vec<char> = text.chars().collect();
            anchors(&characters, ignores_case)
        };
        texts.iter().flat_map(of_text).collect()
    });
    Ok(Term { pattern, anchors })
}

fn compile(pattern: &str, ignores_case: bool) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(ignores_case).multi_line(true).dfa_size_limit(REGEX_CACHE);
    let pattern = builder.build().map_err(|error| error.to_string())?;
    if pattern.is_match("") {
        return Err("this pattern matches everything, even no text at all".to_owned());
    }
    Ok(pattern)
}

/// Texts of which one stands in whatever matches, each long enough to be worth looking for.
fn required(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = str::from_utf8(&literal.0).ok()?;
            (text.chars().count() >= 2).then(|| vec![text.to_owned()])
        }
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Concat(parts) => {
            let shortest = |texts: &Vec<String>| texts.iter().map(String::len).min();
            let fewer = |texts: &Vec<String>| std::cmp::Reverse(texts.len());
            let candidates = parts.iter().filter_map(required);
            candidates.max_by_key(|texts| (shortest(texts), fewer(texts)))
        }
        HirKind::Alternation(branches) => {
            let all: Option<Vec<_>> = branches.iter().map(required).collect();
            all.map(|texts| texts.concat()).filter(|texts| texts.len() <= MOST_FORMS)
        }
        _ => None,
    }
}

/// The part of a text to look for, in every form it can have in a file.
fn anchors(characters: &[char], ignores_case: bool) -> Vec<Finder> {
    let finder = |form: &Vec<u8>| {
        // The digits of an escape may be in any case too.
        if ignores_case || form.contains(&b'\\') {
            Finder::folded(form)
        } else {
            Finder::exact(form)
        }
    };
    let run = longest_run(characters);
    if run.len() >= GOOD_RUN.min(characters.len()) {
        let run: String = run.iter().collect();
        return vec![finder(&run.into_bytes())];
    }
    let window =
        |start: usize, length: usize| forms(&characters[start..start + length], ignores_case);
    let lengths = 1..=characters.len().min(LONGEST_WINDOW);
    let windows = lengths.flat_map(|length| {
        (0..=characters.len() - length).filter_map(move |start| window(start, length))
    });
    let worth = |forms: &Vec<Vec<u8>>| {
        let shortest = forms.iter().map(Vec::len).min().unwrap_or(0);
        (4 * shortest.min(8)).cast_signed() - forms.len().cast_signed()
    };
    let best = windows.max_by_key(worth).unwrap_or_default();
    best.iter().map(finder).collect()
}

fn longest_run(characters: &[char]) -> &[char] {
    let runs = characters.split(|character| !is_always_plain(*character));
    runs.max_by_key(|run| run.len()).unwrap_or_default()
}

/// Whether no writer of JSON escapes this character: some escape quotes, slashes and the signs of
/// HTML, many what is not ASCII, none letters and digits.
fn is_always_plain(character: char) -> bool {
    (character.is_ascii_graphic() || character == ' ') && !"\"\\/<>&'+=`".contains(character)
}

/// A short text in all the forms it can have in a file; None where there are too many.
fn forms(characters: &[char], ignores_case: bool) -> Option<Vec<Vec<u8>>> {
    let mut all = vec![Vec::new()];
    for character in characters {
        let own = forms_of(*character, ignores_case);
        if all.len() * own.len() > MOST_FORMS {
            return None;
        }
        all =
            all.iter().flat_map(|start| own.iter().map(|form| [&**start, form].concat())).collect();
    }
    Some(all)
}

/// ASCII letters in one case only: the finder sees to their other one.
fn forms_of(character: char, ignores_case: bool) -> Vec<Vec<u8>> {
    if is_always_plain(character) {
        return vec![vec![u8::try_from(character).unwrap_or(b' ')]];
    }
    let mut forms = Vec::new();
    for one in cases(character, ignores_case) {
        let must_be_escaped =
            one.is_ascii_control() && one != '\u{7f}' || one == '"' || one == '\\';
        if !must_be_escaped {
            forms.push(one.to_string().into_bytes());
        }
        let short = match one {
            '"' | '\\' | '/' => Some(one),
            '\n' => Some('n'),
            '\t' => Some('t'),
            '\r' => Some('r'),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            _ => None,
        };
        forms.extend(short.map(|letter| format!("\\{letter}").into_bytes()));
        let mut units = [0; 2];
        let escape: String =
            one.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
        forms.push(escape.into_bytes());
    }
    forms
}

/// A character and its other cases. ASCII letters have none outside of ASCII: nobody who looks for
/// `k` means the sign for Kelvin.
fn cases(character: char, ignores_case: bool) -> Vec<char> {
    let mut all = vec![character];
    if !ignores_case {
        return all;
    }
    if character.is_ascii() {
        let other = if character.is_ascii_lowercase() {
            character.to_ascii_uppercase()
        } else {
            character.to_ascii_lowercase()
        };
        if other != character {
            all.push(other);
        }
        return all;
    }
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    class.case_fold_simple();
    let equivalent = class.iter().flat_map(|range| range.start()..=range.end());
    all.extend(equivalent.filter(|other| !other.is_ascii() && *other != character));
    all
}

#[cfg(test)]
mod tests;
