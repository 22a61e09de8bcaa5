//! `cld doctor`: looks at everything cld depends on, and tries it out.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::cli::Doctor;
use crate::error::FAILED;
use crate::program::Program;
use crate::screen::Screen;
use crate::text::{one_line, shown};
use crate::{claude, config, hook, paths, setup};

mod check;
mod places;
mod registered;
mod tabs;
mod trial;
mod version;

use check::Check;
use registered::Found;
use trial::Hook;

/// Claude Code takes a while to tell its version on a slow disk.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// Succeeds unless a check found an error.
pub fn run(options: &Doctor) -> Result<ExitCode> {
    let mut checks = if options.fix { repair_hooks()? } else { Vec::new() };
    checks.extend(examine(options.fix)?);
    let text = match options.json {
        true => check::json(&checks)?,
        false => check::text(&checks, Screen::of_stdout()),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(if check::any_error(&checks) { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn examine(fix: bool) -> Result<Vec<Check>> {
    let own = setup::program()?;
    let command = setup::command_for(&own)?;
    let found = settings_files()?;
    let (tmux, tmux_version) = tmux();

    let mut checks = vec![
        Check::ok("cld", format!("{} at {}", env!("CARGO_PKG_VERSION"), shown(&own))),
        claude(),
        tmux,
    ];
    for file in &found {
        let exists = |program: &str| is_program(Path::new(program)) || in_path(program).is_some();
        checks.extend(registered::config_dir(file, &command, exists));
    }
    if found.iter().any(Found::has_plugin) && in_path("cld").is_none() {
        let message = "the plugin looks for cld in $PATH, where it is not";
        checks.push(Check::error("plugin", message, "add its directory to $PATH"));
    }
    checks.extend(project(&found)?);
    checks.extend(registered::managed(&paths::managed_settings_dir()));
    checks.extend(tabs::checks(fix));
    checks.extend(configuration());
    let hooks = hooks(&found);
    if let (Some(version), false) = (tmux_version, hooks.is_empty()) {
        let hidden_environment = version >= version::HIDDEN_ENVIRONMENT;
        checks.extend(trial::run(&paths::tmux_program(), hidden_environment, &hooks));
    }
    checks.extend(collector());
    checks.extend(paths::state_dir().map(|dir| places::state(&dir, fix)).unwrap_or_default());
    checks.extend(places::sockets(&paths::tmux_socket_dir(), fix));
    checks.extend(completion());
    Ok(checks)
}

/// Brings hooks up to date in the files that have some; where there are none, nobody has agreed to
/// any.
fn repair_hooks() -> Result<Vec<Check>> {
    let files = settings_files()?;
    let repaired = files.iter().filter(|file| file.has_hooks()).filter_map(|file| {
        let name = shown(&file.path);
        match setup::refresh(&file.path) {
            Ok(None) => None,
            Ok(Some(backup)) => {
                let message =
                    format!("{name} brought up to date, the old one is {}", shown(&backup));
                Some(Check::fixed("hooks", message))
            }
            Err(error) => Some(Check::error("hooks", format!("{error:#}"), "run `cld setup`")),
        }
    });
    Ok(repaired.collect())
}

fn settings_files() -> Result<Vec<Found>> {
    let dirs = setup::config_dirs()?;
    Ok(dirs.into_iter().map(|dir| Found::at(dir.join(setup::FILE))).collect())
}

/// What this repository adds, unless its settings are the user's own.
fn project(found: &[Found]) -> Result<Vec<Check>> {
    let repository = setup::repository()?;
    let own = found.iter().any(|file| file.path.parent() == Some(&repository.join(".claude")));
    Ok(if own { Vec::new() } else { registered::project(&repository) })
}

/// Every hook once, however many files have it.
fn hooks(found: &[Found]) -> Vec<Hook> {
    let written = found.iter().filter_map(Found::summary).flat_map(|found| &found.hooks);
    let written =
        written.map(|(event, command)| Hook { event: event.clone(), command: command.clone() });
    let has_plugin = found.iter().any(Found::has_plugin) && in_path("cld").is_some();
    let of_plugin = setup::events::registered().filter(|_| has_plugin);
    let command = || setup::PLUGIN_COMMAND.to_owned();
    let of_plugin = of_plugin.map(|event| Hook { event: event.to_owned(), command: command() });
    let mut hooks: Vec<Hook> = Vec::new();
    for hook in written.chain(of_plugin) {
        if !hooks.contains(&hook) {
            hooks.push(hook);
        }
    }
    hooks
}

fn claude() -> Check {
    let program = match claude::find() {
        Ok(program) => program,
        Err(error) => {
            return Check::error(
                "claude",
                one_line(&error.to_string(), 400),
                "install Claude Code",
            );
        }
    };
    let name = shown(&program);
    match Program::new(&program, &["--version"]).run(VERSION_LIMIT) {
        Ok(finished) if finished.code == Some(0) => {
            version::claude(&one_line(&finished.out, 80), &name)
        }
        Ok(finished) => {
            let message = format!("{name} --version fails: {:?}", one_line(&finished.err, 120));
            Check::error("claude", message, "install Claude Code again")
        }
        Err(error) => {
            let message = format!("{name} --version fails: {error}");
            Check::error("claude", message, "install Claude Code again")
        }
    }
}

/// The check, and the version where tmux can be run. A version without a number is a new one.
fn tmux() -> (Check, Option<(u32, u32)>) {
    match Program::new(paths::tmux_program(), &["-V"]).run(VERSION_LIMIT) {
        Ok(finished) if finished.code == Some(0) => {
            let printed = one_line(&finished.out, 80);
            let newest = (u32::MAX, u32::MAX);
            (version::tmux(&printed), Some(version::tmux_version(&printed).unwrap_or(newest)))
        }
        _ => {
            let message = format!("{} cannot be run", shown(&paths::tmux_program()));
            (Check::error("tmux", message, "install tmux 3.2 or later"), None)
        }
    }
}

/// What is wrong with cld's own configuration; nothing is said where there is none.
fn configuration() -> Vec<Check> {
    let problems = config::problems();
    if problems.is_empty() {
        let file = paths::config_file().filter(|file| file.exists());
        return file.map(|file| Check::ok("config", shown(&file))).into_iter().collect();
    }
    let check = |problem: &String| {
        Check::warn("config", one_line(problem, 400), "see `cld config show` for what is in use")
    };
    problems.iter().map(check).collect()
}

/// Whether the login shell completes what is typed after `cld`, as far as its files tell.
fn completion() -> Option<Check> {
    let shell = paths::login_shell()?;
    let startup = paths::startup_file(&shell)?;
    let text = fs::read(&startup).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let says = |words: &str| text.contains(words);
    let by_itself = shell != "bash" || paths::bash_completion().is_some();
    let mut files = if by_itself { paths::completion_files(&shell) } else { Vec::new() };
    if shell == "zsh" && says("zsh/site-functions") {
        files.extend(paths::zsh_functions().map(|folder| folder.join("_cld")));
    }
    let found = match ["cld init", "cld' init", "cld completions"].into_iter().any(says) {
        true => Some(startup),
        false => files.into_iter().find(|file| file.exists()),
    };
    Some(match found {
        Some(file) => Check::ok("completion", format!("{shell} has it from {}", shown(&file))),
        None => Check::warn(
            "completion",
            format!("{shell} does not complete ids and options of cld"),
            "run `cld setup --shell`",
        ),
    })
}

fn collector() -> Option<Check> {
    let (url, _) = paths::collector()?;
    let url = one_line(&url, 200);
    Some(match hook::reach_collector()? {
        Ok(()) => Check::ok("collector", format!("{url} can be reached")),
        Err(problem) => Check::warn(
            "collector",
            format!("{url} cannot be reached, {problem}"),
            "start the hub, or unset CLAUDE_HUB_COLLECTOR_URL",
        ),
    })
}

/// A program named without a path, where a shell would find it.
fn in_path(name: &str) -> Option<PathBuf> {
    let dirs: Vec<PathBuf> = std::env::split_paths(&paths::search_path()).collect();
    let programs = dirs.iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    programs.into_iter().find(|program| !name.contains('/') && is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.is_absolute()
        && fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
