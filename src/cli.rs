//! Every command, flag and help text. Imports only clap and std.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The first screen. clap knows no groups of commands, so they stand here; a test sees to it that
/// each command stands in one of them and that all of it fits a terminal of 24 lines.
const HELP: &str = "\
Keeps many Claude Code sessions in tmux within reach

{usage-heading} {usage}

See them
  ls       list them, with their states   show     all that is known of one
  queue    who waits, longest first       search   every word of every session
  log      what happened                  stats    how long they waited for you
  watch    changes as they happen         wait     until one waits or has ended
  hub      over HTTP, and as a web page   notify   try how you are told of them
Go to one
  next     to who has waited longest      jump     to the one you name
  back     to where you came from         resume   to one that has ended
  skip     leave one out until it asks    restore  to all that were open
  snooze   leave one out for a while      pick     choose on a full screen
  send     type a prompt into one         dismiss  calm the tab of a window
Set up
  setup    register with Claude Code      doctor   check all that cld needs
  config   show the settings              hook     what Claude Code runs
  init     for bash, zsh and fish         completions  as a file for a shell
Learn
  demo     try it without Claude Code     man      the manual
`cld COMMAND --help` has examples, `cld man COMMAND` the whole story.
";

#[derive(Debug, Parser)]
#[command(
    name = "cld",
    version,
    about,
    max_term_width = 100,
    arg_required_else_help = true,
    help_template = HELP,
    override_usage = "cld <COMMAND>"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Resume(Resume),
    Restore(Restore),
    Ls(Ls),
    Show(Show),
    Pick(Pick),
    Queue(Queue),
    Next(Next),
    Back(Back),
    Skip(Skip),
    Snooze(Snooze),
    Jump(Jump),
    Search(Search),
    Send(Send),
    Wait(Wait),
    Watch(Watch),
    Hook(Hook),
    Dismiss(Dismiss),
    Log(Log),
    Setup(Setup),
    Doctor(Doctor),
    Config(Config),
    Notify(Notify),
    Stats(Stats),
    Init(Init),
    Completions(Completions),
    Man(Man),
    Demo(Demo),
    Settle(Settle),
    Mend(Mend),
    Hub(Hub),
}

/// Go back to a session, in the directory it belongs to
///
/// A session that is open somewhere is not opened twice: its pane is shown instead. Without an ID,
/// the last session of this pane is resumed if it has ended; otherwise you can pick one.
///
/// Exit codes: 0 done, 1 failed or not found, 2 usage or ambiguous, 130 you said no.
#[derive(Debug, Default, Args)]
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

/// Start the sessions again that were open when the tmux server ended
///
/// After a reboot or a crash: shows the sessions that nobody had closed, asks, and resumes each in a
/// new window of this tmux session, in the directory it belongs to. Outside of tmux the windows are
/// those of a session called `restored`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld restore\n  cld restore -n\n  cld restore -y")]
pub struct Restore {
    /// Start them without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    pub yes: bool,

    /// Show the sessions and start none
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Those of tmux servers that ended earlier, too
    #[arg(short, long)]
    pub all: bool,
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
    after_help = "Examples:\n  cld show 23e30f82\n  cld show %5\n  cld show work:2.1\n  cld show 'fix the parser'\n  cd \"$(cld show --directory 23e30f82)\""
)]
pub struct Show {
    /// Print only the directory the session belongs to
    #[arg(long)]
    pub directory: bool,

    /// Session id or its first four or more digits, pane, title, or path of the transcript
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Pick a session on a full screen: those that wait, those that run, and all past ones
///
/// Typing filters by title, directory, branch and id. Enter goes to the pane of a session that is
/// open and resumes one that has ended; from a popup it does so in a new window. As long as nothing
/// was typed, s snoozes, x skips, f forks, y copies the id, / searches and ? shows all keys; after
/// that these letters are text, and commands take Alt.
///
/// Exit codes: 0 done, 1 failed, 2 no terminal, 130 you left.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld pick\n  cld show \"$(cld pick --print)\"\n  \
    tmux bind-key g run-shell -C \"display-popup -c '#{client_name}' \\\n    \
    -w 90% -h 80% -E \\\"cld pick --client '#{client_name}'\\\"\"")]
