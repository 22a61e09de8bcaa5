//! Going through one file: raw bytes are searched block by block, and only lines that may match are
//! walked through.
//!
//! Memory does not depend on the file. A line that reaches beyond its block is read again from its
//! beginning in pieces, however long it is. What another process writes, cuts off or deletes
//! meanwhile is there or is not, and harms nothing.

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::{memchr, memmem, memrchr};

use super::finder::Finder;
use super::query::Query;
use super::record::{Hit, Record};
use super::walk::Walker;
use crate::transcript::Source;

const BLOCK: usize = 256 * 1024;
const PIECE: usize = 64 * 1024;
/// How records begin that are part of the conversation. Inside of a record this stands only where a
/// value may stand; anywhere else, a crash has torn the record before.
const BEGINNING: &[u8] = b"{\"parentUuid\":";

#[derive(Debug)]
pub(super) struct Scanner {
    block: Vec<u8>,
    piece: Vec<u8>,
    walker: Walker,
    record: Record,
    beginnings: memmem::Finder<'static>,
}

/// What tells the lines to be looked at.
struct Candidates<'q> {
    anchors: Vec<Anchor<'q>>,
    /// The terms of which nothing is known, so that every line may match.
    everywhere: u64,
}

struct Anchor<'q> {
    finder: &'q Finder,
    /// The bit of its term.
    term: u64,
    next: Next,
}

/// Where an anchor stands next in the block.
#[derive(Clone, Copy)]
enum Next {
    Unknown,
    At(usize),
    Nowhere,
}

impl Scanner {
    pub(super) fn new() -> Self {
        Self {
            block: Vec::new(),
            piece: Vec::new(),
            walker: Walker::new(),
            record: Record::default(),
            beginnings: memmem::Finder::new(BEGINNING),
        }
    }

    /// Hands the hits of each record to `found`, in the order of the file, until it has enough. It
    /// tells for which terms further lines are worth looking at, as bits.
    pub(super) fn scan(
        &mut self,
        source: &Source,
        query: &Query,
        is_cancelled: &AtomicBool,
        found: &mut impl FnMut(Vec<Hit>) -> ControlFlow<(), u64>,
    ) -> io::Result<()> {
        // Kept at its full length from file to file, so that it is not cleared for each.
        let mut room = std::mem::take(&mut self.block);
        room.resize(BLOCK, 0);
        let sought = Cell::new(query.all());
        let found = &mut |hits: Vec<Hit>| {
            sought.set(found(hits)?);
            ControlFlow::Continue(())
        };
        let scanned = self.scan_in(&mut room, source, query, &sought, is_cancelled, found);
        self.block = room;
        scanned
    }

    fn scan_in(
        &mut self,
        room: &mut [u8],
        source: &Source,
        query: &Query,
        sought: &Cell<u64>,
        is_cancelled: &AtomicBool,
        found: &mut impl FnMut(Vec<Hit>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut candidates = Candidates::new(query);
        let overlap = query.longest_anchor() - 1;
        let (mut offset, mut line_start) = (0, 0);
        'blocks: while offset < source.size && !is_cancelled.load(Ordering::Relaxed) {
            let length = source.fill(offset, room)?;
            let block = &room[..length];
            let is_last = length < BLOCK;
            let mut at = 0;
            candidates.begin();
            while let Some(place) = candidates.next(block, at, sought.get()) {
                let newline = memrchr(b'\n', &block[..place]);
                let start = newline.map_or(line_start, |newline| offset + newline as u64 + 1);
                let end = memchr(b'\n', &block[place..]).map(|end| place + end);
                let end = end.or(is_last.then_some(length));
                match (start.checked_sub(offset).and_then(|start| usize::try_from(start).ok()), end)
                {
                    (Some(from), Some(end)) => {
                        if self.take_line(&block[from..end], start, query, found).is_break() {
                            return Ok(());
                        }
                        at = end + 1;
                    }
                    _ => {
                        let Some(end) =
                            self.take_long_line(source, start, query, is_cancelled, found)?
                        else {
                            return Ok(());
                        };
                        (offset, line_start) = (end, end);
                        continue 'blocks;
                    }
                }
            }
            if is_last {
                break;
            }
            // An anchor may lie across the edge; lines that were taken are not looked at again.
            let seen = (length - overlap).max(at);
            if let Some(newline) = memrchr(b'\n', &block[..seen]) {
                line_start = offset + newline as u64 + 1;
            }
            offset += seen as u64;
        }
        Ok(())
    }

