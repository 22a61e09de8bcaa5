//! What somebody who made a mistake may have meant. Pure.

use crate::roster::Listed;
use crate::session::SessionId;

use super::{Candidate, comparable};

/// The candidates whose ids begin most like `wanted`.
pub(super) fn ids(wanted: &str, all: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    let mut scored: Vec<(usize, Candidate)> = all
        .into_iter()
        .map(|candidate| {
            let id = candidate.id.as_str();
            (distance(wanted, &id[..id.len().min(wanted.len())]), candidate)
        })
        .collect();
    scored.sort_by_key(|(distance, _)| *distance);
    scored.into_iter().take(most).map(|(_, candidate)| candidate).collect()
}

/// The sessions whose titles hold `wanted` or differ from it in a few letters.
pub(super) fn titles(wanted: &str, all: &[&Listed], most: usize) -> Vec<SessionId> {
    let mut scored: Vec<(usize, &SessionId)> = Vec::new();
    for listed in all {
        let Some(title) = listed.title.as_deref().map(comparable) else { continue };
        let score = if title.contains(wanted) { 0 } else { distance(wanted, &title) };
        let is_near = score <= wanted.chars().count() / 3;
        if is_near && scored.iter().all(|(_, id)| *id != &listed.id) {
            scored.push((score, &listed.id));
        }
    }
    scored.sort_by_key(|(score, _)| *score);
    scored.into_iter().take(most).map(|(_, id)| id.clone()).collect()
}

/// How many letters have to be changed, added or taken away to get from one to the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, same) in other.iter().map(|c| *c == letter).enumerate() {
            let changed = diagonal + usize::from(!same);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_changed_added_and_missing_letters() {
        for (one, other, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(distance(one, other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn ids_that_begin_alike_come_first() {
        let candidate = |id: &str| Candidate {
            id: SessionId::parse(id).unwrap(),
            listed: Vec::new(),
            files: Vec::new(),
        };
        let all = ["ffff0000", "23e30f83", "23e31f93", "45da8798"].map(candidate);
        let nearest = ids("23e30f82", all.into(), 2);
        let nearest: Vec<&str> = nearest.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(nearest, ["23e30f83", "23e31f93"]);
    }
}
