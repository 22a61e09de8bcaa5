//! Text that is typed into a pane as a person would paste it, for `cld send` and the hub.
//!
//! The text goes to tmux on standard input, so nothing in it is ever read by tmux's parser, and
//! tmux itself writes the marks around a paste. What could end a paste from inside is taken out.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::pane::{ASKING, SESSION_ID};
use crate::paths;
use crate::session::PaneId;
use crate::tmux::{self, Answer, Batch, Pane};

/// Commands tmux does not know: in the branch of an `if` they end the batch with an error that names
/// them.
const REFUSED: &str = "cld-refused";
const SCROLLED: &str = "cld-scrolled";

/// The text without anything that is not text: a terminal would take control characters for keys,
/// and the mark that ends a paste for its end, so that the rest would be typed. Lines end with a
/// line feed alone; blanks at the end are dropped, as a line feed there would open an empty line.
pub fn pasteable(text: &str) -> String {
    let plain = text.replace("\r\n", "\n").replace('\r', "\n");
    let plain = without_paste_marks(&plain);
    let kept: String =
        plain.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim_end().to_owned()
}

/// Taking the escape character away would be enough; the rest of the mark is no text either.
fn without_paste_marks(text: &str) -> String {
    let mut plain = text.to_owned();
    for mark in ["\u{1b}[200~", "\u{1b}[201~", "\u{9b}200~", "\u{9b}201~"] {
        while plain.contains(mark) {
            plain = plain.replace(mark, "");
        }
    }
    plain
}

/// How long after a paste Claude Code may still be taking it in: a key that comes too early becomes
/// part of it.
pub fn settling_time(text: &str) -> Duration {
    Duration::from_millis(150 + text.len() as u64 / 1024)
}

/// A pane that text is typed into.
#[derive(Debug)]
pub struct Typist<'a> {
    pub socket: &'a Path,
    pub pane: PaneId,
    /// A format that comes true in the tmux server when the text must not be typed; see [`guard`].
    pub guard: String,
    /// The name of the buffer, which no other process uses.
    pub buffer: String,
    pub limit: Duration,
}

/// Why something was not typed.
#[derive(Debug)]
pub enum Refusal {
    /// The guard has come true.
    Changed,
    /// A mode of tmux is shown instead of the pane's program.
    Mode,
    Tmux(Answer),
}

impl Typist<'_> {
    /// Pastes text that is [`pasteable`] as one.
    pub fn paste(&self, text: &str) -> Result<(), Refusal> {
        let pane = self.pane.to_string();
        let mut paste = Batch::default();
        paste.push(["load-buffer", "-b", &self.buffer, "-"]);
        paste.push(["if", "-F", "-t", &pane, &self.guard, REFUSED]);
        paste.push(["if", "-F", "-t", &pane, "#{pane_in_mode}", SCROLLED]);
        paste.push(["paste-buffer", "-d", "-p", "-r", "-b", &self.buffer, "-t", &pane]);
        let mut pasted = self.run(&paste, text.as_bytes());
        if matches!(pasted, Err(Refusal::Mode)) {
            // In a pane that is scrolled, tmux does not mark where a paste begins and ends.
            let mut leave = Batch::default();
            leave.push(["send-keys", "-t", &pane, "-X", "cancel"]);
            let _ = self.run(&leave, &[]);
            pasted = self.run(&paste, text.as_bytes());
        }
        if pasted.is_err() {
            // Nobody else may paste it later.
            let mut forget = Batch::default();
            forget.push(["delete-buffer", "-b", &self.buffer]);
            let _ = self.run(&forget, &[]);
        }
        pasted
    }

    /// Sends what was pasted. A key that is sent is taken by a mode that somebody has just entered;
    /// one that is pasted is not.
    pub fn submit(&self) -> Result<(), Refusal> {
        let pane = self.pane.to_string();
        let mut submit = Batch::default();
        submit.push(["if", "-F", "-t", &pane, &self.guard, REFUSED]);
        submit.push(["set-buffer", "-b", &self.buffer, "\r"]);
        submit.push(["paste-buffer", "-d", "-r", "-b", &self.buffer, "-t", &pane]);
        self.run(&submit, &[])
    }

    fn run(&self, batch: &Batch, input: &[u8]) -> Result<(), Refusal> {
        let deadline = Instant::now() + self.limit;
        match tmux::run_with_input(&paths::tmux_program(), self.socket, batch, input, deadline) {
            Answer::Done(_) => Ok(()),
            Answer::Refused(said) if said.contains(SCROLLED) => Err(Refusal::Mode),
            Answer::Refused(said) if said.contains(REFUSED) => Err(Refusal::Changed),
            answer => Err(Refusal::Tmux(answer)),
        }
    }
}

/// Comes true in the tmux server when the pane is no longer what was seen: the server is another
/// one, the session is another one, or a dialog is open that was not there.
pub fn guard(pane: &Pane) -> String {
    let other_server = other_server(pane.server_pid);
    let Some(kept) = &pane.kept else { return other_server };
    let other_session = format!("#{{!=:#{{{SESSION_ID}}},{}}}", kept.session.as_str());
    // A dialog that was denied stays in the option until the next prompt.
    let known: Vec<String> = kept.dialogs.iter().map(|dialog| dialog.since.to_string()).collect();
    let asking = match known.is_empty() {
        true => format!("#{{{ASKING}}}"),
        false => format!("#{{s/[|][0-9a-z.]*@({}) [^|]*//:{ASKING}}}", known.join("|")),
    };
    let new_dialog = format!("#{{?{asking},1,0}}");
    format!("#{{||:{other_server},#{{||:{other_session},{new_dialog}}}}}")
}

/// The same where nothing but the server is known.
pub fn other_server(pid: u32) -> String {
    format!("#{{!=:#{{pid}},{pid}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(pasteable(text), expected, "{text:?}");
    }

    #[test]
    fn what_a_person_writes_stays_as_it_is() {
        let text = "fix\n\n\tthe 日本語 parser 👩‍💻\n  - $HOME; #{pane_id} `x` \\ \"y\" 'z' %5";
        check(text, text);
    }

    #[test]
    fn what_would_be_taken_for_keys_is_removed() {
        check("a\u{1b}[201~rm -rf /\r", "arm -rf /");
        check("a\u{1b}[20\u{1b}[201~1~b", "ab");
        check("a\u{9b}201~b\u{3}\u{7f}\u{0}", "ab");
        check("one\r\ntwo\rthree\n\n", "one\ntwo\nthree");
        check(" \n\t\u{1b}", "");
    }

    #[test]
    fn long_texts_take_longer_to_settle() {
        assert_eq!(settling_time("x"), Duration::from_millis(150));
        assert_eq!(settling_time(&"x".repeat(1 << 20)), Duration::from_millis(150 + 1024));
    }

    proptest! {
        #[test]
        fn nothing_that_acts_is_left(text in any::<String>(), marks in prop::collection::vec(0_usize..4, 0..4)) {
            let mut text = text;
            for mark in marks {
                let at = text.floor_char_boundary(text.len() / (mark + 1));
                text.insert_str(at, ["\u{1b}[201~", "\u{1b}[20", "1~", "\u{9b}201~"][mark]);
            }
            let plain = pasteable(&text);
            prop_assert!(plain.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{plain:?}");
            prop_assert_eq!(pasteable(&plain), plain);
        }
    }
}
