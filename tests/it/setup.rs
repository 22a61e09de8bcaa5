//! `cld setup` as a person meets it: what it shows, asks, writes and takes back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::events::{start, stop};
use crate::world::{World, assert_silent, poll_until, run};

const SETTINGS: &str = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }]\n      }\n    ]\n  }\n}\n";

/// A home with a settings file, as Claude Code leaves it.
fn world_with(text: &str) -> World {
    in_use(World::bare(), text)
}

fn in_use(world: World, text: &str) -> World {
    fs::create_dir(world.home().join(".claude")).unwrap();
    fs::write(settings(&world), text).unwrap();
    world
}

pub(crate) fn settings(world: &World) -> PathBuf {
    world.home().join(".claude/settings.json")
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn hooks(path: &Path) -> Value {
    serde_json::from_str::<Value>(&read(path)).unwrap()["hooks"].clone()
}

fn entries(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn setup(world: &World, arguments: &[&str]) -> Ran {
    ran(world.cld(&[&["setup"], arguments].concat()))
}

fn ran(command: Command) -> Ran {
    let output = run(command, b"");
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn succeeds(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn a_home_without_claude_gets_a_file_and_loses_it_again() {
    let world = World::bare();
    succeeds(&setup(&world, &["-y"]));
    let hooks = hooks(&settings(&world));
    assert_eq!(hooks.as_object().unwrap().len(), 29);
    let command = format!("{} hook", env!("CARGO_BIN_EXE_cld"));
    assert_eq!(hooks["SessionEnd"][0]["hooks"][0]["command"], command);
    assert_eq!(hooks["SessionEnd"][0]["hooks"][0]["timeout"], 5);

    succeeds(&setup(&world, &["-y", "--uninstall"]));
    assert!(entries(&world.home()).is_empty(), "no trace is left: {:?}", entries(&world.home()));
}

#[test]
fn what_was_there_stays_and_comes_back_byte_for_byte() {
    let world = world_with(SETTINGS);
    succeeds(&setup(&world, &["-y"]));
    let stop = hooks(&settings(&world))["Stop"].clone();
    assert_eq!(stop[0]["hooks"][0]["command"], "say done");
    assert_eq!(stop.as_array().unwrap().len(), 2);
    succeeds(&setup(&world, &["-y", "--uninstall"]));
    assert_eq!(read(&settings(&world)), SETTINGS);
    succeeds(&setup(&world, &["-y", "--uninstall"]));
    assert_eq!(entries(&world.home().join(".claude")).len(), 3, "the file and two backups");
}

#[test]
fn an_uninstall_says_what_it_leaves() {
    let world = world_with(SETTINGS);
    succeeds(&setup(&world, &["-y"]));
    let state = world.home().join(".local/state/cld");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("journal.jsonl"), "").unwrap();
    let ran = setup(&world, &["-y", "--uninstall"]);
    succeeds(&ran);
    assert!(ran.err.contains("/.local/state/cld until you remove it"), "{}", ran.err);
    assert!(state.join("journal.jsonl").exists());
}

#[test]
fn a_second_run_has_nothing_to_do_and_touches_nothing() {
    let world = world_with(SETTINGS);
    succeeds(&setup(&world, &["-y"]));
    let before = fs::metadata(settings(&world)).unwrap();
    for arguments in [&["-y"][..], &["-n"], &[]] {
        let again = setup(&world, arguments);
        succeeds(&again);
        assert!(again.out.ends_with("settings.json: already up to date\n"), "{}", again.out);
    }
    let after = fs::metadata(settings(&world)).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
}

#[test]
fn a_dry_run_shows_the_difference_and_writes_nothing() {
    let world = world_with(SETTINGS);
    let shown = setup(&world, &["-n"]);
    succeeds(&shown);
    assert!(shown.out.contains("\n+++ "), "{}", shown.out);
    assert!(shown.out.contains("\n+    \"SessionStart\": [{\"hooks\""), "{}", shown.out);
    assert!(!shown.out.contains('\u{1b}'), "no colours into a pipe");
    assert_eq!(entries(&world.home().join(".claude")), ["settings.json"]);
    assert_eq!(read(&settings(&world)), SETTINGS);
}

#[test]
fn without_a_terminal_nobody_is_asked_and_nothing_written() {
    let world = world_with(SETTINGS);
    for (arguments, hint) in
        [(&[][..], "cld setup -y"), (&["--uninstall"][..], "already up to date")]
    {
        let ran = setup(&world, arguments);
        assert_eq!(ran.code, Some(if arguments.is_empty() { 2 } else { 0 }), "{}", ran.err);
        assert!(format!("{}{}", ran.out, ran.err).contains(hint), "{}{}", ran.out, ran.err);
        assert_eq!(read(&settings(&world)), SETTINGS);
    }
}

/// Runs `cld setup` in a pane, waits for the question, answers it, and returns the screen.
fn answered(world: &World, before: &str, keys: &[&str]) -> String {
    let line =
        format!("{before} {} setup; echo exit=$?; exec sleep 1000", env!("CARGO_BIN_EXE_cld"));
    let size = ["-x", "200", "-y", "60"];
    let start = [&["new-session", "-d", "-P", "-F", "#{pane_id}"][..], &size, &[&line]].concat();
    let pane = world.tmux(&start);
    let screen = || world.tmux(&["capture-pane", "-p", "-e", "-t", &pane]);
    poll_until("the question is asked", || screen().contains("Make these changes? [Yn]"));
    world.tmux(&[&["send-keys", "-t", &pane][..], keys].concat());
    poll_until("the command ends", || screen().contains("exit="));
    screen()
}

#[test]
fn the_person_is_asked_once_and_may_say_no() {
    let world = in_use(World::new(), SETTINGS);
    for keys in [&["n", "Enter"][..], &["C-c"], &["C-d"]] {
        let screen = answered(&world, "", keys);
        assert!(screen.contains("exit=130"), "{keys:?}: {screen}");
        assert!(screen.contains("\u{1b}[32m+"), "additions are green: {screen:?}");
        assert_eq!(read(&settings(&world)), SETTINGS, "{keys:?}");
        assert_eq!(entries(&world.home().join(".claude")), ["settings.json"]);
    }
    let screen = answered(&world, "NO_COLOR=1", &["Enter"]);
    let (above, _) = screen.split_once("Make these changes?").unwrap();
    let last = above.trim_end().lines().last().unwrap_or_default();
    assert!(last.ends_with("settings.json: +31 -2"), "each file in one line: {screen}");
    assert!(screen.contains("exit=0") && !screen.contains("\u{1b}[32m"), "{screen:?}");
    assert!(hooks(&settings(&world))["SessionStart"].is_array());
}

#[test]
fn a_link_to_the_file_stays_a_link_and_the_mode_stays() {
    let world = World::bare();
    fs::create_dir_all(world.home().join(".claude")).unwrap();
    fs::create_dir_all(world.home().join("dotfiles")).unwrap();
    let real = world.home().join("dotfiles/claude.json");
    fs::write(&real, SETTINGS).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("../dotfiles/claude.json", settings(&world)).unwrap();

    succeeds(&setup(&world, &["-y"]));
    assert!(fs::symlink_metadata(settings(&world)).unwrap().is_symlink());
    assert!(hooks(&real)["SessionStart"].is_array());
    for file in entries(&world.home().join("dotfiles")) {
        let mode = fs::metadata(world.home().join("dotfiles").join(&file)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    succeeds(&setup(&world, &["-y", "--uninstall"]));
    assert_eq!(read(&real), SETTINGS);
}

#[test]
fn files_that_cannot_be_understood_are_left_alone_and_so_are_the_others() {
    for (text, problem) in [
        ("{\n  \"model\": \"opus\"\n  \"a\": 1\n}\n", "line 3 column 3: expected `,` or `}`"),
        ("{\"hooks\": []}", "line 1 column 11: `hooks` should be an object and is an array"),
        ("null", "line 1 column 1: the settings should be an object and is null"),
    ] {
        let world = world_with(text);
        let good = world.path("good");
        let dirs = ["--config-dir", good.to_str().unwrap(), "--config-dir"];
        let bad = world.home().join(".claude");
        let arguments = [&["-y"], &dirs[..], &[bad.to_str().unwrap()]].concat();
        let refused = setup(&world, &arguments);
        assert_eq!(refused.code, Some(1), "{}", refused.out);
        assert!(
            refused.err.contains(problem) && refused.err.contains("is left as it is"),
            "{}",
            refused.err
        );
        assert_eq!(read(&settings(&world)), text);
        assert!(!good.exists(), "nothing is written unless everything can be");
    }
    let world = World::bare();
    fs::create_dir(world.home().join(".claude")).unwrap();
    fs::write(settings(&world), b"{\n \"a\": \"\xff\"}").unwrap();
    let refused = setup(&world, &["-y"]);
    assert!(refused.err.contains("line 2 column 8: the file is not UTF-8 here"), "{}", refused.err);
}

#[test]
fn every_config_directory_in_use_gets_the_hooks() {
    let world = World::bare();
    let other = world.path("other");
    let named = other.to_str().unwrap();
    let world = world.with("CLAUDE_CONFIG_DIR", named);
    succeeds(&setup(&world, &["-y"]));
    assert!(other.join("settings.json").exists() && !settings(&world).exists());

    let world = in_use(world, "{}");
    succeeds(&setup(&world, &["-y"]));
    assert!(hooks(&settings(&world))["Stop"].is_array());
    succeeds(&setup(&world, &["-y", "--uninstall"]));
    assert!(!other.exists() && read(&settings(&world)) == "{}");
}

#[test]
fn a_project_has_its_own_file() {
    let world = World::bare();
    let repository = world.path("repo");
    fs::create_dir_all(repository.join(".git")).unwrap();
    fs::create_dir_all(repository.join("src/deep")).unwrap();
    let mut command = world.cld(&["setup", "-y", "--project"]);
    command.current_dir(repository.join("src/deep"));
    let ran = ran(command);
    succeeds(&ran);
    assert!(hooks(&repository.join(".claude/settings.json"))["Stop"].is_array());
    assert!(entries(&world.home()).is_empty());
    assert!(ran.err.contains("whoever else works in this repository"), "{}", ran.err);
}

#[test]
fn whoever_has_the_plugin_is_told_that_the_hooks_are_one_too_many() {
    let world = world_with("{\"enabledPlugins\": {\"cld@cld\": true}}");
    let ran = setup(&world, &["-y"]);
    succeeds(&ran);
    assert!(ran.err.contains("claude plugin uninstall cld"), "{}", ran.err);
    let removed = setup(&world, &["-y", "--uninstall"]);
    assert!(!removed.err.contains("plugin"), "{}", removed.err);
}

#[test]
fn the_command_names_the_entry_of_the_path_and_is_repaired_after_a_move() {
    let world = World::bare();
    let bin = world.path("it's my bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_cld"), bin.join("cld")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let world = world.with("PATH", &path);
    succeeds(&setup(&world, &["-y"]));
    let command = |world: &World| hooks(&settings(world))["Stop"][0]["hooks"][0]["command"].clone();
    let quoted = bin.join("cld").display().to_string().replace('\'', r"'\''");
    assert_eq!(command(&world), format!("'{quoted}' hook"));

    let before = read(&settings(&world));
    let world = world.with("PATH", "/usr/bin:/bin");
    succeeds(&setup(&world, &["-y"]));
    assert_eq!(command(&world), format!("{} hook", env!("CARGO_BIN_EXE_cld")));
    assert_eq!(read(&settings(&world)).lines().count(), before.lines().count());
    succeeds(&setup(&world, &["-y", "--uninstall"]));
    assert!(!settings(&world).exists());
}

#[test]
fn the_hooks_fire_when_they_are_run_as_claude_runs_them() {
    let world = World::new();
    let bin = world.path("it's my bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_cld"), bin.join("cld")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let world = world.with("PATH", &path);
    succeeds(&setup(&world, &["-y"]));
    let hooks = hooks(&settings(&world));
    let fire = |payload: &Value| {
        let event = payload["hook_event_name"].as_str().unwrap();
        let command = hooks[event][0]["hooks"][0]["command"].as_str().unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env_clear();
        let own = world.cld(&[]);
        shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        assert_silent(&run(shell, format!("{payload}\n").as_bytes()));
    };
    fire(&start("startup"));
    assert_eq!(world.meta("session_id_set_on"), "SessionStart");
    fire(&stop("done"));
    assert_eq!(world.meta("latest_hook_event"), "Stop");
    assert!(world.meta("finished").ends_with("done"));
}

#[test]
fn a_file_that_claude_would_ignore_is_told() {
    let world = world_with("{\n  // mine\n  \"disableAllHooks\": true\n}\n");
    let ran = setup(&world, &["-y"]);
    succeeds(&ran);
    assert!(ran.err.contains("while it has comments"), "{}", ran.err);
    assert!(ran.err.contains("disableAllHooks"), "{}", ran.err);
    assert!(read(&settings(&world)).contains("\n  // mine\n"));
}
