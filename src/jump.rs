//! To the pane of a session that is open: the tmux command that brings the person there.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::shell::quoted;
use crate::text::{one_line, shown};
use crate::tmux::{self, Answer, Batch, Pane, Server};
use crate::{paths, terminal};

const LIMIT: Duration = Duration::from_secs(3);

const CLIENT_FORMAT: &str =
    "#{client_activity}\t#{window_id}\t#{client_name}\t#{client_control_mode}\t#{session_name}";

/// Brings the person to `target`. `panes` are those of the server this process runs in.
pub fn to(target: &Pane, panes: &[Pane]) -> Result<()> {
    let way = Way::find(target, panes);
    if way == Way::Attach {
        if !terminal::can_show_tmux() {
            bail!(
                "the session is open in a pane, but there is no terminal to show it on\nTry: {}",
                printed(target, panes)
            );
        }
        let error = tmux::attach(&paths::tmux_program(), &target.socket, target.id);
        bail!("tmux could not be started: {error}");
    }
    let server = way.server(target);
    // tmux 3.0 cannot keep a window zoomed, and switches without that.
    way.run(&server, target, Zoom::Keep).or_else(|_| way.run(&server, target, Zoom::Lose))
}

/// The command for a shell that does the same as [`to`].
pub fn printed(target: &Pane, panes: &[Pane]) -> String {
    let way = Way::find(target, panes);
    let server = way.server(target);
    let words = way.batch(&server.program, target, Zoom::Keep).words();
    let command = [OsStr::new("tmux"), OsStr::new("-S"), server.socket.as_os_str()];
    let words = command.into_iter().chain(words.iter().map(OsStr::new));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// How the person gets to a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// The client that asked shows the pane.
    Switch { client: String },
    /// The client that asked leaves its server for the pane's.
    ChangeServer { client: String, from: tmux::Inside },
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

impl Way {
    fn find(target: &Pane, panes: &[Pane]) -> Self {
        let Some(inside) = paths::inside_tmux() else { return Self::Attach };
        let own = panes.iter().find(|pane| Some(pane.id) == inside.pane);
        let own = own.filter(|pane| pane.socket == inside.socket);
        match (asking(clients(&inside), own), inside.socket == target.socket) {
            (Some(client), true) => Self::Switch { client },
            (Some(client), false) => Self::ChangeServer { client, from: inside },
            (None, true) => Self::Prepare,
            (None, false) => Self::Attach,
        }
    }

    /// The server that has to be told.
    fn server(&self, target: &Pane) -> Server {
        let (socket, pid) = match self {
            Self::ChangeServer { from, .. } => (from.socket.clone(), from.pid),
            Self::Switch { .. } | Self::Prepare | Self::Attach => {
                (target.socket.clone(), target.server_pid)
            }
        };
        Server { program: paths::tmux_program(), socket, pid, hidden_environment: false }
    }

    fn batch(&self, program: &Path, target: &Pane, zoom: Zoom) -> Batch {
        let mut batch = Batch::default();
        let pane = target.id.to_string();
        match self {
            Self::Switch { client } if zoom == Zoom::Keep => {
                batch.push(["switch-client", "-Z", "-c", client, "-t", &pane]);
            }
            Self::Switch { client } => batch.push(["switch-client", "-c", client, "-t", &pane]),
            Self::ChangeServer { client, .. } => {
                let (program, socket) =
                    (quoted(program.as_os_str()), quoted(target.socket.as_os_str()));
                let attach = format!("exec {program} -S {socket} attach-session -t {pane}");
                batch.push(["detach-client", "-t", client, "-E", &attach]);
            }
            Self::Prepare => {
                batch.push(["select-window", "-t", &target.window]);
                batch.push(["select-pane", "-t", &pane]);
            }
            Self::Attach => batch.push(["attach-session", "-t", &pane]),
        }
        batch
    }

    fn run(&self, server: &Server, target: &Pane, zoom: Zoom) -> Result<()> {
        let batch = self.batch(&server.program, target, zoom);
        match server.run(&batch, Instant::now() + LIMIT) {
            Answer::Done(_) => Ok(()),
            Answer::Refused(said) => Err(anyhow!("tmux said: {}", one_line(&said, 200))),
            Answer::TimedOut => {
                Err(anyhow!("tmux at {} did not answer within 3 s", shown(&server.socket)))
            }
            Answer::TooLong => Err(anyhow!("the request is too long for tmux")),
            Answer::NotStarted(error) => Err(anyhow!("tmux could not be started: {error}")),
        }
    }
}

/// A terminal that looks at a tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Client {
    /// Unix time in seconds.
    active: u64,
    window: String,
    name: String,
    session: String,
}

