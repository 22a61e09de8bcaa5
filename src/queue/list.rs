//! `cld queue`: roster -> queue -> table, JSON or a number.

use anyhow::Result;

use crate::cli::{self, Which};
use crate::ls::json;
use crate::roster::{self, Roster, Servers, State, past};
use crate::screen::Screen;
use crate::text::shown;
use crate::{context, paths, terminal};

use super::table::{below, table};
use super::{Entry, Queue};

pub fn run(options: &cli::Queue) -> Result<()> {
    let mut roster = roster::read(servers(options.server));
    roster.sessions.retain(|listed| !listed.is_scripted);
    if options.count {
        let queue = Queue::of(&roster.sessions, options.by.into(), roster.read_at);
        return terminal::print(&format!("{}\n", queue.open().count()));
    }
    past::name_untitled(&mut roster.sessions);
    let queue = Queue::of(&roster.sessions, options.by.into(), roster.read_at);
    let mut entries: Vec<&Entry> = queue.open().collect();
    if options.all {
        entries.extend(queue.put_off());
    }
    if options.json {
        let sessions = entries.iter().map(|entry| &entry.listed);
        return terminal::print(&json::document(sessions, roster.read_at));
    }
    let screen = Screen::of_stdout();
    let (home, own_server) = (paths::home(), paths::tmux_socket());
    let lines = table(&entries, screen, roster.read_at, home.as_deref(), &own_server);
    for (entry, line) in entries.iter().zip(lines) {
        terminal::print(&line)?;
        if let Some(context) = options.long.then(|| context::of(&entry.listed)).flatten() {
            terminal::print(&below(&context, screen))?;
        }
    }
    for note in notes(&roster, &queue, options.all) {
        terminal::note(&note);
    }
    Ok(())
}

pub(crate) fn servers(which: Which) -> Servers {
    match which {
        Which::Current => Servers::Current,
        Which::All => Servers::All,
    }
}

/// What the table does not show.
fn notes(roster: &Roster, queue: &Queue, has_all: bool) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for socket in &roster.silent_servers {
        let socket = shown(socket);
        notes.push(format!(
            "cld: the tmux server at {socket} does not answer, its panes are missing"
        ));
    }
    if queue.open().next().is_none() {
        notes.push("nothing waits for you".to_owned());
    }
    let put_off = queue.put_off().count();
    if put_off > 0 && !has_all {
        notes.push(format!("{put_off} skipped or snoozed; --all adds them"));
    }
    let is_elsewhere =
        |listed: &&roster::Listed| listed.health.state == State::Waiting && listed.pane.is_none();
    let elsewhere = roster.sessions.iter().filter(is_elsewhere).count();
    if elsewhere > 0 {
        notes.push(format!("{elsewhere} outside of tmux; cld ls --waiting shows them"));
    }
    notes
}
