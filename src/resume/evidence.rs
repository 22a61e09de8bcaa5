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
        let fits = |dir: &Path| slug::encode(dir).is_some_and(|slug| *slug == *self.session.bucket);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript;
    use std::fs;
    use std::time::UNIX_EPOCH;
    use tempfile::TempDir;

    /// Directories that share a project folder, and a session of that folder.
    struct Shared {
        _temp: TempDir,
        root: PathBuf,
        session: Session,
    }

    impl Shared {
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(temp.path()).unwrap();
            for name in ["a_b", "a-b", "a.b"] {
                fs::create_dir(root.join(name)).unwrap();
            }
            let session = Session {
                id: "23e30f82-0000-4000-8000-000000000001".to_owned(),
                bucket: slug::encode(&root.join("a_b")).unwrap().into(),
                config_dir: root.as_path().into(),
                path: root.join("t.jsonl"),
                modified: UNIX_EPOCH,
                size: 1,
            };
            Self { _temp: temp, root, session }
        }

        fn text(&self, name: &str) -> Option<String> {
            Some(self.root.join(name).to_str().unwrap().to_owned())
        }

        fn witnesses<'a>(&'a self, origin: &'a Origin) -> Witnesses<'a> {
            let session = &self.session;
            let (hints, project_lists) = (Vec::new(), Vec::new());
            Witnesses { session, origin, registry: None, pane: None, hints, project_lists }
        }

        #[track_caller]
        fn check(&self, witnesses: &Witnesses<'_>, name: &str, source: Source) {
            let dir = self.root.join(name);
            assert_eq!(witnesses.belongs(None).home, Home::Known { dir, source });
        }
    }

    #[test]
    fn the_transcript_comes_first_then_whoever_fits_its_folder() {
        let shared = Shared::new();
        let worktree = transcript::Worktree { path: shared.text("a_b"), ..Default::default() };
        let mut origin = Origin {
            bucket_cwd: shared.text("a-b"),
            relocated_cwd: shared.text("a.b"),
            worktree: Some(worktree),
            ..Origin::default()
        };
        shared.check(&shared.witnesses(&origin), "a-b", Source::Transcript);
        origin.bucket_cwd = None;
        shared.check(&shared.witnesses(&origin), "a.b", Source::Relocated);
        origin.relocated_cwd = None;
        let (registry, pane) = (shared.root.join("a-b"), shared.root.join("a.b"));
        let all =
            Witnesses { registry: Some(&registry), pane: Some(&pane), ..shared.witnesses(&origin) };
        shared.check(&all, "a-b", Source::Registry);
        let pane = Witnesses { pane: Some(&pane), ..shared.witnesses(&origin) };
        shared.check(&pane, "a.b", Source::Pane);
        shared.check(&shared.witnesses(&origin), "a_b", Source::Worktree);
    }

    #[test]
    fn who_does_not_fit_the_folder_is_heard_last() {
        let shared = Shared::new();
        let (origin, elsewhere) = (Origin::default(), shared.root.join("elsewhere"));
        let several = Witnesses { pane: Some(&elsewhere), ..shared.witnesses(&origin) };
        assert!(matches!(several.belongs(None).home, Home::Several { source: Source::Disk, .. }));
        for name in ["a_b", "a-b", "a.b"] {
            fs::remove_dir(shared.root.join(name)).unwrap();
        }
        shared.check(&several, "elsewhere", Source::Pane);
        let origin = Origin { first_cwd: shared.text("start"), ..Origin::default() };
        shared.check(&shared.witnesses(&origin), "start", Source::Start);
    }

    #[test]
    fn of_several_on_the_disk_the_current_one_is_named_first() {
        let shared = Shared::new();
        let origin = Origin::default();
        for name in ["a_b", "a-b", "a.b"] {
            let current = Place::open(&shared.root.join(name)).unwrap();
            let home = shared.witnesses(&origin).belongs(Some(&current)).home;
            let Home::Several { dirs, .. } = home else { panic!("{home:?}") };
            assert_eq!((dirs.len(), &*dirs[0]), (3, current.path()));
        }
    }

    #[test]
    fn a_pane_contradicts_only_with_another_directory() {
        let shared = Shared::new();
        let origin = Origin { bucket_cwd: shared.text("a-b"), ..Origin::default() };
        let link = shared.root.join("link");
        std::os::unix::fs::symlink(shared.root.join("a-b"), &link).unwrap();
        let pane_says = |pane: &Path| {
            let witnesses = Witnesses { pane: Some(pane), ..shared.witnesses(&origin) };
            witnesses.belongs(None).pane_says
        };
        assert_eq!(pane_says(&shared.root.join("a-b")), None);
        assert_eq!(pane_says(&link), None);
        let other = shared.root.join("a_b");
        assert_eq!(pane_says(&other), Some(other));
    }
}