    fn take_line(
        &mut self,
        line: &[u8],
        offset: u64,
        query: &Query,
        found: &mut impl FnMut(Vec<Hit>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut reading = Reading::new(&mut self.walker, &mut self.record, offset, query);
        reading.take(line, &self.beginnings, found)?;
        reading.end(found)
    }

    /// Reads a line in pieces and returns where the next one begins; nothing when enough was found.
    fn take_long_line(
        &mut self,
        source: &Source,
        start: u64,
        query: &Query,
        is_cancelled: &AtomicBool,
        found: &mut impl FnMut(Vec<Hit>) -> ControlFlow<()>,
    ) -> io::Result<Option<u64>> {
        let mut reading = Reading::new(&mut self.walker, &mut self.record, start, query);
        let mut offset = start;
        loop {
            source.read(offset, PIECE, &mut self.piece)?;
            let newline = memchr(b'\n', &self.piece);
            let end = newline.unwrap_or(self.piece.len());
            if reading.take(&self.piece[..end], &self.beginnings, found).is_break()
                || is_cancelled.load(Ordering::Relaxed)
            {
                return Ok(None);
            }
            offset += end as u64;
            if newline.is_some() || self.piece.len() < PIECE {
                let told = reading.end(found);
                return Ok(told.is_continue().then_some(offset + u64::from(newline.is_some())));
            }
        }
    }
}

/// One line on its way through the walker: usually one record, more where a crash has left half a
/// record without the end of its line.
struct Reading<'a> {
    walker: &'a mut Walker,
    record: &'a mut Record,
    query: &'a Query,
    is_done: bool,
    /// Where the record began, and where the next piece begins.
    record_start: u64,
    offset: u64,
    last_byte: u8,
}

impl<'a> Reading<'a> {
    fn new(walker: &'a mut Walker, record: &'a mut Record, offset: u64, query: &'a Query) -> Self {
        walker.reset();
        record.reset();
        Self {
            walker,
            record,
            query,
            is_done: false,
            record_start: offset,
            offset,
            last_byte: b'\n',
        }
    }

    fn take(
        &mut self,
        piece: &[u8],
        beginnings: &memmem::Finder<'_>,
        found: &mut impl FnMut(Vec<Hit>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut from = 0;
        for at in beginnings.find_iter(piece) {
            let before = if at == 0 { self.last_byte } else { piece[at - 1] };
            if b":,[ \t\n".contains(&before) {
                continue;
            }
            self.feed(&piece[from..at]);
            self.end(found)?;
            self.walker.reset();
            self.is_done = false;
            self.record_start = self.offset + at as u64;
            from = at;
        }
        self.feed(&piece[from..]);
        self.offset += piece.len() as u64;
        self.last_byte = piece.last().copied().unwrap_or(self.last_byte);
        ControlFlow::Continue(())
    }

    fn feed(&mut self, piece: &[u8]) {
        let Self { walker, query, record, .. } = self;
        if !self.is_done {
            let told = walker.feed(piece, &mut |event| record.take(&event, query));
            self.is_done = told.is_break();
        }
    }

    fn end(&mut self, found: &mut impl FnMut(Vec<Hit>) -> ControlFlow<()>) -> ControlFlow<()> {
        let Self { walker, query, record, .. } = self;
        if !self.is_done {
            // Whatever comes of it, the record is over.
            let _ = walker.finish(&mut |event| record.take(&event, query));
        }
        let hits = record.finish(self.record_start);
        if hits.is_empty() { ControlFlow::Continue(()) } else { found(hits) }
    }
}

impl<'q> Candidates<'q> {
    fn new(query: &'q Query) -> Self {
        let (mut anchors, mut everywhere) = (Vec::new(), 0);
        for (number, term) in query.terms.iter().enumerate() {
            let bit = 1 << number;
            match &term.anchors {
                Some(finders) => anchors.extend(finders.iter().map(|finder| Anchor {
                    finder,
                    term: bit,
                    next: Next::Unknown,
                })),
                None => everywhere |= bit,
            }
        }
        Self { anchors, everywhere }
    }

    /// The next block is another one.
    fn begin(&mut self) {
        for anchor in &mut self.anchors {
            anchor.next = Next::Unknown;
        }
    }

    /// The next place from `at` on that lies in a line to be looked at for one of these terms.
    fn next(&mut self, block: &[u8], at: usize, sought: u64) -> Option<usize> {
        if self.everywhere & sought != 0 {
            return (at < block.len()).then_some(at);
        }
        let sought = self.anchors.iter_mut().filter(|anchor| anchor.term & sought != 0);
        sought.filter_map(|anchor| anchor.next(block, at)).min()
    }
}

impl Anchor<'_> {
    fn next(&mut self, block: &[u8], at: usize) -> Option<usize> {
        let is_passed = match self.next {
            Next::Unknown => true,
            Next::At(place) => place < at,
            Next::Nowhere => false,
        };
        if is_passed {
            let found = self.finder.find(block.get(at..).unwrap_or_default());
            self.next = found.map_or(Next::Nowhere, |found| Next::At(at + found));
        }
        match self.next {
            Next::At(place) => Some(place),
            Next::Unknown | Next::Nowhere => None,
        }
    }
}

#[cfg(test)]
mod tests;
