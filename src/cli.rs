//! Every command, flag and help text. Imports only clap and std.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Debug, Parser)]
#[command(name = "cld", version, about, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Resume(Resume),
    Ls(Ls),
    Show(Show),
    Hook(Hook),
    Log(Log),
    Setup(Setup),
    Doctor(Doctor),
}

/// Go back to a session, in the directory it belongs to
///
/// A session that is open somewhere is not opened twice: its pane is shown instead. Without an ID,
/// the last session of this pane is resumed if it has ended; otherwise you can pick one.
///
/// Exit codes: 0 done, 1 failed or not found, 2 usage or ambiguous, 130 you said no.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld resume 23e30f82\n  cld resume -y 23e30f82 -- --model opus\n  cld resume \"fix the parser\"\n  cld resume %5\n  eval \"$(cld resume --print -y 23e30f82)\""
)]
pub struct Resume {
    /// Go to the session's directory without asking
    #[arg(short, long, conflicts_with = "no")]
    pub yes: bool,

    /// Stay in the current directory
    #[arg(short, long)]
    pub no: bool,

    /// Go on under a new id and leave the session as it is
    #[arg(long, conflicts_with = "force")]
    pub fork: bool,

    /// Open the session although it is open elsewhere
    #[arg(long)]
    pub force: bool,

    /// Print the command for a shell instead of running it
    #[arg(long)]
    pub print: bool,

    /// Session id or the beginning of one, pane (%5, work:2.1), title, or path of the transcript
    pub id: Option<String>,

    /// Arguments for claude
    #[arg(last = true, value_name = "CLAUDE ARGS")]
    pub arguments: Vec<OsString>,
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

/// Register cld with Claude Code, or take it out again
///
/// Adds the hooks of cld to the settings.json of every config directory ($CLAUDE_CONFIG_DIR and
/// ~/.claude), after showing the difference and asking. Everything else in the file stays byte for
/// byte as it was, and a copy of the old file is left beside it. Run it again after an upgrade or a
/// move: it corrects the path and adds new events, or says that nothing is to be done.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld setup\n  cld setup -n\n  cld setup -y --config-dir ~/.claude-work\n  cld setup --uninstall"
)]
pub struct Setup {
    /// Make the changes without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    pub yes: bool,

    /// Show the changes and make none
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Remove what cld added, and nothing else
    #[arg(long)]
    pub uninstall: bool,

    /// Use this config directory of Claude Code instead; may be given several times
    #[arg(long, value_name = "DIR", conflicts_with = "project")]
    pub config_dir: Vec<PathBuf>,

    /// Use the .claude/settings.json of this repository, for all who work in it
    #[arg(long)]
    pub project: bool,
}

/// Check that everything cld depends on is in order, one line a check
///
/// Looks at Claude Code, tmux, the settings of every config directory, of this repository and of
/// the administrator, and runs each registered hook as Claude Code would, in a pane of a tmux
/// server of its own. Exits 1 if there is an error; warnings do not count.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld doctor\n  cld doctor --fix\n  cld doctor --json | jq .ok")]
pub struct Doctor {
    /// Print the checks as JSON
    #[arg(long)]
    pub json: bool,

    /// Repair what is safe to repair: hooks that are out of date, permissions, dead sockets
    #[arg(long)]
    pub fix: bool,
}
