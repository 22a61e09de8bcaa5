//! Whether anybody is told, and of what. Pure.

use std::fmt;
use std::time::Duration;

use crate::config::{Channel, Notify};
use crate::session::{Moment, Wait, WaitKind};
use crate::tmux::Look;

/// More is a mistake.
const LONGEST_DEBOUNCE_MS: u64 = 60_000;

/// Why nobody is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    NoWait,
    Looked,
    Told,
    Quiet,
    Unwanted,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoWait => "nothing waits any more",
            Self::Looked => "somebody looks",
            Self::Told => "told already",
            Self::Quiet => "quiet hours",
            Self::Unwanted => "no channel for this kind",
        })
    }
}

/// The wait to tell of, and the channels that do. `minute` is the local time since midnight.
pub(super) fn decide<'a>(
    config: &'a Notify,
    look: &'a Look,
    minute: u32,
) -> Result<(&'a Wait, Vec<&'a Channel>), Silence> {
    let wait = newest_wait(look).ok_or(Silence::NoWait)?;
    if look.is_looked_at() || !look.has_attention {
        return Err(Silence::Looked);
    }
    if look.notified.is_some_and(|notified| notified >= wait.since) {
        return Err(Silence::Told);
    }
    if config.quiet.is_some_and(|quiet| quiet.holds(minute)) {
        return Err(Silence::Quiet);
    }
    let tells = |channel: &&Channel| channel.kinds.contains(&wait.kind);
    let channels: Vec<&Channel> = config.channels.iter().filter(tells).collect();
    if channels.is_empty() { Err(Silence::Unwanted) } else { Ok((wait, channels)) }
}

/// The one that opened last is the one that nobody has been told of.
fn newest_wait(look: &Look) -> Option<&Wait> {
    let kept = look.kept.as_ref()?;
    kept.dialogs.iter().chain(&kept.finished).max_by_key(|wait| wait.since)
}

/// How much longer a turn has to be over before that counts: a prompt that was queued may follow.
pub(super) fn unsettled(look: &Look, now: Moment, debounce_ms: u64) -> Option<Duration> {
    let wait = newest_wait(look).filter(|wait| matches!(wait.kind, WaitKind::Turn(_)))?;
    let settled = wait.since.plus_millis(debounce_ms.min(LONGEST_DEBOUNCE_MS));
    let rest = settled.micros().saturating_sub(now.micros());
    // A turn that ended in the future is from before the clock was set back.
    (rest > 0 && wait.since <= now).then(|| Duration::from_micros(rest))
}

/// The moment before which the last notification has to have been, for the next one to be sent.
pub(super) fn gap_ends(config: &Notify, now: Moment) -> Moment {
    let gap = u64::try_from(config.min_gap.as_micros()).unwrap_or(u64::MAX);
    Moment::from_micros(now.micros().saturating_sub(gap))
}
