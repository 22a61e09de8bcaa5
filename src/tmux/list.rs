//! What a server shows, in one request: its panes, with the options cld keeps in them, and who
//! looks at them.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::pane::{Kept, PUT_OFF, PutOff, READ, VISITS, VISITS_MARK};
use crate::session::{Moment, PaneId};

use super::{Batch, Ended, Request};

/// A pane takes a few hundred bytes, a few kilobytes with long paths and contexts.
const LONGEST_LISTING: u64 = 16 * 1024 * 1024;

/// What is asked for beside the options. Text that users choose comes last.
const FIELDS: [&str; 12] = [
    "pane_id",
    "pane_pid",
    "pane_dead",
    "window_id",
    "window_index",
    "pane_index",
    "pid",
    "start_time",
    "version",
    "session_id",
    PUT_OFF,
    "session_name",
];

/// What is asked for of each client, after a word that no line of a pane begins with.
const CLIENT: &str = "client";
const CLIENT_FIELDS: [&str; 7] = [
    "client_activity",
    "client_control_mode",
    "pane_id",
    "window_id",
    "session_id",
    "client_name",
    "session_name",
];

/// An option that every server has. Asked for at the end, it tells that all was said, while the
/// tmux client still takes its leave from the server.
const END: &str = "buffer-limit";

/// The only control character that every version of tmux prints as it is.
pub(super) const SEPARATOR: char = '\t';

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    pub socket: PathBuf,
    pub server_pid: u32,
    pub server_started: Moment,
    pub id: PaneId,
    /// The process the pane was started with, usually a shell. tmux 3.8 does not name one that has
    /// ended.
    pub process: Option<u32>,
    /// The process has ended, and the pane only stays to show its last words.
    pub is_dead: bool,
    /// The name of the tmux session.
    pub session: String,
    /// With its sign, as in `@2`.
    pub window: String,
    pub window_index: u32,
    pub index: u32,
    /// The tmux sessions that show the window, as in `$3`: usually one.
    pub links: Vec<String>,
    /// What the person did with the wait instead of answering it.
    pub put_off: Option<PutOff>,
    pub kept: Option<Kept>,
}

impl Pane {
    /// As tmux itself takes it: `work:2.1`. The session's name is foreign text.
    pub fn address(&self) -> String {
        format!("{}:{}.{}", self.session, self.window_index, self.index)
    }
}

/// A terminal that looks at a tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub socket: PathBuf,
    /// Unix time in seconds.
    pub active: u64,
    /// The pane its keys go to.
    pub pane: PaneId,
    /// With its sign, as in `@2`.
    pub window: String,
    /// As in `$3`, and by name.
    pub session: String,
    pub session_name: String,
    pub name: String,
}

/// All that was asked for of one server.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub panes: Vec<Pane>,
    pub clients: Vec<Client>,
    /// The value of the server's option [`VISITS`].
    pub visits: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Listing {
    Found(Contents),
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
    let mut batch = Batch::default();
    batch.push(["list-clients", "-F", &format(&[CLIENT], &CLIENT_FIELDS)]);
    batch.push(["show-options", "-sqv", VISITS]);
    let fields: Vec<&str> = FIELDS.iter().chain(&READ).copied().collect();
    batch.push(["list-panes", "-a", "-F", &format(&[], &fields)]);
    batch.push(["show-options", "-s", END]);
    let words = batch.words();
    // Without the file there is no server, and no need to start tmux to be told so.
    let request = socket.exists().then(|| Request::spawn(program, socket, &words, &[], deadline));
    Asked { request: request.and_then(Result::ok), socket: socket.to_owned() }
}

impl Asked {
    /// Gives it another deadline.
    pub fn until(mut self, deadline: Instant) -> Self {
        if let Some(request) = &mut self.request {
            request.deadline = deadline;
        }
        self
    }

    pub fn finish(self) -> Listing {
        let Some(mut request) = self.request else { return Listing::NoServer };
        request.longest_answer = LONGEST_LISTING;
        let mut reading = Reading::new(&self.socket);
        match request.read(|piece| reading.take(piece)) {
            Ended::Done | Ended::Told => Listing::Found(reading.contents),
            Ended::TimedOut => Listing::Silent,
            Ended::Refused => Listing::NoServer,
        }
    }
}

/// `#{name}` inserts a value as it is: nothing in it is expanded again.
fn format(words: &[&str], fields: &[&str]) -> String {
    let words = words.iter().map(|word| (*word).to_owned());
    let fields = fields.iter().map(|name| format!("#{{{name}}}"));
    words.chain(fields).collect::<Vec<_>>().join(&SEPARATOR.to_string())
}

