use super::allowance::Allowance;
use super::pattern::Pattern;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A directory on the way, and the offset in the slug at which its entries start.
struct Dir {
    path: PathBuf,
    start: usize,
}

/// Hands every directory at or below `root` whose slug the pattern is to `found`, those with the
/// longest names first.
///
/// A directory has one path, symlinks are not followed, and the path decides which part of the
/// slug is left. So no directory is listed twice, and there is no dead end to remember.
pub(super) fn walk<E: FnMut() -> bool>(
    pattern: &Pattern,
    root: &Path,
    allowance: &mut Allowance<E>,
    mut found: impl FnMut(PathBuf),
) {
    let mut pending: Vec<Dir> = top(pattern, root).into_iter().collect();
    while let Some(dir) = pending.pop() {
        // Before it is listed, which may never end.
        if pattern.is_slug_of(&dir.path) {
            found(dir.path.clone());
        }
        if pattern.goes_on_at(dir.start) {
            let mut inner = children(pattern, &dir, allowance);
            inner.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| b.path.cmp(&a.path)));
            pending.append(&mut inner);
        }
    }
}

fn top(pattern: &Pattern, root: &Path) -> Option<Dir> {
    // The slash of `/` is the separator before its entries, and no name of its own.
    let start = pattern.after(root.to_str()?.trim_end_matches('/'), 0)?;
    is_directory(root).then(|| Dir { path: root.to_owned(), start })
}

/// The subdirectories whose names fit, and only those: a directory may hold very many others.
/// One that cannot be read has none, and neither has any once the allowance is overdrawn; those
/// seen until then still count.
fn children<E: FnMut() -> bool>(
    pattern: &Pattern,
    dir: &Dir,
    allowance: &mut Allowance<E>,
) -> Vec<Dir> {
    if !allowance.take_listing() {
        return Vec::new();
    }
    let entries = match fs::read_dir(&dir.path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return literal_children(pattern, dir, allowance);
        }
        Err(_) => return Vec::new(),
    };
    let mut fitting = Vec::new();
    for entry in entries {
        if !allowance.take_entry() {
            break;
        }
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        let Some(start) = name.to_str().and_then(|name| pattern.after(name, dir.start)) else {
            continue;
        };
        // Asked last: some file systems answer only with another call for each entry.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fitting.push(Dir { path: dir.path.join(name), start });
        }
    }
    fitting
}

