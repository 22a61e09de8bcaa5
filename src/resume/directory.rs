//! Where a session belongs, decided from what several sources say. Pure: whoever calls reads the
//! disk, and only as far as the answer is still open.

use std::path::PathBuf;

/// Who says where a session belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The last directory in the transcript that fits the folder the transcript lies in.
    Transcript,
    /// Where `/cd` moved the session.
    Relocated,
    /// Claude Code's list of projects.
    Project,
    /// Claude Code's list of live sessions.
    Registry,
    /// The tmux pane the session ran in.
    Pane,
    /// The git worktree that was made for the session.
    Worktree,
    /// A directory on the disk whose project folder is the one the transcript lies in.
    Disk,
    /// The first directory in a transcript whose folder tells nothing.
    Start,
}

impl Source {
    pub fn words(self) -> &'static str {
        match self {
            Self::Transcript => "the last directory in the transcript that fits its folder",
            Self::Relocated => "where /cd moved the session",
            Self::Project => "a project of Claude Code that fits the transcript's folder",
            Self::Registry => "Claude Code's list of live sessions",
            Self::Pane => "where the session in the pane was started",
            Self::Worktree => "the worktree that was made for the session",
            Self::Disk => "a directory that fits the transcript's folder",
            Self::Start => "the first directory in the transcript",
        }
    }
}

/// What one source says: no directory, one, or several between which it cannot tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    pub source: Source,
    pub dirs: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    Known { dir: PathBuf, source: Source },
    Several { dirs: Vec<PathBuf>, source: Source },
    Unknown,
}

/// The first source that names a directory decides. Where it names several, later ones may choose
/// between them, but not add to them. Votes are drawn only until one directory is left.
pub fn weigh(votes: impl IntoIterator<Item = Vote>) -> Home {
    let mut left: Vec<PathBuf> = Vec::new();
    let mut decided_by = None;
    for Vote { source, dirs } in votes {
        let Some(first) = decided_by else {
            if let [dir] = &*dirs {
                return Home::Known { dir: dir.clone(), source };
            }
            if !dirs.is_empty() {
                (left, decided_by) = (dirs, Some(source));
            }
            continue;
        };
        // Which ones happen to be on the disk is no reason to choose between them.
        if source == Source::Disk {
            continue;
        }
        let chosen: Vec<PathBuf> = left.iter().filter(|dir| dirs.contains(dir)).cloned().collect();
        match <[PathBuf; 1]>::try_from(chosen) {
            Ok([dir]) => return Home::Known { dir, source },
            Err(chosen) if !chosen.is_empty() => (left, decided_by) = (chosen, Some(first)),
            Err(_) => {}
        }
    }
    match decided_by {
        Some(source) => Home::Several { dirs: left, source },
        None => Home::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Source::{Disk, Pane, Project, Registry, Relocated, Start, Transcript};

    fn vote(source: Source, dirs: &[&str]) -> Vote {
        Vote { source, dirs: dirs.iter().map(PathBuf::from).collect() }
    }

    fn known(dir: &str, source: Source) -> Home {
        Home::Known { dir: dir.into(), source }
    }

    #[track_caller]
    fn check(votes: &[(Source, &[&str])], expected: &Home) {
        assert_eq!(weigh(votes.iter().map(|(source, dirs)| vote(*source, dirs))), *expected);
    }

    #[test]
    fn the_first_source_that_says_anything_decides() {
        check(&[(Transcript, &["/a"]), (Relocated, &["/b"])], &known("/a", Transcript));
        check(&[(Transcript, &[]), (Relocated, &["/b"]), (Pane, &["/c"])], &known("/b", Relocated));
        check(&[(Transcript, &[]), (Start, &["/s"])], &known("/s", Start));
        check(&[(Transcript, &[]), (Disk, &[])], &Home::Unknown);
        check(&[], &Home::Unknown);
    }

    #[test]
    fn later_sources_choose_between_several_but_do_not_add() {
        let both: &[&str] = &["/a_b", "/a-b"];
        check(&[(Project, both), (Pane, &["/a-b"])], &known("/a-b", Pane));
        check(&[(Project, both), (Registry, &["/x"]), (Pane, &["/a_b"])], &known("/a_b", Pane));
        let several = |dirs: &[&str]| Home::Several {
            dirs: dirs.iter().map(PathBuf::from).collect(),
            source: Project,
        };
        check(&[(Project, both), (Pane, &["/x"])], &several(both));
        check(
            &[(Project, &["/a", "/b", "/c"]), (Registry, &["/b", "/c", "/d"])],
            &several(&["/b", "/c"]),
        );
    }

    #[test]
    fn being_on_the_disk_is_no_reason_to_choose_one_of_several() {
        check(
            &[(Project, &["/a_b", "/a-b"]), (Disk, &["/a_b"])],
            &Home::Several { dirs: vec!["/a_b".into(), "/a-b".into()], source: Project },
        );
    }

    #[test]
    fn sources_after_the_decision_are_not_asked() {
        let votes = (0..).map(|asked| match asked {
            0 => vote(Transcript, &["/a"]),
            _ => panic!("the decision was made"),
        });
        assert_eq!(weigh(votes), known("/a", Transcript));
    }
}
