//! What the records of a transcript say, gathered from the newest record backwards: most facts are
//! those of the last record that has them, so a reader that wants only these can stop early.

use super::prompt::{Said, said};
use super::record::{Message, Part, Record, bounded, inner};
use super::time::parse_utc;
use crate::lenient::{exact, flag, text, words};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::SystemTime;

/// Which part of the file a line was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The file is small and was read in one go.
    Whole,
    Head,
    Tail,
}

/// A directory that records name as theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenCwd {
    pub path: String,
    pub first_seen: Piece,
    pub last_seen: Piece,
}

/// The git worktree that Claude Code made for the session (`claude -w`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    pub original_cwd: Option<String>,
    pub path: Option<String>,
    pub branch: Option<String>,
}

/// The user's last words and Claude's last words, cut to a bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastExchange {
    pub prompt: Option<String>,
    pub reply: Option<String>,
    /// Whether the reply came after the prompt.
    pub is_answered: bool,
}

pub(super) struct Evidence<'a, S> {
    bucket: &'a str,
    slug_of: &'a S,
    wants_everything: bool,
    /// In the reverse order of first sight.
    pub(super) cwds: Vec<SeenCwd>,
    pub(super) bucket_cwd: Option<String>,
    pub(super) last_cwd: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) entrypoint: Option<String>,
    pub(super) is_in_team: bool,
    pub(super) has_turn: bool,
    last_turn_at: Option<SystemTime>,
    last_record_at: Option<SystemTime>,
    has_main_record: bool,
    has_side_record: bool,
    pub(super) is_interrupted: Option<bool>,
    pub(super) exchange: LastExchange,
    pub(super) relocated_cwd: Option<String>,
    /// What the last worktree record says, which may be that there is none.
    worktree: Option<Option<Worktree>>,
    /// By kind of mark, the most explicit one first.
    fork: [Option<String>; 3],
}

/// A step of the conversation, as opposed to commands, reminders and book-keeping.
#[derive(PartialEq, Eq)]
enum Turn {
    Prompt(String),
    Answer,
    Interruption,
    /// A tool's result or a picture.
    Wordless,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorktreeSession<'a> {
    #[serde(borrow)]
    original_cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    worktree_path: Option<&'a RawValue>,
    #[serde(borrow)]
    worktree_branch: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForkedFrom<'a> {
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
}

impl<'a, S: Fn(&str) -> String> Evidence<'a, S> {
    pub(super) fn new(bucket: &'a str, slug_of: &'a S, wants_everything: bool) -> Self {
        Self {
            bucket,
            slug_of,
            wants_everything,
            cwds: Vec::new(),
            bucket_cwd: None,
            last_cwd: None,
            branch: None,
            entrypoint: None,
            is_in_team: false,
            has_turn: false,
            last_turn_at: None,
            last_record_at: None,
            has_main_record: false,
            has_side_record: false,
            is_interrupted: None,
            exchange: LastExchange::default(),
            relocated_cwd: None,
            worktree: None,
            fork: [None, None, None],
        }
    }

