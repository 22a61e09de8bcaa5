//! Lines of a preview. Pure.

use crate::text::is_unsafe;

/// Longer lines are cut: nobody reads them in a preview.
const LONGEST_LINE: usize = 400;
const TAB: &str = "    ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub mark: Mark,
    pub text: String,
}

/// What a line is, for whoever gives it a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Plain,
    /// What it is all about.
    Headline,
    /// One of the answers that can be chosen.
    Choice,
    Added,
    Removed,
    /// Says something about the lines, and is none of them.
    Aside,
}

impl Line {
    pub(super) fn new(mark: Mark, text: &str) -> Self {
        Self { mark, text: harmless(text) }
    }
}

/// The first lines of a text, and how many more there are.
pub(super) fn lines(text: &str, most: usize) -> Vec<Line> {
    at_most(marked(text, Mark::Plain), most)
}

pub(super) fn marked(text: &str, mark: Mark) -> Vec<Line> {
    text.trim_end().lines().map(|line| Line::new(mark, line)).collect()
}

/// The last lines of a text, and how many were left out before them.
pub(super) fn last_lines(text: &str, most: usize) -> Vec<Line> {
    let all: Vec<&str> = text.trim_end().lines().collect();
    let left_out = all.len().saturating_sub(most);
    let kept = all[left_out..].iter().map(|line| Line::new(Mark::Plain, line));
    let kept = kept.skip_while(|line| line.text.is_empty());
    more(left_out).into_iter().chain(kept).collect()
}

/// Cuts a list that grew beyond `most`, and says so.
pub(super) fn at_most(mut lines: Vec<Line>, most: usize) -> Vec<Line> {
    let left_out = lines.len().saturating_sub(most);
    lines.truncate(most);
    lines.extend(more(left_out));
    lines
}

fn more(count: usize) -> Option<Line> {
    let noun = if count == 1 { "line" } else { "lines" };
    (count > 0).then(|| Line { mark: Mark::Aside, text: format!("… {count} more {noun}") })
}

/// The line with its blanks, but without anything that acts on a terminal.
fn harmless(line: &str) -> String {
    let mut text = String::new();
    for character in line.trim_end().chars() {
        match character {
            '\t' => text.push_str(TAB),
            character if is_unsafe(character) => {}
            character => text.push(character),
        }
        if text.len() > LONGEST_LINE {
            text.push('…');
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn what_is_cut_is_counted() {
        assert_eq!(texts(&lines("a\n\tb\nc\nd\n", 2)), ["a", "    b", "… 2 more lines"]);
        assert_eq!(texts(&last_lines("a\n\nb\nc\n\n", 3)), ["… 1 more line", "b", "c"]);
        assert_eq!(texts(&lines("a\nb", 2)), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn lines_are_harmless_and_bounded(text in any::<String>()) {
            for line in lines(&text, 5).iter().chain(&last_lines(&text, 5)) {
                prop_assert!(!line.text.chars().any(is_unsafe));
                prop_assert!(line.text.len() <= LONGEST_LINE + 8);
            }
        }
    }
}
