//! `cld hub`: from the command line to a running service, and to its end.

use std::fs::{self, File, Permissions};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

use crate::cli;
use crate::error::Stop;
use crate::session::Moment;
use crate::shell::quoted;
use crate::text::shown;
use crate::{clock, journal, paths, setup};

use super::guard::{Door, Hosts};
use super::keys::{self, Keys};
use super::listen::{self, Listener};
use super::metrics::Metrics;
use super::observed::Observer;
use super::sessions::{Sessions, Stage};
use super::shared::{Addresses, Hub, Phase, Settings};
use super::spool::{self, Spool};
use super::store::{Limits, Store};
use super::{api, client, log, start, stop, stream};

const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
/// All sessions are stopped at the same time, and each has bounds of its own.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// What is left is for readers to take their last events.
const FAREWELL: Duration = Duration::from_millis(1500);
/// A listing of a server that hangs is not waited for.
const LEFT_BEHIND: Duration = Duration::from_millis(200);
/// How often panes are looked at while somebody reads everything.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn run(options: &cli::Serve) -> Result<()> {
    check(options)?;
    let dir = super::made_dir()?;
    let _lock = lock(&dir)?;
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(16)
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    let served = runtime.block_on(serve(options, dir));
    runtime.shutdown_timeout(LEFT_BEHIND);
    served
}

/// What may never be, whatever the user says.
fn check(options: &cli::Serve) -> Result<()> {
    if !options.listen.ip().is_loopback() {
        return Err(Stop::Usage(format!(
            "--listen {} is refused: whoever reaches the hub can run programs as you, so it \
             listens on loopback only\nTry: ssh -L {port}:127.0.0.1:{port} HOST, or a proxy with \
             TLS and --allowed-host",
            options.listen,
            port = options.listen.port(),
        ))
        .into());
    }
    Ok(())
}

async fn serve(options: &cli::Serve, dir: PathBuf) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let prepared = Prepared::new(options, dir)?;
    let (bound, addresses) = bind(options).await?;
    let hub = Arc::new(prepared.with(addresses));
    let app = api::app(&hub);
    for (listener, door) in bound {
        tokio::spawn(listen::serve(Arc::clone(&hub), listener, door, app.clone()));
    }
    tokio::spawn(announce_changes(Arc::clone(&hub)));
    introduce(&hub);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    log::line("stopping; a second signal ends at once");
    tokio::select! {
        () = close(&hub) => log::line("stopped"),
        _ = terminate.recv() => log::line("ended at once"),
        _ = interrupt.recv() => log::line("ended at once"),
    }
    let _ = fs::remove_file(&hub.addresses.socket);
    Ok(())
}

/// What has to be in order before anybody is let in.
struct Prepared {
    settings: Settings,
    keys: Keys,
    store: Store,
    now: Moment,
}

impl Prepared {
    fn new(options: &cli::Serve, dir: PathBuf) -> Result<Self> {
        let now = clock::now();
        let spool_dir = private_dir(&dir.join("spool"))?;
        let boot = spool::next_boot(&spool_dir, now);
        let spool = Spool::open(spool_dir, &format!("{boot:013x}"), now);
        let megabytes = |number: usize| number.saturating_mul(1024 * 1024);
        let limits = Limits {
            ring_bytes: megabytes(options.ring),
            ring_events: 4096,
            total_bytes: megabytes(options.memory),
        };
        let launches = private_dir(&dir.join("launches"))?;
        let settings = Settings {
            hooks_file: write_hooks(&dir)?,
            program: setup::program()?,
            launches,
            tmux_socket: tmux_socket(options.socket.as_deref()),
            heartbeat: options.heartbeat.map_or(stream::HEARTBEAT, Duration::from_secs),
            most_sessions: options.max_sessions,
            most_streams: 1024,
            needs_token: !options.insecure_no_auth,
            dir,
        };
        let keys = Keys::open(&settings.dir)?;
        let store = Store::new(boot, limits, spool.context("the spool cannot be opened")?);
        Ok(Self { settings, keys, store, now })
    }

