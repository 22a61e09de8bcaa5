//! `cld resume` on a terminal: the questions, and what every answer to them does.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::events::start;
use crate::stage::{Stage, git, id, plant, prompt, reply, worktree_state};
use crate::world::{World, keeps_sizes, poll_until};

/// A pane in which a command of cld runs, usually `cld resume`.
struct Asked<'a> {
    world: &'a World,
    pane: String,
}

impl<'a> Asked<'a> {
    fn new(world: &'a World, from: &Path, arguments: &[&str]) -> Self {
        Self::command(world, from, &[&["resume"], arguments].concat())
    }

    fn command(world: &'a World, from: &Path, arguments: &[&str]) -> Self {
        let cld = world.cld(&[]);
        let quoted = |text: &str| cld::shell::quoted(text.as_ref());
        let mut script = format!("cd -- {}\n", cld::shell::quoted(from.as_os_str()));
        for (name, value) in cld.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            let name = name.to_str().unwrap();
            if !name.starts_with("TMUX") || name == "TMUX_TMPDIR" {
                script.push_str(&format!("export {name}={}\n", cld::shell::quoted(value)));
            }
        }
        script.push_str(&quoted(env!("CARGO_BIN_EXE_cld")));
        for argument in arguments {
            script.push_str(&format!(" {}", quoted(argument)));
        }
        script.push_str("\necho \"exit=$?\"\nexec sleep 1000\n");
        let file = world.path("script");
        fs::write(&file, script).unwrap();
        let command = format!("exec sh {}", quoted(file.to_str().unwrap()));
        let pane = world.tmux(&["new-window", "-d", "-P", "-F", "#{pane_id}", &command]);
        Self { world, pane }
    }

    fn screen(&self) -> String {
        self.world.tmux(&["capture-pane", "-p", "-J", "-t", &self.pane])
    }

    #[track_caller]
    fn sees(&self, text: &str) -> String {
        poll_until(&format!("{text:?} is on the screen"), || self.screen().contains(text));
        self.screen()
    }

    fn types(&self, keys: &[&str]) {
        self.world.tmux(&[&["send-keys", "-t", &self.pane], keys].concat());
    }
}

fn world() -> World {
    World::new().staged()
}

fn session(world: &World, number: u32, name: &str) -> PathBuf {
    let dir = world.dir(name);
    let lines = [prompt(&dir, &format!("prompt {number}")), reply(&dir, "done")];
    plant(&world.home().join(".claude"), &dir, &id(number), &lines);
    dir
}

/// A transcript that says nothing about its directory.
fn silent() -> Value {
    json!({"type": "user", "message": {"role": "user", "content": "no directory"}})
}

fn question(dir: &Path) -> String {
    format!("Resume session 00000001 from {}? [Yn]", dir.display())
}

#[test]
fn yes_in_every_form_goes_there() {
    for keys in [
        &["Enter"][..],
        &["y", "Enter"],
        &["Y", "Enter"],
        &["yes", "Enter"],
        &["x", "Enter", "y", "Enter"],
    ] {
        let world = world();
        let dir = session(&world, 1, "proj");
        let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
        asked.sees(&question(&dir));
        asked.types(keys);
        let started = world.wait_for_start();
        started.check(&dir, &["--resume", &id(1)]);
        assert_eq!(started.variable("PWD").as_deref(), Some(dir.as_os_str()));
        asked.sees("exit=0");
    }
}

#[test]
fn no_and_the_keys_that_mean_it_start_nothing() {
    for keys in [&["n", "Enter"][..], &["No", "Enter"], &["C-c"], &["C-d"], &["y", "C-c"]] {
        let world = world();
        let dir = session(&world, 1, "proj");
        let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
        asked.sees(&question(&dir));
        asked.types(keys);
        asked.sees("exit=130");
        assert!(world.started().is_none());
    }
}

#[test]
fn the_terminal_is_left_as_it_was() {
    let world = world();
    let dir = session(&world, 1, "proj");
    let tty = |asked: &Asked<'_>| {
        let tty = world.tmux(&["display-message", "-p", "-t", &asked.pane, "#{pane_tty}"]);
        let stty = std::process::Command::new("stty").args(["-F", &tty, "-a"]).output().unwrap();
        String::from_utf8(stty.stdout).unwrap()
    };
    let untouched = Asked::new(&world, &dir, &["--help"]);
    untouched.sees("exit=0");
    let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
    asked.sees(&question(&dir));
    assert_ne!(tty(&asked), tty(&untouched));
    asked.types(&["C-c"]);
    asked.sees("exit=130");
    assert_eq!(tty(&asked), tty(&untouched));
}

