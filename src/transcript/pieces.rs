//! Reading parts of a transcript that another process may be writing, shortening or deleting.
//!
//! Plain positioned reads only: a mapped file that shrinks would end the process.

use super::bytes::{find_byte, rfind_byte};
use memchr::memmem;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// How much is read at the beginning and at the end of a file.
pub(super) const PIECE: usize = 64 * 1024;

/// How much of what is between is held at a time.
pub(super) const CHUNK: usize = 256 * 1024;

pub(crate) struct Source {
    file: File,
    pub(crate) size: u64,
}

impl Source {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Self { file, size: metadata.len() })
    }

    /// Whether both pieces together are the whole file.
    pub(super) fn is_small(&self) -> bool {
        self.size <= 2 * PIECE as u64
    }

    /// Fills `buffer` with `length` bytes from `offset` on, or with fewer where the file ends
    /// earlier.
    pub(crate) fn read(&self, offset: u64, length: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(length, 0);
        let filled = self.fill(offset, buffer)?;
        buffer.truncate(filled);
        Ok(())
    }

    /// Fills `buffer` from `offset` on and returns how much of it, which is less than all where the
    /// file ends earlier.
    pub(crate) fn fill(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// Whether one of these texts, which are shorter than a chunk, stands between two places.
    pub(super) fn holds(
        &self,
        between: Range<u64>,
        texts: &[&[u8]],
        buffer: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let finders: Vec<_> = texts.iter().map(memmem::Finder::new).collect();
        let overlap = texts.iter().map(|text| text.len()).max().unwrap_or(0) as u64;
        let mut at = between.start;
        while at < between.end {
            let length = usize::try_from(between.end - at).unwrap_or(CHUNK).min(CHUNK);
            self.read(at, length, buffer)?;
            if finders.iter().any(|finder| finder.find(buffer).is_some()) {
                return Ok(true);
            }
            if buffer.len() < CHUNK {
                break;
            }
            at += CHUNK as u64 - overlap;
        }
        Ok(false)
    }

    /// The whole of a small file. Its last line may be torn; only what parses is used.
    pub(super) fn read_whole(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.read(0, usize::try_from(self.size).unwrap_or(2 * PIECE), buffer)
    }

    /// The whole lines in the first piece.
    pub(super) fn read_head(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.read(0, PIECE, buffer)?;
        buffer.truncate(rfind_byte(buffer, b'\n').map_or(0, |newline| newline + 1));
        Ok(())
    }

    /// The lines that begin in the last `length` bytes, and where the first of them stands in the
    /// file.
    pub(super) fn read_tail(&self, length: usize, buffer: &mut Vec<u8>) -> io::Result<u64> {
        // One byte more shows whether a line begins exactly at the edge.
        let offset = self.size.saturating_sub(length as u64 + 1);
        self.read(offset, length + 1, buffer)?;
        if offset == 0 {
            return Ok(0);
        }
        let cut = find_byte(buffer, b'\n').map_or(buffer.len(), |newline| newline + 1);
        buffer.drain(..cut);
        Ok(offset + cut as u64)
    }
}

pub(super) fn lines(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let data = rest?;
        let (line, after) = match find_byte(data, b'\n') {
            Some(newline) => (&data[..newline], Some(&data[newline + 1..])),
            None => (data, None),
        };
        rest = after;
        Some(line)
    })
}

