//! Reading what a transcript says about its session, from its beginning and its end.
//!
//! A file is never read whole unless it is small, and memory use does not depend on its size. What
//! cannot be understood is passed over: torn and cut lines, unknown records, missing fields, bytes
//! that are no text.

use super::evidence::{Evidence, LastExchange, Piece, SeenCwd, Worktree};
use super::pieces::{PIECE, Source, lines, lines_from_the_end};
use super::prompt::{Said, said};
use super::record::Record;
use super::title::{self, Title, TitleSource, Titles};
use crate::lenient::{flag, words};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// How far back the last exchange is looked for when the tail does not hold it.
const DEEP_TAIL: usize = 1024 * 1024;

/// Where one of these stands in a record itself, somebody says something. In text they are escaped.
const TURNS: [&[u8]; 2] = [b"\"type\":\"user\"", b"\"type\":\"assistant\""];

/// How far back the newest title of a live session is looked for first.
const NEAR_END: usize = 16 * 1024;

/// What a list shows of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub title: Option<Title>,
    /// The last directory, also of a `/cd`, whose slug is the name of the bucket: where the session
    /// belongs.
    pub bucket_cwd: Option<String>,
    /// The last directory of all: it follows every `cd`.
    pub last_cwd: Option<String>,
    /// The git branch at the last record, as Claude Code writes it (`HEAD` outside a repository).
    pub branch: Option<String>,
    /// When somebody last said something; reopening a session changes the file's time, but not
    /// this.
    pub last_active: Option<SystemTime>,
    pub entrypoint: Option<String>,
    /// A subagent's conversation, which cannot be resumed.
    pub is_sidechain: bool,
    /// The conversation of a member of an agent team. A team's leader is an ordinary session.
    pub is_teammate: bool,
    /// Whether anybody said anything.
    pub has_turn: bool,
}

impl Summary {
    /// Whether this is something a user can resume.
    pub fn is_session(&self) -> bool {
        self.has_turn && !self.is_sidechain && !self.is_teammate
    }

    /// Whether a script drives this session: `claude -p` or the SDK.
    pub fn is_scripted(&self) -> bool {
        self.entrypoint.as_ref().is_some_and(|entrypoint| entrypoint.starts_with("sdk-"))
    }
}

/// All that the pieces of a transcript say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub summary: Summary,
    /// Every directory that was seen, in the order of first sight.
    pub cwds: Vec<SeenCwd>,
    /// Where `/cd` last moved the session.
    pub relocated_cwd: Option<String>,
    pub worktree: Option<Worktree>,
    pub first_prompt: Option<String>,
    pub last_exchange: LastExchange,
    /// Whether the last turn is a mark that the user interrupted Claude.
    pub is_interrupted: bool,
    /// The id of the session this one was forked from.
    pub forked_from: Option<String>,
}

/// Where a session belongs and whether it can be resumed: what takes no search for a title, which
/// may stand anywhere in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// As in [`Summary`].
    pub bucket_cwd: Option<String>,
    pub first_cwd: Option<String>,
    /// As in [`Facts`].
    pub relocated_cwd: Option<String>,
    pub worktree: Option<Worktree>,
    pub branch: Option<String>,
    pub is_sidechain: bool,
    pub is_teammate: bool,
    pub has_turn: bool,
}

/// Reads transcripts one after the other into the same buffers.
#[derive(Debug, Default)]
pub struct Reader {
    head: Vec<u8>,
    tail: Vec<u8>,
    scratch: Vec<u8>,
}

/// How a conversation begins.
#[derive(Default)]
struct Opening {
    prompt: Option<String>,
    command: Option<String>,
    is_in_team: bool,
}

impl Reader {
    pub fn new() -> Self {
        Self::default()
    }

