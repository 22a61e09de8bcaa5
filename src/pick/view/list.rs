//! The list: one line for each session, as many columns of it as there is room for.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{View, name, put};
use crate::clock::rounded;
use crate::ls::table::icon;
use crate::pick::model::{Line, Mode, Model, Search};
use crate::pick::row::{Group, Row};
use crate::screen::{cut, cut_start, width};
use crate::session::Moment;

/// From these widths of the list on there is a column for each.
const WITH_DIRECTORY: usize = 30;
const WITH_KIND: usize = 56;
const WITH_ID: usize = 84;
const KIND: usize = "snoozed 20m".len();
const AGE: usize = 4;

/// The columns that a list of some width has. All but the title have a fixed place.
struct Columns {
    kind: bool,
    id: bool,
    /// Zero where there is no room for it.
    directory: usize,
}

impl Columns {
    fn of(columns: usize) -> Self {
        let directory = match columns {
            ..WITH_DIRECTORY => 0,
            WITH_DIRECTORY..WITH_KIND => columns / 4,
            _ => columns * 3 / 10,
        };
        Self { kind: columns >= WITH_KIND, id: columns >= WITH_ID, directory }
    }
}

impl View {
    pub(super) fn list(&mut self, model: &Model, now: Moment, buffer: &mut Buffer) {
        let list = model.layout.list.intersection(buffer.area);
        let mut lines = model.lines().peekable();
        if lines.peek().is_none() {
            put(buffer, list, 1, nothing(model), self.palette.faint());
        }
        for (y, line) in (list.y..list.bottom()).zip(lines) {
            let area = Rect { y, height: 1, ..list };
            match line {
                Line::Heading(group, count) => self.heading(group, count, area, buffer),
                Line::Row { row, is_selected } => self.row(row, is_selected, now, area, buffer),
            }
        }
    }

    fn heading(&self, group: Group, count: usize, area: Rect, buffer: &mut Buffer) {
        let text = format!("{} {count}", group.word());
        put(buffer, area, 0, &text, self.palette.group(group));
    }

    fn row(&mut self, row: &Row, selected: bool, now: Moment, area: Rect, buffer: &mut Buffer) {
        let room = usize::from(area.width);
        let columns = Columns::of(room);
        let faint = self.palette.faint();
        let state = self.palette.state(row.state);
        let mut at = 1;
        put(buffer, area, at, icon(row.state), state);
        at += width(icon(row.state)) + 1;
        let age = row.since.map(|since| rounded(now.seconds_since(since))).unwrap_or_default();
        put(buffer, area, at + AGE.saturating_sub(width(&age)), &age, faint);
        at += AGE + 1;
        if columns.id {
            put(buffer, area, at, row.key.id.short(), faint);
            at += 9;
        }
        if columns.kind {
            let (kind, style) = match (row.note(now), row.kind) {
                (Some(note), _) => (note, faint),
                (None, "") => (row.state.word().to_owned(), faint),
                (None, kind) => (kind.to_owned(), state),
            };
            put(buffer, area, at, &cut(&kind, KIND), style);
            at += KIND + 1;
        }
        let directory = directory(row, columns.directory);
        let title_room = room.saturating_sub(at + 1);
        let title_room = match width(&directory) {
            0 => title_room,
            taken => title_room.saturating_sub(taken + 1),
        };
        let is_over = row.group == Group::Past;
        let style = if is_over { faint } else { Style::new() };
        self.marked(buffer, area, at, &cut(name(row), title_room), style);
        if !directory.is_empty() {
            let at = room.saturating_sub(width(&directory) + 1);
            self.marked(buffer, area, at, &directory, faint);
        }
        if selected {
            buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Text in which the characters that were typed stand out.
    fn marked(&mut self, buffer: &mut Buffer, area: Rect, at: usize, text: &str, style: Style) {
        put(buffer, area, at, text, style);
        let mark = self.palette.mark();
        for index in self.filter.marks(text) {
            let mut before = text.char_indices().skip(index as usize).map(|(at, _)| at);
            let (Some(start), end) = (before.next(), before.next()) else { continue };
            let column = at + width(&text[..start]);
            let end = end.unwrap_or(text.len());
            put(buffer, area, column, &text[start..end], style.patch(mark));
        }
    }
}

/// Why the list is empty.
fn nothing(model: &Model) -> &'static str {
    match model.mode {
        Mode::Filter if model.is_reading => "",
        Mode::Filter if model.text.is_empty() => "no sessions",
        Mode::Filter => "nothing fits; / searches all that was said",
        Mode::Search(_) if model.text.trim().is_empty() => "type words that were said",
        Mode::Search(Search::Running(_)) => "",
        Mode::Search(Search::Done) => "nothing found",
    }
}

/// The whole path where it fits, else its last part, and that from its end.
fn directory(row: &Row, columns: usize) -> String {
    if width(&row.directory) <= columns {
        return row.directory.clone();
    }
    let last = row.directory.rsplit('/').next().unwrap_or_default();
    cut_start(last, columns)
}
