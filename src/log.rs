//! `cld log`: the journal and the debug log as one list, oldest first.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cli::Log;
use crate::journal::{Entry, Followed};
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
        lines.extend(file.whole().iter().map(|line| readable(line)));
    }
    lines.sort();
    let skipped = lines.len().saturating_sub(options.lines);
    print(&lines[skipped..])?;
    if !options.follow {
        return Ok(());
    }
    loop {
        thread::sleep(FOLLOW_INTERVAL);
        let new = followed.iter_mut().flat_map(Followed::new_lines);
        let mut new: Vec<String> = new.map(|line| readable(&line)).collect();
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

fn readable(line: &str) -> String {
    let Some(entry) = Entry::parse(line) else {
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
        .chain(kind_of(&entry.about).map(|kind| format!("about {kind}")))
        .chain(entry.told.iter().map(|channel| format!("told through {channel}")))
        .chain(entry.failed.iter().map(|(channel, why)| format!("{channel} failed: {why}")))
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
                r#","event":"notify","about":"q@1794964287516000","told":["tmux"],"failed":{"phone":"exit code 3"}}"#,
                "about a question, told through tmux, phone failed: exit code 3",
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
}
