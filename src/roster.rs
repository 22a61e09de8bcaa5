//! The list of sessions that every reader uses: panes, Claude Code's registry and living processes
//! put together, so that what no hook has told is still seen.
//!
//! [`join`] finds out what belongs to one session, [`heal`] decides what is true of it, both
//! without looking at anything. All text in here is foreign: whoever shows it must make it
//! harmless first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::registry::{self, Entry, Liveness};
use crate::session::{Moment, SessionId, Status, Wait};
use crate::tmux::{self, Listing, Pane};
use crate::{clock, paths, process, slug};

mod heal;
mod join;
pub mod past;

pub use heal::{End, Health, State, Teller, heal};

use join::{Joined, join};

/// A listing of many panes on a busy machine takes a while; a stopped server takes for ever.
const OWN_SERVER_LIMIT: Duration = Duration::from_secs(3);
const ANY_SERVER_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// The one this process runs in, else the default one.
    Current,
    All,
}

#[derive(Debug)]
pub struct Roster {
    /// Sessions in panes in the order of tmux, then those outside of tmux. Sessions that have
    /// ended are in the list as long as a pane remembers them.
    pub sessions: Vec<Listed>,
    pub panes: Vec<Pane>,
    /// Every config directory that is known, the one of this environment first.
    pub config_dirs: Vec<PathBuf>,
    /// The sockets of servers that did not answer in time.
    pub silent_servers: Vec<PathBuf>,
    pub read_at: Moment,
}

/// One session, healed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: SessionId,
    pub health: Health,
    pub liveness: Liveness,
    pub title: Option<String>,
    /// The project the session belongs to; it need not exist any more.
    pub directory: Option<PathBuf>,
    pub transcript: Option<PathBuf>,
    pub config_dir: Option<PathBuf>,
    pub pid: Option<u32>,
    /// Background tasks that ran when a turn last ended.
    pub background: usize,
    /// Driven by a script: `claude -p` or the SDK.
    pub is_scripted: bool,
    /// What the facts above were taken from.
    pub pane: Option<Pane>,
    pub entry: Option<Entry>,
    /// When the transcript of a past session was changed last.
    pub modified: Option<SystemTime>,
}

impl Listed {
    /// Whether a process still has the session open, as far as can be told.
    pub fn is_alive(&self) -> bool {
        !self.health.state.has_ended()
    }

    /// What the session waits for: the oldest open dialog, else the turn that came to its end.
    pub fn waits_for(&self) -> Option<&Wait> {
        self.health.waits.first()
    }

    pub fn status(&self) -> Option<Status> {
        self.health.status
    }
}

/// Looks at tmux and the registry at the same time.
pub fn read(servers: Servers) -> Roster {
    let mut config_dirs = paths::config_dirs();
    let asked = ask(servers);
    let mut registry = Registry::default();
    registry.add(&config_dirs);
    let (panes, silent_servers) = asked.finish();
    registry.add(&add_seen(&mut config_dirs, &panes));
    let read_at = clock::now();
    let sessions = sessions(&panes, registry, read_at);
    Roster { sessions, panes, config_dirs, silent_servers, read_at }
}

/// What can be found out about the sessions of the registry without tmux.
#[derive(Default)]
struct Registry {
    entries: Vec<Entry>,
    /// By session id.
    transcripts: HashMap<String, PathBuf>,
}

impl Registry {
    fn add(&mut self, config_dirs: &[PathBuf]) {
        let entries = registry::read(config_dirs);
        for entry in &entries {
            let cwd = entry.cwd.as_deref().map(Path::new);
            if let Some(path) =
                cwd.and_then(|cwd| transcript(&entry.config_dir, cwd, &entry.session_id))
            {
                self.transcripts.insert(entry.session_id.clone(), path);
            }
        }
        self.entries.extend(entries);
    }
}

/// The transcript of a session, where it lies in the folder of this directory.
fn transcript(config_dir: &Path, directory: &Path, id: &str) -> Option<PathBuf> {
    let id = SessionId::parse(id)?;
    let bucket = config_dir.join("projects").join(slug::encode(directory)?);
    Some(bucket.join(format!("{}.jsonl", id.as_str()))).filter(|path| path.is_file())
}

/// The requests for the panes of one or of all servers.
enum Requests {
    Current(tmux::Asked, PathBuf),
    All(Vec<PathBuf>, std::thread::JoinHandle<Vec<Listing>>),
    None,
}

fn ask(servers: Servers) -> Requests {
    let (program, own) = (paths::tmux_program(), paths::tmux_socket());
    match servers {
        Servers::Current => {
            let deadline = Instant::now() + OWN_SERVER_LIMIT;
            Requests::Current(tmux::ask_for_panes(&program, &own, deadline), own)
        }
        Servers::All => {
            let mut sockets = tmux::sockets_in(&paths::tmux_socket_dir());
            sockets.retain(|socket| *socket != own);
            sockets.insert(0, own);
            let asked = sockets.clone();
            let deadline = Instant::now() + ANY_SERVER_LIMIT;
            let list = move || tmux::list_each(&program, &asked, deadline);
            let thread = std::thread::Builder::new().spawn(list);
            thread.map_or(Requests::None, |thread| Requests::All(sockets, thread))
        }
    }
}

