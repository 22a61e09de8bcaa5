//! Finding session files by their names: `<config dir>/projects/<bucket>/<uuid>.jsonl`, nothing
//! deeper.
//!
//! No transcript is opened here. Folders are listed, and only files whose names match are looked at
//! further.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, lstat, open, statat};

const ID_LENGTH: usize = 36;
const FEWEST_DIGITS: usize = 4;

/// With fewer folders to list, a thread costs more than it saves.
const FEWEST_PER_THREAD: usize = 64;
const MOST_THREADS: usize = 4;

/// One session file. The bucket is the name of its folder, usually the slug of the session's
/// directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub bucket: Arc<str>,
    pub config_dir: Arc<Path>,
    pub path: PathBuf,
    pub modified: SystemTime,
    pub size: u64,
}

/// The beginning of a session id, or a whole one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdPrefix(String);

impl IdPrefix {
    /// Takes four or more hex digits in any case, with the dashes of a uuid or with none at all.
    pub fn parse(text: &str) -> Option<Self> {
        let has_dashes = text.contains('-');
        let mut id = String::with_capacity(ID_LENGTH);
        for c in text.chars() {
            if is_dash_place(id.len()) {
                id.push('-');
                if has_dashes && c == '-' {
                    continue;
                }
                if has_dashes {
                    return None;
                }
            }
            if !c.is_ascii_hexdigit() || id.len() >= ID_LENGTH {
                return None;
            }
            id.push(c.to_ascii_lowercase());
        }
        (id.len() >= FEWEST_DIGITS).then_some(Self(id))
    }

    /// Lower case, with dashes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_whole_id(&self) -> bool {
        self.0.len() == ID_LENGTH
    }
}

/// Every session under these config directories, the one changed last first. What cannot be read is
/// left out.
pub fn all(config_dirs: &[PathBuf]) -> Vec<Session> {
    collect(config_dirs, |bucket, found| list(bucket, "", found))
}

/// The sessions whose id starts with `prefix`, the one changed last first. One id may lie in
/// several buckets: all of them are returned. One file that is reached twice, through a symbolic
/// link to a folder, is returned once.
pub fn matching(config_dirs: &[PathBuf], prefix: &IdPrefix) -> Vec<Session> {
    if prefix.is_whole_id() {
        collect(config_dirs, |bucket, found| look_up(bucket, prefix.as_str(), found))
    } else {
        collect(config_dirs, |bucket, found| list(bucket, prefix.as_str(), found))
    }
}

struct Bucket {
    config_dir: Arc<Path>,
    name: Arc<str>,
    path: PathBuf,
}

struct Found {
    session: Session,
    file: (u64, u64),
}

fn collect(
    config_dirs: &[PathBuf],
    gather: impl Fn(&Bucket, &mut Vec<Found>) + Sync,
) -> Vec<Session> {
    let found = in_parallel(&buckets(config_dirs), &gather);
    let mut files = HashSet::with_capacity(found.len());
    let mut sessions: Vec<Session> = found
        .into_iter()
        .filter(|found| files.insert(found.file))
        .map(|found| found.session)
        .collect();
    sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    sessions
}

