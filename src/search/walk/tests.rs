use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Eq, Clone)]
enum Seen {
    Field(Field, u32, String),
    Flag(Flag),
    Text(Slot, u32, String),
}

fn walk(pieces: &[&[u8]]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    let mut tell = |event: Event<'_>| {
        seen.push(match event {
            Event::Field { field, block, value } => Seen::Field(field, block, value.to_owned()),
            Event::Flag(flag) => Seen::Flag(flag),
            Event::Text { slot, block, text, .. } => Seen::Text(slot, block, text.to_owned()),
        });
        ControlFlow::Continue(())
    };
    let mut walker = Walker::new();
    if pieces.iter().try_for_each(|piece| walker.feed(piece, &mut tell)).is_continue() {
        let _ = walker.finish(&mut tell);
    }
    seen
}

fn texts(record: &Value) -> Vec<(Slot, u32, String)> {
    of(walk(&[record.to_string().as_bytes()]))
}

fn of(seen: Vec<Seen>) -> Vec<(Slot, u32, String)> {
    let text = |seen| match seen {
        Seen::Text(slot, block, text) => Some((slot, block, text)),
        _ => None,
    };
    seen.into_iter().filter_map(text).collect()
}

fn text(slot: Slot, block: u32, text: &str) -> (Slot, u32, String) {
    (slot, block, text.to_owned())
}

#[test]
fn texts_come_with_what_they_are() {
    let record = json!({"message": {"role": "assistant", "content": [
        {"type": "text", "text": "answer"},
        {"type": "thinking", "thinking": "hm", "signature": "no"},
        {"type": "tool_use", "id": "no", "name": "Bash", "input": {"command": "ls", "deep": [{"x": ["y"]}], "n": 7}},
    ]}, "type": "assistant"});
    let mut found = texts(&record);
    found.sort_by_key(|(_, block, text)| (*block, text.clone()));
    assert_eq!(
        found,
        [
            text(Slot::Words, 1, "answer"),
            text(Slot::Thinking, 2, "hm"),
            text(Slot::Input, 3, "ls"),
            text(Slot::Input, 3, "y"),
        ]
    );
    let result = json!({"message": {"content": [
        {"type": "tool_result", "tool_use_id": "no", "content": [{"type": "text", "text": "out"},
            {"type": "image", "source": {"data": "no"}}]},
        {"type": "tool_result", "content": "plain"}]},
        "toolUseResult": {"stdout": "so", "originalFile": "no", "file": {"stdout": "no"}}});
    assert_eq!(
        texts(&result),
        [text(Slot::Result, 1, "out"), text(Slot::Result, 2, "plain"), text(Slot::Output, 2, "so")]
    );
    assert_eq!(texts(&json!({"message": {"content": "words"}})), [text(Slot::Words, 0, "words")]);
    assert_eq!(texts(&json!({"message": "no", "other": {"content": "no"}})), []);
}

#[test]
fn fields_and_flags_of_the_record_itself_are_told() {
    let line = br#"{"type":"user","isMeta":true,"isSidechain":false,"x":{"type":"no","isMeta":true},"uuid":"u"}"#;
    assert_eq!(
        walk(&[line]),
        [
            Seen::Field(Field::Type, 0, "user".to_owned()),
            Seen::Flag(Flag::Meta),
            Seen::Field(Field::Uuid, 0, "u".to_owned()),
        ]
    );
}

