//! A message for a session: typed as one paste, and called submitted only when Claude Code itself
//! has said so.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::{Instant, timeout_at};

use crate::paste::{self, Refusal, Typist};
use crate::roster::{Listed, State};
use crate::session::{Wait, WaitKind};
use crate::text::one_line;
use crate::tmux::Answer;

use super::observed;
use super::problem::Problem;
use super::sessions::{Managed, Outcome, Place, Stage};
use super::shared::Hub;
use super::stop::until;
use super::store::{Id, Key};

/// How many messages may wait for their turn in one session.
const MOST_WAITING: u64 = 16;
/// A server that is stopped never answers.
const TMUX_LIMIT: Duration = Duration::from_secs(2);
/// When a prompt was not confirmed after this time, Enter may have become part of the paste.
const SECOND_ENTER: Duration = Duration::from_millis(1500);
/// Claude confirms a prompt that it puts aside as fast as any other.
const QUEUED_LIMIT: Duration = Duration::from_millis(1500);

/// After this time, in milliseconds, Claude's own list has seen whatever a hook has told.
const SETTLED: u64 = 1000;

#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) id: String,
    pub(super) wait: Duration,
}

/// Types a message, unless one with its id was typed before.
pub(super) async fn send(
    hub: &Arc<Hub>,
    launch: &Key,
    message: Message,
) -> Result<Outcome, Problem> {
    let until_then = Instant::now() + message.wait;
    let mark = fingerprint(&message.text);
    let known = hub.sessions.update(launch, |managed| {
        let known = managed.receipts.outcome(&message.id);
        if known.is_none() {
            managed.receipts.note(&message.id, mark, Outcome::Pending);
        }
        known
    });
    match known.ok_or_else(|| Problem::session_not_found(launch.as_str()))? {
        None => {
            // Goes on when the caller does not wait for it: half a message is worse than one that
            // nobody asks about any more.
            let (hub, launch) = (Arc::clone(hub), launch.clone());
            let typed =
                tokio::spawn(async move { deliver(&hub, &launch, &message, until_then).await });
            typed.await.unwrap_or_else(|_| Err(Problem::shutting_down()))
        }
        Some((other, _)) if other != mark => Err(Problem::conflict(
            "message_id_reused",
            "another text was sent with this message_id",
        )),
        Some(_) => repeat(hub, launch, &message, until_then).await,
    }
}

/// The same message again: what became of it, and nothing is typed.
async fn repeat(
    hub: &Hub,
    launch: &Key,
    message: &Message,
    deadline: Instant,
) -> Result<Outcome, Problem> {
    let outcome =
        |managed: &Managed| managed.receipts.outcome(&message.id).map(|(_, outcome)| outcome);
    let settled = until(hub, launch, |managed| outcome(managed) != Some(Outcome::Pending));
    let _ = timeout_at(deadline, settled).await;
    let settled = hub.sessions.update(launch, |managed| {
        let known = managed.receipts.outcome(&message.id).map(|(_, outcome)| outcome);
        let late = matches!(known, Some(Outcome::Unconfirmed));
        match late.then(|| managed.receipts.take(&message.text, None)).flatten() {
            Some(event) => {
                let outcome = Outcome::Submitted { event };
                managed.receipts.note(&message.id, fingerprint(&message.text), outcome.clone());
                Some(outcome)
            }
            None => known,
        }
    });
    match settled.flatten() {
        Some(Outcome::Pending) | None => Err(Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            "unconfirmed",
            "the message is still being typed",
        )),
        Some(outcome) => Ok(outcome),
    }
}

async fn deliver(
    hub: &Hub,
    launch: &Key,
    message: &Message,
    deadline: Instant,
) -> Result<Outcome, Problem> {
    let delivered = take_turn(hub, launch, message, deadline).await;
    hub.sessions.update(launch, |managed| match &delivered {
        Ok(outcome) => {
            managed.receipts.note(&message.id, fingerprint(&message.text), outcome.clone());
        }
        // Nothing was typed, so the same message may be sent again.
        Err(_) => managed.receipts.forget(&message.id),
    });
    delivered
}

/// One message at a time, in the order in which they came.
async fn take_turn(
    hub: &Hub,
    launch: &Key,
    message: &Message,
    deadline: Instant,
) -> Result<Outcome, Problem> {
    let gone = || Problem::session_not_found(launch.as_str());
    let turn = hub.sessions.get(launch).ok_or_else(gone)?.turn;
    let Some(_waiting) = turn.waiting.enter(MOST_WAITING) else {
        let detail = format!("{MOST_WAITING} messages wait already");
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", detail));
    };
    let lock = timeout_at(deadline, turn.lock.lock()).await;
    let _turn = lock.map_err(|_| not_ready("messages before this one are still being typed"))?;
    let ready = until(hub, launch, |managed| managed.stage != Stage::Starting);
    let _ = timeout_at(deadline, ready).await;
    let managed = hub.sessions.get(launch).ok_or_else(gone)?;
    match managed.stage {
        Stage::Starting => {
            return Err(not_ready(
                "Claude Code has not started yet; it may ask whether to trust the directory",
            ));
        }
        Stage::Ending | Stage::Ended => return Err(ended()),
        Stage::Ready => {}
    }
    let place = managed.place.clone().ok_or_else(|| not_ready("the session is being started"))?;
    let (doing, guard) = doing(hub, &managed, &place).await;
    if doing == Doing::Asks {
        return Err(awaiting_user());
    }
    hub.metrics.messages.add(1);
    let target = Arc::new(Target { place, guard, buffer: format!("cld-{launch}") });
    let is_busy = doing == Doing::Works;
    write(hub, launch, &target, message, is_busy, managed.last_event, deadline).await
}

