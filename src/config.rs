//! `config.toml`: what the user has chosen, with a default for everything, and `cld config`.
//!
//! A new setting is one call of `Section::get` with its name, default and description; a new
//! section is one more field of [`Config`]. Reading, unknown names, `cld config show` and the
//! problems that `cld doctor` tells all follow from that.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags};

use crate::cli::{self, ConfigCommand};
use crate::session::WaitKind;
use crate::text::{one_line, shown};
use crate::{paths, spelling, terminal};

mod notify;
mod reader;
mod sections;
mod show;
mod template;
mod values;

pub use notify::{Channel, Notify, Protocol, Way};
pub use reader::{Problem, Setting};
pub use sections::{Display, Keys, Tabs};
pub use template::{Field, Template};
pub use values::{Icons, Key, Quiet, TabStyle};

use reader::Reader;

/// More is no configuration.
const LARGEST: u64 = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub tabs: Tabs,
    pub display: Display,
    pub notify: Notify,
    pub keys: Keys,
}

/// What the hook needs, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForHook {
    pub tabs: Tabs,
    /// The kinds of waits that may be notified of; none where there is no channel.
    pub notified: Vec<WaitKind>,
}

/// The configuration with all that can be said about it.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    pub path: Option<PathBuf>,
    pub exists: bool,
    pub settings: Vec<Setting>,
    pub problems: Vec<Problem>,
}

/// `cld config`
pub fn run(options: &cli::Config) -> Result<()> {
    let text = match &options.command {
        ConfigCommand::Path => {
            let path = paths::config_file().context("HOME is not set, so there is no file")?;
            let mut line = std::os::unix::ffi::OsStringExt::into_vec(path.into_os_string());
            line.push(b'\n');
            line
        }
        ConfigCommand::Show { keys } => {
            let mut loaded = load();
            loaded.keep(keys)?;
            for problem in loaded.complaints() {
                terminal::note(&format!("cld: {problem}"));
            }
            loaded.document().into_bytes()
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    Ok(out.flush()?)
}

/// Never fails: what cannot be read has its default.
pub fn load() -> Loaded {
    let path = paths::config_file();
    let (text, unreadable) = match path.as_deref().map(read) {
        None | Some(Ok(None)) => (None, None),
        Some(Ok(Some(text))) => (Some(text), None),
        Some(Err(error)) => (Some(String::new()), Some(error)),
    };
    let (config, settings, mut problems) = parse(text.as_deref().unwrap_or_default());
    if let Some(error) = unreadable {
        problems.push(Problem { line: None, message: format!("it cannot be read: {error}") });
    }
    Loaded { config, path, exists: text.is_some(), settings, problems }
}

/// The least work for the hook, which runs on every event: without a file this is one failed open.
pub fn for_hook() -> ForHook {
    let text = paths::config_file().and_then(|path| read(&path).ok().flatten());
    let text = text.unwrap_or_default();
    let mut reader = Reader::values_only(&text);
    ForHook {
        tabs: reader.section("tabs", Tabs::read),
        notified: reader.section("notify", Notify::read_kinds),
    }
}

/// What is wrong with the file, one sentence each, with its name and the line.
pub fn problems() -> Vec<String> {
    load().complaints()
}

impl Loaded {
    /// What is wrong, one sentence each, with the name of the file and the line.
    pub fn complaints(&self) -> Vec<String> {
        let name = self.path.as_deref().map_or_else(String::new, shown);
        let problem = |problem: &Problem| match problem.line {
            Some(line) => format!("{name}:{line}: {}", problem.message),
            None => format!("{name}: {}", problem.message),
        };
        self.problems.iter().map(problem).collect()
    }

    /// Leaves out the settings that are not named, by themselves or by their section.
    fn keep(&mut self, keys: &[String]) -> Result<()> {
        let fits = |setting: &Setting, key: &str| {
            let name = setting.name();
            name == key || name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
        };
        for key in keys {
            if !self.settings.iter().any(|setting| fits(setting, key)) {
                let names: Vec<String> = self.settings.iter().map(Setting::name).collect();
                let near = spelling::nearest(key, names.iter().map(String::as_str));
                let near = near.map_or_else(
                    || "\nTry: cld config show".to_owned(),
                    |near| format!("; did you mean `{near}`?"),
                );
                bail!("there is no setting `{}`{near}", one_line(key, 80));
            }
        }
        let is_named = |setting: &Setting| keys.iter().any(|key| fits(setting, key));
        self.settings.retain(|setting| keys.is_empty() || is_named(setting));
        Ok(())
    }

    fn document(&self) -> String {
        let name =
            self.path.as_deref().map_or_else(|| "no file, HOME is not set".to_owned(), shown);
        let missing = if self.exists { "" } else { " (does not exist)" };
        format!("# {name}{missing}\n{}", show::document(&self.settings))
    }
}

pub(crate) fn parse(text: &str) -> (Config, Vec<Setting>, Vec<Problem>) {
    let mut reader = Reader::new(text);
    let config = Config {
        tabs: reader.section("tabs", Tabs::read),
        display: reader.section("display", Display::read),
        notify: reader.section("notify", Notify::read),
        keys: reader.section("keys", Keys::read),
    };
    let (settings, problems) = reader.finish();
    (config, settings, problems)
}

/// Nothing where there is no file. A pipe in its place must not stop the hook.
fn read(path: &Path) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than 256 KiB"));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;
