//! Statistics for people: three small tables with bars, no wider than the screen. Pure.

use std::path::Path;

use crate::clock;
use crate::config::Icons;
use crate::screen::{Screen, cut, cut_start, padded, width};
use crate::text::{from_home, one_line, shown};

use super::replay::Times;
use super::summary::{Answers, Project, Session, Summary};

const USUAL_WIDTH: usize = 80;
const LONGEST_NAME: usize = 40;
const SHORTEST_NAME: usize = 10;
const LONGEST_BAR: usize = 30;
const LONGEST_TITLE: usize = 200;
/// The sessions of a project that are shown; the rest are only counted.
const MOST_SESSIONS: usize = 5;

const RED: &str = "31";
const BLUE: &str = "34";
const DIM: &str = "2";

/// A row: a name, numbers, and a bar of two parts.
struct Row {
    name: String,
    cut: fn(&str, usize) -> String,
    cells: Vec<String>,
    bar: (u64, u64),
    colour: &'static str,
}

struct Table {
    title: &'static str,
    heads: &'static [&'static str],
    rows: Vec<Row>,
}

/// Nothing where there is nothing to show.
pub(super) fn text(
    summary: &Summary,
    since: &str,
    screen: Screen,
    icons: Icons,
    home: Option<&Path>,
) -> String {
    let tables = [notifications(summary), waits(summary), projects(summary, home)];
    let tables = tables.iter().filter(|table| !table.rows.is_empty());
    let texts: Vec<String> = tables.map(|table| table.text(screen, icons)).collect();
    if texts.is_empty() {
        return String::new();
    }
    let room = screen.width.unwrap_or(USUAL_WIDTH);
    format!("{}\n\n{}", fitted(&format!("since {since}"), room), texts.join("\n"))
}

fn notifications(summary: &Summary) -> Table {
    let row = |(day, count): &(String, usize)| Row {
        name: day.clone(),
        cut,
        cells: vec![count.to_string()],
        bar: (*count as u64, 0),
        colour: "",
    };
    Table { title: "notifications", heads: &["sent"], rows: summary.days.iter().map(row).collect() }
}

fn waits(summary: &Summary) -> Table {
    let rows = summary.kinds.iter().map(|kind| {
        let Answers { count, median, ninetieth } = kind.answers;
        let time = |seconds| if count == 0 { "-".to_owned() } else { length(seconds) };
        Row {
            name: kind.kind.word().to_owned(),
            cut,
            cells: vec![kind.waits.to_string(), count.to_string(), time(median), time(ninetieth)],
            bar: (kind.waits as u64, 0),
            colour: "",
        }
    });
    let heads = &["count", "answered", "median", "90%"];
    Table { title: "waits", heads, rows: rows.collect() }
}

fn projects(summary: &Summary, home: Option<&Path>) -> Table {
    let mut rows = Vec::new();
    for project in &summary.projects {
        rows.push(project_row(project, home));
        let (shown, rest) = project.sessions.split_at(project.sessions.len().min(MOST_SESSIONS));
        rows.extend(shown.iter().map(session_row));
        if !rest.is_empty() {
            rows.push(rest_row(rest));
        }
    }
    Table { title: "project", heads: &["running", "waiting"], rows }
}

fn project_row(project: &Project, home: Option<&Path>) -> Row {
    let name = project.directory.as_deref().map(|dir| shown(&from_home(dir, home)));
    let name = name.unwrap_or_else(|| "(unknown)".to_owned());
    times_row(name, cut_start, project.times, "")
}

fn session_row(session: &Session) -> Row {
    let id = &session.id[..session.id.floor_char_boundary(8)];
    let title = session.title.as_deref().map(|title| one_line(title, LONGEST_TITLE));
    let name = format!("  {} {}", one_line(id, 8), title.unwrap_or_default());
    times_row(name.trim_end().to_owned(), cut, session.times, DIM)
}

fn rest_row(rest: &[Session]) -> Row {
    let sum = |time: fn(&Times) -> u64| rest.iter().map(|session| time(&session.times)).sum();
    let times = Times { running: sum(|times| times.running), waiting: sum(|times| times.waiting) };
    times_row(format!("  and {} more", rest.len()), cut, times, DIM)
}

