//! The only door to terminals of others: a few bytes written to the device of a pane or of a client,
//! without waiting for long.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};

/// A terminal that was stopped with Ctrl+S takes nothing, for as long as it likes.
const LIMIT: Duration = Duration::from_secs(1);

/// Writes all of it, if the device is a terminal of this user.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = file.metadata()?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if !path.starts_with("/dev") || !found.file_type().is_char_device() || !is_ours {
        return Err(io::Error::other("not a terminal of this user"));
    }
    if !rustix::termios::isatty(&file) {
        return Err(io::Error::other("not a terminal"));
    }
    let deadline = Instant::now() + LIMIT;
    let mut rest = bytes;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(&file, deadline)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait(file: &File, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let timeout = Timespec::try_from(left).ok();
    let mut polled = [PollFd::new(file, PollFlags::OUT)];
    match rustix::event::poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_terminals_are_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [file.as_path(), Path::new("/dev/null"), Path::new("/dev/pts/nobody")] {
            assert!(write(path, b"x").is_err(), "{path:?}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"");
    }
}
