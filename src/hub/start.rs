//! From what a caller wants to a session in a pane of its own.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;

use crate::program::Program;
use crate::session::PaneId;
use crate::text::one_line;
use crate::transcript::{self, IdPrefix};
use crate::{claude, clock, paths, process};

use super::launch::Launch;
use super::problem::Problem;
use super::sessions::{Managed, Place, Refused};
use super::shared::Hub;
use super::store::Key;
use super::wanted::Wanted;
use super::{log, stop, stream};

/// Starting a tmux server reads the user's configuration, which may take a while.
const TMUX_LIMIT: Duration = Duration::from_secs(5);
const FORMAT: &str = "#{pid} #{pane_id} #{pane_pid}";

/// Starts a session. What is half done when it fails is taken back.
pub(super) async fn start(hub: &Arc<Hub>, wanted: Wanted) -> Result<Managed, Problem> {
    let wanted = Arc::new(wanted);
    check_id(hub, &wanted).await?;
    let launch = Key::new(&random_id());
    let managed = Managed::new(
        launch.clone(),
        &wanted.session_id,
        wanted.directory.clone(),
        wanted.name.clone(),
        clock::now(),
    );
    hub.sessions.add(managed, hub.settings.most_sessions).map_err(|refused| match refused {
        Refused::Exists(known) => exists(known.id()),
        Refused::TooMany => Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_sessions",
            format!(
                "{} sessions run already; more with: cld hub --max-sessions N",
                hub.settings.most_sessions
            ),
        ),
    })?;
    hub.store.begin(&launch);
    let file = Launch::path(&hub.settings.launches, launch.as_str());
    match open_pane(hub, &wanted, &launch, &file).await {
        Ok(place) => {
            hub.metrics.sessions_started.add(1);
            let given_up = hub.sessions.update(&launch, |managed| {
                managed.place = Some(place.clone());
                managed.is_marked
            });
            tokio::spawn(stop::watch(Arc::clone(hub), launch.clone()));
            if given_up == Some(true) {
                tokio::spawn(stop::end_late(Arc::clone(hub), launch.clone(), place));
            }
            stream::announce(&hub.sessions_changed);
            log::line(&format!("session {} started", wanted.session_id));
            hub.sessions.get(&launch).ok_or_else(Problem::shutting_down)
        }
        Err(problem) => {
            let _ = std::fs::remove_file(&file);
            hub.keys.forget(&launch);
            hub.sessions.remove(&launch);
            Err(problem)
        }
    }
}

pub(super) fn exists(id: &str) -> Problem {
    Problem::conflict("session_exists", format!("the session {id} is open already"))
}

/// Two processes on one transcript would mix two conversations, and Claude Code does not prevent
/// it. A new session needs an id that was never used, a resumed one has to be there.
async fn check_id(hub: &Hub, wanted: &Wanted) -> Result<(), Problem> {
    let id = &wanted.session_id;
    let roster = hub.observer.look_again(Duration::ZERO).await;
    let is_open = |listed: &&crate::roster::Listed| listed.id.as_str() == id && listed.is_alive();
    if hub.sessions.find(id).is_none() && roster.sessions.iter().any(|listed| is_open(&listed)) {
        return Err(exists(id));
    }
    let whole = IdPrefix::parse(id).filter(IdPrefix::is_whole_id);
    let files = whole.map_or(Vec::new(), |id| transcript::matching(&roster.config_dirs, &id));
    match (wanted.resume, files.is_empty()) {
        (true, true) => Err(Problem::unprocessable(
            "nothing_to_resume",
            format!("there is no conversation {id} to resume"),
        )),
        (false, false) => Err(Problem::conflict(
            "session_id_used",
            format!("{id} was used before; give another id, or \"resume\": true"),
        )),
        _ => Ok(()),
    }
}

async fn open_pane(
    hub: &Arc<Hub>,
    wanted: &Arc<Wanted>,
    launch: &Key,
    file: &Path,
) -> Result<Place, Problem> {
    let (hub, wanted, file) = (Arc::clone(hub), Arc::clone(wanted), file.to_owned());
    let launch = launch.clone();
    let opened = tokio::task::spawn_blocking(move || {
        let prepared = prepare(&hub, &wanted, &launch);
        let prepared = prepared.and_then(|prepared| {
            prepared.write(&file).map_err(|error| not_started(&error.to_string()))?;
            Ok(prepared)
        })?;
        new_session(&hub.settings.program, &prepared, &file)
    });
    opened.await.unwrap_or_else(|_| Err(Problem::shutting_down()))
}

