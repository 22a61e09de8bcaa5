//! Which session a person means: by id or its beginning, pane, title, or the transcript's path.
//! The same for every command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::error::Stop;
use crate::roster::{Listed, Roster, past};
use crate::session::{PaneId, SessionId};
use crate::text::{one_line, shown};
use crate::tmux::Pane;
use crate::transcript::{self, IdPrefix, Reader, Session};
use crate::{paths, terminal, text};

mod near;

/// How many candidates a message names.
const MOST_ROWS: usize = 10;
const MOST_NEAREST: usize = 3;
/// Titles are compared as they are shown.
const LONGEST_TITLE: usize = 512;

/// A session with all that is there of it.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub id: SessionId,
    /// Where it lives, or has lived last: usually one place, several when it is open twice.
    pub listed: Vec<Listed>,
    /// Its transcripts, the one changed last first: usually one, none before the first prompt.
    pub files: Vec<Session>,
}

#[derive(Debug)]
pub enum Found {
    One(Box<Candidate>),
    Several(Vec<Candidate>),
    Nothing(Missing),
}

/// Why nothing was found.
#[derive(Debug)]
pub enum Missing {
    /// Looks like a session, but there is none; these come nearest.
    Unknown(Vec<Candidate>),
    /// There is such a pane, but no session was ever in it.
    EmptyPane,
    TooShort,
    /// Cannot be the name of anything.
    Malformed,
}

/// What a text looks like, before anything is looked up.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Pane(PaneId),
    Address,
    Id(IdPrefix),
    File,
    Title,
}

pub fn find(text: &str, roster: &Roster) -> Found {
    match wanted(text) {
        Wanted::Pane(id) => in_pane(roster, |pane| pane.id == id),
        Wanted::Address => match in_pane(roster, |pane| pane.address() == text) {
            Found::Nothing(Missing::Unknown(_)) => by_title(text, roster),
            found => found,
        },
        Wanted::Id(prefix) => by_id(&prefix, text, roster),
        Wanted::File => by_file(Path::new(text), roster),
        Wanted::Title => by_title(text, roster),
    }
}

impl Found {
    /// The one session, or an error that says what to do next, with the exit code that goes with
    /// it.
    pub fn one(self, asked: &str) -> anyhow::Result<Candidate> {
        let asked = one_line(asked, 80);
        match self {
            Self::One(candidate) => Ok(*candidate),
            Self::Several(candidates) => Err(Stop::Usage(format!(
                "{asked} fits {} sessions. Give more of the id:\n{}",
                candidates.len(),
                rows(&candidates)
            ))
            .into()),
            Self::Nothing(Missing::Unknown(nearest)) if nearest.is_empty() => {
                Err(anyhow!("there is no session {asked}\nTry: cld ls --all"))
            }
            Self::Nothing(Missing::Unknown(nearest)) => {
                let rows = rows(&nearest);
                Err(anyhow!("there is no session {asked}. The nearest:\n{rows}"))
            }
            Self::Nothing(Missing::EmptyPane) => {
                Err(anyhow!("no Claude Code session was ever seen in pane {asked}\nTry: cld ls"))
            }
            Self::Nothing(Missing::TooShort) => Err(Stop::Usage(format!(
                "{asked} is too short for an id: four hex digits are needed, and no session has this title"
            ))
            .into()),
            Self::Nothing(Missing::Malformed) => Err(Stop::Usage(format!(
                "{asked:?} is no session: ids are hex digits, panes are written %5 or work:2.1, and no session has this title"
            ))
            .into()),
        }
    }
}

impl Found {
    /// The same, but where several fit and somebody is there to be asked, that one chooses.
    pub fn chosen(self, asked: &str) -> anyhow::Result<Candidate> {
        match self {
            Self::Several(mut candidates) if terminal::is_there() => {
                terminal::note("Several sessions fit:");
                let rows: Vec<String> = candidates.iter().map(Candidate::row).collect();
                Ok(candidates.swap_remove(terminal::choose("Which one?", &rows)?))
            }
            found => found.one(asked),
        }
    }
}

