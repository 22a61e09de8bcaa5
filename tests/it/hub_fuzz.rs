//! Whatever the hook is given and whatever is posted, Claude does not notice and the hub goes on.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::hub_world::{Hub, Poster, said};
use crate::planted::Dice;
use crate::world::{World, assert_silent, run};

const PAYLOADS: usize = 10_000;
const WORKERS: usize = 4;
/// One in so many is larger than the hub takes, or than the hook keeps.
const HUGE: usize = 1250;

/// The payloads of one worker out of all, the same in every run.
fn payloads(worker: usize) -> impl Iterator<Item = Vec<u8>> {
    let fixtures = fs::read_dir("tests/fixtures/payloads").unwrap().flatten();
    let mut fixtures: Vec<_> = fixtures.map(|file| file.path()).collect();
    fixtures.sort();
    let fixtures: Vec<Vec<u8>> = fixtures.iter().map(|path| fs::read(path).unwrap()).collect();
    let mut dice = Dice(worker as u64);
    (0..PAYLOADS / WORKERS).map(move |number| match number % HUGE {
        0 => huge(&mut dice),
        _ => mutated(dice.pick(&fixtures).clone(), &mut dice),
    })
}

/// 32 MiB is what the hub takes, and 64 MiB what the hook keeps.
fn huge(dice: &mut Dice) -> Vec<u8> {
    let mut payload = br#"{"session_id":"s","hook_event_name":"Stop","x":""#.to_vec();
    let length = payload.len() + ((33 + 32 * dice.below(2)) << 20);
    payload.resize(length, b'x');
    payload.extend_from_slice(br#""}"#);
    payload
}

fn mutated(mut payload: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let at = dice.below(payload.len());
    match dice.below(14) {
        0 => {}
        1 => payload.clear(),
        2 => payload.truncate(at),
        3 => payload[at] = 0,
        4 => payload[at] = 0xff,
        5 => payload[at] ^= 1 << dice.below(8),
        6 => payload.splice(at..at, *b"\r\n").for_each(drop),
        7 => payload = String::from_utf8(payload).unwrap().replace(' ', "\r\n").into_bytes(),
        8 => payload = (0..at).map(|_| dice.below(256) as u8).collect(),
        9 => payload.extend_from_within(..),
        10 => payload = vec![*dice.pick(b"\0 [{\"\n"); 10_000],
        11 => {
            let nested = [&b"[".repeat(10_000)[..], &b"]".repeat(10_000)[..]].concat();
            let fields = br#""session_id":"s","hook_event_name":"Deep""#;
            payload = [&b"{\"x\":"[..], &nested, b",", fields, b"}"].concat();
        }
        12 => payload.splice(at..at, *b"\xed\xa0\xbd").for_each(drop),
        _ => {
            let value = *dice.pick(&["null", "7", "[]", "{}", "\"\"", "-1e999", "\"\\ud83d\""]);
            let text = String::from_utf8(payload).unwrap();
            payload = text
                .replacen("\"session_id\":", &format!("\"x\":{value},\"session_id\":"), 1)
                .replacen(
                    "\"hook_event_name\":",
                    &format!("\"hook_event_name\":{value},\"y\":"),
                    dice.below(2),
                )
                .into_bytes();
        }
    }
    payload
}

#[track_caller]
fn is_well(hub: &mut Hub<'_>) {
    assert!(hub.child.try_wait().unwrap().is_none(), "{}", hub.log());
    assert_eq!(hub.get("/healthz").status, 200);
    assert!(!hub.log().contains("panicked"), "{}", hub.log());
}

#[test]
fn ten_thousand_odd_payloads_are_taken_or_refused_and_nothing_else() {
    let world = World::bare();
    let mut hub = Hub::start(&world);
    let taken = AtomicU64::new(0);
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (hub, taken) = (&hub, &taken);
            scope.spawn(move || {
                let mut poster = Poster::new(hub);
                for payload in payloads(worker) {
                    let status = if payload.len() > 1 << 20 {
                        hub.send(&hub.token, "POST", "/events", Some(&payload)).status
                    } else {
                        poster.post_bytes(&payload).expect("the connection is kept")
                    };
                    let shown = String::from_utf8_lossy(&payload[..payload.len().min(300)]);
                    assert!(matches!(status, 202 | 400 | 413 | 422), "{status} for {shown}");
                    if status == 202 {
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let taken = taken.into_inner();
    assert!(taken > PAYLOADS as u64 / 10 && taken < PAYLOADS as u64, "{taken}");
    assert_eq!(hub.metric("events_total"), taken);
    is_well(&mut hub);
}

#[test]
fn ten_thousand_hooks_with_odd_payloads_read_them_to_their_end_and_say_nothing() {
    let hub_world = World::bare();
    let mut hub = Hub::start(&hub_world);
    let token = said(&hub_world, &["hub", "token", "--scope", "collect"]);
    let world = World::bare()
        .with("CLAUDE_HUB_COLLECTOR_URL", &format!("http://{}", hub.address))
        .with("CLAUDE_HUB_COLLECTOR_TOKEN", &token);
    // Writing fails the test where the hook does not read everything.
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let world = &world;
            scope.spawn(move || {
                payloads(worker)
                    .for_each(|payload| assert_silent(&run(world.cld(&["hook"]), &payload)));
            });
        }
    });
    assert!(hub.metric("events_total") > 0 && hub.metric("events_refused_total") > 0);
    is_well(&mut hub);
}

#[test]
fn a_hook_with_a_pane_takes_odd_payloads_too() {
    let world = World::new();
    for worker in 0..WORKERS {
        let few = payloads(worker).filter(|payload| payload.len() < 1 << 20).take(150);
        few.for_each(|payload| world.hook_bytes(&payload));
    }
    world.hook(&crate::events::stop("done"));
    assert_eq!(world.meta("latest_hook_event"), "Stop");
}

#[test]
fn a_hook_whose_input_is_closed_or_no_input_at_all_says_nothing() {
    let world = World::new();
    for input in ["<&-", "</dev/null", "</", "</proc/self/mem"] {
        let mut shell = world.cld(&[]);
        let cld = shell.get_program().to_owned();
        let variables: Vec<_> = shell
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        shell = std::process::Command::new("sh");
        shell.env_clear().envs(variables).env("CLAUDECODE", "1");
        shell.args(["-c", &format!("exec \"$0\" hook {input}")]).arg(cld);
        assert_silent(&shell.output().unwrap());
    }
}
