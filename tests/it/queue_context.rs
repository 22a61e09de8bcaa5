//! `cld queue --long`: what is asked in full, from the transcript, from the hook, or off the screen.

use serde_json::{Value, json};
use std::path::PathBuf;

use crate::living::{config_dir, printed};
use crate::queue_stage::{Server, Session, cld};
use crate::stage::plant;
use crate::world::{World, poll_until};

/// Writes the transcript of session 1: a prompt, and what Claude answered.
fn transcript(world: &World, blocks: &Value) -> PathBuf {
    let dir = PathBuf::from("/home/u/proj1");
    let record = |kind: &str, content: &Value| {
        json!({
            "type": kind, "isSidechain": false, "cwd": dir, "sessionId": "s",
            "message": {"role": kind, "content": content},
        })
    };
    let id = crate::stage::id(1);
    let lines = [record("user", &json!("please")), record("assistant", blocks)];
    plant(&config_dir(world), &dir, &id, &lines)
}

fn permission(session: &Session, world: &World, tool: &str, input: &Value) {
    session.hook(world, "PermissionRequest", &json!({"tool_name": tool, "tool_input": input}));
}

/// What stands below the line of the only entry.
#[track_caller]
fn below(world: &World) -> Vec<String> {
    let long = printed(&cld(world, &["queue", "--long"]));
    let lines: Vec<&str> = long.lines().collect();
    assert!(lines[0].starts_with("00000001"), "{long}");
    lines[1..].iter().map(|line| line.strip_prefix("    ").unwrap_or(line).to_owned()).collect()
}

#[test]
fn an_edit_shows_its_difference() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let input = json!({"file_path": "src/main.rs", "old_string": "a\nb\n", "new_string": "a\nc\n"});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Edit", "input": input});
    transcript(&world, &json!([call]));
    permission(&session, &world, "Edit", &input);
    assert_eq!(below(&world), ["Edit: src/main.rs", "  a", "- b", "+ c"]);
}

#[test]
fn without_a_transcript_the_line_of_the_hook_is_all() {
    let world = World::new();
    let session = Session::new(&world, 1);
    permission(&session, &world, "Bash", &json!({"command": "make | tee log"}));
    assert_eq!(below(&world), ["Bash: make ¦ tee log"]);
}

#[test]
fn a_call_with_a_bar_in_it_is_found_in_the_transcript() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let input = json!({"command": "make | tee log", "description": "builds"});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": input});
    transcript(&world, &json!([call]));
    permission(&session, &world, "Bash", &input);
    assert_eq!(below(&world), ["Bash: make | tee log", "builds"]);
}

#[test]
fn a_finished_turn_shows_the_end_of_the_last_message() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let words = "First.\n\n- one\n- two\n\nShall I go on?";
    transcript(&world, &json!([{"type": "text", "text": words}]));
    let stop = json!({"last_assistant_message": words, "background_tasks": []});
    session.hook(&world, "Stop", &stop);
    assert_eq!(below(&world), ["First.", "", "- one", "- two", "", "Shall I go on?"]);
}

#[test]
fn a_question_shows_its_options_and_what_they_mean() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let options = json!([{"label": "A", "description": "the first"}, {"label": "B"}]);
    let input = json!({"questions": [{"question": "Which?", "options": options}]});
    let call = json!({"type": "tool_use", "id": "t1", "name": "AskUserQuestion", "input": input});
    transcript(&world, &json!([call]));
    permission(&session, &world, "AskUserQuestion", &input);
    assert_eq!(below(&world), ["Which?", "• A: the first", "• B"]);
}

#[test]
fn a_plan_shows_its_beginning() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let plan: String = (1..=40).map(|step| format!("{step}. do it\n")).collect();
    let call =
        json!({"type": "tool_use", "id": "t1", "name": "ExitPlanMode", "input": {"plan": plan}});
    transcript(&world, &json!([call]));
    permission(&session, &world, "ExitPlanMode", &json!({"plan": plan}));
    let shown = below(&world);
    assert_eq!(shown[..2], ["1. do it", "2. do it"]);
    assert_eq!(shown.last().unwrap(), "… 16 more lines");
}

#[test]
fn an_error_shows_its_text() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let text = "API Error: 529 overloaded";
    transcript(&world, &json!([{"type": "text", "text": "I begin."}]));
    let failure = json!({"error": "server_error", "last_assistant_message": text});
    session.hook(&world, "StopFailure", &failure);
    assert_eq!(below(&world), ["server_error: API Error: 529 overloaded"]);
}

#[test]
fn the_call_of_a_subagent_is_found_in_its_own_transcript() {
    let world = World::new();
    let session = Session::new(&world, 1);
    let main = transcript(&world, &json!([{"type": "text", "text": "I send somebody."}]));
    let input = json!({"command": "make deploy", "description": "to the test system"});
    let call = json!({"type": "tool_use", "id": "t9", "name": "Bash", "input": input});
    let record = json!({
        "type": "assistant", "isSidechain": true, "sessionId": "s",
        "message": {"role": "assistant", "content": [call]},
    });
    let folder = main.with_extension("").join("subagents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("agent-a1.jsonl"), format!("{record}\n")).unwrap();
    let asks = json!({"agent_id": "a1", "tool_name": "Bash", "tool_input": input});
    session.hook(&world, "PermissionRequest", &asks);
    assert_eq!(below(&world), ["Bash: make deploy", "to the test system"]);
}

#[test]
fn the_screen_is_the_last_resort() {
    let world = World::new();
    let server = Server::of(&world);
    let show = "printf 'Exit plan mode?\\n\\n1. Yes\\033[31m\\n'; exec sleep 1000";
    let window = ["new-window", "-d", "-t", "main:", "-P", "-F", "#{pane_id}", show];
    let pane = world.tmux(&window);
    poll_until("the screen is drawn", || {
        world.tmux(&["capture-pane", "-p", "-t", &pane]).contains("1. Yes")
    });
    let session = Session::open(&world, &server, &pane, 1);
    permission(&session, &world, "ExitPlanMode", &json!({}));
    assert_eq!(below(&world), ["Exit plan mode?", "", "1. Yes"]);
}