pub(super) fn lines_from_the_end(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let data = rest?;
        let (line, before) = match rfind_byte(data, b'\n') {
            Some(newline) => (&data[newline + 1..], Some(&data[..newline])),
            None => (data, None),
        };
        rest = before;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, PIECE, Source, lines, lines_from_the_end};
    use proptest::prelude::{prop, proptest};
    use std::fs;
    use std::io::ErrorKind;
    use tempfile::TempDir;

    fn source_of(content: &[u8]) -> (TempDir, Source) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, content).unwrap();
        let source = Source::open(&path).unwrap();
        (dir, source)
    }

    /// `count` lines of `width` bytes each, the newline included, numbered at their beginning.
    fn numbered_lines(count: usize, width: usize) -> Vec<u8> {
        (0..count)
            .flat_map(|number| format!("{number:<fill$}\n", fill = width - 1).into_bytes())
            .collect()
    }

    fn read_head(content: &[u8]) -> Vec<u8> {
        let (_dir, source) = source_of(content);
        let mut buffer = Vec::new();
        source.read_head(&mut buffer).unwrap();
        buffer
    }

    fn read_tail(content: &[u8]) -> (Vec<u8>, u64) {
        let (_dir, source) = source_of(content);
        let mut buffer = Vec::new();
        let start = source.read_tail(PIECE, &mut buffer).unwrap();
        (buffer, start)
    }

    #[test]
    fn lines_cut_at_the_edges_are_dropped() {
        let content = numbered_lines(2_000, 100);
        let head = read_head(&content);
        assert_eq!(head, content[..PIECE / 100 * 100]);
        let (tail, start) = read_tail(&content);
        assert_eq!(tail, content[content.len() - PIECE / 100 * 100..]);
        assert_eq!(start, (content.len() - tail.len()) as u64);
    }

    #[test]
    fn lines_that_begin_or_end_exactly_at_an_edge_are_kept() {
        let content = numbered_lines(4_096, 64);
        assert_eq!(read_head(&content), content[..PIECE]);
        assert_eq!(
            read_tail(&content),
            (content[content.len() - PIECE..].to_vec(), (content.len() - PIECE) as u64)
        );
    }

    #[test]
    fn a_piece_inside_one_huge_line_is_empty() {
        let content = vec![b'x'; 3 * PIECE];
        assert_eq!(read_head(&content), b"");
        assert_eq!(read_tail(&content), (Vec::new(), 3 * PIECE as u64));
    }

    #[test]
    fn a_text_is_found_wherever_it_stands_between_two_places() {
        let text: &[u8] = b"needle";
        let holds = |content: &[u8], between| {
            let (_dir, source) = source_of(content);
            source.holds(between, &[b"nothing", text], &mut Vec::new()).unwrap()
        };
        for at in [0, 1, CHUNK - 7, CHUNK - 6, CHUNK - 3, CHUNK, CHUNK + 1, 2 * CHUNK - 9] {
            let mut content = vec![b'x'; 2 * CHUNK];
            content[at..at + text.len()].copy_from_slice(text);
            assert!(holds(&content, 0..2 * CHUNK as u64), "{at}");
            assert!(holds(&content, at as u64..(at + text.len()) as u64), "{at}");
            assert!(!holds(&content, at as u64 + 1..2 * CHUNK as u64), "{at}");
            assert!(!holds(&content, 0..(at + text.len()) as u64 - 1), "{at}");
        }
        assert!(!holds(b"", 0..10) && !holds(text, 5..5));
    }

    #[test]
    fn a_file_that_shrank_after_it_was_opened_gives_what_is_left() {
        let (dir, source) = source_of(&numbered_lines(4_000, 100));
        fs::write(dir.path().join("file"), "left\n").unwrap();
        let mut buffer = Vec::new();
        source.read_head(&mut buffer).unwrap();
        assert_eq!(buffer, b"left\n");
        source.read_tail(PIECE, &mut buffer).unwrap();
        assert_eq!(buffer, b"");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_named_pipe_is_refused_without_waiting_for_a_writer() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let dir = TempDir::new().unwrap();
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(
            Source::open(&pipe).err().map(|error| error.kind()),
            Some(ErrorKind::InvalidInput)
        );
    }

    #[test]
    fn only_regular_files_are_opened() {
        let dir = TempDir::new().unwrap();
        assert_eq!(
            Source::open(dir.path()).err().map(|error| error.kind()),
            Some(ErrorKind::InvalidInput)
        );
        let gone = dir.path().join("gone");
        assert_eq!(Source::open(&gone).err().map(|error| error.kind()), Some(ErrorKind::NotFound));
    }

    proptest! {
        #[test]
        fn lines_are_the_same_from_both_ends(
            data in prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..200),
        ) {
            let expected: Vec<&[u8]> = data.split(|b| *b == b'\n').collect();
            assert_eq!(lines(&data).collect::<Vec<_>>(), expected);
            let mut backwards: Vec<&[u8]> = lines_from_the_end(&data).collect();
            backwards.reverse();
            assert_eq!(backwards, expected);
        }
    }
}
