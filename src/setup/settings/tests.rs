//! What install and uninstall do to settings files, as tables and over generated files.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

mod files;
use files::file;

const COMMAND: &str = "/usr/local/bin/cld hook";

/// The entry of this one event stands as `CLD` in the tables.
const EVENT: &[&str] = &["Stop"];

fn entry(event: &str, colon: &str) -> String {
    let style = Style { colon: colon.to_owned(), ..Style::of("", None) };
    Wanted { events: EVENT, command: COMMAND }.entry(event, &style)
}

fn shortened(text: &str) -> String {
    text.replace(&entry("Stop", ": "), "CLD").replace(&entry("Stop", ":"), "CLD")
}

#[track_caller]
fn check(before: &str, after: &str) {
    let installed = install_for(EVENT, Some(before), COMMAND).unwrap();
    assert_eq!(shortened(&installed), after);
    assert_eq!(install_for(EVENT, Some(&installed), COMMAND).unwrap(), installed, "a second time");
    assert_eq!(uninstall(&installed).unwrap().as_deref(), Some(before), "and back");
}

#[test]
fn hooks_are_added_in_the_style_of_the_file() {
    check(
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n}\n",
    );
    check(
        "{\r\n\t\"model\": \"opus\"\r\n}\r\n",
        "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [CLD]\r\n\t}\r\n}\r\n",
    );
    check(r#"{"model":"opus"}"#, r#"{"model":"opus","hooks":{"Stop":[CLD]}}"#);
    check(r#"{ "model": "opus" }"#, r#"{ "model": "opus", "hooks": {"Stop": [CLD]} }"#);
}

#[test]
fn empty_containers_are_filled_and_emptied_again() {
    check("{}", "{\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n\n}");
    check("{}\n", "{\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n\n}\n");
    check("{\n}\n", "{\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n\n\n}\n");
    check("", "{\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n}");
    check(" \n", " \n{\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n}");
    check("{\n  \"hooks\": {}\n}", "{\n  \"hooks\": {\n    \"Stop\": [CLD]\n\n  }\n}");
    check(r#"{"hooks":{}}"#, r#"{"hooks":{"Stop":[CLD] }}"#);
    check(r#"{"hooks":{"Stop":[]}}"#, r#"{"hooks":{"Stop":[CLD ]}}"#);
    check(r#"{"hooks":{"Stop":[  ]}}"#, r#"{"hooks":{"Stop":[CLD   ]}}"#);
}

#[test]
fn any_blanks_in_an_empty_container_come_back() {
    let mut blanks = vec![String::new()];
    for length in 1..=4 {
        let longest: Vec<String> =
            blanks.iter().filter(|blank| blank.chars().count() == length - 1).cloned().collect();
        for piece in [" ", "\n", "\t", "\r"] {
            blanks.extend(longest.iter().map(|blank| format!("{blank}{piece}")));
        }
    }
    for (before, after) in [
        ("", ""),
        ("{", "}"),
        ("{", "}\n"),
        ("{\"hooks\":{", "}}"),
        ("{\n  \"hooks\": {", "}\n}"),
        ("{\r\n\t\"hooks\": {", "}\r\n}"),
        ("{\"hooks\":{\"Stop\":[", "]}}"),
        ("{\n\"hooks\": {\"Stop\": [", "]}}"),
        ("{/* c */", "}"),
    ] {
        for blank in &blanks {
            let text = format!("{before}{blank}{after}");
            let installed = install_for(EVENT, Some(&text), COMMAND).unwrap();
            assert_eq!(uninstall(&installed).unwrap(), Some(text), "{installed:?}");
        }
    }
}

#[test]
fn other_hooks_stay_where_they_are() {
    check(
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]},\n      CLD\n    ]\n  }\n}",
    );
    check(r#"{"hooks":{"Other":7}}"#, r#"{"hooks":{"Other":7,"Stop":[CLD]}}"#);
}

#[test]
fn comments_and_trailing_commas_stay_with_what_they_belong_to() {
    check(
        "{\n  \"a\": 1, // one\n  // end\n}",
        "{\n  \"a\": 1, // one\n  // end\n  \"hooks\": {\n    \"Stop\": [CLD]\n  },\n}",
    );
    check(
        "{\n  \"a\": 1 // one\n}",
        "{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n}",
    );
    check("{\"a\":1// one\n}", "{\"a\":1,// one\n\"hooks\":{\"Stop\":[CLD]}\n}");
    check("{/* none */}", "{/* none */\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }}");
}

