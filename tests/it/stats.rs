//! `cld stats`: how often, how long, how fast, out of the journal.

use std::fs;

use serde_json::{Value, json};

use crate::config::configured;
use crate::events::{SESSION, bash, event, prompt, start, stop};
use crate::living::{Claude, Transcript, config_dir, now_millis, printed};
use crate::stage::{check_exit, id};
use crate::world::{World, poll_until};

const MINUTE: u64 = 60;
const DAY: u64 = 86_400;

/// The journal as it would be, with the seconds since each event happened.
fn journal(world: &World, name: &str, lines: &[(u64, &str, &str, Value)]) {
    let now = now_millis() * 1000;
    let line = |(ago, session, event, fields): &(u64, &str, &str, Value)| {
        let mut entry = json!({
            "at": now - ago * 1_000_000, "event": event, "session": session, "pane": "%0", "server": 1,
        });
        for (key, value) in fields.as_object().unwrap() {
            entry[key] = value.clone();
        }
        format!("{entry}\n")
    };
    let path = world.state_file(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines.iter().map(line).collect::<String>()).unwrap();
}

#[track_caller]
fn stats(world: &World, arguments: &[&str]) -> Value {
    let arguments = [&["stats", "--json"], arguments].concat();
    let document = printed(&world.cld(&arguments).output().unwrap());
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["version"], 1);
    document
}

/// Three minutes of work, a permission that took one minute, done and answered after ten.
fn one_turn(session: &str) -> Vec<(u64, &str, &str, Value)> {
    vec![
        (20 * MINUTE, session, "SessionStart", json!({"status": "stopped"})),
        (19 * MINUTE, session, "UserPromptSubmit", json!({"status": "running"})),
        (
            18 * MINUTE,
            session,
            "PermissionRequest",
            json!({"status": "stopped", "opened": "main.00ff.p"}),
        ),
        (18 * MINUTE, session, "notify", json!({"about": "p@1", "told": ["tmux", "bell"]})),
        (17 * MINUTE, session, "PostToolUse", json!({"ended": ["main.00ff.p@1"]})),
        (15 * MINUTE, session, "Stop", json!({"status": "stopped", "opened": "d"})),
        (
            15 * MINUTE,
            session,
            "notify",
            json!({"about": "d@1", "told": [], "failed": {"phone": "exit code 3"}}),
        ),
        (5 * MINUTE, session, "UserPromptSubmit", json!({"status": "running"})),
        (4 * MINUTE, session, "SessionEnd", json!({"status": "ended"})),
    ]
}

