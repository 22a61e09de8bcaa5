//! When Claude Code deletes a transcript: it does so at its start, with those that were not changed
//! for `cleanupPeriodDays`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::number;
use crate::roster::{Listed, past};
use crate::session::Moment;

const USUAL_DAYS: u64 = 30;
/// From when on a person is told.
const NOTICE_DAYS: u64 = 5;
const DAY: u64 = 86_400;
/// What is larger is no settings file.
const LARGEST_SETTINGS: u64 = 4 * 1024 * 1024;

/// The settings of each config directory, read once.
#[derive(Debug, Default)]
pub struct Retention {
    days: HashMap<PathBuf, u64>,
}

impl Retention {
    /// In how many days the transcript of a past session is deleted, where that is soon.
    pub fn days_left(&mut self, listed: &Listed, now: Moment) -> Option<u64> {
        self.days_left_of(listed.modified?, listed.config_dir.as_ref()?, now)
    }

    /// The same for a transcript that was changed then.
    pub fn days_left_of(
        &mut self,
        changed: SystemTime,
        config_dir: &Path,
        now: Moment,
    ) -> Option<u64> {
        let days = match self.days.get(config_dir) {
            Some(days) => *days,
            None => *self.days.entry(config_dir.to_owned()).or_insert(period(config_dir)),
        };
        let age = now.seconds_since(past::moment(changed));
        days_left(days, age).filter(|left| *left <= NOTICE_DAYS)
    }
}

/// Nothing for a period of no days, which turns the deletion off.
fn days_left(period: u64, age: u64) -> Option<u64> {
    (period > 0).then(|| period.saturating_mul(DAY).saturating_sub(age) / DAY)
}

fn period(config_dir: &Path) -> u64 {
    let mut settings = Vec::new();
    let read = File::open(config_dir.join("settings.json"))
        .and_then(|file| file.take(LARGEST_SETTINGS).read_to_end(&mut settings));
    read.ok().and_then(|_| parse(&settings)).unwrap_or(USUAL_DAYS)
}

fn parse(settings: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Settings<'a> {
        #[serde(borrow)]
        cleanup_period_days: Option<&'a RawValue>,
    }
    number(serde_json::from_slice::<Settings<'_>>(settings).ok()?.cleanup_period_days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_left_are_counted_from_the_last_change() {
        for (period, age_days, expected) in [
            (30, 0, Some(30)),
            (30, 27, Some(3)),
            (30, 40, Some(0)),
            (99_999, 40, Some(99_959)),
            (0, 40, None),
        ] {
            assert_eq!(days_left(period, age_days * DAY), expected, "{period} {age_days}");
        }
        assert_eq!(days_left(30, 27 * DAY + 1), Some(2));
    }

    #[test]
    fn the_period_is_read_from_settings_of_any_shape() {
        for (settings, expected) in [
            (r#"{"cleanupPeriodDays": 90, "hooks": {}}"#, Some(90)),
            (r#"{"hooks": {"cleanupPeriodDays": 90}}"#, None),
            (r#"{"cleanupPeriodDays": "90"}"#, None),
            (r#"{"cleanupPeriodDays": -1}"#, None),
            ("{", None),
            ("", None),
        ] {
            assert_eq!(parse(settings.as_bytes()), expected, "{settings}");
        }
    }
}
