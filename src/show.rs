//! `cld show`: all that is known of one session, who says so, and how old that is.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cli::Show;
use crate::find::{Candidate, Found, find};
use crate::ls::retention::Retention;
use crate::roster::{self, Listed, Servers, past};
use crate::screen::Screen;
use crate::session::Moment;
use crate::text::shown;
use crate::transcript::{Facts, Reader, Session};
use crate::{paths, registry};

mod report;
mod sources;

use report::Report;

pub fn run(options: &Show) -> Result<()> {
    let (candidate, read_at) = candidate(&options.id)?;
    if options.directory {
        return print_directory(&candidate);
    }
    let known = Known::read(candidate, read_at);
    let text = sources::report(&known).text(Screen::of_stdout());
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Other servers are asked only for what this one does not have: one of them may hang.
fn candidate(asked: &str) -> Result<(Candidate, Moment)> {
    let near = roster::read(Servers::Current);
    if let Found::One(candidate) = find(asked, &near)
        && !candidate.listed.is_empty()
        && candidate.listed.iter().all(|listed| listed.pane.is_some())
    {
        return Ok((*candidate, near.read_at));
    }
    let roster = roster::read(Servers::All);
    Ok((find(asked, &roster).chosen(asked)?, roster.read_at))
}

/// For a shell that goes there. Bytes that are no text are printed as they are.
fn print_directory(candidate: &Candidate) -> Result<()> {
    let listed = candidate.listed.iter().find_map(|listed| listed.directory.clone());
    let told = || past::read_one(candidate.files.first()?, &mut Reader::new())?.directory;
    let Some(directory) = listed.or_else(told) else {
        let id = candidate.id.short();
        bail!("nothing tells the directory of session {id}\nTry: cld resume {id}");
    };
    if directory.as_os_str().as_bytes().contains(&0) || !directory.is_absolute() {
        bail!("{} is no directory", shown(&directory));
    }
    let line = [directory.as_os_str().as_bytes(), b"\n"].concat();
    Ok(io::stdout().write_all(&line)?)
}

/// Everything that is shown, before it is put into words.
struct Known {
    candidate: Candidate,
    /// What each transcript says, in the order of the candidate's files.
    told: Vec<Option<Facts>>,
    days_left: Option<u64>,
    home: Option<PathBuf>,
    /// Directories that somebody names and that are not there.
    gone: Vec<PathBuf>,
    now: Moment,
}

impl Known {
    fn read(candidate: Candidate, now: Moment) -> Self {
        let mut reader = Reader::new();
        let facts = |file: &Session, reader: &mut Reader| {
            reader.facts(&file.path, &file.bucket, past::slug_of).ok()
        };
        let told: Vec<Option<Facts>> =
            candidate.files.iter().map(|file| facts(file, &mut reader)).collect();
        let is_alive = candidate.listed.iter().any(Listed::is_alive);
        let past = candidate.files.first().filter(|_| !is_alive);
        let days_left = past.and_then(|file| {
            Retention::default().days_left_of(file.modified, &file.config_dir, now)
        });
        let named = sources::directories(&candidate.listed, told.iter().flatten());
        let gone = named.into_iter().filter(|dir| !dir.is_dir()).map(Path::to_owned).collect();
        Self { candidate, told, days_left, home: paths::home(), gone, now }
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
