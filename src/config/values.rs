//! What a setting can be: each type reads itself from TOML, refuses what it cannot be, and writes
//! itself back. Pure.

use std::time::Duration;

use toml::de::DeValue;

use crate::clock;
use crate::session::WaitKind;
use crate::spelling;
use crate::text::one_line;

use super::show::{list, string};

pub(super) trait Value: Sized {
    /// Or what is wrong, as the end of a sentence that begins with the name of the setting.
    fn read(value: &DeValue<'_>) -> Result<Self, String>;
    fn write(&self) -> String;
}

impl Value for String {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        text(value).map(str::to_owned)
    }

    fn write(&self) -> String {
        string(self)
    }
}

impl Value for u64 {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let DeValue::Integer(number) = value else { return Err(expected("a whole number", value)) };
        Self::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| format!("should be a whole number from 0 on, and {number} is not"))
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

impl Value for Vec<String> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let DeValue::Array(items) = value else { return Err(expected("a list of texts", value)) };
        items.iter().map(|item| text(item.get_ref()).map(str::to_owned)).collect()
    }

    fn write(&self) -> String {
        list(self)
    }
}

impl Value for Vec<WaitKind> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let words: Vec<String> = Value::read(value)?;
        for word in &words {
            one_of(word, WaitKind::ALL.map(WaitKind::word))?;
        }
        let is_named = |kind: &WaitKind| words.iter().any(|word| word == kind.word());
        Ok(WaitKind::ALL.into_iter().filter(is_named).collect())
    }

    fn write(&self) -> String {
        list(&self.iter().map(|kind| kind.word()).collect::<Vec<_>>())
    }
}

/// A length of time: `90s`, `5m`, `2h`, `1d`.
impl Value for Duration {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let text = text(value)?;
        let seconds = clock::parse_duration(text)
            .ok_or_else(|| refused("a time such as \"90s\", \"5m\" or \"2h\"", text))?;
        Ok(Self::from_secs(seconds))
    }

    fn write(&self) -> String {
        string(&clock::exact(self.as_secs()))
    }
}

/// How a tab looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TabStyle {
    /// As it would without cld.
    Theme,
    /// A style that every tmux takes, and in which nothing is expanded.
    Style(String),
}

impl Value for TabStyle {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let text = text(value)?;
        if text == "theme" {
            return Ok(Self::Theme);
        }
        style(text).map(Self::Style)
    }

    fn write(&self) -> String {
        match self {
            Self::Theme => string("theme"),
            Self::Style(style) => string(style),
        }
    }
}

/// A style as tmux takes it. Everything else is refused here, because one style that tmux refuses
/// would cost the whole batch it stands in. A colour alone is that of the text.
fn style(text: &str) -> Result<String, String> {
    // Old versions of tmux know one spelling only.
    let text = &text.replace("color", "colour");
    if is_colour(text) {
        return Ok(format!("fg={text}"));
    }
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    if let Some(odd) = words.iter().find(|word| !is_style_word(word)) {
        let hint = "a tmux style such as \"fg=#6699cc,bold\"";
        let near = spelling::nearest(odd, ATTRIBUTES.into_iter().chain(COLOURS));
        let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        let odd = one_line(odd, 40);
        return Err(format!("should be {hint}, or \"theme\", and `{odd}` is none of that{near}"));
    }
    match words.is_empty() {
        true => Err("is empty; \"theme\" leaves the tab as it is".to_owned()),
        false => Ok(words.join(",")),
    }
}

const COLOURS: [&str; 10] =
    ["default", "terminal", "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

const ATTRIBUTES: [&str; 13] = [
    "bold",
    "bright",
    "dim",
    "underscore",
    "blink",
    "reverse",
    "hidden",
    "italics",
    "strikethrough",
    "double-underscore",
    "curly-underscore",
    "dotted-underscore",
    "dashed-underscore",
];

fn is_style_word(word: &str) -> bool {
    let attribute = word.strip_prefix("no").unwrap_or(word);
    let colour = word.strip_prefix("fg=").or_else(|| word.strip_prefix("bg="));
    matches!(word, "default" | "none")
        || ATTRIBUTES.contains(&attribute)
        || colour.is_some_and(is_colour)
}

fn is_colour(word: &str) -> bool {
    let numbered = word.strip_prefix("colour");
    let is_byte = |digits: &str| {
        digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u8>().is_ok()
    };
    let hex = word.strip_prefix('#');
    let is_hex = |hex: &str| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = word.strip_prefix("bright").unwrap_or(word);
    let is_bright = name.len() != word.len();
    numbered.is_some_and(is_byte)
        || hex.is_some_and(is_hex)
        || COLOURS.iter().skip(if is_bright { 2 } else { 0 }).any(|colour| *colour == name)
}

/// With which characters states are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icons {
    Unicode,
    Ascii,
}

