//! `cld watch`: a line for every change, also for those that no hook tells of, and quiet otherwise.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::queue_stage::{Session, assert_idles, spied};
use crate::world::{DEADLINE, World, poll_until, wait_for};

/// A watch that runs, and its lines as they come.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn begin(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.cld(&[&["watch"], arguments].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out: ChildStdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).expect("a line is printed")
    }

    /// The state before, the state, and what is waited for.
    #[track_caller]
    fn change(&self) -> (Option<String>, String, Option<String>) {
        let line = self.line();
        let change: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(change["version"], 1, "{line}");
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let session = &change["session"];
        (text(&change["was"]), text(&session["state"]).unwrap(), text(&session["waiting"]["kind"]))
    }

    #[track_caller]
    fn changes(&self, was: Option<&str>, state: &str, kind: Option<&str>) {
        let expected = (was.map(str::to_owned), state.to_owned(), kind.map(str::to_owned));
        assert_eq!(self.change(), expected);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_there_comes_first_and_then_every_change() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let watch = Watch::begin(&world, &["--json"]);
    watch.changes(None, "idle", None);
    session.hook(&world, "UserPromptSubmit", &json!({"prompt": "go"}));
    watch.changes(Some("idle"), "running", None);
    session.ask(&world, "make");
    watch.changes(Some("running"), "waiting", Some("permission"));
    session.ran(&world, "make");
    watch.changes(Some("waiting"), "running", None);
    let stop = json!({"last_assistant_message": "done", "background_tasks": []});
    session.hook(&world, "Stop", &stop);
    watch.changes(Some("running"), "waiting", Some("done"));
    let other = Session::new(&world, 2);
    watch.changes(None, "idle", None);
    other.hook(&world, "SessionEnd", &json!({"reason": "other"}));
    watch.changes(Some("idle"), "ended", None);
}

#[test]
fn what_no_hook_tells_is_seen() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let sessions = [1, 2].map(|number| Session::new(&world, number));
    for session in &sessions {
        session.ask(&world, "make");
        session.register(&world, "waiting", 600);
    }
    let watch = Watch::begin(&world, &["--json"]);
    watch.changes(None, "waiting", Some("permission"));
    watch.changes(None, "waiting", Some("permission"));
    sessions[0].register(&world, "busy", 1500);
    watch.changes(Some("waiting"), "running", None);
    sessions[0].register(&world, "idle", 2500);
    watch.changes(Some("running"), "idle", None);
    sessions[0].kill();
    watch.changes(Some("idle"), "ended", None);
    world.tmux(&["kill-pane", "-t", &sessions[1].pane]);
    watch.changes(Some("waiting"), "ended", None);
}

#[test]
fn a_line_for_people_says_who_what_and_where() {
    let world = World::new();
    let session = Session::new(&world, 1);
    session.ask(&world, "make\u{1b}[2J it");
    let line = Watch::begin(&world, &[]).line();
    let (moment, rest) = line.split_once(' ').unwrap();
    assert!(moment.ends_with('Z'), "{line}");
    assert_eq!(rest, "00000001  waiting: permission  main:1.0  /home/u/proj1  Bash: make [2J it");
}

#[test]
fn an_idle_watch_asks_tmux_less_than_once_a_second() {
    let world = World::new();
    let _session = Session::new(&world, 1);
    let world = spied(world, "");
    let begun = Instant::now();
    let watch = Watch::begin(&world, &[]);
    watch.line();
    assert_idles(&world, begun);
}

#[test]
fn it_ends_when_nobody_reads_any_more() {
    let world = World::new();
    let _session = Session::new(&world, 1);
    let mut child =
        world.cld(&["watch"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 1];
    poll_until("something is printed", || out.read(&mut first).unwrap() == 1);
    drop(out);
    assert!(wait_for(&mut child).success());
}
