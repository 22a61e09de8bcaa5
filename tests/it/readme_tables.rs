//! The tables of the README and the commands between its lines are true: every command, option,
//! setting and variable they name exists, with the default they give.

use std::collections::BTreeMap;
use std::fs;

use clap::Command;
use regex::Regex;

use crate::generated::{definition, repository};
use crate::pick::has_popups;
use crate::readme::{Scene, blocks, readme};
use crate::world::{World, poll_until, run};

/// The text without its blocks, line by line.
fn prose() -> Vec<String> {
    let mut in_block = false;
    let mut lines = Vec::new();
    for line in readme().lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// What stands between backticks.
fn code(line: &str) -> Vec<String> {
    line.split('`').skip(1).step_by(2).map(|code| code.replace("\\|", "|")).collect()
}

/// The rows of the table whose first row begins with these words, without its head.
fn table(head: &str) -> Vec<Vec<String>> {
    let lines = prose();
    let start = lines.iter().position(|line| line.starts_with(head));
    let start = start.unwrap_or_else(|| panic!("README.md has no table {head}"));
    let rows = lines[start + 2..].iter().take_while(|line| line.starts_with('|'));
    let cells = |line: &String| -> Vec<String> {
        let line = line.replace("\\|", "\u{0}");
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.replace('\u{0}', "\\|").trim().to_owned()).collect()
    };
    rows.map(cells).collect()
}

/// The command that the words after `cld` name, as far down as they go.
fn named(words: &[&str]) -> Option<Command> {
    let mut command = definition().find_subcommand(words.first()?)?.clone();
    for word in &words[1..] {
        match command.find_subcommand(word) {
            Some(below) => command = below.clone(),
            None => break,
        }
    }
    Some(command)
}

fn has_option(command: &Command, option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    command.get_arguments().any(|arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| name == format!("-{short}")),
    })
}

/// The options in a piece of code, up to what goes to another program.
fn options(code: &str) -> Vec<String> {
    let words = code.split([' ', '[', ']', '|']).take_while(|word| *word != "--");
    words.filter(|word| word.starts_with('-')).map(str::to_owned).collect()
}

#[test]
fn every_command_and_option_between_the_lines_exists() {
    let mut seen = 0;
    for line in prose() {
        for code in code(&line).iter().filter_map(|code| code.strip_prefix("cld ")) {
            if code.starts_with('-') || code.starts_with("COMMAND") {
                continue;
            }
            // What follows a pipe or stands in $(…) belongs to another program.
            let code = code.split(" | ").next().unwrap_or_default();
            let code = code.split(['$', ';']).next().unwrap_or_default();
            let words: Vec<&str> = code.split([' ', ',', '|']).collect();
            let command = named(&words);
            let command = command.unwrap_or_else(|| panic!("README.md names `cld {code}`: {line}"));
            for option in options(code) {
                assert!(has_option(&command, &option), "`cld {code}` has no {option}: {line}");
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen} options were looked at");
}

#[test]
fn the_options_in_the_table_of_commands_belong_to_their_commands() {
    for row in table("| command | does |") {
        let commands: Vec<Command> = code(&row[0])
            .iter()
            .filter_map(|code| named(&code.strip_prefix("cld ")?.split(' ').collect::<Vec<_>>()))
            .collect();
        assert!(!commands.is_empty(), "{row:?}");
        let described = code(&row[1]).into_iter().filter(|code| code.starts_with('-'));
        for option in described.flat_map(|code| options(&code)) {
            let is_there = commands.iter().any(|command| has_option(command, &option));
            assert!(is_there, "{} has no {option}", row[0]);
        }
    }
}

/// Every setting by its full name, with its default.
fn settings() -> BTreeMap<String, String> {
    let shown = run(World::bare().cld(&["config", "show"]), b"").stdout;
    let mut section = String::new();
    let mut settings = BTreeMap::new();
    for line in String::from_utf8(shown).unwrap().lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#'))
        {
            let value = value.strip_suffix("  # default").unwrap();
            settings.insert(format!("{section}.{key}"), value.to_owned());
        }
    }
    settings
}

#[test]
fn the_table_of_settings_has_all_of_them_with_their_defaults() {
    let settings = settings();
    let mut missing: Vec<&String> = settings.keys().collect();
    // Channels have settings of their own, which the manual lists.
    missing.retain(|name| name.matches('.').count() == 1);
    let mut section = String::new();
    for row in table("| setting | default | meaning |") {
        let mut keys = code(&row[0]);
        if let Some(name) = keys[0].strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            section = name.to_owned();
            keys.remove(0);
        }
        let defaults = code(&row[1]);
        for (number, key) in keys.iter().enumerate() {
            let name = format!("{section}.{key}");
            let value = settings.get(&name).unwrap_or_else(|| panic!("there is no {name}"));
            // One default may be that of all, and one that is long is told in words.
            if let Some(default) = defaults.get(number).or(defaults.first()) {
                assert_eq!(value, default, "the default of {name}");
            }
            missing.retain(|missing| **missing != name);
        }
    }
    assert_eq!(missing, Vec::<&String>::new(), "settings that the table does not have");
}

