//! What leaves the queue although no hook has told: answered, denied, interrupted, killed, closed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::living::{config_dir, now_millis, printed};
use crate::queue_stage::{Server, Session, cld, queue};
use crate::stage::plant;
use crate::world::{World, poll_until};

/// A session that asks, which the registry knows as well.
fn asking(world: &World) -> Session {
    let session = Session::new(world, 1);
    session.ask(world, "make");
    session.register(world, "waiting", 600);
    assert_eq!(queue(world, &[]), [1]);
    session
}

#[track_caller]
fn leaves_with(status: &str) {
    let world = World::new();
    let session = asking(&world);
    session.register(&world, status, 700);
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0], "{status}");
    assert_eq!(printed(&cld(&world, &["queue", "--count"])), "0\n");
}

#[test]
fn a_dialog_denied_with_esc_leaves() {
    leaves_with("idle");
}

#[test]
fn an_approved_dialog_leaves_while_its_tool_still_runs() {
    leaves_with("busy");
}

#[test]
fn an_interrupted_turn_leaves_nothing_behind() {
    let world = World::new();
    let session = Session::new(&world, 1);
    session.hook(&world, "UserPromptSubmit", &serde_json::json!({"prompt": "go"}));
    session.ask(&world, "make");
    session.ran(&world, "make");
    session.register(&world, "idle", 1500);
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0]);
}

#[test]
fn a_turn_that_ended_leaves_when_the_person_goes_on_without_a_hook() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let stop = serde_json::json!({"last_assistant_message": "done", "background_tasks": []});
    session.hook(&world, "Stop", &stop);
    session.register(&world, "idle", 600);
    assert_eq!(queue(&world, &[]), [1]);
    session.register(&world, "busy", 1500);
    assert_eq!(queue(&world, &[]), [0_u32; 0]);
}

#[test]
fn a_dialog_that_no_hook_has_told_of_is_in_the_queue() {
    let world = World::new();
    let session = Session::new(&world, 1);
    session.register(&world, "waiting", 1500);
    assert_eq!(queue(&world, &[]), [1]);
}

#[test]
fn a_claude_that_is_killed_leaves() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let session = asking(&world);
    session.kill();
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0]);
}

#[test]
fn a_claude_that_is_killed_without_a_registry_leaves() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let session = Session::new(&world, 1);
    session.ask(&world, "make");
    assert_eq!(queue(&world, &[]), [1]);
    session.kill();
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0]);
}

#[test]
fn a_pane_that_is_closed_leaves() {
    let world = World::new();
    let session = asking(&world);
    world.tmux(&["kill-pane", "-t", &session.pane]);
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0]);
}

#[test]
fn a_server_that_is_gone_takes_its_sessions_along() {
    let world = World::new();
    let other = Server::start(&world, "far");
    Session::open(&world, &other, &other.window("far"), 1).ask(&world, "make");
    assert_eq!(queue(&world, &[]), [1]);
    other.tmux(&["kill-server"]);
    poll_until("its sessions are gone", || queue(&world, &["--all"]).is_empty());
}

/// A record of the session's own thread, so many milliseconds from now.
fn record(later: i64, kind: &str, content: &Value) -> Value {
    let at = now_millis().checked_add_signed(later).unwrap();
    json!({
        "type": kind, "isSidechain": false, "cwd": "/home/u/proj1", "sessionId": "s",
        "timestamp": cld::clock::utc(cld::session::Moment::from_millis(at)),
        "message": {"role": kind, "content": content},
    })
}

fn call(id: &str, command: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}})
}

fn result(id: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": "said no, or ran"}])
}

/// The transcript of session 1, which no registry knows, with two calls.
fn without_registry(world: &World) -> (Session, PathBuf) {
    let session = Session::new(world, 1);
    let calls = [call("a", "make"), call("b", "cat notes")];
    let lines =
        [record(-2000, "user", &json!("please")), record(-1000, "assistant", &json!(calls))];
    let dir = Path::new("/home/u/proj1");
    let path = plant(&config_dir(world), dir, &crate::stage::id(1), &lines);
    (session, path)
}

fn append(transcript: &Path, lines: &[Value]) {
    let mut file = fs::File::options().append(true).open(transcript).unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
}

fn state(world: &World) -> Value {
    let listed: Value = serde_json::from_str(&printed(&cld(world, &["ls", "--json"]))).unwrap();
    listed["sessions"][0]["state"].clone()
}

#[test]
fn without_a_registry_a_denied_dialog_leaves_with_what_the_transcript_says() {
    let world = World::new();
    let (session, transcript) = without_registry(&world);
    session.ask(&world, "make");
    // Another call of the same message has ended beside the open dialog.
    append(&transcript, &[record(10, "user", &result("b"))]);
    assert_eq!(queue(&world, &[]), [1]);
    let mark = json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]);
    append(&transcript, &[record(20, "user", &result("a")), record(23, "user", &mark)]);
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0]);
    assert_eq!(state(&world), "idle");
}

#[test]
fn without_a_registry_an_answered_dialog_leaves_with_its_result() {
    let world = World::new();
    let (session, transcript) = without_registry(&world);
    session.ask(&world, "make");
    append(&transcript, &[record(20, "user", &result("a"))]);
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0]);
    assert_eq!(state(&world), "running");
    // The same command asks once more.
    append(&transcript, &[record(30, "assistant", &json!([call("c", "make")]))]);
    poll_until("later than the result", || {
        session.ask(&world, "make");
        queue(&world, &[]) == [1]
    });
}

#[test]
fn without_a_registry_a_turn_that_ended_leaves_when_the_conversation_goes_on() {
    let world = World::new();
    let (session, transcript) = without_registry(&world);
    let stop = json!({"last_assistant_message": "done", "background_tasks": []});
    session.hook(&world, "Stop", &stop);
    let summary = json!({"type": "system", "subtype": "turn_duration", "timestamp": "2099-01-01T00:00:00.000Z"});
    append(&transcript, &[summary]);
    assert_eq!(queue(&world, &[]), [1]);
    append(
        &transcript,
        &[record(20, "assistant", &json!([{"type": "text", "text": "One more."}]))],
    );
    assert_eq!(queue(&world, &["--all"]), [0_u32; 0]);
    assert_eq!(state(&world), "running");
}
