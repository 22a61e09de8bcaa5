//! The command line that Claude Code runs on every event.

use std::path::Path;

use crate::shell::quoted;

/// The hook command for a program. Nothing for one that [`program_of`] would not know again, which
/// is one with another name, or with a path that is more than plain text.
pub(super) fn for_program(program: &Path) -> Option<String> {
    let command = format!("{} hook", quoted(program.as_os_str()));
    let known_again = program_of(&command).is_some_and(|found| Path::new(&found) == program);
    known_again.then_some(command)
}

/// The program of a hook command of cld, wherever that cld is or was installed.
pub(crate) fn program_of(command: &str) -> Option<String> {
    let mut words = words(command)?;
    let ours = words.len() == 2
        && words[1] == "hook"
        && Path::new(&words[0]).file_name().is_some_and(|name| name == "cld");
    ours.then(|| words.swap_remove(0))
}

/// The words of a command line that does nothing but start one program: nothing where a shell
/// would substitute, redirect, or run a second command.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => take_single_quoted(&mut characters, word.get_or_insert_default())?,
            '"' => take_double_quoted(&mut characters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(characters.next().filter(|c| *c != '\n')?),
            _ if "$`;&|<>()*?[#!{}~\r\n".contains(character) => return None,
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    Some(words)
}

fn take_single_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            '\'' => return Some(()),
            character => word.push(character),
        }
    }
}

fn take_double_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match characters.next()? {
                '\n' => {}
                escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            character => word.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[track_caller]
    fn ours(command: &str, expected: Option<&str>) {
        assert_eq!(program_of(command).as_deref(), expected, "{command}");
    }

    #[test]
    fn a_command_is_ours_when_it_runs_a_cld_with_hook_alone() {
        ours("/usr/local/bin/cld hook", Some("/usr/local/bin/cld"));
        ours("cld hook", Some("cld"));
        ours("'/my dir/cld' hook", Some("/my dir/cld"));
        ours(&for_program(Path::new("/it's/cld")).unwrap(), Some("/it's/cld"));
        ours("/usr/bin/cld hook --dry-run", None);
        ours("/usr/bin/cld", None);
        ours("/usr/bin/cldx hook", None);
        ours("cld/x hook", None);
        ours("cld hook; rm x", None);
        ours("$HOME/bin/cld hook", None);
        ours("CLAUDE_TMUX_DEBUG=1 cld hook", None);
    }

    #[test]
    fn only_programs_that_are_known_again_get_a_command() {
        for (program, command) in [
            ("/usr/bin/cld", Some("/usr/bin/cld hook")),
            ("/my dir/cld", Some("'/my dir/cld' hook")),
            ("/usr/bin/cld-0.1", None),
            ("/a\nb/cld", None),
        ] {
            assert_eq!(for_program(Path::new(program)).as_deref(), command, "{program}");
        }
        assert_eq!(for_program(Path::new(OsStr::from_bytes(b"/\xff/cld"))), None);
    }

    #[track_caller]
    fn read(line: &str, expected: Option<&[&str]>) {
        let found = words(line);
        let found: Option<Vec<&str>> =
            found.as_ref().map(|words| words.iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), expected, "{line}");
    }

    #[test]
    fn words_are_read_as_a_shell_would() {
        read("/usr/bin/cld hook", Some(&["/usr/bin/cld", "hook"]));
        read("  '/my dir/cld'\thook ", Some(&["/my dir/cld", "hook"]));
        read(r#""/my dir/cld" hook"#, Some(&["/my dir/cld", "hook"]));
        read(r"/my\ dir/cld hook", Some(&["/my dir/cld", "hook"]));
        read(r#"'it'\''s'"" "a\"b\c""#, Some(&["it's", r#"a"b\c"#]));
        read("", Some(&[]));
        read("''", Some(&[""]));
    }

    #[test]
    fn what_only_a_shell_can_run_has_no_words() {
        for line in ["$HOME/cld hook", "cld hook; true", "cld hook >x", "a|b", "~/cld", "\"$X\""] {
            read(line, None);
        }
        for line in ["'open", "\"open", "open\\"] {
            read(line, None);
        }
    }
}
