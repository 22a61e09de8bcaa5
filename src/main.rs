//! Parse, run, turn the outcome into an exit code.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use cld::cli::{Cli, Command, Hook};

fn main() -> ExitCode {
    // Claude runs `cld hook` on every event and waits for it. Building the whole command line
    // definition just to find that out would cost more than the rest of the start.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "hook") && arguments.next().is_none() {
        return hook(false);
    }
    match Cli::parse().command {
        Command::Ls(ls) => cld::error::exit_code(cld::ls::run(&ls)),
        Command::Show(show) => cld::error::exit_code(cld::show::run(&show)),
        Command::Hook(Hook { dry_run }) => hook(dry_run),
        Command::Resume(resume) => cld::error::exit_code(cld::resume::run(&resume)),
        Command::Log(log) => cld::error::exit_code(cld::log::run(&log)),
        Command::Doctor(doctor) => {
            cld::doctor::run(&doctor).unwrap_or_else(|error| cld::error::exit_code(Err(error)))
        }
        Command::Setup(setup) => cld::error::exit_code(cld::setup::run(&setup)),
    }
}

fn hook(dry_run: bool) -> ExitCode {
    if io::stdin().is_terminal() {
        return cld::error::usage(
            "hook reads a payload from standard input, as Claude Code gives it\n\
             Try: cld hook --dry-run < payload.json",
        );
    }
    if !dry_run {
        cld::hook::run();
        return ExitCode::SUCCESS;
    }
    let explained = cld::hook::explain();
    cld::error::exit_code(io::stdout().write_all(explained.as_bytes()).map_err(Into::into))
}
