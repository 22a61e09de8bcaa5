//! Claude Code's own registry of live sessions: one file `<config dir>/sessions/<pid>.json` per
//! process.
//!
//! It is undocumented, so every field may be missing. A file stays behind when its process is
//! killed; whether it still speaks of a living process is decided by process id and start time
//! together.
//!
//! All text is as another program wrote it: whoever shows it must make it harmless first.

mod process;

pub use process::Liveness;

use crate::lenient::{exact, number, text, words};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Entries are a few hundred bytes; what is larger is not one.
const LARGEST_ENTRY: u64 = 64 * 1024;
const USUAL_ENTRY: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub config_dir: PathBuf,
    pub pid: u32,
    pub session_id: String,
    pub liveness: Liveness,
    pub status: Status,
    /// What a waiting session waits for.
    pub waiting_for: Option<String>,
    pub cwd: Option<String>,
    pub name: Option<String>,
    pub tmux: Option<TmuxPlace>,
    pub kind: Option<String>,
    pub entrypoint: Option<String>,
    pub version: Option<String>,
    /// The start time of the process as Claude Code noted it.
    pub proc_start: Option<String>,
    /// Milliseconds since 1970, as are the other times.
    pub started_at: Option<u64>,
    pub updated_at: Option<u64>,
    pub status_updated_at: Option<u64>,
}

impl Entry {
    /// Whether a script drives this session: `claude -p` or the SDK.
    pub fn is_scripted(&self) -> bool {
        self.entrypoint.as_ref().is_some_and(|entrypoint| entrypoint.starts_with("sdk-"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Busy,
    Idle,
    Waiting,
    Shell,
    Unknown,
}

/// Where the session was started in tmux. The session's name is not refreshed when it is renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmuxPlace {
    pub session: String,
    /// With its sign, as in `@2`.
    pub window: String,
    /// With its sign, as in `%2`.
    pub pane: String,
}

impl TmuxPlace {
    /// Reads `session:@window.%pane` from the right, because the name may hold the same signs.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let (rest, pane) = text.rsplit_once(".%").filter(|(_, pane)| is_number(pane))?;
        let (session, window) = rest.rsplit_once(":@").filter(|(_, window)| is_number(window))?;
        Some(Self {
            session: session.to_owned(),
            window: format!("@{window}"),
            pane: format!("%{pane}"),
        })
    }
}

/// The entries of all these config directories, by process id. What cannot be read is left out.
pub fn read(config_dirs: &[PathBuf]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = config_dirs.iter().flat_map(|dir| read_folder(dir)).collect();
    entries.sort_by_key(|entry| entry.pid);
    let processes = process::look_at(entries.iter().map(|entry| entry.pid));
    for entry in &mut entries {
        entry.liveness = process::liveness(processes.get(&entry.pid), entry.proc_start.as_deref());
    }
    entries
}

/// Whether processes that were noted with their start times still run, in the order given.
pub fn liveness_of(noted: &[(u32, Option<&str>)]) -> Vec<Liveness> {
    let processes = process::look_at(noted.iter().map(|(pid, _)| *pid));
    noted.iter().map(|(pid, start)| process::liveness(processes.get(pid), *start)).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(borrow)]
    pid: Option<&'a RawValue>,
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    proc_start: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    entrypoint: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    waiting_for: Option<&'a RawValue>,
    #[serde(borrow)]
    tmux: Option<&'a RawValue>,
    #[serde(borrow)]
    started_at: Option<&'a RawValue>,
    #[serde(borrow)]
    updated_at: Option<&'a RawValue>,
    #[serde(borrow)]
    status_updated_at: Option<&'a RawValue>,
}

fn read_folder(config_dir: &Path) -> Vec<Entry> {
    let folder = fs::read_dir(config_dir.join("sessions"));
    let files = folder.into_iter().flatten().map_while(Result::ok);
    files
        .filter_map(|file| {
            let pid = pid_in_name(&file.file_name())?;
            let path = file.path();
            // Claude Code may be rewriting the file at this very moment.
            parse(&content(&path)?, pid, config_dir)
                .or_else(|| parse(&content(&path)?, pid, config_dir))
        })
        .collect()
}

/// The folder also holds secrets (`<pid>.<hash>.key`): only names that are digits and `.json` are
/// ever opened.
fn pid_in_name(name: &OsStr) -> Option<u32> {
    let digits = name.to_str()?.strip_suffix(".json")?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// What is no regular file gives nothing: folders cannot be read, links are not followed, and a
/// pipe has nothing to say.
fn content(path: &Path) -> Option<Vec<u8>> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let mut file =
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    // One read takes the whole of a usual entry, and its being short tells that it was the whole.
    let mut start = [0; USUAL_ENTRY];
    let length = file.read(&mut start).ok()?;
    let mut content = start[..length].to_vec();
    if length == USUAL_ENTRY {
        file.take(LARGEST_ENTRY).read_to_end(&mut content).ok()?;
    }
    Some(content)
}

fn parse(content: &[u8], pid_in_name: u32, config_dir: &Path) -> Option<Entry> {
    let is_object = content.trim_ascii_start().starts_with(b"{");
    let file: File<'_> = is_object.then(|| serde_json::from_slice(content).ok()).flatten()?;
    Some(Entry {
        config_dir: config_dir.to_owned(),
        pid: number(file.pid).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(pid_in_name),
        session_id: words(file.session_id)?,
        liveness: Liveness::Unknown,
        status: status(text(file.status).as_deref()),
        waiting_for: words(file.waiting_for),
        cwd: exact(file.cwd),
        name: words(file.name),
        tmux: text(file.tmux).and_then(|place| TmuxPlace::parse(&place)),
        kind: words(file.kind),
        entrypoint: words(file.entrypoint),
        version: words(file.version),
        proc_start: words(file.proc_start)
            .or_else(|| number(file.proc_start).map(|ticks| ticks.to_string())),
        started_at: number(file.started_at),
        updated_at: number(file.updated_at),
        status_updated_at: number(file.status_updated_at),
    })
}

fn status(text: Option<&str>) -> Status {
    match text {
        Some("busy") => Status::Busy,
        Some("idle") => Status::Idle,
        Some("waiting") => Status::Waiting,
        Some("shell") => Status::Shell,
        _ => Status::Unknown,
    }
}

#[cfg(test)]
mod tests;
