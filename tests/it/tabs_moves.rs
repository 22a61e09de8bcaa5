//! Tabs when clients, sessions, windows and panes come and go.

use crate::events::{prompt, start, stop};
use crate::tabs::{BLUE, RED, Tabs, WHITE, of, red};
use crate::world::{World, has_hidden_environment, poll_until, tmux_program, tmux_version};

#[test]
fn nobody_looks_at_a_detached_session() {
    let world = World::with_tabs();
    world.tmux(&["new-session", "-d", "-s", "apart", "sleep 1000"]);
    let terminal = world.attach();
    let pane = world.window("apart");
    red(&world, &pane, 1);
    world.tmux(&["select-window", "-t", &pane]);
    world.tmux(&["select-window", "-t", "apart:0"]);
    world.tmux(&["select-window", "-t", &pane]);
    assert_eq!(world.tab(&pane), RED, "a script moved about where nobody looks");
    world.tmux(&["switch-client", "-t", "apart"]);
    world.expect_tab(&pane, WHITE, &terminal);
}

#[test]
fn attaching_to_a_window_is_a_look() {
    let world = World::with_tabs();
    red(&world, &world.pane, 1);
    let terminal = world.attach();
    world.expect_tab(&world.pane, WHITE, &terminal);
}

#[test]
fn of_two_clients_each_looks_at_its_own_session() {
    let world = World::with_tabs();
    world.tmux(&["new-session", "-d", "-s", "other", "sleep 1000"]);
    let (main, other) = (world.attach(), world.attach_to("other"));
    let (here, there) = (world.window("main"), world.window("other"));
    red(&world, &here, 1);
    red(&world, &there, 2);
    main.press(&["C-b", "n"]);
    world.expect_tab(&here, WHITE, &main);
    assert_eq!(world.tab(&there), RED);
    other.press(&["C-b", "n"]);
    world.expect_tab(&there, WHITE, &other);
}

#[test]
fn a_grouped_session_looks_with_its_own_current_window() {
    let world = World::with_tabs();
    let pane = world.window("main");
    world.tmux(&["new-session", "-d", "-t", "main", "-s", "group"]);
    let (main, group) = (world.attach(), world.attach_to("group"));
    let _ = main;
    red(&world, &pane, 1);
    group.press(&["C-b", "1"]);
    world.expect_tab(&pane, WHITE, &group);
    let current = world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]);
    assert_eq!(current, world.pane, "the other client stays where it was");
}

#[test]
fn a_client_in_control_mode_switches_like_any_other() {
    if tmux_version() < (3, 1) {
        return; // Such a client has no hooks there.
    }
    let world = World::with_tabs();
    let pane = world.window("main");
    let mut control = std::process::Command::new(tmux_program());
    control.args(["-u", "-S"]).arg(world.socket()).args(["-C", "attach", "-t", "main"]);
    control.env_remove("TMUX").env_remove("TMUX_PANE").env("TERM", "xterm-256color");
    control.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut control = control.spawn().unwrap();
    poll_until("the control client is attached", || {
        !world.tmux(&["list-clients", "-F", "#{client_name}"]).is_empty()
    });
    red(&world, &pane, 1);
    use std::io::Write;
    writeln!(control.stdin.as_mut().unwrap(), "select-window -t {pane}").unwrap();
    poll_until("the tab is white", || world.tab(&pane) == WHITE);
    drop(control.stdin.take());
    crate::world::wait_for(&mut control);
}

#[test]
fn a_window_takes_its_colour_to_another_session_and_number() {
    let world = World::with_tabs();
    world.tmux(&["set-option", "-g", "renumber-windows", "on"]);
    world.tmux(&["new-session", "-d", "-s", "other", "sleep 1000"]);
    let terminal = world.attach();
    let (first, second) = (world.window("main"), world.window("main"));
    red(&world, &second, 2);
    world.tmux(&["kill-pane", "-t", &first]);
    assert_eq!(world.tmux(&["display-message", "-p", "-t", &second, "#{window_index}"]), "1");
    assert_eq!(world.tab(&second), RED);
    world.tmux(&["move-window", "-d", "-s", &second, "-t", "other:7"]);
    assert_eq!(world.tab(&second), RED);
    world.hook_in(&second, &of(2, prompt("more")));
    assert_eq!(world.tab(&second), BLUE);
    world.hook_in(&second, &of(2, stop("done")));
    world.tmux(&["switch-client", "-t", "other:7"]);
    world.expect_tab(&second, WHITE, &terminal);
}

