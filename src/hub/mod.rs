//! `cld hub`: one service that starts sessions, collects their events and gives them to whoever
//! reads, over HTTP and server-sent events.
//!
//! A request goes through `listen` (sockets), `guard` and `keys` (who may do what) to `api`. An
//! event goes from there to `store` and `spool`, and from those to every `stream`. Sessions are begun
//! by `start` and `launch`, ended by `stop`, and typed into by `message`.

use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::cli::{Hub, HubCommand, Open, Status, Token, TokenScope};
use crate::program::Program;
use crate::{clock, paths};

mod api;
mod client;
mod fact;
pub mod frame;
mod guard;
mod keys;
mod launch;
mod listen;
mod log;
mod message;
mod metrics;
mod observed;
mod page;
mod problem;
mod serve;
mod sessions;
mod shared;
mod spool;
mod start;
mod stop;
mod store;
mod stream;
mod wanted;

/// Most openers hand the address over and end at once.
const BROWSER_LIMIT: Duration = Duration::from_secs(10);

pub fn run(options: &Hub) -> Result<()> {
    match &options.command {
        None => serve::run(&options.serve),
        Some(HubCommand::Status(status)) => print_status(status),
        Some(HubCommand::Token(token)) => print_token(token),
        Some(HubCommand::Open(open)) => open_page(open),
        Some(HubCommand::Launch { file }) => launch::become_claude(file),
    }
}

/// The directory of the hub.
fn dir() -> Result<PathBuf> {
    let state = paths::state_dir().context("HOME is not set, so there is no state directory")?;
    Ok(state.join("hub"))
}

/// The same, made where it is missing, and private.
fn made_dir() -> Result<PathBuf> {
    let dir = dir()?;
    if let Some(state) = dir.parent() {
        serve::private_dir(state)?;
    }
    serve::private_dir(&dir)
}

/// Where programs of this user reach the hub.
fn socket() -> Result<PathBuf> {
    Ok(match paths::runtime_dir() {
        Some(runtime) => runtime.join("cld/hub.sock"),
        None => dir()?.join("hub.sock"),
    })
}

fn print_status(options: &Status) -> Result<()> {
    if options.socket {
        let mut path = socket()?.into_os_string().into_vec();
        path.push(b'\n');
        io::stdout().write_all(&path)?;
        return Ok(());
    }
    let status = client::ask(&socket()?, "GET", "/status", None)?;
    if options.json {
        return print(&format!("{status}\n"));
    }
    let text = |name: &str| match &status[name] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut rows = vec![
        (
            "running",
            format!(
                "{} for {}",
                text("version"),
                clock::rounded(status["uptime"].as_u64().unwrap_or(0))
            ),
        ),
        ("process", text("pid")),
        ("socket", text("socket")),
    ];
    if status["url"].is_string() {
        let open = status["needs_token"] == false;
        rows.push(("url", text("url") + if open { "  (INSECURE: no token needed)" } else { "" }));
    }
    if status["collector"].is_string() {
        rows.push(("collector", text("collector")));
    }
    rows.push(("sessions", text("sessions")));
    rows.push(("streams", text("streams")));
    rows.push(("events", text("events")));
    if status["spool_errors"] != 0 {
        rows.push(("not on disk", text("spool_errors")));
    }
    let lines = rows
        .iter()
        .map(|(name, value)| format!("{name:<10} {}\n", crate::text::one_line(value, 400)));
    print(&lines.collect::<String>())
}

fn print_token(options: &Token) -> Result<()> {
    let scope = match options.scope {
        TokenScope::Control => keys::Scope::Control,
        TokenScope::Read => keys::Scope::Read,
        TokenScope::Collect => keys::Scope::Collect,
    };
    let dir = made_dir()?;
    let token = match options.rotate {
        false => keys::read_or_make(&dir, scope)?,
        true => {
            // A hub that runs has to know at once; where none does, the file is enough.
            let body = json!({ "scope": scope.word() });
            match client::ask(&socket()?, "POST", "/auth/rotate", Some(&body)) {
                Ok(answer) => answer["token"].as_str().unwrap_or_default().to_owned(),
                Err(_) => keys::write_new(&dir, scope)?,
            }
        }
    };
    print(&format!("{token}\n"))
}

/// The ticket stands behind `#`, which a browser keeps to itself.
fn open_page(options: &Open) -> Result<()> {
    let socket = socket()?;
    let status = client::ask(&socket, "GET", "/status", None)?;
    let url = status["url"].as_str().context(
        "the hub listens on its socket only, which no browser can open\nTry: cld hub without --no-tcp",
    )?;
    let scope = if options.read_only { "read" } else { "control" };
    let answer = client::ask(&socket, "POST", "/auth/tickets", Some(&json!({ "scope": scope })))?;
    let ticket = answer["ticket"].as_str().context("the hub gave no ticket")?;
    let address = format!("{url}/#t={ticket}");
    if options.print {
        return print(&format!("{address}\n"));
    }
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = Program::new(opener, &[&address]).run(BROWSER_LIMIT);
    if opened.is_ok_and(|opened| opened.code == Some(0)) {
        return Ok(());
    }
    bail!("no browser could be started\nOpen this address within a minute: {address}")
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
