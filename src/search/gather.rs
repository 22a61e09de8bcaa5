//! The hits of one session: whether all words occur, and which hits are worth showing. Pure.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::record::{Hit, Who};

/// After how many hits the first that will do are taken.
const LONG_LOOK: usize = 200;

/// What is wanted of a session.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// The bits of all words.
    pub(super) all: u64,
    /// How many hits are kept.
    pub(super) most: usize,
    /// Whether titles and prompts come before what tools said.
    pub(super) by_score: bool,
    /// Records that were shown already.
    pub(super) excluded: &'a HashSet<u128>,
}

#[derive(Debug)]
pub(super) struct Gathered<'a> {
    wanted: &'a Wanted<'a>,
    seen: u64,
    taken: usize,
    hits: Vec<Hit>,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(wanted: &'a Wanted<'a>) -> Self {
        Self { wanted, seen: 0, taken: 0, hits: Vec::new() }
    }

    pub(super) fn take(&mut self, hit: Hit) -> ControlFlow<()> {
        self.seen |= hit.terms;
        self.taken += 1;
        let is_excluded = hit.uuid.is_some_and(|uuid| self.wanted.excluded.contains(&uuid));
        if !is_excluded && !self.hits.iter().any(|known| is_same(known, &hit)) {
            self.hits.push(hit);
        }
        // More than can be needed: what was worth least goes.
        if self.hits.len() > 4 * (self.wanted.most + 16) {
            self.hits = pick(std::mem::take(&mut self.hits), self.wanted);
        }
        if self.is_enough() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The words to go on looking for, as bits. Where enough texts hold all words that have occurred,
    /// another one of these can no longer be among the hits to show; the others decide.
    pub(super) fn sought(&self) -> u64 {
        let missing = self.wanted.all & !self.seen;
        let holds_all_seen = |hit: &&Hit| hit.terms == self.seen;
        let has_enough = self.hits.iter().filter(holds_all_seen).count() >= self.wanted.most;
        if missing != 0 && has_enough && !self.wanted.by_score { missing } else { self.wanted.all }
    }

    /// The hits to show, in the order of the file; none where a word is missing.
    pub(super) fn finish(self) -> Vec<Hit> {
        if self.seen != self.wanted.all {
            return Vec::new();
        }
        pick(self.hits, self.wanted)
    }

    fn is_enough(&self) -> bool {
        let is_best = |hit: &&Hit| worth(hit, self.wanted) == best(self.wanted);
        // Where frequent words never stand together, better hits are not worth reading on for.
        let has_looked_long = !self.wanted.by_score && self.taken > LONG_LOOK;
        self.seen == self.wanted.all
            && self.hits.len() >= self.wanted.most
            && (has_looked_long || self.hits.iter().filter(is_best).count() >= self.wanted.most)
    }
}

/// Claude Code writes a title again and again, and some versions write records twice.
fn is_same(known: &Hit, hit: &Hit) -> bool {
    known.who == hit.who
        && known.context.text == hit.context.text
        && (hit.who == Who::Title || (known.uuid.is_some() && known.uuid == hit.uuid))
}

type Worth = (u8, u32);

fn worth(hit: &Hit, wanted: &Wanted<'_>) -> Worth {
    let tier = if wanted.by_score { 2 - tier(hit.who) } else { 0 };
    (tier, hit.terms.count_ones())
}

fn best(wanted: &Wanted<'_>) -> Worth {
    (if wanted.by_score { 2 } else { 0 }, wanted.all.count_ones())
}

/// Titles and prompts, then answers, then what tools said.
pub(super) fn tier(who: Who) -> u8 {
    match who {
        Who::Title | Who::User => 0,
        Who::Claude => 1,
        Who::ToolInput | Who::ToolResult => 2,
    }
}

/// The best hits, but each word is shown at least once where there is room.
fn pick(mut hits: Vec<Hit>, wanted: &Wanted<'_>) -> Vec<Hit> {
    if hits.len() <= wanted.most {
        return hits;
    }
    let mut order: Vec<usize> = (0..hits.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(worth(&hits[*at], wanted)));
    let (mut picked, mut rest, mut shown) = (Vec::new(), Vec::new(), 0);
    for at in order {
        if hits[at].terms & !shown == 0 {
            rest.push(at);
        } else {
            shown |= hits[at].terms;
            picked.push(at);
        }
    }
    picked.extend(rest);
    picked.truncate(wanted.most);
    let mut at = 0;
    hits.retain(|_| {
        at += 1;
        picked.contains(&(at - 1))
    });
    hits
}

#[cfg(test)]
mod tests;
