use super::*;
use crate::search::query::Case;
use crate::search::record::Who;
use proptest::prelude::*;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

struct File {
    dir: TempDir,
}

impl File {
    fn new(content: &[u8]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("file"), content).unwrap();
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("file")
    }

    fn scan(&self, words: &[&str]) -> Vec<(u64, Who)> {
        self.scan_for(&Query::words(words, Case::Smart).unwrap())
    }

    fn scan_for(&self, query: &Query) -> Vec<(u64, Who)> {
        let mut found = Vec::new();
        let source = Source::open(&self.path()).unwrap();
        let mut take = |hits: Vec<Hit>| {
            found.extend(hits.iter().map(|hit| (hit.offset, hit.who)));
            ControlFlow::Continue(u64::MAX)
        };
        Scanner::new().scan(&source, query, &AtomicBool::new(false), &mut take).unwrap();
        found
    }
}

fn prompt(text: &str) -> String {
    json!({"type": "user", "message": {"role": "user", "content": text}}).to_string() + "\n"
}

/// A prompt whose line has exactly this length, the newline included.
fn filler(length: usize) -> String {
    prompt(&"x".repeat(length - prompt("").len()))
}

#[test]
fn a_line_is_found_wherever_it_stands_in_a_block() {
    let needle = prompt("a needle");
    for before in [
        100,
        BLOCK - 120,
        BLOCK - 60,
        BLOCK - 50,
        BLOCK - 10,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        2 * BLOCK - 30,
    ] {
        let content = filler(before) + &needle + &filler(200);
        let file = File::new(content.as_bytes());
        assert_eq!(file.scan(&["needle"]), [(before as u64, Who::User)], "after {before} bytes");
        assert_eq!(file.scan(&["a needle"]), [(before as u64, Who::User)], "after {before} bytes");
    }
}

