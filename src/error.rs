//! Exit codes, and the one place that prints an error.
#![expect(clippy::print_stderr, reason = "this module prints the errors")]

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Failed or not found.
pub const FAILED: u8 = 1;
/// The command line was wrong, or named more than one thing.
pub const USAGE: u8 = 2;
/// The user said no.
pub const DECLINED: u8 = 130;

/// An end with an exit code of its own.
#[derive(Debug)]
pub enum Stop {
    Usage(String),
    Declined,
    /// Something else ended the program, which it is to be seen by.
    Signal(i32),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Declined => f.write_str("nothing was started"),
            Self::Signal(number) => write!(f, "ended by signal {number}"),
        }
    }
}

impl std::error::Error for Stop {}

/// Turns the result of a command into the exit code of the program.
pub fn exit_code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of a pipe went away, as `head` does. It has what it wanted.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<Stop>() {
            Some(Stop::Declined) => ExitCode::from(DECLINED),
            Some(Stop::Usage(message)) => usage(message),
            Some(Stop::Signal(number)) => {
                // Comes back only for signals that do not end a program.
                let _ = signal_hook::low_level::emulate_default_handler(*number);
                ExitCode::from(FAILED)
            }
            None => {
                // `{:#}` and not `{:?}`, which captures a backtrace where RUST_BACKTRACE is set.
                eprintln!("cld: {error:#}");
                ExitCode::from(FAILED)
            }
        },
    }
}

pub fn usage(message: &str) -> ExitCode {
    eprintln!("cld: {message}");
    ExitCode::from(USAGE)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
