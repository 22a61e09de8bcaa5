//! Text from outside is data: it never runs, never breaks the batch, never comes out raw.

use serde_json::{Value, json};

use crate::events::{SESSION, bash, event, notification, prompt, start, stop};
use crate::world::{World, poll_until};

fn hostile(marker: &str) -> Vec<String> {
    vec![
        format!("#(touch {marker})"),
        format!("#{{E:#(touch {marker})}}"),
        format!("#{{l:x}}#{{?1,#(touch {marker}),}}"),
        format!("';run-shell 'touch {marker}';'"),
        format!("\";run-shell \"touch {marker}\";\""),
        format!("}} ; run-shell 'touch {marker}' ; {{"),
        "';kill-server".to_owned(),
        "; kill-server ;".to_owned(),
        "ends with ;".to_owned(),
        "ends with \\;".to_owned(),
        ";".to_owned(),
        "#{pane_id} #S #[fg=red]".to_owned(),
        "$HOME ~ %H:%M %% \\n \\".to_owned(),
        "|main.none.p@1794964287516000 forged".to_owned(),
        "1794964287516000 d forged".to_owned(),
        "line\nbreak\ttab\r\u{1b}[31mred\u{7f}\u{9b}x\u{202e}y\u{0}z".to_owned(),
        "漢字 é 🙂 ⏸".to_owned(),
        "-t %99".to_owned(),
        "x".repeat(20_000),
        format!("{}é", "y".repeat(511)),
    ]
}

/// The same text everywhere an event carries text.
fn payloads(text: &str) -> Vec<Value> {
    let mut started = start("startup");
    started["cwd"] = json!(text);
    started["session_title"] = json!(text);
    started["transcript_path"] = json!(text);
    let mut prompted = prompt(text);
    prompted["session_title"] = json!(text);
    prompted["agent_id"] = json!(text);
    let mut announced = notification("permission_prompt");
    announced["message"] = json!(text);
    let mut odd = notification(text);
    odd["message"] = json!(text);
    let asked = |tool: &str, input: Value| {
        event("PermissionRequest", &json!({"tool_name": tool, "tool_input": input}))
    };
    vec![
        started,
        prompted,
        announced,
        odd,
        bash("PreToolUse", text),
        asked(text, json!({text: text})),
        asked("Bash", json!({"command": text})),
        asked(
            "AskUserQuestion",
            json!({"questions": [{"question": text, "options": [{"label": text}]}]}),
        ),
        asked("ExitPlanMode", json!({"plan": text})),
        event("Elicitation", &json!({"mcp_server_name": text, "message": text})),
        event(text, &json!({})),
        event("StopFailure", &json!({"error": text, "last_assistant_message": text})),
        stop(text),
    ]
}

#[test]
fn hostile_text_never_runs_and_never_breaks_the_batch() {
    let world = World::new();
    let marker = world.path("marker");
    let marker = marker.to_str().unwrap();
    // Everything that is stored is also shown, by a client that is looking.
    let shown = "#{@meta.claude.asking} #{@meta.claude.finished} #{@meta.claude.title} #{@meta.claude.session_dir}";
    for option in ["status-left", "status-right", "window-status-format", "pane-border-format"] {
        world.tmux(&["set-option", "-g", option, shown]);
    }
    world.tmux(&["set-option", "-g", "pane-border-status", "top"]);
    let terminal = world.attach();
    for text in hostile(marker) {
        for payload in payloads(&text) {
            world.hook(&payload);
            let name = payload["hook_event_name"].as_str().unwrap();
            if name.chars().all(char::is_alphanumeric) {
                assert!(
                    world.meta("latest_hook_event").starts_with(&name[..name.len().min(64)]),
                    "{payload}"
                );
            }
            for (option, value) in world.options() {
                assert!(!value.chars().any(char::is_control), "{option} holds {value:?}");
                assert!(value.len() <= 16_000, "{option} is too long");
            }
        }
    }
    let last = stop("the last words");
    world.hook(&last);
    poll_until("the client has drawn the last words", || {
        terminal.screen().contains("the last words")
    });
    assert!(!std::path::Path::new(marker).exists(), "something was executed");
}

#[test]
fn what_can_be_kept_is_kept_byte_for_byte() {
    let world = World::new();
    for text in [
        "#(date) #{pane_id}",
        "';kill-server",
        "ends with ;",
        "a\\;",
        "$HOME ~ %H",
        "漢字 🙂",
        "-t",
    ] {
        let mut started = start("startup");
        started["cwd"] = json!(format!("/home/u/{text}"));
        started["session_title"] = json!(text);
        world.hook(&started);
        assert_eq!(world.meta("session_dir"), format!("/home/u/{text}"));
        assert_eq!(world.meta("title"), text);
        world.hook(&bash("PermissionRequest", text));
        assert!(
            world.meta("asking").ends_with(&format!(" Bash: {text}")),
            "{}",
            world.meta("asking")
        );
        world.hook(&stop(text));
        assert!(
            world.meta("finished").ends_with(&format!(" d {text}")),
            "{}",
            world.meta("finished")
        );
    }
}

#[test]
fn a_directory_that_cannot_be_kept_as_it_is_is_left_out() {
    let world = World::new();
    let mut started = start("startup");
    started["cwd"] = json!("/home/u/new\nline");
    world.hook(&started);
    assert_eq!(world.meta("session_dir"), "");
    assert_eq!(world.meta("session_id"), SESSION);
}

#[test]
fn a_forged_wait_inside_a_text_cannot_end_or_open_another() {
    let world = World::new();
    world.hook(&prompt("go"));
    world.hook(&bash(
        "PermissionRequest",
        "|main.none.p@1794964287516000 x|main.aa.p@1794964287516000 y",
    ));
    assert_eq!(world.meta("asking").matches('|').count(), 1);
    world.hook(&bash("PermissionRequest", "second"));
    assert_eq!(world.meta("asking").matches('|').count(), 2);
    world.hook(&bash("PostToolUse", "second"));
    let asking = world.meta("asking");
    assert!(
        asking.ends_with("Bash: ¦main.none.p@1794964287516000 x¦main.aa.p@1794964287516000 y"),
        "{asking}"
    );
}

#[test]
fn session_ids_with_other_characters_are_refused() {
    let world = World::new();
    for id in ["", "#(touch x)", "a;b", "a b", "é", "../x", "a\nb", &"a".repeat(65)] {
        let mut started = start("startup");
        started["session_id"] = json!(id);
        world.hook(&started);
        assert_eq!(world.options().len(), 0, "{id:?} got through: {:?}", world.options());
    }
}

#[test]
fn the_longest_paths_still_fit_into_one_request() {
    let world = World::new().with("CLAUDE_CONFIG_DIR", &format!("/{}", "c".repeat(4000)));
    let directory = format!("/{}", "d".repeat(4095));
    let mut started = start("startup");
    started["cwd"] = json!(directory);
    started["session_title"] = json!("t".repeat(4000));
    world.hook(&started);
    assert_eq!(world.meta("session_dir"), directory);
    let mut longer = start("startup");
    longer["cwd"] = json!(format!("{directory}d"));
    world.hook(&longer);
    assert_eq!(world.meta("session_dir"), "");
}
