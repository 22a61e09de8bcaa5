//! Runs the registered hooks as Claude Code would: by `sh -c`, with a payload on standard input, in
//! a pane. The pane belongs to a tmux server of its own, which is gone afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::program::{Finished, Program};
use crate::text::one_line;
use crate::{clock, pane};

use super::check::Check;

/// What Claude Code gives most hooks.
const HOOK_LIMIT: Duration = Duration::from_secs(10);
const TMUX_LIMIT: Duration = Duration::from_secs(10);

/// Claude Code waits this long with every tool call, and a person begins to notice.
const SLOW: Duration = Duration::from_millis(100);

/// The server ends by itself after this many seconds, should cld be killed meanwhile.
const LIFETIME: &str = "exec sleep 300";

/// One registered hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hook {
    pub(super) event: String,
    pub(super) command: String,
}

/// Runs every hook and tells how it went.
pub(super) fn run(tmux: &Path, hidden_environment: bool, hooks: &[Hook]) -> Vec<Check> {
    let ground = match Ground::new(tmux, hidden_environment) {
        Ok(ground) => ground,
        Err(problem) => {
            let message = format!("the hooks were not run, {problem}");
            return vec![Check::warn("run", message, "see whether tmux can be started")];
        }
    };
    let mut times = Vec::new();
    let mut failed: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for hook in hooks {
        match ground.fire(hook) {
            Ok(took) => times.push((took, hook.event.as_str())),
            Err(problem) => failed.entry(problem).or_default().push(&hook.event),
        }
    }
    times.sort();
    failed.iter().map(|(problem, events)| failure(problem, events)).chain(summary(&times)).collect()
}

fn failure(problem: &str, events: &[&str]) -> Check {
    let whose = match events {
        [event] => format!("the hook for {}", one_line(event, 40)),
        [event, ..] => format!("{} hooks, from {} on,", events.len(), one_line(event, 40)),
        [] => String::new(),
    };
    let advice = "run the command by hand, `cld setup` writes it anew";
    Check::error("run", format!("{whose} {problem}"), advice)
}

fn summary(times: &[(Duration, &str)]) -> Option<Check> {
    let (median, _) = times.get(times.len() / 2)?;
    let (slowest, event) = times.last()?;
    let ms = |time: &Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    let message = format!(
        "{} hooks ran silently in a pane, {} each, the slowest {} ({})",
        times.len(),
        ms(median),
        ms(slowest),
        one_line(event, 40),
    );
    Some(match *median > SLOW {
        true => {
            Check::warn("run", message, "`CLAUDE_TMUX_DEBUG=1` and `cld log` tell what takes time")
        }
        false => Check::ok("run", message),
    })
}

/// A directory and a tmux server in it, both gone with the value.
struct Ground {
    tmux: PathBuf,
    dir: PathBuf,
    pane: String,
    /// What a process in the pane finds in `$TMUX`.
    place: OsString,
    hidden_environment: bool,
}

impl Ground {
    fn new(tmux: &Path, hidden_environment: bool) -> Result<Self, String> {
        let name = format!("cld-doctor-{}-{}", std::process::id(), clock::now().micros());
        let dir = std::env::temp_dir().join(name);
        let created = DirBuilder::new().mode(0o700).create(&dir);
        created.map_err(|error| format!("{} cannot be created: {error}", dir.display()))?;
        let (pane, place) = (String::new(), OsString::new());
        let mut ground = Self { tmux: tmux.to_owned(), dir, pane, place, hidden_environment };
        let size = ["-x", "80", "-y", "24"];
        let start = ["new-session", "-d", "-P", "-F", "#{pid} #{pane_id}"];
        let started = ground.tmux(&[&start[..], &size, &[LIFETIME]].concat());
        let started = started.map_err(|error| format!("tmux could not be started: {error}"))?;
        let (pid, pane) = match (started.code, started.out.trim().split_once(' ')) {
            (Some(0), Some((pid, pane))) => (pid.to_owned(), pane.to_owned()),
            _ => return Err(format!("tmux said {:?}", one_line(&started.err, 80))),
        };
        ground.place = ground.socket().into_os_string();
        ground.place.push(format!(",{pid},0"));
        ground.pane = pane;
        Ok(ground)
    }

