//! `cld ls`: roster -> rows -> table or JSON.

use std::collections::HashSet;
use std::io::{self, Write};

use anyhow::Result;

use crate::cli::{Ls, Which};
use crate::roster::{self, Ahead, Listed, Roster, Servers, State, past};
use crate::screen::Screen;
use crate::text::shown;
use crate::transcript::{self, Session};
use crate::{paths, terminal};

pub(crate) mod json;
pub mod project;
pub mod retention;
pub mod table;

pub(crate) use json::document_of;
use project::Project;
use retention::Retention;
use table::{Row, Table};

pub fn run(options: &Ls, ahead: Ahead) -> Result<()> {
    let servers = match options.server {
        Which::Current => Servers::Current,
        Which::All => Servers::All,
    };
    let mut roster = roster::read_ahead(servers, ahead);
    for socket in &roster.silent_servers {
        terminal::note(&format!(
            "cld: the tmux server at {} does not answer, its panes are missing",
            shown(socket)
        ));
    }
    let project = options.here.then(Project::of_this_directory).transpose()?;
    let sessions = sessions(&mut roster, options, project.as_ref());
    if options.json {
        return print(&json::document(&sessions, roster.read_at));
    }
    let screen = Screen::of_stdout();
    if sessions.is_empty() && screen.width.is_some() {
        terminal::note(if options.all {
            "no sessions"
        } else {
            "no sessions; --all adds past ones"
        });
    }
    print(&table(&sessions, &roster, screen))
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn sessions(roster: &mut Roster, options: &Ls, project: Option<&Project>) -> Vec<Listed> {
    let is_wanted = |listed: &Listed| {
        (options.sdk || !listed.is_scripted)
            && (!options.waiting || listed.health.state == State::Waiting)
            && project.is_none_or(|project| project.holds(listed.directory.as_deref()))
    };
    let limit = options.limit.unwrap_or(usize::MAX);
    let files = if options.all { past_files(roster, project) } else { Vec::new() };
    let mut sessions = std::mem::take(&mut roster.sessions);
    sessions.retain(&is_wanted);
    sessions.truncate(limit);
    past::name_untitled(&mut sessions);
    if !options.waiting {
        sessions.extend(past::read(&files, limit - sessions.len(), is_wanted));
    }
    sessions
}

/// The transcripts of sessions that are not in the roster. Those that are there get theirs, where
/// it was not known.
fn past_files(roster: &mut Roster, project: Option<&Project>) -> Vec<Session> {
    let mut files = transcript::all(&roster.config_dirs);
    for listed in roster.sessions.iter_mut().filter(|listed| listed.transcript.is_none()) {
        let file = files.iter().find(|file| file.id == listed.id.as_str());
        listed.transcript = file.map(|file| file.path.clone());
    }
    let listed: HashSet<&str> = roster.sessions.iter().map(|listed| listed.id.as_str()).collect();
    files.retain(|file| {
        !listed.contains(file.id.as_str())
            && project.is_none_or(|project| project.may_hold(&file.bucket))
    });
    files
}

fn table(sessions: &[Listed], roster: &Roster, screen: Screen) -> String {
    let (home, own_server) = (paths::home(), paths::tmux_socket());
    let mut retention = Retention::default();
    let mut table = Table::new(screen);
    for listed in sessions {
        let deleted_in = retention.days_left(listed, roster.read_at);
        table.push(Row::new(listed, deleted_in, roster.read_at, home.as_deref(), &own_server));
    }
    table.text()
}
