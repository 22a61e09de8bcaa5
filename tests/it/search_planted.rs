//! Phrases planted in every place where something can be said, and in places where nothing is said,
//! written in all the ways in which JSON can be written: each is found where it was planted, and
//! nothing else is found. A slow reader that shares nothing with cld is the judge.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::planted::Dice;
use crate::stage::check_exit;
use crate::world::World;

const SESSIONS: usize = 120;
/// Four for each place.
const PHRASES: usize = 4 * (SPOKEN.len() + TORN.len() + HIDDEN.len());
const WORDS: [&str; 16] = [
    "parser",
    "Parser",
    "the",
    "of",
    "connection",
    "refused",
    "CONNECTION",
    "naïve",
    "NAÏVE",
    "src/main.rs",
    "a\"quoted\"",
    "<tag>",
    "日本語",
    "😀",
    "tab\there",
    "C:\\dir",
];

/// Where a phrase is planted, and who is then said to have said it.
const SPOKEN: [(&str, &str); 14] = [
    ("prompt", "user"),
    ("prompt in blocks", "user"),
    ("queued prompt", "user"),
    ("command", "user"),
    ("answer", "assistant"),
    ("thinking", "assistant"),
    ("summary of a compacted conversation", "assistant"),
    ("tool input", "tool_input"),
    ("deep tool input", "tool_input"),
    ("tool result", "tool_result"),
    ("tool result in parts", "tool_result"),
    ("output that was cut in the result", "tool_result"),
    ("title", "title"),
    ("very long tool result", "tool_result"),
];
const TORN: [(&str, &str); 3] =
    [("torn prompt", "user"), ("torn answer", "assistant"), ("after half a record", "user")];
const HIDDEN: [&str; 12] = [
    "request shape",
    "request blob",
    "prompt snapshot",
    "skill listing",
    "reminder",
    "meta prompt",
    "signature",
    "image",
    "original file",
    "key of an input",
    "file history",
    "directory",
];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    session: String,
    who: String,
}

struct Tree {
    world: World,
    /// Each phrase, the place it was planted in, and the hit it must give.
    planted: Vec<(String, String, Option<Hit>)>,
}

struct Planter {
    dice: Dice,
    next_record: u64,
}

impl Planter {
    fn words(&mut self, most: usize) -> String {
        let count = 1 + self.dice.below(most);
        let words: Vec<&str> = (0..count).map(|_| *self.dice.pick(&WORDS)).collect();
        let between: &&str = self.dice.pick(&[" ", "\n", ", "]);
        words.join(between)
    }

    /// A phrase that occurs nowhere else.
    fn phrase(&mut self, number: usize) -> String {
        let number = format!("{number:03}");
        match self.dice.below(10) {
            0 => format!("plain phrase {number} here"),
            1 => format!("café Überfall {number}"),
            2 => format!("say \"{number}\" \"aloud\""),
            3 => format!("path/to/{number}/file.rs"),
            4 => format!("line {number}\nthe next"),
            5 => format!("<b>{number}</b> & 'x' += `y`"),
            6 => format!("日本語{number}テスト"),
            7 => format!("tab\t{number}\tdone"),
            8 => format!("C:\\Users\\{number}"),
            _ => format!("😀{number}😀"),
        }
    }

    fn uuid(&mut self) -> String {
        self.next_record += 1;
        format!("{:08x}-1111-4111-8111-111111111111", self.next_record)
    }

    fn record(&mut self, kind: &str, fields: &Value) -> Value {
        let mut record = json!({"parentUuid": null, "type": kind, "uuid": self.uuid(), "cwd": "/home/u/proj",
            "sessionId": "s", "gitBranch": "main", "entrypoint": "cli", "isSidechain": false,
            "timestamp": "2026-11-18T00:00:00.000Z"});
        for (key, value) in fields.as_object().unwrap() {
            record[key] = value.clone();
        }
        record
    }

    fn user(&mut self, content: &Value) -> Value {
        self.record("user", &json!({"message": {"role": "user", "content": content}}))
    }

