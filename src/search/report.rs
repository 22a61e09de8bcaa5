//! What was found, for people. Pure.

use std::path::Path;

use super::engine::{Found, Progress};
use super::record::{Hit, Who};
use crate::clock::rounded;
use crate::ls::table::icon;
use crate::roster::Listed;
use crate::screen::{Screen, cut, cut_start, padded, width};
use crate::session::Moment;
use crate::text::{from_home, one_line, shown};

const LONGEST_TEXT: usize = 512;
const GAP: &str = "  ";
/// So that the eye finds the next session at the left edge.
const INDENT: &str = "  ";
const WIDEST_DIRECTORY: usize = 40;
const SHORTEST_CONTEXT: usize = 20;
const DIM: &str = "2";
const BOLD: &str = "1";
const MARK: &str = "1;31";

/// How a report is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style<'a> {
    pub(super) screen: Screen,
    pub(super) now: Moment,
    pub(super) home: Option<&'a Path>,
}

impl Style<'_> {
    /// The session in one line, and each hit in one. `alive` is what is known of a session that is
    /// open somewhere.
    pub(super) fn text(self, found: &Found, alive: Option<&Listed>) -> String {
        let mut text = self.header(found, alive);
        for hit in &found.hits {
            text.push_str(&self.hit(hit));
        }
        text
    }

    fn header(self, found: &Found, alive: Option<&Listed>) -> String {
        let session = &found.session;
        let columns = self.screen.width.unwrap_or(usize::MAX);
        let icon =
            alive.map_or_else(String::new, |listed| format!("{} ", icon(listed.health.state)));
        let id = session.id.short();
        let age = session.health.since.map(|since| rounded(self.now.seconds_since(since)));
        let age = age.unwrap_or_default();
        let directory = session.directory.as_deref().map(|dir| shown(&from_home(dir, self.home)));
        let directory = directory.unwrap_or_else(|| "-".to_owned());
        let directory = match self.screen.width {
            Some(_) => cut_start(&directory, WIDEST_DIRECTORY.min(columns / 3)),
            None => directory,
        };
        let title = alive.and_then(|listed| listed.title.as_deref()).or(session.title.as_deref());
        let title = one_line(title.unwrap_or("-"), LONGEST_TEXT);
        let fixed = [&icon, id, &age, &directory].map(width).iter().sum::<usize>() + 3 * GAP.len();
        let title = cut(&title, columns.saturating_sub(fixed));
        let paint = |text: &str, colour| self.screen.painted(text, colour);
        let line = format!(
            "{}{GAP}{icon}{}{GAP}{directory}{GAP}{}",
            paint(id, DIM),
            paint(&age, DIM),
            paint(&title, BOLD),
        );
        format!("{}\n", line.trim_end())
    }

    fn hit(self, hit: &Hit) -> String {
        let label = padded(label(hit.who), width(label(Who::ToolResult)));
        let tool = hit.tool.as_deref().map(|tool| format!("{}: ", one_line(tool, LONGEST_TEXT)));
        let tool = tool.unwrap_or_default();
        let taken = width(INDENT) + width(&label) + width(GAP) + width(&tool);
        let room = self.screen.width.map_or(usize::MAX, |columns| columns.saturating_sub(taken));
        let context = hit.context.fit(room.max(SHORTEST_CONTEXT));
        let mut line = format!("{INDENT}{}{GAP}{tool}", self.screen.painted(&label, DIM));
        let mut at = 0;
        for mark in &context.marks {
            line.push_str(&context.text[at..mark.start]);
            line.push_str(&self.marked(&context.text[mark.clone()]));
            at = mark.end;
        }
        line.push_str(&context.text[at..]);
        format!("{}\n", line.trim_end())
    }

    fn marked(self, text: &str) -> String {
        if self.screen.has_colours {
            self.screen.painted(text, MARK)
        } else {
            format!("«{text}»")
        }
    }
}

pub(super) fn progress(progress: &Progress) -> String {
    let megabytes = |bytes: u64| bytes / 1_000_000;
    format!(
        "searched {} of {} sessions, {} of {} MB",
        progress.files_done,
        progress.files,
        megabytes(progress.bytes_done),
        megabytes(progress.bytes)
    )
}

fn label(who: Who) -> &'static str {
    match who {
        Who::Title => "title",
        Who::User => "you",
        Who::Claude => "Claude",
        Who::ToolInput => "tool input",
        Who::ToolResult => "tool result",
    }
}
