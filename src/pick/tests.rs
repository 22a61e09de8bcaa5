//! Inputs in, frames out: how the picker behaves without a terminal.

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::input::{Command, Input, Motion};
use super::model::{Mode, Model, Search};
use super::palette::{Depth, Palette};
use super::row::{Group, Row};
use super::samples::{Sample, row};
use super::update::{Effect, Pause, update};
use super::view::View;
use crate::config::{TabStyle, Tabs};
use crate::queue::Standing;
use crate::roster::{End, State};
use crate::screen::width;
use crate::search::{Hit, Who};
use crate::session::Moment;

const SCREEN: Rect = Rect { x: 0, y: 0, width: 80, height: 24 };

fn id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn live(number: usize, state: State, title: &str) -> Row {
    let (pane, since) = (u32::try_from(number).ok(), number as u64);
    row(&Sample { id: &id(number), title, state, pane, since, ..Sample::default() })
}

fn past(number: usize, title: &str) -> Row {
    row(&Sample { id: &id(number), title, since: number as u64, ..Sample::default() })
}

/// Two that wait, one that runs, three of the past.
fn model() -> Model {
    let mut model = Model::new(SCREEN);
    model.set_live(vec![
        live(1, State::Waiting, "fix the login"),
        live(2, State::Waiting, "new page"),
        live(3, State::Running, "slow parser"),
    ]);
    model.add_past((10..13).map(|number| past(number, &format!("old {number}"))).collect());
    model.is_reading = false;
    model
}

fn tabs() -> Tabs {
    let style = |style: &str| TabStyle::Style(style.to_owned());
    let (idle, running, waiting) = (style("fg=#cdd3de"), style("fg=#6699cc"), style("fg=red"));
    Tabs { idle, running, waiting, debounce_ms: 0 }
}

fn press(model: &mut Model, inputs: impl IntoIterator<Item = Input>) -> Option<Effect> {
    inputs.into_iter().fold(None, |_, input| update(model, input, 0))
}

fn type_in(model: &mut Model, text: &str) -> Option<Effect> {
    press(model, text.chars().map(Input::Typed))
}

fn selected(model: &Model) -> &str {
    model.selected().map_or("nothing", |row| &row.title)
}

fn frame(model: &Model, area: Rect) -> Vec<String> {
    let mut buffer = Buffer::empty(area);
    View::new(Palette::new(Depth::True, &tabs())).draw(
        model,
        Moment::from_seconds(1000),
        &mut buffer,
    );
    let rows = (0..area.height).map(|y| {
        let mut line = String::new();
        let mut x = 0;
        while x < area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(width(symbol)).unwrap().max(1);
        }
        line
    });
    rows.collect()
}

#[track_caller]
fn check_frame(model: &Model, expected: &[&str]) {
    let frame = frame(model, SCREEN);
    let list: Vec<&str> =
        frame.iter().map(|line| line.split('│').next().unwrap().trim_end()).collect();
    assert_eq!(list[1..=expected.len()], *expected, "{frame:#?}");
}

#[test]
fn those_that_wait_come_first_then_those_that_run_then_the_past_from_its_end() {
    check_frame(
        &model(),
        &[
            "waiting 2",
            " [⏸]  16m fix the login           /srv/proj",
            " [⏸]  16m new page                /srv/proj",
            "running 1",
            " [▶]  16m slow parser             /srv/proj",
            "past 3",
            " [■]  16m old 12                  /srv/proj",
            " [■]  16m old 11                  /srv/proj",
            " [■]  16m old 10                  /srv/proj",
            "",
        ],
    );
}

#[test]
fn what_is_typed_filters_and_the_best_of_each_group_comes_first() {
    let mut model = model();
    model.add_past(vec![past(13, "a long login story"), past(9, "login")]);
    assert_eq!(type_in(&mut model, "login"), None);
    check_frame(
        &model,
        &[
            "waiting 1",
            " [⏸]  16m fix the login           /srv/proj",
            "past 2",
            " [■]  16m login                   /srv/proj",
            " [■]  16m a long login story      /srv/proj",
            "",
        ],
    );
    press(&mut model, [Input::DeleteAll]);
    assert_eq!(model.count(), (8, 8));
}

