//! A session that is open: its pane is shown, and no second Claude Code is started on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::events::start;
use crate::living::Claude;
use crate::stage::{Stage, check_exit, id, plant, prompt};
use crate::world::{World, poll_until, tmux_program};

/// Session 1 in `~/proj`.
fn planted(world: &World) -> PathBuf {
    let dir = world.dir("proj");
    plant(&world.home().join(".claude"), &dir, &id(1), &[prompt(&dir, "hello")]);
    dir
}

/// Lets a pane of the world's server have session 1 open: its process plays Claude Code.
fn open_in(world: World, pane: &str) -> World {
    let pid = world.tmux(&["display-message", "-p", "-t", pane, "#{pane_pid}"]);
    let own = world.pane.clone();
    let mut world = world.with("CLAUDE_PID", &pid);
    world.pane = pane.to_owned();
    let mut payload = start("startup");
    payload["session_id"] = json!(id(1));
    payload["cwd"] = json!(world.dir("proj").to_str().unwrap());
    world.hook(&payload);
    world.pane = own;
    world
}

/// A window with two panes beside the one of the world; the second of them.
fn other_pane(world: &World) -> String {
    world.tmux(&["new-window", "-d", "-t", "main:5", "exec sleep 1000"]);
    let split = ["split-window", "-d", "-t", "main:5", "-P", "-F", "#{pane_id}", "exec sleep 1000"];
    world.tmux(&split)
}

/// The pane that every client of the world's server shows.
fn shown(world: &World) -> String {
    world.tmux(&["list-clients", "-F", "#{pane_id}"])
}

#[test]
fn the_client_is_brought_to_the_pane_whatever_the_flags() {
    for flags in [&[][..], &["-y"], &["-n"]] {
        let world = World::new().staged();
        planted(&world);
        let pane = other_pane(&world);
        let world = open_in(world, &pane);
        let _terminal = world.attach();
        assert_eq!(shown(&world), world.pane);
        let id = id(1);
        let (_, err) = check_exit(&world.resume(Path::new("/"), &[flags, &[&*id]].concat()), 0);
        assert!(err.contains("main:5.1"), "{err}");
        assert_eq!(shown(&world), pane);
        assert!(world.started().is_none());
    }
}

#[test]
fn of_two_clients_the_one_that_asked_is_brought_there() {
    let world = World::new().staged();
    planted(&world);
    let pane = other_pane(&world);
    let world = open_in(world, &pane);
    let side = ["new-session", "-d", "-s", "side", "-P", "-F", "#{pane_id}", "exec sleep 1000"];
    let side = world.tmux(&side);
    let terminal = world.attach();
    let second = format!(
        "env -u TMUX -u TMUX_PANE TERM=screen-256color {} -u -S {} attach -t side",
        tmux_program().display(),
        world.socket().display()
    );
    terminal.tmux(&["new-window", &second]);
    let clients = ["list-clients", "-F", "#{session_name} #{pane_id}"];
    let both = |shown: &str| {
        let mut lines = world.tmux(&clients);
        lines.push('\n');
        lines.contains(&format!("main {shown}\n")) && lines.contains(&format!("side {side}\n"))
    };
    poll_until("both clients are there", || both(&world.pane));
    check_exit(&world.resume(Path::new("/"), &[&id(1)]), 0);
    assert!(both(&pane), "{}", world.tmux(&clients));
}

#[test]
fn a_zoomed_window_stays_zoomed() {
    let world = World::new().staged();
    planted(&world);
    let pane = other_pane(&world);
    world.tmux(&["select-pane", "-t", &pane]);
    world.tmux(&["resize-pane", "-Z", "-t", &pane]);
    let world = open_in(world, &pane);
    let _terminal = world.attach();
    check_exit(&world.resume(Path::new("/"), &[&id(1)]), 0);
    assert_eq!(shown(&world), pane);
    assert_eq!(world.tmux(&["display-message", "-p", "-t", &pane, "#{window_zoomed_flag}"]), "1");
}

#[test]
fn without_a_client_the_pane_is_put_in_front() {
    let world = World::new().staged();
    planted(&world);
    let pane = other_pane(&world);
    let world = open_in(world, &pane);
    check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    assert_eq!(world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]), pane);
}

#[test]
fn the_printed_command_does_the_same() {
    let world = World::new().staged();
    planted(&world);
    let pane = other_pane(&world);
    let world = open_in(world, &pane);
    let _terminal = world.attach();
    let (printed, _) = check_exit(&world.resume(Path::new("/"), &["--print", &id(1)]), 0);
    assert_eq!(shown(&world), world.pane);
    let printed = printed.replacen("tmux", tmux_program().to_str().unwrap(), 1);
    assert!(Command::new("sh").arg("-c").arg(printed).status().unwrap().success());
    assert_eq!(shown(&world), pane);
}

#[test]
fn a_pane_can_be_named_instead_of_its_session() {
    let world = World::new().staged();
    planted(&world);
    let pane = other_pane(&world);
    let world = open_in(world, &pane);
    let _terminal = world.attach();
    for name in [&*pane, "main:5.1"] {
        world.tmux(&["select-window", "-t", "main:0"]);
        check_exit(&world.resume(Path::new("/"), &[name]), 0);
        assert_eq!(shown(&world), pane);
    }
}

#[test]
fn a_fork_or_a_second_one_is_started_only_when_asked_for() {
    for (flag, expected) in
        [("--fork", vec!["--resume", "ID", "--fork-session"]), ("--force", vec!["--resume", "ID"])]
    {
        let world = World::new().staged();
        let dir = planted(&world);
        let pane = other_pane(&world);
        let world = open_in(world, &pane);
        check_exit(&world.resume(Path::new("/"), &["-y", flag, &id(1)]), 0);
        let id = id(1);
        let expected: Vec<&str> =
            expected.iter().map(|word| if *word == "ID" { &*id } else { word }).collect();
        world.started().unwrap().check(&dir, &expected);
    }
}

