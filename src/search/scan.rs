//! Going through one file: raw bytes are searched block by block, and only lines that may match are
//! walked through.
//!
//! Memory does not depend on the file. A line that reaches beyond its block is read again from its
//! beginning in pieces, however long it is. What another process writes, cuts off or deletes
//! meanwhile is there or is not, and harms nothing.

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
    beginnings: memmem::Finder<'static>,
}

/// Anchors, and where each stands next in the block.
struct Candidates<'q> {
    finders: Vec<(&'q Finder, Option<usize>)>,
    /// Nothing is known of some term, so every line may match.
    is_everywhere: bool,
}

impl Scanner {
    pub(super) fn new() -> Self {
        Self {
            block: Vec::new(),
            piece: Vec::new(),
            walker: Walker::new(),
            beginnings: memmem::Finder::new(BEGINNING),
        }
    }

    /// Hands the hits of each record to `found`, in the order of the file, until it has enough.
    pub(super) fn scan(
        &mut self,
        source: &Source,
        query: &Query,
        is_cancelled: &AtomicBool,
        found: &mut impl FnMut(Vec<Hit>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut candidates = Candidates::new(query);
        let overlap = query.longest_anchor() - 1;
        let (mut offset, mut line_start) = (0, 0);
        'blocks: while offset < source.size && !is_cancelled.load(Ordering::Relaxed) {
            source.read(offset, BLOCK, &mut self.block)?;
            let is_last = self.block.len() < BLOCK;
            let mut at = 0;
            candidates.begin(&self.block);
            while let Some(place) = candidates.next(&self.block, at) {
                let newline = memrchr(b'\n', &self.block[..place]);
                let start = newline.map_or(line_start, |newline| offset + newline as u64 + 1);
                let end = memchr(b'\n', &self.block[place..]).map(|end| place + end);
                let end = end.or(is_last.then_some(self.block.len()));
                match (start.checked_sub(offset).and_then(|start| usize::try_from(start).ok()), end)
                {
                    (Some(from), Some(end)) => {
                        let block = std::mem::take(&mut self.block);
                        let told = self.take_line(&block[from..end], start, query, found);
                        self.block = block;
                        if told.is_break() {
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
            let seen = (self.block.len() - overlap).max(at);
            if let Some(newline) = memrchr(b'\n', &self.block[..seen]) {
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
        let mut reading = Reading::new(&mut self.walker, offset, query);
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
        let mut reading = Reading::new(&mut self.walker, start, query);
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
    query: &'a Query,
    record: Record,
    is_done: bool,
    /// Where the record began, and where the next piece begins.
    record_start: u64,
    offset: u64,
    last_byte: u8,
}

impl<'a> Reading<'a> {
    fn new(walker: &'a mut Walker, offset: u64, query: &'a Query) -> Self {
        walker.reset();
        let record = Record::default();
        Self {
            walker,
            query,
            record,
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
        let hits = std::mem::take(record).finish(self.record_start);
        if hits.is_empty() { ControlFlow::Continue(()) } else { found(hits) }
    }
}

impl<'q> Candidates<'q> {
    fn new(query: &'q Query) -> Self {
        let anchors = query.terms.iter().filter_map(|term| term.anchors.as_ref()).flatten();
        Self {
            finders: anchors.map(|finder| (finder, None)).collect(),
            is_everywhere: query.terms.iter().any(|term| term.anchors.is_none()),
        }
    }

    fn begin(&mut self, block: &[u8]) {
        if !self.is_everywhere {
            for (finder, next) in &mut self.finders {
                *next = finder.find(block);
            }
        }
    }

    /// The next place from `at` on that lies in a line to be looked at.
    fn next(&mut self, block: &[u8], at: usize) -> Option<usize> {
        if self.is_everywhere {
            return (at < block.len()).then_some(at);
        }
        for (finder, next) in &mut self.finders {
            if next.is_some_and(|next| next < at) {
                let rest = block.get(at..).unwrap_or_default();
                *next = finder.find(rest).map(|found| at + found);
            }
        }
        self.finders.iter().filter_map(|(_, next)| *next).min()
    }
}

#[cfg(test)]
mod tests;
