//! The only place that reads the clock; everything else takes the moment as a parameter.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::session::Moment;

#[expect(clippy::disallowed_methods, reason = "this module is the clock")]
pub fn now() -> Moment {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

/// A moment as `2026-11-18T03:40:01.123Z`.
pub fn utc(moment: Moment) -> String {
    let (seconds, micros) = (moment.seconds(), moment.micros() % 1_000_000);
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) =
        (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    let millis = micros / 1000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// A duration in its largest unit: `42s`, `7m`, `3h`, `12d`.
pub fn rounded(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Days since 1970 as a date of the Gregorian calendar. Years are counted from March, so that the
/// leap day is the last day of one.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_794_964_287, "2026-11-18T01:11:27.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(Moment::from_micros(seconds * 1_000_000)), text);
        }
        assert!(utc(Moment::from_micros(1_123_456)).ends_with("01.123Z"));
    }

    #[test]
    fn durations_are_rounded_down_to_their_largest_unit() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3599, "59m"),
            (3600, "1h"),
            (86_399, "23h"),
            (86_400, "1d"),
            (40 * 86_400, "40d"),
        ] {
            assert_eq!(rounded(seconds), text);
        }
    }
}
