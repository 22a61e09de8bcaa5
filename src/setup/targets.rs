//! The files that a setup changes, and what is to become of each.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cli::Setup;
use crate::error::Stop;
use crate::paths;
use crate::shell::quoted;
use crate::text::shown;

use super::settings::{self, Refusal};
use super::write::{Bytes, Keeping};
use super::{FILE, block, command_for, config_dirs, program, repository, tmux};

/// A file, and what is to be done to it.
pub(super) struct Target {
    pub(super) of: Of,
    pub(super) file: PathBuf,
    pub(super) edit: Edit,
}

/// Who reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Claude,
    Tmux,
    Shell,
}

/// Nothing stands for taking out what an earlier setup has put in.
pub(super) enum Edit {
    /// The command that Claude Code runs on every event.
    Hooks(Option<String>),
    /// Lines between marks.
    Block(Option<String>),
    /// A file that belongs to cld.
    Own(Option<&'static str>),
}

impl Edit {
    pub(super) fn apply(&self, old: Option<&[u8]>) -> Result<Bytes> {
        let text = || old.map(utf8).transpose();
        let new = match self {
            Self::Hooks(Some(command)) => Some(settings::install(text()?, command)?),
            Self::Hooks(None) => text()?.map(settings::uninstall).transpose()?.flatten(),
            Self::Block(Some(lines)) => Some(block::install(text()?, lines)?),
            Self::Block(None) => text()?.map(block::uninstall).transpose()?.flatten(),
            Self::Own(content) => content.map(str::to_owned),
        };
        Ok(new.map(String::into_bytes))
    }

    /// Whoever has written a file wants it back.
    pub(super) fn keeping(&self) -> Keeping {
        match self {
            Self::Own(_) => Keeping::Nothing,
            Self::Hooks(_) | Self::Block(_) => Keeping::Backup,
        }
    }
}

/// In the order in which they are written: nothing names a file that is not there yet.
pub(super) fn targets(options: &Setup) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    if !options.project {
        if !options.no_tmux {
            targets.extend(tmux::targets(options.uninstall)?);
        }
        targets.extend(shell(options)?);
    }
    targets.extend(hooks(options)?);
    if options.uninstall {
        targets.reverse();
    }
    Ok(targets)
}

fn hooks(options: &Setup) -> Result<Vec<Target>> {
    let dirs = match options {
        Setup { project: true, .. } => vec![repository()?.join(".claude")],
        Setup { config_dir, .. } if !config_dir.is_empty() => config_dir.clone(),
        _ => config_dirs()?,
    };
    let command = match options.uninstall {
        true => None,
        false => Some(command_for(&program()?)?),
    };
    let edit = || Edit::Hooks(command.clone());
    let target = |dir: &PathBuf| Target { of: Of::Claude, file: dir.join(FILE), edit: edit() };
    Ok(dirs.iter().map(target).collect())
}

/// The startup files that have a block already, and the one that is asked for.
fn shell(options: &Setup) -> Result<Vec<Target>> {
    let wanted = match options.shell && !options.uninstall {
        true => Some(wanted_shell()?),
        false => None,
    };
    let mut targets = Vec::new();
    for name in ["bash", "zsh", "fish"] {
        let Some(file) = paths::startup_file(name) else { continue };
        if has_block(&file) || wanted.as_deref() == Some(name) {
            let lines = match options.uninstall {
                true => None,
                false => Some(companion(name, &program()?)),
            };
            targets.push(Target { of: Of::Shell, file, edit: Edit::Block(lines) });
        }
    }
    Ok(targets)
}

fn wanted_shell() -> Result<String> {
    let name = paths::login_shell().unwrap_or_default();
    if paths::startup_file(&name).is_none() {
        return Err(Stop::Usage(format!(
            "$SHELL is {name:?}, and --shell knows bash, zsh and fish\n\
             Try: SHELL=bash cld setup --shell"
        ))
        .into());
    }
    Ok(name)
}

/// What a shell runs at its start; nothing happens where cld was removed.
fn companion(shell: &str, program: &Path) -> String {
    let program = quoted(program.as_os_str());
    match shell {
        "fish" => format!("if test -x {program}\n    {program} init fish | source\nend"),
        _ => format!("if [ -x {program} ]; then\n    eval \"$({program} init {shell})\"\nfi"),
    }
}

/// Whether a file has a block of cld, or what looks like one.
pub(super) fn has_block(file: &Path) -> bool {
    fs::read(file).is_ok_and(|text| block::is_in(&String::from_utf8_lossy(&text)))
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Refusal::at(&valid, valid.len(), "the file is not UTF-8 here").into()
    })
}

/// A path that can stand in a file of lines.
pub(super) fn plain(path: &Path) -> Result<&str> {
    let text = path.to_str().context("the path is no text").and_then(|text| {
        match text.chars().any(|c| c.is_control() || "*?[\\".contains(c)) {
            true => bail!("the path has characters that mean something to tmux"),
            false => Ok(text),
        }
    });
    text.with_context(|| format!("{} cannot be named in tmux.conf", shown(path)))
}
