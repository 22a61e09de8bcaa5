//! What `cld ls` shows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::events::{SESSION, bash, event, prompt, start, stop};
use crate::living::{Claude, Transcript, config_dir, ls, now_millis, printed, session, sessions};
use crate::queue_stage::Session;
use crate::world::{World, keeps_sizes, poll_until, tmux_program};

const OLD: &str = "45da8798-0000-4000-8000-000000000002";
const OLDER: &str = "7c0190de-0000-4000-8000-000000000003";

fn transcript<'a>(id: &'a str, directory: &'a str, prompt: &'a str) -> Transcript<'a> {
    Transcript { id, directory, prompt, entrypoint: "cli", seconds_ago: 60 }
}

/// `state status waiting` of the only session.
#[track_caller]
fn state(world: &World) -> String {
    words(&session(world))
}

fn words(session: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let waiting = word(&session["waiting"]["kind"]);
    format!("{} {} {waiting}", word(&session["state"]), word(&session["status"]))
}

fn ids(sessions: &[Value]) -> Vec<&str> {
    sessions.iter().map(|session| session["session_id"].as_str().unwrap()).collect()
}

/// A registry status written at a moment when Claude Code has certainly seen the last hook.
fn settled(status: &str) -> Value {
    json!({"status": status, "statusUpdatedAt": now_millis() + 1000, "updatedAt": now_millis() + 1000})
}

#[test]
fn without_tmux_and_without_claude_the_list_is_empty() {
    let world = World::bare();
    assert_eq!(ls(&world, &[]), "");
    assert_eq!(ls(&world, &["--all", "--server", "all"]), "");
    assert_eq!(ls(&world, &["--json", "--all"]), "{\"version\":1,\"sessions\":[]}\n");
    let no_home = world.without("HOME");
    assert_eq!(ls(&no_home, &["--all"]), "");
}

#[test]
fn a_session_in_a_pane_is_described_in_full() {
    let world = World::new();
    let claude = Claude::start();
    let directory = world.home().join("proj");
    let path = transcript(SESSION, directory.to_str().unwrap(), "fix the parser");
    let path = path.plant(&config_dir(&world));
    let cwd = json!({"cwd": directory, "transcript_path": path, "source": "startup"});
    claude.hook(&world, &event("SessionStart", &cwd));
    claude.hook(&world, &prompt("go"));
    claude.hook(&world, &bash("PermissionRequest", "rm -rf build"));
    let mut listed = session(&world);
    for time in ["/latest_hook_time", "/waiting/since"] {
        let seconds = listed.pointer_mut(time).unwrap();
        assert!(seconds.as_u64().unwrap().abs_diff(now_millis() / 1000) < 60, "{time} {seconds}");
        *seconds = json!("now");
    }
    let expected = json!({
        "session_id": SESSION,
        "title": "fix the parser",
        "status": "stopped",
        "state": "waiting",
        "alive": true,
        "waiting": {
            "kind": "permission", "since": "now", "context": "Bash: rm -rf build",
            "put_off": false, "put_off_until": null,
        },
        "directory": directory,
        "transcript": path,
        "config_dir": config_dir(&world),
        "pid": claude.pid(),
        "background": 0,
        "pane": {
            "id": world.pane,
            "session": "main",
            "window_id": "@0",
            "window_index": 0,
            "pane_index": 0,
            "server": world.socket(),
        },
        "latest_hook_event": "PermissionRequest",
        "latest_hook_time": "now",
    });
    assert_eq!(listed, expected);
    let table = ls(&world, &[]);
    let columns: Vec<&str> = table.split("  ").collect();
    let [id, reason, _age, rest @ ..] = columns.as_slice() else { panic!("{table}") };
    assert_eq!((*id, *reason), ("[⏸] 23e30f82", "waiting: permission"));
    assert_eq!(rest, ["main:0.0", "~/proj", "fix the parser\n"]);
}

