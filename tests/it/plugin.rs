//! The plugin form registers the same hooks as `cld setup`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::events::start;
use crate::world::{World, assert_silent, run};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn parsed(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file(name)).unwrap()).unwrap()
}

#[test]
fn the_hooks_file_is_what_setup_would_write() {
    let expected = cld::setup::settings::install(None, cld::setup::PLUGIN_COMMAND).unwrap();
    let path = file(".claude-plugin/hooks/hooks.json");
    if std::env::var_os("CLD_UPDATE").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        ".claude-plugin/hooks/hooks.json is out of date: CLD_UPDATE=1 cargo test plugin"
    );
}

#[test]
fn the_manifest_names_this_version() {
    let manifest = parsed(".claude-plugin/plugin.json");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["description"], env!("CARGO_PKG_DESCRIPTION"));
    assert_eq!(manifest["license"], env!("CARGO_PKG_LICENSE"));
    // Claude Code copies what the marketplace names: not the whole repository, with what was built.
    let listed = &parsed(".claude-plugin/marketplace.json")["plugins"][0];
    assert_eq!((&listed["name"], &listed["version"]), (&manifest["name"], &manifest["version"]));
    assert_eq!(listed["source"], "./.claude-plugin");
    assert_eq!(manifest["hooks"], "./.claude-plugin/hooks/hooks.json");
}

#[test]
fn the_command_runs_cld_from_the_path_and_is_silent_without_it() {
    let world = World::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_cld")).parent().unwrap();
    let hooks = &parsed(".claude-plugin/hooks/hooks.json")["hooks"];
    let command = hooks["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    let fire = |path: &str| {
        let own = world.cld(&[]);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env_clear();
        shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("PATH", path);
        assert_silent(&run(shell, start("startup").to_string().as_bytes()));
    };
    fire("/usr/bin:/bin");
    assert_eq!(world.meta("status"), "");
    fire(&format!("{}:/usr/bin:/bin", bin.display()));
    assert_eq!(world.meta("status"), "stopped");
}
