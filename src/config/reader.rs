//! One pass over the file: every setting is asked for once, with its default, and what nobody asked
//! for is unknown. Pure.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::spelling;
use crate::text::one_line;

use super::values::Value;

/// Text of the file that is repeated in a message.
const LONGEST_TEXT: usize = 80;

/// One setting as it is in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// `tabs`, or `notify.tmux` for a table in a table.
    pub section: String,
    pub key: &'static str,
    /// As TOML.
    pub value: String,
    /// Where the file says so; nothing for a default.
    pub line: Option<usize>,
    pub about: &'static str,
}

impl Setting {
    /// As it is asked for: `tabs.waiting`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }
}

/// Something in the file that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

#[derive(Debug)]
pub(super) struct Reader<'t> {
    text: &'t str,
    /// Whether anybody wants to know more than the values.
    explains: bool,
    root: DeTable<'t>,
    sections: Vec<&'static str>,
    settings: Vec<Setting>,
    problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    /// A file that is no TOML says nothing at all: half of what was meant could be worse.
    pub(super) fn new(text: &'t str) -> Self {
        let (mut root, mut problems) = (DeTable::new(), Vec::new());
        match DeTable::parse(text) {
            Ok(table) => root = table.into_inner(),
            Err(error) => problems.push(Problem {
                line: error.span().map(|span| line_of(text, &span)),
                message: format!(
                    "{}; the whole file is left out",
                    one_line(error.message(), LONGEST_TEXT)
                ),
            }),
        }
        let (sections, settings) = (Vec::new(), Vec::new());
        Self { text, explains: true, root, sections, settings, problems }
    }

    /// For the hook, which has no use for origins and for what is unknown.
    pub(super) fn values_only(text: &'t str) -> Self {
        Self { explains: false, ..Self::new(text) }
    }

    pub(super) fn section<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Section<'_, 't>) -> T,
    ) -> T {
        self.sections.push(name);
        let table = match self.root.remove(name) {
            Some(value) => self.table(name, value.span(), value.into_inner()),
            None => DeTable::new(),
        };
        let mut section =
            Section { reader: self, name: name.to_owned(), table, known: BTreeSet::new() };
        let read = read(&mut section);
        section.finish();
        read
    }

    /// Reports the sections that nobody asked for.
    pub(super) fn finish(mut self) -> (Vec<Setting>, Vec<Problem>) {
        for key in std::mem::take(&mut self.root).keys() {
            let near = spelling::nearest(key.get_ref(), self.sections.iter().copied());
            self.unknown(key.span(), key.get_ref(), near);
        }
        self.problems.sort_by_key(|problem| problem.line);
        (self.settings, self.problems)
    }

    fn table(&mut self, name: &str, span: Range<usize>, value: DeValue<'t>) -> DeTable<'t> {
        match value {
            DeValue::Table(table) => table,
            _ => {
                self.problem(span, format!("`{name}` should be a table: [{name}]"));
                DeTable::new()
            }
        }
    }

    fn unknown(&mut self, span: Range<usize>, name: &str, near: Option<&str>) {
        let name = one_line(name, LONGEST_TEXT);
        self.problem(
            span,
            match near {
                Some(near) => format!("`{name}` is not known; did you mean `{near}`?"),
                None => format!("`{name}` is not known"),
            },
        );
    }

    fn problem(&mut self, span: Range<usize>, message: String) {
        self.problems.push(Problem { line: Some(line_of(self.text, &span)), message });
    }
}

/// A table of the file while its settings are read.
#[derive(Debug)]
pub(super) struct Section<'r, 't> {
    reader: &'r mut Reader<'t>,
    name: String,
    table: DeTable<'t>,
    known: BTreeSet<String>,
}

impl<'t> Section<'_, 't> {
    /// The value of a setting, else its default.
    pub(super) fn get<V: Value>(
        &mut self,
        key: &'static str,
        default: V,
        about: &'static str,
    ) -> V {
        let (mut line, mut value) = (None, default);
        if let Some(found) = self.table.remove(key) {
            match V::read(found.get_ref()) {
                Ok(read) => {
                    value = read;
                    line = Some(line_of(self.reader.text, &found.span()));
                }
                Err(_) if !self.reader.explains => {}
                Err(message) => {
                    let message = format!("`{}.{key}` {message}; it has its default", self.name);
                    self.reader.problem(found.span(), message);
                }
            }
        }
        if self.reader.explains {
            self.known.insert(key.to_owned());
            let section = self.name.clone();
            self.reader.settings.push(Setting { section, key, value: value.write(), line, about });
        }
        value
    }

    /// A table in this table.
    pub(super) fn section<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Section<'_, 't>) -> T,
    ) -> T {
        self.known.insert(name.to_owned());
        let full = format!("{}.{}", self.name, super::show::key(name));
        let table = match self.table.remove(name) {
            Some(value) => self.reader.table(&full, value.span(), value.into_inner()),
            None => DeTable::new(),
        };
        let known = BTreeSet::new();
        let mut section = Section { reader: &mut *self.reader, name: full, table, known };
        let read = read(&mut section);
        section.finish();
        read
    }

    /// The names of the tables in this table that nobody has asked for yet.
    pub(super) fn other_tables(&self) -> Vec<String> {
        let tables = self.table.iter().filter(|(_, value)| value.get_ref().is_table());
        tables.map(|(key, _)| key.get_ref().to_string()).collect()
    }

    /// Says that a value which could be read does not make sense together with others.
    pub(super) fn object(&mut self, key: &'static str, message: String) {
        let setting = self.reader.settings.iter().rev();
        let mut setting = setting.filter(|one| one.section == self.name && one.key == key);
        let line = setting.next().and_then(|setting| setting.line);
        self.reader.problems.push(Problem { line, message });
    }

    fn finish(self) {
        if !self.reader.explains {
            return;
        }
        for key in self.table.keys() {
            let near = spelling::nearest(key.get_ref(), self.known.iter().map(String::as_str));
            let near = near.map(|near| format!("{}.{near}", self.name));
            let name = format!("{}.{}", self.name, key.get_ref());
            self.reader.unknown(key.span(), &name, near.as_deref());
        }
    }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = &text.as_bytes()[..span.start.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
