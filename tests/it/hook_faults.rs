//! Whatever goes wrong, Claude does not notice: exit 0, nothing printed, in bounded time.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::events::{bash, event, prompt, start, stop};
use crate::world::{World, assert_silent, poll_until, run, wait_for};

/// What `cld setup` lets Claude give a hook; all deadlines of the hook together are less than half of it.
const PATIENCE_SECONDS: u64 = 10;

#[test]
fn outside_tmux() {
    let world = World::bare();
    world.hook(&start("startup"));
    assert!(!world.state_file("journal.jsonl").exists());
}

#[test]
fn with_a_pane_that_is_gone() {
    let mut world = World::new();
    world.pane = "%4711".to_owned();
    world.hook(&stop("done"));
}

#[test]
fn with_variables_that_name_no_pane() {
    for (tmux, pane) in
        [("", "%0"), ("nonsense", "%0"), ("/s,1,0", "5"), ("/s,1,0", "%0;kill-server")]
    {
        let world = World::bare().with("TMUX", tmux).with("TMUX_PANE", pane);
        world.hook(&start("startup"));
    }
}

#[test]
fn with_the_pane_number_of_another_server() {
    let (old, new) = (World::new(), World::new());
    // The pane exists in the new server too, but it is not the one the variables speak of.
    let place = format!("{},{},0", new.socket().display(), old.server_pid());
    let lost = World::bare()
        .with("TMUX", &place)
        .with("TMUX_PANE", &new.pane)
        .with("TERM_PROGRAM", "tmux");
    lost.hook(&start("startup"));
    assert_eq!(new.options().len(), 0);
    assert_eq!(new.registers().len(), 0);
}

#[test]
fn with_a_server_that_is_gone() {
    let world = World::new();
    let is_there = || UnixStream::connect(world.socket()).is_ok();
    world.tmux(&["kill-server"]);
    poll_until("the server is gone", || !is_there());
    world.hook(&start("startup"));
    assert!(!is_there(), "the hook must not start a server");
}

#[test]
fn with_a_server_that_was_restarted_and_counts_its_panes_anew() {
    let world = World::new();
    world.hook(&start("startup"));
    world.tmux(&["kill-server"]);
    poll_until("the server is gone", || UnixStream::connect(world.socket()).is_err());
    world.tmux(&["new-session", "-d", "-s", "other", "sleep 1000"]);
    assert_eq!(world.tmux(&["display-message", "-p", "#{pane_id}"]), world.pane, "the same number");
    // A Claude that outlived its terminal still speaks of the old server.
    for payload in
        [prompt("go"), bash("PermissionRequest", "make"), event("SessionEnd", &json!({}))]
    {
        world.hook(&payload);
    }
    assert_eq!(world.options().len(), 0, "{:?}", world.options());
    assert_eq!(world.registers().len(), 0, "{:?}", world.registers());
    assert_eq!(world.window_state(), "");
}

#[test]
fn with_a_server_that_is_killed_in_the_middle_of_a_call() {
    for payload in [start("startup"), bash("PermissionRequest", "make"), stop("done")] {
        // The patience of the tests is far longer than the kill takes to be noticed.
        let world = World::new().with("CLAUDE_TMUX_DEBUG", "1");
        signal("-STOP", &world);
        let mut hook = world.begin_hook();
        hook.give(&payload);
        let socket = world.socket();
        poll_until("the request has been sent", || is_called(hook.pid(), &socket));
        let killed = Instant::now();
        signal("-KILL", &world);
        hook.finish();
        assert!(killed.elapsed().as_secs() < PATIENCE_SECONDS, "{:?}", killed.elapsed());
        let log = fs::read_to_string(world.state_file("debug.log")).unwrap();
        assert!(log.contains("tmux said") && !log.contains("applied"), "{log}");
    }
}

