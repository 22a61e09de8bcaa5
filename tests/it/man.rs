//! The manual: generated, complete, well formed, and shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap_mangen::Man;

use crate::generated::{check_file, definition, has, repository, visible_commands, write_program};
use crate::world::{World, poll_until, run};

/// When the pages last changed in a way that matters to a reader.
const DATE: &str = "2026-11-18";
/// What every page has; the hand-written part may bring its own instead of the common one.
const SECTIONS: [&str; 4] = ["ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES"];
/// The pages that are about no command.
const OTHERS: [&str; 2] = ["cld-config.5", "cld-hub.7"];

fn source(name: &str) -> PathBuf {
    repository().join("man/src").join(name).with_extension("man")
}

/// The hand-written part of a page: what follows the description, and its sections.
fn by_hand(name: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(source(name)).unwrap_or_else(|_| {
        panic!("the command `{name}` has no page: write man/src/{name}.man, with its examples")
    });
    let mut sections = BTreeMap::new();
    for part in format!(".SH DESCRIPTION\n{text}").split(".SH ").skip(1) {
        let (heading, body) = part.split_once('\n').unwrap();
        sections.insert(heading.trim_matches('"').to_owned(), body.to_owned());
    }
    let has_examples = sections.contains_key("EXAMPLES");
    assert!(has_examples, "man/src/{name}.man shows no examples: it needs a section EXAMPLES");
    sections
}

fn common(section: &str) -> Option<String> {
    let name = section.to_lowercase().replace(' ', "-");
    fs::read_to_string(source(&format!("common/{name}"))).ok()
}

/// What clap says, as the pages need it: commands in bold, and nothing but ASCII.
fn styled(roff: &str) -> String {
    let mut styled = String::new();
    let mut is_bold = false;
    for character in roff.chars() {
        match character {
            '`' => {
                is_bold = !is_bold;
                styled.push_str(if is_bold { "\\fB" } else { "\\fR" });
            }
            character if character.is_ascii() => styled.push(character),
            character => styled.push_str(&format!("\\[u{:04X}]", u32::from(character))),
        }
    }
    styled.replace("\n.br\n\n.br\n", "\n.IP\n")
}

/// Lines as a man page wants them: no longer than 80 bytes, with nothing to be seen at their end.
fn filled(page: &str) -> String {
    let mut filled = String::new();
    let mut is_example = false;
    for line in page.lines() {
        is_example = match line {
            ".EX" => true,
            ".EE" => false,
            _ => is_example,
        };
        if is_example || line.starts_with('.') {
            filled.push_str(&format!("{}\n", line.trim_end()));
            continue;
        }
        let mut length = 0;
        for word in line.split_whitespace() {
            // A dot at the start of a line would make a macro of it.
            let fits = length + word.len() < 80 || word.starts_with(['.', '\'']);
            filled.push_str(match length {
                0 => "",
                _ if fits => " ",
                _ => "\n",
            });
            length = if fits { length + 1 } else { 0 } + word.len();
            filled.push_str(word);
        }
        filled.push('\n');
    }
    filled
}

fn rendered(render: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    render(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    // The preamble for the apostrophe belongs to the top of a page alone.
    let lines = text.lines().filter(|line| !line.starts_with(".ie ") && !line.starts_with(".el "));
    styled(&lines.map(|line| format!("{line}\n")).collect::<String>())
}

fn page(command: &clap::Command, source: &str) -> String {
    let title =
        if source == "cld" { "CLD".to_owned() } else { format!("CLD-{}", source.to_uppercase()) };
    let man = Man::new(command.clone()).title(title).date(DATE).manual("cld").source("cld");
    let hand = by_hand(source);
    let mut page = String::from(
        ".\\\" Made of src/cli.rs and man/src/ by tests/it/man.rs: do not edit.\n\
         .ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n",
    );
    page.push_str(&rendered(|out| man.render_title(out)));
    page.push_str(&rendered(|out| man.render_name_section(out)));
    page.push_str(&synopsis(command, source));
    page.push_str(&rendered(|out| man.render_description_section(out)));
    page.push_str(&format!(".PP\n{}", hand["DESCRIPTION"]));
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        page.push_str(&rendered(|out| man.render_options_section(out)));
    }
    if command.get_subcommands().any(|command| command.get_name() != "help") {
        page.push_str(&commands(command));
    }
    for section in SECTIONS {
        let body = hand.get(section).cloned().or_else(|| common(section));
        let body = body.unwrap_or_else(|| panic!("man/src/{source}.man has no section {section}"));
        page.push_str(&format!(".SH {section}\n{body}"));
    }
    page.push_str(&see_also(source, hand.get("SEE ALSO")));
    filled(&page)
}

