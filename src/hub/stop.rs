//! The end of a session: first Claude Code is asked to go, so that it can say good-bye, then what
//! is left is killed. Readers see the good-bye, then the hub's own mark, then the end of the stream.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::program::Program;
use crate::{clock, paths, process};

use super::launch::Launch;
use super::sessions::{Managed, Place, Stage};
use super::shared::Hub;
use super::store::{Key, Kind};
use super::{log, stream};

/// How long a stop may take, and takes at most when nobody asks for less.
pub(super) const LONGEST: Duration = Duration::from_secs(6);
/// How long a process that has said good-bye may take to go.
const AFTER_GOOD_BYE: Duration = Duration::from_millis(1500);
/// How long the last hook may take after the process is gone.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the system may take with a process that it was told to kill.
const KILLED: Duration = Duration::from_millis(400);
const TMUX_LIMIT: Duration = Duration::from_millis(500);
/// Less than this would be no attempt.
const TMUX_NEEDS: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(20);
/// How often a session is looked after, and so how late its end may be noticed.
const WATCH: Duration = Duration::from_millis(200);
/// A hook that is late may still tell something.
const TOKEN_OUTLIVES: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stopped {
    pub(super) session_end_seen: bool,
    /// It had to be killed.
    pub(super) forced: bool,
}

/// When the next means is taken. SIGTERM comes first; Claude Code then has 3.5 s of 6, of which its
/// hooks for SessionEnd need a fraction, and 1.75 s after its pane is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Steps {
    close_pane: Instant,
    /// Whoever has said good-bye but stays is no longer waited for.
    go: Instant,
    kill: Instant,
}

impl Steps {
    fn new(began: Instant, limit: Duration) -> Self {
        let limit = limit.min(LONGEST);
        let kill = limit * 7 / 8;
        Self {
            close_pane: began + limit * 7 / 12,
            go: began + kill.saturating_sub(TMUX_LIMIT),
            kill: began + kill,
        }
    }
}

/// Stops a session within a time; whoever asks while it is being stopped waits for the same end.
/// Nothing when it did not end in time.
pub(super) async fn stop(hub: &Arc<Hub>, launch: &Key, limit: Duration) -> Option<Stopped> {
    let began = Instant::now();
    let is_first = hub.sessions.update(launch, |managed| {
        let is_first = matches!(managed.stage, Stage::Starting | Stage::Ready);
        if is_first {
            managed.stage = Stage::Ending;
            managed.since = clock::now();
        }
        is_first
    })?;
    if is_first {
        stream::announce(&hub.sessions_changed);
        // Goes on when the caller does not wait for it.
        tokio::spawn(carry_out(Arc::clone(hub), launch.clone(), Steps::new(began, limit)));
    }
    let ended = until(hub, launch, |managed| managed.stage == Stage::Ended);
    timeout_at(began + LONGEST, ended).await.ok()?;
    hub.sessions.get(launch).map(|managed| Stopped {
        session_end_seen: managed.session_end_seen,
        forced: managed.was_forced,
    })
}

async fn carry_out(hub: Arc<Hub>, launch: Key, steps: Steps) {
    // The pane of a session that is just being started is known in a moment.
    let _ = timeout_at(steps.kill, until(&hub, &launch, |managed| managed.place.is_some())).await;
    let Some(place) = hub.sessions.get(&launch).and_then(|managed| managed.place) else {
        return finish(&hub, &launch);
    };
    signal(&place, Signal::TERM);
    if wait_for_end(&hub, &launch, &place, steps.close_pane).await {
        finish(&hub, &launch);
        wait_until_gone(&place, steps.go.min(Instant::now() + AFTER_GOOD_BYE)).await;
        close_pane(&place, steps.kill).await;
    } else {
        close_pane(&place, steps.kill).await;
        if wait_for_end(&hub, &launch, &place, steps.kill).await {
            finish(&hub, &launch);
            // Its last hook has told us, and it will end with that.
            wait_until_gone(&place, steps.kill).await;
        }
    }
    kill(&hub, &launch, &place).await;
    finish(&hub, &launch);
}

/// Ends what came up when its stop had already been given up.
pub(super) async fn end_late(hub: Arc<Hub>, launch: Key, place: Place) {
    close_pane(&place, Instant::now() + TMUX_LIMIT).await;
    kill(&hub, &launch, &place).await;
    finish(&hub, &launch);
}

/// Waits until a session says good-bye or its process is gone; true for the first.
async fn wait_for_end(hub: &Hub, launch: &Key, place: &Place, deadline: Instant) -> bool {
    let seen = || hub.sessions.get(launch).is_none_or(|managed| managed.session_end_seen);
    let good_bye = until(hub, launch, |managed| managed.session_end_seen);
    tokio::select! {
        _ = timeout_at(deadline, good_bye) => return seen(),
        () = wait_until_gone(place, deadline) => {}
    }
    // Its last hook may still be on the way.
    let good_bye = until(hub, launch, |managed| managed.session_end_seen);
    let _ = timeout_at(deadline.min(Instant::now() + LAST_WORDS), good_bye).await;
    seen()
}

