use super::*;
use crate::hub::keys::Scope;
use crate::session::SessionId;

const FIRST: &str = "23e30f82-0000-4000-8000-000000000001";
const SECOND: &str = "9f00aa11-0000-4000-8000-000000000002";

fn now() -> Moment {
    Moment::from_seconds(1_794_964_287)
}

fn managed(launch: &str, id: &str) -> Managed {
    Managed::new(Key::new(launch), id, PathBuf::from("/p"), None, now())
}

fn fact(session: &str, change: Change) -> Fact {
    Fact { session: SessionId::parse(session).unwrap(), change }
}

fn asked(call: u64) -> Change {
    Change::Asked { agent: Agent::Main, call: Call::named(call) }
}

fn answered(call: u64) -> Change {
    Change::Answered { agent: Agent::Main, call: Call::named(call) }
}

/// Plays changes on a session that has just been started, and gives its states.
#[track_caller]
fn check(changes: Vec<(Change, &'static str)>) {
    let mut session = managed("l1", FIRST);
    for (seq, (change, state)) in (1..).zip(changes) {
        let told = format!("{change:?}");
        session.apply(&fact(FIRST, change), Id { boot: 1, seq }, now());
        assert_eq!(session.state(), state, "after {told}");
    }
}

#[test]
fn events_tell_what_a_session_is_doing() {
    let prompt = || Change::Prompted { prompt: "p".to_owned() };
    check(vec![
        (Change::Nothing, "starting"),
        (Change::Started, "idle"),
        (prompt(), "running"),
        (asked(1), "waiting"),
        (asked(1), "waiting"),
        (answered(2), "waiting"),
        (answered(1), "running"),
        (Change::Compacted, "running"),
        (Change::TurnEnded, "idle"),
    ]);
    let sub = Agent::Sub(7);
    check(vec![
        (Change::Started, "idle"),
        (prompt(), "running"),
        (Change::Asked { agent: sub, call: Call::named(1) }, "waiting"),
        (Change::TurnEnded, "waiting"),
        (prompt(), "waiting"),
        (Change::Settled { agent: Agent::Main }, "waiting"),
        (Change::AgentEnded { agent: sub }, "running"),
    ]);
    check(vec![
        (Change::Started, "idle"),
        (Change::Working, "running"),
        (asked(1), "waiting"),
        // The notification six seconds later is about the same dialog.
        (Change::Asked { agent: Agent::Main, call: Call::Unnamed }, "waiting"),
        (answered(1), "running"),
    ]);
}

#[test]
fn every_id_leads_to_the_launch_and_the_last_one_counts() {
    let sessions = Sessions::default();
    sessions.add(managed("l1", FIRST), 9).unwrap();
    let launch = Key::new("l1");
    let grant = Grant { scope: Scope::Collect, launch: Some(launch.clone()) };
    for (id, change) in
        [(FIRST, Change::Started), (FIRST, Change::Replaced), (SECOND, Change::Started)]
    {
        let key = sessions.route(&grant, id).unwrap();
        assert_eq!(key, launch);
        sessions.apply(&key, &fact(id, change), Id { boot: 1, seq: 1 }, now());
    }
    for id in [FIRST, SECOND, "l1"] {
        let found = sessions.find(id).unwrap();
        assert_eq!((found.id(), found.ids.len()), (SECOND, 2));
    }
    assert!(!sessions.find(FIRST).unwrap().session_end_seen);
    assert!(sessions.find("other").is_none());
}

#[test]
fn a_launch_cannot_post_for_another_one() {
    let sessions = Sessions::default();
    sessions.add(managed("l1", FIRST), 9).unwrap();
    sessions.add(managed("l2", SECOND), 9).unwrap();
    let bound = Grant { scope: Scope::Collect, launch: Some(Key::new("l1")) };
    assert_eq!(sessions.route(&bound, SECOND), Err(WrongLaunch));
    assert_eq!(sessions.route(&bound, FIRST), Ok(Key::new("l1")));
    let free = Grant { scope: Scope::Collect, launch: None };
    assert_eq!(sessions.route(&free, SECOND), Ok(Key::new("l2")));
    assert_eq!(sessions.route(&free, "other"), Ok(Key::new("other")));
}

#[test]
fn a_session_whose_launch_has_ended_goes_on_under_another_one() {
    let sessions = Sessions::default();
    sessions.add(managed("l1", FIRST), 9).unwrap();
    sessions.add(managed("l2", SECOND), 9).unwrap();
    sessions.update(&Key::new("l1"), |managed| managed.stage = Stage::Ended);
    assert_eq!(sessions.current().len(), 2);
    let second = Grant { scope: Scope::Collect, launch: Some(Key::new("l2")) };
    let key = sessions.route(&second, FIRST).unwrap();
    sessions.apply(&key, &fact(FIRST, Change::Started), Id { boot: 1, seq: 1 }, now());
    assert_eq!(sessions.find(FIRST).unwrap().launch, Key::new("l2"));
    let current: Vec<Key> = sessions.current().into_iter().map(|managed| managed.launch).collect();
    assert_eq!(current, [Key::new("l2")]);
    assert_eq!(sessions.all().len(), 2);
}

#[test]
fn an_id_is_taken_on_once_until_it_has_ended() {
    let sessions = Sessions::default();
    sessions.add(managed("l1", FIRST), 1).unwrap();
    assert!(matches!(sessions.add(managed("l2", FIRST), 9), Err(Refused::Exists(_))));
    assert!(matches!(sessions.add(managed("l2", SECOND), 1), Err(Refused::TooMany)));
    sessions.update(&Key::new("l1"), |managed| managed.stage = Stage::Ended);
    sessions.add(managed("l2", FIRST), 1).unwrap();
    assert_eq!(sessions.find(FIRST).unwrap().launch, Key::new("l2"));
    sessions.remove(&Key::new("l2"));
    assert!(sessions.find(FIRST).is_none());
}
