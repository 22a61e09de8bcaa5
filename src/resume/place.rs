//! A directory as it was when it was shown: held open, so that another one that takes its name
//! before the answer is noticed, however it got there.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};

use crate::text::shown;

#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    dir: OwnedFd,
    identity: (u64, u64),
}

impl Place {
    pub fn open(path: &Path) -> io::Result<Self> {
        // A directory that may be entered need not be readable.
        #[cfg(target_os = "linux")]
        let access = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let access = OFlags::RDONLY;
        let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&dir)?;
        // The fields have other types on other systems.
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
        let identity = (stat.st_dev as u64, stat.st_ino as u64);
        Ok(Self { path: path.to_owned(), dir, identity })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// Makes it the current directory, if its name still leads to it.
    pub fn enter(&self) -> Result<()> {
        let name = shown(&self.path);
        let named = fs::metadata(&self.path).with_context(|| format!("{name} is gone by now"))?;
        if (named.dev(), named.ino()) != self.identity {
            bail!(
                "{name} is another directory now than the one that was shown; nothing was started"
            );
        }
        rustix::process::fchdir(&self.dir).with_context(|| format!("{name} cannot be entered"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_what_it_is_and_not_by_its_name() {
        let temp = tempfile::tempdir().unwrap();
        let (one, two) = (temp.path().join("one"), temp.path().join("two"));
        fs::create_dir(&one).unwrap();
        fs::create_dir(&two).unwrap();
        std::os::unix::fs::symlink(&one, temp.path().join("link")).unwrap();
        let place = Place::open(&one).unwrap();
        assert!(place.is(&Place::open(&temp.path().join("link")).unwrap()));
        assert!(!place.is(&Place::open(&two).unwrap()));
    }

    #[test]
    fn only_directories_are_places() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        assert!(Place::open(&temp.path().join("file")).is_err());
        assert!(Place::open(&temp.path().join("missing")).is_err());
    }

    #[test]
    fn a_place_that_was_swapped_or_removed_is_not_entered() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("dir");
        fs::create_dir(&dir).unwrap();
        let before = std::env::current_dir().unwrap();

        let place = Place::open(&dir).unwrap();
        fs::rename(&dir, temp.path().join("aside")).unwrap();
        assert!(place.enter().unwrap_err().to_string().contains("is gone by now"));
        fs::create_dir(&dir).unwrap();
        assert!(place.enter().unwrap_err().to_string().contains("another directory now"));
        fs::remove_dir(&dir).unwrap();
        std::os::unix::fs::symlink("/", &dir).unwrap();
        assert!(place.enter().unwrap_err().to_string().contains("another directory now"));

        assert_eq!(std::env::current_dir().unwrap(), before);
    }
}
