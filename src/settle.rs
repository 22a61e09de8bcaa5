//! `cld settle`: the end of a turn that was not shown at once, because Claude might go on by itself.
//!
//! The tmux server starts it when the time is over, apart from the hook and so apart from Claude.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::cli;
use crate::error::Stop;
use crate::pane::{ATTENTION, FINISHED, SOON};
use crate::session::{Moment, PaneId};
use crate::tmux::{Answer, Batch, Server};
use crate::{notify, paths, tabs};

const LIMIT: Duration = Duration::from_secs(3);

/// Not a command of tmux: in the branch of an `if` it ends the batch.
const OVER: &str = "cld-over";

pub fn run(options: &cli::Settle) -> Result<()> {
    let pane = PaneId::parse(&options.pane)
        .ok_or_else(|| Stop::Usage("a pane such as %5 is needed".to_owned()))?;
    let server = Server {
        program: paths::tmux_program(),
        socket: paths::tmux_socket(),
        pid: 0,
        hidden_environment: paths::tmux_has_hidden_environment(),
    };
    let batch = batch(pane, Moment::from_micros(options.since));
    match server.run(&batch, Instant::now() + LIMIT * paths::patience()) {
        Answer::Done(_) => {
            let pane = Some(pane.to_string());
            notify::run(&cli::Notify { pane, server: None, test: false })
        }
        // Claude went on, somebody looked, or the pane is gone.
        _ => Ok(()),
    }
}

fn batch(pane: PaneId, since: Moment) -> Batch {
    let pane = pane.to_string();
    let is_soon = format!("#{{==:#{{{ATTENTION}}},{SOON}}}");
    let is_same = format!("#{{m:{since} *,#{{{FINISHED}}}}}");
    let is_over = format!("#{{?#{{&&:{is_soon},{is_same}}},0,1}}");
    let mut batch = Batch::default();
    batch.push(["if", "-F", "-t", &pane, &is_over, OVER]);
    batch.push(["set", "-p", "-t", &pane, ATTENTION, "1"]);
    tabs::show(&mut batch, &pane, true);
    batch
}
