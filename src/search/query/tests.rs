use super::*;
use proptest::prelude::*;

fn holds(query: &Query, text: &str) -> bool {
    query.terms.iter().all(|term| term.pattern.is_match(text))
}

/// Whether an anchor of every term stands in the raw text.
fn is_candidate(query: &Query, raw: &[u8]) -> bool {
    let has_anchor = |term: &Term| {
        term.anchors.as_ref().is_none_or(|anchors| anchors.iter().any(|a| a.find(raw).is_some()))
    };
    query.terms.iter().all(has_anchor)
}

#[track_caller]
fn check(words: &[&str], text: &str, expected: bool) {
    let query = Query::words(words, Case::Smart).unwrap();
    assert_eq!(holds(&query, text), expected, "{words:?} in {text:?}");
}

#[test]
fn case_matters_where_the_words_have_upper_case() {
    check(&["refused"], "Connection REFUSED", true);
    check(&["Refused"], "connection refused", false);
    check(&["refused", "Connection"], "Connection REFUSED", false);
    check(&["éclair"], "ÉCLAIR", true);
    check(&["Éclair"], "éclair", false);
    check(&["σας"], "ΣΑΣ", true);
    check(&["straße"], "STRAẞE", true);
    check(&["привет"], "ПРИВЕТ", true);
    check(&["k"], "\u{212a}", false);
    let all = |case| Query::words(&["Refused"], case).unwrap();
    assert!(holds(&all(Case::Ignore), "refused"));
    assert!(!holds(&Query::words(&["refused"], Case::Exact).unwrap(), "Refused"));
}

#[test]
fn words_are_taken_as_they_are() {
    check(&["a.c"], "abc", false);
    check(&["[x]"], "[x]", true);
    check(&["^"], "a^b", true);
    check(&["two words"], "two  words", false);
    check(&["\\d"], "7", false);
}

#[test]
fn typed_text_is_words_and_phrases() {
    for (typed, text, expected) in [
        ("one two", "two and one", true),
        ("\"one two\"", "two and one", false),
        ("\"one two\" three", "three: one two", true),
        ("\"one tw", "one two", true),
        ("one\"two three\"", "one two three", true),
    ] {
        assert_eq!(holds(&Query::typed(typed).unwrap(), text), expected, "{typed}");
    }
    for empty in ["", "  ", "\"", "\"\""] {
        assert!(Query::typed(empty).is_err(), "{empty:?}");
    }
}

#[test]
fn what_cannot_be_searched_for_is_said() {
    let error = |words: &[&str]| Query::words(words, Case::Smart).unwrap_err();
    assert!(error(&[]).contains("nothing to search for"));
    assert!(error(&["a", ""]).contains("nothing to search for"));
    assert!(error(&["x"; 65]).contains("too many"));
    assert!(error(&[&"x".repeat(1001)]).contains("too long"));
    let regex = |pattern| Query::regexes(&[pattern], Case::Smart).unwrap_err();
    assert!(regex("(").contains("unclosed group"));
    assert!(regex("x*").contains("matches everything"));
}

#[track_caller]
fn check_required(pattern: &str, expected: Option<&[&str]>) {
    let hir = regex_syntax::ParserBuilder::new().multi_line(true).build().parse(pattern).unwrap();
    let found = required(&hir);
    assert_eq!(
        found,
        expected.map(|texts| texts.iter().map(|&t| t.to_owned()).collect()),
        "{pattern}"
    );
}

#[test]
fn what_every_match_must_hold_is_looked_for_first() {
    check_required("error", Some(&["error"]));
    check_required("error.*refused", Some(&["refused"]));
    check_required("(?:error)+ [0-9]", Some(&["error"]));
    check_required("E[0-9]+", None);
    check_required("warning|error", Some(&["warning", "error"]));
    check_required("(warning|[0-9])", None);
    check_required("(x|yes)? no more", Some(&[" no more"]));
    check_required("^fn main$", Some(&["fn main"]));
    check_required("[a-z]+", None);
}

#[test]
fn upper_case_in_escapes_of_a_regex_is_none() {
    let query = Query::regexes(&["error\\S+"], Case::Smart).unwrap();
    assert!(holds(&query, "ERROR: x"));
    let query = Query::regexes(&["Error\\S+"], Case::Smart).unwrap();
    assert!(!holds(&query, "ERROR: x"));
    assert!(holds(&Query::regexes(&["^two$"], Case::Smart).unwrap(), "one\ntwo\nthree"));
}

/// A text as some writer of JSON may write it: `choices` says which characters are escaped, and how.
fn written(text: &str, choices: &[u8]) -> String {
    let mut json = String::new();
    for (at, character) in text.chars().enumerate() {
        let choice = choices[at % choices.len()];
        let escape = |upper: bool| -> String {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units).iter();
            units
                .map(|u| if upper { format!("\\u{u:04X}") } else { format!("\\u{u:04x}") })
                .collect()
        };
        let short = serde_json::to_string(&character).unwrap();
        let short = &short[1..short.len() - 1];
        match choice % 4 {
            0 | 1 => json.push_str(short),
            _ if is_always_plain(character) => json.push_str(short),
            2 if character == '/' => json.push_str("\\/"),
            choice => json.push_str(&escape(choice == 3)),
        }
    }
    json
}

proptest! {
    #[test]
    fn however_a_text_is_written_its_words_are_candidates(
        before in "[a-cé\\n\"/\\\\<日😀 ]{0,12}",
        word in "[a-cABé É\\n\"/\\\\<日😀σΣς]{1,8}",
        after in "[a-cé\\n\"/ ]{0,12}",
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let text = format!("{before}{word}{after}");
        let raw = written(&text, &choices);
        prop_assert_eq!(serde_json::from_str::<String>(&format!("\"{raw}\"")).unwrap(), text.clone());
        for case in [Case::Smart, Case::Ignore, Case::Exact] {
            let query = Query::words(&[&word], case).unwrap();
            prop_assert!(holds(&query, &text));
            prop_assert!(is_candidate(&query, raw.as_bytes()), "{word:?} in {raw}");
        }
        let other_case: String = text.chars().flat_map(char::to_uppercase).collect();
        let query = Query::words(&[&word], Case::Ignore).unwrap();
        if holds(&query, &other_case) {
            prop_assert!(is_candidate(&query, written(&other_case, &choices).as_bytes()));
        }
    }

    #[test]
    fn a_regex_is_looked_for_where_its_word_is(
        word in "[a-cé/<]{2,6}",
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let text = format!("x {word} 12");
        let raw = written(&text, &choices);
        let pattern = format!("{} [0-9]+", regex::escape(&word));
        let query = Query::regexes(&[&pattern], Case::Smart).unwrap();
        prop_assert!(holds(&query, &text) && is_candidate(&query, raw.as_bytes()), "{raw}");
    }
}