    fn with(self, addresses: Addresses) -> Hub {
        Hub {
            settings: self.settings,
            started: self.now,
            addresses,
            keys: self.keys,
            store: self.store,
            sessions: Sessions::default(),
            observer: Observer::default(),
            metrics: Metrics::default(),
            bodies: Semaphore::new(api::BODIES),
            phase: watch::Sender::new(Phase::Running),
            sessions_changed: watch::Sender::new(0),
        }
    }
}

fn introduce(hub: &Hub) {
    log::line(&format!(
        "cld hub {} listens on {}",
        env!("CARGO_PKG_VERSION"),
        shown(&hub.addresses.socket)
    ));
    if let Some(url) = &hub.addresses.url {
        log::line(&format!("listens on {url}; open it with: cld hub open"));
    }
    if let Some(url) = &hub.addresses.collector {
        log::line(&format!("collects events on {url}"));
    }
    for orphan in start::orphans(&hub.settings.launches) {
        log::line(&format!(
            "the tmux session {} was started by an earlier hub and is left alone; to stop it: \
             tmux -S {} kill-session -t '={}'",
            orphan.tmux_session,
            quoted(orphan.tmux_socket.as_os_str()),
            orphan.tmux_session,
        ));
    }
    if !hub.settings.needs_token {
        log::line(
            "WARNING: --insecure-no-auth: every program and every user of this machine can run \
             programs as you",
        );
    }
}

async fn close(hub: &Arc<Hub>) {
    hub.phase.send_replace(Phase::Stopping);
    let alive = hub.sessions.all().into_iter().filter(|managed| managed.stage != Stage::Ended);
    let stops: Vec<_> = alive
        .map(|managed| {
            let hub = Arc::clone(hub);
            tokio::spawn(async move { stop::stop(&hub, &managed.launch, stop::LONGEST).await })
        })
        .collect();
    let all = async {
        for stop in stops {
            let _ = stop.await;
        }
    };
    if tokio::time::timeout(STOP_LIMIT, all).await.is_err() {
        log::line("some sessions did not end in time");
    }
    hub.phase.send_replace(Phase::Closing);
    let until = tokio::time::Instant::now() + FAREWELL;
    while hub.metrics.connections.get() > 0 && tokio::time::Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Sessions in panes change without an event that the hub sees; while somebody reads everything,
/// the panes are looked at.
async fn announce_changes(hub: Arc<Hub>) {
    let mut last = String::new();
    loop {
        tokio::time::sleep(LOOK).await;
        if hub.sessions_changed.receiver_count() == 0 {
            continue;
        }
        let roster = hub.observer.look().await;
        let now = api::signature(&hub, &roster);
        if now != last {
            last = now;
            stream::announce(&hub.sessions_changed);
        }
    }
}

type Bound = Vec<(Listener, Door)>;

async fn bind(options: &cli::Serve) -> Result<(Bound, Addresses)> {
    let socket = super::socket()?;
    let mut bound = vec![(Listener::Unix(bind_socket(&socket)?), Door::Unix)];
    let mut url = None;
    if !options.no_tcp {
        let listener = TcpListener::bind(options.listen).await.with_context(|| {
            let given = options.listen;
            format!("{given} cannot be listened on; another port: --listen {}:0", given.ip())
        })?;
        let address = listener.local_addr()?;
        let own = own_name(address.ip());
        let mut names = LOOPBACK.to_vec();
        names.push(&own);
        let door = Door::Tcp(Hosts::new(address.port(), &names, &options.allowed_host));
        url = Some(format!("http://{own}:{}", address.port()));
        // `localhost` may mean either; where there is no IPv6, nobody will ask for it.
        let other = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), address.port());
        if address.is_ipv4()
            && let Ok(other) = TcpListener::bind(other).await
        {
            bound.push((Listener::Tcp(other), door.clone()));
        }
        bound.push((Listener::Tcp(listener), door));
    }
    let mut for_hooks = url.clone();
    if for_hooks.is_none() {
        // Hooks speak plain HTTP; what they may do here is to post events of their own session.
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        for_hooks = Some(format!("http://127.0.0.1:{port}"));
        let door = Door::Collector(Hosts::new(port, &LOOPBACK, &[]));
        bound.push((Listener::Tcp(listener), door));
    }
    let mut collector = None;
    if let Some(given) = options.collector_listen {
        let listener = TcpListener::bind(given)
            .await
            .with_context(|| format!("{given} cannot be listened on for events"))?;
        let address = listener.local_addr()?;
        if address.ip().is_unspecified() {
            log::line("WARNING: events are taken from every network; give one address instead");
        }
        let own = own_name(address.ip());
        let mut names = LOOPBACK.to_vec();
        names.extend([&*own, "host.docker.internal", "host.containers.internal"]);
        let hosts = Hosts::new(address.port(), &names, &options.allowed_host);
        collector = Some(format!("http://{own}:{}", address.port()));
        bound.push((Listener::Tcp(listener), Door::Collector(hosts)));
    }
    let for_hooks = for_hooks.unwrap_or_default();
    Ok((bound, Addresses { socket, url, collector, for_hooks }))
}

