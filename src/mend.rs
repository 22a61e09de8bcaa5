//! `cld mend`: what a window shows is put right where Claude Code has told no hook.
//!
//! An approval, a denial, an interrupt and a kill fire no event. Only a person does them, and mostly
//! in the pane itself; so the tmux server starts this a moment after somebody has left a window where
//! Claude works or asks, apart from everything that anybody waits for.

use anyhow::Result;

use crate::cli;
use crate::error::Stop;
use crate::hook::{self, transition::Change, transition::Scope};
use crate::pane::Kept;
use crate::roster::{self, End, Health, Listed, Servers, State, Teller};
use crate::session::{Activity, Moment, Status};
use crate::tmux::{Pane, Place, Server};
use crate::{clock, paths};

pub fn run(options: &cli::Mend) -> Result<()> {
    let is_window =
        options.window.strip_prefix('@').is_some_and(|number| number.parse::<u32>().is_ok());
    if !is_window {
        return Err(Stop::Usage("a window such as @3 is needed".to_owned()).into());
    }
    let began = clock::now();
    let roster = roster::read(Servers::Current);
    for listed in &roster.sessions {
        let pane = listed.pane.as_ref().filter(|pane| pane.window == options.window);
        if let Some(pane) = pane
            && let Some((changes, at)) = correction(pane, listed, began)
        {
            // The pane may be gone, or an event may have told more by now: then nothing is changed.
            let _ = hook::amend(&changes, &place(pane), at);
        }
    }
    Ok(())
}

fn place(pane: &Pane) -> Place {
    let server = Server {
        program: paths::tmux_program(),
        socket: pane.socket.clone(),
        pid: pane.server_pid,
        hidden_environment: paths::tmux_has_hidden_environment(),
    };
    Place { server, pane: pane.id }
}

fn correction(pane: &Pane, listed: &Listed, began: Moment) -> Option<(Vec<Change>, Moment)> {
    let kept = pane.kept.as_ref().filter(|kept| kept.session == listed.id)?;
    let changes = changes(kept, &listed.health)?;
    Some((changes, moment(kept, listed)?.min(began)))
}

/// Since when it is so: an event that began later knows better.
fn moment(kept: &Kept, listed: &Listed) -> Option<Moment> {
    match listed.health.told_by {
        Teller::Hooks => None,
        Teller::Registry => {
            let entry = listed.entry.as_ref()?;
            entry.status_updated_at.or(entry.updated_at).map(Moment::from_millis)
        }
        Teller::Transcript => listed.health.since,
        // After all that the process has told, and before whatever is started in its place.
        Teller::Process => kept.latest_time.map(|time| time.plus_seconds(1)),
    }
}

/// What has to change for the pane to show the state; nothing where it does, or where waits are open
/// of which only hooks can tell all.
fn changes(kept: &Kept, health: &Health) -> Option<Vec<Change>> {
    let (status, activity) = match health.state {
        State::Running => (health.status?, Activity::Running),
        State::Idle => (Status::Stopped, Activity::Idle),
        State::Ended(End::Killed) => (Status::Removed, Activity::Idle),
        State::Ended(_) | State::Waiting | State::Unknown => return None,
    };
    let shown = kept.status.unwrap_or(Status::Removed);
    let is_right = (shown, kept.activity) == (status, Some(activity))
        && kept.dialogs.is_empty()
        && kept.finished.is_none();
    (!is_right).then(|| {
        vec![Change::End(Scope::Everything), Change::Status(status), Change::Activity(activity)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pane::{ACTIVITY, ASKING, FINISHED, READ, SESSION_ID, STATUS};

    const DIALOG: &str = "|main.00fe.p@0000000000000007 Bash: ls";
    const TURN: &str = "0000000000000005 d all is well";

    fn kept(status: &str, activity: &str, asking: &str, finished: &str) -> Kept {
        let mut values = [""; READ.len()];
        for (option, value) in [
            (SESSION_ID, "23e30f82"),
            (STATUS, status),
            (ACTIVITY, activity),
            (ASKING, asking),
            (FINISHED, finished),
        ] {
            values[READ.iter().position(|name| *name == option).unwrap()] = value;
        }
        Kept::read(values).unwrap()
    }

    #[track_caller]
    fn check(
        kept: &Kept,
        state: State,
        status: Option<Status>,
        expected: Option<(Status, Activity)>,
    ) {
        let told_by = Teller::Registry;
        let health = Health { state, status, waits: Vec::new(), since: None, told_by };
        let expected = expected.map(|(status, activity)| {
            vec![Change::End(Scope::Everything), Change::Status(status), Change::Activity(activity)]
        });
        assert_eq!(changes(kept, &health), expected, "{kept:?} {state:?}");
    }

    #[test]
    fn what_is_shown_follows_what_is_true() {
        let (running, stopped) = (Some(Status::Running), Some(Status::Stopped));
        let busy = kept("running", "running", "", "");
        let asks = kept("stopped", "running", DIALOG, "");
        let done = kept("stopped", "idle", "", TURN);
        let rests = kept("stopped", "idle", "", "");
        let subagents = kept("stopped", "running", "", "");
        let idle = Some((Status::Stopped, Activity::Idle));
        let works = Some((Status::Running, Activity::Running));
        let gone = Some((Status::Removed, Activity::Idle));
        check(&busy, State::Idle, stopped, idle);
        check(&asks, State::Idle, stopped, idle);
        check(&rests, State::Idle, stopped, None);
        check(&asks, State::Running, running, works);
        check(&done, State::Running, running, works);
        check(&busy, State::Running, running, None);
        check(&subagents, State::Running, stopped, None);
        for kept in [&busy, &asks, &done, &rests] {
            check(kept, State::Ended(End::Killed), None, gone);
            check(kept, State::Waiting, stopped, None);
            check(kept, State::Unknown, None, None);
            check(kept, State::Ended(End::Closed), None, None);
        }
        check(&kept("", "idle", "", ""), State::Ended(End::Killed), None, None);
    }
}
