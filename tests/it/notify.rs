//! `cld notify`: told once, only of what nobody sees, and whatever a channel does.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::config::configured;
use crate::events::{SESSION, bash, event, prompt, start, stop};
use crate::stage::check_exit;
use crate::world::{World, assert_silent, poll_until, run, tmux_program, wait_for};

/// Writes down its arguments and environment, a folder for each time it is started.
const RECORDER: &str = r#"#!/bin/sh
out=$(mktemp -d "$HOME/calls/XXXXXX")
printf '%s\0' "$0" "$@" > "$out/arguments"
cat /proc/$$/environ > "$out/environment"
mv "$out" "$out.whole"
"#;

const HANGS: &str = "#!/bin/sh\necho $$ > \"$HOME/hangs\"\nsleep 1000 & wait\n";
const FAILS: &str = "#!/bin/sh\necho the secret is out >&2\nexit 3\n";

/// One start of the recorder.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
}

/// A world with a session in a second window, so that a client of the first does not see it.
pub(crate) fn world(config: &str) -> World {
    let world = World::new();
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::create_dir(world.home().join("calls")).unwrap();
    for (name, script) in [
        ("recorder", RECORDER),
        ("notify-send", RECORDER),
        ("terminal-notifier", RECORDER),
        ("canberra-gtk-play", RECORDER),
        ("hangs", HANGS),
        ("fails", FAILS),
    ] {
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let world = world.with("PATH", &path).with("TZ", "UTC");
    configured(&world, config);
    world.tmux(&["new-window", "-d", "-n", "front", "sleep 1000"]);
    world
}

pub(crate) fn calls(world: &World) -> Vec<Call> {
    let folders = fs::read_dir(world.home().join("calls")).unwrap();
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.extension().is_some_and(|end| end == "whole"));
    let list = |path: &Path| -> Vec<String> {
        let text = String::from_utf8(fs::read(path).unwrap()).unwrap();
        text.split_terminator('\0').map(str::to_owned).collect()
    };
    let call = |folder: &PathBuf| {
        let mut arguments = list(&folder.join("arguments"));
        let program = Path::new(&arguments.remove(0)).file_name().unwrap().to_owned();
        let environment = list(&folder.join("environment"));
        let environment = environment.iter().filter_map(|entry| entry.split_once('='));
        Call {
            program: program.into_string().unwrap(),
            arguments,
            environment: environment.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        }
    };
    let mut calls: Vec<Call> = folders.iter().map(call).collect();
    calls.sort_by(|one, other| one.program.cmp(&other.program));
    calls
}

/// Waits for so many starts; there never are more.
#[track_caller]
pub(crate) fn check_calls(world: &World, expected: usize) {
    poll_until("the program is started", || calls(world).len() >= expected);
    assert_eq!(calls(world).len(), expected, "{:#?}", calls(world));
}

/// A hook that starts no notification by itself.
#[track_caller]
pub(crate) fn hook(world: &World, payload: &Value) {
    let silent = world.path("silent");
    fs::create_dir_all(silent.join("cld")).unwrap();
    fs::write(silent.join("cld/config.toml"), "[notify]\nchannels = []\n").unwrap();
    let mut command = world.cld(&["hook"]);
    command.env("XDG_CONFIG_HOME", silent);
    assert_silent(&run(command, payload.to_string().as_bytes()));
}

/// The session of the pane waits for an answer to a permission dialog.
pub(crate) fn asks(world: &World, command: &str) {
    hook(world, &start("startup"));
    hook(world, &prompt("go"));
    hook(world, &bash("PermissionRequest", command));
}

/// Runs it as the tmux server would.
#[track_caller]
pub(crate) fn notify(world: &World) {
    assert_silent(&run(world.cld(&["notify", &world.pane]), b""));
}

