//! How Claude Code is started: what a caller wants is written to a private file, and tmux only
//! learns its path. Nothing from outside reaches tmux's parser, an environment that others can ask
//! tmux for, or a list of processes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::claude;
use crate::text::shown;

const LARGEST: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Launch {
    pub(super) launch_id: String,
    pub(super) session_id: String,
    pub(super) directory: PathBuf,
    /// Which directory that was when the caller was told that it is fine.
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    /// For the next hub, in case this one does not live to stop the session.
    pub(super) tmux_socket: PathBuf,
    pub(super) tmux_session: String,
}

impl Launch {
    pub(super) fn path(dir: &Path, launch: &str) -> PathBuf {
        dir.join(format!("{launch}.json"))
    }

    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(serde_json::to_string(self)?.as_bytes())
    }

    /// Only a plain file that nobody else may read or write is believed.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let found = file.metadata()?;
        let is_own = found.is_file() && found.uid() == rustix::process::geteuid().as_raw();
        if !is_own || found.mode() & 0o077 != 0 {
            bail!("it is not a private file of this user");
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// `cld hub _launch FILE`, in the new pane: becomes Claude Code.
pub(super) fn become_claude(path: &Path) -> Result<()> {
    let launch = Launch::read(path).with_context(|| format!("{} is refused", shown(path)))?;
    enter(&launch)?;
    Err(claude::become_session(
        &launch.program,
        &launch.arguments,
        &launch.environment,
        &launch.directory,
    ))
}

/// Changes to the very directory that was looked at: between then and now, something else may have
/// been put in its place.
fn enter(launch: &Launch) -> Result<()> {
    let name = shown(&launch.directory);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&launch.directory, flags, Mode::empty());
    let dir = File::from(opened.with_context(|| format!("{name} cannot be entered"))?);
    let found = dir.metadata()?;
    if (found.dev(), found.ino()) != (launch.device, launch.inode) {
        bail!("{name} is no longer the directory that was asked for");
    }
    rustix::process::fchdir(&dir).with_context(|| format!("{name} cannot be entered"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn launch(directory: &Path) -> Launch {
        let found = fs::metadata(directory).unwrap();
        Launch {
            launch_id: "l1".to_owned(),
            session_id: "s1".to_owned(),
            directory: directory.to_owned(),
            device: found.dev(),
            inode: found.ino(),
            program: PathBuf::from("/bin/true"),
            arguments: vec!["#(touch x); $(y) 'z'\n".to_owned()],
            environment: BTreeMap::from([("A".to_owned(), "b;".to_owned())]),
            tmux_socket: PathBuf::from("/s"),
            tmux_session: "claude-s1".to_owned(),
        }
    }

    #[test]
    fn a_launch_file_is_private_and_read_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = Launch::path(dir.path(), "l1");
        let launch = launch(dir.path());
        launch.write(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(Launch::read(&path).unwrap(), launch);
        assert!(launch.write(&path).is_err(), "an old file is not written over");
    }

    #[test]
    fn a_launch_file_of_others_or_behind_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = Launch::path(dir.path(), "l1");
        launch(dir.path()).write(&path).unwrap();
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Launch::read(&link).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Launch::read(&path).is_err());
    }

    #[test]
    fn a_directory_that_was_exchanged_is_not_entered() {
        let dir = tempfile::tempdir().unwrap();
        let (asked, other) = (dir.path().join("asked"), dir.path().join("other"));
        fs::create_dir(&asked).unwrap();
        fs::create_dir(&other).unwrap();
        let launch = launch(&asked);
        fs::rename(&asked, dir.path().join("away")).unwrap();
        fs::rename(&other, &asked).unwrap();
        assert!(enter(&launch).unwrap_err().to_string().contains("no longer"));
        fs::remove_dir(&asked).unwrap();
        std::os::unix::fs::symlink(dir.path().join("away"), &asked).unwrap();
        assert!(enter(&launch).is_err(), "not through a link either");
    }
}
