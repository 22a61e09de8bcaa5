//! Sessions of the hub: started, seen, stopped, and nothing else touched.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::hub_world::{Event, Hub, log_of, new_id, request_on, world};
use crate::world::{poll_until, wait_for};

/// What a stop may take, and room for a busy machine.
const STOP: Duration = Duration::from_secs(6 + 4);

fn tmux_sessions(hub: &Hub<'_>) -> Vec<String> {
    let listed = hub.world.tmux(&["list-sessions", "-F", "#{session_name}"]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_session_is_started_in_its_directory_and_is_ready_when_it_says_so() {
    let world = world();
    let hub = Hub::start(&world);
    let id = new_id();
    let answer =
        hub.create(&id, &json!({ "name": "a name", "env": { "FAKE_CLAUDE": "slow-start=300" } }));
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("location"), Some(&*format!("/sessions/{id}")));
    let created = answer.json;
    assert_eq!((&created["state"], &created["managed"]), (&json!("starting"), &json!(true)));
    let name = format!("claude-{}", &id[..8]);
    assert_eq!(created["tmux"]["session"], json!(name));
    assert!(tmux_sessions(&hub).contains(&name));

    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    let start = stream.until_hook("SessionStart").json();
    assert_eq!(start["session_id"], json!(id));
    assert_eq!(start["cwd"], json!(fs::canonicalize(world.path("project")).unwrap()));
    let ready = hub.wait_for_state(&id, "idle");
    assert_eq!(ready["title"], "a name");
    assert_eq!(ready["launch_id"], created["launch_id"]);
    let listed = hub.get("/sessions").json;
    let ids: Vec<&Value> =
        listed["sessions"].as_array().unwrap().iter().map(|s| &s["session_id"]).collect();
    assert_eq!(ids, [&json!(id)], "once, although it is in a pane too");
}

#[test]
fn an_id_is_started_once_and_the_refusal_shows_what_is_there() {
    let world = world();
    let hub = Hub::start_with(&world, &["--max-sessions", "1"]);
    let id = hub.start_session("");
    let again = hub.create(&id.to_uppercase(), &json!({}));
    assert_eq!((again.status, again.code()), (409, "session_exists"));
    assert_eq!(again.json["session"]["session_id"], json!(id));
    let other = hub.create(&new_id(), &json!({}));
    assert_eq!((other.status, other.code()), (429, "too_many_sessions"));

    hub.ask("DELETE", &format!("/sessions/{id}"), None);
    let same_name = format!("{}{}", &id[..8], &new_id()[8..]);
    world.tmux(&["new-session", "-d", "-s", &format!("claude-{}", &id[..8]), "sleep 1000"]);
    let taken = hub.create(&same_name, &json!({}));
    assert_eq!((taken.status, taken.code()), (409, "tmux_session_exists"));
    assert_eq!(hub.get(&format!("/sessions/{same_name}")).status, 404, "nothing is left of it");
}

#[test]
fn what_cannot_be_started_is_refused_with_a_reason() {
    let world = world();
    let hub = Hub::start(&world);
    let id = new_id();
    for (fields, status, code) in [
        (json!({ "session_id": "x" }), 422, "invalid_session_id"),
        (json!({ "session_id": null }), 422, "invalid_session_id"),
        (json!({ "cwd": "/nonexistent" }), 422, "invalid_cwd"),
        (json!({ "cwd": null }), 422, "invalid_cwd"),
        (json!({ "args": ["--settings", "x"] }), 422, "forbidden_arg"),
        (json!({ "args": "--model" }), 422, "invalid_field"),
        (json!({ "nonsense": 1 }), 422, "invalid_field"),
        (json!({ "resume": true }), 422, "nothing_to_resume"),
    ] {
        let answer = hub.create(&id, &fields);
        assert_eq!((answer.status, answer.code()), (status, code), "{fields}");
    }
    let answer = hub.send(&hub.token, "POST", "/sessions", Some(b"{"));
    assert_eq!((answer.status, answer.code()), (400, "invalid_json"));
    assert_eq!(hub.get("/sessions").json["sessions"], json!([]));
}

#[test]
fn a_session_that_was_used_before_is_resumed_and_not_started_anew() {
    let world = world();
    let id = new_id();
    let bucket = world.home().join(".claude/projects/-p");
    fs::create_dir_all(&bucket).unwrap();
    let record = json!({ "type": "user", "sessionId": id, "cwd": "/p" });
    fs::write(bucket.join(format!("{id}.jsonl")), format!("{record}\n")).unwrap();
    let hub = Hub::start(&world);
    let anew = hub.create(&id, &json!({}));
    assert_eq!((anew.status, anew.code()), (409, "session_id_used"));
    assert_eq!(hub.create(&id, &json!({ "resume": true })).status, 201);
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    assert_eq!(stream.until_hook("SessionStart").json()["source"], "resume");

    hub.ask("DELETE", &format!("/sessions/{id}"), None);
    hub.wait_for_state(&id, "ended");
    assert_eq!(hub.create(&id, &json!({ "resume": true })).status, 201, "{}", hub.log());
    hub.wait_for_state(&id, "idle");
    let listed = hub.get("/sessions").json;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "what it was before: {listed}");
}

