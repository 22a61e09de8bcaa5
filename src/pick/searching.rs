//! Full-text search, off the screen's thread.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use super::row::{Reader, Row};
use super::threads::{Message, Shared};
use crate::search::{self, Cancel, Hit, Query, Scope};
use crate::{clock, transcript};

/// Whoever types goes on typing: a search for the first letter of a word is in vain.
const PAUSE: Duration = Duration::from_millis(80);
/// More sessions than this nobody looks through.
const MOST_SESSIONS: usize = 300;
const HITS_EACH: usize = 20;

/// One thing that is searched for. Whoever wants another cancels this.
#[derive(Debug, Clone)]
pub(super) struct Sought {
    pub(super) generation: u64,
    pub(super) cancel: Arc<Cancel>,
    text: String,
}

impl Sought {
    pub(super) fn new(generation: u64, text: &str) -> Self {
        Self { generation, cancel: Arc::default(), text: text.to_owned() }
    }
}

#[derive(Debug)]
pub(super) enum Told {
    Found(Box<Row>, Vec<Hit>),
    Percent(u8),
    /// Or why it cannot be searched for.
    Done(Result<(), String>),
}

/// Searches until nobody wants anything any more.
pub(super) fn serve(shared: &Shared, wanted: &Receiver<Sought>, tell: &Sender<Message>) {
    while let Ok(mut sought) = wanted.recv() {
        while let Ok(newer) = wanted.recv_timeout(PAUSE) {
            sought = newer;
        }
        let generation = sought.generation;
        let tell = |told| tell.send(Message::Found { generation, told }).is_ok();
        let done = search(shared, &sought, &tell);
        if !tell(Told::Done(done)) {
            return;
        }
    }
}

fn search(shared: &Shared, sought: &Sought, tell: &impl Fn(Told) -> bool) -> Result<(), String> {
    let query = Query::typed(&sought.text)?;
    let files = transcript::all(&shared.config_dirs());
    let scope = Scope { limit: Some(MOST_SESSIONS), hits_each: HITS_EACH, ..Scope::default() };
    let reader =
        Reader { now: clock::now(), home: shared.home.as_deref(), own_server: &shared.own_server };
    search::search(&files, &query, &scope, &sought.cancel, |told| {
        let told = match told {
            search::Told::Found(found) => {
                Told::Found(Box::new(Row::new(found.session, None, reader)), found.hits)
            }
            search::Told::Progress(progress) => Told::Percent(percent(&progress)),
        };
        if tell(told) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    Ok(())
}

fn percent(progress: &search::Progress) -> u8 {
    let percent = progress.bytes_done.saturating_mul(100) / progress.bytes.max(1);
    u8::try_from(percent.min(99)).unwrap_or(99)
}
