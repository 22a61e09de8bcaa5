//! The only place that reads the clock; everything else takes the moment as a parameter.

use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

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

/// The time zone of the user, from `$TZ` or the system.
pub fn zone() -> TimeZone {
    TimeZone::system()
}

/// The day a moment is in, as `2026-11-18`.
pub fn day(moment: Moment, zone: &TimeZone) -> String {
    zoned(moment, zone).date().to_string()
}

/// The first moment of a day such as `2026-11-18`.
pub fn start_of_day(day: &str, zone: &TimeZone) -> Option<Moment> {
    let start = Date::from_str(day).ok()?.to_zoned(zone.clone()).ok()?;
    u64::try_from(start.timestamp().as_microsecond()).ok().map(Moment::from_micros)
}

/// The minute of the day.
pub fn minute_of_day(moment: Moment, zone: &TimeZone) -> u32 {
    let time = zoned(moment, zone).time();
    u32::from(time.hour().unsigned_abs()) * 60 + u32::from(time.minute().unsigned_abs())
}

/// The next moment at which a clock on the wall here shows that time of day.
pub fn next_local(hour: u8, minute: u8, now: Moment) -> Option<Moment> {
    next_in(&zone(), hour, minute, now)
}

fn next_in(zone: &TimeZone, hour: u8, minute: u8, now: Moment) -> Option<Moment> {
    let now = zoned(now, zone);
    let (hour, minute) = (i8::try_from(hour).ok()?, i8::try_from(minute).ok()?);
    let time = jiff::civil::Time::new(hour, minute, 0, 0).ok()?;
    let today = now.with().time(time).build().ok()?;
    let next =
        if today > now { today } else { now.tomorrow().ok()?.with().time(time).build().ok()? };
    u64::try_from(next.timestamp().as_microsecond()).ok().map(Moment::from_micros)
}

fn zoned(moment: Moment, zone: &TimeZone) -> Zoned {
    let micros = i64::try_from(moment.micros()).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX).to_zoned(zone.clone())
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

/// A duration that loses nothing: `90s`, `2h`, `1d`.
pub fn exact(seconds: u64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(length, _)| seconds > 0 && seconds.is_multiple_of(*length));
    let (length, letter) = unit.unwrap_or((1, "s"));
    format!("{}{letter}", seconds / length)
}

/// The seconds of `90s`, `5m`, `1h30m` or `1d`.
pub fn parse_duration(text: &str) -> Option<u64> {
    let (mut seconds, mut rest) = (0_u64, text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let length = match rest.as_bytes()[end] {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 86_400,
            _ => return None,
        };
        let number = rest[..end].parse::<u64>().ok()?;
        seconds = seconds.checked_add(number.checked_mul(length)?)?;
        rest = &rest[end + 1..];
    }
    (!text.is_empty()).then_some(seconds)
}

/// The same, where a number alone counts `unit`.
pub fn parse_seconds(text: &str, unit: u64) -> Option<u64> {
    let number = text.parse::<u32>().ok().filter(|_| !text.starts_with('+'));
    number.map_or_else(|| parse_duration(text), |number| Some(u64::from(number) * unit))
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
    fn the_next_time_of_day_is_today_or_tomorrow_and_knows_summer_time() {
        // Central European time, which ended summer time on 2026-10-25.
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |now: u64, hour, minute| {
            let next = next_in(&zone, hour, minute, Moment::from_seconds(now)).unwrap();
            utc(next)
        };
        let november_18_at_11_30 = 1_794_997_800;
        assert_eq!(at(november_18_at_11_30, 14, 0), "2026-11-18T13:00:00.000Z");
        assert_eq!(at(november_18_at_11_30, 9, 15), "2026-11-19T08:15:00.000Z");
        assert_eq!(at(november_18_at_11_30, 11, 30), "2026-11-19T10:30:00.000Z");
        let october_24_at_20_00 = 1_792_864_800;
        assert_eq!(at(october_24_at_20_00, 8, 0), "2026-10-25T07:00:00.000Z");
    }

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, seconds) in [
            ("20m", 1200),
            ("2h", 7200),
            ("1h30m", 5400),
            ("90s", 90),
            ("1d", 86_400),
            ("45", 450),
            ("0", 0),
        ] {
            assert_eq!(parse_seconds(text, 10), Some(seconds), "{text}");
        }
        for text in ["", "m", "20x", "h2", "-5m", "+5", "1.5h", "99999999999999999h", "2é", "5m3"]
        {
            assert_eq!(parse_seconds(text, 10), None, "{text}");
        }
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

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, seconds) in [
            ("0s", Some(0)),
            ("90s", Some(90)),
            ("5m", Some(300)),
            ("2h", Some(7200)),
            ("1d", Some(86_400)),
            ("", None),
            ("s", None),
            ("5", None),
            ("-5s", None),
            ("+5s", None),
            ("1.5h", None),
            ("5 m", None),
            ("5µ", None),
            ("99999999999999999999s", None),
            ("999999999999999999d", None),
        ] {
            assert_eq!(parse_duration(text), seconds, "{text:?}");
            if let Some(seconds) = seconds {
                assert_eq!(parse_duration(&exact(seconds)), Some(seconds));
            }
        }
    }

    #[test]
    fn days_are_those_of_the_time_zone() {
        let zone = |text| TimeZone::posix(text).unwrap();
        let moment = Moment::from_seconds(1_794_964_287);
        for (zone, expected_day, minute) in [
            (zone("UTC0"), "2026-11-18", 71),
            (zone("EST5"), "2026-11-17", 20 * 60 + 11),
            (zone("XXX-10"), "2026-11-18", 11 * 60 + 11),
        ] {
            assert_eq!(day(moment, &zone), expected_day);
            assert_eq!(minute_of_day(moment, &zone), minute);
            let start = start_of_day(expected_day, &zone).unwrap();
            assert_eq!(day(start, &zone), expected_day);
            assert_eq!(minute_of_day(start, &zone), 0);
        }
        for text in ["", "2026-02-30", "yesterday", "1969-12-31"] {
            assert_eq!(start_of_day(text, &TimeZone::UTC), None, "{text:?}");
        }
        assert_eq!(day(Moment::from_micros(u64::MAX), &TimeZone::UTC), "2286-11-20");
    }
}