#[test]
fn text_from_outside_reaches_neither_tmux_nor_a_shell() {
    let world = world();
    let hub = Hub::start(&world);
    let trap = world.path("trap");
    let nasty =
        format!("#(touch {t}) $(touch {t}) `touch {t}`; touch {t} \u{1b}[31m;", t = trap.display());
    let directory = world.path(&format!("#(touch trap) $(touch trap);'\"{}", "x".repeat(20)));
    fs::create_dir(&directory).unwrap();
    let id = new_id();
    let answer = hub.create(
        &id,
        &json!({ "cwd": directory, "name": nasty, "prompt": nasty, "env": { "X": nasty }, "args": ["--model", nasty] }),
    );
    assert_eq!(answer.status, 201, "{answer:?}");
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    let start = stream.until_hook("SessionStart").json();
    assert_eq!(start["cwd"], json!(fs::canonicalize(&directory).unwrap()));
    assert_eq!(stream.until_hook("UserPromptSubmit").json()["prompt"], json!(nasty));
    hub.wait_for_state(&id, "waiting");
    assert!(!trap.exists() && !directory.join("trap").exists());
    let shown =
        world.tmux(&["list-panes", "-a", "-F", "#{session_name} #{window_name} #{pane_title}"]);
    assert!(!shown.contains("touch") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn secrets_are_in_no_argument_no_tmux_variable_and_no_log() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    let session = hub.wait_for_state(&id, "idle");
    let pid = session["pid"].as_u64().unwrap();
    let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    let token = environment.split('\0').find_map(|v| v.strip_prefix("CLAUDE_HUB_COLLECTOR_TOKEN="));
    let token = token.unwrap();
    assert!(environment.contains(&format!("CLAUDE_HUB_COLLECTOR_URL=http://{}", hub.address)));
    for secret in [token, &hub.token] {
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&words).contains(secret), "{:?}", process.path());
        }
        for scope in ["-g", "-gh"] {
            let shown = world.tmux(&["show-environment", scope]);
            assert!(!shown.contains(secret));
        }
        assert!(!hub.log().contains(secret));
    }
    for file in ["token", "token.read", "token.collect", "hub.sock", "lock", "settings.json"] {
        let mode = fs::symlink_metadata(hub.dir().join(file)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    for dir in ["", "spool", "launches"] {
        assert_eq!(fs::metadata(hub.dir().join(dir)).unwrap().mode() & 0o777, 0o700, "{dir}");
    }
    for dir in ["spool", "launches"] {
        for file in fs::read_dir(hub.dir().join(dir)).unwrap().flatten() {
            assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600, "{file:?}");
        }
    }
}

#[test]
fn a_new_id_in_the_same_process_is_the_same_session() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    stream.until_hook("SessionStart");
    // Commands are never confirmed.
    let answer = hub.message(&id, &json!({ "text": "/clear", "wait_ms": 300 }));
    assert_eq!((answer.status, answer.code()), (504, "unconfirmed"));
    assert_eq!(stream.until_hook("SessionEnd").json()["reason"], "clear");
    let start = stream.until_hook("SessionStart").json();
    let new = start["session_id"].as_str().unwrap();
    assert_ne!(new, id);
    let session = hub.wait_for_state(&id, "idle");
    assert_eq!((&session["session_id"], &session["aliases"]), (&json!(new), &json!([id])));
    assert_eq!(hub.session(new), hub.session(&id));
    let ended = hub.ask("DELETE", &format!("/sessions/{new}"), None);
    assert_eq!(ended.json["session_end_seen"], true, "{ended:?}");
    let rest = stream.rest();
    assert_eq!(rest[0].json()["reason"], "other");
    assert!(rest[1].is_hub("session_ended") && rest.len() == 2, "{rest:?}");
}

