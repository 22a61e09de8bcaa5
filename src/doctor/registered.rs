//! Whether the hooks stand in the settings files, run this cld, and may run at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::setup::events;
use crate::setup::settings::{self, Summary};
use crate::text::{one_line, shown};

use super::check::Check;

const RUN_SETUP: &str = "run `cld setup`";

/// A settings file as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Missing,
    /// Cannot be read or does not parse; why.
    Broken(String),
    Read(Summary),
}

impl Found {
    pub(super) fn at(path: PathBuf) -> Self {
        let content = match fs::read(&path) {
            Ok(bytes) => match settings::summary(&String::from_utf8_lossy(&bytes)) {
                Ok(summary) => Content::Read(summary),
                Err(refusal) => Content::Broken(refusal.to_string()),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Content::Missing,
            Err(error) => Content::Broken(error.to_string()),
        };
        Self { path, content }
    }

    pub(super) fn summary(&self) -> Option<&Summary> {
        match &self.content {
            Content::Read(summary) => Some(summary),
            _ => None,
        }
    }

    /// Hooks of cld stand in the file, so that `cld setup` may bring them up to date unasked.
    pub(super) fn has_hooks(&self) -> bool {
        self.summary().is_some_and(|summary| !summary.hooks.is_empty())
    }

    pub(super) fn has_plugin(&self) -> bool {
        self.summary().is_some_and(Summary::has_plugin)
    }
}

/// The checks of one config directory. `command` is what `cld setup` would write, and `exists`
/// tells whether there is a program at a path.
pub(super) fn config_dir(
    found: &Found,
    command: &str,
    exists: impl Fn(&str) -> bool,
) -> Vec<Check> {
    let name = shown(&found.path);
    let summary = match &found.content {
        Content::Read(summary) => summary,
        Content::Missing => {
            return vec![Check::error("hooks", format!("{name} does not exist"), RUN_SETUP)];
        }
        Content::Broken(problem) => {
            let message = format!("{name} cannot be read, {problem}");
            return vec![Check::error(
                "hooks",
                message,
                "correct the file, Claude Code ignores it too",
            )];
        }
    };
    let mut checks = obstacles(&name, summary);
    checks.extend(hooks(&name, found, summary, command, exists));
    checks
}

/// What keeps hooks from running, whoever registered them.
fn obstacles(name: &str, summary: &Summary) -> Vec<Check> {
    let mut checks = Vec::new();
    if !summary.strict {
        checks.push(Check::error(
            "settings",
            format!("Claude Code ignores {name}, it has comments or trailing commas"),
            "remove them",
        ));
    }
    if summary.disables_all_hooks {
        checks.push(Check::error(
            "settings",
            format!("{name} says \"disableAllHooks\": true, so no hook runs"),
            "remove that line",
        ));
    }
    checks
}

fn hooks(
    name: &str,
    found: &Found,
    summary: &Summary,
    command: &str,
    exists: impl Fn(&str) -> bool,
) -> Vec<Check> {
    if summary.hooks.is_empty() {
        return vec![match found.has_plugin() {
            true => Check::ok("hooks", format!("{name} has the plugin")),
            false => Check::error("hooks", format!("{name} has no hooks of cld"), RUN_SETUP),
        }];
    }
    let mut checks = Vec::new();
    if found.has_plugin() {
        checks.push(Check::warn(
            "hooks",
            format!("{name} has the plugin and the hooks, every event runs cld twice"),
            "run `claude plugin uninstall cld` or `cld setup --uninstall`",
        ));
    }
    let is_missing = |event: &&str| !summary.hooks.iter().any(|(hook, _)| hook == event);
    let missing: Vec<&str> = events::registered().filter(is_missing).collect();
    if !missing.is_empty() {
        let message = format!("{name} lacks hooks for {}", missing.join(", "));
        checks.push(Check::warn("hooks", message, RUN_SETUP));
    }
    let others: Vec<&str> = distinct(summary).filter(|other| *other != command).collect();
    for other in &others {
        checks.push(another_program(name, other, &exists));
    }
    if missing.is_empty() && others.is_empty() {
        let count = summary.hooks.len();
        checks.push(Check::ok("hooks", format!("{name} has {count} hooks that run this cld")));
    }
    checks
}

fn another_program(name: &str, command: &str, exists: &impl Fn(&str) -> bool) -> Check {
    let program = crate::setup::program_of(command).unwrap_or_default();
    let shown = one_line(&program, 200);
    if exists(&program) {
        let message = format!("{name} runs {shown}, which is another cld than this one");
        return Check::warn("hooks", message, "run `cld setup` with the one you want");
    }
    Check::error("hooks", format!("{name} runs {shown}, which does not exist"), RUN_SETUP)
}

/// The commands of cld in a file, each once.
pub(super) fn distinct(summary: &Summary) -> impl Iterator<Item = &str> {
    let hooks = &summary.hooks;
    hooks.iter().enumerate().filter_map(|(position, (_, command))| {
        let repeated = hooks[..position].iter().any(|(_, earlier)| earlier == command);
        (!repeated).then_some(command.as_str())
    })
}

/// The files of a repository, which add to the user's own and can switch hooks off.
pub(super) fn project(repository: &Path) -> Vec<Check> {
    let files =
        ["settings.json", "settings.local.json"].map(|file| repository.join(".claude").join(file));
    files
        .into_iter()
        .flat_map(|path| {
            let found = Found::at(path);
            let name = shown(&found.path);
            match &found.content {
                Content::Missing => Vec::new(),
                Content::Broken(problem) => {
                    let message = format!("{name} cannot be read, {problem}");
                    vec![Check::warn("project", message, "correct the file")]
                }
                Content::Read(summary) => {
                    let mut checks = obstacles(&name, summary);
                    if found.has_hooks() {
                        // Identical commands of several files run once.
                        checks.push(Check::ok("project", format!("{name} has hooks of cld too")));
                    }
                    checks
                }
            }
        })
        .collect()
}

/// The settings of the administrator, in the directory where Claude Code looks for them.
pub(super) fn managed(dir: &Path) -> Vec<Check> {
    let mut files = vec![dir.join("managed-settings.json")];
    let added = fs::read_dir(dir.join("managed-settings.d")).into_iter().flatten();
    let added = added.filter_map(|entry| Some(entry.ok()?.path()));
    files
        .extend(added.filter(|path| path.extension().is_some_and(|extension| extension == "json")));
    files.sort();
    files
        .into_iter()
        .filter_map(|path| {
            let found = Found::at(path);
            let name = shown(&found.path);
            match &found.content {
                Content::Missing => None,
                Content::Broken(problem) => Some(Check::warn(
                    "managed",
                    format!("{name} cannot be read, {problem}"),
                    "ask the administrator whether hooks are allowed",
                )),
                Content::Read(summary)
                    if summary.disables_all_hooks || summary.only_managed_hooks =>
                {
                    let message = format!("{name} keeps hooks of users from running");
                    Some(Check::error("managed", message, "ask the administrator to allow them"))
                }
                Content::Read(_) => Some(Check::ok("managed", format!("{name} allows hooks"))),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::check::Level;
    use super::*;

    const COMMAND: &str = "/usr/bin/cld hook";

    #[track_caller]
    fn check(text: &str, expected: &[(Level, &str)]) {
        let content = match settings::summary(text) {
            Ok(summary) => Content::Read(summary),
            Err(refusal) => Content::Broken(refusal.to_string()),
        };
        let found = Found { path: PathBuf::from("/s.json"), content };
        let checks = config_dir(&found, COMMAND, |program| program == "/other/cld");
        let levels: Vec<Level> = checks.iter().map(|check| check.level).collect();
        let wanted: Vec<Level> = expected.iter().map(|(level, _)| *level).collect();
        assert_eq!(levels, wanted, "{checks:#?}");
        for (check, (_, piece)) in checks.iter().zip(expected) {
            assert!(check.message.contains(piece), "{check:?} should say {piece:?}");
        }
    }

    #[test]
    fn hooks_are_complete_and_run_this_program_or_it_is_told() {
        let installed = settings::install(None, COMMAND).unwrap();
        check(&installed, &[(Level::Ok, "29 hooks that run this cld")]);
        check("{}", &[(Level::Error, "no hooks of cld")]);
        check("", &[(Level::Error, "no hooks of cld")]);
        check("{", &[(Level::Error, "line 1 column 2")]);
        check(
            &installed.replace("\"Stop\"", "\"Start\""),
            &[(Level::Warn, "lacks hooks for Stop")],
        );
        check(
            &installed.replace("/usr/bin/cld", "/other/cld"),
            &[(Level::Warn, "runs /other/cld, which is another")],
        );
        check(
            &installed.replace("/usr/bin/cld", "/gone/cld"),
            &[(Level::Error, "runs /gone/cld, which does not exist")],
        );
    }

    #[test]
    fn what_keeps_hooks_from_running_is_told() {
        let installed = settings::install(Some("{\"disableAllHooks\": true}"), COMMAND).unwrap();
        check(&installed, &[(Level::Error, "disableAllHooks"), (Level::Ok, "29")]);
        let installed = settings::install(Some("{\"a\": 1,}"), COMMAND).unwrap();
        check(&installed, &[(Level::Error, "trailing commas"), (Level::Ok, "29")]);
    }

    #[test]
    fn the_plugin_counts_and_both_are_one_too_many() {
        let plugin = "{\"enabledPlugins\": {\"cld@cld\": true}}";
        check(plugin, &[(Level::Ok, "has the plugin")]);
        let both = settings::install(Some(plugin), COMMAND).unwrap();
        check(&both, &[(Level::Warn, "twice"), (Level::Ok, "29")]);
        check("{\"enabledPlugins\": {\"cld@cld\": false}}", &[(Level::Error, "no hooks")]);
    }

    #[test]
    fn managed_settings_may_forbid_hooks() {
        let dir = tempfile::tempdir().unwrap();
        assert!(managed(dir.path()).is_empty());
        fs::write(dir.path().join("managed-settings.json"), "{\"model\": \"opus\"}").unwrap();
        fs::create_dir(dir.path().join("managed-settings.d")).unwrap();
        let added = dir.path().join("managed-settings.d/10.json");
        fs::write(added, "{\"allowManagedHooksOnly\": true}").unwrap();
        fs::write(dir.path().join("managed-settings.d/README"), "{").unwrap();
        let levels: Vec<Level> = managed(dir.path()).iter().map(|check| check.level).collect();
        assert_eq!(levels, [Level::Error, Level::Ok]);
    }

    #[test]
    fn a_project_may_switch_hooks_off() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".claude")).unwrap();
        assert!(project(dir.path()).is_empty());
        let local = dir.path().join(".claude/settings.local.json");
        fs::write(&local, "{\"disableAllHooks\": true}").unwrap();
        assert_eq!(project(dir.path())[0].level, Level::Error);
        fs::write(&local, "{").unwrap();
        assert_eq!(project(dir.path())[0].level, Level::Warn);
    }
}
