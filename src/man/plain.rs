//! A page as plain text, for machines without `man`. Knows the macros that the pages use, and
//! leaves out those it does not know. Pure.

use crate::screen::{padded, width};

const INDENT: usize = 7;
const DEEPER: usize = 7;

pub(super) fn text(page: &str, columns: usize) -> String {
    let mut text = Text { columns, ..Text::default() };
    for line in page.lines() {
        match line.strip_prefix('.') {
            Some(request) => text.request(request),
            None if line.starts_with("'\\\"") => {}
            None => text.words(&unescaped(line)),
        }
    }
    text.end_paragraph();
    text.lines.join("\n") + "\n"
}

#[derive(Default)]
struct Text {
    columns: usize,
    lines: Vec<String>,
    /// What is to be filled into lines.
    paragraph: String,
    indent: usize,
    /// How deep a part of a list stands.
    depth: usize,
    is_example: bool,
    /// The next line is the term of a list.
    wants_term: bool,
    /// A term that is short enough to stand before what it is about.
    term: Option<String>,
}

impl Text {
    fn request(&mut self, request: &str) {
        let (name, rest) = request.split_once(' ').unwrap_or((request, ""));
        let words = arguments(rest);
        match name {
            "TH" => {
                if let [title, section, ..] = words.as_slice() {
                    self.lines.push(format!("{title}({section})"));
                }
            }
            "SH" => self.heading(&words.join(" "), 0),
            "SS" => self.heading(&words.join(" "), 3),
            "PP" | "P" | "LP" => self.paragraph(),
            "TP" => {
                self.paragraph();
                self.wants_term = true;
            }
            "TQ" => {
                self.end_paragraph();
                self.wants_term = true;
            }
            "IP" => {
                self.paragraph();
                let step = words.get(1).and_then(|step| step.parse().ok()).unwrap_or(DEEPER);
                match words.first() {
                    Some(mark) => self.term(mark, step),
                    None => self.indent += DEEPER,
                }
            }
            "RS" => {
                self.end_paragraph();
                self.depth += 1;
                self.indent = INDENT + DEEPER * self.depth;
            }
            "RE" => {
                self.end_paragraph();
                self.depth = self.depth.saturating_sub(1);
                self.indent = INDENT + DEEPER * self.depth;
            }
            "EX" | "nf" => {
                self.end_paragraph();
                self.is_example = true;
            }
            "EE" | "fi" => self.is_example = false,
            "br" => self.end_paragraph(),
            "sp" => self.blank(),
            "B" | "I" => self.words(&words.join(" ")),
            "BR" | "RB" | "IR" | "RI" | "BI" | "IB" => self.words(&words.concat()),
            _ => {}
        }
    }

    fn words(&mut self, words: &str) {
        if self.is_example {
            self.lines.push(format!("{}{words}", " ".repeat(self.indent)).trim_end().to_owned());
        } else if self.wants_term {
            self.wants_term = false;
            self.term(words, DEEPER);
        } else {
            if !self.paragraph.is_empty() {
                self.paragraph.push(' ');
            }
            self.paragraph.push_str(words.trim());
        }
    }

    fn heading(&mut self, heading: &str, indent: usize) {
        self.blank();
        self.lines.push(format!("{}{heading}", " ".repeat(indent)));
        (self.indent, self.depth) = (INDENT, 0);
    }

    /// What follows stands further to the right, beside the term or below it.
    fn term(&mut self, term: &str, step: usize) {
        let indent = INDENT + DEEPER * self.depth;
        self.indent = indent + step;
        let line = format!("{}{term}", " ".repeat(indent));
        match width(term) < step {
            true => self.term = Some(padded(&line, self.indent)),
            false => self.lines.push(line),
        }
    }

    fn paragraph(&mut self) {
        self.blank();
        self.indent = INDENT + DEEPER * self.depth;
    }

    fn blank(&mut self) {
        self.end_paragraph();
        let is_below_heading = self.lines.last().is_some_and(|line| !line.starts_with("  "));
        if !is_below_heading && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn end_paragraph(&mut self) {
        let indent = " ".repeat(self.indent);
        let first = self.lines.len();
        let mut line = String::new();
        for word in self.paragraph.split_whitespace() {
            let is_full = self.indent + width(&line) + 1 + width(word) > self.columns;
            if !line.is_empty() && is_full {
                self.lines.push(format!("{indent}{line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            self.lines.push(format!("{indent}{line}"));
        }
        self.paragraph.clear();
        if let Some(term) = self.term.take() {
            match self.lines.get_mut(first) {
                Some(line) => line.replace_range(..self.indent, &term),
                None => self.lines.push(term.trim_end().to_owned()),
            }
        }
    }
}

/// The arguments of a macro: words, or quoted ones with blanks.
fn arguments(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (argument, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        arguments.push(unescaped(argument));
        rest = after.trim_start();
    }
    arguments
}

/// The text without changes of the font, and with the characters that escapes stand for.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        rest = escape(after, &mut plain);
    }
    plain.push_str(rest);
    plain
}

/// Writes what an escape stands for, and returns what follows it.
fn escape<'a>(after: &'a str, plain: &mut String) -> &'a str {
    let cut = |length: usize| after.get(length..).unwrap_or_default();
    if let Some((name, rest)) = after.strip_prefix('[').and_then(|name| name.split_once(']')) {
        let code = name.strip_prefix('u').and_then(|code| u32::from_str_radix(code, 16).ok());
        plain.extend(code.and_then(char::from_u32));
        return rest;
    }
    match after.as_bytes() {
        [b'f', ..] => cut(2),
        [b'&' | b'/' | b':', ..] => cut(1),
        [b'-', ..] => {
            plain.push('-');
            cut(1)
        }
        [b'e' | b'\\', ..] => {
            plain.push('\\');
            cut(1)
        }
        [b' ' | b'~', ..] => {
            plain.push(' ');
            cut(1)
        }
        [b'(', ..] | [b'*', b'(', ..] => {
            let start = after.find('(').map_or(0, |at| at + 1);
            let name = after.get(start..start + 2).unwrap_or_default();
            plain.push(match name {
                "aq" | "Aq" => '\'',
                "dq" => '"',
                "bu" => '•',
                "em" => '—',
                "ga" => '`',
                "ha" => '^',
                "ti" => '~',
                "rs" => '\\',
                _ => ' ',
            });
            cut(start + 2)
        }
        _ => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_filled_and_examples_are_kept() {
        let page = ".TH cld 1\n.SH NAME\ncld \\- keeps \\fBmany\\fR\nsessions\n.SH EXAMPLES\n.EX\n\
                    cld  ls \\(aq%5\\(aq\n.EE\n.TP\n\\fB\\-y\\fR, \\fB\\-\\-yes\\fR\nGo there\n.PP\n\
                    The \\[u25B6] icon\n.BR cld (1)\n";
        assert_eq!(
            text(page, 40),
            "cld(1)\nNAME\n       cld - keeps many sessions\n\nEXAMPLES\n       cld  ls '%5'\n\n\
             \x20      -y, --yes\n              Go there\n\n       The ▶ icon cld(1)\n"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_screen_unless_a_word_is() {
        let page = format!(".SH A\n{}\n", "word ".repeat(60));
        assert!(text(&page, 30).lines().all(|line| line.len() <= 30));
    }
}