    fn assistant(&mut self, block: &Value) -> Value {
        let words = self.words(5);
        let content = json!([{"type": "text", "text": words}, block]);
        self.record(
            "assistant",
            &json!({"message": {"id": "m", "role": "assistant", "content": content}}),
        )
    }

    fn noise(&mut self) -> Value {
        let words = self.words(30);
        match self.dice.below(6) {
            0 => self.user(&json!(words)),
            1 => self.assistant(&json!({"type": "text", "text": words})),
            2 => self.assistant(
                &json!({"type": "tool_use", "name": "Bash", "input": {"command": words, "n": 1}}),
            ),
            3 => {
                let mut record = self.user(&json!([{"type": "tool_result", "content": words}]));
                record["toolUseResult"] = json!({"stdout": words, "stderr": ""});
                record
            }
            4 => json!({"type": "api-request-shape", "shape": {"system": words}}),
            _ => self.record(
                "attachment",
                &json!({"attachment": {"type": "prompt_snapshot", "content": words}}),
            ),
        }
    }

    fn spoken(&mut self, place: &str, phrase: &str) -> Value {
        let around = format!("{} {phrase} {}", self.words(4), self.words(4));
        match place {
            "prompt" => self.user(&json!(around)),
            "prompt in blocks" => self.user(&json!([{"type": "image", "source": {}}, {"type": "text", "text": around}])),
            "queued prompt" => self.record("attachment", &json!({"attachment": {"type": "queued_command", "prompt": around}})),
            "command" => self.user(&json!(format!("<command-name>/x</command-name><command-args>{around}</command-args>"))),
            "answer" => self.assistant(&json!({"type": "text", "text": around})),
            "thinking" => self.assistant(&json!({"type": "thinking", "thinking": around, "signature": "s"})),
            "summary of a compacted conversation" => {
                let mut record = self.user(&json!(around));
                record["isCompactSummary"] = json!(true);
                record["isVisibleInTranscriptOnly"] = json!(true);
                record
            }
            "tool input" => self.assistant(&json!({"type": "tool_use", "name": "Bash", "input": {"command": around}})),
            "deep tool input" => {
                let input = json!({"edits": [{"old": "x"}, {"new": [around]}]});
                self.assistant(&json!({"type": "tool_use", "name": "MultiEdit", "input": input}))
            }
            "tool result" => self.user(&json!([{"type": "tool_result", "content": around}])),
            "tool result in parts" => {
                self.user(&json!([{"type": "tool_result", "content": [{"type": "image"}, {"type": "text", "text": around}]}]))
            }
            "output that was cut in the result" => {
                let mut record = self.user(&json!([{"type": "tool_result", "content": "Output too large"}]));
                record["toolUseResult"] = json!({"stdout": around});
                record
            }
            "title" => json!({"type": "custom-title", "customTitle": around, "sessionId": "s"}),
            "very long tool result" => {
                let far = "filling ".repeat(40_000 + self.dice.below(60_000));
                self.user(&json!([{"type": "tool_result", "content": format!("{far}{around}{far}")}]))
            }
            other => panic!("{other}"),
        }
    }

