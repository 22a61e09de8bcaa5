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
    place.server.hidden_environment = tmux_has_hidden_environment();
    Some(place)
}

/// tmux tells its version to the processes it starts since 3.2, the first one with a hidden
/// environment, so the name alone is enough.
pub fn tmux_has_hidden_environment() -> bool {
    env::var_os("TERM_PROGRAM").is_some_and(|name| name == "tmux")
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

/// The program that runs.
pub fn own_program() -> Option<PathBuf> {
    env::current_exe().ok()
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

/// `$COLORTERM`, or tmux, which gives every terminal the nearest colours it has.
pub fn has_true_colour() -> bool {
    let says_so = |value: OsString| value == "truecolor" || value == "24bit";
    env::var_os("COLORTERM").is_some_and(says_so) || set("TMUX").is_some()
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

/// Where hook events are forwarded to, the token that lets them in, and a file that holds it.
pub const COLLECTOR_URL: &str = "CLAUDE_HUB_COLLECTOR_URL";
pub const COLLECTOR_TOKEN: &str = "CLAUDE_HUB_COLLECTOR_TOKEN";
const COLLECTOR_TOKEN_FILE: &str = "CLAUDE_HUB_COLLECTOR_TOKEN_FILE";

/// Containers get the token in a file: variables are shown to whoever may look at a container.
pub fn collector() -> Option<(String, Option<String>)> {
    let url = env::var(COLLECTOR_URL).ok().filter(|url| !url.is_empty())?;
    let token = env::var(COLLECTOR_TOKEN).ok().filter(|token| !token.is_empty());
    let in_file = || {
        let text = std::fs::read_to_string(set(COLLECTOR_TOKEN_FILE)?).ok()?;
        Some(text.trim().to_owned()).filter(|token| !token.is_empty())
    };
    Some((url, token.or_else(in_file)))
}

/// What programs need to know of the terminal, and nothing else.
pub fn of_the_terminal() -> Vec<(&'static str, OsString)> {
    let names = ["TERM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE"];
    names.into_iter().filter_map(|name| Some((name, set(name)?))).collect()
}

/// `$CLD_COMPLETE`: a shell asks what could stand in place of this word of the command line.
pub fn completed_word() -> Option<usize> {
    env::var("CLD_COMPLETE").ok()?.parse().ok()
}

/// The directory of cld's own logs: `$XDG_STATE_HOME/cld`, else `~/.local/state/cld`.
pub fn state_dir() -> Option<PathBuf> {
    Some(xdg("XDG_STATE_HOME", ".local/state")?.join("cld"))
}

/// The directory of what cld installs for other programs: `$XDG_DATA_HOME/cld`, else
/// `~/.local/share/cld`.
pub fn data_dir() -> Option<PathBuf> {
    Some(xdg("XDG_DATA_HOME", ".local/share")?.join("cld"))
}

/// `$XDG_RUNTIME_DIR`: private, and gone with the login.
pub fn runtime_dir() -> Option<PathBuf> {
    set("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute())
}

/// Whether what is printed goes to the journal of systemd, which notes the time of every line.
pub fn has_journal() -> bool {
    set("JOURNAL_STREAM").is_some()
}

/// cld's own configuration: `$XDG_CONFIG_HOME/cld/config.toml`, else below `~/.config`.
pub fn config_file() -> Option<PathBuf> {
    Some(xdg("XDG_CONFIG_HOME", ".config")?.join("cld/config.toml"))
}

/// The configuration files of tmux, in the order in which it reads all that exist. Before 3.1 it
/// reads the first one only.
pub fn tmux_confs() -> Vec<PathBuf> {
    let Some(home) = home() else { return Vec::new() };
    let default = home.join(".config/tmux/tmux.conf");
    let named = xdg("XDG_CONFIG_HOME", ".config").map(|dir| dir.join("tmux/tmux.conf"));
    let named = named.filter(|named| *named != default);
    [home.join(".tmux.conf")].into_iter().chain(named).chain([default]).collect()
}

/// The name of the login shell, from `$SHELL`.
pub fn login_shell() -> Option<String> {
    let shell = PathBuf::from(set("SHELL")?);
    Some(shell.file_name()?.to_str()?.to_owned())
}

/// The file that a shell reads when it is started for a person.
pub fn startup_file(shell: &str) -> Option<PathBuf> {
    match shell {
        "bash" => Some(home()?.join(".bashrc")),
        "zsh" => Some(set("ZDOTDIR").map(PathBuf::from).or_else(home)?.join(".zshrc")),
        "fish" => Some(xdg("XDG_CONFIG_HOME", ".config")?.join("fish/config.fish")),
        _ => None,
    }
}

/// Where the completion of a shell is looked for by the shell itself, without a word in its start
/// file. bash does so only with the package that [`bash_completion`] names.
pub fn completion_files(shell: &str) -> Vec<PathBuf> {
    let data = xdg("XDG_DATA_HOME", ".local/share");
    let config = xdg("XDG_CONFIG_HOME", ".config");
    let system = ["/usr/local/share", "/opt/homebrew/share", "/usr/share"].map(PathBuf::from);
    match shell {
        "bash" => {
            let shared = data.into_iter().chain(system);
            shared.map(|dir| dir.join("bash-completion/completions/cld")).collect()
        }
        // The second one is Debian's, for packages.
        "zsh" => {
            let dirs = ["zsh/site-functions", "zsh/vendor-completions"];
            let files = |dir: PathBuf| dirs.map(|below| dir.join(below).join("_cld"));
            system.into_iter().flat_map(files).collect()
        }
        "fish" => {
            let shared = data.into_iter().chain(system);
            let own = config.map(|dir| dir.join("fish/completions/cld.fish"));
            let vendor = shared.map(|dir| dir.join("fish/vendor_completions.d/cld.fish"));
            own.into_iter().chain(vendor).collect()
        }
        _ => Vec::new(),
    }
}

/// What makes bash look for completion files; the first one that is there.
pub fn bash_completion() -> Option<PathBuf> {
    let system = ["/usr/share", "/usr/local/share", "/opt/homebrew/share"].map(PathBuf::from);
    let files = system.map(|dir| dir.join("bash-completion/bash_completion"));
    files.into_iter().find(|file| file.exists())
}

/// Where `./install.sh` puts the completion of zsh, which has to be told of the folder.
pub fn zsh_functions() -> Option<PathBuf> {
    Some(xdg("XDG_DATA_HOME", ".local/share")?.join("zsh/site-functions"))
}

/// A base directory: what the variable names, if that is a whole path, else one below the home.
fn xdg(name: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = set(name).map(PathBuf::from).and_then(absolute);
    named.or_else(|| Some(absolute(home()?)?.join(below_home)))
}

/// Whether a variable has any value at all.
pub fn is_set(name: &str) -> bool {
    env::var_os(name).is_some()
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