/// How a command is written, with the values its options take.
fn synopsis(command: &clap::Command, source: &str) -> String {
    let name = if source == "cld" { source.to_owned() } else { format!("cld {source}") };
    let mut words = vec![format!("\\fB{name}\\fR")];
    let shown = |arg: &&clap::Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let (positions, options): (Vec<_>, Vec<_>) =
        command.get_arguments().filter(shown).partition(|arg| arg.is_positional());
    words.extend(options.into_iter().chain(positions).map(argument));
    if command.get_subcommands().any(|sub| sub.get_name() != "help") {
        words.push(optional("\\fICOMMAND\\fR", !command.is_subcommand_required_set()));
    }
    format!(".SH SYNOPSIS\n.nh\n.ad l\n{}\n.ad b\n.hy\n", words.join("\n").replace('-', "\\-"))
}

fn argument(arg: &clap::Arg) -> String {
    let short = arg.get_short().map(|short| format!("\\fB-{short}\\fR"));
    let long = arg.get_long().map(|long| format!("\\fB--{long}\\fR"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes_value = arg.get_action().takes_values();
    let values = arg.get_value_names().unwrap_or_default().join("\\~").replace(' ', "\\~");
    let many = if arg.get_num_args().is_some_and(|n| n.max_values() > 1) { "..." } else { "" };
    let mut text = names.join("|");
    if takes_value {
        let behind = if text.is_empty() { "" } else { "\\~" };
        text.push_str(&format!("{behind}\\fI{values}\\fR{many}"));
    }
    if arg.is_last_set() {
        text = format!("\\fB--\\fR\\~{text}");
    }
    optional(&text, !arg.is_required_set())
}

fn optional(text: &str, is_optional: bool) -> String {
    if is_optional { format!("[{text}]") } else { text.to_owned() }
}

/// What a command has below it, one line each.
fn commands(command: &clap::Command) -> String {
    let mut section = ".SH COMMANDS\n".to_owned();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        if sub.get_name() == "help" {
            continue;
        }
        let about = sub.get_about().unwrap_or_else(|| panic!("{} has no help", sub.get_name()));
        let head = if command.get_name() == "cld" {
            format!(".BR cld\\-{} (1)", sub.get_name())
        } else {
            format!(".B {}", sub.get_name())
        };
        section.push_str(&styled(&format!(".TP\n{head}\n{about}\n")));
    }
    section
}

fn see_also(name: &str, more: Option<&String>) -> String {
    let mut pages = vec![".BR cld (1)".to_owned()];
    if name == "cld" {
        pages = OTHERS
            .map(|file| {
                let (page, section) = file.split_once('.').unwrap();
                format!(".BR {} ({section})", page.replace('-', "\\-"))
            })
            .into();
        pages.push(".BR tmux (1)".to_owned());
    }
    let pages = pages.join(",\n");
    format!(
        ".SH SEE ALSO\n{pages}{}\n",
        more.map(|more| format!(",\n{}", more.trim())).unwrap_or_default()
    )
}

/// Each page by its file name.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::from([("cld.1".to_owned(), page(&definition(), "cld"))]);
    for command in visible_commands() {
        let name = command.get_name().to_owned();
        pages.insert(format!("cld-{name}.1"), page(&command, &name));
    }
    pages.insert("cld-config.5".to_owned(), config_page());
    pages.insert("cld-hub.7".to_owned(), hub_page());
    pages
}