    /// What a list needs, as cheaply as it can be had. `slug_of` encodes a directory as the name of
    /// its bucket.
    pub fn summary(
        &mut self,
        path: &Path,
        bucket: &str,
        slug_of: impl Fn(&str) -> String,
    ) -> io::Result<Summary> {
        let source = Source::open(path)?;
        let mut evidence = Evidence::new(bucket, &slug_of, false);
        self.summarize(path, &source, &mut evidence).map(|(summary, _)| summary)
    }

    /// Everything the head and the tail say.
    pub fn facts(
        &mut self,
        path: &Path,
        bucket: &str,
        slug_of: impl Fn(&str) -> String,
    ) -> io::Result<Facts> {
        let source = Source::open(path)?;
        let mut evidence = Evidence::new(bucket, &slug_of, true);
        let (summary, opening) = self.summarize(path, &source, &mut evidence)?;
        let mut cwds = std::mem::take(&mut evidence.cwds);
        cwds.reverse();
        let mut last_exchange = std::mem::take(&mut evidence.exchange);
        if !source.is_small() && (last_exchange.prompt.is_none() || last_exchange.reply.is_none()) {
            source.read_tail(DEEP_TAIL, &mut self.scratch)?;
            let mut deep = Evidence::new(bucket, &slug_of, true);
            deep.take_all(lines_from_the_end(&self.scratch), Piece::Tail);
            last_exchange = deep.exchange;
        }
        Ok(Facts {
            summary,
            cwds,
            relocated_cwd: evidence.relocated_cwd.take(),
            worktree: evidence.worktree(),
            first_prompt: opening.prompt,
            last_exchange,
            is_interrupted: evidence.is_interrupted.unwrap_or(false),
            forked_from: evidence.forked_from(),
        })
    }

    /// The newest title near the end, where Claude Code repeats it. Good enough for a live session:
    /// one that the user gave long before is known from the registry and from hooks.
    pub fn title_near_end(&mut self, path: &Path) -> io::Result<Option<Title>> {
        Source::open(path)?.read_tail(NEAR_END, &mut self.tail)?;
        Ok(title::newest_in(&self.tail).best())
    }

    /// What is needed to resume, at a cost that does not grow with the file.
    pub fn origin(
        &mut self,
        path: &Path,
        bucket: &str,
        slug_of: impl Fn(&str) -> String,
    ) -> io::Result<Origin> {
        let source = Source::open(path)?;
        let mut evidence = Evidence::new(bucket, &slug_of, true);
        if source.is_small() {
            source.read_whole(&mut self.head)?;
            evidence.take_all(lines_from_the_end(&self.head), Piece::Whole);
        } else {
            let tail_start = source.read_tail(PIECE, &mut self.tail)?;
            evidence.take_all(lines_from_the_end(&self.tail), Piece::Tail);
            source.read_head(&mut self.head)?;
            evidence.take_all(lines_from_the_end(&self.head), Piece::Head);
            self.look_for_turns(&source, tail_start, &mut evidence)?;
        }
        Ok(Origin {
            bucket_cwd: evidence.bucket_cwd.take(),
            first_cwd: evidence.cwds.pop().map(|first| first.path),
            relocated_cwd: evidence.relocated_cwd.take(),
            worktree: evidence.worktree(),
            branch: evidence.branch.take(),
            is_sidechain: evidence.is_sidechain(),
            is_teammate: evidence.is_in_team && opening(&self.head).is_in_team,
            has_turn: evidence.has_turn,
        })
    }