/// What has been read of a listing.
struct Reading<'a> {
    socket: &'a Path,
    /// The beginning of a line that has not come whole yet.
    rest: Vec<u8>,
    places: HashMap<PaneId, usize>,
    contents: Contents,
}

impl<'a> Reading<'a> {
    fn new(socket: &'a Path) -> Self {
        let contents = Contents::default();
        Self { socket, rest: Vec::new(), places: HashMap::new(), contents }
    }

    fn take(&mut self, piece: &[u8]) -> ControlFlow<()> {
        let Some(end) = piece.iter().rposition(|byte| *byte == b'\n') else {
            self.rest.extend_from_slice(piece);
            return ControlFlow::Continue(());
        };
        let (whole, begun) = piece.split_at(end + 1);
        self.rest.extend_from_slice(whole);
        let lines = std::mem::replace(&mut self.rest, begun.to_vec());
        for line in String::from_utf8_lossy(&lines).lines() {
            if line.strip_prefix(END).is_some_and(|value| value.starts_with(' ')) {
                return ControlFlow::Break(());
            }
            self.take_line(line);
        }
        ControlFlow::Continue(())
    }

    /// A window linked into several sessions is printed for each; its panes are still only there
    /// once.
    fn take_line(&mut self, line: &str) {
        let Self { socket, places, contents, .. } = self;
        if let Some(found) = pane(line, socket) {
            match places.get(&found.id) {
                Some(at) => contents.panes[*at].links.extend(found.links),
                None => {
                    places.insert(found.id, contents.panes.len());
                    contents.panes.push(found);
                }
            }
        } else if line.starts_with(VISITS_MARK) {
            line.clone_into(&mut contents.visits);
        } else {
            contents.clients.extend(client(line, socket));
        }
    }
}

/// Programs that drive tmux in control mode are nobody to be brought anywhere.
fn client(line: &str, socket: &Path) -> Option<Client> {
    let fields: Vec<&str> = line.split(SEPARATOR).collect();
    let (&first, fields) = fields.split_first()?;
    let fields: [&str; CLIENT_FIELDS.len()] = fields.try_into().ok()?;
    let [active, is_program, pane, window, session, name, session_name] = fields;
    let is_person = first == CLIENT && is_program != "1" && !name.is_empty();
    let pane = PaneId::parse(pane).filter(|_| is_person)?;
    Some(Client {
        socket: socket.to_owned(),
        active: active.parse().unwrap_or(0),
        pane,
        window: window.to_owned(),
        session: session.to_owned(),
        session_name: session_name.to_owned(),
        name: name.to_owned(),
    })
}

/// A line that is not exactly what was asked for is no pane.
fn pane(line: &str, socket: &Path) -> Option<Pane> {
    let mut values = line.split(SEPARATOR);
    let mut next = || values.next();
    let fields = taken::<{ FIELDS.len() }>(&mut next)?;
    let options = taken::<{ READ.len() }>(&mut next)?;
    if next().is_some() {
        return None;
    }
    let [id, process, dead, window, window_index, index, server_pid, started, version, rest @ ..] =
        fields;
    let [session_id, put_off, session] = rest;
    Some(Pane {
        socket: socket.to_owned(),
        server_pid: server_pid.parse().ok()?,
        server_started: Moment::from_seconds(started.parse().ok()?),
        id: PaneId::parse(id)?,
        process: process.parse().ok(),
        is_dead: dead == "1",
        session: session.to_owned(),
        window: window.to_owned(),
        window_index: window_index.parse().ok()?,
        index: index.parse().ok()?,
        links: vec![session_id.to_owned()],
        put_off: PutOff::parse(put_off),
        kept: kept(options, version),
    })
}

/// The next values, if there are that many.
fn taken<'a, const N: usize>(next: &mut impl FnMut() -> Option<&'a str>) -> Option<[&'a str; N]> {
    let mut values = [""; N];
    for value in &mut values {
        *value = next()?;
    }
    Some(values)
}

/// The values of [`READ`] as one version of tmux prints them.
pub(super) fn kept(options: [&str; READ.len()], version: &str) -> Option<Kept> {
    if version != "3.4" {
        return Kept::read(options);
    }
    let plain = options.map(without_escaped_dollars);
    Kept::read(plain.each_ref().map(String::as_str))
}