/// Gathers from every bucket, in their order.
fn in_parallel(
    buckets: &[Bucket],
    gather: &(impl Fn(&Bucket, &mut Vec<Found>) + Sync),
) -> Vec<Found> {
    let gather_from = |buckets: &[Bucket]| {
        let mut found = Vec::new();
        for bucket in buckets {
            gather(bucket, &mut found);
        }
        found
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let share = buckets.len().div_ceil(threads).max(FEWEST_PER_THREAD);
    let (own, others) = buckets.split_at(share.min(buckets.len()));
    thread::scope(|scope| {
        let start = |buckets| {
            let thread = thread::Builder::new().spawn_scoped(scope, move || gather_from(buckets));
            (buckets, thread)
        };
        let started: Vec<_> = others.chunks(share).map(start).collect();
        let mut found = gather_from(own);
        for (buckets, thread) in started {
            // Where no thread can be had, its share is done here.
            let gathered = thread.map(|thread| thread.join().unwrap_or_default());
            found.extend(gathered.unwrap_or_else(|_| gather_from(buckets)));
        }
        found
    })
}

/// Real folders come before linked ones, so that a file reached through both is known by its real
/// place.
fn buckets(config_dirs: &[PathBuf]) -> Vec<Bucket> {
    let mut real = Vec::new();
    let mut linked = Vec::new();
    for config_dir in config_dirs {
        let config_dir: Arc<Path> = Arc::from(config_dir.as_path());
        for entry in entries(&config_dir.join("projects")) {
            let Ok(kind) = entry.file_type() else { continue };
            let bucket = Bucket {
                config_dir: config_dir.clone(),
                name: entry.file_name().to_string_lossy().into(),
                path: entry.path(),
            };
            if kind.is_dir() {
                real.push(bucket);
            } else if kind.is_symlink() {
                linked.push(bucket);
            }
        }
    }
    real.append(&mut linked);
    real
}

/// Thousands of files are looked at, so no more is allocated for each than what is kept of it.
fn list(bucket: &Bucket, prefix: &str, found: &mut Vec<Found>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(mut folder) = open(&bucket.path, flags, Mode::empty()).and_then(Dir::new) else {
        return;
    };
    while let Some(Ok(entry)) = folder.read() {
        let name = entry.file_name();
        let Some(id) = session_id(name.to_bytes()).filter(|id| id.starts_with(prefix)) else {
            continue;
        };
        let Ok(folder) = folder.fd() else { return };
        if let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            found.extend(session(bucket, id, &stat));
        }
    }
}