/// A directory such as a shared `/home` may be entered but not listed. Names that stand in the
/// slug unchanged can still be asked for.
fn literal_children<E: FnMut() -> bool>(
    pattern: &Pattern,
    dir: &Dir,
    allowance: &mut Allowance<E>,
) -> Vec<Dir> {
    pattern
        .literal_names(dir.start)
        .take_while(|_| allowance.take_entry())
        .map(|(name, start)| Dir { path: dir.path.join(name), start })
        .filter(|inner| is_directory(&inner.path))
        .collect()
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::super::allowance::Allowance;
    use super::super::encode::encode;
    use super::super::pattern::Pattern;
    use super::super::tests::tree;
    use super::super::tidy;
    use super::{Dir, literal_children, walk};
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    const NEVER: fn() -> bool = || false;

    fn plenty() -> Allowance<fn() -> bool> {
        Allowance { listings: 1_000, entries: 1_000_000, expired: NEVER, overdrawn: false }
    }

    /// What the walk below `root` finds for the slug of `root/like`, relative to `root`.
    fn found<E: FnMut() -> bool>(
        root: &Path,
        like: &str,
        allowance: &mut Allowance<E>,
    ) -> Vec<String> {
        let pattern = Pattern::new(&encode(&tidy(&root.join(like))).unwrap()).unwrap();
        let mut found = Vec::new();
        walk(&pattern, root, allowance, |dir| {
            found.push(dir.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        });
        found
    }

    #[track_caller]
    fn check(dirs: &[&str], like: &str, expected: &[&str]) {
        let (_temp, root) = tree(dirs);
        let mut allowance = plenty();
        assert_eq!(found(&root, like, &mut allowance), expected, "{like:?} in {dirs:?}");
        assert!(!allowance.overdrawn);
    }

    /// The walk ends in time with these limits, and does not with one less of either.
    #[track_caller]
    fn check_cost(dirs: &[&str], like: &str, listings: usize, entries: usize) {
        let (_temp, root) = tree(dirs);
        for (listings, entries, overdrawn) in [
            (listings, entries, false),
            (listings - 1, entries, true),
            (listings, entries - 1, true),
        ] {
            let mut allowance = Allowance { listings, entries, ..plenty() };
            found(&root, like, &mut allowance);
            assert_eq!(allowance.overdrawn, overdrawn, "{listings} listings, {entries} entries");
        }
    }

    #[test]
    fn directories_that_share_a_slug_are_all_found_longest_names_first() {
        let dirs = ["a-b", "a/b", "a_b", "a.b", "a b", "a", "b", "a-bc", "a-b-"];
        check(&dirs, "a-b", &["a b", "a-b", "a.b", "a_b", "a/b"]);
        check(&dirs, "a-b-", &["a-b-"]);
        check(&dirs, "a", &["a"]);
        check(&dirs, "c", &[]);
    }

    #[test]
    fn nested_collisions_are_all_found() {
        check(
            &["a-b/c", "a/b-c", "a/b/c", "a-b-c"],
            "a-b-c",
            &["a-b-c", "a-b/c", "a/b-c", "a/b/c"],
        );
    }

    #[test]
    fn a_longer_name_that_leads_nowhere_is_left_again() {
        check(&["a-b", "a/b/c"], "a/b/c", &["a/b/c"]);
        check(&["a-b/x", "a-b-c/x", "a/b/c/d"], "a/b/c/d", &["a/b/c/d"]);
    }

    #[test]
    fn hidden_directories_are_found() {
        check(
            &["repo/.claude/worktrees/two"],
            "repo/.claude/worktrees/two",
            &["repo/.claude/worktrees/two"],
        );
        check(&["x/.a", "x/-a", "x-/a"], "x/.a", &["x-/a", "x/-a", "x/.a"]);
    }

    #[test]
    fn names_of_any_characters_are_found() {
        for name in [
            "$!@#%^&*()--helloworld!+5_4<>x?.foo",
            "two\nlines\n",
            "  spaces  in it ",
            "smile🙂x",
            "👩\u{200d}💻",
            "cafe\u{301}",
            "café",
            "日本",
            "-",
            "-----",
            "--lead",
            "tail-",
            "...",
            "back\\slash",
            "a'b\"c",
        ] {
            check(&[name], name, &[name]);
            let below = format!("{name}/sub");
            check(&[&below], &below, &[&below]);
            let above = format!("sub/{name}");
            check(&[&above], &above, &[&above]);
        }
    }

    #[test]
    fn names_of_dashes_alone_are_split_in_every_way() {
        check(&["--/-", "-/--", "----", "-/-", "---"], "----", &["----", "--/-", "-/--"]);
    }

    #[test]
    fn the_root_itself_may_be_the_answer() {
        check(&["a"], "", &[""]);
    }

    #[test]
    fn a_root_the_slug_does_not_start_with_is_not_listed() {
        let (_temp, root) = tree(&["a"]);
        for slug in ["-other-place-a".to_owned(), format!("{}x", encode(&root).unwrap())] {
            let mut allowance = Allowance { listings: 0, ..plenty() };
            let pattern = Pattern::new(&slug).unwrap();
            walk(&pattern, &root, &mut allowance, |dir| panic!("found {dir:?}"));
            assert!(!allowance.overdrawn);
        }
    }

    #[test]
    fn a_root_that_is_missing_or_no_directory_has_no_answers() {
        let (_temp, root) = tree(&["real/a"]);
        fs::write(root.join("file"), "").unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        for name in ["file", "link", "missing"] {
            assert!(found(&root.join(name), "", &mut plenty()).is_empty(), "{name}");
            assert!(found(&root.join(name), "a", &mut plenty()).is_empty(), "{name}");
        }
    }

    #[test]
    fn files_and_symlinks_are_no_answers_and_no_way() {
        let (_temp, root) = tree(&["real/a", "x"]);
        fs::write(root.join("x_a"), "").unwrap();
        symlink(root.join("real/a"), root.join("x-a")).unwrap();
        symlink(root.join("real/a"), root.join("x/a")).unwrap();
        symlink(root.join("real"), root.join("loop")).unwrap();
        symlink(&root, root.join("real/up")).unwrap();

        assert!(found(&root, "x/a", &mut plenty()).is_empty());
        assert!(found(&root, "loop/a", &mut plenty()).is_empty());
        assert!(found(&root, "real/up/real/a", &mut plenty()).is_empty());
        assert_eq!(found(&root, "real/a", &mut plenty()), ["real/a"]);
    }

    #[test]
    fn names_that_are_not_utf8_are_passed_over() {
        let (_temp, root) = tree(&["a_"]);
        // Some file systems refuse such names, and then there is nothing to pass over.
        let _ = fs::create_dir(root.join(OsStr::from_bytes(b"a\xff")));
        assert_eq!(found(&root, "a-", &mut plenty()), ["a_"]);
    }

    #[test]
    fn a_directory_that_cannot_be_listed_hides_no_other() {
        let (_temp, root) = tree(&["a-b", "a/b/c"]);
        let doomed = root.join("a-b");
        let mut steps = 0;
        let mut allowance = Allowance {
            listings: 1_000,
            entries: 1_000,
            // The first three steps are the listing of the root and its two entries.
            expired: || {
                steps += 1;
                if steps == 4 {
                    fs::remove_dir(&doomed).unwrap();
                }
                false
            },
            overdrawn: false,
        };
        assert_eq!(found(&root, "a-b-c", &mut allowance), ["a/b/c"]);
        assert!(!allowance.overdrawn);
        assert!(!doomed.exists());
    }

    /// Permissions hold nobody up who is root, as tests are where there are only containers.
    fn without_rights_of_root<T: Send>(test: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                #[cfg(target_os = "linux")]
                {
                    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
                    let beyond = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
                    let mut sets = capabilities(None).unwrap();
                    sets.effective.remove(beyond);
                    set_capabilities(None, sets).unwrap();
                }
                test()
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn a_directory_without_any_permission_hides_no_other() {
        let (_temp, root) = tree(&["a-b", "a/b/c"]);
        let closed = root.join("a-b");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let mut allowance = plenty();
        let all = without_rights_of_root(|| found(&root, "a-b-c", &mut allowance));
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(all, ["a/b/c"]);
        assert!(!allowance.overdrawn);
    }

    #[test]
    fn a_directory_that_may_only_be_entered_is_passed_by_literal_names() {
        let (_temp, root) = tree(&["home/u/a_b"]);
        let home = root.join("home");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o311)).unwrap();
        let all = without_rights_of_root(|| found(&root, "home/u/a-b", &mut plenty()));
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(all, ["home/u/a_b"]);
    }

    #[test]
    fn literal_names_are_asked_for_among_real_directories_alone() {
        let (_temp, root) = tree(&["a/b", "a-b", "a_b", "real"]);
        symlink(root.join("real"), root.join("a-b-c")).unwrap();
        let pattern = Pattern::new(&encode(&root.join("a-b-c-d")).unwrap()).unwrap();
        let start = encode(&root).unwrap().len() + 1;
        let dir = Dir { path: root.clone(), start };
        let ask = |entries| {
            let mut allowance = Allowance { entries, ..plenty() };
            let inner = literal_children(&pattern, &dir, &mut allowance);
            let inner: Vec<_> = inner.into_iter().map(|dir| (dir.path, dir.start)).collect();
            (inner, allowance.overdrawn)
        };

        let (a, a_b): ((PathBuf, _), (PathBuf, _)) =
            ((root.join("a"), start + 2), (root.join("a-b"), start + 4));
        assert_eq!(ask(4), (vec![a.clone(), a_b], false));
        assert_eq!(ask(1), (vec![a], true));
    }

    #[test]
    fn only_directories_on_the_way_are_listed() {
        let dirs = ["home/u/work/x", "home/other/work/x", "usr/lib/work", "home/u/play/x"];
        check_cost(&dirs, "home/u/work", 3, 6);
    }

    #[test]
    fn every_directory_on_several_ways_is_listed_once() {
        // root, a-b, a, a/b: each has its own rest of the slug, none is visited again.
        check_cost(&["a-b/x", "a/b/x", "a/b-x"], "a/b/c", 4, 6);
    }

    #[test]
    fn nothing_is_listed_below_an_answer() {
        check_cost(&["a/b/c"], "a", 1, 1);
    }

    #[test]
    fn a_dash_that_ends_the_slug_needs_no_listing_of_the_name_before_it() {
        check_cost(&["a/b", "a_"], "a_", 1, 2);
    }

    #[test]
    fn answers_seen_before_the_allowance_ends_still_count() {
        let (_temp, root) = tree(&["a-b", "a/b"]);
        let mut allowance = Allowance { listings: 1, ..plenty() };
        assert_eq!(found(&root, "a-b", &mut allowance), ["a-b"]);
        assert!(allowance.overdrawn);

        let (_temp, root) = tree(&["a-b", "a_b", "a.b"]);
        let mut allowance = Allowance { entries: 2, ..plenty() };
        assert_eq!(found(&root, "a-b", &mut allowance).len(), 2);
        assert!(allowance.overdrawn);
    }

    #[test]
    fn an_expired_walk_stops_in_the_middle_of_a_directory() {
        let names: Vec<String> = (0..50).map(|number| format!("n{number}")).collect();
        let (_temp, root) = tree(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut steps = 0;
        let mut allowance = Allowance {
            listings: 1_000,
            entries: 1_000,
            expired: || {
                steps += 1;
                steps > 10
            },
            overdrawn: false,
        };
        found(&root, "none", &mut allowance);
        assert!(allowance.overdrawn);
        assert_eq!(steps, 11);
    }
}