#[test]
fn letters_are_commands_until_something_is_typed() {
    let key = || model().selected().unwrap().key.clone();
    for (letter, effect) in [
        ('s', Effect::PutOff(key(), Pause::Minutes(20))),
        ('x', Effect::PutOff(key(), Pause::Skip)),
        ('y', Effect::CopyId(key())),
    ] {
        let mut model = model();
        assert_eq!(type_in(&mut model, &letter.to_string()), Some(effect.clone()));
        assert_eq!(type_in(&mut model, &format!("i{letter}")), None);
        assert_eq!(model.text, format!("i{letter}"));
        press(&mut model, [Input::DeleteAll, Input::Move(Motion::First)]);
        let command = Input::Command(Command::of(letter).unwrap());
        assert_eq!(press(&mut model, [Input::Typed(' '), command]), Some(effect));
        assert_eq!(model.text, " ");
        press(&mut model, [Input::DeleteAll]);
        assert_eq!(type_in(&mut model, &format!(" {letter}")), None);
        assert_eq!(model.text, format!(" {letter}"));
    }
}

#[test]
fn a_fork_is_asked_for_and_a_word_that_begins_like_it_is_a_filter() {
    let mut model = model();
    let key = model.selected().unwrap().key.clone();
    assert_eq!(type_in(&mut model, "f"), None);
    let frame = frame(&model, SCREEN);
    assert!(
        frame[23].starts_with(r#"Go on in a copy of "fix the login"? Enter yes"#),
        "{frame:#?}"
    );
    assert_eq!(press(&mut model, [Input::Enter]), Some(Effect::Fork(key)));
    assert_eq!(press(&mut model, [Input::Typed('f'), Input::Escape]), None);
    assert_eq!(model.text, "");
    type_in(&mut model, "fix");
    assert_eq!((model.text.as_str(), selected(&model)), ("fix", "fix the login"));
}

#[test]
fn a_session_that_ends_while_its_fork_is_asked_for_is_forked_from_the_past() {
    let mut model = model();
    type_in(&mut model, "f");
    model.set_live(Vec::new());
    model.add_past(vec![past(1, "fix the login")]);
    let frame = frame(&model, SCREEN);
    assert!(frame[23].starts_with(r#"Go on in a copy of "fix the login"?"#), "{frame:#?}");
    let key = past(1, "").key;
    assert_eq!(press(&mut model, [Input::Enter]), Some(Effect::Fork(key)));
}

#[test]
fn a_session_that_vanishes_while_its_fork_is_asked_for_is_said_to_be_gone() {
    let mut model = model();
    type_in(&mut model, "f");
    model.set_live(Vec::new());
    assert_eq!(press(&mut model, [Input::Enter]), None);
    assert_eq!(model.message, "this session is gone");
}

#[test]
fn only_what_waits_can_be_put_off() {
    let mut model = model();
    press(&mut model, [Input::Move(Motion::Last)]);
    assert_eq!(type_in(&mut model, "s"), None);
    assert_eq!(model.message, "only a session that waits can be put off");
    press(&mut model, [Input::Move(Motion::Up)]);
    assert_eq!(model.message, "");
}

#[test]
fn what_was_put_off_leaves_the_choice_with_the_next_and_can_be_taken_back() {
    let mut model = model();
    type_in(&mut model, "s");
    assert_eq!(selected(&model), "new page");
    let snoozed = live(1, State::Waiting, "fix the login")
        .in_queue(Standing::Snoozed(Moment::from_seconds(1000 + 20 * 60)));
    model.set_live(vec![live(2, State::Waiting, "new page"), snoozed]);
    check_frame(&model, &["waiting 1", " [⏸]  16m new page                /srv/proj", "later 1"]);
    assert_eq!(selected(&model), "new page");
    press(&mut model, [Input::Move(Motion::Down)]);
    model.resize(Rect::new(0, 0, 120, 24));
    let wide = frame(&model, Rect::new(0, 0, 120, 24)).concat();
    assert!(wide.contains("[⏸] waiting: permission, 16m, snoozed 20m"), "{wide}");
    let key = model.selected().unwrap().key.clone();
    assert_eq!(type_in(&mut model, "s"), Some(Effect::TakeBack(key)));
    assert_eq!(selected(&model), "fix the login");
}

#[test]
fn the_choice_stays_with_its_session_whatever_comes_and_goes() {
    let mut model = model();
    press(&mut model, [Input::Move(Motion::Down), Input::Move(Motion::Down)]);
    assert_eq!(selected(&model), "slow parser");
    model.set_live(vec![
        live(5, State::Waiting, "one more"),
        live(1, State::Waiting, "fix the login"),
        live(3, State::Running, "slow parser"),
    ]);
    assert_eq!(selected(&model), "slow parser");
    model.add_past(vec![past(3, "slow parser")]);
    model.set_live(vec![live(3, State::Waiting, "slow parser")]);
    assert_eq!((selected(&model), model.count()), ("slow parser", (4, 4)));
    // It ended, and only its transcript is left.
    model.set_live(Vec::new());
    assert_eq!((selected(&model), model.selected().unwrap().group), ("slow parser", Group::Past));
    model.drop_past(&std::iter::once(model.selected().unwrap().key.id.clone()).collect());
    assert_eq!(selected(&model), "old 10", "the one that is in its place");
}

#[test]
fn sessions_that_come_before_those_in_panes_do_not_take_the_choice() {
    let mut model = Model::new(SCREEN);
    model.add_past(vec![past(10, "old")]);
    assert_eq!(selected(&model), "old");
    model.set_live(vec![live(1, State::Waiting, "fix the login")]);
    assert_eq!(selected(&model), "fix the login");
}

#[test]
fn the_choice_is_the_first_until_somebody_chooses_or_all_are_read() {
    let mut model = Model::new(SCREEN);
    model.set_live(Vec::new());
    model.add_past(vec![past(10, "old")]);
    model.add_past(vec![past(11, "newer")]);
    assert_eq!(selected(&model), "newer");
    press(&mut model, [Input::Move(Motion::First)]);
    model.add_past(vec![past(12, "newest")]);
    assert_eq!(selected(&model), "newer");
    let mut model = self::model();
    model.add_past(vec![past(13, "newest")]);
    model.set_live(Vec::new());
    assert_eq!(selected(&model), "newest", "the one that is in its place");
}

#[test]
fn a_session_that_is_open_is_not_shown_as_past_too() {
    let mut model = model();
    model.add_past(vec![past(1, "fix the login")]);
    assert_eq!(model.count(), (6, 6));
}

#[test]
fn a_double_click_goes_where_a_click_only_chooses() {
    let mut model = model();
    let page = Input::Click { x: 5, y: 3 };
    assert_eq!(update(&mut model, page.clone(), 1000), None);
    assert_eq!(selected(&model), "new page");
    assert_eq!(update(&mut model, page.clone(), 2000), None, "too late");
    let key = model.selected().unwrap().key.clone();
    assert_eq!(update(&mut model, page, 2300), Some(Effect::Go(key)));
    for nowhere in [(5, 1), (60, 3), (5, 0), (5, 20), (5, 23)] {
        let (x, y) = nowhere;
        assert_eq!(update(&mut model, Input::Click { x, y }, 9000), None);
        assert_eq!(selected(&model), "new page", "{nowhere:?}");
    }
}

#[test]
fn the_wheel_moves_what_is_below_it() {
    let mut model = model();
    press(&mut model, [Input::Wheel { x: 5, y: 5, down: true }]);
    assert_eq!(selected(&model), "old 12");
    press(&mut model, [Input::Wheel { x: 5, y: 5, down: false }]);
    assert_eq!(selected(&model), "fix the login");
    let lines: Vec<String> = (0..100).map(|number| format!("line {number}")).collect();
    let mut preview = super::preview::Preview::of(model.selected().unwrap().key.clone());
    preview.add("claude", &lines.join("\n"));
    model.preview = preview;
    assert!(frame(&model, SCREEN).concat().contains("line 1 "));
    press(&mut model, [Input::Wheel { x: 60, y: 5, down: true }]);
    let scrolled = frame(&model, SCREEN).concat();
    assert!(!scrolled.contains("line 1 ") && scrolled.contains("line 2 "), "{scrolled}");
    press(&mut model, [Input::Move(Motion::Down), Input::Move(Motion::Up)]);
    assert!(frame(&model, SCREEN).concat().contains("line 1 "));
}

#[test]
fn help_is_left_with_any_key_and_does_nothing_else() {
    let mut model = model();
    type_in(&mut model, "?");
    assert!(frame(&model, SCREEN).concat().contains("copy the id"));
    assert_eq!(press(&mut model, [Input::Escape]), None);
    assert!(!frame(&model, SCREEN).concat().contains("choose from afar"));
    assert_eq!(press(&mut model, [Input::Escape]), Some(Effect::Leave));
}

fn hit(text: &str, mark: std::ops::Range<usize>) -> Hit {
    let context =
        crate::search::Context { text: text.to_owned(), marks: vec![mark], is_cut: (false, false) };
    Hit::sample(Who::ToolResult, context)
}

#[test]
fn a_slash_turns_the_filter_into_a_search_and_escape_turns_it_back() {
    let mut model = model();
    assert_eq!(type_in(&mut model, "/"), Some(Effect::Search));
    assert!(frame(&model, SCREEN)[0].starts_with("/  "));
    assert_eq!(type_in(&mut model, "s"), Some(Effect::Search), "a letter is text at once");
    assert_eq!(type_in(&mut model, "rc/main.rs ?"), Some(Effect::Search), "and so is a slash");
    assert_eq!(model.text, "src/main.rs ?");
    assert_eq!(press(&mut model, [Input::Escape]), Some(Effect::Search));
    assert_eq!((model.mode, model.text.as_str(), model.count()), (Mode::Filter, "", (6, 6)));
    type_in(&mut model, "login/");
    assert_eq!((model.mode == Mode::Filter, model.text.as_str()), (false, "login"));
    press(&mut model, [Input::DeleteAll, Input::Backspace]);
    assert_eq!(model.mode, Mode::Filter);
}

#[test]
fn whoever_presses_enter_before_anything_is_there_is_told() {
    let mut model = model();
    type_in(&mut model, "/panicked");
    model.mode = Mode::Search(Search::Running(7));
    assert_eq!(press(&mut model, [Input::Enter]), None);
    assert!(frame(&model, SCREEN)[23].starts_with("nothing was found yet"));
    press(&mut model, [Input::Escape]);
    type_in(&mut model, "nothing is called like this");
    assert_eq!(press(&mut model, [Input::Enter]), None);
    assert!(frame(&model, SCREEN)[23].starts_with("there is nothing to go to"));
}

#[test]
fn what_was_found_is_shown_as_it_comes_and_an_open_session_as_open() {
    let mut model = model();
    type_in(&mut model, "/panicked");
    model.add_found(past(12, "old 12"), vec![hit("it panicked twice", 3..11)]);
    press(&mut model, [Input::Move(Motion::Down)]);
    model.add_found(past(3, "slow parser"), vec![hit("panicked", 0..8)]);
    check_frame(
        &model,
        &[
            "found 2",
            " [■]  16m old 12                  /srv/proj",
            " [▶]  16m slow parser             /srv/proj",
            "",
        ],
    );
    assert_eq!(selected(&model), "old 12");
    let hits = model.hits().unwrap();
    assert_eq!(hits[0].context.text, "it panicked twice");
    press(&mut model, [Input::Move(Motion::Down)]);
    let effect = press(&mut model, [Input::Enter]);
    assert_eq!(effect, Some(Effect::Go(live(3, State::Running, "").key)), "to its pane");
}

#[test]
fn what_was_searched_for_is_marked_in_the_preview_also_across_lines() {
    let key = past(1, "x").key;
    let hit = hit("a long line with the words we want in it", 21..34);
    let preview = super::preview::Preview::of_hits(key, &[hit]);
    let lines = preview.wrapped(26);
    let marked: Vec<&str> = lines
        .iter()
        .flat_map(|line| line.marks.iter().map(|mark| &line.text[mark.clone()]))
        .collect();
    assert_eq!(marked, ["words", "we want"], "{lines:?}");
}

#[test]
fn wide_letters_leave_the_line_beside_them_where_it_is() {
    let mut model = Model::new(SCREEN);
    let titles = [
        "日本語のテストを直してください、お願いします",
        "🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉",
        "ascii",
        "e\u{301}e\u{301}",
        "👍🏽 ok ❤️",
    ];
    let rows = titles.iter().enumerate().map(|(at, title)| past(at, title)).collect();
    model.add_past(rows);
    for area in [SCREEN, Rect::new(0, 0, 200, 60), Rect::new(0, 0, 97, 30)] {
        model.resize(area);
        let frame = frame(&model, area);
        let before: Vec<usize> = frame[1..usize::from(area.height) - 1]
            .iter()
            .map(|line| width(line.split('│').next().unwrap()))
            .collect();
        let list = usize::from(model.layout.list.width);
        assert!(before.iter().all(|columns| *columns == list), "{frame:#?}");
    }
}

#[test]
fn without_colours_there_are_none() {
    let model = model();
    let mut buffer = Buffer::empty(SCREEN);
    View::new(Palette::new(Depth::Plain, &tabs())).draw(
        &model,
        Moment::from_seconds(1000),
        &mut buffer,
    );
    use ratatui::style::Color::Reset;
    assert!(buffer.content().iter().all(|cell| (cell.fg, cell.bg) == (Reset, Reset)));
}

/// Something that happens to the picker.
#[derive(Debug, Clone)]
enum Event {
    Input(Input),
    Live(Vec<(usize, State)>),
    Past(Vec<usize>),
    Gone(usize),
    Found(usize),
}

fn inputs() -> impl Strategy<Value = Input> {
    let motions = prop::sample::select(vec![
        Motion::Up,
        Motion::Down,
        Motion::PageUp,
        Motion::PageDown,
        Motion::First,
        Motion::Last,
        Motion::PreviewUp,
        Motion::PreviewDown,
    ]);
    let others = prop::sample::select(vec![
        Input::Enter,
        Input::Escape,
        Input::Interrupt,
        Input::Backspace,
        Input::DeleteWord,
        Input::DeleteAll,
    ]);
    let commands = prop::sample::select(vec!['s', 'x', 'f', 'y', '?', '/']);
    prop_oneof![
        prop_oneof!["[a-z sxfy/?日🎉^$!']", "\\PC"]
            .prop_map(|text: String| { Input::Typed(text.chars().next().unwrap_or('a')) }),
        any::<String>().prop_map(Input::Pasted),
        commands.prop_map(|letter| Input::Command(Command::of(letter).unwrap())),
        motions.prop_map(Input::Move),
        others,
        (0_u16..130, 0_u16..50).prop_map(|(x, y)| Input::Click { x, y }),
        (0_u16..130, 0_u16..50, any::<bool>()).prop_map(|(x, y, down)| Input::Wheel { x, y, down }),
        (0_u16..130, 0_u16..50).prop_map(|(x, y)| Input::Resize(Rect::new(0, 0, x, y))),
    ]
}

fn events() -> impl Strategy<Value = Event> {
    let states = prop::sample::select(vec![
        State::Waiting,
        State::Running,
        State::Idle,
        State::Unknown,
        State::Ended(End::Killed),
    ]);
    prop_oneof![
        6 => inputs().prop_map(Event::Input),
        1 => prop::collection::vec((0_usize..12, states), 0..8).prop_map(Event::Live),
        1 => prop::collection::vec(0_usize..40, 0..20).prop_map(Event::Past),
        1 => (0_usize..40).prop_map(Event::Gone),
        1 => (0_usize..40).prop_map(Event::Found),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_happens_one_of_those_shown_is_chosen_and_every_screen_can_be_drawn(
        events in prop::collection::vec(events(), 0..60),
    ) {
        let mut model = model();
        let mut area = SCREEN;
        for (now, event) in events.into_iter().enumerate() {
            let before = model.selected().map(|row| row.key.id.clone());
            let mut is_told = true;
            match event {
                Event::Input(input) => {
                    is_told = false;
                    if let Input::Resize(new) = input {
                        area = new;
                    }
                    let effect = update(&mut model, input, now as u64 * 100);
                    if let Some(Effect::Go(key) | Effect::Fork(key) | Effect::CopyId(key)) = effect {
                        prop_assert!(model.row_of(&key).is_some());
                    }
                }
                Event::Live(rows) => {
                    let row = |(number, state)| live(number, state, "日本 live 🎉 title");
                    model.set_live(rows.into_iter().map(row).collect());
                }
                Event::Past(numbers) => {
                    let row = |number| past(number, "an old\u{301} title");
                    let unique: std::collections::BTreeSet<usize> = numbers.into_iter().collect();
                    model.add_past(unique.into_iter().map(row).collect());
                }
                Event::Found(number) if model.mode != Mode::Filter => {
                    let id = crate::session::SessionId::parse(&id(number)).unwrap();
                    if !model.fits(&id) {
                        model.add_found(past(number, "found"), vec![hit("日本 x", 0..6)]);
                    }
                }
                Event::Found(_) => {}
                Event::Gone(number) => {
                    let id = crate::session::SessionId::parse(&id(number)).unwrap();
                    model.drop_past(&std::iter::once(id).collect());
                }
            }
            let (shown, all) = model.count();
            prop_assert!(shown <= all);
            prop_assert_eq!(model.selected().is_some(), shown > 0);
            let after = model.selected().map(|row| &row.key.id);
            if let Some(before) = before.filter(|_| is_told) && model.fits(&before) {
                prop_assert_eq!(after, Some(&before), "the choice moved by itself");
            }
            let lines: Vec<_> = model.lines().collect();
            if shown > 0 && model.layout.list.height > 0 {
                let chosen = |line: &super::model::Line<'_>| {
                    matches!(line, super::model::Line::Row { is_selected: true, .. })
                };
                prop_assert_eq!(lines.iter().filter(|line| chosen(line)).count(), 1);
            }
            for line in frame(&model, area) {
                prop_assert_eq!(width(&line), usize::from(area.width), "{:?}", line);
            }
        }
    }
}
