//! What tmux knows of cld: the block in its configuration, the file that this loads, and the server
//! that runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::paths;
use crate::setup::tmux::Told;
use crate::setup::{self, block};
use crate::text::shown;
use crate::tmux::{Answer, Batch, Server};

use super::check::Check;

const LIMIT: Duration = Duration::from_secs(3);

/// What only the person can change, in the order in which it is asked for.
const ASKED: &str = "#{focus-events}\t#{allow-passthrough}\t#{version}\t\
    #{window-status-format}\t#{window-status-current-format}";

/// Where this hook is, the others of the file are too.
const OWN_HOOK: &str = "session-window-changed[990]";

/// The first tmux that tells a terminal in front from one behind.
const KNOWS_FOCUS: (u32, u32) = (3, 4);

pub(super) fn checks(fix: bool) -> Vec<Check> {
    let mut checks = vec![configuration(fix)];
    let socket = paths::tmux_socket();
    if let Some(running) = Running::ask(&socket) {
        checks.extend(running.loaded(&socket, fix));
        checks.extend(running.settings());
    }
    checks
}

/// Only what somebody has agreed to before is brought up to date.
fn configuration(fix: bool) -> Check {
    let name = "tmux.conf";
    let state = match state() {
        Ok(state) => state,
        Err(error) => return Check::warn(name, format!("{error:#}"), "see `cld setup -n`"),
    };
    let shown = shown(&state.file);
    match state.is_current {
        None => Check::warn(
            name,
            format!("{shown} does not load cld, so a tab stays red when it is looked at"),
            "run `cld setup`",
        ),
        Some(true) => Check::ok(name, format!("{shown} loads what this cld needs")),
        Some(false) if fix => match setup::refresh_tmux() {
            Ok(_) => Check::fixed(name, format!("{shown} loads what this cld needs now")),
            Err(error) => Check::error(name, format!("{error:#}"), "run `cld setup`"),
        },
        Some(false) => {
            let message = format!("{shown} loads what another cld needed, or nothing any more");
            Check::warn(name, message, "run `cld doctor --fix`")
        }
    }
}

struct State {
    file: PathBuf,
    /// Nothing without a block.
    is_current: Option<bool>,
}

fn state() -> anyhow::Result<State> {
    let (file, own) = (setup::tmux::configuration()?, setup::tmux::file()?);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let lines = setup::tmux::lines(&own)?;
    let is_current = block::is_in(&text).then(|| {
        block::install(Some(&text), &lines).is_ok_and(|current| current == text)
            && fs::read_to_string(&own).is_ok_and(|own| own == setup::tmux::TEXT)
    });
    Ok(State { file, is_current })
}

/// What the server says that this process runs in, or that a plain `tmux` talks to.
#[derive(Debug, Default)]
struct Running {
    focus_events: bool,
    /// Nothing before 3.3.
    passes_through: Option<bool>,
    version: Option<(u32, u32)>,
    formats: Vec<(&'static str, String)>,
    has_hooks: bool,
}

impl Running {
    fn ask(socket: &Path) -> Option<Self> {
        let mut batch = Batch::default();
        batch.push(["display-message", "-p", ASKED]);
        batch.push(["show-hooks", "-g"]);
        let server = Server {
            program: paths::tmux_program(),
            socket: socket.to_owned(),
            pid: 0,
            hidden_environment: false,
        };
        if !socket.exists() {
            return None;
        }
        match server.run(&batch, Instant::now() + LIMIT) {
            Answer::Done(printed) => Self::parse(&printed),
            _ => None,
        }
    }

    fn parse(printed: &str) -> Option<Self> {
        let (options, hooks) = printed.split_once('\n')?;
        let mut options = options.split('\t');
        let is_on = |value: &str| !matches!(value, "0" | "off");
        Some(Self {
            focus_events: is_on(options.next()?),
            passes_through: options.next().filter(|value| !value.is_empty()).map(is_on),
            version: super::version::tmux_version(&format!("tmux {}", options.next()?)),
            formats: ["window-status-format", "window-status-current-format"]
                .into_iter()
                .zip(options.map(str::to_owned))
                .collect(),
            has_hooks: hooks.lines().any(|line| line.starts_with(OWN_HOOK)),
        })
    }

