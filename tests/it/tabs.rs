//! Tabs as a person sees them: a real client looks at the server, and switches with real keys.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::configured;
use crate::events::{bash, event, notification, prompt, start, stop};
use crate::world::{Terminal, World, has_hidden_environment, poll_until};

pub(crate) const WHITE: &str = "fg=#cdd3de";
pub(crate) const BLUE: &str = "fg=#6699cc";
pub(crate) const RED: &str = "fg=#EC5f67";

pub(crate) trait Tabs {
    /// A server that has loaded the tmux file, as `cld setup` makes it.
    fn with_tabs() -> Self;
    fn load(&self);
    /// A pane in a window of its own, behind the one that is looked at.
    fn window(&self, session: &str) -> String;
    fn tab(&self, pane: &str) -> String;
    fn expect_tab(&self, pane: &str, colour: &str, terminal: &Terminal<'_>);
    fn window_options(&self, pane: &str) -> String;
}

impl Tabs for World {
    fn with_tabs() -> Self {
        let world = World::new();
        // A message would cover the line with the tabs.
        configured(&world, "[notify]\nchannels = []\n");
        world.load();
        world
    }

    fn load(&self) {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/shell/cld.tmux");
        self.tmux(&["source-file", file]);
    }

    fn window(&self, session: &str) -> String {
        let format = "#{pane_id}";
        let session = format!("{session}:");
        self.tmux(&["new-window", "-d", "-P", "-F", format, "-t", &session, "sleep 1000"])
    }

    /// The colour of a window's tab, which is the same whether the window is the current one or not.
    #[track_caller]
    fn tab(&self, pane: &str) -> String {
        // In one request, so that nothing happens in between.
        let both = "#{window-status-style} #{window-status-current-style}";
        let both = self.tmux(&["display-message", "-p", "-t", pane, both]);
        let (tab, current) = both.split_once(' ').unwrap();
        assert_eq!(tab, current, "the tab changes its colour when it is selected");
        // tmux before 3.2 writes colours its own way.
        [WHITE, BLUE, RED]
            .iter()
            .find(|colour| colour.eq_ignore_ascii_case(tab))
            .map_or_else(|| tab.to_owned(), |colour| (*colour).to_owned())
    }

    #[track_caller]
    fn expect_tab(&self, pane: &str, colour: &str, terminal: &Terminal<'_>) {
        let mut found = String::new();
        let what = format!("the tab of {pane} is {colour}");
        let shown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            poll_until(&what, || {
                found = self.tab(pane);
                found == colour
            });
        }));
        assert!(shown.is_ok(), "{what}, but it is {found}:\n{}", terminal.screen());
    }

    fn window_options(&self, pane: &str) -> String {
        self.tmux(&["show-options", "-w", "-t", pane])
    }
}

pub(crate) fn of(session: u32, mut payload: Value) -> Value {
    payload["session_id"] = json!(crate::stage::id(session));
    payload
}

/// Behind the window that is looked at, a session that waits for its next prompt.
pub(crate) fn red(world: &World, pane: &str, session: u32) {
    for payload in [start("startup"), prompt("go"), stop("done")] {
        world.hook_in(pane, &of(session, payload));
    }
    assert_eq!(world.tab(pane), RED);
}

#[test]
fn a_turn_is_blue_its_end_red_and_a_look_white() {
    let world = World::with_tabs();
    let terminal = world.attach();
    let pane = world.window("main");
    for (payload, colour) in [
        (start("startup"), WHITE),
        (prompt("go"), BLUE),
        (bash("PreToolUse", "make"), BLUE),
        (bash("PostToolUse", "make"), BLUE),
        (stop("done"), RED),
    ] {
        world.hook_in(&pane, &payload);
        assert_eq!(world.tab(&pane), colour, "after {payload}");
    }
    terminal.press(&["C-b", "n"]);
    world.expect_tab(&pane, WHITE, &terminal);
    let kept = world.options_of(&pane);
    assert!(
        kept["@meta.claude.finished"].ends_with(" d done"),
        "it is still in the queue: {kept:?}"
    );
}

#[test]
fn the_colours_are_on_the_screen() {
    let world = World::with_tabs();
    let terminal = world.attach();
    let pane = world.window("main");
    red(&world, &pane, 1);
    poll_until("the tab is drawn in red", || {
        terminal
            .tmux(&["capture-pane", "-p", "-e"])
            .lines()
            .last()
            .is_some_and(|status| status.contains("38;2;236;95;103") || status.contains("38;5;203"))
    });
}

#[test]
fn ten_tool_calls_are_blue_throughout() {
    let world = World::with_tabs();
    let _terminal = world.attach();
    let pane = world.window("main");
    world.hook_in(&pane, &start("startup"));
    world.hook_in(&pane, &prompt("go"));
    let working = AtomicBool::new(true);
    let seen = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while working.load(Ordering::SeqCst) {
                seen.insert(world.tab(&pane));
                thread::sleep(Duration::from_millis(5));
            }
            seen
        });
        for call in 0..10 {
            world.hook_in(&pane, &bash("PreToolUse", &format!("step {call}")));
            world.hook_in(&pane, &bash("PostToolUse", &format!("step {call}")));
        }
        working.store(false, Ordering::SeqCst);
        watcher.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([BLUE.to_owned()]));
}

#[test]
fn a_permission_is_red_until_its_tool_has_run() {
    let world = World::with_tabs();
    let _terminal = world.attach();
    let pane = world.window("main");
    for (payload, colour) in [
        (start("startup"), WHITE),
        (prompt("go"), BLUE),
        (bash("PreToolUse", "make"), BLUE),
        (bash("PermissionRequest", "make"), RED),
        (bash("PostToolUse", "make"), BLUE),
        (stop("done"), RED),
    ] {
        world.hook_in(&pane, &payload);
        assert_eq!(world.tab(&pane), colour, "after {payload}");
    }
}

