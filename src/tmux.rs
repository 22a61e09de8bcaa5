//! The only door to tmux: which server, what is sent, and how long it may take.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::mem;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::process;
use crate::session::PaneId;

mod list;
mod look;
mod servers;

pub use list::{Asked, Client, Contents, Listing, Pane, ask_for_panes};
pub use look::{Look, Viewer, look};
pub use servers::{list_each, sockets_in};

/// tmux sends a whole request as one message of at most 16 kB.
const LONGEST_REQUEST: usize = 16_000;

/// Output beyond this is not read: cld's own requests answer with a few short lines.
const LONGEST_ANSWER: u64 = 64 * 1024;

/// A tmux server, and the pane of it that a process was started in.
#[derive(Debug, Clone)]
pub struct Place {
    pub server: Server,
    pub pane: PaneId,
}

#[derive(Debug, Clone)]
pub struct Server {
    pub program: PathBuf,
    pub socket: PathBuf,
    /// Guards against another server that took over the socket, where pane numbers begin anew.
    pub pid: u32,
    /// Since 3.2 a value can be kept in the server's hidden environment, which, unlike an option,
    /// does not make tmux redraw every client.
    pub hidden_environment: bool,
}

impl Place {
    /// Reads `$TMUX` (`socket,pid,session`) and `$TMUX_PANE`. The socket may contain commas.
    pub fn parse(tmux: &OsStr, pane: &OsStr) -> Option<Self> {
        let mut fields = tmux.as_bytes().rsplitn(3, |byte| *byte == b',');
        let _session = fields.next()?;
        let pid = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let socket = fields.next().filter(|socket| !socket.is_empty())?;
        Some(Self {
            server: Server {
                program: PathBuf::from("tmux"),
                socket: PathBuf::from(OsString::from_vec(socket.to_vec())),
                pid,
                hidden_environment: false,
            },
            pane: PaneId::parse(pane.to_str()?)?,
        })
    }
}

/// The server a process was started in. Popups belong to no pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    pub socket: PathBuf,
    pub pid: u32,
    pub pane: Option<PaneId>,
}

/// Runs a batch that makes the terminal of this process a client; comes back only with the reason
/// why it cannot.
#[expect(clippy::disallowed_methods, reason = "this module is the door to tmux")]
pub fn become_client(program: &Path, socket: &Path, batch: &Batch) -> io::Error {
    let mut command = Command::new(program);
    // Inside of one tmux, another one refuses to be shown unless it is told that this is meant.
    command.env_remove("TMUX").arg("-S").arg(socket).args(batch.words());
    end_clients();
    command.exec()
}

/// Several tmux commands that run inside the server as one, without anything in between.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Batch {
    commands: Vec<Vec<String>>,
    ends: Vec<&'static str>,
}

impl Batch {
    /// A single command.
    pub fn of(command: &[&str]) -> Self {
        let mut batch = Self::default();
        batch.push_words(command);
        batch
    }

    pub fn push<const N: usize>(&mut self, command: [&str; N]) {
        self.push_words(&command);
    }

    pub fn push_words(&mut self, command: &[&str]) {
        self.commands.push(command.iter().map(|word| (*word).to_owned()).collect());
    }

    /// As the last command: says that all before have run, so that nobody has to wait until the
    /// tmux client has ended, too.
    pub fn tell_end(&mut self, target: &str) {
        self.push(["display-message", "-p", "-t", target, END]);
        self.ends.push(END);
    }

    /// Ends the batch here when the format comes true: with an error of tmux that names `how`, which
    /// is no command.
    pub fn end_if(&mut self, target: &str, format: &str, how: &'static str) {
        self.push(["if", "-F", "-t", target, format, how]);
        self.ends.push(how);
    }

    /// The words as tmux has to get them: commands joined by a lone `;`, and a `;` at the end of
    /// any other word escaped, the only character tmux would interpret in an argument.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (position, command) in self.commands.iter().enumerate() {
            if position > 0 {
                words.push(";".to_owned());
            }
            words.extend(command.iter().map(|word| escaped(word)));
        }
        words
    }
}

/// What became of a batch.
#[derive(Debug)]
pub enum Answer {
    /// All commands ran; what they printed.
    Done(String),
    /// tmux ended with an error, for instance at a guard; what was printed up to there.
    Refused(String),
    TimedOut,
    TooLong,
    NotStarted(io::Error),
}

