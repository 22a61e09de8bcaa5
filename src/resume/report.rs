//! What `cld resume` says.

use std::ffi::OsStr;
use std::path::Path;

use crate::cli::Resume;
use crate::shell::quoted;
use crate::text::{one_line, shown};
use crate::tmux::Pane;

use super::conversation::Conversation;
use super::decision::Disagreement;
use super::directory::Source;
use super::offers::Offer;

/// The beginning of an id, as it is shown.
pub(super) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

pub(super) fn question(id: &str, dir: &Path) -> String {
    format!("Resume session {} from {}?", short(id), shown(dir))
}

pub(super) fn disagreement(id: &str, disagreement: &Disagreement) -> String {
    format!(
        "Two directories are known for session {}:\n  {} ({})\n  {} ({})",
        short(id),
        shown(&disagreement.pane),
        Source::Pane.words(),
        shown(&disagreement.home),
        disagreement.source.words(),
    )
}

pub(super) fn warning(id: &str, disagreement: &Disagreement) -> String {
    format!("cld: warning: {}\nGoing on with the second one.", self::disagreement(id, disagreement))
}

pub(super) fn jumping(id: &str, pane: &Pane) -> String {
    let address = one_line(&pane.address(), 80);
    format!("Session {} is open in {address} ({}), going there.", short(id), pane.id)
}

pub(super) fn open_elsewhere(id: &str, again: &Again) -> String {
    format!(
        "session {} is open, but in no tmux pane that can be found; opened twice, both would write \
         to one transcript\nTry: {}  (goes on under a new id)\n or: {}  (insists)",
        short(id),
        again.with("--fork"),
        again.with("--force"),
    )
}

pub(super) fn which(id: &str, source: Source) -> String {
    format!("Session {} may belong to several directories, each {}:", short(id), source.words())
}

pub(super) fn row(dir: &Path) -> String {
    let gone = if dir.is_dir() { "" } else { " (gone)" };
    format!("{}{gone}", shown(dir))
}

pub(super) fn needs_answer(id: &str, dir: &Path, current: Option<&Path>, again: &Again) -> String {
    let here = current.map_or_else(|| "the current directory".to_owned(), shown);
    format!(
        "session {} belongs to {}, and there is no terminal to ask on\n\
         Try: {}  (goes there)\n  or: {}  (stays in {here})",
        short(id),
        shown(dir),
        again.answered("-y"),
        again.answered("-n"),
    )
}

pub(super) fn several(
    id: &str,
    dirs: &[impl AsRef<Path>],
    source: Source,
    again: &Again,
) -> String {
    let rows: String = dirs.iter().map(|dir| format!("\n  {}", again.from(dir.as_ref()))).collect();
    format!(
        "session {} may belong to several directories, each {}\nTry one of:{rows}",
        short(id),
        source.words(),
    )
}

pub(super) fn gone(id: &str, dir: &Path, source: Source) -> String {
    let (id, dir) = (short(id), shown(dir));
    format!("session {id} belongs to {dir}, which is gone ({})", source.words())
}

pub(super) fn what_there_is(offers: &[Offer], again: &Again) -> String {
    let command = |offer: &Offer| match offer {
        Offer::Worktree(worktree) => {
            format!("\n  {} && {}", worktree.command_line(), again.answered("-y"))
        }
        Offer::Go { place, why } => format!("\n  {}  ({why})", again.from(place.path())),
    };
    let rows: String = offers.iter().map(command).collect();
    if rows.is_empty() { rows } else { format!("\nTry one of:{rows}") }
}

pub(super) fn unknown(id: &str, bucket: &str) -> String {
    let bucket = shown(Path::new(bucket));
    format!("nothing tells which directory session {} belongs to (folder {bucket})", short(id))
}

/// The command that was given, to be given again with another flag.
#[derive(Debug, Clone)]
pub(super) struct Again {
    answer: &'static str,
    flags: String,
    /// The session and the arguments, quoted for a shell.
    rest: String,
}

impl Again {
    /// The id is written out, because its beginning may fit other sessions later; where it names
    /// several transcripts, the path of the one that is meant stands for it.
    pub(super) fn new(options: &Resume, id: &str, conversation: Option<&Conversation>) -> Self {
        let double = conversation.filter(|conversation| conversation.is_double);
        let session = double.map_or(OsStr::new(id), |double| double.session.path.as_os_str());
        let flags =
            [(options.fork, " --fork"), (options.force, " --force"), (options.print, " --print")];
        let flags = flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag);
        let mut rest = quoted(session);
        if !options.arguments.is_empty() {
            rest.push_str(" --");
        }
        for argument in &options.arguments {
            rest.push(' ');
            rest.push_str(&quoted(argument));
        }
        let answer = match (options.yes, options.no) {
            (true, _) => " -y",
            (false, true) => " -n",
            (false, false) => "",
        };
        Self { answer, flags: flags.collect(), rest }
    }

    /// With `-y` or `-n` in place of the answer that was given.
    pub(super) fn answered(&self, answer: &str) -> String {
        format!("cld resume {answer}{} {}", self.flags, self.rest)
    }

    pub(super) fn with(&self, flag: &str) -> String {
        format!("cld resume{}{} {flag} {}", self.answer, self.flags, self.rest)
    }

    /// The same session, in the directory `dir`.
    pub(super) fn from(&self, dir: &Path) -> String {
        format!("cd -- {} && {}", quoted(dir.as_os_str()), self.answered("-n"))
    }
}
