//! The only door to the person: questions on the terminal.
//!
//! Questions go to standard error, because standard output may be read by a script. They are
//! answered with a whole line: a key that was pressed too much must not reach the program that is
//! started next.

use std::io::{self, IsTerminal, Read, Write};

use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use crate::error::Stop;

const CTRL_C: u8 = 3;

/// Whether somebody is there to be asked.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether tmux could show a pane here.
pub fn can_show_tmux() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The path of the terminal, where there is one.
pub fn name() -> Option<String> {
    let name = rustix::termios::ttyname(io::stdin(), Vec::new()).ok()?;
    name.into_string().ok()
}

/// Prints the answer to a command.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Whether nobody reads standard output any more, as when `head` has seen enough.
pub fn is_reader_gone() -> bool {
    let out = io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_ready = rustix::event::poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0);
    is_ready && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Says something that is no answer to the command itself.
pub fn note(text: &str) {
    // Nobody reads it where standard error is closed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Asks until the answer is yes, which an empty line is too, or no, which stops the command.
pub fn confirm(question: &str) -> Result<()> {
    loop {
        match &*ask(&format!("{question} [Yn] "))?.to_lowercase() {
            "" | "y" | "yes" => return Ok(()),
            "n" | "no" => return Err(Stop::Declined.into()),
            _ => {}
        }
    }
}

/// Asks until one of the numbered rows is chosen; an empty line or `q` stops the command.
pub fn choose(question: &str, rows: &[String]) -> Result<usize> {
    let mut list = String::new();
    for (number, row) in (1..).zip(rows) {
        list.push_str(&format!("  {number}) {row}\n"));
    }
    io::stderr().write_all(list.as_bytes())?;
    loop {
        let answer = ask(&format!("{question} [1-{}] ", rows.len()))?;
        if let Some(chosen) = answer.parse().ok().and_then(|number: usize| number.checked_sub(1))
            && chosen < rows.len()
        {
            return Ok(chosen);
        }
        if matches!(&*answer, "" | "q" | "n") {
            return Err(Stop::Declined.into());
        }
    }
}

fn ask(question: &str) -> Result<String> {
    // Before the question: whoever sees it may answer it.
    let _quiet = Quiet::begin()?;
    let mut stderr = io::stderr();
    stderr.write_all(question.as_bytes())?;
    stderr.flush()?;
    match line()? {
        Some(answer) => Ok(answer),
        None => {
            writeln!(stderr)?;
            Err(Stop::Declined.into())
        }
    }
}

/// One line, or nothing where Ctrl+C or Ctrl+D was pressed instead.
fn line() -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let length = io::stdin().lock().read(&mut piece)?;
        line.extend_from_slice(&piece[..length]);
        match line.last() {
            Some(b'\n') => return Ok(Some(String::from_utf8_lossy(&line).trim().to_owned())),
            Some(&CTRL_C) | None => return Ok(None),
            Some(_) if length == 0 => return Ok(None),
            Some(_) => {}
        }
    }
}

/// While it lives, Ctrl+C ends the line instead of the program, so that the program can end as it
/// ends at any other no.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> io::Result<Self> {
        let before = rustix::termios::tcgetattr(io::stdin())?;
        let mut during = before.clone();
        during.local_modes.remove(LocalModes::ISIG);
        during.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
        rustix::termios::tcsetattr(io::stdin(), OptionalActions::Drain, &during)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A terminal that went away needs no repair.
        let _ = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Drain, &self.0);
    }
}
