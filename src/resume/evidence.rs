//! Asks the sources about a session's directory, one after the other and only as far as the
//! answer is still open: the last ones read large files and walk the disk.

use std::io;
use std::iter::once_with;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::projects::Projects;
use crate::slug::{self, Budget};
use crate::transcript::{Origin, Session};

use super::decision::{Belongs, Standing};
use super::directory::{Home, Source, Vote, weigh};
use super::place::Place;

/// A tree that is not searched by then is on a disk that hangs.
const SEARCH_LIMIT: Duration = Duration::from_secs(3);

/// What is known of a session before its directory is looked for.
#[derive(Debug)]
pub struct Witnesses<'a> {
    pub session: &'a Session,
    pub origin: &'a Origin,
    /// What Claude Code's list of live sessions says.
    pub registry: Option<&'a Path>,
    /// What the pane says that had the session last.
    pub pane: Option<&'a Path>,
    /// Directories of other sessions, which may have the same project folder.
    pub hints: Vec<PathBuf>,
    pub project_lists: Vec<PathBuf>,
}

impl Witnesses<'_> {
    pub fn belongs(&self, current: Option<&Place>) -> Belongs {
        let home = weigh(self.votes(current));
        let (standing, pane_says) = match &home {
            Home::Known { dir, .. } => (standing(dir, current), self.contradicting(dir)),
            Home::Several { .. } | Home::Unknown => (Standing::Elsewhere, None),
        };
        Belongs { home, standing, pane_says }
    }

    pub fn projects(&self) -> Projects {
        Projects::read(&self.project_lists)
    }

    /// Directories that fit the transcript's folder come first, whoever names them: Claude Code
    /// moves the transcript along with the session.
    fn votes(&self, current: Option<&Place>) -> impl Iterator<Item = Vote> {
        let origin = self.origin;
        let worktree = origin.worktree.as_ref().and_then(|worktree| worktree.path.as_deref());
        let said = [
            (Source::Relocated, origin.relocated_cwd.as_deref().map(Path::new)),
            (Source::Registry, self.registry),
            (Source::Pane, self.pane),
            (Source::Worktree, worktree.map(Path::new)),
        ];
        let [relocated, others @ ..] = said;
        let fits = |dir: &Path| slug::encode(dir).is_some_and(|slug| slug == self.session.bucket);
        let fitting =
            move |(source, dir): (Source, Option<&Path>)| vote(source, dir.filter(|dir| fits(dir)));
        let start = (Source::Start, origin.first_cwd.as_deref().map(Path::new));
        let hints = self.hints.iter().cloned();
        let hints = current.map(|place| place.path().to_owned()).into_iter().chain(hints).collect();
        once_with(|| vote(Source::Transcript, origin.bucket_cwd.as_deref().map(Path::new)))
            .chain(once_with(move || fitting(relocated)))
            .chain(once_with(|| Vote {
                source: Source::Project,
                dirs: self.projects().with_slug(&self.session.bucket),
            }))
            .chain(others.into_iter().map(fitting))
            .chain(once_with(|| self.on_the_disk(hints)))
            .chain(said.into_iter().chain([start]).map(|(source, dir)| vote(source, dir)))
    }

    fn on_the_disk(&self, hints: Vec<PathBuf>) -> Vote {
        let hints: Vec<PathBuf> = hints.into_iter().filter(|hint| hint.is_dir()).collect();
        let budget = Budget::until(Instant::now() + SEARCH_LIMIT);
        let search = slug::candidates(&self.session.bucket, &hints, Path::new("/"), budget);
        Vote { source: Source::Disk, dirs: search.found }
    }

    fn contradicting(&self, home: &Path) -> Option<PathBuf> {
        let pane = self.pane.filter(|pane| *pane != home)?;
        let is_same = match (Place::open(pane), Place::open(home)) {
            (Ok(pane), Ok(home)) => pane.is(&home),
            _ => false,
        };
        (!is_same).then(|| pane.to_owned())
    }
}

fn vote(source: Source, dir: Option<&Path>) -> Vote {
    let dir = dir.filter(|dir| dir.is_absolute()).map(Path::to_owned);
    Vote { source, dirs: dir.into_iter().collect() }
}

fn standing(dir: &Path, current: Option<&Place>) -> Standing {
    match Place::open(dir) {
        Ok(place) if current.is_some_and(|current| current.is(&place)) => Standing::Current,
        // What may not be looked at is there; going there will say why it cannot be entered.
        Ok(_) => Standing::Elsewhere,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Standing::Gone,
            _ => Standing::Elsewhere,
        },
    }
}
