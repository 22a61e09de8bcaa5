//! Files that are made from the command line definition, and kept true: a test compares them, and
//! writes them where `UPDATE=1` is set.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use cld::cli::Cli;

pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The whole definition, built, with what clap adds to it.
pub(crate) fn definition() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// What a user sees: the commands without hidden ones and without clap's own `help`.
pub(crate) fn visible_commands() -> Vec<Command> {
    let definition = definition();
    let commands = definition.get_subcommands().cloned();
    commands.filter(|command| !command.is_hide_set() && command.get_name() != "help").collect()
}

/// Compares a file with what it should be, or makes it so.
#[track_caller]
pub(crate) fn check_file(path: &Path, expected: &str) {
    let path: PathBuf = repository().join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if fs::read_to_string(&path).ok().as_deref() != Some(expected) {
            fs::write(&path, expected).unwrap();
        }
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found == expected {
        return;
    }
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    panic!(
        "{} is not what the command line definition gives: {differs:?}\n\
         Look at the change and run: UPDATE=1 cargo test --test it generated_",
        path.display()
    );
}

/// Whether a program is there. `cargo test` wants tmux alone, so what needs another program is left
/// out without it; where `CLD_NEED_ALL` is set, as `.ci/run` does, nothing is left out.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    assert!(is_there || std::env::var_os("CLD_NEED_ALL").is_none(), "{program} is missing");
    is_there
}

/// Writes a program. It is done by another process: a file that this one has open for writing would be
/// open in whatever another test starts meanwhile, and could not be run.
#[track_caller]
pub(crate) fn write_program(path: &Path, text: &str) {
    let mut write = std::process::Command::new("sh");
    write.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(path);
    assert!(crate::world::run(write, text.as_bytes()).status.success(), "{}", path.display());
}
