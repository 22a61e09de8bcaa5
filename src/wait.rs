//! `cld wait`: until sessions wait for the person, or have ended.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::cli::{self, Until};
use crate::error::Stop;
use crate::find::find;
use crate::roster::{self, Listed, Roster, Servers, State};
use crate::session::{Moment, SessionId};
use crate::text::one_line;
use crate::watch::pulse::Pulse;
use crate::{clock, terminal};

pub fn run(options: &cli::Wait) -> Result<()> {
    let timeout = options.timeout.as_deref().map(time_limit).transpose()?;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut roster = roster::read(Servers::All);
    let wanted = Wanted::new(options, &roster)?;
    let mut pulse = Pulse::default();
    loop {
        match wanted.verdict(&roster.sessions, roster.read_at) {
            Verdict::Reached(ids) => {
                let lines: String = ids.iter().map(|id| format!("{}\n", id.as_str())).collect();
                return terminal::print(&lines);
            }
            Verdict::Never(id) => {
                bail!("session {} has ended instead\nTry: cld resume {0}", id.short())
            }
            Verdict::NotYet => {}
        }
        pulse.look(&roster);
        if !pulse.wait(deadline, || false) {
            return Err(anyhow!("{}", wanted.missing(timeout.unwrap_or_default())));
        }
        roster = roster::read(Servers::All);
    }
}

/// A time as people write it; a number alone is seconds.
pub(crate) fn time_limit(text: &str) -> Result<Duration> {
    let seconds = clock::parse_seconds(text, 1).map(Duration::from_secs);
    let wrong = || format!("{:?} is no time\nTry: 90s, 20m or 2h", one_line(text, 80));
    seconds.ok_or_else(|| Stop::Usage(wrong()).into())
}

/// Who is waited for, and until when.
#[derive(Debug)]
struct Wanted {
    /// Nothing stands for whoever is the first.
    ids: Option<Vec<SessionId>>,
    is_named: bool,
    needs_all: bool,
    until: Until,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Reached(Vec<SessionId>),
    NotYet,
    /// This one cannot come to that point any more.
    Never(SessionId),
}

impl Wanted {
    fn new(options: &cli::Wait, roster: &Roster) -> Result<Self> {
        let is_named = !options.ids.is_empty();
        let needs_all = options.all || (is_named && !options.any);
        let mut ids = Vec::new();
        for asked in &options.ids {
            ids.push(find(asked, roster).one(asked)?.id);
        }
        if !is_named && (needs_all || options.until == Until::Ended) {
            let open = roster.sessions.iter().filter(|listed| is_open(listed));
            ids.extend(open.map(|listed| listed.id.clone()));
        }
        let ids = (is_named || !ids.is_empty()).then_some(ids);
        if ids.is_none() && (needs_all || options.until == Until::Ended) {
            bail!("no session is open\nTry: cld ls --all");
        }
        Ok(Self { ids, is_named, needs_all, until: options.until })
    }

    fn verdict(&self, sessions: &[Listed], now: Moment) -> Verdict {
        let Some(ids) = &self.ids else {
            let waiting = sessions
                .iter()
                .filter(|listed| !listed.is_scripted && listed.health.state == State::Waiting);
            let waiting: Vec<SessionId> = waiting.map(|listed| listed.id.clone()).collect();
            return if waiting.is_empty() { Verdict::NotYet } else { Verdict::Reached(waiting) };
        };
        let (mut reached, mut lost) = (Vec::new(), Vec::new());
        for id in ids {
            let mut places = sessions.iter().filter(|listed| listed.id == *id).peekable();
            let is_open = places.clone().any(Listed::is_alive);
            match self.until {
                Until::Ended if !is_open => reached.push(id.clone()),
                Until::Waiting if !is_open => lost.push(id.clone()),
                Until::Waiting if places.any(|listed| self.is_ready(listed, now)) => {
                    reached.push(id.clone());
                }
                Until::Ended | Until::Waiting => {}
            }
        }
        let enough = if self.needs_all { ids.len() } else { 1 };
        let still_possible = ids.len() - lost.len();
        match lost.first() {
            _ if reached.len() >= enough => Verdict::Reached(reached),
            Some(lost) if still_possible < enough => Verdict::Never(lost.clone()),
            _ => Verdict::NotYet,
        }
    }

