//! Every event on the disk, so that it survives the death of the hub and is there for readers that
//! come late.
//!
//! One line per event, appended with one write, in files that are begun anew by every start and
//! when they are full. Nothing is synced: a line survives whatever happens to the hub, but not
//! necessarily a power cut.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::session::Moment;

use super::store::{Id, Key, Kind, Scope};

/// Files are deleted whole, the oldest first, so they are not too large.
const SEGMENT: u64 = 64 * 1024 * 1024;
const KEPT_BYTES: u64 = 1024 * 1024 * 1024;
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);
/// Where little happens, a file would never be full, and so never be too old.
const SEGMENT_TIME: u64 = 24 * 3600;
/// More than this of one event is not held in memory for a reader, who may be slow.
const LARGE: usize = 64 * 1024;
/// What stands before the payload is shorter.
const LONGEST_HEAD: usize = 512;

#[derive(Debug)]
pub(super) struct Spool {
    dir: PathBuf,
    boot: String,
    segment: Option<Segment>,
}

#[derive(Debug)]
struct Segment {
    file: File,
    length: u64,
    since: Moment,
}

impl Spool {
    /// Opens the directory, which must be private already, and drops what is too old.
    pub(super) fn open(dir: PathBuf, boot: &str, now: Moment) -> io::Result<Self> {
        for (_, path) in segments(&dir) {
            drop_torn_end(&path)?;
        }
        clean(&dir, now);
        Ok(Self { dir, boot: boot.to_owned(), segment: None })
    }

    /// A line that could not be written whole is taken back, so that the next one is not torn too.
    pub(super) fn append(
        &mut self,
        seq: u64,
        at: Moment,
        kind: Kind,
        key: &Key,
        payload: &str,
    ) -> io::Result<()> {
        let line = line(&self.boot, seq, at, kind, key, payload);
        let is_full = |segment: &Segment| {
            segment.length >= SEGMENT || at.seconds_since(segment.since) >= SEGMENT_TIME
        };
        if self.segment.as_ref().is_some_and(is_full) {
            self.segment = None;
            clean(&self.dir, at);
        }
        let segment = match &mut self.segment {
            Some(segment) => segment,
            None => {
                let file = create(&self.dir.join(name(&self.boot, seq)))?;
                self.segment.insert(Segment { file, length: 0, since: at })
            }
        };
        if let Err(error) = segment.file.write_all(line.as_bytes()) {
            let _ = segment.file.set_len(segment.length);
            let _ = segment.file.seek(SeekFrom::End(0));
            return Err(error);
        }
        segment.length += line.len() as u64;
        Ok(())
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// One event of the spool.
#[derive(Debug)]
pub(super) struct Spooled {
    pub(super) id: Id,
    pub(super) at: Moment,
    pub(super) kind: Kind,
    pub(super) payload: Payload,
}

#[derive(Debug)]
pub(super) enum Payload {
    Here(String),
    /// Too large to be held for somebody who may not read it.
    OnDisk(Section),
}

impl Payload {
    /// The payload as a whole; nothing when the disk does not give it back.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Here(text) => Some(text),
            Self::OnDisk(section) => {
                let length = usize::try_from(section.length).ok()?;
                String::from_utf8(section.read(0, length).ok()?).ok()
            }
        }
    }
}

/// A payload of one line where it stands in a file. The file can be read even when it was deleted.
#[derive(Debug)]
pub(super) struct Section {
    file: Arc<File>,
    start: u64,
    pub(super) length: u64,
}

impl Section {
    /// At most `most` bytes from `from` on, and fewer only at the end.
    pub(super) fn read(&self, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let left = self.length.saturating_sub(from);
        let mut piece = vec![0; usize::try_from(left).unwrap_or(most).min(most)];
        self.file.read_exact_at(&mut piece, self.start + from)?;
        Ok(piece)
    }
}

/// Goes through the spool from one event to another.
#[derive(Debug)]
pub(super) struct Reader {
    /// The files that are still to be read, the next one last.
    left: Vec<PathBuf>,
    file: Option<Opened>,
    after: Id,
    through: Id,
    scope: Scope,
}

impl Reader {
    pub(super) fn new(dir: &Path, after: Id, through: Id, scope: Scope) -> Self {
        let segments = segments(dir);
        // A file holds what comes before the first event of the next one.
        let first = segments.iter().rposition(|(first, _)| *first <= after).unwrap_or(0);
        let wanted = segments[first..].iter().filter(|(first, _)| *first <= through);
        let left = wanted.map(|(_, path)| path.clone()).rev().collect();
        Self { left, file: None, after, through, scope }
    }

