//! Events: verbatim, in order, once, and where that cannot be, declared.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hub_world::{Event, Hub, Poster, Stream, memory, raise_file_limit, world};
use crate::planted::Dice;
use crate::world::poll_until;

fn numbered(session: &str, number: usize, padding: usize) -> Value {
    json!({ "hook_event_name": "Stop", "session_id": session, "n": number, "x": "x".repeat(padding) })
}

fn number(event: &Event) -> Option<u64> {
    // Parsing megabytes to find one number would take longer than what is tested.
    let (_, rest) = event.data.split_once("\"n\":").filter(|_| event.kind == "hook")?;
    rest.split(',').next()?.parse().ok()
}

/// All events of the spool, as they stand there.
fn spooled(hub_dir: &std::path::Path) -> Vec<Value> {
    let mut files: Vec<_> =
        fs::read_dir(hub_dir.join("spool")).unwrap().flatten().map(|f| f.path()).collect();
    files.sort();
    let mut events = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{file:?} ends in the middle of a line");
        events.extend(
            text.lines().map(|line| serde_json::from_str::<Value>(line).expect("no line is torn")),
        );
    }
    events
}

#[test]
fn the_payload_goes_through_byte_for_byte() {
    let world = world();
    let hub = Hub::start(&world);
    let mut all = hub.stream("/events", None);
    all.until(|event| event.is_hub("hello"));
    let odd = "{\"session_id\":\"s\", \"hook_event_name\" : \"Odd\",\t\"n\":1e400,\"n\":-0.0,\"half\":\"\\ud83d\",\"é\":\"\\u00e9\"}";
    let lines = "{\r\n  \"session_id\": \"s\",\n  \"hook_event_name\": \"Lines\"\r}";
    let deep = format!(
        r#"{{"session_id":"s","hook_event_name":"Deep","x":{}{}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let fixtures = fs::read_dir("tests/fixtures/payloads").unwrap().flatten();
    let fixtures: Vec<String> =
        fixtures.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
    for payload in [odd, lines, &deep].into_iter().chain(fixtures.iter().map(String::as_str)) {
        let answer =
            hub.send(&hub.token, "POST", "/events", Some(format!(" {payload}\n").as_bytes()));
        assert_eq!(answer.status, 202, "{answer:?} {payload}");
        let event = all.until(|event| event.kind == "hook");
        assert_eq!(event.id.as_deref(), answer.json["id"].as_str());
        let plain = payload.trim().replace("\r\n", "\n").replace('\r', "\n");
        assert_eq!(event.data, plain);
    }
    assert_eq!(hub.metric("events_total"), 3 + fixtures.len() as u64);
}

#[test]
fn what_is_no_event_is_refused() {
    let world = world();
    let hub = Hub::start(&world);
    for (body, status, code) in [
        (&b""[..], 400, "invalid_json"),
        (b"{", 400, "invalid_json"),
        (b"{} {}", 400, "invalid_json"),
        (b"\xff\xfe", 400, "invalid_json"),
        (b"{\"session_id\":\"\xff\",\"hook_event_name\":\"Stop\"}", 400, "invalid_json"),
        (b"{\"session_id\":\"a\x01\",\"hook_event_name\":\"Stop\"}", 400, "invalid_json"),
        (b"null", 422, "missing_field"),
        (b"[]", 422, "missing_field"),
        (b"[\"Stop\",\"s\"]", 422, "missing_field"),
        (b"{}", 422, "missing_field"),
        (b"{\"session_id\":\"s\"}", 422, "missing_field"),
        (b"{\"hook_event_name\":\"Stop\"}", 422, "missing_field"),
        (b"{\"hook_event_name\":\"Stop\",\"session_id\":\"../../x\"}", 422, "missing_field"),
    ] {
        let answer = hub.send(&hub.token, "POST", "/events", Some(body));
        assert_eq!(
            (answer.status, answer.code()),
            (status, code),
            "{:?}",
            String::from_utf8_lossy(body)
        );
    }
    assert_eq!((hub.metric("events_total"), hub.metric("events_refused_total")), (0, 13));
    assert_eq!(spooled(&hub.dir()).len(), 0);
}

#[test]
fn the_stream_says_what_it_is_and_lives() {
    let world = world();
    let hub = Hub::start_with(&world, &["--heartbeat", "1"]);
    hub.post_event(&numbered("s", 1, 0));
    let mut stream = hub.stream("/sessions/s/events", None);
    assert!(stream.head.contains("content-type: text/event-stream\r\n"), "{}", stream.head);
    assert!(stream.head.contains("cache-control: no-store\r\n"), "{}", stream.head);
    assert!(stream.head.contains("x-accel-buffering: no\r\n"), "{}", stream.head);
    let hello = stream.next().unwrap();
    assert!(hello.is_hub("hello") && hello.id.is_none());
    assert_eq!(hello.json()["boot_id"], hub.request("GET", "/healthz", &[], b"").json["boot_id"]);
    assert_eq!(
        number(&stream.next().unwrap()),
        Some(1),
        "a session's stream begins with its first event"
    );
    assert!(stream.next().unwrap().is_hub("ping"));
    let mut all = hub.stream("/events", None);
    all.until(|event| event.is_hub("hello"));
    hub.post_event(&numbered("s", 2, 0));
    assert_eq!(
        number(&all.until(|event| event.kind == "hook")),
        Some(2),
        "the one of all begins now"
    );
    let oldest = hub.stream("/events?after=oldest", None).until(|event| event.kind == "hook");
    assert_eq!(number(&oldest), Some(1));
    let id = oldest.id.unwrap();
    let next = hub
        .stream(&format!("/events?after={id}"), Some("nonsense"))
        .until(|event| event.kind == "hook");
    assert_eq!(number(&next), Some(2), "the address wins over the header");
    for bad in ["nonsense", "-", "1", "x-1"] {
        let answer = hub.get(&format!("/events?after={bad}"));
        assert_eq!((answer.status, answer.code()), (400, "invalid_cursor"));
    }
    assert_eq!(hub.get("/sessions/unknown/events").code(), "session_not_found");
}

#[test]
fn ten_thousand_events_are_seen_once_and_in_order_by_readers_that_come_and_go() {
    const EVENTS: usize = 10_000;
    let world = world();
    // Small rings, so that late readers need the disk.
    let hub = Hub::start_with(&world, &["--ring", "1", "--memory", "2"]);
    hub.post_event(&numbered("s", 0, 0));
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|reader: u64| {
                let hub = &hub;
                scope.spawn(move || read_with_breaks(hub, reader, EVENTS))
            })
            .collect();
        scope.spawn(|| post_all(&hub, 1, EVENTS));
        for reader in readers {
            let seen = reader.join().unwrap();
            let expected: Vec<u64> = (0..=EVENTS as u64).collect();
            assert_eq!(seen.len(), expected.len());
            assert_eq!(seen, expected);
        }
    });
    assert_eq!(hub.metric("gaps_total"), 0);
}

