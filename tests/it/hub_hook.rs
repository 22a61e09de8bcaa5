//! Whatever the hub does, the hook does not get in Claude's way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::hub_world::{Hub, memory, said, world};
use crate::world::{World, assert_silent, poll_until, run};

/// Two seconds for the hub, and room for a busy machine.
const WORST: Duration = Duration::from_secs(2 + 10);

fn hook(world: &World, address: &str, token: &str) -> Duration {
    let payload =
        json!({ "hook_event_name": "Stop", "session_id": "5e55-1", "last_assistant_message": "x" });
    let began = Instant::now();
    forward(world, address, token, payload.to_string().as_bytes());
    began.elapsed()
}

/// Runs the hook with a collector.
#[track_caller]
fn forward(world: &World, address: &str, token: &str, payload: &[u8]) {
    let mut hook = world.cld(&["hook"]);
    hook.env("CLAUDE_HUB_COLLECTOR_URL", format!("http://{address}"));
    hook.env("CLAUDE_HUB_COLLECTOR_TOKEN", token);
    assert_silent(&run(hook, payload));
}

#[test]
fn a_hub_that_is_stopped_or_gone_costs_the_hook_a_bounded_time_and_no_error() {
    let world = world();
    let hub = Hub::start(&world);
    let token = said(&world, &["hub", "token", "--scope", "collect"]);
    hook(&world, &hub.address, &token);
    assert_eq!(hub.metric("events_total"), 1);
    hub.signal(Signal::STOP);
    let stopped = hook(&world, &hub.address, &token);
    assert!(stopped < WORST, "{stopped:?}");
    hub.signal(Signal::CONT);
    assert_eq!(world.meta("latest_hook_event"), "Stop", "and the pane is told all the same");
    hook(&world, &hub.address, "wrong");
    let address = hub.address.clone();
    hub.shut_down();
    let refused = hook(&world, &address, &token);
    assert!(refused < WORST, "{refused:?}");
}

#[test]
fn a_tmux_server_that_hangs_keeps_no_event_from_the_hub() {
    let hub_world = World::bare();
    let hub = Hub::start(&hub_world);
    let token = said(&hub_world, &["hub", "token", "--scope", "collect"]);
    let world = World::new().with("CLD_PATIENCE", "1");
    let server = rustix::process::Pid::from_raw(world.server_pid().parse().unwrap()).unwrap();
    rustix::process::kill_process(server, Signal::STOP).unwrap();
    hook(&world, &hub.address, &token);
    rustix::process::kill_process(server, Signal::CONT).unwrap();
    assert_eq!(hub.metric("events_total"), 1);
}

