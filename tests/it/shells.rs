//! Real shells, typed into: each runs in a pane of the world's server, with nothing of the user's.

use std::fs;
use std::path::PathBuf;

use crate::generated::has;
use crate::world::{World, poll_until};

/// The shells that are there.
pub(crate) fn shells() -> impl Iterator<Item = &'static str> {
    ["bash", "zsh", "fish"].into_iter().filter(|shell| has(shell))
}

/// An interactive shell in a pane of its own.
pub(crate) struct Shell<'a> {
    pub(crate) world: &'a World,
    pub(crate) pane: String,
}

impl<'a> Shell<'a> {
    /// Starts the shell with these lines in its start file, and waits for its prompt.
    pub(crate) fn start(world: &'a World, name: &str, start: &str) -> Self {
        let home = world.home();
        let (file, command): (PathBuf, String) = match name {
            "bash" => {
                let file = home.join("bashrc");
                let command = format!("bash --noprofile --rcfile {} -i", file.display());
                (file, command)
            }
            "zsh" => {
                // Without the global files: they belong to the machine.
                (home.join(".zshrc"), format!("env ZDOTDIR={} zsh -d -i", home.display()))
            }
            _ => {
                let file = home.join(".config/fish/config.fish");
                (file, "fish -i".to_owned())
            }
        };
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let prompt = match name {
            "bash" => "PS1='ready> '\n",
            "zsh" => "PROMPT='ready> '\nautoload -Uz compinit && compinit -u\n",
            _ => {
                "function fish_prompt; echo -n 'ready> '; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n"
            }
        };
        fs::write(&file, format!("{prompt}{start}")).unwrap();
        let bin = PathBuf::from(env!("CARGO_BIN_EXE_cld"));
        let path =
            format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let variables: String = [
            ("PATH", path.as_str()),
            ("CLD_PATIENCE", "30"),
            ("TMUX_TMPDIR", world.path("").to_str().unwrap()),
            ("CLD_TMUX", crate::world::tmux_program().to_str().unwrap()),
        ]
        .iter()
        .map(|(name, value)| format!("{name}='{value}' "))
        .collect();
        let command = format!("exec env {variables} {command}");
        let pane = world.tmux(&[
            "new-window",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-c",
            home.to_str().unwrap(),
            &command,
        ]);
        let shell = Self { world, pane };
        shell.wait_for("ready> ");
        shell
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.world.tmux(&[&["send-keys", "-t", &self.pane], keys].concat());
    }

    pub(crate) fn type_text(&self, text: &str) {
        self.world.tmux(&["send-keys", "-t", &self.pane, "-l", text]);
    }

    /// Types a line and waits until it is done.
    pub(crate) fn line(&self, line: &str) {
        self.type_text(line);
        let number = self.prompts();
        self.keys(&["Enter"]);
        poll_until("the next prompt", || self.prompts() > number);
    }

    fn prompts(&self) -> usize {
        self.screen().matches("ready> ").count()
    }

    pub(crate) fn screen(&self) -> String {
        self.world.tmux(&["capture-pane", "-J", "-p", "-S", "-", "-t", &self.pane])
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text));
    }

    /// Waits, and shows the screen where it waited in vain.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = std::time::Instant::now() + crate::world::DEADLINE;
        while !holds(&self.screen()) {
            let in_time = std::time::Instant::now() < deadline;
            assert!(in_time, "never seen: {what}. The screen:\n{}", self.screen());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
