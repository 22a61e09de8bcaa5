//! Payloads: the recorded ones, and made ones with the same fields.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

pub(crate) const SESSION: &str = "23e30f82-0000-4000-8000-000000000001";

/// One of the payloads recorded from Claude Code.
pub(crate) fn recorded(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads").join(name);
    serde_json::from_str(&fs::read_to_string(path.with_extension("json")).unwrap()).unwrap()
}

pub(crate) fn all_recorded() -> Vec<(String, Value)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), recorded(&name))).collect()
}

/// A payload of the one test session, with fields of its own.
pub(crate) fn event(name: &str, fields: &Value) -> Value {
    let mut payload = json!({
        "session_id": SESSION,
        "transcript_path": format!("/home/u/.claude/projects/-home-u-proj/{SESSION}.jsonl"),
        "cwd": "/home/u/proj",
        "hook_event_name": name,
    });
    for (key, value) in fields.as_object().unwrap() {
        payload[key] = value.clone();
    }
    payload
}

pub(crate) fn start(source: &str) -> Value {
    event("SessionStart", &json!({"source": source}))
}

pub(crate) fn prompt(text: &str) -> Value {
    event("UserPromptSubmit", &json!({"prompt": text}))
}

pub(crate) fn bash(name: &str, command: &str) -> Value {
    event(name, &json!({"tool_name": "Bash", "tool_input": {"command": command}}))
}

pub(crate) fn by_agent(mut payload: Value, agent: &str) -> Value {
    payload["agent_id"] = json!(agent);
    payload
}

pub(crate) fn stop(message: &str) -> Value {
    event("Stop", &json!({"last_assistant_message": message, "background_tasks": []}))
}

pub(crate) fn notification(about: &str) -> Value {
    event("Notification", &json!({"notification_type": about, "message": "Claude needs you"}))
}
