//! Foreign text made safe: for one line of an option, and for the terminal.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The start of `text` as one line without control characters, at most `limit` bytes long.
pub fn one_line(text: &str, limit: usize) -> String {
    // Four times the limit is enough raw text: sanitising only ever shortens by folding blanks.
    let piece = head(text, limit.saturating_mul(4));
    let clean = fold(piece);
    if clean.len() <= limit && piece.len() == text.len() {
        return clean;
    }
    let mut cut = head(&clean, limit.saturating_sub('…'.len_utf8())).trim_end().to_owned();
    cut.push('…');
    cut
}

/// The end of `text` as one line without control characters, at most `limit` bytes long.
pub fn one_line_end(text: &str, limit: usize) -> String {
    let piece = tail(text, limit.saturating_mul(4));
    let clean = fold(piece);
    if clean.len() <= limit && piece.len() == text.len() {
        return clean;
    }
    let kept = tail(&clean, limit.saturating_sub('…'.len_utf8())).trim_start();
    format!("…{kept}")
}

/// A path as a person may read it on a terminal. What would act on the terminal, and bytes that are
/// no text, are written as escapes.
pub fn shown(path: &Path) -> String {
    let mut text = String::new();
    for piece in path.as_os_str().as_bytes().utf8_chunks() {
        for character in piece.valid().chars() {
            match character {
                character if is_unsafe(character) => text.extend(character.escape_default()),
                character => text.push(character),
            }
        }
        for byte in piece.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// JSON may hold characters that act on a terminal; written as escapes they mean the same.
pub fn harmless_json(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for character in json.chars() {
        if is_unsafe(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                plain.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            plain.push(character);
        }
    }
    plain
}

/// A path with `~` for the home directory.
pub fn from_home(path: &Path, home: Option<&Path>) -> PathBuf {
    let below =
        home.filter(|home| home.parent().is_some()).and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => PathBuf::from("~"),
        Some(below) => Path::new("~").join(below),
        None => path.to_owned(),
    }
}

/// True for characters that move the cursor, hide text or turn its direction around.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn fold(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut blank = false;
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            blank = true;
        } else if !is_unsafe(character) {
            if blank && !clean.is_empty() {
                clean.push(' ');
            }
            blank = false;
            clean.push(character);
        }
    }
    clean
}

fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blanks_and_control_characters_fold_into_one_space() {
        assert_eq!(one_line("  a\n\tb\u{1b}[31m  c\u{7f} ", 64), "a b [31m c");
        assert_eq!(one_line("x\u{9b}y\u{202e}z\u{200b}", 64), "x yz");
    }

    #[test]
    fn paths_are_shown_with_escapes_for_what_would_act_on_a_terminal() {
        use std::ffi::OsStr;
        assert_eq!(shown(Path::new("/home/u/a b/café")), "/home/u/a b/café");
        assert_eq!(shown(Path::new("/a\nb\u{1b}[2J\u{202e}")), "/a\\nb\\u{1b}[2J\\u{202e}");
        assert_eq!(shown(Path::new(OsStr::from_bytes(b"/\xff"))), "/\\xff");
    }

    #[test]
    fn the_home_directory_is_a_tilde() {
        let shorter = |path| from_home(Path::new(path), Some(Path::new("/home/u")));
        for (path, expected) in
            [("/home/u", "~"), ("/home/u/a b", "~/a b"), ("/home/user", "/home/user"), ("/", "/")]
        {
            assert_eq!(shorter(path), Path::new(expected));
        }
        assert_eq!(from_home(Path::new("/a"), Some(Path::new("/"))), Path::new("/a"));
        assert_eq!(from_home(Path::new("/a"), None), Path::new("/a"));
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(one_line("rm -rf build", 12), "rm -rf build");
        assert_eq!(one_line_end("rm -rf build", 12), "rm -rf build");
    }

    #[test]
    fn what_does_not_fit_is_marked_where_it_was_cut() {
        assert_eq!(one_line("abcdefgh", 6), "abc…");
        assert_eq!(one_line_end("abcdefgh", 6), "…fgh");
        assert_eq!(one_line("ééééé", 7), "éé…");
    }

    #[test]
    fn harmful_characters_are_escaped_and_mean_the_same() {
        let text = "/a\u{9b}31m\u{202e}\u{7f}\n\u{e0041}é";
        let json = harmless_json(&serde_json::to_string(text).unwrap());
        assert!(!json.chars().any(is_unsafe), "{json:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_safe_line_within_the_limit(text in any::<String>(), limit in 8_usize..600) {
            for line in [one_line(&text, limit), one_line_end(&text, limit)] {
                prop_assert!(line.len() <= limit);
                prop_assert!(!line.chars().any(is_unsafe));
                prop_assert_eq!(line.trim(), &line);
            }
        }
    }
}