    fn hidden(&mut self, place: &str, phrase: &str) -> Value {
        match place {
            "request shape" => {
                json!({"type": "api-request-shape", "shape": {"system": phrase, "message": {"content": phrase}}})
            }
            "request blob" => {
                json!({"type": "api-request-blob", "message": {"role": "user", "content": phrase}})
            }
            "prompt snapshot" => self.record(
                "attachment",
                &json!({"attachment": {"type": "prompt_snapshot", "prompt": phrase}}),
            ),
            "skill listing" => self.record(
                "attachment",
                &json!({"attachment": {"type": "skill_listing", "content": phrase}}),
            ),
            "reminder" => self.user(&json!(format!("<system-reminder>{phrase}</system-reminder>"))),
            "meta prompt" => {
                let mut record = self.user(&json!(phrase));
                record["isMeta"] = json!(true);
                record
            }
            "signature" => {
                self.assistant(&json!({"type": "thinking", "thinking": "x", "signature": phrase}))
            }
            "image" => self.user(&json!([{"type": "image", "source": {"data": phrase}}])),
            "original file" => {
                let mut record = self.user(&json!([{"type": "tool_result", "content": "done"}]));
                record["toolUseResult"] = json!({"originalFile": phrase});
                record
            }
            "key of an input" => {
                self.assistant(&json!({"type": "tool_use", "name": "x", "input": {phrase: 1}}))
            }
            "file history" => {
                json!({"type": "file-history-snapshot", "snapshot": {"content": phrase}})
            }
            "directory" => {
                let mut record = self.user(&json!("x"));
                record["cwd"] = json!(phrase);
                record
            }
            other => panic!("{other}"),
        }
    }

    /// The end of a file that a crash has left: no whole record, or one behind the half of another.
    fn torn(&mut self, place: &str, phrase: &str) -> String {
        let text = json!(format!("{} {phrase} and mo", self.words(4)));
        let text = self.write(&text);
        let open = &text[..text.len() - 1];
        match place {
            "torn prompt" => format!(
                r#"{{"parentUuid":null,"type":"user","message":{{"role":"user","content":{open}"#
            ),
            "torn answer" => format!(
                r#"{{"parentUuid":null,"message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":{open}"#
            ),
            "after half a record" => {
                format!(
                    r#"{{"parentUuid":null,"type":"user","message":{{"role":"user","content":"half{{"parentUuid":null,"type":"user","message":{{"role":"user","content":{text}}}}}"#
                ) + "\n"
            }
            other => panic!("{other}"),
        }
    }

    /// A value as some writer of JSON might write it.
    fn write(&mut self, value: &Value) -> String {
        match value {
            Value::String(text) => {
                let style = self.dice.below(4);
                let characters: String =
                    text.chars().map(|character| self.character(character, style)).collect();
                format!("\"{characters}\"")
            }
            Value::Array(values) => {
                let values: Vec<String> = values.iter().map(|value| self.write(value)).collect();
                format!("[{}]", values.join(","))
            }
            Value::Object(map) => {
                // Claude Code does not sort keys either.
                let mut pairs: Vec<String> = map
                    .iter()
                    .map(|(key, value)| format!("{}:{}", json!(key), self.write(value)))
                    .collect();
                if self.dice.one_in(2) {
                    pairs.reverse();
                }
                format!("{{{}}}", pairs.join(","))
            }
            other => other.to_string(),
        }
    }

    fn character(&mut self, character: char, style: usize) -> String {
        let plain = serde_json::to_string(&character).unwrap();
        let plain = plain[1..plain.len() - 1].to_owned();
        let may_be_escaped = !character.is_ascii() || "/<>&'+=`\"\\\n\t".contains(character);
        let escaped = match style {
            0 => false,
            1 => may_be_escaped,
            _ => may_be_escaped && self.dice.one_in(2),
        };
        match escaped {
            true if character == '/' && self.dice.one_in(2) => "\\/".to_owned(),
            true => {
                let mut units = [0; 2];
                let upper = self.dice.one_in(2);
                let hex = |unit: &u16| {
                    if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") }
                };
                character.encode_utf16(&mut units).iter().map(hex).collect()
            }
            false => plain,
        }
    }
}

