//! `cld restore`: what comes back after the end of a tmux server, and what does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::events::event;
use crate::living::config_dir;
use crate::stage::{Stage, check_exit, id, plant, prompt};
use crate::world::{World, assert_silent, poll_until, run, tmux_program};

/// Writes down where it was started with which session, and stays.
const FAKE: &str = r#"#!/bin/sh
mkdir -p "$HOME/started"
printf '%s\n%s\n' "$(pwd -P)" "$CLAUDE_CONFIG_DIR" > "$HOME/started/.$2"
mv "$HOME/started/.$2" "$HOME/started/$2"
exec sleep 1000
"#;

/// A world with a tmux server, and a Claude Code that only stays.
fn world() -> World {
    let world = World::new();
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("claude"), FAKE).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.with("PATH", &path).with("SHELL", "/bin/sh")
}

fn payload(session: &str, name: &str) -> Value {
    event(name, &json!({"session_id": session, "source": "startup", "prompt": "go"}))
}

/// Runs a hook in a pane, with variables of its own.
#[track_caller]
fn hook(world: &World, pane: &str, payload: &Value, variables: &[(&str, &str)]) {
    let mut hook = world.cld(&["hook"]);
    hook.env("TMUX_PANE", pane).envs(variables.iter().copied());
    assert_silent(&run(hook, payload.to_string().as_bytes()));
}

/// A session that is open in a new pane; the pane.
fn open(world: &World, session: &str) -> String {
    let pane = world.tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", "sleep 1000"]);
    hook(world, &pane, &payload(session, "SessionStart"), &[]);
    hook(world, &pane, &payload(session, "UserPromptSubmit"), &[]);
    pane
}

/// Plants the transcript of a session that belongs to a directory of its own.
fn planted(world: &World, number: u32, name: &str) -> PathBuf {
    let dir = world.dir(name);
    plant(&config_dir(world), &dir, &id(number), &[prompt(&dir, &format!("talk of {number}"))]);
    dir
}

fn end_server(world: &World) {
    let pid = world.server_pid().to_owned();
    world.tmux(&["kill-server"]);
    poll_until("the server is gone", || !Path::new(&format!("/proc/{pid}")).exists());
}

fn restore(world: &World, arguments: &[&str]) -> Output {
    run(world.cld(&[&["restore"], arguments].concat()), b"")
}

/// Where a session was started, and with which config directory.
fn started(world: &World, session: &str) -> (PathBuf, String) {
    let file = world.home().join("started").join(session);
    poll_until("the session is started", || file.exists());
    let text = fs::read_to_string(file).unwrap();
    let (dir, config) = text.split_once('\n').unwrap();
    (PathBuf::from(dir), config.trim_end().to_owned())
}

/// The server that a plain tmux starts, ended with the value.
struct NewServer<'a>(&'a World);

impl NewServer<'_> {
    fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new(tmux_program());
        tmux.env("TMUX_TMPDIR", self.0.path("")).env_remove("TMUX").args(arguments);
        String::from_utf8(tmux.output().unwrap().stdout).unwrap()
    }
}

impl Drop for NewServer<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn what_was_open_comes_back_in_its_directory_and_what_was_closed_does_not() {
    let world = world();
    let (api, web) = (planted(&world, 1, "api"), planted(&world, 2, "web #(touch x) it's"));
    for number in 3..=5 {
        planted(&world, number, "other");
    }
    open(&world, &id(1));
    open(&world, &id(2));
    let closed = open(&world, &id(3));
    hook(&world, &closed, &payload(&id(3), "SessionEnd"), &[]);
    let killed = open(&world, &id(4));
    world.tmux(&["kill-pane", "-t", &killed]);
    hook(&world, &killed, &payload(&id(4), "SessionEnd"), &[]);
    open(&world, &id(6));
    let (out, err) = check_exit(&restore(&world, &["-n"]), 0);
    assert_eq!((out.as_str(), err.contains("no session was open")), ("", true), "it runs: {err}");
    end_server(&world);
    hook(&world, &world.pane, &payload(&id(1), "SessionEnd"), &[]);

