//! The README is run: every command in it, in a home of its own, must print what the README shows.
//!
//! A block marked `console` has commands after `$ ` and below each what it prints. A line `...`
//! stands for any lines. Ages, process ids and the home directory are compared as if they were
//! always the same, and blanks are not counted. A word after `console` names the scene it is played
//! in; `terminal` types the command into a real terminal. A block marked `sh` is run as a whole, in
//! an empty home, and has to succeed; one marked `toml` is the configuration from there on, and one
//! marked `tmux` is for tmux (`readme_tables.rs`). What cannot be run here is marked `shell`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use regex::Regex;
use serde_json::json;

use crate::generated::{has, repository, visible_commands, write_program};
use crate::living::{Claude, Transcript, config_dir, now_millis};
use crate::man::variables_in;
use crate::shells::Shell;
use crate::stage::Stage;
use crate::world::{World, poll_until, tmux_program};

/// So many blocks may say what cannot be tried here.
const MOST_SHELL_BLOCKS: usize = 1;

pub(crate) struct Block {
    pub(crate) language: String,
    scene: String,
    pub(crate) text: String,
    pub(crate) line: usize,
}

pub(crate) fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).unwrap()
}

pub(crate) fn blocks() -> Vec<Block> {
    let readme = readme();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in readme.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(info) => {
                open = true;
                let (language, scene) = info.split_once(' ').unwrap_or((info, ""));
                blocks.push(Block {
                    language: language.to_owned(),
                    scene: scene.to_owned(),
                    text: String::new(),
                    line: number + 1,
                });
            }
            None if open => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// The commands of a block, and what each of them prints.
fn commands(block: &Block) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((command, _))) if command.ends_with('\\') => {
                command.push_str(&format!("\n{line}"));
            }
            (None, Some((_, printed))) => printed.push_str(&format!("{line}\n")),
            (None, None) => panic!("README.md:{}: a console block begins with `$ `", block.line),
        }
    }
    commands
}

/// Three sessions in panes and one that has ended, as the README tells of them.
pub(crate) struct Scene {
    pub(crate) world: World,
    claudes: Vec<Claude>,
    hub: Option<Child>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(hub) = &mut self.hub {
            let _ = hub.kill();
            let _ = hub.wait();
        }
    }
}

const SESSIONS: [(&str, &str, &str, &str); 3] = [
    ("docs:0", "docs site", "77cc00dd-3333-4333-8333-333333333333", "rewrite the install page"),
    ("work:0", "api", "23e30f82-1111-4111-8111-111111111111", "fix the flaky login test"),
    ("work:1", "web", "9f00aa11-2222-4222-8222-222222222222", "new landing page"),
];
const PAST: &str = "dddd0000-4444-4444-8444-444444444444";

impl Scene {
    pub(crate) fn new() -> Self {
        let world = World::new().staged();
        symlink(env!("CARGO_BIN_EXE_cld"), world.path("bin/cld")).unwrap();
        // What the README calls tmux is the one under test, which may not be the one of the system.
        if tmux_program().is_absolute() {
            symlink(tmux_program(), world.path("bin/tmux")).unwrap();
        }
        let mut scene = Self { world, claudes: Vec::new(), hub: None };
        for (place, directory, id, title) in SESSIONS {
            scene.open(place, directory, id, title);
        }
        let api = scene.world.dir("api");
        let parser = Transcript {
            id: PAST,
            directory: api.to_str().unwrap(),
            prompt: "make the error messages of the parser say what was expected",
            entrypoint: "cli",
            seconds_ago: 3 * 86_400,
        };
        parser.plant(&config_dir(&scene.world));
        scene
    }

    /// A session that has got as far as its story goes: the first is done, the second
    /// works, the third asks.
    fn open(&mut self, place: &str, directory: &str, id: &str, title: &str) {
        let world = &self.world;
        let dir = world.dir(directory);
        let dir = dir.to_str().unwrap();
        let (session, window) = place.split_once(':').unwrap();
        let sleep = "sleep 1000";
        let pane = match window {
            "0" => world.tmux(&[
                "new-session",
                "-d",
                "-P",
                "-F",
                "#{pane_id}",
                "-s",
                session,
                "-c",
                dir,
                sleep,
            ]),
            _ => world.tmux(&[
                "new-window",
                "-d",
                "-P",
                "-F",
                "#{pane_id}",
                "-t",
                session,
                "-c",
                dir,
                sleep,
            ]),
        };
        Transcript { id, directory: dir, prompt: title, entrypoint: "cli", seconds_ago: 5 }
            .plant(&config_dir(world));
        let claude = Claude::start();
        let tell = |name: &str, fields: serde_json::Value| {
            let mut payload = json!({
                "session_id": id, "cwd": dir, "hook_event_name": name, "session_title": title,
                "transcript_path": "/nonexistent",
            });
            payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let mut hook = world.cld(&["hook"]);
            hook.env("TMUX_PANE", &pane).env("CLAUDE_PID", claude.pid().to_string());
            crate::world::assert_silent(&crate::world::run(hook, payload.to_string().as_bytes()));
        };
        tell("SessionStart", json!({"source": "startup"}));
        tell("UserPromptSubmit", json!({"prompt": title}));
        let build = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf build && npm run build"}});
        match directory {
            "web" => tell("PermissionRequest", build),
            "docs site" => tell(
                "Stop",
                json!({"last_assistant_message": "The page is half as long now.", "background_tasks": []}),
            ),
            _ => {}
        }
        self.claudes.push(claude);
    }

