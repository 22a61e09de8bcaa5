//! The list of sessions that every reader uses: panes, Claude Code's registry and living processes
//! put together, so that what no hook has told is still seen.
//!
//! `join` finds out what belongs to one session, `heal` decides what is true of it, both
//! without looking at anything. All text in here is foreign: whoever shows it must make it
//! harmless first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::registry::{self, Entry, Liveness};
use crate::session::{Moment, SessionId, Status, Wait};
use crate::tmux::{self, Client, Listing, Pane};
use crate::{clock, context, paths, process, slug, transcript};

mod heal;
mod join;
pub mod past;

pub use heal::{End, Health, State, Teller, heal};

use join::{Joined, join};

/// A listing of many panes on a busy machine takes a while; a stopped server takes for ever.
const OWN_SERVER_LIMIT: Duration = Duration::from_secs(3);
const ANY_SERVER_LIMIT: Duration = Duration::from_secs(1);

const REGISTRY_LAG_SECONDS: u64 = 1;
/// Times of files are behind the clock by up to this much.
const TICK: Duration = Duration::from_millis(100);

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
    /// The terminals that look at these panes.
    pub clients: Vec<Client>,
    /// What each server remembers of where its clients were, by its socket.
    pub visits: Vec<(PathBuf, String)>,
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
    /// The git branch at the last record of the transcript, where that was read.
    pub branch: Option<String>,
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

    /// Whether hooks told of a turn so lately that the registry may not know of it yet. The state
    /// may then seem idle for a moment, because hooks note their moment in whole seconds only.
    pub fn has_just_begun(&self, now: Moment) -> bool {
        let kept = self.pane.as_ref().and_then(|pane| pane.kept.as_ref());
        kept.filter(|kept| kept.session == self.id && self.is_alive()).is_some_and(|kept| {
            let is_fresh = |time| now.seconds_since(time) <= REGISTRY_LAG_SECONDS;
            kept.status == Some(Status::Running) && kept.latest_time.is_some_and(is_fresh)
        })
    }
}

/// A request to the server that every look at the sessions begins with.
#[derive(Debug)]
pub struct Ahead {
    program: PathBuf,
    own: PathBuf,
    asked: tmux::Asked,
}

/// Asks the own server, before it is known what else is wanted.
pub fn ask_ahead() -> Ahead {
    let (program, own) = (paths::tmux_program(), paths::tmux_socket());
    let asked = tmux::ask_for_panes(&program, &own, Instant::now() + OWN_SERVER_LIMIT);
    Ahead { program, own, asked }
}

/// Looks at tmux and the registry at the same time.
pub fn read(servers: Servers) -> Roster {
    read_ahead(servers, ask_ahead())
}

/// The same, where the own server was asked already.
pub fn read_ahead(servers: Servers, ahead: Ahead) -> Roster {
    let mut config_dirs = paths::config_dirs();
    let asked = ask(servers, ahead);
    let mut entries = registry::read(&config_dirs);
    let Answers { panes, clients, visits, silent_servers } = asked.finish();
    entries.extend(registry::read(&add_seen(&mut config_dirs, &panes)));
    let read_at = clock::now();
    let sessions = sessions(&panes, entries, read_at);
    Roster { sessions, panes, clients, visits, config_dirs, silent_servers, read_at }
}

/// The requests for what the servers show.
struct Requests {
    own: tmux::Asked,
    /// Asked from threads: even connecting to a server that is stopped may hang.
    others: Option<std::thread::JoinHandle<Vec<Listing>>>,
    /// The own one first.
    sockets: Vec<PathBuf>,
}

fn ask(servers: Servers, ahead: Ahead) -> Requests {
    let Ahead { program, own, asked } = ahead;
    // Outside of tmux the default server is one of many, and one of them may hang.
    let limit = match servers {
        Servers::All if paths::inside_tmux().is_none() => ANY_SERVER_LIMIT,
        Servers::All | Servers::Current => OWN_SERVER_LIMIT,
    };
    let asked = asked.until(Instant::now() + limit);
    let mut sockets = match servers {
        Servers::Current => Vec::new(),
        Servers::All => tmux::sockets_in(&paths::tmux_socket_dir()),
    };
    sockets.retain(|socket| *socket != own);
    let others = (!sockets.is_empty()).then(|| {
        let (others, deadline) = (sockets.clone(), Instant::now() + ANY_SERVER_LIMIT);
        std::thread::Builder::new().spawn(move || tmux::list_each(&program, &others, deadline))
    });
    sockets.insert(0, own);
    Requests { own: asked, others: others.and_then(Result::ok), sockets }
}

impl Requests {
    fn finish(self) -> Answers {
        let mut answers = Answers::default();
        let mut listings = vec![self.own.finish()];
        let others = self.others.and_then(|thread| thread.join().ok());
        listings.extend(others.unwrap_or_default());
        for (socket, listing) in self.sockets.into_iter().zip(listings) {
            match listing {
                Listing::Found(found) => {
                    answers.panes.extend(found.panes);
                    answers.clients.extend(found.clients);
                    answers.visits.push((socket, found.visits));
                }
                Listing::Silent => answers.silent_servers.push(socket),
                Listing::NoServer => {}
            }
        }
        answers
    }
}

