//! What tmux gets out of a batch is what was put into it.

use cld::tmux::Batch;

/// The bytes are commands, separated by byte 0, of words separated by byte 1.
pub(crate) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let commands: Vec<[String; 3]> = text.split('\0').map(three_words).collect();
    let mut batch = Batch::default();
    for command in &commands {
        batch.push(command.each_ref().map(String::as_str));
    }
    assert_eq!(as_tmux_reads(&batch.words()), commands);
}

/// A command is never empty, and its name is no data.
fn three_words(command: &str) -> [String; 3] {
    let (first, second) = command.split_once('\u{1}').unwrap_or((command, ""));
    ["set".to_owned(), first.to_owned(), second.to_owned()]
}

/// The rule of tmux's own parser of arguments: an argument that ends in `;` ends the command
/// there, unless a backslash stands before it, which is then taken away.
fn as_tmux_reads(words: &[String]) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    for word in words {
        let mut word = word.clone();
        let mut ends = false;
        if word.ends_with(';') {
            word.pop();
            if word.ends_with('\\') {
                word.pop();
                word.push(';');
            } else {
                ends = true;
            }
        }
        let last = commands.last_mut().expect("there is always one");
        if !ends || !word.is_empty() {
            last.push(word);
        }
        if ends {
            commands.push(Vec::new());
        }
    }
    commands
}
