//! install.sh, into an empty prefix, with the program that was just built.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::generated::{has, repository, write_program};
use crate::world::World;

/// Runs install.sh without a terminal, as a user with an empty home.
fn install(world: &World, arguments: &[&str]) -> Output {
    install_by(&["sh"], world, arguments)
}

/// The same by a shell of choice.
fn install_by(shell: &[&str], world: &World, arguments: &[&str]) -> Output {
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).arg(repository().join("install.sh"));
    command.args(arguments).env_clear();
    command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", world.home());
    command.env("CLD_TMUX", crate::world::tmux_program()).env("TMUX_TMPDIR", world.path(""));
    command.stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn said(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        files.extend(if path.is_dir() { files_below(&path) } else { vec![path] });
    }
    files.sort();
    files
}

#[test]
fn everything_lands_in_the_prefix_works_there_and_goes_again() {
    let world = World::bare();
    let prefix = world.path("a prefix");
    let at = prefix.to_str().unwrap();
    let binary = env!("CARGO_BIN_EXE_cld");
    let text = said(&install(&world, &["--prefix", at, "--binary", binary]), 0);
    assert!(text.contains("add ") && text.contains("next: "), "{text}");

    let installed = prefix.join("bin/cld");
    assert_eq!(fs::metadata(&installed).unwrap().permissions().mode() & 0o777, 0o755);
    let version = Command::new(&installed).arg("--version").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&version.stdout),
        format!("cld {}\n", env!("CARGO_PKG_VERSION"))
    );
    for file in [
        "share/man/man1/cld.1",
        "share/man/man1/cld-resume.1",
        "share/man/man5/cld-config.5",
        "share/man/man7/cld-hub.7",
        "share/bash-completion/completions/cld",
        "share/zsh/site-functions/_cld",
        "share/fish/vendor_completions.d/cld.fish",
    ] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    let pages = fs::read_dir(repository().join("man")).unwrap().count() - 1;
    let found = files_below(&prefix.join("share/man"));
    assert_eq!(found.len(), pages, "every page: {found:?}");
    if has("man") {
        let mut man = Command::new("man");
        man.arg("-w").arg("cld-resume").env("MANPATH", prefix.join("share/man"));
        let found = man.output().unwrap();
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(found.contains("cld-resume.1"), "man finds the page: {found}");
    }

    let before = files_below(&prefix);
    said(&install(&world, &["--prefix", at, "--binary", binary]), 0);
    assert_eq!(files_below(&prefix), before, "a second time changes nothing");

    fs::write(prefix.join("share/man/man1/other.1"), "").unwrap();
    said(&install(&world, &["--prefix", at, "--uninstall"]), 0);
    assert_eq!(files_below(&prefix), [prefix.join("share/man/man1/other.1")]);
    assert!(!prefix.join("bin").exists() && !prefix.join("share/cld").exists());
    assert!(files_below(&world.home()).is_empty(), "{:?}", files_below(&world.home()));
    let again = said(&install(&world, &["--prefix", at, "--uninstall"]), 0);
    assert!(again.contains("nothing is installed"), "{again}");
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let world = World::bare();
    let prefix = world.path("prefix");
    let at = prefix.to_str().unwrap();
    let text = said(&install(&world, &["--dry-run", "--prefix", at, "--binary", "x"]), 0);
    assert!(text.contains("bin/cld") && text.contains("man1/cld-resume.1"), "{text}");
    assert!(!prefix.exists());
    said(&install(&world, &["--prefix", at, "--binary", env!("CARGO_BIN_EXE_cld")]), 0);
    let before = files_below(&prefix);
    said(&install(&world, &["--dry-run", "--prefix", at, "--uninstall"]), 0);
    assert_eq!(files_below(&prefix), before);
}

#[test]
fn every_posix_shell_installs_and_uninstalls_the_same() {
    let shells: [&[&str]; 6] = [
        &["dash"],
        &["bash", "--posix"],
        &["busybox", "sh"],
        &["mksh"],
        &["yash", "--posixly-correct"],
        &["zsh", "--emulate", "sh"],
    ];
    let everything = |shell: &[&str]| {
        let world = World::bare();
        let prefix = world.path("a prefix");
        let at = prefix.to_str().unwrap();
        let place = ["--prefix", at, "--binary", env!("CARGO_BIN_EXE_cld")];
        let told = said(&install_by(shell, &world, &[&place[..], &["--dry-run"]].concat()), 0);
        assert!(!prefix.exists(), "{shell:?}: {told}");
        let mut all = told;
        all += &said(&install_by(shell, &world, &place), 0);
        let installed = files_below(&prefix);
        all += &said(&install_by(shell, &world, &["--prefix", at, "--uninstall"]), 0);
        assert!(!prefix.exists(), "{shell:?}: {:?}", files_below(&prefix));
        all += &said(&install_by(shell, &world, &["--nope"]), 2);
        let relative = |path: PathBuf| path.strip_prefix(&prefix).unwrap().to_owned();
        let installed: Vec<_> = installed.into_iter().map(relative).collect();
        (all.replace(at, "PREFIX"), installed)
    };
    let expected = everything(&["sh"]);
    // busybox is not for macOS.
    let possible = |shell: &&[&str]| cfg!(target_os = "linux") || shell[0] != "busybox";
    for shell in shells.into_iter().filter(possible).filter(|shell| has(shell[0])) {
        assert_eq!(everything(shell), expected, "{shell:?}");
    }
}