    /// A session whose turn was interrupted waits for nothing in particular, but will not go on.
    fn is_ready(&self, listed: &Listed, now: Moment) -> bool {
        match listed.health.state {
            State::Waiting => true,
            State::Idle => self.is_named && !listed.has_just_begun(now),
            State::Running | State::Ended(_) | State::Unknown => false,
        }
    }

    fn missing(&self, timeout: Duration) -> String {
        let time = clock::rounded(timeout.as_secs());
        let what = match self.until {
            Until::Waiting => "waited for you",
            Until::Ended => "ended",
        };
        match (&self.ids, self.needs_all) {
            (Some(ids), true) if ids.len() > 1 => format!("not all of them {what} within {time}"),
            (Some(ids), _) if ids.len() == 1 => {
                format!("session {} has not {what} within {time}", ids[0].short())
            }
            _ => format!("no session {what} within {time}"),
        }
    }
}

fn is_open(listed: &Listed) -> bool {
    listed.is_alive() && !listed.is_scripted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{NOW, pane, session, wait};
    use crate::roster::End;

    fn running(number: u32) -> Listed {
        session(Some(pane("/s", number)), Vec::new())
    }

    fn waiting(number: u32) -> Listed {
        session(Some(pane("/s", number)), vec![wait('p', 5)])
    }

    fn in_state(number: u32, state: State) -> Listed {
        let mut listed = running(number);
        listed.health.state = state;
        listed
    }

    fn wanted(numbers: &[u32], needs_all: bool, until: Until) -> Wanted {
        let ids = numbers.iter().map(|number| running(*number).id).collect();
        Wanted { ids: Some(ids), is_named: true, needs_all, until }
    }

    fn reached(numbers: &[u32]) -> Verdict {
        Verdict::Reached(numbers.iter().map(|number| running(*number).id).collect())
    }

    #[test]
    fn all_or_any_of_the_named_sessions_have_to_wait() {
        let one_of_two = [running(1), waiting(2)];
        let all = wanted(&[1, 2], true, Until::Waiting);
        assert_eq!(all.verdict(&one_of_two, NOW), Verdict::NotYet);
        let any = wanted(&[1, 2], false, Until::Waiting);
        assert_eq!(any.verdict(&one_of_two, NOW), reached(&[2]));
        assert_eq!(all.verdict(&[waiting(1), waiting(2)], NOW), reached(&[1, 2]));
        let idle = [in_state(1, State::Idle), waiting(2)];
        assert_eq!(all.verdict(&idle, NOW), reached(&[1, 2]));
    }

    #[test]
    fn a_session_that_ended_never_waits() {
        let ended = || in_state(1, State::Ended(End::Killed));
        let all = wanted(&[1, 2], true, Until::Waiting);
        assert_eq!(all.verdict(&[ended(), waiting(2)], NOW), Verdict::Never(ended().id));
        assert_eq!(all.verdict(&[waiting(2)], NOW), Verdict::Never(ended().id));
        let any = wanted(&[1, 2], false, Until::Waiting);
        assert_eq!(any.verdict(&[ended(), running(2)], NOW), Verdict::NotYet);
        let ends = wanted(&[1], true, Until::Ended);
        assert_eq!(ends.verdict(&[ended()], NOW), reached(&[1]));
        assert_eq!(ends.verdict(&[], NOW), reached(&[1]));
        assert_eq!(ends.verdict(&[waiting(1)], NOW), Verdict::NotYet);
    }

    #[test]
    fn without_names_whoever_waits_first_is_enough() {
        let first = Wanted { ids: None, is_named: false, needs_all: false, until: Until::Waiting };
        let idle = || in_state(1, State::Idle);
        assert_eq!(first.verdict(&[idle(), running(2)], NOW), Verdict::NotYet);
        assert_eq!(first.verdict(&[idle(), waiting(2)], NOW), reached(&[2]));
    }
}