    /// The machine was started again: there is no server, and nobody lives.
    fn after_a_reboot(mut self) -> Self {
        self.world.tmux(&["kill-server"]);
        let server = format!("/proc/{}", self.world.server_pid());
        poll_until("the server is gone", || !Path::new(&server).exists());
        self.claudes.clear();
        self.world.forget("TMUX");
        self.world.forget("TMUX_PANE");
        self
    }

    /// Two days of work are in the journal, from ten o'clock on.
    fn after_a_week() -> Self {
        let mut scene = Self::new();
        scene.world.set("TZ", "UTC");
        let midnight = now_millis() / 86_400_000 * 86_400;
        let mut journal = String::new();
        let turns = [(2, 0, 5), (2, 0, 3), (2, 2, 1), (1, 0, 4), (1, 2, 6), (1, 2, 2), (1, 0, 2)];
        for (number, (days_ago, session, minutes)) in (0_u64..).zip(turns) {
            let start = midnight - days_ago * 86_400 + 36_000 + number * 3_600;
            let answered = start + 60 * minutes + 20 * (number + 1);
            let done = answered + 120 * minutes;
            let call = format!("main.00ff{number:02}.p");
            for (at, event, fields) in [
                (start - 60, "SessionStart", json!({"status": "stopped"})),
                (start, "UserPromptSubmit", json!({"status": "running"})),
                (
                    start + 60 * minutes,
                    "PermissionRequest",
                    json!({"status": "stopped", "opened": call}),
                ),
                (start + 60 * minutes, "notify", json!({"about": "p@1", "told": ["tmux"]})),
                (
                    answered,
                    "PostToolUse",
                    json!({"status": "running", "ended": [format!("{call}@1")]}),
                ),
                (done, "Stop", json!({"status": "stopped", "opened": "d"})),
                (done, "notify", json!({"about": "d@1", "told": ["tmux"]})),
                (done + 90 * minutes, "UserPromptSubmit", json!({"status": "running"})),
                (done + 100 * minutes, "SessionEnd", json!({"status": "ended"})),
            ] {
                let mut line = json!({
                    "at": at * 1_000_000, "event": event, "session": SESSIONS[session].2,
                    "pane": "%0", "server": 1,
                });
                line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
                journal.push_str(&format!("{line}\n"));
            }
        }
        fs::write(scene.world.state_file("journal.jsonl"), journal).unwrap();
        scene
    }

    /// Everything is installed, but nobody has been told of it.
    fn before_setup() -> Self {
        let mut world = World::new();
        let bin = world.dir(".local/bin");
        symlink(env!("CARGO_BIN_EXE_cld"), bin.join("cld")).unwrap();
        write_program(&bin.join("claude"), "#!/bin/sh\necho '2.1.326 (Claude Code)'\n");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        world.set("PATH", &path);
        world.set("SHELL", "/bin/bash");
        let tmux_conf = "set -g mouse on\nset -g status-interval 5\n";
        fs::write(world.home().join(".tmux.conf"), tmux_conf).unwrap();
        fs::write(world.dir(".claude").join("settings.json"), "{\n}\n").unwrap();
        Self { world, claudes: Vec::new(), hub: None }
    }

    /// A hub runs beside the sessions.
    fn with_a_hub() -> Self {
        let mut scene = Self::new();
        let run = scene.world.path("run");
        scene.world.set("XDG_RUNTIME_DIR", run.to_str().unwrap());
        fs::create_dir(scene.world.path("run")).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(scene.world.path("run"), private).unwrap();
        let mut hub = scene.world.cld(&["hub", "--listen", "127.0.0.1:0"]);
        hub.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        scene.hub = Some(hub.spawn().unwrap());
        poll_until("the hub answers", || {
            scene.world.cld(&["hub", "status"]).output().unwrap().status.success()
        });
        scene
    }

