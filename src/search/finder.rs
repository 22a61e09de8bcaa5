//! Finding bytes in any case of their ASCII letters.
//!
//! Two rare bytes of the needle are compared over fixed-size blocks without an early exit, which
//! the compiler turns into vector instructions; only a block that holds both, at the right
//! distance, is looked at closely.

use memchr::memmem;

const BLOCK: usize = 64;

/// The most frequent bytes of transcripts first; what is not here is rare.
const FREQUENT: &[u8] = b" etaoinsrlducpmhg\"f,\\.:-_/bywv0123k{}[]()";

#[derive(Debug, Clone)]
pub(super) enum Finder {
    Exact(Box<memmem::Finder<'static>>),
    Folded(Folded),
}

impl Finder {
    pub(super) fn exact(needle: &[u8]) -> Self {
        Self::Exact(Box::new(memmem::Finder::new(needle).into_owned()))
    }

    pub(super) fn folded(needle: &[u8]) -> Self {
        Self::Folded(Folded::new(needle))
    }

    pub(super) fn find(&self, hay: &[u8]) -> Option<usize> {
        match self {
            Self::Exact(finder) => finder.find(hay),
            Self::Folded(finder) => finder.find(hay),
        }
    }

    pub(super) fn length(&self) -> usize {
        match self {
            Self::Exact(finder) => finder.needle().len(),
            Self::Folded(finder) => finder.needle.len(),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Folded {
    /// Letters in lower case.
    needle: Vec<u8>,
    rarest: Probe,
    next_rarest: Probe,
}

/// One byte of the needle. A letter differs from its other case in one bit, which is set before the
/// comparison.
#[derive(Debug, Clone, Copy)]
struct Probe {
    offset: usize,
    byte: u8,
    case_bit: u8,
}

impl Folded {
    fn new(needle: &[u8]) -> Self {
        let needle = needle.to_ascii_lowercase();
        let mut offsets: Vec<usize> = (0..needle.len()).collect();
        offsets.sort_by_key(|offset| std::cmp::Reverse(rarity(needle[*offset])));
        let probe = |at: usize| {
            let offset = offsets.get(at).or(offsets.first()).copied().unwrap_or(0);
            let byte = needle.get(offset).copied().unwrap_or(0);
            Probe { offset, byte, case_bit: if byte.is_ascii_lowercase() { 0x20 } else { 0 } }
        };
        let (rarest, next_rarest) = (probe(0), probe(1));
        Self { needle, rarest, next_rarest }
    }

    fn find(&self, hay: &[u8]) -> Option<usize> {
        let starts = (hay.len() + 1).checked_sub(self.needle.len())?;
        let ones = hay.get(self.rarest.offset..)?;
        let others = hay.get(self.next_rarest.offset..)?;
        let mut at = 0;
        while at + BLOCK <= starts {
            let (one, other) = (&ones[at..at + BLOCK], &others[at..at + BLOCK]);
            if self.may_begin_in(one, other)
                && let Some(found) = (at..at + BLOCK).find(|start| self.begins_at(hay, *start))
            {
                return Some(found);
            }
            at += BLOCK;
        }
        (at..starts).find(|start| self.begins_at(hay, *start))
    }

    fn may_begin_in(&self, ones: &[u8], others: &[u8]) -> bool {
        let (one, other) = (self.rarest, self.next_rarest);
        let both =
            |a: u8, b: u8| ((a | one.case_bit) == one.byte) & ((b | other.case_bit) == other.byte);
        ones.iter().zip(others).fold(false, |found, (a, b)| found | both(*a, *b))
    }

    fn begins_at(&self, hay: &[u8], start: usize) -> bool {
        let probe = self.rarest;
        hay[start + probe.offset] | probe.case_bit == probe.byte
            && hay[start..start + self.needle.len()].eq_ignore_ascii_case(&self.needle)
    }
}

fn rarity(byte: u8) -> usize {
    FREQUENT.iter().position(|frequent| *frequent == byte).unwrap_or(FREQUENT.len())
}

#[cfg(test)]
mod tests {
    use super::Finder;
    use proptest::prelude::{prop, proptest};

    fn plain(hay: &[u8], needle: &[u8]) -> Option<usize> {
        (0..=hay.len().checked_sub(needle.len())?)
            .find(|at| hay[*at..*at + needle.len()].eq_ignore_ascii_case(needle))
    }

    proptest! {
        #[test]
        fn needles_are_found_where_a_plain_search_finds_them(
            hay in prop::collection::vec(prop::sample::select(b"abAB\\\xc3".to_vec()), 0..300),
            needle in prop::collection::vec(prop::sample::select(b"aB\\\xc3".to_vec()), 1..5),
        ) {
            assert_eq!(Finder::folded(&needle).find(&hay), plain(&hay, &needle));
        }

        #[test]
        fn a_planted_needle_is_found_in_any_case(
            before in 0usize..200,
            after in 0usize..200,
            upper in prop::collection::vec(prop::bool::ANY, 10),
        ) {
            let word = "connection".bytes().zip(upper);
            let word = word.map(|(b, upper)| if upper { b.to_ascii_uppercase() } else { b });
            let mut hay = vec![b'x'; before];
            hay.extend(word);
            hay.extend(vec![b'y'; after]);
            assert_eq!(Finder::folded(b"Connection").find(&hay), Some(before));
        }
    }

    #[test]
    fn a_bracket_is_not_the_other_case_of_a_brace() {
        assert_eq!(Finder::folded(b"[a").find(b"{A [A"), Some(3));
        assert_eq!(Finder::folded(b"x").find(b""), None);
    }
}
