//! `cld queue`: what it lists and how.

use serde_json::{Value, json};

use crate::living::printed;
use crate::queue_stage::{Server, Session, cld, queue, spied};
use crate::world::World;

#[test]
fn each_kind_of_wait_is_listed_with_what_is_asked_oldest_first() {
    let world = World::new();
    let sessions: Vec<Session> = (1..=6).map(|number| Session::new(&world, number)).collect();
    let questions = json!([{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]);
    let tool = |name: &str, input: Value| json!({"tool_name": name, "tool_input": input});
    let stop = json!({"last_assistant_message": "It is done.", "background_tasks": []});
    let failure = json!({"error": "rate_limit", "last_assistant_message": "later"});
    let elicitation = json!({"mcp_server_name": "m", "message": "Your name?"});
    for (session, name, fields) in [
        (0, "Stop", stop),
        (1, "PermissionRequest", tool("Edit", json!({"file_path": "src/main.rs"}))),
        (2, "PermissionRequest", tool("AskUserQuestion", json!({"questions": questions}))),
        (3, "StopFailure", failure),
        (4, "PermissionRequest", tool("ExitPlanMode", json!({"plan": "# Plan\n1. do it"}))),
        (5, "Elicitation", elicitation),
    ] {
        sessions[session].hook(&world, name, &fields);
    }
    let lines = printed(&cld(&world, &["queue"]));
    let mut words: Vec<Vec<&str>> = lines.lines().map(|line| line.split("  ").collect()).collect();
    for line in &mut words {
        line.retain(|word| !word.is_empty());
    }
    let shown: Vec<(&str, &str, &str)> =
        words.iter().map(|line| (line[0], line[1], line[line.len() - 1])).collect();
    assert_eq!(
        shown,
        [
            ("00000001", "done", "It is done."),
            ("00000002", "permission", "Edit: src/main.rs"),
            ("00000003", "question", "Which? (A / B)"),
            ("00000004", "error", "rate_limit: later"),
            ("00000005", "plan", "# Plan 1. do it"),
            ("00000006", "input", "Your name?"),
        ],
        "{lines}"
    );
    assert_eq!(queue(&world, &[]), [1, 2, 3, 4, 5, 6]);
    assert_eq!(queue(&world, &["--by", "kind"]), [2, 3, 5, 6, 4, 1]);
    assert_eq!(printed(&cld(&world, &["queue", "--count"])), "6\n");
}

#[test]
fn json_holds_the_session_objects_of_ls() {
    let world = World::new();
    let session = Session::new(&world, 1);
    session.ask(&world, "rm -rf build");
    let objects = |arguments: &[&str]| -> Value {
        let document: Value = serde_json::from_str(&printed(&cld(&world, arguments))).unwrap();
        document["sessions"].clone()
    };
    let listed = objects(&["queue", "--json"]);
    assert_eq!(listed, objects(&["ls", "--json"]));
    assert_eq!(listed[0]["waiting"]["context"], "Bash: rm -rf build");
    assert_eq!(listed[0]["waiting"]["put_off"], false);
    printed(&cld(&world, &["snooze", "1h", "--id", "00000001"]));
    let snoozed = objects(&["queue", "--json", "--all"]);
    assert_eq!(snoozed[0]["waiting"]["put_off"], true);
    let since = snoozed[0]["waiting"]["since"].as_u64().unwrap();
    assert!(snoozed[0]["waiting"]["put_off_until"].as_u64().unwrap() >= since + 3600);
}

#[test]
fn an_empty_queue_is_no_error() {
    let world = World::new();
    let output = cld(&world, &["queue"]);
    assert_eq!(printed(&output), "");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "nothing waits for you\n");
    assert_eq!(printed(&cld(&world, &["queue", "--count"])), "0\n");
    assert_eq!(printed(&cld(&world, &["queue", "--json"])), "{\"version\":1,\"sessions\":[]}\n");
}

#[test]
fn what_was_put_off_is_named_and_only_listed_on_request() {
    let world = World::new();
    for number in 1..=2 {
        Session::new(&world, number).ask(&world, "make");
    }
    printed(&cld(&world, &["skip", "00000001"]));
    let output = cld(&world, &["queue"]);
    assert_eq!(printed(&output).lines().count(), 1);
    let note = String::from_utf8(output.stderr).unwrap();
    assert_eq!(note, "1 skipped or snoozed; --all adds them\n");
    let all = printed(&cld(&world, &["queue", "--all"]));
    assert!(all.lines().nth(1).unwrap().contains("permission, skipped"), "{all}");
    assert_eq!(printed(&cld(&world, &["queue", "--count"])), "1\n");
}

#[test]
fn only_one_server_is_asked_on_request() {
    let world = World::new();
    let other = Server::start(&world, "far");
    Session::open(&world, &other, &other.window("far"), 1).ask(&world, "make");
    Session::new(&world, 2).ask(&world, "make");
    assert_eq!(queue(&world, &[]), [1, 2]);
    assert_eq!(queue(&world, &["--server", "current"]), [2]);
    let table = printed(&cld(&world, &["queue"]));
    assert!(table.lines().next().unwrap().contains("  far/far:1.0  "), "{table}");
}

#[test]
fn the_count_is_one_tmux_process() {
    let world = World::new();
    Session::new(&world, 1).ask(&world, "make");
    let world = spied(world, "");
    assert_eq!(printed(&cld(&world, &["queue", "--count"])), "1\n");
    assert_eq!(crate::queue_stage::calls(&world), 1);
}
