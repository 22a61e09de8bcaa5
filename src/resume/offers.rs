//! What there is instead of a directory that is gone. Nothing of it is a guess that is taken: each
//! offer says why it is made, and a person chooses.

use std::path::{Path, PathBuf};

use crate::git::Worktree;
use crate::projects::Projects;
use crate::text::{one_line, shown};
use crate::transcript::Origin;

use super::place::Place;

const LONGEST_NAME: usize = 80;

#[derive(Debug)]
pub(super) enum Offer {
    /// Make the worktree again, and go to the directory that was in it.
    Worktree(Worktree),
    Go {
        place: Place,
        why: String,
    },
}

impl Offer {
    /// One row of a list.
    pub(super) fn row(&self) -> String {
        match self {
            Self::Worktree(worktree) => {
                format!("make the worktree again: {}", worktree.command_line())
            }
            Self::Go { place, why } => format!("{} ({why})", shown(place.path())),
        }
    }
}

/// What exists of all that could stand in for `gone`, the most likely first and nothing twice.
pub(super) fn instead_of(
    gone: &Path,
    origin: &Origin,
    projects: &Projects,
    current: Option<Place>,
) -> Vec<Offer> {
    let mut offers: Vec<Offer> = worktree(gone, origin).map(Offer::Worktree).into_iter().collect();
    let repositories = projects.of_the_same_repository(gone).map(|(name, dir)| {
        (dir.to_owned(), format!("another checkout of {}", one_line(name, LONGEST_NAME)))
    });
    let names = projects
        .of_the_same_name(gone)
        .map(|dir| (dir.to_owned(), "a project of the same name".to_owned()));
    let parent = parent(gone).map(|dir| (dir, "the nearest parent that exists".to_owned()));
    for (dir, why) in repositories.chain(names).chain(parent) {
        if let Ok(place) = Place::open(&dir) {
            push(&mut offers, place, why);
        }
    }
    if let Some(place) = current {
        push(&mut offers, place, "the current directory".to_owned());
    }
    offers
}

fn push(offers: &mut Vec<Offer>, place: Place, why: String) {
    let is_known = |offer: &Offer| match offer {
        Offer::Go { place: known, .. } => known.is(&place),
        Offer::Worktree(_) => false,
    };
    if !offers.iter().any(is_known) {
        offers.push(Offer::Go { place, why });
    }
}

fn worktree(gone: &Path, origin: &Origin) -> Option<Worktree> {
    let (repository, path) = recorded(gone, origin).or_else(|| made_by_claude(gone))?;
    let recorded = origin.worktree.as_ref().and_then(|worktree| worktree.branch.as_deref());
    Worktree::plan(&repository, &path, recorded.or(origin.branch.as_deref()))
}

/// The repository and the worktree that the transcript names, if that is what is gone.
fn recorded(gone: &Path, origin: &Origin) -> Option<(PathBuf, PathBuf)> {
    let worktree = origin.worktree.as_ref()?;
    let path = PathBuf::from(worktree.path.as_ref()?);
    let is_absolute_and_gone = path.is_absolute() && gone.starts_with(&path) && !path.exists();
    is_absolute_and_gone.then_some((PathBuf::from(worktree.original_cwd.as_ref()?), path))
}

/// Claude Code makes its worktrees in `<repository>/.claude/worktrees/<name>`.
fn made_by_claude(gone: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut worktrees = gone
        .ancestors()
        .filter(|path| path.parent().is_some_and(|parent| parent.ends_with(".claude/worktrees")));
    let path = worktrees.next().filter(|path| !path.exists())?;
    Some((path.ancestors().nth(3)?.to_owned(), path.to_owned()))
}

/// The root directory is nobody's project.
fn parent(gone: &Path) -> Option<PathBuf> {
    let nearest = gone.ancestors().skip(1).find(|dir| dir.is_dir())?;
    nearest.parent().is_some().then(|| nearest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript;

    #[test]
    fn a_worktree_of_claude_names_its_repository() {
        for (gone, expected) in [
            ("/r/p/.claude/worktrees/topic", Some(("/r/p", "/r/p/.claude/worktrees/topic"))),
            ("/r/p/.claude/worktrees/topic/src/x", Some(("/r/p", "/r/p/.claude/worktrees/topic"))),
            ("/r/p/.claude/worktrees", None),
            ("/r/p/worktrees/topic", None),
            ("/", None),
        ] {
            let expected = expected.map(|(r, p)| (PathBuf::from(r), PathBuf::from(p)));
            assert_eq!(made_by_claude(Path::new(gone)), expected, "{gone}");
        }
    }

    #[test]
    fn a_recorded_worktree_counts_only_for_what_was_in_it() {
        let worktree = transcript::Worktree {
            original_cwd: Some("/r/p".to_owned()),
            path: Some("/elsewhere/topic".to_owned()),
            branch: None,
        };
        let origin = Origin { worktree: Some(worktree), ..Origin::default() };
        let expected = (PathBuf::from("/r/p"), PathBuf::from("/elsewhere/topic"));
        let recorded = |gone: &str| recorded(Path::new(gone), &origin);
        assert_eq!(recorded("/elsewhere/topic/sub"), Some(expected));
        assert_eq!(recorded("/elsewhere/topical"), None);
        assert_eq!(recorded("/r/p"), None);
    }

    #[test]
    fn offers_exist_and_none_is_made_twice() {
        let temp = tempfile::tempdir().unwrap();
        let parent = temp.path().join("there");
        std::fs::create_dir(&parent).unwrap();
        let gone = parent.join("gone/deeper");
        let offers = instead_of(
            &gone,
            &Origin::default(),
            &Projects::default(),
            Some(Place::open(&parent).unwrap()),
        );
        let [Offer::Go { place, why }] = offers.as_slice() else { panic!("{offers:?}") };
        assert_eq!((place.path(), why.as_str()), (&*parent, "the nearest parent that exists"));
    }
}