#[test]
fn what_no_hook_tells_is_seen_in_the_registry() {
    let world = World::new();
    let mut claude = Claude::start();
    let config = config_dir(&world);
    claude.hook(&world, &start("startup"));
    claude.register(&config, SESSION, &settled("idle"));
    assert_eq!(state(&world), "idle stopped -");
    claude.hook(&world, &prompt("go"));
    claude.hook(&world, &bash("PermissionRequest", "make"));
    claude.register(&config, SESSION, &json!({"status": "busy", "statusUpdatedAt": 1}));
    assert_eq!(state(&world), "waiting stopped permission", "the registry is older");
    claude.register(&config, SESSION, &settled("busy"));
    assert_eq!(state(&world), "running running -", "approved");
    claude.register(&config, SESSION, &settled("idle"));
    assert_eq!(state(&world), "idle stopped -", "denied");
    claude.hook(&world, &prompt("again"));
    claude.register(&config, SESSION, &settled("idle"));
    assert_eq!(state(&world), "idle stopped -", "interrupted");
    claude.hook(&world, &stop("all is well"));
    claude.register(&config, SESSION, &settled("idle"));
    assert_eq!(state(&world), "waiting stopped done", "a finished turn waits");
    claude.kill();
    assert_eq!(state(&world), "ended - -", "killed");
    assert_eq!(session(&world)["alive"], false);
    assert!(ls(&world, &[]).starts_with("[■] 23e30f82  ended: killed  "), "{}", ls(&world, &[]));
}

#[test]
fn an_approval_right_after_the_dialog_shows_within_a_second() {
    let world = World::new();
    let claude = Claude::start();
    claude.hook(&world, &prompt("go"));
    claude.hook(&world, &bash("PermissionRequest", "make"));
    claude.register(&config_dir(&world), SESSION, &json!({"status": "busy"}));
    poll_until("the session runs", || state(&world) == "running running -");
}

#[test]
fn a_session_that_said_good_bye_has_ended() {
    let world = World::new();
    let claude = Claude::start();
    claude.hook(&world, &start("startup"));
    claude.hook(&world, &event("SessionEnd", &json!({"reason": "prompt_input_exit"})));
    assert_eq!(state(&world), "ended - -");
    assert!(ls(&world, &[]).contains("  ended: closed  "), "{}", ls(&world, &[]));
}

#[test]
fn a_killed_session_has_ended_without_any_registry() {
    let world = World::new();
    let mut claude = Claude::start();
    claude.hook(&world, &prompt("go"));
    assert_eq!(state(&world), "running running -");
    claude.kill();
    assert_eq!(state(&world), "ended - -");
}

#[test]
fn a_killed_session_whose_pane_stays_has_ended() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let session = Session::new(&world, 1);
    session.hook(&world, "UserPromptSubmit", &json!({"prompt": "go"}));
    session.kill();
    let dead = || world.tmux(&["display-message", "-p", "-t", &session.pane, "#{pane_dead}"]);
    poll_until("tmux has noticed", || dead() == "1");
    assert!(ls(&world, &[]).contains("  ended: killed  "), "{}", ls(&world, &[]));
}

#[test]
fn sessions_are_listed_without_any_hook() {
    let world = World::new();
    let (inside, outside) = (Claude::start(), Claude::start());
    let config = config_dir(&world);
    let place = json!({"tmux": format!("main:@0.{}", world.pane), "name": "in a pane",
        "status": "waiting", "waitingFor": "permission prompt"});
    inside.register(&config, SESSION, &place);
    outside.register(&config, OLD, &json!({"status": "busy"}));
    let listed = sessions(&world, &[]);
    assert_eq!(ids(&listed), [SESSION, OLD]);
    assert_eq!(words(&listed[0]), "waiting stopped permission");
    assert_eq!(listed[0]["waiting"]["context"], "permission prompt");
    assert_eq!(listed[0]["pane"]["id"], world.pane.as_str());
    assert_eq!(
        (&listed[0]["title"], &listed[0]["latest_hook_event"]),
        (&json!("in a pane"), &Value::Null)
    );
    assert_eq!(
        (words(&listed[1]), &listed[1]["pane"]),
        ("running running -".to_owned(), &Value::Null)
    );
}

#[test]
fn a_pane_that_is_gone_or_of_another_window_is_no_place() {
    let world = World::new();
    for place in ["main:@0.%77", "main:@5.%0"] {
        let claude = Claude::start();
        claude.register(&config_dir(&world), SESSION, &json!({"tmux": place, "status": "idle"}));
        assert_eq!(session(&world)["pane"], Value::Null, "{place}");
    }
}

#[test]
fn what_a_killed_process_left_in_the_registry_is_no_session() {
    let world = World::bare();
    let mut claude = Claude::start();
    claude.register(&config_dir(&world), SESSION, &json!({"status": "busy"}));
    assert_eq!(session(&world)["state"], "running");
    claude.kill();
    assert_eq!(sessions(&world, &[]), [] as [Value; 0]);
}