pub struct Pick {
    /// Show only the sessions that wait for you
    #[arg(short, long)]
    pub waiting: bool,

    /// The tmux client to bring to the session; for popups, which belong to no pane
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,

    /// Print the id of the session instead of going there
    #[arg(long)]
    pub print: bool,
}

/// List the sessions that wait for you, the one that has waited longest first
///
/// Shows for each what it waits for (permission, question, plan, input, done, error), for how long,
/// where it is, and what is asked. Sessions leave the queue when they are answered, whatever way,
/// when their Claude ends and when their pane is closed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld queue\n  cld queue --long\n  cld queue --by kind\n  cld queue --count\n  \
    cld queue --json | jq -r '.sessions[0].waiting.context'"
)]
pub struct Queue {
    /// Print JSON for other programs: the session objects of `cld ls --json`, in this order
    #[arg(long)]
    pub json: bool,

    /// Add those that were skipped or snoozed
    #[arg(short, long)]
    pub all: bool,

    /// Show below each what is asked in full: the command, the change, the answers, the last words
    #[arg(short, long, conflicts_with = "json")]
    pub long: bool,

    /// Print only how many there are
    #[arg(short, long, conflicts_with_all = ["json", "all", "long"])]
    pub count: bool,

    /// What comes first
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Age)]
    pub by: By,

    /// Which tmux servers to ask
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::All)]
    pub server: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The session that has waited longest
    Age,
    /// What holds up work: permissions, questions, plans, inputs, errors, finished turns
    Kind,
}

/// Go to the session that has waited longest, or from one that waits to the next
///
/// Run it again and again to go round: each session is visited once, oldest first, and those that
/// you answer on the way drop out. Says so and exits 1 when nothing waits.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld next\n  tmux bind-key n run-shell -b \"cld next --client '#{client_name}' || true\""
)]
pub struct Next {
    /// What comes first
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Age)]
    pub by: By,

    /// Which tmux servers to ask
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::All)]
    pub server: Which,

    /// The tmux client to bring there, for key bindings and popups
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
}

/// Go back to where `next`, `skip`, `snooze` or `jump` was called
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld back\n  tmux bind-key b run-shell -b \"cld back --client '#{client_name}' || true\""
)]
pub struct Back {
    /// The tmux client to bring there, for key bindings and popups
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
}

/// Leave a session out of the queue until it waits for something new, and go to the next
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld skip\n  cld skip 23e30f82\n  cld skip --undo 23e30f82")]
pub struct Skip {
    /// The session to leave out, without going anywhere; the one in front of you by default
    pub id: Option<String>,

    /// Put a skipped or snoozed session back
    #[arg(long)]
    pub undo: bool,

    /// Which tmux servers to ask
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::All)]
    pub server: Which,

    /// The tmux client to bring to the next, for key bindings and popups
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
}

/// Leave a session out of the queue for a while, and go to the next
///
/// It comes back when the time is over, or earlier when it waits for something new.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld snooze\n  cld snooze 2h\n  cld snooze until 14:00\n  cld snooze 1h30m --id 23e30f82"
)]
pub struct Snooze {
    /// For how long: 20m (the default), 2h, 1d, or until 14:00
    #[arg(value_name = "FOR", num_args = 0..=2)]
    pub pause: Vec<String>,

    /// The session to leave out, without going anywhere; the one in front of you by default
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,

    /// Put a skipped or snoozed session back
    #[arg(long, conflicts_with = "pause")]
    pub undo: bool,

    /// Which tmux servers to ask
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::All)]
    pub server: Which,

    /// The tmux client to bring to the next, for key bindings and popups
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
}