/// What all servers said together.
#[derive(Default)]
struct Answers {
    panes: Vec<Pane>,
    clients: Vec<Client>,
    visits: Vec<(PathBuf, String)>,
    silent_servers: Vec<PathBuf>,
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

fn sessions(panes: &[Pane], entries: Vec<Entry>, now: Moment) -> Vec<Listed> {
    let joined = join(panes, entries, process::tmux_server_above);
    let liveness = liveness(&joined);
    let listed = joined.into_iter().zip(liveness);
    let listed = listed.filter_map(|(joined, liveness)| listed_of(joined, liveness, now));
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

fn listed_of(joined: Joined<'_>, liveness: Liveness, now: Moment) -> Option<Listed> {
    let Joined { pane, kept, entry } = joined;
    // A pane whose process ended stays on the screen with `remain-on-exit`.
    let liveness = if pane.is_some_and(|pane| pane.is_dead) { Liveness::Dead } else { liveness };
    let (kept, id) = heal::current(kept, entry.as_ref())?;
    let health = heal(kept, entry.as_ref(), liveness, now);
    let config_dir = entry.as_ref().map(|entry| entry.config_dir.clone());
    let config_dir =
        config_dir.or_else(|| kept?.config_dir.clone()).or_else(paths::default_config_dir);
    let project = Project {
        start: kept.and_then(|kept| kept.directory.as_deref()),
        now: entry.as_ref().and_then(|entry| entry.cwd.as_deref()).map(Path::new),
        told: kept.and_then(|kept| kept.transcript.as_deref()),
        config_dir: config_dir.as_deref(),
    };
    let transcript = project.transcript(&id);
    let health = match transcript.as_deref() {
        Some(path) if heal::needs_transcript(&health, entry.as_ref()) => went_on(health, path),
        _ => health,
    };
    let directory = project.directory(transcript.as_deref()).map(Path::to_owned);
    let name = entry.as_ref().and_then(|entry| entry.name.clone());
    Some(Listed {
        health,
        liveness,
        title: name.or_else(|| kept?.title.clone()),
        directory,
        branch: None,
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

/// Asks the transcript about waits that only hooks know of. Most have not changed since.
fn went_on(health: Health, transcript: &Path) -> Health {
    let Some(oldest) = health.waits.iter().map(|wait| wait.since).min() else { return health };
    let written = std::fs::metadata(transcript).and_then(|metadata| metadata.modified()).ok();
    let written = written.and_then(|at| (at + TICK).duration_since(UNIX_EPOCH).ok());
    if written.is_none_or(|at| at.as_micros() <= u128::from(oldest.micros())) {
        return health;
    }
    match transcript::later(transcript, oldest) {
        Ok(later) => heal::went_on(health, &later, context::is_about),
        Err(_) => health,
    }
}

/// What is known of the place where a session belongs.
struct Project<'a> {
    /// Where it was started.
    start: Option<&'a Path>,
    /// Where it is, as the registry says. `/cd` moves a session together with its transcript, and
    /// only the registry follows.
    now: Option<&'a Path>,
    /// The transcript that hooks have told of.
    told: Option<&'a Path>,
    config_dir: Option<&'a Path>,
}

impl Project<'_> {
    fn transcript(&self, id: &SessionId) -> Option<PathBuf> {
        let in_folder_of = |directory: &Path| {
            let bucket = self.config_dir?.join("projects").join(slug::encode(directory)?);
            Some(bucket.join(format!("{}.jsonl", id.as_str()))).filter(|path| path.is_file())
        };
        // Hooks only tell of files that are there. One that agrees with the registry was not moved
        // since, so there is no need to look.
        let agreed = self.told.filter(|told| self.now.is_some_and(|now| has_bucket(now, told)));
        agreed
            .map(Path::to_owned)
            .or_else(|| in_folder_of(self.now?))
            .or_else(|| self.told.filter(|told| told.is_file()).map(Path::to_owned))
            .or_else(|| in_folder_of(self.start?))
    }

    /// The directory in whose folder the transcript lies, else where the session was started.
    fn directory(&self, transcript: Option<&Path>) -> Option<&Path> {
        if self.start == self.now {
            return self.start;
        }
        let mut known = self.start.into_iter().chain(self.now);
        let fits = |directory: &&Path| transcript.is_some_and(|path| has_bucket(directory, path));
        known.clone().find(fits).or_else(|| known.next())
    }
}

/// Whether a transcript lies in the folder of a directory.
fn has_bucket(directory: &Path, transcript: &Path) -> bool {
    let bucket = transcript.parent().and_then(Path::file_name);
    slug::encode(directory).is_some_and(|slug| bucket.is_some_and(|bucket| bucket == slug.as_str()))
}
