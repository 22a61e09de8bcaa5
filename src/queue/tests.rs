use super::*;
use crate::pane::{FINISHED, READ, SESSION_ID};
use crate::registry::Liveness;
use crate::roster::{Health, Teller};
use crate::session::{PaneId, SessionId, Status};
use proptest::prelude::*;

pub(crate) const NOW: Moment = Moment::from_micros(1_000_000_000);

pub(crate) fn wait(letter: char, since: u64) -> Wait {
    let kind = WaitKind::from_letter(letter).unwrap();
    Wait { kind, since: Moment::from_micros(since), context: String::new() }
}

pub(crate) fn pane(socket: &str, id: u32) -> Pane {
    Pane {
        socket: socket.into(),
        server_pid: 1,
        server_started: Moment::from_seconds(0),
        id: PaneId(id),
        process: Some(1),
        is_dead: false,
        session: "work".to_owned(),
        window: format!("@{id}"),
        window_index: id,
        index: 0,
        links: Vec::new(),
        put_off: None,
        kept: None,
    }
}

pub(crate) fn session(pane: Option<Pane>, waits: Vec<Wait>) -> Listed {
    let number = pane.as_ref().map_or(0, |pane| pane.id.0);
    let id = SessionId::parse(&format!("{number:08x}-0000-4000-8000-000000000000")).unwrap();
    let state = if waits.is_empty() { State::Running } else { State::Waiting };
    Listed {
        id,
        health: Health {
            state,
            status: Some(Status::Stopped),
            since: waits.first().map(|wait| wait.since),
            waits,
            told_by: Teller::Hooks,
        },
        liveness: Liveness::Alive,
        title: None,
        directory: None,
        branch: None,
        transcript: None,
        config_dir: None,
        pid: None,
        background: 0,
        is_scripted: false,
        pane,
        entry: None,
        modified: None,
    }
}

fn waiting(id: u32, letter: char, since: u64) -> Listed {
    session(Some(pane("/s", id)), vec![wait(letter, since)])
}

fn panes<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<u32> {
    entries.map(|entry| entry.pane.id.0).collect()
}

#[test]
fn the_oldest_wait_comes_first_whatever_its_kind() {
    let sessions =
        [waiting(1, 'd', 30), waiting(2, 'p', 20), waiting(3, 'e', 10), waiting(4, 'q', 40)];
    assert_eq!(panes(Queue::of(&sessions, Order::Age, NOW).open()), [3, 2, 1, 4]);
    assert_eq!(panes(Queue::of(&sessions, Order::Kind, NOW).open()), [2, 4, 3, 1]);
}

#[test]
fn only_panes_that_wait_for_a_person_are_entries() {
    let mut scripted = waiting(3, 'p', 1);
    scripted.is_scripted = true;
    let outside = session(None, vec![wait('p', 2)]);
    let running = session(Some(pane("/s", 5)), Vec::new());
    let sessions = [scripted, outside, running, waiting(6, 'p', 9)];
    assert_eq!(panes(Queue::of(&sessions, Order::Age, NOW).open()), [6]);
}

#[test]
fn waits_of_one_moment_have_an_order_too() {
    let twin = session(Some(pane("/t", 1)), vec![wait('p', 7)]);
    let sessions = [twin, waiting(2, 'p', 7), waiting(1, 'p', 7)];
    let queue = Queue::of(&sessions, Order::Age, NOW);
    assert_eq!(panes(queue.open()), [1, 2, 1]);
    let first = queue.open().next().unwrap().place();
    assert_eq!(panes(queue.from(Some(&first))), [2, 1]);
}

