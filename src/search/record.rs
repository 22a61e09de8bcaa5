//! What one record of a transcript says that fits a query, and who says it.

use std::ops::{ControlFlow, Range};
use std::time::SystemTime;

use super::context::Context;
use super::places::{Field, Flag, Slot};
use super::query::Query;
use super::uuids;
use super::walk::Event;
use crate::transcript::parse_utc;

/// A record has a few blocks; what has more matches than this is not worth showing in full.
const MOST_SPOTS: usize = 256;
/// How far from the first match others are marked.
const NEARBY: usize = 600;
/// How close to each other words count as standing together.
const TOGETHER: usize = 160;
/// Enough of a text to tell what wrote it.
const OPENING: usize = 48;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// The title of the session, which the user or Claude gave.
    Title,
    User,
    Claude,
    ToolInput,
    ToolResult,
}

/// A text of a session that holds one or more of the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub who: Who,
    /// The tool, where Claude called one.
    pub tool: Option<String>,
    pub said_at: Option<SystemTime>,
    pub branch: Option<String>,
    /// The id of the record. Copies of a conversation have the same.
    pub uuid: Option<u128>,
    /// Where the line of the record begins in the file.
    pub offset: u64,
    pub context: Context,
    /// The words it holds, one bit each.
    pub(super) terms: u64,
}

#[cfg(test)]
impl Hit {
    pub(crate) fn sample(who: Who, context: Context) -> Self {
        Self {
            who,
            tool: None,
            said_at: None,
            branch: None,
            uuid: None,
            offset: 0,
            context,
            terms: 1,
        }
    }
}

/// A text that matched, before it is known who said it: the type of a record may stand at its end.
#[derive(Debug)]
struct Spot {
    slot: Slot,
    block: u32,
    terms: u64,
    opening: String,
    context: Context,
}

#[derive(Debug, Default)]
struct Block {
    kind: String,
    tool: String,
}

/// Takes what the walker tells of one record.
#[derive(Debug, Default)]
pub(super) struct Record {
    kind: String,
    role: String,
    attachment: String,
    prompt_source: String,
    timestamp: String,
    branch: String,
    uuid: String,
    is_meta: bool,
    is_compact_summary: bool,
    is_sidechain: bool,
    blocks: Vec<Block>,
    opening: String,
    spots: Vec<Spot>,
}

impl Record {
    pub(super) fn take(&mut self, event: &Event<'_>, query: &Query) -> ControlFlow<()> {
        match *event {
            Event::Field { field, block, value } => self.take_field(field, block, value),
            Event::Flag(flag) => {
                match flag {
                    Flag::Meta | Flag::TranscriptOnly => self.is_meta = true,
                    Flag::CompactSummary => self.is_compact_summary = true,
                    Flag::Sidechain => self.is_sidechain = true,
                }
                ControlFlow::Continue(())
            }
            Event::Text { slot, block, is_first, text } => {
                self.take_text(slot, block, is_first, text, query);
                ControlFlow::Continue(())
            }
        }
    }

