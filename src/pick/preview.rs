//! What stands beside the list about the chosen session, as far as it had to be read. Pure.

use std::ops::Range;

use super::row::Key;
use super::wrap::places;
use crate::context::{Context, Mark};
use crate::search::{Hit, Who};
use crate::text::is_unsafe;
use crate::transcript::LastExchange;

/// More lines than this nobody scrolls through.
const MOST_LINES: usize = 400;
const TAB: &str = "    ";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Preview {
    /// Whose it is; nothing before the first one has been read.
    pub(super) key: Option<Key>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) tone: Tone,
    pub(super) text: String,
    /// What was searched for, as it stands in the text.
    pub(super) marks: Vec<Range<usize>>,
}

/// How a line is to be painted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Heading,
    Bold,
    Faint,
    Added,
    Removed,
}

impl Preview {
    pub(super) fn of(key: Key) -> Self {
        Self { key: Some(key), lines: Vec::new() }
    }

    /// The places where something that was searched for was said.
    pub(super) fn of_hits(key: Key, hits: &[Hit]) -> Self {
        let mut preview = Self::of(key);
        for hit in hits {
            let tool = hit.tool.as_deref().map(harmless_lines).and_then(|mut tool| tool.pop());
            let who = match hit.who {
                Who::Title => "title".to_owned(),
                Who::User => "you".to_owned(),
                Who::Claude => "claude".to_owned(),
                Who::ToolInput => tool.unwrap_or_else(|| "tool".to_owned()),
                Who::ToolResult => "tool output".to_owned(),
            };
            preview.push(Line { tone: Tone::Heading, text: who, marks: Vec::new() });
            // Wider than any line can be, so that it is only marked where it was cut.
            let context = hit.context.fit(usize::MAX / 2);
            preview.push(Line { tone: Tone::Plain, text: context.text, marks: context.marks });
            preview.push(Line::default());
        }
        preview
    }

    /// A part with a heading; nothing where it would be empty.
    pub(super) fn add(&mut self, heading: &str, text: &str) {
        let lines = harmless_lines(text);
        if lines.is_empty() {
            return;
        }
        self.push(Line { tone: Tone::Heading, text: heading.to_owned(), marks: Vec::new() });
        for text in lines {
            self.push(Line { text, ..Line::default() });
        }
        self.push(Line::default());
    }

    /// What a session asks.
    pub(super) fn add_context(&mut self, heading: &str, context: &Context) {
        if context.lines.is_empty() {
            return;
        }
        self.push(Line { tone: Tone::Heading, text: heading.to_owned(), marks: Vec::new() });
        for line in &context.lines {
            let tone = match line.mark {
                Mark::Plain | Mark::Choice => Tone::Plain,
                Mark::Headline => Tone::Bold,
                Mark::Added => Tone::Added,
                Mark::Removed => Tone::Removed,
                Mark::Aside => Tone::Faint,
            };
            self.push(Line { tone, text: line.text.clone(), marks: Vec::new() });
        }
        self.push(Line::default());
    }

    pub(super) fn add_exchange(&mut self, exchange: &LastExchange) {
        let said = [("you", &exchange.prompt), ("claude", &exchange.reply)];
        let mut said: Vec<(&str, &Option<String>)> = said.into();
        if !exchange.is_answered {
            said.reverse();
        }
        for (who, words) in said {
            self.add(who, words.as_deref().unwrap_or_default());
        }
    }

    /// Its lines broken to fit.
    pub(super) fn wrapped(&self, columns: usize) -> Vec<Line> {
        self.lines.iter().flat_map(|line| line.wrapped(columns)).collect()
    }

    fn push(&mut self, line: Line) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(line);
        }
    }
}

impl Line {
    fn wrapped(&self, columns: usize) -> impl Iterator<Item = Self> {
        places(&self.text, columns).into_iter().map(|place| {
            let marks = self.marks.iter().filter_map(|mark| {
                let (start, end) = (mark.start.max(place.start), mark.end.min(place.end));
                (start < end).then(|| start - place.start..end - place.start)
            });
            Self {
                tone: self.tone,
                marks: marks.collect(),
                text: self.text[place.clone()].to_owned(),
            }
        })
    }
}

/// Foreign text as lines without anything that acts on a terminal, and without empty lines at the
/// ends.
pub(super) fn harmless_lines(text: &str) -> Vec<String> {
    let clean = |line: &str| {
        let line = line.replace('\t', TAB);
        line.chars().filter(|c| !is_unsafe(*c)).collect::<String>().trim_end().to_owned()
    };
    let mut lines: Vec<String> = text.lines().take(MOST_LINES).map(clean).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let empty = lines.iter().take_while(|line| line.is_empty()).count();
    lines.drain(..empty);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_keep_their_shape_and_lose_what_acts_on_a_terminal() {
        let text = "\n\nif x {\n\tgo\u{1b}[31m()\r\n\u{202e}}\n\n";
        assert_eq!(harmless_lines(text), ["if x {", "    go[31m()", "}"]);
        assert!(harmless_lines(" \n\t\n").is_empty());
    }

    #[test]
    fn a_prompt_without_an_answer_comes_last() {
        let exchange = LastExchange {
            prompt: Some("and now?".to_owned()),
            reply: Some("Done.".to_owned()),
            is_answered: false,
        };
        let mut preview = Preview::default();
        preview.add_exchange(&exchange);
        let lines: Vec<String> = preview.wrapped(80).into_iter().map(|line| line.text).collect();
        assert_eq!(lines, ["claude", "Done.", "", "you", "and now?", ""]);
    }

    proptest! {
        #[test]
        fn nothing_that_acts_on_a_terminal_is_left(text in any::<String>()) {
            prop_assert!(!harmless_lines(&text).concat().chars().any(is_unsafe));
        }
    }
}
