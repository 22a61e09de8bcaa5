//! Rows for people: one line for each session, no wider than the screen. Pure.

use std::path::Path;

use crate::clock::rounded;
use crate::roster::{End, Listed, State};
use crate::screen::{Screen, cut, cut_start, width};
use crate::session::{Moment, Status};
use crate::text::{from_home, one_line, shown};

const GAP: &str = "  ";
/// Enough for any screen; a title can be a whole prompt.
const LONGEST_TEXT: usize = 512;
/// What is left of each column on a narrow screen.
const SHORTEST_PANE: usize = 8;
const SHORTEST_DIRECTORY: usize = 12;
const WELCOME_TITLE: usize = 30;
/// The number of the escape sequence for faint text.
const DIM: &str = "2";

/// A session in words, nothing of it harmful to a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub state: State,
    pub id: String,
    pub reason: String,
    pub age: String,
    pub pane: String,
    pub directory: String,
    pub title: String,
}

impl Row {
    pub fn new(
        listed: &Listed,
        deleted_in: Option<u64>,
        now: Moment,
        home: Option<&Path>,
        own_server: &Path,
    ) -> Self {
        let or_dash = |text: Option<String>| {
            text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
        };
        let pane = listed.pane.as_ref().map(|pane| {
            let address = one_line(&pane.address(), LONGEST_TEXT);
            if pane.socket == own_server {
                return address;
            }
            let server = pane.socket.file_name().unwrap_or_default();
            format!("{}/{address}", shown(Path::new(server)))
        });
        let directory = listed.directory.as_deref().map(|dir| shown(&from_home(dir, home)));
        Self {
            state: listed.health.state,
            id: listed.id.short().to_owned(),
            reason: reason(listed, deleted_in),
            age: or_dash(listed.health.since.map(|since| rounded(now.seconds_since(since)))),
            pane: or_dash(pane),
            directory: or_dash(directory),
            title: or_dash(listed.title.as_deref().map(|title| one_line(title, LONGEST_TEXT))),
        }
    }
}

/// The state, and why it is so.
pub fn reason(listed: &Listed, deleted_in: Option<u64>) -> String {
    let state = listed.health.state;
    let why = match state {
        State::Waiting => listed.waits_for().map(|wait| wait.kind.word().to_owned()),
        State::Running if listed.status() == Some(Status::Stopped) => Some("background".to_owned()),
        State::Ended(End::Closed) => Some("closed".to_owned()),
        State::Ended(End::Killed) => Some("killed".to_owned()),
        State::Ended(End::Past) => deleted_in.map(|days| match days {
            0 => "deleted soon".to_owned(),
            days => format!("deleted in {days}d"),
        }),
        State::Running | State::Idle | State::Unknown => None,
    };
    why.map_or_else(|| state.word().to_owned(), |why| format!("{}: {why}", state.word()))
}

pub fn icon(state: State) -> &'static str {
    match state {
        State::Running => "[▶]",
        State::Waiting | State::Idle => "[⏸]",
        State::Ended(_) => "[■]",
        State::Unknown => "[?]",
    }
}

#[derive(Debug)]
pub struct Table {
    screen: Screen,
    rows: Vec<Row>,
}

/// The widths of the columns that differ from table to table.
struct Widths {
    reason: usize,
    age: usize,
    pane: usize,
    directory: usize,
}

impl Table {
    pub fn new(screen: Screen) -> Self {
        Self { screen, rows: Vec::new() }
    }

    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub fn text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let start = text.len();
            self.write(row, &widths, &mut text);
            text.truncate(start + text[start..].trim_end().len());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Widths {
        let widest = |cell: fn(&Row) -> &str| self.rows.iter().map(|row| width(cell(row))).max();
        let widest = |cell| widest(cell).unwrap_or(0);
        let mut widths = Widths {
            reason: widest(|row| &row.reason),
            age: widest(|row| &row.age),
            pane: widest(|row| &row.pane),
            directory: widest(|row| &row.directory),
        };
        if let Some(screen) = self.screen.width {
            let title = widest(|row| &row.title).min(WELCOME_TITLE);
            let fixed = width("[▶] 23e30f82") + widths.reason + widths.age + 5 * GAP.len();
            let mut missing =
                (fixed + widths.pane + widths.directory + title).saturating_sub(screen);
            for (column, shortest) in
                [(&mut widths.directory, SHORTEST_DIRECTORY), (&mut widths.pane, SHORTEST_PANE)]
            {
                let given = missing.min(column.saturating_sub(shortest));
                *column -= given;
                missing -= given;
            }
        }
        widths
    }