impl Value for Icons {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let word = one_of(text(value)?, ["unicode", "ascii"])?;
        Ok(if word == "ascii" { Self::Ascii } else { Self::Unicode })
    }

    fn write(&self) -> String {
        string(match self {
            Self::Unicode => "unicode",
            Self::Ascii => "ascii",
        })
    }
}

/// Hours of the day in which nothing disturbs, in minutes since midnight. They may go past it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    pub from: u32,
    pub to: u32,
}

impl Quiet {
    pub fn holds(self, minute: u32) -> bool {
        match self.from <= self.to {
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let time = |text: &str| {
            let (hour, minute) = text.trim().split_once(':')?;
            let number = |digits: &str| {
                let is_plain = (1..=2).contains(&digits.len())
                    && digits.bytes().all(|byte| byte.is_ascii_digit());
                is_plain.then(|| digits.parse::<u32>().ok()).flatten()
            };
            let (hour, minute) = (number(hour)?, number(minute)?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        Some(Self { from: time(from)?, to: time(to)? })
    }
}

impl Value for Option<Quiet> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match text(value)? {
            "" | "off" => Ok(None),
            text => Quiet::parse(text)
                .map(Some)
                .ok_or_else(|| refused("hours such as \"22:00-08:00\", or \"off\"", text)),
        }
    }

    fn write(&self) -> String {
        let time = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        string(
            &self.map_or("off".to_owned(), |quiet| {
                format!("{}-{}", time(quiet.from), time(quiet.to))
            }),
        )
    }
}

/// A key of tmux that needs no quoting in its configuration: `n`, `M-n`, `C-Space`, `F5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(text: &str) -> Option<Self> {
        const NAMES: [&str; 20] = [
            "Space", "Enter", "Tab", "BTab", "Escape", "BSpace", "Up", "Down", "Left", "Right",
            "Home", "End", "PageUp", "PageDown", "PPage", "NPage", "Insert", "Delete", "IC", "DC",
        ];
        let mut base = text;
        while let Some(rest) = ["C-", "M-", "S-"].iter().find_map(|m| base.strip_prefix(m)) {
            if rest.is_empty() {
                break;
            }
            base = rest;
        }
        let is_function =
            |n: &str| matches!(n.parse::<u8>(), Ok(1..=12)) && !n.starts_with(['0', '+']);
        let is_character = |text: &str| {
            text.len() == 1
                && text.bytes().all(|b| b.is_ascii_graphic() && !b"'\"\\;#{}$~%".contains(&b))
        };
        let is_key = NAMES.contains(&base)
            || base.strip_prefix('F').is_some_and(is_function)
            || is_character(base);
        is_key.then(|| Self(text.to_owned()))
    }
}

impl Value for Option<Key> {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match text(value)? {
            "" | "none" => Ok(None),
            text => Key::parse(text)
                .map(Some)
                .ok_or_else(|| refused("a key of tmux such as \"n\", \"M-n\" or \"F5\"", text)),
        }
    }

    fn write(&self) -> String {
        string(self.as_ref().map_or("none", Key::as_str))
    }
}

pub(super) fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, String> {
    match value {
        DeValue::String(text) => Ok(text),
        other => Err(expected("a text in quotes", other)),
    }
}

/// The word itself, if it is one of `words`.
pub(super) fn one_of<'w>(
    word: &str,
    words: impl IntoIterator<Item = &'w str> + Clone,
) -> Result<&'w str, String> {
    if let Some(found) = words.clone().into_iter().find(|known| *known == word) {
        return Ok(found);
    }
    let near = spelling::nearest(word, words.clone());
    let near = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    let all: Vec<String> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    Err(format!("knows {}, and not {}{near}", all.join(", "), string(&one_line(word, 40))))
}

pub(super) fn refused(what: &str, text: &str) -> String {
    format!("should be {what}, and {} is not", string(&one_line(text, 40)))
}

fn expected(what: &str, found: &DeValue<'_>) -> String {
    let found = match found {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    format!("should be {what}, and is {found}")
}
