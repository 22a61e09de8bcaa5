//! The only door to Claude Code: where the program is, and how a session is given to it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow};

use crate::paths;
use crate::shell::quoted;
use crate::text::shown;

const PROGRAM: &str = "claude";

/// One start of Claude Code on a session, in the directory the process is in.
#[derive(Debug, PartialEq, Eq)]
pub struct Start {
    /// The id of the session, or the path of its transcript.
    pub session: OsString,
    pub fork: bool,
    pub config: Config,
    /// Variables of this process that are none of the session's business.
    pub foreign: Vec<&'static str>,
    pub arguments: Vec<OsString>,
}

/// What has to become of `$CLAUDE_CONFIG_DIR`, so that Claude Code finds the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Config {
    Keep,
    Unset,
    Set(PathBuf),
}

impl Config {
    /// For a session of the config directory `of_session`. `other` is the one that the variable
    /// names now, where that is not the default.
    pub fn of(of_session: &Path, default: Option<&Path>, other: Option<&Path>) -> Self {
        match other {
            _ if Some(of_session) != default => Self::Set(of_session.to_owned()),
            Some(_) => Self::Unset,
            None => Self::Keep,
        }
    }
}

/// The whole path of the program, so that it is found also after the directory was changed. Looks
/// in `$PATH`, then where Claude Code's own installers put it.
pub fn find() -> Result<PathBuf> {
    let path = paths::search_path();
    let here = std::env::current_dir().unwrap_or_default();
    let home = paths::home();
    let installed = home
        .iter()
        .flat_map(|home| [".local/bin", ".claude/local"].map(|dir| home.join(dir)).into_iter());
    // An empty entry of `$PATH` is the current directory, where no program of the user's is.
    let dirs = std::env::split_paths(&path).filter(|dir| !dir.as_os_str().is_empty());
    let dirs: Vec<PathBuf> = dirs.chain(installed).collect();
    let places = std::env::join_paths(&dirs)?;
    which::which_in(PROGRAM, Some(places), here).map_err(|_| {
        let looked: String = dirs.iter().map(|dir| format!("\n  {}", shown(dir))).collect();
        anyhow!("there is no program `{PROGRAM}`; it was looked for in{looked}")
    })
}

/// What Claude Code tells the programs it starts about itself. A session that is started by one of
/// them is a session of its own.
const OF_ANOTHER_SESSION: [&str; 9] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
];

/// Those of them that are set, where this process was started by a session. Elsewhere an editor may
/// have set one for the session that is started now.
pub fn variables_of_another_session() -> Vec<&'static str> {
    let is_inside = paths::is_set("CLAUDECODE");
    OF_ANOTHER_SESSION.into_iter().filter(|name| is_inside && paths::is_set(name)).collect()
}

/// Becomes Claude Code with these arguments and variables; comes back only with the reason why that
/// failed. `dir` is the directory the process is in.
pub fn become_session(
    program: &Path,
    arguments: &[String],
    environment: &BTreeMap<String, String>,
    dir: &Path,
) -> anyhow::Error {
    #[expect(clippy::disallowed_methods, reason = "this module is the door to Claude Code")]
    let mut command = Command::new(program);
    for name in OF_ANOTHER_SESSION {
        command.env_remove(name);
    }
    command.args(arguments).envs(environment).env("PWD", dir);
    let error = command.exec();
    anyhow!("{} could not be started: {error}", shown(program))
}

impl Start {
    /// Becomes Claude Code; comes back only with the reason why that failed. `dir` is the directory
    /// the process is in, by the name it was entered with.
    pub fn exec(&self, program: &Path, dir: Option<&Path>) -> anyhow::Error {
        #[expect(clippy::disallowed_methods, reason = "this module is the door to Claude Code")]
        let mut command = Command::new(program);
        command.args(self.words());
        if let Some(dir) = dir {
            command.env("PWD", dir);
        }
        for name in &self.foreign {
            command.env_remove(name);
        }
        match &self.config {
            Config::Keep => {}
            Config::Unset => _ = command.env_remove(paths::CONFIG_DIR),
            Config::Set(config_dir) => _ = command.env(paths::CONFIG_DIR, config_dir),
        }
        let error = command.exec();
        anyhow!("{} could not be started: {error}", shown(program))
    }

