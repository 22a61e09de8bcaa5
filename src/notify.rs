//! `cld notify`: tells the person of a wait that nobody looks at, once.
//!
//! The tmux server starts it, apart from the hook and so apart from Claude, on the edge to waiting.
//! It looks again, claims the wait inside the server, so that nobody else tells of it, and then
//! tells. It prints nothing and exits 0: tmux would show that over the pane.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::cli;
use crate::config::{self, Channel, Config, Notify};
use crate::error::Stop;
use crate::pane::{Kept, NOTIFIED};
use crate::screen::{padded, width};
use crate::session::{DialogKind, Moment, PaneId, Wait, WaitKind};
use crate::text::one_line;
use crate::tmux::{self, Answer, Batch, Look, Server};
use crate::transcript::Reader;
use crate::{clock, paths, terminal};

mod decide;
mod deliver;
mod message;
mod record;

use decide::{decide, gap_ends, unsettled};
use deliver::{Delivery, Outcome};
use message::Message;
use record::Record;

const TMUX_LIMIT: Duration = Duration::from_secs(3);

const GONE: &str = "the pane is gone";

/// Unknown to tmux, these end a batch with an error that names them.
const TOLD: &str = "cld-told";
const TOO_SOON: &str = "cld-too-soon";

/// When somebody was told last, in the environment of the server.
const LAST: &str = "CLD_NOTIFIED_AT";

pub fn run(options: &cli::Notify) -> Result<()> {
    let pane = options.pane.as_deref().map(|pane| {
        PaneId::parse(pane)
            .ok_or_else(|| Stop::Usage(format!("{:?} is no pane such as %5", one_line(pane, 40))))
    });
    let pane = pane.transpose()?;
    let server = server(options.server.clone().unwrap_or_else(paths::tmux_socket));
    if options.test {
        let pane = pane.or_else(|| paths::inside_tmux()?.pane);
        return test(&server, pane);
    }
    let Some(pane) = pane else {
        return Err(Stop::Usage("a pane such as %5 is needed, or --test".to_owned()).into());
    };
    std::panic::set_hook(Box::new(|_| std::process::exit(0)));
    let decided = notify(&server, pane);
    record::debug(pane, &decided);
    Ok(())
}

fn server(socket: PathBuf) -> Server {
    Server { program: paths::tmux_program(), socket, pid: 0, hidden_environment: false }
}

/// What came of it, in words for the debug log.
fn notify(server: &Server, pane: PaneId) -> String {
    let Config { notify: config, tabs, .. } = config::load().config;
    let Some(mut look) = look_at(server, pane) else { return GONE.to_owned() };
    let (mut now, zone) = (clock::now(), clock::zone());
    if let Some(rest) = unsettled(&look, now, tabs.debounce_ms) {
        thread::sleep(rest);
        let Some(again) = look_at(server, pane) else { return GONE.to_owned() };
        (look, now) = (again, clock::now());
    }
    let (wait, channels) = match decide(&config, &look, clock::minute_of_day(now, &zone)) {
        Ok(decision) => decision,
        Err(silence) => return silence.to_string(),
    };
    let Some(kept) = &look.kept else { return "no session".to_owned() };
    if let Some(refusal) = claim(server, &look, wait, &config, now) {
        return refusal;
    }
    let message = about(&look, kept, wait);
    let facts = facts(server, &look, kept, wait);
    let delivery = Delivery { message: &message, tmux: Some((server, &look)), facts };
    let outcomes = delivery.through(&channels);
    let record = Record::new(now, kept, &look, wait, &channels, &outcomes);
    record.journal();
    record.to_string()
}

fn look_at(server: &Server, pane: PaneId) -> Option<Look> {
    tmux::look(server, pane, Instant::now() + TMUX_LIMIT * paths::patience())
}

/// Makes the wait ours, as one step inside the server; else says why that failed.
fn claim(
    server: &Server,
    look: &Look,
    wait: &Wait,
    config: &Notify,
    now: Moment,
) -> Option<String> {
    let gap = (!config.min_gap.is_zero()).then(|| gap_ends(config, now));
    match server.run(&claiming(look, wait.since, gap, now), Instant::now() + TMUX_LIMIT) {
        Answer::Done(_) => None,
        Answer::Refused(said) if said.contains(TOLD) => Some("told already".to_owned()),
        Answer::Refused(said) if said.contains(TOO_SOON) => Some("too soon".to_owned()),
        _ => Some(GONE.to_owned()),
    }
}

