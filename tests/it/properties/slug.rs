//! Encoding never fails on text, gives the same for what it cannot tell apart, and going back
//! finds a directory that is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cld::slug::{Budget, encode, matching_hints, search};

/// The longest slug: two hundred letters, a dash, and six digits.
const LONGEST: usize = 207;

pub(crate) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path: PathBuf = Path::new("/").join(text).components().collect();
    let slug = encode(&path).expect("text has a slug");
    assert!(slug.len() <= LONGEST, "{slug}");
    assert!(slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{slug}");
    let hints = [path.join("x"), path.clone(), path.clone()];
    assert_eq!(matching_hints(&slug, &hints), [path]);
    // Any text may be asked for, also one that is no slug.
    for hint in matching_hints(text, &hints) {
        assert_eq!(encode(&hint).as_deref(), Some(text));
    }
    check_search(text);
}

/// A small real tree with names that are easily confused: what is found has the slug.
fn check_search(text: &str) {
    let tree = tempfile::tempdir().expect("a temporary directory");
    let root = fs::canonicalize(tree.path()).expect("it was just made");
    for dir in ["a-b/c", "a/b-c", "a/b/c", "a_b", "-/--", "--/-", ".a", "é"] {
        fs::create_dir_all(root.join(dir)).expect("the directory is writable");
    }
    let slug = encode(&root).expect("a plain path") + text;
    let deadline = Instant::now() + Duration::from_secs(60);
    let answer = search(&slug, &root, Budget { listings: 100, entries: 1000, deadline });
    assert!(answer.complete, "{slug}");
    for dir in answer.found {
        assert_eq!(encode(&dir), Some(slug.clone()), "{dir:?}");
    }
}
