//! A home with transcripts, and a `claude` that only writes down how it was started.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::world::{World, poll_until};

/// Writes down its arguments, directory and environment. Does it once: a second start fails.
const FAKE: &str = r#"#!/bin/sh
out="$HOME/started"
mkdir "$out" || exit 99
printf '%s\0' "$@" > "$out/arguments"
readlink -n /proc/$$/cwd > "$out/cwd"
cat /proc/$$/environ > "$out/environment"
: > "$out/whole"
"#;

/// How Claude Code was started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Vec<OsString>,
}

impl Started {
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let start = format!("{name}=").into_bytes();
        self.environment.iter().find_map(|entry| {
            let entry = entry.clone().into_vec();
            entry.strip_prefix(&*start).map(|value| OsString::from_vec(value.to_vec()))
        })
    }

    #[track_caller]
    pub(crate) fn check(&self, dir: &Path, arguments: &[&str]) {
        assert_eq!(self.cwd, dir);
        assert_eq!(self.arguments, arguments.iter().map(OsString::from).collect::<Vec<_>>());
    }
}

pub(crate) trait Stage: Sized {
    /// Puts the fake program first in `$PATH`.
    fn staged(self) -> Self;
    fn started(&self) -> Option<Started>;
    fn wait_for_start(&self) -> Started;
    /// Makes a directory below the home, and returns its real path.
    fn dir(&self, name: &str) -> PathBuf;
    fn resume(&self, from: &Path, arguments: &[&str]) -> Output;
}

impl Stage for World {
    fn staged(self) -> Self {
        let bin = self.path("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("claude"), FAKE).unwrap();
        fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        self.with("PATH", &path)
    }

    fn started(&self) -> Option<Started> {
        let read = |name| fs::read(self.home().join("started").join(name)).ok();
        read("whole")?;
        let list = |name| {
            let list = read(name).unwrap();
            let list = list.strip_suffix(&[0]).unwrap_or(&list);
            let list = list.split(|byte| *byte == 0);
            list.map(|entry| OsString::from_vec(entry.to_vec())).collect::<Vec<_>>()
        };
        Some(Started {
            arguments: list("arguments"),
            cwd: PathBuf::from(OsString::from_vec(read("cwd").unwrap())),
            environment: list("environment"),
        })
    }

    #[track_caller]
    fn wait_for_start(&self) -> Started {
        poll_until("claude is started", || self.started().is_some());
        self.started().unwrap()
    }

    fn dir(&self, name: &str) -> PathBuf {
        let dir = self.home().join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::canonicalize(dir).unwrap()
    }

    /// Runs `cld resume` without a terminal.
    fn resume(&self, from: &Path, arguments: &[&str]) -> Output {
        let mut command = self.cld(&["resume"]);
        command.args(arguments).current_dir(from).stdin(Stdio::null()).output().unwrap()
    }
}

/// The id of the `number`th session of a test.
pub(crate) fn id(number: u32) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// Writes a transcript into the project folder of `home`, wherever its lines say they were.
pub(crate) fn plant(config_dir: &Path, home: &Path, id: &str, lines: &[Value]) -> PathBuf {
    let slug = cld::slug::encode(home).unwrap();
    plant_in(config_dir, &slug, id, lines)
}

pub(crate) fn plant_in(config_dir: &Path, bucket: &str, id: &str, lines: &[Value]) -> PathBuf {
    let folder = config_dir.join("projects").join(bucket);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{id}.jsonl"));
    let mut file = fs::File::create(&path).unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    path
}

pub(crate) fn said(kind: &str, cwd: &Path, text: &str) -> Value {
    json!({
        "type": kind, "isSidechain": false, "cwd": cwd.to_str().unwrap(), "gitBranch": "main",
        "entrypoint": "cli", "timestamp": "2026-11-18T00:00:00.000Z", "uuid": "u", "sessionId": "s",
        "message": {"role": kind, "content": [{"type": "text", "text": text}]},
    })
}

pub(crate) fn prompt(cwd: &Path, text: &str) -> Value {
    said("user", cwd, text)
}

pub(crate) fn reply(cwd: &Path, text: &str) -> Value {
    said("assistant", cwd, text)
}

/// Runs git in `~/repo`, which it makes with one commit at the first call.
#[track_caller]
pub(crate) fn git(world: &World, arguments: &[&str]) -> PathBuf {
    let repo = world.dir("repo");
    let run = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&repo).args(["-c", "user.name=u", "-c", "user.email=u@example.com"]);
        git.args(arguments).env("HOME", world.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.output().unwrap().status.success(), "git {arguments:?}");
    };
    if !repo.join(".git").exists() {
        run(&["init", "-q"]);
        run(&["commit", "-q", "--allow-empty", "-m", "first"]);
    }
    run(arguments);
    repo
}

/// The record of a worktree that Claude Code made in `repo`.
pub(crate) fn worktree_state(repo: &Path, worktree: &Path, branch: &str) -> Value {
    json!({"type": "worktree-state", "worktreeSession": {
        "originalCwd": repo.to_str().unwrap(),
        "worktreePath": worktree.to_str().unwrap(),
        "worktreeBranch": branch,
    }})
}

#[track_caller]
pub(crate) fn check_exit(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout {out:?}, stderr {err:?}");
    let acts = |c: char| c != '\n' && cld::text::is_unsafe(c);
    assert!(!out.contains(acts) && !err.contains(acts), "acts on the terminal: {out:?} {err:?}");
    (out, err)
}