    fn socket(&self) -> PathBuf {
        self.dir.join("socket")
    }

    fn tmux(&self, arguments: &[&str]) -> io::Result<Finished> {
        let mut program = Program::new(&self.tmux, &["-u", "-f", "/dev/null", "-S"]);
        program.arguments.push(self.socket().into_os_string());
        program.arguments.extend(arguments.iter().map(OsString::from));
        // What the server starts by itself, such as a notification, leaves no trace either.
        let state = Some(self.dir.clone().into_os_string());
        program.environment = vec![("TMUX", None), ("TMUX_PANE", None), ("XDG_STATE_HOME", state)];
        program.environment.extend(self.apart());
        program.run(TMUX_LIMIT)
    }

    /// What is tried out is not to be seen in the log or by a hub, and nobody is to be told of it:
    /// that is configured, and also done by programs that the server starts.
    fn apart(&self) -> [(&'static str, Option<OsString>); 3] {
        let dir = || Some(self.dir.clone().into_os_string());
        [("XDG_STATE_HOME", dir()), ("XDG_CONFIG_HOME", dir()), ("CLAUDE_HUB_COLLECTOR_URL", None)]
    }

    /// The time it took, or what was wrong with it.
    fn fire(&self, hook: &Hook) -> Result<Duration, String> {
        let mut program = Program::new("/bin/sh", &["-c", &hook.command]);
        program.input = payload(&hook.event).into_bytes();
        let set = |value: &str| Some(OsString::from(value));
        program.environment = vec![
            ("TMUX", Some(self.place.clone())),
            ("TMUX_PANE", set(&self.pane)),
            ("TERM_PROGRAM", set(if self.hidden_environment { "tmux" } else { "" })),
            ("CLAUDECODE", set("1")),
            ("CLAUDE_CODE_ENTRYPOINT", set("cli")),
            ("CLAUDE_CODE_SESSION_ATTENDED", set("1")),
        ];
        program.environment.extend(self.apart());
        let finished = match program.run(HOOK_LIMIT) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(format!("did not end within {} s", HOOK_LIMIT.as_secs()));
            }
            Err(error) => return Err(format!("could not be started: {error}")),
            Ok(finished) => finished,
        };
        if finished.code != Some(0) {
            let code =
                finished.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            return Err(format!("ended with {code}: {:?}", one_line(&finished.err, 120)));
        }
        if !finished.out.is_empty() || !finished.err.is_empty() {
            let said = one_line(&format!("{}{}", finished.out, finished.err), 120);
            return Err(format!("printed {said:?}, which Claude Code reads"));
        }
        match self.latest_event() == hook.event {
            true => Ok(finished.took),
            false => Err("did not reach its pane".to_owned()),
        }
    }

    /// What the hook told its pane. It is forgotten at once: the hook does not repeat itself for
    /// tool calls that follow each other closely.
    fn latest_event(&self) -> String {
        let (pane, option) = (self.pane.as_str(), pane::LATEST_HOOK_EVENT);
        let show = ["show-options", "-pqv", "-t", pane, option, ";"];
        let forget = ["set-option", "-pqu", "-t", pane, option];
        let shown = self.tmux(&[&show[..], &forget].concat());
        let event = shown.map(|shown| shown.out).unwrap_or_default();
        // A notification is recorded with what it is about.
        event.trim().split('-').next().unwrap_or_default().to_owned()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn payload(event: &str) -> String {
    let payload = serde_json::json!({
        "session_id": "00000000-0000-4000-8000-000000000000",
        "transcript_path": "/nonexistent/00000000-0000-4000-8000-000000000000.jsonl",
        "cwd": "/",
        "hook_event_name": event,
        "source": "startup",
        "reason": "other",
        "prompt": "hello",
        "tool_name": "Bash",
        "tool_input": {"command": "true"},
        "notification_type": "idle_prompt",
    });
    format!("{payload}\n")
}
