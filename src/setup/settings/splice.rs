//! Putting an item into a container of a text and taking it out again, such that taking out what
//! was put in gives the same bytes.

use std::ops::Range;

use super::scan::{Document, Item, Value};

/// Replacements in a text, none overlapping another.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(super) fn replace(&mut self, range: Range<usize>, with: impl Into<String>) {
        self.0.push((range, with.into()));
    }

    fn insert(&mut self, at: usize, piece: impl Into<String>) {
        self.replace(at..at, piece);
    }

    fn delete(&mut self, range: Range<usize>) {
        self.replace(range, "");
    }

    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut edited = String::with_capacity(text.len());
        let mut done = 0;
        for (range, with) in self.0 {
            edited.push_str(&text[done..range.start]);
            edited.push_str(&with);
            done = range.end;
        }
        edited.push_str(&text[done..]);
        edited
    }
}

/// How the file is written, so that what is added looks like the rest.
#[derive(Debug)]
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
    /// Members of the outermost object have lines of their own.
    pub(super) in_lines: bool,
    /// What stands between a key and its value.
    pub(super) colon: String,
}

/// What a container held before its only item was put in.
enum Before {
    /// There was no container.
    Created,
    Was(String),
}

impl Style {
    pub(super) fn of(text: &str, root: Option<&Value>) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let mut style =
            Self { newline, unit: "  ".to_owned(), in_lines: true, colon: ": ".to_owned() };
        let Some(first) = root.and_then(|root| root.members().first()) else { return style };
        match last_line(blanks_before(text, first.start())) {
            Some(indentation) => style.unit = indentation.to_owned(),
            None => style.in_lines = false,
        }
        if let Some(key) = &first.key {
            let between = &text[key.end..first.value.start];
            if between.trim_matches([' ', '\t']) == ":" {
                style.colon = between.to_owned();
            }
        }
        style
    }

    /// What stands between two items on one line, beside the comma.
    pub(super) fn inline_gap(&self) -> &'static str {
        if self.colon.ends_with([' ', '\t']) { " " } else { "" }
    }
}

/// The blanks that will stand before an item added to the container.
pub(super) fn gap(text: &str, container: &Value, style: &Style) -> String {
    let Some(last) = container.items().last() else {
        let line = text[..container.start].rsplit('\n').next().unwrap_or_default();
        let base = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        return match style.in_lines {
            true => format!("{}{base}{}", style.newline, style.unit),
            false => String::new(),
        };
    };
    match last_line(blanks_before(text, last.start())) {
        Some(indentation) => format!("{}{indentation}", style.newline),
        None => style.inline_gap().to_owned(),
    }
}

/// Adds an item behind the last one and the comments that follow it.
pub(super) fn insert(
    text: &str,
    document: &Document,
    container: &Value,
    gap: &str,
    item: &str,
    style: &Style,
) -> Edits {
    let close = container.end - 1;
    let last = container.items().last();
    let inside = last
        .map_or(container.start + 1, |last| last.comma.map_or(last.value.end, |comma| comma + 1));
    let comment =
        document.comments.iter().rfind(|comment| inside <= comment.start && comment.end <= close);
    let at = comment.map_or(inside, |comment| comment.end);
    let mut gap = gap.to_owned();
    if comment.is_some_and(|comment| comment.to_end_of_line) && !gap.contains('\n') {
        gap.insert_str(0, style.newline);
    }

    let mut edits = Edits::default();
    match last {
        Some(Item { comma: Some(_), .. }) => edits.insert(at, format!("{gap}{item},")),
        Some(Item { comma: None, value, .. }) => {
            edits.insert(value.end, ",");
            edits.insert(at, format!("{gap}{item}"));
        }
        None if comment.is_some() => edits.insert(at, format!("{gap}{item}")),
        None => {
            let tail = tail_for(&gap, &text[at..close], &style.unit);
            edits.replace(at..close, format!("{gap}{item}{tail}"));
        }
    }
    edits
}

