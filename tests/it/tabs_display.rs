//! What the tmux file shows in borders and status lines, and that it leaves nothing behind.

use std::process::Command;

use serde_json::json;

use crate::events::{bash, event, prompt, start, stop};
use crate::pick::has_popups;
use crate::tabs::{Tabs, of, red};
use crate::world::{
    Terminal, World, has_hidden_environment, poll_until, tmux_program, tmux_version,
};

/// Everything of a server that a person can have configured.
fn configuration(world: &World) -> String {
    let mut all = String::new();
    for list in [&["show-options", "-g"][..], &["show-options", "-gw"], &["show-options", "-s"]] {
        all.push_str(&format!("{list:?}\n{}\n", world.tmux(list)));
    }
    // Hooks of windows stand in a list of their own since 3.2.
    all.push_str(&world.tmux(&["show-hooks", "-g"]));
    all.push_str(&world.tmux(&["list-keys"]));
    all
}

fn take_out(world: &World) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/shell/cld.tmux");
    world.tmux(&["set-option", "-g", "@cld-off", "1", ";", "source-file", file]);
}

#[track_caller]
fn expect_screen(terminal: &Terminal<'_>, expected: &str) {
    let mut screen = String::new();
    let shown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        poll_until(&format!("{expected:?} is on the screen"), || {
            screen = terminal.screen();
            screen.contains(expected)
        });
    }));
    assert!(shown.is_ok(), "{expected:?} is not on the screen:\n{screen}");
}

/// A theme of the user, with all that could be lost on the way.
fn theme(world: &World) {
    world.tmux(&["set-option", "-g", "pane-border-status", "top"]);
    world.tmux(&[
        "set-option",
        "-g",
        "window-status-format",
        " #I $HOME 'a' \"b\" \\ #[fg=red]#W; ",
    ]);
    world.tmux(&["set-option", "-g", "window-status-current-format", ""]);
    world.tmux(&["set-option", "-g", "status-right", "#{?client_prefix,P,} 50%% "]);
    world.tmux(&["set-hook", "-g", "session-window-changed[0]", "set -g @mine 1"]);
    world.tmux(&["set-hook", "-g", "window-layout-changed[3]", "set -g @other 2"]);
}

#[test]
fn panes_windows_and_the_count_say_what_sessions_do() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::with_tabs();
    world.tmux(&["set-option", "-g", "pane-border-status", "top"]);
    world.tmux(&["set-option", "-g", "status-right-length", "100"]);
    let terminal = world.attach();
    world.hook(&start("startup"));
    expect_screen(&terminal, "[⏸] 23e30f82");
    expect_screen(&terminal, "(⏸)");
    world.hook(&prompt("go"));
    expect_screen(&terminal, "[▶] 23e30f82");
    expect_screen(&terminal, "▶1");
    assert!(!terminal.screen().contains("(⏸)"), "{}", terminal.screen());
    let pane = world.window("main");
    red(&world, &pane, 2);
    expect_screen(&terminal, "⏸1 ▶1");
    world.hook(&bash("PermissionRequest", "make"));
    expect_screen(&terminal, "⏸2");
    world.hook(&event("SessionEnd", &json!({"reason": "other"})));
    expect_screen(&terminal, "[■] 23e30f82");
    expect_screen(&terminal, "⏸1");
}

#[test]
fn what_is_shown_follows_panes_that_move_and_die() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::with_tabs();
    world.tmux(&["set-option", "-g", "pane-border-status", "top"]);
    let terminal = world.attach();
    let pane = world.window("main");
    red(&world, &pane, 2);
    expect_screen(&terminal, "⏸1");
    let count = |letter: &str| {
        let tabs = terminal.screen();
        tabs.lines().last().unwrap_or_default().matches(letter).count()
    };
    // One window shows it to two sessions, and it is one session of Claude.
    world.tmux(&["new-session", "-d", "-t", "main", "-s", "group"]);
    world.tmux(&["refresh-client", "-S"]);
    expect_screen(&terminal, "⏸1");
    world.tmux(&["kill-session", "-t", "group"]);
    world.tmux(&["join-pane", "-d", "-s", &pane, "-t", &world.pane]);
    expect_screen(&terminal, "[⏸] 00000002");
    poll_until("one window says that it has a stopped pane", || count("(⏸)") == 1);
    world.tmux(&["kill-pane", "-t", &pane]);
    poll_until("nothing is said any more", || count("⏸") == 0);
}

