use proptest::prelude::*;

use super::replay::{Tally, Times};
use super::summary::Answers;
use super::table::{length, shares};
use super::*;
use crate::config::Icons;
use crate::screen::width;

const SECOND: u64 = 1_000_000;

fn at(seconds: u64) -> Moment {
    Moment::from_seconds(seconds)
}

/// `SECONDS EVENT [OPENED] [-ENDED] [machine]` of the session `s`.
fn entry(line: &str) -> Entry {
    let mut words = line.split_whitespace();
    let mut entry = Entry {
        at: words.next().unwrap().parse::<u64>().unwrap() * SECOND,
        event: words.next().unwrap().to_owned(),
        session: "s".to_owned(),
        ..Entry::default()
    };
    for word in words {
        match word.strip_prefix('-') {
            Some(ended) => entry.ended.push(ended.to_owned()),
            None if word == "machine" => entry.by_machine = true,
            None if entry.event == journal::NOTIFY => entry.told.push(word.to_owned()),
            None => entry.opened = word.to_owned(),
        }
    }
    entry
}

fn tally(lines: &[&str], from: u64, to: u64, is_alive: bool) -> Tally {
    let entries = lines.iter().map(|line| entry(line)).collect();
    replay(entries, at(from)..at(to), |_| is_alive)
}

/// The time the session ran and waited, and each wait with how long it took to answer.
#[track_caller]
fn check(lines: &[&str], running: u64, waiting: u64, waits: &[(&str, Option<u64>)]) {
    let tally = tally(lines, 0, 1000, false);
    let times = tally.sessions.get("s").copied().unwrap_or_default();
    assert_eq!((times.running, times.waiting), (running * SECOND, waiting * SECOND), "{lines:?}");
    let found: Vec<(&str, Option<u64>)> = tally
        .waits
        .iter()
        .map(|wait| {
            (wait.kind.word(), wait.answered.map(|answer| answer.seconds_since(wait.since)))
        })
        .collect();
    assert_eq!(found, waits, "{lines:?}");
}

#[test]
fn a_turn_runs_until_it_is_done_and_waits_until_the_next_prompt() {
    check(
        &[
            "10 SessionStart",
            "20 UserPromptSubmit",
            "50 Stop d",
            "90 UserPromptSubmit",
            "100 Stop d",
        ],
        40,
        40,
        &[("done", Some(40)), ("done", None)],
    );
}

#[test]
fn a_dialog_is_answered_when_its_tool_has_ended() {
    check(
        &[
            "0 UserPromptSubmit",
            "10 PermissionRequest main.00ff.p",
            "16 Notification main.none.p",
            "25 PostToolUse -main.00ff.p@0000000010000000",
            "30 Stop d",
        ],
        15,
        15,
        &[("permission", Some(15)), ("done", None)],
    );
}

#[test]
fn two_dialogs_are_one_time_of_waiting() {
    check(
        &[
            "0 UserPromptSubmit",
            "10 PermissionRequest main.00ff.p",
            "12 PermissionRequest 0000beef.00aa.q",
            "20 PostToolUse -main.00ff.p@0000000010000000",
            "32 PostToolUse -0000beef.00aa.q@0000000012000000",
            "40 StopFailure e",
        ],
        18,
        22,
        &[("permission", Some(10)), ("question", Some(20)), ("error", None)],
    );
}

#[test]
fn a_prompt_answers_the_main_thread_only() {
    check(
        &[
            "0 UserPromptSubmit",
            "10 PermissionRequest main.00ff.l",
            "10 PermissionRequest 0000beef.00aa.i",
            "20 UserPromptSubmit",
            "50 SubagentStop -0000beef.00aa.i@0000000010000000",
            "60 SessionEnd",
        ],
        20,
        40,
        &[("plan", Some(10)), ("input", Some(40))],
    );
}

#[test]
fn what_a_machine_goes_on_with_was_not_answered() {
    check(
        &[
            "0 UserPromptSubmit",
            "10 Stop d",
            "30 UserPromptSubmit machine",
            "40 Stop d",
            "45 SessionEnd",
        ],
        20,
        25,
        &[("done", None), ("done", None)],
    );
}

#[test]
fn a_stop_without_a_wait_goes_on_in_the_background() {
    check(
        &["0 UserPromptSubmit", "10 Stop", "30 UserPromptSubmit machine", "40 Stop d"],
        40,
        0,
        &[("done", None)],
    );
}

#[test]
fn the_time_after_a_kill_belongs_to_nothing() {
    check(
        &[
            "0 UserPromptSubmit",
            "10 PermissionRequest main.00ff.p",
            "900 SessionStart",
            "910 UserPromptSubmit",
        ],
        10,
        0,
        &[("permission", None)],
    );
}

