//! Events as they stand in a `text/event-stream`. Pure.

use axum::body::Bytes;

/// One event whose data is `text`. A line break inside of it, in any of the three forms that the
/// format knows, becomes a line of its own, so the reader gets the same text with LF for each.
pub fn frame(id: Option<&str>, event: &str, text: &str) -> Bytes {
    let mut frame = Vec::with_capacity(text.len() + 96);
    frame.extend_from_slice(opening(id, event).as_bytes());
    for line in Lines(Some(text)) {
        frame.extend_from_slice(b"\ndata: ");
        frame.extend_from_slice(line.as_bytes());
    }
    frame.extend_from_slice(END);
    Bytes::from(frame)
}

/// An event whose data follows in pieces: this, a text without line breaks, and [`END`].
pub(super) fn begin(id: &str, event: &str) -> Bytes {
    Bytes::from(opening(Some(id), event) + "\ndata: ")
}

pub(super) const END: &[u8] = b"\n\n";

fn opening(id: Option<&str>, event: &str) -> String {
    id.map_or_else(String::new, |id| format!("id: {id}\n")) + "event: " + event
}

/// The data of a frame that [`frame`] has made.
pub fn data(frame: &[u8]) -> String {
    let text = String::from_utf8_lossy(frame);
    let lines = text.split('\n').filter_map(|line| line.strip_prefix("data: "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Something that no reader takes for an event: it keeps proxies from closing a silent stream.
pub(super) fn comment(text: &str) -> Bytes {
    Bytes::from(format!(": {text}\n\n"))
}

/// The lines of a text; unlike `str::lines` also at a lone CR, and with the empty one at the end.
struct Lines<'a>(Option<&'a str>);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0?;
        let Some(end) = memchr::memchr2(b'\n', b'\r', text.as_bytes()) else {
            self.0 = None;
            return Some(text);
        };
        let length = if text[end..].starts_with("\r\n") { 2 } else { 1 };
        self.0 = Some(&text[end + length..]);
        Some(&text[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(frame(Some("b-1"), "hook", text), expected);
    }

    #[test]
    fn a_payload_of_one_line_stands_in_one_data_line() {
        check(r#"{"a":1}"#, "id: b-1\nevent: hook\ndata: {\"a\":1}\n\n");
        assert_eq!(frame(None, "hub", "{}"), "event: hub\ndata: {}\n\n");
    }

    #[test]
    fn every_kind_of_line_break_becomes_a_data_line() {
        check(
            "{\n\"a\":\r\n1\r}\n",
            "id: b-1\nevent: hook\ndata: {\ndata: \"a\":\ndata: 1\ndata: }\ndata: \n\n",
        );
        check("\r\r\n\n", "id: b-1\nevent: hook\ndata: \ndata: \ndata: \ndata: \n\n");
    }

    proptest! {
        #[test]
        fn the_data_of_a_frame_is_the_text_with_plain_line_ends(text in any::<String>()) {
            let plain = text.replace("\r\n", "\n").replace('\r', "\n");
            prop_assert_eq!(data(&frame(Some("b-1"), "hook", &text)), plain);
        }
    }
}
