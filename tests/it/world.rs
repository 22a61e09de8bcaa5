//! A world for one test: an own HOME, a cleared environment and an own tmux server, all gone with
//! the value.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    dir: TempDir,
    pub(crate) pane: String,
    server_pid: String,
    extra: BTreeMap<String, String>,
    removed: Vec<String>,
}

pub(crate) fn tmux_program() -> PathBuf {
    std::env::var_os("CLD_TMUX").map_or_else(|| PathBuf::from("tmux"), PathBuf::from)
}

/// Since 3.2 tmux tells its name to the processes it starts, and has an environment that only its
/// own commands see.
pub(crate) fn has_hidden_environment() -> bool {
    tmux_version() >= (3, 2)
}

/// Whether a window that nobody looks at has the size it was given.
pub(crate) fn keeps_sizes() -> bool {
    ![(3, 0), (3, 2)].contains(&tmux_version())
}

/// What has no number is newer than all that have one.
pub(crate) fn tmux_version() -> (u32, u32) {
    static ANSWER: OnceLock<(u32, u32)> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let output = Command::new(tmux_program()).arg("-V").output().unwrap();
        let version = String::from_utf8(output.stdout).unwrap();
        let number = cld::tmux::version_number(version.trim_start_matches("tmux ").trim());
        number.unwrap_or((u32::MAX, 0))
    })
}

impl World {
    /// A home without tmux.
    pub(crate) fn bare() -> Self {
        let dir = tempfile::Builder::new().prefix("cld").tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        let (pane, server_pid) = (String::new(), String::new());
        Self { dir, pane, server_pid, extra: BTreeMap::new(), removed: Vec::new() }
    }

    /// A home and a tmux server with one session of one pane.
    pub(crate) fn new() -> Self {
        let mut world = Self::bare();
        world.tmux(&["new-session", "-d", "-s", "main", "-x", "120", "-y", "40", "sleep 1000"]);
        // Keys that a busy machine delivers at once are not a paste.
        world.tmux(&["set-option", "-g", "assume-paste-time", "0"]);
        world.pane = world.tmux(&["display-message", "-p", "#{pane_id}"]);
        world.server_pid = world.tmux(&["display-message", "-p", "#{pid}"]);
        world
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.extra.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.forget(name);
        self
    }

