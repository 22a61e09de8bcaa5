//! What the threads of the picker have in common, and those that are too small for a file.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ratatui::crossterm::event;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::preview::Preview;
use super::row::Row;
use super::searching;
use crate::session::SessionId;

/// What threads tell the loop.
#[derive(Debug)]
pub(super) enum Message {
    /// The person did something; it is read by the loop itself.
    Ready,
    /// There is nobody any more who could do anything.
    Gone,
    Signal(i32),
    Live(Vec<Row>),
    Past(Vec<Row>),
    PastGone(HashSet<SessionId>),
    /// All transcripts were read once.
    PastRead,
    Preview(Preview),
    /// What became of something that was asked for.
    Said(String),
    Found {
        generation: u64,
        told: searching::Told,
    },
}

/// What the threads know in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) home: Option<PathBuf>,
    pub(super) own_server: PathBuf,
    pub(super) config_dirs: Mutex<Vec<PathBuf>>,
}

impl Shared {
    pub(super) fn config_dirs(&self) -> Vec<PathBuf> {
        self.config_dirs.lock().map(|dirs| dirs.clone()).unwrap_or_default()
    }

    pub(super) fn set_config_dirs(&self, dirs: &[PathBuf]) {
        if let Ok(mut known) = self.config_dirs.lock() {
            known.clear();
            known.extend_from_slice(dirs);
        }
    }
}

pub(super) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(|_| ()).context("no thread could be started")
}

/// Tells that there is input, and waits until it was read. So nobody else reads from the terminal
/// once the loop has ended.
pub(super) fn wait_for_input(tell: &Sender<Message>, read: &Receiver<()>) {
    loop {
        let message = match event::poll(Duration::MAX) {
            Ok(true) => Message::Ready,
            Ok(false) => continue,
            Err(_) => Message::Gone,
        };
        if tell.send(message).is_err() || read.recv().is_err() {
            return;
        }
    }
}

pub(super) fn watch_signals(tell: Sender<Message>) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT]).context("signals cannot be seen")?;
    start("signals", move || {
        for signal in signals.forever() {
            if tell.send(Message::Signal(signal)).is_err() {
                // The picker is over, and what follows it is ended as any other program is.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    })
}
