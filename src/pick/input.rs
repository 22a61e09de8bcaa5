//! What the person did: keys and mouse, without how a terminal tells of them. Pure.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::Rect;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Typed(char),
    Pasted(String),
    Command(Command),
    Enter,
    Escape,
    Interrupt,
    Move(Motion),
    Backspace,
    DeleteWord,
    DeleteAll,
    Click { x: u16, y: u16 },
    Wheel { x: u16, y: u16, down: bool },
    Resize(Rect),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    PreviewUp,
    PreviewDown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Snooze,
    Skip,
    Fork,
    CopyId,
    Help,
    Search,
}

impl Command {
    pub(super) fn of(letter: char) -> Option<Self> {
        Some(match letter {
            's' => Self::Snooze,
            'x' => Self::Skip,
            'f' => Self::Fork,
            'y' => Self::CopyId,
            '?' => Self::Help,
            '/' => Self::Search,
            _ => return None,
        })
    }
}

impl Input {
    pub(super) fn of(event: Event) -> Option<Self> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
            Event::Mouse(mouse) => of_mouse(mouse),
            Event::Paste(text) => Some(Self::Pasted(text)),
            Event::Resize(width, height) => Some(Self::Resize(Rect::new(0, 0, width, height))),
            _ => None,
        }
    }
}

fn of_key(key: KeyEvent) -> Option<Input> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    Some(match key.code {
        KeyCode::Char(letter) if control => return of_control(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) if alt => Input::Command(Command::of(letter)?),
        KeyCode::Char(letter) => Input::Typed(letter),
        KeyCode::F(1) => Input::Command(Command::Help),
        KeyCode::Enter => Input::Enter,
        KeyCode::Esc => Input::Escape,
        KeyCode::Backspace => Input::Backspace,
        KeyCode::Up if shift || alt => Input::Move(Motion::PreviewUp),
        KeyCode::Down if shift || alt => Input::Move(Motion::PreviewDown),
        KeyCode::Up | KeyCode::BackTab => Input::Move(Motion::Up),
        KeyCode::Down | KeyCode::Tab => Input::Move(Motion::Down),
        KeyCode::PageUp => Input::Move(Motion::PageUp),
        KeyCode::PageDown => Input::Move(Motion::PageDown),
        KeyCode::Home => Input::Move(Motion::First),
        KeyCode::End => Input::Move(Motion::Last),
        _ => return None,
    })
}

fn of_control(letter: char) -> Option<Input> {
    Some(match letter {
        'c' | 'g' => Input::Interrupt,
        'n' | 'j' => Input::Move(Motion::Down),
        'p' | 'k' => Input::Move(Motion::Up),
        'd' | 'f' => Input::Move(Motion::PageDown),
        'b' => Input::Move(Motion::PageUp),
        'h' => Input::Backspace,
        'w' => Input::DeleteWord,
        'u' => Input::DeleteAll,
        'm' => Input::Enter,
        _ => return None,
    })
}

fn of_mouse(mouse: MouseEvent) -> Option<Input> {
    let MouseEvent { column: x, row: y, .. } = mouse;
    Some(match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => Input::Click { x, y },
        MouseEventKind::ScrollDown => Input::Wheel { x, y, down: true },
        MouseEventKind::ScrollUp => Input::Wheel { x, y, down: false },
        _ => return None,
    })
}
