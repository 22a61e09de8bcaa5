//! The whole terminal, taken and given back, whatever ends the picker.
//!
//! Frames go to standard error, because standard output may be read by a script.

use std::io::{self, BufWriter, IsTerminal, Stderr, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::queue;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;

use super::model::Model;
use super::view::View;
use crate::error::Stop;
use crate::session::Moment;

/// Presses and the wheel, but not every move of the mouse.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";
/// A frame goes out in one piece, so that no half of one is ever seen.
const WHOLE_FRAME: usize = 256 * 1024;

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal is ours as long as this lives.
#[derive(Debug)]
pub struct Fullscreen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
}

impl Fullscreen {
    pub fn begin() -> Result<Self> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            let message = "pick needs a terminal\nTry: cld ls --all";
            return Err(Stop::Usage(message.to_owned()).into());
        }
        give_back_after_panic();
        enable_raw_mode().context("the terminal cannot be used")?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        let mut out = BufWriter::with_capacity(WHOLE_FRAME, io::stderr());
        let taken = queue!(out, EnterAlternateScreen, EnableBracketedPaste, Print(MOUSE_ON));
        let terminal = taken.and_then(|()| Terminal::new(CrosstermBackend::new(out)));
        match terminal {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error).context("the terminal cannot be used")
            }
        }
    }

    pub(super) fn area(&self) -> Rect {
        let size = self.terminal.size().unwrap_or_default();
        Rect::new(0, 0, size.width, size.height)
    }

    pub(super) fn draw(&mut self, view: &mut View, model: &Model, now: Moment) -> io::Result<()> {
        let drawn = self.terminal.draw(|frame| {
            if let Some(cursor) = view.draw(model, now, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        });
        drawn.map(|_| ())
    }

    /// Puts a text into the clipboard of terminals that let programs do so.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
        io::Write::flush(out)
    }
}

impl Drop for Fullscreen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back_after_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let was_taken = give_back();
            before(info);
            // Any of the threads may have been the one; the others would wait for it for ever.
            if was_taken {
                std::process::exit(101);
            }
        }));
    });
}

/// Makes the terminal what it was before; true where it was ours. A terminal that went away needs
/// no repair.
fn give_back() -> bool {
    let was_taken = IS_TAKEN.swap(false, Ordering::SeqCst);
    if was_taken {
        let mut out = io::stderr();
        let _ = queue!(out, Print(MOUSE_OFF), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
    was_taken
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for digit in 0..4 {
            let sextet = bits >> (18 - 6 * digit) & 63;
            let is_padding = digit > three.len();
            text.push(if is_padding { '=' } else { char::from(DIGITS[sextet as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn bytes_are_written_in_base64() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("23e30f82-0000", "MjNlMzBmODItMDAwMA=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
