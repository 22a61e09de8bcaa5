//! What is to be shown of a tally: days, kinds and projects, each with its numbers. Pure.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use jiff::tz::TimeZone;

use crate::clock;
use crate::session::{Moment, WaitKind};

use super::replay::{Tally, Times, Wait};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) span: Range<Moment>,
    /// The days on which somebody was told of a wait, and how often.
    pub(super) days: Vec<(String, usize)>,
    pub(super) kinds: Vec<Kind>,
    /// The ones with most time first.
    pub(super) projects: Vec<Project>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) kind: WaitKind,
    pub(super) waits: usize,
    pub(super) answers: Answers,
}

/// How long it took to answer, in seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) count: usize,
    pub(super) median: u64,
    pub(super) ninetieth: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Project {
    /// Nothing for sessions of which no more is known than the journal says.
    pub(super) directory: Option<PathBuf>,
    pub(super) times: Times,
    pub(super) sessions: Vec<Session>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) title: Option<String>,
    pub(super) times: Times,
}

/// Where a session belongs, and what it is called.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) directory: Option<PathBuf>,
    pub(super) title: Option<String>,
}

impl Summary {
    pub(super) fn new(
        tally: &Tally,
        span: Range<Moment>,
        known: &BTreeMap<String, Known>,
        zone: &TimeZone,
    ) -> Self {
        let mut days: BTreeMap<String, usize> = BTreeMap::new();
        for moment in &tally.notifications {
            *days.entry(clock::day(*moment, zone)).or_default() += 1;
        }
        let kinds = WaitKind::ALL.into_iter().map(|kind| Kind::of(kind, &tally.waits));
        Self {
            span,
            days: days.into_iter().collect(),
            kinds: kinds.filter(|kind| kind.waits > 0).collect(),
            projects: projects(&tally.sessions, known),
        }
    }
}

impl Kind {
    fn of(kind: WaitKind, waits: &[Wait]) -> Self {
        let of_kind: Vec<&Wait> = waits.iter().filter(|wait| wait.kind == kind).collect();
        let taken = |wait: &&Wait| Some(wait.answered?.seconds_since(wait.since));
        Self {
            kind,
            waits: of_kind.len(),
            answers: Answers::of(of_kind.iter().filter_map(taken).collect()),
        }
    }
}

impl Answers {
    pub(super) fn of(mut seconds: Vec<u64>) -> Self {
        seconds.sort_unstable();
        let count = seconds.len();
        let at = |index: usize| seconds.get(index).copied().unwrap_or_default();
        let (lower, upper) = (at(count.saturating_sub(1) / 2), at(count / 2));
        Self {
            count,
            median: lower + (upper - lower) / 2,
            // The least value that nine of ten do not exceed.
            ninetieth: at((count * 9).div_ceil(10).saturating_sub(1)),
        }
    }
}

impl Times {
    pub(super) fn sum(self) -> u64 {
        self.running + self.waiting
    }

    fn add(&mut self, other: Self) {
        self.running += other.running;
        self.waiting += other.waiting;
    }
}

fn projects(sessions: &BTreeMap<String, Times>, known: &BTreeMap<String, Known>) -> Vec<Project> {
    let mut projects: BTreeMap<Option<PathBuf>, Project> = BTreeMap::new();
    for (id, times) in sessions {
        let Known { directory, title } = known.get(id).cloned().unwrap_or_default();
        let project = projects.entry(directory.clone()).or_insert_with(|| Project {
            directory,
            times: Times::default(),
            sessions: Vec::new(),
        });
        project.times.add(*times);
        project.sessions.push(Session { id: id.clone(), title, times: *times });
    }
    let mut projects: Vec<Project> = projects.into_values().collect();
    projects.sort_by_key(|project| std::cmp::Reverse(project.times.sum()));
    for project in &mut projects {
        project.sessions.sort_by_key(|session| std::cmp::Reverse(session.times.sum()));
    }
    projects
}
