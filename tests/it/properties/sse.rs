//! Whatever a payload holds, a reader of the stream gets one event with the same text.

use cld::hub::frame::frame;

pub(crate) fn holds(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let bytes = frame(Some("0-1"), "hook", text);
    let stream =
        format!(": before\n\n{}event: hub\ndata: after\n\n", str::from_utf8(&bytes).unwrap());
    let plain = text.replace("\r\n", "\n").replace('\r', "\n");
    let expected = [
        ("0-1".to_owned(), "hook".to_owned(), plain),
        ("0-1".to_owned(), "hub".to_owned(), "after".to_owned()),
    ];
    assert_eq!(read(&stream), expected);
}

/// A reader as the standard describes it, written apart from the hub: id, kind and data of each event.
fn read(stream: &str) -> Vec<(String, String, String)> {
    let (mut events, mut id) = (Vec::new(), String::new());
    let (mut kind, mut data) = (String::new(), String::new());
    let stream = stream.replace("\r\n", "\n").replace('\r', "\n");
    for line in stream.split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                data.pop();
                events.push((id.clone(), std::mem::take(&mut kind), std::mem::take(&mut data)));
            }
            kind.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if !value.contains('\0') => value.clone_into(&mut id),
            "event" => value.clone_into(&mut kind),
            "data" => data.push_str(&format!("{value}\n")),
            _ => {}
        }
    }
    events
}
