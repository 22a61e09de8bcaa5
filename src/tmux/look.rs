//! One pane and everybody who could look at it, in one request.

use std::time::Instant;

use crate::pane::{ATTENTION, Kept, NOTIFIED, READ};
use crate::session::{Moment, PaneId};

use super::list::{SEPARATOR, kept, without_escaped_dollars};
use super::{Answer, Batch, Server};

const PANE_FIELDS: [&str; 8] =
    ["pane_id", "pid", "version", "window_id", "window_index", "pane_tty", ATTENTION, NOTIFIED];

const CLIENT_FIELDS: [&str; 7] = [
    "client_name",
    "client_tty",
    "client_control_mode",
    "client_flags",
    "window_id",
    "client_termtype",
    "client_termname",
];

/// What marks the line of a client. No pane is called like that.
const CLIENT: &str = "client";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub pane: PaneId,
    pub server_pid: u32,
    /// As tmux says it: `3.3a`.
    pub version: String,
    /// With its sign, as in `@2`.
    pub window: String,
    pub window_index: String,
    /// Foreign text.
    pub window_name: String,
    pub tty: String,
    /// Whether something open was not yet looked at.
    pub has_attention: bool,
    /// The newest wait that was notified of.
    pub notified: Option<Moment>,
    pub kept: Option<Kept>,
    pub clients: Vec<Viewer>,
}

/// An attached terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub name: String,
    pub tty: String,
    /// A program that speaks to tmux, and no screen that anybody sees.
    pub is_control: bool,
    /// Whether its terminal has the focus; one that never said anything about it has.
    pub is_focused: bool,
    /// The window it shows.
    pub window: String,
    /// What the terminal calls itself: `kitty(0.35.2)`, `tmux 3.3a`; empty where it did not say.
    pub terminal: String,
    /// `$TERM`.
    pub term: String,
}

impl Look {
    pub fn is_looked_at(&self) -> bool {
        let looks = |client: &Viewer| {
            !client.is_control && client.is_focused && client.window == self.window
        };
        self.clients.iter().any(looks)
    }

    /// The clients that show something to somebody.
    pub fn screens(&self) -> impl Iterator<Item = &Viewer> {
        self.clients.iter().filter(|client| !client.is_control)
    }
}

/// Nothing where the pane or the server is gone, or the server does not answer.
pub fn look(server: &Server, pane: PaneId, deadline: Instant) -> Option<Look> {
    // What users choose comes last.
    let fields = format(&[&PANE_FIELDS[..], &READ, &["window_name"]].concat());
    let client = format!("{CLIENT}{SEPARATOR}{}", format(&CLIENT_FIELDS));
    let mut batch = Batch::default();
    batch.push(["display-message", "-p", "-t", &pane.to_string(), &fields]);
    batch.push(["list-clients", "-F", &client]);
    match server.run(&batch, deadline) {
        Answer::Done(printed) => read(&printed),
        _ => None,
    }
}

/// `#{name}` inserts a value as it is: nothing in it is expanded again.
fn format(names: &[&str]) -> String {
    names.iter().map(|name| format!("#{{{name}}}")).collect::<Vec<_>>().join(&SEPARATOR.to_string())
}

fn read(printed: &str) -> Option<Look> {
    let mut lines = printed.lines();
    let mut look = pane(lines.next()?)?;
    look.clients = lines.filter_map(client_of).collect();
    Some(look)
}

fn pane(line: &str) -> Option<Look> {
    let values: Vec<&str> = line.split(SEPARATOR).collect();
    let (fields, rest) = values.split_at_checked(PANE_FIELDS.len())?;
    let (options, name) = rest.split_at_checked(READ.len())?;
    let [id, pid, version, window, index, tty, attention, notified] = fields else { return None };
    let [name] = name else { return None };
    let name = if *version == "3.4" { without_escaped_dollars(name) } else { (*name).to_owned() };
    Some(Look {
        pane: PaneId::parse(id)?,
        server_pid: pid.parse().ok()?,
        version: (*version).to_owned(),
        window: (*window).to_owned(),
        window_index: (*index).to_owned(),
        window_name: name,
        tty: (*tty).to_owned(),
        has_attention: *attention == "1",
        notified: notified.parse().ok().map(Moment::from_micros),
        kept: kept(options.try_into().ok()?, version),
        clients: Vec::new(),
    })
}

fn client_of(line: &str) -> Option<Viewer> {
    let values: Vec<&str> = line.split(SEPARATOR).collect();
    let [CLIENT, name, tty, control, flags, window, terminal, term] = values.as_slice() else {
        return None;
    };
    Some(Viewer {
        name: (*name).to_owned(),
        tty: (*tty).to_owned(),
        is_control: *control == "1",
        is_focused: flags.is_empty() || flags.split(',').any(|flag| flag == "focused"),
        window: (*window).to_owned(),
        terminal: (*terminal).to_owned(),
        term: (*term).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(window: &str, attention: &str, notified: &str, name: &str) -> String {
        let mut values = vec!["%5", "99", "3.3a", window, "2", "/dev/pts/9", attention, notified];
        values.extend(READ.map(|option| match option {
            crate::pane::SESSION_ID => "23e30f82",
            _ => "",
        }));
        values.push(name);
        values.join("\t")
    }

    fn client(control: &str, flags: &str, window: &str) -> String {
        ["client", "/dev/pts/1", "/dev/pts/1", control, flags, window, "kitty(0.35)", "xterm-kitty"]
            .join("\t")
    }

    #[test]
    fn a_pane_is_read_with_the_clients_of_its_server() {
        let printed =
            [line("@3", "1", "1794964287516000", "a b"), client("0", "attached,focused", "@3")];
        let look = read(&printed.join("\n")).unwrap();
        assert_eq!((look.pane, look.window_name.as_str()), (PaneId(5), "a b"));
        assert_eq!(look.notified, Some(Moment::from_micros(1_794_964_287_516_000)));
        assert!(look.has_attention && look.kept.is_some());
        let [client] = look.clients.as_slice() else { panic!("{look:?}") };
        assert_eq!(
            (client.terminal.as_str(), client.term.as_str()),
            ("kitty(0.35)", "xterm-kitty")
        );
    }

    #[test]
    fn looking_is_a_screen_with_the_focus_on_the_window() {
        for (clients, expected) in [
            (vec![], false),
            (vec![client("0", "attached,focused,UTF-8", "@3")], true),
            (vec![client("0", "", "@3")], true),
            (vec![client("0", "attached,UTF-8", "@3")], false),
            (vec![client("0", "attached,focused", "@4")], false),
            (vec![client("1", "attached,focused", "@3")], false),
            (vec![client("0", "focused", "@4"), client("0", "focused", "@3")], true),
        ] {
            let lines = [vec![line("@3", "1", "", "w")], clients].concat();
            assert_eq!(read(&lines.join("\n")).unwrap().is_looked_at(), expected, "{lines:?}");
        }
    }

    #[test]
    fn lines_that_were_not_asked_for_are_no_pane_and_no_client() {
        assert_eq!(read(""), None);
        assert_eq!(read("%5\t99"), None);
        assert_eq!(read(&format!("{}\tmore", line("@3", "", "", "w"))), None);
        let with_noise = format!("{}\nclient\tx\nno client", line("@3", "", "", "w"));
        assert_eq!(read(&with_noise).unwrap().clients, []);
    }
}
