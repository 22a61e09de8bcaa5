//! What leaves the queue although no hook has told: answered, denied, interrupted, killed, closed.

use crate::living::printed;
use crate::queue_stage::{Server, Session, cld, queue};
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