/// A whole id needs one look per folder instead of the folder's list.
fn look_up(bucket: &Bucket, id: &str, found: &mut Vec<Found>) {
    if let Ok(stat) = lstat(file_of(bucket, id)) {
        found.extend(session(bucket, id, &stat));
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().map_while(Result::ok)
}

#[expect(clippy::unnecessary_cast, reason = "systems have different types for these numbers")]
fn session(bucket: &Bucket, id: &str, stat: &Stat) -> Option<Found> {
    let size = u64::try_from(stat.st_size).ok().filter(|size| *size > 0)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let session = Session {
        id: id.to_owned(),
        bucket: bucket.name.clone(),
        config_dir: bucket.config_dir.clone(),
        path: file_of(bucket, id),
        modified: moment(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        size,
    };
    Some(Found { session, file: (stat.st_dev as u64, stat.st_ino as u64) })
}

/// A time before 1970 is no time of a session.
fn moment(seconds: i64, nanoseconds: i64) -> SystemTime {
    let seconds = u64::try_from(seconds).map_or(Duration::ZERO, Duration::from_secs);
    UNIX_EPOCH + seconds + u64::try_from(nanoseconds).map_or(Duration::ZERO, Duration::from_nanos)
}

fn file_of(bucket: &Bucket, id: &str) -> PathBuf {
    const ENDING: &str = ".jsonl";
    let length = bucket.path.as_os_str().len() + 1 + id.len() + ENDING.len();
    let mut path = PathBuf::with_capacity(length);
    path.push(&bucket.path);
    path.push(id);
    path.as_mut_os_string().push(ENDING);
    path
}

fn session_id(file_name: &[u8]) -> Option<&str> {
    let id = str::from_utf8(file_name).ok()?.strip_suffix(".jsonl")?;
    let is_id = id.len() == ID_LENGTH
        && id.bytes().enumerate().all(|(at, b)| match b {
            b'-' => is_dash_place(at),
            b'0'..=b'9' | b'a'..=b'f' => !is_dash_place(at),
            _ => false,
        });
    is_id.then_some(id)
}

fn is_dash_place(at: usize) -> bool {
    matches!(at, 8 | 13 | 18 | 23)
}

#[cfg(test)]
mod tests {
    use super::{IdPrefix, all, matching};
    use proptest::prelude::proptest;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, UNIX_EPOCH};
    use tempfile::TempDir;

    const FIRST: &str = "23e30f82-0000-4000-8000-00000000000a";
    const SECOND: &str = "23e3ffff-0000-4000-8000-00000000000b";

    struct Tree {
        root: TempDir,
    }

    impl Tree {
        fn new() -> Self {
            Self { root: TempDir::new().unwrap() }
        }

        fn config(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        fn plant(&self, path: &str, content: &str) -> PathBuf {
            let path = self.root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            path
        }
    }

    fn prefix(text: &str) -> IdPrefix {
        IdPrefix::parse(text).unwrap()
    }

    fn paths(sessions: &[super::Session]) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = sessions.iter().map(|session| session.path.clone()).collect();
        paths.sort();
        paths
    }

    fn age(path: &Path, seconds: u64) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    #[track_caller]
    fn check_prefix(text: &str, expected: Option<&str>) {
        assert_eq!(IdPrefix::parse(text).as_ref().map(IdPrefix::as_str), expected, "{text}");
    }

    #[test]
    fn prefixes_are_four_or_more_hex_digits_with_or_without_dashes() {
        check_prefix("23e3", Some("23e3"));
        check_prefix("23E30F82", Some("23e30f82"));
        check_prefix("23e30f82-", Some("23e30f82-"));
        check_prefix("23e30f82-00", Some("23e30f82-00"));
        check_prefix("23e30f8200", Some("23e30f82-00"));
        check_prefix(
            "23E30F82000040008000000000000000",
            Some("23e30f82-0000-4000-8000-000000000000"),
        );
        check_prefix(FIRST, Some(FIRST));
        check_prefix("23e", None);
        check_prefix("", None);
        check_prefix("23e3-0f82", None);
        check_prefix("23e30f8200-00", None);
        check_prefix("23e30f82--00", None);
        check_prefix("23g3", None);
        check_prefix("../../etc", None);
        check_prefix("２３ｅ３", None);
        check_prefix(&format!("{FIRST}0"), None);
        check_prefix(&format!("{FIRST}-"), None);
    }

    proptest! {
        #[test]
        fn every_cut_of_an_id_is_a_prefix_of_it(
            id in "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
            length in 4usize..=36,
        ) {
            let cut = &id[..length];
            assert_eq!(prefix(cut).as_str(), cut);
            assert_eq!(prefix(&cut.to_uppercase()).as_str(), cut);
            assert!(id.starts_with(prefix(&cut.replace('-', "")).as_str()));
        }

        #[test]
        fn any_text_is_a_prefix_or_not_without_harm(text in "[-0-9a-fA-F\\PC]{0,40}") {
            let _ = IdPrefix::parse(&text);
        }
    }

    #[test]
    fn only_session_files_one_level_deep_are_sessions() {
        let tree = Tree::new();
        let expected = tree.plant(&format!("c/projects/-home-u/{FIRST}.jsonl"), "{}\n");
        for other in [
            format!("c/projects/{FIRST}.jsonl"),
            format!("c/projects/-home-u/{FIRST}/subagents/agent-ad2a24918a505dfec.jsonl"),
            format!("c/projects/-home-u/deeper/{SECOND}.jsonl"),
            "c/projects/-home-u/agent-ad2a24918a505dfec.jsonl".to_owned(),
            "c/projects/-home-u/memory/notes.md".to_owned(),
            "c/projects/-home-u/.session-aliases".to_owned(),
            "c/projects/-home-u/sessions-index.json".to_owned(),
            format!("c/projects/-home-u/{}.jsonl", SECOND.to_uppercase()),
            format!("c/projects/-home-u/{SECOND}.json"),
            format!("c/projects/-home-u/{SECOND}.jsonl.bak"),
            format!("c/projects/-home-u/x{SECOND}.jsonl"),
            "c/projects/-home-u/23e3ffff0-000-4000-8000-00000000000b.jsonl".to_owned(),
        ] {
            tree.plant(&other, "{}\n");
        }
        let found = all(&[tree.config("c")]);
        assert_eq!(paths(&found), std::slice::from_ref(&expected));
        assert_eq!((found[0].id.as_str(), &*found[0].bucket, found[0].size), (FIRST, "-home-u", 3));
        assert_eq!(*found[0].config_dir, *tree.config("c"));
        assert_eq!(paths(&matching(&[tree.config("c")], &prefix("23e3"))), [expected]);
    }

    #[test]
    fn empty_files_folders_and_links_named_like_sessions_are_not_sessions() {
        let tree = Tree::new();
        let empty = tree.plant(&format!("c/projects/-a/{FIRST}.jsonl"), "");
        let target = tree.plant("elsewhere", "{}\n");
        symlink(&target, empty.with_file_name(format!("{SECOND}.jsonl"))).unwrap();
        fs::create_dir_all(tree.config(&format!("c/projects/-b/{FIRST}.jsonl"))).unwrap();
        let dirs = [tree.config("c")];
        assert_eq!(all(&dirs), []);
        assert_eq!(matching(&dirs, &prefix("23e3")), []);
        assert_eq!(matching(&dirs, &prefix(FIRST)), []);
        assert_eq!(matching(&dirs, &prefix(SECOND)), []);
    }

    #[test]
    fn a_prefix_finds_its_sessions_in_every_bucket_and_config_dir() {
        let tree = Tree::new();
        let a = tree.plant(&format!("c/projects/-a/{FIRST}.jsonl"), "{}\n");
        let copy = tree.plant(&format!("c/projects/-b/{FIRST}.jsonl"), "{}\n");
        let b = tree.plant(&format!("d/projects/-b/{SECOND}.jsonl"), "{}\n");
        let dirs = [tree.config("c"), tree.config("d"), tree.config("missing")];
        assert_eq!(paths(&matching(&dirs, &prefix("23E3"))), [a.clone(), copy.clone(), b.clone()]);
        assert_eq!(paths(&matching(&dirs, &prefix("23e30f82"))), [a.clone(), copy.clone()]);
        assert_eq!(paths(&matching(&dirs, &prefix(FIRST))), [a, copy]);
        assert_eq!(paths(&matching(&dirs, &prefix(SECOND))), [b]);
        assert_eq!(matching(&dirs, &prefix("ffff")), []);
    }

    #[test]
    fn among_many_folders_none_is_left_out() {
        let tree = Tree::new();
        let mut expected: Vec<PathBuf> = (0..500)
            .map(|number| {
                let id = format!("{number:08x}-0000-4000-8000-00000000000a");
                tree.plant(&format!("c/projects/-p{number}/{id}.jsonl"), "{}\n")
            })
            .collect();
        expected.sort();
        let dirs = [tree.config("c")];
        assert_eq!(paths(&all(&dirs)), expected);
        assert_eq!(paths(&matching(&dirs, &prefix("0000"))), expected);
        assert_eq!(matching(&dirs, &prefix("000001f3-")).len(), 1);
    }

    #[test]
    fn the_session_changed_last_comes_first() {
        let tree = Tree::new();
        let old = tree.plant(&format!("c/projects/-a/{FIRST}.jsonl"), "{}\n");
        let new = tree.plant(&format!("c/projects/-b/{SECOND}.jsonl"), "{}\n");
        age(&old, 1_000);
        age(&new, 2_000);
        let found = all(&[tree.config("c")]);
        assert_eq!(found.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), [SECOND, FIRST]);
        assert_eq!(found[1].modified, UNIX_EPOCH + Duration::from_secs(1_000));
    }

    #[test]
    fn linked_folders_are_followed_and_one_file_is_one_session() {
        let tree = Tree::new();
        let real = tree.plant(&format!("c/projects/-real/{FIRST}.jsonl"), "{}\n");
        let moved = tree.plant(&format!("other-disk/{SECOND}.jsonl"), "{}\n");
        symlink(real.parent().unwrap(), tree.config("c/projects/-alias")).unwrap();
        symlink(moved.parent().unwrap(), tree.config("c/projects/-moved")).unwrap();
        fs::create_dir(tree.config("d")).unwrap();
        symlink(tree.config("c/projects"), tree.config("d/projects")).unwrap();
        let dirs = [tree.config("c"), tree.config("d")];
        let through_link = tree.config(&format!("c/projects/-moved/{SECOND}.jsonl"));
        assert_eq!(paths(&all(&dirs)), [through_link, real.clone()]);
        assert_eq!(paths(&matching(&dirs, &prefix(FIRST))), [real]);
    }

    #[test]
    fn unreadable_folders_are_left_out() {
        let tree = Tree::new();
        let readable = tree.plant(&format!("c/projects/-a/{FIRST}.jsonl"), "{}\n");
        let locked = tree.plant(&format!("c/projects/-b/{SECOND}.jsonl"), "{}\n");
        let folder = locked.parent().unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o000)).unwrap();
        let is_superuser = fs::read_dir(folder).is_ok();
        let found = all(&[tree.config("c")]);
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        let expected = if is_superuser { vec![readable, locked] } else { vec![readable] };
        assert_eq!(paths(&found), expected);
    }
}