/// Go to the pane of a session that is open
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld jump 23e30f82\n  cld jump work:2.1\n  cld jump 'fix the parser'"
)]
pub struct Jump {
    /// Session id or its first four or more digits, pane, or title
    #[arg(value_name = "ID")]
    pub id: String,

    /// The tmux client to bring there, for key bindings and popups
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
}

/// Find what was said in any session: prompts, answers, tool input and tool output
///
/// All words must occur somewhere in the session; several words in quotes are a phrase. Case is
/// ignored unless a word has upper case. The newest sessions come first, as they are found, each
/// with its first hits. Every transcript is read anew, so nothing is ever missing or out of date.
///
/// With --json, one JSON object a line is printed for each hit. Exit codes: 0 found, 1 nothing
/// found, 2 usage.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld search connection refused\n  cld search \"connection refused\" --in tool --since 3d\n  \
    cld search -s TODO --project api --branch main\n  cld search --regex 'E0[0-9]{3}' --limit 5\n  \
    cld resume $(cld search -l flaky login | head -1)\n  cld search --json panicked | jq -r .text"
)]
pub struct Search {
    /// Words that must all occur in the session
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,

    /// Take each word as a regular expression; ^ and $ are the ends of a line
    #[arg(short = 'e', long)]
    pub regex: bool,

    /// Ignore case, also that of words with upper case
    #[arg(short, long, conflicts_with = "case_sensitive")]
    pub ignore_case: bool,

    /// Upper and lower case are different
    #[arg(short = 's', long)]
    pub case_sensitive: bool,

    /// Only words of these: you, Claude, tools (input and output), titles
    #[arg(long = "in", value_enum, value_name = "WHOM", value_delimiter = ',')]
    pub within: Vec<In>,

    /// Only sessions of this project: part of its directory's name, or a path (./api, ~/work)
    #[arg(short, long, value_name = "NAME|DIR")]
    pub project: Option<String>,

    /// Only sessions of this project: the git repository around this directory, else what is below
    /// this directory
    #[arg(long, conflicts_with = "project")]
    pub here: bool,

    /// Only what was said on this git branch
    #[arg(short, long, value_name = "NAME")]
    pub branch: Option<String>,

    /// Only what was said since then: 90m, 12h, 3d, 2w, or a date (2026-11-18, UTC)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Stop after N sessions
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,

    /// Print at most N hits of each session
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one)]
    pub hits: usize,

    /// What comes first: the newest session, or the best one (titles and prompts before answers
    /// before tool output, then the newest)
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Order::Time)]
    pub by: Order,

    /// Show copies of a conversation too, which a fork has
    #[arg(long)]
    pub forks: bool,

    /// Add sessions that scripts drive (`claude -p`, the SDK)
    #[arg(long)]
    pub sdk: bool,

    /// Print one JSON object a line for each hit
    #[arg(long, conflicts_with = "ids")]
    pub json: bool,

    /// Print only the ids of the sessions
    #[arg(short = 'l', long)]
    pub ids: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum In {
    User,
    Assistant,
    Tool,
    Title,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    Time,
    Score,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a number from 1 on is needed".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Type text that you wrote into a session that waits for a prompt
///
/// The text arrives as one paste, whatever it holds, and is sent. Prints "submitted" once the session
/// has confirmed that it took the text as a prompt. Refused when a dialog is open, because the text
/// would be an answer to it, when Claude is busy, and when nobody would read it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld send 23e30f82 'and now the tests'\n  cld send work:2.1 - < prompt.md\n  cld send --queue 23e30f82 'then commit'"
)]
pub struct Send {
    /// Session id or its first four or more digits, pane, or title
    #[arg(value_name = "ID")]
    pub id: String,

    /// The text; - or nothing reads it from standard input
    pub text: Option<String>,

    /// Also while Claude is busy, which takes it up when it is done
    #[arg(short, long)]
    pub queue: bool,

    /// How long to wait for the confirmation
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
}

