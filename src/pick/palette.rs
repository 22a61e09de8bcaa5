//! The colours, as the tabs have them. Pure.

use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};

use super::row::Group;
use crate::config::{TabStyle, Tabs};
use crate::roster::State;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// No colours at all, only bold, faint and reversed text.
    Plain,
    /// The 256 colours that every terminal has.
    Indexed,
    True,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Palette {
    waiting: Style,
    running: Style,
    idle: Style,
    added: Style,
    removed: Style,
}

impl Palette {
    pub(super) fn new(depth: Depth, tabs: &Tabs) -> Self {
        let of_tab = |style: &TabStyle| match style {
            TabStyle::Theme => Style::new(),
            TabStyle::Style(style) => painted(foreground(style), depth),
        };
        Self {
            waiting: of_tab(&tabs.waiting),
            running: of_tab(&tabs.running),
            idle: of_tab(&tabs.idle),
            added: painted(Some(Color::Green), depth),
            removed: painted(Some(Color::Red), depth),
        }
    }

    pub(super) fn state(&self, state: State) -> Style {
        match state {
            State::Waiting => self.waiting,
            State::Running => self.running,
            State::Idle | State::Unknown => self.idle,
            State::Ended(_) => self.faint(),
        }
    }

    pub(super) fn group(&self, group: Group) -> Style {
        let style = match group {
            Group::Waiting => self.waiting,
            Group::Running | Group::Found => self.running,
            Group::Later | Group::Past => self.faint(),
        };
        style.add_modifier(Modifier::BOLD)
    }

    pub(super) fn heading(&self) -> Style {
        self.running.add_modifier(Modifier::BOLD)
    }

    /// What was searched for.
    pub(super) fn found(&self) -> Style {
        self.waiting.add_modifier(Modifier::BOLD | Modifier::REVERSED)
    }

    pub(super) fn added(&self) -> Style {
        self.added
    }

    pub(super) fn removed(&self) -> Style {
        self.removed
    }

    pub(super) fn faint(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What was typed to filter by.
    pub(super) fn mark(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }
}

/// The colour of the letters in a style of tmux: `fg=#6699cc,bold`, `fg=colour68`, `fg=red`.
fn foreground(style: &str) -> Option<Color> {
    let mut parts = style.split([',', ' ']);
    let colour = parts.rfind(|part| part.starts_with("fg="))?.strip_prefix("fg=")?;
    let number = ["colour", "color"].iter().find_map(|prefix| colour.strip_prefix(prefix));
    Color::from_str(number.unwrap_or(colour)).ok()
}

fn painted(colour: Option<Color>, depth: Depth) -> Style {
    match (colour, depth) {
        (None, _) | (_, Depth::Plain) => Style::new(),
        (Some(Color::Rgb(red, green, blue)), Depth::Indexed) => {
            Style::new().fg(Color::Indexed(nearest([red, green, blue])))
        }
        (Some(colour), _) => Style::new().fg(colour),
    }
}

/// The nearest of the 216 colours that mix six steps of red, green and blue.
fn nearest(colour: [u8; 3]) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |part: u8| (0..6).min_by_key(|at| STEPS[usize::from(*at)].abs_diff(part));
    let [red, green, blue] = colour.map(|part| step(part).unwrap_or(0));
    16 + 36 * red + 6 * green + blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_from_styles_of_tmux() {
        for (style, expected) in [
            ("fg=#EC5f67", Some(Color::Rgb(0xec, 0x5f, 0x67))),
            ("bg=red,fg=colour68,bold", Some(Color::Indexed(68))),
            ("fg=red", Some(Color::Red)),
            ("fg=default", None),
            ("bold", None),
        ] {
            assert_eq!(foreground(style), expected, "{style}");
        }
    }

    #[test]
    fn a_terminal_with_256_colours_gets_the_nearest() {
        for (colour, expected) in
            [([0xec, 0x5f, 0x67], 203), ([0x66, 0x99, 0xcc], 68), ([0, 0, 0], 16), ([255; 3], 231)]
        {
            assert_eq!(nearest(colour), expected);
        }
    }
}