/// One connection that is kept, as a poster that has much to say would do.
fn post_all(hub: &Hub<'_>, first: usize, last: usize) {
    let mut poster = Poster::new(hub);
    for number in first..=last {
        assert_eq!(poster.post(&numbered("s", number, 300)), Some(202));
    }
}

fn read_with_breaks(hub: &Hub<'_>, seed: u64, last: usize) -> Vec<u64> {
    let mut dice = Dice(seed);
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    while seen.last() != Some(&(last as u64)) {
        // Either stream goes on where the other one was left.
        let is_first = cursor.is_none();
        let path = if is_first || dice.one_in(2) { "/sessions/s/events" } else { "/events" };
        let mut stream = hub.stream(path, cursor.as_deref());
        let until = dice.below(3000);
        for _ in 0..until {
            let event = stream.next().expect("the stream goes on");
            if let Some(number) = number(&event) {
                seen.push(number);
                cursor = event.id;
            }
            if seen.last() == Some(&(last as u64)) {
                break;
            }
        }
        if dice.one_in(4) {
            thread::sleep(Duration::from_millis(dice.below(200) as u64));
        }
    }
    seen
}

#[test]
fn what_is_nowhere_any_more_is_declared_with_its_number() {
    let world = world();
    let hub = Hub::start_with(&world, &["--ring", "1", "--memory", "1"]);
    let first = hub.post_event(&numbered("s", 0, 0));
    let mut poster = Poster::new(&hub);
    for number in 1..=30 {
        poster.post(&numbered("s", number, 100_000));
    }
    // The rings hold about ten of these, and the disk forgets.
    for file in fs::read_dir(hub.dir().join("spool")).unwrap().flatten() {
        fs::write(file.path(), "").unwrap();
    }
    for path in ["/sessions/s/events", "/events"] {
        let mut stream = hub.stream(path, Some(&first));
        stream.until(|event| event.is_hub("hello"));
        let gap = stream.next().unwrap();
        assert!(gap.is_hub("gap"), "{gap:?}");
        let gap = gap.json();
        assert_eq!(gap["from"], json!(first));
        let missing = gap["count"].as_u64().unwrap();
        for expected in missing + 1..=30 {
            assert_eq!(number(&stream.next().unwrap()), Some(expected));
        }
        assert!((15..30).contains(&missing), "{missing}");
    }
    let foreign = hub
        .stream("/events", Some("0000000000001-7"))
        .until(|event| event.kind == "hub" && !event.is_hub("hello"));
    assert_eq!((&foreign.json()["type"], &foreign.json()["count"]), (&json!("gap"), &Value::Null));
}