#[test]
fn two_windows_do_not_touch_each_other() {
    let world = World::with_tabs();
    let terminal = world.attach();
    let (one, two) = (world.window("main"), world.window("main"));
    red(&world, &one, 1);
    red(&world, &two, 2);
    world.hook_in(&two, &of(2, prompt("more")));
    assert_eq!((world.tab(&one), world.tab(&two)), (RED.to_owned(), BLUE.to_owned()));
    terminal.press(&["C-b", "1"]);
    world.expect_tab(&one, WHITE, &terminal);
    assert_eq!(world.tab(&two), BLUE);
    terminal.press(&["C-b", "2"]);
    poll_until("the second window is shown", || {
        world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]) == two
    });
    assert_eq!((world.tab(&one), world.tab(&two)), (WHITE.to_owned(), BLUE.to_owned()));
}

#[test]
fn another_pane_a_click_or_the_terminal_in_front_is_no_look() {
    let world = World::with_tabs();
    world.tmux(&["set-option", "-g", "focus-events", "on"]);
    world.tmux(&["set-option", "-g", "mouse", "on"]);
    let terminal = world.attach();
    let beside = world.tmux(&["split-window", "-P", "-F", "#{pane_id}", "sleep 1000"]);
    // The window is looked at all the time, and is red nevertheless.
    red(&world, &world.pane, 1);
    let active = || world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]);
    assert_eq!(active(), beside);
    terminal.press(&["C-b", "o"]);
    poll_until("the other pane is active", || active() == world.pane);
    assert_eq!(world.tab(&world.pane), RED);
    // A click into the lower pane, then the terminal loses and gets the focus.
    terminal.press(&["-l", "\u{1b}[<0;10;30M\u{1b}[<0;10;30m"]);
    poll_until("the click has arrived", || active() == beside);
    terminal.press(&["-l", "\u{1b}[O\u{1b}[I"]);
    terminal.press(&["C-b", "o"]);
    poll_until("the keys have arrived", || active() == world.pane);
    assert_eq!(world.tab(&world.pane), RED);
    // The window that is shown already is selected once more.
    world.tmux(&["select-window", "-t", &world.pane]);
    assert_eq!(world.tab(&world.pane), RED);
}

#[test]
fn the_end_of_a_session_is_white() {
    let world = World::with_tabs();
    let terminal = world.attach();
    let (red_one, blue_one) = (world.window("main"), world.window("main"));
    red(&world, &red_one, 1);
    for payload in [start("startup"), prompt("go")] {
        world.hook_in(&blue_one, &of(2, payload));
    }
    for (pane, session) in [(&red_one, 1), (&blue_one, 2)] {
        world.hook_in(pane, &of(session, event("SessionEnd", &json!({"reason": "other"}))));
        assert_eq!(world.tab(pane), WHITE, "{}", terminal.screen());
    }
    // Nothing is left to be dismissed, and the next session begins as the first one did.
    terminal.press(&["C-b", "1"]);
    poll_until("the first one is shown", || {
        world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]) == red_one
    });
    assert_eq!(world.tab(&red_one), WHITE);
    world.hook_in(&red_one, &of(3, start("startup")));
    world.hook_in(&red_one, &of(3, prompt("go")));
    assert_eq!(world.tab(&red_one), BLUE);
}

#[test]
fn two_sessions_in_one_window_show_the_worst() {
    let world = World::with_tabs();
    let terminal = world.attach();
    let one = world.window("main");
    let two =
        world.tmux(&["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &one, "sleep 1000"]);
    world.hook_in(&two, &of(2, start("startup")));
    world.hook_in(&two, &of(2, prompt("go")));
    assert_eq!(world.tab(&one), BLUE);
    red(&world, &one, 1);
    world.hook_in(&two, &of(2, bash("PreToolUse", "make")));
    assert_eq!(world.tab(&one), RED, "a pane that runs does not hide one that waits");
    // Looked at: what waited no longer shows, what runs does.
    terminal.press(&["C-b", "n"]);
    world.expect_tab(&one, BLUE, &terminal);
    world.hook_in(&two, &of(2, stop("done")));
    assert_eq!(world.tab(&one), RED);
}

#[test]
fn a_wait_that_was_looked_at_stays_so() {
    let world = World::with_tabs();
    let terminal = world.attach();
    let pane = world.window("main");
    world.hook_in(&pane, &start("startup"));
    world.hook_in(&pane, &prompt("go"));
    world.hook_in(&pane, &bash("PermissionRequest", "make"));
    terminal.press(&["C-b", "n"]);
    world.expect_tab(&pane, WHITE, &terminal);
    // Claude announces the dialog once more after six seconds.
    world.hook_in(&pane, &notification("permission_prompt"));
    assert_eq!(world.tab(&pane), WHITE);
    world.hook_in(&pane, &bash("PermissionRequest", "make install"));
    assert_eq!(world.tab(&pane), RED, "another dialog is something new");
}

#[test]
fn the_options_are_those_of_the_design() {
    let world = World::new();
    world.hook(&start("startup"));
    let listed = world.window_options(&world.pane);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    let ours = ["@claude-state", "window-status-style", "window-status-current-style"];
    for name in ours {
        assert!(names.contains(&name), "{listed}");
    }
    if has_hidden_environment() {
        let style = ["show-options", "-wv", "-t", &world.pane, "window-status-style"];
        assert_eq!(world.tmux(&style), WHITE);
    }
}
