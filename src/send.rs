//! `cld send`: text that a person wrote, pasted into a session that waits for a prompt.

use std::io::{self, IsTerminal, Read};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::cli::Send;
use crate::error::Stop;
use crate::find::{Candidate, find};
use crate::journal::{self, Entry, Followed};
use crate::paste::{Refusal, Typist, guard, pasteable, settling_time};
use crate::roster::{self, Listed, Servers, State};
use crate::session::{Moment, WaitKind};
use crate::text::one_line;
use crate::tmux::{Answer, Pane};
use crate::wait::time_limit;
use crate::{clock, paths};

const LIMIT: Duration = Duration::from_secs(10);
const LONGEST_TEXT: u64 = 1024 * 1024;
const FOLLOW_INTERVAL: Duration = Duration::from_millis(20);

pub fn run(options: &Send) -> Result<()> {
    let timeout = time_limit(&options.timeout)?;
    let given = pasteable(&given(options.text.as_deref())?);
    if given.is_empty() {
        return Err(Stop::Usage("there is nothing to send".to_owned()).into());
    }
    let roster = roster::read(Servers::All);
    let candidate = find(&options.id, &roster).chosen(&options.id)?;
    let session = open_in_pane(&candidate, &options.id)?;
    check_readiness(&session, options.queue, roster.read_at)?;
    let state_dir =
        paths::state_dir().context("HOME is not set, so there is no state directory")?;
    let mut journal = Followed::at_end(state_dir.join(journal::JOURNAL));
    let began = clock::now();
    type_in(&session, &given)?;
    let deadline = Instant::now() + timeout;
    while Instant::now() < deadline {
        if journal.new_lines().iter().any(|line| confirms(line, &session, began)) {
            return crate::terminal::print("submitted\n");
        }
        thread::sleep(FOLLOW_INTERVAL);
    }
    bail!(
        "the text was typed into {}, but the session did not confirm it within {} s\nLook at it: cld jump {}",
        session.address(),
        timeout.as_secs(),
        session.id()
    )
}

fn given(text: Option<&str>) -> Result<String> {
    match text {
        Some(text) if text != "-" => Ok(text.to_owned()),
        None if io::stdin().is_terminal() => {
            Err(Stop::Usage("what shall be sent? Give the text, or - to read it".to_owned()).into())
        }
        _ => {
            let mut bytes = Vec::new();
            io::stdin().lock().take(LONGEST_TEXT + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > LONGEST_TEXT {
                bail!("the text is longer than 1 MiB\nTry: put it into a file, and send its name");
            }
            String::from_utf8(bytes).map_err(|_| anyhow!("the text is not UTF-8"))
        }
    }
}

/// A session that is open in a pane.
struct Target<'a> {
    listed: &'a Listed,
    pane: &'a Pane,
}

impl Target<'_> {
    fn id(&self) -> &str {
        self.listed.id.short()
    }

    fn address(&self) -> String {
        one_line(&self.pane.address(), 80)
    }
}

fn open_in_pane<'a>(candidate: &'a Candidate, asked: &str) -> Result<Target<'a>> {
    let id = candidate.id.short();
    let alive: Vec<&Listed> = candidate.listed.iter().filter(|listed| listed.is_alive()).collect();
    let mut places: Vec<Target<'_>> = alive
        .iter()
        .filter_map(|listed| Some(Target { listed, pane: listed.pane.as_ref()? }))
        .collect();
    let is_named =
        |place: &Target<'_>| place.pane.id.to_string() == asked || place.pane.address() == asked;
    if places.iter().any(is_named) {
        places.retain(is_named);
    }
    match (places.len(), alive.len()) {
        (0, 0) => bail!("session {id} is not open, so nobody would read it\nTry: cld resume {id}"),
        (0, _) => bail!("session {id} is open, but not in a tmux pane"),
        (1, _) => Ok(places.remove(0)),
        (count, _) => {
            let panes: Vec<String> = places.iter().map(|place| place.pane.id.to_string()).collect();
            let panes = panes.join(", ");
            let message = format!("session {id} is open in {count} panes: name one of {panes}");
            Err(Stop::Usage(message).into())
        }
    }
}

/// Text is only typed where it becomes a prompt. In a dialog it would be an answer.
fn check_readiness(target: &Target<'_>, may_queue: bool, now: Moment) -> Result<()> {
    let (id, address) = (target.id(), target.address());
    let mut waits = target.listed.health.waits.iter();
    let dialog = waits.find(|wait| matches!(wait.kind, WaitKind::Dialog(_)));
    if let Some(dialog) = dialog {
        let kind = dialog.kind.word();
        let context = one_line(&dialog.context, 120);
        bail!("{address} has a dialog open ({kind}: {context})\nAnswer it first: cld jump {id}");
    }
    match target.listed.health.state {
        State::Waiting | State::Idle if may_queue || !target.listed.has_just_begun(now) => Ok(()),
        State::Running if may_queue => Ok(()),
        State::Waiting | State::Idle | State::Running => bail!(
            "{address} is busy\nTry: cld send --queue {id}, which Claude takes up when it is done, or cld wait {id}"
        ),
        State::Ended(_) => bail!("session {id} is not open"),
        State::Unknown => bail!("it cannot be told what {address} is doing\nTry: cld doctor"),
    }
}

/// Pastes the text as one, and then sends it. Both are refused by the tmux server itself when a
/// dialog has opened or another session has begun in the meantime.
fn type_in(target: &Target<'_>, text: &str) -> Result<()> {
    let typist = Typist {
        socket: &target.pane.socket,
        pane: target.pane.id,
        guard: guard(target.pane),
        buffer: format!("cld-{}", std::process::id()),
        limit: LIMIT,
    };
    typist.paste(text).map_err(|refusal| explained(target, refusal))?;
    thread::sleep(settling_time(text));
    let not_sent = || format!("the text stands in {}, but was not sent", target.address());
    typist.submit().map_err(|refusal| explained(target, refusal)).with_context(not_sent)
}

fn explained(target: &Target<'_>, refusal: Refusal) -> anyhow::Error {
    let (id, address) = (target.id(), target.address());
    match refusal {
        Refusal::Changed => anyhow!(
            "{address} has just changed: a dialog opened or another session began\nLook at it: cld jump {id}"
        ),
        Refusal::Mode => anyhow!("{address} shows a menu of tmux\nLeave it first"),
        Refusal::Tmux(Answer::Done(said) | Answer::Refused(said)) => {
            anyhow!("tmux said: {}", one_line(&said, 200))
        }
        Refusal::Tmux(Answer::TimedOut) => {
            anyhow!("tmux did not answer within {} s", LIMIT.as_secs())
        }
        Refusal::Tmux(Answer::TooLong) => anyhow!("the request is too long for tmux"),
        Refusal::Tmux(Answer::NotStarted(error)) => anyhow!("tmux could not be started: {error}"),
    }
}

fn confirms(line: &str, target: &Target<'_>, began: Moment) -> bool {
    Entry::parse(line).is_some_and(|told| {
        told.event == "UserPromptSubmit"
            && told.session == target.listed.id.as_str()
            && !told.by_machine
            && Moment::from_micros(told.at) >= began
    })
}
