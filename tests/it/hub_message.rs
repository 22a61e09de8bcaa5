//! Messages: typed as they are, once, and called submitted only when Claude Code says so.

use std::thread;

use serde_json::{Value, json};

use crate::hub_world::{Answer, Hub, world};
use crate::world::poll_until;

/// How many prompts a session has confirmed with this text.
fn prompts(hub: &Hub<'_>, id: &str, text: &str) -> usize {
    let history = hub.get(&format!("/sessions/{id}/history?limit=1000")).json;
    let events = history["events"].as_array().unwrap();
    events.iter().filter(|event| event["data"]["prompt"] == json!(text)).count()
}

#[track_caller]
fn check(answer: &Answer, status: u16, word: &str) {
    let said = answer.json["state"].as_str().unwrap_or_else(|| answer.code());
    assert_eq!((answer.status, said), (status, word), "{}", answer.text);
}

#[test]
fn any_text_arrives_as_it_is_and_is_confirmed_by_its_event() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    let trap = world.path("trap");
    let long = "a line of text; \n".repeat(61_000);
    for text in [
        "fix the flaky test",
        "ends with a semicolon;",
        ";",
        "two\n\nlines\n\tand a tab",
        "-x --y Enter C-c $HOME \"quotes\" 'and' \\ backslashes",
        "é 😀 日本語 \u{202e}",
        &format!("#(touch {0}) $(touch {0}) `touch {0}` #{{pane_id}}", trap.display()),
        long.trim_end(),
    ] {
        let answer = hub.message(&id, &json!({ "text": text, "wait_ms": 30_000 }));
        assert_eq!(answer.status, 200, "{} for {:.100}", answer.text, text);
        let prompt = stream.until_hook("UserPromptSubmit");
        assert_eq!(prompt.json()["prompt"], json!(text));
        assert_eq!(answer.json["event_id"].as_str(), prompt.id.as_deref());
        stream.until_hook("Stop");
    }
    assert!(!trap.exists());
    assert_eq!(hub.metric("messages_total"), 8);
}

#[test]
fn a_hundred_messages_are_submitted_a_hundred_times() {
    let world = world();
    let hub = Hub::start(&world);
    thread::scope(|scope| {
        for session in 0..4 {
            let hub = &hub;
            scope.spawn(move || {
                let id = hub.start_session("slow-start=200");
                let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
                for number in 0..25 {
                    let text =
                        format!("{session}/{number} é😀 #(x)\n{};", "y ".repeat(number * 40));
                    let answer = hub.message(&id, &json!({ "text": text, "wait_ms": 30_000 }));
                    check(&answer, 200, "submitted");
                    assert_eq!(prompts(hub, &id, &text), 1);
                    stream.until_hook("Stop");
                }
            });
        }
    });
    assert_eq!(hub.metric("messages_total"), 100);
}

/// Ten sessions with ten rounds each.
fn a_hundred_times(hub: &Hub<'_>, modes: &str, round: impl Fn(&str, usize) + Sync) {
    thread::scope(|scope| {
        for session in 0..10 {
            let round = &round;
            scope.spawn(move || {
                let id = hub.start_session(modes);
                hub.wait_for_state(&id, "idle");
                for number in 0..10 {
                    round(&id, session * 10 + number);
                }
            });
        }
    });
}

#[test]
fn what_an_open_menu_has_taken_is_a_hundred_times_not_called_submitted() {
    let world = world();
    let hub = Hub::start(&world);
    a_hundred_times(&hub, "menus", |id, number| {
        let pane = hub.session(id)["tmux"]["pane"].as_str().unwrap().to_owned();
        // A person has typed this and then looked elsewhere.
        world.tmux(&["send-keys", "-t", &pane, "/"]);
        let text = format!("number {number}");
        let answer = hub.message(id, &json!({ "text": text, "wait_ms": 300 }));
        check(&answer, 504, "unconfirmed");
        assert_eq!(prompts(&hub, id, &text), 0);
    });
    assert_eq!(hub.metric("messages_total"), 100, "each was typed once");
}

#[test]
fn a_menu_that_takes_the_first_enter_does_not_keep_the_message() {
    let world = world();
    let hub = Hub::start(&world);
    a_hundred_times(&hub, "menus", |id, number| {
        let text = format!("number {number} is about @");
        let mut stream = hub.stream(&format!("/sessions/{id}/events?after=latest"), None);
        check(&hub.message(id, &json!({ "text": text, "wait_ms": 30_000 })), 200, "submitted");
        assert_eq!(prompts(&hub, id, &text), 1);
        stream.until_hook("Stop");
    });
}