/// Waits until something holds for a session; for ever when it never does.
pub(super) async fn until(hub: &Hub, launch: &Key, holds: impl Fn(&Managed) -> bool) {
    let Some(mut changed) = hub.sessions.watch(launch) else { return };
    loop {
        changed.borrow_and_update();
        if hub.sessions.get(launch).is_none_or(|managed| holds(&managed)) {
            return;
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}

/// Tells readers that a session has ended, once.
fn finish(hub: &Arc<Hub>, launch: &Key) {
    let ended = hub.sessions.update(launch, |managed| {
        if managed.stage == Stage::Ended || managed.is_marked {
            return None;
        }
        managed.is_marked = true;
        Some(managed.clone())
    });
    if let Some(Some(managed)) = ended {
        let mark = json!({
            "type": "session_ended",
            "session_id": managed.id(),
            "launch_id": launch.as_str(),
            "session_end_seen": managed.session_end_seen,
        });
        hub.store.append(launch, Kind::Hub, &mark.to_string());
        hub.store.end(launch);
        log::line(&format!("session {} ended", managed.id()));
        let (hub, launch) = (Arc::clone(hub), launch.clone());
        tokio::spawn(async move {
            sleep(TOKEN_OUTLIVES).await;
            hub.keys.forget(&launch);
        });
    }
}

/// Looks after a session until its process is gone, however that comes.
pub(super) async fn watch(hub: Arc<Hub>, launch: Key) {
    let Some(place) = hub.sessions.get(&launch).and_then(|managed| managed.place) else { return };
    while is_alive(&place) {
        sleep(WATCH).await;
    }
    let seen = until(&hub, &launch, |managed| managed.session_end_seen || managed.is_marked);
    let _ = timeout(LAST_WORDS, seen).await;
    finish(&hub, &launch);
    hub.sessions.update(&launch, |managed| {
        managed.stage = Stage::Ended;
        managed.since = clock::now();
    });
    let _ = std::fs::remove_file(Launch::path(&hub.settings.launches, launch.as_str()));
    stream::announce(&hub.sessions_changed);
}

async fn wait_until_gone(place: &Place, deadline: Instant) {
    while is_alive(place) && Instant::now() < deadline {
        sleep(LOOK).await;
    }
}

/// By its start time too, because numbers are used again.
fn is_alive(place: &Place) -> bool {
    match process::stat(place.pid) {
        Some(stat) => !stat.has_ended && stat.started == place.pid_start,
        // Where processes are not listed as files, the number alone has to do.
        None => place.pid_start.is_empty() && process::exists(place.pid),
    }
}

fn signal(place: &Place, signal: Signal) {
    let pid = i32::try_from(place.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| is_alive(place)) {
        // It may just have gone.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Kills what is left. Every pane has a process group of its own.
async fn kill(hub: &Hub, launch: &Key, place: &Place) {
    let pid = i32::try_from(place.pid).ok().and_then(Pid::from_raw);
    let Some(pid) = pid.filter(|_| is_alive(place)) else { return };
    // Said before, because whoever waits for the end may see it at once.
    hub.sessions.update(launch, |managed| managed.was_forced = true);
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    wait_until_gone(place, Instant::now() + KILLED).await;
}

/// Only the pane that was opened for it: whatever else the user has put into that tmux session
/// stays. The server is checked too, because another one would have a pane of this number.
async fn close_pane(place: &Place, deadline: Instant) {
    let mut tmux = Program::new(paths::tmux_program(), &["-u", "-S"]);
    tmux.arguments.push(place.socket.clone().into_os_string());
    let is_same = format!("#{{==:#{{pid}},{}}}", place.server_pid);
    let kill = format!("kill-pane -t {}", place.pane);
    tmux.arguments.extend(["if-shell", "-F", &is_same, &kill].map(OsString::from));
    let left = deadline.saturating_duration_since(Instant::now());
    let limit = left.clamp(TMUX_NEEDS, TMUX_LIMIT);
    let killed = tokio::task::spawn_blocking(move || tmux.run(limit));
    // A pane that is gone needs no killing.
    let _ = killed.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_over_within_its_limit_whatever_each_step_needs() {
        let began = Instant::now();
        let steps = Steps::new(began, LONGEST);
        assert!(steps.close_pane < steps.go && steps.go + TMUX_LIMIT <= steps.kill);
        assert!(steps.kill + TMUX_NEEDS + KILLED + LOOK + WATCH <= began + LONGEST);
        assert_eq!(Steps::new(began, LONGEST * 2), steps, "nobody can ask for more");
        let at_once = Steps::new(began, Duration::ZERO);
        assert_eq!(at_once, Steps { close_pane: began, go: began, kill: began });
    }
}