/// The token with which a session posts its events.
pub(crate) fn token_of(hub: &Hub<'_>, id: &str) -> String {
    let pid = hub.session(id)["pid"].as_u64().unwrap();
    let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    let token = environment.split('\0').find_map(|v| v.strip_prefix("CLAUDE_HUB_COLLECTOR_TOKEN="));
    token.unwrap().to_owned()
}

#[test]
fn a_claude_that_a_session_starts_itself_is_heard_and_changes_nothing() {
    let world = world();
    let hub = Hub::start(&world);
    let (id, nested) = (hub.start_session(""), new_id());
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    stream.until_hook("SessionStart");
    let before = hub.wait_for_state(&id, "idle");
    let token = token_of(&hub, &id);
    // What `claude -p` in a tool of the session inherits and tells its hooks.
    let fire = |name: &str, fields: &Value| {
        let mut payload = json!({ "hook_event_name": name, "session_id": nested, "cwd": "/" });
        for (name, value) in fields.as_object().unwrap() {
            payload[name] = value.clone();
        }
        let mut hook = world.cld(&["hook"]);
        hook.env("CLAUDE_HUB_COLLECTOR_URL", format!("http://{}", hub.address));
        hook.env("CLAUDE_HUB_COLLECTOR_TOKEN", &token).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
        hook.env("CLAUDE_CODE_SESSION_ATTENDED", "0");
        crate::world::assert_silent(&crate::world::run(hook, payload.to_string().as_bytes()));
    };
    fire("SessionStart", &json!({ "source": "startup" }));
    fire("UserPromptSubmit", &json!({ "prompt": "summarise" }));
    fire("SessionEnd", &json!({ "reason": "other" }));
    for name in ["SessionStart", "UserPromptSubmit", "SessionEnd"] {
        assert_eq!(stream.until_hook(name).json()["session_id"], json!(nested), "no filter");
    }
    let after = hub.session(&id);
    for field in ["session_id", "aliases", "state"] {
        assert_eq!(after[field], before[field], "{field} in {after}");
    }
    let answer = hub.ask("DELETE", &format!("/sessions/{id}"), None);
    assert_eq!(answer.json["session_end_seen"], true);
    let rest = stream.rest();
    assert_eq!(rest[0].json()["session_id"], json!(id), "its own good-bye is waited for: {rest:?}");
    assert!(rest[1].is_hub("session_ended") && rest.len() == 2, "{rest:?}");
}

