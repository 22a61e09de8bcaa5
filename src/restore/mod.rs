//! `cld restore`: the sessions that were open when the tmux server ended, each in a new window.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cli::Restore;
use crate::error::Stop;
use crate::ls::table::{Row, Table};
use crate::program::Program;
use crate::roster::{self, Listed, Roster, Servers, past};
use crate::screen::Screen;
use crate::session::{Moment, PaneId};
use crate::text::one_line;
use crate::tmux::{self, Batch};
use crate::transcript::{self, IdPrefix, Reader};
use crate::{journal, paths, process, terminal};

mod recorded;

use recorded::Recorded;

/// Starting a server reads the configuration of tmux, which may run plugins.
const TMUX_LIMIT: Duration = Duration::from_secs(20);

/// The tmux session for the windows when there is none around this process.
const SESSION: &str = "restored";

/// What runs in a window: Claude Code, and a shell when it has ended or could not be started. The
/// config directory of the session is none of the shell's business.
const IN_WINDOW: &str = r#"if [ -n "$2" ]; then CLAUDE_CONFIG_DIR="$2" "$0" resume -y "$1"
else "$0" resume -y "$1"; fi
exec "${SHELL:-/bin/sh}""#;

pub fn run(options: &Restore) -> Result<()> {
    let roster = roster::read(Servers::All);
    let lost = lost(&roster, options.all)?;
    if lost.is_empty() {
        terminal::note("no session was open when a tmux server ended");
        return Ok(());
    }
    let asks = !options.yes && !options.dry_run;
    if asks && !terminal::is_there() {
        return Err(Stop::Usage(
            "there is no terminal to ask on, so nothing was started\n\
             Try: cld restore -n  to see the sessions\n     cld restore -y  to start them"
                .to_owned(),
        )
        .into());
    }
    let mut out = io::stdout().lock();
    out.write_all(table(&lost, roster.read_at).as_bytes())?;
    out.flush()?;
    if options.dry_run {
        return Ok(());
    }
    if asks {
        terminal::confirm(&question(lost.len()))?;
    }
    start(&lost)
}

fn question(sessions: usize) -> String {
    match sessions {
        1 => "Restore this session?".to_owned(),
        some => format!("Restore these {some} sessions?"),
    }
}

/// A session to be started again.
struct Lost {
    listed: Listed,
    /// Only when it is not the default one.
    config_dir: Option<PathBuf>,
}

fn lost(roster: &Roster, all: bool) -> Result<Vec<Lost>> {
    let dir = paths::state_dir().context("HOME is not set, so there is no journal")?;
    let lines = journal::read(&dir, journal::JOURNAL);
    let recorded = recorded::open(lines.lines(), |server| began(server, roster), all);
    let is_alive = |recorded: &Recorded| {
        let mut listed = roster.sessions.iter().filter(|listed| listed.is_alive());
        listed.any(|listed| listed.id == recorded.session)
    };
    let mut reader = Reader::new();
    let found = recorded.into_iter().filter(|recorded| !is_alive(recorded));
    Ok(found.filter_map(|recorded| with_transcript(recorded, roster, &mut reader)).collect())
}

/// Nothing for a session in which nobody has said anything: there is nothing to go back to.
fn with_transcript(recorded: Recorded, roster: &Roster, reader: &mut Reader) -> Option<Lost> {
    let own = recorded.config_dir.iter().filter(|dir| !roster.config_dirs.contains(dir));
    let config_dirs: Vec<PathBuf> = roster.config_dirs.iter().chain(own).cloned().collect();
    let id = IdPrefix::parse(recorded.session.as_str()).filter(IdPrefix::is_whole_id)?;
    let files = transcript::matching(&config_dirs, &id);
    let mut listed = files.iter().find_map(|file| past::read_one(file, reader))?;
    listed.health.since = Some(recorded.at);
    Some(Lost { listed, config_dir: recorded.config_dir })
}

/// Since when there is a tmux server with a process id.
fn began(server: u32, roster: &Roster) -> Option<Moment> {
    let listed = roster.panes.iter().find(|pane| pane.server_pid == server);
    listed.map(|pane| pane.server_started).or_else(|| process::tmux_server_since(server))
}

fn table(lost: &[Lost], now: Moment) -> String {
    let (home, server) = (paths::home(), paths::tmux_socket());
    let mut table = Table::new(Screen::of_stdout());
    for Lost { listed, .. } in lost {
        table.push(Row::new(listed, None, now, home.as_deref(), &server));
    }
    table.text()
}

fn start(lost: &[Lost]) -> Result<()> {
    let program = std::env::current_exe().context("cannot tell where this cld is installed")?;
    let inside = paths::inside_tmux().is_some();
    let mut first = None;
    for one in lost {
        let pane = open_window(one, &program, inside)?;
        first = first.or(Some(pane));
    }
    if let (false, Some(pane)) = (inside, first) {
        if terminal::can_show_tmux() {
            let attach = Batch::of(&["attach-session", "-t", &pane.to_string()]);
            let (program, socket) = (paths::tmux_program(), paths::tmux_socket());
            let error = tmux::become_client(&program, &socket, &attach);
            bail!("tmux could not be started: {error}");
        }
        terminal::note(&format!("Try: tmux attach -t {SESSION}"));
    }
    Ok(())
}

/// Opens a window in the tmux session of this process, else in one of its own.
fn open_window(lost: &Lost, program: &Path, inside: bool) -> Result<PaneId> {
    let place: &[&str] = match inside {
        true => &["new-window", "-d"],
        false if run_tmux(&["has-session", "-t", &format!("={SESSION}")], None).is_ok() => {
            &["new-window", "-d", "-t", &format!("={SESSION}:")]
        }
        false => &["new-session", "-d", "-s", SESSION],
    };
    let program = program.to_str().context("the path of this cld is not plain text")?;
    let config_dir = lost.config_dir.as_deref().and_then(Path::to_str).unwrap_or_default();
    let id = lost.listed.id.as_str();
    let window = ["-P", "-F", "#{pane_id}", "/bin/sh", "-c", IN_WINDOW, program, id, config_dir];
    // tmux takes the directory of a new window from the client that asks for it. Given as an
    // argument it would be expanded as a format.
    let directory = lost.listed.directory.as_deref().filter(|dir| dir.is_dir());
    let printed = run_tmux(&[place, &window].concat(), directory)?;
    PaneId::parse(printed.trim()).with_context(|| format!("tmux said {:?}", one_line(&printed, 80)))
}

/// With the whole environment, which a server that is started here gives to its windows.
fn run_tmux(words: &[&str], directory: Option<&Path>) -> Result<String> {
    let words = Batch::of(words).words();
    let words: Vec<&str> = ["-u"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let mut program = Program::new(paths::tmux_program(), &words);
    program.directory = directory.map(Path::to_owned);
    let finished = program.run(TMUX_LIMIT).context("tmux could not be started")?;
    if finished.code != Some(0) {
        bail!("tmux said {:?}", one_line(&finished.err, 120));
    }
    Ok(finished.out)
}
