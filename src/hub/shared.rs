//! What every request and every task of the hub shares.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

use crate::session::Moment;

use super::keys::Keys;
use super::metrics::Metrics;
use super::observed::Observer;
use super::sessions::Sessions;
use super::store::Store;

#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Where the hub keeps its files; private.
    pub(super) dir: PathBuf,
    /// One file for each session that was started.
    pub(super) launches: PathBuf,
    /// The settings that register the hooks with sessions of the hub.
    pub(super) hooks_file: PathBuf,
    /// This program, as a pane can start it.
    pub(super) program: PathBuf,
    /// The tmux server that sessions are started in.
    pub(super) tmux_socket: PathBuf,
    pub(super) heartbeat: Duration,
    pub(super) most_sessions: usize,
    pub(super) most_streams: u64,
    pub(super) needs_token: bool,
}

/// Goes only forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Running,
    /// Sessions are being stopped: nothing new is begun, but events still come in.
    Stopping,
    /// Streams and connections end.
    Closing,
}

#[derive(Debug)]
pub(super) struct Hub {
    pub(super) settings: Settings,
    pub(super) started: Moment,
    pub(super) addresses: Addresses,
    pub(super) keys: Keys,
    pub(super) store: Store,
    pub(super) sessions: Sessions,
    pub(super) observer: Observer,
    pub(super) metrics: Metrics,
    /// One permit for each KiB of a request body that is in memory.
    pub(super) bodies: Semaphore,
    pub(super) phase: watch::Sender<Phase>,
    pub(super) sessions_changed: watch::Sender<u64>,
}

/// Where the hub listens.
#[derive(Debug, Clone)]
pub(super) struct Addresses {
    pub(super) socket: PathBuf,
    /// Nothing where only the socket is used.
    pub(super) url: Option<String>,
    pub(super) collector: Option<String>,
    /// Where sessions on this machine post their events.
    pub(super) for_hooks: String,
}

impl Hub {
    pub(super) fn boot_id(&self) -> String {
        format!("{:013x}", self.store.boot)
    }

    pub(super) fn is_running(&self) -> bool {
        *self.phase.borrow() == Phase::Running
    }
}
