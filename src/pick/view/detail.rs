//! What is known of the chosen session: first what the list knows, then what had to be read.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{View, name, put};
use crate::clock::rounded;
use crate::ls::table::icon;
use crate::pick::model::Model;
use crate::pick::preview::{Line, Tone};
use crate::pick::row::Row;
use crate::pick::wrap::wrap;
use crate::screen::{cut, cut_start, width};
use crate::session::Moment;

/// A title is shown in at most so many lines.
const TITLE_LINES: usize = 3;

impl View {
    pub(super) fn detail(&self, model: &Model, now: Moment, buffer: &mut Buffer) {
        let area = model.layout.preview.intersection(buffer.area);
        let Some(row) = model.selected().filter(|_| !area.is_empty()) else { return };
        let facts = self.facts(row, now, usize::from(area.width));
        let mut y = area.y;
        for (text, style) in &facts {
            put(buffer, line(area, y), 0, text, *style);
            y = y.saturating_add(1);
        }
        let body = below(area, facts.len());
        if model.preview.key.as_ref() != Some(&row.key) {
            return;
        }
        let lines = model.preview.wrapped(usize::from(area.width));
        let visible = lines.iter().skip(model.preview_top);
        for (y, Line { tone, text, marks }) in (body.y..body.bottom()).zip(visible) {
            let (area, style) = (line(body, y), self.tone(*tone));
            put(buffer, area, 0, text, style);
            for mark in marks {
                let column = width(&text[..mark.start]);
                put(buffer, area, column, &text[mark.clone()], self.palette.found());
            }
        }
    }

    /// The lines that need no reading: title, state, and where it is.
    fn facts(&self, row: &Row, now: Moment, columns: usize) -> Vec<(String, Style)> {
        let faint = self.palette.faint();
        let bold = self.palette.bold();
        let title = wrap(name(row), columns);
        let mut facts: Vec<(String, Style)> =
            title.into_iter().take(TITLE_LINES).map(|line| (line.to_owned(), bold)).collect();
        let age = row.since.map(|since| format!(", {}", rounded(now.seconds_since(since))));
        let note = row.note(now).map(|note| format!(", {note}")).unwrap_or_default();
        let state = format!("{} {}{}{note}", icon(row.state), row.reason, age.unwrap_or_default());
        let style = self.palette.state(row.state);
        facts.extend(wrap(&state, columns).into_iter().map(|line| (line.to_owned(), style)));
        let branch =
            if row.branch.is_empty() { String::new() } else { format!(" ({})", row.branch) };
        let room = columns.saturating_sub(width(&branch));
        let directory = format!("{}{branch}", cut_start(&row.directory, room));
        let place = match row.pane.as_str() {
            "" => row.key.id.as_str().to_owned(),
            pane => format!("{pane}  {}", row.key.id.as_str()),
        };
        for text in [directory, place] {
            facts.push((cut(&text, columns), faint));
        }
        facts.push((String::new(), faint));
        facts
    }

    fn tone(&self, tone: Tone) -> Style {
        match tone {
            Tone::Heading => self.palette.heading(),
            Tone::Plain => Style::new(),
            Tone::Bold => self.palette.bold(),
            Tone::Faint => self.palette.faint(),
            Tone::Added => self.palette.added(),
            Tone::Removed => self.palette.removed(),
        }
    }
}

impl Model {
    /// How many lines of the preview there is room for below what stands above it.
    pub(in crate::pick) fn scroll_preview(&mut self, lines: usize) {
        let area = self.layout.preview;
        let all = self.preview.wrapped(usize::from(area.width)).len();
        let last = all.saturating_sub(usize::from(area.height / 2).max(1));
        self.preview_top = (self.preview_top + lines).min(last);
    }
}

fn line(area: Rect, y: u16) -> Rect {
    Rect { y, height: u16::from(y < area.bottom()), ..area }
}

fn below(area: Rect, lines: usize) -> Rect {
    let taken = u16::try_from(lines).unwrap_or(u16::MAX).min(area.height);
    Rect { y: area.y + taken, height: area.height - taken, ..area }
}