/// Takes an item out, with its comma and the blanks before it.
pub(super) fn remove(text: &str, document: &Document, container: &Value, index: usize) -> Edits {
    let items = container.items();
    let item = &items[index];
    let before = blanks_before(text, item.start());
    let end = item.comma.map_or(item.value.end, |comma| comma + 1);
    let mut edits = Edits::default();
    if let (1, Some(Before::Was(blanks))) = (items.len(), only_item(text, container)) {
        edits.replace(end..container.end - 1, blanks);
    }
    // Blanks at the end of a comment are its own.
    let comment = document.comments.iter().rfind(|comment| comment.end <= item.start());
    let mut start = (item.start() - before.len()).max(comment.map_or(0, |comment| comment.end));
    let ends_a_comment = |comment: &super::scan::Comment| {
        comment.to_end_of_line && comment.end == start && !text[end..].starts_with(['\n', '\r'])
    };
    if document.comments.iter().any(ends_a_comment) {
        // The line break has to stay, or the comment would swallow what follows.
        start = item.start();
    }
    edits.delete(start..item.value.end);
    match (item.comma, index.checked_sub(1).and_then(|previous| items[previous].comma)) {
        (Some(comma), _) | (None, Some(comma)) => edits.delete(comma..comma + 1),
        (None, None) => {}
    }
    edits
}

/// True when the container was written together with its only item, by [`created_tail`].
pub(super) fn was_created(text: &str, container: &Value) -> bool {
    matches!(only_item(text, container), Some(Before::Created))
}

/// The blanks between the only item of a container that is created with it, and its end.
pub(super) fn created_tail<'a>(gap: &'a str, unit: &str) -> &'a str {
    if gap.contains('\n') { &gap[..gap.len() - unit.len()] } else { "" }
}

/// Three pasts have to be told apart by the blanks behind the only item, and without a visible
/// mark: a container that did not exist, an empty one, and one that held blanks. The first gets the
/// blanks of a tidy file, the second one more line break, and blanks that could be mistaken for
/// one of these get two more. On a single line, spaces do the same.
fn tail_for(gap: &str, held: &str, unit: &str) -> String {
    let Some(indentation) = last_line(gap) else {
        let spaces = held.bytes().all(|byte| byte == b' ');
        return if spaces { format!("{held} ") } else { held.to_owned() };
    };
    let newline = &gap[..gap.len() - indentation.len()];
    match held {
        "" => format!("{newline}{}", created_tail(gap, unit)),
        _ if n_newlines(held, newline, indentation).is_some() => {
            format!("{newline}{newline}{held}")
        }
        _ => held.to_owned(),
    }
}

/// The reverse of [`tail_for`]; nothing where comments stand before the item, which no container
/// of ours has and whose blanks were left alone.
fn only_item(text: &str, container: &Value) -> Option<Before> {
    let [item] = container.items() else { return None };
    let gap = blanks_before(text, item.start());
    if item.start() - gap.len() != container.start + 1 {
        return None;
    }
    let tail = &text[item.comma.map_or(item.value.end, |comma| comma + 1)..container.end - 1];
    let Some(indentation) = last_line(gap) else {
        return Some(match tail.strip_suffix(' ') {
            None if tail.is_empty() => Before::Created,
            Some(held) if held.bytes().all(|byte| byte == b' ') => Before::Was(held.to_owned()),
            _ => Before::Was(tail.to_owned()),
        });
    };
    let newline = if gap.ends_with(&format!("\r\n{indentation}")) { "\r\n" } else { "\n" };
    Some(match n_newlines(tail, newline, indentation) {
        Some(1) => Before::Created,
        Some(2) => Before::Was(String::new()),
        Some(_) => Before::Was(tail[2 * newline.len()..].to_owned()),
        None => Before::Was(tail.to_owned()),
    })
}

/// The number of line breaks, if the text is nothing but some, and less indentation than inside.
fn n_newlines(text: &str, newline: &str, indentation: &str) -> Option<usize> {
    let rest = text.trim_start_matches(newline);
    let count = (text.len() - rest.len()) / newline.len();
    (count > 0 && indentation.starts_with(rest)).then_some(count)
}

pub(super) fn blanks_before(text: &str, position: usize) -> &str {
    let before = &text[..position];
    &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..]
}

/// What follows the last line break, if there is one.
fn last_line(text: &str) -> Option<&str> {
    text.rfind('\n').map(|newline| &text[newline + 1..])
}
