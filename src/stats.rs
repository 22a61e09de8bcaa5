//! `cld stats`: journal -> replay -> summary -> table or JSON.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use anyhow::{Context, Result};
use jiff::tz::TimeZone;

use crate::cli::Stats;
use crate::error::Stop;
use crate::journal::{self, Entry};
use crate::roster::{self, Listed, Roster, Servers, past};
use crate::screen::Screen;
use crate::session::Moment;
use crate::text::one_line;
use crate::{clock, config, paths, terminal, transcript};

mod json;
mod replay;
mod summary;
mod table;

use replay::replay;
use summary::{Known, Summary};

pub fn run(options: &Stats) -> Result<()> {
    let (now, zone) = (clock::now(), clock::zone());
    let since = parse_since(&options.since, now, &zone).ok_or_else(|| {
        let given = one_line(&options.since, 40);
        Stop::Usage(format!(
            "{given:?} is no time; try 12h, 2d, today or {}",
            clock::day(now, &zone)
        ))
    })?;
    let dir = paths::state_dir().context("HOME is not set, so there is no journal")?;
    let lines = journal::read(&dir, journal::JOURNAL);
    let entries: Vec<Entry> = lines.lines().filter_map(Entry::parse).collect();
    let roster = roster::read(Servers::All);
    let span = since..now;
    let tally = replay(entries, span.clone(), |id| is_alive(&roster, id));
    let known = known(&roster, tally.sessions.keys().map(String::as_str).collect());
    let summary = Summary::new(&tally, span, &known, &zone);
    print(&summary, options.json, &zone)
}

fn print(summary: &Summary, as_json: bool, zone: &TimeZone) -> Result<()> {
    let (screen, since) = (Screen::of_stdout(), clock::day(summary.span.start, zone));
    let text = match as_json {
        true => json::document(summary),
        false => {
            let icons = config::load().config.display.icons;
            table::text(summary, &since, screen, icons, paths::home().as_deref())
        }
    };
    if text.is_empty() {
        terminal::note(&format!("the journal knows of nothing since {since}"));
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// A time ago (`12h`), `today`, or a day.
fn parse_since(text: &str, now: Moment, zone: &TimeZone) -> Option<Moment> {
    if let Some(seconds) = clock::parse_duration(text) {
        let micros = seconds.saturating_mul(1_000_000);
        return Some(Moment::from_micros(now.micros().saturating_sub(micros)));
    }
    match text {
        "today" => clock::start_of_day(&clock::day(now, zone), zone),
        day => clock::start_of_day(day, zone),
    }
}

fn is_alive(roster: &Roster, id: &str) -> bool {
    roster.sessions.iter().any(|listed| listed.id.as_str() == id && listed.is_alive())
}

/// Where the sessions belong: the journal knows only their ids.
fn known(roster: &Roster, mut wanted: HashSet<&str>) -> BTreeMap<String, Known> {
    let is_known = |listed: &&Listed| listed.directory.is_some();
    let mut live: Vec<Listed> = roster.sessions.iter().filter(is_known).cloned().collect();
    live.retain(|listed| wanted.remove(listed.id.as_str()));
    past::name_untitled(&mut live);
    let mut files = transcript::all(&roster.config_dirs);
    files.retain(|file| wanted.contains(file.id.as_str()));
    let past = past::read(&files, usize::MAX, |_| true);
    let known = |listed: Listed| {
        let known = Known { directory: listed.directory, title: listed.title };
        (listed.id.as_str().to_owned(), known)
    };
    past.into_iter().chain(live).map(known).collect()
}

#[cfg(test)]
mod tests;
