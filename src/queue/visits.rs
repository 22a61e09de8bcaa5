//! Where each client of a tmux server was brought to, and where it came from. Pure.
//!
//! tmux keeps no options of clients, so all of them share one of the server. Written
//! `visits CLIENT PLACE PLACE,PLACE TURN|...`: where the client is now, then the way back, nearest
//! last, and how often it was brought somewhere.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::pane::VISITS_MARK;
use crate::session::{Moment, PaneId, WaitKind};

/// Longer ways back are forgotten from their far end.
const LONGEST_WAY: usize = 16;
/// Together with other commands, the value has to fit into one tmux request.
const LONGEST_VALUE: usize = 8000;
const NOTHING: &str = "-";

/// A pane of any server, and the wait somebody was brought there for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub socket: PathBuf,
    pub pane: PaneId,
    pub wait: Option<Key>,
}

/// What orders waits, and tells one from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub kind: WaitKind,
    pub since: Moment,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visits(Vec<Visit>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Visit {
    client: String,
    at: Option<Place>,
    /// Nearest last.
    before: Vec<Place>,
    /// Of what several servers remember of a client, the highest is the newest.
    turn: u64,
}

impl Visits {
    /// What cannot be read is forgotten.
    pub fn parse(text: &str) -> Self {
        let records = text.strip_prefix(VISITS_MARK).unwrap_or_default().split('|');
        Self(records.filter_map(Visit::parse).collect())
    }

    /// Of what several servers remember, what is newest about a client.
    pub fn newest(all: impl Iterator<Item = Self>, client: &str) -> Option<Self> {
        all.max_by_key(|visits| visits.of(client).map(|visit| visit.turn))
    }

    /// Where a client was brought to last, if anywhere.
    pub fn at(&self, client: &str) -> Option<&Place> {
        self.of(client)?.at.as_ref()
    }

    /// The places a client came from, nearest first.
    pub fn before(&self, client: &str) -> impl Iterator<Item = &Place> {
        self.of(client).into_iter().flat_map(|visit| visit.before.iter().rev())
    }

    /// A client goes to a new place; from where it is now, it can come back.
    pub fn go(&mut self, client: &str, from: Option<Place>, to: Place) {
        let visit = self.of_mut(client);
        if let Some(from) = from.filter(|from| !from.is_same_pane(&to)) {
            visit.before.push(from);
            let forgotten = visit.before.len().saturating_sub(LONGEST_WAY);
            visit.before.drain(..forgotten);
        }
        visit.at = Some(to);
        visit.turn += 1;
    }

    /// A client goes back to a place, and all that came after it is forgotten.
    pub fn go_back(&mut self, client: &str, to: &Place) {
        let visit = self.of_mut(client);
        if let Some(at) = visit.before.iter().rposition(|place| place == to) {
            visit.before.truncate(at);
        }
        visit.at = Some(to.clone());
        visit.turn += 1;
    }

    /// Takes over what another server remembers of a client.
    pub fn take_over(&mut self, client: &str, other: &Self) {
        if let Some(visit) = other.of(client) {
            *self.of_mut(client) = visit.clone();
        }
    }

    /// Forgets clients that are no longer there.
    pub fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|visit| is_there(&visit.client));
        while self.to_string().len() > LONGEST_VALUE {
            match self.0.iter_mut().max_by_key(|visit| visit.before.len()) {
                Some(longest) if !longest.before.is_empty() => drop(longest.before.remove(0)),
                _ => drop(self.0.remove(0)),
            }
        }
    }

    fn of(&self, client: &str) -> Option<&Visit> {
        self.0.iter().find(|visit| visit.client == client)
    }

    fn of_mut(&mut self, client: &str) -> &mut Visit {
        let known = self.0.iter().position(|visit| visit.client == client);
        let at = known.unwrap_or_else(|| {
            self.0.push(Visit { client: client.to_owned(), ..Visit::default() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl fmt::Display for Visits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records: Vec<String> = self.0.iter().map(Visit::to_string).collect();
        write!(f, "{VISITS_MARK}{}", records.join("|"))
    }
}

impl Visit {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let client = String::from_utf8(decoded(words.next()?)?).ok()?;
        let at = Place::parse(words.next()?);
        let before = words.next()?.split(',').filter_map(Place::parse).collect();
        let turn = words.next()?.parse().ok()?;
        Some(Self { client, at, before, turn })
    }
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_ref().map_or_else(|| NOTHING.to_owned(), Place::to_string);
        let before: Vec<String> = self.before.iter().map(Place::to_string).collect();
        let before = if before.is_empty() { NOTHING.to_owned() } else { before.join(",") };
        write!(f, "{} {at} {before} {}", encoded(self.client.as_bytes()), self.turn)
    }
}

impl Place {
    pub fn is_same_pane(&self, other: &Self) -> bool {
        (&self.socket, self.pane) == (&other.socket, other.pane)
    }

    /// `SOCKET:PANE`, and `:KIND.MOMENT` where there was a wait.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let socket = PathBuf::from(OsString::from_vec(decoded(parts.next()?)?));
        let pane = PaneId(parts.next()?.parse().ok()?);
        let wait = match parts.next() {
            Some(key) => {
                let (kind, since) = key.split_once('.')?;
                let kind = WaitKind::from_letter(kind.chars().next()?)?;
                Some(Key { kind, since: Moment::from_micros(since.parse().ok()?) })
            }
            None => None,
        };
        Some(Self { socket, pane, wait })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", encoded(self.socket.as_os_str().as_bytes()), self.pane.0)?;
        match self.wait {
            Some(key) => write!(f, ":{}.{}", key.kind.letter(), key.since.micros()),
            None => Ok(()),
        }
    }
}

