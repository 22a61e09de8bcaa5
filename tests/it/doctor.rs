//! `cld doctor`: what it finds, what it repairs, and that it leaves nothing behind.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::setup::{read, settings};
use crate::world::{World, run};

/// A world with `cld` and a `claude` of the tested version in its path.
fn world() -> World {
    equipped(World::bare())
}

fn equipped(world: World) -> World {
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::create_dir(world.path("tmp")).unwrap();
    fs::create_dir(world.path("repo")).unwrap();
    symlink(env!("CARGO_BIN_EXE_cld"), bin.join("cld")).unwrap();
    program(&bin.join("claude"), "echo '2.1.326 (Claude Code)'");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let tmp = world.path("tmp").display().to_string();
    let world = world.with("PATH", &path).with("TMPDIR", &tmp);
    world.with("TMUX_TMPDIR", &tmp)
}

fn program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn set_up(world: &World) {
    assert!(run(world.cld(&["setup", "-y"]), b"").status.success());
}

/// The exit code and the lines, run in a directory without settings.
fn doctor(world: &World, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = world.cld(&[&["doctor"], arguments].concat());
    command.current_dir(world.path("repo"));
    let output = run(command, b"");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error, "");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[track_caller]
fn finds(world: &World, code: i32, line: &str) {
    let (exit, text) = doctor(world, &[]);
    assert!(text.contains(line), "no line {line:?} in\n{text}");
    assert_eq!(exit, Some(code), "{text}");
}

#[test]
fn a_healthy_home_is_ok_and_nothing_is_left_behind() {
    let world = world();
    set_up(&world);
    let (code, text) = doctor(&world, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(" has 29 hooks that run this cld\n"), "{text}");
    assert!(text.contains(" 29 hooks ran silently in a pane, "), "{text}");
    let others = text.lines().filter(|line| !line.starts_with("ok ") && !line.contains("  run  "));
    assert_eq!(others.count(), 0, "{text}");
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0, "no directory, no server");
    assert!(!world.state_file("journal.jsonl").exists(), "what was tried out is not logged");
}

#[test]
fn nobody_is_told_of_what_is_tried_out() {
    let world = world();
    set_up(&world);
    let (config, told) = (world.home().join(".config/cld"), world.path("told"));
    fs::create_dir_all(&config).unwrap();
    let command = format!("[\"/usr/bin/touch\", \"{}\"]", told.display());
    let text = format!("[notify]\nchannels = [\"mine\"]\n[notify.mine]\ncommand = {command}\n");
    fs::write(config.join("config.toml"), text).unwrap();
    finds(&world, 0, " 29 hooks ran silently in a pane, ");
    assert!(!told.exists());
}

#[test]
fn the_panes_of_the_user_are_left_alone() {
    let world = equipped(World::new());
    set_up(&world);
    let before = (world.options(), world.tmux(&["list-panes", "-a"]));
    finds(&world, 0, " 29 hooks ran silently in a pane, ");
    assert_eq!((world.options(), world.tmux(&["list-panes", "-a"])), before);
}

#[test]
fn without_a_setup_there_is_one_thing_to_do() {
    let world = world();
    finds(&world, 1, "settings.json does not exist: run `cld setup`");
    fs::create_dir(world.home().join(".claude")).unwrap();
    fs::write(settings(&world), "{}").unwrap();
    finds(&world, 1, "settings.json has no hooks of cld: run `cld setup`");
}