#[test]
fn a_session_that_goes_on_elsewhere_is_not_shown_where_it_ended() {
    let world = World::new();
    let mut first = Claude::start();
    first.hook(&world, &prompt("go"));
    first.kill();
    let second = Claude::start();
    second.register(&config_dir(&world), SESSION, &json!({"status": "busy"}));
    let listed = session(&world);
    assert_eq!((words(&listed), &listed["pane"]), ("running running -".to_owned(), &Value::Null));
}

/// The whole path of a program: cld gives its requests no environment.
fn which(program: &Path) -> String {
    let found = std::process::Command::new("which").arg(program).output().unwrap();
    printed(&found).trim().to_owned()
}

#[test]
fn any_number_of_panes_is_one_request() {
    let world = World::new();
    for _ in 0..20 {
        world.tmux(&["new-window", "-d", "sleep 1000"]);
    }
    for pane in world.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).lines() {
        let id = format!("{:0>8}-0000-4000-8000-000000000000", &pane[1..]);
        world.tmux(&["set-option", "-p", "-t", pane, "@meta.claude.session_id", &id]);
    }
    let spy = world.path("spy");
    let real = which(&tmux_program());
    let script = format!("#!/bin/sh\necho \"$*\" >>\"$0.log\"\nexec {real} \"$@\"\n");
    fs::write(&spy, script).unwrap();
    fs::set_permissions(&spy, fs::Permissions::from_mode(0o755)).unwrap();
    let listed = printed(&world.cld(&["ls"]).env("CLD_TMUX", &spy).output().unwrap());
    assert_eq!(listed.lines().count(), 21, "{listed}");
    assert_eq!(fs::read_to_string(world.path("spy.log")).unwrap().lines().count(), 1);
}

#[test]
fn a_window_that_is_linked_twice_is_listed_once() {
    let world = World::new();
    world.hook(&prompt("go"));
    world.tmux(&["new-session", "-d", "-s", "other", "sleep 1000"]);
    world.tmux(&["link-window", "-s", "main:0", "-t", "other:5"]);
    assert_eq!(ids(&sessions(&world, &[])), [SESSION]);
    assert_eq!(ids(&sessions(&world, &["--server", "all"])), [SESSION]);
}

#[test]
fn a_session_moved_by_cd_is_shown_where_its_transcript_is_now() {
    let world = World::new();
    let config = config_dir(&world);
    let claude = Claude::start();
    let before = transcript(SESSION, "/home/u/before", "hello").plant(&config);
    let fields = json!({"cwd": "/home/u/before", "transcript_path": before, "source": "startup"});
    claude.hook(&world, &event("SessionStart", &fields));
    claude.register(&config, SESSION, &json!({"cwd": "/home/u/before", "status": "idle"}));
    let place = |session: &Value| (session["directory"].clone(), session["transcript"].clone());
    assert_eq!(place(&session(&world)), (json!("/home/u/before"), json!(before)));
    fs::remove_file(&before).unwrap();
    let after = transcript(SESSION, "/home/u/after", "hello").plant(&config);
    claude.register(&config, SESSION, &json!({"cwd": "/home/u/after", "status": "idle"}));
    assert_eq!(place(&session(&world)), (json!("/home/u/after"), json!(after)));
}

