//! Hooks run side by side and arrive in any order.

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::config::configured;
use crate::events::{all_recorded, bash, prompt, recorded, start, stop};
use crate::model::{Ev, Model, any_event, ordered_event, shown};
use crate::world::World;

/// Starts one hook per event, in order, and then gives them their payloads in another order.
fn play(world: &World, events: &[Ev], arrival: &[usize]) {
    let mut begun: Vec<_> = events.iter().map(|_| Some(world.begin_hook())).collect();
    for index in arrival {
        let mut hook = begun[*index].take().unwrap();
        hook.give(&events[*index].payload());
        hook.finish();
    }
}

proptest! {
    #![proptest_config(Config { cases: 24, max_shrink_iters: 200, ..Config::default() })]

    #[test]
    fn a_sequence_in_order_shows_what_the_design_says(events in prop::collection::vec(any_event(), 1..20)) {
        let world = World::new();
        for end in 0..events.len() {
            world.hook(&events[end].payload());
            prop_assert_eq!(shown(&world), Model::after(&events[..=end]).shown(), "after {:?}", &events[..=end]);
        }
    }

    #[test]
    fn any_arrival_gives_the_same_as_the_sequence_in_order(
        (events, arrival) in prop::collection::vec(ordered_event(), 1..12).prop_flat_map(|events| {
            let indexes: Vec<usize> = (0..events.len()).collect();
            (Just(events), Just(indexes).prop_shuffle())
        })
    ) {
        let world = World::new();
        play(&world, &events, &arrival);
        prop_assert_eq!(shown(&world), Model::after(&events).shown());
    }

    #[test]
    fn any_arrival_is_the_same_where_tmux_has_no_hidden_environment(
        (events, arrival) in prop::collection::vec(ordered_event(), 1..8).prop_flat_map(|events| {
            let indexes: Vec<usize> = (0..events.len()).collect();
            (Just(events), Just(indexes).prop_shuffle())
        })
    ) {
        let world = World::new().without("TERM_PROGRAM");
        play(&world, &events, &arrival);
        prop_assert_eq!(shown(&world), Model::after(&events).shown());
    }
}

/// A real turn: parallel tools, two dialogs, a subagent with a dialog of its own.
fn real_sequence() -> Vec<Ev> {
    let mut events = vec![Ev::Start, Ev::Prompt];
    for turn in 0..3 {
        events.extend([Ev::Pre(None, 0), Ev::Pre(None, 1), Ev::Pre(None, 2), Ev::Pre(Some(1), 0)]);
        events.extend([
            Ev::Permission(None, 0),
            Ev::Permission(None, 1),
            Ev::Permission(Some(1), 0),
        ]);
        events.extend([Ev::Post(None, 2), Ev::Post(None, 0), Ev::Failed(None, 1), Ev::Batch(None)]);
        events.extend([Ev::Stop(turn), Ev::MachinePrompt]);
    }
    events.truncate(40);
    events
}

#[test]
fn forty_hooks_at_once_end_like_the_sequence_in_order() {
    let events = real_sequence();
    assert!(events.len() >= 40);
    let world = World::new();
    let mut begun: Vec<_> = events.iter().map(|_| world.begin_hook()).collect();
    // A fixed shuffle: 17 has no common divisor with 40. Nobody waits for anybody.
    for position in 0..events.len() {
        let index = position * 17 % events.len();
        begun[index].give(&events[index].payload());
    }
    for hook in begun {
        hook.finish();
    }
    assert_eq!(shown(&world), Model::after(&events).shown());
    assert_eq!(world.meta("session_id"), crate::events::SESSION);
    assert_eq!(world.meta("session_dir"), "/home/u/proj");
}

