//! The memory of a pane inside the tmux server: small values that only batches read.
//!
//! Most registers hold the moment of the newest event that set something, so that an older one
//! that arrives later changes nothing; `MOMENT WORD` also carries the value, a word of seven
//! letters. Moments have a fixed width and compare as strings. A register that lies further in the
//! future than a minute was written before the clock was set back, and counts as old.

use crate::session::Moment;
use crate::tmux::{Batch, Place};

use super::format::{all, any};
use super::moments;

const CLOCK_TOLERANCE_SECONDS: u64 = 60;

/// How much is remembered of ended calls, in characters: about forty.
const REMEMBERED_CALLS: usize = 1600;

/// Whether an event is newer than all that were seen in its pane. Nearly all are, and for those
/// every question about time has its answer when the batch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Newest,
    Late,
}

#[derive(Debug)]
pub(super) struct Registers {
    pub(super) pane: String,
    pub(super) began: Moment,
    order: Order,
    store: Store,
}

/// Setting an option makes tmux redraw every client; the hidden environment is as good a store and
/// redraws nothing, but needs tmux 3.2.
#[derive(Debug)]
enum Store {
    Environment { pane_number: u32 },
    PaneOptions,
}

impl Registers {
    pub(super) fn new(place: &Place, began: Moment, order: Order) -> Self {
        let store = if place.server.hidden_environment {
            Store::Environment { pane_number: place.pane.0 }
        } else {
            Store::PaneOptions
        };
        Self { pane: place.pane.to_string(), began, order, store }
    }

    /// Stores foreign text as it is, where formats can copy it from.
    pub(super) fn stage(&self, batch: &mut Batch, register: &str, data: &str) {
        let name = self.name(register);
        match self.store {
            Store::Environment { .. } => batch.push(["setenv", "-gh", &name, data]),
            Store::PaneOptions => batch.push(["set", "-p", "-t", &self.pane, &name, data]),
        }
    }

    /// Sets a register to what a format gives.
    pub(super) fn set(&self, batch: &mut Batch, register: &str, format: &str) {
        let name = self.name(register);
        match self.store {
            Store::PaneOptions => self.set_option(batch, &name, format),
            Store::Environment { .. } if format.contains('#') => {
                batch.push(["setenv", "-ghF", "-t", &self.pane, &name, format]);
            }
            Store::Environment { .. } => batch.push(["setenv", "-gh", &name, format]),
        }
    }

    /// Sets an option of the pane to what a format gives.
    pub(super) fn set_option(&self, batch: &mut Batch, option: &str, format: &str) {
        if !format.contains('#') {
            batch.push(["set", "-p", "-t", &self.pane, option, format]);
            return;
        }
        let format = match self.store {
            Store::Environment { .. } => format.to_owned(),
            // Where there is no hidden environment, `set -F` expands for the window's active pane,
            // whatever the target is. A loop over the panes reaches the right one.
            Store::PaneOptions => {
                format!("#{{P:#{{?#{{==:#{{pane_id}},{}}},{format},}}}}", self.pane)
            }
        };
        batch.push(["set", "-pF", "-t", &self.pane, option, &format]);
    }

    /// Sets a register to this event's moment and a word, unless a newer event has set it.
    pub(super) fn set_newest(&self, batch: &mut Batch, register: &str, word: &str) {
        let blank = if word.is_empty() { "" } else { " " };
        let own = format!("{}{blank}{word}", self.began);
        match self.order {
            Order::Newest => self.set(batch, register, &own),
            Order::Late => {
                let old = self.read(register);
                self.set(batch, register, &format!("#{{?{},{own},{old}}}", self.is_older(&old)));
            }
        }
    }

    /// Sets a register to a word; a late event sets nothing.
    pub(super) fn set_if_newest(&self, batch: &mut Batch, register: &str, word: &str) {
        match self.order {
            Order::Newest => self.set(batch, register, word),
            Order::Late => {}
        }
    }

    /// Whether this batch is the one for a late event.
    pub(super) fn is_late_order(&self) -> String {
        u8::from(self.order == Order::Late).to_string()
    }

    /// Adds to the calls that ended. They are kept so that a request for permission that arrives
    /// after the end of its own call does not open a wait that nothing would end.
    pub(super) fn add_call(&self, batch: &mut Batch, which: &str) {
        let calls = self.name("calls");
        let added = format!("#{{=-{REMEMBERED_CALLS}:{calls}}} {which}@{}", self.began);
        self.set(batch, "calls", &added);
    }

    /// Whether a call that fits the pattern ended after this event began.
    pub(super) fn call_ended(&self, pattern: &str) -> String {
        match self.order {
            Order::Newest => "0".to_owned(),
            Order::Late => format!("#{{m/r: {pattern}@{},{}}}", self.after(), self.read("calls")),
        }
    }

    /// Whether a batch that takes the event for the newest is wrong.
    pub(super) fn is_late(&self) -> String {
        match self.order {
            // Also when the clock was set back: the careful batch that follows sorts that out.
            Order::Newest => format!("#{{>:{},{}}}", self.read("newest"), self.began),
            Order::Late => "0".to_owned(),
        }
    }

    /// Whether this event was the last to set a register.
    pub(super) fn is_own(&self, register: &str) -> String {
        match self.order {
            Order::Newest => "1".to_owned(),
            Order::Late => format!("#{{==:{},{}}}", self.read(register), self.began),
        }
    }

    /// Whether a newer event has set a register.
    pub(super) fn is_passed(&self, register: &str) -> String {
        self.is_newer(&self.read(register))
    }

    pub(super) fn is_older(&self, value: &str) -> String {
        match self.order {
            Order::Newest => "1".to_owned(),
            Order::Late => any(&[
                format!("#{{<:{value},{}}}", self.began),
                format!("#{{>:{value},{}}}", self.too_late()),
            ]),
        }
    }

    pub(super) fn is_newer(&self, value: &str) -> String {
        match self.order {
            Order::Newest => "0".to_owned(),
            Order::Late => self.compared_newer(value),
        }
    }

    /// A pattern for the moments of waits that are older than this event.
    pub(super) fn before(&self) -> String {
        match self.order {
            Order::Newest => "[0-9]*".to_owned(),
            Order::Late => {
                format!("({}|{})", moments::before(self.began), moments::after(self.too_late()))
            }
        }
    }

    /// A pattern for the moments of waits that are newer than this event.
    pub(super) fn after(&self) -> String {
        moments::after(self.began)
    }

    pub(super) fn read(&self, register: &str) -> String {
        format!("#{{{}}}", self.name(register))
    }

    /// The word of a register, after this event has said one.
    pub(super) fn word(&self, register: &str, said: Option<&str>) -> String {
        match (self.order, said) {
            (Order::Newest, Some(word)) => word.to_owned(),
            _ => format!("#{{=-7:{}}}", self.name(register)),
        }
    }

    fn compared_newer(&self, value: &str) -> String {
        all(&[
            format!("#{{>:{value},{}}}", self.began),
            format!("#{{<:{value},{}}}", self.too_late()),
        ])
    }

    fn too_late(&self) -> Moment {
        self.began.plus_seconds(CLOCK_TOLERANCE_SECONDS)
    }

    fn name(&self, register: &str) -> String {
        match self.store {
            Store::Environment { pane_number } => format!("CLD_{pane_number}_{register}"),
            Store::PaneOptions => format!("@meta.claude.register_{register}"),
        }
    }
}