    /// Where there is a block, the server should know what it loads.
    fn loaded(&self, socket: &Path, fix: bool) -> Option<Check> {
        let is_wanted = state().is_ok_and(|state| state.is_current.is_some());
        let name = shown(socket);
        match (is_wanted && !self.has_hooks, fix) {
            (false, _) => None,
            (true, true) => Some(match setup::tmux::tell(socket, Told::Load, &[]) {
                Ok(()) => Check::fixed("server", format!("{name} has loaded it now")),
                Err(error) => Check::warn("server", format!("{name}: {error:#}"), "restart tmux"),
            }),
            (true, false) => {
                let message = format!("{name} has not loaded what tmux.conf says");
                Some(Check::warn("server", message, "run `cld doctor --fix`"))
            }
        }
    }

    fn settings(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        let knows_focus = self.version.is_none_or(|version| version >= KNOWS_FOCUS);
        checks.push(match (self.focus_events, knows_focus) {
            (true, _) => Check::ok("focus", "focus-events is on"),
            (false, false) => {
                Check::ok("focus", "focus-events is off, this tmux has no use for it")
            }
            (false, true) => Check::warn(
                "focus",
                "focus-events is off, so a terminal behind other windows counts as looked at",
                "put `set -g focus-events on` into tmux.conf",
            ),
        });
        checks.extend(self.passes_through.map(|passes| match passes {
            true => Check::ok("passthrough", "allow-passthrough is on"),
            false => Check::ok(
                "passthrough",
                "allow-passthrough is off: notifications of Claude Code itself end in tmux, those \
                 of cld do not",
            ),
        }));
        let hidden = self.formats.iter().filter(|(_, format)| has_colours_of_its_own(format));
        checks.extend(hidden.map(|(name, _)| {
            Check::warn(
                "theme",
                format!("{name} has colours of its own, which hide those of cld"),
                "take `fg=` out of it, or look at the symbol that cld adds",
            )
        }));
        checks
    }
}

/// Whether a format paints the text of a tab itself, and says nothing of the state either.
fn has_colours_of_its_own(format: &str) -> bool {
    let styles = format.split("#[").skip(1).filter_map(|rest| rest.split(']').next());
    let paints = |style: &str| style.split([',', ' ']).any(|word| word.starts_with("fg="));
    let mut styles = styles.filter(|style| !style.contains("fg=default"));
    styles.any(paints) && !format.contains("@cld") && !format.contains("@claude-state")
}

#[cfg(test)]
mod tests {
    use super::super::check::Level;
    use super::*;

    #[test]
    fn themes_that_paint_tabs_are_known_by_their_formats() {
        for (format, hides) in [
            ("#I:#W#{?window_flags,#{window_flags}, }", false),
            ("#[fg=#1e1e2e,bg=#89b4fa] #I #[fg=default] #W", true),
            ("#[bg=red]#I#[default]", false),
            ("#[bold,fg=white]#I", true),
            ("#[fg=#{?#{==:#{@claude-state},waiting},red,white}]#I", false),
            ("#[fg=default,bold]#I", false),
            ("#{E:@cld-window} #[fg=white]#W", false),
        ] {
            assert_eq!(has_colours_of_its_own(format), hides, "{format}");
        }
    }

    #[track_caller]
    fn check(printed: &str, expected: &[(&str, Level)]) {
        let running = Running::parse(printed).unwrap();
        let found: Vec<(&str, Level)> =
            running.settings().iter().map(|check| (check.name, check.level)).collect();
        assert_eq!(found, expected, "{printed}");
    }

    #[test]
    fn settings_are_judged_by_what_they_do_to_cld() {
        check(
            "1\ton\t3.5a\t#I:#W\t#I:#W\nalert-bell\n",
            &[("focus", Level::Ok), ("passthrough", Level::Ok)],
        );
        check(
            "0\toff\t3.4\t#[fg=red]#I\t#I\n",
            &[("focus", Level::Warn), ("passthrough", Level::Ok), ("theme", Level::Warn)],
        );
        check("0\t\t3.2a\t#I\t#I\n", &[("focus", Level::Ok)]);
        assert!(Running::parse("no line break").is_none());
    }
}
