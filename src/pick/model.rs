//! What the picker knows and shows: the rows, which of them fit, and which one is chosen. Pure.

use std::collections::{HashMap, HashSet};

use ratatui::layout::Rect;

use super::filter::Filter;
use super::layout::Layout;
use super::preview::Preview;
use super::row::{Group, Key, Row};
use crate::search::Hit;
use crate::session::SessionId;

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) mode: Mode,
    pub(super) text: String,
    pub(super) overlay: Overlay,
    /// What has just been done, or why it was not.
    pub(super) message: String,
    pub(super) preview: Preview,
    /// How many lines of the preview are above its first visible one.
    pub(super) preview_top: usize,
    /// Whether past sessions are still being read.
    pub(super) is_reading: bool,
    pub(super) layout: Layout,
    pub(super) last_click: Option<(u64, usize)>,
    live: Vec<Row>,
    /// The newest first.
    past: Vec<Row>,
    /// The sessions in which something was found, in the order in which they were found.
    found: Vec<Row>,
    hits: HashMap<SessionId, Vec<Hit>>,
    filter: Filter,
    /// Positions in `live`, `past` and `found` one after the other, group by group.
    shown: Vec<usize>,
    /// How many there are, each session of the past that is open again counted once.
    all: usize,
    groups: Vec<Section>,
    cursor: usize,
    selected: Option<Key>,
    /// Whether the sessions in panes have been told once.
    has_live: bool,
    /// Whether the person has done anything yet.
    is_touched: bool,
    /// The first visible line of the list.
    top: usize,
}

/// What the text is for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Filter,
    Search(Search),
}

/// How far a search has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// In percent.
    Running(u8),
    Done,
}

/// What lies over the list.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum Overlay {
    #[default]
    None,
    Help,
    /// Whether this session is to be forked. `typed` is the letter that asked for it, which may
    /// have been meant as the first one of a filter.
    Fork {
        key: Key,
        typed: Option<char>,
    },
}

/// The rows of one group among those that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Section {
    group: Group,
    start: usize,
    length: usize,
}

/// One line of the list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Line<'a> {
    Heading(Group, usize),
    Row { row: &'a Row, is_selected: bool },
}

impl Model {
    pub(super) fn new(area: Rect) -> Self {
        Self { layout: Layout::of(area), is_reading: true, ..Self::default() }
    }

    pub(super) fn resize(&mut self, area: Rect) {
        self.layout = Layout::of(area);
        self.scroll();
    }

    /// The sessions that have a pane or a process now, in the order in which they are to be shown.
    pub(super) fn set_live(&mut self, rows: Vec<Row>) {
        self.live = rows;
        self.refresh();
        self.has_live = true;
    }

    /// More sessions of the past, or others in place of ones that are known.
    pub(super) fn add_past(&mut self, rows: Vec<Row>) {
        let new: HashSet<SessionId> = rows.iter().map(|row| row.key.id.clone()).collect();
        self.past.retain(|row| !new.contains(&row.key.id));
        self.past.extend(rows);
        self.past.sort_by_key(|row| std::cmp::Reverse(row.since));
        self.refresh();
    }

    pub(super) fn drop_past(&mut self, gone: &HashSet<SessionId>) {
        self.past.retain(|row| !gone.contains(&row.key.id));
        self.refresh();
    }

    /// One more session in which something was found.
    pub(super) fn add_found(&mut self, row: Row, hits: Vec<Hit>) {
        self.hits.insert(row.key.id.clone(), hits);
        self.found.push(row);
        self.refresh();
    }

    pub(super) fn touch(&mut self) {
        self.is_touched = true;
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.selected = None;
        self.cursor = 0;
        self.forget_found();
    }

    /// Where in the chosen session something was found.
    pub(super) fn hits(&self) -> Option<&[Hit]> {
        if self.mode == Mode::Filter {
            return None;
        }
        self.hits.get(&self.selected()?.key.id).map(Vec::as_slice)
    }

    pub(super) fn selected(&self) -> Option<&Row> {
        self.shown.get(self.cursor).and_then(|at| self.row(*at))
    }

    /// A session that ended is the same one in another place.
    pub(super) fn row_of(&self, key: &Key) -> Option<&Row> {
        let rows = || self.live.iter().chain(&self.past).chain(&self.found);
        rows().find(|row| row.key == *key).or_else(|| rows().find(|row| row.key.id == key.id))
    }

