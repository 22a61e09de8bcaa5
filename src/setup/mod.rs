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

mod command;
mod diff;
pub(crate) mod events;
pub mod settings;
mod write;

pub(crate) use command::program_of;
use settings::Refusal;
use write::{Bytes, Planned, Written};

pub(crate) const FILE: &str = "settings.json";

pub fn run(options: &Setup) -> Result<()> {
    let edit = Edit::new(options)?;
    let files = files(options)?;
    let planned: Vec<Planned> = files
        .iter()
        .map(|file| write::plan(file, &|old| edit.apply(old)))
        .collect::<Result<_>>()?;
    let changes = planned.iter().any(|file| file.new != file.old);
    let asks = changes && !options.yes && !options.dry_run;
    if asks && !terminal::is_there() {
        return Err(nobody_to_ask(options).into());
    }
    show(&planned)?;
    if !changes || options.dry_run {
        return Ok(());
    }
    if asks {
        terminal::confirm("Make these changes?")?;
    }
    let now = clock::now();
    for file in &files {
        if let Some(written) = write::update(file, now, &|old| edit.apply(old))? {
            report(&written)?;
        }
    }
    if !options.uninstall {
        terminal::note("Sessions that are open take the hooks up within seconds.");
    }
    Ok(())
}

/// Brings the hooks of one file up to date without asking; the backup, if anything was changed.
pub(crate) fn refresh(file: &Path) -> Result<Option<PathBuf>> {
    let edit = Edit::Install { command: command_for(&program()?)? };
    let written = write::update(file, clock::now(), &|old| edit.apply(old))?;
    Ok(written.and_then(|written| written.backup))
}

/// What is to be done to every file.
enum Edit {
    Install { command: String },
    Uninstall,
}

impl Edit {
    fn new(options: &Setup) -> Result<Self> {
        if options.uninstall {
            return Ok(Self::Uninstall);
        }
        Ok(Self::Install { command: command_for(&program()?)? })
    }

    fn apply(&self, old: Option<&[u8]>) -> Result<Bytes> {
        let old = old.map(utf8).transpose()?;
        let new = match (self, old) {
            (Self::Install { command }, old) => Some(settings::install(old, command)?),
            (Self::Uninstall, Some(old)) => settings::uninstall(old)?,
            (Self::Uninstall, None) => None,
        };
        Ok(new.map(String::into_bytes))
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Refusal::at(&valid, valid.len(), "the file is not UTF-8 here").into()
    })
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

fn files(options: &Setup) -> Result<Vec<PathBuf>> {
    let dirs = match options {
        Setup { project: true, .. } => vec![repository()?.join(".claude")],
        Setup { config_dir, .. } if !config_dir.is_empty() => config_dir.clone(),
        _ => config_dirs()?,
    };
    Ok(dirs.iter().map(|dir| dir.join(FILE)).collect())
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

fn show(planned: &[Planned]) -> Result<()> {
    let mut out = io::stdout().lock();
    let screen = Screen::of_stdout();
    for Planned { real, old, new } in planned {
        let name = shown(real);
        if old == new {
            writeln!(out, "{name}: already up to date")?;
            continue;
        }
        let text = |bytes: &Bytes| {
            String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
        };
        let side = |bytes: &Bytes| if bytes.is_some() { &name } else { "/dev/null" };
        writeln!(out, "--- {}\n+++ {}", side(old), side(new))?;
        write!(out, "{}", diff::unified(&text(old), &text(new), screen))?;
        if let Some(new) = new {
            notes(real, &String::from_utf8_lossy(new));
        }
    }
    Ok(out.flush()?)
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
        None if real.exists() => writeln!(out, "{} created", shown(real)),
        None => writeln!(out, "{} removed, only cld had written to it", shown(real)),
    }
}
