//! `--since`: how long ago, or a date. Pure.

use crate::roster::past;
use crate::session::Moment;
use crate::transcript::parse_utc;

/// `90m`, `12h`, `3d`, `2w`, or a date in UTC with or without a time.
pub(super) fn parse(text: &str, now: Moment) -> Option<Moment> {
    let date = parse_utc(text).or_else(|| parse_utc(&format!("{text}T00:00:00Z")));
    if let Some(date) = date {
        return Some(past::moment(date));
    }
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = is_number.then(|| number.parse::<u64>().ok()).flatten()?.checked_mul(unit)?;
    Some(Moment::from_seconds(now.seconds().saturating_sub(seconds)))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::session::Moment;

    #[test]
    fn a_time_is_an_age_or_a_date() {
        let now = Moment::from_seconds(1_794_960_000);
        let day = 86_400;
        for (text, expected) in [
            ("90s", Some(1_794_960_000 - 90)),
            ("90m", Some(1_794_960_000 - 90 * 60)),
            ("12h", Some(1_794_960_000 - day / 2)),
            ("3d", Some(1_794_960_000 - 3 * day)),
            ("2w", Some(1_794_960_000 - 14 * day)),
            ("99999d", Some(0)),
            ("2026-11-18", Some(1_794_960_000)),
            ("2026-11-18T01:00:00Z", Some(1_794_963_600)),
            ("", None),
            ("d", None),
            ("3", None),
            ("3y", None),
            ("-3d", None),
            ("3 d", None),
            ("99999999999999999999d", None),
            ("2026-13-01", None),
            ("3é", None),
        ] {
            assert_eq!(parse(text, now).map(Moment::seconds), expected, "{text}");
        }
    }
}
