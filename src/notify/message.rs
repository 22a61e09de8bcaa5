//! What a notification says, and how each channel has to be told so that nothing in it acts. Pure.

use crate::config::{Field, Protocol, Template};
use crate::session::{DialogKind, TurnEnd, WaitKind};
use crate::text::one_line;
use crate::tmux::Viewer;

/// The longest field, in bytes; terminals and notification servers have limits of their own.
const LONGEST_FIELD: usize = 300;
const LONGEST_TEXT: usize = 600;

/// The fields of a notification: one line each, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: WaitKind,
    project: String,
    title: String,
    context: String,
    window: String,
}

impl Message {
    pub(super) fn new(
        kind: WaitKind,
        project: &str,
        title: &str,
        context: &str,
        window: &str,
    ) -> Self {
        let [project, title, context, window] =
            [project, title, context, window].map(|text| one_line(text, LONGEST_FIELD));
        Self { kind, project, title, context, window }
    }

    pub(super) fn field(&self, field: Field) -> &str {
        match field {
            Field::Project => &self.project,
            Field::Title => &self.title,
            Field::Reason => reason(self.kind),
            Field::Context => &self.context,
            Field::Window => &self.window,
        }
    }

    /// The text of a template. A field that is empty leaves nothing behind at its end.
    pub(super) fn text(&self, template: &Template) -> String {
        let text = one_line(&template.fill(|field| self.field(field)), LONGEST_TEXT);
        text.trim_end_matches([' ', ':', '·', '-']).to_owned()
    }
}

fn reason(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Dialog(DialogKind::Permission) => "asks for permission",
        WaitKind::Dialog(DialogKind::Question) => "has a question",
        WaitKind::Dialog(DialogKind::Plan) => "has a plan",
        WaitKind::Dialog(DialogKind::Input) => "asks for input",
        WaitKind::Turn(TurnEnd::Done) => "is done",
        WaitKind::Turn(TurnEnd::Error) => "has failed",
    }
}

/// For `display-message`, whose argument is a format with the date in it.
pub(super) fn for_tmux(text: &str) -> String {
    text.replace('#', "##").replace('%', "%%")
}

/// For `notify-send`: servers take the body for markup.
pub(super) fn for_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// For `terminal-notifier`, which takes a value that begins with a dash for an option, and one that
/// begins with a bracket for a list.
pub(super) fn for_terminal_notifier(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("–{rest}"),
        None if text.starts_with(['[', '(', '{', '<', '"']) => format!("\\{text}"),
        None => text.to_owned(),
    }
}

/// The bytes that make the terminal of a client show a notification of the desktop.
pub(super) fn for_terminal(
    client: &Viewer,
    protocol: Protocol,
    id: &str,
    title: &str,
    text: &str,
) -> Vec<u8> {
    let is_nested = is_nested(client);
    let protocol = if protocol == Protocol::Auto { known_protocol(client) } else { protocol };
    let sequence = match protocol {
        Protocol::Osc777 => {
            let [title, text] = [title, text].map(|text| text.replace(';', ","));
            format!("\x1b]777;notify;{title};{text}\x1b\\")
        }
        Protocol::Osc99 => format!(
            "\x1b]99;i={id}:d=0:p=title;{title}\x1b\\\x1b]99;i={id}:d=1:p=body;{text}\x1b\\"
        ),
        Protocol::Osc9 | Protocol::Auto => {
            let whole = if title.is_empty() { text.to_owned() } else { format!("{title}: {text}") };
            // A number at the start would be one of the other commands that OSC 9 has, such as the
            // one for a progress bar.
            let blank = if whole.starts_with(|c: char| c.is_ascii_digit()) { " " } else { "" };
            format!("\x1b]9;{blank}{whole}\x07")
        }
    };
    // A tmux around this one hands on what stands in its own envelope, where it is allowed to.
    let sequence = match is_nested {
        true => format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")),
        false => sequence,
    };
    sequence.into_bytes()
}

fn is_nested(client: &Viewer) -> bool {
    let by_term = client.term.starts_with("tmux") || client.term.starts_with("screen");
    client.terminal.starts_with("tmux ") || (client.terminal.is_empty() && by_term)
}