/// The interface of the hub, as its own description tells it.
fn hub_page() -> String {
    let description = fs::read(repository().join("src/hub/openapi.json")).unwrap();
    let description: serde_json::Value = serde_json::from_slice(&description).unwrap();
    let mut routes = String::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let Some(summary) = operation["summary"].as_str() else { continue };
            let about = operation["description"].as_str().unwrap_or_default();
            routes.push_str(&format!(
                ".SS \"{} {path}\"\n{summary}.\n{about}\n",
                method.to_uppercase()
            ));
            for (code, answer) in operation["responses"].as_object().unwrap() {
                let said = answer["description"].as_str().unwrap_or_default();
                routes.push_str(&format!(".TP\n.B {code}\n{said}\n"));
            }
        }
    }
    let head = ".\\\" Made of src/hub/openapi.json and man/src/ by tests/it/man.rs: do not edit.\n";
    let heading =
        format!(".TH CLD-HUB 7 {DATE} cld cld\n.SH NAME\ncld\\-hub \\- the interface of the hub\n");
    let by_hand = common("HUB API").unwrap();
    let examples = common("HUB EXAMPLES").unwrap();
    filled(&styled(&format!(
        "{head}{heading}{by_hand}.SH ROUTES\n{routes}.SH EXAMPLES\n{examples}\
         .SH SEE ALSO\n.BR cld\\-hub (1),\n.BR cld\\-hook (1)\n"
    )))
}

/// The settings, as `cld config show` tells them where there is no file.
fn config_page() -> String {
    let shown = run(World::bare().cld(&["config", "show"]), b"");
    let mut settings = String::new();
    let mut about = "";
    for line in std::str::from_utf8(&shown.stdout).unwrap().lines().skip(1) {
        if let Some(section) = line.strip_prefix('[') {
            settings.push_str(&format!(".SS [{section}\n"));
        } else if let Some(comment) = line.strip_prefix("# ") {
            about = comment;
        } else if let Some(setting) = line.strip_suffix("  # default") {
            let setting = setting.replace('\\', "\\e").replace('-', "\\-");
            let (key, default) = setting.split_once(" = ").unwrap();
            settings.push_str(&format!(".TP\n\\fB{key}\\fR = {default}\n{about}\n"));
        }
    }
    let title = ".\\\" Made of `cld config show` and man/src/ by tests/it/man.rs: do not edit.\n";
    let heading = format!(
        ".TH CLD-CONFIG 5 {DATE} cld cld\n.SH NAME\ncld\\-config \\- the settings of cld\n"
    );
    let description = common("CONFIG FILE").unwrap();
    let examples = common("CONFIG EXAMPLES").unwrap();
    filled(&styled(&format!(
        "{title}{heading}{description}.SH SETTINGS\nEach with its default.\n{settings}\
         .SH EXAMPLES\n{examples}.SH SEE ALSO\n.BR cld (1),\n.BR cld\\-config (1)\n"
    )))
}

/// The list that puts the pages into the program.
fn list(files: impl Iterator<Item = String>) -> String {
    let mut list = "//! Every page of the manual. Made by tests/it/man.rs: do not edit.\n\n\
                    use super::Page;\n\n\
                    pub(super) const PAGES: &[Page] = &[\n"
        .to_owned();
    for file in files {
        list.push_str(&format!("    (\"{file}\", include_str!(\"../../man/{file}\")),\n"));
    }
    list + "];\n"
}

#[test]
fn generated_pages_are_what_the_definition_says() {
    let pages = pages();
    for (file, page) in &pages {
        check_file(&Path::new("man").join(file), page);
    }
    let mut files: Vec<String> = pages.keys().cloned().collect();
    files.sort_by_key(|file| (file != "cld.1", file.clone()));
    check_file(Path::new("src/man/pages.rs"), &list(files.iter().cloned()));

    let found = fs::read_dir(repository().join("man")).unwrap();
    let mut found: Vec<String> = found
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "src")
        .collect();
    found.sort();
    files.sort();
    assert_eq!(found, files, "a page of a command that is gone must go, too");
    for entry in fs::read_dir(repository().join("man/src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".man").unwrap_or("cld");
        let is_known = name == "cld" || pages.contains_key(&format!("cld-{name}.1"));
        assert!(is_known, "man/src/{name}.man belongs to no command");
    }
}

#[test]
fn the_example_of_a_configuration_is_taken_as_it_is() {
    let page = common("CONFIG EXAMPLES").unwrap();
    let (_, example) = page.split_once(".EX\n").unwrap();
    let (example, _) = example.split_once(".EE\n").unwrap();
    let world = World::bare();
    crate::config::configured(&world, &example.replace("\\-", "-"));
    let shown = run(world.cld(&["config", "show"]), b"");
    assert_eq!(String::from_utf8_lossy(&shown.stderr), "");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("deadline = \"10s\"  # line "));
}

