//! What a release consists of, made with the program that was just built.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::generated::{has, repository};
use crate::world::World;

#[track_caller]
fn done(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

fn release(out: &Path) {
    let mut release = Command::new(repository().join(".packaging/release"));
    release.args(["--no-deb", "--binary", env!("CARGO_BIN_EXE_cld"), "--out"]).arg(out);
    done(release.args(["--url", "https://example.com/VERSION"]));
}

#[test]
fn an_archive_installs_itself_without_rust_and_the_recipes_name_the_source() {
    if !["bash", "git", "sha256sum"].into_iter().all(has) || !repository().join(".git").exists() {
        return;
    }
    let world = World::bare();
    let out = world.path("out");
    release(&out);
    done(Command::new("sha256sum").args(["-c", "--strict", "SHA256SUMS"]).current_dir(&out));
    check_recipes(&out);

    let version = env!("CARGO_PKG_VERSION");
    let archives = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let archive = archives
        .filter(|path| name(path).ends_with(".tar.gz"))
        .find(|path| name(path) != format!("cld-{version}.tar.gz"))
        .unwrap();
    done(Command::new("tar").arg("-xzf").arg(&archive).current_dir(world.path("")));
    let folder = world.path(name(&archive).strip_suffix(".tar.gz").unwrap());
    let prefix = world.path("prefix");
    let mut install = Command::new("sh");
    install.arg(folder.join("install.sh")).arg("--prefix").arg(&prefix).env_clear();
    install.env("PATH", "/usr/bin:/bin").env("HOME", world.home());
    install.env("CLD_TMUX", crate::world::tmux_program()).stdin(std::process::Stdio::null());
    done(&mut install);
    let printed = done(Command::new(prefix.join("bin/cld")).arg("--version"));
    assert_eq!(printed, format!("cld {version}\n"));
    assert!(prefix.join("share/man/man1/cld-resume.1").is_file());
}

/// The recipes name the source and its sum.
#[track_caller]
fn check_recipes(out: &Path) {
    let version = env!("CARGO_PKG_VERSION");
    let source = format!("cld-{version}.tar.gz");
    let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let sum = sums.lines().find(|line| line.ends_with(&source)).unwrap();
    let sum = sum.split_whitespace().next().unwrap();
    for recipe in ["cld.rb", "PKGBUILD"] {
        let text = fs::read_to_string(out.join(recipe)).unwrap();
        assert!(text.contains(sum) && text.contains(version) && !text.contains("@SHA"), "{text}");
    }
    done(Command::new("bash").arg("-n").arg(out.join("PKGBUILD")));

    let listed = done(Command::new("tar").arg("-tzf").arg(out.join(&source)));
    for file in ["Cargo.lock", "src/main.rs", "man/cld.1", "completions/_cld", "install.sh"] {
        assert!(listed.lines().any(|line| line == format!("cld-{version}/{file}")), "{file}");
    }
}

/// The files of a folder that a package has to bring.
fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(repository().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap()).filter(|entry| entry.path().is_file());
    names.map(|entry| format!("{folder}/{}", entry.file_name().to_str().unwrap())).collect()
}

#[test]
fn the_debian_package_brings_every_page_and_every_shell_file() {
    let manifest = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let (_, assets) = manifest.split_once("assets = [").unwrap();
    let (assets, _) = assets.split_once("\n]").unwrap();
    let patterns: Vec<&str> = assets.split('"').skip(1).step_by(6).collect();
    let read = |name: &str| fs::read_to_string(repository().join(name)).unwrap();
    // A package has the program in another place than ./install.sh.
    let unit = "shell/cld-hub.service";
    let packaged = read(unit).replace("%h/.local/bin/cld", "/usr/bin/cld");
    assert_eq!(read(".packaging/cld-hub.service"), packaged);
    let brought = ["man", "completions", "shell"].into_iter().flat_map(files);
    for file in brought.filter(|file| file != unit) {
        let is_there = patterns.iter().any(|pattern| match pattern.split_once('*') {
            Some((start, end)) => file.starts_with(start) && file.ends_with(end),
            None => *pattern == file,
        });
        assert!(is_there, "package.metadata.deb in Cargo.toml lacks {file}: {patterns:?}");
    }
}
