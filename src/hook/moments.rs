//! "Earlier than" and "later than" as regular expressions.
//!
//! A list of waits is edited inside the tmux server with `s/pattern//`, and a pattern is all there
//! is to compare a moment with. Moments have sixteen digits, which makes that possible.

use crate::session::Moment;

/// Matches the sixteen digits of every earlier moment.
pub(super) fn before(moment: Moment) -> String {
    compared(moment, |digit| (digit > 0).then(|| class(0, digit - 1)))
}

/// Matches the sixteen digits of every later moment.
pub(super) fn after(moment: Moment) -> String {
    compared(moment, |digit| (digit < 9).then(|| class(digit + 1, 9)))
}

/// At each digit either a smaller (or larger) one decides, or the same one and then the rest.
fn compared(moment: Moment, decides: impl Fn(u8) -> Option<String>) -> String {
    let written = moment.to_string();
    let pattern =
        written.bytes().rev().map(|digit| digit - b'0').fold(None, |rest, digit| {
            match (decides(digit), rest) {
                (Some(decided), Some(rest)) => Some(format!("({decided}|{digit}{rest})")),
                (Some(decided), None) => Some(decided),
                (None, Some(rest)) => Some(format!("{digit}{rest}")),
                (None, None) => None,
            }
        });
    match pattern {
        Some(pattern) => format!("{pattern}[0-9]*"),
        // Nothing is earlier than the first moment; a class that no digit is in matches nothing.
        None => "[^0-9 ]".to_owned(),
    }
}

fn class(from: u8, to: u8) -> String {
    if from == to { from.to_string() } else { format!("[{from}-{to}]") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Matches the few forms that patterns here have: a digit, a class, `(class|rest)`, and any
    /// digits at the end.
    fn matches(pattern: &str, text: &str) -> bool {
        let Some(digit) = text.bytes().next() else { return pattern == "[0-9]*" };
        if pattern == "[0-9]*" {
            return digit.is_ascii_digit() && matches(pattern, &text[1..]);
        }
        if let Some(rest) = pattern.strip_prefix('(') {
            let (first, rest) = rest.split_once('|').unwrap();
            let (second, end) =
                rest.rsplit_once(")[").map_or((rest, ""), |(second, _)| (second, "[0-9]*"));
            let second = if end.is_empty() { second.trim_end_matches(')') } else { second };
            return matches(&format!("{first}[0-9]*"), text)
                || matches(&format!("{second}[0-9]*"), text);
        }
        if let Some(class) = pattern.strip_prefix('[') {
            let (range, rest) = class.split_once(']').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            let inside = (from.as_bytes()[0]..=to.as_bytes()[0]).contains(&digit);
            return inside && matches(rest, &text[1..]);
        }
        pattern.as_bytes()[0] == digit && matches(&pattern[1..], &text[1..])
    }

    fn moment() -> impl Strategy<Value = Moment> {
        prop_oneof![any::<u64>(), 1_794_964_287_516_000..1_794_964_287_516_100_u64, 0..12_u64]
            .prop_map(Moment::from_micros)
    }

    proptest! {
        #[test]
        fn patterns_compare_like_numbers(one in moment(), other in moment()) {
            let text = other.to_string();
            if one.micros() > 0 {
                prop_assert_eq!(matches(&before(one), &text), other < one, "{} in {}", text, before(one));
            }
            if one < Moment::from_micros(u64::MAX) {
                prop_assert_eq!(matches(&after(one), &text), other > one, "{} in {}", text, after(one));
            }
        }
    }

    #[test]
    fn nothing_is_before_the_first_or_after_the_last_moment() {
        let nothing = "[^0-9 ]";
        assert_eq!(before(Moment::from_micros(0)), nothing);
        assert_eq!(after(Moment::from_micros(u64::MAX)), nothing);
    }
}
