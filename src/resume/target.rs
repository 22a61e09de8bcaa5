//! Which session is meant: the one that was named, the last one of this pane, or one that the
//! person picks.

use anyhow::{Result, anyhow};

use crate::error::Stop;
use crate::find::{self, Candidate, Found};
use crate::roster::Roster;
use crate::{paths, pick, terminal, transcript};

pub(super) fn find(asked: Option<&str>, roster: &Roster, may_ask: bool) -> Result<Candidate> {
    if let Some(asked) = asked {
        let found = find::find(asked, roster);
        return if may_ask { found.chosen(asked) } else { found.one(asked) };
    }
    match ended_here(roster) {
        Some(candidate) => Ok(candidate),
        None if terminal::is_there() => pick(roster),
        None => Err(Stop::Usage(
            "which session? Give its id, title or pane\nTry: cld ls --all".to_owned(),
        )
        .into()),
    }
}

/// The session that was in this pane last, if it has ended and left something to resume.
fn ended_here(roster: &Roster) -> Option<Candidate> {
    let own = paths::inside_tmux()?.pane?;
    let Found::One(candidate) = find::find(&own.to_string(), roster) else { return None };
    let has_ended = candidate.listed.iter().all(|listed| !listed.is_alive());
    (has_ended && !candidate.files.is_empty()).then_some(*candidate)
}

fn pick(roster: &Roster) -> Result<Candidate> {
    if roster.sessions.is_empty() && transcript::all(&roster.config_dirs).is_empty() {
        return Err(anyhow!("there are no sessions yet"));
    }
    let picked = pick::one()?;
    find::find(picked.as_str(), roster).one(picked.as_str())
}