/// Whether a client that this hook has started waits for the server.
fn is_called(hook: u32, socket: &Path) -> bool {
    let children = fs::read_to_string(format!("/proc/{hook}/task/{hook}/children"));
    children.unwrap_or_default().split_whitespace().any(|child| {
        let read = |name: &str| fs::read_to_string(format!("/proc/{child}/{name}"));
        let is_tmux = read("cmdline").is_ok_and(|words| words.contains(&*socket.to_string_lossy()));
        is_tmux && read("stat").is_ok_and(|stat| stat.contains(") S "))
    })
}

fn signal(name: &str, world: &World) {
    assert!(Command::new("kill").args([name, world.server_pid()]).status().unwrap().success());
}

/// Since 3.4 formats can look at every client, also at one that has not said its name yet: a server
/// that is asked for it ends, and every session with it.
#[test]
fn with_a_client_that_has_only_just_connected() {
    let world = World::new();
    let _nameless = UnixStream::connect(world.socket()).unwrap();
    for payload in [start("startup"), prompt("go"), bash("PermissionRequest", "make")] {
        world.hook(&payload);
    }
    assert_eq!((world.window_state(), world.meta("status")), ("waiting".into(), "stopped".into()));
    for command in [&["ls"][..], &["queue"], &["next"], &["notify", &world.pane]] {
        run(world.cld(command), b"");
        assert_eq!(world.tmux(&["display-message", "-p", "#{pid}"]), world.server_pid());
    }
}

#[test]
fn with_a_server_that_hangs() {
    let world = World::new().without("CLD_PATIENCE");
    signal("-STOP", &world);
    let begun = Instant::now();
    let output = run(world.cld(&["hook"]), start("startup").to_string().as_bytes());
    let took = begun.elapsed();
    signal("-CONT", &world);
    assert_silent(&output);
    assert!(took.as_secs() < PATIENCE_SECONDS, "{took:?}");
    // The server may still take what lies in its socket, or not; the next event finds it well.
    let world = world.with("CLD_PATIENCE", "30");
    world.hook(&prompt("go"));
    assert_eq!(world.meta("status"), "running");
}

#[test]
fn with_no_tmux_to_be_found() {
    let missing = World::new().with("CLD_TMUX", "/nowhere/tmux");
    missing.hook(&start("startup"));
    let unfound = World::new().without("CLD_TMUX").with("PATH", "/nowhere");
    unfound.hook(&start("startup"));
}

#[test]
fn with_broken_payloads() {
    let world = World::new().with("CLAUDE_TMUX_DEBUG", "1");
    let whole = start("startup").to_string();
    let deep = format!("{{\"a\":{}", "[".repeat(10_000));
    let broken: [&[u8]; 12] = [
        b"",
        b"\n",
        b"nonsense",
        b"null",
        b"[]",
        b"7",
        b"{}",
        &whole.as_bytes()[..whole.len() / 2],
        b"{\"hook_event_name\":\"Stop\",\"session_id\":7}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"a\",\"cwd\":\"\xff\xfe\"}",
        b"\0\0\0\0",
        deep.as_bytes(),
    ];
    for payload in broken {
        world.hook_bytes(payload);
        assert_eq!(world.options().len(), 0, "{:?}", String::from_utf8_lossy(payload));
    }
    let log = fs::read_to_string(world.state_file("debug.log")).unwrap();
    assert_eq!(
        log.lines().filter(|line| line.contains("refused: ")).count(),
        broken.len(),
        "{log}"
    );
}

#[test]
fn a_response_of_thirty_megabytes_is_skipped() {
    let world = World::new();
    let huge = event(
        "PostToolUse",
        &json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}, "tool_response": "x\n".repeat(15_000_000)}),
    );
    world.hook(&huge);
    assert_eq!(world.meta("latest_hook_event"), "PostToolUse");
    world.hook(&stop(&"word ".repeat(1_000_000)));
    assert!(world.meta("finished").len() < 600);
}

#[test]
fn more_than_is_kept_is_still_read_to_its_end() {
    let world = World::new();
    world.hook_bytes(&vec![b' '; 70 * 1024 * 1024]);
    assert_eq!(world.options().len(), 0);
}