impl Candidate {
    /// One line for a list of several: the whole id, the directory and the title.
    pub fn row(&self) -> String {
        let from_file = || past::read_one(self.files.first()?, &mut Reader::new());
        let listed = self.listed.first();
        let complete = listed.filter(|listed| listed.title.is_some() && listed.directory.is_some());
        let read = if complete.is_some() { None } else { from_file() };
        let both = || listed.into_iter().chain(&read);
        let directory = both().find_map(|listed| listed.directory.as_deref());
        let title = both().find_map(|listed| listed.title.as_deref());
        format!(
            "{}  {}  {}",
            self.id.as_str(),
            directory.map_or_else(
                || "?".to_owned(),
                |dir| shown(&text::from_home(dir, paths::home().as_deref()))
            ),
            one_line(title.unwrap_or("(no title)"), 60)
        )
    }
}

fn rows(candidates: &[Candidate]) -> String {
    let shown = candidates.iter().take(MOST_ROWS).map(|candidate| format!("  {}", candidate.row()));
    let mut rows: Vec<String> = shown.collect();
    if candidates.len() > MOST_ROWS {
        rows.push(format!("  and {} more", candidates.len() - MOST_ROWS));
    }
    rows.join("\n")
}

fn wanted(text: &str) -> Wanted {
    if let Some(pane) = PaneId::parse(text) {
        return Wanted::Pane(pane);
    }
    if let Some(prefix) = IdPrefix::parse(text) {
        return Wanted::Id(prefix);
    }
    if text.contains('/') && text.ends_with(".jsonl") {
        return Wanted::File;
    }
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let indexes = text.rsplit_once(':').and_then(|(_, indexes)| indexes.split_once('.'));
    match indexes {
        Some((window, pane)) if is_number(window) && is_number(pane) => Wanted::Address,
        _ => Wanted::Title,
    }
}

/// Other servers have panes of the same number; the own one comes first.
fn in_pane(roster: &Roster, is_meant: impl Fn(&Pane) -> bool) -> Found {
    let Some(pane) = roster.panes.iter().find(|pane| is_meant(pane)) else {
        return Found::Nothing(Missing::Unknown(Vec::new()));
    };
    let is_in = |listed: &&Listed| {
        let place = listed.pane.as_ref().map(|pane| (pane.server_pid, pane.id));
        place == Some((pane.server_pid, pane.id))
    };
    let ids = roster.sessions.iter().filter(is_in).map(|listed| listed.id.clone());
    found(ids.map(|id| with_files(id, roster)).collect(), || Missing::EmptyPane)
}

fn by_id(prefix: &IdPrefix, text: &str, roster: &Roster) -> Found {
    let files = transcript::matching(&roster.config_dirs, prefix);
    let listed =
        roster.sessions.iter().filter(|listed| listed.id.as_str().starts_with(prefix.as_str()));
    let candidates = grouped(listed.cloned(), files);
    if !candidates.is_empty() {
        return found(candidates, || Missing::Malformed);
    }
    // A title may look like the beginning of an id.
    match by_title(text, roster) {
        Found::Nothing(_) => {
            let all =
                grouped(roster.sessions.iter().cloned(), transcript::all(&roster.config_dirs));
            Found::Nothing(Missing::Unknown(near::ids(prefix.as_str(), all, MOST_NEAREST)))
        }
        found => found,
    }
}

fn by_file(path: &Path, roster: &Roster) -> Found {
    let id = path.file_stem().and_then(|stem| IdPrefix::parse(stem.to_str()?));
    let id = id.filter(IdPrefix::is_whole_id).and_then(|id| SessionId::parse(id.as_str()));
    let Some(id) = id else { return Found::Nothing(Missing::Malformed) };
    let mut candidate = with_files(id, roster);
    let is_meant = |file: &Session| same_file(&file.path, path);
    candidate.files.retain(is_meant);
    let nothing = candidate.files.is_empty();
    found(if nothing { Vec::new() } else { vec![candidate] }, || Missing::Unknown(Vec::new()))
}

