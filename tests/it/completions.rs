//! Completion, asked for by the real shells.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::events::event;
use crate::generated::{repository, visible_commands};
use crate::living::{Transcript, config_dir};
use crate::shells::{Shell, shells};
use crate::world::{World, run};

const WAITING: &str = "9f00aa11-2222-4222-8222-222222222222";
const PAST: &str = "dddd0000-4444-4444-8444-444444444444";

/// A session that waits in the world's pane, and one of which only a transcript is left.
fn populated() -> World {
    let world = World::new();
    let cwd = json!({"cwd": "/home/u/web", "session_id": WAITING, "source": "startup",
        "session_title": "new landing page"});
    world.hook(&event("SessionStart", &cwd));
    let mut ask = crate::events::bash("PermissionRequest", "rm -rf build");
    ask["session_id"] = json!(WAITING);
    world.hook(&ask);
    let past = Transcript {
        id: PAST,
        directory: "/home/u/api",
        prompt: "fix $(touch marker) 'the' \"parser\" %F{red}:now",
        entrypoint: "cli",
        seconds_ago: 3600,
    };
    past.plant(&config_dir(&world));
    world
}

fn ask(world: &World, words: &[&str]) -> Vec<(String, String)> {
    let mut command = world.cld(&["--"]);
    command.args(words).env("CLD_COMPLETE", (words.len() - 1).to_string());
    let output: Output = run(command, b"");
    assert!(output.status.success() && output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    let pairs = text.lines().map(|line| line.split_once('\t').unwrap());
    pairs.map(|(value, help)| (value.to_owned(), help.to_owned())).collect()
}

fn values(world: &World, words: &[&str]) -> Vec<String> {
    ask(world, words).into_iter().map(|(value, _)| value).collect()
}

#[test]
fn the_files_are_what_the_program_prints() {
    let world = World::bare();
    for (shell, file) in [("bash", "cld.bash"), ("zsh", "_cld"), ("fish", "cld.fish")] {
        let printed = run(world.cld(&["completions", shell]), b"").stdout;
        assert_eq!(printed, fs::read(repository().join("completions").join(file)).unwrap());
    }
    assert_eq!(fs::read_dir(repository().join("completions")).unwrap().count(), 3);
}

#[test]
fn every_command_and_every_option_is_offered() {
    let world = World::bare();
    let offered = ask(&world, &["cld", ""]);
    for command in visible_commands() {
        let name = command.get_name();
        let about = command.get_about().unwrap().to_string();
        assert!(offered.contains(&(name.to_owned(), about)), "{name}: {offered:?}");
        let options = values(&world, &["cld", name, "--"]);
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            if let Some(long) = arg.get_long() {
                assert!(options.contains(&format!("--{long}")), "{name} --{long}: {options:?}");
            }
        }
    }
    assert_eq!(values(&world, &["cld", "ls", "--server", ""]), ["current", "all"]);
    assert_eq!(values(&world, &["cld", "man", "resu"]), ["resume"]);
    assert_eq!(
        ask(&world, &["cld", "config", "show", "tabs.w"]),
        [("tabs.waiting".to_owned(), "\"fg=#EC5f67\"".to_owned())]
    );
}

#[test]
fn sessions_are_offered_with_state_directory_and_title() {
    let world = populated();
    let offered = ask(&world, &["cld", "resume", ""]);
    let help = |id: &str| {
        let found = offered.iter().find(|(value, _)| value == id);
        found.unwrap_or_else(|| panic!("{id}: {offered:?}")).1.clone()
    };
    assert_eq!(help("9f00aa11"), "waiting: permission, /home/u/web, new landing page");
    assert!(help("dddd0000").starts_with("ended, /home/u/api, fix $(touch marker)"));
    assert_eq!(offered.len(), 2, "each session once: {offered:?}");
    assert_eq!(values(&world, &["cld", "show", "dd"]), ["dddd0000"]);
    assert_eq!(values(&world, &["cld", "resume", "dddd0000-4"]), [PAST]);
    assert_eq!(values(&world, &["cld", "resume", "%"]), [world.pane.as_str()]);
    assert_eq!(values(&world, &["cld", "show", "main:"]), ["main:0.0"]);
    assert!(values(&world, &["cld", "resume", "zz"]).is_empty());
}

#[test]
fn nothing_is_offered_where_the_shell_asks_for_nonsense() {
    let world = World::bare();
    for (index, words) in [("7", &["cld"][..]), ("0", &[]), ("1", &["cld"])] {
        let mut command = world.cld(&["--"]);
        let output = run_with(&mut command, words, index);
        assert!(output.status.success() && output.stdout.is_empty(), "{index} {words:?}");
    }
}

fn run_with(command: &mut std::process::Command, words: &[&str], index: &str) -> Output {
    command.args(words).env("CLD_COMPLETE", index).output().unwrap()
}

/// The start file of a shell that only has the completion file.
fn start_file(shell: &str) -> String {
    let folder = repository().join("completions");
    let folder = folder.display();
    match shell {
        "bash" => format!("source {folder}/cld.bash\nbind 'set bell-style none'\n"),
        "zsh" => format!("fpath=({folder} $fpath)\ncompinit -u\n"),
        _ => format!("source {folder}/cld.fish\n"),
    }
}

#[test]
fn tab_after_resume_offers_real_ids_in_every_shell() {
    for name in shells() {
        let world = populated();
        let shell = Shell::start(&world, name, &start_file(name));
        shell.type_text("cld resume ");
        shell.keys(&["Tab", "Tab"]);
        shell.wait_until("both ids", |screen| {
            screen.contains("9f00aa11") && screen.contains("dddd0000")
        });
        shell.wait_for("waiting: permission");
        assert!(!Path::new(&world.home()).join("marker").exists(), "{name} ran a title");
        shell.keys(&["C-u"]);

        shell.type_text("cld resume ddd");
        shell.keys(&["Tab"]);
        shell.wait_for("cld resume dddd0000 ");
        shell.keys(&["C-u"]);

        // bash takes a colon for the end of a word.
        shell.type_text("cld show main:0");
        shell.keys(&["Tab"]);
        shell.wait_until("the pane", |screen| {
            screen.replace('\\', "").contains("cld show main:0.0")
        });
        shell.keys(&["C-u"]);

        shell.type_text("cld comple");
        shell.keys(&["Tab"]);
        shell.wait_for("cld completions ");
        shell.type_text("f");
        shell.keys(&["Tab"]);
        shell.wait_for("cld completions fish");
    }
}
