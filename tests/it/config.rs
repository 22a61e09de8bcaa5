//! `config.toml` and `cld config`: every setting with its origin, and nothing a file can break.

use std::fs;
use std::process::Command;

use crate::events::{prompt, start};
use crate::living::printed;
use crate::stage::check_exit;
use crate::world::World;

#[track_caller]
pub(crate) fn configured(world: &World, text: &str) {
    let file = world.home().join(".config/cld/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn the_path_is_printed_whether_the_file_exists_or_not() {
    let world = World::bare();
    let path = printed(&world.cld(&["config", "path"]).output().unwrap());
    assert_eq!(path, format!("{}/.config/cld/config.toml\n", world.home().display()));
    let elsewhere = World::bare().with("XDG_CONFIG_HOME", "/xdg");
    let path = printed(&elsewhere.cld(&["config", "path"]).output().unwrap());
    assert_eq!(path, "/xdg/cld/config.toml\n");
    let relative = World::bare().with("XDG_CONFIG_HOME", "xdg");
    let path = printed(&relative.cld(&["config", "path"]).output().unwrap());
    assert_eq!(path, format!("{}/.config/cld/config.toml\n", relative.home().display()));
}

#[test]
fn what_is_shown_can_be_written_back_as_the_file() {
    let world = World::bare();
    let defaults = printed(&world.cld(&["config", "show"]).output().unwrap());
    assert!(
        defaults.contains("\n[tabs]\n") && defaults.contains("\n[notify.tmux]\n"),
        "{defaults}"
    );
    assert!(defaults.contains("\nwaiting = \"fg=#EC5f67\"  # default\n"), "{defaults}");
    configured(&world, &defaults);
    let again = printed(&world.cld(&["config", "show"]).output().unwrap());
    let values = |text: &str| -> Vec<String> {
        let settings = text.lines().filter(|line| !line.starts_with('#'));
        settings.map(|line| line.split("  # ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(values(&again), values(&defaults));
    assert!(!again.contains("# default"), "{again}");
}

#[test]
fn mistakes_are_told_on_standard_error_with_file_and_line() {
    let world = World::bare();
    configured(&world, "[tabs]\nidle = \"theme\"\nruning = \"red\"\nwaiting = 3\n");
    let (out, err) = check_exit(&world.cld(&["config", "show"]).output().unwrap(), 0);
    assert!(out.contains("\nidle = \"theme\"  # line 2\n"), "{out}");
    assert!(out.contains("\nwaiting = \"fg=#EC5f67\"  # default\n"), "{out}");
    let file = world.home().join(".config/cld/config.toml");
    let file = file.display();
    assert_eq!(
        err,
        format!(
            "cld: {file}:3: `tabs.runing` is not known; did you mean `tabs.running`?\n\
             cld: {file}:4: `tabs.waiting` should be a text in quotes, and is a number; it has its default\n"
        )
    );
}

#[test]
fn every_style_that_is_taken_is_taken_by_tmux_too() {
    let world = World::new();
    let attributes = [
        "bold",
        "bright",
        "dim",
        "underscore",
        "blink",
        "reverse",
        "hidden",
        "italics",
        "none",
        "strikethrough",
        "double-underscore",
        "curly-underscore",
        "dotted-underscore",
        "dashed-underscore",
        "nobold",
        "nodashed-underscore",
        "default",
    ];
    let colours = [
        "fg=default",
        "bg=terminal",
        "bg=black",
        "red",
        "fg=brightwhite",
        "colour0",
        "fg=color255",
        "#EC5f67",
        "fg=#6699cc bg=#000000,bold",
    ];
    for style in attributes.iter().chain(&colours) {
        configured(&world, &format!("[tabs]\nwaiting = \"{style}\""));
        let (shown, problems) = check_exit(&world.cld(&["config", "show"]).output().unwrap(), 0);
        assert_eq!(problems, "", "{style}");
        let line = shown.lines().find(|line| line.starts_with("waiting = ")).unwrap();
        let value = line.split('"').nth(1).unwrap();
        world.tmux(&["set-option", "-w", "window-status-style", value]);
    }
}

#[test]
fn no_file_in_its_place_breaks_a_command_or_the_hook() {
    let plant: [fn(&World); 7] = [
        |world| configured(world, "[tabs\nidle = "),
        |world| configured(world, "tabs = []\nnotify = 3\n[keys]\nnext = {}"),
        |world| configured(world, &"#".repeat(300 * 1024)),
        |world| {
            configured(world, "");
            fs::write(world.home().join(".config/cld/config.toml"), b"\xff\xfe\0").unwrap();
        },
        |world| fs::create_dir_all(world.home().join(".config/cld/config.toml")).unwrap(),
        |world| fs::write(world.home().join(".config"), "a file").unwrap(),
        |world| {
            let dir = world.home().join(".config/cld");
            fs::create_dir_all(&dir).unwrap();
            let mut mkfifo = Command::new("mkfifo");
            assert!(mkfifo.arg(dir.join("config.toml")).status().unwrap().success());
        },
    ];
    let default = printed(&World::bare().cld(&["config", "show"]).output().unwrap());
    let without_head = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    for plant in plant {
        let world = World::new();
        plant(&world);
        world.hook(&start("startup"));
        world.hook(&prompt("go"));
        assert_eq!(world.meta("status"), "running");
        let (shown, _) = check_exit(&world.cld(&["config", "show"]).output().unwrap(), 0);
        assert_eq!(without_head(&shown), without_head(&default));
        check_exit(&world.cld(&["ls"]).output().unwrap(), 0);
    }
}