/// What a batch says when all of it has run.
const END: &str = "cld-end";

/// Clients of which nothing more is wanted. They end by themselves, and are collected when the next
/// one is started, or by the system when cld ends.
static ENDING: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Ends the clients that were left alone, before another program takes this process over: it would
/// have children that it knows nothing of. They have said everything.
pub fn end_clients() {
    for mut child in ENDING.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn collect_ended() {
    let mut ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    ending.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
}

/// How a request ended, whatever was printed.
enum Ended {
    Done,
    /// All was said that is wanted, and the client left to end by itself.
    Told,
    Refused,
    TimedOut,
}

/// A batch that tmux is working on.
#[derive(Debug)]
pub struct Request {
    child: Child,
    output: UnixStream,
    deadline: Instant,
    longest_answer: u64,
    /// The words after which tmux says nothing more.
    ends: Vec<&'static str>,
    /// Whether the client may be left to end by itself when it has said everything.
    may_be_left: bool,
}

impl Server {
    pub fn run(&self, batch: &Batch, deadline: Instant) -> Answer {
        run(&self.program, &self.socket, batch, deadline)
    }

    /// Does something else while tmux works.
    pub fn run_while(&self, batch: &Batch, deadline: Instant, meanwhile: impl FnOnce()) -> Answer {
        match Request::start(&self.program, &self.socket, batch, &[], deadline) {
            Ok(request) => {
                meanwhile();
                request.finish()
            }
            Err(answer) => answer,
        }
    }
}

pub fn run(program: &Path, socket: &Path, batch: &Batch, deadline: Instant) -> Answer {
    run_with_input(program, socket, batch, &[], deadline)
}

/// Runs a batch in which a command reads standard input.
pub fn run_with_input(
    program: &Path,
    socket: &Path,
    batch: &Batch,
    input: &[u8],
    deadline: Instant,
) -> Answer {
    match Request::start(program, socket, batch, input, deadline) {
        Ok(request) => request.finish(),
        Err(answer) => answer,
    }
}

impl Request {
    /// Or what became of it already.
    fn start(
        program: &Path,
        socket: &Path,
        batch: &Batch,
        input: &[u8],
        deadline: Instant,
    ) -> Result<Self, Answer> {
        let words = batch.words();
        if words.iter().map(|word| word.len() + 1).sum::<usize>() > LONGEST_REQUEST {
            return Err(Answer::TooLong);
        }
        let mut request =
            Self::spawn(program, socket, &words, input, deadline).map_err(Answer::NotStarted)?;
        request.ends.clone_from(&batch.ends);
        Ok(request)
    }

    #[expect(clippy::disallowed_methods, reason = "this module is the door to tmux")]
    fn spawn(
        program: &Path,
        socket: &Path,
        words: &[String],
        input: &[u8],
        deadline: Instant,
    ) -> io::Result<Self> {
        // A socket pair instead of pipes: its end tells that tmux is gone, and unlike a pipe it
        // can be read with a time limit. Standard output and error share it.
        collect_ended();
        let (output, childs) = UnixStream::pair()?;
        let childs = OwnedFd::from(childs);
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = Command::new(program)
            .args(["-u", "-S"])
            .arg(socket)
            .args(words)
            // tmux copies its environment to the server, one message per variable. Without these
            // it would look up the user and the time zone, which nothing here needs.
            .env_clear()
            .envs([("HOME", "/"), ("SHELL", "/bin/sh"), ("TZ", "UTC0")])
            .stdin(stdin)
            .stdout(childs.try_clone()?)
            .stderr(childs)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let input = input.to_vec();
            // A client that ends early, at a guard for instance, has no use for the rest.
            thread::Builder::new().spawn(move || stdin.write_all(&input))?;
        }
        Ok(Self {
            child,
            output,
            deadline,
            longest_answer: LONGEST_ANSWER,
            ends: Vec::new(),
            // Looked up here, while tmux is at work.
            may_be_left: process::orphans_are_collected(),
        })
    }

    fn finish(mut self) -> Answer {
        let ends = mem::take(&mut self.ends);
        let mut printed = Vec::new();
        let ended = self.read(|piece| {
            printed.extend_from_slice(piece);
            match ends.iter().any(|end| is_last_word(end, &printed)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let is_whole = is_last_word(END, &printed);
        if is_whole {
            printed.truncate(printed.len() - END.len() - 1);
        }
        let printed = String::from_utf8_lossy(&printed).into_owned();
        match ended {
            Ended::TimedOut => Answer::TimedOut,
            Ended::Done => Answer::Done(printed),
            Ended::Told if is_whole => Answer::Done(printed),
            Ended::Told | Ended::Refused => Answer::Refused(printed),
        }
    }

    /// Hands on what tmux prints as it comes, so that work on it goes on while tmux does, until tmux
    /// ends or all was said that is wanted.
    fn read(mut self, take: impl FnMut(&[u8]) -> ControlFlow<()>) -> Ended {
        match self.read_until_closed(take) {
            Ok(ControlFlow::Break(())) => {
                let mut ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
                ending.push(self.child);
                return Ended::Told;
            }
            Ok(ControlFlow::Continue(())) => {}
            Err(_) => {
                // A stopped server never answers. The client is ours to end; the server is not.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return Ended::TimedOut;
            }
        }
        match self.child.wait() {
            Ok(status) if status.success() => Ended::Done,
            _ => Ended::Refused,
        }
    }

    fn read_until_closed(
        &mut self,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let mut piece = [0; 4 * 1024];
        let mut taken = 0;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            self.output.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.output.read(&mut piece) {
                Ok(0) => return Ok(ControlFlow::Continue(())),
                Ok(length) if taken <= self.longest_answer => {
                    taken += length as u64;
                    if take(&piece[..length]).is_break() && self.may_be_left {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(_) => return Err(io::ErrorKind::FileTooLarge.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether the last line has come whole and ends with this word.
fn is_last_word(word: &str, printed: &[u8]) -> bool {
    let said = printed.strip_suffix(b"\n").and_then(|rest| rest.strip_suffix(word.as_bytes()));
    said.is_some_and(|before| before.last().is_none_or(u8::is_ascii_whitespace))
}

/// From `3.3a` or `next-3.8`; nothing for names such as `openbsd-7.6`, which has its own count.
pub fn version_number(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix("next-").unwrap_or(name).split_once('.')?;
    let digits = minor.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, digits.parse().ok()?))
}

fn escaped(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(start) => format!("{start}\\;"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(tmux: &str, pane: &str) -> Option<(PathBuf, u32, u32)> {
        let place = Place::parse(OsStr::new(tmux), OsStr::new(pane))?;
        Some((place.server.socket, place.server.pid, place.pane.0))
    }

    #[test]
    fn the_place_is_read_from_the_right_because_sockets_may_hold_commas() {
        assert_eq!(place("/tmp/a,b/s,3320,0", "%5"), Some((PathBuf::from("/tmp/a,b/s"), 3320, 5)));
        for (tmux, pane) in [
            ("", "%5"),
            ("/s", "%5"),
            ("/s,1", "%5"),
            (",1,0", "%5"),
            ("/s,x,0", "%5"),
            ("/s,1,0", "5"),
        ] {
            assert_eq!(place(tmux, pane), None, "{tmux:?} {pane:?}");
        }
    }

    #[test]
    fn a_batch_is_over_when_one_of_its_ends_is_the_last_word() {
        for (word, printed, over) in [
            (END, "cld-end\n", true),
            (END, "|main.a.p@1\ncld-end\n", true),
            (END, "cld-end", false),
            (END, "", false),
            (END, "not-cld-end\n", false),
            (END, "cld-end\nmore\n", false),
            ("cld-hidden", "unknown command: cld-hidden\n", true),
            ("cld-hidden", "unknown command: cld-hid", false),
        ] {
            assert_eq!(is_last_word(word, printed.as_bytes()), over, "{word} in {printed:?}");
        }
    }

    #[test]
    fn only_a_semicolon_at_the_end_of_a_word_is_escaped() {
        let mut batch = Batch::default();
        batch.push(["set", "-p", "@x", "a;b;"]);
        batch.push(["set", "-p", "@y", ";"]);
        batch.push(["set", "-p", "@z", "a\\;"]);
        assert_eq!(
            batch.words(),
            [
                "set", "-p", "@x", "a;b\\;", ";", "set", "-p", "@y", "\\;", ";", "set", "-p", "@z",
                "a\\\\;"
            ]
        );
    }
}
