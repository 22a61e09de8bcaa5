//! Searching bytes without looking at each one alone.
//!
//! The loops compare fixed-size blocks without an early exit, which the compiler turns into vector
//! instructions; only a block that can hold an answer is looked at closely.

const BLOCK: usize = 32;

pub(super) fn find_byte(hay: &[u8], byte: u8) -> Option<usize> {
    let mut start = 0;
    while let Some(block) = hay.get(start..start + BLOCK) {
        if holds(block, byte) {
            break;
        }
        start += BLOCK;
    }
    hay[start..].iter().position(|b| *b == byte).map(|at| start + at)
}

pub(super) fn rfind_byte(hay: &[u8], byte: u8) -> Option<usize> {
    let mut end = hay.len();
    while end >= BLOCK && !holds(&hay[end - BLOCK..end], byte) {
        end -= BLOCK;
    }
    hay[..end].iter().rposition(|b| *b == byte)
}

/// The last place where `needle` stands. A block is a candidate when the needle's first byte and,
/// at the right distance, its last byte occur in it, which is rare enough for needles such as
/// `Title"`.
pub(super) fn rfind(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, &last) = (needle.first()?, needle.last()?);
    let span = needle.len() - 1;
    let mut end = (hay.len() + 1).checked_sub(needle.len())?;
    while end >= BLOCK {
        let start = end - BLOCK;
        if holds_pair(&hay[start..end], first, &hay[start + span..end + span], last)
            && let Some(at) = rfind_in(hay, needle, start..end)
        {
            return Some(at);
        }
        end = start;
    }
    rfind_in(hay, needle, 0..end)
}

fn rfind_in(hay: &[u8], needle: &[u8], starts: std::ops::Range<usize>) -> Option<usize> {
    starts.rev().find(|at| hay[*at..].starts_with(needle))
}

fn holds(block: &[u8], byte: u8) -> bool {
    block.iter().fold(false, |found, b| found | (*b == byte))
}

fn holds_pair(firsts: &[u8], first: u8, lasts: &[u8], last: u8) -> bool {
    firsts.iter().zip(lasts).fold(false, |found, (a, b)| found | ((*a == first) & (*b == last)))
}

#[cfg(test)]
mod tests {
    use super::{find_byte, rfind, rfind_byte};
    use proptest::prelude::{any, prop, proptest};

    fn naive_rfind(hay: &[u8], needle: &[u8]) -> Option<usize> {
        (0..=hay.len().checked_sub(needle.len())?).rev().find(|at| hay[*at..].starts_with(needle))
    }

    proptest! {
        #[test]
        fn a_byte_is_found_where_a_plain_search_finds_it(
            hay in prop::collection::vec(0u8..6, 0..200),
            byte in 0u8..6,
        ) {
            assert_eq!(find_byte(&hay, byte), hay.iter().position(|b| *b == byte));
            assert_eq!(rfind_byte(&hay, byte), hay.iter().rposition(|b| *b == byte));
        }

        #[test]
        fn a_needle_is_found_where_a_plain_search_finds_it(
            hay in prop::collection::vec(0u8..3, 0..300),
            needle in prop::collection::vec(0u8..3, 1..5),
        ) {
            assert_eq!(rfind(&hay, &needle), naive_rfind(&hay, &needle));
        }

        #[test]
        fn a_planted_needle_is_found_at_its_place(
            mut hay in prop::collection::vec(any::<u8>(), 6..300),
            at in any::<prop::sample::Index>(),
        ) {
            let at = at.index(hay.len() - 5);
            hay[at..at + 6].copy_from_slice(b"Title\"");
            assert_eq!(rfind(&hay, b"Title\""), naive_rfind(&hay, b"Title\""));
        }
    }

    #[test]
    fn an_empty_hay_holds_nothing() {
        assert_eq!(find_byte(b"", b'x'), None);
        assert_eq!(rfind_byte(b"", b'x'), None);
        assert_eq!(rfind(b"", b"x"), None);
        assert_eq!(rfind(b"ab", b"abc"), None);
    }
}
