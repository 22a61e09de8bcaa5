//! Completion of the command line: the shells ask with `$CLD_COMPLETE`, this module answers.
//!
//! The shell's file (`completions/`) passes the words of the command line and which of them is to
//! be completed; each line of the answer is a value, a tab, and what it means.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use anyhow::Result;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use crate::cli::{Cli, Completions, Shell};
use crate::text::one_line;
use crate::{config, man};

mod sessions;

/// A description longer than this would be cut by any terminal.
const LONGEST_HELP: usize = 200;

const BASH: &str = include_str!("../completions/cld.bash");
const ZSH: &str = include_str!("../completions/_cld");
const FISH: &str = include_str!("../completions/cld.fish");

/// `cld completions`: the file that makes a shell ask.
pub fn run(options: &Completions) -> Result<()> {
    Ok(io::stdout().write_all(file(options.shell).as_bytes())?)
}

pub fn file(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    }
}

/// Answers a shell that wants to complete the word at `index`. The words follow a `--`.
pub fn answer(arguments: impl Iterator<Item = OsString>, index: usize) -> Result<()> {
    let words: Vec<OsString> = arguments.skip_while(|word| word != "--").skip(1).collect();
    if index >= words.len() {
        return Ok(());
    }
    let here = std::env::current_dir().ok();
    let mut candidates = complete(&mut command(), words, index, here.as_deref())?;
    leave_out_options(&mut candidates);
    let lines: String = candidates.iter().filter_map(line).collect();
    Ok(io::stdout().write_all(lines.as_bytes())?)
}

/// Who has not begun an option wants something else, as long as there is anything else.
fn leave_out_options(candidates: &mut Vec<CompletionCandidate>) {
    let is_option = |candidate: &CompletionCandidate| {
        candidate.get_value().to_str().is_some_and(|value| value.starts_with('-'))
    };
    if !candidates.iter().all(is_option) {
        candidates.retain(|candidate| !is_option(candidate));
    }
}

/// The command line with completers for what only looking around can tell.
pub fn command() -> Command {
    let mut command = Cli::command();
    // The arguments of a command are not there before.
    command.build();
    with_completers(command)
}

/// One line of the answer. A value that would end the line cannot be told.
fn line(candidate: &CompletionCandidate) -> Option<String> {
    let value = candidate.get_value().to_str()?;
    if value.contains(char::is_control) {
        return None;
    }
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    Some(format!("{value}\t{}\n", one_line(help.lines().next().unwrap_or_default(), LONGEST_HELP)))
}

/// What a value is stands in its name: every `ID` is a session, whatever the command.
fn with_completers(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let values: Vec<_> = command
        .get_arguments()
        .filter_map(|arg| Some((arg.get_id().clone(), completer(&name, arg)?)))
        .collect();
    let nested: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = values
        .into_iter()
        .fold(command, |command, (id, completer)| command.mut_arg(id, |arg| arg.add(completer)));
    nested.iter().fold(command, |command, name| command.mut_subcommand(name, with_completers))
}

fn completer(command: &str, arg: &Arg) -> Option<ArgValueCompleter> {
    let [value] = arg.get_value_names()? else { return None };
    match value.as_str() {
        "ID" => {
            let which = sessions::Which::of(command);
            Some(ArgValueCompleter::new(move |start: &OsStr| sessions::candidates(start, which)))
        }
        "KEY" => Some(ArgValueCompleter::new(keys)),
        "PAGE" => Some(ArgValueCompleter::new(pages)),
        _ => None,
    }
}

/// The settings with their values.
fn keys(start: &OsStr) -> Vec<CompletionCandidate> {
    let start = start.to_string_lossy();
    let settings = config::load().settings;
    let named = settings.iter().filter(|setting| setting.name().starts_with(&*start));
    let offered = named.map(|setting| {
        CompletionCandidate::new(setting.name()).help(Some(setting.value.clone().into()))
    });
    offered.collect()
}

fn pages(start: &OsStr) -> Vec<CompletionCandidate> {
    let start = start.to_string_lossy();
    let pages = man::names().into_iter().filter(|name| name.starts_with(&*start));
    pages.map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn a_line_is_a_value_and_one_line_of_help() {
        let candidate = |value: &str, help: &str| {
            CompletionCandidate::new(value).help(Some(help.to_owned().into()))
        };
        assert_eq!(line(&candidate("a", "b\tc\nd")).unwrap(), "a\tb c\n");
        assert_eq!(line(&CompletionCandidate::new("a")).unwrap(), "a\t\n");
        assert_eq!(line(&candidate("a\nb", "")), None);
        assert_eq!(line(&candidate("a\tb", "")), None);
    }
}
