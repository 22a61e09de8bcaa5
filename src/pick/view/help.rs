//! The keys, over everything else.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, BorderType, Widget};

use super::{View, clear, put};
use crate::screen::width;

const ROWS: [(&str, &str); 15] = [
    ("type", "filter by title, directory, branch or id"),
    ("Enter, double click", "to its pane, or back into a past session"),
    ("s, Alt+s", "snooze: not before 20 minutes have passed"),
    ("x, Alt+x", "skip: not before it waits for something new"),
    ("f, Alt+f", "fork: go on in a copy, asks first"),
    ("y, Alt+y", "copy the id"),
    ("/", "search all that was said in any session"),
    ("Up, Down, Ctrl+P/N/K/J", "choose"),
    ("PgUp, PgDn, Home, End", "choose from afar"),
    ("Shift+Up, Shift+Down", "scroll the preview"),
    ("Ctrl+W, Ctrl+U", "delete a word, everything"),
    ("?, F1", "this help"),
    ("Esc, Ctrl+C", "leave"),
    ("", ""),
    ("", "Letters are commands until you type; begin with a blank to filter by any letter."),
];

impl View {
    pub(super) fn help(&self, buffer: &mut Buffer) {
        let keys = ROWS.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
        let mut lines: Vec<(&str, &str)> = Vec::new();
        let columns = usize::from(buffer.area.width).saturating_sub(keys + 8).clamp(10, 48);
        for (keys, does) in ROWS {
            let mut keys = keys;
            for line in crate::pick::wrap::wrap(does, columns) {
                lines.push((std::mem::take(&mut keys), line));
            }
        }
        let wide = u16::try_from(keys + columns + 6).unwrap_or(u16::MAX);
        let high = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let area = centred(buffer.area, wide, high);
        clear(area, buffer);
        let frame = Block::bordered().border_type(BorderType::Rounded).title(" cld pick ");
        let inside = frame.inner(area);
        frame.render(area, buffer);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        for (y, (key, does)) in (inside.y..inside.bottom()).zip(&lines) {
            let line = Rect { y, height: 1, ..inside };
            put(buffer, line, 1, key, bold);
            put(buffer, line, keys + 3, does, Style::new());
        }
    }
}

fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    Rect { x: area.x + x, y: area.y + y, width, height }
}
