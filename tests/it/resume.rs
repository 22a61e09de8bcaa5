//! `cld resume` without a terminal: what is started, where and with what, and every exit code.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::stage::{Stage, check_exit, git, id, plant, plant_in, prompt, reply, worktree_state};
use crate::world::World;

fn world() -> World {
    World::bare().staged()
}

/// A session in `~/NAME`, and the directory.
fn session(world: &World, number: u32, name: &str) -> std::path::PathBuf {
    let dir = world.dir(name);
    let lines = [prompt(&dir, &format!("prompt {number}")), reply(&dir, "done")];
    plant(&world.home().join(".claude"), &dir, &id(number), &lines);
    dir
}

/// Runs a command in a shell with the same environment as cld.
fn in_shell(world: &World, from: &Path, command: &str) -> Output {
    let cld = world.cld(&[]);
    let environment = cld.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(from).env_clear().envs(environment);
    shell.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn yes_goes_to_the_directory_of_the_session() {
    let world = world();
    let dir = session(&world, 1, "proj");
    check_exit(&world.resume(Path::new("/"), &["-y", "00000001"]), 0);
    let started = world.started().unwrap();
    started.check(&dir, &["--resume", &id(1)]);
    assert_eq!(started.variable("PWD").as_deref(), Some(dir.as_os_str()));
    assert_eq!(started.variable("CLAUDE_CONFIG_DIR"), None);
}

#[test]
fn no_stays_and_names_the_transcript() {
    let world = world();
    session(&world, 1, "proj");
    let here = world.dir("elsewhere");
    check_exit(&world.resume(&here, &["-n", "00000001"]), 0);
    let bucket = cld::slug::encode(&world.dir("proj")).unwrap();
    let transcript = world.home().join(format!(".claude/projects/{bucket}/{}.jsonl", id(1)));
    world.started().unwrap().check(&here, &["--resume", transcript.to_str().unwrap()]);
}

#[test]
fn in_the_right_directory_nothing_is_asked() {
    let world = world();
    let dir = session(&world, 1, "proj");
    check_exit(&world.resume(&dir, &[&id(1)]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn arguments_after_the_dashes_are_claudes() {
    let world = world();
    let dir = session(&world, 1, "proj");
    check_exit(&world.resume(&dir, &["--fork", &id(1), "--", "--model", "a b", "-y"]), 0);
    let arguments = ["--resume", &id(1), "--fork-session", "--model", "a b", "-y"];
    world.started().unwrap().check(&dir, &arguments);
}

#[test]
fn a_session_that_is_resumed_from_within_another_is_none_of_that_one() {
    let inherited = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
        ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
        ("CLAUDE_CODE_SESSION_ID", "another"),
        ("CLAUDE_PID", "1"),
        ("CLAUDE_CODE_SSE_PORT", "1"),
    ];
    let inside = || inherited.iter().fold(world(), |world, (name, value)| world.with(name, value));
    let check = |world: &World| {
        let started = world.started().unwrap();
        for (name, _) in inherited {
            assert_eq!(started.variable(name), None, "{name}");
        }
    };
    let world = inside();
    let dir = session(&world, 1, "proj");
    check_exit(&world.resume(&dir, &["-y", &id(1)]), 0);
    check(&world);
    let world = inside();
    let dir = session(&world, 1, "proj");
    let (line, _) = check_exit(&world.resume(&dir, &["-y", "--print", &id(1)]), 0);
    check_exit(&in_shell(&world, &dir, &line), 0);
    check(&world);
}

#[test]
fn what_an_editor_sets_for_the_sessions_in_its_terminal_is_kept() {
    let world = world().with("CLAUDE_CODE_SSE_PORT", "4711");
    let dir = session(&world, 1, "proj");
    check_exit(&world.resume(&dir, &["-y", &id(1)]), 0);
    let port = world.started().unwrap().variable("CLAUDE_CODE_SSE_PORT");
    assert_eq!(port.as_deref(), Some("4711".as_ref()));
}

#[test]
fn without_a_terminal_an_answer_is_needed_and_the_commands_that_are_named_work() {
    let world = world();
    let dir = session(&world, 1, "it's a proj");
    let here = world.dir("here");
    let (out, err) = check_exit(&world.resume(&here, &["0000", "--print"]), 2);
    assert_eq!(out, "");
    assert!(err.contains(&*dir.to_string_lossy()), "{err}");
    assert!(world.started().is_none());

    let commands: Vec<&str> = err
        .lines()
        .filter_map(|line| line.split_once(": ")?.1.split("  (").next())
        .skip(1)
        .collect();
    let [yes, no] = commands.as_slice() else { panic!("{err}") };
    let run = |command: &str| {
        let command = command.replace("cld ", &format!("{} ", env!("CARGO_BIN_EXE_cld")));
        check_exit(&in_shell(&world, &here, &command), 0).0
    };
    assert!(run(yes).starts_with("cd -- "));
    assert!(run(no).starts_with("claude --resume /"));
}

#[test]
fn a_session_is_found_by_prefix_title_and_file() {
    let cases = ["00000001", "00000001-0000", "000000010000", "PROMPT 1", "prompt 1", "FILE"];
    for asked in cases {
        let world = world();
        let dir = session(&world, 1, "proj");
        session(&world, 0xffff_0002, "other");
        let bucket = cld::slug::encode(&dir).unwrap();
        let file = world.home().join(format!(".claude/projects/{bucket}/{}.jsonl", id(1)));
        let asked = if asked == "FILE" { file.to_str().unwrap() } else { asked };
        check_exit(&world.resume(Path::new("/"), &["-y", asked]), 0);
        world.started().unwrap().check(&dir, &["--resume", &id(1)]);
    }
    let world = world();
    let dir = session(&world, 0xabcd_ef01, "proj");
    check_exit(&world.resume(Path::new("/"), &["-y", "ABCDEF01"]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(0xabcd_ef01)]);
}

#[test]
fn directories_that_share_a_folder_are_told_apart() {
    for (number, name) in (1..).zip(["foo_bar", "foo-bar", "foo.bar", "foo/bar", "foo bar"]) {
        let world = world();
        for (number, name) in (1..).zip(["foo_bar", "foo-bar", "foo.bar", "foo/bar", "foo bar"]) {
            session(&world, number, name);
        }
        check_exit(&world.resume(Path::new("/"), &["-y", &id(number)]), 0);
        world.started().unwrap().check(&world.dir(name), &["--resume", &id(number)]);
    }
}

#[test]
fn a_directory_of_any_name_is_entered_and_printed() {
    let names = [
        "new\nline",
        "ends with newline\n",
        "it's",
        "say \"hi\"",
        "#(touch x)",
        "$(touch x) `touch y`",
        "日本語 café 😀",
        "-rf",
        " blank ",
        "back\\slash",
        "a;b&c|d",
        "esc\u{1b}[31mred",
        "%s%n",
        "*",
        "{a,b}",
        "~",
        "\u{202e}evil",
    ];
    for name in names {
        let world = world();
        let dir = session(&world, 1, name);
        let (printed, _) = check_exit(&world.resume(Path::new("/"), &["-y", "--print", &id(1)]), 0);
        assert!(world.started().is_none());
        check_exit(&in_shell(&world, Path::new("/"), &printed), 0);
        let by_shell = world.started().unwrap();
        by_shell.check(&dir, &["--resume", &id(1)]);

        fs::remove_dir_all(world.home().join("started")).unwrap();
        check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
        let started = world.started().unwrap();
        assert_eq!((&started.arguments, &started.cwd), (&by_shell.arguments, &by_shell.cwd));
        assert_eq!(started.variable("PWD").as_deref(), Some(dir.as_os_str()));
    }
}

#[test]
fn a_session_moved_by_cd_is_resumed_where_it_is_now() {
    let world = world();
    let (before, after) = (world.dir("before"), world.dir("after"));
    let config_dir = world.home().join(".claude");
    plant(
        &config_dir,
        &after,
        &id(1),
        &[
            prompt(&before, "start"),
            json!({"type": "relocated", "relocatedCwd": after.to_str().unwrap(), "sessionId": id(1)}),
            prompt(&after, "go on"),
            prompt(&after.join("below"), "after a cd"),
        ],
    );
    // Moved, and closed before anything was said there.
    plant(
        &config_dir,
        &after,
        &id(2),
        &[
            prompt(&before, "start"),
            json!({"type": "relocated", "relocatedCwd": after.to_str().unwrap(), "sessionId": id(2)}),
        ],
    );
    for number in [1, 2] {
        let (printed, _) =
            check_exit(&world.resume(Path::new("/"), &["-y", "--print", &id(number)]), 0);
        assert_eq!(
            printed,
            format!("cd -- {} && claude --resume {}\n", after.display(), id(number))
        );
    }
}

#[test]
fn a_session_that_was_resumed_elsewhere_goes_home() {
    let world = world();
    let (home, elsewhere) = (world.dir("home dir"), world.dir("elsewhere"));
    let lines =
        [prompt(&home, "start"), prompt(&elsewhere, "from elsewhere"), reply(&elsewhere, "ok")];
    plant(&world.home().join(".claude"), &home, &id(1), &lines);
    check_exit(&world.resume(&elsewhere, &["-y", &id(1)]), 0);
    world.started().unwrap().check(&home, &["--resume", &id(1)]);
}

#[test]
fn the_list_of_projects_tells_where_a_silent_transcript_belongs() {
    let world = world();
    let dir = world.dir("my_proj");
    world.dir("my-proj");
    plant(
        &world.home().join(".claude"),
        &dir,
        &id(1),
        &[json!({
            "type": "user", "message": {"role": "user", "content": "no directory"}
        })],
    );
    let projects = json!({"projects": {(dir.to_str().unwrap()): {}, "/elsewhere": {}}});
    fs::write(world.home().join(".claude.json"), projects.to_string()).unwrap();
    check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn between_several_directories_nothing_is_guessed() {
    let world = world();
    let dirs = ["my_proj", "my-proj", "my.proj"].map(|name| world.dir(name));
    let line = json!({"type": "user", "message": {"role": "user", "content": "no directory"}});
    plant(&world.home().join(".claude"), &dirs[0], &id(1), &[line]);
    let id = id(1);
    for arguments in [vec!["-y", &id], vec![&id]] {
        let (_, err) = check_exit(&world.resume(Path::new("/"), &arguments), 2);
        for dir in &dirs {
            assert!(err.contains(&*dir.to_string_lossy()), "{err}");
        }
    }
    assert!(world.started().is_none());
}

#[test]
fn a_single_directory_on_the_disk_is_found_from_the_folder_alone() {
    let world = world();
    let dir = world.dir("only/$!@#%^&*()--helloworld!+5_4<>x?.foo");
    let line = json!({"type": "user", "message": {"role": "user", "content": "no directory"}});
    plant(&world.home().join(".claude"), &dir, &id(1), &[line]);
    check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn a_folder_with_a_name_of_its_own_belongs_where_the_session_began() {
    let world = world();
    let dir = world.dir("proj");
    let config_dir = world.home().join(".claude");
    let lines = [prompt(&dir, "start"), prompt(&dir.join("below"), "after a cd")];
    let path = plant_in(&config_dir, "shorty", &id(1), &lines);
    check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    world.started().unwrap().check(&dir, &["--resume", path.to_str().unwrap()]);
}

#[test]
fn a_directory_that_became_a_link_is_entered_and_the_transcript_named() {
    let world = world();
    let dir = session(&world, 1, "proj");
    let moved = world.home().join("moved");
    fs::rename(&dir, &moved).unwrap();
    symlink(&moved, &dir).unwrap();
    check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    let started = world.started().unwrap();
    assert_eq!(started.cwd, fs::canonicalize(&moved).unwrap());
    assert!(started.arguments[1].to_str().unwrap().ends_with(".jsonl"));
    assert_eq!(started.variable("PWD").as_deref(), Some(dir.as_os_str()));
}

#[test]
fn a_directory_that_is_gone_is_named_with_what_there_is_instead() {
    let world = world();
    let gone = session(&world, 1, "work/gone");
    let namesake = world.dir("other/gone");
    let checkout = world.dir("checkout");
    fs::remove_dir(&gone).unwrap();
    let path = |dir: &Path| dir.to_str().unwrap().to_owned();
    let lists = json!({
        "projects": {path(&gone): {}, path(&namesake): {}, "/nowhere/gone": {}},
        "githubRepoPaths": {"me/gone": [path(&gone), path(&checkout)]},
    });
    fs::write(world.home().join(".claude.json"), lists.to_string()).unwrap();
    let id = id(1);
    for arguments in [vec!["-y", &id], vec![&id]] {
        let (_, err) = check_exit(&world.resume(&world.dir("here"), &arguments), 1);
        assert!(err.contains(&format!("{}, which is gone", path(&gone))), "{err}");
        let parent = gone.parent().unwrap();
        for dir in [&checkout, &namesake, parent, &world.dir("here")] {
            assert!(err.contains(&format!("cd -- {} && cld resume -n {id}", path(dir))), "{err}");
        }
        assert!(!err.contains("/nowhere"), "{err}");
    }
    assert!(world.started().is_none());
}

#[test]
fn a_removed_worktree_is_offered_with_the_command_that_makes_it_again() {
    let world = world();
    let repo = git(&world, &["branch", "topic"]);
    let worktree = repo.join(".claude/worktrees/topic");
    let lines = [prompt(&worktree, "in it"), worktree_state(&repo, &worktree, "topic")];
    plant(&world.home().join(".claude"), &worktree, &id(1), &lines);
    let (_, err) = check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 1);
    let command = format!("git -C {} worktree add {} topic", repo.display(), worktree.display());
    assert!(err.contains(&format!("{command} && cld resume -y {}", id(1))), "{err}");
    assert!(!worktree.exists() && world.started().is_none());
}

#[test]
fn other_config_directories_are_kept_apart() {
    let world = world();
    let dir = session(&world, 1, "proj");
    let other = world.dir("other-config");
    plant(&other, &dir, &id(2), &[prompt(&dir, "elsewhere")]);
    let world = world.with("CLAUDE_CONFIG_DIR", other.to_str().unwrap());
    check_exit(&world.resume(&dir, &[&id(2)]), 0);
    assert_eq!(
        world.started().unwrap().variable("CLAUDE_CONFIG_DIR").as_deref(),
        Some(other.as_os_str())
    );

    fs::remove_dir_all(world.home().join("started")).unwrap();
    check_exit(&world.resume(&dir, &[&id(1)]), 0);
    assert_eq!(world.started().unwrap().variable("CLAUDE_CONFIG_DIR"), None);
    let (printed, _) = check_exit(&world.resume(&dir, &["--print", &id(1)]), 0);
    assert_eq!(printed, format!("env -u CLAUDE_CONFIG_DIR claude --resume {}\n", id(1)));
    let (printed, _) = check_exit(&world.resume(&dir, &["--print", &id(2)]), 0);
    assert_eq!(
        printed,
        format!("CLAUDE_CONFIG_DIR={} claude --resume {}\n", other.display(), id(2))
    );
}

#[test]
fn a_config_directory_that_only_a_pane_knows_is_searched_too() {
    let world = World::new().staged();
    let (dir, other) = (world.dir("proj"), world.dir("other-config"));
    plant(&other, &dir, &id(1), &[prompt(&dir, "elsewhere")]);
    check_exit(&world.resume(&dir, &[&id(1)]), 1);
    world.tmux(&["set-option", "-p", "-t", &world.pane, "@meta.claude.session_id", &id(2)]);
    let config_dir = ["set-option", "-p", "-t", &world.pane, "@meta.claude.config_dir"];
    world.tmux(&[&config_dir[..], &[other.to_str().unwrap()]].concat());
    check_exit(&world.resume(&dir, &[&id(1)]), 0);
    let started = world.started().unwrap();
    started.check(&dir, &["--resume", &id(1)]);
    assert_eq!(started.variable("CLAUDE_CONFIG_DIR").as_deref(), Some(other.as_os_str()));
}

#[test]
fn one_id_in_two_folders_is_resumed_by_its_file() {
    let world = world();
    let config_dir = world.home().join(".claude");
    let (original, copy) = (world.dir("original"), world.dir("copy"));
    let lines = [prompt(&original, "start"), reply(&original, "ok"), prompt(&original, "more")];
    plant(&config_dir, &copy, &id(1), &lines[..2]);
    let path = plant(&config_dir, &original, &id(1), &lines);
    let (_, err) = check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 0);
    assert!(err.contains("several transcripts"), "{err}");
    world.started().unwrap().check(&original, &["--resume", path.to_str().unwrap()]);
}

#[test]
fn copies_that_both_went_on_have_to_be_named() {
    let world = world();
    let config_dir = world.home().join(".claude");
    let (original, copy) = (world.dir("original"), world.dir("copy"));
    let start = prompt(&original, "start");
    let one = plant(&config_dir, &original, &id(1), &[start.clone(), reply(&original, "one way")]);
    let two = plant(&config_dir, &copy, &id(1), &[start, reply(&copy, "another way")]);
    let (_, err) = check_exit(&world.resume(Path::new("/"), &["-y", &id(1)]), 2);
    for path in [&one, &two] {
        assert!(err.contains(&format!("cld resume {}", path.display())), "{err}");
    }
    check_exit(&world.resume(Path::new("/"), &["-y", two.to_str().unwrap()]), 0);
    world.started().unwrap().check(&copy, &["--resume", two.to_str().unwrap()]);
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let world = world();
    let config_dir = world.home().join(".claude");
    let dir = world.dir("proj");
    plant(&config_dir, &dir, &id(1), &[json!({"type": "file-history-snapshot", "messageId": "m"})]);
    let mut side = prompt(&dir, "of a subagent");
    side["isSidechain"] = json!(true);
    plant(&config_dir, &dir, &id(2), &[side]);
    for flag in ["-y", "-n"] {
        let (_, err) = check_exit(&world.resume(&dir, &[flag, &id(1)]), 1);
        assert!(err.contains("nobody said anything in session 00000001"), "{err}");
        let (_, err) = check_exit(&world.resume(&dir, &[flag, &id(2)]), 1);
        assert!(err.contains("subagent"), "{err}");
    }
}

#[test]
fn names_of_nothing_have_their_exit_codes() {
    let world = world();
    session(&world, 0x23e3_0f82, "one");
    session(&world, 0x23e3_ffff, "two");
    let (_, err) = check_exit(&world.resume(Path::new("/"), &["-y", "23e30f83"]), 1);
    assert!(err.contains(&id(0x23e3_0f82)), "{err}");
    let (_, err) = check_exit(&world.resume(Path::new("/"), &["-y", "23e3"]), 2);
    for part in [&*id(0x23e3_0f82), &id(0x23e3_ffff), "~/one", "~/two", "prompt "] {
        assert!(err.contains(part), "{err}");
    }
    for bad in ["#(touch x)", "a\u{1b}[31m", "../../x", "23e3;", "\n", ""] {
        check_exit(&world.resume(Path::new("/"), &["-y", bad]), 2);
    }
    check_exit(&world.resume(Path::new("/"), &["-y", "-n", "23e30f82"]), 2);
    check_exit(&world.resume(Path::new("/"), &["--fork", "--force", "23e30f82"]), 2);
    check_exit(&world.resume(Path::new("/"), &[]), 2);
    assert!(world.started().is_none());
}

#[test]
fn a_home_without_claude_code_has_no_sessions() {
    let world = world();
    check_exit(&world.resume(Path::new("/"), &["-y", "23e30f82"]), 1);
    check_exit(&world.resume(Path::new("/"), &["-y", "some title"]), 1);
}

#[test]
fn a_missing_claude_is_looked_for_and_the_places_are_named() {
    let world = world();
    let dir = session(&world, 1, "proj");
    let empty = world.dir("empty bin");
    let world = world.with("PATH", empty.to_str().unwrap());
    let (_, err) = check_exit(&world.resume(&dir, &[&id(1)]), 1);
    assert!(err.contains(empty.to_str().unwrap()) && err.contains(".local/bin"), "{err}");
    // What only prints needs none.
    check_exit(&world.resume(&dir, &["--print", &id(1)]), 0);
}

#[test]
fn claude_is_found_where_its_installer_puts_it() {
    let world = world();
    let dir = session(&world, 1, "proj");
    let bin = world.dir(".local/bin");
    fs::rename(world.path("bin/claude"), bin.join("claude")).unwrap();
    check_exit(&world.resume(&dir, &[&id(1)]), 0);
    world.started().unwrap().check(&dir, &["--resume", &id(1)]);
}

#[test]
fn nothing_in_a_transcript_acts_on_the_terminal() {
    let world = world();
    let config_dir = world.home().join(".claude");
    let dir = world.dir("esc\u{1b}]0;owned\u{7}\u{9b}31m");
    let title = "\u{1b}[2J\u{1b}]52;c;eA==\u{7}title\r\u{202e}x";
    for number in [0x23e3_0001, 0x23e3_0002] {
        plant(
            &config_dir,
            &dir,
            &id(number),
            &[
                prompt(&dir, title),
                json!({"type": "custom-title", "customTitle": title, "sessionId": id(number)}),
            ],
        );
    }
    // Every one of these checks what was printed.
    let (_, err) = check_exit(&world.resume(Path::new("/"), &["-y", "23e3"]), 2);
    assert!(err.contains("title"), "{err}");
    check_exit(&world.resume(Path::new("/"), &["-y", "23e3ffff"]), 1);
    check_exit(&world.resume(Path::new("/"), &["-y", "--print", &id(0x23e3_0001)]), 0);
    check_exit(&world.resume(Path::new("/"), &[&id(0x23e3_0001)]), 2);
    fs::remove_dir(&dir).unwrap();
    check_exit(&world.resume(Path::new("/"), &["-y", &id(0x23e3_0001)]), 1);
}
