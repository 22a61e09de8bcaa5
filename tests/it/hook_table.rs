//! The rows of the event table, as a user of the options sees them.

use serde_json::{Value, json};

use crate::events::{
    SESSION, all_recorded, bash, by_agent, event, notification, prompt, recorded, start, stop,
};
use crate::world::World;

/// A world in which a session has been started and is at work.
fn at_work() -> World {
    let world = World::new();
    world.hook(&start("startup"));
    world.hook(&prompt("go"));
    world
}

#[track_caller]
fn check(world: &World, payload: &Value, status: &str, window: &str) {
    world.hook(payload);
    let found = (world.meta("status"), world.window_state());
    assert_eq!(found, (status.to_owned(), window.to_owned()), "after {payload}");
}

#[test]
fn session_start_names_the_session_and_its_directory() {
    let world = World::new().with("CLAUDE_PID", &std::process::id().to_string());
    check(&world, &recorded("SessionStart-startup-named"), "stopped", "idle");
    assert_eq!(world.meta("session_id"), "3abdab79-85c2-4139-8f2e-2843c0bd98b0");
    assert_eq!(world.meta("session_id_set_on"), "SessionStart");
    assert_eq!(world.meta("session_dir"), "/home/u/proj");
    assert_eq!(world.meta("title"), "alpha name");
    assert_eq!(world.meta("latest_hook_event"), "SessionStart");
    assert_eq!(world.meta("pid"), std::process::id().to_string());
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let started = stat.rsplit(')').next().unwrap().split(' ').nth(20).unwrap();
    assert_eq!(world.meta("pid_start"), started);
    assert_eq!(world.meta("latest_hook_time").len(), 10);
}

#[test]
fn the_directory_stays_where_the_session_was_started() {
    let world = at_work();
    let mut elsewhere = prompt("cd sub");
    elsewhere["cwd"] = json!("/home/u/proj/sub");
    world.hook(&elsewhere);
    let mut compact = start("compact");
    compact["cwd"] = json!("/home/u/proj/sub");
    world.hook(&compact);
    assert_eq!(world.meta("session_dir"), "/home/u/proj");
}

#[test]
fn clear_puts_a_new_session_into_the_pane() {
    let world = at_work();
    world.hook(&bash("PermissionRequest", "make"));
    world.hook(&event("SessionEnd", &json!({"reason": "clear"})));
    let mut cleared = start("clear");
    cleared["session_id"] = json!("23e30f82-0000-4000-8000-000000000002");
    check(&world, &cleared, "stopped", "idle");
    assert_eq!(world.meta("session_id"), "23e30f82-0000-4000-8000-000000000002");
    assert_eq!((world.meta("asking"), world.meta("title")), (String::new(), String::new()));
}

#[test]
fn compaction_does_not_stop_a_running_session() {
    let world = at_work();
    check(&world, &start("compact"), "running", "running");
    assert_eq!(world.meta("session_id_set_on"), "SessionStart");
    check(&world, &bash("PermissionRequest", "make"), "stopped", "waiting");
    check(&world, &start("compact"), "stopped", "waiting");
}

#[test]
fn a_permission_waits_until_its_own_call_ends() {
    let world = at_work();
    check(&world, &bash("PreToolUse", "rm -rf build"), "running", "running");
    check(&world, &bash("PermissionRequest", "rm -rf build"), "stopped", "waiting");
    assert!(world.meta("asking").ends_with(" Bash: rm -rf build"));
    check(&world, &bash("PostToolUse", "ls"), "stopped", "waiting");
    check(&world, &by_agent(bash("PostToolUse", "rm -rf build"), "a1"), "stopped", "waiting");
    check(&world, &bash("PostToolUse", "rm -rf build"), "running", "running");
    assert_eq!(world.meta("asking"), "");
}

#[test]
fn a_failed_tool_ends_its_wait_too() {
    let world = at_work();
    check(&world, &bash("PermissionRequest", "make"), "stopped", "waiting");
    check(&world, &bash("PostToolUseFailure", "make"), "running", "running");
}

