//! The model as a frame. Pure.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Clear, Widget};

use super::filter::Filter;
use super::model::{Mode, Model, Overlay, Search};
use super::palette::Palette;
use super::row::Row;
use crate::screen::{cut, cut_start, width};
use crate::session::Moment;

mod detail;
mod help;
mod list;

const KEYS: &str =
    "Enter go · s snooze · x skip · f fork · y copy id · / search · ? help · Esc leave";
const KEYS_WITH_TEXT: &str =
    "Enter go · / search · Alt+s snooze · Alt+x skip · Alt+f fork · Alt+y copy id · Esc leave";
const KEYS_OF_SEARCH: &str =
    "Enter go · Esc back · Alt+f fork · Alt+y copy id · \"a phrase\" in quotes";

/// Draws models one after the other.
#[derive(Debug)]
pub(super) struct View {
    pub(super) palette: Palette,
    filter: Filter,
}

impl View {
    pub(super) fn new(palette: Palette) -> Self {
        Self { palette, filter: Filter::default() }
    }

    /// Fills the buffer; where the cursor belongs is returned.
    pub(super) fn draw(
        &mut self,
        model: &Model,
        now: Moment,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        self.filter.set(if model.mode == Mode::Filter { &model.text } else { "" });
        let cursor = self.prompt(model, buffer);
        self.list(model, now, buffer);
        self.divider(model, buffer);
        self.detail(model, now, buffer);
        self.footer(model, buffer);
        if model.overlay == Overlay::Help {
            self.help(buffer);
            return None;
        }
        cursor
    }

    fn prompt(&self, model: &Model, buffer: &mut Buffer) -> Option<Position> {
        let area = model.layout.prompt;
        let (shown, all) = model.count();
        let more = if model.is_reading { "…" } else { "" };
        let (sign, count) = match model.mode {
            Mode::Filter => ("> ", format!("{shown}/{all}{more}")),
            Mode::Search(Search::Running(percent)) => ("/ ", format!("{shown} found, {percent}%")),
            Mode::Search(Search::Done) => ("/ ", format!("{shown} found")),
        };
        let columns = usize::from(area.width);
        let room = columns.saturating_sub(2);
        let text = cut_start(&model.text, room.saturating_sub(1));
        put(buffer, area, 0, sign, self.palette.heading());
        put(buffer, area, 2, &text, Style::new());
        if 2 + width(&text) + 2 + width(&count) <= columns {
            put(buffer, area, columns - width(&count), &count, self.palette.faint());
        }
        let x = area.x + u16::try_from(2 + width(&text)).unwrap_or(u16::MAX);
        (x < area.right() && area.height > 0).then_some(Position { x, y: area.y })
    }

    fn divider(&self, model: &Model, buffer: &mut Buffer) {
        let area = model.layout.divider;
        let line = if area.width == 1 { "│" } else { "─" };
        for position in area.intersection(buffer.area).positions() {
            buffer[position].set_symbol(line).set_style(self.palette.faint());
        }
    }

    fn footer(&self, model: &Model, buffer: &mut Buffer) {
        let area = model.layout.footer;
        let columns = usize::from(area.width);
        let said = match &model.overlay {
            Overlay::Fork { key, .. } => {
                let title = model.row_of(key).map_or("", |row| &row.title);
                let title = cut(title, columns.saturating_sub(44).max(8));
                Some(format!("Go on in a copy of {title:?}? Enter yes, Esc no"))
            }
            _ if !model.message.is_empty() => Some(model.message.clone()),
            _ => None,
        };
        if let Some(said) = said {
            let style = Style::new().add_modifier(Modifier::BOLD);
            put(buffer, area, 0, &cut(&said, columns), style);
            return;
        }
        let keys = match model.mode {
            Mode::Filter if model.text.is_empty() => KEYS,
            Mode::Filter => KEYS_WITH_TEXT,
            Mode::Search(_) => KEYS_OF_SEARCH,
        };
        put(buffer, area, 0, &whole_words(keys, columns), self.palette.faint());
    }
}

/// As many of the keys as there is room for.
fn whole_words(keys: &str, columns: usize) -> String {
    let mut shown = String::new();
    for key in keys.split(" · ") {
        let gap = if shown.is_empty() { "" } else { " · " };
        if width(&shown) + width(gap) + width(key) > columns {
            break;
        }
        shown.push_str(gap);
        shown.push_str(key);
    }
    shown
}

/// Writes into the first line of an area, and never beyond it.
fn put(buffer: &mut Buffer, area: Rect, column: usize, text: &str, style: Style) {
    let area = area.intersection(buffer.area);
    let Some(room) = usize::from(area.width).checked_sub(column) else { return };
    if area.height > 0 && room > 0 {
        let column = u16::try_from(column).unwrap_or(u16::MAX);
        buffer.set_stringn(area.x + column, area.y, text, room, style);
    }
}

/// The first words of a row that tell it from others.
fn name(row: &Row) -> &str {
    &row.title
}

fn clear(area: Rect, buffer: &mut Buffer) {
    Clear.render(area.intersection(buffer.area), buffer);
}
