//! One input and what follows from it: a changed model, and perhaps something to be done. Pure.
//!
//! Letters are commands as long as nothing was typed to filter by; from then on they are text, and
//! commands take Alt. A blank typed first begins a filter with any letter.

use super::input::{Command, Input, Motion};
use super::layout::Layout;
use super::model::{Mode, Model, Overlay, Search};
use super::row::{Group, Key};
use crate::text::is_unsafe;

/// Two clicks on one row within this time, in milliseconds, are a double click.
const DOUBLE_CLICK: u64 = 400;
/// How many rows or lines one notch of the wheel moves.
const NOTCH: usize = 3;
/// How long a session is snoozed, in minutes.
const SNOOZE: u64 = 20;
/// Whoever types more than this pastes by mistake.
const LONGEST_TEXT: usize = 256;

/// What is to be done outside of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Leave,
    /// To the pane of the session, or back into it where it has ended.
    Go(Key),
    Fork(Key),
    PutOff(Key, Pause),
    TakeBack(Key),
    CopyId(Key),
    /// The text is to be searched for, and nothing else any more; nothing where it is empty.
    Search,
}

/// How long a session that waits is left out of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    Minutes(u64),
    /// Until it waits for something new.
    Skip,
}

/// `now` is in milliseconds from any moment on.
pub(super) fn update(model: &mut Model, input: Input, now: u64) -> Option<Effect> {
    if let Input::Resize(area) = input {
        model.resize(area);
        return None;
    }
    model.touch();
    model.message.clear();
    let before = model.text.clone();
    let was_search = model.mode != Mode::Filter;
    let effect = match std::mem::take(&mut model.overlay) {
        Overlay::None => act(model, input, now),
        Overlay::Help => (input == Input::Interrupt).then_some(Effect::Leave),
        Overlay::Fork { key, typed } => answer(model, input, now, &key, typed),
    };
    let is_search = model.mode != Mode::Filter;
    let is_other = is_search != was_search || is_search && model.text != before;
    effect.or_else(|| is_other.then_some(Effect::Search))
}

fn act(model: &mut Model, input: Input, now: u64) -> Option<Effect> {
    match input {
        Input::Typed(letter) => match command(model, letter) {
            Some(command) => return obey(model, command, Some(letter)),
            None => type_text(model, letter.encode_utf8(&mut [0; 4])),
        },
        Input::Pasted(text) => type_text(model, &text),
        Input::Command(command) => return obey(model, command, None),
        Input::Enter => return enter(model),
        Input::Escape if model.mode != Mode::Filter => leave_search(model),
        Input::Escape | Input::Interrupt => return Some(Effect::Leave),
        Input::Move(motion) => go(model, motion),
        Input::Backspace if model.text.is_empty() => leave_search(model),
        Input::Backspace => {
            let mut text = model.text.clone();
            text.pop();
            model.set_text(text);
        }
        Input::DeleteWord => {
            let kept = model.text.trim_end();
            let kept = kept.rfind(' ').map_or("", |at| &kept[..=at]);
            model.set_text(kept.to_owned());
        }
        Input::DeleteAll => model.set_text(String::new()),
        Input::Click { x, y } => return click(model, x, y, now),
        Input::Wheel { x, y, down } => wheel(model, x, y, down),
        Input::Resize(_) => {}
    }
    None
}

/// What a typed letter means, where it is not just text.
fn command(model: &Model, letter: char) -> Option<Command> {
    let is_search = model.mode != Mode::Filter;
    match Command::of(letter)? {
        // Whoever has filtered in vain goes on with the same words.
        Command::Search if !is_search => Some(Command::Search),
        command if !is_search && model.text.is_empty() => Some(command),
        _ => None,
    }
}

fn enter(model: &mut Model) -> Option<Effect> {
    let chosen = model.selected().map(|row| row.key.clone());
    if chosen.is_none() {
        let why = match model.mode {
            Mode::Search(Search::Running(_)) => "nothing was found yet",
            Mode::Search(Search::Done) | Mode::Filter => "there is nothing to go to",
        };
        why.clone_into(&mut model.message);
    }
    chosen.map(Effect::Go)
}

