//! `cld hook`: stdin -> event -> transition -> batch -> one tmux call.
//!
//! Claude Code waits for this process and reads what it prints, so it prints nothing, always exits
//! 0, and has a deadline on everything it waits for.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::session::Moment;
use crate::shell::quoted;
use crate::tabs::Vocabulary;
use crate::text::one_line;
use crate::tmux::{Answer, Batch, Place};
use crate::{clock, config, paths, process};

mod batch;
pub(crate) mod context;
pub mod event;
mod format;
mod forward;
mod hash;
mod moments;
mod oversize;
mod registers;
mod report;
mod stdin;
pub mod transition;

pub use batch::Manner;
use batch::{HIDDEN, Plan, REFUSED, batch, prints_dialogs};
use event::{Event, Kind, Malformed};
use forward::{Collector, Posted};
use oversize::Oversize;
use report::Report;
use stdin::Payload;
use transition::{Change, Facts, Process, transition};

/// Claude writes a payload in one go; whoever keeps the pipe open longer is not Claude.
const STDIN_LIMIT: Duration = Duration::from_secs(3);
const TMUX_LIMIT: Duration = Duration::from_millis(300);
const LONGEST_PROGRAM: usize = 256;
const FORWARD_LIMIT: Duration = Duration::from_secs(2);

/// What the commands of tmux say of a pane that does not exist.
const NO_PANE: [&str; 2] = ["can't find pane", "no such pane"];

pub fn run() {
    // A panic would print, and end with a code that Claude shows to the person.
    std::panic::set_hook(Box::new(|_| std::process::exit(0)));
    let mut report = Report::new(clock::now());
    let payload = match stdin::drain(STDIN_LIMIT * paths::patience()) {
        Payload::Whole(payload) => payload,
        Payload::TooLarge { start, bytes } => {
            let forwarding = Forwarding::start(|| Posted::Marker(Oversize::new(&start, bytes)));
            if let Some(outcome) = forwarding.and_then(Forwarding::finish) {
                report.forwarded(&outcome);
            }
            return report.finish("refused: payload is larger than 64 MiB");
        }
        Payload::NoEnd => return report.finish("refused: stdin did not end in time"),
        Payload::Unreadable => return report.finish("refused: stdin cannot be read"),
    };
    let forwarding = Forwarding::start(|| Posted::Event(payload.clone()));
    let decision = update_pane(&payload, &mut report);
    if let Some(outcome) = forwarding.and_then(Forwarding::finish) {
        report.forwarded(&outcome);
    }
    report.finish(&decision);
}

/// What `cld hook --dry-run` prints: the changes, and the command that would make them.
pub fn explain() -> String {
    let began = clock::now();
    let Payload::Whole(payload) = stdin::drain(STDIN_LIMIT * paths::patience()) else {
        return "refused: no whole payload on standard input\n".to_owned();
    };
    let event = match parse(&payload) {
        Ok(event) => event,
        Err(reason) => return format!("refused: {reason}\n"),
    };
    let changes = transition(&event, &facts(&event));
    let mut text: String = changes.iter().map(|change| format!("{change:?}\n")).collect();
    match (changes.is_empty(), paths::tmux_place()) {
        (true, _) => text.push_str("nothing to do: not a session of this pane\n"),
        (_, None) => text.push_str("nothing to do: not inside tmux\n"),
        (_, Some(place)) => text.push_str(&shown(&place, &changes, began)),
    }
    text
}

/// Whether the collector that events are forwarded to listens, where one is configured.
pub fn reach_collector() -> Option<Result<(), String>> {
    let (url, token) = paths::collector()?;
    let reached = Collector::new(&url, token).and_then(|collector| collector.reach(FORWARD_LIMIT));
    Some(reached.map_err(|failure| failure.to_string()))
}

fn update_pane(payload: &[u8], report: &mut Report) -> String {
    let event = match parse(payload) {
        Ok(event) => event,
        Err(reason) => return format!("refused: {reason}"),
    };
    report.about(&event);
    let Some(place) = paths::tmux_place() else { return "outside tmux".to_owned() };
    report.at(&place);
    let changes = transition(&event, &facts(&event));
    if changes.is_empty() {
        return "nested session, pane left alone".to_owned();
    }
    // What is written down may hang on what tmux prints; and a session has not been closed where the
    // whole server is gone: then `cld restore` may want it back.
    let needs_answer = prints_dialogs(&changes) || matches!(event.kind, Kind::SessionEnd);
    let write_early = || {
        if !needs_answer {
            report.journal(&changes, "");
        }
    };
    match apply(&changes, &place, report.began(), write_early) {
        Answer::Done(printed) => {
            if needs_answer {
                report.journal(&changes, &printed);
            }
            "applied".to_owned()
        }
        Answer::Refused(printed) if printed.contains(REFUSED) => {
            "another tmux server has this socket".to_owned()
        }
        // The pane of a session that was closed is gone before the session can say good-bye.
        Answer::Refused(printed)
            if matches!(event.kind, Kind::SessionEnd)
                && NO_PANE.iter().any(|words| printed.contains(words))
                && process::exists(place.server.pid) =>
        {
            report.journal(&changes, "");
            "pane is gone".to_owned()
        }
        Answer::Refused(printed) => format!("tmux said {:?}", one_line(&printed, 80)),
        Answer::TimedOut => "tmux did not answer in time".to_owned(),
        Answer::TooLong => "refused: request is too long for tmux".to_owned(),
        Answer::NotStarted(error) => format!("tmux could not be started: {error}"),
    }
}

