//! Every option that is set makes tmux redraw its clients, so what shows nothing new sets none.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::events::{bash, prompt, start, stop};
use crate::tabs::Tabs;
use crate::world::{World, has_hidden_environment, poll_until, tmux_program};

/// A client on a pseudo-terminal made by `script`, whose output is counted.
struct CountedClient {
    process: std::process::Child,
    bytes: Arc<AtomicUsize>,
}

impl CountedClient {
    fn attach(world: &World) -> Self {
        let attach = format!(
            "stty cols 120 rows 40; exec {} -u -S {} attach -t main",
            tmux_program().display(),
            world.socket().display()
        );
        let mut process = std::process::Command::new("script")
            .args(["-qfc", &attach, "/dev/null"])
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let bytes = Arc::new(AtomicUsize::new(0));
        let mut output = process.stdout.take().unwrap();
        let counter = Arc::clone(&bytes);
        thread::spawn(move || {
            let mut piece = [0; 65536];
            while let Ok(1..) = output.read(&mut piece).inspect(|n| {
                counter.fetch_add(*n, Ordering::SeqCst);
            }) {}
        });
        poll_until("the client is attached", || {
            !world.tmux(&["list-clients", "-F", "#{client_name}"]).is_empty()
        });
        Self { process, bytes }
    }

    /// The count once it has not changed for a while.
    fn settled(&self) -> usize {
        let mut last = self.bytes.load(Ordering::SeqCst);
        let mut since = Instant::now();
        poll_until("the client is quiet", || {
            let now = self.bytes.load(Ordering::SeqCst);
            if now != last {
                (last, since) = (now, Instant::now());
            }
            since.elapsed() > Duration::from_millis(150)
        });
        last
    }
}

impl Drop for CountedClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_burst_of_tool_events_sends_nothing_to_an_attached_client() {
    let world = World::new();
    // The clock of the status line would draw by itself.
    world.tmux(&["set-option", "-g", "status-interval", "0"]);
    world.tmux(&["set-option", "-g", "status-right", ""]);
    let client = CountedClient::attach(&world);
    world.hook(&start("startup"));
    world.hook(&prompt("go"));
    // The first event of each second may draw; so look at a burst within one second.
    let mut quiet = None;
    poll_until("a burst of ten events fits into a second", || {
        world.hook(&bash("PreToolUse", "first"));
        let before = client.settled();
        let shown = world.meta("latest_hook_time");
        for call in 0..5 {
            world.hook(&bash("PreToolUse", &format!("step {call}")));
            world.hook(&bash("PostToolUse", &format!("step {call}")));
        }
        if world.meta("latest_hook_time") == shown {
            quiet = Some((before, client.settled()));
        }
        quiet.is_some()
    });
    let (before, after) = quiet.unwrap();
    assert!(before > 0, "the client draws at all");
    // Without a hidden environment what is remembered stands in options, which always draw.
    if has_hidden_environment() {
        assert_eq!(after - before, 0, "bytes sent for a burst that shows nothing new");
    }
    // What does show something is drawn.
    world.hook(&bash("PermissionRequest", "make"));
    assert!(client.settled() > after);
}

#[test]
fn one_event_is_one_redraw() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "status-interval", "0"]);
    world.tmux(&["set-option", "-g", "status-right", ""]);
    let client = CountedClient::attach(&world);
    check_redraws(&world, &client, &[start("startup")]);
}

#[test]
fn one_event_is_one_redraw_with_everything_on() {
    let world = World::with_tabs();
    world.tmux(&["set-option", "-g", "status-interval", "0"]);
    world.tmux(&["set-option", "-g", "pane-border-status", "top"]);
    let client = CountedClient::attach(&world);
    // A window that nobody looks at, so that a wait has something to show everywhere.
    world.tmux(&["new-window", "sleep 1000"]);
    let events = [
        start("startup"),
        prompt("go"),
        bash("PermissionRequest", "make"),
        bash("PostToolUse", "make"),
        stop("done"),
    ];
    check_redraws(&world, &client, &events);
}

#[track_caller]
fn check_redraws(world: &World, client: &CountedClient, events: &[serde_json::Value]) {
    for event in events {
        let before = client.settled();
        world.tmux(&["set-option", "-p", "-t", &world.pane, "@one", "1"]);
        let one = client.settled() - before;
        let before = client.settled();
        world.hook(event);
        let drawn = client.settled() - before;
        assert!(
            one > 0 && drawn <= one + one / 2,
            "one option drew {one} bytes, {event} drew {drawn}"
        );
    }
}

#[test]
fn one_event_starts_one_tmux_process() {
    let world = World::new();
    let log = world.path("calls");
    File::create(&log).unwrap();
    let counting = world.path("tmux");
    let program = which(&tmux_program());
    let script = format!("#!/bin/sh\necho call >> {}\nexec {program} \"$@\"\n", log.display());
    std::fs::write(&counting, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&counting, mode).unwrap();
    let world = world.with("CLD_TMUX", counting.to_str().unwrap());
    let calls = |payload: &serde_json::Value| {
        File::create(&log).unwrap();
        world.hook(payload);
        std::fs::read_to_string(&log).unwrap().lines().count()
    };
    assert_eq!(calls(&start("startup")), 1, "the first session of a server");
    for (name, mut payload) in crate::events::all_recorded() {
        payload["session_id"] = crate::events::SESSION.into();
        assert_eq!(calls(&payload), 1, "{name}");
    }
    // Installed in the middle of a session: the first event names it, and is told that it does.
    let mut other = prompt("go");
    other["session_id"] = crate::stage::id(7).into();
    assert_eq!((calls(&other), calls(&other)), (2, 1));
}

fn which(program: &std::path::Path) -> String {
    if program.is_absolute() {
        return program.display().to_string();
    }
    let path = std::env::var_os("PATH").unwrap();
    let found =
        std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file());
    found.unwrap().display().to_string()
}