fn leave_search(model: &mut Model) {
    if model.mode != Mode::Filter {
        model.set_mode(Mode::Filter);
        model.set_text(String::new());
    }
}

/// Whether a session is to be forked. A letter that follows on the one that asked for it shows that
/// both were meant for the filter.
fn answer(
    model: &mut Model,
    input: Input,
    now: u64,
    key: &Key,
    typed: Option<char>,
) -> Option<Effect> {
    match (input, typed) {
        (Input::Enter, _) => {
            let there = model.row_of(key).map(|row| row.key.clone());
            if there.is_none() {
                "this session is gone".clone_into(&mut model.message);
            }
            there.map(Effect::Fork)
        }
        (Input::Interrupt, _) => Some(Effect::Leave),
        (Input::Typed(letter), Some(first)) => {
            type_text(model, &format!("{first}{letter}"));
            None
        }
        (Input::Escape | Input::Typed(_), _) => None,
        (other, _) => act(model, other, now),
    }
}

fn obey(model: &mut Model, command: Command, typed: Option<char>) -> Option<Effect> {
    match command {
        Command::Help => model.overlay = Overlay::Help,
        Command::Search => model.set_mode(Mode::Search(Search::Done)),
        _ => return obey_for_row(model, command, typed),
    }
    None
}

fn obey_for_row(model: &mut Model, command: Command, typed: Option<char>) -> Option<Effect> {
    let row = model.selected()?;
    let (key, group) = (row.key.clone(), row.group);
    match command {
        Command::Fork => {
            model.overlay = Overlay::Fork { key, typed };
            None
        }
        Command::CopyId => Some(Effect::CopyId(key)),
        Command::Snooze => put_off(model, key, group, Pause::Minutes(SNOOZE)),
        Command::Skip => put_off(model, key, group, Pause::Skip),
        Command::Help | Command::Search => None,
    }
}

/// The same key takes back what it has done.
fn put_off(model: &mut Model, key: Key, group: Group, pause: Pause) -> Option<Effect> {
    match group {
        Group::Waiting => {
            model.move_off();
            Some(Effect::PutOff(key, pause))
        }
        Group::Later => Some(Effect::TakeBack(key)),
        Group::Running | Group::Past | Group::Found => {
            "only a session that waits can be put off".clone_into(&mut model.message);
            None
        }
    }
}

fn type_text(model: &mut Model, typed: &str) {
    let mut text = model.text.clone();
    let harmless = typed.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    text.extend(harmless.filter(|c| !is_unsafe(*c)));
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    model.set_text(text);
}

fn go(model: &mut Model, motion: Motion) {
    let page = isize::from(page(&model.layout));
    match motion {
        Motion::Up => model.move_by(-1),
        Motion::Down => model.move_by(1),
        Motion::PageUp => model.move_by(-page),
        Motion::PageDown => model.move_by(page),
        Motion::First => model.move_to(0),
        Motion::Last => model.move_to(usize::MAX),
        Motion::PreviewUp => model.preview_top = model.preview_top.saturating_sub(1),
        Motion::PreviewDown => model.scroll_preview(1),
    }
}

fn page(layout: &Layout) -> i16 {
    i16::try_from(layout.list.height.saturating_sub(2).max(1)).unwrap_or(i16::MAX)
}

fn click(model: &mut Model, x: u16, y: u16, now: u64) -> Option<Effect> {
    let line = model.layout.line_at(x, y)?;
    let row = model.row_on(line)?;
    let before = model.last_click.replace((now, row));
    let is_double = before.is_some_and(|(then, same)| {
        same == row && model.is_at(row) && now.saturating_sub(then) <= DOUBLE_CLICK
    });
    model.move_to(row);
    if is_double { model.selected().map(|row| Effect::Go(row.key.clone())) } else { None }
}

fn wheel(model: &mut Model, x: u16, y: u16, down: bool) {
    if model.layout.is_in_preview(x, y) {
        match down {
            true => model.scroll_preview(NOTCH),
            false => model.preview_top = model.preview_top.saturating_sub(NOTCH),
        }
    } else {
        let notch = NOTCH.cast_signed();
        model.move_by(if down { notch } else { -notch });
    }
}
