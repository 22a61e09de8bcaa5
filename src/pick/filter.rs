//! Which rows a typed text fits, and how well. Pure.
//!
//! Every word has to fit one of the fields. Fields are compared one by one: letters gathered from a
//! title, a path and an id together would fit nearly everything. An id is known by a whole piece of
//! four or more digits, as everywhere: fewer stand in too many of them.

use std::fmt;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::row::Row;

const FEWEST_DIGITS: usize = 4;

/// A typed text, ready to be compared with many rows.
pub(super) struct Filter {
    words: Vec<Word>,
    matcher: Matcher,
    scratch: Vec<char>,
}

/// One word, as it is looked for in text and in ids.
#[derive(Debug)]
struct Word {
    in_text: Atom,
    in_id: Option<Atom>,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("words", &self.words).finish_non_exhaustive()
    }
}

impl Default for Filter {
    fn default() -> Self {
        let matcher = Matcher::new(Config::DEFAULT.match_paths());
        Self { words: Vec::new(), matcher, scratch: Vec::new() }
    }
}

impl Filter {
    pub(super) fn set(&mut self, text: &str) {
        let pattern = Pattern::parse(text, CaseMatching::Smart, Normalization::Smart);
        let word = |atom: Atom| Word { in_id: in_id(&atom), in_text: atom };
        self.words = pattern.atoms.into_iter().map(word).collect();
    }

    /// How well the row fits: more is better. Everything fits no text at all equally.
    pub(super) fn score(&mut self, row: &Row) -> Option<u32> {
        let mut sum = 0;
        for word in &self.words {
            let texts = row.haystacks.texts.each_ref().map(|text| text.slice(..));
            let texts = texts.map(|text| word.in_text.score(text, &mut self.matcher));
            let id = row.haystacks.id.slice(..);
            let id = word.in_id.as_ref().map(|word| word.score(id, &mut self.matcher));
            let mut scores = texts.into_iter().chain(id);
            sum += match word.in_text.negative {
                true => u32::from(scores.try_fold(0, |_, score| score)?),
                false => u32::from(scores.flatten().max()?),
            };
        }
        Some(sum)
    }

    /// Which characters of a shown text are the ones that were typed, as far as it has them.
    pub(super) fn marks(&mut self, text: &str) -> Vec<u32> {
        let mut marks = Vec::new();
        for word in self.words.iter().filter(|word| !word.in_text.negative) {
            let text = Utf32Str::new(text, &mut self.scratch);
            word.in_text.indices(text, &mut self.matcher, &mut marks);
        }
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

fn in_id(atom: &Atom) -> Option<Atom> {
    let text = atom.needle_text().to_string();
    if text.len() < FEWEST_DIGITS {
        return None;
    }
    if atom.kind != AtomKind::Fuzzy {
        return Some(atom.clone());
    }
    let kind = AtomKind::Substring;
    let mut in_id = Atom::new(&text, CaseMatching::Ignore, Normalization::Never, kind, false);
    in_id.negative = atom.negative;
    Some(in_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pick::samples::{Sample, row};

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let mut filter = Filter::default();
        filter.set(text);
        let sample = Sample {
            id: "23e30f82-0000-4000-8000-000000000001",
            title: "Fix the flaky login test",
            directory: "/srv/web-shop",
            branch: "feature/é",
            ..Sample::default()
        };
        assert_eq!(filter.score(&row(&sample)).is_some(), expected, "{text:?}");
    }

    #[test]
    fn a_row_is_found_by_letters_of_its_title_directory_branch_or_id() {
        for text in
            ["", " ", "login", "ftl", "flaky test", "shop", "feat", "fea/e", "23e3", "3E30F8"]
        {
            check(text, true);
        }
        for text in ["signup", "flaky nothing", "2008", "fixshop", "fl02", "23e", "login 82"] {
            check(text, false);
        }
    }

    #[test]
    fn capital_letters_and_signs_narrow_it_down() {
        for text in ["Fix", "'login", "test$", "^fix", "!signup", "flaky !signup"] {
            check(text, true);
        }
        for text in ["FLAKY", "'logn", "!login", "flaky !shop", "!23e30f82"] {
            check(text, false);
        }
    }

    #[test]
    fn the_letters_that_were_typed_are_marked() {
        let mut filter = Filter::default();
        filter.set("lo te");
        assert_eq!(filter.marks("flaky login test"), [6, 7, 12, 13]);
        assert_eq!(filter.marks("日本 login"), [3, 4]);
        assert_eq!(filter.marks(""), [] as [u32; 0]);
    }
}
