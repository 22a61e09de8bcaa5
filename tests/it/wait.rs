//! `cld wait`: when it returns, and with what.

use std::process::{Child, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::queue_stage::{Session, assert_idles, calls, cld, spied};
use crate::stage::{check_exit, id};
use crate::world::{World, poll_until};

fn begin(world: &World, arguments: &[&str]) -> Child {
    let mut command = world.cld(&[&["wait"], arguments].concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[track_caller]
fn returns(child: Child, code: i32) -> (String, String) {
    check_exit(&child.wait_with_output().unwrap(), code)
}

fn work(session: &Session, world: &World) {
    session.hook(world, "UserPromptSubmit", &json!({"prompt": "go"}));
}

fn stop(session: &Session, world: &World) {
    let stop = json!({"last_assistant_message": "done", "background_tasks": []});
    session.hook(world, "Stop", &stop);
}

fn lines(numbers: &[u32]) -> String {
    numbers.iter().map(|number| format!("{}\n", id(*number))).collect()
}

#[test]
fn a_turn_that_comes_to_its_end_is_waited_for() {
    let world = World::new();
    let session = Session::new(&world, 1);
    work(&session, &world);
    let mut child = begin(&world, &["00000001"]);
    assert!(child.try_wait().unwrap().is_none());
    stop(&session, &world);
    assert_eq!(returns(child, 0).0, lines(&[1]));
    // It still waits, so the next one returns at once.
    assert_eq!(returns(begin(&world, &["00000001"]), 0).0, lines(&[1]));
}

#[test]
fn an_idle_wait_asks_tmux_less_than_once_a_second() {
    let world = World::new();
    let session = Session::new(&world, 1);
    work(&session, &world);
    let world = spied(world, "");
    let begun = Instant::now();
    let mut child = begin(&world, &["00000001"]);
    assert_idles(&world, begun);
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn all_of_several_are_waited_for_unless_any_is_enough() {
    let world = World::new();
    let sessions = [1, 2].map(|number| Session::new(&world, number));
    for session in &sessions {
        work(session, &world);
    }
    let all = begin(&world, &["00000001", "00000002"]);
    let any = begin(&world, &["--any", "00000001", "00000002"]);
    sessions[1].ask(&world, "make");
    assert_eq!(returns(any, 0).0, lines(&[2]));
    stop(&sessions[0], &world);
    assert_eq!(returns(all, 0).0, lines(&[1, 2]));
}

#[test]
fn without_an_id_whoever_waits_first_is_enough() {
    let world = World::new();
    let sessions = [1, 2].map(|number| Session::new(&world, number));
    work(&sessions[0], &world);
    let child = begin(&world, &[]);
    sessions[0].ask(&world, "make");
    assert_eq!(returns(child, 0).0, lines(&[1]));
}

#[test]
fn an_interrupt_that_no_hook_tells_of_ends_the_wait() {
    let world = World::new();
    let session = Session::new(&world, 1);
    work(&session, &world);
    session.register(&world, "busy", 0);
    let child = begin(&world, &["00000001"]);
    session.register(&world, "idle", 1500);
    assert_eq!(returns(child, 0).0, lines(&[1]));
}

#[test]
fn an_end_is_waited_for_whether_said_or_not() {
    let world = World::new();
    let sessions = [1, 2, 3].map(|number| Session::new(&world, number));
    let world = spied(world, "");
    let child = begin(&world, &["--for", "ended", "00000001", "00000002", "00000003"]);
    poll_until("it has looked and looks again", || calls(&world) > 1);
    sessions[0].hook(&world, "SessionEnd", &json!({"reason": "other"}));
    sessions[1].kill();
    world.tmux(&["kill-pane", "-t", &sessions[2].pane]);
    assert_eq!(returns(child, 0).0, lines(&[1, 2, 3]));
}

#[test]
fn a_session_that_ends_instead_is_an_error() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let session = Session::new(&world, 1);
    work(&session, &world);
    let child = begin(&world, &["00000001"]);
    session.kill();
    let (out, err) = returns(child, 1);
    assert_eq!(
        (&*out, &*err),
        ("", "cld: session 00000001 has ended instead\nTry: cld resume 00000001\n")
    );
}

#[test]
fn the_time_is_limited() {
    let world = World::new();
    let session = Session::new(&world, 1);
    work(&session, &world);
    let (_, err) = check_exit(&cld(&world, &["wait", "00000001", "--timeout", "1s"]), 1);
    assert_eq!(err, "cld: session 00000001 has not waited for you within 1s\n");
    check_exit(&cld(&world, &["wait", "--timeout", "soon"]), 2);
    check_exit(&cld(&world, &["wait", "00000009"]), 1);
}
