use std::path::Path;

/// Longer slugs are cut here and end in a hash of the path.
pub(super) const CUT: usize = 200;

/// The folder name Claude uses for `path`, which must be the real path: Claude resolves symlinks
/// before it encodes. A path that is not UTF-8 has none, Claude refuses to start there.
pub fn encode(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let mut slug: String = units(text).map(char::from).collect();
    if slug.len() > CUT {
        slug.truncate(CUT);
        slug.push('-');
        slug.push_str(&base36(hash(text).unsigned_abs()));
    }
    Some(slug)
}

/// `text` in slug letters, one per UTF-16 unit because Claude's JavaScript counts those: an emoji
/// is two dashes.
pub(super) fn units(text: &str) -> impl Iterator<Item = u8> {
    text.encode_utf16().map(|unit| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => byte,
        _ => b'-',
    })
}

fn hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CUT, base36, encode};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    #[track_caller]
    fn check(path: &str, slug: &str) {
        assert_eq!(encode(Path::new(path)).as_deref(), Some(slug), "{path:?}");
    }

    /// A path of 201 units, one more than fits, so that only the hash differs with `tail`.
    #[track_caller]
    fn check_hash(tail: &str, hash: &str) {
        let head = format!("/{}", "a".repeat(193));
        let path = format!("{head}{tail}");
        assert_eq!(path.len(), CUT + 1);
        check(&path, &format!("-{}-{hash}", &path[1..CUT]));
    }

    #[test]
    fn the_recorded_directories_get_the_names_claude_gave_them() {
        let cases = include_str!("../../tests/fixtures/slugs.tsv");
        for line in cases.lines() {
            let (path, slug) = line.split_once('\t').unwrap();
            check(path, slug);
        }
        assert_eq!(cases.lines().count(), 39);
    }

    #[test]
    fn letters_and_digits_stay_up_to_the_ends_of_their_ranges() {
        check("/azAZ09", "-azAZ09");
        check("/`{@[/:", "-------");
    }

    #[test]
    fn control_characters_become_dashes_one_by_one() {
        check("/a\nb\t\u{7f}\0", "-a-b---");
    }

    #[test]
    fn letters_whose_low_byte_is_ascii_are_still_foreign() {
        check("/\u{0141}\u{ff41}", "---");
    }

    #[test]
    fn an_emoji_is_two_units_and_a_decomposed_accent_is_its_own() {
        check("/😀/e\u{301}/é", "----e---");
    }

    #[test]
    fn two_hundred_units_stay_whole() {
        let path = format!("/{}", "a".repeat(CUT - 1));
        check(&path, &format!("-{}", "a".repeat(CUT - 1)));
    }

    #[test]
    fn the_hash_is_written_without_its_sign() {
        check_hash("fsuqa6q", "1");
        check_hash("fsuqa6o", "1");
    }

    #[test]
    fn a_hash_of_zero_is_one_digit() {
        check_hash("fsuqa6p", "0");
    }

    #[test]
    fn the_smallest_hash_has_no_positive_twin_in_32_bits() {
        check_hash("3ynxloe", "zik0zk");
    }

    #[test]
    fn base_36_carries_after_z() {
        check_hash("fsuqa7t", "z");
        check_hash("fsuqa7u", "10");
        assert_eq!(base36(u32::MAX), "1z141z3");
    }

    #[test]
    fn a_path_that_is_not_utf8_has_no_slug() {
        assert_eq!(encode(Path::new(OsStr::from_bytes(b"/home/\xff"))), None);
    }

    proptest! {
        #[test]
        fn a_slug_is_letters_digits_and_dashes_and_as_long_as_the_path(path in any::<String>()) {
            let slug = encode(Path::new(&path)).unwrap();
            prop_assert!(slug.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
            let length = path.encode_utf16().count();
            if length <= CUT {
                prop_assert_eq!(slug.len(), length);
            } else {
                prop_assert!((CUT + 2..=CUT + 7).contains(&slug.len()));
            }
        }
    }
}
