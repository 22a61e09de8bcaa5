use std::path::PathBuf;

use proptest::prelude::*;

use super::{End, Health, State, Teller, current, heal};
use crate::pane::Kept;
use crate::registry::{Entry, Liveness, Status as Told};
use crate::session::{Activity, DialogKind, Moment, SessionId, Status, TurnEnd, Wait, WaitKind};

const SESSION: &str = "23e30f82-0000-4000-8000-000000000001";
const OTHER: &str = "45da8798-0000-4000-8000-000000000002";

/// A moment of the test, in milliseconds.
fn at(millis: u64) -> Moment {
    Moment::from_millis(millis)
}

fn hooks(status: Option<Status>, latest_second: u64) -> Kept {
    Kept {
        session: SessionId::parse(SESSION).unwrap(),
        set_on: "UserPromptSubmit".to_owned(),
        status,
        latest_event: Some("PreToolUse".to_owned()),
        latest_time: Some(Moment::from_seconds(latest_second)),
        activity: Some(Activity::Idle),
        background: 0,
        pid: Some(7),
        pid_start: Some("42".to_owned()),
        directory: None,
        transcript: None,
        config_dir: None,
        title: None,
        dialogs: Vec::new(),
        finished: None,
    }
}

fn wait(kind: WaitKind, opened: u64, context: &str) -> Wait {
    Wait { kind, since: at(opened), context: context.to_owned() }
}

fn permission(opened: u64) -> Wait {
    wait(WaitKind::Dialog(DialogKind::Permission), opened, "Bash: make")
}

fn running(latest_second: u64) -> Kept {
    hooks(Some(Status::Running), latest_second)
}

fn asking(opened: u64) -> Kept {
    let dialogs = vec![permission(opened)];
    Kept { dialogs, ..hooks(Some(Status::Stopped), opened / 1000) }
}

fn finished(at: u64) -> Kept {
    let finished = Some(wait(WaitKind::Turn(TurnEnd::Done), at, "all is well"));
    Kept { finished, ..hooks(Some(Status::Stopped), at / 1000) }
}

fn entry(status: Told, stamp: u64) -> Entry {
    Entry {
        config_dir: PathBuf::from("/c"),
        pid: 7,
        session_id: SESSION.to_owned(),
        liveness: Liveness::Alive,
        status,
        waiting_for: None,
        cwd: None,
        name: None,
        tmux: None,
        kind: None,
        entrypoint: None,
        version: None,
        proc_start: Some("42".to_owned()),
        started_at: None,
        updated_at: Some(stamp),
        status_updated_at: Some(stamp),
    }
}

/// `state status wait+wait` in words.
fn words(health: &Health) -> String {
    let status = health.status.map_or("-", Status::word);
    let waits: Vec<&str> = health.waits.iter().map(|wait| wait.kind.word()).collect();
    format!("{} {status} {}", health.state.word(), waits.join("+")).trim_end().to_owned()
}

#[track_caller]
fn check(kept: Option<&Kept>, entry: Option<&Entry>, now: u64, expected: &str) {
    assert_eq!(words(&heal(kept, entry, Liveness::Alive, at(now))), expected);
}

#[test]
fn hooks_alone_are_believed() {
    let check = |kept: &Kept, expected| check(Some(kept), None, 60_000, expected);
    check(&running(10), "running running");
    check(&asking(10_300), "waiting stopped permission");
    check(&finished(10_300), "waiting stopped done");
    check(&hooks(Some(Status::Stopped), 10), "idle stopped");
    check(&hooks(None, 10), "unknown -");
    let both = Kept { finished: finished(9_000).finished, ..asking(10_300) };
    check(&both, "waiting stopped permission+done");
}

#[test]
fn the_registry_alone_is_believed() {
    let check = |status, expected| check(None, Some(&entry(status, 10_000)), 60_000, expected);
    check(Told::Busy, "running running");
    check(Told::Idle, "idle stopped");
    check(Told::Shell, "idle stopped");
    check(Told::Waiting, "waiting stopped input");
    check(Told::Unknown, "unknown -");
}

#[test]
fn what_the_registry_waits_for_names_the_kind() {
    for (waiting_for, kind) in [
        (Some("permission prompt"), "permission"),
        (Some("Approve Bash"), "permission"),
        (Some("plan approval"), "plan"),
        (Some("a plan"), "plan"),
        (Some("question"), "question"),
        (Some("dialog open"), "input"),
        (None, "input"),
    ] {
        let entry =
            Entry { waiting_for: waiting_for.map(str::to_owned), ..entry(Told::Waiting, 5) };
        let health = heal(None, Some(&entry), Liveness::Alive, at(60_000));
        let [wait] = health.waits.as_slice() else { panic!("{health:?}") };
        assert_eq!((wait.kind.word(), wait.since), (kind, at(5)), "{waiting_for:?}");
        assert_eq!(wait.context, waiting_for.unwrap_or_default());
    }
}

