//! What is told of a payload that is too large to be passed on: whose event it was, and its size.
//! Pure.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::event::Text;

/// As it is posted to the collector.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Oversize {
    session_id: Option<String>,
    hook_event_name: Option<String>,
    bytes: u64,
}

impl Oversize {
    /// Reads as far as the start of the payload goes; what is not found there stays unknown.
    pub(super) fn new(start: &[u8], bytes: u64) -> Self {
        let mut found = Self { bytes, ..Self::default() };
        // The start breaks off somewhere, which is no error here.
        let _ = Fields(&mut found).deserialize(&mut serde_json::Deserializer::from_slice(start));
        found
    }
}

/// Fills in what it meets, so that nothing is lost when the text breaks off.
struct Fields<'a>(&'a mut Oversize);

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            let field = match &*name {
                "session_id" => &mut self.0.session_id,
                "hook_event_name" => &mut self.0.hook_event_name,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *field = map.next_value::<Text<'_>>()?.0.map(Cow::into_owned);
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(start: &[u8], session: Option<&str>, name: Option<&str>) {
        let found = Oversize::new(start, 7);
        let fields = (found.session_id.as_deref(), found.hook_event_name.as_deref(), found.bytes);
        assert_eq!(fields, (session, name, 7), "{}", String::from_utf8_lossy(start));
    }

    #[test]
    fn what_stands_before_the_break_is_found() {
        let (session, name) = (Some("s"), Some("Stop"));
        check(br#"{"session_id":"s","hook_event_name":"Stop","x":"yyyy"#, session, name);
        check(br#"{"a":{"session_id":"no","b":[1,{}]},"session_id":"s","hook_eve"#, session, None);
        check(br#"{"hook_event_name":"Stop","x":["#, None, name);
        check(br#" {"session_id":7,"hook_event_name":"St\u006fp","session_id"#, None, name);
        let no_text = b"{\"session_id\":\"s\",\"x\":\"\xff\xfe\",\"hook_event_name\":\"Stop\"";
        check(no_text, session, name);
        let deep = [br#"{"session_id":"s","x":"#, &b"[".repeat(10_000)[..]].concat();
        check(&deep, session, None);
    }

    #[test]
    fn what_is_no_object_names_nothing() {
        for start in [&b""[..], b"\0", b"[", b"null", b"{", b"\xff", b"\"session_id\""] {
            check(start, None, None);
        }
    }
}
