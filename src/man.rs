//! `cld man`: the manual, which is part of the program.

use std::fs::{self, DirBuilder};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cli::Man;
use crate::clock;
use crate::screen::Screen;
use crate::text::{one_line, shown};

mod pages;
mod plain;

use pages::PAGES;

/// Text of a manual is not set wider than this, as `man` does it.
const WIDEST: usize = 80;

/// A page: its file name, and its text.
type Page = (&'static str, &'static str);

pub fn run(options: &Man) -> Result<()> {
    if let Some(folder) = &options.write {
        return write(folder);
    }
    if options.list {
        let list: String = names().iter().map(|name| format!("{name}\n")).collect();
        return Ok(io::stdout().write_all(list.as_bytes())?);
    }
    let page = find(options.page.as_deref().unwrap_or("cld"))?;
    if io::stdout().is_terminal() && show(page).is_ok_and(|was_shown| was_shown) {
        return Ok(());
    }
    let width = Screen::of_stdout().width.unwrap_or(WIDEST).min(WIDEST);
    Ok(io::stdout().write_all(plain::text(page.1, width).as_bytes())?)
}

/// How the pages are asked for: by command, with the section where that is not the first.
pub fn names() -> Vec<String> {
    let name = |(file, _): &Page| {
        let (name, section) = file.rsplit_once('.').unwrap_or((file, ""));
        let name = name.strip_prefix("cld-").unwrap_or(name);
        if section == "1" { name.to_owned() } else { format!("{name}.{section}") }
    };
    PAGES.iter().map(name).collect()
}

/// A command may have pages in several sections; the first one is meant unless one is named.
fn find(asked: &str) -> Result<Page> {
    let fits = |(file, _): &&Page| {
        let short = file.strip_prefix("cld-").unwrap_or(file);
        [file, short].into_iter().any(|file| {
            file == asked || file.rsplit_once('.').is_some_and(|(name, _)| name == asked)
        })
    };
    let Some(page) = PAGES.iter().find(fits) else {
        let names = names().join(", ");
        bail!("the manual has no page {}. It has: {names}", one_line(asked, 40));
    };
    Ok(*page)
}

/// By the `man` of the system, whose pager and colours the user is used to.
#[expect(clippy::disallowed_methods, reason = "this is the door to man")]
fn show((file, text): Page) -> io::Result<bool> {
    let folder = Folder::new()?;
    let path = folder.0.join(file);
    fs::write(&path, text)?;
    Ok(Command::new("man").arg(&path).status()?.success())
}

/// Each page into the folder of its section.
fn write(folder: &Path) -> Result<()> {
    for (file, text) in PAGES {
        let section = file.rsplit_once('.').map_or("1", |(_, section)| section);
        let folder = folder.join(format!("man{section}"));
        let path = folder.join(file);
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text));
        written.with_context(|| format!("{} could not be written", shown(&path)))?;
    }
    Ok(())
}

/// A folder that is gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let name = format!("cld-man-{}-{}", std::process::id(), clock::now().micros());
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_command_by_name_and_by_section() {
        for (asked, file) in [
            ("cld", "cld.1"),
            ("resume", "cld-resume.1"),
            ("cld-resume", "cld-resume.1"),
            ("cld-resume.1", "cld-resume.1"),
            ("config.5", "cld-config.5"),
            ("hub.7", "cld-hub.7"),
        ] {
            assert_eq!(find(asked).unwrap().0, file);
        }
        let error = find("resum").unwrap_err().to_string();
        assert!(error.contains("resume") && error.contains("hub.7"), "{error}");
    }

    #[test]
    fn every_page_is_plain_text_without_leftovers() {
        for (file, page) in PAGES {
            let text = plain::text(page, WIDEST);
            assert!(text.contains("NAME\n"), "{file}");
            for line in text.lines() {
                let leftover =
                    ["\\f", "\\[", "\\-", "\\("].iter().any(|escape| line.contains(escape))
                        || line.trim_start().starts_with(".S");
                assert!(!leftover, "{file}: {line}");
            }
        }
    }
}
