//! What somebody who made a mistake may have meant. Pure.

/// The one of `known` that is most like `word`, where one is like it at all.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored = known.into_iter().map(|known| (distance(&word, &known.to_lowercase()), known));
    let (distance, nearest) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= word.chars().count().div_ceil(2).min(3)).then_some(nearest)
}

/// How many letters have to be changed, added or taken away to get from one to the other.
pub fn distance(one: &str, other: &str) -> usize {
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
    fn only_words_that_are_alike_are_near() {
        let known = ["idle", "running", "waiting", "debounce_ms"];
        for (word, expected) in [
            ("idel", Some("idle")),
            ("Waiting", Some("waiting")),
            ("debounce", Some("debounce_ms")),
            ("runing", Some("running")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word:?}");
        }
        assert_eq!(nearest("x", []), None);
    }
}