fn clients(inside: &tmux::Inside) -> Vec<Client> {
    let server = Server {
        program: paths::tmux_program(),
        socket: inside.socket.clone(),
        pid: inside.pid,
        hidden_environment: false,
    };
    let mut batch = Batch::default();
    batch.push(["list-clients", "-F", CLIENT_FORMAT]);
    match server.run(&batch, Instant::now() + LIMIT) {
        Answer::Done(printed) => printed.lines().filter_map(client).collect(),
        _ => Vec::new(),
    }
}

/// Programs that drive tmux in control mode are nobody to be brought anywhere.
fn client(line: &str) -> Option<Client> {
    let mut fields = line.splitn(5, '\t');
    let (active, window, name) = (fields.next()?, fields.next()?, fields.next()?);
    let is_program = fields.next()? == "1";
    let session = fields.next()?;
    (!is_program && !name.is_empty()).then(|| Client {
        active: active.parse().unwrap_or(0),
        window: window.to_owned(),
        name: name.to_owned(),
        session: session.to_owned(),
    })
}

/// The client that shows the window the command was typed in, else one of its tmux session, else
/// any; of several the one that was used last.
fn asking(clients: Vec<Client>, own: Option<&Pane>) -> Option<String> {
    let nearness = |client: &Client| {
        let shows_window = own.is_some_and(|own| own.window == client.window);
        let is_of_session = own.is_some_and(|own| own.session == client.session);
        (shows_window, is_of_session, client.active)
    };
    clients.into_iter().max_by_key(nearness).map(|client| client.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Moment, PaneId};

    fn pane(id: u32, session: &str, window: &str) -> Pane {
        Pane {
            socket: "/tmp/s".into(),
            server_pid: 7,
            server_started: Moment::from_seconds(0),
            id: PaneId(id),
            process: 1,
            is_dead: false,
            session: session.to_owned(),
            window: window.to_owned(),
            window_index: 1,
            index: 0,
            kept: None,
        }
    }

    #[track_caller]
    fn check(lines: &[&str], own: Option<&Pane>, expected: Option<&str>) {
        let clients = lines.iter().filter_map(|line| client(line)).collect();
        assert_eq!(asking(clients, own).as_deref(), expected);
    }

    #[test]
    fn the_client_that_asked_is_the_one_that_shows_the_pane() {
        let own = pane(1, "work", "@3");
        let lines = [
            "50\t@3\t/dev/pts/1\t0\twork",
            "90\t@4\t/dev/pts/2\t0\twork",
            "99\t@9\t/dev/pts/3\t0\tplay",
        ];
        check(&lines, Some(&own), Some("/dev/pts/1"));
        check(&lines[1..], Some(&own), Some("/dev/pts/2"));
        check(&lines[2..], Some(&own), Some("/dev/pts/3"));
        check(&lines, None, Some("/dev/pts/3"));
        check(&[], Some(&own), None);
    }

    #[test]
    fn of_two_clients_on_one_window_the_one_used_last_asked() {
        let own = pane(1, "work", "@3");
        let lines = ["50\t@3\t/dev/pts/1\t0\twork", "51\t@3\t/dev/pts/2\t0\twork"];
        check(&lines, Some(&own), Some("/dev/pts/2"));
    }

    #[test]
    fn programs_and_nonsense_are_no_clients() {
        check(&["99\t@3\tclient-1\t1\twork", "", "x\ty", "5\t@1\t\t0\ts"], None, None);
        check(&["\t@3\t/dev/pts/1\t\ta\tb"], None, Some("/dev/pts/1"));
    }

    #[track_caller]
    fn check_words(way: &Way, zoom: Zoom, expected: &[&str]) {
        let mut target = pane(5, "work", "@3");
        target.socket = "/tmp/it's".into();
        assert_eq!(way.batch(Path::new("/usr/bin/tmux"), &target, zoom).words(), expected);
    }

    #[test]
    fn every_way_is_one_request() {
        let client = || "/dev/pts/1".to_owned();
        let switch = Way::Switch { client: client() };
        check_words(&switch, Zoom::Keep, &["switch-client", "-Z", "-c", "/dev/pts/1", "-t", "%5"]);
        check_words(&switch, Zoom::Lose, &["switch-client", "-c", "/dev/pts/1", "-t", "%5"]);
        let from = tmux::Inside { socket: "/tmp/own".into(), pid: 1, pane: None };
        let attach = r"exec /usr/bin/tmux -S '/tmp/it'\''s' attach-session -t %5";
        check_words(
            &Way::ChangeServer { client: client(), from },
            Zoom::Keep,
            &["detach-client", "-t", "/dev/pts/1", "-E", attach],
        );
        check_words(
            &Way::Prepare,
            Zoom::Keep,
            &["select-window", "-t", "@3", ";", "select-pane", "-t", "%5"],
        );
    }
}