#[test]
fn a_session_that_has_ended_can_go_on_in_another_one() {
    let world = world();
    let hub = Hub::start(&world);
    let (ended, other) = (hub.start_session(""), hub.start_session(""));
    hub.wait_for_state(&ended, "idle");
    hub.wait_for_state(&other, "idle");
    hub.ask("DELETE", &format!("/sessions/{ended}"), None);
    hub.wait_for_state(&ended, "ended");
    // `/resume` in the other one.
    let token = token_of(&hub, &other);
    for payload in [
        json!({ "hook_event_name": "SessionEnd", "session_id": other, "reason": "resume" }),
        json!({ "hook_event_name": "SessionStart", "session_id": ended, "source": "resume" }),
        json!({ "hook_event_name": "UserPromptSubmit", "session_id": ended, "prompt": "go on" }),
    ] {
        let answer = hub.send(&token, "POST", "/events", Some(payload.to_string().as_bytes()));
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    let session = hub.session(&ended);
    assert_eq!(session["launch_id"], hub.session(&other)["launch_id"]);
    assert_eq!((&session["session_id"], &session["aliases"]), (&json!(ended), &json!([other])));
    let listed = hub.get("/sessions").json;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn fifty_times_the_good_bye_comes_before_the_end_of_the_stream() {
    let world = world();
    let hub = Hub::start_with(&world, &["--max-sessions", "64"]);
    // Many at the same time, with ends that come at once or take up to four seconds.
    for batch in 0..5 {
        thread::scope(|scope| {
            for number in 0..10 {
                let hub = &hub;
                scope.spawn(move || {
                    let slow = number * batch * 110;
                    let id = hub.start_session(&format!("slow-end={slow}"));
                    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
                    stream.until_hook("SessionStart");
                    let began = Instant::now();
                    let answer = hub.ask("DELETE", &format!("/sessions/{id}"), None);
                    assert_eq!(answer.status, 200, "{answer:?}");
                    assert_eq!(answer.json["session_end_seen"], true, "{slow} ms: {answer:?}");
                    // On a busy machine the last ones may be found still ending.
                    assert!(slow > 2500 || answer.json["forced"] == false, "{slow} ms: {answer:?}");
                    assert!(began.elapsed() < STOP, "{:?}", began.elapsed());
                    let rest = stream.rest();
                    let names: Vec<String> = rest.iter().filter_map(Event::hook).collect();
                    assert_eq!(names, ["SessionEnd"]);
                    assert!(rest.last().unwrap().is_hub("session_ended"), "{rest:?}");
                });
            }
        });
    }
    assert_eq!(tmux_sessions(&hub), ["main"]);
    poll_until("no stream is open", || hub.metric("streams") == 0);
}

#[test]
fn a_session_that_ignores_everything_is_killed_and_no_good_bye_is_made_up() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("ignores-sigterm");
    let session = hub.wait_for_state(&id, "idle");
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    stream.until_hook("SessionStart");
    let began = Instant::now();
    let joined = thread::scope(|scope| {
        let ask = || hub.ask("DELETE", &format!("/sessions/{id}"), None);
        let other = scope.spawn(ask);
        (ask(), other.join().unwrap())
    });
    for answer in [joined.0, joined.1] {
        assert_eq!(
            answer.json,
            json!({ "state": "ended", "session_end_seen": false, "forced": true })
        );
    }
    assert!(began.elapsed() < STOP, "{:?}", began.elapsed());
    let rest = stream.rest();
    assert_eq!(rest.iter().filter(|event| event.kind == "hook").count(), 0, "{rest:?}");
    assert_eq!(rest[0].json()["session_end_seen"], false);
    assert!(fs::metadata(format!("/proc/{}", session["pid"])).is_err());
    assert_eq!(tmux_sessions(&hub), ["main"]);
}

#[test]
fn whoever_stops_a_session_says_how_long_that_may_take() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("slow-end=5000");
    hub.wait_for_state(&id, "idle");
    for wrong in ["6001", "-1", "x", "", "1.5", "18446744073709551616"] {
        let answer = hub.ask("DELETE", &format!("/sessions/{id}?timeout_ms={wrong}"), None);
        assert_eq!((answer.status, answer.code()), (400, "invalid_timeout"), "{wrong}");
    }
    assert_eq!(hub.session(&id)["state"], "idle");
    let answer = hub.ask("DELETE", &format!("/sessions/{id}?timeout_ms=0"), None);
    assert_eq!(
        answer.json,
        json!({ "state": "ended", "session_end_seen": false, "forced": true }),
        "its good-bye is not waited for"
    );
    let id = hub.start_session("slow-end=50");
    hub.wait_for_state(&id, "idle");
    let answer = hub.ask("DELETE", &format!("/sessions/{id}?timeout_ms=6000"), None);
    assert_eq!(answer.json["session_end_seen"], true, "{answer:?}");
    assert_eq!(tmux_sessions(&hub), ["main"]);
}

#[test]
fn a_session_that_is_stopped_while_it_is_started_is_not_left_behind() {
    let world = world();
    let hub = Hub::start(&world);
    let id = new_id();
    let server = rustix::process::Pid::from_raw(world.server_pid().parse().unwrap()).unwrap();
    // tmux opens the pane when the stop has long been given up.
    rustix::process::kill_process(server, Signal::STOP).unwrap();
    thread::scope(|scope| {
        let created = scope.spawn(|| hub.create(&id, &json!({})));
        let path = format!("/sessions/{id}?timeout_ms=0");
        poll_until("it is known", || {
            let stop = hub.ask("DELETE", &path, None);
            assert!(matches!(stop.status, 200 | 404 | 504), "{stop:?}");
            rustix::process::kill_process(server, Signal::CONT).unwrap();
            stop.status != 404
        });
        assert!(matches!(created.join().unwrap().status, 201 | 504));
    });
    poll_until("nothing is left of it", || tmux_sessions(&hub) == ["main"]);
    poll_until("and nobody calls it alive", || {
        let answer = hub.get(&format!("/sessions/{id}"));
        answer.status == 404 || answer.json["state"] == "ended"
    });
}