async fn write(
    hub: &Hub,
    launch: &Key,
    pane: &Arc<Target>,
    message: &Message,
    is_busy: bool,
    before: Option<Id>,
    deadline: Instant,
) -> Result<Outcome, Problem> {
    let (target, text) = (Arc::clone(pane), message.text.clone());
    in_background(move || target.typist().paste(&text)).await.map_err(refused)?;
    tokio::time::sleep(paste::settling_time(&message.text)).await;
    let pressed = Instant::now();
    // From here on the text stands in the pane, and must not be typed a second time.
    if press_enter(pane).await.is_err() {
        return Ok(Outcome::Unconfirmed);
    }
    let limit = if is_busy { (pressed + QUEUED_LIMIT).min(deadline) } else { deadline };
    let first = limit.min(pressed + SECOND_ENTER);
    let mut event = confirmed(hub, launch, &message.text, before, first).await;
    if event.is_none() && !is_busy && first < limit {
        let managed = hub.sessions.get(launch);
        if managed.is_some_and(|managed| managed.state() == "idle") {
            // The wait below tells whether it did anything.
            let _ = press_enter(pane).await;
        }
        event = confirmed(hub, launch, &message.text, before, limit).await;
    }
    Ok(match (is_busy, event) {
        (true, event) => Outcome::Queued { event },
        (false, Some(event)) => Outcome::Submitted { event },
        (false, None) => Outcome::Unconfirmed,
    })
}

/// The pane that is typed into, and when not to.
#[derive(Debug)]
struct Target {
    place: Place,
    guard: String,
    buffer: String,
}

impl Target {
    fn typist(&self) -> Typist<'_> {
        Typist {
            socket: &self.place.socket,
            pane: self.place.pane,
            guard: self.guard.clone(),
            buffer: self.buffer.clone(),
            limit: TMUX_LIMIT,
        }
    }
}

/// Waits for the event that says that this very text was submitted.
async fn confirmed(
    hub: &Hub,
    launch: &Key,
    text: &str,
    before: Option<Id>,
    deadline: Instant,
) -> Option<Id> {
    let mut changed = hub.sessions.watch(launch)?;
    loop {
        changed.borrow_and_update();
        let receipt = hub.sessions.peek(launch, |managed| managed.receipts.take(text, before));
        if let Some(Some(event)) = receipt {
            return Some(event);
        }
        timeout_at(deadline, changed.changed()).await.ok()?.ok()?;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    Works,
    Asks,
}

/// Hooks are silent when a dialog is answered or a turn interrupted, so Claude's own list is asked
/// where there is an entry. It is late by a moment, in which the hub's own knowledge counts.
async fn doing(hub: &Hub, managed: &Managed, place: &Place) -> (Doing, String) {
    let roster = hub.observer.look_again(Duration::ZERO).await;
    let listed = observed::in_pane(&roster, &place.socket, place.pane);
    let listed = listed.filter(|listed| listed.id.as_str() == managed.id());
    let in_list = listed.filter(|listed| listed.entry.is_some());
    let is_dialog = |wait: &Wait| matches!(wait.kind, WaitKind::Dialog(_));
    let shows_dialog = listed.is_some_and(|listed| listed.health.waits.iter().any(is_dialog));
    let asks = managed
        .asked_since()
        .is_some_and(|since| in_list.is_none() || roster.read_at < since.plus_millis(SETTLED));
    let seems_to_run = |listed: &Listed| {
        listed.health.state == State::Running || listed.has_just_begun(roster.read_at)
    };
    let works = managed.is_working() && in_list.is_none_or(seems_to_run);
    let pane = listed.and_then(|listed| listed.pane.as_ref());
    let guard = pane.map_or_else(|| paste::other_server(place.server_pid), paste::guard);
    let doing = match (asks || shows_dialog, works) {
        (true, _) => Doing::Asks,
        (false, true) => Doing::Works,
        (false, false) => Doing::Nothing,
    };
    (doing, guard)
}

async fn press_enter(target: &Arc<Target>) -> Result<(), Refusal> {
    let target = Arc::clone(target);
    in_background(move || target.typist().submit()).await
}

async fn in_background(
    work: impl FnOnce() -> Result<(), Refusal> + Send + 'static,
) -> Result<(), Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(Refusal::Tmux(Answer::TimedOut)))
}

fn refused(refusal: Refusal) -> Problem {
    let detail = match refusal {
        Refusal::Changed => return awaiting_user(),
        Refusal::Mode => "the pane shows a menu of tmux".to_owned(),
        Refusal::Tmux(Answer::TimedOut) => "tmux did not answer within 2 s".to_owned(),
        Refusal::Tmux(Answer::Refused(said)) => format!("tmux said: {}", one_line(&said, 200)),
        Refusal::Tmux(_) => "tmux could not be started".to_owned(),
    };
    Problem::new(StatusCode::BAD_GATEWAY, "tmux_failed", detail)
}

fn awaiting_user() -> Problem {
    Problem::conflict(
        "awaiting_user",
        "a dialog is open, and the text would answer it; answer it in the pane",
    )
}

fn not_ready(detail: &str) -> Problem {
    Problem::conflict("not_ready", detail)
}

pub(super) fn ended() -> Problem {
    Problem::new(StatusCode::GONE, "session_ended", "the session has ended")
}

fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
