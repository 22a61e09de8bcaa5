//! `cld setup` under bad luck: killed, out of space, not allowed to, or not alone.
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::setup::{read, settings};
use crate::world::{World, poll_until, run, wait_for};

const SETTINGS: &str = "{\n  \"model\": \"opus\"\n}\n";
const KILLED: i32 = 9;

/// `cld` under strace, which does something to one of its system calls. Nothing without strace.
fn traced(world: &World, inject: Option<&str>, arguments: &[&str]) -> Command {
    let own = world.cld(&[]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(world.path("trace"));
    command.args(inject.map(|inject| format!("--inject={inject}")));
    command.arg(own.get_program()).args(arguments).env_clear();
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn has_strace() -> bool {
    let world = World::bare();
    let found = traced(&world, None, &["--version"]).stdout(Stdio::null()).status();
    let works = found.is_ok_and(|status| status.success());
    if !works {
        eprintln!("skipped: strace is not installed or not allowed to trace");
    }
    works
}

/// How often each system call is made from the first look at a file on: name, and numbers of the
/// first and the last such call.
fn calls_of_a_run(trace: &str, file: &str) -> BTreeMap<String, (usize, usize)> {
    let mut calls = BTreeMap::new();
    let mut begun = false;
    for line in trace.lines() {
        let call = line.split_once(' ').map_or("", |(_, call)| call.trim_start());
        let Some((name, _)) = call.split_once('(') else { continue };
        begun |= line.contains(file);
        let (first, last) = calls.entry(name.to_owned()).or_insert((1, 0));
        *last += 1;
        *first = if begun { *first } else { *last + 1 };
    }
    calls.retain(|name, (first, last)| first <= last && name != "exit_group");
    calls
}

/// Kills `cld setup` at every system call in turn, and asserts that the file is whole each time.
#[track_caller]
fn killed_anywhere(world: &World, file: &Path, before: Option<&str>, arguments: &[&str]) {
    let prepare = || {
        let _ = fs::remove_file(file);
        let dir = file.parent().unwrap();
        for name in fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if name.to_str().unwrap().contains("cld-") {
                fs::remove_file(name).unwrap();
            }
        }
        if let Some(text) = before {
            fs::create_dir_all(dir).unwrap();
            fs::write(file, text).unwrap();
        } else if dir != world.home() {
            let _ = fs::remove_dir(dir);
        }
    };
    let content = || fs::read_to_string(file).ok();
    let ran = |inject: Option<&str>| -> Output { run(traced(world, inject, arguments), b"") };

    prepare();
    assert!(ran(None).status.success());
    let after = content();
    assert_ne!(before, after.as_deref(), "the run is about something");

    let (mut old, mut new) = (0, 0);
    let name = file.file_name().unwrap().to_str().unwrap();
    for (name, (first, last)) in calls_of_a_run(&read(&world.path("trace")), name) {
        for number in first..=last {
            prepare();
            let status = ran(Some(&format!("{name}:signal=KILL:when={number}"))).status;
            assert_eq!(status.signal(), Some(KILLED), "{name} {number}");
            let found = content();
            match &found {
                found if found.as_deref() == before => old += 1,
                found if *found == after => new += 1,
                other => panic!("killed at {name} {number}, the file is neither: {other:?}"),
            }
        }
    }
    assert!(old > 10 && new > 3, "killed before {old} times and after {new} times");
}

#[test]
fn killed_while_it_writes_the_file_is_the_old_or_the_new_one() {
    if has_strace() {
        let world = World::bare();
        let file = settings(&world);
        killed_anywhere(&world, &file, Some(SETTINGS), &["setup", "-y", "--no-tmux"]);
    }
}

#[test]
fn killed_while_it_creates_the_file_there_is_none_or_the_whole_one() {
    if has_strace() {
        let world = World::bare();
        killed_anywhere(&world, &settings(&world), None, &["setup", "-y", "--no-tmux"]);
    }
}

#[test]
fn killed_while_it_uninstalls_the_file_has_all_hooks_or_none() {
    if !has_strace() {
        return;
    }
    for before in [Some(SETTINGS), None] {
        let world = World::bare();
        let file = settings(&world);
        if let Some(text) = before {
            fs::create_dir(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
        }
        assert!(run(world.cld(&["setup", "-y", "--no-tmux"]), b"").status.success());
        let installed = read(&file);
        let uninstall = ["setup", "-y", "--no-tmux", "--uninstall"];
        killed_anywhere(&world, &file, Some(&installed), &uninstall);
        if let Some(text) = before {
            assert!(run(world.cld(&uninstall), b"").status.success());
            assert_eq!(read(&file), text);
        }
    }
}

#[test]
fn killed_anywhere_the_configuration_of_tmux_is_whole_too() {
    if !has_strace() {
        return;
    }
    for before in [Some("set -g mouse on\n"), None] {
        let world = World::bare();
        assert!(run(world.cld(&["setup", "-y"]), b"").status.success());
        killed_anywhere(&world, &tmux_conf(&world), before, &["setup", "-y"]);
    }
    let world = World::bare();
    let before = "a\n# >>> cld >>>\nsource-file -q x\n# <<< cld <<<\n";
    let arguments = ["setup", "-y", "--uninstall"];
    killed_anywhere(&world, &tmux_conf(&world), Some(before), &arguments);
}

fn tmux_conf(world: &World) -> PathBuf {
    world.home().join(".tmux.conf")
}

#[test]
fn errors_of_the_disk_leave_the_file_and_nothing_beside_it() {
    if !has_strace() {
        return;
    }
    let world = World::bare();
    fs::create_dir(world.home().join(".claude")).unwrap();
    fs::write(settings(&world), SETTINGS).unwrap();
    for (inject, problem) in [
        ("fsync:error=ENOSPC:when=1", "No space left"),
        ("fsync:error=EIO:when=2", "Input/output error"),
        ("fchmod:error=EPERM", "not permitted"),
        ("renameat2:error=EROFS", "Read-only file system"),
    ] {
        let output = run(traced(&world, Some(inject), &["setup", "-y", "--no-tmux"]), b"");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{inject}: {error}");
        assert!(error.contains(problem) && error.contains("it is as it was"), "{inject}: {error}");
        assert_eq!(read(&settings(&world)), SETTINGS, "{inject}");
        assert_eq!(n_files(&world.home().join(".claude")), 1, "{inject}");
    }
}

#[test]
fn a_file_system_that_cannot_exchange_files_gets_a_plain_rename() {
    if !has_strace() {
        return;
    }
    for before in [Some(SETTINGS), None] {
        let world = World::bare();
        if let Some(text) = before {
            fs::create_dir(world.home().join(".claude")).unwrap();
            fs::write(settings(&world), text).unwrap();
        }
        let output =
            run(traced(&world, Some("renameat2:error=EINVAL"), &["setup", "-y", "--no-tmux"]), b"");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(read(&settings(&world)).contains("SessionStart"));
    }
}

/// Another program writes a file at the very moment at which `cld setup` replaces it.
#[track_caller]
fn written_in_the_last_moment(world: &World, file: &Path, theirs: &str) -> String {
    // The call that replaces the file is held up until the other program has written.
    let inject = "renameat2:delay_enter=2s:when=1";
    let mut command = traced(world, Some(inject), &["setup", "-y"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let trace = world.path("trace");
    poll_until("the file is about to be replaced", || {
        fs::read_to_string(&trace).is_ok_and(|trace| trace.contains("renameat2("))
    });
    let beside = world.path("theirs");
    fs::write(&beside, theirs).unwrap();
    fs::rename(&beside, file).unwrap();
    assert!(wait_for(&mut child).success());
    let renames = read(&trace).matches("renameat2(").count();
    assert!(renames > 1, "the change came in time to matter");
    read(file)
}

#[test]
fn a_change_in_the_last_moment_is_not_lost() {
    if !has_strace() {
        return;
    }
    for before in [Some(SETTINGS), None] {
        let world = World::bare();
        assert!(run(world.cld(&["setup", "-y"]), b"").status.success());
        match before {
            Some(text) => fs::write(settings(&world), text).unwrap(),
            None => fs::remove_file(settings(&world)).unwrap(),
        }
        let theirs = "{\n  \"model\": \"sonnet\"\n}\n";
        let text = written_in_the_last_moment(&world, &settings(&world), theirs);
        assert!(text.contains("sonnet") && text.contains("SessionStart"), "{text}");
    }
    for before in [Some("set -g mouse on\n"), None] {
        let world = World::bare();
        assert!(run(world.cld(&["setup", "-y"]), b"").status.success());
        match before {
            Some(text) => fs::write(tmux_conf(&world), text).unwrap(),
            None => fs::remove_file(tmux_conf(&world)).unwrap(),
        }
        let text = written_in_the_last_moment(&world, &tmux_conf(&world), "set -g mouse off\n");
        assert!(text.starts_with("set -g mouse off\n# >>> cld >>>\nsource-file "), "{text}");
    }
}

#[test]
fn a_directory_that_may_not_be_written_is_an_error() {
    let world = World::bare();
    let dir = world.home().join(".claude");
    fs::create_dir(&dir).unwrap();
    fs::write(settings(&world), SETTINGS).unwrap();
    let command = if rustix::process::geteuid().is_root() {
        // Modes do not stop root, a read-only mount does.
        let own = world.cld(&["setup", "-y", "--no-tmux"]);
        let mut command = Command::new("unshare");
        let mount =
            r#"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" || exit 77; exec "$@""#;
        command.args(["-m", "sh", "-c", mount]).arg(&dir).arg(own.get_program());
        command.args(own.get_args()).env_clear();
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    } else {
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
        world.cld(&["setup", "-y", "--no-tmux"])
    };
    let output = run(command, b"");
    if output.status.code() == Some(77) {
        return eprintln!("skipped: mounting is not allowed here");
    }
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cannot write") && error.contains("it is as it was"), "{error}");
    assert_eq!((read(&settings(&world)).as_str(), n_files(&dir)), (SETTINGS, 1));
}

fn n_files(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}
