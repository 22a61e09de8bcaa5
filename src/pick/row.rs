//! One session as a line of the list. Nothing in it can act on a terminal. Pure.

use std::path::Path;
use std::sync::Arc;

use nucleo_matcher::Utf32String;

use crate::clock::rounded;
use crate::ls::table;
use crate::queue::Standing;
use crate::roster::{Listed, State};
use crate::session::{Moment, PaneId, SessionId};

/// What a line is known by while everything around it changes. A session that is open twice has
/// two lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) id: SessionId,
    /// The tmux server by its pid, and the pane.
    pub(super) place: Option<(u32, PaneId)>,
}

impl Key {
    pub(super) fn of(listed: &Listed) -> Self {
        let place = listed.pane.as_ref().filter(|_| listed.is_alive());
        Self { id: listed.id.clone(), place: place.map(|pane| (pane.server_pid, pane.id)) }
    }
}

/// The parts of the list, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Group {
    Waiting,
    /// Waiting too, but put off by the person.
    Later,
    Running,
    Past,
    /// All in which something was found that was searched for.
    Found,
}

impl Group {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Later => "later",
            Self::Running => "running",
            Self::Past => "past",
            Self::Found => "found",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) group: Group,
    pub(super) state: State,
    /// The state and why it is so, in words.
    pub(super) reason: String,
    /// What it waits for, in one word.
    pub(super) kind: &'static str,
    pub(super) since: Option<Moment>,
    pub(super) standing: Standing,
    pub(super) title: String,
    pub(super) directory: String,
    pub(super) branch: String,
    pub(super) pane: String,
    pub(super) listed: Arc<Listed>,
    pub(super) haystacks: Haystacks,
}

/// What a filter is compared with.
#[derive(Debug, Clone)]
pub(super) struct Haystacks {
    /// Title, directory and branch.
    pub(super) texts: [Utf32String; 3],
    pub(super) id: Utf32String,
}

/// What lines are written for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) now: Moment,
    pub(super) home: Option<&'a Path>,
    pub(super) own_server: &'a Path,
}

impl Row {
    pub(super) fn new(listed: Listed, deleted_in: Option<u64>, reader: Reader<'_>) -> Self {
        let words =
            table::Row::new(&listed, deleted_in, reader.now, reader.home, reader.own_server);
        let branch = listed.branch.as_deref().filter(|branch| *branch != "HEAD");
        let branch = branch.map(|branch| crate::text::one_line(branch, 128)).unwrap_or_default();
        let title = if listed.title.is_some() { words.title } else { "(no title)".to_owned() };
        let known = |text: String| if text == "-" { String::new() } else { text };
        let (directory, pane) = (known(words.directory), known(words.pane));
        let haystacks = Haystacks {
            texts: [&title, &directory, &branch].map(|text| Utf32String::from(text.as_str())),
            id: Utf32String::from(listed.id.as_str()),
        };
        let kind = listed.waits_for().map_or("", |wait| wait.kind.word());
        Self {
            key: Key::of(&listed),
            group: group(listed.health.state),
            state: listed.health.state,
            reason: words.reason,
            kind,
            since: listed.health.since,
            standing: Standing::Open,
            title,
            directory,
            branch,
            pane,
            haystacks,
            listed: Arc::new(listed),
        }
    }

    /// The same session where the queue has it.
    pub(super) fn in_queue(self, standing: Standing) -> Self {
        let group = match standing {
            Standing::Open | Standing::Dead => self.group,
            Standing::Skipped | Standing::Snoozed(_) => Group::Later,
        };
        Self { standing, group, ..self }
    }

    /// That it was put off, and for how long yet.
    pub(super) fn note(&self, now: Moment) -> Option<String> {
        match self.standing {
            Standing::Skipped => Some("skipped".to_owned()),
            Standing::Snoozed(until) => {
                Some(format!("snoozed {}", rounded(until.seconds_since(now))))
            }
            Standing::Open | Standing::Dead => None,
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.listed.is_alive()
    }
}

/// Lines that look the same and lead to the same place.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.standing == other.standing && self.listed == other.listed
    }
}

fn group(state: State) -> Group {
    match state {
        State::Waiting => Group::Waiting,
        State::Running | State::Idle | State::Unknown => Group::Running,
        State::Ended(_) => Group::Past,
    }
}