#[test]
fn the_table_of_options_has_all_that_cld_keeps_in_a_pane() {
    let source = fs::read_to_string(repository().join("src/pane.rs")).unwrap();
    let kept = Regex::new(r#""(@(?:meta\.claude\.|claude-)[a-z_-]+)""#).unwrap();
    let kept: Vec<&str> = kept.captures_iter(&source).map(|c| c.get(1).unwrap().as_str()).collect();
    let mut told = Vec::new();
    for row in table("| pane option | value |") {
        for name in code(&row[0]) {
            let is_whole = name.starts_with('@');
            told.push(if is_whole { name } else { format!("@meta.claude.{name}") });
        }
    }
    for name in &told {
        assert!(kept.contains(&name.as_str()), "README.md tells of {name}, which nothing sets");
    }
    let elsewhere: String = prose().join("\n");
    for name in kept {
        let is_told = told.iter().any(|told| told == name);
        assert!(is_told || elsewhere.contains(&format!("`{name}`")), "README.md lacks {name}");
    }
}

#[test]
fn the_variables_of_notifications_are_set() {
    let read = |file: &str| fs::read_to_string(repository().join(file)).unwrap();
    let source =
        ["src/notify.rs", "src/notify/message.rs", "src/notify/deliver.rs"].map(read).concat();
    let readme = readme();
    let (_, told) = readme.split_once("its environment:").unwrap();
    let (told, _) = told.split_once("\n\n").unwrap();
    let told: Vec<String> =
        code(told).into_iter().filter(|name| name.starts_with("CLD_")).collect();
    assert!(told.len() > 10, "{told:?}");
    for name in &told {
        assert!(source.contains(&format!("\"{name}\"")), "nothing sets {name}");
    }
}

#[test]
fn the_lines_for_tmux_are_taken_by_tmux_and_the_keys_lead_to_who_waits() {
    if !has_popups() {
        return;
    }
    let scene = Scene::new();
    let world = &scene.world;
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    world.tmux(&["set-environment", "-g", "PATH", &path]);
    for block in blocks().iter().filter(|block| block.language == "tmux") {
        let file = world.path("lines.conf");
        fs::write(&file, &block.text).unwrap();
        assert_eq!(world.tmux(&["source-file", file.to_str().unwrap()]), "", "line {}", block.line);
    }
    let terminal = world.attach();
    let client = || world.tmux(&["list-clients", "-F", "#{session_name}:#{window_index}"]);
    assert_eq!(client(), "main:0");
    for (key, place) in [("n", "docs:0"), ("n", "work:1"), ("b", "docs:0")] {
        terminal.press(&["C-b", key]);
        poll_until(&format!("{key} leads to {place}"), || client() == place);
    }
    terminal.press(&["C-b", "g"]);
    poll_until("the picker is open", || terminal.screen().contains("fix the flaky login test"));
}
