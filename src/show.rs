//! `cld show`: all that is known of one session, who says so, and how old that is.

use std::io::{self, Write};

use anyhow::Result;

use crate::cli::Show;
use crate::find::{Candidate, find};
use crate::ls::retention::Retention;
use crate::roster::{self, Listed, Servers, past};
use crate::screen::Screen;
use crate::session::Moment;
use crate::transcript::{Facts, Reader, Session};
use crate::{paths, registry};

mod report;
mod sources;

use report::Report;

pub fn run(options: &Show) -> Result<()> {
    let roster = roster::read(Servers::All);
    let candidate = find(&options.id, &roster).one(&options.id)?;
    let known = Known::read(candidate, roster.read_at);
    let text = sources::report(&known).text(Screen::of_stdout());
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Everything that is shown, before it is put into words.
struct Known {
    candidate: Candidate,
    /// What each transcript says, in the order of the candidate's files.
    told: Vec<Option<Facts>>,
    days_left: Option<u64>,
    home: Option<std::path::PathBuf>,
    now: Moment,
}

impl Known {
    fn read(candidate: Candidate, now: Moment) -> Self {
        let mut reader = Reader::new();
        let facts = |file: &Session, reader: &mut Reader| {
            reader.facts(&file.path, &file.bucket, past::slug_of).ok()
        };
        let told = candidate.files.iter().map(|file| facts(file, &mut reader)).collect();
        let is_alive = candidate.listed.iter().any(Listed::is_alive);
        let past = candidate.files.first().filter(|_| !is_alive);
        let days_left = past.and_then(|file| {
            Retention::default().days_left_of(file.modified, &file.config_dir, now)
        });
        Self { candidate, told, days_left, home: paths::home(), now }
    }
}

/// What the registry calls a status.
fn registry_word(status: registry::Status) -> &'static str {
    match status {
        registry::Status::Busy => "busy",
        registry::Status::Idle => "idle",
        registry::Status::Waiting => "waiting",
        registry::Status::Shell => "shell",
        registry::Status::Unknown => "unknown",
    }
}
