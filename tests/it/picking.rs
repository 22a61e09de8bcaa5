//! A picker in a pane of the world's tmux: keys are typed with send-keys, the screen is read with
//! capture-pane.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::events::event;
use crate::stage::{Stage, id, plant, prompt, reply};
use crate::world::{DEADLINE, World, assert_silent, run, tmux_program};

pub(crate) struct Picker<'a> {
    world: &'a World,
    pub(crate) pane: String,
}

/// A shell line that runs cld at home, with the environment of the world.
pub(crate) fn line(world: &World, arguments: &str) -> String {
    format!("cd '{}' && {}", world.home().display(), command(world, arguments))
}

/// The same for where the line is run.
pub(crate) fn command(world: &World, arguments: &str) -> String {
    let path = world.cld(&[]).get_envs().find_map(|(name, value)| {
        (name == "PATH").then(|| value.unwrap().to_str().unwrap().to_owned())
    });
    format!(
        "env PATH='{}' CLD_TMUX='{}' TMUX_TMPDIR='{}' {} {arguments}",
        path.unwrap(),
        tmux_program().display(),
        world.path("").display(),
        env!("CARGO_BIN_EXE_cld"),
    )
}

impl<'a> Picker<'a> {
    pub(crate) fn open(world: &'a World, arguments: &str) -> Self {
        let picker = Self::start(world, &line(world, &format!("pick {arguments}")));
        picker.wait("the first frame", |screen| screen.starts_with('>'));
        picker
    }

    /// Runs a shell line in a window of 80 by 24, which stays afterwards.
    pub(crate) fn start(world: &'a World, line: &str) -> Self {
        // tmux gives a new window the size of its session first.
        let settle = "while [ \"$(stty size)\" != '24 80' ]; do sleep 0.01; done";
        let line = format!("{settle}; {line}; echo \"exit $?\"; exec sleep 1000");
        let pane = world.tmux(&["new-window", "-P", "-F", "#{pane_id}", &line]);
        let picker = Self { world, pane };
        picker.resize(80, 24);
        picker
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.world.tmux(&["resize-window", "-t", &self.pane, "-x", &columns, "-y", &rows]);
    }

    pub(crate) fn screen(&self) -> String {
        self.world.tmux(&["capture-pane", "-p", "-t", &self.pane])
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.world.tmux(&[&["send-keys", "-t", &self.pane], keys].concat());
    }

    /// Bytes as a terminal sends them for the mouse.
    pub(crate) fn raw(&self, bytes: &str) {
        self.world.tmux(&["send-keys", "-t", &self.pane, "-l", bytes]);
    }

    #[track_caller]
    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        wait(what, || self.screen(), holds)
    }

    /// The title of the row that is chosen, as the preview shows it.
    pub(crate) fn chosen(screen: &str) -> &str {
        let line = screen.lines().nth(1).unwrap_or_default();
        line.split_once('│').map_or("", |(_, title)| title.trim())
    }

    #[track_caller]
    pub(crate) fn wait_for_choice(&self, title: &str) -> String {
        self.wait(&format!("{title} is chosen"), |screen| Self::chosen(screen) == title)
    }

    #[track_caller]
    pub(crate) fn wait_for_exit(&self, code: i32) -> String {
        let words = format!("exit {code}");
        self.wait(&words, |screen| screen.lines().any(|line| line == words))
    }

    pub(crate) fn format(&self, format: &str) -> String {
        self.world.tmux(&["display-message", "-p", "-t", &self.pane, format])
    }
}

/// Polls a screen, and shows it where it never becomes what is waited for.
#[track_caller]
pub(crate) fn wait(
    what: &str,
    screen: impl Fn() -> String,
    holds: impl Fn(&str) -> bool,
) -> String {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let shown = screen();
        if holds(&shown) {
            return shown;
        }
        assert!(Instant::now() < deadline, "never happened: {what}\n{shown}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The titles in the list, with the names of the groups.
pub(crate) fn titles(screen: &str) -> Vec<String> {
    let lines = screen.lines().skip(1).take_while(|line| line.contains('│'));
    let lines = lines.map(|line| line.split('│').next().unwrap().trim_end());
    let title = |line: &str| match line.strip_prefix(" [") {
        // Icon and age stand before the title, at least two blanks and the directory after it.
        Some(row) => {
            let rest = row.split_once(']').unwrap().1.trim_start();
            let rest = rest.split_once(' ').unwrap().1;
            rest.rsplit_once(' ').unwrap().0.trim_end().to_owned()
        }
        None => line.to_owned(),
    };
    lines.filter(|line| !line.is_empty()).map(title).collect()
}

/// Session `number` in a window of its own, whose process plays Claude Code.
pub(crate) struct Open<'a> {
    world: &'a World,
    pub(crate) pane: String,
    pub(crate) id: String,
    directory: String,
}

impl<'a> Open<'a> {
    pub(crate) fn start(world: &'a World, number: u32, title: &str) -> Self {
        let directory = world.dir(&format!("proj{number}"));
        plant(
            &world.home().join(".claude"),
            &directory,
            &id(number),
            &[prompt(&directory, title), reply(&directory, &format!("an answer to {number}"))],
        );
        let window = ["new-window", "-d", "-P", "-F", "#{pane_id}", "exec sleep 1000"];
        let pane = world.tmux(&window);
        let directory = directory.to_str().unwrap().to_owned();
        let open = Self { world, pane, id: id(number), directory };
        open.tell("SessionStart", &json!({"source": "startup"}));
        open.tell("UserPromptSubmit", &json!({"prompt": title}));
        open
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        let slug = cld::slug::encode(Path::new(&self.directory)).unwrap();
        let folder = self.world.home().join(".claude/projects").join(slug);
        folder.join(format!("{}.jsonl", self.id))
    }

    pub(crate) fn tell(&self, name: &str, fields: &Value) {
        let mut payload = event(name, fields);
        payload["session_id"] = json!(self.id);
        payload["cwd"] = json!(self.directory);
        payload["transcript_path"] = json!(self.transcript());
        let pid = ["display-message", "-p", "-t", &self.pane, "#{pane_pid}"];
        let mut hook = self.world.cld(&["hook"]);
        hook.env("TMUX_PANE", &self.pane).env("CLAUDE_PID", self.world.tmux(&pid));
        assert_silent(&run(hook, payload.to_string().as_bytes()));
    }

    pub(crate) fn asks(&self, command: &str) {
        let input = json!({"tool_name": "Bash", "tool_input": {"command": command}});
        self.tell("PermissionRequest", &input);
    }
}
