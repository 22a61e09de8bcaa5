//! `cld setup`: the files as they are -> the files as they should be -> the difference -> a
//! question -> written, or nothing is.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cli::Setup;
use crate::error::Stop;
use crate::screen::Screen;
use crate::text::shown;
use crate::{clock, paths, terminal};

pub mod block;
mod command;
mod diff;
pub(crate) mod events;
pub mod settings;
mod targets;
pub(crate) mod tmux;
mod write;

pub(crate) use command::program_of;
use targets::{Edit, Of, Target, targets};
use tmux::Told;
use write::{Bytes, Planned, Written};

pub(crate) const FILE: &str = "settings.json";

/// The hook command of the plugin form. A plugin comes without the program, and may be switched on
/// for people who do not have it: they should see no error on every event, and Claude Code none
/// about a pipe that nobody reads.
pub const PLUGIN_COMMAND: &str = "command -v cld >/dev/null || exec cat >/dev/null; exec cld hook";

pub fn run(options: &Setup) -> Result<()> {
    let targets = targets(options)?;
    let planned: Vec<Planned> = targets
        .iter()
        .map(|target| write::plan(&target.file, &|old| target.edit.apply(old)))
        .collect::<Result<_>>()?;
    let changes = planned.iter().any(|file| file.new != file.old);
    let asks = changes && !options.yes && !options.dry_run;
    if asks && !terminal::is_there() {
        return Err(nobody_to_ask(options).into());
    }
    let changes_tmux = targets
        .iter()
        .zip(&planned)
        .any(|(target, file)| target.of == Of::Tmux && file.new != file.old);
    let servers = if changes_tmux { tmux::servers() } else { Vec::new() };
    show(&targets, &planned, &servers)?;
    if changes && options.project && !options.uninstall {
        note_for_a_project();
    }
    if !changes || options.dry_run {
        return Ok(());
    }
    if asks {
        // What was shown above may be longer than the screen.
        for file in planned.iter().filter(|file| file.new != file.old) {
            let counted = diff::counted(&text(&file.old), &text(&file.new));
            terminal::note(&format!("{}: {counted}", shown(&file.real)));
        }
        terminal::confirm("Make these changes?")?;
    }
    // The file that makes a server forget cld is removed with the rest.
    let before = tmux::options_in_use();
    if options.uninstall {
        tmux::tell_all(&servers, Told::TakeOut, &before);
    }
    write(&targets)?;
    if !options.uninstall {
        tmux::tell_all(&servers, Told::Load, &before);
        terminal::note("Sessions that are open take the hooks up within seconds.");
    } else if let Some(state) = paths::state_dir().filter(|dir| dir.exists()) {
        terminal::note(&format!(
            "What cld has noted stays in {} until you remove it.",
            shown(&state)
        ));
    }
    Ok(())
}

fn write(targets: &[Target]) -> Result<()> {
    for target in targets {
        if let Some(written) = write_one(target)? {
            report(&written)?;
        }
        if let Edit::Own(None) = target.edit {
            remove_empty_above(&target.file);
        }
    }
    Ok(())
}

fn write_one(target: &Target) -> Result<Option<Written>> {
    let Target { file, edit, .. } = target;
    write::update(file, clock::now(), edit.keeping(), &|old| edit.apply(old))
}

/// Directories below the home that are empty without a file of cld.
fn remove_empty_above(file: &Path) {
    let Some(home) = paths::home() else { return };
    let above = file.ancestors().skip(1).take_while(|dir| *dir != home && dir.starts_with(&home));
    for dir in above {
        // Succeeds only if nothing else is in it.
        if fs::remove_dir(dir).is_err() && dir.exists() {
            return;
        }
    }
}

/// Brings the hooks of one file up to date without asking; the backup, if anything was changed.
pub(crate) fn refresh(file: &Path) -> Result<Option<PathBuf>> {
    let edit = Edit::Hooks(Some(command_for(&program()?)?));
    let written = write_one(&Target { of: Of::Claude, file: file.to_owned(), edit })?;
    Ok(written.and_then(|written| written.backup))
}

/// Brings cld's own file for tmux and the block that loads it up to date without asking; whether
/// anything was changed.
pub(crate) fn refresh_tmux() -> Result<bool> {
    let mut changed = false;
    for target in tmux::targets(false)? {
        changed |= write_one(&target)?.is_some();
    }
    Ok(changed)
}

/// The hook command that setup writes for a program.
pub(crate) fn command_for(program: &Path) -> Result<String> {
    command::for_program(program).with_context(|| {
        format!(
            "{} cannot be registered: the program has to be called `cld`, in a directory whose \
             name is plain text",
            shown(program)
        )
    })
}