#[test]
fn a_permission_request_that_arrives_after_its_own_end_opens_no_wait() {
    let world = World::new();
    world.hook(&start("startup"));
    world.hook(&prompt("go"));
    world.hook(&bash("PreToolUse", "make"));
    let mut late = world.begin_hook();
    world.hook(&bash("PostToolUse", "make"));
    late.give(&bash("PermissionRequest", "make"));
    late.finish();
    assert_eq!((world.meta("asking"), world.meta("status")), (String::new(), "running".to_owned()));
    world.hook(&stop("done"));
    assert_eq!(world.meta("asking"), "");
    assert_eq!(world.window_state(), "waiting");
}

#[test]
fn a_slow_pre_tool_use_does_not_end_the_wait_of_a_call_that_asked_meanwhile() {
    let world = World::new();
    world.hook(&prompt("go"));
    let mut slow = world.begin_hook();
    world.hook(&bash("PermissionRequest", "rm -rf build"));
    slow.give(&bash("PreToolUse", "ls"));
    slow.finish();
    assert!(world.meta("asking").ends_with(" Bash: rm -rf build"), "{}", world.meta("asking"));
    assert_eq!(
        (world.meta("status").as_str(), world.window_state().as_str()),
        ("stopped", "waiting")
    );
}

#[test]
fn repeating_any_recorded_event_changes_nothing_but_times() {
    let world = World::new();
    // It is noted in the pane which waits were told of, whenever that is done.
    configured(&world, "[notify]\nchannels = []\n");
    world.hook(&recorded("SessionStart-startup"));
    world.hook(&recorded("UserPromptSubmit"));
    for (name, payload) in all_recorded() {
        world.hook(&payload);
        let once = without_times(&world);
        world.hook(&payload);
        assert_eq!(without_times(&world), once, "{name} twice");
    }
}

#[test]
fn a_repeated_wait_that_was_looked_at_stays_looked_at() {
    let world = World::new();
    for payload in [bash("PermissionRequest", "make"), stop("done")] {
        world.hook(&payload);
        assert_eq!(world.option("@claude-attn"), "1");
        world.tmux(&["set-option", "-pu", "-t", &world.pane, "@claude-attn"]);
        world.hook(&payload);
        assert_eq!(world.option("@claude-attn"), "", "{payload}");
        world.hook(&prompt("next"));
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_freeze_the_pane() {
    let world = World::new();
    world.hook(&bash("PermissionRequest", "make"));
    // As if everything so far had been written two hours in the future.
    let registers = world.registers();
    let moments =
        registers.iter().filter_map(|(name, value)| Some((name, two_hours_later(value)?)));
    assert!(moments.clone().count() > 1, "{registers:?}");
    moments.for_each(|(name, later)| world.set_register(name, &later));
    let asking = world.meta("asking");
    let (head, rest) = asking.split_once('@').unwrap();
    let asking = format!("{head}@{}", two_hours_later(rest).unwrap());
    world.tmux(&["set-option", "-p", "-t", &world.pane, "@meta.claude.asking", &asking]);
    world.hook(&prompt("go on"));
    assert_eq!((world.meta("asking"), world.meta("status")), (String::new(), "running".to_owned()));
    assert_eq!(world.meta("latest_hook_event"), "UserPromptSubmit");
}

fn two_hours_later(value: &str) -> Option<String> {
    let (moment, rest) = value.split_at_checked(16)?;
    let moment: u64 = moment.parse().ok()?;
    Some(format!("{:016}{rest}", moment + 7_200_000_000))
}

/// The options with every moment written as `T`.
fn without_times(world: &World) -> Vec<String> {
    let line = |(name, value): (String, String)| {
        let mut plain = String::new();
        let mut digits = String::new();
        for character in value.chars().chain(['\0']) {
            if character.is_ascii_digit() {
                digits.push(character);
                continue;
            }
            plain.push_str(if digits.len() == 10 || digits.len() == 16 { "T" } else { &digits });
            digits.clear();
            plain.push(character);
        }
        format!("{name}={plain} window={}", world.window_state())
    };
    world.options().into_iter().map(line).collect()
}