#[test]
fn an_answered_question_ends_although_its_input_came_back_with_answers() {
    let world = at_work();
    check(&world, &recorded("PermissionRequest-AskUserQuestion"), "stopped", "waiting");
    let asking = world.meta("asking");
    assert!(asking.contains(".q@") && asking.ends_with(" Which? (A / B)"), "{asking}");
    check(&world, &recorded("PostToolUse-AskUserQuestion"), "running", "running");
}

#[test]
fn a_plan_waits_for_approval() {
    let world = at_work();
    check(&world, &recorded("PermissionRequest-ExitPlanMode"), "stopped", "waiting");
    assert!(world.meta("asking").contains(".l@"));
    let approved = event(
        "PostToolUse",
        &json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": "# Plan"}}),
    );
    check(&world, &approved, "running", "running");
}

#[test]
fn a_call_that_begins_while_another_asks_ends_no_dialog() {
    let world = at_work();
    world.hook(&bash("PermissionRequest", "make"));
    world.hook(&by_agent(bash("PermissionRequest", "cargo test"), "a1"));
    check(&world, &bash("PreToolUse", "ls"), "stopped", "waiting");
    check(&world, &by_agent(bash("PreToolUse", "ls"), "a1"), "stopped", "waiting");
    assert_eq!(world.meta("asking").matches('|').count(), 2, "{}", world.meta("asking"));
}

#[test]
fn the_first_call_of_another_prompt_ends_what_the_earlier_one_left() {
    let of_prompt = |mut payload: Value, prompt: &str| {
        payload["prompt_id"] = json!(prompt);
        payload
    };
    let world = at_work();
    world.hook(&of_prompt(bash("PreToolUse", "make"), "one"));
    world.hook(&of_prompt(bash("PermissionRequest", "make"), "one"));
    world.hook(&by_agent(bash("PermissionRequest", "cargo test"), "a1"));
    check(&world, &of_prompt(bash("PreToolUse", "ls"), "one"), "stopped", "waiting");
    assert_eq!(world.meta("asking").matches('|').count(), 2);
    // Denied with Esc, which fires nothing, while another prompt stood in the queue.
    world.hook(&of_prompt(bash("PreToolUse", "date"), "two"));
    assert!(world.meta("asking").ends_with(" Bash: cargo test"), "{}", world.meta("asking"));
    assert_eq!(world.meta("asking").matches('|').count(), 1);
}

#[test]
fn a_queued_prompt_that_goes_on_without_an_event_shows_with_its_first_tool() {
    let world = at_work();
    check(&world, &stop("done"), "stopped", "waiting");
    // The tab turns blue at once; the status follows with the end of the tool.
    check(&world, &bash("PreToolUse", "ls"), "stopped", "running");
    assert_eq!(world.meta("finished"), "");
    check(&world, &bash("PostToolUse", "ls"), "running", "running");
}

#[test]
fn the_end_of_a_batch_ends_the_waits_of_that_agent_only() {
    let world = at_work();
    world.hook(&bash("PermissionRequest", "make"));
    world.hook(&by_agent(bash("PermissionRequest", "cargo test"), "a1"));
    check(&world, &event("PostToolBatch", &json!({})), "stopped", "waiting");
    assert!(world.meta("asking").ends_with(" Bash: cargo test"));
    check(&world, &by_agent(event("PostToolBatch", &json!({})), "a1"), "stopped", "running");
}

#[test]
fn a_notification_opens_a_wait_only_when_nothing_asks_already() {
    let world = at_work();
    check(&world, &notification("permission_prompt"), "stopped", "waiting");
    assert!(world.meta("asking").starts_with("|main.none.p@"));
    assert_eq!(world.meta("latest_hook_event"), "Notification-permission_prompt");
    check(&world, &bash("PostToolUse", "anything"), "running", "running");

    world.hook(&bash("PermissionRequest", "make"));
    let asking = world.meta("asking");
    check(&world, &notification("permission_prompt"), "stopped", "waiting");
    assert_eq!(world.meta("asking"), asking);
}

#[test]
fn a_notification_after_a_look_does_not_ask_for_attention_again() {
    let world = at_work();
    world.hook(&bash("PermissionRequest", "make"));
    world.tmux(&["set-option", "-pu", "-t", &world.pane, "@claude-attn"]);
    check(&world, &notification("permission_prompt"), "stopped", "idle");
    check(&world, &bash("PermissionRequest", "another"), "stopped", "waiting");
}

