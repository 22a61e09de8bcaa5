//! Timestamps as Claude Code writes them: RFC 3339 in UTC, `2026-11-18T01:11:29.159Z`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// None for anything but a valid moment from 1970 on, in UTC (`Z` or a zero offset).
pub fn parse_utc(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let (nanos, zone) = fraction(rest)?;
    if !matches!(zone, "Z" | "z" | "+00:00" | "-00:00") {
        return None;
    }
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let is_valid = year >= 1970
        && (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_valid {
        return None;
    }
    let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::new(seconds, nanos))
}

fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(digits_and_zone) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = digits_and_zone.find(|c: char| !c.is_ascii_digit())?;
    let (digits, zone) = digits_and_zone.split_at(end);
    if digits.is_empty() {
        return None;
    }
    let nanos = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    Some((nanos.fold(0, |value, digit| value * 10 + u32::from(digit - b'0')), zone))
}

fn numbers(text: &str, separator: char, widths: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(separator);
    let mut values = [0; 3];
    for (value, width) in values.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *value = part.parse().ok()?;
    }
    parts.next().is_none().then_some(values)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let before = year - 1;
    let leap_days = before / 4 - before / 100 + before / 400;
    let leap_days_before_1970 = 477;
    let months = (1..month).map(|month| days_in_month(year, month)).sum::<u64>();
    (year - 1970) * 365 + leap_days - leap_days_before_1970 + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::{days_in_month, parse_utc};
    use proptest::prelude::proptest;
    use std::time::{Duration, UNIX_EPOCH};

    #[track_caller]
    fn check(text: &str, expected_millis: Option<u64>) {
        assert_eq!(
            parse_utc(text),
            expected_millis.map(|ms| UNIX_EPOCH + Duration::from_millis(ms)),
            "{text}"
        );
    }

    #[test]
    fn moments_in_utc_are_read() {
        check("1970-01-01T00:00:00Z", Some(0));
        check("2026-11-18T01:11:29.159Z", Some(1_794_964_289_159));
        check("2000-02-29T23:59:59Z", Some(951_868_799_000));
        check("2100-03-01T00:00:00.5z", Some(4_107_542_400_500));
        check("2024-12-31 23:59:60+00:00", Some(1_735_689_600_000));
    }

    #[test]
    fn fractions_beyond_nanoseconds_are_cut() {
        let expected = UNIX_EPOCH + Duration::new(1, 123_456_789);
        assert_eq!(parse_utc("1970-01-01T00:00:01.123456789999Z"), Some(expected));
    }

    #[test]
    fn what_is_no_moment_in_utc_is_refused() {
        for text in [
            "",
            "2026-11-18",
            "2026-11-18T01:11:29",
            "2026-11-18T01:11:29.Z",
            "2026-11-18T01:11:29+01:00",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "1969-12-31T23:59:59Z",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:00Zulu",
            "２026-01-01T00:00:00Z",
        ] {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn consecutive_days_are_a_day_apart(
            year in 1970u64..9999,
            month in 1u64..=12,
            day in 1u64..=31,
        ) {
            let day = day.min(days_in_month(year, month));
            let next = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, last) if last == days_in_month(year, month) => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
            let at = |(year, month, day): (u64, u64, u64)| {
                parse_utc(&format!("{year:04}-{month:02}-{day:02}T12:00:00Z")).unwrap()
            };
            let apart = at(next).duration_since(at((year, month, day))).unwrap();
            assert_eq!(apart, Duration::from_secs(86_400));
        }

        #[test]
        fn any_text_is_read_without_harm(text in "\\PC{0,40}") {
            let _ = parse_utc(&text);
        }
    }
}
