//! Whatever the hub does, the hook does not get in Claude's way.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::hub_world::{Hub, said, world};
use crate::world::{World, assert_silent, run};

/// Two seconds for the hub, and room for a busy machine.
const WORST: Duration = Duration::from_secs(2 + 10);

fn hook(world: &World, address: &str, token: &str) -> Duration {
    let mut hook = world.cld(&["hook"]);
    hook.env("CLAUDE_HUB_COLLECTOR_URL", format!("http://{address}"));
    hook.env("CLAUDE_HUB_COLLECTOR_TOKEN", token);
    let payload =
        json!({ "hook_event_name": "Stop", "session_id": "5e55-1", "last_assistant_message": "x" });
    let began = Instant::now();
    assert_silent(&run(hook, payload.to_string().as_bytes()));
    began.elapsed()
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