#[test]
fn a_pane_killed_while_red_leaves_nothing_behind() {
    if tmux_version() < (3, 3) {
        return; // Before 3.3 the window is only put right with the next event or look.
    }
    let world = World::with_tabs();
    let pane = world.window("main");
    let shell =
        world.tmux(&["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &pane, "sleep 1000"]);
    let before = world.window_options(&shell);
    red(&world, &pane, 1);
    world.tmux(&["kill-pane", "-t", &pane]);
    poll_until("nothing of ours is left", || world.window_options(&shell) == before);
}

#[test]
fn a_pane_whose_program_ends_while_red_leaves_nothing_behind() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::with_tabs();
    let _terminal = world.attach();
    let shell = world.window("main");
    let before = world.window_options(&shell);
    let split = ["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &shell, "read line"];
    let pane = world.tmux(&split);
    red(&world, &pane, 1);
    world.tmux(&["send-keys", "-t", &pane, "Enter"]);
    poll_until("nothing of ours is left", || world.window_options(&shell) == before);
}

#[test]
fn without_the_red_pane_a_window_shows_what_the_others_do() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::with_tabs();
    let terminal = world.attach();
    let (runs, target) = (world.window("main"), world.window("main"));
    for payload in [start("startup"), prompt("go")] {
        world.hook_in(&runs, &of(1, payload));
    }
    // Killed, or moved to a window of a session that only runs, while it is the active pane or not.
    for flags in [&["-d"][..], &[]] {
        let split = ["split-window", "-P", "-F", "#{pane_id}", "-t", &runs];
        let asks = world.tmux(&[&split, flags, &["sleep 1000"]].concat());
        red(&world, &asks, 2);
        assert_eq!(world.tab(&runs), RED);
        world.tmux(&["kill-pane", "-t", &asks]);
        world.expect_tab(&runs, BLUE, &terminal);
        let asks = world.tmux(&[&split, flags, &["sleep 1000"]].concat());
        red(&world, &asks, 2);
        world.tmux(&["join-pane", "-d", "-s", &asks, "-t", &target]);
        world.expect_tab(&runs, BLUE, &terminal);
    }
}

#[test]
fn a_pane_that_moves_takes_its_colour_along() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::with_tabs();
    let _terminal = world.attach();
    let (from, to) = (world.window("main"), world.window("main"));
    let split = ["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &from, "sleep 1000"];
    let stays = world.tmux(&split);
    let before = world.window_options(&stays);
    red(&world, &from, 1);
    world.tmux(&["join-pane", "-d", "-s", &from, "-t", &to]);
    poll_until("the window it left is as before", || world.window_options(&stays) == before);
    world.hook_in(&from, &of(1, prompt("more")));
    assert_eq!(world.tab(&to), BLUE);
    world.tmux(&["break-pane", "-d", "-s", &from]);
    poll_until("so is the second one", || world.window_options(&to) == before);
    world.hook_in(&from, &of(1, stop("done")));
    assert_eq!(world.tab(&from), RED);
}

#[test]
fn a_window_without_a_session_is_never_touched() {
    let world = World::with_tabs();
    let terminal = world.attach();
    let (plain, pane) = (world.window("main"), world.window("main"));
    world.tmux(&["set-option", "-w", "-t", &plain, "window-status-style", "fg=magenta,italics"]);
    let before = world.window_options(&plain);
    red(&world, &pane, 1);
    for key in ["1", "2", "1", "0"] {
        terminal.press(&["C-b", key]);
    }
    world.expect_tab(&pane, WHITE, &terminal);
    let split = ["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &plain, "sleep 1000"];
    let extra = world.tmux(&split);
    world.tmux(&["kill-pane", "-t", &extra]);
    world.tmux(&["kill-pane", "-t", &pane]);
    assert_eq!(world.window_options(&plain), before);
}

#[test]
fn a_window_gets_its_own_style_back() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::with_tabs();
    let _terminal = world.attach();
    let shell = world.window("main");
    let own = "fg=#112233,bg=default,bold";
    world.tmux(&["set-option", "-w", "-t", &shell, "window-status-style", own]);
    let before = world.window_options(&shell);
    let split = ["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &shell, "sleep 1000"];
    let pane = world.tmux(&split);
    red(&world, &pane, 1);
    world.tmux(&["kill-pane", "-t", &pane]);
    poll_until("the style is back", || world.window_options(&shell) == before);
}

#[test]
fn dismiss_by_hand_does_what_a_switch_does() {
    let world = World::new();
    let pane = world.window("main");
    let split = ["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &pane, "sleep 1000"];
    let beside = world.tmux(&split);
    red(&world, &pane, 1);
    red(&world, &beside, 2);
    let dismiss = |arguments: &[&str]| {
        let output = world.cld(&[&["dismiss"], arguments].concat()).output().unwrap();
        crate::world::assert_silent(&output);
    };
    dismiss(&[&world.pane]);
    assert_eq!(world.tab(&pane), RED, "another window was named");
    dismiss(&[&world.tmux(&["display-message", "-p", "-t", &pane, "#{window_id}"])]);
    assert_eq!(world.tab(&pane), WHITE);
    assert!(world.options_of(&pane).contains_key("@meta.claude.finished"));
    dismiss(&[&pane]);
    assert_eq!(world.tab(&pane), WHITE, "again is harmless");
}

#[test]
fn dismiss_on_focus_acts_only_when_the_session_changes_its_window() {
    let world = World::new();
    let pane = world.window("main");
    let window = |pane: &str| {
        world.tmux(&["display-message", "-p", "-t", pane, "#{session_id}:#{window_id}"])
    };
    let (first, second) = (window(&world.pane), window(&pane));
    let focus = |target: &str| {
        let output = world.cld(&["dismiss", "--switched", target]).output().unwrap();
        crate::world::assert_silent(&output);
    };
    focus(&second);
    red(&world, &pane, 1);
    focus(&second);
    assert_eq!(world.tab(&pane), RED, "the terminal came to front");
    focus(&first);
    focus(&second);
    assert_eq!(world.tab(&pane), WHITE);
    let kept = world.tmux(&["show-options", "-v", "-t", "main", "@last-focused-window"]);
    assert_eq!(Some(kept.as_str()), second.split(':').nth(1), "kept by the id of the window");
    let global = world.tmux(&["show-options", "-g"]);
    assert!(!global.contains("@last-focused-window"), "kept for each session");
}

#[test]
fn a_hook_on_focus_dismisses_when_the_client_switches_and_not_when_the_pane_changes() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "focus-events", "on"]);
    let run = format!(
        "run-shell \"'{}' dismiss --switched #{{q:session_id}}:#{{window_id}}\" ; \
         set-option -gF @focused '#{{pane_id}}'",
        env!("CARGO_BIN_EXE_cld")
    );
    world.tmux(&["set-hook", "-g", "pane-focus-in[991]", &run]);
    let terminal = world.attach();
    let pane = world.window("main");
    let split = ["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &pane, "sleep 1000"];
    let beside = world.tmux(&split);
    let focused = || world.tmux(&["show-options", "-gqv", "@focused"]);
    terminal.press(&["C-b", "1"]);
    poll_until("the hook has run", || focused() == pane);
    red(&world, &beside, 1);
    terminal.press(&["C-b", "o"]);
    poll_until("the hook has run for the other pane", || focused() == beside);
    assert_eq!(world.tab(&pane), RED, "only the pane was changed");
    terminal.press(&["C-b", "0"]);
    poll_until("the hook has run for the first window", || focused() == world.pane);
    terminal.press(&["C-b", "1"]);
    world.expect_tab(&pane, WHITE, &terminal);
}

#[test]
fn what_cannot_be_dismissed_is_said() {
    let world = World::new();
    let run = |arguments: &[&str]| {
        let output = world.cld(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run(&["dismiss", "main:1"]).0, Some(2));
    let (code, error) = run(&["dismiss", "@99"]);
    assert!(code == Some(1) && error.contains("@99"), "{error}");
    let world = World::bare();
    let output = world.cld(&["dismiss"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_first_event_of_a_server_needs_no_preparation() {
    let world = World::new();
    world.hook(&prompt("go"));
    assert_eq!(world.tab(&world.pane), BLUE);
    // Another tmux, or another cld before this one, has left other formats.
    world.tmux(&["set-option", "-s", "@cld-state", "nonsense"]);
    world.tmux(&["set-option", "-su", "command-alias[990]"]);
    world.hook(&stop("done"));
    assert_eq!(world.tab(&world.pane), RED);
    if has_hidden_environment() {
        world.tmux(&["set-environment", "-ghu", "CLD_0_window"]);
    }
    world.hook(&start("startup"));
    assert_eq!(world.tab(&world.pane), WHITE);
}
