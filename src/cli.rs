//! Every command, flag and help text. Imports only clap and std.

use clap::{Args, Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cld", version, about, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Hook(Hook),
    Log(Log),
}

/// Take one hook event of Claude Code (JSON on standard input) into the pane it came from
///
/// Claude Code runs this on every event. It prints nothing and always exits 0, whatever happens.
/// Set CLAUDE_TMUX_DEBUG=1 to log what it does, and read the log with `cld log`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cld hook --dry-run < payload.json")]
pub struct Hook {
    /// Print the changes and the tmux command instead of running it
    #[arg(long)]
    pub dry_run: bool,
}

/// Show what happened: changes of state, and the debug log where it is on
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld log\n  cld log -f\n  cld log -n 1000 | grep %5")]
pub struct Log {
    /// Go on and print new lines as they are written
    #[arg(short, long)]
    pub follow: bool,

    /// How many of the newest lines to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub lines: usize,
}