    /// The next events, about as many as fit into `limit` bytes; none at the end.
    pub(super) fn next_batch(&mut self, limit: usize) -> Vec<Spooled> {
        let (mut batch, mut length) = (Vec::new(), 0);
        let mut line = Vec::new();
        while length < limit {
            let Some(file) = &mut self.file else {
                let Some(path) = self.left.pop() else { break };
                self.file = Opened::new(&path);
                continue;
            };
            let Some(whole) = file.read_line(&mut line) else {
                self.file = None;
                continue;
            };
            let Some(head) = Head::parse(&line) else { continue };
            if head.id > self.through {
                (self.left, self.file) = (Vec::new(), None);
                break;
            }
            if head.id > self.after && self.scope.holds(head.key) {
                length += line.len();
                batch.extend(head.event(&line, whole));
            }
        }
        batch
    }
}

#[derive(Debug)]
struct Opened {
    reader: BufReader<Arc<File>>,
    file: Arc<File>,
    /// Where the next line begins.
    next: u64,
}

impl Opened {
    fn new(path: &Path) -> Option<Self> {
        let file = Arc::new(File::open(path).ok()?);
        let reader = BufReader::with_capacity(LARGE, Arc::clone(&file));
        Some(Self { reader, file, next: 0 })
    }

    /// Reads the next line, of a large one only the beginning, and tells where all of it stands;
    /// nothing where no whole line follows.
    fn read_line(&mut self, line: &mut Vec<u8>) -> Option<Section> {
        line.clear();
        let start = self.next;
        loop {
            let piece = self.reader.fill_buf().ok().filter(|piece| !piece.is_empty())?;
            let end = memchr::memchr(b'\n', piece).map(|end| end + 1);
            let used = end.unwrap_or(piece.len());
            let kept = used.min(LARGE.saturating_sub(line.len()));
            line.extend_from_slice(&piece[..kept]);
            self.reader.consume(used);
            self.next += used as u64;
            if end.is_some() {
                let file = Arc::clone(&self.file);
                return Some(Section { file, start, length: self.next - start });
            }
        }
    }
}

/// Everything before the payload is written by us, and has no character that needs an escape.
struct Head<'a> {
    id: Id,
    at: Moment,
    kind: Kind,
    key: &'a str,
    /// The payload stands there as it came, and not as a string.
    is_raw: bool,
    length: usize,
}

impl<'a> Head<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = &line[..line.len().min(LONGEST_HEAD)];
        // The cut may go through a character of the payload.
        let valid = str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len);
        let line = str::from_utf8(&line[..valid]).ok()?;
        let (id, rest) = line.strip_prefix("{\"id\":\"")?.split_once("\",\"at\":")?;
        let (at, rest) = rest.split_once(",\"kind\":\"")?;
        let at = Moment::from_micros(at.parse().ok()?);
        let (kind, rest) = rest.split_once("\",\"key\":\"")?;
        let (key, rest) = rest.split_once("\",\"")?;
        let (form, rest) = rest.split_once("\":")?;
        let is_raw = match form {
            "raw" => true,
            "text" => false,
            _ => return None,
        };
        let length = line.len() - rest.len();
        Some(Self { id: Id::parse(id)?, at, kind: Kind::parse(kind)?, key, is_raw, length })
    }

    /// The event of a line that may be too large to be here as a whole.
    fn event(&self, line: &[u8], whole: Section) -> Option<Spooled> {
        let is_here = line.len() as u64 == whole.length;
        let behind = END.len() as u64;
        let section = Section {
            start: whole.start + self.length as u64,
            length: whole.length.checked_sub(self.length as u64 + behind)?,
            file: whole.file,
        };
        let payload = match is_here {
            true => {
                let text = line.strip_suffix(END)?.get(self.length..)?;
                Payload::Here(str::from_utf8(text).ok()?.to_owned())
            }
            false => Payload::OnDisk(section),
        };
        let payload = match self.is_raw {
            true => payload,
            // One that has line breaks of its own is never sent as it stands there.
            false => Payload::Here(serde_json::from_str(&payload.text()?).ok()?),
        };
        Some(Spooled { id: self.id, at: self.at, kind: self.kind, payload })
    }
}

/// What stands behind the payload.
const END: &[u8] = b"}\n";