/// Only characters that mean nothing to tmux, to a shell or to the format above.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'_' | b'.' => {
                text.push(char::from(*byte));
            }
            _ => text.push_str(&format!("={byte:02x}")),
        }
    }
    text
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('=') {
        bytes.extend_from_slice(plain.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(pane: u32) -> Place {
        Place { socket: "/tmp/s".into(), pane: PaneId(pane), wait: None }
    }

    fn waiting(pane: u32, since: u64) -> Place {
        let kind = WaitKind::from_letter('q').unwrap();
        Place { wait: Some(Key { kind, since: Moment::from_micros(since) }), ..place(pane) }
    }

    #[test]
    fn the_way_back_leads_through_every_place_in_turn() {
        let mut visits = Visits::default();
        visits.go("a", Some(place(1)), waiting(2, 7));
        visits.go("a", Some(waiting(2, 7)), waiting(3, 9));
        visits.go("b", Some(place(8)), place(9));
        let before = |visits: &Visits| visits.before("a").cloned().collect::<Vec<_>>();
        assert_eq!(visits.at("a"), Some(&waiting(3, 9)));
        assert_eq!(before(&visits), [waiting(2, 7), place(1)]);
        visits.go_back("a", &waiting(2, 7));
        assert_eq!((visits.at("a"), before(&visits)), (Some(&waiting(2, 7)), vec![place(1)]));
        visits.go_back("a", &place(1));
        assert_eq!(before(&visits), []);
        assert_eq!(visits.before("b").count(), 1);
    }

    #[test]
    fn going_nowhere_is_not_remembered() {
        let mut visits = Visits::default();
        visits.go("a", Some(place(2)), waiting(2, 7));
        assert_eq!((visits.at("a"), visits.before("a").count()), (Some(&waiting(2, 7)), 0));
    }

    #[test]
    fn the_far_end_of_a_long_way_and_clients_that_left_are_forgotten() {
        let mut visits = Visits::default();
        for pane in 0..100 {
            visits.go("a", Some(place(pane)), place(pane + 1));
        }
        assert_eq!(visits.before("a").count(), LONGEST_WAY);
        assert_eq!(visits.before("a").next(), Some(&place(99)));
        visits.go("b", None, place(1));
        visits.keep_only(|client| client == "b");
        assert_eq!((visits.at("a"), visits.at("b")), (None, Some(&place(1))));
    }

    #[test]
    fn the_value_stays_short_enough_for_a_request() {
        let mut visits = Visits::default();
        let socket = PathBuf::from("/\u{1}".repeat(50));
        for client in 0..60 {
            for pane in 0..20 {
                let place = |pane| Place { socket: socket.clone(), ..waiting(pane, 7) };
                visits.go(&format!("client-{client}"), Some(place(pane)), place(pane + 1));
            }
        }
        visits.keep_only(|_| true);
        assert!(visits.to_string().len() <= LONGEST_VALUE);
        assert!(visits.at("client-59").is_some());
    }

    #[test]
    fn a_client_brings_its_way_along_to_another_server() {
        let (mut here, mut there) = (Visits::default(), Visits::default());
        here.go("a", Some(place(1)), place(2));
        there.go("a", Some(place(8)), place(9));
        there.go("b", Some(place(8)), place(9));
        there.take_over("a", &here);
        assert_eq!(there.before("a").collect::<Vec<_>>(), [&place(1)]);
        assert_eq!(there.at("b"), Some(&place(9)));
    }

    #[test]
    fn of_two_servers_the_one_a_client_was_brought_to_last_knows_where_it_is() {
        let (mut first, mut second) = (Visits::default(), Visits::default());
        first.go("a", None, place(1));
        second.take_over("a", &first);
        second.go("a", Some(place(1)), place(2));
        let at = |servers: [&Visits; 2]| {
            Visits::newest(servers.into_iter().cloned(), "a").unwrap().at("a").cloned()
        };
        assert_eq!(at([&second, &first]), Some(place(2)));
        first.take_over("a", &second);
        first.go_back("a", &place(1));
        assert_eq!(at([&first, &second]), Some(place(1)));
        assert_eq!(Visits::newest(std::iter::empty(), "a"), None);
    }

    #[test]
    fn nonsense_is_forgotten() {
        for text in [
            "",
            "visits ",
            "visits x",
            "odd",
            "visits a b",
            "visits a - -",
            "visits =zz - - 1|=4 - - 1",
        ] {
            assert_eq!(Visits::parse(text), Visits::default(), "{text:?}");
        }
        assert_eq!(Visits::parse("visits a - - 1|b").0.len(), 1);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_and_is_plain(
            client in "\\PC{1,20}", socket in prop::collection::vec(1_u8.., 1..40), since in 0_u64..=9_999_999_999_999_999,
        ) {
            let socket = PathBuf::from(OsString::from_vec(socket));
            let here = Place { socket: socket.clone(), ..waiting(5, since) };
            let mut visits = Visits::default();
            visits.go(&client, Some(Place { socket, ..place(7) }), here);
            visits.go("other", None, place(1));
            let text = visits.to_string();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" |:,=/_.-".contains(&byte)), "{text}");
            prop_assert_eq!(Visits::parse(&text), visits);
        }
    }
}
