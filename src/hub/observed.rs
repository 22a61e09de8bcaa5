//! The sessions that are found in panes and in Claude's own list, as `cld ls` shows them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::roster::{self, Listed, Roster, Servers, past};
use crate::session::PaneId;

/// How old an answer may be; looking costs a few milliseconds and a tmux process.
const FRESH: Duration = Duration::from_millis(250);

#[derive(Debug, Default)]
pub(super) struct Observer {
    last: Mutex<Option<(Instant, Arc<Roster>)>>,
}

impl Observer {
    /// Whoever comes while somebody looks gets the same answer.
    pub(super) async fn look(&self) -> Arc<Roster> {
        self.look_again(FRESH).await
    }

    /// An answer that is not older than `age`.
    pub(super) async fn look_again(&self, age: Duration) -> Arc<Roster> {
        let mut last = self.last.lock().await;
        if let Some((at, roster)) = &*last
            && at.elapsed() < age
        {
            return Arc::clone(roster);
        }
        let at = Instant::now();
        let read = tokio::task::spawn_blocking(|| {
            let mut roster = roster::read(Servers::All);
            past::name_untitled(&mut roster.sessions);
            Arc::new(roster)
        });
        let Ok(roster) = read.await else {
            return Arc::new(empty());
        };
        *last = Some((at, Arc::clone(&roster)));
        roster
    }
}

/// The session in a pane.
pub(super) fn in_pane<'a>(roster: &'a Roster, socket: &Path, pane: PaneId) -> Option<&'a Listed> {
    roster.sessions.iter().find(|listed| {
        listed.pane.as_ref().is_some_and(|found| found.id == pane && found.socket == socket)
    })
}

fn empty() -> Roster {
    Roster {
        sessions: Vec::new(),
        panes: Vec::new(),
        clients: Vec::new(),
        visits: Vec::new(),
        config_dirs: Vec::new(),
        silent_servers: Vec::new(),
        read_at: crate::clock::now(),
    }
}
