//! What was decided is done: to the pane of a session, back into one that has ended, or on in a
//! copy.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::row::Row;
use super::update::Pause;
use crate::cli::{Pick, Resume};
use crate::queue::{Order, Queue, Standing};
use crate::resume::{self, Outlook};
use crate::roster::{self, Servers};
use crate::session::SessionId;
use crate::text::one_line;
use crate::tmux::{self, Answer, Batch, Pane, Server};
use crate::{paths, queue};

const LIMIT: Duration = Duration::from_secs(3);

/// The way to a session.
#[derive(Debug)]
pub(super) enum Way {
    /// Only its id is wanted.
    Print(SessionId),
    Visit(Box<Pane>),
    Resume {
        row: Box<Row>,
        fork: bool,
        outlook: Outlook,
    },
}

impl Way {
    /// The way to a session, as long as there is one: whoever cannot go stays in the picker and is
    /// told why.
    pub(super) fn to(row: &Row, options: &Pick) -> Result<Self> {
        if options.print {
            return Ok(Self::Print(row.key.id.clone()));
        }
        match row.listed.pane.as_ref().filter(|_| row.is_alive()) {
            Some(pane) => Ok(Self::Visit(Box::new(pane.clone()))),
            None if row.is_alive() => {
                bail!("it is open, but in no pane of tmux; f goes on in a copy")
            }
            None => Self::resume(row, false),
        }
    }

    pub(super) fn fork(row: &Row, options: &Pick) -> Result<Self> {
        if options.print {
            bail!("only a session is wanted here; Enter takes it");
        }
        Self::resume(row, true)
    }

    fn resume(row: &Row, fork: bool) -> Result<Self> {
        let outlook = resume::outlook(&name_of(row), fork)?;
        Ok(Self::Resume { row: Box::new(row.clone()), fork, outlook })
    }

    /// The session, where nothing but that is wanted.
    pub(super) fn id(self) -> Option<SessionId> {
        match self {
            Self::Print(id) => Some(id),
            Self::Visit(_) | Self::Resume { .. } => None,
        }
    }

    pub(super) fn go(self, options: &Pick) -> Result<()> {
        let client = options.client.as_deref();
        match self {
            Self::Print(id) => writeln!(io::stdout(), "{}", id.as_str()).map_err(Into::into),
            Self::Visit(pane) => queue::go::visit(&pane, client),
            Self::Resume { row, fork, outlook } => {
                let yes = outlook == Outlook::Goes;
                let popup =
                    paths::inside_tmux().filter(|inside| client.is_some() || inside.pane.is_none());
                let options = Resume { yes, fork, id: Some(name_of(&row)), ..Resume::default() };
                match popup {
                    // A popup is no place to work in.
                    Some(inside) => resume_in_window(&row, &options, &inside, client),
                    None => resume::run(&options),
                }
            }
        }
    }
}

fn resume_in_window(
    row: &Row,
    options: &Resume,
    inside: &tmux::Inside,
    client: Option<&str>,
) -> Result<()> {
    let server = Server {
        program: paths::tmux_program(),
        socket: inside.socket.clone(),
        pid: inside.pid,
        hidden_environment: false,
    };
    let session = session_of(&server, client)?;
    let program = std::env::current_exe().context("the path of cld itself is not known")?;
    let program = program.to_str().context("the path of cld is no text")?;
    let mut words = vec!["new-window", "-t", &session];
    let dir = row.listed.directory.as_deref().and_then(plain_for_tmux);
    words.extend(dir.iter().flat_map(|dir| ["-c", dir]));
    words.extend([program, "resume"]);
    words.extend(options.yes.then_some("-y"));
    words.extend(options.fork.then_some("--fork"));
    words.extend(options.id.as_deref());
    let mut batch = Batch::default();
    batch.push_words(&words);
    told(server.run(&batch, Instant::now() + LIMIT)).map(|_| ())
}

/// The tmux session a client looks at, by its number.
fn session_of(server: &Server, client: Option<&str>) -> Result<String> {
    let mut batch = Batch::default();
    match client {
        Some(client) => {
            batch.push_words(&["display-message", "-p", "-c", client, "#{session_id}:"]);
        }
        None => batch.push_words(&["display-message", "-p", "#{session_id}:"]),
    }
    Ok(told(server.run(&batch, Instant::now() + LIMIT))?.trim().to_owned())
}

/// tmux takes a directory as a format, in which `#` begins something.
fn plain_for_tmux(dir: &Path) -> Option<&str> {
    dir.to_str().filter(|text| dir.is_dir() && !text.contains('#'))
}

/// The id, or the transcript where the id alone may not be found from everywhere.
fn name_of(row: &Row) -> String {
    let is_default = row.listed.config_dir == paths::default_config_dir();
    let path = row.listed.transcript.as_deref().map(Path::as_os_str).and_then(OsStr::to_str);
    match path.filter(|_| !is_default) {
        Some(path) => path.to_owned(),
        None => row.key.id.as_str().to_owned(),
    }
}

/// Leaves the session out of the queue for a while, and says what became of that.
pub(super) fn put_off(row: &Row, pause: Pause) -> String {
    // What it waits for now may be something else than what was shown.
    let roster = roster::read(Servers::All);
    let queue = Queue::of(&roster.sessions, Order::Age, roster.read_at);
    let entry = row.listed.pane.as_ref().and_then(|pane| queue.in_pane(pane));
    let Some(entry) = entry.filter(|entry| entry.standing != Standing::Dead) else {
        return "it does not wait any more".to_owned();
    };
    let (until, done) = match pause {
        Pause::Minutes(minutes) => {
            (Some(roster.read_at.plus_seconds(minutes * 60)), format!("snoozed for {minutes}m"))
        }
        Pause::Skip => (None, "skipped until it waits for something new".to_owned()),
    };
    match queue::put_off(entry, until) {
        Ok(()) => format!("{done}: {}", row.title),
        Err(error) => format!("{error:#}"),
    }
}

pub(super) fn take_back(row: &Row) -> String {
    let Some(pane) = &row.listed.pane else { return "it is in no pane".to_owned() };
    match queue::take_back(pane) {
        Ok(()) => format!("back in the queue: {}", row.title),
        Err(error) => format!("{error:#}"),
    }
}

fn told(answer: Answer) -> Result<String> {
    match answer {
        Answer::Done(printed) => Ok(printed),
        Answer::Refused(said) => bail!("tmux said: {}", one_line(&said, 200)),
        Answer::TimedOut => bail!("tmux did not answer within 3 s"),
        Answer::TooLong => bail!("the request is too long for tmux"),
        Answer::NotStarted(error) => bail!("tmux could not be started: {error}"),
    }
}

/// Into the newest buffer of tmux, and by it into the clipboard; false where there is no tmux that
/// can do both.
pub(super) fn copy_to_tmux(text: &str) -> bool {
    let Some(inside) = paths::inside_tmux() else { return false };
    let server = Server {
        program: paths::tmux_program(),
        socket: inside.socket,
        pid: inside.pid,
        hidden_environment: false,
    };
    let run = |words: &[&str]| {
        let mut batch = Batch::default();
        batch.push_words(words);
        matches!(server.run(&batch, Instant::now() + LIMIT), Answer::Done(_))
    };
    let has_both = run(&["set-buffer", "-w", text]);
    if !has_both {
        // Before tmux 3.2 the clipboard is only reached through the terminal.
        run(&["set-buffer", text]);
    }
    has_both
}