#[test]
fn every_page_passes_the_lint() {
    if !has("mandoc") {
        return;
    }
    let files = pages().into_keys();
    let files: Vec<PathBuf> = files.map(|file| repository().join("man").join(file)).collect();
    let lint = Command::new("mandoc").args(["-Tlint", "-Wstyle"]).args(&files).output().unwrap();
    let said = String::from_utf8_lossy(&lint.stdout);
    assert!(lint.status.success(), "{said}");
}

#[test]
fn every_variable_that_is_read_is_in_the_manual_and_no_other() {
    let paths = fs::read_to_string(repository().join("src/paths.rs")).unwrap();
    let page = fs::read_to_string(source("cld")).unwrap();
    for variable in variables_in(&paths) {
        assert!(page.contains(&variable), "man/src/cld.man does not tell of ${variable}");
    }
    let (_, section) = page.split_once(".SH ENVIRONMENT").unwrap();
    let (section, _) = section.split_once(".SH ").unwrap();
    for line in section.lines().filter(|line| line.starts_with(".B")) {
        let words = line.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        for word in words.filter(|word| word.len() > 3) {
            let quoted = format!("\"{word}\"");
            assert!(paths.contains(&quoted), "man/src/cld.man tells of ${word}, nothing reads it");
        }
    }
}

/// The names in quotes that look like variables.
pub(crate) fn variables_in(source: &str) -> Vec<String> {
    let quoted = source.split('"').skip(1).step_by(2);
    let is_name =
        |word: &&str| word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    quoted.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn without_a_terminal_the_page_is_text() {
    let world = World::bare();
    for (arguments, expected) in [
        (&["man"][..], "cld - "),
        (&["man", "resume"], "cld-resume - "),
        (&["man", "config.5"], "cld-config - "),
    ] {
        let output = run(world.cld(arguments), b"");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(expected), "{arguments:?}: {text}");
        assert!(text.lines().all(|line| !line.starts_with('.')), "{text}");
    }
    let unknown = run(world.cld(&["man", "nope"]), b"");
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(error.contains("no page nope") && error.contains("resume"), "{error}");
}

#[test]
fn on_a_terminal_the_page_is_shown_by_man_and_as_text_where_there_is_none() {
    let world = World::new();
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let cld = env!("CARGO_BIN_EXE_cld");
    let fake = bin.join("man");
    let script = "echo \"shown by man: $(head -c 20 \"$1\" | wc -c) $1\"";
    write_program(&fake, &format!("#!/bin/sh\n{script}\n"));

    let show = format!("PATH={}:/usr/bin:/bin {cld} man log; exec sleep 1000", bin.display());
    let pane = world.tmux(&["new-window", "-P", "-F", "#{pane_id}", &show]);
    let screen = || world.tmux(&["capture-pane", "-J", "-p", "-t", &pane]);
    poll_until("man has shown the page", || screen().contains("shown by man: 20 "));
    let shown = screen();
    let path = shown.split_whitespace().find(|word| word.ends_with("cld-log.1")).unwrap();
    poll_until("the file is gone", || !Path::new(path).parent().unwrap().exists());

    let show = format!("PATH=/nonexistent {cld} man log; exec /bin/sleep 1000");
    let pane = world.tmux(&["new-window", "-P", "-F", "#{pane_id}", &show]);
    let screen = || world.tmux(&["capture-pane", "-S", "-", "-p", "-t", &pane]);
    poll_until("the page is there as text", || screen().contains("cld-log - "));
}

#[test]
fn all_pages_can_be_written_where_man_looks() {
    let world = World::bare();
    let folder = world.path("man");
    let output = run(world.cld(&["man", "--write", folder.to_str().unwrap()]), b"");
    assert!(output.status.success());
    for (file, section) in
        [("cld.1", 1), ("cld-resume.1", 1), ("cld-config.5", 5), ("cld-hub.7", 7)]
    {
        let written = fs::read(folder.join(format!("man{section}")).join(file)).unwrap();
        assert_eq!(written, fs::read(repository().join("man").join(file)).unwrap(), "{file}");
    }
}
