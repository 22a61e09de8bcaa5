//! How text fits a screen: its width in columns, and whether it may have colours.

use std::io::{self, IsTerminal};

use unicode_width::UnicodeWidthStr;

use crate::paths;

const USUAL_WIDTH: usize = 80;

/// What standard output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Nothing where the lines go to another program, which wants them whole.
    pub width: Option<usize>,
    pub has_colours: bool,
}

impl Screen {
    pub fn of_stdout() -> Self {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Self { width: None, has_colours: false };
        }
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        let width = columns.or_else(paths::columns).unwrap_or(USUAL_WIDTH);
        Self { width: Some(width), has_colours: !paths::no_color() }
    }

    /// The text in a colour, given as the number of an escape sequence.
    pub fn painted(self, text: &str, colour: &str) -> String {
        if self.has_colours && !colour.is_empty() && !text.is_empty() {
            return format!("\u{1b}[{colour}m{text}\u{1b}[0m");
        }
        text.to_owned()
    }
}

/// In columns: letters of east Asian scripts and emoji take two.
pub fn width(text: &str) -> usize {
    // Most text is plain, and a list asks for the width of every cell several times.
    if text.is_ascii() { text.len() } else { UnicodeWidthStr::width(text) }
}

/// The start of `text`, marked where it was cut, in at most `columns`.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| width(&text[..*end]) <= room).last().unwrap_or(0);
    format!("{}…", text[..end].trim_end())
}

/// The end of `text`, marked where it was cut, in at most `columns`.
pub fn cut_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let starts = text.char_indices().rev().map(|(at, _)| at);
    let start = starts.take_while(|start| width(&text[*start..]) <= room).last();
    format!("…{}", &text[start.unwrap_or(text.len())..])
}

/// The text with blanks after it, up to `columns`.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_cut_by_columns_and_not_by_letters() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("日本語のテスト", 7), "日本語…");
        assert_eq!(cut("日本語のテスト", 6), "日本…");
        assert_eq!(cut("🎉🎉🎉", 5), "🎉🎉…");
        assert_eq!(cut_start("/home/u/日本語", 7), "…日本語");
        assert_eq!(cut_start("abcdef", 4), "…def");
        assert_eq!((cut("ab", 1), cut("ab", 0)), ("…".to_owned(), String::new()));
    }

    #[test]
    fn padding_counts_columns() {
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!(padded("abcdef", 3), "abcdef");
    }

    #[test]
    fn without_colours_nothing_is_painted() {
        let plain = Screen { width: None, has_colours: false };
        assert_eq!(plain.painted("x", "31"), "x");
        let coloured = Screen { width: None, has_colours: true };
        assert_eq!(coloured.painted("x", "31"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(coloured.painted("x", ""), "x");
    }

    proptest! {
        #[test]
        fn whatever_is_cut_fits(text in "\\PC{0,40}", columns in 0_usize..30) {
            prop_assert!(width(&cut(&text, columns)) <= columns);
            prop_assert!(width(&cut_start(&text, columns)) <= columns);
        }
    }
}
