//! Every command, flag and help text. Imports only clap and std.

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Debug, Parser)]
#[command(name = "cld", version, about, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Ls(Ls),
    Show(Show),
    Hook(Hook),
    Log(Log),
}

/// List Claude Code sessions: where each one is and what it is doing
///
/// Shows the sessions in tmux panes and those running elsewhere: icon ([▶] running, [⏸] waiting or
/// idle, [■] ended, [?] unknown), the beginning of the id, the state with its reason and age, the
/// pane, the project and the title. Sessions that scripts drive are left out.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld ls\n  cld ls --waiting\n  cld ls --all --here --limit 20\n  \
    cld ls --json | jq -r '.sessions[] | select(.state == \"waiting\") | .pane.id'"
)]
pub struct Ls {
    /// Add past sessions, the newest first
    #[arg(short, long)]
    pub all: bool,

    /// Print JSON for other programs
    #[arg(long)]
    pub json: bool,

    /// Only sessions that wait for you
    #[arg(short, long)]
    pub waiting: bool,

    /// Only sessions of this project: the git repository around this directory, else what is below
    /// this directory
    #[arg(long)]
    pub here: bool,

    /// Print at most N sessions
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,

    /// Which tmux servers to ask
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::Current)]
    pub server: Which,

    /// Add sessions that scripts drive (`claude -p`, the SDK)
    #[arg(long)]
    pub sdk: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// The server of this pane, else the default one
    Current,
    /// Every server of this user
    All,
}

/// Show all that is known of one session, who says so, and how old it is
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld show 23e30f82\n  cld show %5\n  cld show work:2.1\n  cld show 'fix the parser'"
)]
pub struct Show {
    /// Session id or its first four or more digits, pane, title, or path of the transcript
    #[arg(value_name = "ID")]
    pub id: String,
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
