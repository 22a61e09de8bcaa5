//! Whatever the hub does, the hook does not get in Claude's way.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::hub_world::{Hub, said, world};
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
        let spool = std::fs::read_dir(hub.dir().join("spool")).unwrap().flatten();
        let spooled: String = spool.map(|f| std::fs::read_to_string(f.path()).unwrap()).collect();
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