    /// The command for a shell that does the same as [`Start::exec`] after entering `dir`.
    pub fn command_line(&self, dir: Option<&Path>) -> String {
        let mut line = String::new();
        if let Some(dir) = dir {
            line.push_str(&format!("cd -- {} && ", quoted(dir.as_os_str())));
        }
        if let Config::Set(config_dir) = &self.config {
            line.push_str(&format!("{}={} ", paths::CONFIG_DIR, quoted(config_dir.as_os_str())));
        }
        let config = (self.config == Config::Unset).then_some(paths::CONFIG_DIR);
        let unset: String =
            config.iter().chain(&self.foreign).map(|name| format!("-u {name} ")).collect();
        if !unset.is_empty() {
            line.push_str(&format!("env {unset}"));
        }
        let words = [OsString::from(PROGRAM)].into_iter().chain(self.words());
        line.push_str(&words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" "));
        line
    }

    fn words(&self) -> Vec<OsString> {
        let mut words = vec![OsString::from("--resume"), self.session.clone()];
        words.extend(self.fork.then(|| OsStr::new("--fork-session").to_owned()));
        words.extend_from_slice(&self.arguments);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(config: Config, fork: bool, arguments: &[&str]) -> Start {
        Start {
            session: "23e30f82-0000-4000-8000-000000000001".into(),
            fork,
            config,
            foreign: Vec::new(),
            arguments: arguments.iter().map(OsString::from).collect(),
        }
    }

    #[track_caller]
    fn check(start: &Start, dir: Option<&str>, expected: &str) {
        assert_eq!(start.command_line(dir.map(Path::new)), expected);
    }

    #[test]
    fn the_command_line_enters_the_directory_and_names_the_session() {
        let id = "23e30f82-0000-4000-8000-000000000001";
        check(
            &start(Config::Keep, false, &[]),
            Some("/home/u/it's"),
            &format!(r"cd -- '/home/u/it'\''s' && claude --resume {id}"),
        );
        check(
            &start(Config::Set("/cfg dir".into()), true, &["--model", "a b", ""]),
            None,
            &format!(
                "CLAUDE_CONFIG_DIR='/cfg dir' claude --resume {id} --fork-session --model 'a b' ''"
            ),
        );
        check(
            &start(Config::Unset, false, &[]),
            Some("/"),
            &format!("cd -- / && env -u CLAUDE_CONFIG_DIR claude --resume {id}"),
        );
        let foreign = vec!["CLAUDECODE", "CLAUDE_PID"];
        check(
            &Start { foreign: foreign.clone(), ..start(Config::Set("/c".into()), false, &[]) },
            None,
            &format!("CLAUDE_CONFIG_DIR=/c env -u CLAUDECODE -u CLAUDE_PID claude --resume {id}"),
        );
        check(
            &Start { foreign, ..start(Config::Unset, false, &[]) },
            None,
            &format!("env -u CLAUDE_CONFIG_DIR -u CLAUDECODE -u CLAUDE_PID claude --resume {id}"),
        );
    }

    #[test]
    fn a_session_is_started_with_its_own_config_directory() {
        let default = Path::new("/home/u/.claude");
        let other = Path::new("/other");
        let set = |dir: &Path| Config::Set(dir.to_owned());
        for (of_session, now, expected) in [
            (default, None, Config::Keep),
            (default, Some(other), Config::Unset),
            (other, None, set(other)),
            (other, Some(other), set(other)),
            (other, Some(Path::new("/third")), set(other)),
        ] {
            assert_eq!(Config::of(of_session, Some(default), now), expected);
        }
        assert_eq!(Config::of(other, None, None), set(other));
    }
}