    fn summarize<S: Fn(&str) -> String>(
        &mut self,
        path: &Path,
        source: &Source,
        evidence: &mut Evidence<'_, S>,
    ) -> io::Result<(Summary, Opening)> {
        let (titles, opening) = if source.is_small() {
            self.take_whole(path, source, evidence)?
        } else {
            self.take_pieces(path, source, evidence)?
        };
        let stand_in =
            |text: &Option<String>, source| text.clone().map(|text| Title { text, source });
        let summary = Summary {
            title: titles
                .best()
                .or_else(|| stand_in(&opening.prompt, TitleSource::Prompt))
                .or_else(|| stand_in(&opening.command, TitleSource::Command)),
            bucket_cwd: evidence.bucket_cwd.take(),
            last_cwd: evidence.last_cwd.take(),
            branch: evidence.branch.take(),
            last_active: evidence.last_active(),
            entrypoint: evidence.entrypoint.take(),
            is_sidechain: evidence.is_sidechain(),
            // A leader joins its team on the way, a member is born into it.
            is_teammate: evidence.is_in_team && opening.is_in_team,
            has_turn: evidence.has_turn,
        };
        Ok((summary, opening))
    }

    fn take_whole<S: Fn(&str) -> String>(
        &mut self,
        path: &Path,
        source: &Source,
        evidence: &mut Evidence<'_, S>,
    ) -> io::Result<(Titles, Opening)> {
        source.read_whole(&mut self.head)?;
        evidence.take_all(lines_from_the_end(&self.head), Piece::Whole);
        let mut titles = title::newest_in(&self.head);
        if titles.custom.is_none() {
            titles.custom = title::beside(path, &mut self.scratch);
        }
        Ok((titles, opening(&self.head)))
    }

    fn take_pieces<S: Fn(&str) -> String>(
        &mut self,
        path: &Path,
        source: &Source,
        evidence: &mut Evidence<'_, S>,
    ) -> io::Result<(Titles, Opening)> {
        let tail_start = source.read_tail(PIECE, &mut self.tail)?;
        evidence.take_all(lines_from_the_end(&self.tail), Piece::Tail);
        let mut titles = title::newest_in(&self.tail);
        let has_title = titles.custom.as_ref().is_some_and(|title| !title.is_empty());
        if has_title && evidence.is_enough() && !evidence.is_in_team {
            return Ok((titles, Opening::default()));
        }
        source.read_head(&mut self.head)?;
        evidence.take_all(lines_from_the_end(&self.head), Piece::Head);
        if titles.custom.is_none() {
            titles.custom = title::beside(path, &mut self.scratch);
        }
        titles = titles.or_older(title::newest_in(&self.head));
        self.look_for_turns(source, tail_start, evidence)?;
        if titles.is_empty() {
            let middle = title::newest_between(
                source,
                self.head.len() as u64,
                tail_start,
                &mut self.scratch,
            );
            titles = titles.or_older(middle);
        }
        let mut opening = opening(&self.head);
        if opening.prompt.is_none() {
            opening.prompt = self::opening(&self.tail).prompt;
        }
        Ok((titles, opening))
    }

    /// A file can be large and hold nothing but snapshots; then both of its ends are silent. So they
    /// are where a single record is larger than they are.
    fn look_for_turns<S: Fn(&str) -> String>(
        &mut self,
        source: &Source,
        tail_start: u64,
        evidence: &mut Evidence<'_, S>,
    ) -> io::Result<()> {
        if !evidence.has_turn {
            let between = self.head.len() as u64..tail_start;
            evidence.has_turn = source.holds(between, &TURNS, &mut self.scratch)?;
        }
        Ok(())
    }
}

fn opening(data: &[u8]) -> Opening {
    let mut opening = Opening::default();
    let mut is_first = true;
    for record in lines(data).filter_map(Record::parse) {
        if !record.is("user") || flag(record.is_sidechain) {
            continue;
        }
        if is_first {
            is_first = false;
            opening.is_in_team = words(record.team_name).is_some()
                && words(record.agent_name).is_none_or(|name| name != "team-lead");
        }
        match said(&record) {
            Said::Prompt(words) if !words.is_empty() => {
                opening.prompt = Some(words);
                return opening;
            }
            Said::Command(command) => {
                opening.command.get_or_insert(command);
            }
            _ => {}
        }
    }
    opening
}

#[cfg(test)]
mod tests;
