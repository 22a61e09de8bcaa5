//! A marked block in a file of lines that belongs to the user, as in tmux.conf.
//!
//! The block is put at the end, replaced where it stands, and taken out so that the file is as it
//! was before.

use super::settings::Refusal;

pub(super) const BEGIN: &str = "# >>> cld >>>";
pub(super) const END: &str = "# <<< cld <<<";

/// Whether a text has the beginning or the end of a block.
pub fn is_in(text: &str) -> bool {
    text.lines().any(|line| matches!(line, BEGIN | END))
}

/// The text with these lines as its block; nothing stands for no file.
pub fn install(text: Option<&str>, content: &str) -> Result<String, Refusal> {
    let content = content.trim_end_matches('\n');
    let block = format!("{BEGIN}\n{content}\n{END}");
    let Some(text) = text else { return Ok(format!("{block}\n")) };
    let found = find(text)?;
    if found.is_none() && goes_on(text) {
        let problem = "the last line ends in a backslash, so what is added would be part of it";
        return Err(Refusal::at(text, text.len(), problem));
    }
    Ok(match found {
        Some(found) => format!("{}{block}{}", &text[..found.start], &text[found.end..]),
        // A file whose last line is not ended stays one, which tells the two apart later.
        None if text.ends_with('\n') => format!("{text}{block}\n"),
        None => format!("{text}\n{block}"),
    })
}

/// The text without its block; nothing where there would be no file but for [`install`].
pub fn uninstall(text: &str) -> Result<Option<String>, Refusal> {
    let Some(found) = find(text)? else { return Ok(Some(text.to_owned())) };
    let (before, after) = (&text[..found.start], &text[found.end..]);
    match (before, after) {
        ("", "\n") => Ok(None),
        (before, "") => Ok(Some(before.strip_suffix('\n').unwrap_or(before).to_owned())),
        (before, after) => {
            let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
            Ok(Some(format!("{before}{}", after.unwrap_or_default())))
        }
    }
}

/// Whether the last line is one that the next line belongs to.
fn goes_on(text: &str) -> bool {
    let line = text.strip_suffix('\n').unwrap_or(text);
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// From the first letter of the begin mark to the last of the end mark.
fn find(text: &str) -> Result<Option<std::ops::Range<usize>>, Refusal> {
    let (mut open, mut found) = (None, None);
    let mut position = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let refuse =
            |problem: &str| Refusal { line: index + 1, column: 1, problem: problem.into() };
        let mark = line.trim_end_matches(['\n', '\r']);
        match (mark, open, &found) {
            (BEGIN, None, None) => open = Some((position, index + 1)),
            (BEGIN, ..) => return Err(refuse("a second block of cld begins here")),
            (END, Some((start, _)), _) => {
                found = Some(start..position + END.len());
                open = None;
            }
            (END, None, _) => return Err(refuse("a block of cld ends here but does not begin")),
            _ => {}
        }
        position += line.len();
    }
    match open {
        Some((_, line)) => {
            let problem = "the block of cld that begins here does not end".to_owned();
            Err(Refusal { line, column: 1, problem })
        }
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCK: &str = "# >>> cld >>>\nset -g @x 1\n# <<< cld <<<";

    #[track_caller]
    fn check(before: Option<&str>, after: &str) {
        let installed = install(before, "set -g @x 1\n").unwrap();
        assert_eq!(installed, after);
        assert_eq!(install(Some(&installed), "set -g @x 1").unwrap(), installed, "a second time");
        assert_eq!(uninstall(&installed).unwrap().as_deref(), before, "and back");
    }

    #[test]
    fn the_block_is_put_at_the_end() {
        check(None, &format!("{BLOCK}\n"));
        check(Some(""), &format!("\n{BLOCK}"));
        check(Some("\n"), &format!("\n{BLOCK}\n"));
        check(Some("set -g mouse on\n"), &format!("set -g mouse on\n{BLOCK}\n"));
        check(Some("set -g mouse on"), &format!("set -g mouse on\n{BLOCK}"));
    }

    #[test]
    fn a_block_is_replaced_where_it_stands_and_taken_out_of_the_middle() {
        let text = format!("a\n{BLOCK}\nrun tpm\n");
        let replaced = install(Some(&text), "one\ntwo").unwrap();
        assert_eq!(replaced, "a\n# >>> cld >>>\none\ntwo\n# <<< cld <<<\nrun tpm\n");
        assert_eq!(uninstall(&replaced).unwrap().as_deref(), Some("a\nrun tpm\n"));
    }

    #[test]
    fn a_file_without_a_block_stays_as_it_is() {
        let text = "echo '# >>> cld >>>'\n # <<< cld <<<\n";
        assert_eq!(uninstall(text).unwrap().as_deref(), Some(text));
    }

    #[test]
    fn blocks_that_are_broken_are_refused_with_their_line() {
        for (text, line) in [
            ("a\n# >>> cld >>>\nb\n", 2),
            ("a\n# <<< cld <<<\n", 2),
            ("# >>> cld >>>\n# >>> cld >>>\n# <<< cld <<<\n", 2),
            ("# >>> cld >>>\n# <<< cld <<<\n# >>> cld >>>\n# <<< cld <<<\n", 3),
        ] {
            assert_eq!(install(Some(text), "x").unwrap_err().line, line, "{text}");
            assert_eq!(uninstall(text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn nothing_becomes_part_of_a_line_that_goes_on() {
        for (text, goes_on) in
            [("a \\\n", true), ("a \\", true), ("a \\\\\n", false), ("\\\n\n", false)]
        {
            assert_eq!(install(Some(text), "x").is_err(), goes_on, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn uninstall_after_install_gives_the_same_bytes(
            text in "([a-c\r\n#]|# >>> cld >>>|# <<< cld <<<|\n){0,12}",
            content in "[a-c]{0,3}(\n[a-c]{0,3}){0,2}",
        ) {
            let Ok(None) = find(&text) else { return Ok(()) };
            prop_assert!(!is_in(&text));
            let installed = install(Some(&text), &content).unwrap();
            prop_assert_eq!(uninstall(&installed).unwrap(), Some(text));
        }
    }
}
