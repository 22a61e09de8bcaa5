//! `cld watch`: one line for every change of state.

use std::path::Path;

use anyhow::Result;

use crate::cli::Watch;
use crate::ls::{json, table};
use crate::roster::{self, Listed};
use crate::session::Moment;
use crate::text::{from_home, one_line, shown};
use crate::{clock, paths, queue, terminal};

mod change;
pub mod pulse;

use change::{Seen, changes};
use pulse::Pulse;

const LONGEST_TEXT: usize = 200;

pub fn run(options: &Watch) -> Result<()> {
    let servers = queue::list::servers(options.server);
    let home = paths::home();
    let mut seen = Seen::default();
    let mut pulse = Pulse::default();
    loop {
        let roster = roster::read(servers);
        let now = roster.read_at;
        for change in changes(&mut seen, &roster) {
            terminal::print(&match options.json {
                true => json::change(&change.listed, change.was, now),
                false => line(&change.listed, now, home.as_deref()),
            })?;
        }
        pulse.look(&roster);
        if !pulse.wait(None, terminal::is_reader_gone) {
            return Ok(());
        }
    }
}

fn line(listed: &Listed, now: Moment, home: Option<&Path>) -> String {
    let place = listed.pane.as_ref().map(|pane| one_line(&pane.address(), LONGEST_TEXT));
    let directory = listed.directory.as_deref().map(|dir| shown(&from_home(dir, home)));
    let context = listed.waits_for().map(|wait| one_line(&wait.context, LONGEST_TEXT));
    let cells = [
        Some(format!("{} {}", clock::utc(now), listed.id.short())),
        Some(table::reason(listed, None)),
        place,
        directory,
        listed.title.as_deref().map(|title| one_line(title, LONGEST_TEXT)),
        context,
    ];
    let cells: Vec<String> = cells.into_iter().flatten().filter(|cell| !cell.is_empty()).collect();
    format!("{}\n", cells.join("  "))
}