#[test]
fn a_hundred_sessions_that_start_slowly_get_their_message_once_they_are_there() {
    let world = world();
    let hub = Hub::start(&world);
    thread::scope(|scope| {
        for worker in 0..5 {
            let hub = &hub;
            scope.spawn(move || {
                for number in 0..20 {
                    let id = hub.start_session(&format!("slow-start={}", 20 * number + worker));
                    let text = format!("hello {worker}/{number};");
                    let sent = hub.message(&id, &json!({ "text": text, "wait_ms": 30_000 }));
                    check(&sent, 200, "submitted");
                    assert_eq!(prompts(hub, &id, &text), 1);
                    let path = format!("/sessions/{id}?timeout_ms=0");
                    assert_eq!(hub.ask("DELETE", &path, None).status, 200);
                }
            });
        }
    });
}

#[test]
fn nothing_in_a_text_can_leave_the_paste() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    let mut stream = hub.stream(&format!("/sessions/{id}/events"), None);
    let text = "one\u{1b}[201~\r!touch x\r\u{9b}31m\u{0}\u{3}two";
    let answer = hub.message(&id, &json!({ "text": text }));
    check(&answer, 200, "submitted");
    assert_eq!(answer.json["stripped"], 9);
    let prompt = stream.until_hook("UserPromptSubmit").json();
    assert_eq!(prompt["prompt"], "one\n!touch x\n31mtwo");
}

#[test]
fn a_message_while_claude_is_busy_is_queued() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    check(&hub.message(&id, &json!({ "text": "work" })), 200, "submitted");
    hub.wait_for_state(&id, "running");
    let answer = hub.message(&id, &json!({ "text": "and then this" }));
    check(&answer, 202, "queued");
    assert!(answer.json["event_id"].is_string(), "Claude confirms what it puts aside: {answer:?}");
    check(&hub.message(&id, &json!({ "text": "rest" })), 202, "queued");
    hub.wait_for_state(&id, "waiting");
    check(&hub.message(&id, &json!({ "text": "next" })), 200, "submitted");
}

#[test]
fn an_open_dialog_is_never_answered_by_a_message() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    check(&hub.message(&id, &json!({ "text": "ask" })), 200, "submitted");
    poll_until("the dialog is open", || hub.session(&id)["waiting"]["kind"] == "permission");
    let session = hub.session(&id);
    for _ in 0..100 {
        check(&hub.message(&id, &json!({ "text": "yes" })), 409, "awaiting_user");
    }
    assert_eq!(hub.session(&id)["waiting"]["kind"], "permission");
    assert_eq!(prompts(&hub, &id, "yes"), 0);
    let pane = session["tmux"]["pane"].as_str().unwrap();
    world.tmux(&["send-keys", "-t", pane, "Enter"]);
    poll_until("the dialog is answered", || hub.session(&id)["waiting"]["kind"] == "done");
    check(&hub.message(&id, &json!({ "text": "yes" })), 200, "submitted");
}

#[test]
fn a_message_waits_for_the_start_but_never_answers_what_comes_before_it() {
    let world = world();
    let hub = Hub::start(&world);
    let slow = hub.start_session("slow-start=700");
    check(&hub.message(&slow, &json!({ "text": "hello", "wait_ms": 30_000 })), 200, "submitted");

    let untrusted = hub.start_session("trust-dialog");
    check(&hub.message(&untrusted, &json!({ "text": "yes", "wait_ms": 300 })), 409, "not_ready");
    assert_eq!(hub.session(&untrusted)["state"], "starting");
    let pane = hub.session(&untrusted)["tmux"]["pane"].as_str().unwrap().to_owned();
    poll_until("it asks", || world.tmux(&["capture-pane", "-p", "-t", &pane]).contains("trust"));
    world.tmux(&["send-keys", "-t", &pane, "Enter"]);
    check(&hub.message(&untrusted, &json!({ "text": "hello" })), 200, "submitted");
}

#[test]
fn what_is_not_confirmed_is_not_called_submitted() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("deaf");
    let body = json!({ "text": "hello", "message_id": "m1", "wait_ms": 300 });
    let answer = hub.message(&id, &body);
    check(&answer, 504, "unconfirmed");
    assert_eq!(answer.json["message_id"], "m1");
    check(&hub.message(&id, &body), 504, "unconfirmed");
    assert_eq!(hub.metric("messages_total"), 1, "and it is not typed again");
}

