//! "Earlier than" and "later than" as regular expressions.
//!
//! A list of waits is edited inside the tmux server with `s/pattern//`, and a pattern is all there
//! is to compare a moment with. Moments have sixteen digits, which makes that possible.

use crate::session::Moment;

/// Matches the sixteen digits of every earlier moment.
pub(super) fn before(moment: Moment) -> String {
    compared(moment, |digit| (digit > 0).then(|| class(0, digit - 1)))
}

/// Matches the sixteen digits of every later moment.
pub(super) fn after(moment: Moment) -> String {
    compared(moment, |digit| (digit < 9).then(|| class(digit + 1, 9)))
}

/// At each digit either a smaller (or larger) one decides, or the same one and then the rest.
fn compared(moment: Moment, decides: impl Fn(u8) -> Option<String>) -> String {
    let written = moment.to_string();
    let pattern =
        written.bytes().rev().map(|digit| digit - b'0').fold(None, |rest, digit| {
            match (decides(digit), rest) {
                (Some(decided), Some(rest)) => Some(format!("({decided}|{digit}{rest})")),
                (Some(decided), None) => Some(decided),
                (None, Some(rest)) => Some(format!("{digit}{rest}")),
                (None, None) => None,
            }
        });
    match pattern {
        Some(pattern) => format!("{pattern}[0-9]*"),
        // Nothing is earlier than the first moment; a class that no digit is in matches nothing.
        None => "[^0-9 ]".to_owned(),
    }
}

fn class(from: u8, to: u8) -> String {
    if from == to { from.to_string() } else { format!("[{from}-{to}]") }
}
