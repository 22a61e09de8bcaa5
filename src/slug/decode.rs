use super::allowance::Allowance;
use super::pattern::Pattern;
use super::tidy;
use super::walk::walk;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Instant;

/// The directories a search found. Unless it is `complete`, its budget ran out and there may be
/// more. Directories that may not be read do not make a search incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub found: Vec<PathBuf>,
    pub complete: bool,
}

/// How many directories a search may list, how many entries it may look at in all of them, and
/// until when.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub listings: usize,
    pub entries: usize,
    pub deadline: Instant,
}

impl Budget {
    /// Far above what a usual tree takes, which is a listing for each component of the path.
    pub fn until(deadline: Instant) -> Self {
        Self { listings: 20_000, entries: 2_000_000, deadline }
    }

    fn allowance(self) -> Allowance<impl FnMut() -> bool> {
        Allowance {
            listings: self.listings,
            entries: self.entries,
            expired: move || Instant::now() >= self.deadline,
            overdrawn: false,
        }
    }
}

/// All directories at or below `root` whose slug is `slug`, those with the longest names first.
/// `root` is an absolute path without symlinks, and symlinks below it are not followed.
///
/// The walk runs on a thread of its own, which is left behind at the deadline: a listing on a
/// mount that hangs never returns, and nothing else can end the wait for it.
pub fn search(slug: &str, root: &Path, budget: Budget) -> Search {
    let Some(pattern) = Pattern::new(slug) else {
        return Search { found: Vec::new(), complete: true };
    };
    let root = tidy(root);
    leave_at(budget.deadline, move |sender| {
        let mut allowance = budget.allowance();
        walk(&pattern, &root, &mut allowance, |dir| {
            // Nobody listens any more after the deadline, and the walk then ends by itself.
            let _ = sender.send(dir);
        });
        !allowance.overdrawn
    })
}

/// Runs `walk`, which sends what it finds and says whether it saw everything.
fn leave_at(
    deadline: Instant,
    walk: impl FnOnce(&Sender<PathBuf>) -> bool + Send + 'static,
) -> Search {
    let (sender, receiver) = mpsc::channel();
    let walker = thread::Builder::new().name("slug".to_owned()).spawn(move || walk(&sender));
    let Ok(walker) = walker else {
        return Search { found: Vec::new(), complete: false };
    };
    let (found, ended) = receive(&receiver, deadline);
    Search { found, complete: ended && walker.join().unwrap_or(false) }
}