#[test]
fn waits_answers_and_times_are_counted() {
    let world = World::bare().with("TZ", "UTC");
    let session = id(1);
    Transcript {
        id: &session,
        directory: "/home/u/api",
        prompt: "fix the test",
        entrypoint: "cli",
        seconds_ago: 240,
    }
    .plant(&config_dir(&world));
    journal(&world, "journal.jsonl", &one_turn(&session));
    let found = stats(&world, &[]);
    let told: u64 = found["notifications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|day| day["count"].as_u64().unwrap())
        .sum();
    assert_eq!(told, 1, "one was sent, of the other none arrived: {found:#}");
    assert_eq!(
        found["waits"],
        json!([
            {"kind": "permission", "count": 1, "answered": 1, "median_seconds": 60, "p90_seconds": 60},
            {"kind": "done", "count": 1, "answered": 1, "median_seconds": 600, "p90_seconds": 600},
        ])
    );
    assert_eq!(
        found["projects"],
        json!([{
            "directory": "/home/u/api", "running_seconds": 240, "waiting_seconds": 660,
            "sessions": [{
                "session_id": session, "title": "fix the test", "running_seconds": 240, "waiting_seconds": 660,
            }],
        }])
    );
    let shown = printed(&world.cld(&["stats"]).output().unwrap());
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert!(
        shown.contains(&"permission      1         1      1m   1m  ██████████████████████████████"),
        "{shown:#?}"
    );
    let project = shown.iter().find(|line| line.starts_with("/home/u/api")).unwrap();
    assert!(project.contains("  4m      11m  ████████░░"), "{shown:#?}");
}

#[test]
fn the_rotated_journal_counts_too() {
    let world = World::bare();
    let session = id(1);
    let lines = one_turn(&session);
    let (earlier, later) = lines.split_at(5);
    journal(&world, "journal.jsonl.1", earlier);
    journal(&world, "journal.jsonl", later);
    assert_eq!(stats(&world, &[])["waits"].as_array().unwrap().len(), 2);
}

#[test]
fn only_what_was_since_then_counts() {
    let world = World::bare();
    let (old, new) = (id(1), id(2));
    let mut lines = one_turn(&new);
    lines.push((3 * DAY, &old, "UserPromptSubmit", json!({"status": "running"})));
    lines.push((3 * DAY - 60, &old, "Stop", json!({"status": "stopped", "opened": "d"})));
    lines.push((3 * DAY - 90, &old, "SessionEnd", json!({"status": "ended"})));
    journal(&world, "journal.jsonl", &lines);
    let count = |since: &str| {
        let found = stats(&world, &["--since", since]);
        let waits = found["waits"].as_array().unwrap();
        let counts = waits.iter().map(|kind| kind["count"].as_u64().unwrap());
        (counts.sum::<u64>(), found["projects"][0]["sessions"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(count("7d"), (3, 2));
    assert_eq!(count("2d"), (2, 1));
    assert_eq!(count("2020-01-01"), (3, 2));
    assert_eq!(count("1s"), (0, 0));
    for wrong in ["soon", "2026-13-01", "5"] {
        let (_, problem) =
            check_exit(&world.cld(&["stats", "--since", wrong]).output().unwrap(), 2);
        assert!(problem.contains(wrong) && problem.contains("12h"), "{problem}");
    }
}

#[test]
fn what_hooks_and_notifications_write_is_what_is_counted() {
    let world = World::new();
    configured(
        &world,
        "[notify]\nchannels = ['any']\nkinds = ['permission']\n[notify.any]\ncommand = ['true']\n",
    );
    let claude = Claude::start();
    claude.hook(&world, &start("startup"));
    claude.hook(&world, &prompt("go"));
    claude.hook(&world, &bash("PermissionRequest", "make"));
    // The tmux server tells of it, in its own time.
    poll_until("the notification is counted", || {
        stats(&world, &[])["notifications"][0]["count"] == 1
    });
    claude.hook(&world, &bash("PostToolUse", "make"));
    claude.hook(&world, &stop("done"));
    claude.hook(&world, &prompt("<task-notification>\n<task-id>1</task-id>\n</task-notification>"));
    claude.hook(&world, &event("StopFailure", &json!({"error": "rate_limit"})));
    claude.hook(&world, &prompt("again"));
    let found = stats(&world, &[]);
    let waits: Vec<(&str, u64, u64)> = found["waits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| {
            let number = |field: &str| kind[field].as_u64().unwrap();
            (kind["kind"].as_str().unwrap(), number("count"), number("answered"))
        })
        .collect();
    assert_eq!(waits, [("permission", 1, 1), ("done", 1, 0), ("error", 1, 1)], "{found:#}");
    assert_eq!(found["notifications"][0]["count"], 1);
    let project = &found["projects"][0];
    assert_eq!(project["directory"], "/home/u/proj", "a live session is known by its pane");
    assert_eq!(project["sessions"][0]["session_id"], SESSION);
}

#[test]
fn a_broken_or_missing_journal_is_no_error() {
    let world = World::bare();
    let (out, note) = check_exit(&world.cld(&["stats"]).output().unwrap(), 0);
    assert!(out.is_empty() && note.starts_with("the journal knows of nothing since "), "{note}");
    let path = world.state_file("journal.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, b"\xff\0{\n{\"at\":\"x\"}\nnonsense\n[]\n{\"at\":18446744073709551615,\"event\":\"Stop\"}\n{\"at\":1").unwrap();
    let found = stats(&world, &["--since", "2020-01-01"]);
    assert_eq!((&found["waits"], &found["projects"]), (&json!([]), &json!([])));
}