/// The lines of the journal that tell of notifications.
pub(crate) fn journal(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.state_file("journal.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == "notify").collect()
}

const COMMAND: &str = "[notify]\nchannels = ['phone']\n[notify.phone]\ncommand = ['recorder', '--topic', 'a b; c $HOME']\n";

#[test]
fn a_command_gets_its_own_words_and_the_rest_in_variables() {
    let world = world(COMMAND);
    world.tmux(&["rename-window", "-t", &world.pane, "back"]);
    asks(&world, "rm -rf build");
    notify(&world);
    check_calls(&world, 1);
    let calls = calls(&world);
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(call.arguments, ["--topic", "a b; c $HOME"]);
    let socket = world.socket();
    for (name, value) in [
        ("CLD_CHANNEL", "phone"),
        ("CLD_MESSAGE", "proj asks for permission: Bash: rm -rf build"),
        ("CLD_KIND", "permission"),
        ("CLD_REASON", "asks for permission"),
        ("CLD_PROJECT", "proj"),
        ("CLD_TITLE", "23e30f82"),
        ("CLD_CONTEXT", "Bash: rm -rf build"),
        ("CLD_WINDOW", "0:back"),
        ("CLD_SESSION_ID", SESSION),
        ("CLD_PANE", &world.pane),
        ("CLD_DIRECTORY", "/home/u/proj"),
        ("CLD_SERVER", socket.to_str().unwrap()),
    ] {
        assert_eq!(call.environment.get(name).map(String::as_str), Some(value), "{name}");
    }
    poll_until("it is written down", || !journal(&world).is_empty());
    let journal = journal(&world);
    let [line] = journal.as_slice() else { panic!("{journal:?}") };
    assert_eq!(
        (&line["told"], &line["session"], &line["failed"]),
        (&json!(["phone"]), &json!(SESSION), &Value::Null)
    );
    assert!(line["about"].as_str().unwrap().starts_with("p@"), "{line}");
}

#[test]
fn a_wait_is_told_of_once_and_the_next_one_again() {
    let world = world(COMMAND);
    asks(&world, "make");
    notify(&world);
    notify(&world);
    hook(
        &world,
        &event(
            "Notification",
            &json!({"notification_type": "permission_prompt", "message": "Claude needs you"}),
        ),
    );
    notify(&world);
    check_calls(&world, 1);
    hook(&world, &bash("PostToolUse", "make"));
    notify(&world);
    check_calls(&world, 1);
    hook(&world, &stop("It is done."));
    notify(&world);
    check_calls(&world, 2);
    let calls = calls(&world);
    let told: Vec<&str> = calls.iter().map(|call| call.environment["CLD_KIND"].as_str()).collect();
    assert!(told.contains(&"done") && told.len() == 2, "{told:?}");
}

#[test]
fn many_at_once_tell_of_a_wait_once() {
    let world = world(COMMAND);
    asks(&world, "make");
    let start = |_| {
        let mut command = world.cld(&["notify", &world.pane]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut started: Vec<_> = (0..8).map(start).collect();
    for child in &mut started {
        assert!(wait_for(child).success());
    }
    check_calls(&world, 1);
}

#[test]
fn nobody_is_told_while_somebody_looks() {
    let world = world(COMMAND);
    let _terminal = world.attach();
    asks(&world, "make");
    notify(&world);
    check_calls(&world, 0);
    world.tmux(&["select-window", "-t", "front"]);
    notify(&world);
    check_calls(&world, 1);
}

#[test]
fn a_terminal_without_the_focus_does_not_look() {
    let world = world(COMMAND);
    world.tmux(&["set-option", "-g", "focus-events", "on"]);
    let terminal = world.attach();
    let flags = || world.tmux(&["list-clients", "-F", "#{client_flags}"]);
    if flags().is_empty() {
        return;
    }
    asks(&world, "make");
    poll_until("the client has the focus", || flags().contains("focused"));
    notify(&world);
    check_calls(&world, 0);
    terminal.tmux(&["send-keys", "-H", "1b", "5b", "4f"]);
    poll_until("the client has lost the focus", || !flags().contains("focused"));
    notify(&world);
    check_calls(&world, 1);
}

#[test]
fn a_program_that_controls_tmux_does_not_look() {
    let world = world(COMMAND);
    let mut control = Command::new(tmux_program());
    control.args(["-u", "-C", "-S"]).arg(world.socket()).args(["attach", "-t", "main"]);
    control.env_remove("TMUX").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut control = control.spawn().unwrap();
    poll_until("it is attached", || {
        world.tmux(&["list-clients", "-F", "#{client_control_mode}"]) == "1"
    });
    asks(&world, "make");
    notify(&world);
    check_calls(&world, 1);
    drop(control.stdin.take());
    wait_for(&mut control);
}

#[test]
fn a_wait_that_is_over_or_was_seen_is_not_told_of() {
    let world = world(COMMAND);
    asks(&world, "make");
    world.tmux(&["set-option", "-pu", "-t", &world.pane, "@claude-attn"]);
    notify(&world);
    hook(&world, &prompt("never mind"));
    notify(&world);
    check_calls(&world, 0);
}

#[test]
fn a_pane_or_a_server_that_is_gone_is_no_reason_to_speak() {
    let world = world(COMMAND);
    assert_silent(&run(world.cld(&["notify", "%99"]), b""));
    assert_silent(&run(world.cld(&["notify", "%0", "--server", "/nonexistent"]), b""));
    notify(&world);
    check_calls(&world, 0);
}

#[test]
fn the_tmux_server_can_start_it_by_itself() {
    let world = world("");
    let recorder = world.path("bin").join("recorder");
    configured(
        &world,
        &format!(
            "[notify]\nchannels = ['phone']\n[notify.phone]\ncommand = ['{}']\n",
            recorder.display()
        ),
    );
    asks(&world, "make");
    let job = format!(
        "CLD_TMUX={} {} notify {}",
        tmux_program().display(),
        env!("CARGO_BIN_EXE_cld"),
        world.pane
    );
    world.tmux(&["run-shell", "-b", &job]);
    poll_until("the command is started", || calls(&world).len() == 1);
    assert_eq!(calls(&world)[0].environment["CLD_PANE"], world.pane);
}

/// Hours of the clock around now, or far from it.
fn hours(from_now: i64, to_now: i64) -> String {
    let now = i64::try_from(cld::clock::now().seconds() / 3600 % 24).unwrap();
    let hour = |offset: i64| format!("{:02}:00", (now + offset).rem_euclid(24));
    format!("{}-{}", hour(from_now), hour(to_now))
}

#[test]
fn nobody_is_told_in_quiet_hours() {
    let quiet = |hours: &str| COMMAND.replace("[notify]", &format!("[notify]\nquiet = '{hours}'"));
    let asleep = world(&quiet(&hours(-1, 3)));
    asks(&asleep, "make");
    notify(&asleep);
    check_calls(&asleep, 0);
    // The same hours in a place where it is ten hours later.
    let awake = asleep.with("TZ", "XXX-10");
    notify(&awake);
    check_calls(&awake, 1);
}

#[test]
fn kinds_that_are_not_wanted_are_not_told_of() {
    let world = world(&COMMAND.replace("[notify]", "[notify]\nkinds = ['done']"));
    asks(&world, "make");
    notify(&world);
    check_calls(&world, 0);
    hook(&world, &stop("It is done."));
    notify(&world);
    check_calls(&world, 1);
}

#[test]
fn between_two_notifications_is_the_least_gap() {
    let world = world(&COMMAND.replace("[notify]", "[notify]\nmin_gap = '1d'"));
    asks(&world, "make");
    notify(&world);
    hook(&world, &stop("It is done."));
    notify(&world);
    check_calls(&world, 1);
    let shown = world.tmux(&["show-options", "-g"]);
    assert!(!shown.contains("claude") && !shown.contains("cld"), "nothing global stays: {shown}");
}

#[test]
fn a_turn_that_goes_on_at_once_was_not_over() {
    // On a machine that is so busy that the next prompt comes too late, more time is given.
    for debounce_ms in [1000, 4000, 16_000] {
        let world = world(&format!("[tabs]\ndebounce_ms = {debounce_ms}\n{COMMAND}"));
        hook(&world, &start("startup"));
        let began = Instant::now();
        hook(&world, &stop("It is done."));
        let mut notifying = world.cld(&["notify", &world.pane]);
        let mut notifying = notifying.stdin(Stdio::null()).spawn().unwrap();
        hook(&world, &prompt("a queued one"));
        let was_in_time = began.elapsed() < Duration::from_millis(debounce_ms);
        assert!(wait_for(&mut notifying).success());
        if was_in_time {
            check_calls(&world, 0);
            hook(&world, &stop("It is done again."));
            notify(&world);
            check_calls(&world, 1);
            return;
        }
    }
    panic!("the machine is too busy");
}

#[test]
fn a_channel_that_hangs_or_fails_costs_the_others_nothing() {
    let world = world(
        "[notify]\nchannels = ['hangs', 'fails', 'gone', 'phone']\n[notify.hangs]\ncommand = ['hangs']\ndeadline = '1s'\n\
         [notify.fails]\ncommand = ['fails']\ndeadline = '1m'\n[notify.gone]\ncommand = ['no-such-program']\n[notify.phone]\ncommand = ['recorder']\ndeadline = '1m'\n",
    )
    .without("CLD_PATIENCE")
    .with("CLAUDE_TMUX_DEBUG", "1");
    asks(&world, "make");
    let mut notifying = world.cld(&["notify", &world.pane]);
    let mut notifying = notifying.stdin(Stdio::null()).spawn().unwrap();
    assert!(wait_for(&mut notifying).success());
    check_calls(&world, 1);
    let pid = fs::read_to_string(world.home().join("hangs")).unwrap();
    poll_until("the one that hangs is killed", || {
        !Path::new("/proc").join(pid.trim()).join("fd").exists()
            || fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
                .is_ok_and(|stat| stat.contains(") Z "))
    });
    poll_until("it is written down", || !journal(&world).is_empty());
    let journal = journal(&world);
    let [line] = journal.as_slice() else { panic!("{journal:?}") };
    assert_eq!(line["told"], json!(["phone"]));
    assert_eq!(
        line["failed"],
        json!({"hangs": "not done in time", "fails": "exit code 3", "gone": "no such program"})
    );
    for log in ["journal.jsonl", "debug.log"] {
        let text = fs::read_to_string(world.state_file(log)).unwrap();
        assert!(!text.contains("secret"), "what a program printed may be a text: {text}");
    }
    let (said, _) = check_exit(&world.cld(&["log"]).output().unwrap(), 0);
    assert!(
        said.contains("about a permission, told through phone, fails failed: exit code 3"),
        "{said}"
    );
}
