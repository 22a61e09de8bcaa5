//! What fuzzing has found, and what it starts from, holds in every run of the tests.
//!
//! The properties are shared with `fuzz/`. An input that fuzzing has found goes into
//! `tests/fixtures/fuzz/<target>/`, under a name that says what it is about.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::proptest;

use crate::properties::{escape, payload, search, settings, slug, sse, transcript};

/// The regressions of a target, and the fixtures in the given folders.
fn replay(target: &str, folders: &[&str], holds: fn(&[u8])) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut inputs = Vec::new();
    files(&fixtures.join("fuzz").join(target), &mut inputs);
    assert!(!inputs.is_empty(), "there is no regression corpus of {target}");
    for folder in folders {
        files(&fixtures.join(folder), &mut inputs);
    }
    for input in inputs {
        let data = fs::read(&input).unwrap();
        assert!(std::panic::catch_unwind(|| holds(&data)).is_ok(), "with {}", input.display());
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn payloads_become_safe_requests() {
    replay("payload", &["payloads"], payload::holds);
}

#[test]
fn slugs_lead_back_to_their_directories() {
    replay("slug", &[], slug::holds);
}

#[test]
fn any_bytes_can_be_read_as_a_transcript() {
    replay("transcript", &["transcripts"], transcript::holds);
}

#[test]
fn tmux_gets_the_words_that_were_meant() {
    replay("escape", &[], escape::holds);
}

#[test]
fn files_of_the_user_come_back_as_they_were() {
    replay("settings", &[], settings::holds);
}

#[test]
fn texts_are_found_where_they_hold_the_word() {
    replay("search", &["transcripts"], search::holds);
}

proptest! {
    #[test]
    fn texts_of_all_kinds_are_found_where_they_hold_the_word(
        word in "[a-cA é日\"/\\\\<σΣς😀]{1,4}",
        text in "[a-cA é日\"/\\\\<\\nσΣς😀É\u{1b}]{0,30}",
    ) {
        search::holds(format!("{word}\n{text}").as_bytes());
    }
}

#[test]
fn any_text_is_one_event_of_a_stream() {
    replay("sse", &["payloads"], sse::holds);
}
