//! The line around a match, safe to show. Pure.

use std::ops::Range;

use crate::screen::width;
use crate::text::is_unsafe;

/// How much of a long line is kept before and after the match, in bytes.
const BEFORE: usize = 160;
const AFTER: usize = 400;

/// One line of text, with nothing in it that would act on a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub text: String,
    /// Where the matches stand in `text`, in order.
    pub marks: Vec<Range<usize>>,
    /// Whether the line begins before `text`, and goes on after it.
    pub is_cut: (bool, bool),
}

impl Context {
    /// The line that holds `focus`, with all of the given matches that stand in it. Matches are in
    /// order and do not overlap.
    pub(super) fn around(text: &str, focus: &Range<usize>, matches: &[Range<usize>]) -> Self {
        let line_start = text[..focus.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[focus.end..].find('\n').map_or(text.len(), |at| focus.end + at);
        let start = text.ceil_char_boundary(line_start.max(focus.start.saturating_sub(BEFORE)));
        let end = text.floor_char_boundary(line_end.min(focus.end.saturating_add(AFTER)));
        let start = start.min(focus.start);
        // A match can be longer than a line should be.
        let end = end.min(text.floor_char_boundary(start + BEFORE + AFTER)).max(start);
        let mut clean = clean(&text[start..end], start, matches);
        clean.is_cut = (start > line_start, end < line_end);
        clean
    }

    /// At most this many columns, cut so that the first match is seen. Cuts are marked.
    pub fn fit(&self, columns: usize) -> Self {
        let lead = if self.is_cut.0 { "…" } else { "" };
        let trail = if self.is_cut.1 { "…" } else { "" };
        if width(lead) + width(&self.text) + width(trail) <= columns {
            return self.cut(0, self.text.len());
        }
        let first = self.marks.first().cloned().unwrap_or(0..0);
        let room = columns.saturating_sub(2);
        let third = room / 3;
        let before = &self.text[..first.start];
        let marked = width(&self.text[first.clone()]);
        let after = width(&self.text[first.end..]);
        // What the end of the line does not need goes to its beginning.
        let to_spare = room.saturating_sub(marked).saturating_sub(after);
        let start = last_columns(before, third.max(to_spare).min(room.saturating_sub(marked)));
        let end = start + first_columns(&self.text[start..], room);
        self.cut(start, end)
    }

    fn cut(&self, start: usize, end: usize) -> Self {
        let is_cut = (self.is_cut.0 || start > 0, self.is_cut.1 || end < self.text.len());
        let mut text = if is_cut.0 { "…".to_owned() } else { String::new() };
        let shift = text.len();
        text.push_str(&self.text[start..end]);
        if is_cut.1 {
            text.push('…');
        }
        let marks = self.marks.iter().filter(|mark| mark.start < end && mark.end > start);
        let moved = |mark: &Range<usize>| {
            mark.start.max(start) - start + shift..mark.end.min(end) - start + shift
        };
        let marks = marks.map(moved).collect();
        Self { text, marks, is_cut }
    }
}

/// Folds blanks into one space and drops what is harmful; the matches move along.
fn clean(raw: &str, offset: usize, matches: &[Range<usize>]) -> Context {
    let mut context = Context::default();
    let mut has_blank = false;
    let mut rest = matches.iter().peekable();
    let mut open: Option<usize> = None;
    let mut colour = Colour::None;
    for (at, character) in raw.char_indices() {
        let at = at + offset;
        if let Some(begun) = open
            && rest.peek().is_some_and(|found| found.end <= at)
        {
            close(&mut context, begun);
            open = None;
            rest.next();
        }
        while rest.peek().is_some_and(|found| found.end <= at) {
            rest.next();
        }
        colour = colour.after(character);
        if colour != Colour::None {
            continue;
        }
        if character.is_whitespace() || character.is_control() {
            has_blank = true;
            continue;
        }
        if is_unsafe(character) {
            continue;
        }
        if has_blank && !context.text.is_empty() {
            context.text.push(' ');
        }
        has_blank = false;
        if open.is_none() && rest.peek().is_some_and(|found| found.start <= at) {
            open = Some(context.text.len());
        }
        context.text.push(character);
    }
    if let Some(begun) = open {
        close(&mut context, begun);
    }
    context
}

/// Whether a character is part of an escape sequence, as programs write them to colour their output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    None,
    Escape,
    Inside,
    Last,
}

impl Colour {
    fn after(self, character: char) -> Self {
        match (self, character) {
            (_, '\u{1b}') => Self::Escape,
            (Self::Escape, '[') | (Self::Inside, '0'..='9' | ';' | ':' | '?') => Self::Inside,
            (Self::Inside, '@'..='~') => Self::Last,
            _ => Self::None,
        }
    }
}

fn close(context: &mut Context, begun: usize) {
    context.marks.push(begun..context.text.len());
}

/// Where the last `columns` columns of a text begin.
fn last_columns(text: &str, columns: usize) -> usize {
    let starts = text.char_indices().rev().map(|(at, _)| at);
    starts.take_while(|start| width(&text[*start..]) <= columns).last().unwrap_or(text.len())
}

/// Where the first `columns` columns of a text end.
fn first_columns(text: &str, columns: usize) -> usize {
    let ends = text.char_indices().map(|(at, character)| at + character.len_utf8());
    ends.take_while(|end| width(&text[..*end]) <= columns).last().unwrap_or(0)
}

#[cfg(test)]
mod tests;
