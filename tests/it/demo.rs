//! The demo, as a newcomer would go through it: in a terminal, with a keyboard.

use std::fs;
use std::path::PathBuf;

use crate::shells::Shell;
use crate::world::{World, poll_until, run};

/// A pane of the world's own server is the terminal in which the demo is shown.
fn begin(world: &World) -> Shell<'_> {
    let temporary = temporary(world);
    fs::create_dir(&temporary).unwrap();
    let cld = env!("CARGO_BIN_EXE_cld");
    let command = format!(
        "env -u TMUX -u TMUX_PANE TERM=screen-256color TMPDIR='{}' CLD_TMUX='{}' CLD_PATIENCE=30 {cld} demo; \
         echo \"ended with $?\"; exec sleep 1000",
        temporary.display(),
        crate::world::tmux_program().display(),
    );
    let pane = world.tmux(&["new-window", "-P", "-F", "#{pane_id}", &command]);
    Shell { world, pane }
}

/// A name that tmux and shells might stumble over.
fn temporary(world: &World) -> PathBuf {
    world.path("t m#p")
}

fn files_left(world: &World) -> Vec<PathBuf> {
    fs::read_dir(temporary(world)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn processes_left(world: &World) -> bool {
    let needle = temporary(world);
    let needle = needle.to_str().unwrap().as_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let environments =
        processes.filter_map(|process| fs::read(process.path().join("environ")).ok());
    environments.into_iter().any(|environment| {
        let entries = environment.split(|byte| *byte == 0);
        let homes = entries.filter_map(|entry| entry.strip_prefix(b"CLD_DEMO_DIR="));
        homes.into_iter().any(|home| home.starts_with(needle))
    })
}

fn status_line(shell: &Shell<'_>) -> String {
    let screen = shell.world.tmux(&["capture-pane", "-e", "-p", "-t", &shell.pane]);
    screen.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_newcomer_sees_a_tab_turn_red_presses_the_key_answers_and_resumes_an_ended_session() {
    let world = World::new();
    let shell = begin(&world);
    shell.wait_for("This is cld, without Claude Code");
    shell.wait_until("a red tab", |_| {
        let line = status_line(&shell);
        line.contains("236;95;103") || line.contains("38;5;203") || line.contains("38;5;167")
    });

    shell.type_text("cld ls");
    shell.keys(&["Enter"]);
    shell.wait_until("the list", |screen| {
        screen.contains("23e30f82") && screen.contains("waiting") && screen.contains("~/web")
    });
    // Wait until both wait, so that it is known where the key leads.
    shell.wait_until("web waits", |_| {
        shell.type_text("cld ls");
        shell.keys(&["Enter"]);
        std::thread::sleep(std::time::Duration::from_millis(500));
        shell.screen().contains("waiting: permission")
    });

    shell.keys(&["M-n"]);
    shell.wait_for("Do you want to proceed?");
    shell.keys(&["Enter"]);
    shell.wait_for("The page is built");
    shell.keys(&["M-s"]);
    shell.wait_for("waiting: permission");

    shell.type_text("clear; cld resume -y dddd");
    shell.keys(&["Enter"]);
    shell.wait_for("the parser and its error messages");
    shell.wait_for("They do now");
    shell.type_text("/exit");
    shell.keys(&["Enter"]);
    shell.wait_for("resume with: cld resume dddd0000");

    shell.type_text("exit");
    shell.keys(&["Enter"]);
    shell.wait_for("ended with 0");
    assert_eq!(files_left(&world), Vec::<PathBuf>::new());
    poll_until("no process is left", || !processes_left(&world));
}

#[test]
fn a_terminal_of_80_columns_has_room_for_every_tab() {
    let world = World::new();
    let shell = begin(&world);
    world.tmux(&["resize-window", "-t", &shell.pane, "-x", "80", "-y", "24"]);
    shell.wait_for("This is cld, without Claude Code");
    shell.wait_until("all tabs, two that wait, and the key", |screen| {
        let line = screen.trim_end().lines().last().unwrap_or_default();
        ["1 start", "2 api", "3 web (⏸)", "4 docs (⏸)", "Alt+n: who waits", "⏸2 ▶1"]
            .iter()
            .all(|part| line.contains(part))
    });
    shell.type_text("clear; cld ls --all");
    shell.keys(&["Enter"]);
    shell.wait_until("the one that has ended", |screen| {
        screen.lines().any(|line| line.contains("dddd0000") && line.contains(" 3d "))
    });
}

#[test]
fn leaving_or_killing_it_leaves_nothing_behind() {
    for way in ["detach", "kill", "close"] {
        let world = World::new();
        let shell = begin(&world);
        shell.wait_for("This is cld, without Claude Code");
        match way {
            "detach" => {
                shell.keys(&["C-b"]);
                shell.keys(&["d"]);
                shell.wait_for("ended with 0");
            }
            "kill" => {
                let pid = world.tmux(&["display-message", "-p", "-t", &shell.pane, "#{pane_pid}"]);
                let children =
                    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
                let cld = children.split_whitespace().next().unwrap().to_owned();
                let killed = std::process::Command::new("kill").args(["-9", &cld]).status();
                assert!(killed.unwrap().success());
                world.tmux(&["kill-pane", "-t", &shell.pane]);
            }
            _ => _ = world.tmux(&["kill-pane", "-t", &shell.pane]),
        }
        poll_until("all files are gone", || files_left(&world).is_empty());
        poll_until("no process is left", || !processes_left(&world));
    }
}

#[test]
fn without_a_terminal_it_says_so() {
    let output = run(World::bare().cld(&["demo"]), b"");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("needs a terminal"), "{error}");
}
