//! The only door to cld's own files: bounded, append-only logs in the state directory.
//!
//! Nobody but the user may read them or choose where they are written: the directory is 0700, the
//! files are 0600, and a link or a pipe planted at their place is refused.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::Deserialize;

/// Events of state, one JSON object a line.
pub const JOURNAL: &str = "journal.jsonl";
/// What every run of the hook did, written with `CLAUDE_TMUX_DEBUG=1`.
pub const DEBUG: &str = "debug.log";

/// The event of the lines that `cld notify` writes.
pub const NOTIFY: &str = "notify";

/// One line of the journal as it is read; what a line does not say is empty. The hook's report and
/// the record of notifications are the writing side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Entry {
    pub at: u64,
    pub event: String,
    pub session: String,
    pub pane: String,
    pub status: String,
    /// The prompt came from a task that ended, and not from a person.
    pub by_machine: bool,
    /// `AGENT.CALL.KIND` of a dialog, or the KIND of a finished turn.
    pub opened: String,
    /// `AGENT.CALL.KIND@MOMENT` of each dialog that a tool event ended.
    pub ended: Vec<String>,
    /// `KIND@MOMENT` of the wait that was notified of, and the channels that did.
    pub about: String,
    pub told: Vec<String>,
    pub failed: BTreeMap<String, String>,
}

impl Entry {
    /// Nothing for a line that is none of the journal's.
    pub fn parse(line: &str) -> Option<Self> {
        let entry: Self = serde_json::from_str(line).ok()?;
        (entry.at > 0 && !entry.event.is_empty()).then_some(entry)
    }
}

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

/// All lines that are kept of a file, the oldest first. What cannot be read is empty.
pub fn read(dir: &Path, name: &str) -> String {
    let path = dir.join(name);
    let read =
        |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let (earlier, latest) = (read(&moved_aside(&path)), read(&path));
    format!("{earlier}{latest}")
}

/// Where a file is moved when it is full.
pub fn moved_aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// A log file, and how much of it has been read. It may not exist yet, and may be moved aside.
#[derive(Debug)]
pub struct Followed {
    path: PathBuf,
    inode: u64,
    offset: u64,
}

impl Followed {
    /// From its beginning on.
    pub fn new(path: PathBuf) -> Self {
        Self { path, inode: 0, offset: 0 }
    }

    /// From here on: what stands in it already is passed over.
    pub fn at_end(path: PathBuf) -> Self {
        let found = fs::metadata(&path).ok();
        let (inode, offset) = found.map_or((0, 0), |found| (found.ino(), found.len()));
        Self { path, inode, offset }
    }

    /// All lines, also of the file that was moved aside before.
    pub fn whole(&mut self) -> Vec<String> {
        let mut lines = match File::open(moved_aside(&self.path)) {
            Ok(file) => read_lines(BufReader::new(file)).0,
            Err(_) => Vec::new(),
        };
        lines.extend(self.new_lines());
        lines
    }

    /// The lines that were written since the last look.
    pub fn new_lines(&mut self) -> Vec<String> {
        self.read_new().unwrap_or_default()
    }

    fn read_new(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let found = fs::metadata(&self.path)?;
        if self.inode != 0 && found.ino() != self.inode {
            // Moved aside since the last look: its last lines come first.
            lines.extend(self.read_from(&moved_aside(&self.path)).unwrap_or_default());
            self.offset = 0;
        }
        self.inode = found.ino();
        if found.len() > self.offset {
            let path = self.path.clone();
            lines.extend(self.read_from(&path)?);
        }
        Ok(lines)
    }

    fn read_from(&mut self, path: &Path) -> io::Result<Vec<String>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let (lines, length) = read_lines(BufReader::new(file));
        self.offset += length;
        Ok(lines)
    }
}

/// Whole lines, and their length in the file; a line still being written stays.
fn read_lines(mut file: BufReader<impl Read>) -> (Vec<String>, u64) {
    let (mut lines, mut length) = (Vec::new(), 0);
    let mut line = Vec::new();
    while matches!(file.read_until(b'\n', &mut line), Ok(1..)) && line.ends_with(b"\n") {
        length += line.len() as u64;
        lines.push(String::from_utf8_lossy(&line).into_owned());
        line.clear();
    }
    (lines, length)
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

/// Makes a directory that nobody else can enter; parents are made as the user usually has them.
pub fn create_private(dir: &Path) -> io::Result<()> {
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
    #[expect(clippy::disallowed_methods, reason = "macOS has no call for it that rustix knows")]
    fn a_planted_link_or_pipe_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join(JOURNAL)).unwrap();
        assert!(append(dir.path(), JOURNAL, "x").is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "");

        let mut mkfifo = std::process::Command::new("mkfifo");
        assert!(mkfifo.arg(dir.path().join(DEBUG)).status().unwrap().success());
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

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_later() {
        let (lines, length) = read_lines(BufReader::new("one\ntw".as_bytes()));
        assert_eq!((lines, length), (vec!["one\n".to_owned()], 4));
    }

    #[test]
    fn a_file_is_followed_from_its_end_and_across_being_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(JOURNAL);
        append(dir.path(), JOURNAL, "old").unwrap();
        let mut followed = Followed::at_end(path.clone());
        assert_eq!(followed.new_lines(), [""; 0]);
        append(dir.path(), JOURNAL, "one").unwrap();
        fs::rename(&path, moved_aside(&path)).unwrap();
        append(dir.path(), JOURNAL, "two").unwrap();
        assert_eq!(followed.new_lines(), ["one\n", "two\n"]);
        assert_eq!(followed.new_lines(), [""; 0]);

        let mut missing = Followed::at_end(dir.path().join("later"));
        append(dir.path(), "later", "first").unwrap();
        assert_eq!(missing.new_lines(), ["first\n"]);
    }
}