#[test]
fn no_line_is_told_twice() {
    let content = filler(BLOCK - 300) + &prompt("needle and needle").repeat(20) + &filler(BLOCK);
    let found = File::new(content.as_bytes()).scan(&["needle"]);
    assert_eq!(found.len(), 20);
    assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn long_lines_are_read_in_pieces() {
    let far = "y".repeat(3 * BLOCK);
    let long = prompt(&format!("early needle {far} late haystack"));
    let content = prompt("first needle") + &long + &prompt("last needle");
    let file = File::new(content.as_bytes());
    let starts = [
        0,
        prompt("first needle").len() as u64,
        (prompt("first needle").len() + long.len()) as u64,
    ];
    assert_eq!(file.scan(&["needle"]), starts.map(|start| (start, Who::User)));
    assert_eq!(file.scan(&["haystack"]), [(starts[1], Who::User)]);
    assert_eq!(file.scan(&["late haystack"]), [(starts[1], Who::User)]);
}

#[test]
fn without_an_anchor_every_line_is_looked_at() {
    let content = prompt("no digits") + &prompt("7") + &filler(BLOCK) + "\n\n" + &prompt("8");
    let query = Query::regexes(&["[0-9]"], Case::Smart).unwrap();
    assert_eq!(File::new(content.as_bytes()).scan_for(&query).len(), 2);
}

#[test]
fn the_end_of_a_torn_file_is_read() {
    let torn = r#"{"type":"user","message":{"role":"user","content":"a needle in the hay"}}"#;
    for cut in 1..20 {
        let torn = &torn[..torn.len() - cut];
        let content = prompt("first") + torn;
        let expected = usize::from(torn.contains("needle"));
        assert_eq!(File::new(content.as_bytes()).scan(&["needle"]).len(), expected, "{torn}");
    }
}

#[test]
fn a_record_after_half_a_record_is_found() {
    let record =
        r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":"a needle"}}"#;
    let half = r#"{"parentUuid":null,"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"half a hay"#;
    let content = format!("{half}{record}\n{record}\n");
    let file = File::new(content.as_bytes());
    let expected = [half.len() as u64, (half.len() + record.len() + 1) as u64];
    assert_eq!(file.scan(&["needle"]), expected.map(|start| (start, Who::User)));
    assert_eq!(file.scan(&["half a"]), [(0, Who::Claude)]);
    let nested = format!(r#"{{"type":"progress","data":[{record},{record}]}}"#);
    assert_eq!(File::new(nested.as_bytes()).scan(&["needle"]), []);
}

#[test]
fn enough_is_enough() {
    let content = prompt("needle").repeat(100);
    let file = File::new(content.as_bytes());
    let query = Query::words(&["needle"], Case::Smart).unwrap();
    let source = Source::open(&file.path()).unwrap();
    let mut count = 0;
    let mut take = |_| {
        count += 1;
        if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(u64::MAX) }
    };
    Scanner::new().scan(&source, &query, &AtomicBool::new(false), &mut take).unwrap();
    assert_eq!(count, 3);
    let mut none = |_| panic!("cancelled");
    Scanner::new().scan(&source, &query, &AtomicBool::new(true), &mut none).unwrap();
}

#[test]
fn a_file_that_shrinks_or_grows_meanwhile_does_no_harm() {
    let content = prompt("needle") + &filler(2 * BLOCK) + &prompt("needle");
    let file = File::new(content.as_bytes());
    let query = Query::words(&["needle"], Case::Smart).unwrap();
    let source = Source::open(&file.path()).unwrap();
    let mut count = 0;
    let mut take = |hits: Vec<Hit>| {
        count += hits.len();
        fs::write(file.path(), &content[..300]).unwrap();
        ControlFlow::Continue(u64::MAX)
    };
    Scanner::new().scan(&source, &query, &AtomicBool::new(false), &mut take).unwrap();
    assert_eq!(count, 1);
    fs::write(file.path(), content.repeat(3)).unwrap();
    let mut count = 0;
    let mut take = |hits: Vec<Hit>| {
        count += hits.len();
        ControlFlow::Continue(u64::MAX)
    };
    Scanner::new().scan(&source, &query, &AtomicBool::new(false), &mut take).unwrap();
    assert!(count >= 2, "what was there when it was opened is found: {count}");
}

proptest! {
    // Each case is a file of a megabyte.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_line_with_the_word_is_found_and_no_other(
        lengths in prop::collection::vec((0usize..3 * BLOCK / 2, any::<bool>()), 1..6),
    ) {
        let mut content = String::new();
        let mut expected = Vec::new();
        for (length, has_needle) in lengths {
            if has_needle {
                expected.push((content.len() as u64, Who::User));
            }
            content += &prompt(&format!("{}{}", "z".repeat(length), if has_needle { "needle" } else { "" }));
        }
        prop_assert_eq!(File::new(content.as_bytes()).scan(&["needle"]), expected);
    }
}

#[test]
fn lines_that_hold_nothing_that_is_sought_are_passed_over() {
    // The second word is sought again from the middle of a block on in which it stood before.
    let lines = [
        prompt("one"),
        prompt("two"),
        prompt("two again"),
        prompt("one again"),
        prompt("two at last"),
        filler(BLOCK),
        prompt("two in another block"),
    ];
    let file = File::new(lines.concat().as_bytes());
    for query in [
        Query::words(&["one", "two"], Case::Smart).unwrap(),
        Query::regexes(&["one", "t[w].*"], Case::Smart).unwrap(),
    ] {
        let mut found: Vec<String> = Vec::new();
        let mut take = |hits: Vec<Hit>| {
            found.extend(hits.iter().map(|hit| hit.context.text.clone()));
            ControlFlow::Continue(if found.len() == 1 { 0b01 } else { 0b11 })
        };
        let source = Source::open(&file.path()).unwrap();
        Scanner::new().scan(&source, &query, &AtomicBool::new(false), &mut take).unwrap();
        assert_eq!(found, ["one", "one again", "two at last", "two in another block"]);
    }
}
