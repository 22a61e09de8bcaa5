//! To the pane of a session that is open: the tmux command that brings the person there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::pane::VISITS;
use crate::roster::Roster;
use crate::shell::quoted;
use crate::text::{one_line, shown};
use crate::tmux::{self, Answer, Batch, Client, Inside, Pane};
use crate::{paths, terminal};

const LIMIT: Duration = Duration::from_secs(3);

/// Who asks to be brought somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The terminal that is to show the pane, where it looks at tmux already.
    pub client: Option<Client>,
    /// The server this process was started in.
    inside: Option<Inside>,
    /// The client was named, as key bindings and popups do.
    is_named: bool,
    /// The terminal of this process, which tmux would call the client by.
    terminal: Option<String>,
}

impl Person {
    /// The client of that name, else the one that shows the pane this process was started in.
    pub fn find(roster: &Roster, named: Option<&str>) -> Result<Self> {
        let inside = paths::inside_tmux();
        let client = match (named, &inside) {
            (Some(name), inside) => {
                let own = inside.as_ref().map(|inside| &inside.socket);
                let named = roster.clients.iter().filter(|client| client.name == name);
                let nearest = named.max_by_key(|client| Some(&client.socket) == own).cloned();
                let shown = one_line(name, 80);
                Some(nearest.ok_or_else(|| anyhow!("tmux has no client {shown}"))?)
            }
            (None, Some(inside)) => {
                let is_own =
                    |pane: &&Pane| pane.socket == inside.socket && Some(pane.id) == inside.pane;
                let own = roster.panes.iter().find(is_own);
                let clients = roster.clients.iter().filter(|c| c.socket == inside.socket);
                asking(clients, own).cloned()
            }
            (None, None) => None,
        };
        let terminal = terminal::name().filter(|_| inside.is_none());
        Ok(Self { client, inside, is_named: named.is_some(), terminal })
    }