#[test]
fn a_session_that_dies_is_told_as_ended() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("dies");
    let rest = hub.stream(&format!("/sessions/{id}/events"), None).rest();
    assert!(rest.last().unwrap().is_hub("session_ended"), "{rest:?}");
    assert_eq!(rest.last().unwrap().json()["session_end_seen"], false);
    hub.wait_for_state(&id, "ended");

    let id = hub.start_session("");
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    stream.until_hook("SessionStart");
    assert_eq!(hub.message(&id, &json!({ "text": "bye", "wait_ms": 0 })).status, 504);
    let rest = stream.rest();
    assert_eq!(rest[0].json()["reason"], "prompt_input_exit");
    hub.wait_for_state(&id, "ended");
    let last = rest.last().unwrap().id.clone().unwrap();
    let again = hub.stream(&format!("/sessions/{id}/events"), Some(&last));
    assert_eq!(again.status, 204, "an EventSource does not come back");
    let answer = hub.message(&id, &json!({ "text": "hello" }));
    assert_eq!((answer.status, answer.code()), (410, "session_ended"));
    let answer = hub.ask("DELETE", &format!("/sessions/{id}"), None);
    assert_eq!(answer.json["state"], "ended");
}

#[test]
fn only_the_own_pane_is_closed_although_others_have_similar_names() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    hub.wait_for_state(&id, "idle");
    let name = format!("claude-{}", &id[..8]);
    world.tmux(&["new-session", "-d", "-s", &format!("{name}-work"), "sleep 1000"]);
    world.tmux(&["new-window", "-d", "-t", &format!("={name}:"), "sleep 1000"]);
    hub.ask("DELETE", &format!("/sessions/{id}"), None);
    assert_eq!(tmux_sessions(&hub), [&*name, &*format!("{name}-work"), "main"]);
    assert_eq!(
        world
            .tmux(&["list-panes", "-s", "-t", &format!("={name}:"), "-F", "#{pane_start_command}"])
            .lines()
            .count(),
        1
    );
}

#[test]
fn sessions_of_others_are_seen_and_not_touched() {
    let world = world();
    let id = new_id();
    let payload = json!({ "hook_event_name": "SessionStart", "session_id": id, "cwd": "/p", "source": "startup" });
    world.hook(&payload);
    let hub = Hub::start(&world);
    let session = hub.session(&id);
    assert_eq!((&session["managed"], &session["state"]), (&json!(false), &json!("idle")));
    assert_eq!(session["pane"]["id"], json!(world.pane));
    for answer in [
        hub.ask("DELETE", &format!("/sessions/{id}"), None),
        hub.message(&id, &json!({ "text": "hello" })),
    ] {
        assert_eq!((answer.status, answer.code()), (409, "not_managed"));
    }
    let other = hub.ask("DELETE", &format!("/sessions/{}", new_id()), None);
    assert_eq!((other.status, other.code()), (404, "session_not_found"));
    let asks = json!({ "hook_event_name": "PermissionRequest", "session_id": id, "tool_name": "Bash", "tool_input": { "command": "rm x" } });
    world.hook(&asks);
    hub.wait_for_state(&id, "waiting");
    let queue = hub.get("/queue").json;
    assert_eq!(queue["queue"][0]["waiting"]["kind"], "permission");
    assert_eq!(queue["queue"][0]["waiting"]["context"], "Bash: rm x");
    assert_eq!(hub.get("/sessions?state=waiting").json["sessions"][0]["session_id"], json!(id));
    assert_eq!(hub.get("/sessions?state=idle").json["sessions"], json!([]));
    assert_eq!(hub.get("/sessions?state=odd").code(), "invalid_state");
}

#[test]
fn the_end_of_the_hub_stops_its_sessions_and_no_other() {
    let world = world();
    let hub = Hub::start(&world);
    let ids: Vec<String> = thread::scope(|scope| {
        let started: Vec<_> = (0..10)
            .map(|number| {
                let hub = &hub;
                let modes = if number == 9 { "ignores-sigterm" } else { "slow-end=200" };
                scope.spawn(move || hub.start_session(modes))
            })
            .collect();
        started.into_iter().map(|started| started.join().unwrap()).collect()
    });
    for id in &ids {
        hub.wait_for_state(id, "idle");
    }
    let foreign = format!("claude-{}x", &ids[0][..8]);
    world.tmux(&["new-session", "-d", "-s", &foreign, "sleep 1000"]);
    let readers = ids.iter().cycle().take(50);
    let mut streams: Vec<_> =
        readers.map(|id| hub.stream(&format!("/sessions/{id}/events"), None)).collect();
    let mut all = hub.stream("/events", None);
    all.until(|event| event.is_hub("hello"));
    let began = Instant::now();
    hub.signal(Signal::TERM);
    let rest = all.rest();
    assert!(rest.last().unwrap().is_hub("hub_shutdown"), "{:?}", rest.last());
    let ends = rest.iter().filter(|event| event.hook().as_deref() == Some("SessionEnd"));
    assert_eq!(ends.count(), 9);
    let marks = rest.iter().filter(|event| event.is_hub("session_ended"));
    assert_eq!(marks.count(), 10);
    for stream in streams.drain(..) {
        assert!(stream.rest().last().unwrap().is_hub("session_ended"));
    }
    let mut hub = hub;
    assert!(wait_for(&mut hub.child).success());
    assert!(began.elapsed() < Duration::from_secs(12 + 6), "{:?}", began.elapsed());
    assert_eq!(tmux_sessions(&hub), [&*foreign, "main"]);
    assert!(!hub.dir().join("hub.sock").exists());
    assert_eq!(fs::read_dir(hub.dir().join("launches")).unwrap().count(), 0);
}