#[test]
fn other_notifications_only_leave_their_name() {
    let world = at_work();
    check(&world, &notification("auth_success"), "running", "running");
    assert_eq!(world.meta("latest_hook_event"), "Notification-auth_success");
    check(&world, &notification("idle_prompt"), "stopped", "running");
    assert_eq!(world.meta("asking"), "");
}

#[test]
fn an_elicitation_waits_for_its_result() {
    let world = at_work();
    check(&world, &recorded("Elicitation"), "stopped", "waiting");
    assert!(world.meta("asking").ends_with(" Your name?"));
    check(&world, &recorded("Notification-elicitation_dialog"), "stopped", "waiting");
    check(&world, &recorded("ElicitationResult"), "running", "running");
}

#[test]
fn stop_waits_with_the_last_words_and_the_next_prompt_ends_that() {
    let world = at_work();
    check(&world, &stop("All tests pass. Shall I commit?"), "stopped", "waiting");
    let finished = world.meta("finished");
    assert!(finished.ends_with(" d All tests pass. Shall I commit?"), "{finished}");
    assert_eq!(world.meta("session_id_set_on"), "Stop");
    check(&world, &prompt("yes"), "running", "running");
    assert_eq!(world.meta("finished"), "");
}

#[test]
fn stop_is_not_the_end_while_subagents_run_but_a_shell_does_not_count() {
    let world = at_work();
    check(&world, &recorded("Stop-subagent-running"), "stopped", "running");
    assert_eq!((world.meta("finished"), world.meta("background")), (String::new(), "1".to_owned()));
    check(&world, &recorded("Stop-shell-running"), "stopped", "waiting");
    assert_eq!(world.meta("background"), "1");
}

#[test]
fn neither_stop_nor_a_machines_prompt_ends_a_subagents_wait() {
    let world = at_work();
    world.hook(&by_agent(bash("PermissionRequest", "touch sub.txt"), "a1"));
    check(&world, &stop("done"), "stopped", "waiting");
    check(&world, &prompt("<task-notification>\n<task-id>x"), "stopped", "waiting");
    assert!(world.meta("asking").ends_with(" Bash: touch sub.txt"));
    assert_eq!(world.meta("finished"), "");
    let ended = by_agent(event("SubagentStop", &json!({})), "a1");
    check(&world, &ended, "running", "running");
    assert_eq!(world.meta("session_id_set_on"), "SubagentStop");
}

#[test]
fn a_machines_prompt_ends_no_dialog_of_the_main_thread() {
    let world = at_work();
    world.hook(&bash("PermissionRequest", "make"));
    check(&world, &prompt("<task-notification>\n<task-id>x"), "stopped", "waiting");
    assert!(world.meta("asking").ends_with(" Bash: make"));
    check(&world, &prompt("a person's prompt"), "running", "running");
}

#[test]
fn a_failed_turn_shows_the_error() {
    let world = at_work();
    check(&world, &recorded("StopFailure-authentication_failed"), "stopped", "waiting");
    let finished = world.meta("finished");
    assert!(finished.contains(" e authentication_failed: Please run /login"), "{finished}");
}

#[test]
fn session_end_clears_everything_but_what_names_the_session() {
    let world = at_work();
    world.hook(&by_agent(bash("PermissionRequest", "make"), "a1"));
    world.hook(&stop("done"));
    check(&world, &event("SessionEnd", &json!({"reason": "other"})), "", "idle");
    assert!(
        !world.tmux(&["show-options", "-p", "-t", &world.pane]).contains("@meta.claude.status")
    );
    let options = world.options();
    for cleared in ["asking", "finished", "status"] {
        assert!(!options.contains_key(&format!("@meta.claude.{cleared}")), "{options:?}");
    }
    assert_eq!(world.meta("session_id"), SESSION);
    assert_eq!(world.meta("session_id_set_on"), "SessionEnd");
    assert_eq!(world.meta("session_dir"), "/home/u/proj");
}

#[test]
fn ten_tool_calls_stay_running() {
    let world = at_work();
    for call in 0..10 {
        let command = format!("step {call}");
        check(&world, &bash("PreToolUse", &command), "running", "running");
        check(&world, &bash("PostToolUse", &command), "running", "running");
    }
}