/// The payload stands in the line as it came; one with line breaks of its own stands there as a
/// string, because a line is an event.
fn line(boot: &str, seq: u64, at: Moment, kind: Kind, key: &Key, payload: &str) -> String {
    let (at, kind) = (at.micros(), kind.word());
    let mut line = String::with_capacity(payload.len() + 160);
    line.push_str(&format!(r#"{{"id":"{boot}-{seq}","at":{at},"kind":"{kind}","key":"{key}","#));
    if memchr::memchr2(b'\n', b'\r', payload.as_bytes()).is_some() {
        line.push_str("\"text\":");
        line.push_str(&serde_json::Value::from(payload).to_string());
    } else {
        line.push_str("\"raw\":");
        line.push_str(payload);
    }
    line.push_str("}\n");
    line
}

/// The names sort in the order of the events.
fn name(boot: &str, first: u64) -> String {
    format!("{boot}-{first:020}.jsonl")
}

/// The files of the spool with the first event of each, the oldest first.
pub(super) fn segments(dir: &Path) -> Vec<(Id, PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let segment = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        Some((Id::parse(name)?, path))
    };
    let mut found: Vec<(Id, PathBuf)> =
        entries.flatten().filter_map(|entry| segment(entry.path())).collect();
    found.sort();
    found
}

fn create(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

/// The hub may have been killed in the middle of a write, before the event was acknowledged.
fn drop_torn_end(path: &Path) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let mut whole = length;
    let mut piece = vec![0; 64 * 1024];
    while whole > 0 {
        let start = whole.saturating_sub(piece.len() as u64);
        let piece = &mut piece[..usize::try_from(whole - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(piece)?;
        match memchr::memrchr(b'\n', piece) {
            Some(end) => {
                whole = start + end as u64 + 1;
                break;
            }
            None => whole = start,
        }
    }
    if whole < length { file.set_len(whole) } else { Ok(()) }
}

/// The name of a start: the time, but never before that of an earlier one, because ids are in the
/// order of the events whatever a clock does.
pub(super) fn next_boot(dir: &Path, now: Moment) -> u64 {
    let last = segments(dir).last().map_or(0, |(first, _)| first.boot);
    now.micros().max(last.saturating_add(1))
}

/// Deletes what is older than a week, and the oldest of what is more than may be kept.
fn clean(dir: &Path, now: Moment) {
    let mut kept = 0;
    for (_, path) in segments(dir).into_iter().rev() {
        let Ok(found) = fs::metadata(&path) else { continue };
        let modified = found.modified().ok().and_then(|time| {
            time.duration_since(std::time::SystemTime::UNIX_EPOCH).ok().map(|age| age.as_secs())
        });
        let is_old = modified
            .is_some_and(|modified| now.seconds().saturating_sub(modified) > KEPT_FOR.as_secs());
        kept += found.len();
        if kept > KEPT_BYTES || is_old || found.len() == 0 {
            // Whoever reads it now goes on reading.
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = "661b2c5e3f0a8";

    fn now() -> Moment {
        Moment::from_micros(1_794_964_287_516_000)
    }

    fn id(seq: u64) -> Id {
        Id::parse(&format!("{BOOT}-{seq}")).unwrap()
    }

    fn read(dir: &Path, after: u64, through: u64, scope: Scope) -> Vec<(u64, String)> {
        let mut reader = Reader::new(dir, id(after), id(through), scope);
        let mut all = Vec::new();
        loop {
            let batch = reader.next_batch(1);
            if batch.is_empty() {
                return all;
            }
            let text = |event: Spooled| (event.id.seq, event.payload.text().unwrap());
            all.extend(batch.into_iter().map(text));
        }
    }

    fn write(dir: &Path, events: &[(u64, &str, &str)]) {
        let mut spool = Spool::open(dir.to_owned(), BOOT, now()).unwrap();
        for (seq, key, payload) in events {
            spool.append(*seq, now(), Kind::Hook, &Key::new(key), payload).unwrap();
        }
    }

    #[test]
    fn what_was_written_is_read_back_byte_for_byte() {
        let dir = tempfile::tempdir().unwrap();
        let odd = "{\r\n \"a\": \"\\n é \\ud83d\"\n}";
        write(dir.path(), &[(1, "k", r#"{"a":1}"#), (2, "other", "{}"), (3, "k", odd)]);
        assert_eq!(
            read(dir.path(), 0, 9, Scope::All),
            [(1, r#"{"a":1}"#.to_owned()), (2, "{}".to_owned()), (3, odd.to_owned())]
        );
        let one = Scope::One(Key::new("k"));
        assert_eq!(read(dir.path(), 1, 9, one), [(3, odd.to_owned())]);
        assert_eq!(read(dir.path(), 0, 1, Scope::All).len(), 1);
    }

    #[test]
    fn large_events_are_read_back_without_being_held() {
        let dir = tempfile::tempdir().unwrap();
        // The cut goes through the middle of characters, wherever it is.
        let payloads = [LARGE - 300, LARGE - 120, LARGE - 3, LARGE, LARGE + 1, 3 * LARGE]
            .map(|length| format!(r#"{{"a":"{}"}}"#, "é€😀".repeat(length / 9)));
        let broken = format!("{{\n{}}}", payloads[5]);
        let payloads: Vec<&str> = payloads.iter().chain([&broken]).map(String::as_str).collect();
        let events: Vec<_> =
            (1..).zip(&payloads).map(|(seq, payload)| (seq, "k", *payload)).collect();
        write(dir.path(), &events);
        let found: Vec<String> =
            read(dir.path(), 0, 99, Scope::All).into_iter().map(|(_, payload)| payload).collect();
        assert_eq!(found, payloads);
        let mut reader = Reader::new(dir.path(), id(5), id(6), Scope::All);
        let Payload::OnDisk(section) = reader.next_batch(1).remove(0).payload else { panic!() };
        fs::remove_dir_all(dir.path()).unwrap();
        let mut pieces = Vec::new();
        while (pieces.len() as u64) < section.length {
            pieces.extend(section.read(pieces.len() as u64, 1000).unwrap());
        }
        assert_eq!(pieces, payloads[5].as_bytes());
    }

    #[test]
    fn a_file_is_begun_anew_when_it_is_full_and_every_day() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path().to_owned(), BOOT, now()).unwrap();
        let mut append = |seq, at| {
            spool.append(seq, at, Kind::Hook, &Key::new("k"), "{}").unwrap();
            segments(dir.path()).len()
        };
        assert_eq!(append(1, now()), 1);
        assert_eq!(append(2, now().plus_seconds(SEGMENT_TIME - 1)), 1);
        assert_eq!(append(3, now().plus_seconds(SEGMENT_TIME)), 2);
        assert_eq!(append(4, now().plus_seconds(SEGMENT_TIME + 1)), 2);
        assert_eq!(read(dir.path(), 0, 9, Scope::All).len(), 4);
    }

    #[test]
    fn a_torn_line_is_dropped_and_whole_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[(1, "k", "{}"), (2, "k", "{}")]);
        let (_, path) = segments(dir.path()).pop().unwrap();
        let whole = fs::read(&path).unwrap();
        for cut in whole.len() / 2 + 1..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            drop_torn_end(&path).unwrap();
            assert_eq!(read(dir.path(), 0, 9, Scope::All), [(1, "{}".to_owned())]);
        }
        fs::write(&path, "no line at all").unwrap();
        drop_torn_end(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn the_files_of_several_starts_are_read_in_order() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[(1, "k", "1"), (2, "k", "2")]);
        let later = "661b2c5e3f0a9";
        let mut spool = Spool::open(dir.path().to_owned(), later, now()).unwrap();
        spool.append(1, now(), Kind::Hook, &Key::new("k"), "3").unwrap();
        let through = Id::parse(&format!("{later}-9")).unwrap();
        let mut reader = Reader::new(dir.path(), id(1), through, Scope::All);
        let payloads: Vec<String> = reader
            .next_batch(1 << 20)
            .into_iter()
            .filter_map(|event| event.payload.text())
            .collect();
        assert_eq!(payloads, ["2", "3"]);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_mix_the_order_up() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(next_boot(dir.path(), now()), now().micros());
        write(dir.path(), &[(1, "k", "{}")]);
        let earlier = Moment::from_micros(now().micros() - 3_600_000_000);
        assert_eq!(next_boot(dir.path(), earlier), id(1).boot + 1);
    }

    #[test]
    fn old_files_and_empty_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[(1, "k", "{}")]);
        fs::write(dir.path().join(name(BOOT, 7)), "").unwrap();
        clean(dir.path(), crate::clock::now());
        assert_eq!(segments(dir.path()).len(), 1);
        clean(dir.path(), crate::clock::now().plus_seconds(8 * 24 * 3600));
        assert_eq!(segments(dir.path()).len(), 0);
    }
}
