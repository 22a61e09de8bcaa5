//! `cld log`: what happened, in words.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::config::configured;
use crate::events::{SESSION, bash, prompt, start, stop};
use crate::world::{World, run};

#[test]
fn the_journal_tells_each_change_of_state_once() {
    let world = World::new();
    // Notifications are written down when they come, before or after the next event.
    configured(&world, "[notify]\nchannels = []\n");
    world.hook(&start("startup"));
    world.hook(&prompt("go"));
    for _ in 0..5 {
        world.hook(&bash("PreToolUse", "make"));
    }
    world.hook(&bash("PermissionRequest", "make"));
    world.hook(&bash("PostToolUse", "make"));
    world.hook(&bash("PostToolUse", "other"));
    world.hook(&stop("done"));
    let output = run(world.cld(&["log"]), b"");
    let text = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let tail = format!("session={SESSION} pane={}", world.pane);
    assert_eq!(
        said,
        [
            format!("SessionStart {tail} stopped"),
            format!("UserPromptSubmit {tail} running"),
            format!("PermissionRequest {tail} stopped, opens a permission"),
            format!("PostToolUse {tail} ends a permission"),
            format!("Stop {tail} stopped, opens a finished turn"),
        ],
        "{text}"
    );
}

#[test]
fn only_as_many_lines_as_wanted() {
    let world = World::new();
    for _ in 0..5 {
        world.hook(&prompt("go"));
    }
    let output = run(world.cld(&["log", "-n", "2"]), b"");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
}

#[test]
fn the_debug_log_says_what_was_decided_and_how_long_it_took() {
    let world = World::new().with("CLAUDE_TMUX_DEBUG", "1");
    world.hook(&start("startup"));
    let output = run(world.cld(&["log"]), b"");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.ends_with(" us")).unwrap();
    assert!(
        line.contains(&format!("SessionStart session={SESSION} pane={} applied; ", world.pane)),
        "{line}"
    );
}

#[test]
fn follow_prints_new_lines_as_they_come() {
    let world = World::new();
    world.hook(&start("startup"));
    let mut following = world.cld(&["log", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("SessionStart"));
    world.hook(&prompt("go"));
    assert!(lines.next().unwrap().unwrap().contains("UserPromptSubmit"));
    following.kill().unwrap();
    following.wait().unwrap();
}

#[test]
fn nothing_happened_yet_is_no_error() {
    let output = run(World::bare().cld(&["log"]), b"");
    assert!(output.status.success() && output.stdout.is_empty());
}