/// One call for nearly every event: another one only where the first took something for granted
/// that is not so, and the server refused it as a whole.
fn apply(changes: &[Change], place: &Place, began: Moment, meanwhile: impl FnOnce()) -> Answer {
    let deadline = Instant::now() + TMUX_LIMIT * paths::patience();
    let manner = manner();
    let batch = |plan| batch(changes, place, began, plan, &manner);
    let answer = match place.server.run_while(&batch(first_plan(changes)), deadline, meanwhile) {
        Answer::Refused(printed)
            if printed.contains(REFUSED) || printed.contains(manner.words.word()) =>
        {
            place.server.run(&batch(Plan::Careful), deadline)
        }
        answer => answer,
    };
    match answer {
        // Nothing is hidden while a dialog is open, so there was none to print.
        Answer::Refused(printed) if printed.contains(HIDDEN) => Answer::Done(String::new()),
        answer => answer,
    }
}

fn first_plan(changes: &[Change]) -> Plan {
    let begins = |change: &Change| matches!(change, Change::Identity(found) if found.begins);
    if changes.iter().any(begins) { Plan::First } else { Plan::Usual }
}

fn manner() -> Manner {
    let config = config::for_hook();
    let program = paths::own_program().map(|program| quoted(program.as_ref()));
    // A longer one would not fit into a request beside the longest paths.
    let program = program.filter(|program| program.len() <= LONGEST_PROGRAM);
    Manner {
        words: Vocabulary::new(&config.tabs, program.as_deref().unwrap_or("cld")),
        notified: config.notified,
        debounce_ms: config.tabs.debounce_ms,
    }
}

/// Makes changes that no event has told of, as if one had at that moment.
pub fn amend(changes: &[Change], place: &Place, at: Moment) -> Answer {
    let batch = batch(changes, place, at, Plan::Careful, &manner());
    place.server.run(&batch, Instant::now() + TMUX_LIMIT * paths::patience())
}

/// Every batch that may be sent for these changes.
pub fn request(changes: &[Change], place: &Place, began: Moment, manner: &Manner) -> [Batch; 2] {
    [first_plan(changes), Plan::Careful].map(|plan| batch(changes, place, began, plan, manner))
}

fn parse(payload: &[u8]) -> Result<Event<'_>, String> {
    let json = str::from_utf8(payload).map_err(|_| "payload is not UTF-8".to_owned())?;
    Event::parse(json).map_err(|malformed: Malformed| malformed.to_string())
}

/// Looks at the surroundings, but only as far as the event has a use for them.
fn facts(event: &Event<'_>) -> Facts {
    let mut facts = Facts { nested: paths::claude_is_unattended(), ..Facts::default() };
    if facts.nested {
        return facts;
    }
    if matches!(event.kind, Kind::SessionStart { .. } | Kind::UserPromptSubmit { .. }) {
        facts.claude = paths::claude_pid().or_else(process::started_by).map(|pid| Process {
            pid,
            started: process::stat(pid).map(|stat| stat.started).unwrap_or_default(),
        });
        let config_dir = paths::other_config_dir().map(PathBuf::into_os_string);
        facts.config_dir = config_dir.and_then(|dir| dir.into_string().ok());
    }
    if tells_transcript(&event.kind) {
        let transcript = event.transcript.as_deref().map(Path::new);
        facts.transcript_exists = transcript.is_some_and(Path::is_file);
    }
    facts
}

/// The events that name the session. The file may appear only after the first turn has ended.
fn tells_transcript(kind: &Kind<'_>) -> bool {
    matches!(
        kind,
        Kind::SessionStart { .. }
            | Kind::UserPromptSubmit { .. }
            | Kind::Stop { .. }
            | Kind::SubagentStop { .. }
            | Kind::SessionEnd
    )
}

fn shown(place: &Place, changes: &[Change], began: Moment) -> String {
    let (program, socket) = (&place.server.program, &place.server.socket);
    let mut text = format!("{} -u -S {}", quoted(program.as_ref()), quoted(socket.as_ref()));
    let batch = batch(changes, place, began, first_plan(changes), &manner());
    for word in batch.words() {
        match word.as_str() {
            ";" => text.push_str(" \\;\\\n "),
            word => text.push_str(&format!(" {}", quoted(word.as_ref()))),
        }
    }
    text.push('\n');
    text
}

/// The POST to the collector, under way while tmux works.
struct Forwarding {
    outcome: mpsc::Receiver<String>,
    deadline: Instant,
}

impl Forwarding {
    fn start(posted: impl FnOnce() -> Posted) -> Option<Self> {
        let (url, token) = paths::collector()?;
        let posted = posted();
        let is_nested = paths::claude_is_unattended();
        let (sender, outcome) = mpsc::channel();
        let post = move || {
            let forwarded = Collector::new(&url, token)
                .map(|collector| collector.nested(is_nested))
                .and_then(|collector| collector.forward(&posted, FORWARD_LIMIT));
            let said = match forwarded {
                Ok(()) => "done".to_owned(),
                Err(failure) => format!("failed: {failure}"),
            };
            // Nobody listens any more when the deadline has passed.
            let _ = sender.send(said);
        };
        let deadline = Instant::now() + FORWARD_LIMIT;
        thread::Builder::new().spawn(post).ok()?;
        Some(Self { outcome, deadline })
    }

    /// Looking up a name has no deadline of its own, so the thread is left behind when it is late.
    fn finish(self) -> Option<String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.outcome
            .recv_timeout(left)
            .ok()
            .or_else(|| Some("failed: no answer within 2 s".to_owned()))
    }
}