fn by_title(text: &str, roster: &Roster) -> Found {
    let files = transcript::all(&roster.config_dirs);
    let past = past::read(&files, usize::MAX, |_| true);
    let all: Vec<&Listed> = roster.sessions.iter().chain(&past).collect();
    let wanted = comparable(text);
    let is_meant = |listed: &&&Listed| {
        listed.title.as_deref().is_some_and(|title| comparable(title) == wanted)
    };
    let mut ids: Vec<SessionId> = Vec::new();
    for listed in all.iter().filter(is_meant) {
        if !ids.contains(&listed.id) {
            ids.push(listed.id.clone());
        }
    }
    found(ids.into_iter().map(|id| with_files(id, roster)).collect(), || {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
        let is_hex = !wanted.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match () {
            () if is_hex => Missing::TooShort,
            () if wanted.is_empty() || !text.chars().all(is_plain) => Missing::Malformed,
            () => {
                let nearest = near::titles(&wanted, &all, MOST_NEAREST);
                Missing::Unknown(nearest.into_iter().map(|id| with_files(id, roster)).collect())
            }
        }
    })
}

/// A title as two of them are compared: as it is shown, in any case.
fn comparable(title: &str) -> String {
    one_line(title, LONGEST_TITLE).to_lowercase()
}

fn found(mut candidates: Vec<Candidate>, missing: impl FnOnce() -> Missing) -> Found {
    match candidates.len() {
        0 => Found::Nothing(missing()),
        1 => candidates.pop().map_or(Found::Several(Vec::new()), |one| Found::One(Box::new(one))),
        _ => Found::Several(candidates),
    }
}

fn with_files(id: SessionId, roster: &Roster) -> Candidate {
    let whole = IdPrefix::parse(id.as_str()).filter(IdPrefix::is_whole_id);
    let files = whole.map_or(Vec::new(), |id| transcript::matching(&roster.config_dirs, &id));
    let listed = roster.sessions.iter().filter(|listed| listed.id == id).cloned().collect();
    Candidate { id, listed, files }
}

/// One candidate for each id, in the order of first sight.
fn grouped(listed: impl Iterator<Item = Listed>, files: Vec<Session>) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut place = |id: SessionId, candidates: &mut Vec<Candidate>| {
        *places.entry(id.as_str().to_owned()).or_insert_with(|| {
            candidates.push(Candidate { id, listed: Vec::new(), files: Vec::new() });
            candidates.len() - 1
        })
    };
    for listed in listed {
        let at = place(listed.id.clone(), &mut candidates);
        candidates[at].listed.push(listed);
    }
    for file in files {
        if let Some(id) = SessionId::parse(&file.id) {
            let at = place(id, &mut candidates);
            candidates[at].files.push(file);
        }
    }
    candidates
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> { path.canonicalize().ok() };
    real(one).is_some() && real(one) == real(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &Wanted) {
        assert_eq!(wanted(text), *expected, "{text:?}");
    }

    #[test]
    fn a_text_tells_what_it_names() {
        let id = |text| Wanted::Id(IdPrefix::parse(text).unwrap());
        check("%5", &Wanted::Pane(PaneId(5)));
        check("work:2.1", &Wanted::Address);
        check("a:b c:12.0", &Wanted::Address);
        check("23e3", &id("23e3"));
        check("23E30F82", &id("23e30f82"));
        check("/a/23e30f82-0000-4000-8000-000000000001.jsonl", &Wanted::File);
        for title in ["23e", "fix the parser", "%", "%x", "work:2", "work:a.b", "fix: v1.2 (5)", ""]
        {
            check(title, &Wanted::Title);
        }
    }

    #[test]
    fn titles_are_compared_as_they_are_shown() {
        assert_eq!(comparable("  Fix\nthe\u{1b} PARSER "), comparable("fix the parser"));
        assert_ne!(comparable("fix the parser"), comparable("fix the parsers"));
    }
}
