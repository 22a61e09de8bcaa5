//! The settings as a file that says the same. Pure.

use super::reader::Setting;
use crate::text::is_unsafe;

/// A table for each section, a comment before each setting that says what it does, and one after it
/// that says where the value comes from.
pub(super) fn document(settings: &[Setting]) -> String {
    let mut text = String::new();
    let mut section = "";
    for setting in settings {
        if setting.section != section {
            section = &setting.section;
            text.push_str(&format!("\n[{section}]\n"));
        }
        let origin = setting.line.map_or("default".to_owned(), |line| format!("line {line}"));
        text.push_str(&format!("# {}\n", setting.about));
        text.push_str(&format!("{} = {}  # {origin}\n", setting.key, setting.value));
    }
    text
}

/// A string in TOML. Characters that act on a terminal are written as escapes.
pub(super) fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            character if is_unsafe(character) => {
                quoted.push_str(&format!("\\U{:08X}", u32::from(character)));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

pub(super) fn list(items: &[impl AsRef<str>]) -> String {
    let items: Vec<String> = items.iter().map(|item| string(item.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

/// The name of a table: quoted, unless it is plain.
pub(super) fn key(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(plain) { name.to_owned() } else { string(name) }
}
