//! `cld search`: every word of every session, without an index.
//!
//! files, newest first -> `engine` (workers: `scan` finds candidate lines, `walk` and `record` tell
//! what is said there and by whom, `gather` picks) -> sessions in order -> `report` or `json`.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use crate::cli::{self, In, Order};
use crate::error::{FAILED, Stop};
use crate::ls::project::Project as Root;
use crate::roster::{self, Listed, Servers};
use crate::screen::Screen;
use crate::session::Moment;
use crate::transcript::{self, Session};
use crate::{clock, paths, terminal};

mod context;
mod engine;
mod finder;
mod gather;
mod json;
mod places;
mod query;
mod record;
mod report;
mod scan;
mod schedule;
mod scope;
mod since;
mod uuids;
mod walk;

pub use context::Context;
pub use engine::{Cancel, Found, Progress, Summary, Told, hits_in, run as search};
pub use query::{Case, Query};
pub use record::{Hit, Who};
pub use scope::{Project, Scope};

/// How long a search may take before it says that it is at work.
const QUIET_FOR: Duration = Duration::from_millis(500);
/// Nobody reads more hits of one session, and they are held in memory until their turn.
const MOST_HITS: usize = 1000;

pub fn run(options: &cli::Search) -> Result<ExitCode> {
    let query = query(options).map_err(Stop::Usage)?;
    let now = clock::now();
    let scope = scope(options, now)?;
    let (files, alive) = sessions(&scope);
    let mut printer = Printer::new(options, &alive, now);
    let mut failed = Ok(());
    let summary = engine::run(&files, &query, &scope, &Cancel::default(), |told| {
        let printed = printer.take(told);
        if printed.is_ok() {
            return ControlFlow::Continue(());
        }
        failed = printed;
        ControlFlow::Break(())
    });
    failed.and_then(|()| printer.finish())?;
    if summary.unreadable > 0 {
        terminal::note(&format!("cld: {} transcripts could not be read", summary.unreadable));
    }
    if summary.sessions > 0 {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::note(&match summary.scripted {
        0 if files.len() == 1 => "nothing found in 1 session".to_owned(),
        0 => format!("nothing found in {} sessions", files.len()),
        some => format!("nothing found but in {some} sessions that scripts drive; --sdk adds them"),
    });
    Ok(ExitCode::from(FAILED))
}

fn query(options: &cli::Search) -> Result<Query, String> {
    let case = match (options.ignore_case, options.case_sensitive) {
        (true, _) => Case::Ignore,
        (_, true) => Case::Exact,
        _ => Case::Smart,
    };
    match options.regex {
        true => Query::regexes(&options.words, case),
        false => Query::words(&options.words, case),
    }
}

fn scope(options: &cli::Search, now: Moment) -> Result<Scope> {
    let who = options.within.iter().flat_map(|part| match part {
        In::Title => &[Who::Title][..],
        In::User => &[Who::User],
        In::Assistant => &[Who::Claude],
        In::Tool => &[Who::ToolInput, Who::ToolResult],
    });
    let since = options.since.as_deref().map(|since| {
        since::parse(since, now).ok_or_else(|| {
            Stop::Usage(format!("--since {since}: write 90m, 12h, 3d, 2w or a date as 2026-11-18"))
        })
    });
    let since = since.transpose()?.map(|since| UNIX_EPOCH + Duration::from_micros(since.micros()));
    let project = match &options.project {
        Some(name) => Some(project(name)?),
        None if options.here => Some(Project::At(Root::of_this_directory()?)),
        None => None,
    };
    let by_score = options.by == Order::Score;
    Ok(Scope {
        who: who.copied().collect(),
        project,
        branch: options.branch.clone(),
        since,
        // The best may be found last.
        limit: options.limit.filter(|_| !by_score),
        hits_each: options.hits.min(MOST_HITS),
        by_score,
        with_forks: options.forks,
        with_scripted: options.sdk,
    })
}

/// A directory, if it is written as one, else the name of one.
fn project(name: &str) -> Result<Project> {
    if !name.contains('/') && !matches!(name, "." | "..") {
        return Ok(Project::Named(name.to_owned()));
    }
    let absolute = std::path::absolute(Path::new(name)).context("the current directory is gone")?;
    // Sessions of a directory that is gone are found all the same.
    Ok(Project::At(Root::at(&absolute.canonicalize().unwrap_or(absolute))))
}

/// The files to search, the newest first, and the sessions that are open somewhere. tmux is asked
/// while the folders are listed.
fn sessions(scope: &Scope) -> (Vec<Session>, HashMap<String, Listed>) {
    let known = paths::config_dirs();
    let (mut files, roster) = thread::scope(|threads| {
        let roster =
            thread::Builder::new().spawn_scoped(threads, || roster::read(Servers::Current));
        let files = transcript::all(&known);
        (files, roster.ok().and_then(|roster| roster.join().ok()))
    });
    let Some(roster) = roster else { return (files, HashMap::new()) };
    if roster.config_dirs != known {
        files = transcript::all(&roster.config_dirs);
    }
    files.retain(|file| scope.admits_file(file));
    let alive = roster.sessions.into_iter().filter(Listed::is_alive);
    (files, alive.map(|listed| (listed.id.as_str().to_owned(), listed)).collect())
}

struct Printer<'a> {
    options: &'a cli::Search,
    alive: &'a HashMap<String, Listed>,
    now: Moment,
    home: Option<PathBuf>,
    screen: Screen,
    begun: Instant,
    has_progress_line: bool,
    is_watched: bool,
    /// What is printed at the end, in its order.
    kept: Vec<Found>,
}

impl<'a> Printer<'a> {
    fn new(options: &'a cli::Search, alive: &'a HashMap<String, Listed>, now: Moment) -> Self {
        Self {
            options,
            alive,
            now,
            home: paths::home(),
            screen: Screen::of_stdout(),
            begun: Instant::now(),
            has_progress_line: false,
            is_watched: io::stderr().is_terminal(),
            kept: Vec::new(),
        }
    }

    fn take(&mut self, told: Told) -> io::Result<()> {
        match told {
            Told::Found(found) if self.options.by == Order::Score => {
                self.kept.push(*found);
                Ok(())
            }
            Told::Found(found) => self.print(&found),
            Told::Progress(progress) => {
                self.show_progress(&progress);
                Ok(())
            }
        }
    }

    fn finish(mut self) -> io::Result<()> {
        let mut kept = std::mem::take(&mut self.kept);
        // Within a tier the newest stay first.
        kept.sort_by_key(|found| found.hits.iter().map(|hit| gather::tier(hit.who)).min());
        for found in kept.iter().take(self.options.limit.unwrap_or(usize::MAX)) {
            self.print(found)?;
        }
        self.clear_progress();
        Ok(())
    }

    fn print(&mut self, found: &Found) -> io::Result<()> {
        self.clear_progress();
        let alive = self.alive.get(found.session.id.as_str());
        let text = match () {
            () if self.options.ids => format!("{}\n", found.session.id.as_str()),
            () if self.options.json => json::lines(found, alive),
            () => {
                let home = self.home.as_deref();
                report::Style { screen: self.screen, now: self.now, home }.text(found, alive)
            }
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn show_progress(&mut self, progress: &Progress) {
        if self.is_watched && self.begun.elapsed() >= QUIET_FOR {
            self.has_progress_line = true;
            // Nobody reads it where standard error is closed.
            let _ = write!(io::stderr(), "\r\u{1b}[K{}", report::progress(progress));
        }
    }

    fn clear_progress(&mut self) {
        if std::mem::take(&mut self.has_progress_line) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
