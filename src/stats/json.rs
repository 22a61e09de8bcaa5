//! Statistics for other programs. Fields are only ever added without a new version.

use serde::Serialize;

use crate::text::{harmless_json, one_line};

use super::replay::Times;
use super::summary::{Kind, Project, Session, Summary};

const VERSION: u32 = 1;
const LONGEST_TITLE: usize = 512;

/// Times are unix seconds, and lengths of time are seconds.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    since: u64,
    until: u64,
    notifications: Vec<Day<'a>>,
    waits: Vec<Waits>,
    projects: Vec<OfProject>,
}

#[derive(Serialize)]
struct Day<'a> {
    date: &'a str,
    count: usize,
}

#[derive(Serialize)]
struct Waits {
    kind: &'static str,
    count: usize,
    answered: usize,
    /// Null where nothing was answered.
    median_seconds: Option<u64>,
    p90_seconds: Option<u64>,
}

#[derive(Serialize)]
struct OfProject {
    directory: Option<String>,
    #[serde(flatten)]
    times: Seconds,
    sessions: Vec<OfSession>,
}

#[derive(Serialize)]
struct OfSession {
    session_id: String,
    title: Option<String>,
    #[serde(flatten)]
    times: Seconds,
}

#[derive(Serialize)]
struct Seconds {
    running_seconds: u64,
    waiting_seconds: u64,
}

pub(super) fn document(summary: &Summary) -> String {
    let document = Document {
        version: VERSION,
        since: summary.span.start.seconds(),
        until: summary.span.end.seconds(),
        notifications: summary
            .days
            .iter()
            .map(|(date, count)| Day { date, count: *count })
            .collect(),
        waits: summary.kinds.iter().map(waits).collect(),
        projects: summary.projects.iter().map(project).collect(),
    };
    harmless_json(&serde_json::to_string(&document).unwrap_or_default()) + "\n"
}

fn waits(kind: &Kind) -> Waits {
    let answers = kind.answers;
    let if_any = |seconds| (answers.count > 0).then_some(seconds);
    Waits {
        kind: kind.kind.word(),
        count: kind.waits,
        answered: answers.count,
        median_seconds: if_any(answers.median),
        p90_seconds: if_any(answers.ninetieth),
    }
}

fn project(project: &Project) -> OfProject {
    OfProject {
        directory: project.directory.as_ref().map(|dir| dir.to_string_lossy().into_owned()),
        times: seconds(project.times),
        sessions: project.sessions.iter().map(session).collect(),
    }
}

fn session(session: &Session) -> OfSession {
    OfSession {
        session_id: session.id.clone(),
        title: session.title.as_deref().map(|title| one_line(title, LONGEST_TITLE)),
        times: seconds(session.times),
    }
}

fn seconds(times: Times) -> Seconds {
    Seconds {
        running_seconds: times.running / 1_000_000,
        waiting_seconds: times.waiting / 1_000_000,
    }
}