#[test]
fn an_approval_ends_the_dialog_although_no_hook_ran() {
    check(Some(&asking(10_300)), Some(&entry(Told::Busy, 15_200)), 15_300, "running running");
}

#[test]
fn a_denial_and_an_interrupt_leave_the_session_idle() {
    check(Some(&asking(10_300)), Some(&entry(Told::Idle, 15_200)), 15_300, "idle stopped");
    check(Some(&running(20)), Some(&entry(Told::Idle, 20_800)), 20_900, "idle stopped");
    check(Some(&running(20)), Some(&entry(Told::Idle, 25_000)), 25_100, "idle stopped");
}

#[test]
fn a_registry_that_lags_behind_does_not_undo_a_hook() {
    // It was last written before the dialog opened, the turn ended or the prompt was sent.
    let busy = entry(Told::Busy, 8_000);
    check(Some(&asking(10_300)), Some(&busy), 10_400, "waiting stopped permission");
    check(Some(&finished(10_300)), Some(&busy), 10_400, "waiting stopped done");
    check(Some(&running(10)), Some(&entry(Told::Idle, 9_900)), 10_400, "running running");
    check(Some(&running(10)), Some(&entry(Told::Waiting, 9_900)), 10_400, "running running");
    // In the second of the hook, but before the dialog or the turn's end.
    let busy = entry(Told::Busy, 10_100);
    check(Some(&asking(10_300)), Some(&busy), 10_400, "waiting stopped permission");
    check(Some(&finished(10_300)), Some(&busy), 60_000, "waiting stopped done");
}

#[test]
fn a_registry_written_right_after_a_dialog_is_believed_once_it_has_settled() {
    let (asking, busy) = (asking(10_300), entry(Told::Busy, 10_500));
    check(Some(&asking), Some(&busy), 10_600, "waiting stopped permission");
    check(Some(&asking), Some(&busy), 11_200, "running running");
}

#[test]
fn a_registry_without_a_stamp_is_as_new_as_its_reading() {
    let bare = Entry { updated_at: None, status_updated_at: None, ..entry(Told::Idle, 0) };
    check(Some(&running(20)), Some(&bare), 25_000, "idle stopped");
}

#[test]
fn each_dialog_is_weighed_on_its_own() {
    let two = Kept { dialogs: vec![permission(10_300), permission(15_400)], ..asking(15_400) };
    let health = heal(Some(&two), Some(&entry(Told::Busy, 15_200)), Liveness::Alive, at(15_500));
    assert_eq!(health.waits, [permission(15_400)]);
    check(
        Some(&two),
        Some(&entry(Told::Waiting, 15_600)),
        15_700,
        "waiting stopped permission+permission",
    );
}

#[test]
fn an_approval_counts_although_a_hook_of_another_agent_ran_since() {
    let kept = Kept { latest_time: Some(Moment::from_seconds(17)), ..asking(10_300) };
    check(Some(&kept), Some(&entry(Told::Busy, 15_200)), 18_000, "running running");
}

#[test]
fn a_finished_turn_stays_while_nobody_answers() {
    check(
        Some(&finished(10_300)),
        Some(&entry(Told::Idle, 10_600)),
        60_000,
        "waiting stopped done",
    );
    check(Some(&finished(10_300)), Some(&entry(Told::Busy, 20_000)), 20_100, "running running");
    let both = Kept { finished: finished(9_000).finished, ..asking(10_300) };
    check(Some(&both), Some(&entry(Told::Idle, 15_000)), 15_100, "waiting stopped done");
}

#[test]
fn a_dialog_that_only_the_registry_knows_is_shown() {
    check(Some(&running(10)), Some(&entry(Told::Waiting, 12_000)), 12_100, "waiting stopped input");
    check(
        Some(&finished(10_300)),
        Some(&entry(Told::Waiting, 12_000)),
        12_100,
        "waiting stopped input+done",
    );
}

#[test]
fn a_session_whose_subagents_work_on_is_running() {
    let activity = Some(Activity::Running);
    let kept = Kept { activity, background: 1, ..hooks(Some(Status::Stopped), 10) };
    check(Some(&kept), None, 60_000, "running stopped");
    check(Some(&kept), Some(&entry(Told::Idle, 12_000)), 60_000, "running stopped");
    let interrupted = Kept { activity, ..running(10) };
    check(Some(&interrupted), Some(&entry(Told::Idle, 12_000)), 60_000, "idle stopped");
}