#[test]
fn a_pane_that_is_not_the_active_one_keeps_its_own_values() {
    for mut world in [World::new(), World::new().without("TERM_PROGRAM")] {
        let active = world.pane.clone();
        world.hook(&start("startup"));
        world.hook(&bash("PermissionRequest", "make"));
        world.pane = world.tmux(&["split-window", "-dP", "-F", "#{pane_id}", "sleep 1000"]);
        let mut elsewhere = start("startup");
        elsewhere["cwd"] = json!("/home/u/other, and {more}");
        check(&world, &elsewhere, "stopped", "waiting");
        assert_eq!(world.meta("session_dir"), "/home/u/other, and {more}");
        check(&world, &bash("PostToolUse", "ls"), "running", "waiting");
        assert_eq!(world.meta("asking"), "");
        world.hook(&bash("PermissionRequest", "ls"));
        assert!(world.meta("asking").ends_with(" Bash: ls"), "{}", world.meta("asking"));
        world.pane = active;
        assert!(world.meta("asking").ends_with(" Bash: make"), "{}", world.meta("asking"));
        assert_eq!(world.meta("session_dir"), "/home/u/proj");
    }
}

#[test]
fn the_window_shows_the_worst_of_its_panes() {
    let mut world = at_work();
    let first = world.pane.clone();
    world.tmux(&["split-window", "-d", "-t", &first, "sleep 1000"]);
    let panes = world.tmux(&["list-panes", "-t", &first, "-F", "#{pane_id}"]);
    let second = panes.lines().find(|pane| *pane != first).unwrap().to_owned();
    world.pane = second;
    check(&world, &stop("done"), "stopped", "waiting");
    world.pane = first;
    check(&world, &bash("PostToolUse", "ls"), "running", "waiting");
    check(&world, &event("SessionEnd", &json!({})), "", "waiting");
}

#[test]
fn a_nested_claude_never_touches_the_pane() {
    for (variable, value) in
        [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), ("CLAUDE_CODE_SESSION_ATTENDED", "0")]
    {
        let world = World::new().with(variable, value);
        world.hook(&start("startup"));
        world.hook(&stop("done"));
        assert_eq!(world.options().len(), 0, "{:?}", world.options());
        assert_eq!(world.window_state(), "");
    }
}

#[test]
fn unknown_events_and_fields_pass() {
    let world = at_work();
    let strange =
        event("BrandNewThing", &json!({"tool_input": 7, "message": {"a": [1]}, "x": null}));
    check(&world, &strange, "running", "running");
    assert_eq!(world.meta("latest_hook_event"), "BrandNewThing");
    // Every name an event can have, and every payload ever recorded, is taken.
    for (name, payload) in all_recorded() {
        world.hook(&payload);
        let event = payload["hook_event_name"].as_str().unwrap();
        let shown = world.meta("latest_hook_event");
        let tool = |name: &str| name.contains("Tool");
        assert!(shown.starts_with(event) || tool(event) && tool(&shown), "{name}: {shown}");
    }
}

#[test]
fn the_transcript_is_kept_once_it_exists() {
    let world = at_work();
    let transcript = world.path("t.jsonl");
    let mut finished = stop("done");
    finished["transcript_path"] = json!(transcript);
    world.hook(&finished);
    assert_eq!(world.meta("transcript"), "");
    std::fs::write(&transcript, "{}").unwrap();
    let mut prompted = prompt("next");
    prompted["transcript_path"] = json!(transcript);
    world.hook(&prompted);
    assert_eq!(world.meta("transcript"), transcript.to_str().unwrap());
    world.hook(&start("startup"));
    assert_eq!(world.meta("transcript"), "");
}

#[test]
fn another_config_directory_is_remembered() {
    let world = World::new().with("CLAUDE_CONFIG_DIR", "/home/u/.claude-work");
    world.hook(&start("startup"));
    assert_eq!(world.meta("config_dir"), "/home/u/.claude-work");
    let home = World::new();
    let default = home.home().join(".claude");
    let home = home.with("CLAUDE_CONFIG_DIR", default.to_str().unwrap());
    home.hook(&start("startup"));
    assert_eq!(home.meta("config_dir"), "");
}
