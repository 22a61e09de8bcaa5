use super::encode::{CUT, encode, units};
use std::path::Path;

/// What a slug says about the directory names on the way to its directory.
///
/// Offsets count the slug letters of a path. A component that starts at one offset is followed by
/// a separator, and the next component starts after that.
pub(super) struct Pattern {
    slug: String,
}

impl Pattern {
    /// Nothing if Claude derives such a name from no path.
    pub(super) fn new(slug: &str) -> Option<Self> {
        let plain = slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !plain || slug.get(CUT..).is_some_and(|end| !end.is_empty() && !is_hash(end)) {
            return None;
        }
        Some(Self { slug: slug.to_owned() })
    }

    pub(super) fn is_slug_of(&self, path: &Path) -> bool {
        encode(path).is_some_and(|slug| slug == self.slug)
    }

    /// Where the next component starts if `name` stands at `start`, or nothing if it cannot.
    pub(super) fn after(&self, name: &str, start: usize) -> Option<usize> {
        let rest = self.rest(start);
        let mut length = 0;
        for unit in units(name) {
            if rest.get(length).is_some_and(|&wanted| wanted != unit) {
                return None;
            }
            length += 1;
        }
        let ends_well = match rest.get(length) {
            Some(&next) => next == b'-',
            None => length == rest.len() || self.is_cut(),
        };
        ends_well.then_some(start + length + 1)
    }

    /// Whether a component can start at `start`. Below the cut any name may follow: the hash
    /// tells whether it was the right one.
    pub(super) fn goes_on_at(&self, start: usize) -> bool {
        self.is_cut() || start < self.slug.len()
    }

    /// The names that would stand in the slug unchanged, with where the next component starts.
    pub(super) fn literal_names(&self, start: usize) -> impl Iterator<Item = (&str, usize)> {
        let end = self.slug.len().min(CUT);
        (start + 1..=end)
            .filter(move |&at| at == end || self.slug.as_bytes()[at] == b'-')
            .map(move |at| (&self.slug[start..at], at + 1))
    }

    fn rest(&self, start: usize) -> &[u8] {
        let end = self.slug.len().min(CUT);
        self.slug.as_bytes().get(start..end).unwrap_or_default()
    }

    fn is_cut(&self) -> bool {
        self.slug.len() > CUT
    }
}

