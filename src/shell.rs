//! Words as a POSIX shell needs them.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use crate::text::is_unsafe;

/// `word` for the command line of any `sh`, which reads it back byte for byte. Nothing in it acts
/// on the terminal it is printed to: control characters and bytes that are no text are written as
/// numbers for `printf`.
pub fn quoted(word: &OsStr) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./@%,=:+".contains(&byte);
    if !word.is_empty() && word.as_bytes().iter().copied().all(plain) {
        return word.to_string_lossy().into_owned();
    }
    match word.to_str() {
        Some(text) if !text.chars().any(is_unsafe) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => printed(word.as_bytes()),
    }
}

/// A word that `printf` prints. Newlines at its end are its own words, because a shell drops them
/// from what a command printed.
fn printed(word: &[u8]) -> String {
    let kept = word.len() - word.iter().rev().take_while(|byte| **byte == b'\n').count();
    let mut format = String::new();
    for piece in word[..kept].utf8_chunks() {
        for character in piece.valid().chars() {
            match character {
                '\'' => format.push_str(r"\047"),
                '\\' => format.push_str(r"\\"),
                '%' => format.push_str("%%"),
                // `printf` would take it for an option.
                '-' if format.is_empty() => format.push_str(r"\055"),
                character if is_unsafe(character) => {
                    octal(&mut format, character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                character => format.push(character),
            }
        }
        octal(&mut format, piece.invalid());
    }
    let newlines = "\n".repeat(word.len() - kept);
    let newlines = if newlines.is_empty() { newlines } else { format!("'{newlines}'") };
    if format.is_empty() { newlines } else { format!("\"$(printf '{format}')\"{newlines}") }
}

fn octal(format: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(format, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::{Command, Stdio};

    #[track_caller]
    fn check(word: &str, expected: &str) {
        assert_eq!(quoted(OsStr::new(word)), expected);
    }

    #[test]
    fn plain_words_stay_and_others_are_quoted() {
        check("/home/u/a-b_c.d", "/home/u/a-b_c.d");
        check("", "''");
        check("a b", "'a b'");
        check("it's", r"'it'\''s'");
        check("$(x) `y` \"z\" #(w) ~ *", "'$(x) `y` \"z\" #(w) ~ *'");
        check("café 😀", "'café 😀'");
    }

    #[test]
    fn what_would_act_on_a_terminal_is_written_in_numbers() {
        check("a\nb", r#""$(printf 'a\012b')""#);
        check("50%\u{1b}[31m\\'", r#""$(printf '50%%\033[31m\\\047')""#);
        check("\u{202e}x", r#""$(printf '\342\200\256x')""#);
        assert_eq!(quoted(OsStr::from_bytes(b"a\xffb")), r#""$(printf 'a\377b')""#);
    }

    #[test]
    fn newlines_at_the_end_survive() {
        check("a\n\n", "\"$(printf 'a')\"'\n\n'");
        check("\n", "'\n'");
    }

    #[expect(clippy::disallowed_methods, reason = "a real shell reads what was quoted")]
    fn read_by_sh(words: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let words: Vec<String> = words.iter().map(|word| quoted(OsStr::from_bytes(word))).collect();
        let script = format!("printf '%s\\0' {}", words.join(" "));
        let output =
            Command::new("sh").arg("-c").arg(script).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success());
        let mut read: Vec<Vec<u8>> =
            output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        read.pop();
        read
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_reads_any_words_back_as_they_were(
            words in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(1_u8..=255, 0..12),
                    "[-a'\"\\\\$`%\n\r\t\u{1b}!*~ é😀#(){};&|<>]{0,12}".prop_map(String::into_bytes),
                ],
                1..16,
            )
        ) {
            prop_assert_eq!(read_by_sh(&words), words);
        }
    }
}
