//! Replacing a file of the user so that at any moment it is the old one or the new one, whole.
//!
//! The new text is written to a file beside it and takes the old one's place in one step, with the
//! same mode and owner. Before that, the old one is copied to `NAME.cld-backup-TIME`; the last five
//! of these are kept. Links are followed, and the file they lead to is replaced.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::clock;
use crate::session::Moment;

/// How often a file may be changed by somebody else before cld gives up.
const ATTEMPTS: usize = 3;

/// Claude Code empties its file before it writes, so a reader may see half of one.
const SETTLING: Duration = Duration::from_millis(60);

const N_BACKUPS: usize = 5;

/// What an edit makes of a file; nothing stands for no file.
pub(super) type Bytes = Option<Vec<u8>>;

/// A file as it is, and as an edit would have it.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) real: PathBuf,
    pub(super) old: Bytes,
    pub(super) new: Bytes,
}

/// What is left of the old file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    Backup,
    Nothing,
}

#[derive(Debug)]
pub(super) struct Written {
    pub(super) real: PathBuf,
    pub(super) backup: Option<PathBuf>,
}

/// Reads a file and applies the edit, without writing anything.
pub(super) fn plan(path: &Path, edit: &dyn Fn(Option<&[u8]>) -> Result<Bytes>) -> Result<Planned> {
    let real = resolve(path).with_context(|| format!("cannot follow {}", path.display()))?;
    if real != path && !real.parent().is_some_and(Path::is_dir) {
        bail!("{} is a link to {}, whose directory does not exist", path.display(), real.display());
    }
    let mut old = read(&real)?;
    let mut edited = edit(old.as_deref());
    if edited.is_err() {
        thread::sleep(SETTLING);
        let second = read(&real)?;
        if second != old {
            edited = edit(second.as_deref());
            old = second;
        }
    }
    let new = edited.with_context(|| format!("{} is left as it is", real.display()))?;
    Ok(Planned { real, old, new })
}

/// Applies the edit to the file as it is now, and again if somebody else changes it meanwhile;
/// nothing is returned when there was nothing to change.
pub(super) fn update(
    path: &Path,
    now: Moment,
    keeping: Keeping,
    edit: &dyn Fn(Option<&[u8]>) -> Result<Bytes>,
) -> Result<Option<Written>> {
    for _ in 0..ATTEMPTS {
        let planned = plan(path, edit)?;
        if planned.new == planned.old {
            return Ok(None);
        }
        let real = planned.real.clone();
        let replaced = replace(&planned, now, keeping)
            .with_context(|| format!("cannot write {}, it is as it was", real.display()))?;
        if let Replaced::Done(backup) = replaced {
            return Ok(Some(Written { real, backup }));
        }
    }
    bail!("{} was changed by another program {ATTEMPTS} times, try again", path.display())
}

enum Replaced {
    Done(Option<PathBuf>),
    /// Somebody else was faster; the file is theirs.
    ChangedMeanwhile,
}

fn replace(planned: &Planned, now: Moment, keeping: Keeping) -> io::Result<Replaced> {
    let Planned { real, old, new } = planned;
    let staged = Staged::new(real, now);
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (Some(old), None) => return take_away(real, old, staged),
        (None, None) => return Ok(Replaced::Done(None)),
        (None, Some(new)) => {
            if let Some(dir) = real.parent() {
                fs::create_dir_all(dir)?;
            }
            staged.write(new, None)?;
            return put_first(real, &staged);
        }
    };
    let like = match fs::metadata(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Replaced::ChangedMeanwhile);
        }
        found => found?,
    };
    if like.mode() & 0o222 == 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    staged.write(new, Some(&like))?;
    let backup = (keeping == Keeping::Backup).then(|| Staged::backup(real, now));
    if let Some(backup) = &backup {
        backup.write(old, Some(&like))?;
    }
    if fs::read(real).ok().as_ref() != Some(old)
        || !exchange(real, old, new, staged, || thread::sleep(SETTLING))?
    {
        return Ok(Replaced::ChangedMeanwhile);
    }
    let backup = backup.map(Staged::keep);
    sync_dir(real);
    tidy(real, now);
    Ok(Replaced::Done(backup))
}

fn put_first(real: &Path, staged: &Staged) -> io::Result<Replaced> {
    match rename(&staged.path, real, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(Replaced::ChangedMeanwhile),
        Err(error) if is_unsupported(error) => fs::rename(&staged.path, real)?,
        Err(error) => return Err(error.into()),
    }
    sync_dir(real);
    Ok(Replaced::Done(None))
}