    /// The pane the person looks at, else the one the command was typed in.
    pub fn pane<'a>(&self, roster: &'a Roster) -> Option<&'a Pane> {
        let place = match (&self.client, &self.inside) {
            (Some(client), _) => Some((&client.socket, client.pane)),
            (None, Some(inside)) => inside.pane.map(|pane| (&inside.socket, pane)),
            (None, None) => None,
        };
        let (socket, id) = place?;
        roster.panes.iter().find(|pane| pane.socket == *socket && pane.id == id)
    }

    /// The name of the client that is there, or will be.
    pub fn name(&self) -> Option<&str> {
        let client = self.client.as_ref().map(|client| client.name.as_str());
        client.or(self.terminal.as_deref())
    }

    /// Says something, and shows it where the person looks.
    pub fn tell(&self, text: &str) {
        terminal::note(&format!("cld: {text}"));
        self.show(text);
    }

    /// Shows something on the client that was named: a key binding has no terminal to print to, and
    /// that of a popup goes away.
    pub fn show(&self, text: &str) {
        let Some(client) = self.client.as_ref().filter(|_| self.is_named) else { return };
        // The message is a format, and goes through strftime.
        let text = one_line(text, 200).replace('#', "##").replace('%', "%%");
        let say = |words: &[&str]| {
            let mut batch = Batch::default();
            batch.push_words(words);
            tmux::run(&paths::tmux_program(), &client.socket, &batch, Instant::now() + LIMIT)
        };
        // tmux 3.2 does not take a client here.
        if !matches!(say(&["display-message", "-c", &client.name, &text]), Answer::Done(_)) {
            say(&["display-message", &text]);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    There,
    /// The pane went away in the meantime.
    Gone,
}

/// Brings the person to `target`. With `visits`, the target's server remembers them.
pub fn to(target: &Pane, person: &Person, visits: Option<&str>) -> Result<Arrival> {
    let way = Way::find(target, person);
    if way == Way::Attach {
        if !terminal::can_show_tmux() {
            bail!(
                "the session is open in a pane, but there is no terminal to show it on\nTry: {}",
                printed(target, person)
            );
        }
        let batch = way.batch(&paths::tmux_program(), target, Zoom::Keep, visits);
        let error = tmux::become_client(&paths::tmux_program(), &target.socket, &batch);
        bail!("tmux could not be started: {error}");
    }
    // tmux 3.0 cannot keep a window zoomed, and switches without that.
    match way.run(target, Zoom::Keep, visits)? {
        Outcome::Done => Ok(Arrival::There),
        Outcome::Refused(said) if is_gone(&said) => Ok(Arrival::Gone),
        Outcome::Refused(_) => match way.run(target, Zoom::Lose, visits)? {
            Outcome::Done => Ok(Arrival::There),
            Outcome::Refused(said) if is_gone(&said) => Ok(Arrival::Gone),
            Outcome::Refused(said) => Err(anyhow!("tmux said: {}", one_line(&said, 200))),
        },
    }
}

/// The command for a shell that does the same as [`to`].
pub fn printed(target: &Pane, person: &Person) -> String {
    let way = Way::find(target, person);
    let words = way.batch(&paths::tmux_program(), target, Zoom::Keep, None).words();
    command_line(Path::new("tmux"), way.socket(target), &words)
}

fn is_gone(said: &str) -> bool {
    ["can't find pane", "can't find window", "can't find session", "no such pane"]
        .iter()
        .any(|words| said.contains(words))
}

fn command_line(program: &Path, socket: &Path, words: &[String]) -> String {
    let command = [program.as_os_str(), OsStr::new("-S"), socket.as_os_str()];
    let words = command.into_iter().chain(words.iter().map(OsStr::new));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// How the person gets to a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// The client that asked shows the pane.
    Switch { client: Client },
    /// The client that asked leaves its server for the pane's.
    ChangeServer { client: Client },
    /// Nobody looks at the server: whoever comes next finds the pane in front.
    Prepare,
    /// This terminal becomes a client.
    Attach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zoom {
    Keep,
    Lose,
}

enum Outcome {
    Done,
    Refused(String),
}

impl Way {
    fn find(target: &Pane, person: &Person) -> Self {
        match (&person.client, &person.inside) {
            (Some(client), _) if client.socket == target.socket => {
                Self::Switch { client: client.clone() }
            }
            (Some(client), _) => Self::ChangeServer { client: client.clone() },
            (None, Some(inside)) if inside.socket == target.socket => Self::Prepare,
            (None, _) => Self::Attach,
        }
    }

    /// The server that has to be told.
    fn socket<'a>(&'a self, target: &'a Pane) -> &'a PathBuf {
        match self {
            Self::ChangeServer { client } => &client.socket,
            Self::Switch { .. } | Self::Prepare | Self::Attach => &target.socket,
        }
    }

    fn batch(&self, program: &Path, target: &Pane, zoom: Zoom, visits: Option<&str>) -> Batch {
        let mut batch = Batch::default();
        let pane = target.id.to_string();
        match self {
            Self::Switch { client } => {
                let place = place_for(client, target);
                let zoom: &[&str] = if zoom == Zoom::Keep { &["-Z"] } else { &[] };
                batch.push_words(
                    &[&["switch-client"], zoom, &["-c", &client.name, "-t", &place]].concat(),
                );
            }
            Self::ChangeServer { client } => {
                let attach = change_server(program, target, client, visits);
                batch.push(["detach-client", "-t", &client.name, "-E", &attach]);
                return batch;
            }
            Self::Prepare => {
                batch.push(["select-window", "-t", &target.window]);
                batch.push(["select-pane", "-t", &pane]);
            }
            Self::Attach => batch.push(["attach-session", "-t", &pane]),
        }
        if let Some(visits) = visits {
            batch.push(["set-option", "-s", VISITS, visits]);
        }
        batch
    }

    fn run(&self, target: &Pane, zoom: Zoom, visits: Option<&str>) -> Result<Outcome> {
        let (program, socket) = (paths::tmux_program(), self.socket(target));
        let batch = self.batch(&program, target, zoom, visits);
        match tmux::run(&program, socket, &batch, Instant::now() + LIMIT) {
            Answer::Done(_) => Ok(Outcome::Done),
            Answer::Refused(said) => Ok(Outcome::Refused(said)),
            Answer::TimedOut => Err(anyhow!("tmux at {} did not answer within 3 s", shown(socket))),
            Answer::TooLong => Err(anyhow!("the request is too long for tmux")),
            Answer::NotStarted(error) => Err(anyhow!("tmux could not be started: {error}")),
        }
    }
}

/// A window that is also shown by the client's own tmux session is shown there: grouped sessions
/// share their windows, and the other one may belong to another screen.
fn place_for(client: &Client, target: &Pane) -> String {
    if target.links.contains(&client.session) {
        return format!("{}:{}.{}", client.session, target.window, target.id);
    }
    target.id.to_string()
}

/// What the terminal of a client runs instead of it. A client that has left cannot be told that
/// there is nothing to see, so it comes back when the pane is gone.
fn change_server(program: &Path, target: &Pane, client: &Client, visits: Option<&str>) -> String {
    let (pane, old) = (target.id.to_string(), client.pane.to_string());
    let line = |socket: &Path, batch: &Batch| command_line(program, socket, &batch.words());
    let (mut look, mut attach, mut back) = (Batch::default(), Batch::default(), Batch::default());
    look.push(["has-session", "-t", &pane]);
    attach.push(["attach-session", "-t", &pane]);
    if let Some(visits) = visits {
        attach.push(["set-option", "-s", VISITS, visits]);
    }
    back.push(["attach-session", "-t", &old]);
    format!(
        "{} && exec {}; exec {}",
        line(&target.socket, &look),
        line(&target.socket, &attach),
        line(&client.socket, &back)
    )
}

/// The client that shows the window the command was typed in, else one of its tmux session, else
/// any; of several the one that was used last.
fn asking<'a>(clients: impl Iterator<Item = &'a Client>, own: Option<&Pane>) -> Option<&'a Client> {
    let nearness = |client: &&Client| {
        let shows_window = own.is_some_and(|own| own.window == client.window);
        let is_of_session = own.is_some_and(|own| own.links.contains(&client.session));
        (shows_window, is_of_session, client.active)
    };
    clients.max_by_key(nearness)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Moment, PaneId};

    fn pane(id: u32, links: &[&str], window: &str) -> Pane {
        Pane {
            socket: "/tmp/s".into(),
            server_pid: 7,
            server_started: Moment::from_seconds(0),
            id: PaneId(id),
            process: Some(1),
            is_dead: false,
            session: "work".to_owned(),
            window: window.to_owned(),
            window_index: 1,
            index: 0,
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            put_off: None,
            kept: None,
        }
    }

    fn client(active: u64, window: &str, name: &str, session: &str) -> Client {
        Client {
            socket: "/tmp/s".into(),
            active,
            pane: PaneId(1),
            window: window.to_owned(),
            session: session.to_owned(),
            session_name: "work".to_owned(),
            name: name.to_owned(),
        }
    }

    #[track_caller]
    fn check(clients: &[Client], own: Option<&Pane>, expected: Option<&str>) {
        assert_eq!(asking(clients.iter(), own).map(|client| client.name.as_str()), expected);
    }

    #[test]
    fn the_client_that_asked_is_the_one_that_shows_the_pane() {
        let own = pane(1, &["$1"], "@3");
        let clients = [
            client(50, "@3", "/dev/pts/1", "$1"),
            client(90, "@4", "/dev/pts/2", "$1"),
            client(99, "@9", "/dev/pts/3", "$2"),
        ];
        check(&clients, Some(&own), Some("/dev/pts/1"));
        check(&clients[1..], Some(&own), Some("/dev/pts/2"));
        check(&clients[2..], Some(&own), Some("/dev/pts/3"));
        check(&clients, None, Some("/dev/pts/3"));
        check(&[], Some(&own), None);
    }

    #[test]
    fn of_two_clients_on_one_window_the_one_used_last_asked() {
        let own = pane(1, &["$1"], "@3");
        let clients = [client(50, "@3", "/dev/pts/1", "$1"), client(51, "@3", "/dev/pts/2", "$1")];
        check(&clients, Some(&own), Some("/dev/pts/2"));
    }

    #[track_caller]
    fn check_words(way: &Way, zoom: Zoom, visits: Option<&str>, expected: &[&str]) {
        let mut target = pane(5, &["$1", "$4"], "@3");
        target.socket = "/tmp/it's".into();
        assert_eq!(way.batch(Path::new("/usr/bin/tmux"), &target, zoom, visits).words(), expected);
    }

    #[test]
    fn every_way_is_one_request() {
        let switch = Way::Switch { client: client(1, "@9", "/dev/pts/1", "$9") };
        let start = ["switch-client", "-Z", "-c", "/dev/pts/1", "-t", "%5"];
        check_words(&switch, Zoom::Keep, None, &start);
        check_words(
            &switch,
            Zoom::Lose,
            Some("visits x"),
            &[
                "switch-client",
                "-c",
                "/dev/pts/1",
                "-t",
                "%5",
                ";",
                "set-option",
                "-s",
                VISITS,
                "visits x",
            ],
        );
        check_words(
            &Way::Prepare,
            Zoom::Keep,
            None,
            &["select-window", "-t", "@3", ";", "select-pane", "-t", "%5"],
        );
    }

    #[test]
    fn a_linked_window_is_shown_in_the_session_the_client_is_in() {
        let switch = Way::Switch { client: client(1, "@9", "/dev/pts/1", "$4") };
        let words = ["switch-client", "-Z", "-c", "/dev/pts/1", "-t", "$4:@3.%5"];
        check_words(&switch, Zoom::Keep, None, &words);
    }

    #[test]
    fn another_server_is_looked_at_before_the_client_leaves_its_own() {
        let change = Way::ChangeServer { client: client(1, "@9", "/dev/pts/1", "$9") };
        let there = r"/usr/bin/tmux -S '/tmp/it'\''s'";
        let run = format!(
            "{there} has-session -t %5 && exec {there} attach-session -t %5 ';' set-option -s {VISITS} \
             'visits x'; exec /usr/bin/tmux -S /tmp/s attach-session -t %1"
        );
        let expected = ["detach-client", "-t", "/dev/pts/1", "-E", &run];
        check_words(&change, Zoom::Keep, Some("visits x"), &expected);
    }
}
