//! Stand-ins for Claude Code: processes that live, what its registry says of them, and transcripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::world::{World, assert_silent, run};

/// A process that lives until it is killed or dropped.
pub(crate) struct Claude(Child);

impl Claude {
    pub(crate) fn start() -> Self {
        let mut sleep = Command::new("sleep");
        Self(sleep.arg("1000").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Field 22 of its stat, as Claude Code notes it.
    fn started(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let after_name = stat.rsplit(')').next().unwrap();
        after_name.split_whitespace().nth(19).unwrap().to_owned()
    }

    /// Runs a hook as this process would.
    #[track_caller]
    pub(crate) fn hook(&self, world: &World, payload: &Value) {
        let mut hook = world.cld(&["hook"]);
        hook.env("CLAUDE_PID", self.pid().to_string());
        assert_silent(&run(hook, payload.to_string().as_bytes()));
    }

    /// Writes what the registry says of this process, in place of what it said before.
    pub(crate) fn register(&self, config_dir: &Path, session: &str, fields: &Value) {
        let mut entry = json!({
            "pid": self.pid(),
            "sessionId": session,
            "procStart": self.started(),
            "cwd": "/home/u/proj",
            "kind": "interactive",
            "entrypoint": "cli",
            "startedAt": now_millis(),
            "updatedAt": now_millis(),
            "statusUpdatedAt": now_millis(),
        });
        for (key, value) in fields.as_object().unwrap() {
            entry[key] = value.clone();
        }
        let folder = config_dir.join("sessions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{}.json", self.pid())), entry.to_string()).unwrap();
    }
}

impl Drop for Claude {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn now_millis() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

pub(crate) fn config_dir(world: &World) -> PathBuf {
    world.home().join(".claude")
}

/// A transcript of one prompt and one answer, last changed that many seconds ago.
pub(crate) struct Transcript<'a> {
    pub(crate) id: &'a str,
    pub(crate) directory: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) entrypoint: &'a str,
    pub(crate) seconds_ago: u64,
}

impl Transcript<'_> {
    pub(crate) fn plant(&self, config_dir: &Path) -> PathBuf {
        let bucket = cld::slug::encode(Path::new(self.directory)).unwrap();
        let path = config_dir.join("projects").join(bucket).join(format!("{}.jsonl", self.id));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let changed = SystemTime::now() - Duration::from_secs(self.seconds_ago);
        let record = |kind: &str, content: &str| {
            json!({
                "type": kind,
                "message": {"role": kind, "content": content},
                "timestamp": cld::clock::utc(cld::roster::past::moment(changed)),
                "cwd": self.directory,
                "sessionId": self.id,
                "gitBranch": "main",
                "entrypoint": self.entrypoint,
                "isSidechain": false,
            })
        };
        let lines = [record("user", self.prompt), record("assistant", "It is done.")];
        fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(changed).unwrap();
        path
    }
}

/// What a command printed, after it succeeded.
#[track_caller]
pub(crate) fn printed(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {error}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
pub(crate) fn ls(world: &World, arguments: &[&str]) -> String {
    let arguments = [&["ls"], arguments].concat();
    printed(&world.cld(&arguments).output().unwrap())
}

#[track_caller]
pub(crate) fn sessions(world: &World, arguments: &[&str]) -> Vec<Value> {
    let document = ls(world, &[&["--json"], arguments].concat());
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["version"], 1);
    document["sessions"].as_array().unwrap().clone()
}

/// The only session there is.
#[track_caller]
pub(crate) fn session(world: &World) -> Value {
    let sessions = sessions(world, &[]);
    let [session] = sessions.as_slice() else { panic!("{sessions:#?}") };
    session.clone()
}