    let world = world.without("TMUX").without("TMUX_PANE");
    let (out, _) = check_exit(&restore(&world, &["-n"]), 0);
    let rows: Vec<&str> = out.lines().collect();
    assert_eq!(rows.len(), 2, "{out}");
    assert!(rows[0].contains("00000001") && rows[0].contains("~/api "), "{out}");
    assert!(rows[1].contains("00000002") && rows[1].contains("talk of 2"), "{out}");
    assert!(!world.home().join("started").exists());

    let server = NewServer(&world);
    let (_, err) = check_exit(&restore(&world, &["-y"]), 0);
    assert!(err.contains("tmux attach -t restored"), "{err}");
    assert_eq!(started(&world, &id(1)), (api.clone(), String::new()));
    assert_eq!(started(&world, &id(2)).0, web);
    assert!(!web.join("x").exists() && !world.home().join("x").exists());
    let list = ["list-panes", "-a", "-F", "#{session_name} #{pane_current_path}"];
    let panes = server.tmux(&list);
    let expected = format!("restored {}\nrestored {}\n", api.display(), web.display());
    assert_eq!(panes, expected);
    assert_eq!(fs::read_dir(world.home().join("started")).unwrap().count(), 2);
}

#[test]
fn inside_of_tmux_the_windows_are_those_of_this_session() {
    let world = world();
    let api = planted(&world, 1, "api");
    let bin = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.tmux(&["set-environment", "-g", "PATH", &bin]);
    let pane = open(&world, &id(1));
    world.tmux(&["kill-pane", "-t", &pane]);
    // What would be left if it had been on a server that is gone.
    let journal = world.state_file("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let server = format!("\"server\":{}", world.server_pid());
    fs::write(&journal, text.replace(&server, "\"server\":4000000")).unwrap();

    check_exit(&restore(&world, &["-y"]), 0);
    assert_eq!(started(&world, &id(1)).0, api);
    let panes = world.tmux(&["list-panes", "-s", "-t", "main", "-F", "#{pane_current_path}"]);
    assert_eq!(panes.lines().last(), api.to_str(), "{panes}");
    assert_eq!(world.tmux(&["display-message", "-p", "#{pane_id}"]), world.pane, "nobody is moved");

    let pane = world.tmux(&["list-panes", "-s", "-F", "#{pane_id}"]);
    hook(&world, pane.lines().last().unwrap(), &payload(&id(1), "SessionStart"), &[]);
    let (out, err) = check_exit(&restore(&world, &["-y"]), 0);
    assert!(out.is_empty() && err.contains("no session was open"), "it is back: {out}{err}");
}

#[test]
fn a_session_of_another_config_directory_is_found_there() {
    let world = world();
    let (api, config) = (world.dir("api"), world.path("other config"));
    plant(&config, &api, &id(1), &[prompt(&api, "hello")]);
    let variables = [("CLAUDE_CONFIG_DIR", config.to_str().unwrap())];
    hook(&world, &world.pane, &payload(&id(1), "SessionStart"), &variables);
    hook(&world, &world.pane, &payload(&id(1), "UserPromptSubmit"), &variables);
    end_server(&world);
    let world = world.without("TMUX").without("TMUX_PANE");
    let _server = NewServer(&world);
    check_exit(&restore(&world, &["-y"]), 0);
    assert_eq!(started(&world, &id(1)), (api, config.to_str().unwrap().to_owned()));
}

#[test]
fn the_shell_that_is_left_keeps_nothing_of_the_session() {
    let world = world();
    fs::write(world.path("bin/claude"), "#!/bin/sh\necho \"ends in $CLAUDE_CONFIG_DIR\"\n")
        .unwrap();
    let (api, config) = (world.dir("api"), world.path("other config"));
    plant(&config, &api, &id(1), &[prompt(&api, "hello")]);
    let variables = [("CLAUDE_CONFIG_DIR", config.to_str().unwrap())];
    hook(&world, &world.pane, &payload(&id(1), "SessionStart"), &variables);
    hook(&world, &world.pane, &payload(&id(1), "UserPromptSubmit"), &variables);
    end_server(&world);
    let world = world.without("TMUX").without("TMUX_PANE");
    let server = NewServer(&world);
    check_exit(&restore(&world, &["-y"]), 0);
    let screen = || server.tmux(&["capture-pane", "-p", "-J", "-t", "restored:"]);
    let ends = format!("ends in {}", config.display());
    poll_until("the session has ended", || screen().contains(&ends));
    server.tmux(&["send-keys", "-t", "restored:", "echo \"<$CLAUDE_CONFIG_DIR>\"", "Enter"]);
    poll_until("the shell answers", || screen().lines().any(|line| line.starts_with('<')));
    assert!(screen().lines().any(|line| line.trim() == "<>"), "{}", screen());
}

