//! For how long a wait is put off, as people say it. Pure.

use crate::clock::parse_seconds;
use crate::session::Moment;

/// Longer than this nobody remembers why.
const LONGEST_SECONDS: u64 = 30 * 86_400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    Seconds(u64),
    TimeOfDay { hour: u8, minute: u8 },
}

impl Pause {
    /// `20m`, `1h30m`, `2h`, `14:00` or `until 14:00`; minutes where no unit is named.
    pub(super) fn parse(words: &[String]) -> Option<Self> {
        match words {
            [time] => duration(time).or_else(|| time_of_day(time)),
            [until, time] if until == "until" => time_of_day(time),
            _ => None,
        }
    }

    /// `next_local` tells when it will next be that time of day.
    pub(super) fn end(
        self,
        now: Moment,
        next_local: impl Fn(u8, u8, Moment) -> Option<Moment>,
    ) -> Option<Moment> {
        match self {
            Self::Seconds(seconds) => Some(now.plus_seconds(seconds)),
            Self::TimeOfDay { hour, minute } => next_local(hour, minute, now),
        }
    }
}

fn duration(text: &str) -> Option<Pause> {
    let seconds = parse_seconds(text, 60)?;
    (1..=LONGEST_SECONDS).contains(&seconds).then_some(Pause::Seconds(seconds))
}

fn time_of_day(text: &str) -> Option<Pause> {
    let (hour, minute) = text.split_once(':')?;
    let is_number = |digits: &str| {
        (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(hour) || !is_number(minute) || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some(Pause::TimeOfDay { hour, minute })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Pause>) {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        assert_eq!(Pause::parse(&words), expected, "{text:?}");
    }

    #[test]
    fn a_pause_is_neither_nothing_nor_longer_than_anybody_remembers() {
        check("20m", Some(Pause::Seconds(1200)));
        check("45", Some(Pause::Seconds(2700)));
        for text in ["", "0", "0m", "31d", "soon"] {
            check(text, None);
        }
    }

    #[test]
    fn a_time_of_day_may_follow_until() {
        check("14:00", Some(Pause::TimeOfDay { hour: 14, minute: 0 }));
        check("until 9:05", Some(Pause::TimeOfDay { hour: 9, minute: 5 }));
        for text in ["24:00", "14:60", "14:5", "until", "until 2h", "1:2:3", "+1:00", "after 14:00"]
        {
            check(text, None);
        }
    }

    #[test]
    fn the_end_is_later_than_now() {
        let now = Moment::from_seconds(100);
        let at_noon =
            |hour, minute, _| Some(Moment::from_seconds(u64::from(hour) * 60 + minute as u64));
        assert_eq!(Pause::Seconds(20).end(now, at_noon), Some(Moment::from_seconds(120)));
        let pause = Pause::TimeOfDay { hour: 12, minute: 1 };
        assert_eq!(pause.end(now, at_noon), Some(Moment::from_seconds(721)));
    }
}
