//! What a release consists of, made with the program that was just built.

use std::fs;
use std::os::unix::fs::PermissionsExt;
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
    let sums = if cfg!(target_os = "macos") { "shasum" } else { "sha256sum" };
    if !["bash", "git", sums].into_iter().all(has) || !repository().join(".git").exists() {
        return;
    }
    let world = World::bare();
    let out = world.path("out");
    release(&out);
    done(Command::new(sums).args(["-c", "SHA256SUMS"]).current_dir(&out));
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

#[test]
fn the_formula_puts_every_file_where_homebrew_wants_it_and_its_test_passes() {
    if !["bash", "git", "ruby"].into_iter().all(has) || !repository().join(".git").exists() {
        return;
    }
    let world = World::bare();
    let out = world.path("out");
    release(&out);
    let source = format!("cld-{}", env!("CARGO_PKG_VERSION"));
    let archive = out.join(format!("{source}.tar.gz"));
    done(Command::new("tar").arg("-xzf").arg(archive).current_dir(world.path("")));

    let cellar = world.path("cellar");
    let mut ruby = Command::new("ruby");
    ruby.arg(repository().join("tests/fixtures/formula.rb")).arg(out.join("cld.rb")).arg(&cellar);
    ruby.arg(env!("CARGO_BIN_EXE_cld")).current_dir(world.path(&source));
    ruby.env("HOME", world.home()).env("TMUX_TMPDIR", world.path(""));
    let caveats = done(&mut ruby);
    assert!(caveats.contains("cld setup"), "{caveats}");
    for file in [
        "bin/cld",
        "share/man/man1/cld-resume.1",
        "share/man/man5/cld-config.5",
        "share/man/man7/cld-hub.7",
        "etc/bash_completion.d/cld",
        "share/zsh/site-functions/_cld",
        "share/fish/vendor_completions.d/cld.fish",
        "share/cld/cld.tmux",
        "share/cld/examples/subscribe.sh",
    ] {
        assert!(cellar.join(file).is_file(), "{file}");
    }
    let pages = files("man").len();
    let brought = ["man1", "man5", "man7"]
        .map(|section| fs::read_dir(cellar.join("share/man").join(section)).unwrap().count());
    assert_eq!(brought.iter().sum::<usize>(), pages);
}

/// The files of a folder that a package has to bring.
fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(repository().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap()).filter(|entry| entry.path().is_file());
    names.map(|entry| format!("{folder}/{}", entry.file_name().to_str().unwrap())).collect()
}

/// What the Debian package is made of: files of the repository, where they go, and their modes.
fn assets() -> Vec<[String; 3]> {
    let manifest = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let (_, assets) = manifest.split_once("assets = [").unwrap();
    let (assets, _) = assets.split_once("\n]").unwrap();
    let lines = assets.lines().filter(|line| !line.trim().is_empty());
    let asset = |line: &str| -> [String; 3] {
        let words: Vec<String> = line.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        words.try_into().unwrap_or_else(|words| panic!("{line}: {words:?}"))
    };
    lines.map(asset).collect()
}

#[test]
fn the_debian_package_brings_every_page_and_every_shell_file_once() {
    let assets = assets();
    let read = |name: &str| fs::read_to_string(repository().join(name)).unwrap();
    // A package has the unit where systemd looks, and the program elsewhere than ./install.sh.
    let unit = "shell/cld-hub.service";
    let packaged = read(unit).replace("%h/.local/bin/cld", "/usr/bin/cld");
    let packaged = packaged.replace("cp shell/cld-hub.service ~/.config/systemd/user/ && ", "");
    assert_eq!(read(".packaging/cld-hub.service"), packaged);
    let newest = format!("cld ({}-1) ", env!("CARGO_PKG_VERSION"));
    assert!(read(".packaging/changelog").starts_with(&newest), "{newest}");
    // Debian has no launchd.
    let not_here = [unit, "shell/cld-hub.plist"];
    let folders = ["man", "completions", "shell", "shell/examples"];
    let brought = folders.into_iter().flat_map(files);
    for file in brought.filter(|file| !not_here.contains(&file.as_str())) {
        let from = assets.iter().filter(|[pattern, ..]| match pattern.split_once('*') {
            Some((start, end)) => {
                let name = file.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
                name.is_some_and(|name| !name.contains('/'))
            }
            None => *pattern == file,
        });
        let from: Vec<_> = from.collect();
        assert_eq!(from.len(), 1, "{file} in package.metadata.deb of Cargo.toml: {from:?}");
        let is_program =
            fs::metadata(repository().join(&file)).unwrap().permissions().mode() & 0o111;
        let mode = if is_program == 0 { "644" } else { "755" };
        assert_eq!(from[0][2], mode, "the mode of {file}");
    }
}