fn claiming(look: &Look, since: Moment, gap: Option<Moment>, now: Moment) -> Batch {
    let pane = look.pane.to_string();
    let told = format!(
        "#{{?#{{&&:#{{==:#{{pid}},{}}},#{{<:#{{{NOTIFIED}}},{since}}}}},0,1}}",
        look.server_pid
    );
    let mut batch = Batch::default();
    batch.push(["if", "-F", "-t", &pane, &told, TOLD]);
    if let Some(gap) = gap {
        // A moment in the future is from before the clock was set back.
        let soon = format!("#{{&&:#{{>:#{{{LAST}}},{gap}}},#{{<:#{{{LAST}}},{now}}}}}");
        let is_old = tmux::version_number(&look.version).is_some_and(|version| version < (3, 2));
        let hidden = if is_old { "-g" } else { "-gh" };
        batch.push(["if", "-F", "-t", &pane, &soon, TOO_SOON]);
        batch.push(["set-environment", hidden, LAST, &now.to_string()]);
    }
    batch.push(["set-option", "-p", "-t", &pane, NOTIFIED, &since.to_string()]);
    batch
}

fn about(look: &Look, kept: &Kept, wait: &Wait) -> Message {
    let project = kept.directory.as_deref().and_then(Path::file_name);
    let project = project.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let window = format!("{}:{}", look.window_index, look.window_name);
    Message::new(wait.kind, &project, &title(kept), &wait.context, &window)
}

fn title(kept: &Kept) -> String {
    let written = || {
        let title = Reader::new().title_near_end(kept.transcript.as_deref()?).ok()??;
        Some(title.text)
    };
    kept.title.clone().or_else(written).unwrap_or_else(|| kept.session.short().to_owned())
}

fn facts(server: &Server, look: &Look, kept: &Kept, wait: &Wait) -> Vec<(&'static str, OsString)> {
    let mut facts: Vec<(&'static str, OsString)> = vec![
        ("CLD_SESSION_ID", kept.session.as_str().into()),
        ("CLD_PANE", look.pane.to_string().into()),
        ("CLD_SERVER", server.socket.clone().into()),
        ("CLD_SINCE", wait.since.seconds().to_string().into()),
    ];
    facts.extend(kept.directory.clone().map(|dir| ("CLD_DIRECTORY", dir.into())));
    facts
}

/// Tells through every configured channel, whoever looks and whatever the time, and says how it
/// went.
fn test(server: &Server, pane: Option<PaneId>) -> Result<()> {
    let loaded = config::load();
    for complaint in loaded.complaints() {
        terminal::note(&format!("cld: {complaint}"));
    }
    let channels: Vec<&Channel> = loaded.config.notify.channels.iter().collect();
    if channels.is_empty() {
        bail!("no channels are configured; see `cld config show`");
    }
    let look = pane.and_then(|pane| tmux::look(server, pane, Instant::now() + TMUX_LIMIT));
    let here = std::env::current_dir().unwrap_or_default();
    let project = here.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let window = look.as_ref().map(|look| format!("{}:{}", look.window_index, look.window_name));
    let kind = WaitKind::Dialog(DialogKind::Permission);
    let context = "Bash: echo this is only a test";
    let message =
        Message::new(kind, &project, "a test", context, window.as_deref().unwrap_or("0:test"));
    let facts = vec![("CLD_DIRECTORY", here.into_os_string())];
    let tmux = look.as_ref().map(|look| (server, look));
    let outcomes = Delivery { message: &message, tmux, facts }.through(&channels);
    let mut out = io::stdout().lock();
    out.write_all(told(&channels, &outcomes).as_bytes())?;
    out.flush()?;
    match outcomes.iter().filter(|outcome| outcome.is_err()).count() {
        0 => Ok(()),
        failed => bail!(
            "{failed} of {} channels failed; see [notify] in `cld config show`",
            channels.len()
        ),
    }
}

fn told(channels: &[&Channel], outcomes: &[Outcome]) -> String {
    let names: Vec<String> = channels.iter().map(|channel| one_line(&channel.name, 40)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let line = |(name, outcome): (&String, &Outcome)| {
        let said = match outcome {
            Ok(said) => said.clone(),
            Err(failure) if failure.details.is_empty() => format!("failed: {}", failure.what),
            Err(failure) => format!("failed: {}: {}", failure.what, failure.details),
        };
        format!("{}  {said}\n", padded(name, widest))
    };
    names.iter().zip(outcomes).map(line).collect()
}

#[cfg(test)]
mod tests;