fn prepare(hub: &Hub, wanted: &Wanted, launch: &Key) -> Result<Launch, Problem> {
    let program = claude::find().map_err(|error| {
        let detail = one_line(&error.to_string(), 500);
        Problem::new(StatusCode::BAD_GATEWAY, "claude_not_found", detail)
    })?;
    let mut environment = wanted.environment.clone();
    environment.insert(paths::COLLECTOR_URL.to_owned(), hub.addresses.for_hooks.clone());
    environment.insert(paths::COLLECTOR_TOKEN.to_owned(), hub.keys.for_launch(launch));
    if let Some(config_dir) =
        paths::other_config_dir().and_then(|dir| dir.to_str().map(str::to_owned))
    {
        environment.entry(paths::CONFIG_DIR.to_owned()).or_insert(config_dir);
    }
    let settings = hub.settings.hooks_file.to_string_lossy();
    Ok(Launch {
        launch_id: launch.as_str().to_owned(),
        session_id: wanted.session_id.clone(),
        directory: wanted.directory.clone(),
        device: wanted.device,
        inode: wanted.inode,
        program,
        arguments: wanted.arguments(&settings),
        environment,
        tmux_socket: hub.settings.tmux_socket.clone(),
        tmux_session: format!("claude-{}", &wanted.session_id[..8]),
    })
}

/// With the environment of the hub, which a server that is started here gives to its panes.
fn new_session(cld: &Path, launch: &Launch, file: &Path) -> Result<Place, Problem> {
    if let Some(parent) = launch.tmux_socket.parent().filter(|parent| !parent.exists()) {
        // tmux makes the directory of its sockets itself, but not when it is told the whole path.
        let _ = crate::journal::create_private(parent);
    }
    let mut tmux = Program::new(paths::tmux_program(), &["-u", "-S"]);
    tmux.arguments.push(launch.tmux_socket.clone().into_os_string());
    let words = ["new-session", "-d", "-s", &launch.tmux_session, "-x", "200", "-y", "50"];
    tmux.arguments.extend(words.map(OsString::from));
    tmux.arguments.extend(["-P", "-F", FORMAT].map(OsString::from));
    tmux.arguments.extend([cld.as_os_str().to_owned(), "hub".into(), "_launch".into()]);
    tmux.arguments.push(file.as_os_str().to_owned());
    tmux.environment = vec![("TMUX", None), ("TMUX_PANE", None)];
    // The pane begins in this directory, whose name tmux does not have to be told.
    tmux.directory = Some(launch.directory.clone());
    let finished = tmux.run(TMUX_LIMIT).map_err(|error| match error.kind() {
        std::io::ErrorKind::TimedOut => {
            let detail = "tmux did not answer within 5 s";
            Problem::new(StatusCode::GATEWAY_TIMEOUT, "tmux_timeout", detail)
        }
        _ => not_started(&format!("tmux could not be started: {error}")),
    })?;
    if finished.code != Some(0) {
        let said = one_line(&finished.err, 200);
        if said.contains("duplicate session") {
            let name = &launch.tmux_session;
            let detail = format!("there is a tmux session {name} already, which is not the hub's");
            return Err(Problem::conflict("tmux_session_exists", detail));
        }
        return Err(not_started(&format!("tmux said: {said}")));
    }
    let words: Vec<&str> = finished.out.split_whitespace().collect();
    let place = match *words {
        [server, pane, pid] => place(launch, server, pane, pid),
        _ => None,
    };
    place.ok_or_else(|| not_started(&format!("tmux said {:?}", one_line(&finished.out, 80))))
}

fn place(launch: &Launch, server: &str, pane: &str, pid: &str) -> Option<Place> {
    let pid = pid.parse().ok()?;
    Some(Place {
        socket: launch.tmux_socket.clone(),
        server_pid: server.parse().ok()?,
        session: launch.tmux_session.clone(),
        pane: PaneId::parse(pane)?,
        pid,
        pid_start: process::stat(pid).map(|stat| stat.started).unwrap_or_default(),
    })
}

fn not_started(detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_GATEWAY, "tmux_failed", detail)
}

/// 128 random bits as hex digits.
fn random_id() -> String {
    let mut bytes = [0; 16];
    // Without randomness two sessions could get one id.
    getrandom::fill(&mut bytes).unwrap_or_else(|_| std::process::abort());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What an earlier hub has left: launches whose tmux session is still there. The others are
/// forgotten.
pub(super) fn orphans(launches: &Path) -> Vec<Launch> {
    let Ok(entries) = std::fs::read_dir(launches) else { return Vec::new() };
    let files = entries.flatten().map(|entry| entry.path());
    let mut left = Vec::new();
    for file in files.filter(|file| file.extension().is_some_and(|name| name == "json")) {
        match Launch::read(&file) {
            Ok(launch) if is_there(&launch.tmux_socket, &launch.tmux_session) => left.push(launch),
            _ => _ = std::fs::remove_file(&file),
        }
    }
    left
}

fn is_there(socket: &Path, session: &str) -> bool {
    let mut tmux = Program::new(paths::tmux_program(), &["-u", "-S"]);
    tmux.arguments.push(socket.as_os_str().to_owned());
    tmux.arguments.extend(["has-session", "-t", &format!("={session}")].map(OsString::from));
    tmux.run(Duration::from_secs(2)).is_ok_and(|finished| finished.code == Some(0))
}