#[test]
fn a_restarted_hub_goes_on_where_a_reader_was() {
    let world = world();
    let hub = Hub::start(&world);
    let ids: Vec<String> = (0..5).map(|n| hub.post_event(&numbered("s", n, 10))).collect();
    hub.kill();
    let hub = Hub::start(&world);
    hub.post_event(&numbered("s", 5, 10));
    for path in ["/events", "/sessions/s/events"] {
        let mut stream = hub.stream(path, Some(&ids[1]));
        stream.until(|event| event.is_hub("hello"));
        let numbers: Vec<u64> = (0..4).map(|_| number(&stream.next().unwrap()).unwrap()).collect();
        assert_eq!(numbers, [2, 3, 4, 5]);
    }
}

#[test]
fn the_history_of_a_session_goes_back_behind_a_restart() {
    let world = world();
    let hub = Hub::start(&world);
    let id = "5e55-1";
    world.hook(&json!({ "hook_event_name": "SessionStart", "session_id": id, "cwd": "/p", "source": "startup" }));
    for n in 0..30 {
        hub.post_event(&numbered(id, n, 0));
        hub.post_event(&numbered("other", n, 0));
    }
    hub.kill();
    let hub = Hub::start(&world);
    let read = |limit: usize| {
        let (mut numbers, mut after) = (Vec::new(), String::new());
        loop {
            let page = hub.get(&format!("/sessions/{id}/history?limit={limit}{after}")).json;
            let events = page["events"].as_array().unwrap_or_else(|| panic!("{page}"));
            if events.is_empty() {
                return numbers;
            }
            assert!(events.len() <= limit);
            numbers.extend(events.iter().map(|event| event["data"]["n"].as_u64().unwrap()));
            after = format!("&after={}", page["next"].as_str().unwrap());
        }
    };
    assert_eq!(read(7), (0..30).collect::<Vec<_>>(), "before it has said anything new");
    for n in 30..35 {
        hub.post_event(&numbered(id, n, 0));
    }
    assert_eq!(read(7), (0..35).collect::<Vec<_>>());
    assert_eq!(read(1000), (0..35).collect::<Vec<_>>());
}

#[test]
fn a_session_of_a_pane_has_a_stream_before_its_first_event() {
    let world = world();
    let hub = Hub::start(&world);
    world.hook(&json!({ "hook_event_name": "SessionStart", "session_id": "5e55-1", "cwd": "/p", "source": "startup" }));
    assert_eq!(hub.get("/sessions/5e55-1/history").json["events"], json!([]));
    let mut stream = hub.stream("/sessions/5e55-1/events", None);
    assert_eq!(stream.status, 200, "{}", stream.head);
    stream.until(|event| event.is_hub("hello"));
    hub.post_event(&numbered("5e55-1", 1, 0));
    assert_eq!(number(&stream.until(|event| event.kind == "hook")), Some(1));
}