    fn take_field(&mut self, field: Field, block: u32, value: &str) -> ControlFlow<()> {
        let place = match field {
            Field::Type => Some(&mut self.kind),
            Field::AttachmentType => Some(&mut self.attachment),
            Field::Role => Some(&mut self.role),
            Field::Uuid => Some(&mut self.uuid),
            Field::Timestamp => Some(&mut self.timestamp),
            Field::Branch => Some(&mut self.branch),
            Field::PromptSource => Some(&mut self.prompt_source),
            Field::BlockType => self.block(block).map(|block| &mut block.kind),
            Field::ToolName => self.block(block).map(|block| &mut block.tool),
        };
        if let Some(place) = place {
            value.clone_into(place);
        }
        let is_foreign = match field {
            Field::Type => !is_known(value),
            Field::AttachmentType => attached(value).is_none(),
            _ => false,
        };
        if is_foreign { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn block(&mut self, number: u32) -> Option<&mut Block> {
        let number = usize::try_from(number).ok().filter(|number| *number <= MOST_SPOTS)?;
        if self.blocks.len() <= number {
            self.blocks.resize_with(number + 1, Block::default);
        }
        self.blocks.get_mut(number)
    }

    fn take_text(&mut self, slot: Slot, block: u32, is_first: bool, text: &str, query: &Query) {
        if is_first {
            let start = text.trim_start();
            start[..start.floor_char_boundary(OPENING)].clone_into(&mut self.opening);
        }
        let Some((terms, focus)) = matches(text, query) else { return };
        // A long text comes in several windows and is still one text.
        if !is_first
            && let Some(last) = self.spots.last_mut()
            && (last.slot, last.block) == (slot, block)
        {
            last.terms |= terms;
            return;
        }
        if self.spots.len() < MOST_SPOTS {
            let context = context(text, &focus, query);
            let opening = self.opening.clone();
            self.spots.push(Spot { slot, block, terms, opening, context });
        }
    }

    /// The hits of the record, which stands at `offset`, and room for the next one: most lines give
    /// none, and then nothing is allocated for them.
    pub(super) fn finish(&mut self, offset: u64) -> Vec<Hit> {
        let hits = self.hits(offset);
        self.reset();
        hits
    }

    pub(super) fn reset(&mut self) {
        let Self { kind, role, attachment, prompt_source, timestamp, branch, uuid, .. } = self;
        for text in [kind, role, attachment, prompt_source, timestamp, branch, uuid] {
            text.clear();
        }
        (self.is_meta, self.is_compact_summary, self.is_sidechain) = (false, false, false);
        self.blocks.clear();
        self.opening.clear();
        self.spots.clear();
    }

    fn hits(&mut self, offset: u64) -> Vec<Hit> {
        if self.spots.is_empty() {
            return Vec::new();
        }
        let said_at = parse_utc(&self.timestamp);
        let branch = Some(self.branch.clone()).filter(|branch| !branch.is_empty());
        let uuid = uuids::parse(self.uuid.as_bytes());
        let mut hits: Vec<Hit> = Vec::new();
        for spot in std::mem::take(&mut self.spots) {
            let Some(who) = self.who(&spot) else { continue };
            // Claude Code keeps the output of a command twice in one record.
            let is_known = |hit: &Hit| hit.who == who && hit.terms & spot.terms == spot.terms;
            if spot.slot == Slot::Output && hits.iter().any(is_known) {
                continue;
            }
            let block = usize::try_from(spot.block).ok().and_then(|block| self.blocks.get(block));
            let tool = block.map(|block| block.tool.clone()).filter(|tool| !tool.is_empty());
            hits.push(Hit {
                who,
                tool: tool.filter(|_| who == Who::ToolInput),
                said_at,
                branch: branch.clone(),
                uuid,
                offset,
                context: spot.context,
                terms: spot.terms,
            });
        }
        hits
    }

    /// Who said it, or nothing for what Claude Code keeps for itself.
    fn who(&self, spot: &Spot) -> Option<Who> {
        // A record that is torn may lack its type, but a message begins with its role.
        let kind = if self.kind.is_empty() { &self.role } else { &self.kind };
        match (kind.as_str(), spot.slot) {
            ("user", Slot::Words) if self.is_compact_summary => Some(Who::Claude),
            ("user", _) if self.is_meta => None,
            ("user", Slot::Words) => match under_the_users_name(&spot.opening) {
                Some(Who::User) if self.is_sidechain => Some(Who::Claude),
                Some(Who::User) if self.prompt_source == "system" => None,
                who => who,
            },
            ("user" | "assistant", Slot::Result) | ("user", Slot::Output) => Some(Who::ToolResult),
            ("assistant", Slot::Words | Slot::Thinking) => Some(Who::Claude),
            ("assistant", Slot::Input) => Some(Who::ToolInput),
            ("attachment", Slot::Queued)
                if !self.is_meta && self.attachment == "queued_command" =>
            {
                match under_the_users_name(&spot.opening) {
                    Some(Who::User) if self.is_sidechain => Some(Who::Claude),
                    who => who,
                }
            }
            ("attachment", Slot::Attached) => attached(&self.attachment).filter(|_| !self.is_meta),
            ("custom-title" | "ai-title" | "summary", Slot::Title) => Some(Who::Title),
            ("system", Slot::Notice) if !self.is_meta && spot.opening.starts_with('<') => {
                under_the_users_name(&spot.opening)
            }
            _ => None,
        }
    }
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "user" | "assistant" | "attachment" | "system" | "custom-title" | "ai-title" | "summary"
    )
}

/// Attachments that a person gave or that show what a file was; the others are parts of the system
/// prompt.
fn attached(kind: &str) -> Option<Who> {
    match kind {
        "queued_command" => Some(Who::User),
        "file" | "edited_text_file" | "directory" | "selected_lines_in_ide" => {
            Some(Who::ToolResult)
        }
        _ => None,
    }
}

/// Who wrote a text that stands under the user's name.
fn under_the_users_name(opening: &str) -> Option<Who> {
    const REMINDERS: [&str; 8] = [
        "<system-reminder>",
        "<local-command-caveat>",
        "<session-start-hook>",
        "<user-prompt-submit-hook>",
        "<tick>",
        "<goal>",
        "[Request interrupted by user",
        "Caveat: The messages below were generated",
    ];
    const OUTPUT: [&str; 6] = [
        "<local-command-stdout>",
        "<local-command-stderr>",
        "<bash-stdout>",
        "<bash-stderr>",
        "<task-notification>",
        "<teammate-message",
    ];
    let begins = |marks: &[&str]| marks.iter().any(|mark| opening.starts_with(mark));
    match () {
        () if begins(&REMINDERS) => None,
        () if begins(&OUTPUT) => Some(Who::ToolResult),
        () => Some(Who::User),
    }
}

/// The words a text holds, and where to look.
fn matches(text: &str, query: &Query) -> Option<(u64, Range<usize>)> {
    let mut terms = 0;
    let mut firsts: Vec<Range<usize>> = Vec::new();
    for (number, term) in query.terms.iter().enumerate() {
        if let Some(found) = term.pattern.find(text) {
            terms |= 1 << number;
            firsts.push(found.range());
        }
    }
    firsts.sort_by_key(|found| found.start);
    let together = |first: &&Range<usize>| {
        let near = |other: &&Range<usize>| {
            other.start >= first.start && other.start <= first.start + TOGETHER
        };
        let count = firsts.iter().filter(near).count();
        (count, std::cmp::Reverse(first.start))
    };
    let focus = firsts.iter().max_by_key(together)?.clone();
    Some((terms, focus))
}

fn context(text: &str, focus: &Range<usize>, query: &Query) -> Context {
    let start = text.floor_char_boundary(focus.start.saturating_sub(NEARBY));
    let end = text.ceil_char_boundary(focus.end.saturating_add(NEARBY));
    let nearby = &text[start..end];
    let in_text = |found: regex::Match<'_>| found.start() + start..found.end() + start;
    let mut all = vec![focus.clone()];
    for term in &query.terms {
        all.extend(term.pattern.find_iter(nearby).map(in_text));
    }
    all.sort_by_key(|found| (found.start, found.end));
    // Words may overlap each other; a mark covers both.
    let mut marks: Vec<Range<usize>> = Vec::new();
    for found in all {
        match marks.last_mut() {
            Some(last) if found.start < last.end => last.end = last.end.max(found.end),
            _ => marks.push(found),
        }
    }
    Context::around(text, focus, &marks)
}

#[cfg(test)]
mod tests;