/// A 31-bit number, or 2^31, has one to six digits in base 36.
fn is_hash(end: &str) -> bool {
    end.strip_prefix('-').is_some_and(|digits| {
        (1..=6).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::{CUT, Pattern};
    use std::path::Path;

    #[track_caller]
    fn check_after(slug: &str, start: usize, name: &str, next: Option<usize>) {
        assert_eq!(Pattern::new(slug).unwrap().after(name, start), next, "{name:?} in {slug:?}");
    }

    #[track_caller]
    fn check_literals(slug: &str, start: usize, expected: &[(&str, usize)]) {
        let pattern = Pattern::new(slug).unwrap();
        assert_eq!(pattern.literal_names(start).collect::<Vec<_>>(), expected);
    }

    /// `head` filled up with `x` to the cut, and a hash.
    fn cut_slug(head: &str) -> String {
        format!("{head:x<CUT$}-1abc")
    }

    #[test]
    fn a_name_ends_at_a_dash_or_at_the_end() {
        check_after("-ab-cd", 1, "ab", Some(4));
        check_after("-ab-cd", 4, "cd", Some(7));
        check_after("-ab-cd", 1, "ab cd", Some(7));
        check_after("-ab-cd", 1, "a", None);
        check_after("-ab-cd", 4, "c", None);
    }

    #[test]
    fn a_name_that_differs_or_is_longer_does_not_fit() {
        check_after("-ab-cd", 1, "aB", None);
        check_after("-ab-cd", 1, "xb", None);
        check_after("-ab-cd", 4, "cde", None);
        check_after("-ab-cd", 4, "cd-", None);
        check_after("-ab", 4, "x", None);
    }

    #[test]
    fn every_foreign_unit_of_a_name_takes_one_dash() {
        check_after("---", 1, "😀", Some(4));
        check_after("---", 1, "é", Some(3));
        check_after("---", 1, "日本語", None);
    }

    #[test]
    fn a_dash_at_the_end_belongs_to_a_name() {
        check_after("-a-", 1, "a_", Some(4));
        check_after("-a-", 1, "a", Some(3));
        assert!(!Pattern::new("-a-").unwrap().goes_on_at(3));
        assert!(Pattern::new("-a-").unwrap().goes_on_at(2));
    }

    #[test]
    fn beyond_the_cut_any_name_fits() {
        let slug = cut_slug("-a-");
        let filling = "x".repeat(CUT - 3);
        check_after(&slug, 3, &filling, Some(CUT + 1));
        check_after(&slug, 3, &format!("{filling}yz"), Some(CUT + 3));
        check_after(&slug, 3, &filling[1..], None);
        check_after(&slug, CUT, "any", Some(CUT + 4));
        check_after(&slug, CUT + 9, "any", Some(CUT + 13));
        assert!(Pattern::new(&slug).unwrap().goes_on_at(CUT + 9));
    }

    #[test]
    fn before_the_cut_a_name_of_a_cut_slug_has_to_fit() {
        check_after(&cut_slug("-a-"), 1, "a", Some(3));
        check_after(&cut_slug("-a-"), 1, "b", None);
        check_after(&cut_slug("-a-"), 1, "ax", None);
    }

    #[test]
    fn the_hash_guides_no_name() {
        let slug = cut_slug("-a-");
        check_after(&slug, 3, &slug[3..], Some(slug.len() + 1));
        check_after(&slug, 3, &format!("{}-2", &slug[3..CUT]), Some(CUT + 3));
    }

    #[test]
    fn a_slug_of_two_hundred_letters_is_not_cut() {
        let slug = format!("-{}", "x".repeat(CUT - 1));
        check_after(&slug, 1, &slug[1..], Some(CUT + 1));
        check_after(&slug, 1, &format!("{}y", &slug[1..]), None);
        assert!(!Pattern::new(&slug).unwrap().goes_on_at(CUT));
    }

    #[test]
    fn names_claude_derives_from_no_path_are_no_pattern() {
        let full = "x".repeat(CUT);
        for slug in ["-a/b", "-..", "-é", "-a\nb", "-a_b", "-a@", "-a["] {
            assert!(Pattern::new(slug).is_none(), "{slug:?}");
        }
        for end in ["x", "-", "x1", "-1234567", "-ABC", "-a-b"] {
            assert!(Pattern::new(&format!("{full}{end}")).is_none(), "{end:?}");
        }
        for end in ["", "-0", "-zik0zk", "-a9"] {
            assert!(Pattern::new(&format!("{full}{end}")).is_some(), "{end:?}");
        }
        assert!(Pattern::new("").is_some());
    }

    #[test]
    fn only_the_whole_slug_names_a_path() {
        let pattern = Pattern::new("-a-b").unwrap();
        assert!(pattern.is_slug_of(Path::new("/a/b")));
        assert!(!pattern.is_slug_of(Path::new("/a")));
        assert!(!pattern.is_slug_of(Path::new("/a/b/c")));
    }

    #[test]
    fn literal_names_end_where_a_dash_or_the_end_follows() {
        check_literals("-ab-c--d", 1, &[("ab", 4), ("ab-c", 6), ("ab-c-", 7), ("ab-c--d", 9)]);
        check_literals("-ab-", 3, &[("-", 5)]);
        check_literals("-ab", 3, &[]);
        check_literals("-ab", 4, &[]);
    }

    #[test]
    fn literal_names_of_a_cut_slug_end_at_the_cut() {
        let slug = cut_slug("-a-");
        check_literals(&slug, 1, &[("a", 3), (&slug[1..CUT], CUT + 1)]);
        check_literals(&slug, CUT, &[]);
    }
}