    /// A client is attached, and there is the program that the configuration names.
    fn prepare(&self) -> crate::world::Terminal<'_> {
        let push = self.world.home().join("bin/push");
        fs::create_dir_all(push.parent().unwrap()).unwrap();
        write_program(&push, "#!/bin/sh\n");
        self.world.attach()
    }

    fn run(&self, command: &str) -> String {
        let mut shell = self.world.cld(&[]);
        let variables: Vec<_> = shell
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        shell = Command::new("sh");
        shell.env_clear().envs(variables).current_dir(self.world.home());
        let output = shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).stdin(Stdio::null());
        String::from_utf8(output.output().unwrap().stdout).unwrap()
    }

    /// What differs from one machine and one moment to another is made the same.
    fn normalised(&self, text: &str) -> String {
        let real = fs::canonicalize(self.world.home()).unwrap();
        let text = text.replace(real.to_str().unwrap(), "/home/u");
        let text = text.replace(self.world.home().to_str().unwrap(), "/home/u");
        let text = text.replace(self.world.socket().to_str().unwrap(), "/tmp/tmux-1000/default");
        let mut text = text;
        for (pattern, name) in [
            (r"\b\d+(\.\d+)? ?(ms|s|m|h|d|kB)\b", "N"),
            (r"process +\d+", "process N"),
            // A machine that is busy gets a warning that it is slow.
            (r"(?m)^(ok|warn) +run +\d+ hooks ran silently.*$", "RUN"),
            (r"cld-backup-\w+(\.\w+)?", "cld-backup-TIME"),
            (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z?\b", "TIME"),
            (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
            (r"\b\d+ (lines|hooks)\b", "N $1"),
            (r" +", " "),
            (r"(?m) +$", ""),
        ] {
            text = Regex::new(pattern).unwrap().replace_all(&text, name).into_owned();
        }
        text.trim_end().to_owned()
    }
}

/// Whether a text is what was expected, where a line `...` stands for any number of lines.
fn fits(found: &str, expected: &str) -> bool {
    let pieces: Vec<String> =
        format!("\n{expected}\n").split("\n...\n").map(str::to_owned).collect();
    let found = format!("\n{found}\n");
    if pieces.len() == 1 {
        return found == pieces[0];
    }
    let mut rest = found.as_str();
    for (number, piece) in pieces.iter().enumerate() {
        let piece = piece.trim_end_matches('\n');
        match rest.find(piece) {
            Some(0) => rest = &rest[piece.len()..],
            Some(at) if number > 0 => rest = &rest[at + piece.len()..],
            _ => return false,
        }
    }
    true
}

#[test]
fn every_command_of_the_readme_prints_what_it_shows() {
    let mut scenes: Vec<(String, Scene)> = vec![(String::new(), Scene::new())];
    let mut wrong = String::new();
    for block in blocks() {
        if block.language == "toml" {
            let folder = scenes[0].1.world.home().join(".config/cld");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("config.toml"), &block.text).unwrap();
        }
        if block.language != "console"
            || (block.scene == "hub" && !["curl", "jq"].into_iter().all(has))
        {
            continue;
        }
        if !scenes.iter().any(|(name, _)| *name == block.scene) {
            match &*block.scene {
                "reboot" => scenes.push((block.scene.clone(), Scene::new().after_a_reboot())),
                "setup" => scenes.push((block.scene.clone(), Scene::before_setup())),
                "hub" => scenes.push((block.scene.clone(), Scene::with_a_hub())),
                "week" => scenes.push((block.scene.clone(), Scene::after_a_week())),
                "terminal" | "told" => {}
                scene => panic!("README.md:{}: there is no scene {scene:?}", block.line),
            }
        }
        let scene = scenes.iter().find(|(name, _)| *name == block.scene).unwrap_or(&scenes[0]);
        let scene = &scene.1;
        let _attached = (block.scene == "told").then(|| scene.prepare());
        for (command, expected) in commands(&block) {
            let expected = scene.normalised(&expected);
            if block.scene == "terminal" {
                type_it(scene, &command, &expected);
                continue;
            }
            let found = scene.run(&command);
            if !fits(&scene.normalised(&found), &expected) {
                let real = scene.world.home();
                let found = found.replace(real.to_str().unwrap(), "/home/u");
                wrong.push_str(&format!("README.md:{}:\n$ {command}\n{found}\n", block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "this is what the commands print:\n{wrong}");
}

/// Into a shell on a real terminal, until it shows what is expected.
fn type_it(scene: &Scene, command: &str, expected: &str) {
    let start =
        format!("export PATH='{}':\"$PATH\" LANG=C.UTF-8\n", scene.world.path("bin").display());
    let shell = Shell::start(&scene.world, "bash", &start);
    shell.type_text(command);
    shell.keys(&["Enter"]);
    shell.wait_until(expected, |screen| {
        let screen = scene.normalised(screen);
        expected.lines().all(|line| screen.lines().any(|seen| seen == line))
    });
    shell.keys(&["C-c"]);
}

#[test]
fn the_lines_to_copy_work_in_an_empty_home() {
    let world = World::bare();
    let fake = world.path("bin");
    fs::create_dir(&fake).unwrap();
    fs::create_dir(world.home().join(".claude")).unwrap();
    let path = format!(
        "{}:{}:{}",
        fake.display(),
        world.home().join(".local/bin").display(),
        std::env::var("PATH").unwrap()
    );
    for block in blocks().iter().filter(|block| block.language == "sh") {
        let mut shell = Command::new("bash");
        shell.args(["-eu", "-c", &block.text]).env_clear().current_dir(repository());
        shell.env("HOME", world.home()).env("PATH", &path).env("LANG", "C.UTF-8");
        shell.env("CLD_TMUX", tmux_program()).env("TMUX_TMPDIR", world.path(""));
        shell.env("CLD_PATIENCE", "30").env("CLD_BINARY", env!("CARGO_BIN_EXE_cld"));
        let output = shell.stdin(Stdio::null()).output().unwrap();
        assert!(
            output.status.success(),
            "README.md:{}: {}{}",
            block.line,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn what_cannot_be_run_is_rare() {
    let blocks = blocks();
    for block in &blocks {
        let known = ["console", "sh", "shell", "toml", "tmux", "text"];
        assert!(known.contains(&&*block.language), "README.md:{}: {}", block.line, block.language);
        let hides_commands = ["text", "tmux"].contains(&&*block.language)
            && block.text.lines().any(|line| line.starts_with("$ ") || line.starts_with("cld "));
        assert!(!hides_commands, "README.md:{}: a command that is not run", block.line);
    }
    let shell = blocks.iter().filter(|block| block.language == "shell").count();
    assert!(shell <= MOST_SHELL_BLOCKS, "{shell} blocks that cannot be run");
}

#[test]
fn every_command_and_every_variable_has_its_place() {
    let readme = readme();
    let (_, table) = readme.split_once("## Commands").unwrap();
    let (table, _) = table.split_once("\nAn ID is").unwrap();
    for command in visible_commands() {
        let name = command.get_name();
        let is_there = [" ", "`"].iter().any(|end| table.contains(&format!("`cld {name}{end}")));
        assert!(is_there, "the table of commands in README.md lacks `{name}`");
    }
    let (_, configuration) = readme.split_once("## Configuration").unwrap();
    // What other programs set is told in cld(1); here is what a user may set.
    let paths = fs::read_to_string(repository().join("src/paths.rs")).unwrap();
    let ours = variables_in(&paths).into_iter().filter(|name| {
        ["CLD_", "CLAUDE_HUB", "CLAUDE_TMUX", "XDG_", "NO_COLOR"]
            .iter()
            .any(|start| name.starts_with(start))
            && name != "CLD_COMPLETE"
    });
    for variable in ours {
        assert!(configuration.contains(&variable), "the table of variables lacks {variable}");
    }
}

#[test]
fn every_link_into_the_repository_leads_somewhere() {
    let readme = readme();
    let headings: Vec<String> = readme
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|line| line.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c)).collect())
        .map(|line: String| line.replace(' ', "-"))
        .collect();
    for link in Regex::new(r"\]\(([^)]+)\)").unwrap().captures_iter(&readme) {
        let target = &link[1];
        if let Some(heading) = target.strip_prefix('#') {
            assert!(headings.contains(&heading.to_owned()), "no heading #{heading}: {headings:?}");
        } else if !target.starts_with("http") {
            let path: PathBuf = repository().join(target);
            assert!(path.exists(), "README.md links to {target}");
        }
    }
}

#[test]
fn three_dots_stand_for_any_lines() {
    for (found, expected, same) in [
        ("a\nb", "a\nb", true),
        ("a\nb", "a", false),
        ("a\nb\nc", "a\n...", true),
        ("a\nb\nc", "a\n...\nc", true),
        ("a\nb\nc", "...\nc", true),
        ("a\nb\nc", "b\n...", false),
        ("a\nb\nc", "a\n...\nd", false),
    ] {
        assert_eq!(fits(found, expected), same, "{found:?} {expected:?}");
    }
}