#[test]
fn a_message_with_an_id_is_typed_once() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    let send = |text: &str| {
        hub.message(&id, &json!({ "text": text, "message_id": "m1", "wait_ms": 20_000 }))
    };
    let answers: Vec<Answer> = thread::scope(|scope| {
        let sent: Vec<_> = (0..6).map(|_| scope.spawn(|| send("once"))).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    let events: Vec<&Value> = answers.iter().map(|answer| &answer.json["event_id"]).collect();
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert!(events.iter().all(|event| **event == *events[0]), "{events:?}");
    assert_eq!(prompts(&hub, &id, "once"), 1);
    check(&send("something else"), 409, "message_id_reused");
    // A refusal typed nothing, so the same id may be used again.
    let early = hub.start_session("slow-start=600");
    let body = |wait: u64| json!({ "text": "hello", "message_id": "m1", "wait_ms": wait });
    check(&hub.message(&early, &body(1)), 409, "not_ready");
    check(&hub.message(&early, &body(20_000)), 200, "submitted");
}

#[test]
fn messages_are_typed_one_after_another_and_only_so_many_wait() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("slow-start=1500");
    let answers: Vec<(usize, Answer)> = thread::scope(|scope| {
        let sent: Vec<_> = (0..20)
            .map(|number| {
                let (hub, id) = (&hub, &id);
                scope.spawn(move || {
                    let text = format!("message {number} {}", "x".repeat(2000));
                    (number, hub.message(id, &json!({ "text": text, "wait_ms": 30_000 })))
                })
            })
            .collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    let refused = answers.iter().filter(|(_, answer)| answer.status == 429).count();
    assert_eq!(refused, 4, "{answers:?}");
    for (number, answer) in answers.iter().filter(|(_, answer)| answer.status != 429) {
        assert!(matches!(answer.status, 200 | 202), "{answer:?}");
        let text = format!("message {number} {}", "x".repeat(2000));
        assert_eq!(prompts(&hub, &id, &text), 1, "whole, and not mixed with another");
    }
}

#[test]
fn a_pane_that_shows_its_history_gets_the_message_too() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    let session = hub.wait_for_state(&id, "idle");
    let pane = session["tmux"]["pane"].as_str().unwrap();
    world.tmux(&["copy-mode", "-t", pane]);
    check(&hub.message(&id, &json!({ "text": "hello" })), 200, "submitted");
}

#[test]
fn what_is_no_message_is_refused() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    for (body, status, code) in [
        (json!({ "text": "" }), 422, "empty_text"),
        (json!({ "text": " \n\u{1b}\t" }), 422, "empty_text"),
        (json!({ "text": "x".repeat((1 << 20) + 1) }), 413, "too_large"),
        (json!({ "text": "x", "wait_ms": 30_001 }), 422, "invalid_wait"),
        (json!({ "text": "x", "message_id": "" }), 422, "invalid_message_id"),
        (json!({ "text": "x", "message_id": "y".repeat(129) }), 422, "invalid_message_id"),
        (json!({ "text": 7 }), 422, "invalid_field"),
        (json!({}), 422, "invalid_field"),
        (json!([]), 422, "invalid_field"),
    ] {
        check(&hub.message(&id, &body), status, code);
    }
    check(&hub.message("nobody", &json!({ "text": "x" })), 404, "session_not_found");
}

#[test]
fn a_tmux_server_that_is_stopped_does_not_hold_the_hub_up() {
    let world = world();
    let hub = Hub::start(&world);
    let id = hub.start_session("");
    hub.wait_for_state(&id, "idle");
    let server = world.server_pid().parse().unwrap();
    let server = rustix::process::Pid::from_raw(server).unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::STOP).unwrap();
    let (message, created) = thread::scope(|scope| {
        let message = scope.spawn(|| hub.message(&id, &json!({ "text": "hello" })));
        let created = scope.spawn(|| hub.create(&crate::hub_world::new_id(), &json!({})));
        assert_eq!(hub.get("/healthz").status, 200);
        hub.post_event(&json!({ "hook_event_name": "Stop", "session_id": "other" }));
        (message.join().unwrap(), created.join().unwrap())
    });
    rustix::process::kill_process(server, rustix::process::Signal::CONT).unwrap();
    check(&message, 502, "tmux_failed");
    check(&created, 504, "tmux_timeout");
    hub.wait_for_state(&id, "idle");
}