impl Requests {
    /// The panes, and the sockets that gave no answer.
    fn finish(self) -> (Vec<Pane>, Vec<PathBuf>) {
        let (sockets, listings) = match self {
            Self::Current(asked, socket) => (vec![socket], vec![asked.finish()]),
            Self::All(sockets, thread) => (sockets, thread.join().unwrap_or_default()),
            Self::None => return (Vec::new(), Vec::new()),
        };
        let (mut panes, mut silent) = (Vec::new(), Vec::new());
        for (socket, listing) in sockets.into_iter().zip(listings) {
            match listing {
                Listing::Panes(found) => panes.extend(found),
                Listing::Silent => silent.push(socket),
                Listing::NoServer => {}
            }
        }
        (panes, silent)
    }
}

/// Adds the config directories that panes name, and returns those that are new.
fn add_seen(config_dirs: &mut Vec<PathBuf>, panes: &[Pane]) -> Vec<PathBuf> {
    let known = config_dirs.len();
    for dir in panes.iter().filter_map(|pane| pane.kept.as_ref()?.config_dir.as_ref()) {
        if dir.is_absolute() && !config_dirs.contains(dir) {
            config_dirs.push(dir.clone());
        }
    }
    config_dirs[known..].to_vec()
}

fn sessions(panes: &[Pane], mut registry: Registry, now: Moment) -> Vec<Listed> {
    let joined = join(panes, std::mem::take(&mut registry.entries), process::tmux_server_above);
    let liveness = liveness(&joined);
    let listed = joined.into_iter().zip(liveness);
    let listed =
        listed.filter_map(|(joined, liveness)| listed_of(joined, liveness, &registry, now));
    join::without_remains(listed.collect())
}

/// Looks only at processes that the registry has not looked at already.
fn liveness(joined: &[Joined<'_>]) -> Vec<Liveness> {
    let noted: Vec<(u32, Option<&str>)> = joined.iter().filter_map(Joined::noted_process).collect();
    let mut looked = registry::liveness_of(&noted).into_iter();
    let one = |joined: &Joined<'_>| match (&joined.entry, joined.noted_process()) {
        (Some(entry), _) => entry.liveness,
        (None, Some(_)) => looked.next().unwrap_or(Liveness::Unknown),
        (None, None) => Liveness::Unknown,
    };
    joined.iter().map(one).collect()
}

fn listed_of(
    joined: Joined<'_>,
    liveness: Liveness,
    registry: &Registry,
    now: Moment,
) -> Option<Listed> {
    let Joined { pane, kept, entry } = joined;
    // A pane whose process ended stays on the screen with `remain-on-exit`.
    let liveness = if pane.is_some_and(|pane| pane.is_dead) { Liveness::Dead } else { liveness };
    let (kept, id) = heal::current(kept, entry.as_ref())?;
    let health = heal(kept, entry.as_ref(), liveness, now);
    let config_dir = entry.as_ref().map(|entry| entry.config_dir.clone());
    let config_dir =
        config_dir.or_else(|| kept?.config_dir.clone()).or_else(paths::default_config_dir);
    let start = kept.and_then(|kept| kept.directory.as_deref());
    let transcript = registry
        .transcripts
        .get(id.as_str())
        .cloned()
        .or_else(|| kept?.transcript.clone().filter(|path| path.is_file()))
        .or_else(|| transcript(config_dir.as_deref()?, start?, id.as_str()));
    let cwd = entry.as_ref().and_then(|entry| entry.cwd.as_deref()).map(Path::new);
    let directory = directory(start, cwd, transcript.as_deref()).map(Path::to_owned);
    let name = entry.as_ref().and_then(|entry| entry.name.clone());
    Some(Listed {
        health,
        liveness,
        title: name.or_else(|| kept?.title.clone()),
        directory,
        transcript,
        config_dir,
        pid: entry.as_ref().map(|entry| entry.pid).or_else(|| kept?.pid),
        background: kept.map_or(0, |kept| kept.background),
        is_scripted: entry.as_ref().is_some_and(Entry::is_scripted),
        pane: pane.cloned(),
        entry,
        modified: None,
        id,
    })
}

/// Where a session belongs: where it was started, or where it is now, whichever has the folder in
/// which the transcript lies. `/cd` moves that, and only the registry follows.
fn directory<'a>(
    start: Option<&'a Path>,
    now: Option<&'a Path>,
    transcript: Option<&Path>,
) -> Option<&'a Path> {
    let bucket = transcript.and_then(Path::parent).and_then(Path::file_name);
    let has_bucket = |directory: &&Path| {
        let slug = slug::encode(directory);
        slug.is_some_and(|slug| bucket.is_some_and(|bucket| bucket == slug.as_str()))
    };
    let mut known = start.into_iter().chain(now);
    known.clone().find(has_bucket).or_else(|| known.next())
}
