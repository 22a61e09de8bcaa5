//! Breaking text into lines that fit a number of columns. Pure.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::screen::width;

/// The lines of one line of text: broken at blanks where that is possible, anywhere else where a
/// word is wider than the room there is. The blanks at its beginning stay, so code keeps its shape.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<&str> {
    places(text, columns).into_iter().map(|place| &text[place]).collect()
}

/// Where in the text each of its lines stands.
pub(super) fn places(text: &str, columns: usize) -> Vec<Range<usize>> {
    if columns == 0 {
        return Vec::new();
    }
    let mut ends = Vec::new();
    let (mut start, mut at) = (0, 0);
    for word in text.split_inclusive(' ') {
        let has_words = !text[start..at].trim().is_empty();
        if has_words && !fits(&text[start..at + word.len()], columns) {
            ends.push(at);
            start = at;
        }
        for piece in pieces(word, columns) {
            if at > start && !fits(&text[start..at + piece.len()], columns) {
                ends.push(at);
                start = at;
            }
            at += piece.len();
        }
    }
    ends.push(text.len());
    let starts = std::iter::once(0).chain(ends.clone());
    let lines =
        starts.zip(ends).map(|(start, end)| start..start + text[start..end].trim_end().len());
    lines.collect()
}

/// Blanks at the end of a line are not shown.
fn fits(line: &str, columns: usize) -> bool {
    width(line.trim_end_matches(' ')) <= columns
}

/// A word in pieces of at most that many columns.
fn pieces(word: &str, columns: usize) -> Vec<&str> {
    if width(word) <= columns {
        return vec![word];
    }
    let (mut pieces, mut start, mut taken) = (Vec::new(), 0, 0);
    for (at, character) in word.char_indices() {
        let wide = character.width().unwrap_or(0);
        if taken + wide > columns && at > start {
            pieces.push(&word[start..at]);
            (start, taken) = (at, 0);
        }
        taken += wide;
    }
    pieces.push(&word[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        assert_eq!(wrap(text, columns), expected);
    }

    #[test]
    fn lines_are_broken_at_blanks() {
        check("fix the flaky login test", 10, &["fix the", "flaky", "login test"]);
        check("fits", 10, &["fits"]);
        check("", 10, &[""]);
        check("a b", 0, &[]);
    }

    #[test]
    fn words_that_are_too_wide_are_broken_anywhere() {
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("a 日本語のテスト b", 6, &["a", "日本語", "のテス", "ト b"]);
    }

    #[test]
    fn code_keeps_its_shape() {
        check("    let x = 1;", 20, &["    let x = 1;"]);
    }

    proptest! {
        #[test]
        fn every_line_fits_and_no_letter_is_lost(text in "[a-z日本🎉 ]{0,60}", columns in 2_usize..30) {
            let lines = wrap(&text, columns);
            for line in &lines {
                prop_assert!(width(line) <= columns, "{line:?} in {columns}");
            }
            let letters = |text: &str| text.replace(' ', "");
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
