//! Entries for people: one line each, no wider than the screen. Pure.

use std::path::Path;

use crate::clock::rounded;
use crate::context::{Context, Mark};
use crate::screen::{Screen, cut, cut_start, width};
use crate::session::{Moment, WaitKind};
use crate::text::{from_home, one_line, shown};

use super::{Entry, Standing};

const GAP: &str = "  ";
const INDENT: &str = "    ";
/// Enough for any screen.
const LONGEST_TEXT: usize = 512;
/// What is left of a column on a narrow screen, and what is asked for the context.
const SHORTEST_PANE: usize = 8;
const SHORTEST_DIRECTORY: usize = 12;
const SHORTEST_TITLE: usize = 12;
const LONGEST_TITLE: usize = 30;
const WELCOME_CONTEXT: usize = 40;
/// The number of the escape sequence for faint text.
const DIM: &str = "2";

/// The columns, from left to right.
const ID: usize = 0;
const KIND: usize = 1;
const AGE: usize = 2;
const PANE: usize = 3;
const DIRECTORY: usize = 4;
const TITLE: usize = 5;
const CONTEXT: usize = 6;

struct Row {
    cells: [String; 7],
    kind: WaitKind,
    is_put_off: bool,
}

pub(super) fn table(
    entries: &[&Entry],
    screen: Screen,
    now: Moment,
    home: Option<&Path>,
    own_server: &Path,
) -> Vec<String> {
    let rows: Vec<Row> =
        entries.iter().map(|entry| Row::of(entry, now, home, own_server)).collect();
    let widths = widths(&rows, screen);
    rows.iter().map(|row| row.line(&widths, screen)).collect()
}

/// What an entry asks, below its line.
pub(super) fn below(context: &Context, screen: Screen) -> String {
    let mut text = String::new();
    for line in &context.lines {
        let colour = match line.mark {
            Mark::Plain => "",
            Mark::Headline => "1",
            Mark::Choice => "36",
            Mark::Added => "32",
            Mark::Removed => "31",
            Mark::Aside => DIM,
        };
        let room = screen.width.unwrap_or(usize::MAX).saturating_sub(INDENT.len());
        let shown = screen.painted(&cut(&line.text, room), colour);
        text.push_str(format!("{INDENT}{shown}").trim_end());
        text.push('\n');
    }
    text
}

/// What was done with an entry, in words.
pub(super) fn sentence(entry: &Entry, until: Option<Moment>, now: Moment) -> String {
    let address = one_line(&entry.pane.address(), 80);
    match until {
        Some(until) => {
            // A moment has passed since the pause was asked for.
            format!("snoozed {address} for {}", rounded(until.seconds_since(now) + 1))
        }
        None => format!("skipped {address} until it waits for something new"),
    }
}

impl Row {
    fn of(entry: &Entry, now: Moment, home: Option<&Path>, own_server: &Path) -> Self {
        let or_dash = |text: Option<String>| {
            text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
        };
        let listed = &entry.listed;
        let kind = entry.wait.kind.word();
        let (kind, is_put_off) = match entry.standing {
            Standing::Open | Standing::Dead => (kind.to_owned(), false),
            Standing::Skipped => (format!("{kind}, skipped"), true),
            Standing::Snoozed(until) => {
                (format!("{kind}, snoozed {}", rounded(until.seconds_since(now))), true)
            }
        };
        let address = one_line(&entry.pane.address(), LONGEST_TEXT);
        let pane = match entry.pane.socket == own_server {
            true => address,
            false => {
                let server = entry.pane.socket.file_name().unwrap_or_default();
                format!("{}/{address}", shown(Path::new(server)))
            }
        };
        let directory = listed.directory.as_deref().map(|dir| shown(&from_home(dir, home)));
        let title = listed.title.as_deref().map(|title| one_line(title, LONGEST_TEXT));
        let cells = [
            listed.id.short().to_owned(),
            kind,
            rounded(now.seconds_since(entry.wait.since)),
            pane,
            or_dash(directory),
            or_dash(title),
            one_line(&entry.wait.context, LONGEST_TEXT),
        ];
        Self { cells, kind: entry.wait.kind, is_put_off }
    }

    fn line(&self, widths: &[usize; 7], screen: Screen) -> String {
        let colour = |column| match column {
            _ if self.is_put_off => DIM,
            KIND => colour(self.kind),
            ID | AGE | TITLE => DIM,
            _ => "",
        };
        let mut left = screen.width.unwrap_or(usize::MAX);
        let mut line = String::new();
        for (column, cell) in self.cells.iter().enumerate() {
            let gap = if column == 0 { "" } else { GAP };
            let gap = &gap[..gap.len().min(left)];
            left -= gap.len();
            let columns = widths[column].min(left);
            left -= columns;
            let text = match column {
                DIRECTORY => cut_start(cell, columns),
                _ => cut(cell, columns),
            };
            let blanks = " ".repeat(columns.saturating_sub(width(&text)));
            let text = screen.painted(&text, colour(column));
            line.push_str(gap);
            line.push_str(&if column == AGE { blanks + &text } else { text + &blanks });
        }
        format!("{}\n", line.trim_end())
    }
}

/// The context gets what the other columns can spare.
fn widths(rows: &[Row], screen: Screen) -> [usize; 7] {
    let widest =
        |column: usize| rows.iter().map(|row| width(&row.cells[column])).max().unwrap_or(0);
    let mut widths = [ID, KIND, AGE, PANE, DIRECTORY, TITLE, CONTEXT].map(widest);
    widths[TITLE] = widths[TITLE].min(LONGEST_TITLE);
    if let Some(screen) = screen.width {
        let wanted = widths[CONTEXT].min(WELCOME_CONTEXT);
        let others: usize = widths[..CONTEXT].iter().sum();
        let mut missing = (others + wanted + CONTEXT * GAP.len()).saturating_sub(screen);
        for (column, shortest) in
            [(DIRECTORY, SHORTEST_DIRECTORY), (TITLE, SHORTEST_TITLE), (PANE, SHORTEST_PANE)]
        {
            let given = missing.min(widths[column].saturating_sub(shortest));
            widths[column] -= given;
            missing -= given;
        }
    }
    widths
}

fn colour(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Dialog(_) => "31",
        WaitKind::Turn(crate::session::TurnEnd::Error) => "33",
        WaitKind::Turn(crate::session::TurnEnd::Done) => "",
    }
}

#[cfg(test)]
mod tests;