#[test]
fn lines_are_taken_in_the_order_of_their_events() {
    check(
        &["50 Stop d", "0 UserPromptSubmit", "60 UserPromptSubmit"],
        50,
        10,
        &[("done", Some(10))],
    );
}

#[test]
fn only_the_span_counts_and_a_living_session_goes_on_to_its_end() {
    let lines = ["0 UserPromptSubmit", "100 Stop d", "150 UserPromptSubmit", "160 notify tmux"];
    let found = tally(&lines, 120, 200, true);
    assert_eq!(found.sessions["s"], Times { running: 50 * SECOND, waiting: 30 * SECOND });
    assert_eq!((found.waits.len(), found.notifications.len()), (0, 1));
    let ended = tally(&lines, 120, 200, false);
    assert_eq!(ended.sessions["s"], Times { running: 0, waiting: 30 * SECOND });
    assert_eq!(tally(&lines, 300, 400, false), Tally::default());
}

#[test]
fn a_notification_that_no_channel_sent_is_none() {
    assert_eq!(tally(&["5 notify"], 0, 10, false).notifications.len(), 0);
    assert_eq!(tally(&["5 notify tmux bell"], 0, 10, false).notifications.len(), 1);
}

#[test]
fn answers_have_a_median_and_a_ninetieth_percentile() {
    for (seconds, median, ninetieth) in [
        (vec![], 0, 0),
        (vec![7], 7, 7),
        (vec![1, 2], 1, 2),
        (vec![3, 1, 2], 2, 3),
        ((1..=10).collect(), 5, 9),
        ((1..=100).rev().collect(), 50, 90),
    ] {
        let count = seconds.len();
        assert_eq!(Answers::of(seconds), Answers { count, median, ninetieth });
    }
}

#[test]
fn since_is_a_time_ago_or_a_day() {
    let zone = TimeZone::posix("XXX-10").unwrap();
    let now = at(1_794_964_287);
    for (text, expected) in [
        ("12h", Some(now.seconds() - 12 * 3600)),
        ("2d", Some(now.seconds() - 2 * 86_400)),
        ("0s", Some(now.seconds())),
        ("999999d", Some(0)),
        ("today", Some(1_794_924_000)),
        ("2026-11-18", Some(1_794_924_000)),
        ("2026-11-31", None),
        ("soon", None),
        ("", None),
        ("-2d", None),
    ] {
        assert_eq!(parse_since(text, now, &zone).map(Moment::seconds), expected, "{text:?}");
    }
}

#[test]
fn lengths_have_two_units_at_most() {
    for (seconds, expected) in [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (102, "1m 42s"),
        (3599, "59m 59s"),
        (3600, "1h"),
        (12_000, "3h 20m"),
        (86_400, "1d"),
        (187_200, "2d 4h"),
    ] {
        assert_eq!(length(seconds), expected);
    }
}

fn summary_of(tally: &Tally, known: &BTreeMap<String, Known>) -> Summary {
    Summary::new(tally, at(0)..at(100_000), known, &TimeZone::UTC)
}

fn shown(summary: &Summary, columns: usize) -> String {
    let screen = Screen { width: Some(columns), has_colours: false };
    table::text(summary, "1970-01-01", screen, Icons::Ascii, None)
}

#[test]
fn the_tables_have_bars() {
    let lines = [
        "0 UserPromptSubmit",
        "600 PermissionRequest main.00ff.p",
        "601 notify tmux",
        "660 PostToolUse -main.00ff.p@0000000600000000",
        "4000 Stop d",
        "4300 UserPromptSubmit",
        "4301 notify bell",
        "4302 Stop d",
    ];
    let known =
        Known { directory: Some("/srv/api".into()), title: Some("fix\u{1b} it".to_owned()) };
    let summary = summary_of(&tally(&lines, 0, 100_000, false), &[("s".to_owned(), known)].into());
    assert_eq!(
        shown(&summary, 60),
        "\
since 1970-01-01

notifications  sent
1970-01-01        2  ##############################

waits       count  answered  median  90%
permission      1         1      1m   1m  #########
done            2         1      5m   5m  ##################

project     running  waiting
/srv/api      1h 5m       6m  ###########################--
  s fix it    1h 5m       6m  ###########################--
"
    );
}

#[test]
fn many_sessions_of_a_project_are_counted_and_not_all_listed() {
    let times = Times { running: 10 * SECOND, waiting: SECOND };
    let sessions = (0..9).map(|number| (format!("{number}"), times)).collect();
    let tally = Tally { sessions, ..Tally::default() };
    let text = shown(&summary_of(&tally, &BTreeMap::new()), 80);
    assert!(text.contains("(unknown)") && text.contains("  and 4 more"), "{text}");
    assert_eq!(text.lines().count(), 10, "{text}");
}