/// Wait until sessions wait for you, or have ended
///
/// With IDs, returns when all of them have come to that point (--any: one of them); a session that
/// has nothing to do counts as waiting too. Without IDs, returns when any session waits (--all: all
/// that are open now). Prints the ids of the sessions that are there. Exits 1 when the time is over,
/// or when a session ended instead.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld wait\n  cld send 23e30f82 'run the tests' && cld wait 23e30f82 --timeout 30m\n  cld wait --any 23e3 9f00\n  cld wait 23e30f82 --for ended"
)]
pub struct Wait {
    /// Session ids or their first four or more digits, panes, or titles
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,

    /// One of them is enough
    #[arg(long, conflicts_with = "all")]
    pub any: bool,

    /// All of them
    #[arg(long)]
    pub all: bool,

    /// What to wait for
    #[arg(long = "for", value_enum, value_name = "WHAT", default_value_t = Until::Waiting)]
    pub until: Until,

    /// How long to wait at most: 90s, 20m, 2h
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// The session waits for you
    Waiting,
    /// The session has ended
    Ended,
}

/// Print changes of state as they happen
///
/// One line for each session that is there, then one for each that begins, changes its state, waits
/// for something new or ends. Also sees what no hook tells: approvals, denials, interrupts, kills.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld watch\n  cld watch --json |\n    jq -r 'select(.session.state == \"waiting\") | .session.waiting.context'"
)]
pub struct Watch {
    /// Print a JSON object a line: {version, at, was, session}, the session as in `cld ls --json`
    #[arg(long)]
    pub json: bool,

    /// Which tmux servers to ask
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::All)]
    pub server: Which,
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

/// Mark a window as looked at: its tab is no longer red, its sessions stay in the queue
///
/// The tmux file of cld does this by itself whenever you switch to a window. By hand it is for keys
/// and scripts, for tmux before 3.2, and with --switched for a hook on pane-focus-in.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld dismiss\n  cld dismiss @3\n  tmux set-hook -g pane-focus-in[991] \\\n    'run-shell -b \"cld dismiss --switched #{q:session_id}:#{window_id}\"'"
)]
pub struct Dismiss {
    /// Only if the tmux session was in another window when this was last called for it
    #[arg(long)]
    pub switched: bool,

    /// Window or pane by its id (@3, %5, $1:@3); by default the one this runs in
    pub target: Option<String>,
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

/// Register cld with Claude Code and tmux, or take it out again
///
/// Adds the hooks of cld to the settings.json of every config directory ($CLAUDE_CONFIG_DIR and
/// ~/.claude) and a marked block to the configuration of tmux, after showing the difference and
/// asking; tmux servers that run get the block at once. Everything else in the files stays byte for
/// byte as it was, and a copy of each old file is left beside it. Run it again after an upgrade or a
/// move: it corrects paths and adds new events, or says that nothing is to be done.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld setup\n  cld setup -n\n  cld setup --shell\n  cld setup -y --no-tmux --config-dir ~/.claude-work\n  cld setup --uninstall"
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

    /// Use the .claude/settings.json of this repository, for all who work in it, and nothing else
    #[arg(long)]
    pub project: bool,

    /// Leave tmux alone: its configuration and the servers that run
    #[arg(long)]
    pub no_tmux: bool,

    /// Add `cld init` to what your shell ($SHELL: bash, zsh or fish) reads when it starts
    #[arg(long, conflicts_with = "project")]
    pub shell: bool,
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

    /// Repair what is safe: hooks and tmux files that are out of date, permissions, dead sockets
    #[arg(long)]
    pub fix: bool,
}

/// Show the configuration: each setting, its value, and where that comes from
///
/// The configuration is `cld/config.toml` in $XDG_CONFIG_HOME (~/.config). Every setting has a
/// default, so the file need not exist. What is wrong in it is said on standard error; a setting
/// that cannot be used has its default.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  cld config show\n  cld config show notify.tmux\n  cld config show > \"$(cld config path)\"\n  $EDITOR \"$(cld config path)\""
)]
pub struct Config {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Print every setting as TOML, with a comment that says what it does and where it comes from
    Show {
        /// Only these settings or sections, such as tabs.waiting or notify
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
    },
    /// Print the path of the file, whether it exists or not
    Path,
}