/// Where tmux would put the sockets of this user.
fn sockets(world: &World) -> PathBuf {
    let folder = world.path(&format!("tmux-{}", rustix::process::getuid().as_raw()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Another server, ended with the value.
struct Server(PathBuf);

impl Server {
    fn start(socket: PathBuf) -> Self {
        let server = Self(socket);
        server.tmux(&["new-session", "-d", "-s", "there", "sleep 1000"]);
        server
    }

    fn tmux(&self, arguments: &[&str]) {
        let mut tmux = std::process::Command::new(tmux_program());
        tmux.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.0).args(arguments);
        printed(&tmux.env_remove("TMUX").output().unwrap());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut tmux = std::process::Command::new(tmux_program());
        let _ = tmux.arg("-S").arg(&self.0).arg("kill-server").output();
    }
}

#[test]
fn all_servers_are_asked_and_dead_or_hung_ones_do_no_harm() {
    let world = World::new();
    world.hook(&prompt("go"));
    let folder = sockets(&world);
    let other = Server::start(folder.join("other"));
    other.tmux(&["set-option", "-p", "@meta.claude.session_id", OLD]);
    other.tmux(&["set-option", "-p", "@meta.claude.status", "running"]);
    drop(UnixListener::bind(folder.join("stale")).unwrap());
    fs::write(folder.join("no socket"), "").unwrap();
    assert_eq!(ids(&sessions(&world, &[])), [SESSION]);
    let all = sessions(&world, &["--server", "all"]);
    assert_eq!(ids(&all), [SESSION, OLD]);
    assert_eq!(all[1]["pane"]["server"], folder.join("other").to_str().unwrap());
    assert!(ls(&world, &["--server", "all"]).contains("  other/there:0.0  "));

    let _hung = UnixListener::bind(folder.join("hung")).unwrap();
    let output = world.cld(&["ls", "--json", "--server", "all"]).output().unwrap();
    assert!(printed(&output).contains(OLD));
    let note = String::from_utf8_lossy(&output.stderr);
    assert!(note.contains("hung does not answer") && !note.contains("stale"), "{note}");
}

#[test]
fn from_outside_the_default_server_is_not_waited_for_longer_than_the_others() {
    let world = World::bare();
    let _server = Server::start(sockets(&world).join("default"));
    let slow = world.path("slow");
    let real = which(&tmux_program());
    fs::write(&slow, format!("#!/bin/sh\n/bin/sleep 2\nexec {real} \"$@\"\n")).unwrap();
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).unwrap();
    let output = world.cld(&["ls", "--server", "all"]).env("CLD_TMUX", &slow).output().unwrap();
    let note = String::from_utf8_lossy(&output.stderr);
    assert!(note.contains("default does not answer, its panes are missing"), "{note}");
}

#[test]
fn outside_of_tmux_the_default_server_is_asked() {
    let world = World::bare();
    let server = Server::start(sockets(&world).join("default"));
    server.tmux(&["set-option", "-p", "@meta.claude.session_id", OLD]);
    assert_eq!(ids(&sessions(&world, &[])), [OLD]);
    assert_eq!(state(&world), "unknown - -");
}

#[test]
fn past_sessions_are_added_the_newest_first() {
    let world = World::new();
    let config = config_dir(&world);
    world.hook(&start("startup"));
    for (id, seconds_ago) in [(OLDER, 7200), (SESSION, 10), (OLD, 3600)] {
        Transcript { seconds_ago, ..transcript(id, "/home/u/proj", "hello") }.plant(&config);
    }
    assert_eq!(ids(&sessions(&world, &[])), [SESSION]);
    let all = sessions(&world, &["--all"]);
    assert_eq!(ids(&all), [SESSION, OLD, OLDER]);
    assert_eq!((words(&all[1]), &all[1]["alive"]), ("ended - -".to_owned(), &json!(false)));
    assert_eq!(ids(&sessions(&world, &["--all", "--limit", "2"])), [SESSION, OLD]);
    assert_eq!(ids(&sessions(&world, &["--all", "-n", "0"])), [] as [&str; 0]);
    assert_eq!(ids(&sessions(&world, &["--all", "--waiting"])), [] as [&str; 0]);
    let table = ls(&world, &["--all"]);
    assert!(table.contains("[■] 45da8798  ended  1h  -         /home/u/proj  hello\n"), "{table}");
}

#[test]
fn one_id_in_two_folders_is_one_session() {
    let world = World::bare();
    let config = config_dir(&world);
    let home = world.home();
    for (directory, seconds_ago) in [("old copy", 7200), ("project", 60)] {
        let directory = home.join(directory);
        fs::create_dir(&directory).unwrap();
        let directory = directory.to_str().unwrap();
        Transcript { seconds_ago, ..transcript(SESSION, directory, "hello") }.plant(&config);
    }
    Transcript { seconds_ago: 3600, ..transcript(OLD, "/p", "other") }.plant(&config);
    for arguments in [&["--all"][..], &["--all", "--limit", "2"]] {
        let all = sessions(&world, arguments);
        assert_eq!(ids(&all), [SESSION, OLD]);
        assert_eq!(all[0]["directory"], json!(home.join("project")), "the one that went on");
    }
    let mut here = world.cld(&["ls", "--all", "--here"]);
    let here = printed(&here.current_dir(home.join("old copy")).output().unwrap());
    assert_eq!(here.lines().count(), 1, "a copy belongs to its folder as well: {here}");

    let shown = printed(&world.cld(&["show", SESSION]).output().unwrap());
    let files = shown.lines().filter(|line| line.contains(".jsonl")).count();
    assert_eq!(files, 2, "both are named: {shown}");
}

#[test]
fn what_cannot_be_resumed_does_not_use_up_the_limit() {
    let world = World::bare();
    let config = config_dir(&world);
    Transcript { seconds_ago: 90, ..transcript(SESSION, "/p", "hello") }.plant(&config);
    for (id, content) in [
        (OLD, "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\"}\n"),
        (
            OLDER,
            "{\"type\":\"user\",\"isSidechain\":true,\"cwd\":\"/p\",\"message\":{\"content\":\"x\"}}\n",
        ),
    ] {
        fs::write(transcript(id, "/p", "").plant(&config), content).unwrap();
    }
    assert_eq!(ids(&sessions(&world, &["--all", "--limit", "1"])), [SESSION]);
    assert_eq!(ids(&sessions(&world, &["--all"])), [SESSION]);
}

#[test]
fn sessions_of_scripts_are_hidden_unless_asked_for() {
    let world = World::bare();
    let config = config_dir(&world);
    let claude = Claude::start();
    claude.register(&config, SESSION, &json!({"entrypoint": "sdk-py", "status": "busy"}));
    Transcript { entrypoint: "sdk-cli", ..transcript(OLD, "/p", "scripted") }.plant(&config);
    transcript(OLDER, "/p", "typed").plant(&config);
    assert_eq!(ids(&sessions(&world, &["--all"])), [OLDER]);
    let mut all = sessions(&world, &["--all", "--sdk"]);
    all.sort_by_key(|session| session["session_id"].as_str().unwrap().to_owned());
    assert_eq!(ids(&all), [SESSION, OLD, OLDER]);
}

#[test]
fn only_waiting_sessions_are_shown_when_asked_for() {
    let world = World::new();
    world.hook(&prompt("go"));
    assert_eq!(ls(&world, &["--waiting"]), "");
    world.hook(&stop("done"));
    assert!(ls(&world, &["--waiting"]).contains("waiting: done"));
}

#[test]
fn only_sessions_of_the_project_are_shown_when_asked_for() {
    let world = World::bare();
    let config = config_dir(&world);
    let root = fs::canonicalize(world.home()).unwrap().join("proj");
    let below = root.join("src/deep");
    fs::create_dir_all(&below).unwrap();
    transcript(SESSION, root.to_str().unwrap(), "root").plant(&config);
    transcript(OLD, below.to_str().unwrap(), "below").plant(&config);
    transcript(OLDER, root.with_file_name("proj-2").to_str().unwrap(), "other").plant(&config);
    let here = |directory: &Path| {
        let mut ls = world.cld(&["ls", "--all", "--here", "--json"]);
        let document: Value =
            serde_json::from_str(&printed(&ls.current_dir(directory).output().unwrap())).unwrap();
        let mut ids: Vec<String> =
            ids(document["sessions"].as_array().unwrap()).into_iter().map(str::to_owned).collect();
        ids.sort();
        ids
    };
    assert_eq!(here(&root), [SESSION, OLD]);
    assert_eq!(here(&below), [OLD]);
    fs::create_dir(root.join(".git")).unwrap();
    assert_eq!(here(&below), [SESSION, OLD]);
}

#[test]
fn sessions_of_every_known_config_directory_are_shown() {
    let world = World::new();
    let (own, other) = (world.path("own config"), world.path("other-config"));
    transcript(OLD, "/p", "in the default one").plant(&config_dir(&world));
    transcript(OLDER, "/p", "in the one of this environment").plant(&own);
    // A session with a config directory of its own, as its pane tells.
    let claude = Claude::start();
    claude.register(&other, SESSION, &json!({"status": "busy"}));
    let mut hook = world.cld(&["hook"]);
    hook.env("CLAUDE_CONFIG_DIR", &other).env("CLAUDE_PID", claude.pid().to_string());
    crate::world::run(hook, prompt("go").to_string().as_bytes());
    let world = world.with("CLAUDE_CONFIG_DIR", own.to_str().unwrap());
    let mut all = sessions(&world, &["--all"]);
    all.sort_by_key(|session| session["session_id"].as_str().unwrap().to_owned());
    assert_eq!(ids(&all), [SESSION, OLD, OLDER]);
    assert_eq!(all[0]["config_dir"], other.to_str().unwrap());
    assert_eq!(all[1]["config_dir"], config_dir(&world).to_str().unwrap());
    assert_eq!(all[2]["config_dir"], own.to_str().unwrap());
}

#[test]
fn a_note_tells_when_a_transcript_will_be_deleted() {
    const DAY: u64 = 86_400;
    let world = World::bare();
    let config = config_dir(&world);
    let aged =
        |days: u64| Transcript { seconds_ago: days * DAY + 60, ..transcript(SESSION, "/p", "t") };
    let reason = |days: u64| {
        aged(days).plant(&config);
        let line = ls(&world, &["--all"]);
        line.split("  ").nth(1).unwrap().to_owned()
    };
    assert_eq!(reason(20), "ended");
    assert_eq!(reason(27), "ended: deleted in 2d");
    assert_eq!(reason(31), "ended: deleted soon");
    fs::write(config.join("settings.json"), r#"{"cleanupPeriodDays": 90}"#).unwrap();
    assert_eq!(reason(31), "ended");
    assert_eq!(reason(87), "ended: deleted in 2d");
}

/// Runs `cld ls` on a terminal of that width, and returns what stands there, with escapes.
fn on_terminal(world: &World, width: &str, before: &str) -> Vec<String> {
    let command = format!(
        "{before} TMUX_TMPDIR='{}' CLD_TMUX='{}' '{}' ls --all; echo END; exec sleep 1000",
        world.path("").display(),
        tmux_program().display(),
        env!("CARGO_BIN_EXE_cld"),
    );
    world.tmux(&["new-session", "-d", "-s", "screen", "-x", width, "-y", "20", &command]);
    let screen = || world.tmux(&["capture-pane", "-p", "-e", "-t", "screen:"]);
    poll_until("the list is printed", || screen().contains("END"));
    let lines = screen().lines().take_while(|line| *line != "END").map(str::to_owned).collect();
    world.tmux(&["kill-session", "-t", "screen"]);
    lines
}

#[test]
fn the_table_fits_the_terminal() {
    if !keeps_sizes() {
        return;
    }
    let world = World::new();
    let title = "日本語の題 🎉🎉 with many more words than there is room for";
    transcript(OLD, "/home/u/日本語/a/deep/directory/project", title).plant(&config_dir(&world));
    for (width, expected) in [
        ("60", "[■] 45da8798  ended  1m  -  …ory/project  日本語の題 🎉🎉 w…"),
        ("30", "[■] 45da8798  ended  1m  -  …t"),
    ] {
        assert_eq!(on_terminal(&world, width, "NO_COLOR=1"), [expected], "{width}");
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let world = World::new();
    transcript(OLD, "/p", "title").plant(&config_dir(&world));
    assert!(on_terminal(&world, "80", "")[0].contains("\u{1b}[2m"));
    assert!(!on_terminal(&world, "80", "NO_COLOR=1")[0].contains('\u{1b}'));
    assert!(!ls(&world, &["--all"]).contains('\u{1b}'));
}

#[test]
fn nothing_harmful_reaches_the_terminal() {
    let world = World::new();
    let config = config_dir(&world);
    let harm = "x\u{1b}[31m\u{9b}2J\r\n\tb\u{7}\u{202e}y";
    let directory = "/home/u/\u{1b}]0;p\u{7}\nq\u{9b}";
    transcript(OLD, directory, harm).plant(&config);
    let claude = Claude::start();
    let fields = json!({"name": harm, "cwd": directory, "status": "waiting", "waitingFor": harm});
    claude.register(&config, SESSION, &fields);
    for arguments in [&["--all"][..], &["--all", "--json"]] {
        let printed = ls(&world, arguments);
        let harmful = printed
            .trim_end_matches('\n')
            .chars()
            .filter(|c| *c != '\n' && cld::text::is_unsafe(*c));
        assert_eq!(harmful.collect::<String>(), "", "{printed:?}");
        assert_eq!(printed.lines().count(), if arguments.len() == 1 { 2 } else { 1 });
    }
    let past = sessions(&world, &["--all"]).pop().unwrap();
    assert_eq!(past["directory"], directory, "JSON is exact");
}