/// Puts the staged file in the place of the old one by exchanging the two, which shows what was
/// really replaced. True when that was the old one and it stayed as it was until everything had
/// settled, since a program that had it open before may write to it still; else the other's file
/// is back in its place.
fn exchange(
    real: &Path,
    old: &[u8],
    new: &[u8],
    staged: Staged,
    settle: impl Fn(),
) -> io::Result<bool> {
    match rename(&staged.path, real, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        Err(error) if is_unsupported(error) => {
            fs::rename(&staged.path, real)?;
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    }
    let mut put = Some(new.to_owned());
    let mut taken = fs::read(&staged.path).ok();
    if taken.as_deref() == Some(old) {
        settle();
        taken = fs::read(&staged.path).ok();
    }
    if taken.as_deref() == Some(old) {
        return Ok(true);
    }
    // Given back until nothing newer than what was put there comes out.
    loop {
        if let Err(error) = rename(&staged.path, real, RenameFlags::EXCHANGE) {
            let theirs = staged.keep();
            let problem = format!("what another program wrote is in {}", theirs.display());
            return Err(io::Error::new(io::Error::from(error).kind(), problem));
        }
        let out = fs::read(&staged.path).ok();
        if out == put {
            return Ok(false);
        }
        (put, taken) = (taken, out);
    }
}

/// Removes a file that only cld wrote, by moving it aside first to see what is removed.
fn take_away(real: &Path, old: &[u8], staged: Staged) -> io::Result<Replaced> {
    match fs::rename(real, &staged.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Replaced::ChangedMeanwhile);
        }
        moved => moved?,
    }
    if fs::read(&staged.path).ok().as_deref() != Some(old) {
        match rename(&staged.path, real, RenameFlags::NOREPLACE) {
            // Where there is a new file by now, the one taken is out of date.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(_) => fs::rename(&staged.path, real)?,
        }
        return Ok(Replaced::ChangedMeanwhile);
    }
    drop(staged);
    sync_dir(real);
    if let Some(dir) = real.parent() {
        // Succeeds only if nothing else is in it.
        let _ = fs::remove_dir(dir);
    }
    Ok(Replaced::Done(None))
}

/// A file beside the real one that is removed again unless it is kept.
struct Staged {
    path: PathBuf,
}

impl Staged {
    fn new(real: &Path, now: Moment) -> Self {
        let mut name = staged_prefix(real);
        name.push(format!("{}-{}", std::process::id(), now.micros()));
        Self { path: real.with_file_name(name) }
    }

    fn backup(real: &Path, now: Moment) -> Self {
        let time = clock::utc(now).replace(['-', ':'], "");
        let mut name = backup_prefix(real);
        name.push(time);
        Self { path: real.with_file_name(name) }
    }

    /// Writes the bytes to the disk, with mode and owner of another file where there is one.
    fn write(&self, bytes: &[u8], like: Option<&fs::Metadata>) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if like.is_some() { 0o600 } else { 0o666 };
        let mut file = File::from(rustix::fs::open(&self.path, flags, Mode::from_raw_mode(mode))?);
        file.write_all(bytes)?;
        if let Some(like) = like {
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
                std::os::unix::fs::fchown(&file, Some(like.uid()), Some(like.gid()))?;
            }
            file.set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
        }
        file.sync_all()
    }

    fn keep(mut self) -> PathBuf {
        std::mem::take(&mut self.path)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file at the end of the links, whether it exists or not.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut real = path.to_owned();
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&real) else { return Ok(real) };
        real = real.with_file_name("").join(target);
    }
    Err(Errno::LOOP.into())
}