/// A payload of about so many bytes.
fn large(session: &str, bytes: usize) -> Vec<u8> {
    let start = format!(r#"{{"session_id":"{session}","hook_event_name":"PostToolUse","x":""#);
    [start.as_bytes(), &vec![b'x'; bytes], br#""}"#].concat()
}

#[test]
fn a_payload_that_is_too_large_is_declared_in_its_stream_and_changes_nothing() {
    const MIB: usize = 1 << 20;
    let world = world();
    let hub = Hub::start_with(&world, &["--collector-listen", "127.0.0.1:0"]);
    let token = said(&world, &["hub", "token", "--scope", "collect"]);
    let status: Value = serde_json::from_str(&said(&world, &["hub", "status", "--json"])).unwrap();
    let collector = status["collector"].as_str().unwrap().trim_start_matches("http://").to_owned();
    let mut stream = hub.stream("/events", None);
    stream.until(|event| event.is_hub("hello"));
    // The hub refuses the first one for its size, and the hook keeps nothing of the second one.
    for (address, bytes) in
        [(&hub.address, 33 * MIB), (&hub.address, 65 * MIB), (&collector, 65 * MIB)]
    {
        let payload = large("5e55-1", bytes);
        let before = hub.metric("oversize_total");
        poll_until("the hook has told it in time", || {
            forward(&world, address, &token, &payload);
            hub.metric("oversize_total") > before
        });
        let told = stream.until(|event| event.kind == "hook" || event.is_hub("oversize"));
        assert_eq!(
            told.json(),
            json!({
                "type": "oversize",
                "session_id": "5e55-1",
                "hook_event_name": "PostToolUse",
                "bytes": payload.len(),
            })
        );
        let history = hub.get("/sessions/5e55-1/history").json;
        assert_eq!(history["events"][0]["event"], "hub", "it is in the stream of its session");
        let spool = fs::read_dir(hub.dir().join("spool")).unwrap().flatten();
        let spooled: String = spool.map(|f| fs::read_to_string(f.path()).unwrap()).collect();
        assert!(spooled.contains(told.id.as_deref().unwrap()), "and on the disk");
    }
    assert_eq!(hub.metric("events_total"), 0, "no event was made up");
}

#[test]
fn who_may_post_an_event_may_say_that_it_was_too_large() {
    let world = world();
    let hub = Hub::start(&world);
    let (own, other) = (hub.start_session(""), hub.start_session(""));
    let before = [&own, &other].map(|id| hub.wait_for_state(id, "idle"));
    let token = crate::hub_sessions::token_of(&hub, &own);
    let post = |token: &str, body: &Value| {
        hub.send(token, "POST", "/events/oversize", Some(body.to_string().as_bytes()))
    };
    let marker = |id: &Value| json!({ "session_id": id, "hook_event_name": "Stop", "bytes": 7 });
    let mut stream = hub.stream(&format!("/sessions/{own}/events"), None);
    for id in [json!(own), json!(null)] {
        assert_eq!(post(&token, &marker(&id)).status, 202, "{id}");
        let told = stream.until(|event| event.is_hub("oversize")).json();
        assert_eq!((&told["session_id"], &told["bytes"]), (&id, &json!(7)));
    }
    for (token, body, status, code) in [
        (&token, marker(&json!(other)), 403, "wrong_launch"),
        (&hub.token, marker(&json!(null)), 422, "missing_field"),
        (&hub.token, marker(&json!("../x")), 422, "missing_field"),
        (&hub.token, marker(&json!(7)), 422, "invalid_field"),
        (&hub.token, json!({ "session_id": own }), 422, "invalid_field"),
        (&hub.token, json!({ "session_id": own, "bytes": -1 }), 422, "invalid_field"),
    ] {
        let answer = post(token, &body);
        assert_eq!((answer.status, answer.code()), (status, code), "{body}");
    }
    let name =
        json!({ "session_id": own, "hook_event_name": "\u{1b}[2J\n".repeat(99), "bytes": 7 });
    assert_eq!(post(&hub.token, &name).status, 202);
    let told = stream.until(|event| event.is_hub("oversize")).json();
    assert!(!told["hook_event_name"].as_str().unwrap().contains(char::is_control), "{told}");
    for (id, before) in [&own, &other].into_iter().zip(before) {
        assert_eq!(hub.session(id), before, "nothing is known of what was in it");
    }
}

/// Every process with its parent, but for those that have ended.
fn processes() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let process = |name: std::ffi::OsString| {
        let pid = name.to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let is_alive = fields.next()? != "Z";
        is_alive.then_some((pid, fields.next()?.parse().ok()?))
    };
    entries.filter_map(|entry| process(entry.file_name())).collect()
}

#[test]
fn two_hundred_hooks_at_once_start_one_process_each_and_leave_none_behind() {
    const HOOKS: usize = 200;
    const MARK: &str = "CLD_TEST_TWO_HUNDRED_HOOKS";
    let hub_world = World::bare();
    let hub = Hub::start(&hub_world);
    let token = said(&hub_world, &["hub", "token", "--scope", "collect"]);
    let world = World::new()
        .with("CLAUDE_HUB_COLLECTOR_URL", &format!("http://{}", hub.address))
        .with("CLAUDE_HUB_COLLECTOR_TOKEN", &token)
        .with("CLAUDE_TMUX_DEBUG", "1")
        .with(MARK, "1");
    let mut hooks: Vec<Child> = (0..HOOKS)
        .map(|_| {
            let mut hook = world.cld(&["hook"]);
            hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            hook.spawn().unwrap()
        })
        .collect();
    for (number, hook) in hooks.iter_mut().enumerate() {
        let payload = json!({ "hook_event_name": "Stop", "session_id": "5e55-1", "n": number });
        hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    }
    let pids: BTreeSet<u32> = hooks.iter().map(Child::id).collect();
    let mut most = 0;
    poll_until("all have ended", || {
        let parents = processes().into_iter().map(|(_, parent)| parent);
        let mut children = BTreeMap::<u32, usize>::new();
        for parent in parents.filter(|parent| pids.contains(parent)) {
            *children.entry(parent).or_default() += 1;
        }
        most = most.max(children.into_values().max().unwrap_or(0));
        hooks.iter_mut().all(|hook| hook.try_wait().unwrap().is_some())
    });
    assert!(most <= 1, "{most} processes of one hook at the same time");
    for hook in hooks {
        assert_silent(&hook.wait_with_output().unwrap());
    }
    poll_until("nothing is left of them", || {
        processes().into_iter().all(|(pid, _)| {
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            !String::from_utf8_lossy(&variables).contains(MARK)
        })
    });
    let log = fs::read_to_string(world.state_file("debug.log")).unwrap();
    let forwarded = |outcome: &str| log.matches(&format!("forwarding {outcome}")).count();
    assert_eq!(forwarded("done") + forwarded("failed"), HOOKS, "{log}");
    assert!(hub.metric("events_total") >= forwarded("done") as u64, "what was taken in is there");
    assert!(memory(hub.child.id()) < 64 * 1024);
    poll_until("no connection is left", || hub.metric("connections") == 1);
    assert_eq!(world.meta("latest_hook_event"), "Stop");
}

#[test]
fn everything_else_works_the_same_with_and_without_a_hub() {
    let world = world();
    world.hook(&json!({ "hook_event_name": "SessionStart", "session_id": "5e55-1", "cwd": "/p", "source": "startup" }));
    world.hook(&json!({ "hook_event_name": "Stop", "session_id": "5e55-1", "last_assistant_message": "done" }));
    let outputs = || ["ls", "queue"].map(|command| said(&world, &[command, "--json"]));
    let without = outputs();
    let hub = Hub::start(&world);
    assert_eq!(outputs(), without);
    let listed: serde_json::Value = serde_json::from_str(&without[0]).unwrap();
    assert_eq!(hub.get("/sessions").json["sessions"][0]["title"], listed["sessions"][0]["title"]);
    hub.shut_down();
    assert_eq!(outputs(), without);
}