fn own_name(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// A socket that is left over from a hub that was killed is replaced; one that answers is not.
fn bind_socket(path: &Path) -> Result<UnixListener> {
    if let Some(parent) = path.parent() {
        private_dir(parent)?;
    }
    if client::ask(path, "GET", "/healthz", None).is_ok() {
        bail!("a hub is running already at {}\nTry: cld hub status", shown(path));
    }
    match fs::symlink_metadata(path) {
        Ok(found) if std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()) => {
            fs::remove_file(path)?;
        }
        Ok(_) => bail!("{} is not a socket; move it away", shown(path)),
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)
        .with_context(|| format!("the socket {} cannot be made", shown(path)))?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Makes the directory, and refuses one that belongs to somebody else.
pub(super) fn private_dir(dir: &Path) -> Result<PathBuf> {
    let refused = || format!("{} cannot be used", shown(dir));
    journal::create_private(dir).with_context(refused)?;
    let found = fs::symlink_metadata(dir).with_context(refused)?;
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !is_own || found.mode() & 0o077 != 0 {
        bail!("{} is not a directory that only you can enter", shown(dir));
    }
    Ok(dir.to_owned())
}

/// One hub for each state directory. The lock goes with the process, however that ends.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    let flags = rustix::fs::OFlags::RDWR
        | rustix::fs::OFlags::CREATE
        | rustix::fs::OFlags::NOFOLLOW
        | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
    let file = File::from(file.with_context(|| format!("{} cannot be opened", shown(&path)))?);
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            bail!("a hub is running already\nTry: cld hub status")
        }
        Err(fs::TryLockError::Error(error)) => Err(error).context("the hub cannot be locked"),
    }
}

/// The hooks for sessions of the hub. The command is the one that `cld setup` registers, so a session
/// that has both runs it once.
fn write_hooks(dir: &Path) -> Result<PathBuf> {
    let path = dir.join("settings.json");
    let command = setup::command_for(&setup::program()?)?;
    let text = setup::settings::install(None, &command)?;
    keys::replace(&path, &text).with_context(|| format!("{} cannot be written", shown(&path)))?;
    Ok(path)
}

/// A path, or a name as `tmux -L` takes it.
fn tmux_socket(given: Option<&Path>) -> PathBuf {
    match given {
        Some(given) if given.components().count() > 1 => given.to_owned(),
        Some(name) => paths::tmux_socket_dir().join(name),
        None => paths::tmux_socket(),
    }
}

/// Every stream is an open file, and the usual limit is a thousand.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, there are just fewer streams.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shutdown_is_over_within_twelve_seconds_and_has_time_for_every_stop() {
        assert!(stop::LONGEST <= STOP_LIMIT);
        assert!(listen::CLOSE_LIMIT <= FAREWELL, "connections end meanwhile");
        assert!(STOP_LIMIT + FAREWELL + LEFT_BEHIND <= Duration::from_secs(12));
    }
}