#[test]
fn in_the_right_directory_and_with_an_answer_given_nothing_is_asked() {
    let world = world();
    let dir = session(&world, 1, "proj");
    let asked = Asked::new(&world, &dir, &["00000001"]);
    assert!(!asked.sees("exit=0").contains("[Yn]"));
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
    fs::remove_dir_all(world.home().join("started")).unwrap();
    let asked = Asked::new(&world, Path::new("/"), &["-y", "00000001"]);
    assert!(!asked.sees("exit=0").contains("[Yn]"));
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn a_question_about_a_printed_command_is_not_part_of_it() {
    let world = world();
    let dir = session(&world, 1, "proj");
    // The shell reads standard output, the person sees standard error.
    let asked = Asked::new(&world, Path::new("/"), &["--print", "00000001"]);
    asked.sees(&question(&dir));
    asked.types(&["Enter"]);
    asked.sees(&format!("cd -- {} && claude --resume {}", dir.display(), id(1)));
    asked.sees("exit=0");
    assert!(world.started().is_none());
}

#[test]
fn a_directory_that_is_swapped_before_the_answer_is_refused() {
    type Swap = fn(&Path, &Path);
    let swaps: [Swap; 3] = [
        |dir, aside| {
            fs::rename(dir, aside).unwrap();
            fs::create_dir(dir).unwrap();
        },
        |dir, aside| {
            fs::rename(dir, aside).unwrap();
            std::os::unix::fs::symlink("/", dir).unwrap();
        },
        |dir, aside| fs::rename(dir, aside).unwrap(),
    ];
    for swap in swaps {
        let world = world();
        let dir = session(&world, 1, "proj");
        let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
        asked.sees(&question(&dir));
        swap(&dir, &world.home().join("aside"));
        asked.types(&["Enter"]);
        let screen = asked.sees("exit=1");
        assert!(
            screen.contains("another directory now") || screen.contains("is gone by now"),
            "{screen}"
        );
        assert!(world.started().is_none());
    }
}

#[test]
fn a_directory_with_a_strange_name_is_shown_harmless() {
    let world = world();
    let dir = session(&world, 1, "a\nb\u{1b}[31m");
    let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
    let screen = asked.sees("[Yn]");
    assert!(screen.contains("a\\nb\\u{1b}[31m? [Yn]"), "{screen}");
    asked.types(&["Enter"]);
    world.wait_for_start().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn a_pane_that_names_another_directory_is_reported() {
    let world = world();
    let dir = session(&world, 1, "proj");
    let elsewhere = world.dir("elsewhere");
    let mut payload = start("resume");
    payload["session_id"] = json!(id(1));
    payload["cwd"] = json!(elsewhere.to_str().unwrap());
    world.hook(&payload);
    payload["hook_event_name"] = json!("SessionEnd");
    world.hook(&payload);
    let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
    let screen = asked.sees(&question(&dir));
    assert!(screen.contains(elsewhere.to_str().unwrap()), "{screen}");
    asked.types(&["n", "Enter"]);
    asked.sees("exit=130");

    let output = world.resume(Path::new("/"), &["-y", "00000001"]);
    let (_, err) = crate::stage::check_exit(&output, 0);
    assert!(err.contains("warning") && err.contains(elsewhere.to_str().unwrap()), "{err}");
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn one_of_several_directories_is_chosen_by_its_number() {
    if !keeps_sizes() {
        return; // The rows would not fit into their lines.
    }
    let world = world();
    let dirs = ["my_proj", "my-proj"].map(|name| world.dir(name));
    plant(&world.home().join(".claude"), &dirs[0], &id(1), &[silent()]);
    let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
    let screen = asked.sees("Which one? [1-2]");
    let row = |number: usize| {
        let start = format!("  {number}) ");
        PathBuf::from(screen.lines().find_map(|line| line.strip_prefix(&start)).unwrap())
    };
    assert_eq!([row(1), row(2)].iter().filter(|row| dirs.contains(row)).count(), 2);
    asked.types(&["7", "Enter", "2", "Enter"]);
    world.wait_for_start().check(&row(2), &["--resume", &id(1)]);
}

#[test]
fn a_removed_worktree_is_made_again_when_it_is_chosen() {
    let world = world();
    let worktree = world.dir("repo").join(".claude/worktrees/topic");
    let repo = git(&world, &["worktree", "add", "-q", "-b", "topic", worktree.to_str().unwrap()]);
    let lines = [prompt(&worktree, "in it"), worktree_state(&repo, &worktree, "topic")];
    plant(&world.home().join(".claude"), &worktree, &id(1), &lines);
    fs::remove_dir_all(&worktree).unwrap();
    let asked = Asked::new(&world, Path::new("/"), &["00000001"]);
    let screen = asked.sees("Where to resume? [1-");
    assert!(screen.contains("is gone"), "{screen}");
    let command =
        format!("1) make the worktree again: git -C {} worktree add --force", repo.display());
    assert!(screen.contains(&command), "{screen}");
    assert!(!worktree.exists());
    asked.types(&["1", "Enter"]);
    world.wait_for_start().check(&worktree, &["--resume", &id(1)]);
}

#[test]
fn instead_of_a_directory_that_is_gone_another_one_can_be_chosen() {
    let world = world();
    let gone = session(&world, 1, "work/gone");
    fs::remove_dir(&gone).unwrap();
    let here = world.dir("here");
    for (keys, expected) in [("1", Some(gone.parent().unwrap())), ("2", Some(&*here)), ("q", None)]
    {
        let asked = Asked::new(&world, &here, &["00000001"]);
        asked.sees("Where to resume? [1-2]");
        asked.types(&[keys, "Enter"]);
        let Some(dir) = expected else {
            asked.sees("exit=130");
            assert!(world.started().is_none());
            continue;
        };
        let started = world.wait_for_start();
        assert_eq!(started.cwd, dir);
        assert!(started.arguments[1].to_str().unwrap().ends_with(".jsonl"));
        asked.sees("exit=0");
        fs::remove_dir_all(world.home().join("started")).unwrap();
    }
}

#[test]
fn a_session_without_any_directory_is_resumed_here_after_a_question() {
    let world = world();
    plant(&world.home().join(".claude"), Path::new("/nowhere/at/all"), &id(1), &[silent()]);
    let here = world.dir("here");
    let asked = Asked::new(&world, &here, &["00000001"]);
    let screen = asked.sees(&question(&here));
    assert!(screen.contains("nothing tells which directory"), "{screen}");
    asked.types(&["Enter"]);
    assert_eq!(world.wait_for_start().cwd, here);
}

#[test]
fn one_of_several_sessions_is_chosen_by_its_number() {
    let world = world();
    session(&world, 0x23e3_0001, "one");
    let two = session(&world, 0x23e3_0002, "two");
    let asked = Asked::new(&world, &two, &["23e3"]);
    let screen = asked.sees("Which one? [1-2]");
    let is_two = |line: &&str| line.contains("23e30002");
    let number = screen.lines().find(is_two).unwrap().trim().split(')').next().unwrap();
    asked.types(&[number, "Enter"]);
    world.wait_for_start().check(&two, &["--resume", &id(0x23e3_0002)]);
}

#[test]
fn whoever_names_several_sessions_chooses_one_in_every_command() {
    let world = world();
    for number in [0x23e3_0001, 0x23e3_0002] {
        session(&world, number, "proj");
    }
    for (command, outcome) in [("show", "exit=0"), ("jump", "is not open"), ("send", "is not open")]
    {
        let text: &[&str] = if command == "send" { &["hello"] } else { &[] };
        let arguments = [&[command, "23e3"], text].concat();
        let asked = Asked::command(&world, Path::new("/"), &arguments);
        let screen = asked.sees("Which one? [1-2]");
        assert!(screen.contains("~/proj  prompt"), "{screen}");
        asked.types(&["1", "Enter"]);
        asked.sees(outcome);
        let asked = Asked::command(&world, Path::new("/"), &arguments);
        asked.sees("Which one? [1-2]");
        asked.types(&["C-c"]);
        asked.sees("exit=130");
    }
}

#[test]
fn without_an_id_a_session_is_picked_by_typing_parts_of_it() {
    let world = world();
    let dirs = ["alpha", "beta", "gamma"].map(|name| world.dir(&format!("work/{name}")));
    for (number, dir) in (1..).zip(&dirs) {
        let title = format!("title of \u{1b}[31m{}", dir.file_name().unwrap().to_str().unwrap());
        plant(&world.home().join(".claude"), dir, &id(number), &[prompt(dir, &title)]);
    }
    let asked = Asked::new(&world, &dirs[1], &[]);
    let screen = asked.sees("title of [31malpha");
    for part in ["~/work/gamma", "(main)", "0000000"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    asked.types(&["beta"]);
    poll_until("the others are gone", || !asked.screen().contains("alpha"));
    asked.types(&["Enter"]);
    world.wait_for_start().check(&dirs[1], &["--resume", &id(2)]);
}

#[test]
fn leaving_the_picker_starts_nothing() {
    for key in ["Escape", "C-c"] {
        let world = world();
        session(&world, 1, "proj");
        let asked = Asked::new(&world, Path::new("/"), &[]);
        asked.sees("00000001-0000");
        asked.types(&[key]);
        asked.sees("exit=130");
        assert!(world.started().is_none());
        let cursor = ["display-message", "-p", "-t", &asked.pane, "#{cursor_flag}"];
        assert_eq!(world.tmux(&cursor), "1", "the cursor is hidden after {key}");
    }
}
