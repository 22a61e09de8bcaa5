//! `cld log`: the journal and the debug log as one list, oldest first.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cli::Log;
use crate::session::Moment;
use crate::text::one_line;
use crate::{clock, journal, paths};

const LONGEST_LINE: usize = 400;
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

pub fn run(options: &Log) -> Result<()> {
    let dir = paths::state_dir().context("HOME is not set, so there is no state directory")?;
    let mut followed = [journal::JOURNAL, journal::DEBUG].map(|name| Followed::new(dir.join(name)));
    let mut lines = Vec::new();
    for file in &mut followed {
        lines.extend(file.whole());
    }
    lines.sort();
    let skipped = lines.len().saturating_sub(options.lines);
    print(&lines[skipped..])?;
    if !options.follow {
        return Ok(());
    }
    loop {
        thread::sleep(FOLLOW_INTERVAL);
        let mut new: Vec<String> = followed.iter_mut().flat_map(Followed::new_lines).collect();
        new.sort();
        print(&new)?;
    }
}

fn print(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// A log file, and how much of it has been read. It may not exist yet, and may be moved aside.
struct Followed {
    path: PathBuf,
    inode: u64,
    offset: u64,
}

impl Followed {
    fn new(path: PathBuf) -> Self {
        Self { path, inode: 0, offset: 0 }
    }

    fn whole(&mut self) -> Vec<String> {
        let mut lines = match File::open(journal::moved_aside(&self.path)) {
            Ok(file) => read_lines(BufReader::new(file)).0,
            Err(_) => Vec::new(),
        };
        lines.extend(self.new_lines());
        lines
    }

    fn new_lines(&mut self) -> Vec<String> {
        self.read_new().unwrap_or_default()
    }

    fn read_new(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let inode = std::fs::metadata(&self.path)?.ino();
        if self.inode != 0 && inode != self.inode {
            // Moved aside since the last look: its last lines come first.
            lines.extend(self.read_from(&journal::moved_aside(&self.path)).unwrap_or_default());
            self.offset = 0;
        }
        self.inode = inode;
        let path = self.path.clone();
        lines.extend(self.read_from(&path)?);
        Ok(lines)
    }

    fn read_from(&mut self, path: &Path) -> io::Result<Vec<String>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let (lines, length) = read_lines(BufReader::new(file));
        self.offset += length;
        Ok(lines)
    }
}

/// Whole lines made readable, and their length in the file; a line still being written stays.
fn read_lines(mut file: BufReader<impl Read>) -> (Vec<String>, u64) {
    let (mut lines, mut length) = (Vec::new(), 0);
    let mut line = Vec::new();
    while matches!(file.read_until(b'\n', &mut line), Ok(1..)) && line.ends_with(b"\n") {
        length += line.len() as u64;
        lines.push(readable(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    (lines, length)
}

/// One line of the journal; see the hook's report for the writing side.
#[derive(Deserialize)]
struct Entry {
    at: u64,
    event: String,
    session: String,
    pane: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    opened: String,
    #[serde(default)]
    ended: Vec<String>,
}

fn readable(line: &str) -> String {
    let Ok(entry) = serde_json::from_str::<Entry>(line) else {
        return one_line(line, LONGEST_LINE);
    };
    let mut text = format!(
        "{} {} session={} pane={}",
        clock::utc(Moment::from_micros(entry.at)),
        entry.event,
        entry.session,
        entry.pane,
    );
    let ended = entry.ended.iter().filter_map(|dialog| kind_of(dialog));
    let sentences = [entry.status.clone()]
        .into_iter()
        .chain(kind_of(&entry.opened).map(|kind| format!("opens {kind}")))
        .chain(ended.map(|kind| format!("ends {kind}")))
        .filter(|sentence| !sentence.is_empty());
    let said: Vec<String> = sentences.collect();
    text.push(' ');
    text.push_str(&said.join(", "));
    one_line(&text, LONGEST_LINE)
}

/// What the letter in `AGENT.CALL.KIND@MOMENT` or a lone `KIND` stands for.
fn kind_of(wait: &str) -> Option<&'static str> {
    match wait.split('@').next()?.rsplit('.').next()? {
        "p" => Some("a permission"),
        "q" => Some("a question"),
        "l" => Some("a plan"),
        "i" => Some("an input"),
        "d" => Some("a finished turn"),
        "e" => Some("a failed turn"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_line_becomes_a_sentence() {
        let head = r#"{"at":1794964287516000,"session":"23e30f82","pane":"%5","server":1"#;
        for (rest, said) in [
            (r#","event":"UserPromptSubmit","status":"running"}"#, "running"),
            (
                r#","event":"PermissionRequest","status":"stopped","opened":"main.00ff.p"}"#,
                "stopped, opens a permission",
            ),
            (
                r#","event":"PostToolUse","ended":["main.00ff.p@1794964287516000"]}"#,
                "ends a permission",
            ),
            (
                r#","event":"Stop","status":"stopped","opened":"d"}"#,
                "stopped, opens a finished turn",
            ),
        ] {
            let line = readable(&format!("{head}{rest}"));
            assert!(line.starts_with("2026-11-18T01:11:27.516Z "), "{line}");
            assert!(line.ends_with(&format!("session=23e30f82 pane=%5 {said}")), "{line}");
        }
    }

    #[test]
    fn other_lines_are_shown_as_they_are_but_for_control_characters() {
        assert_eq!(readable("2026 Stop \u{1b}[31m applied\n"), "2026 Stop [31m applied");
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_later() {
        let (lines, length) = read_lines(BufReader::new("one\ntw".as_bytes()));
        assert_eq!((lines, length), (vec!["one".to_owned()], 4));
    }
}
