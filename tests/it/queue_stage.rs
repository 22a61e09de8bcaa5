//! Sessions in panes of any server, each played by the process of its pane.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::living::{config_dir, now_millis, printed};
use crate::stage::id;
use crate::world::{World, assert_silent, poll_until, run, tmux_program};

/// A tmux server at the place where a plain `tmux` would have it.
pub(crate) struct Server {
    pub(crate) socket: PathBuf,
    home: PathBuf,
    is_own: bool,
}

impl Server {
    /// The server of the world itself.
    pub(crate) fn of(world: &World) -> Self {
        Self { socket: world.socket(), home: world.home(), is_own: false }
    }

    pub(crate) fn start(world: &World, name: &str) -> Self {
        let user = Command::new("id").arg("-u").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap();
        let sockets = world.path(&format!("tmux-{}", user.trim()));
        fs::create_dir_all(&sockets).unwrap();
        let server = Self { socket: sockets.join(name), home: world.home(), is_own: true };
        server.tmux(&["new-session", "-d", "-s", name, "-x", "100", "-y", "30", "sleep 1000"]);
        server
    }

    fn command(&self) -> Command {
        let mut command = Command::new(tmux_program());
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).env_clear();
        command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", &self.home);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command
    }

    #[track_caller]
    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// A window of its own in a tmux session, which is made where it does not exist.
    pub(crate) fn window(&self, session: &str) -> String {
        let exists = self.command().args(["has-session", "-t", &format!("={session}")]).output();
        let target = format!("{session}:");
        let new: &[&str] = match exists.unwrap().status.success() {
            true => &["new-window", "-d", "-t", &target],
            false => &["new-session", "-d", "-s", session, "-x", "100", "-y", "30"],
        };
        self.tmux(&[new, &["-P", "-F", "#{pane_id}", "exec sleep 1000"]].concat())
    }

    /// The panes its clients show.
    pub(crate) fn shown(&self) -> String {
        self.tmux(&["list-clients", "-F", "#{pane_id}"])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.is_own {
            let _ = self.command().arg("kill-server").output();
        }
    }
}

/// A session in a pane, whose process plays Claude Code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) socket: PathBuf,
    pub(crate) pane: String,
    pub(crate) number: u32,
    server_pid: String,
    pub(crate) pid: u32,
}

impl Session {
    pub(crate) fn open(world: &World, server: &Server, pane: &str, number: u32) -> Self {
        let told = |format: &str| server.tmux(&["display-message", "-p", "-t", pane, format]);
        let session = Self {
            socket: server.socket.clone(),
            pane: pane.to_owned(),
            number,
            server_pid: told("#{pid}"),
            pid: told("#{pane_pid}").parse().unwrap(),
        };
        session.hook(world, "SessionStart", &json!({"source": "startup"}));
        session
    }

    /// A session in a new window of the world's own server.
    pub(crate) fn new(world: &World, number: u32) -> Self {
        let server = Server::of(world);
        let pane = server.window("main");
        Self::open(world, &server, &pane, number)
    }

    pub(crate) fn id(&self) -> String {
        id(self.number)
    }

    #[track_caller]
    pub(crate) fn hook(&self, world: &World, name: &str, fields: &Value) {
        let mut payload = json!({
            "session_id": self.id(), "cwd": format!("/home/u/proj{}", self.number),
            "transcript_path": "/nonexistent", "hook_event_name": name,
        });
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        let mut hook = world.cld(&["hook"]);
        hook.env("CLAUDE_PID", self.pid.to_string()).env("TMUX_PANE", &self.pane);
        hook.env("TMUX", format!("{},{},0", self.socket.display(), self.server_pid));
        assert_silent(&run(hook, payload.to_string().as_bytes()));
    }

    /// Opens the dialog that asks for a command.
    #[track_caller]
    pub(crate) fn ask(&self, world: &World, command: &str) {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}});
        self.hook(world, "PermissionRequest", &call);
    }

    /// The command has run, so its dialog was approved.
    #[track_caller]
    pub(crate) fn ran(&self, world: &World, command: &str) {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}});
        self.hook(world, "PostToolUse", &call);
    }

    /// Writes what the registry says, as if it had been written so long after now.
    pub(crate) fn register(&self, world: &World, status: &str, later: u64) {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap();
        let started = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
        let entry = json!({
            "pid": self.pid, "sessionId": self.id(), "procStart": started, "status": status,
            "cwd": format!("/home/u/proj{}", self.number), "kind": "interactive",
            "entrypoint": "cli", "startedAt": now_millis(), "updatedAt": now_millis() + later,
            "statusUpdatedAt": now_millis() + later,
        });
        let folder = config_dir(world).join("sessions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{}.json", self.pid)), entry.to_string()).unwrap();
    }

    pub(crate) fn kill(&self) {
        let pid = self.pid.to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        poll_until("the process is gone", || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
    }
}

pub(crate) fn cld(world: &World, arguments: &[&str]) -> Output {
    world.cld(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The first groups of the ids in the queue, in its order.
#[track_caller]
pub(crate) fn queue(world: &World, arguments: &[&str]) -> Vec<u32> {
    let document = printed(&cld(world, &[&["queue", "--json"], arguments].concat()));
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["version"], 1);
    let number = |session: &Value| {
        u32::from_str_radix(&session["session_id"].as_str().unwrap()[..8], 16).unwrap()
    };
    document["sessions"].as_array().unwrap().iter().map(number).collect()
}

/// Puts a program in the place of tmux that takes down every call, runs `script` and goes on as
/// tmux. The words of the call are `$*`.
pub(crate) fn spied(world: World, script: &str) -> World {
    let (spy, log) = (world.path("spy"), world.path("calls"));
    let real = tmux_program();
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" | head -1 >>'{}'\n{script}\nexec '{}' \"$@\"\n",
        log.display(),
        real.display()
    );
    fs::write(&spy, text).unwrap();
    fs::set_permissions(&spy, fs::Permissions::from_mode(0o755)).unwrap();
    let spy = spy.to_str().unwrap().to_owned();
    world.with("CLD_TMUX", &spy)
}

/// How many calls of tmux were taken down.
pub(crate) fn calls(world: &World) -> usize {
    fs::read_to_string(world.path("calls")).unwrap_or_default().lines().count()
}

/// For a program that was started at `begun` and has nothing to do.
#[track_caller]
pub(crate) fn assert_idles(world: &World, begun: Instant) {
    // Long enough for several looks at any faster pace.
    while begun.elapsed() < Duration::from_secs(7) {
        thread::sleep(Duration::from_millis(100));
    }
    // One look at the beginning and one more when all has settled are no idleness yet.
    let most = 2 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(calls(world) <= most, "{} calls in {:?}", calls(world), begun.elapsed());
}

/// The name of the only client of a server.
pub(crate) fn client(world: &World) -> String {
    let names = world.tmux(&["list-clients", "-F", "#{client_name}"]);
    assert_eq!(names.lines().count(), 1, "{names}");
    names
}

/// Where the clients of several servers are.
pub(crate) fn everywhere(servers: &[&Server]) -> BTreeSet<(PathBuf, String)> {
    let clients = servers.iter().flat_map(|server| {
        let shown = server.shown();
        shown.lines().map(|pane| (server.socket.clone(), pane.to_owned())).collect::<Vec<_>>()
    });
    clients.collect()
}

pub(crate) fn place(session: &Session) -> BTreeSet<(PathBuf, String)> {
    BTreeSet::from([(session.socket.clone(), session.pane.clone())])
}