#[test]
fn a_path_that_is_gone_is_found_and_repaired() {
    let world = world();
    set_up(&world);
    let good = read(&settings(&world));
    let gone = good.replace("bin/cld", "gone/cld").replace("\"Stop\"", "\"Unknown\"");
    fs::write(settings(&world), &gone).unwrap();
    finds(&world, 1, "gone/cld, which does not exist");
    finds(&world, 1, " lacks hooks for Stop: ");
    finds(&world, 1, " 29 hooks, from PreToolUse on, ended with exit code 127: ");
    assert_eq!(read(&settings(&world)), gone, "only --fix changes anything");

    let (code, text) = doctor(&world, &["--fix"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("fixed  hooks"), "{text}");
    let repaired = read(&settings(&world));
    assert!(!repaired.contains("gone/cld") && repaired.contains("\"Stop\""), "{repaired}");
    let (_, text) = doctor(&world, &["--fix"]);
    assert!(!text.contains("fixed"), "{text}");
}

#[test]
fn a_fix_does_not_install_what_nobody_agreed_to() {
    let world = world();
    let (code, _) = doctor(&world, &["--fix"]);
    assert_eq!((code, settings(&world).exists()), (Some(1), false));
}

#[test]
fn a_hook_that_claude_would_notice_is_an_error() {
    for (script, problem) in [
        ("cat >/dev/null; echo hello", "printed \"hello\", which Claude Code reads"),
        ("cat >/dev/null; exit 2", "ended with exit code 2"),
        ("cat >/dev/null", "did not reach its pane"),
    ] {
        let world = world();
        let other = world.path("other");
        fs::create_dir(&other).unwrap();
        program(&other.join("cld"), script);
        set_up(&world);
        let bad = read(&settings(&world)).replace("/bin/cld", "/other/cld");
        fs::write(settings(&world), bad).unwrap();
        finds(&world, 1, problem);
        finds(&world, 1, "other/cld, which is another cld than this one");
    }
}

#[test]
fn a_script_gets_json() {
    let world = world();
    set_up(&world);
    let (code, text) = doctor(&world, &["--json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &json["ok"]), (Some(0), &Value::Bool(true)), "{text}");
    let names: Vec<&str> = json["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["cld", "claude", "tmux", "hooks", "tmux.conf", "run", "state"]);

    let text = read(&settings(&world)).replacen('{', "{\"disableAllHooks\": true,", 1);
    fs::write(settings(&world), text).unwrap();
    let (code, text) = doctor(&world, &["--json"]);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &json["ok"]), (Some(1), &Value::Bool(false)), "{text}");
    assert_eq!(json["checks"][3]["advice"], "remove that line");
}

#[test]
fn the_version_of_claude_is_compared_with_the_tested_one() {
    let world = world();
    set_up(&world);
    let claude = world.path("bin/claude");
    program(&claude, "echo '2.0.1 (Claude Code)'");
    finds(&world, 0, "warn   claude");
    program(&claude, "echo broken >&2; exit 1");
    finds(&world, 1, "--version fails: \"broken\"");
    fs::remove_file(claude).unwrap();
    finds(&world, 1, " there is no program `claude`; ");
    let local = world.home().join(".local/bin");
    fs::create_dir_all(&local).unwrap();
    program(&local.join("claude"), "echo '2.1.326 (Claude Code)'");
    finds(&world, 0, "home/.local/bin/claude");
}

#[test]
fn the_plugin_is_noticed_with_and_without_the_hooks() {
    let world = world();
    fs::create_dir(world.home().join(".claude")).unwrap();
    fs::write(settings(&world), "{\"enabledPlugins\": {\"cld@cld\": true}}").unwrap();
    finds(&world, 0, "settings.json has the plugin\n");
    finds(&world, 0, " 29 hooks ran silently in a pane, ");
    set_up(&world);
    finds(&world, 0, "has the plugin and the hooks, every event runs cld twice");
    fs::remove_file(world.path("bin/cld")).unwrap();
    finds(&world, 1, " the plugin looks for cld in $PATH, where it is not: ");
}

#[test]
fn a_repository_that_switches_hooks_off_is_told() {
    let world = world();
    set_up(&world);
    fs::create_dir(world.path("repo/.claude")).unwrap();
    let local: PathBuf = world.path("repo/.claude/settings.local.json");
    fs::write(&local, "{\"disableAllHooks\": true}").unwrap();
    finds(&world, 1, "settings.local.json says \"disableAllHooks\": true");
}

#[test]
fn a_collector_that_does_not_listen_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let world = world().with("CLAUDE_HUB_COLLECTOR_URL", &url);
    set_up(&world);
    finds(&world, 0, "can be reached\n");
    drop(listener);
    finds(&world, 0, "warn   collector");
}

#[test]
fn sockets_without_a_server_are_told_and_removed() {
    let world = world();
    set_up(&world);
    let uid = rustix::process::getuid().as_raw();
    let dir = world.path("tmp").join(format!("tmux-{uid}"));
    fs::create_dir(&dir).unwrap();
    drop(UnixListener::bind(dir.join("old")).unwrap());
    let _alive = UnixListener::bind(dir.join("default")).unwrap();
    finds(&world, 0, "warn   sockets");
    let (code, text) = doctor(&world, &["--fix"]);
    assert!(code == Some(0) && text.contains("fixed  sockets"), "{text}");
    assert!(!dir.join("old").exists() && dir.join("default").exists());
}

#[test]
fn a_configuration_of_tmux_that_does_not_load_cld_is_told() {
    let world = world();
    assert!(run(world.cld(&["setup", "-y", "--no-tmux"]), b"").status.success());
    finds(&world, 0, "warn   tmux.conf");
    let (_, text) = doctor(&world, &["--fix"]);
    assert!(text.contains("warn   tmux.conf"), "nobody has agreed to a block: {text}");
    set_up(&world);
    finds(&world, 0, ".tmux.conf loads what this cld needs\n");

    let own = world.home().join(".local/share/cld/cld.tmux");
    fs::write(&own, "# of another cld\n").unwrap();
    finds(&world, 0, "loads what another cld needed");
    let (_, text) = doctor(&world, &["--fix"]);
    assert!(text.contains("fixed  tmux.conf"), "{text}");
    finds(&world, 0, ".tmux.conf loads what this cld needs\n");
    let conf = world.home().join(".tmux.conf");
    fs::write(&conf, read(&conf).replace("share/cld", "gone")).unwrap();
    finds(&world, 0, "loads what another cld needed");
}

#[test]
fn the_server_that_runs_is_looked_at() {
    let world = equipped(World::new());
    set_up(&world);
    finds(&world, 0, "  focus  ");
    for hook in ["session-window-changed", "client-session-changed", "window-layout-changed"] {
        world.tmux(&["set-hook", "-gu", &format!("{hook}[990]")]);
    }
    finds(&world, 0, "has not loaded what tmux.conf says");
    let (_, text) = doctor(&world, &["--fix"]);
    assert!(text.contains("fixed  server"), "{text}");
    let (_, text) = doctor(&world, &[]);
    assert!(!text.contains("  server  "), "{text}");

    world.tmux(&["set-option", "-g", "focus-events", "on"]);
    world.tmux(&["set-option", "-g", "window-status-format", "#[fg=white]#W"]);
    finds(&world, 0, "focus-events is on\n");
    finds(&world, 0, "window-status-format has colours of its own");
}

#[test]
fn problems_of_the_configuration_are_told_with_their_line() {
    let world = world();
    set_up(&world);
    let file = world.home().join(".config/cld/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "[tabs]\n").unwrap();
    finds(&world, 0, "config.toml\n");
    fs::write(&file, "[tabz]\nwaiting = 3\n").unwrap();
    finds(&world, 0, "config.toml:1: ");
    fs::write(&file, "[tabs\n").unwrap();
    finds(&world, 0, "warn   config");
}

#[test]
fn a_shell_without_completion_is_told() {
    let world = world().with("SHELL", "/bin/bash");
    set_up(&world);
    finds(&world, 0, "bash does not complete ids and options of cld: run `cld setup --shell`");
    assert!(run(world.cld(&["setup", "-y", "--shell"]), b"").status.success());
    finds(&world, 0, "bash has it from ");
}

#[test]
fn a_completion_file_counts_only_where_the_shell_looks_for_it() {
    let world = world().with("SHELL", "/bin/bash");
    set_up(&world);
    let share = world.home().join(".local/share");
    for file in ["bash-completion/completions/cld", "zsh/site-functions/_cld"] {
        fs::create_dir_all(share.join(file).parent().unwrap()).unwrap();
        fs::write(share.join(file), "").unwrap();
    }
    let bash_looks = Path::new("/usr/share/bash-completion/bash_completion").exists();
    finds(
        &world,
        0,
        match bash_looks {
            true => "bash-completion/completions/cld\n",
            false => "bash does not complete",
        },
    );

    let world = world.with("SHELL", "/usr/bin/zsh");
    finds(&world, 0, "zsh does not complete ids and options of cld");
    let fpath =
        "fpath=(~/.local/share/zsh/site-functions $fpath)\nautoload -U compinit; compinit\n";
    fs::write(world.home().join(".zshrc"), fpath).unwrap();
    finds(&world, 0, "zsh has it from ");
}
