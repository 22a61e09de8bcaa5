//! Sessions as a shell offers them: by id, or by pane where that is what was begun.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use clap_complete::engine::CompletionCandidate;

use crate::ls::table::reason;
use crate::paths;
use crate::roster::{self, Listed, Servers, past};
use crate::text::{from_home, one_line, shown};
use crate::transcript;

/// As many past sessions as a person may want to look through.
const MOST_PAST: usize = 50;
const LONGEST_TITLE: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Live,
    /// Live ones and those of which only a transcript is left.
    All,
}

impl Which {
    /// Past sessions can be looked at and resumed; everything else is done to a pane.
    pub(super) fn of(command: &str) -> Self {
        if matches!(command, "resume" | "show") { Self::All } else { Self::Live }
    }
}

pub(super) fn candidates(start: &OsStr, which: Which) -> Vec<CompletionCandidate> {
    let Some(start) = start.to_str() else { return Vec::new() };
    let mut roster = roster::read(Servers::Current);
    let mut sessions = std::mem::take(&mut roster.sessions);
    sessions.retain(|listed| !listed.is_scripted && (which == Which::All || listed.is_alive()));
    past::name_untitled(&mut sessions);
    if which == Which::All {
        let known: HashSet<String> =
            sessions.iter().map(|listed| listed.id.as_str().to_owned()).collect();
        let mut files = transcript::all(&roster.config_dirs);
        files.retain(|file| file.id.starts_with(start) && !known.contains(&file.id));
        sessions.extend(past::read(&files, MOST_PAST, |listed| !listed.is_scripted));
    }
    offered(&sessions, start, paths::home().as_deref())
}

/// The ids that begin so, and the panes, but those only when one was begun: every session would be
/// there twice.
fn offered(sessions: &[Listed], start: &str, home: Option<&Path>) -> Vec<CompletionCandidate> {
    let mut candidates = Vec::new();
    for listed in sessions {
        let help = description(listed, home);
        let mut offer = |value: &str| {
            if value.starts_with(start) {
                let candidate = CompletionCandidate::new(value).help(Some(help.clone().into()));
                candidates.push(candidate.display_order(Some(candidates.len())));
            }
        };
        let short = listed.id.short();
        let is_same = |other: &&Listed| other.id.short() == short && other.id != listed.id;
        let is_unique = !sessions.iter().any(|other| is_same(&other));
        offer(if is_unique && start.len() <= short.len() { short } else { listed.id.as_str() });
        if let Some(pane) = listed.pane.as_ref().filter(|_| !start.is_empty()) {
            offer(&pane.id.to_string());
            offer(&pane.address());
        }
    }
    candidates
}

fn description(listed: &Listed, home: Option<&Path>) -> String {
    let directory = listed.directory.as_deref().map(|dir| shown(&from_home(dir, home)));
    let title = listed.title.as_deref().map(|title| one_line(title, LONGEST_TITLE));
    let parts = [Some(reason(listed, None)), directory, title];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