#[test]
fn ascii_is_enough() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::new();
    world.tmux(&["set-option", "-g", "@cld-icons", "ascii"]);
    world.tmux(&["set-option", "-g", "pane-border-status", "top"]);
    world.load();
    let terminal = world.attach();
    red(&world, &world.pane, 1);
    expect_screen(&terminal, "[=] 00000001");
    expect_screen(&terminal, "(=)");
    world.hook(&of(1, prompt("more")));
    expect_screen(&terminal, "[>] 00000001");
    expect_screen(&terminal, ">1");
}

#[test]
fn a_reload_adds_nothing_and_a_new_theme_gets_all_again() {
    let world = World::new();
    theme(&world);
    world.load();
    let once = configuration(&world);
    assert_eq!(once.matches("#{E:@cld-window}").count(), 2, "{once}");
    // A window and a session with formats of their own hide the global ones.
    world.tmux(&["set-option", "-w", "window-status-format", "own"]);
    world.tmux(&["set-option", "status-right", "own"]);
    world.tmux(&["new-window", "-d", "sleep 1000"]);
    world.tmux(&["new-session", "-d", "-s", "other", "sleep 1000"]);
    world.load();
    world.load();
    assert_eq!(configuration(&world), once);
    theme(&world);
    world.load();
    assert_eq!(configuration(&world), once);
    take_out(&world);
    poll_until("all is out", || !configuration(&world).contains("cld"));
}

#[test]
fn only_the_wanted_segments_are_added() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "@cld-segments", "count"]);
    world.load();
    let configuration = configuration(&world);
    assert!(configuration.contains("#{E:@cld-count}"));
    assert!(
        !configuration.contains("#{E:@cld-window}") && !configuration.contains("#{E:@cld-pane}")
    );
}

#[test]
fn taken_out_everything_is_as_before() {
    let world = World::new();
    theme(&world);
    let pane = world.window("main");
    let before = (configuration(&world), world.window_options(&pane));
    world.load();
    assert_ne!(configuration(&world), before.0);
    let terminal = world.attach();
    red(&world, &pane, 1);
    terminal.press(&["C-b", "n"]);
    poll_until("the user's own hook runs", || {
        world.tmux(&["show-options", "-gqv", "@mine"]) == "1"
    });
    world.tmux(&["set-option", "-gu", "@mine", ";", "set-option", "-gqu", "@other"]);
    take_out(&world);
    // What the hooks of Claude have told the server goes with the hooks of Claude.
    let ours = |line: &&str| !line.starts_with("@cld-") && !line.starts_with("command-alias[990]");
    let after = || configuration(&world).lines().filter(ours).collect::<Vec<_>>().join("\n");
    let expected = before.0.lines().collect::<Vec<_>>().join("\n");
    poll_until("all is as before", || after() == expected);
}

#[test]
fn taken_out_before_any_session_not_a_byte_is_left() {
    let world = World::new();
    theme(&world);
    let before = configuration(&world);
    world.load();
    world.load();
    take_out(&world);
    poll_until("all is as before", || configuration(&world) == before);
}

