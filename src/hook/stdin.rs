//! Reads the payload to its end on every path: a writer that is left alone gets a broken pipe.

use std::io;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Most payloads are shorter.
const USUAL: usize = 8 * 1024;
/// More than this is read to its end but not kept. Real payloads stay below one megabyte.
const LARGEST: usize = 64 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Whole(Vec<u8>),
    TooLarge,
    /// The writer neither wrote on nor closed.
    NoEnd,
    Unreadable,
}

pub(super) fn drain(limit: Duration) -> Payload {
    let deadline = Instant::now() + limit;
    let stdin = io::stdin();
    let mut kept = Vec::with_capacity(USUAL);
    let mut too_large = false;
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
            Ok(0) if too_large => return Payload::TooLarge,
            Ok(0) => return Payload::Whole(kept),
            Ok(_) if too_large || kept.len() > LARGEST => {
                too_large = true;
                kept.clear();
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
