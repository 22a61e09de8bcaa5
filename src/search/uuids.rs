//! The ids of all records of a file, to tell a copied conversation from its original.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use memchr::memmem;

use crate::transcript::Source;

const BLOCK: usize = 256 * 1024;
const NAME: &[u8] = b"\"uuid\":\"";
const UUID: usize = 36;

pub(super) fn all(path: &Path) -> io::Result<HashSet<u128>> {
    let source = Source::open(path)?;
    let name = memmem::Finder::new(NAME);
    let (mut found, mut block, mut offset) = (HashSet::new(), Vec::new(), 0);
    while offset < source.size {
        source.read(offset, BLOCK, &mut block)?;
        let ids = name.find_iter(&block).filter_map(|at| block.get(at + NAME.len()..)?.get(..UUID));
        found.extend(ids.filter_map(parse));
        if block.len() < BLOCK {
            break;
        }
        offset += (block.len() - NAME.len() - UUID) as u64;
    }
    Ok(found)
}

pub(super) fn parse(text: &[u8]) -> Option<u128> {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    if text.len() != UUID || !text.iter().enumerate().all(|(at, b)| (*b == b'-') == is_dash(at)) {
        return None;
    }
    let digits = text.iter().filter(|byte| **byte != b'-');
    digits
        .map(|byte| char::from(*byte).to_digit(16))
        .try_fold(0, |id: u128, digit| Some(id << 4 | u128::from(digit?)))
}
