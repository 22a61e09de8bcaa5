//! What somebody who made a mistake may have meant. Pure.

use crate::roster::Listed;
use crate::session::SessionId;
use crate::spelling::distance;

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

#[cfg(test)]
mod tests {
    use super::*;

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