#[test]
fn what_was_acknowledged_survives_kill_9_whole_and_under_its_own_id() {
    const KILLS: usize = 20;
    let world = world();
    let acknowledged = Mutex::new(Vec::new());
    for round in 0..KILLS {
        let hub = Hub::start(&world);
        let done = AtomicBool::new(false);
        let posted = AtomicU64::new(0);
        let connections: Vec<Poster> = (0..3).map(|_| Poster::new(&hub)).collect();
        thread::scope(|scope| {
            for (poster, mut connection) in connections.into_iter().enumerate() {
                let (done, posted, acknowledged) = (&done, &posted, &acknowledged);
                scope.spawn(move || {
                    for number in 0.. {
                        let name = format!("{round}-{poster}-{number}");
                        let payload = json!({ "hook_event_name": "Stop", "session_id": "s", "name": name, "x": "x".repeat(number % 5000) });
                        let Some(id) = connection.post_for_id(&payload) else { break };
                        acknowledged.lock().unwrap().push((id, name));
                        posted.fetch_add(1, Ordering::Relaxed);
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
            }
            let enough = 20 + 7 * round as u64;
            poll_until("enough was posted", || posted.load(Ordering::Relaxed) > enough);
            hub.signal(rustix::process::Signal::KILL);
            done.store(true, Ordering::Relaxed);
        });
    }
    let hub = Hub::start(&world);
    let stored = spooled(&hub.dir());
    let known: BTreeSet<(String, String)> = stored
        .iter()
        .map(|event| {
            (
                event["id"].as_str().unwrap().to_owned(),
                event["raw"]["name"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let ids: BTreeSet<&String> = known.iter().map(|(id, _)| id).collect();
    assert_eq!((ids.len(), known.len()), (stored.len(), stored.len()), "no id is used twice");
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() > KILLS * 20);
    for event in &acknowledged {
        assert!(known.contains(event), "{event:?} was acknowledged and is gone");
    }
}

#[test]
fn readers_that_do_not_read_cost_a_bounded_memory_and_nobody_else_anything() {
    const EVENTS: usize = 40;
    let world = world();
    let hub = Hub::start_with(&world, &["--ring", "8", "--memory", "32"]);
    hub.post_event(&numbered("s", 0, 0));
    let stalled: Vec<Stream> = (0..20).map(|_| hub.stream("/sessions/s/events", None)).collect();
    let mut healthy = hub.stream("/sessions/s/events", None);
    let largest = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            (0..=EVENTS as u64).all(|expected| {
                let event = healthy.until(|event| event.kind == "hook" || event.is_hub("gap"));
                number(&event) == Some(expected)
            })
        });
        let mut largest = 0;
        let mut poster = Poster::new(&hub);
        for number in 1..=EVENTS {
            let status = poster.post(&numbered("s", number, 5 * 1024 * 1024));
            assert_eq!(status, Some(202), "event {number}:\n{}", hub.log());
            largest = largest.max(memory(hub.child.id()));
        }
        assert!(reader.join().unwrap(), "the one that reads gets everything");
        largest
    });
    assert!(largest < (32 + 64) * 1024, "{largest} KiB");
    poll_until("those that do not read are closed", || hub.metric("slow_readers_total") == 20);
    drop(stalled);
}

#[test]
fn streams_are_bounded_in_number_and_leave_nothing_behind() {
    raise_file_limit();
    let world = world();
    let hub = Hub::start_with(&world, &["--heartbeat", "1"]);
    let open: Vec<Stream> = (0..1024).map(|_| hub.stream("/events", None)).collect();
    assert!(open.iter().all(|stream| stream.status == 200));
    let used = memory(hub.child.id());
    assert!(used < 64 * 1024, "{used} KiB with 1,024 idle streams");
    let refused = hub.get("/events");
    assert_eq!((refused.status, refused.code()), (429, "too_many_streams"));
    assert!(refused.header("retry-after").is_some());
    drop(open);
    poll_until("none is left", || hub.metric("streams") == 0);
    let before = memory(hub.child.id());
    for _ in 0..1000 {
        drop(hub.stream("/events", None));
    }
    poll_until("none is left of those that broke off", || hub.metric("streams") == 0);
    let grown = memory(hub.child.id()).saturating_sub(before);
    assert!(grown < 5 * 1024, "{grown} KiB more");
}

#[test]
fn readers_that_come_back_and_do_not_read_cost_no_more() {
    const EVENTS: usize = 12;
    let world = world();
    let hub = Hub::start_with(&world, &["--ring", "1", "--memory", "1"]);
    let first = hub.post_event(&numbered("s", 0, 0));
    let mut poster = Poster::new(&hub);
    for number in 1..=EVENTS {
        assert_eq!(poster.post(&numbered("s", number, 5 * 1024 * 1024)), Some(202));
    }
    // What they missed is on the disk only.
    let before = memory(hub.child.id());
    let stalled: Vec<Stream> =
        (0..40).map(|_| hub.stream("/sessions/s/events", Some(&first))).collect();
    let mut healthy = hub.stream("/events", Some(&first));
    let mut largest = 0;
    for expected in 1..=EVENTS as u64 {
        let event = healthy.until(|event| event.kind == "hook" || event.is_hub("gap"));
        assert_eq!(number(&event), Some(expected));
        assert_eq!(
            event.data.len(),
            numbered("s", 0, 5 * 1024 * 1024).to_string().len() + usize::from(expected > 9)
        );
        largest = largest.max(memory(hub.child.id()));
    }
    assert!(largest < before + 64 * 1024, "{before} KiB before, {largest} KiB with them");
    poll_until("those that do not read are closed", || hub.metric("slow_readers_total") == 40);
    drop(stalled);
}

#[test]
fn a_full_disk_costs_the_spool_and_not_the_events() {
    let world = world();
    let hub = Hub::start(&world);
    let mut stream = hub.stream("/events", None);
    stream.until(|event| event.is_hub("hello"));
    // A directory that is gone refuses like a disk that is full.
    fs::remove_dir_all(hub.dir().join("spool")).unwrap();
    let answer = hub.ask("POST", "/events", Some(&numbered("s", 1, 0)));
    assert_eq!((answer.status, &answer.json["spooled"]), (202, &json!(false)));
    assert_eq!(number(&stream.until(|event| event.kind == "hook")), Some(1));
    assert_eq!(hub.metric("spool_errors_total"), 1);
    assert!(hub.log().contains("not written to the disk"));
    fs::create_dir(hub.dir().join("spool")).unwrap();
    assert_eq!(hub.ask("POST", "/events", Some(&numbered("s", 2, 0))).json["spooled"], Value::Null);
}

#[test]
fn history_is_the_same_in_pages() {
    let world = world();
    let hub = Hub::start(&world);
    for n in 0..25 {
        hub.post_event(&numbered("s", n, 0));
    }
    let (mut numbers, mut after) = (Vec::new(), "oldest".to_owned());
    for _ in 0..3 {
        let page = hub.get(&format!("/sessions/s/history?limit=10&after={after}")).json;
        let events = page["events"].as_array().unwrap();
        numbers.extend(events.iter().map(|event| event["data"]["n"].as_u64().unwrap()));
        after = page["next"].as_str().unwrap().to_owned();
        assert_eq!((&page["missing"], &page["ended"]), (&json!(0), &json!(false)));
    }
    assert_eq!(numbers, (0..25).collect::<Vec<_>>());
    assert_eq!(hub.get("/sessions/s/history?limit=0").code(), "invalid_limit");
    assert_eq!(hub.get("/sessions/s/history?after=x").code(), "invalid_cursor");
}

#[test]
fn readers_of_everything_hear_of_changes_in_panes() {
    let world = world();
    let hub = Hub::start(&world);
    let mut stream = hub.stream("/events", None);
    stream.until(|event| event.is_hub("hello"));
    world.hook(&json!({ "hook_event_name": "SessionStart", "session_id": "5e55-1", "cwd": "/p", "source": "startup" }));
    stream.until(|event| event.is_hub("sessions_changed"));
    assert_eq!(hub.session("5e55-1")["state"], "idle");
}

#[test]
fn hooks_of_sessions_outside_of_the_hub_are_collected_too() {
    let world = world();
    let hub = Hub::start(&world);
    let mut hook = world.cld(&["hook"]);
    hook.env("CLAUDE_HUB_COLLECTOR_URL", format!("http://{}", hub.address));
    let token = world.home().join(".local/state/cld/hub/token.collect");
    hook.env("CLAUDE_HUB_COLLECTOR_TOKEN_FILE", token);
    let payload = json!({ "hook_event_name": "SessionStart", "session_id": "abcd-1", "source": "startup", "cwd": "/p" });
    crate::world::assert_silent(&crate::world::run(hook, format!("{payload}\n").as_bytes()));
    let mut stream = hub.stream("/sessions/abcd-1/events", None);
    assert_eq!(stream.until_hook("SessionStart").data, payload.to_string());
}