#[test]
fn a_dead_process_has_ended_whatever_else_is_said() {
    for kept in [running(10), asking(10_300), finished(10_300)] {
        for entry in [None, Some(entry(Told::Busy, 12_000))] {
            let health = heal(Some(&kept), entry.as_ref(), Liveness::Dead, at(60_000));
            assert_eq!(health.state, State::Ended(End::Killed));
            assert_eq!((health.status, health.waits.len()), (None, 0));
            assert_eq!(health.told_by, Teller::Process);
        }
    }
}

#[test]
fn a_session_that_said_good_bye_has_ended_although_its_process_still_closes() {
    let closed = Kept { set_on: "SessionEnd".to_owned(), ..hooks(None, 10) };
    for liveness in [Liveness::Alive, Liveness::Dead, Liveness::Unknown] {
        let health = heal(Some(&closed), Some(&entry(Told::Idle, 10_900)), liveness, at(11_000));
        assert_eq!(health.state, State::Ended(End::Closed), "{liveness:?}");
    }
    // Long after it the process still says what it does: another session has begun in silence.
    check(Some(&closed), Some(&entry(Told::Busy, 20_000)), 20_100, "running running");
}

#[test]
fn the_registry_names_the_session_where_hooks_stopped_running() {
    let moved = |stamp| Entry { session_id: OTHER.to_owned(), ..entry(Told::Idle, stamp) };
    let kept = running(10);
    let id = |entry: &Entry| {
        let (kept, id) = current(Some(&kept), Some(entry)).unwrap();
        (kept.is_some(), id.as_str().to_owned())
    };
    assert_eq!(id(&moved(10_400)), (true, SESSION.to_owned()));
    assert_eq!(id(&moved(20_000)), (false, OTHER.to_owned()));
    assert_eq!(id(&entry(Told::Idle, 20_000)), (true, SESSION.to_owned()));
    let broken = Entry { session_id: "#(touch x)".to_owned(), ..entry(Told::Idle, 20_000) };
    assert_eq!(id(&broken), (true, SESSION.to_owned()));
    assert!(current(None, Some(&broken)).is_none());
}

#[test]
fn the_age_is_that_of_what_is_shown() {
    let since = |kept: &Kept, entry: &Entry| {
        heal(Some(kept), Some(entry), Liveness::Alive, at(60_000)).since
    };
    assert_eq!(since(&asking(10_300), &entry(Told::Waiting, 10_600)), Some(at(10_300)));
    assert_eq!(since(&asking(10_300), &entry(Told::Busy, 15_200)), Some(at(15_200)));
    assert_eq!(since(&running(20), &entry(Told::Busy, 8_000)), Some(at(8_000)));
    assert_eq!(since(&running(20), &entry(Told::Unknown, 8_000)), Some(at(20_000)));
}

fn any_wait() -> impl Strategy<Value = Wait> {
    (0..20_000_u64).prop_map(permission)
}

fn any_kept() -> impl Strategy<Value = Kept> {
    let status = prop::sample::select(vec![None, Some(Status::Running), Some(Status::Stopped)]);
    let dialogs = prop::collection::vec(any_wait(), 0..3);
    let set_on = prop::sample::select(vec!["SessionEnd", "Stop"]);
    (status, dialogs, prop::option::of(0..20_000_u64), 0..20_u64, set_on).prop_map(
        |(status, dialogs, ended, latest, set_on)| Kept {
            dialogs,
            finished: ended.and_then(|at| finished(at).finished),
            set_on: set_on.to_owned(),
            ..hooks(status, latest)
        },
    )
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let status = prop::sample::select(vec![
        Told::Busy,
        Told::Idle,
        Told::Waiting,
        Told::Shell,
        Told::Unknown,
    ]);
    (status, 0..20_000_u64).prop_map(|(status, stamp)| entry(status, stamp))
}

proptest! {
    #[test]
    fn whatever_is_said_the_answer_makes_sense(
        kept in prop::option::of(any_kept()),
        entry in prop::option::of(any_entry()),
        liveness in prop::sample::select(vec![Liveness::Alive, Liveness::Dead, Liveness::Unknown]),
        now in 0..30_000_u64,
    ) {
        let health = heal(kept.as_ref(), entry.as_ref(), liveness, at(now));
        let Health { state, status, waits, .. } = &health;
        prop_assert_eq!(*state == State::Waiting, !waits.is_empty());
        prop_assert!(liveness != Liveness::Dead || state.has_ended());
        match state {
            State::Running => prop_assert!(status.is_some()),
            State::Waiting | State::Idle => prop_assert_eq!(*status, Some(Status::Stopped)),
            State::Ended(_) | State::Unknown => prop_assert_eq!(*status, None),
        }
    }
}
