//! `cld dismiss`: what waits in a window was looked at. Its tab is no longer red; the sessions stay
//! in the queue.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::cli::Dismiss;
use crate::error::Stop;
use crate::pane::{ATTENTION, LAST_FOCUSED_WINDOW, WINDOW_STATE};
use crate::text::one_line;
use crate::tmux::{Answer, Batch, Server};
use crate::{paths, tabs};

const LIMIT: Duration = Duration::from_secs(3);

/// Not a command of tmux: in the branch of an `if` it ends the batch, because there is nothing to
/// do.
const NOTHING: &str = "cld-nothing-to-dismiss";

pub fn run(options: &Dismiss) -> Result<()> {
    let Some(inside) = paths::inside_tmux() else {
        bail!("cld dismiss works inside tmux, and $TMUX is not set")
    };
    let target = match (&options.target, inside.pane) {
        (Some(target), _) if is_target(target) => target.clone(),
        (Some(target), _) => {
            let target = one_line(target, 40);
            let message = format!("{target:?} is no window or pane\nTry: cld dismiss @3");
            return Err(Stop::Usage(message).into());
        }
        (None, Some(pane)) => pane.to_string(),
        (None, None) => {
            let message = "this is no pane, so the window has to be named\nTry: cld dismiss @3";
            return Err(Stop::Usage(message.to_owned()).into());
        }
    };
    let program = paths::tmux_program();
    let server = Server {
        program,
        socket: inside.socket,
        pid: inside.pid,
        hidden_environment: paths::tmux_has_hidden_environment(),
    };
    // Before 3.2 tmux cannot unset an option in all panes of a window at once.
    let panes = match server.hidden_environment {
        true => Vec::new(),
        false => panes_of(&server, &target)?,
    };
    ask(&server, &batch(&target, &panes, options.switched)).map(|_| ())
}

fn batch(target: &str, panes: &[String], only_switched: bool) -> Batch {
    let mut batch = Batch::default();
    // `if` would take a window that is gone for one where nothing waits.
    batch.push(["has-session", "-t", target]);
    if only_switched {
        let same = format!("#{{==:#{{{LAST_FOCUSED_WINDOW}}},#{{window_id}}}}");
        batch.push(["if", "-F", "-t", target, &same, NOTHING]);
        batch.push(["set", "-F", "-t", target, LAST_FOCUSED_WINDOW, "#{window_id}"]);
    }
    let seen = format!("#{{!=:#{{{WINDOW_STATE}}},waiting}}");
    batch.push(["if", "-F", "-t", target, &seen, NOTHING]);
    for pane in panes {
        batch.push(["set", "-pu", "-t", pane, ATTENTION]);
    }
    if panes.is_empty() {
        batch.push(["set", "-wU", "-t", target, ATTENTION]);
    }
    tabs::show(&mut batch, target, true);
    batch
}

fn panes_of(server: &Server, target: &str) -> Result<Vec<String>> {
    let mut batch = Batch::default();
    batch.push(["list-panes", "-t", target, "-F", "#{pane_id}"]);
    Ok(ask(server, &batch)?.lines().map(str::to_owned).collect())
}

/// What tmux printed; nothing to do is no failure.
fn ask(server: &Server, batch: &Batch) -> Result<String> {
    match server.run(batch, Instant::now() + LIMIT) {
        Answer::Done(printed) => Ok(printed),
        Answer::Refused(printed) if printed.contains(NOTHING) => Ok(String::new()),
        Answer::Refused(printed) => Err(anyhow!("tmux said: {}", one_line(&printed, 200))),
        Answer::TimedOut => Err(anyhow!("tmux did not answer within 3 s")),
        Answer::TooLong => Err(anyhow!("the request is too long for tmux")),
        Answer::NotStarted(error) => Err(anyhow!("tmux could not be started: {error}")),
    }
}

/// `%5`, `@3`, or one of them in a session: `$1:@3`. Names are left out: tmux would guess.
fn is_target(text: &str) -> bool {
    let id = |sign: char, text: &str| {
        text.strip_prefix(sign)
            .is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let window = |text: &str| id('@', text) || id('%', text);
    match text.split_once(':') {
        Some((session, rest)) => id('$', session) && window(rest),
        None => window(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_are_targets() {
        for target in ["@3", "%15", "$1:@3", "$0:%5"] {
            assert!(is_target(target), "{target}");
        }
        for target in ["", "3", "@", "%x", "work:1", "$1", "$1:", "@3;kill-server", "#{pid}"] {
            assert!(!is_target(target), "{target}");
        }
    }
}