impl Tree {
    fn plant() -> Self {
        let world = World::bare();
        let mut planter = Planter { dice: Dice(0x5ea2_c4ed), next_record: 0 };
        let mut files: Vec<Vec<String>> = Vec::new();
        for _ in 0..SESSIONS {
            let first = planter.user(&json!("begin"));
            let mut lines = vec![planter.write(&first) + "\n"];
            for _ in 0..planter.dice.below(12) {
                let noise = planter.noise();
                lines.push(planter.write(&noise) + "\n");
            }
            files.push(lines);
        }
        let mut planted = Vec::new();
        let mut ends: BTreeMap<usize, String> = BTreeMap::new();
        for number in 0..PHRASES {
            let phrase = planter.phrase(number);
            let mut at = planter.dice.below(SESSIONS);
            let mut place = number % (PHRASES / 4);
            let (place, expected, line) = if let Some(place) = HIDDEN.get(place) {
                let record = planter.hidden(place, &phrase);
                (*place, None, planter.write(&record) + "\n")
            } else {
                place -= HIDDEN.len();
                let (name, who, line) = if let Some((name, who)) = TORN.get(place) {
                    while ends.contains_key(&at) {
                        at = planter.dice.below(SESSIONS);
                    }
                    ends.insert(at, planter.torn(name, &phrase));
                    (*name, *who, String::new())
                } else {
                    let (name, who) = SPOKEN[place - TORN.len()];
                    let record = planter.spoken(name, &phrase);
                    (name, who, planter.write(&record) + "\n")
                };
                (name, Some(Hit { session: id(at), who: who.to_owned() }), line)
            };
            let lines = &mut files[at];
            let position = 1 + planter.dice.below(lines.len());
            lines.insert(position, line);
            planted.push((phrase, place.to_owned(), expected));
        }
        for (at, mut lines) in files.into_iter().enumerate() {
            lines.extend(ends.remove(&at));
            write(&path(&world, at), &lines.concat(), at);
        }
        Self { world, planted }
    }

    fn hits(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.world.cld(&["search", "--json"]).args(arguments).output().unwrap();
        let (out, _) = check_exit(&output, i32::from(output.stdout.is_empty()));
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn id(at: usize) -> String {
    format!("{at:08x}-0000-4000-8000-000000000000")
}

fn path(world: &World, at: usize) -> PathBuf {
    world.home().join(format!(".claude/projects/-home-u-proj/{}.jsonl", id(at)))
}

/// The first session is the newest.
fn write(path: &Path, content: &str, at: usize) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    let modified = UNIX_EPOCH + Duration::from_secs(1_794_960_000 - 60 * at as u64);
    fs::File::options().append(true).open(path).unwrap().set_modified(modified).unwrap();
}

fn hit(line: &Value) -> Hit {
    let word = |key: &str| line[key].as_str().unwrap().to_owned();
    Hit { session: word("session_id"), who: word("who") }
}

#[test]
fn every_phrase_is_found_where_it_was_planted_and_nowhere_else() {
    let tree = Tree::plant();
    for (phrase, place, expected) in &tree.planted {
        let found: Vec<Hit> = tree.hits(&[phrase]).iter().map(hit).collect();
        assert_eq!(found, expected.iter().cloned().collect::<Vec<_>>(), "{phrase:?} in a {place}");
        let upper = phrase.to_uppercase();
        let found: Vec<Hit> = tree.hits(&["-i", &upper]).iter().map(hit).collect();
        assert_eq!(found, expected.iter().cloned().collect::<Vec<_>>(), "{upper:?} in a {place}");
    }
}

#[test]
fn frequent_words_are_found_as_a_slow_reader_finds_them() {
    let tree = Tree::plant();
    for word in WORDS {
        for flags in
            [&["--hits", "1000"][..], &["--hits", "1000", "-s"], &["--hits", "1000", "--regex"]]
        {
            let pattern = if flags.contains(&"--regex") { escape(word) } else { word.to_owned() };
            let found = tree.hits(&[flags, &[&pattern]].concat());
            let found: BTreeSet<(String, String, String)> = found
                .iter()
                .map(|line| {
                    let Hit { session, who } = hit(line);
                    (session, who, line["uuid"].as_str().unwrap_or("-").to_owned())
                })
                .collect();
            let exact = flags.contains(&"-s") || word.chars().any(char::is_uppercase);
            let expected = slow(&tree.world, word, exact);
            let missing: Vec<_> = expected.difference(&found).take(3).collect();
            let extra: Vec<_> = found.difference(&expected).take(3).collect();
            assert!(
                missing.is_empty() && extra.is_empty(),
                "{word:?} {flags:?}: missing {missing:?}, extra {extra:?}"
            );
            assert!(!expected.is_empty(), "{word:?} occurs");
        }
    }
}

#[test]
fn each_session_is_told_once_and_the_newest_first() {
    let tree = Tree::plant();
    let mut order: Vec<String> = tree.hits(&["the"]).iter().map(|line| hit(line).session).collect();
    order.dedup();
    let mut sorted = order.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(order, sorted);
    assert!(order.len() > SESSIONS / 3, "{} sessions", order.len());
}

fn escape(word: &str) -> String {
    word.chars()
        .map(|c| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() })
        .collect()
}