/// tmux 3.4 prints `$NAME` as `\$NAME`.
pub(super) fn without_escaped_dollars(value: &str) -> String {
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
    use crate::process;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    const ID: &str = "23e30f82-0000-4000-8000-000000000001";

    /// A line as tmux prints it, with the given directory.
    fn line(pane: &str, session: &str, version: &str, directory: &str) -> String {
        let mut fields =
            vec![pane, "10", "0", "@3", "2", "1", "99", "1794964287", version, "$1", "", session];
        let options = READ.map(|name| match name {
            crate::pane::SESSION_ID => ID,
            crate::pane::SESSION_DIR => directory,
            _ => "",
        });
        fields.extend(options);
        fields.join("\t")
    }

    /// What is in a listing, in whatever pieces it comes.
    fn contents(printed: &str) -> Contents {
        let printed = format!("{printed}\n");
        let in_pieces = |length: usize| {
            let mut reading = Reading::new(Path::new("/s"));
            let _ = printed.as_bytes().chunks(length).try_for_each(|piece| reading.take(piece));
            reading.contents
        };
        let contents = in_pieces(printed.len());
        for length in [1, 7, 100] {
            assert_eq!(in_pieces(length), contents);
        }
        contents
    }

    fn read(printed: &str) -> Vec<Pane> {
        contents(printed).panes
    }

    #[track_caller]
    fn check_client(line: &str, expected: Option<(&str, u32)>) {
        let found = contents(line).clients;
        let found = found.first().map(|client| (client.name.as_str(), client.pane.0));
        assert_eq!(found, expected, "{line:?}");
    }

    #[test]
    fn clients_are_people_and_no_programs() {
        check_client("client\t50\t0\t%5\t@3\t$1\t/dev/pts/1\tmy work", Some(("/dev/pts/1", 5)));
        check_client("client\t50\t1\t%5\t@3\t$1\tclient-7\twork", None);
        check_client("client\t50\t0\t%5\t@3\t$1\t\twork", None);
        check_client("client\t50\t0\t%5\t@3\t$1", None);
        check_client("", None);
    }

    #[test]
    fn the_visits_of_the_server_are_read_beside() {
        let printed = format!("visits a b\n{}\n", line("%5", "a", "3.3a", ""));
        let found = contents(&printed);
        assert_eq!((found.visits.as_str(), found.panes.len()), ("visits a b", 1));
    }

    #[test]
    fn a_client_that_has_said_everything_is_not_waited_for_but_collected() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let script = format!(
            "#!/bin/sh\ncd {}\necho $$ >pid\nprintf '%s\\n' \"$(cat line)\" '{END} 50'\n\
             until [ -e end ]; do sleep 0.02; done\n",
            dir.path().display()
        );
        std::fs::write(file("tmux"), script).unwrap();
        std::fs::set_permissions(file("tmux"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(file("line"), line("%5", "a", "3.3a", "/p")).unwrap();
        std::fs::write(file("socket"), "").unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let ask = || {
            let mut asked = ask_for_panes(&file("tmux"), &file("socket"), deadline);
            if let Some(request) = &mut asked.request {
                request.may_be_left = true;
            }
            asked.finish()
        };
        // A script cannot be run while a process that another test starts still has it open.
        let found = loop {
            match ask() {
                Listing::Found(found) => break found,
                _ => assert!(Instant::now() < deadline, "it is waited for"),
            }
        };
        assert_eq!(found.panes.len(), 1);
        let pid = std::fs::read_to_string(file("pid")).unwrap().trim().parse().unwrap();
        assert!(process::exists(pid));
        std::fs::write(file("end"), "").unwrap();
        while process::exists(pid) {
            assert!(Instant::now() < deadline, "it is left behind");
            ask();
        }
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
    fn a_pane_whose_process_has_ended_is_a_pane() {
        for process in ["10", ""] {
            let dead =
                line("%5", "a", "3.8", "").replace("\t10\t0\t", &format!("\t{process}\t1\t"));
            let [pane] = &read(&dead)[..] else { panic!("{dead}") };
            assert_eq!((pane.process, pane.is_dead), (process.parse().ok(), true));
        }
    }

    #[test]
    fn a_pane_in_a_linked_window_is_one_pane() {
        let linked = line("%5", "b", "3.3a", "").replace("$1", "$2");
        let printed = [line("%5", "a", "3.3a", ""), linked, line("%6", "b", "3.3a", "")];
        let found = read(&printed.join("\n"));
        let seen: Vec<(u32, &str)> = found.iter().map(|p| (p.id.0, p.session.as_str())).collect();
        assert_eq!(seen, [(5, "a"), (6, "b")]);
        assert_eq!(found[0].links, ["$1", "$2"]);
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