/// By what the terminal calls itself, or by `$TERM`. OSC 9 is what most others take.
fn known_protocol(client: &Viewer) -> Protocol {
    let name = format!("{} {}", client.terminal, client.term).to_lowercase();
    let is_any = |names: &[&str]| names.iter().any(|one| name.contains(one));
    match () {
        () if is_any(&["kitty"]) => Protocol::Osc99,
        () if is_any(&["foot", "ghostty", "wezterm", "rxvt", "vte"]) => Protocol::Osc777,
        () => Protocol::Osc9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::is_unsafe;
    use proptest::prelude::*;

    fn message(context: &str) -> Message {
        let kind = WaitKind::Dialog(DialogKind::Permission);
        Message::new(kind, "api", "fix the test", context, "2:build")
    }

    fn client(terminal: &str, term: &str) -> Viewer {
        Viewer {
            name: String::new(),
            tty: String::new(),
            is_control: false,
            is_focused: true,
            window: String::new(),
            terminal: terminal.to_owned(),
            term: term.to_owned(),
        }
    }

    #[track_caller]
    fn check(terminal: &str, term: &str, protocol: Protocol, expected: &str) {
        let bytes = for_terminal(&client(terminal, term), protocol, "cld5", "T", "a;b");
        assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{terminal} {term}");
    }

    #[test]
    fn a_template_without_context_has_no_loose_end() {
        let template = Template::plain("{window} {reason}: {context}");
        assert_eq!(message("Bash: ls").text(&template), "2:build asks for permission: Bash: ls");
        assert_eq!(message("").text(&template), "2:build asks for permission");
    }

    #[test]
    fn each_terminal_gets_the_sequence_it_takes() {
        let osc9 = "\x1b]9;T: a;b\x07";
        let osc99 = "\x1b]99;i=cld5:d=0:p=title;T\x1b\\\x1b]99;i=cld5:d=1:p=body;a;b\x1b\\";
        let osc777 = "\x1b]777;notify;T;a,b\x1b\\";
        check("iTerm2 3.5.0", "xterm-256color", Protocol::Auto, osc9);
        check("", "xterm-256color", Protocol::Auto, osc9);
        check("kitty(0.35.2)", "xterm-kitty", Protocol::Auto, osc99);
        check("", "xterm-kitty", Protocol::Auto, osc99);
        check("foot(1.16.2)", "foot", Protocol::Auto, osc777);
        check("", "rxvt-unicode-256color", Protocol::Auto, osc777);
        check("kitty(0.35.2)", "xterm-kitty", Protocol::Osc777, osc777);
        let wrapped = "\x1bPtmux;\x1b\x1b]777;notify;T;a,b\x1b\x1b\\\x1b\\";
        check("tmux 3.3a", "screen-256color", Protocol::Osc777, wrapped);
        check("", "tmux-256color", Protocol::Osc777, wrapped);
        check("XTerm(370)", "screen-256color", Protocol::Osc777, osc777);
    }

    #[test]
    fn a_number_at_the_start_is_no_other_command_of_the_terminal() {
        let bytes = for_terminal(&client("", "xterm"), Protocol::Osc9, "cld5", "", "4;1;50");
        assert_eq!(bytes, b"\x1b]9; 4;1;50\x07");
    }

    #[test]
    fn texts_are_data_for_each_channel() {
        assert_eq!(for_tmux("#(x) #{y} 5% %H"), "##(x) ##{y} 5%% %%H");
        assert_eq!(for_markup("<b>a & b</b>"), "&lt;b&gt;a &amp; b&lt;/b&gt;");
        assert_eq!(for_terminal_notifier("rm -rf"), "rm -rf");
        assert_eq!(for_terminal_notifier("[x]"), "\\[x]");
        assert_eq!(for_terminal_notifier("-x"), "–x");
    }

    proptest! {
        /// Whatever the fields hold, the only control characters are those of the sequence itself.
        #[test]
        fn no_text_ends_the_sequence_it_stands_in(title in any::<String>(), context in any::<String>()) {
            let kind = WaitKind::Turn(TurnEnd::Done);
            let message = Message::new(kind, &title, &title, &context, &title);
            let (title, text) = (
                message.text(&Template::plain("{project} {title}")),
                message.text(&Template::plain("{context} {window}")),
            );
            prop_assert!(!title.contains(is_unsafe) && !text.contains(is_unsafe));
            prop_assert!(title.len() + text.len() <= 2 * LONGEST_TEXT);
            for (protocol, controls) in
                [(Protocol::Osc9, 2), (Protocol::Osc99, 4), (Protocol::Osc777, 2)]
            {
                let bytes = for_terminal(&client("", "xterm"), protocol, "cld5", &title, &text);
                let sequence = String::from_utf8(bytes).unwrap();
                prop_assert_eq!(sequence.chars().filter(|c| c.is_control()).count(), controls);
            }
        }
    }
}