#[test]
fn a_second_signal_ends_the_hub_at_once_and_leaves_what_has_not_ended() {
    let world = world();
    let mut hub = Hub::start(&world);
    let id = hub.start_session("slow-end=600000");
    let session = hub.wait_for_state(&id, "idle");
    hub.signal(Signal::INT);
    poll_until("it stops", || log_of(&world).contains("a second signal ends at once"));
    hub.signal(Signal::TERM);
    assert!(wait_for(&mut hub.child).success());
    assert!(log_of(&world).contains("ended at once"), "{}", log_of(&world));
    assert!(tmux_sessions(&hub).contains(&format!("claude-{}", &id[..8])));
    assert!(!hub.dir().join("hub.sock").exists());
    let left = rustix::process::Pid::from_raw(session["pid"].as_i64().unwrap() as i32).unwrap();
    rustix::process::kill_process(left, Signal::KILL).unwrap();
}

#[test]
fn the_hooks_of_a_session_have_time_for_its_last_words() {
    let world = world();
    let hub = Hub::start(&world);
    let settings = fs::read_to_string(hub.dir().join("settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let events = settings["hooks"].as_object().unwrap();
    for name in ["SessionStart", "UserPromptSubmit", "SessionEnd"] {
        assert!(events.contains_key(name), "{name}");
    }
    for (name, groups) in events {
        for hook in groups.as_array().unwrap().iter().flat_map(|g| g["hooks"].as_array().unwrap()) {
            // Without a time of its own, SessionEnd has 1.5 s, which is less than the hub may need.
            assert!(hook["timeout"].as_u64().unwrap() >= 5, "{name}: {hook}");
        }
    }
}

#[test]
fn a_hub_that_was_killed_leaves_its_sessions_and_the_next_one_names_them() {
    let world = world();
    let hub = Hub::start(&world);
    let (left, gone) = (hub.start_session(""), hub.start_session(""));
    hub.wait_for_state(&left, "idle");
    hub.wait_for_state(&gone, "idle");
    hub.kill();
    world.tmux(&["kill-session", "-t", &format!("=claude-{}", &gone[..8])]);
    let hub = Hub::start(&world);
    let name = format!("claude-{}", &left[..8]);
    let orphan = format!("the tmux session {name} was started by an earlier hub");
    poll_until("the orphan is named", || log_of(&world).contains(&orphan));
    assert!(!hub.log().contains(&format!("session claude-{} was", &gone[..8])), "{}", hub.log());
    // Quoted, because zsh takes a bare `=name` for the path of a program.
    assert!(hub.log().contains(&format!("kill-session -t '={name}'")));
    assert_eq!(hub.session(&left)["managed"], false, "it is seen, but not adopted");
    hub.shut_down();
    assert!(world.tmux(&["list-sessions"]).contains(&name), "and survives the second one too");
}

#[test]
fn sessions_run_in_a_server_of_their_own_where_that_is_wanted() {
    let world = world();
    let hub = Hub::start_with(&world, &["--socket", "private", "--no-tcp"]);
    let socket = hub.dir().join("hub.sock");
    let json = [("Content-Type", "application/json")];
    let ask =
        |method, path: &str, body: &str| request_on(&socket, method, path, &json, body.as_bytes());
    assert_eq!(ask("GET", "/sessions", "").status, 200);
    let id = new_id();
    let body = json!({ "session_id": id, "cwd": "/" }).to_string();
    let created = ask("POST", "/sessions", &body).json;
    let server = created["tmux"]["socket"].as_str().unwrap();
    assert!(server.ends_with("/private"), "{created}");
    poll_until("it is ready without TCP", || {
        ask("GET", &format!("/sessions/{id}"), "").json["state"] == "idle"
    });
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "main");
    hub.shut_down();
}
