//! Reads the payload to its end on every path: a writer that is left alone gets a broken pipe.

use std::io;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Most payloads are shorter.
const USUAL: usize = 8 * 1024;
/// Of more than this only the start is kept. Real payloads stay below one megabyte.
const LARGEST: usize = 64 * 1024 * 1024;
/// What is kept then; the fields that name an event stand at its beginning.
pub(super) const START: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Whole(Vec<u8>),
    TooLarge {
        start: Vec<u8>,
        bytes: u64,
    },
    /// The writer neither wrote on nor closed.
    NoEnd,
    Unreadable,
}

pub(super) fn drain(limit: Duration) -> Payload {
    let deadline = Instant::now() + limit;
    let stdin = io::stdin();
    let mut kept = Vec::with_capacity(USUAL);
    let mut dropped = 0_u64;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match wait_readable(&stdin, left) {
            Ok(true) => {}
            Ok(false) => return Payload::NoEnd,
            Err(_) => return Payload::Unreadable,
        }
        // Grows by what is there already, so that a long payload is not copied again and again.
        kept.reserve(USUAL);
        match rustix::io::read(&stdin, spare_capacity(&mut kept)) {
            Ok(0) if dropped > 0 => {
                let bytes = dropped + kept.len() as u64;
                kept.truncate(START);
                return Payload::TooLarge { start: kept, bytes };
            }
            Ok(0) => return Payload::Whole(kept),
            Ok(_) if kept.len() > LARGEST => {
                dropped += (kept.len() - START) as u64;
                kept.truncate(START);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Payload::Unreadable,
        }
    }
}

/// False when the time is over.
fn wait_readable(stdin: &io::Stdin, left: Duration) -> io::Result<bool> {
    if left.is_zero() {
        return Ok(false);
    }
    let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