#[test]
fn keys_go_to_what_waits_and_are_given_back() {
    if !has_hidden_environment() {
        return;
    }
    let world = World::new();
    // One that does something else already, and one that is free.
    // Only 3.4 adds a backslash to a variable whenever it prints one.
    let variable = if tmux_version() == (3, 4) { "" } else { "$HOME" };
    let mine = format!("it's \"mine\" {variable}; #{{pid}}");
    world.tmux(&["bind-key", "N", "display-message", &mine]);
    let before = configuration(&world);
    world.tmux(&["set-option", "-g", "@cld-key-next", "N"]);
    world.tmux(&["set-option", "-g", "@cld-key-back", "M-b"]);
    world.load();
    poll_until("the keys are bound", || {
        let keys = world.tmux(&["list-keys", "-T", "prefix"]);
        keys.matches("cld-do").count() == 2
    });
    world.load();
    let terminal = world.attach();
    let pane = world.window("main");
    red(&world, &pane, 1);
    terminal.press(&["C-b", "N"]);
    poll_until("the waiting pane is shown", || {
        world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]) == pane
    });
    terminal.press(&["C-b", "M-b"]);
    poll_until("the first pane is shown again", || {
        world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]) == world.pane
    });
    take_out(&world);
    world.tmux(&["set-option", "-gu", "@cld-key-next"]);
    world.tmux(&["set-option", "-gu", "@cld-key-back"]);
    let keys = |text: &str| {
        text.lines().filter(|l| l.contains("bind-key")).map(str::to_owned).collect::<Vec<_>>()
    };
    poll_until("the keys do what they did", || keys(&configuration(&world)) == keys(&before));
}

#[test]
fn keys_open_popups_with_who_waits_and_with_all() {
    if !has_popups() {
        return;
    }
    let world = World::new();
    world.tmux(&["set-option", "-g", "@cld-key-queue", "Q"]);
    world.tmux(&["set-option", "-g", "@cld-key-pick", "P"]);
    world.load();
    poll_until("the keys are bound", || {
        world.tmux(&["list-keys", "-T", "prefix"]).matches("cld-do").count() == 2
    });
    let terminal = world.attach();
    let (waits, runs) = (world.window("main"), world.window("main"));
    red(&world, &waits, 1);
    for payload in [start("startup"), prompt("go")] {
        world.hook_in(&runs, &of(2, payload));
    }
    for (key, shows_running) in [("Q", false), ("P", true)] {
        terminal.press(&["C-b", key]);
        poll_until("the popup is there", || terminal.screen().contains("00000001"));
        // The heading of those that run.
        let has_running = || terminal.screen().contains("running");
        if shows_running {
            poll_until("those that run are there", has_running);
        } else {
            assert!(!has_running(), "{}", terminal.screen());
        }
        terminal.press(&["Escape"]);
        // Its frame goes last, and takes keys until then.
        poll_until("the popup is gone", || !terminal.screen().contains('┘'));
    }
}

#[test]
fn the_plugin_manager_finds_what_to_run() {
    let world = World::new();
    let plugin = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cld.tmux");
    let mut run = Command::new(plugin);
    let tmux = format!("{},{},0", world.socket().display(), world.server_pid());
    run.env("TMUX", tmux).env_remove("TMUX_PANE");
    if tmux_program().is_absolute() {
        let dir = tmux_program().parent().unwrap().display().to_string();
        run.env("PATH", format!("{dir}:{}", std::env::var("PATH").unwrap()));
    }
    assert!(run.status().unwrap().success());
    assert!(configuration(&world).contains("session-window-changed[990]"));
}

#[test]
fn odd_names_and_titles_are_shown_as_text() {
    if !has_hidden_environment() {
        return; // Before 3.2 tmux can do a part of this only.
    }
    let world = World::with_tabs();
    world.tmux(&["set-option", "-g", "pane-border-status", "top"]);
    let terminal = world.attach();
    let marker = world.path("marker");
    let odd = format!("#(touch {})", marker.display());
    world.tmux(&["rename-window", "--", &odd.replace('#', "##")]);
    world.tmux(&["rename-session", "-t", "main", "a,b##(touch marker)"]);
    let mut started = start("startup");
    started["session_title"] = json!(odd);
    started["cwd"] = json!(format!("/tmp/{odd}"));
    world.hook(&started);
    world.hook(&prompt(&odd));
    world.hook(&stop(&odd));
    expect_screen(&terminal, "[⏸] 23e30f82");
    expect_screen(&terminal, "⏸1");
    assert!(!marker.exists());
}