/// What was sent until the deadline, and whether the sender ended before it.
fn receive(receiver: &Receiver<PathBuf>, deadline: Instant) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(dir) => found.push(dir),
            Err(error) => return (found, error == RecvTimeoutError::Disconnected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::{CUT, encode};
    use super::super::tests::{budget, tree};
    use super::{Budget, leave_at, receive, search, tidy};
    use proptest::collection::vec;
    use proptest::prelude::{
        Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };
    use proptest::sample::{Index, select};
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn a_search_says_that_it_is_complete() {
        let (_temp, root) = tree(&["a-b", "a/b"]);
        let all = search(&encode(&root.join("a-b")).unwrap(), &root, budget());
        assert_eq!(all.found, ["a-b", "a/b"].map(|name| root.join(name)));
        assert!(all.complete);
    }

    #[test]
    fn a_search_says_that_its_budget_ran_out() {
        let (_temp, root) = tree(&["a-b", "a/b"]);
        let slug = encode(&root.join("a-b")).unwrap();
        for short in [Budget { listings: 1, ..budget() }, Budget { entries: 2, ..budget() }] {
            let some = search(&slug, &root, short);
            assert_eq!(some.found, [root.join("a-b")]);
            assert!(!some.complete);
        }
    }

    #[test]
    fn a_search_whose_deadline_has_passed_is_incomplete() {
        let (_temp, root) = tree(&["a"]);
        let slug = encode(&root.join("a")).unwrap();
        assert!(!search(&slug, &root, Budget::until(Instant::now())).complete);
    }

    #[test]
    fn a_budget_ends_at_its_deadline() {
        assert!(budget().allowance().take_listing());
        assert!(!Budget::until(Instant::now()).allowance().take_listing());
    }

    #[test]
    fn a_walk_that_hangs_is_left_behind() {
        let (release, hang) = mpsc::channel::<()>();
        let left = leave_at(Instant::now(), move |_| {
            let _ = hang.recv_timeout(Duration::from_secs(20));
            true
        });
        assert!(!left.complete);
        drop(release);
    }

    #[test]
    fn what_was_found_before_the_deadline_counts() {
        let (sender, receiver) = mpsc::channel();
        sender.send(PathBuf::from("/a")).unwrap();
        assert_eq!(receive(&receiver, Instant::now()), (vec![PathBuf::from("/a")], false));
        drop(sender);
        assert_eq!(receive(&receiver, budget().deadline), (vec![], true));
    }

    #[test]
    fn names_claude_derives_from_no_path_have_no_directory() {
        for slug in ["shorty", "../etc", "-usr/bin", "-..", "", "-é"] {
            let none = search(slug, Path::new("/"), budget());
            assert!(none.found.is_empty(), "{slug:?}");
            assert!(none.complete);
        }
    }

    #[test]
    fn a_slash_after_the_root_changes_nothing() {
        let (_temp, root) = tree(&["a"]);
        let slashed = PathBuf::from(format!("{}/", root.to_str().unwrap()));
        for name in ["", "a"] {
            let dir = tidy(&root.join(name));
            assert_eq!(search(&encode(&dir).unwrap(), &slashed, budget()).found, [dir]);
        }
    }

    #[test]
    fn the_walk_starts_at_the_root_of_the_file_system() {
        let (_temp, root) = tree(&["a_b"]);
        let dir = root.join("a_b");
        let all = search(&encode(&dir).unwrap(), Path::new("/"), budget());
        assert!(all.found.contains(&dir), "{all:?}");
    }

    /// A name that fills the slug of `root/name` up to `length` letters.
    fn filler(root: &Path, length: usize) -> String {
        "f".repeat(length - encode(root).unwrap().len() - 1)
    }

    #[test]
    fn beyond_the_cut_the_hash_decides() {
        // The last names start before the cut, at it, and after it.
        for length in [CUT - 2, CUT - 1, CUT, CUT + 1] {
            let (_temp, root) = tree(&[]);
            let base = root.join(filler(&root, length));
            let dirs = ["a_b", "a-b", "a/b", "a/c", "d/e"].map(|end| base.join(end));
            for dir in &dirs {
                fs::create_dir_all(dir).unwrap();
            }
            for dir in &dirs {
                let one = search(&encode(dir).unwrap(), &root, budget());
                assert_eq!(one.found, std::slice::from_ref(dir));
                assert!(one.complete);
            }
            let none = search(&encode(&base.join("a.b")).unwrap(), &root, budget());
            assert!(none.found.is_empty());
            assert!(none.complete);
        }
    }

    #[test]
    fn paths_with_the_same_hash_are_all_found() {
        let (_temp, root) = tree(&[]);
        let base = root.join(filler(&root, CUT));
        // `Aa` and `BB` weigh the same: 65 * 31 + 97 is 66 * 31 + 66.
        let dirs = ["Aa", "BB", "BC"].map(|end| base.join(end));
        for dir in &dirs {
            fs::create_dir_all(dir).unwrap();
        }
        assert_eq!(search(&encode(&dirs[1]).unwrap(), &root, budget()).found, dirs[..2]);
    }

    #[test]
    fn before_the_cut_only_fitting_names_are_listed() {
        let (_temp, root) = tree(&["other/x", "a/other/x"]);
        let dir = root.join("a").join(filler(&root.join("a"), CUT + 5));
        fs::create_dir(&dir).unwrap();
        // The root, `a`, and the answer itself, which may hold another below it.
        for (listings, complete) in [(3, true), (2, false)] {
            let one = search(&encode(&dir).unwrap(), &root, Budget { listings, ..budget() });
            assert_eq!(one.found, std::slice::from_ref(&dir));
            assert_eq!(one.complete, complete);
        }
    }

    /// Few characters, most of them dashes in a slug, so that many names collide.
    fn name() -> impl Strategy<Value = String> {
        vec(select(vec!['a', 'a', 'b', '-', '-', '_', '.', ' ', '\n', 'é', '🙂']), 1..=3)
            .prop_map(String::from_iter)
            .prop_filter("names of the file system itself", |name| name != "." && name != "..")
    }

    /// The length to which a first directory fills the slug, if there is one. Those near the cut
    /// put the random names on both sides of it.
    fn filled_to() -> impl Strategy<Value = Option<usize>> {
        prop_oneof![Just(None), (CUT - 12..CUT + 2).prop_map(Some)]
    }

    fn with_parents(dir: &Path, root: &Path) -> impl Iterator<Item = PathBuf> {
        dir.ancestors().take_while(move |dir| dir.starts_with(root)).map(Path::to_owned)
    }

    proptest! {
        #[test]
        fn exactly_the_directories_with_the_slug_are_found(
            paths in vec(vec(name(), 1..=5), 1..10),
            links in vec((any::<Index>(), name(), any::<Index>()), 0..4),
            filled_to in filled_to(),
        ) {
            let (_temp, root) = tree(&[]);
            let base = filled_to.map_or(root.clone(), |length| root.join(filler(&root, length)));
            let mut dirs = BTreeSet::new();
            for path in &paths {
                let dir = base.join(path.join("/"));
                fs::create_dir_all(&dir).unwrap();
                dirs.extend(with_parents(&dir, &root));
            }
            let places: Vec<&PathBuf> = dirs.iter().collect();
            let mut asked = dirs.clone();
            for (place, name, target) in &links {
                let link = place.get(&places).join(name);
                if !link.exists() && symlink(target.get(&places), &link).is_ok() {
                    asked.extend([link.join("a"), link]);
                }
            }

            for dir in &asked {
                let slug = encode(dir).unwrap();
                let all = search(&slug, &root, budget());
                let expected: BTreeSet<&PathBuf> =
                    dirs.iter().filter(|dir| encode(dir).unwrap() == slug).collect();
                prop_assert_eq!(all.found.iter().collect::<BTreeSet<_>>(), expected);
                let unique: BTreeSet<&PathBuf> = all.found.iter().collect();
                prop_assert_eq!(unique.len(), all.found.len(), "no directory twice");
                prop_assert!(all.complete);
            }
        }
    }
}