#[test]
fn what_claude_code_still_runs_is_not_removed() {
    let world = World::bare();
    let prefix = world.path("prefix");
    let at = prefix.to_str().unwrap();
    let config = world.home().join(".claude");
    fs::create_dir(&config).unwrap();
    said(&install(&world, &["-y", "--prefix", at, "--binary", env!("CARGO_BIN_EXE_cld")]), 0);
    let settings = fs::read_to_string(config.join("settings.json")).unwrap();
    assert!(settings.contains("prefix/bin/cld"), "-y sets it up, too: {settings}");
    let text = said(&install(&world, &["--prefix", at, "--uninstall"]), 1);
    assert!(text.contains("setup --uninstall") && prefix.join("bin/cld").exists(), "{text}");
    let text = said(&install(&world, &["--prefix", at, "--uninstall", "--dry-run"]), 0);
    assert!(text.contains("would run: ") && prefix.join("bin/cld").exists(), "{text}");

    said(&install(&world, &["--prefix", at, "--uninstall", "-y"]), 0);
    assert!(!prefix.exists() || files_below(&prefix).is_empty(), "{:?}", files_below(&prefix));
    assert!(!config.join("settings.json").exists(), "{:?}", files_below(&world.home()));
}

#[test]
fn a_dry_run_names_the_build_and_builds_nothing() {
    if !["cargo", "rustc", "cc"].into_iter().all(has) {
        return;
    }
    let world = World::bare();
    let mut command = Command::new("sh");
    command.arg(repository().join("install.sh")).arg("--dry-run").env_clear();
    command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", world.home());
    command.env("CLD_TMUX", crate::world::tmux_program());
    // The toolchain is that of whoever runs the test.
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    for (name, below) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
        command.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(below).into()));
    }
    let text = said(&command.stdin(Stdio::null()).output().unwrap(), 0);
    assert!(text.contains("would run: ") && text.contains(" --release --locked "), "{text}");
    assert!(files_below(&world.home()).is_empty());
}

/// A machine with nothing but the named package manager, which does this, and what it was asked to do
/// where these arguments answer the questions.
fn without_tmux(world: &World, manager: &str, does: &str, answers: &[&str]) -> (Output, String) {
    let bin = world.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = |name: &str, script: &str| {
        write_program(&bin.join(name), &format!("#!/bin/sh\n{script}\n"));
    };
    for name in ["sed", "dirname", "mkdir", "cp", "chmod", "mv", "rm", "sh", "grep"] {
        let path = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(name))
            .find(|path| path.is_file())
            .unwrap();
        let _ = std::os::unix::fs::symlink(path, bin.join(name));
    }
    let log = world.path("asked");
    program("id", "echo 1000");
    program("sudo", "exec \"$@\"");
    program(manager, &format!("echo \"{manager} $*\" >> '{}'\n{does}", log.display()));
    let mut command = Command::new(bin.join("sh"));
    command.arg(repository().join("install.sh")).args(["--binary", env!("CARGO_BIN_EXE_cld")]);
    command.args(answers).arg("--prefix").arg(world.path("prefix"));
    command.env_clear().env("PATH", &bin).env("HOME", world.home()).stdin(Stdio::null());
    let output = command.output().unwrap();
    (output, fs::read_to_string(log).unwrap_or_default())
}

#[test]
fn a_missing_tmux_is_installed_by_the_package_manager_of_each_system_after_asking() {
    for (manager, expected) in [
        ("apt-get", "apt-get install -y tmux"),
        ("dnf", "dnf install -y tmux"),
        ("pacman", "pacman -S --noconfirm tmux"),
        ("brew", "brew install tmux"),
    ] {
        let world = World::bare();
        let (output, asked) = without_tmux(&world, manager, ":", &[]);
        assert!(said(&output, 1).contains(expected) && asked.is_empty(), "{manager}: {asked}");
        let (output, asked) = without_tmux(&world, manager, ":", &["-y"]);
        assert!(asked.lines().any(|line| line == expected), "{manager}: {asked} {output:?}");
    }
}

#[test]
fn where_the_list_of_packages_of_arch_is_of_no_use_everything_is_upgraded() {
    let world = World::bare();
    let without_list = "[ $1 != -S ]";
    let (output, asked) = without_tmux(&world, "pacman", without_list, &["-y"]);
    assert!(asked.ends_with("\npacman -Syu --noconfirm tmux\n"), "{asked} {output:?}");
}

#[test]
fn wrong_usage_is_said() {
    let world = World::bare();
    let text = said(&install(&world, &["--nope"]), 2);
    assert!(text.contains("unknown option --nope") && text.contains("--prefix DIR"), "{text}");
    said(&install(&world, &["--prefix"]), 1);
    let help = install(&world, &["--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("--uninstall"));
}