fn read(real: &Path) -> Result<Bytes> {
    match fs::metadata(real) {
        Ok(metadata) if !metadata.is_file() => bail!("{} is not a file", real.display()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", real.display())),
    }
    Ok(Some(fs::read(real).with_context(|| format!("cannot read {}", real.display()))?))
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Result<(), Errno> {
    rustix::fs::renameat_with(CWD, from, CWD, to, flags)
}

/// Some file systems only know the plain rename.
fn is_unsupported(error: Errno) -> bool {
    // The last two are one on Linux, and two on macOS.
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&error)
}

/// Makes the new name last through a power failure. The file is in place whatever this says.
fn sync_dir(real: &Path) {
    let dir = real.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
}

fn backup_prefix(real: &Path) -> OsString {
    let mut prefix = real.file_name().unwrap_or_default().to_owned();
    prefix.push(".cld-backup-");
    prefix
}

fn staged_prefix(real: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(real.file_name().unwrap_or_default());
    prefix.push(".cld-");
    prefix
}

/// Drops all but the newest backups, and what a killed run left behind an hour ago or earlier.
fn tidy(real: &Path, now: Moment) {
    let mut backups = siblings(real, &backup_prefix(real));
    backups.sort();
    let surplus = backups.len().saturating_sub(N_BACKUPS);
    let is_left_over = |name: &OsString| {
        let written = name.to_str().and_then(|name| name.rsplit('-').next()?.parse::<u64>().ok());
        written.is_some_and(|micros| micros + 3_600_000_000 < now.micros())
    };
    let left_over = siblings(real, &staged_prefix(real)).into_iter().filter(is_left_over);
    for name in backups.into_iter().take(surplus).chain(left_over) {
        let _ = fs::remove_file(real.with_file_name(name));
    }
}

fn siblings(real: &Path, prefix: &OsString) -> Vec<OsString> {
    let entries = real.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten();
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.filter(|name| name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn later(seconds: u64) -> Moment {
        Moment::from_micros(1_794_973_885_217_063 + seconds * 1_000_000)
    }

    fn now() -> Moment {
        later(0)
    }

    fn append(old: Option<&[u8]>) -> Result<Bytes> {
        Ok(Some([old.unwrap_or_default(), b"+"].concat()))
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    fn names(dir: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(dir.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_file_is_kept_beside_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "a").unwrap();
        let written = update(&path, now(), Keeping::Backup, &append).unwrap().unwrap();
        assert_eq!(text(&path), "a+");
        assert_eq!(text(&written.backup.unwrap()), "a");
        assert_eq!(names(&dir), ["s.json", "s.json.cld-backup-20261118T035125.217Z"]);
    }

    #[test]
    fn the_last_five_backups_are_kept_and_old_leavings_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(dir.path().join(".s.json.cld-77-1794973885217063"), "left by a killed run")
            .unwrap();
        fs::write(dir.path().join("t.json.cld-backup-1"), "of another file").unwrap();
        for round in 0..8 {
            update(&path, later(round * 1000), Keeping::Backup, &append).unwrap();
        }
        assert_eq!(text(&path), "++++++++");
        let backups = siblings(&path, &backup_prefix(&path));
        let mut kept: Vec<String> =
            backups.iter().map(|name| text(&path.with_file_name(name))).collect();
        kept.sort();
        assert_eq!(kept, ["+++", "++++", "+++++", "++++++", "+++++++"]);
        assert_eq!(names(&dir).len(), 7, "{:?}", names(&dir));
    }

    #[test]
    fn links_are_followed_and_stay_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dotfiles")).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        let (real, path) = (dir.path().join("dotfiles/s.json"), dir.path().join("home/s.json"));
        symlink("../dotfiles/s.json", dir.path().join("home/t.json")).unwrap();
        symlink(dir.path().join("home/t.json"), &path).unwrap();

        update(&path, now(), Keeping::Backup, &append).unwrap();
        assert_eq!(text(&real), "+", "a link to nothing is followed as well");
        update(&path, now(), Keeping::Backup, &append).unwrap();
        assert_eq!(text(&real), "++");
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path().join("home")).unwrap().count(), 2);
        update(&path, now(), Keeping::Backup, &|_| Ok(None)).unwrap();
        assert!(!real.exists() && fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn links_in_a_circle_or_into_nowhere_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        assert!(update(&dir.path().join("a"), now(), Keeping::Backup, &append).is_err());
        symlink("not/there", dir.path().join("c")).unwrap();
        let error = update(&dir.path().join("c"), now(), Keeping::Backup, &append).unwrap_err();
        assert!(error.to_string().contains("whose directory does not exist"), "{error}");
        assert!(
            update(dir.path(), now(), Keeping::Backup, &append)
                .unwrap_err()
                .to_string()
                .contains("not a file")
        );
    }

    #[test]
    fn mode_and_owner_stay_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "a").unwrap();
        for mode in [0o600, 0o640, 0o644] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let before = fs::metadata(&path).unwrap();
            let written =
                update(&path, later(u64::from(mode)), Keeping::Backup, &append).unwrap().unwrap();
            for file in [&path, &written.backup.unwrap()] {
                let found = fs::metadata(file).unwrap();
                assert_eq!(found.mode() & 0o7777, mode, "{}", file.display());
                assert_eq!((found.uid(), found.gid()), (before.uid(), before.gid()));
            }
        }
    }

    #[test]
    fn a_read_only_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "a").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        let error = update(&path, now(), Keeping::Backup, &append).unwrap_err();
        assert!(format!("{error:#}").contains("the file is read-only"), "{error:#}");
        assert_eq!((text(&path), names(&dir)), ("a".to_owned(), vec!["s.json".to_owned()]));
    }

    #[test]
    fn an_edit_that_changes_nothing_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        assert!(update(&path, now(), Keeping::Backup, &|_| Ok(None)).unwrap().is_none());
        fs::write(&path, "a").unwrap();
        let written =
            update(&path, now(), Keeping::Backup, &|old| Ok(old.map(<[u8]>::to_vec))).unwrap();
        assert!(written.is_none());
        assert_eq!(names(&dir), ["s.json"]);
    }

    #[test]
    fn a_file_and_a_directory_of_our_own_come_and_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/s.json");
        assert_eq!(update(&path, now(), Keeping::Backup, &append).unwrap().unwrap().backup, None);
        assert_eq!(text(&path), "+");
        assert!(update(&path, now(), Keeping::Backup, &|_| Ok(None)).unwrap().is_some());
        assert!(names(&dir).is_empty());
    }

    #[test]
    fn what_another_program_writes_meanwhile_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        for (time, before, meanwhile, after) in
            [(1, Some("a"), Some("b"), "b+"), (2, None, Some("b"), "b+"), (3, Some("a"), None, "+")]
        {
            let _ = fs::remove_file(&path);
            if let Some(text) = before {
                fs::write(&path, text).unwrap();
            }
            let calls = Cell::new(0);
            let edit = |old: Option<&[u8]>| {
                if calls.replace(calls.get() + 1) == 0 {
                    meanwhile
                        .map_or_else(|| fs::remove_file(&path), |text| fs::write(&path, text))?;
                }
                append(old)
            };
            update(&path, later(time), Keeping::Backup, &edit).unwrap().unwrap();
            assert_eq!((calls.get(), text(&path).as_str()), (2, after));
        }
    }

    #[test]
    fn a_file_that_changes_all_the_time_is_given_up_and_left_to_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        let calls = Cell::new(0);
        let edit = |old: Option<&[u8]>| {
            calls.set(calls.get() + 1);
            fs::write(&path, format!("theirs {}", calls.get()))?;
            append(old)
        };
        let error = update(&path, now(), Keeping::Backup, &edit).unwrap_err();
        assert!(error.to_string().contains("changed by another program"), "{error}");
        assert_eq!((text(&path).as_str(), names(&dir)), ("theirs 3", vec!["s.json".to_owned()]));
    }

    #[test]
    fn half_a_file_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "{").unwrap();
        let edit = |old: Option<&[u8]>| match old {
            Some(b"{}") => append(old),
            _ => {
                fs::write(&path, "{}")?;
                bail!("half a file")
            }
        };
        update(&path, now(), Keeping::Backup, &edit).unwrap();
        assert_eq!(text(&path), "{}+");
    }

    #[test]
    fn what_was_taken_by_mistake_is_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "theirs").unwrap();
        let staged = Staged::new(&path, now());
        staged.write(b"ours", None).unwrap();
        assert!(!exchange(&path, b"as it was read", b"ours", staged, || {}).unwrap());
        assert_eq!((text(&path).as_str(), names(&dir)), ("theirs", vec!["s.json".to_owned()]));

        let taken = take_away(&path, b"as it was read", Staged::new(&path, now())).unwrap();
        assert!(matches!(taken, Replaced::ChangedMeanwhile));
        assert_eq!((text(&path).as_str(), names(&dir)), ("theirs", vec!["s.json".to_owned()]));
    }

    #[test]
    fn what_is_written_through_a_file_opened_before_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "a").unwrap();
        let theirs = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let staged = Staged::new(&path, now());
        staged.write(b"ours", None).unwrap();
        let write_late = || {
            assert_eq!(text(&path), "ours", "the exchange is over");
            (&theirs).write_all(b"theirs").unwrap();
        };
        assert!(!exchange(&path, b"a", b"ours", staged, write_late).unwrap());
        assert_eq!((text(&path).as_str(), names(&dir)), ("theirs", vec!["s.json".to_owned()]));
    }
}
