//! The folder name Claude gives a working directory, and the way back from it.
//!
//! Claude keeps the transcripts of a directory in `projects/<slug>`. The slug loses information:
//! `a-b`, `a_b`, `a.b` and `a/b` share one, so going back needs the disk and may have several
//! answers. [`matching_hints`] asks directories that are already known and touches no disk,
//! [`search`] walks the tree, [`candidates`] does one after the other.
//!
//! Names are compared as they are stored, without Unicode normalization, because Claude does not
//! normalize on Linux either: `é` written as `e` and an accent becomes `e-`. On a system where
//! Claude composes the path first, a directory with a decomposed name on disk is not found here.

use std::path::{Path, PathBuf};

pub use decode::{Budget, Search, search};
pub use encode::encode;

mod allowance;
mod decode;
mod encode;
mod pattern;
mod walk;

/// Every directory that may stand behind `slug`: the hints that match, in their order, then what
/// the disk below `root` holds. `complete` speaks of the disk alone.
pub fn candidates(slug: &str, hints: &[PathBuf], root: &Path, budget: Budget) -> Search {
    let mut found = matching_hints(slug, hints);
    let walked = search(slug, root, budget);
    for dir in walked.found {
        if !found.contains(&dir) {
            found.push(dir);
        }
    }
    Search { found, complete: walked.complete }
}

/// The hints whose slug is `slug`, in the order given, each once. A hint is an absolute path
/// without symlinks, and it is not looked up: a directory that was deleted is still an answer the
/// caller wants to name.
pub fn matching_hints(slug: &str, hints: &[PathBuf]) -> Vec<PathBuf> {
    let mut matching = Vec::new();
    for hint in hints.iter().filter(|hint| hint.is_absolute()).map(|hint| tidy(hint)) {
        if encode(&hint).as_deref() == Some(slug) && !matching.contains(&hint) {
            matching.push(hint);
        }
    }
    matching
}

/// Without doubled and trailing slashes, which would count as characters of the slug.
fn tidy(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests {
    use super::{Budget, candidates, encode, matching_hints};
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};
    use tempfile::TempDir;

    #[track_caller]
    fn check_hints(slug: &str, hints: &[&str], expected: &[&str]) {
        let hints: Vec<PathBuf> = hints.iter().map(PathBuf::from).collect();
        let found = matching_hints(slug, &hints);
        let found: Vec<&str> = found.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(found, expected);
    }

    pub(super) fn budget() -> Budget {
        Budget::until(Instant::now() + Duration::from_secs(60))
    }

    /// A directory of its own, without symlinks in its path, that holds `dirs`.
    pub(super) fn tree(dirs: &[&str]) -> (TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        for dir in dirs {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        (temp, root)
    }

    #[test]
    fn hints_with_the_slug_keep_their_order() {
        check_hints(
            "-x-a-b",
            &["/x/a_b", "/y", "/x/a/b", "/x/a-b"],
            &["/x/a_b", "/x/a/b", "/x/a-b"],
        );
    }

    #[test]
    fn a_hint_given_twice_is_one_answer() {
        check_hints("-x-a", &["/x/a", "/x/a/", "/x//a", "/x/a"], &["/x/a"]);
    }

    #[test]
    fn a_trailing_slash_is_no_part_of_a_hint() {
        check_hints("-x-a", &["/x/a/"], &["/x/a"]);
        check_hints("-x-a-", &["/x/a/"], &[]);
    }

    #[test]
    fn only_absolute_hints_count() {
        check_hints("x-a", &["x/a"], &[]);
        check_hints("-x", &["_x", "-x", ".x"], &[]);
    }

    #[test]
    fn a_hint_need_not_exist_and_may_be_unreadable_text() {
        let broken = PathBuf::from(OsStr::from_bytes(b"/x/\xff"));
        assert_eq!(matching_hints("-x--", &[broken, "/x/?".into()]), [PathBuf::from("/x/?")]);
    }

    #[test]
    fn hints_come_before_finds_and_are_not_repeated() {
        let (_temp, root) = tree(&["a-b", "a_b", "a/b"]);
        let slug = encode(&root.join("a-b")).unwrap();
        let hints = ["other", "a b", "a_b"].map(|name| root.join(name));

        let all = candidates(&slug, &hints, &root, budget());

        assert_eq!(all.found, ["a b", "a_b", "a-b", "a/b"].map(|name| root.join(name)));
        assert!(all.complete);
    }

    #[test]
    fn hints_are_answers_even_when_the_walk_may_not_list_anything() {
        let (_temp, root) = tree(&[]);
        let hint = root.join("a");
        let slug = encode(&hint).unwrap();

        let all = candidates(
            &slug,
            std::slice::from_ref(&hint),
            &root,
            Budget { listings: 0, ..budget() },
        );

        assert_eq!(all.found, [hint]);
        assert!(!all.complete);
    }

    #[test]
    fn the_root_directory_has_a_slug_of_its_own() {
        let all = candidates("-", &[], Path::new("/"), budget());
        assert_eq!(all.found, [PathBuf::from("/")]);
        assert!(all.complete);
    }
}
