//! The small sections: how tabs look, how states are shown, which keys are bound.

use super::reader::Section;
use super::values::{Icons, Key, TabStyle};

/// `[tabs]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tabs {
    pub idle: TabStyle,
    pub running: TabStyle,
    pub waiting: TabStyle,
    pub debounce_ms: u64,
}

impl Tabs {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        let colour = |colour: &str| TabStyle::Style(format!("fg={colour}"));
        Self {
            idle: section.get(
                "idle",
                colour("#cdd3de"),
                "Tab of a window where Claude waits for nothing: a tmux style, or \"theme\" for none of cld's",
            ),
            running: section.get("running", colour("#6699cc"), "Tab while Claude works"),
            waiting: section.get("waiting", colour("#EC5f67"), "Tab while something waits for you"),
            debounce_ms: section.get(
                "debounce_ms",
                0,
                "How long the end of a turn has to last before it is shown and told, in milliseconds",
            ),
        }
    }
}

/// `[display]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    pub icons: Icons,
}

impl Display {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        let about = "Characters for the states: \"unicode\", or \"ascii\" for fonts without them";
        Self { icons: section.get("icons", Icons::Unicode, about) }
    }
}

/// `[keys]`: what is pressed after the prefix of tmux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    pub next: Option<Key>,
    pub back: Option<Key>,
    pub queue: Option<Key>,
    pub pick: Option<Key>,
}

impl Keys {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        Self {
            next: section.get(
                "next",
                None,
                "Key after the prefix that goes to the next session that waits, such as \"n\" or \"M-n\"",
            ),
            back: section.get("back", None, "Key that goes back to where you were"),
            queue: section.get("queue", None, "Key that lists what waits"),
            pick: section.get("pick", None, "Key that opens the picker"),
        }
    }
}
