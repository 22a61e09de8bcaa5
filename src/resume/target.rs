//! Which session is meant: the one that was named, the last one of this pane, or one that the
//! person picks.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::error::Stop;
use crate::find::{self, Candidate, Found};
use crate::ls::table::icon;
use crate::roster::{Listed, Roster, past};
use crate::text::{from_home, one_line, one_line_end, shown};
use crate::{paths, terminal, transcript};

pub(super) fn find(asked: Option<&str>, roster: &Roster, may_ask: bool) -> Result<Candidate> {
    if let Some(asked) = asked {
        return match find::find(asked, roster) {
            Found::Several(candidates) if may_ask => choose(candidates),
            found => found.one(asked),
        };
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

fn choose(mut candidates: Vec<Candidate>) -> Result<Candidate> {
    terminal::note("Several sessions fit:");
    let rows: Vec<String> = candidates.iter().map(Candidate::row).collect();
    Ok(candidates.swap_remove(terminal::choose("Which one?", &rows)?))
}

fn pick(roster: &Roster) -> Result<Candidate> {
    let mut sessions: Vec<Listed> = roster.sessions.clone();
    past::name_untitled(&mut sessions);
    let known: HashSet<&str> = roster.sessions.iter().map(|listed| listed.id.as_str()).collect();
    let mut files = transcript::all(&roster.config_dirs);
    files.retain(|file| !known.contains(file.id.as_str()));
    sessions.extend(past::read(&files, usize::MAX, |_| true));
    sessions.retain(|listed| !listed.is_scripted);
    if sessions.is_empty() {
        return Err(anyhow!("there are no sessions yet"));
    }
    let (home, width) = (paths::home(), terminal::width().saturating_sub(2));
    let row = |listed: &Listed| row(listed, home.as_deref(), width);
    let rows: Vec<String> = sessions.iter().map(row).collect();
    let picked = sessions[terminal::pick("Resume", &rows)?].id.as_str();
    find::find(picked, roster).one(picked)
}

/// State, id, title, directory and branch in at most `width` bytes: the picker counts bytes for
/// columns, and a row that seems too long makes it wipe away what stands above it.
fn row(listed: &Listed, home: Option<&Path>, width: usize) -> String {
    let mut row = format!("{} {}", icon(listed.health.state), listed.id.short());
    let room = width.saturating_sub(row.len() + 3 * "  ".len());
    let branch = listed.branch.as_deref().filter(|branch| *branch != "HEAD").unwrap_or_default();
    let branch = one_line(branch, room / 5);
    let directory = listed.directory.as_deref();
    let directory = directory.map(|dir| shown(&from_home(dir, home))).unwrap_or_default();
    let directory = one_line_end(&directory, room.saturating_sub(branch.len()) / 2);
    let title = listed.title.as_deref().unwrap_or("(no title)");
    let title = one_line(title, room.saturating_sub(branch.len() + directory.len()));
    for cell in [title, directory, branch] {
        if !cell.is_empty() {
            row.push_str("  ");
            row.push_str(&cell);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Liveness;
    use crate::roster::{End, Health, State, Teller};
    use crate::session::SessionId;
    use proptest::prelude::*;

    fn listed(title: Option<&str>, directory: Option<&str>, branch: Option<&str>) -> Listed {
        Listed {
            id: SessionId::parse("23e30f82-0000-4000-8000-000000000001").unwrap(),
            health: Health {
                state: State::Ended(End::Past),
                status: None,
                waits: Vec::new(),
                since: None,
                told_by: Teller::Transcript,
            },
            liveness: Liveness::Dead,
            title: title.map(str::to_owned),
            directory: directory.map(Into::into),
            branch: branch.map(str::to_owned),
            transcript: None,
            config_dir: None,
            pid: None,
            background: 0,
            is_scripted: false,
            pane: None,
            entry: None,
            modified: None,
        }
    }

    #[track_caller]
    fn check(listed: &Listed, width: usize, expected: &str) {
        assert_eq!(row(listed, Some(Path::new("/home/u")), width), expected);
    }

    #[test]
    fn a_row_says_what_a_session_can_be_found_by() {
        let session = listed(Some("fix the parser"), Some("/home/u/work/app"), Some("topic"));
        check(&session, 80, "[■] 23e30f82  fix the parser  ~/work/app  topic");
        check(&session, 40, "[■] 23e30f82  fix t…  …k/app  t…");
        check(&listed(None, None, Some("HEAD")), 80, "[■] 23e30f82  (no title)");
    }

    proptest! {
        #[test]
        fn a_row_fits_and_is_harmless(
            title in any::<String>(), directory in any::<String>(), branch in any::<String>(),
            width in 0_usize..200,
        ) {
            let session = listed(Some(&title), Some(&directory), Some(&branch));
            let row = row(&session, None, width);
            // The marks of what was cut need room of their own on the narrowest screens.
            prop_assert!(row.len() <= width.max(40), "{} {row:?}", row.len());
            prop_assert!(!row.chars().any(crate::text::is_unsafe));
        }
    }
}
