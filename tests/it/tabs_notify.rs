//! The edge to waiting: the tmux server itself starts the notification, and nobody waits for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use crate::config::configured;
use crate::events::{bash, event, notification, prompt, start, stop};
use crate::tabs::{BLUE, RED, Tabs, of};
use crate::world::{World, assert_silent, has_hidden_environment, poll_until, run};

/// Writes down the kind of each wait it is told of.
const RECORDER: &str = "#!/bin/sh\necho \"$CLD_KIND $CLD_PANE\" >> \"$HOME/told\"\n";

/// A world whose only channel is a command, and a session in a window nobody looks at.
fn world(config: &str, recorder: &str) -> (World, String) {
    let world = World::with_tabs();
    let script = world.path("recorder");
    fs::write(&script, recorder).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let channel = format!(
        "{config}\n[notify]\nchannels = ['it']\n[notify.it]\ncommand = ['{}']\n",
        script.display()
    );
    configured(&world, &channel);
    let pane = world.window("main");
    (world, pane)
}

fn told(world: &World) -> String {
    fs::read_to_string(world.home().join("told")).unwrap_or_default()
}

#[track_caller]
fn expect_told(world: &World, expected: &str) {
    poll_until(&format!("told {expected:?}"), || told(world).len() >= expected.len());
    assert_eq!(told(world), expected);
}

#[test]
fn every_wait_that_nobody_looks_at_is_told_of_once() {
    let (world, pane) = world("", RECORDER);
    let _terminal = world.attach();
    for payload in [start("startup"), prompt("go"), bash("PermissionRequest", "make")] {
        world.hook_in(&pane, &payload);
    }
    expect_told(&world, &format!("permission {pane}\n"));
    // The same wait again, in every way it is said again.
    world.hook_in(&pane, &bash("PermissionRequest", "make"));
    world.hook_in(&pane, &notification("permission_prompt"));
    world.hook_in(&pane, &bash("PostToolUse", "make"));
    world.hook_in(&pane, &stop("done"));
    expect_told(&world, &format!("permission {pane}\ndone {pane}\n"));
    world.hook_in(&pane, &notification("idle_prompt"));
    world.hook_in(&pane, &stop("done"));
    world.hook_in(&pane, &prompt("more"));
    world.hook_in(&pane, &event("StopFailure", &json!({"error": "rate_limit"})));
    expect_told(&world, &format!("permission {pane}\ndone {pane}\nerror {pane}\n"));
}

#[test]
fn nobody_is_told_of_the_window_that_is_looked_at() {
    let (world, pane) = world("", RECORDER);
    let terminal = world.attach();
    for payload in [start("startup"), prompt("go"), stop("done")] {
        world.hook(&of(1, payload));
    }
    assert_eq!(world.tab(&world.pane), RED, "the tab shows it nevertheless");
    // What comes later from elsewhere is the first that is told of.
    for payload in [start("startup"), prompt("go"), stop("done")] {
        world.hook_in(&pane, &of(2, payload));
    }
    expect_told(&world, &format!("done {pane}\n"));
    assert!(terminal.screen().contains("[main]"));
}

#[test]
fn only_the_chosen_kinds_are_told_of() {
    let (world, pane) = world("", RECORDER);
    let config = fs::read_to_string(world.home().join(".config/cld/config.toml")).unwrap();
    configured(&world, &config.replace("channels", "kinds = ['error']\nchannels"));
    for payload in [start("startup"), prompt("go"), stop("done"), prompt("more")] {
        world.hook_in(&pane, &payload);
    }
    world.hook_in(&pane, &event("StopFailure", &json!({"error": "rate_limit"})));
    expect_told(&world, &format!("error {pane}\n"));
}

#[test]
fn a_channel_that_hangs_holds_nobody_up() {
    let hangs = "#!/bin/sh\necho \"$CLD_KIND\" >> \"$HOME/told\"\nread forever < \"$HOME/never\"\n";
    let (world, pane) = world("", hangs);
    let fifo = world.home().join("never");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for payload in [start("startup"), prompt("go"), stop("done")] {
        world.hook_in(&pane, &payload);
    }
    expect_told(&world, "done\n");
    // It still hangs, and everything goes on.
    world.hook_in(&pane, &prompt("more"));
    assert_eq!(world.tab(&pane), BLUE);
    // Its end: both ends of the pipe are opened, and nothing is written.
    drop(fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap());
}