    /// Takes lines of one piece, the newest first, until all that is wanted is known.
    pub(super) fn take_all<'l>(
        &mut self,
        newest_first: impl Iterator<Item = &'l [u8]>,
        piece: Piece,
    ) {
        for line in newest_first {
            if self.is_enough() {
                return;
            }
            if let Some(record) = Record::parse(line) {
                self.take(&record, piece);
            }
        }
    }

    pub(super) fn is_enough(&self) -> bool {
        !self.wants_everything && self.bucket_cwd.is_some() && self.last_turn_at.is_some()
    }

    /// Every record that says so belongs to a side conversation. Old versions wrote those into the
    /// session's own file.
    pub(super) fn is_sidechain(&self) -> bool {
        self.has_side_record && !self.has_main_record
    }

    /// When somebody last said something, else when anything was last recorded.
    pub(super) fn last_active(&self) -> Option<SystemTime> {
        self.last_turn_at.or(self.last_record_at)
    }

    pub(super) fn worktree(&mut self) -> Option<Worktree> {
        self.worktree.take().flatten()
    }

    /// The session this one was forked from, by the most explicit mark found.
    pub(super) fn forked_from(&mut self) -> Option<String> {
        self.fork.iter_mut().find_map(Option::take)
    }

    fn take(&mut self, record: &Record<'_>, piece: Piece) {
        if flag(record.is_sidechain) {
            self.has_side_record = true;
            return;
        }
        self.take_relocation(record);
        self.take_surroundings(record, piece);
        let turn = turn(record);
        if turn.is_some() {
            self.has_turn = true;
            self.has_main_record = true;
        }
        // The head of a large file says nothing about how the conversation ends.
        if piece != Piece::Head {
            self.take_ending(record, turn);
        }
        if self.wants_everything {
            self.take_origins(record);
        }
    }

    /// `/cd` moves the file to the folder of the new directory, and may be the last thing that
    /// happens in a session.
    fn take_relocation(&mut self, record: &Record<'_>) {
        if self.bucket_cwd.is_none()
            && let Some(cwd) = text(record.relocated_cwd)
            && (self.slug_of)(&cwd) == self.bucket
        {
            self.bucket_cwd = Some(cwd.into_owned());
        }
    }

    fn take_surroundings(&mut self, record: &Record<'_>, piece: Piece) {
        let Some(cwd) = text(record.cwd).filter(|cwd| !cwd.is_empty()) else { return };
        if self.last_cwd.is_none() {
            self.last_cwd = Some(cwd.clone().into_owned());
            self.branch = words(record.git_branch);
            self.entrypoint = words(record.entrypoint);
            self.is_in_team = words(record.team_name).is_some();
        }
        self.has_main_record = true;
        let known = self.cwds.iter().position(|seen| seen.path == cwd);
        let last_seen = known.map_or(piece, |at| self.cwds.remove(at).last_seen);
        if known.is_none() && self.bucket_cwd.is_none() && (self.slug_of)(&cwd) == self.bucket {
            self.bucket_cwd = Some(cwd.clone().into_owned());
        }
        self.cwds.push(SeenCwd { path: cwd.into_owned(), first_seen: piece, last_seen });
    }

    fn take_ending(&mut self, record: &Record<'_>, turn: Option<Turn>) {
        let latest = if turn.is_some() { &mut self.last_turn_at } else { &mut self.last_record_at };
        if latest.is_none() {
            *latest = text(record.timestamp).and_then(|at| parse_utc(&at));
        }
        let Some(turn) = turn else { return };
        self.is_interrupted.get_or_insert(turn == Turn::Interruption);
        match turn {
            Turn::Prompt(words) if self.exchange.prompt.is_none() => {
                self.exchange.is_answered = self.exchange.reply.is_some();
                self.exchange.prompt = Some(words);
            }
            Turn::Answer if self.wants_everything && self.exchange.reply.is_none() => {
                self.exchange.reply = reply(record);
            }
            _ => {}
        }
    }

    fn take_origins(&mut self, record: &Record<'_>) {
        if self.relocated_cwd.is_none() {
            self.relocated_cwd = exact(record.relocated_cwd);
        }
        if self.worktree.is_none() && record.is("worktree-state") {
            self.worktree =
                Some(inner::<WorktreeSession<'_>>(record.worktree_session).as_ref().map(worktree));
        }
        let marks = [
            inner::<ForkedFrom<'_>>(record.forked_from).and_then(|fork| words(fork.session_id)),
            words(record.parent_session_id),
            words(record.request_session_id),
        ];
        let own = words(record.session_id);
        for (fork, mark) in self.fork.iter_mut().zip(marks) {
            if fork.is_none() {
                *fork = mark.filter(|mark| own.as_ref() != Some(mark));
            }
        }
    }
}

fn turn(record: &Record<'_>) -> Option<Turn> {
    if record.is("assistant") {
        return Some(Turn::Answer);
    }
    if !record.is("user") {
        return None;
    }
    match said(record) {
        Said::Prompt(words) if !words.is_empty() => Some(Turn::Prompt(words)),
        Said::Prompt(_) | Said::ToolResult => Some(Turn::Wordless),
        Said::Interruption => Some(Turn::Interruption),
        Said::Command(_) | Said::Aside => None,
    }
}

fn worktree(session: &WorktreeSession<'_>) -> Worktree {
    Worktree {
        original_cwd: exact(session.original_cwd),
        path: exact(session.worktree_path),
        branch: words(session.worktree_branch),
    }
}

fn reply(record: &Record<'_>) -> Option<String> {
    let message = Message::parse(record.message)?;
    let words = message.parts().into_iter().rev().find_map(|part| match part {
        Part::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    })?;
    // Claude Code fills in this answer itself where a turn ended without one.
    let is_filler = message.is_made_by_the_client() && words == "No response requested.";
    (!is_filler).then(|| bounded(&words))
}