/// Tell of a wait that nobody looks at, or try how you are told of it
///
/// tmux runs this when a session in a window that nobody looks at begins to wait. With --test every
/// channel that is configured is used at once, and it is said how each one went.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld notify --test\n  cld notify %5")]
pub struct Notify {
    /// The pane of the session
    pub pane: Option<String>,

    /// The socket of the tmux server; the one this process runs in otherwise
    #[arg(long, value_name = "SOCKET")]
    pub server: Option<PathBuf>,

    /// Try every configured channel
    #[arg(long)]
    pub test: bool,
}

/// Show how often sessions waited for you, how long, and how fast you answered
///
/// Taken from the journal: notifications of each day, waits by kind with the median and the 90th
/// percentile of the time until you answered, and how long the sessions of each project ran and
/// waited. A permission counts as answered when its tool has ended, because Claude Code tells
/// nothing of the answer itself.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld stats\n  cld stats --since 12h\n  cld stats --since 2026-11-01\n  cld stats --json | jq .waits"
)]
pub struct Stats {
    /// From when on: a time ago (12h, 2d), today, or a day (2026-11-18)
    #[arg(long, value_name = "WHEN", default_value = "7d")]
    pub since: String,

    /// Print JSON for other programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Print the companion of your shell, to be read by its start file
///
/// It completes the command line of cld and adds `cldcd ID`, which goes to the directory of a
/// session. Reading it twice does no harm.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  eval \"$(cld init bash)\"          # in ~/.bashrc\n  \
    eval \"$(cld init zsh --hint)\"    # in ~/.zshrc\n  \
    cld init fish --prompt | source   # in ~/.config/fish/config.fish")]
pub struct Init {
    /// The shell it is for
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,

    /// Show in the prompt how many sessions wait for you
    #[arg(long)]
    pub prompt: bool,

    /// Say how to get back to a session when Claude Code has ended in this pane
    #[arg(long)]
    pub hint: bool,
}

/// Print the completion file of a shell
///
/// The file asks cld itself what fits, so it never goes stale, and it offers the ids of your
/// sessions with their states and titles.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld completions bash > ~/.local/share/bash-completion/completions/cld\n  \
    cld completions zsh > ~/.zfunc/_cld\n  \
    cld completions fish > ~/.config/fish/completions/cld.fish"
)]
pub struct Completions {
    /// The shell it is for
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// Show a page of the manual
///
/// The pages are in the program, so they are there wherever it is. They are shown by the `man` of
/// the system, or as plain text where there is none.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cld man\n  cld man resume\n  cld man config.5\n  cld man --list"
)]
pub struct Man {
    /// The command or the name of the page; a number after a dot says which section
    #[arg(value_name = "PAGE", conflicts_with_all = ["list", "write"])]
    pub page: Option<String>,

    /// Print the names of all pages
    #[arg(long)]
    pub list: bool,

    /// Write all pages into the folders of a manual, such as ~/.local/share/man
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    pub write: Option<PathBuf>,
}

/// Try cld without Claude Code, in a tmux server of its own
///
/// Opens a tmux session with a few simulated sessions that fire real hooks: tabs turn red, one
/// key takes you to who waits, an ended session is resumed. It touches neither your sessions nor
/// your files, and leaves nothing behind.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cld demo")]
pub struct Demo {
    /// Play one of the simulated sessions; what the panes of the demo run
    #[arg(long, hide = true, value_name = "ROLE", num_args = 1.., allow_hyphen_values = true)]
    pub play: Vec<String>,
}

/// Show the end of a turn, if it still is one
///
/// The tmux server runs this after `debounce_ms`, when that is configured.
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Example:\n  cld settle %5 1794983149325052")]
pub struct Settle {
    /// The pane of the session
    pub pane: String,

