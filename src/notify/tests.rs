use std::time::Duration;

use super::decide::{Silence, unsettled};
use super::*;
use crate::config::Config;
use crate::pane::{ASKING, FINISHED, READ, SESSION_ID};
use crate::tmux::Viewer;

const NOON: u32 = 12 * 60;

fn config(text: &str) -> Config {
    let (config, _, problems) = config::parse(text);
    assert_eq!(problems, []);
    config
}

fn look(asking: &str, finished: &str) -> Look {
    let values = READ.map(|option| match option {
        SESSION_ID => "23e30f82",
        ASKING => asking,
        FINISHED => finished,
        _ => "",
    });
    Look {
        pane: PaneId(5),
        server_pid: 99,
        version: "3.3a".to_owned(),
        window: "@3".to_owned(),
        window_index: "2".to_owned(),
        window_name: "build".to_owned(),
        tty: String::new(),
        has_attention: true,
        notified: None,
        kept: Kept::read(values),
        clients: Vec::new(),
    }
}

fn asking() -> Look {
    look("|main.00ff.p@0000000000000007 Bash: ls", "")
}

fn silence(config: &Config, look: &Look, minute: u32) -> Option<Silence> {
    decide(&config.notify, look, minute).err()
}

#[test]
fn the_newest_wait_is_told_of_by_the_channels_for_its_kind() {
    let config = config(
        "[notify]\nchannels = ['tmux', 'bell', 'sound']\n[notify.bell]\nkinds = ['question']\n\
         [notify.sound]\nkinds = ['permission', 'done']",
    );
    let told = |look: &Look| {
        let (wait, channels) = decide(&config.notify, look, NOON).unwrap();
        let names: Vec<&str> = channels.iter().map(|channel| channel.name.as_str()).collect();
        format!("{} {} {}", wait.kind.word(), wait.context, names.join(","))
    };
    assert_eq!(told(&asking()), "permission Bash: ls tmux,sound");
    let both = look("|main.00ff.q@0000000000000009 Which?", "0000000000000007 d well");
    assert_eq!(told(&both), "question Which? tmux,bell");
    assert_eq!(told(&look("", "0000000000000007 d well")), "done well tmux,sound");
}

#[test]
fn nobody_is_told_of_what_is_over_or_seen_or_told_already() {
    let config = config("");
    assert_eq!(silence(&config, &asking(), NOON), None);
    assert_eq!(silence(&config, &look("", ""), NOON), Some(Silence::NoWait));
    let without_session = Look { kept: None, ..asking() };
    assert_eq!(silence(&config, &without_session, NOON), Some(Silence::NoWait));
    let dismissed = Look { has_attention: false, ..asking() };
    assert_eq!(silence(&config, &dismissed, NOON), Some(Silence::Looked));
    let client = Viewer {
        name: String::new(),
        tty: String::new(),
        is_control: false,
        is_focused: true,
        window: "@3".to_owned(),
        terminal: String::new(),
        term: String::new(),
    };
    let seen = Look { clients: vec![client], ..asking() };
    assert_eq!(silence(&config, &seen, NOON), Some(Silence::Looked));
    for (notified, expected) in [(6, None), (7, Some(Silence::Told)), (8, Some(Silence::Told))] {
        let look = Look { notified: Some(Moment::from_micros(notified)), ..asking() };
        assert_eq!(silence(&config, &look, NOON), expected, "{notified}");
    }
}

#[test]
fn quiet_hours_and_unwanted_kinds_are_kept_to() {
    let quiet = config("[notify]\nquiet = '22:00-08:00'");
    assert_eq!(silence(&quiet, &asking(), 23 * 60), Some(Silence::Quiet));
    assert_eq!(silence(&quiet, &asking(), NOON), None);
    let unwanted = config("[notify]\nkinds = ['done']");
    assert_eq!(silence(&unwanted, &asking(), NOON), Some(Silence::Unwanted));
    let nothing = config("[notify]\nchannels = []");
    assert_eq!(silence(&nothing, &asking(), NOON), Some(Silence::Unwanted));
}

#[test]
fn a_gap_ends_so_long_before_now() {
    let config = config("[notify]\nmin_gap = '2s'").notify;
    let now = Moment::from_seconds(100);
    assert_eq!(gap_ends(&config, now), Moment::from_seconds(98));
    assert_eq!(gap_ends(&config, Moment::from_micros(5)), Moment::from_micros(0));
    let longest = Notify { min_gap: Duration::MAX, ..config };
    assert_eq!(gap_ends(&longest, now), Moment::from_micros(0));
}

#[test]
fn the_end_of_a_turn_has_to_last_but_a_dialog_counts_at_once() {
    let done = look("", "0000000001000000 d well");
    let at = Moment::from_micros;
    for (look, now, debounce_ms, expected) in [
        (&done, at(1_000_000), 500, Some(500)),
        (&done, at(1_400_000), 500, Some(100)),
        (&done, at(1_500_000), 500, None),
        (&done, at(1_000_000), 0, None),
        (&done, at(999_999), 500, None),
        (&done, at(1_000_000), u64::MAX, Some(60_000)),
        (&asking(), at(8), 500, None),
        (&look("", ""), at(8), 500, None),
    ] {
        let expected = expected.map(Duration::from_millis);
        assert_eq!(unsettled(look, now, debounce_ms), expected, "{now:?} {debounce_ms}");
    }
}