    fn write(&self, row: &Row, widths: &Widths, line: &mut String) {
        let age = format!("{:>columns$}", row.age, columns = widths.age);
        let state = colour(row.state);
        let title = if row.state.has_ended() { DIM } else { "" };
        let cells: [Cell<'_>; 7] = [
            ("", icon(row.state), 3, cut, state),
            (" ", &row.id, 8, cut, DIM),
            (GAP, &row.reason, widths.reason, cut, state),
            (GAP, &age, widths.age, cut, DIM),
            (GAP, &row.pane, widths.pane, cut, ""),
            (GAP, &row.directory, widths.directory, cut_start, ""),
            (GAP, &row.title, width(&row.title), cut, title),
        ];
        let mut left = self.screen.width.unwrap_or(usize::MAX);
        for (gap, text, columns, cut, colour) in cells {
            let gap = &gap[..gap.len().min(left)];
            left -= gap.len();
            let columns = columns.min(left);
            left -= columns;
            line.push_str(gap);
            let taken = width(text);
            if taken > columns || (self.screen.has_colours && !colour.is_empty()) {
                let text = cut(text, columns);
                line.push_str(&self.screen.painted(&text, colour));
                line.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(&text))));
            } else {
                line.push_str(text);
                line.extend(std::iter::repeat_n(' ', columns - taken));
            }
        }
    }
}

/// What stands before it, the text, its columns, how it is cut when it is wider, and its colour.
type Cell<'a> = (&'a str, &'a str, usize, fn(&str, usize) -> String, &'a str);

fn colour(state: State) -> &'static str {
    match state {
        State::Running => "34",
        State::Waiting => "31",
        State::Idle => "",
        State::Ended(_) => DIM,
        State::Unknown => "33",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PIPE: Screen = Screen { width: None, has_colours: false };

    fn row(state: State, reason: &str, pane: &str, directory: &str, title: &str) -> Row {
        Row {
            state,
            id: "23e30f82".to_owned(),
            reason: reason.to_owned(),
            age: "3m".to_owned(),
            pane: pane.to_owned(),
            directory: directory.to_owned(),
            title: title.to_owned(),
        }
    }

    fn text(screen: Screen, rows: &[Row]) -> String {
        let mut table = Table::new(screen);
        for row in rows {
            table.push(row.clone());
        }
        table.text()
    }

    fn screen(width: usize) -> Screen {
        Screen { width: Some(width), has_colours: false }
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [
            row(State::Waiting, "waiting: permission", "work:2.1", "~/proj", "fix the parser"),
            row(State::Running, "running", "日本:1.0", "~/日本語", "テスト"),
            row(State::Ended(End::Past), "ended", "-", "/srv", "-"),
        ];
        assert_eq!(
            text(PIPE, &rows),
            "[⏸] 23e30f82  waiting: permission  3m  work:2.1  ~/proj    fix the parser\n\
             [▶] 23e30f82  running              3m  日本:1.0  ~/日本語  テスト\n\
             [■] 23e30f82  ended                3m  -         /srv      -\n"
        );
    }

    #[test]
    fn a_narrow_screen_keeps_the_end_of_the_directory_and_the_start_of_the_title() {
        let long = row(
            State::Idle,
            "idle",
            "w:1.0",
            "~/some/where/deep/in/here/proj",
            "a title that goes on and on and on",
        );
        assert_eq!(
            text(screen(60), &[long]),
            "[⏸] 23e30f82  idle  3m  w:1.0  …n/here/proj  a title that g…\n"
        );
    }

    #[test]
    fn colours_are_added_without_changing_the_text() {
        let rows = [row(State::Waiting, "waiting: done", "w:1.0", "~/p", "t")];
        let coloured = text(Screen { width: Some(80), has_colours: true }, &rows);
        assert!(coloured.starts_with("\u{1b}[31m[⏸]\u{1b}[0m "), "{coloured:?}");
        let mut plain = coloured;
        for code in ["\u{1b}[31m", "\u{1b}[2m", "\u{1b}[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, text(screen(80), &rows));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen(
            cells in prop::collection::vec(("\\PC{0,30}", "\\PC{0,40}", "\\PC{0,80}"), 1..5),
            columns in 1_usize..150,
        ) {
            let rows: Vec<Row> = cells
                .iter()
                .map(|(pane, directory, title)| row(State::Running, "running", pane, directory, title))
                .collect();
            for line in text(screen(columns), &rows).lines() {
                prop_assert!(width(line) <= columns, "{line:?}");
            }
        }
    }
}