fn times_row(
    name: String,
    cut: fn(&str, usize) -> String,
    times: Times,
    colour: &'static str,
) -> Row {
    let cells = [times.running, times.waiting].map(|micros| length(micros / 1_000_000));
    Row { name, cut, cells: cells.into(), bar: (times.running, times.waiting), colour }
}

impl Table {
    fn text(&self, screen: Screen, icons: Icons) -> String {
        let room = screen.width.unwrap_or(USUAL_WIDTH);
        let widths: Vec<usize> = (0..self.heads.len()).map(|at| self.cell_width(at)).collect();
        let cells: usize = widths.iter().map(|width| width + 2).sum();
        let widest = self.rows.iter().map(|row| width(&row.name)).max().unwrap_or(0);
        let widest = widest.max(width(self.title)).min(LONGEST_NAME);
        let name = widest.min(room.saturating_sub(cells).max(SHORTEST_NAME));
        let bar = room.saturating_sub(name + cells + 2).min(LONGEST_BAR);
        let most = self.rows.iter().map(|row| row.bar.0 + row.bar.1).max().unwrap_or(0);
        let head = self.line(&cut(self.title, name), self.heads.iter().copied(), name, &widths);
        let mut text = format!("{}\n", screen.painted(&fitted(&head, room), DIM));
        for row in &self.rows {
            let cells = row.cells.iter().map(String::as_str);
            let line = self.line(&(row.cut)(&row.name, name), cells, name, &widths);
            let line = fitted(&line, room);
            text.push_str(&screen.painted(&line, row.colour));
            text.push_str(&drawn(row.bar, most, bar, screen, icons));
            text.push('\n');
        }
        text
    }

    fn cell_width(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
        cells.map(|cell| width(cell)).chain([width(self.heads[at])]).max().unwrap_or(0)
    }

    fn line<'c>(
        &self,
        name: &str,
        cells: impl Iterator<Item = &'c str>,
        columns: usize,
        widths: &[usize],
    ) -> String {
        let mut line = padded(name, columns);
        for (cell, columns) in cells.zip(widths) {
            line.push_str(&format!("  {}{cell}", " ".repeat(columns.saturating_sub(width(cell)))));
        }
        line
    }
}

fn fitted(line: &str, room: usize) -> String {
    cut(line, room).trim_end().to_owned()
}

/// A bar whose parts are as long as their share of the longest one; a part that is there at all is
/// seen.
fn drawn(
    (first, second): (u64, u64),
    most: u64,
    columns: usize,
    screen: Screen,
    icons: Icons,
) -> String {
    let (full, light) = match icons {
        Icons::Unicode => ("█", "░"),
        Icons::Ascii => ("#", "-"),
    };
    let (first_columns, second_columns) = shares(first, second, most, columns);
    if first_columns + second_columns == 0 {
        return String::new();
    }
    let first = screen.painted(&full.repeat(first_columns), BLUE);
    let second = screen.painted(&light.repeat(second_columns), RED);
    format!("  {first}{second}")
}

pub(super) fn shares(first: u64, second: u64, most: u64, columns: usize) -> (usize, usize) {
    let share = |part: u64| {
        let exact = u128::from(part) * columns as u128 / u128::from(most.max(1));
        usize::try_from(exact).unwrap_or(columns).max(usize::from(part > 0))
    };
    let first = share(first).min(columns);
    let second = share(second).min(columns - first);
    (first, second)
}

/// `45s`, `12m 5s`, `3h 20m`, `2d 4h`.
pub(super) fn length(seconds: u64) -> String {
    let (larger, smaller, letter) = match seconds {
        0..3600 => (60, 1, 's'),
        3600..86_400 => (3600, 60, 'm'),
        _ => (86_400, 3600, 'h'),
    };
    let whole = clock::rounded(seconds);
    match seconds % larger / smaller {
        rest if rest > 0 && seconds >= 60 => format!("{whole} {rest}{letter}"),
        _ => whole,
    }
}
