//! Reads the payload to its end on every path: a writer that is left alone gets a broken pipe.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

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
    let mut stdin = io::stdin().lock();
    let mut kept = Vec::with_capacity(8 * 1024);
    let mut piece = [0; 16 * 1024];
    let mut too_large = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match wait_readable(&stdin, left) {
            Ok(true) => {}
            Ok(false) => return Payload::NoEnd,
            Err(_) => return Payload::Unreadable,
        }
        match stdin.read(&mut piece) {
            Ok(0) if too_large => return Payload::TooLarge,
            Ok(0) => return Payload::Whole(kept),
            Ok(length) if too_large || kept.len() + length > LARGEST => {
                too_large = true;
                kept = Vec::new();
            }
            Ok(length) => kept.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Payload::Unreadable,
        }
    }
}

/// False when the time is over.
fn wait_readable(stdin: &io::StdinLock<'_>, left: Duration) -> io::Result<bool> {
    if left.is_zero() {
        return Ok(false);
    }
    let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
