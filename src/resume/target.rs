//! Which session is meant: the one that was named, the last one of this pane, or one that the
//! person picks.

use anyhow::{Result, anyhow};

use crate::error::Stop;
use crate::find::{self, Candidate, Found};
use crate::roster::Roster;
use crate::{paths, terminal};

pub(super) fn find(asked: Option<&str>, roster: &Roster, may_ask: bool) -> Result<Candidate> {
    match asked {
        Some(asked) => match find::find(asked, roster) {
            Found::Several(candidates) if may_ask => {
                terminal::note("Several sessions fit:");
                let rows: Vec<String> = candidates.iter().map(Candidate::row).collect();
                let chosen = terminal::choose("Which one?", &rows)?;
                candidates.into_iter().nth(chosen).ok_or_else(|| anyhow!("no such row"))
            }
            found => found.one(asked),
        },
        None => match ended_here(roster) {
            Some(candidate) => Ok(candidate),
            None => Err(Stop::Usage("x".to_owned()).into()),
        },
    }
}

/// The session that was in this pane last, if it has ended.
fn ended_here(roster: &Roster) -> Option<Candidate> {
    let own = paths::inside_tmux()?.pane?;
    match find::find(&own.to_string(), roster) {
        Found::One(candidate) if candidate.listed.iter().all(|listed| !listed.is_alive()) => {
            Some(*candidate)
        }
        _ => None,
    }
}