#[test]
fn escapes_are_decoded() {
    let words = |raw: &str| {
        let line = format!(r#"{{"message":{{"content":"{raw}"}}}}"#);
        of(walk(&[line.as_bytes()])).remove(0).2
    };
    assert_eq!(words(r#"a\n\t\r\b\f\"\\\/z"#), "a\n\t\r\u{8}\u{c}\"\\/z");
    assert_eq!(words(r"\u00e9\u00E9\ud83d\ude42!"), "éé🙂!");
    assert_eq!(words(r"half \ud83d end"), "half \u{fffd} end");
    assert_eq!(words(r"\ud83d\ud83d\ude42\ude42"), "\u{fffd}🙂\u{fffd}");
    assert_eq!(words(r"\ud83d\n"), "\u{fffd}\n");
    assert_eq!(words(r"cut \ud83d"), "cut \u{fffd}");
}

#[test]
fn a_torn_record_gives_what_is_there() {
    let line = br#"{"message":{"role":"assistant","content":[{"type":"text","text":"the first"},{"type":"text","text":"the sec"#;
    assert_eq!(
        of(walk(&[line])),
        [text(Slot::Words, 1, "the first"), text(Slot::Words, 2, "the sec")]
    );
}

#[test]
fn what_is_no_record_gives_nothing_and_ends() {
    for line in [
        &b""[..],
        b"null",
        b"[{\"message\":{\"content\":\"x\"}}]",
        b"\"x\"",
        b"}",
        b"{\"a\":1}{\"message\":{\"content\":\"x\"}}",
    ] {
        assert_eq!(of(walk(&[line])), [], "{}", String::from_utf8_lossy(line));
    }
    let deep = [b"{\"message\":".as_slice(), &b"[".repeat(100_000)].concat();
    assert_eq!(walk(&[&deep]), []);
    assert_eq!(of(walk(&[b"\0\0 {\"message\":{\"content\":\"x\"}}"])), [text(Slot::Words, 0, "x")]);
}

#[test]
fn long_texts_come_in_windows_that_overlap() {
    for unit in ["x", "é", "\\n", "日", "\\u00e9"] {
        let count = 3 * WINDOW;
        let line = format!(r#"{{"message":{{"content":"{}end"}}}}"#, unit.repeat(count));
        let decoded = serde_json::from_str::<String>(&format!("\"{unit}\"")).unwrap();
        let windows = of(walk(&[line.as_bytes()]));
        assert!(windows.len() > 2 && windows.iter().all(|(.., text)| text.len() <= WINDOW + 8));
        assert!(windows.last().unwrap().2.ends_with(&format!("{decoded}end")));
        assert!(windows.iter().all(|(.., text)| !text.contains('\u{fffd}')), "cut inside {unit}");
        let repeated = (windows.len() - 1) * OVERLAP;
        let total: usize = windows.iter().map(|(.., text)| text.len()).sum();
        let expected = count * decoded.len() + 3 + repeated;
        assert!(total.abs_diff(expected) <= 8 * windows.len(), "{total} {expected}");
    }
}

#[test]
fn a_name_of_any_length_takes_no_memory() {
    let line = format!(r#"{{"{}":"x","message":{{"content":"y"}}}}"#, "\\n".repeat(2 * WINDOW));
    assert_eq!(of(walk(&[line.as_bytes()])), [text(Slot::Words, 0, "y")]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "message",
        "content",
        "text",
        "type",
        "input",
        "toolUseResult",
        "stdout",
        "attachment",
        "prompt",
        "é\"\n",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c\"\\\\\\n日😀]{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key.clone(), inner, 0..4).prop_map(|map| {
                map.into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }),
        ]
    })
}

/// All strings anywhere in a value.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(map) => map.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn it_does_not_matter_how_a_record_is_cut_into_pieces(
        record in any_json(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let line = record.to_string().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(line.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&line[from..cut]);
            from = cut;
        }
        pieces.push(&line[from..]);
        prop_assert_eq!(walk(&pieces), walk(&[&line]));
    }

    #[test]
    fn every_text_is_one_of_the_strings_of_the_record(content in any_json(), input in any_json()) {
        let record = json!({"message": {"content": [{"text": content.clone()}, {"input": input.clone()}]}});
        let (mut all, mut inputs) = (Vec::new(), Vec::new());
        strings(&record, &mut all);
        strings(&input, &mut inputs);
        let found = texts(&record);
        for (_, _, text) in &found {
            prop_assert!(all.contains(text), "{text:?}");
        }
        let of_input = found.iter().filter(|(slot, ..)| *slot == Slot::Input);
        let mut of_input: Vec<String> = of_input.map(|(_, _, text)| text.clone()).collect();
        of_input.sort();
        inputs.sort();
        prop_assert_eq!(of_input, inputs);
    }

    #[test]
    fn any_bytes_are_walked_through_without_harm(bytes in prop::collection::vec(prop::sample::select(b"{}[]\":,\\ux0ta\xc3\xa9\n".to_vec()), 0..200)) {
        let _ = walk(&[&bytes]);
    }
}
