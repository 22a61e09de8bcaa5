//! What the hub says while it runs: one line an event on standard error, with the time unless a
//! journal adds it. Never the text of a payload, and never a token.

use crate::{clock, paths, terminal};

pub(super) fn line(text: &str) {
    let text = crate::text::one_line(text, 1000);
    match paths::has_journal() {
        true => terminal::note(&text),
        false => terminal::note(&format!("{} {text}", clock::utc(clock::now()))),
    }
}
