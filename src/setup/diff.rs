//! Two texts as a unified difference, for a person to read.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, DiffOp, DiffTag};

use crate::screen::Screen;
use crate::text::is_unsafe;

/// Lines around a change that stay as they are.
const CONTEXT: usize = 3;

/// The difference between two texts, with colours for a terminal that has some. What would act on
/// the terminal is written as an escape.
pub(super) fn unified(old: &str, new: &str, screen: Screen) -> String {
    let (old, new) = (lines(old), lines(new));
    let changes = similar::capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut text = String::new();
    for hunk in similar::group_diff_ops(changes, CONTEXT) {
        let heading = format!(
            "@@ -{} +{} @@",
            span(&hunk, DiffOp::old_range),
            span(&hunk, DiffOp::new_range)
        );
        push(&mut text, &heading, "36", screen);
        for change in hunk.iter().flat_map(|change| change.iter_changes(&old, &new)) {
            let (sign, colour) = match change.tag() {
                ChangeTag::Equal => (' ', ""),
                ChangeTag::Delete => ('-', "31"),
                ChangeTag::Insert => ('+', "32"),
            };
            push(&mut text, &format!("{sign}{}", shown(change.value())), colour, screen);
            if !change.value().ends_with('\n') {
                push(&mut text, "\\ No newline at end of file", "", screen);
            }
        }
    }
    text
}

/// How many lines come and go, as `+3 -1`.
pub(super) fn counted(old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let changes = similar::capture_diff_slices(Algorithm::Myers, &old, &new);
    let changes = changes.iter().filter(|change| change.tag() != DiffTag::Equal);
    let (added, removed) = changes.fold((0, 0), |(added, removed), change| {
        (added + change.new_range().len(), removed + change.old_range().len())
    });
    match (added, removed) {
        (added, 0) => format!("+{added}"),
        (0, removed) => format!("-{removed}"),
        (added, removed) => format!("+{added} -{removed}"),
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// First line and number of lines, as `diff -u` counts them.
fn span(hunk: &[DiffOp], range: impl Fn(&DiffOp) -> Range<usize>) -> String {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return String::new() };
    let (start, end) = (range(first).start, range(last).end);
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

fn shown(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut shown = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            '\t' => shown.push('\t'),
            character if is_unsafe(character) => shown.extend(character.escape_default()),
            character => shown.push(character),
        }
    }
    shown
}

fn push(text: &mut String, line: &str, colour: &str, screen: Screen) {
    text.push_str(&screen.painted(line, colour));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Screen = Screen { width: None, has_colours: false };
    const COLOURED: Screen = Screen { width: None, has_colours: true };

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        let old: String = (1..=12).map(|number| format!("{number}\n")).collect();
        let new = old.replace("6\n", "six\nand a half\n");
        assert_eq!(
            unified(&old, &new, PLAIN),
            "@@ -3,7 +3,8 @@\n 3\n 4\n 5\n-6\n+six\n+and a half\n 7\n 8\n 9\n"
        );
        assert_eq!(unified(&old, &old, PLAIN), "");
    }

    #[test]
    fn files_that_come_and_go_have_one_side() {
        assert_eq!(unified("", "a\nb\n", PLAIN), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("a\n", "", PLAIN), "@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn a_missing_line_break_at_the_end_is_told() {
        assert_eq!(
            unified("a", "a\n", PLAIN),
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
    }

    #[test]
    fn nothing_in_a_file_acts_on_the_terminal() {
        let shown = unified("", "\t\u{1b}[2J\u{202e}x\r\n", COLOURED);
        assert!(shown.contains("+\t\\u{1b}[2J\\u{202e}x\u{1b}[0m\n"), "{shown:?}");
    }

    #[test]
    fn colours_are_only_used_where_they_are_wanted() {
        assert!(
            unified("a\n", "b\n", COLOURED)
                .contains("\u{1b}[31m-a\u{1b}[0m\n\u{1b}[32m+b\u{1b}[0m\n")
        );
        assert!(!unified("a\n", "b\n", PLAIN).contains('\u{1b}'));
    }
}