    /// How many fit, and of how many.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.shown.len(), self.all)
    }

    /// The lines of the list that are on the screen.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let end = self.top + usize::from(self.layout.list.height);
        (self.top..end).map_while(|line| self.line(line))
    }

    pub(super) fn set_text(&mut self, text: String) {
        if text != self.text {
            self.text = text;
            self.filter.set(&self.text);
            self.selected = None;
            self.cursor = 0;
            self.forget_found();
        }
    }

    fn forget_found(&mut self) {
        self.found.clear();
        self.hits.clear();
        self.refresh();
    }

    pub(super) fn move_by(&mut self, rows: isize) {
        self.move_to(self.cursor.saturating_add_signed(rows));
    }

    pub(super) fn move_to(&mut self, row: usize) {
        self.cursor = row.min(self.shown.len().saturating_sub(1));
        self.remember();
        self.scroll();
    }

    /// To the next row of the same group, as the chosen one is about to leave it.
    pub(super) fn move_off(&mut self) {
        let section = self.groups.iter().find(|s| s.start + s.length > self.cursor);
        let Some(Section { start, length, .. }) = section.copied() else { return };
        if self.cursor + 1 < start + length {
            self.move_by(1);
        } else if self.cursor > start {
            self.move_by(-1);
        }
    }

    /// The row on a line of the screen, by its position among those that are shown.
    pub(super) fn row_on(&self, line: usize) -> Option<usize> {
        match self.place_of(self.top + line)? {
            (_, Some(at)) => Some(at),
            (_, None) => None,
        }
    }

    pub(super) fn is_at(&self, row: usize) -> bool {
        self.cursor == row
    }

    #[cfg(test)]
    pub(super) fn fits(&self, id: &SessionId) -> bool {
        self.shown.iter().filter_map(|at| self.row(*at)).any(|row| row.key.id == *id)
    }

    fn row(&self, at: usize) -> Option<&Row> {
        self.live
            .get(at)
            .or_else(|| self.past.get(at.checked_sub(self.live.len())?))
            .or_else(|| self.found.get(at.checked_sub(self.live.len() + self.past.len())?))
    }

    fn remember(&mut self) {
        let key = self.selected().map(|row| row.key.clone());
        if key != self.selected {
            self.preview_top = 0;
        }
        self.selected = key;
    }

    /// Finds out again what fits, and stays at the chosen session where it is still there.
    fn refresh(&mut self) {
        match self.mode {
            Mode::Filter => self.find_fitting(),
            Mode::Search(_) => self.show_found(),
        }
        self.groups = self.sections();
        // What comes first is not known before all have come, and nobody has chosen anything yet.
        if !self.is_touched && (self.is_reading || !self.has_live) {
            self.selected = None;
            self.cursor = 0;
        }
        let position = |same: &dyn Fn(&Key) -> bool| {
            self.shown.iter().position(|at| self.row(*at).is_some_and(|row| same(&row.key)))
        };
        let found = self.selected.as_ref().and_then(|selected| {
            // A session that ended is the same one in another place.
            position(&|key| key == selected).or_else(|| position(&|key| key.id == selected.id))
        });
        self.cursor = found.unwrap_or(self.cursor).min(self.shown.len().saturating_sub(1));
        self.remember();
        self.scroll();
    }

    fn find_fitting(&mut self) {
        let live: HashSet<&SessionId> = self.live.iter().map(|row| &row.key.id).collect();
        let is_new =
            |(at, row): &(usize, &Row)| *at < self.live.len() || !live.contains(&row.key.id);
        let all = self.live.iter().chain(&self.past).enumerate().filter(is_new);
        let has_text = !self.text.trim().is_empty();
        let mut fitting: Vec<(Group, std::cmp::Reverse<Rank>, usize)> = Vec::new();
        let mut count = 0;
        for (at, row) in all {
            count += 1;
            let Some(score) = (if has_text { self.filter.score(row) } else { Some(0) }) else {
                continue;
            };
            // Sessions in panes come in their own order, those of the past by their age.
            let since = row.since.filter(|_| row.group == Group::Past);
            fitting.push((row.group, std::cmp::Reverse((score, since)), at));
        }
        fitting.sort();
        self.shown = fitting.into_iter().map(|(_, _, at)| at).collect();
        self.all = count;
    }

    /// A session that is open is shown as such, wherever it was found.
    fn show_found(&mut self) {
        let first = self.live.len() + self.past.len();
        let place = |(at, row): (usize, &Row)| {
            let live = self.live.iter().position(|live| live.key.id == row.key.id);
            live.unwrap_or(first + at)
        };
        self.shown = self.found.iter().enumerate().map(place).collect();
        self.all = self.shown.len();
    }

    fn sections(&self) -> Vec<Section> {
        if self.mode != Mode::Filter {
            let all = Section { group: Group::Found, start: 0, length: self.shown.len() };
            return Some(all).filter(|all| all.length > 0).into_iter().collect();
        }
        let mut sections: Vec<Section> = Vec::new();
        for (position, at) in self.shown.iter().enumerate() {
            let Some(row) = self.row(*at) else { continue };
            match sections.last_mut() {
                Some(last) if last.group == row.group => last.length += 1,
                _ => sections.push(Section { group: row.group, start: position, length: 1 }),
            }
        }
        sections
    }

    fn line(&self, line: usize) -> Option<Line<'_>> {
        match self.place_of(line)? {
            (section, None) => Some(Line::Heading(section.group, section.length)),
            (_, Some(at)) => {
                let row = self.row(*self.shown.get(at)?)?;
                Some(Line::Row { row, is_selected: at == self.cursor })
            }
        }
    }

    /// The section of a line, and the row that stands there unless it is a heading.
    fn place_of(&self, line: usize) -> Option<(Section, Option<usize>)> {
        let heading = usize::from(self.layout.has_headings());
        let mut before = 0;
        for section in &self.groups {
            let here = line.checked_sub(before)?;
            if here < heading + section.length {
                return Some((*section, here.checked_sub(heading).map(|row| section.start + row)));
            }
            before += heading + section.length;
        }
        None
    }

    fn line_of(&self, row: usize) -> usize {
        let heading = usize::from(self.layout.has_headings());
        row + heading * self.groups.iter().filter(|section| section.start <= row).count()
    }

    /// Keeps the chosen row on the screen, with the heading above it where it is the first one.
    fn scroll(&mut self) {
        let height = usize::from(self.layout.list.height).max(1);
        let line = self.line_of(self.cursor);
        let is_first = self.groups.iter().any(|section| section.start == self.cursor);
        let first = if is_first && height > 1 && self.layout.has_headings() {
            line.saturating_sub(1)
        } else {
            line
        };
        self.top = self.top.clamp((line + 1).saturating_sub(height), first);
        // What was scrolled away comes back when the list has become shorter.
        let end = self.line_of(self.shown.len().saturating_sub(1)) + 1;
        self.top = self.top.min(end.saturating_sub(height));
    }
}

/// How well a row fits, and how new it is.
type Rank = (u32, Option<crate::session::Moment>);