#[test]
fn a_session_that_cannot_be_resumed_leaves_a_shell_that_says_why() {
    let world = world();
    let gone = planted(&world, 1, "gone");
    open(&world, &id(1));
    end_server(&world);
    fs::remove_dir(&gone).unwrap();
    let world = world.without("TMUX").without("TMUX_PANE");
    let server = NewServer(&world);
    check_exit(&restore(&world, &["-y"]), 0);
    let mut screen = String::new();
    poll_until("the reason is shown", || {
        screen = server.tmux(&["capture-pane", "-p", "-J", "-t", "restored:"]);
        screen.contains("does not exist") || screen.contains("gone")
    });
    server.tmux(&["send-keys", "-t", "restored:", "echo still $((40 + 2))", "Enter"]);
    poll_until("there is a shell", || {
        server.tmux(&["capture-pane", "-p", "-t", "restored:"]).contains("still 42")
    });
    assert!(!world.home().join("started").exists(), "{screen}");
}

#[test]
fn without_a_terminal_nothing_is_started_unasked() {
    let world = world();
    planted(&world, 1, "api");
    open(&world, &id(1));
    end_server(&world);
    let world = world.without("TMUX").without("TMUX_PANE");
    let (out, err) = check_exit(&restore(&world, &[]), 2);
    assert!(out.is_empty() && err.contains("cld restore -y"), "{out}{err}");
    assert!(!world.home().join("started").exists());
}

#[test]
fn the_person_is_asked_and_may_say_no() {
    let world = world();
    planted(&world, 1, "api");
    open(&world, &id(1));
    end_server(&world);
    let cld = env!("CARGO_BIN_EXE_cld");
    let line = format!("{cld} restore; echo exit=$?; exec sleep 1000");
    world.tmux(&["new-session", "-d", "-s", "main", "-x", "120", "-y", "40", &line]);
    let screen = || world.tmux(&["capture-pane", "-p", "-t", "main:"]);
    poll_until("the question is asked", || screen().contains("Restore this session? [Yn]"));
    world.tmux(&["send-keys", "-t", "main:", "n", "Enter"]);
    poll_until("the answer is taken", || screen().contains("exit=130"));
    assert_eq!(world.tmux(&["list-windows", "-a"]).lines().count(), 1, "{}", screen());
}

#[test]
fn a_home_without_a_journal_has_nothing_to_restore() {
    let world = World::bare();
    let (out, err) = check_exit(&restore(&world, &[]), 0);
    assert!(out.is_empty() && err.contains("no session was open"), "{out}{err}");
}

#[test]
fn tmux_resurrect_is_told_to_resume_what_is_open() {
    let world = world();
    open(&world, &id(1));
    let closed = open(&world, &id(2));
    hook(&world, &closed, &payload(&id(2), "SessionEnd"), &[]);
    let pane = |window: u32, command: &str| {
        format!("pane\tmain\t{window}\t1\t:*\t0\ttitle\t:/home/u/a b\t1\tclaude\t:{command}\n")
    };
    let rest = "window\tmain\t1\t:claude\t1\t:*\tlayout\noff\nstate\tmain\t\n";
    let file = world.path("last file");
    let saved = [0, 1, 2].map(|window| pane(window, "claude -c")).concat();
    fs::write(&file, format!("{saved}{rest}")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("shell/resurrect.sh");
    let mut command = Command::new(script);
    let place = format!("{},{},0", world.socket().display(), world.server_pid());
    // The tmux of the server, not another one that the machine has.
    let tmux = which::which(tmux_program()).unwrap();
    let bin = world.path("bin");
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(tmux, bin.join("tmux")).unwrap();
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    assert!(command.arg(&file).env("TMUX", place).status().unwrap().success());
    let resumes = format!("claude --resume {}", id(1));
    let expected = [pane(0, "claude -c"), pane(1, &resumes), pane(2, "claude -c")].concat();
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{expected}{rest}"));
}