#[test]
fn of_two_members_of_one_name_the_last_is_edited() {
    check(
        r#"{"hooks":{"Stop":[1]},"hooks":{"Stop":[2],"Stop":[3]}}"#,
        r#"{"hooks":{"Stop":[1]},"hooks":{"Stop":[2],"Stop":[3,CLD]}}"#,
    );
}

#[test]
fn a_file_that_did_not_exist_is_created_and_removed() {
    let created = install_for(EVENT, None, COMMAND).unwrap();
    assert_eq!(shortened(&created), "{\n  \"hooks\": {\n    \"Stop\": [CLD]\n  }\n}\n");
    assert_eq!(install_for(EVENT, Some(&created), COMMAND).unwrap(), created);
    assert_eq!(uninstall(&created).unwrap(), None);
}

#[test]
fn each_entry_has_the_command_and_a_timeout() {
    let installed: Json =
        serde_json::from_str(&install(None, "'/my dir/cld' hook").unwrap()).unwrap();
    let hook = |timeout: u32| json!([{"hooks": [{"type": "command", "command": "'/my dir/cld' hook", "timeout": timeout}]}]);
    assert_eq!(installed["hooks"]["Stop"], hook(10));
    assert_eq!(installed["hooks"]["SessionEnd"], hook(5));
}

#[test]
fn a_stale_path_is_repaired_in_place_and_new_events_are_added() {
    let old = install_for(EVENT, Some("{\"a\": 1}"), "/old/cld hook").unwrap();
    let repaired = install(Some(&old), COMMAND).unwrap();
    assert!(!repaired.contains("/old/cld"));
    assert_once(&repaired);
    assert_eq!(uninstall(&repaired).unwrap().as_deref(), Some("{\"a\": 1}"));
}

