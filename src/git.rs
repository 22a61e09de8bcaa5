//! The only door to git: making a removed worktree again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::quoted;
use crate::text::is_unsafe;

/// How a worktree that is gone can be made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub path: PathBuf,
    words: Vec<OsString>,
}

impl Worktree {
    /// Nothing where `repository` is no repository. `branch` is foreign text.
    pub fn plan(repository: &Path, path: &Path, branch: Option<&str>) -> Option<Self> {
        let list = ask(repository, &["worktree", "list", "--porcelain"])?;
        let listed = format!("worktree {}", path.to_str()?);
        let is_registered =
            String::from_utf8_lossy(&list.stdout).lines().any(|line| line == listed);
        let branch = branch.filter(|branch| is_branch(branch));
        let exists = |branch: &str| {
            let name = format!("refs/heads/{branch}");
            ask(repository, &["show-ref", "--verify", "--quiet", &name]).is_some()
        };
        let state = match branch {
            None => Branch::Unknown,
            Some(branch) if exists(branch) => Branch::Exists(branch),
            Some(branch) => Branch::Gone(branch),
        };
        Some(Self { path: path.to_owned(), words: words(repository, path, state, is_registered) })
    }

    pub fn command_line(&self) -> String {
        let words = [OsString::from("git")].into_iter().chain(self.words.iter().cloned());
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }

    pub fn make(&self) -> Result<()> {
        // What git prints belongs to the person, and not to whoever reads our output.
        let status = git(&self.words)
            .stdout(std::io::stderr())
            .status()
            .context("git could not be started")?;
        if !status.success() {
            bail!("the worktree could not be made again: `{}` failed", self.command_line());
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Branch<'a> {
    Exists(&'a str),
    Gone(&'a str),
    Unknown,
}

fn words(repository: &Path, path: &Path, branch: Branch<'_>, is_registered: bool) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-C".into(), repository.into()];
    words.extend(["worktree", "add"].map(OsString::from));
    // git remembers a worktree whose directory was simply deleted, and would refuse.
    words.extend(is_registered.then(|| "--force".into()));
    match branch {
        Branch::Exists(name) => words.extend([path.into(), name.into()]),
        Branch::Gone(name) => words.extend(["-b".into(), name.into(), path.into()]),
        Branch::Unknown => words.extend(["--detach".into(), path.into()]),
    }
    words
}

/// `HEAD` is what Claude Code notes where no branch is checked out.
fn is_branch(name: &str) -> bool {
    !name.is_empty()
        && name != "HEAD"
        && !name.starts_with('-')
        && !name.chars().any(|character| is_unsafe(character) || character.is_whitespace())
}

/// The answer of a command that changes nothing, if it succeeds.
fn ask(repository: &Path, words: &[&str]) -> Option<Output> {
    let mut all: Vec<OsString> = vec!["-C".into(), repository.into()];
    all.extend(words.iter().map(OsString::from));
    let output = git(&all).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(output)
}

#[expect(clippy::disallowed_methods, reason = "this module is the door to git")]
fn git(words: &[OsString]) -> Command {
    let mut command = Command::new("git");
    command.args(words).stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(branch: Branch<'_>, is_registered: bool, expected: &str) {
        let path = Path::new("/r/.claude/worktrees/a b");
        let words = words(Path::new("/r"), path, branch, is_registered);
        assert_eq!(Worktree { path: path.to_owned(), words }.command_line(), expected);
    }

    #[test]
    fn the_command_says_what_will_be_done() {
        check(
            Branch::Exists("topic"),
            false,
            "git -C /r worktree add '/r/.claude/worktrees/a b' topic",
        );
        check(
            Branch::Gone("topic"),
            true,
            "git -C /r worktree add --force -b topic '/r/.claude/worktrees/a b'",
        );
        check(Branch::Unknown, false, "git -C /r worktree add --detach '/r/.claude/worktrees/a b'");
    }

    #[test]
    fn a_branch_is_no_option_and_no_escape_sequence() {
        for good in ["main", "worktree-x", "feature/é"] {
            assert!(is_branch(good), "{good:?}");
        }
        for bad in ["", "HEAD", "-D", "--detach", "a b", "a\u{1b}[31m", "a\n"] {
            assert!(!is_branch(bad), "{bad:?}");
        }
    }
}
