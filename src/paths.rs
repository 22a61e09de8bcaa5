//! Every environment variable cld reads and every path it derives from one.
#![expect(clippy::disallowed_methods, reason = "this module is the door to the environment")]

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::session::PaneId;
use crate::tmux::{Inside, Place};

/// `$CLAUDE_TMUX_DEBUG=1` turns on the debug log.
pub fn debug() -> bool {
    env::var_os("CLAUDE_TMUX_DEBUG").is_some_and(|value| !value.is_empty() && value != "0")
}

/// The pane this process was started in, from `$TMUX` and `$TMUX_PANE`. `$CLD_TMUX` names another
/// tmux program.
pub fn tmux_place() -> Option<Place> {
    let mut place = Place::parse(&env::var_os("TMUX")?, &env::var_os("TMUX_PANE")?)?;
    place.server.program = tmux_program();
    // tmux tells its version to the processes it starts since 3.2, the first one with a hidden
    // environment, so the name alone is enough.
    place.server.hidden_environment =
        env::var_os("TERM_PROGRAM").is_some_and(|name| name == "tmux");
    Some(place)
}

/// The tmux server this process was started in, also from a popup, which is no pane.
pub fn inside_tmux() -> Option<Inside> {
    let place = Place::parse(&env::var_os("TMUX")?, OsStr::new("%0"))?;
    let pane = env::var("TMUX_PANE").ok().and_then(|pane| PaneId::parse(&pane));
    Some(Inside { socket: place.server.socket, pid: place.server.pid, pane })
}

/// `$CLD_TMUX`, else the first `tmux` of `$PATH` with its whole path: a program named without one
/// makes the standard library fork, which costs more than looking it up.
pub fn tmux_program() -> PathBuf {
    if let Some(program) = set("CLD_TMUX") {
        return PathBuf::from(program);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let programs = env::split_paths(&path).map(|dir| dir.join("tmux"));
    programs.into_iter().find(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("tmux"))
}

/// The socket of the tmux server this process was started in, else of the one that a plain `tmux`
/// talks to.
pub fn tmux_socket() -> PathBuf {
    let own = env::var_os("TMUX").and_then(|tmux| Place::parse(&tmux, OsStr::new("%0")));
    own.map_or_else(|| tmux_socket_dir().join("default"), |place| place.server.socket)
}

/// Where tmux keeps the sockets of this user: `${TMUX_TMPDIR:-/tmp}/tmux-UID`.
pub fn tmux_socket_dir() -> PathBuf {
    let parent = set("TMUX_TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    parent.join(format!("tmux-{}", rustix::process::getuid().as_raw()))
}

/// Claude Code tells its hooks how it was started; a `claude -p` is not a session of the pane.
pub fn claude_is_unattended() -> bool {
    env::var_os("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entry| entry == "sdk-cli")
        || env::var_os("CLAUDE_CODE_SESSION_ATTENDED").is_some_and(|attended| attended == "0")
}

pub fn claude_pid() -> Option<u32> {
    env::var("CLAUDE_PID").ok()?.parse().ok()
}

/// Where programs are looked for.
pub fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_default()
}

/// Names Claude Code's own directory, where that is not the default one.
pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// `$CLAUDE_CONFIG_DIR`, when it is set to something else than the default.
pub fn other_config_dir() -> Option<PathBuf> {
    let named = PathBuf::from(set("CLAUDE_CONFIG_DIR")?);
    (Some(&named) != default_config_dir().as_ref()).then_some(named)
}

pub fn home() -> Option<PathBuf> {
    set("HOME").map(PathBuf::from)
}

/// Claude Code's own `~/.claude`.
pub fn default_config_dir() -> Option<PathBuf> {
    home().map(|home| home.join(".claude"))
}

/// The config directories known without looking at any session: `$CLAUDE_CONFIG_DIR` first, then
/// the default one.
pub fn config_dirs() -> Vec<PathBuf> {
    other_config_dir().into_iter().chain(default_config_dir()).collect()
}

/// The files in which Claude Code lists its projects. The one of the default config directory lies
/// beside it, unless `$CLAUDE_CONFIG_DIR` names that directory.
pub fn project_lists(config_dir: &Path) -> Vec<PathBuf> {
    let inside = config_dir.join(".claude.json");
    let beside = home().map(|home| home.join(".claude.json"));
    let beside = beside.filter(|_| default_config_dir().as_deref() == Some(config_dir));
    beside.into_iter().chain([inside]).collect()
}

/// Where Claude Code looks for the settings of the administrator.
pub fn managed_settings_dir() -> PathBuf {
    PathBuf::from(match cfg!(target_os = "macos") {
        true => "/Library/Application Support/ClaudeCode",
        false => "/etc/claude-code",
    })
}

/// `$NO_COLOR`, or a terminal that has none.
pub fn no_color() -> bool {
    set("NO_COLOR").is_some() || env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// `$COLUMNS`, for terminals that do not tell their width.
pub fn columns() -> Option<usize> {
    env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// `$CLD_PATIENCE`: how many times longer than usual the hook waits for anything, for machines that
/// are slow or very busy.
pub fn patience() -> u32 {
    env::var("CLD_PATIENCE").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1).clamp(1, 100)
}

/// Where hook events are forwarded to, and the token that lets them in.
pub fn collector() -> Option<(String, Option<String>)> {
    let url = env::var("CLAUDE_HUB_COLLECTOR_URL").ok().filter(|url| !url.is_empty())?;
    let token = env::var("CLAUDE_HUB_COLLECTOR_TOKEN").ok().filter(|token| !token.is_empty());
    Some((url, token))
}

/// The directory of cld's own logs: `$XDG_STATE_HOME/cld`, else `~/.local/state/cld`.
pub fn state_dir() -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let xdg = set("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute);
    let state =
        xdg.or_else(|| Some(absolute(PathBuf::from(set("HOME")?))?.join(".local/state")))?;
    Some(state.join("cld"))
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
