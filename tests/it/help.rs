//! Help that helps: the first screen, an example for each command, and the nearest name for a typo.

use std::fs;
use std::process::Output;

use clap::Parser;
use cld::cli::Cli;

use crate::generated::{definition, repository, visible_commands};
use crate::world::{World, run};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn cld(arguments: &[&str]) -> Output {
    run(World::bare().cld(arguments), b"")
}

#[test]
fn the_first_screen_fits_a_terminal_of_24_lines_and_80_columns() {
    let help = text(&cld(&["--help"]).stdout);
    // The last line is where the prompt stands again.
    assert!(help.lines().count() < 24, "{} lines:\n{help}", help.lines().count());
    for line in help.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert_eq!(help, text(&cld(&["-h"]).stdout), "both ways to ask give the same");
}

/// The words that stand where names of commands stand: two blanks before them, two or more after.
fn named_in_groups(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in help.lines().filter(|line| line.starts_with("  ")) {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        names.extend(cells.iter().step_by(2).map(|name| (*name).to_owned()));
    }
    names
}

#[test]
fn each_command_stands_in_exactly_one_group_of_the_first_screen() {
    let mut named = named_in_groups(&text(&cld(&["--help"]).stdout));
    for command in visible_commands() {
        let name = command.get_name();
        let times = named.iter().filter(|named| *named == name).count();
        assert_eq!(times, 1, "`{name}` must stand once in HELP of src/cli.rs");
        named.retain(|named| named != name);
    }
    assert!(named.is_empty(), "there are no such commands: {named:?}");
}

/// The words of a command line in an example, up to where the shell takes over.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = None;
    let mut quote = None;
    let mut depth = 0;
    for character in line.chars() {
        // What a command prints is one word.
        depth += match character {
            '(' => 1,
            ')' if depth > 0 => -1,
            _ => 0,
        };
        match (quote, character) {
            (None, character) if depth > 0 => word.get_or_insert_with(String::new).push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_with(String::new);
            }
            (Some(open), close) if open == close => quote = None,
            (None, '|' | '<' | '>' | ';' | '&' | '#') => break,
            (None, ')') if !word.as_ref().is_some_and(|word: &String| word.contains('(')) => break,
            (None, ' ') => words.extend(word.take()),
            (_, character) => word.get_or_insert_with(String::new).push(character),
        }
    }
    words.extend(word);
    words
}

/// Every `cld …` in an example, also inside of `$(…)`.
fn command_lines(example: &str) -> Vec<Vec<String>> {
    let starts = example.match_indices("cld ").map(|(at, _)| at);
    let starts = starts.filter(|at| {
        let before = example[..*at].chars().next_back();
        before.is_none_or(|before| matches!(before, ' ' | '('))
    });
    starts.map(|at| words(&example[at..])).collect()
}

#[test]
fn each_command_has_examples_and_all_of_them_are_right() {
    for command in visible_commands() {
        let name = command.get_name();
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples: Vec<&str> = help.lines().filter(|line| line.starts_with("  ")).collect();
        assert!(
            help.starts_with("Example") && !examples.is_empty(),
            "`{name}` has no example: after_help in src/cli.rs"
        );
        let lines: Vec<_> = examples.iter().flat_map(|example| command_lines(example)).collect();
        assert!(lines.iter().any(|line| line.get(1).is_some_and(|sub| sub == name)), "{help}");
        for line in lines {
            if let Err(error) = Cli::try_parse_from(&line) {
                panic!("an example of `{name}` is wrong: {line:?}\n{error}");
            }
        }
    }
}

/// The words that ask for the help of a command and of those below it.
fn ways(command: &clap::Command, before: &[String]) -> Vec<Vec<String>> {
    let words = [before, &[command.get_name().to_owned()]].concat();
    let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let below = below.filter(|sub| sub.get_name() != "help").flat_map(|sub| ways(sub, &words));
    [words.clone()].into_iter().chain(below).collect()
}

#[test]
fn help_is_set_for_the_width_of_the_terminal_and_examples_can_be_copied() {
    let world = World::bare().with("COLUMNS", "80");
    for command in visible_commands() {
        for way in ways(&command, &[]) {
            let words: Vec<&str> = way.iter().map(String::as_str).chain(["--help"]).collect();
            let help = text(&run(world.cld(&words), b"").stdout);
            for line in help.lines() {
                assert!(
                    line.chars().count() <= 80,
                    "{words:?} has a line that is too long: {line}"
                );
            }
        }
        let name = command.get_name();
        let help = text(&run(world.cld(&[name, "--help"]), b"").stdout);
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains(&examples), "an example of `{name}` is broken by its length: {help}");
    }
}

#[test]
fn the_examples_of_the_manual_are_right() {
    for command in visible_commands() {
        let name = command.get_name().to_owned();
        let page = fs::read_to_string(repository().join(format!("man/cld-{name}.1"))).unwrap();
        let (_, examples) = page.split_once("\n.SH EXAMPLES\n").unwrap();
        let (examples, _) = examples.split_once("\n.SH ").unwrap();
        // What is typed is bold, or stands in a block of its own.
        let typed = examples.lines().map(|line| line.strip_prefix(".B ").unwrap_or(line));
        let typed = typed.filter(|line| line.starts_with("cld "));
        let typed = typed.map(|line| line.replace("\\-", "-").replace("\\(aq", "'"));
        let lines: Vec<_> = typed.flat_map(|line| command_lines(&line)).collect();
        assert!(!lines.is_empty(), "man/src/{name}.man has no example that begins with `cld`");
        for line in lines {
            if let Err(error) = Cli::try_parse_from(&line) {
                panic!("an example in man/src/{name}.man is wrong: {line:?}\n{error}");
            }
        }
    }
}

#[test]
fn a_mistyped_command_is_answered_with_the_nearest_one() {
    for command in visible_commands().iter().filter(|command| command.get_name().len() > 3) {
        let name = command.get_name();
        let typo: String = name.chars().take(1).chain(name.chars().skip(2)).collect();
        let is_other = definition().get_subcommands().any(|other| other.get_name() == typo);
        if is_other {
            continue;
        }
        let output = cld(&[&typo]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{typo}");
        assert!(error.contains(&format!("'{name}'")), "{typo} is nearest to {name}: {error}");
    }
}

#[test]
fn without_any_command_the_first_screen_is_shown() {
    let output = cld(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), text(&cld(&["--help"]).stdout));
}