#[test]
fn nothing_is_shown_of_nothing() {
    assert_eq!(shown(&summary_of(&Tally::default(), &BTreeMap::new()), 80), "");
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let events = prop::sample::select(vec![
        "SessionStart",
        "UserPromptSubmit",
        "PermissionRequest",
        "Notification",
        "PostToolUse",
        "Stop",
        "StopFailure",
        "SubagentStop",
        "SessionEnd",
        "notify",
        "Unheard",
    ]);
    let opened = prop::sample::select(vec![
        "",
        "",
        "d",
        "e",
        "z",
        "main.00ff.p",
        "main.none.p",
        "beef.00aa.q",
        "main.00fe.l",
        "x.y",
        "...",
    ]);
    let ended = prop::sample::select(vec![
        "main.00ff.p@0000000000000007",
        "beef.00aa.q@1",
        "main.none.p@",
        "@",
        "",
    ]);
    (0..1000_u64, events, 0..3_u8, opened, prop::collection::vec(ended, 0..3), any::<bool>())
        .prop_map(|(seconds, event, session, opened, ended, by_machine)| Entry {
            at: seconds * SECOND,
            event: event.to_owned(),
            session: session.to_string(),
            opened: opened.to_owned(),
            ended: ended.into_iter().map(str::to_owned).collect(),
            told: vec!["tmux".to_owned()],
            by_machine,
            ..Entry::default()
        })
}

proptest! {
    /// No journal, in any order, makes a session do more than the time allows or an answer come
    /// before its question.
    #[test]
    fn times_are_within_the_span_and_answers_after_their_waits(
        entries in prop::collection::vec(any_entry(), 0..40),
        start in 0..500_u64,
        length in 0..600_u64,
        is_alive: bool,
    ) {
        let span = at(start)..at(start + length);
        let tally = replay(entries.clone(), span.clone(), |_| is_alive);
        for times in tally.sessions.values() {
            prop_assert!(times.sum() <= length * SECOND, "{times:?}");
        }
        for wait in &tally.waits {
            prop_assert!(span.contains(&wait.since));
            prop_assert!(wait.answered.is_none_or(|answer| answer >= wait.since && answer < span.end));
        }
        prop_assert!(tally.notifications.iter().all(|moment| span.contains(moment)));
        prop_assert!(tally.waits.len() <= entries.len());
    }

    /// A span is the sum of its halves.
    #[test]
    fn the_times_of_two_spans_add_up(
        entries in prop::collection::vec(any_entry(), 0..40),
        cut in 0..1000_u64,
    ) {
        let times = |from: u64, to: u64| {
            // The end is the same in all three, so that what is cut is only the span.
            let tally = replay(entries.clone(), at(from)..at(1000), |_| true);
            let later = replay(entries.clone(), at(to)..at(1000), |_| true);
            let sum = |tally: &Tally| tally.sessions.values().map(|times| times.sum()).sum::<u64>();
            (sum(&tally) - sum(&later), tally.waits.len() - later.waits.len())
        };
        let (whole, first, second) = (times(0, 1000), times(0, cut), times(cut, 1000));
        prop_assert_eq!(whole.0, first.0 + second.0);
        prop_assert_eq!(whole.1, first.1 + second.1);
    }

    #[test]
    fn the_percentiles_are_in_order(seconds in prop::collection::vec(0..u64::MAX / 2, 1..50)) {
        let answers = Answers::of(seconds.clone());
        let (least, most) = (seconds.iter().min().unwrap(), seconds.iter().max().unwrap());
        prop_assert!(*least <= answers.median && answers.median <= answers.ninetieth);
        prop_assert!(answers.ninetieth <= *most);
        let within = seconds.iter().filter(|one| **one <= answers.ninetieth).count();
        prop_assert!(within * 10 >= seconds.len() * 9);
    }

    #[test]
    fn bars_fit_and_show_every_part(first in any::<u32>(), second in any::<u32>(), columns in 0..40_usize) {
        let (first, second) = (u64::from(first), u64::from(second));
        let (one, other) = shares(first, second, first + second, columns);
        prop_assert!(one + other <= columns);
        prop_assert!(first == 0 || columns == 0 || one > 0);
    }

    #[test]
    fn no_line_is_wider_than_the_screen(
        sessions in prop::collection::vec(("\\PC{0,40}", "\\PC{0,60}", 0..u64::MAX / 64, 0..u64::MAX / 64), 0..12),
        columns in 1..120_usize,
    ) {
        let mut tally = Tally { notifications: vec![at(5); sessions.len()], ..Tally::default() };
        let mut known = BTreeMap::new();
        for (number, (directory, title, running, waiting)) in sessions.into_iter().enumerate() {
            let id = number.to_string();
            tally.sessions.insert(id.clone(), Times { running, waiting });
            known.insert(id, Known { directory: Some(directory.into()), title: Some(title) });
        }
        for line in shown(&summary_of(&tally, &known), columns).lines() {
            prop_assert!(width(line) <= columns, "{line:?}");
        }
    }
}