/// The path that stays right when cld is upgraded: upgrades replace what the entry of `$PATH` leads
/// to, and often under another name.
pub(crate) fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().and_then(fs::canonicalize);
    let own = own.context("cannot tell where this cld is installed")?;
    let entries = std::env::split_paths(&paths::search_path()).collect::<Vec<_>>();
    let mut named = entries.iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join("cld"));
    let entry = named.find(|entry| fs::canonicalize(entry).is_ok_and(|target| target == own));
    Ok(entry.unwrap_or(own))
}

/// `$CLAUDE_CONFIG_DIR` and the default directory, unless that one is not in use or is the same.
pub(crate) fn config_dirs() -> Result<Vec<PathBuf>> {
    let mut dirs: Vec<PathBuf> = paths::config_dirs();
    if dirs.is_empty() {
        bail!("HOME is not set, so there is no config directory; name one with --config-dir");
    }
    if let [named, default] = &*dirs {
        let same = fs::canonicalize(named).ok() == fs::canonicalize(default).ok();
        if same || !default.is_dir() {
            dirs.pop();
        }
    }
    Ok(dirs)
}

/// The top of the repository of the current directory, or that directory where there is none.
pub(crate) fn repository() -> Result<PathBuf> {
    let here = std::env::current_dir().context("cannot tell the current directory")?;
    let top = here.ancestors().find(|dir| dir.join(".git").exists());
    Ok(top.unwrap_or(&here).to_owned())
}

fn show(targets: &[Target], planned: &[Planned], servers: &[PathBuf]) -> Result<()> {
    let mut out = io::stdout().lock();
    let screen = Screen::of_stdout();
    for (Target { edit, .. }, Planned { real, old, new }) in targets.iter().zip(planned) {
        let name = shown(real);
        match edit {
            _ if old == new => writeln!(out, "{name}: already up to date")?,
            Edit::Own(None) => writeln!(out, "{name}: removed, it is a file of cld")?,
            Edit::Own(Some(own)) => {
                writeln!(out, "{name}: a file of cld, {} lines", own.lines().count())?;
            }
            Edit::Hooks(_) | Edit::Block(_) => {
                let side = |bytes: &Bytes| if bytes.is_some() { &name } else { "/dev/null" };
                writeln!(out, "--- {}\n+++ {}", side(old), side(new))?;
                write!(out, "{}", diff::unified(&text(old), &text(new), screen))?;
            }
        }
        if let (Edit::Hooks(_), true, Some(new)) = (edit, old != new, new) {
            notes(real, &String::from_utf8_lossy(new));
        }
    }
    for socket in servers {
        writeln!(out, "tmux server at {}: told at once", shown(socket))?;
    }
    Ok(out.flush()?)
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
}

/// What will keep the hooks from running, which a setup does not touch.
fn notes(real: &Path, text: &str) {
    let Ok(summary) = settings::summary(text) else { return };
    if !summary.strict {
        terminal::note(&format!(
            "Note: Claude Code ignores {} while it has comments or trailing commas.",
            shown(real)
        ));
    }
    if summary.disables_all_hooks {
        terminal::note(&format!(
            "Note: no hook runs while {} says \"disableAllHooks\": true.",
            shown(real)
        ));
    }
    if summary.has_plugin() && !summary.hooks.is_empty() {
        terminal::note(
            "Note: the plugin of cld is on, too, so every event runs cld twice. \
             `claude plugin uninstall cld` removes it.",
        );
    }
}

/// The path of this cld stands in a file that others will get.
fn note_for_a_project() {
    terminal::note(
        "Note: whoever else works in this repository gets these hooks too, and an error on every \
         event where there is no cld at that path. The plugin asks first whether there is one.",
    );
}

fn nobody_to_ask(options: &Setup) -> Stop {
    let what = if options.uninstall { "setup --uninstall" } else { "setup" };
    Stop::Usage(format!(
        "there is no terminal to ask on, so nothing was changed\n\
         Try: cld {what} -n  to see the changes\n     cld {what} -y  to make them"
    ))
}

fn report(written: &Written) -> io::Result<()> {
    let Written { real, backup } = written;
    let mut out = io::stdout().lock();
    match backup {
        Some(backup) => writeln!(out, "{} written, the old one is {}", shown(real), shown(backup)),
        None if real.exists() => writeln!(out, "{} written", shown(real)),
        None => writeln!(out, "{} removed, only cld had written to it", shown(real)),
    }
}