#[test]
fn what_was_put_off_stays_out_until_something_new_is_waited_for() {
    let put_off = |until: Option<u64>, waits: Vec<Wait>| {
        let mut pane = pane("/s", 1);
        let newest_wait = Moment::from_micros(20);
        pane.put_off = Some(PutOff { newest_wait, until: until.map(Moment::from_micros) });
        let queue = Queue::of(&[session(Some(pane), waits)], Order::Age, NOW);
        queue.entries[0].standing
    };
    let later = NOW.micros() + 1;
    assert_eq!(put_off(None, vec![wait('p', 20)]), Standing::Skipped);
    assert_eq!(put_off(None, vec![wait('p', 10), wait('p', 20)]), Standing::Skipped);
    assert_eq!(put_off(None, vec![wait('p', 10), wait('p', 21)]), Standing::Open);
    assert_eq!(
        put_off(Some(later), vec![wait('d', 20)]),
        Standing::Snoozed(Moment::from_micros(later))
    );
    assert_eq!(put_off(Some(later), vec![wait('d', 21)]), Standing::Open);
    assert_eq!(put_off(Some(NOW.micros()), vec![wait('d', 20)]), Standing::Open);
}

#[test]
fn putting_off_means_all_that_is_open() {
    let listed = session(Some(pane("/s", 1)), vec![wait('p', 10), wait('q', 30), wait('d', 5)]);
    let queue = Queue::of(&[listed], Order::Age, NOW);
    let put_off = queue.entries[0].put_off_until(None);
    assert_eq!(put_off, PutOff { newest_wait: Moment::from_micros(30), until: None });
}

fn killed(id: u32, finished: &str) -> Listed {
    let id_text = format!("{id:08x}-0000-4000-8000-000000000000");
    let values = READ.map(|name| match name {
        SESSION_ID => id_text.as_str(),
        FINISHED => finished,
        _ => "",
    });
    let mut pane = pane("/s", id);
    pane.kept = Kept::read(values);
    let mut listed = session(Some(pane), Vec::new());
    listed.health.state = State::Ended(End::Killed);
    listed
}

#[test]
fn a_killed_session_is_only_there_to_be_named_on_the_way() {
    let sessions = [killed(1, "15 d bye"), killed(2, ""), waiting(3, 'p', 10), waiting(4, 'p', 20)];
    let queue = Queue::of(&sessions, Order::Age, NOW);
    assert_eq!(panes(queue.open()), [3, 4]);
    let first = queue.open().next().unwrap().place();
    let standings: Vec<(u32, Standing)> =
        queue.from(Some(&first)).map(|entry| (entry.pane.id.0, entry.standing)).collect();
    assert_eq!(standings, [(1, Standing::Dead), (4, Standing::Open)]);
}

#[test]
fn from_a_pane_that_does_not_wait_the_way_begins_at_the_oldest() {
    let sessions = [waiting(1, 'p', 10), waiting(2, 'p', 20)];
    let queue = Queue::of(&sessions, Order::Age, NOW);
    let elsewhere = Place { socket: "/s".into(), pane: PaneId(9), wait: None };
    assert_eq!(panes(queue.from(Some(&elsewhere))), [1, 2]);
    assert_eq!(panes(queue.from(None)), [1, 2]);
}

proptest! {
    /// Some are answered after they were visited; each is still visited exactly once, oldest first.
    #[test]
    fn a_round_visits_each_once_and_answering_removes_just_that_one(
        waits in prop::collection::vec((0_u64..50, 0_usize..6, any::<bool>()), 1..30),
    ) {
        let letters = ['p', 'q', 'l', 'i', 'd', 'e'];
        let mut sessions: Vec<Listed> = (0..).zip(&waits)
            .map(|(id, (since, letter, _))| waiting(id, letters[*letter], *since))
            .collect();
        let expected = panes(Queue::of(&sessions, Order::Age, NOW).open());
        let mut here: Option<Place> = None;
        let mut visited = Vec::new();
        for _ in 0..waits.len() {
            let queue = Queue::of(&sessions, Order::Age, NOW);
            let Some(entry) = queue.from(here.as_ref()).next() else { break };
            let id = entry.pane.id.0;
            visited.push(id);
            here = Some(entry.place());
            if waits[id as usize].2 {
                sessions.retain(|listed| listed.pane.as_ref().is_some_and(|pane| pane.id.0 != id));
            }
        }
        prop_assert_eq!(visited, expected);
    }
}