#[test]
fn a_program_in_a_directory_with_an_odd_name_is_started() {
    let (world, pane) = world("", RECORDER);
    let marker = world.path("marker");
    let odd = world
        .path(&format!("a b'\"#(touch {})#{{pid}},;$HOME", marker.display()).replace('/', "_"));
    fs::create_dir(&odd).unwrap();
    let program = odd.join("cld");
    fs::hard_link(env!("CARGO_BIN_EXE_cld"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_cld"), &program).map(|_| ()))
        .unwrap();
    for payload in [start("startup"), prompt("go"), stop("done")] {
        let template = world.cld(&["hook"]);
        let mut command = Command::new(&program);
        command.arg("hook").env_clear();
        command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TMUX_PANE", &pane);
        assert_silent(&run(command, payload.to_string().as_bytes()));
    }
    expect_told(&world, &format!("done {pane}\n"));
    assert!(!marker.exists());
    // The pane shows neither output nor an error of what was started.
    let modes = world.tmux(&["list-panes", "-a", "-F", "#{pane_in_mode}"]);
    assert!(modes.lines().all(|mode| mode == "0"), "{modes}");
}

#[test]
fn names_of_windows_and_sessions_do_nothing() {
    let (world, pane) = world("", RECORDER);
    let marker = world.path("marker");
    let names = [
        format!("##(touch {})", marker.display()),
        format!("';run-shell 'touch {}'", marker.display()),
        "#{E:@cld-program},}#[fg=red]".to_owned(),
    ];
    for (number, name) in names.iter().enumerate() {
        world.tmux(&["rename-window", "-t", &pane, "--", name]);
        world.hook_in(&pane, &start("startup"));
        world.hook_in(&pane, &prompt("go"));
        world.hook_in(&pane, &stop(&format!("done {number}")));
        assert_eq!(world.tab(&pane), RED, "{name}");
        expect_told(&world, &format!("done {pane}\n").repeat(number + 1));
    }
    assert!(!marker.exists());
}

#[test]
fn a_turn_that_goes_on_at_once_was_never_over() {
    if !has_hidden_environment() {
        return;
    }
    let (world, pane) = world("[tabs]\ndebounce_ms = 1000\n", RECORDER);
    for payload in [start("startup"), prompt("go"), stop("done")] {
        world.hook_in(&pane, &payload);
    }
    assert_eq!(world.tab(&pane), BLUE, "it may go on by itself");
    let session = world.options_of(&pane);
    assert!(session.contains_key("@meta.claude.finished"), "it is in the queue: {session:?}");
    world.hook_in(&pane, &prompt("queued"));
    world.hook_in(&pane, &stop("done again"));
    assert_eq!((world.tab(&pane).as_str(), told(&world).as_str()), (BLUE, ""));
    poll_until("the tab is red", || world.tab(&pane) == RED);
    expect_told(&world, &format!("done {pane}\n"));
    // A dialog is red at once.
    world.hook_in(&pane, &prompt("more"));
    world.hook_in(&pane, &bash("PermissionRequest", "make"));
    assert_eq!(world.tab(&pane), RED);
}

#[test]
fn only_the_turn_that_is_still_over_settles() {
    if !has_hidden_environment() {
        return;
    }
    let (world, pane) = world("[tabs]\ndebounce_ms = 600000\n", RECORDER);
    for payload in [start("startup"), prompt("go"), stop("done")] {
        world.hook_in(&pane, &payload);
    }
    // From here on it is settled by hand, and what follows has no reason to wait.
    configured(&world, "");
    world.tmux(&["set-option", "-pu", "-t", &pane, "@claude-attn"]);
    let settle = |since: &str| {
        assert_silent(&run(world.cld(&["settle", &pane, since]), b""));
        world.options_of(&pane).get("@claude-attn").cloned()
    };
    let finished = world.options_of(&pane)["@meta.claude.finished"].clone();
    let (since, _) = finished.split_once(' ').unwrap();
    assert_eq!(settle(since), None, "somebody has looked");
    world.tmux(&["set-option", "-p", "-t", &pane, "@claude-attn", "soon"]);
    assert_eq!(settle("1794983149325052").as_deref(), Some("soon"), "another turn");
    assert_eq!(settle(since).as_deref(), Some("1"));
    assert_eq!(world.tab(&pane), RED);
}
