//! All panes of a server, with the options cld keeps in them, in one request.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::pane::{Kept, READ};
use crate::session::{Moment, PaneId};

use super::{Answer, Request};

/// A pane takes a few hundred bytes, a few kilobytes with long paths and contexts.
const LONGEST_LISTING: u64 = 16 * 1024 * 1024;

/// What is asked for beside the options. Text that users choose comes last.
const FIELDS: [&str; 10] = [
    "pane_id",
    "pane_pid",
    "pane_dead",
    "window_id",
    "window_index",
    "pane_index",
    "pid",
    "start_time",
    "version",
    "session_name",
];

/// The only control character that every version of tmux prints as it is.
const SEPARATOR: &str = "\t";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    pub socket: PathBuf,
    pub server_pid: u32,
    pub server_started: Moment,
    pub id: PaneId,
    /// The process the pane was started with, usually a shell.
    pub process: u32,
    /// The process has ended, and the pane only stays to show its last words.
    pub is_dead: bool,
    /// The name of the tmux session.
    pub session: String,
    /// With its sign, as in `@2`.
    pub window: String,
    pub window_index: u32,
    pub index: u32,
    pub kept: Option<Kept>,
}

impl Pane {
    /// As tmux itself takes it: `work:2.1`. The session's name is foreign text.
    pub fn address(&self) -> String {
        format!("{}:{}.{}", self.session, self.window_index, self.index)
    }
}

/// A server's list of panes.
#[derive(Debug, PartialEq, Eq)]
pub enum Listing {
    Panes(Vec<Pane>),
    /// There is no server behind the socket, or no tmux to ask it with.
    NoServer,
    /// There is one, and it did not answer in time.
    Silent,
}

/// A listing that tmux is working on, so that other things can be done meanwhile.
#[derive(Debug)]
pub struct Asked {
    request: Option<Request>,
    socket: PathBuf,
}

pub fn ask_for_panes(program: &Path, socket: &Path, deadline: Instant) -> Asked {
    let words = ["list-panes", "-a", "-F", &format()].map(str::to_owned);
    // Without the file there is no server, and no need to start tmux to be told so.
    let request = socket.exists().then(|| Request::start(program, socket, &words, deadline));
    Asked { request: request.and_then(Result::ok), socket: socket.to_owned() }
}

impl Asked {
    pub fn finish(self) -> Listing {
        let Some(mut request) = self.request else { return Listing::NoServer };
        request.longest_answer = LONGEST_LISTING;
        match request.finish() {
            Answer::Done(printed) => Listing::Panes(panes(&printed, &self.socket)),
            Answer::TimedOut => Listing::Silent,
            _ => Listing::NoServer,
        }
    }
}

/// `#{name}` inserts a value as it is: nothing in it is expanded again.
fn format() -> String {
    let fields = FIELDS.iter().chain(&READ).map(|name| format!("#{{{name}}}"));
    fields.collect::<Vec<_>>().join(SEPARATOR)
}

/// The panes of a listing, each once: a window linked into several sessions is printed for each.
fn panes(printed: &str, socket: &Path) -> Vec<Pane> {
    let mut seen = HashSet::new();
    let panes = printed.lines().filter_map(|line| pane(line, socket));
    panes.filter(|pane| seen.insert(pane.id)).collect()
}

/// A line that is not exactly what was asked for is no pane.
fn pane(line: &str, socket: &Path) -> Option<Pane> {
    let fields: Vec<&str> = line.split(SEPARATOR).collect();
    let (fields, options) = fields.split_at_checked(FIELDS.len())?;
    let fields: [&str; FIELDS.len()] = fields.try_into().ok()?;
    let options: [&str; READ.len()] = options.try_into().ok()?;
    let [id, process, dead, window, window_index, index, server_pid, started, version, session] =
        fields;
    let kept = if version == "3.4" {
        let plain = options.map(without_escaped_dollars);
        Kept::read(plain.each_ref().map(String::as_str))
    } else {
        Kept::read(options)
    };
    Some(Pane {
        socket: socket.to_owned(),
        server_pid: server_pid.parse().ok()?,
        server_started: Moment::from_seconds(started.parse().ok()?),
        id: PaneId::parse(id)?,
        process: process.parse().ok()?,
        is_dead: dead == "1",
        session: session.to_owned(),
        window: window.to_owned(),
        window_index: window_index.parse().ok()?,
        index: index.parse().ok()?,
        kept,
    })
}

/// tmux 3.4 prints `$NAME` as `\$NAME`.
fn without_escaped_dollars(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find("\\$") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let names = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '{';
        plain.push_str(before);
        plain.push_str(if after.starts_with(names) { "$" } else { "\\$" });
        rest = after;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "23e30f82-0000-4000-8000-000000000001";

    /// A line as tmux prints it, with the given directory.
    fn line(pane: &str, session: &str, version: &str, directory: &str) -> String {
        let mut fields =
            vec![pane, "10", "0", "@3", "2", "1", "99", "1794964287", version, session];
        let options = READ.map(|name| match name {
            crate::pane::SESSION_ID => ID,
            crate::pane::SESSION_DIR => directory,
            _ => "",
        });
        fields.extend(options);
        fields.join("\t")
    }

    fn read(printed: &str) -> Vec<Pane> {
        panes(printed, Path::new("/s"))
    }

    #[test]
    fn a_pane_is_read_with_its_place_and_its_session() {
        let found = read(&line("%5", "my work", "3.3a", "/home/u/é $x"));
        let [pane] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(pane.id, PaneId(5));
        assert_eq!(pane.address(), "my work:2.1");
        assert_eq!((pane.window.as_str(), pane.server_pid), ("@3", 99));
        let kept = pane.kept.as_ref().unwrap();
        assert_eq!(kept.session.as_str(), ID);
        assert_eq!(kept.directory.as_deref(), Some(Path::new("/home/u/é $x")));
    }

    #[test]
    fn a_pane_in_a_linked_window_is_one_pane() {
        let printed =
            [line("%5", "a", "3.3a", ""), line("%5", "b", "3.3a", ""), line("%6", "b", "3.3a", "")];
        let found = read(&printed.join("\n"));
        let found: Vec<(u32, &str)> = found.iter().map(|p| (p.id.0, p.session.as_str())).collect();
        assert_eq!(found, [(5, "a"), (6, "b")]);
    }

    #[test]
    fn lines_that_were_not_asked_for_are_passed_over() {
        let good = line("%5", "a", "3.3a", "");
        let bad = [
            String::new(),
            "no server running on /s".to_owned(),
            line("5", "a", "3.3a", ""),
            line("%5", "a\tb", "3.3a", ""),
            line("%5", "a", "3.3a", "/torn\nline"),
            good.trim_end_matches('\t').to_owned(),
        ];
        assert_eq!(read(&bad.join("\n")), []);
        assert_eq!(read(&good).len(), 1);
    }

    #[test]
    fn escaped_dollars_are_taken_back_where_tmux_writes_them() {
        let directory = |version| {
            let found = read(&line("%5", "a", version, "/a/\\$HOME/\\${x}/\\$5/$y\\"));
            found[0].kept.as_ref().unwrap().directory.clone().unwrap()
        };
        assert_eq!(directory("3.4"), Path::new("/a/$HOME/${x}/\\$5/$y\\"));
        assert_eq!(directory("3.5a"), Path::new("/a/\\$HOME/\\${x}/\\$5/$y\\"));
    }
}
