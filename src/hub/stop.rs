//! The end of a session: first Claude Code is asked to go, so that it can say good-bye, then what
//! is left is killed. Readers see the good-bye, then the hub's own mark, then the end of the stream.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::program::Program;
use crate::{clock, paths, process};

use super::launch::Launch;
use super::sessions::{Managed, Place, Stage};
use super::shared::Hub;
use super::store::{Key, Kind};
use super::{log, stream};

/// How long Claude Code may take to end; its hooks for SessionEnd have 5 s, but need a fraction.
const GOOD_BYE: Duration = Duration::from_millis(3500);
/// How long after its pane is gone.
const AFTER_HANGUP: Duration = Duration::from_millis(1500);
/// How long the last hook may take after the process is gone.
const LAST_WORDS: Duration = Duration::from_millis(500);
const TMUX_LIMIT: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(20);
/// Somebody else stops it already; that has bounds of its own.
const JOIN: Duration = Duration::from_secs(7);
/// A hook that is late may still tell something.
const TOKEN_OUTLIVES: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stopped {
    pub(super) session_end_seen: bool,
    /// It had to be killed.
    pub(super) forced: bool,
}

/// Stops a session; whoever asks while it is being stopped waits for the same end. Nothing when it
/// did not end in time.
pub(super) async fn stop(hub: &Arc<Hub>, launch: &Key) -> Option<Stopped> {
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
        tokio::spawn(carry_out(Arc::clone(hub), launch.clone()));
    }
    let ended = until(hub, launch, |managed| managed.stage == Stage::Ended);
    timeout(JOIN, ended).await.ok()?;
    hub.sessions.get(launch).map(|managed| Stopped {
        session_end_seen: managed.session_end_seen,
        forced: managed.was_forced,
    })
}

async fn carry_out(hub: Arc<Hub>, launch: Key) {
    // The pane of a session that is just being started is known in a moment.
    let _ = timeout(GOOD_BYE, until(&hub, &launch, |managed| managed.place.is_some())).await;
    let Some(place) = hub.sessions.get(&launch).and_then(|managed| managed.place) else {
        return finish(&hub, &launch, false);
    };
    signal(&place, Signal::TERM);
    let said_good_bye = wait_for_end(&hub, &launch, &place, GOOD_BYE).await;
    if said_good_bye {
        finish(&hub, &launch, false);
        wait_until_gone(&place, AFTER_HANGUP).await;
        kill_pane(&place).await;
    } else {
        kill_pane(&place).await;
        if wait_for_end(&hub, &launch, &place, AFTER_HANGUP).await {
            finish(&hub, &launch, false);
            // Its last hook has told us, and it will end with that.
            wait_until_gone(&place, LAST_WORDS).await;
        }
    }
    let forced = is_alive(&place);
    if forced {
        kill(&place);
        wait_until_gone(&place, LAST_WORDS).await;
    }
    finish(&hub, &launch, forced);
}

/// Waits until a session says good-bye or its process is gone; true for the first.
async fn wait_for_end(hub: &Hub, launch: &Key, place: &Place, limit: Duration) -> bool {
    let seen = || hub.sessions.get(launch).is_none_or(|managed| managed.session_end_seen);
    let good_bye = until(hub, launch, |managed| managed.session_end_seen);
    tokio::select! {
        _ = timeout(limit, good_bye) => return seen(),
        () = wait_until_gone(place, limit) => {}
    }
    // Its last hook may still be on the way.
    let good_bye = until(hub, launch, |managed| managed.session_end_seen);
    let _ = timeout(LAST_WORDS, good_bye).await;
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
fn finish(hub: &Arc<Hub>, launch: &Key, forced: bool) {
    let ended = hub.sessions.update(launch, |managed| {
        managed.was_forced |= forced;
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
        sleep(Duration::from_millis(200)).await;
    }
    let seen = until(&hub, &launch, |managed| managed.session_end_seen || managed.is_marked);
    let _ = timeout(LAST_WORDS, seen).await;
    finish(&hub, &launch, false);
    hub.sessions.update(&launch, |managed| {
        managed.stage = Stage::Ended;
        managed.since = clock::now();
    });
    let _ = std::fs::remove_file(Launch::path(&hub.settings.launches, launch.as_str()));
    stream::announce(&hub.sessions_changed);
}

async fn wait_until_gone(place: &Place, limit: Duration) {
    let until = Instant::now() + limit;
    while is_alive(place) && Instant::now() < until {
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

/// Every pane has a process group of its own.
fn kill(place: &Place) {
    let pid = i32::try_from(place.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| is_alive(place)) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Only the pane that was opened for it: whatever else the user has put into that tmux session
/// stays. The server is checked too, because another one would have a pane of this number.
async fn kill_pane(place: &Place) {
    let mut tmux = Program::new(paths::tmux_program(), &["-u", "-S"]);
    tmux.arguments.push(place.socket.clone().into_os_string());
    let is_same = format!("#{{==:#{{pid}},{}}}", place.server_pid);
    let kill = format!("kill-pane -t {}", place.pane);
    tmux.arguments.extend(["if-shell", "-F", &is_same, &kill].map(OsString::from));
    let killed = tokio::task::spawn_blocking(move || tmux.run(TMUX_LIMIT));
    // A pane that is gone needs no killing.
    let _ = killed.await;
}