/// All places where a word is said: session, who, and the record. Reads whole files, parses whole
/// lines, compares whole texts.
fn slow(world: &World, word: &str, exact: bool) -> BTreeSet<(String, String, String)> {
    let holds = |text: &str| match exact {
        true => text.contains(word),
        false => text.to_lowercase().contains(&word.to_lowercase()),
    };
    let mut found = BTreeSet::new();
    for at in 0..SESSIONS {
        for line in fs::read_to_string(path(world, at)).unwrap().lines() {
            for (who, uuid, text) in said(line) {
                if holds(&text) {
                    found.insert((id(at), who, uuid));
                }
            }
        }
    }
    found
}

/// What a line says: who, the record, the text.
fn said(line: &str) -> Vec<(String, String, String)> {
    let (record, who) = match serde_json::from_str::<Map<String, Value>>(line) {
        Ok(record) => (Value::from(record), None),
        Err(_) => torn(line),
    };
    let uuid = record["uuid"].as_str().unwrap_or("-").to_owned();
    let mut all = Vec::new();
    let mut add = |who: &str, value: &Value| {
        all.extend(value.as_str().map(|text| (who.to_owned(), uuid.clone(), text.to_owned())));
    };
    let content = &record["message"]["content"];
    let blocks = content.as_array().cloned().unwrap_or_default();
    match record["type"].as_str().or(who).unwrap_or_default() {
        "user" => {
            let is_summary = record["isCompactSummary"] == json!(true);
            let is_hidden = record["isMeta"] == json!(true)
                || content.as_str().is_some_and(|text| text.starts_with("<system-reminder>"));
            if is_hidden {
                return all;
            }
            let me = if is_summary { "assistant" } else { "user" };
            add(me, content);
            for block in &blocks {
                add(me, &block["text"]);
                add("tool_result", &block["content"]);
                for part in block["content"].as_array().into_iter().flatten() {
                    add("tool_result", &part["text"]);
                }
            }
            add("tool_result", &record["toolUseResult"]["stdout"]);
        }
        "assistant" => {
            for block in &blocks {
                add("assistant", &block["text"]);
                add("assistant", &block["thinking"]);
                leaves(&block["input"], &mut |leaf| add("tool_input", leaf));
            }
        }
        "attachment" if record["attachment"]["type"] == json!("queued_command") => {
            add("user", &record["attachment"]["prompt"]);
        }
        "custom-title" => add("title", &record["customTitle"]),
        _ => {}
    }
    all
}

fn leaves(value: &Value, add: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| leaves(value, add)),
        Value::Object(map) => map.values().for_each(|value| leaves(value, add)),
        leaf => add(leaf),
    }
}

/// A line that is no JSON: what is missing at its end is put there, or half a record is cut off.
fn torn(line: &str) -> (Value, Option<&'static str>) {
    if let Some(at) = line.rfind("{\"parentUuid\"").filter(|at| *at > 0) {
        return (serde_json::from_str(&line[at..]).unwrap(), None);
    }
    for (end, who) in [("\"}}", "user"), ("\"}]}}", "assistant")] {
        if let Ok(record) = serde_json::from_str(&format!("{line}{end}")) {
            return (record, Some(who));
        }
    }
    panic!("{line}");
}