#[test]
fn the_payload_is_read_even_where_there_is_nothing_to_do() {
    let large = prompt(&"x".repeat(1_000_000));
    for world in [World::bare(), World::new().with("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")] {
        // A hook that leaves early would give the writer a broken pipe, which `run` reports.
        world.hook(&large);
    }
}

#[test]
fn input_that_never_ends_is_given_up() {
    let world = World::new().without("CLD_PATIENCE");
    let mut silent = world.cld(&["hook"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut endless = world.cld(&["hook"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut writer = endless.stdin.take().unwrap();
    let writing = std::thread::spawn(move || while writer.write_all(&[b' '; 4096]).is_ok() {});
    let begun = Instant::now();
    assert!(wait_for(&mut silent).success());
    assert!(wait_for(&mut endless).success());
    assert!(begun.elapsed().as_secs() < PATIENCE_SECONDS);
    writing.join().unwrap();
    assert_eq!(world.options().len(), 0);
}

#[test]
fn with_standard_output_closed() {
    let world = World::new();
    let cld = env!("CARGO_BIN_EXE_cld");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {cld} hook >&- 2>&-")]);
    for (name, value) in world.cld(&["hook"]).get_envs() {
        command.env(name, value.unwrap());
    }
    assert_silent(&run(command, start("startup").to_string().as_bytes()));
    assert_eq!(world.meta("status"), "stopped");
}

#[test]
fn without_a_home_or_with_one_that_cannot_be_written() {
    for world in [World::new().without("HOME"), World::new().with("HOME", "relative")] {
        let world = world.with("CLAUDE_TMUX_DEBUG", "1");
        world.hook(&start("startup"));
        assert_eq!(world.meta("status"), "stopped");
    }
    // A file where the directory should be is as unwritable for root as for anybody.
    let world = World::new().with("CLAUDE_TMUX_DEBUG", "1");
    fs::write(world.home().join(".local"), "").unwrap();
    world.hook(&start("startup"));
    assert_eq!(world.meta("status"), "stopped");
}

#[test]
fn with_a_full_disk() {
    on_a_disk_of_its_own("cat /dev/zero >filler; [ -s filler ]", |state| {
        // The files could be made, but nothing fits into them.
        format!("[ -e {state}/journal.jsonl ] && [ ! -s {state}/journal.jsonl ]")
    });
}

#[test]
fn with_a_state_directory_that_can_only_be_read() {
    on_a_disk_of_its_own("echo '{}' >journal.jsonl; mount -o remount,ro .", |state| {
        format!("[ \"$(cat {state}/journal.jsonl)\" = '{{}}' ]")
    });
}

/// Plays a session whose state directory is a small disk in the state that `prepare` leaves it in,
/// and checks it afterwards. Where nobody may mount anything, nothing is tested.
fn on_a_disk_of_its_own(prepare: &str, check: impl Fn(&str) -> String) {
    let world = World::new().with("CLAUDE_TMUX_DEBUG", "1");
    let state = world.state_file("");
    fs::create_dir_all(&state).unwrap();
    let state = state.display().to_string();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let alone = ["--mount", "--map-root-user"];
    let alone = if is_root { &alone[..1] } else { &alone[..] };
    let mount = format!("mount -t tmpfs -o size=64k,mode=700 none {state}");
    let mut probe = Command::new("unshare");
    if !probe.args(alone).args(["sh", "-c", &mount]).output().is_ok_and(|o| o.status.success()) {
        return;
    }
    for (payload, status) in [(start("startup"), "stopped"), (prompt("go"), "running")] {
        let hook = world.cld(&["hook"]);
        let script = format!(
            "{mount} && (cd {state} && {prepare}) 2>/dev/null || exit 90
             {} hook || exit 91
             {} || exit 92",
            hook.get_program().display(),
            check(&state),
        );
        let mut command = Command::new("unshare");
        command.args(alone).args(["sh", "-c", &script]).env_clear();
        command.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
        assert_silent(&run(command, payload.to_string().as_bytes()));
        assert_eq!(world.meta("status"), status);
    }
}

/// Among them dialogs whose answers may arrive before them.
#[test]
fn two_hundred_hooks_at_once() {
    let world = World::new().with("CLAUDE_TMUX_DEBUG", "1");
    let mut payloads = vec![prompt("go")];
    payloads.extend((0..139).map(|call| bash("PreToolUse", &format!("call {call}"))));
    payloads.extend((0..30).map(|call| bash("PermissionRequest", &format!("call {call}"))));
    payloads.extend((0..30).map(|call| bash("PostToolUse", &format!("call {call}"))));
    let mut hooks: Vec<_> = payloads.iter().map(|_| world.begin_hook()).collect();
    for (hook, payload) in hooks.iter_mut().zip(&payloads).rev() {
        hook.give(payload);
    }
    for hook in hooks {
        hook.finish();
    }
    assert_eq!((world.meta("asking"), world.meta("status")), (String::new(), "running".to_owned()));
    assert_eq!(world.window_state(), "running");
    let log = fs::read_to_string(world.state_file("debug.log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains(" applied;")).count(), 200, "{log}");
}

/// Writing there raises SIGPIPE, which ends a process that does not expect it.
#[test]
fn with_nobody_at_the_other_end_of_its_pipes() {
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let world = World::new()
        .with("CLAUDE_TMUX_DEBUG", "1")
        .with("CLAUDE_HUB_COLLECTOR_URL", &format!("http://{}", collector.local_addr().unwrap()));
    // Closed with unread bytes, the connection breaks under the one who still writes.
    let hangs_up = std::thread::spawn(move || drop(collector.accept().unwrap()));
    let mut command = world.cld(&["hook"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut hook = command.spawn().unwrap();
    drop((hook.stdout.take(), hook.stderr.take()));
    let mut stdin = hook.stdin.take().unwrap();
    stdin.write_all(stop(&"word ".repeat(4_000_000)).to_string().as_bytes()).unwrap();
    drop(stdin);
    assert_eq!(wait_for(&mut hook).code(), Some(0));
    hangs_up.join().unwrap();
    assert_eq!(world.meta("status"), "stopped");
    let log = fs::read_to_string(world.state_file("debug.log")).unwrap();
    assert!(log.contains("failed:"), "{log}");
}

#[test]
fn logs_are_private_and_hold_no_text() {
    let secret = "correct horse battery staple";
    let world =
        World::new().with("CLAUDE_TMUX_DEBUG", "1").with("CLAUDE_CODE_MESSAGING_TOKEN", secret);
    for payload in
        [start("startup"), prompt(secret), bash("PermissionRequest", secret), stop(secret)]
    {
        world.hook(&payload);
    }
    world.hook(&event(secret, &json!({})));
    world.hook_bytes(format!("{{\"hook_event_name\":\"{secret}").as_bytes());
    for name in ["debug.log", "journal.jsonl"] {
        let path = world.state_file(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.is_empty() && !text.contains("horse"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let dir = world.state_file("");
    assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
}

/// tmux 3.2 to 3.7 keeps what an `if` with a command string has run for as long as it lives.
#[test]
fn a_server_does_not_grow_with_the_events() {
    let memory = |world: &World| -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", world.server_pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let world = World::new();
    // The server keeps the texts of this many commands, for `show-messages`.
    world.tmux(&["set-option", "-s", "message-limit", "10"]);
    let turn = |number: u32| {
        world.hook(&prompt(&format!("go {number}")));
        for step in 0..2 {
            let command = format!("turn {number} step {step}");
            world.hook(&bash("PreToolUse", &command));
            world.hook(&bash("PermissionRequest", &command));
            world.hook(&bash("PostToolUse", &command));
        }
        world.hook(&stop(&format!("turn {number}")));
    };
    (0..20).for_each(turn);
    let before = memory(&world);
    (20..60).for_each(turn);
    let grown = memory(&world).saturating_sub(before);
    // A third of them start a notification, which talks to the server, too.
    assert!(grown < 1024, "{grown} KiB more after 320 events");
}
