//! The files and the tmux server of the demo. All of it is gone with the value, and the server
//! cleans up by itself where cld was killed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::session::Moment;
use crate::text::one_line;
use crate::{clock, paths};

use super::cast::{self, ENDED, OPEN, Role};

/// What the server does, besides what tmux does anyway. Nothing of the user's is read.
const TMUX_CONF: &str = include_str!("tmux.conf");
/// The tabs, as they are with Claude Code.
const CLD_TMUX: &str = include_str!("../../shell/cld.tmux");
/// What the server runs when nobody looks any more.
const END: &str = include_str!("end");
/// The shell of the panes.
const BASHRC: &str = include_str!("bashrc");
/// What is found as `claude`.
const CLAUDE: &str = "#!/bin/sh\nexec cld demo --play claude \"$@\"\n";

/// How long ago the sessions were talked to, in microseconds: three days.
const AGE_MICROS: u64 = 3 * 24 * 60 * 60 * 1_000_000;

/// How often the files are removed, until nobody writes any more.
const LAST_WORDS: usize = 10;

pub(super) struct Stage {
    dir: PathBuf,
}

impl Stage {
    pub(super) fn set_up() -> Result<Self> {
        let parent = fs::canonicalize(std::env::temp_dir())?;
        let dir = parent.join(format!("cld-demo-{}", std::process::id()));
        let created = DirBuilder::new().mode(0o700).create(&dir);
        created.with_context(|| format!("{} cannot be created", dir.display()))?;
        let stage = Self { dir };
        stage.write_files().context("the files of the demo cannot be written")?;
        stage.start_server()?;
        Ok(stage)
    }

    /// Shows it until the person leaves.
    pub(super) fn show(&self) -> Result<()> {
        let status = self.tmux(&["attach-session", "-t", "demo:start"]).status()?;
        // The server is gone when the first window was closed, and that is no failure.
        match status.code() {
            Some(0 | 1) => Ok(()),
            _ => bail!("tmux ended with {status}"),
        }
    }

    fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    fn write_files(&self) -> Result<()> {
        let (home, bin) = (self.home(), self.dir.join("bin"));
        fs::create_dir(&bin)?;
        symlink(std::env::current_exe()?, bin.join("cld"))?;
        fs::write(bin.join("claude"), CLAUDE)?;
        fs::set_permissions(bin.join("claude"), Permissions::from_mode(0o755))?;
        for role in OPEN.iter().chain([&ENDED]) {
            self.write_session(role)?;
        }
        fs::write(self.dir.join("tmux.conf"), TMUX_CONF)?;
        fs::write(self.dir.join("cld.tmux"), CLD_TMUX)?;
        fs::write(self.dir.join("end"), END)?;
        fs::write(home.join(".bashrc"), BASHRC)?;
        Ok(())
    }

    fn write_session(&self, role: &Role) -> Result<()> {
        let home = self.home();
        let home = home.to_str().ok_or_else(|| anyhow!("{} is no text", home.display()))?;
        let transcript = cast::transcript(home, role);
        fs::create_dir_all(Path::new(home).join(role.name))?;
        fs::create_dir_all(Path::new(&transcript).parent().unwrap_or(Path::new(home)))?;
        let days_ago = Moment::from_micros(clock::now().micros().saturating_sub(AGE_MICROS));
        Ok(fs::write(&transcript, role.transcript(home, days_ago))?)
    }

    fn start_server(&self) -> Result<()> {
        let home = self.home();
        // tmux would take a # in the name of a directory for the start of a format.
        let in_home = |name: &str| -> OsString {
            let folder = if name.is_empty() { home.clone() } else { home.join(name) };
            folder.to_string_lossy().replace('#', "##").into()
        };
        let guide = OsString::from("cld demo --play guide");
        let mut words: Vec<OsString> =
            ["new-session", "-d", "-s", "demo", "-n", "start", "-c"].map(OsString::from).into();
        words.extend([in_home(""), guide]);
        for role in &OPEN {
            words.extend([";", "new-window", "-d", "-n", role.name, "-c"].map(OsString::from));
            let pane = format!("cld demo --play pane {}", role.id).into();
            words.extend([in_home(role.name), pane]);
        }
        let mut command = self.tmux(&[]);
        let started = command.args(words).stdin(Stdio::null()).output();
        let started = started.context("tmux could not be started; is it installed?")?;
        if !started.status.success() {
            bail!("tmux said: {}", one_line(&String::from_utf8_lossy(&started.stderr), 200));
        }
        Ok(())
    }

    /// tmux, talking to the server of the demo, with the environment of the demo.
    #[expect(clippy::disallowed_methods, reason = "the demo has a tmux server of its own")]
    fn tmux(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(paths::tmux_program());
        command.args(["-u", "-f"]).arg(self.dir.join("tmux.conf"));
        command.arg("-S").arg(self.dir.join("socket")).args(arguments);
        let mut path = self.dir.join("bin").into_os_string();
        path.push(":");
        path.push(paths::search_path());
        command.env_clear().envs(paths::of_the_terminal());
        command.env("HOME", self.home()).env("PATH", path);
        command.env("TMUX_TMPDIR", &self.dir).env("CLD_TMUX", paths::tmux_program());
        command.env("CLD_DEMO_DIR", &self.dir);
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut kill = self.tmux(&["kill-server"]);
        // It is gone already when the last pane was closed.
        let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        // A hook that was just running may write once more.
        for _ in 0..LAST_WORDS {
            let _ = fs::remove_dir_all(&self.dir);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