#[test]
fn an_entry_written_by_hand_is_taken_over_and_doubles_are_dropped() {
    let by_hand = r#"{"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"cld hook"}]},{"hooks":[{"type":"command","command":"/x/cld hook"},{"type":"command","command":"say done"}]}]}}"#;
    let installed = install(Some(by_hand), COMMAND).unwrap();
    assert_once(&installed);
    assert!(installed.contains(r#"{"hooks":[{"type":"command","command":"say done"}]}"#));
    let removed = uninstall(&installed).unwrap().unwrap();
    assert_eq!(
        removed,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}"#
    );
}

#[test]
fn a_hook_for_some_tools_only_does_not_count_as_installed() {
    let some = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"/x/cld hook"}]}]}}"#;
    let installed = install(Some(some), COMMAND).unwrap();
    let json: Json = serde_json::from_str(&installed).unwrap();
    assert_eq!(json["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
    assert_eq!(json["hooks"]["PreToolUse"][0]["hooks"][0]["command"], COMMAND);
}

#[test]
fn hooks_where_they_do_harm_are_dropped() {
    let harmful =
        r#"{"hooks":{"WorktreeCreate":[{"hooks":[{"type":"command","command":"cld hook"}]}]}}"#;
    assert!(!install(Some(harmful), COMMAND).unwrap().contains("WorktreeCreate"));
}

#[test]
fn files_of_another_shape_are_refused() {
    #[track_caller]
    fn refused(text: &str, column: usize, problem: &str) {
        let refusal = install(Some(text), COMMAND).unwrap_err();
        assert_eq!((refusal.column, refusal.problem.as_str()), (column, problem), "{text}");
        assert_eq!(uninstall(text).unwrap().as_deref(), Some(text), "nothing of ours in it");
    }
    refused("null", 1, "the settings should be an object and is null");
    refused("[]", 1, "the settings should be an object and is an array");
    refused(r#"{"hooks":null}"#, 10, "`hooks` should be an object and is null");
    refused(r#"{"hooks":[]}"#, 10, "`hooks` should be an object and is an array");
    refused(r#"{"hooks":{"Stop":null}}"#, 18, "`hooks.Stop` should be an array and is null");
    refused(r#"{"hooks":{"Stop":{}}}"#, 18, "`hooks.Stop` should be an array and is an object");
    assert!(install(Some("{}"), "cld hook --dry-run").is_err(), "not a hook of cld");
    assert!(install(Some("{,}"), COMMAND).is_err());
    assert!(uninstall("{,}").is_err());
}

#[test]
fn a_summary_tells_what_takes_effect() {
    let text = format!(
        r#"{{"disableAllHooks": true, "enabledPlugins": {{"cld@x": true, "y@x": false}},
            "hooks": {{"Stop": [{}]}}, "hooks": {{"PreToolUse": [{}]}}, /* c */ }}"#,
        entry("Stop", ": "),
        entry("PreToolUse", ": ")
    );
    let summary = summary(&text).unwrap();
    assert!(!summary.strict && summary.disables_all_hooks && !summary.only_managed_hooks);
    assert_eq!(summary.hooks, [("PreToolUse".to_owned(), COMMAND.to_owned())]);
    assert_eq!(summary.plugins, ["cld@x"]);
}

/// What JSON.parse makes of it; comments and trailing commas are taken out before.
fn parsed(text: &str) -> Json {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let mut escaped = false;
            let length = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let (string, after) = rest.split_at(length.unwrap() + 2);
            plain.push_str(string);
            rest = after;
        } else if rest.starts_with("//") {
            rest = &rest[rest.find(['\n', '\r']).unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            rest = &rest[rest[2..].find("*/").unwrap() + 4..];
        } else {
            if matches!(first, '}' | ']') {
                let kept = plain.trim_end().strip_suffix(',').map(str::len);
                plain.truncate(kept.unwrap_or(plain.len()));
            }
            plain.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {plain}"))
}

fn ours_in(json: &Json, event: &str) -> usize {
    let entries = json["hooks"][event].as_array().map_or(&[][..], Vec::as_slice);
    let hooks = entries.iter().filter_map(|entry| entry["hooks"].as_array()).flatten();
    hooks.filter(|hook| hook["command"] == COMMAND).count()
}

#[track_caller]
fn assert_once(text: &str) {
    let json = parsed(text);
    for event in events::registered() {
        assert_eq!(ours_in(&json, event), 1, "{event} in {text}");
    }
}

/// Removes what is ours from a parsed file, and hooks and events that are then empty.
fn without_ours(mut json: Json) -> Json {
    if let Some(hooks) = json.get_mut("hooks").and_then(Json::as_object_mut) {
        for entries in hooks.values_mut().filter_map(Json::as_array_mut) {
            entries.retain(|entry| entry["hooks"][0]["command"] != COMMAND);
        }
        hooks.retain(|_, entries| entries.as_array().is_none_or(|entries| !entries.is_empty()));
    }
    if json["hooks"].as_object().is_some_and(serde_json::Map::is_empty) {
        json.as_object_mut().unwrap().remove("hooks");
    }
    json
}

/// Enough for properties that do not depend on how many events there are.
const SOME: &[&str] = &["PreToolUse", "SessionEnd", "Stop"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn uninstall_after_install_gives_the_same_bytes(before in file()) {
        let Ok(installed) = install(Some(&before), COMMAND) else { return Ok(()) };
        prop_assert_eq!(uninstall(&installed).unwrap(), Some(before));
    }

    #[test]
    fn an_installed_file_has_each_event_once_and_all_that_was_there(before in file()) {
        let Ok(installed) = install(Some(&before), COMMAND) else { return Ok(()) };
        assert_once(&installed);
        prop_assert_eq!(install(Some(&installed), COMMAND).unwrap(), installed.clone());
        let strict = scan(&before).unwrap().strict;
        prop_assert_eq!(scan(&installed).unwrap().strict, strict);
        if strict {
            let plain = installed.strip_prefix('\u{feff}').unwrap_or(&installed);
            prop_assert!(serde_json::from_str::<Json>(plain).is_ok());
        }
        if scan(&before).unwrap().root.is_some() {
            prop_assert_eq!(without_ours(parsed(&installed)), without_ours(parsed(&before)));
        }
    }

    #[test]
    fn a_file_that_another_program_wrote_anew_still_loses_exactly_ours(before in file()) {
        let Ok(installed) = install_for(SOME, Some(&before), COMMAND) else { return Ok(()) };
        let rewritten = serde_json::to_string_pretty(&parsed(&installed)).unwrap();
        let removed = uninstall(&rewritten).unwrap().unwrap_or_else(|| "{}".to_owned());
        let removed = if removed.is_empty() { "{}".to_owned() } else { removed };
        let expected = if scan(&before).unwrap().root.is_some() { parsed(&before) } else { json!({}) };
        prop_assert_eq!(without_ours(parsed(&removed)), without_ours(expected));
    }

    #[test]
    fn a_moved_program_changes_nothing_but_the_command(before in file()) {
        let Ok(old) = install_for(SOME, Some(&before), "'/old place/cld' hook") else { return Ok(()) };
        prop_assert_eq!(
            install_for(SOME, Some(&old), COMMAND).unwrap(),
            old.replace("'/old place/cld' hook", COMMAND)
        );
    }
}
