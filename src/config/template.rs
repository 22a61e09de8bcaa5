//! What a notification says: text with the names of fields in braces. Pure.

use toml::de::DeValue;

use crate::spelling;
use crate::text::one_line;

use super::show::string;
use super::values::{Value, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The name of the project's directory.
    Project,
    /// The title of the session.
    Title,
    /// What is waited for, in words.
    Reason,
    /// What exactly: the tool and its input, the question, the last words.
    Context,
    /// Number and name of the window.
    Window,
}

impl Field {
    const ALL: [(&'static str, Self); 5] = [
        ("project", Self::Project),
        ("title", Self::Title),
        ("reason", Self::Reason),
        ("context", Self::Context),
        ("window", Self::Window),
    ];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

impl Template {
    /// For texts of cld itself, whose fields all exist.
    pub(crate) fn plain(source: &str) -> Self {
        let text = |_| Self { source: source.to_owned(), pieces: Vec::new() };
        Self::parse(source).unwrap_or_else(text)
    }

    /// Refuses a name in braces that is no field; other braces are text.
    pub(super) fn parse(source: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(open) = rest.find('{') {
            let (before, after) = (&rest[..open], &rest[open + 1..]);
            text.push_str(before);
            let name = after.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
            let Some(name) = name else {
                text.push('{');
                rest = after;
                continue;
            };
            let field = Field::ALL.iter().find(|(known, _)| *known == name);
            let (_, field) = field.ok_or_else(|| unknown(name))?;
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(Piece::Field(*field));
            rest = &after[name.len() + 1..];
        }
        text.push_str(rest);
        pieces.push(Piece::Text(text));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(Self { source: source.to_owned(), pieces })
    }

    /// Fields are put in as they are, and what they hold is not looked at again.
    pub fn fill<'f>(&self, value: impl Fn(Field) -> &'f str) -> String {
        let piece = |piece: &'_ Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Field(field) => value(*field).to_owned(),
        };
        self.pieces.iter().map(piece).collect()
    }
}

impl Value for Template {
    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        Self::parse(text(value)?)
    }

    fn write(&self) -> String {
        string(&self.source)
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn unknown(name: &str) -> String {
    let names = Field::ALL.map(|(known, _)| known);
    let near = spelling::nearest(name, names);
    let near = near.map(|near| format!("; did you mean {{{near}}}?")).unwrap_or_default();
    let names = names.map(|name| format!("{{{name}}}")).join(" ");
    format!("knows {names}, and not {{{}}}{near}", one_line(name, 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(source: &str) -> Result<String, String> {
        let template = Template::parse(source)?;
        Ok(template.fill(|field| match field {
            Field::Project => "{title}",
            Field::Title => "T",
            Field::Reason => "R",
            Field::Context => "",
            Field::Window => "2:x",
        }))
    }

    #[test]
    fn fields_are_replaced_once_and_other_braces_stay() {
        for (source, expected) in [
            ("{project}: {reason}", "{title}: R"),
            ("{title}{title}", "TT"),
            ("[{context}]", "[]"),
            ("{} { } {{title}} }{", "{} { } {T} }{"),
            ("{a b}", "{a b}"),
            ("ü{window}ü{", "ü2:xü{"),
            ("", ""),
        ] {
            assert_eq!(filled(source).as_deref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn a_field_that_does_not_exist_is_refused_with_the_nearest() {
        let refused = filled("{projekt}").unwrap_err();
        assert!(refused.ends_with("and not {projekt}; did you mean {project}?"), "{refused}");
    }
}