    pub(crate) fn forget(&mut self, name: &str) {
        self.removed.push(name.to_owned());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn state_file(&self, name: &str) -> PathBuf {
        self.home().join(".local/state/cld").join(name)
    }

    pub(crate) fn server_pid(&self) -> &str {
        &self.server_pid
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    fn tmux_command(&self) -> Command {
        let mut command = Command::new(tmux_program());
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.socket());
        // For what the server itself starts: clients and servers of other versions may not agree.
        let own = tmux_program().parent().map(|dir| format!("{}:", dir.display()));
        let path = format!("{}{}", own.filter(|dir| dir.len() > 1).unwrap_or_default(), path());
        command.env_clear().env("PATH", path).env("CLD_TMUX", tmux_program());
        command.env("HOME", self.home());
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command
    }

    #[track_caller]
    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.tmux_command().args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {error}");
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    /// cld with the environment a hook of Claude Code has; other commands are run by a person.
    pub(crate) fn cld(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cld"));
        command.args(arguments).env_clear();
        command.env("PATH", path()).env("HOME", self.home()).env("LANG", "C.UTF-8");
        command.env("CLD_TMUX", tmux_program());
        if arguments.first() == Some(&"hook") {
            command.env("CLAUDECODE", "1");
        }
        // Without $TMUX, cld asks the default server; that must never be the one of the user.
        command.env("TMUX_TMPDIR", self.dir.path());
        // The machine that runs the tests may be busy; tests of the deadlines remove this.
        command
            .env("CLD_PATIENCE", "30")
            .env("CLAUDE_CODE_ENTRYPOINT", "cli")
            .env("CLAUDE_CODE_SESSION_ATTENDED", "1");
        if !self.pane.is_empty() {
            let place = format!("{},{},0", self.socket().display(), self.server_pid);
            command.env("TMUX", place).env("TMUX_PANE", &self.pane);
            if has_hidden_environment() {
                command.env("TERM_PROGRAM", "tmux");
            }
        }
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(&self.extra);
        command
    }

    /// Runs `cld hook` with a payload and checks that Claude would not notice it.
    #[track_caller]
    pub(crate) fn hook(&self, payload: &Value) {
        self.hook_bytes(payload.to_string().as_bytes());
    }

    /// The same from another pane of the server.
    #[track_caller]
    pub(crate) fn hook_in(&self, pane: &str, payload: &Value) {
        let mut command = self.cld(&["hook"]);
        command.env("TMUX_PANE", pane);
        assert_silent(&run(command, payload.to_string().as_bytes()));
    }

    #[track_caller]
    pub(crate) fn hook_bytes(&self, payload: &[u8]) {
        assert_silent(&run(self.cld(&["hook"]), payload));
    }

    /// Starts `cld hook` and waits until it has begun and wants its payload.
    pub(crate) fn begin_hook(&self) -> Begun {
        let mut command = self.cld(&["hook"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        let exe = format!("/proc/{}/exe", child.id());
        poll_until("the hook waits for its payload", || {
            let begun =
                fs::read_link(&exe).is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_cld")));
            begun && fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") S "))
        });
        Begun(child)
    }

    /// The pane's options that are not empty, but for the registers.
    pub(crate) fn options(&self) -> BTreeMap<String, String> {
        self.options_of(&self.pane)
    }

    pub(crate) fn options_of(&self, pane: &str) -> BTreeMap<String, String> {
        let listed = self.tmux(&["show-options", "-p", "-t", pane]);
        let names = listed.lines().filter_map(|line| line.split(' ').next());
        let names = names.filter(|name| name.starts_with('@') && !name.contains("register_"));
        names
            .map(|name| (name.to_owned(), self.tmux(&["show-options", "-pv", "-t", pane, name])))
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }

    pub(crate) fn option(&self, name: &str) -> String {
        let value = self.tmux(&["show-options", "-pqv", "-t", &self.pane, name]);
        // What looks like a variable is printed with a backslash there.
        if tmux_version() == (3, 4) { value.replace("\\$", "$") } else { value }
    }

    pub(crate) fn meta(&self, name: &str) -> String {
        self.option(&format!("@meta.claude.{name}"))
    }

    /// What batches remember of the pane, by the name tmux knows it by.
    pub(crate) fn registers(&self) -> BTreeMap<String, String> {
        let listed = if has_hidden_environment() {
            self.tmux(&["show-environment", "-gh"]).replace('=', " ")
        } else {
            self.tmux(&["show-options", "-p", "-t", &self.pane])
        };
        let lines = listed.lines().filter_map(|line| line.split_once(' '));
        let ours = lines.filter(|(name, _)| name.starts_with("CLD_") || name.contains("register_"));
        ours.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
    }

    pub(crate) fn set_register(&self, name: &str, value: &str) {
        match has_hidden_environment() {
            true => self.tmux(&["set-environment", "-gh", name, value]),
            false => self.tmux(&["set-option", "-p", "-t", &self.pane, name, value]),
        };
    }

    pub(crate) fn window_state(&self) -> String {
        self.tmux(&["show-options", "-wqv", "-t", &self.pane, "@claude-state"])
    }

    /// A client that looks at this world's server, in a second server that is its terminal.
    pub(crate) fn attach(&self) -> Terminal<'_> {
        self.attach_to("main")
    }

    /// The same, looking at another session; one client for each.
    pub(crate) fn attach_to(&self, session: &str) -> Terminal<'_> {
        let terminal = Terminal { world: self, socket: self.path(&format!("terminal-{session}")) };
        let attach = format!(
            "env -u TMUX -u TMUX_PANE TERM=screen-256color {} -u -S {} attach -t {session}",
            tmux_program().display(),
            self.socket().display()
        );
        terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "40", &attach]);
        poll_until("a client is attached", || {
            self.tmux(&["list-clients", "-F", "#{session_name}"]).lines().any(|s| s == session)
        });
        terminal
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.tmux_command().arg("kill-server").output();
    }
}

/// The outer server of the nested-tmux recipe: typing is `send-keys`, seeing is `capture-pane`.
pub(crate) struct Terminal<'a> {
    world: &'a World,
    socket: PathBuf,
}

impl Terminal<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(tmux_program());
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        command.env_clear().env("PATH", path()).env("HOME", self.world.home());
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command
    }

    #[track_caller]
    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}

/// A hook that has begun but has not got its payload.
pub(crate) struct Begun(Child);

impl Begun {
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn give(&mut self, payload: &Value) {
        let mut stdin = self.0.stdin.take().unwrap();
        stdin.write_all(payload.to_string().as_bytes()).unwrap();
    }

    #[track_caller]
    pub(crate) fn finish(mut self) {
        drop(self.0.stdin.take());
        assert_silent(&self.0.wait_with_output().unwrap());
    }
}

pub(crate) fn run(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).expect("the payload is read to its end");
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[track_caller]
pub(crate) fn assert_silent(output: &Output) {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "exit {:?}, stderr {err:?}", output.status);
    assert_eq!((&*out, &*err), ("", ""), "Claude Code reads what a hook prints");
}

/// Waits for a process, but not longer than a test may take.
pub(crate) fn wait_for(child: &mut Child) -> ExitStatus {
    let mut status = None;
    poll_until("the process ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

#[track_caller]
pub(crate) fn poll_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}
