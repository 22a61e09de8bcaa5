//! The only door to cld's own files: bounded, append-only logs in the state directory.
//!
//! Nobody but the user may read them or choose where they are written: the directory is 0700, the
//! files are 0600, and a link or a pipe planted at their place is refused.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Events of state, one JSON object a line.
pub const JOURNAL: &str = "journal.jsonl";
/// What every run of the hook did, written with `CLAUDE_TMUX_DEBUG=1`.
pub const DEBUG: &str = "debug.log";

/// A file that grew beyond this is moved aside, and the one moved aside before is dropped.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Appends one line with a single write, so that lines of many processes never mix.
pub fn append(dir: &Path, name: &str, line: &str) -> io::Result<()> {
    let path = dir.join(name);
    let mut file = match open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private(dir)?;
            open(&path)?
        }
        opened => opened?,
    };
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("not a file of this user"));
    }
    file.write_all(format!("{line}\n").as_bytes())?;
    if found.len() > LARGEST {
        rotate(&file, &path)?;
    }
    Ok(())
}

/// Where a file is moved when it is full.
pub fn moved_aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

fn create_private(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::set_permissions(dir, Permissions::from_mode(0o700))
        }
        created => created,
    }
}

/// The lock and the second look keep two processes from moving two files aside, one over the other.
fn rotate(file: &File, path: &Path) -> io::Result<()> {
    if file.try_lock().is_err() {
        return Ok(());
    }
    let (opened, named) = (file.metadata()?, fs::symlink_metadata(path)?);
    if opened.ino() == named.ino() && opened.dev() == named.dev() {
        fs::rename(path, moved_aside(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn directory_and_files_are_private() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("state/cld");
        append(&dir, JOURNAL, "{}").unwrap();
        assert_eq!((mode(&dir), mode(&dir.join(JOURNAL))), (0o700, 0o600));
        assert_eq!(fs::read_to_string(dir.join(JOURNAL)).unwrap(), "{}\n");
    }

    #[test]
    fn a_planted_link_or_pipe_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join(JOURNAL)).unwrap();
        assert!(append(dir.path(), JOURNAL, "x").is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "");

        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join(DEBUG), mode).unwrap();
        assert!(append(dir.path(), DEBUG, "x").is_err());
    }

    #[test]
    fn a_full_file_is_moved_aside_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(JOURNAL);
        fs::write(&path, vec![b'x'; usize::try_from(LARGEST).unwrap() + 1]).unwrap();
        append(dir.path(), JOURNAL, "last of the old").unwrap();
        append(dir.path(), JOURNAL, "first of the new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first of the new\n");
        assert!(fs::read_to_string(moved_aside(&path)).unwrap().ends_with("last of the old\n"));
    }
}