#[test]
fn a_killed_session_is_not_open() {
    let world = World::new().staged();
    let dir = planted(&world);
    let pane = other_pane(&world);
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let world = open_in(world, &pane);
    let pid = world.tmux(&["display-message", "-p", "-t", &pane, "#{pane_pid}"]);
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    poll_until("the process is gone", || {
        world.tmux(&["display-message", "-p", "-t", &pane, "#{pane_dead}"]) == "1"
    });
    check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn the_last_session_of_the_pane_is_resumed_when_it_has_ended() {
    let world = World::new().staged();
    let dir = planted(&world);
    let mut payload = start("startup");
    payload["session_id"] = json!(id(1));
    payload["cwd"] = json!(dir.to_str().unwrap());
    world.hook(&payload);
    payload["hook_event_name"] = json!("SessionEnd");
    payload["reason"] = json!("prompt_input_exit");
    world.hook(&payload);
    check_exit(&world.resume(Path::new("/"), &["-y"]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

/// Writes an entry of the registry about a process that runs.
fn register(world: &World, process: u32, tmux: Option<&str>) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap();
    let entry = json!({
        "pid": process, "sessionId": id(1), "cwd": world.dir("proj").to_str().unwrap(),
        "procStart": started, "kind": "interactive", "entrypoint": "cli", "status": "idle",
        "startedAt": 1_794_964_287_516_u64, "updatedAt": 1_794_964_316_083_u64, "tmux": tmux,
    });
    let folder = world.home().join(".claude/sessions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{process}.json")), entry.to_string()).unwrap();
}

#[test]
fn a_session_that_is_open_outside_of_tmux_is_not_opened_twice() {
    let world = World::bare().staged();
    let dir = planted(&world);
    let claude = Claude::start();
    register(&world, claude.pid(), None);
    let (_, err) = check_exit(&world.resume(&dir, &["-y", &id(1)]), 1);
    assert!(err.contains(&format!("cld resume -y --fork {}", id(1))), "{err}");
    assert!(world.started().is_none());
    check_exit(&world.resume(&dir, &["-y", "--force", &id(1)]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

/// A second server at the place where a plain `tmux` has its own, with session 1 open in a pane
/// that says so; the pane and its process.
fn other_server(world: &World) -> (OtherServer, String) {
    let user = Command::new("id").arg("-u").output().unwrap();
    let user = String::from_utf8(user.stdout).unwrap();
    let sockets = world.path(&format!("tmux-{}", user.trim()));
    fs::create_dir_all(&sockets).unwrap();
    let server = OtherServer { socket: sockets.join("default"), home: world.home() };
    server.tmux(&[
        "new-session",
        "-d",
        "-s",
        "far",
        "-x",
        "100",
        "-y",
        "30",
        "echo arrived; exec sleep 1000",
    ]);
    let pane = server.tmux(&[
        "display-message",
        "-p",
        "-t",
        "far:",
        "#{session_name}:#{window_id}.#{pane_id}",
    ]);
    let pid = server.tmux(&["display-message", "-p", "-t", "far:", "#{pane_pid}"]);
    register(world, pid.parse().unwrap(), Some(&pane));
    (server, pane.rsplit_once('.').unwrap().1.to_owned())
}

struct OtherServer {
    socket: PathBuf,
    home: PathBuf,
}

impl OtherServer {
    fn command(&self) -> Command {
        let mut command = Command::new(tmux_program());
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).env_clear();
        command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", &self.home);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command
    }

    #[track_caller]
    fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

impl Drop for OtherServer {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}

#[test]
fn a_client_changes_to_the_server_of_the_session() {
    let world = World::new().staged();
    planted(&world);
    let (server, pane) = other_server(&world);
    let terminal = world.attach();
    check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    poll_until("the terminal shows the other server", || terminal.screen().contains("arrived"));
    assert_eq!(server.tmux(&["list-clients", "-F", "#{pane_id}"]), pane);
    assert_eq!(shown(&world), "");
    assert!(world.started().is_none());
}

#[test]
fn outside_of_tmux_the_terminal_attaches_to_the_pane() {
    let world = World::bare().staged();
    planted(&world);
    let (server, pane) = other_server(&world);
    // Without a terminal there is nothing to attach, and the command that would do it is named.
    let (_, err) = check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 1);
    assert!(err.contains(&format!("attach-session -t {pane}")), "{err}");

    let cld = world.cld(&[]);
    let mut terminal = Command::new(tmux_program());
    terminal.args(["-u", "-f", "/dev/null", "-S"]).arg(world.path("terminal"));
    terminal.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("TERM", "xterm-256color");
    terminal.args(["new-session", "-d", "-x", "100", "-y", "30"]);
    let mut command = "env -u TMUX -u TMUX_PANE".to_owned();
    for (name, value) in cld.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        let pair = format!("{}={}", name.to_str().unwrap(), value.to_str().unwrap());
        command.push_str(&format!(" {}", cld::shell::quoted(pair.as_ref())));
    }
    command.push_str(&format!(
        " TERM=screen-256color {} resume -y {}",
        env!("CARGO_BIN_EXE_cld"),
        id(1)
    ));
    let terminal_server = OtherServer { socket: world.path("terminal"), home: world.home() };
    assert!(terminal.arg(command).status().unwrap().success());
    poll_until("the terminal shows the pane", || {
        terminal_server.tmux(&["capture-pane", "-p"]).contains("arrived")
    });
    assert_eq!(server.tmux(&["list-clients", "-F", "#{pane_id}"]), pane);
}
