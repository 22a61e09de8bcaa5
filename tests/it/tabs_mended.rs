//! Tabs after an approval, a denial, an interrupt or a kill: no hook tells of them, but whoever did it
//! has left the window since.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::queue_stage::Session;
use crate::tabs::{BLUE, RED, Tabs, WHITE};
use crate::world::{Terminal, World, assert_silent, has_hidden_environment, poll_until, run};

/// Somebody looks at a window where a turn has begun.
fn working(world: &World) -> (Session, Terminal<'_>) {
    let session = Session::new(world, 1);
    let terminal = world.attach();
    world.tmux(&["select-window", "-t", &session.pane]);
    session.hook(world, "UserPromptSubmit", &json!({"prompt": "go"}));
    assert_eq!(world.tab(&session.pane), BLUE);
    (session, terminal)
}

fn shown(world: &World, session: &Session) -> (String, String) {
    let options = world.options_of(&session.pane);
    let value = |name: &str| options.get(&format!("@meta.claude.{name}")).cloned();
    (value("status").unwrap_or_default(), value("asking").unwrap_or_default())
}

#[test]
fn a_turn_that_was_interrupted_is_white_after_its_window_is_left() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux cannot start anything later.
    }
    let world = World::with_tabs();
    let (session, terminal) = working(&world);
    session.register(&world, "idle", 0);
    assert_eq!(world.tab(&session.pane), BLUE, "nobody has told");
    terminal.press(&["C-b", "p"]);
    world.expect_tab(&session.pane, WHITE, &terminal);
    assert_eq!(shown(&world, &session).0, "stopped");
    session.hook(&world, "UserPromptSubmit", &json!({"prompt": "again"}));
    assert_eq!(world.tab(&session.pane), BLUE);
}

#[test]
fn a_dialog_that_was_denied_is_gone_after_its_window_is_left() {
    if !has_hidden_environment() {
        return;
    }
    let world = World::with_tabs();
    let (session, terminal) = working(&world);
    session.ask(&world, "make");
    assert_eq!(world.tab(&session.pane), RED);
    session.register(&world, "idle", 600);
    terminal.press(&["C-b", "p"]);
    world.expect_tab(&session.pane, WHITE, &terminal);
    assert_eq!(shown(&world, &session), ("stopped".to_owned(), String::new()));
}

#[test]
fn a_tool_that_was_approved_is_blue_again_after_its_window_is_left() {
    if !has_hidden_environment() {
        return;
    }
    let world = World::with_tabs();
    let (session, terminal) = working(&world);
    world.tmux(&["select-window", "-t", &world.pane]);
    session.ask(&world, "make");
    world.tmux(&["select-window", "-t", &session.pane]);
    world.expect_tab(&session.pane, WHITE, &terminal);
    session.register(&world, "busy", 600);
    world.tmux(&["new-session", "-d", "-s", "other", "sleep 1000"]);
    world.tmux(&["switch-client", "-t", "other"]);
    world.expect_tab(&session.pane, BLUE, &terminal);
    assert_eq!(shown(&world, &session), ("running".to_owned(), String::new()));
}

#[test]
fn a_claude_that_was_killed_is_white_after_its_window_is_left() {
    if !has_hidden_environment() {
        return;
    }
    let world = World::with_tabs();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let (session, terminal) = working(&world);
    session.kill();
    terminal.press(&["C-b", "p"]);
    world.expect_tab(&session.pane, WHITE, &terminal);
    assert_eq!(shown(&world, &session).0, "");
}

#[test]
fn what_is_right_and_what_events_have_told_since_stays() {
    let world = World::with_tabs();
    let (session, _terminal) = working(&world);
    let window = world.tmux(&["display-message", "-p", "-t", &session.pane, "#{window_id}"]);
    let mend = || assert_silent(&run(world.cld(&["mend", &window]), b""));
    let before = world.options_of(&session.pane);
    mend();
    session.register(&world, "busy", 0);
    mend();
    assert_eq!(world.options_of(&session.pane), before, "it works on");
    session.register(&world, "idle", 0);
    session.hook(&world, "UserPromptSubmit", &json!({"prompt": "again"}));
    mend();
    assert_eq!(world.tab(&session.pane), BLUE, "Claude's own list is late");
    session.hook(&world, "Stop", &json!({"last_assistant_message": "m", "background_tasks": []}));
    session.register(&world, "idle", 600);
    mend();
    assert_eq!(world.tab(&session.pane), RED, "a turn that has ended waits for the person");
}

#[test]
fn no_process_is_started_for_windows_where_nothing_goes_on() {
    if !has_hidden_environment() {
        return;
    }
    let world = World::with_tabs();
    let (session, terminal) = working(&world);
    let spy = world.path("mender");
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\n", world.path("mended").display());
    fs::write(&spy, script).unwrap();
    fs::set_permissions(&spy, fs::Permissions::from_mode(0o755)).unwrap();
    world.tmux(&["set-option", "-s", "@cld-program", spy.to_str().unwrap()]);
    let window = world.tmux(&["display-message", "-p", "-t", &session.pane, "#{window_id}"]);
    let mended = || fs::read_to_string(world.path("mended")).unwrap_or_default();
    let left_to = |key: &str, current: &str, times: usize| {
        terminal.press(&["C-b", key]);
        let format = "#{window_index}";
        poll_until("the other window is shown, and the one before looked at", || {
            world.tmux(&["display-message", "-p", "-t", "main", format]) == current
                && mended().lines().count() == times
        });
    };
    left_to("p", "0", 1);
    // Leaves the first window, where there is no session.
    left_to("n", "1", 1);
    left_to("p", "0", 2);
    assert_eq!(mended(), format!("mend {window}\n").repeat(2));
}

#[test]
fn only_windows_are_mended() {
    let world = World::new();
    for target in ["", "@", "3", "%1", "@3;kill-server", "#{window_id}"] {
        let output = world.cld(&["mend", target]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{target:?}");
    }
}