    /// When the turn ended, in microseconds
    pub since: u64,
}

/// Show at a window what its sessions really do
///
/// The tmux server runs this when somebody has left a window where Claude works or asks, because no
/// hook tells of an approval, a denial, an interrupt or a kill.
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Example:\n  cld mend @3")]
pub struct Mend {
    /// The window, by its id
    pub window: String,
}

/// Serve sessions and their events over HTTP, and a page that shows them all
///
/// Starts Claude Code sessions in tmux, types messages into them, stops them, and streams every hook
/// event (server-sent events). Local programs use its Unix socket without a token; over TCP, on
/// loopback only, every request needs one (see `cld hub token`). Runs in the foreground until it
/// gets SIGTERM or SIGINT, and then stops the sessions it has started, and no other.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  cld hub\n  cld hub open\n  \
    curl -H \"Authorization: Bearer $(cld hub token)\" http://127.0.0.1:4717/queue\n  \
    curl -N --unix-socket \"$(cld hub status --socket)\" http://cld/events"
)]
pub struct Hub {
    #[command(subcommand)]
    pub command: Option<HubCommand>,

    #[command(flatten)]
    pub serve: Serve,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Where to listen for HTTP, on loopback; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4717")]
    pub listen: SocketAddr,

    /// Listen on the Unix socket only
    #[arg(long)]
    pub no_tcp: bool,

    /// Take events of containers here: nothing but events goes in, and nothing comes out
    #[arg(long, value_name = "ADDR")]
    pub collector_listen: Option<SocketAddr>,

    /// A name the hub may be reached by, behind a proxy; may be given several times
    #[arg(long, value_name = "NAME")]
    pub allowed_host: Vec<String>,

    /// The tmux server to start sessions in: a name as for `tmux -L`, or a path
    #[arg(long, value_name = "NAME")]
    pub socket: Option<PathBuf>,

    /// How many sessions may run at the same time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub max_sessions: usize,

    /// How much of each session's events is kept in memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 8)]
    pub ring: usize,

    /// How much of all events is kept in memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub memory: usize,

    /// How often silent streams are told that they are still connected, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub heartbeat: Option<u64>,

    /// Ask for no token: every program and user of this machine can run programs as you
    #[arg(long)]
    pub insecure_no_auth: bool,
}

#[derive(Debug, Subcommand)]
pub enum HubCommand {
    Status(Status),
    Open(Open),
    Token(Token),
    /// Become Claude Code, as a file of the hub says
    #[command(name = "_launch", hide = true)]
    Launch {
        file: PathBuf,
    },
}

/// Say whether a hub runs, and where
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld hub status\n  cld hub status --json | jq -r .url")]
pub struct Status {
    /// Print JSON for other programs
    #[arg(long)]
    pub json: bool,

    /// Print only the path of the Unix socket
    #[arg(long, conflicts_with = "json")]
    pub socket: bool,
}

/// Open the page of the running hub in a browser
///
/// The browser is let in by a ticket that is good once and for a minute.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cld hub open\n  cld hub open --print --read-only")]
pub struct Open {
    /// Print the address instead of starting a browser
    #[arg(long)]
    pub print: bool,

    /// Let the page see everything and change nothing
    #[arg(long)]
    pub read_only: bool,
}

/// Print the token that programs send as `Authorization: Bearer`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  curl -H \"Authorization: Bearer $(cld hub token)\" http://127.0.0.1:4717/queue\n  cld hub token --scope collect > token && chmod 600 token\n  cld hub token --rotate"
)]
pub struct Token {
    /// What the token is good for
    #[arg(long, value_enum, default_value_t = TokenScope::Control)]
    pub scope: TokenScope,

    /// Make a new token; the old one ends at once
    #[arg(long)]
    pub rotate: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TokenScope {
    /// Everything
    Control,
    /// See everything, change nothing
    Read,
    /// Post events
    Collect,
}
