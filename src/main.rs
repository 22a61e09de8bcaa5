//! Parse, run, turn the outcome into an exit code.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use cld::cli::{Cli, Command, Hook};

#[cfg(target_env = "musl")]
#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    // Claude runs `cld hook` on every event and waits for it. Building the whole command line
    // definition just to find that out would cost more than the rest of the start.
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    if first.as_ref().is_some_and(|first| first == "hook") && arguments.next().is_none() {
        return hook(false);
    }
    if let Some(index) = cld::paths::completed_word() {
        return cld::error::exit_code(cld::complete::answer(std::env::args_os(), index));
    }
    // A list of sessions waits for tmux most of the time, and asks it the same whatever its options
    // are: they are parsed while tmux works.
    let ahead = first.is_some_and(|first| first == "ls").then(cld::roster::ask_ahead);
    match Cli::parse().command {
        Command::Ls(ls) => {
            let ahead = ahead.unwrap_or_else(cld::roster::ask_ahead);
            cld::error::exit_code(cld::ls::run(&ls, ahead))
        }
        Command::Show(show) => cld::error::exit_code(cld::show::run(&show)),
        Command::Queue(queue) => cld::error::exit_code(cld::queue::list::run(&queue)),
        Command::Next(next) => cld::error::exit_code(cld::queue::go::next(&next)),
        Command::Back(back) => cld::error::exit_code(cld::queue::go::back(&back)),
        Command::Skip(skip) => cld::error::exit_code(cld::queue::go::skip(&skip)),
        Command::Snooze(snooze) => cld::error::exit_code(cld::queue::go::snooze(&snooze)),
        Command::Jump(jump) => cld::error::exit_code(cld::queue::go::jump(&jump)),
        Command::Search(search) => {
            cld::search::run(&search).unwrap_or_else(|error| cld::error::exit_code(Err(error)))
        }
        Command::Send(send) => cld::error::exit_code(cld::send::run(&send)),
        Command::Wait(wait) => cld::error::exit_code(cld::wait::run(&wait)),
        Command::Watch(watch) => cld::error::exit_code(cld::watch::run(&watch)),
        Command::Hook(Hook { dry_run }) => hook(dry_run),
        Command::Dismiss(dismiss) => cld::error::exit_code(cld::dismiss::run(&dismiss)),
        Command::Resume(resume) => cld::error::exit_code(cld::resume::run(&resume)),
        Command::Pick(pick) => cld::error::exit_code(cld::pick::run(&pick)),
        Command::Restore(restore) => cld::error::exit_code(cld::restore::run(&restore)),
        Command::Log(log) => cld::error::exit_code(cld::log::run(&log)),
        Command::Doctor(doctor) => {
            cld::doctor::run(&doctor).unwrap_or_else(|error| cld::error::exit_code(Err(error)))
        }
        Command::Config(config) => cld::error::exit_code(cld::config::run(&config)),
        Command::Settle(settle) => cld::error::exit_code(cld::settle::run(&settle)),
        Command::Mend(mend) => cld::error::exit_code(cld::mend::run(&mend)),
        Command::Notify(notify) => cld::error::exit_code(cld::notify::run(&notify)),
        Command::Stats(stats) => cld::error::exit_code(cld::stats::run(&stats)),
        Command::Init(init) => cld::error::exit_code(cld::init::run(&init)),
        Command::Completions(completions) => {
            cld::error::exit_code(cld::complete::run(&completions))
        }
        Command::Man(man) => cld::error::exit_code(cld::man::run(&man)),
        Command::Demo(demo) => cld::error::exit_code(cld::demo::run(&demo)),
        Command::Hub(hub) => cld::error::exit_code(cld::hub::run(&hub)),
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
