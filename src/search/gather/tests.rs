use super::*;
use crate::search::context::Context;
use proptest::prelude::*;

fn hit(who: Who, terms: u64, text: &str) -> Hit {
    Hit {
        who,
        tool: None,
        said_at: None,
        branch: None,
        uuid: None,
        offset: 0,
        context: Context { text: text.to_owned(), ..Context::default() },
        terms,
    }
}

fn gather(all: u64, most: usize, by_score: bool, hits: &[Hit]) -> (Vec<String>, usize) {
    let excluded = HashSet::from([99]);
    let wanted = Wanted { all, most, by_score, excluded: &excluded };
    let mut gathered = Gathered::new(&wanted);
    let taken = hits.iter().take_while(|hit| gathered.take((*hit).clone()).is_continue()).count();
    (gathered.finish().into_iter().map(|hit| hit.context.text).collect(), taken)
}

#[test]
fn all_words_must_occur_somewhere() {
    let hits = [hit(Who::User, 0b01, "one"), hit(Who::Claude, 0b01, "one again")];
    assert_eq!(gather(0b11, 3, false, &hits).0, [] as [&str; 0]);
    let both = [hits[0].clone(), hit(Who::ToolResult, 0b10, "two")];
    assert_eq!(gather(0b11, 3, false, &both).0, ["one", "two"]);
}

#[test]
fn no_more_is_read_than_needed() {
    let hits: Vec<Hit> = (0..9).map(|n| hit(Who::User, 1, &n.to_string())).collect();
    assert_eq!(gather(1, 3, false, &hits), (["0", "1", "2"].map(str::to_owned).to_vec(), 2));
    let apart: Vec<Hit> = (0..900).map(|n| hit(Who::User, 1 << (n % 2), &n.to_string())).collect();
    let (found, taken) = gather(0b11, 3, false, &apart);
    assert!(found.len() == 3 && taken < 300, "{taken}");
}

#[test]
fn texts_with_all_words_come_before_those_with_some() {
    let hits = [
        hit(Who::User, 0b01, "one"),
        hit(Who::User, 0b10, "two"),
        hit(Who::User, 0b01, "one more"),
        hit(Who::User, 0b11, "both"),
    ];
    assert_eq!(gather(0b11, 1, false, &hits).0, ["both"]);
    assert_eq!(gather(0b11, 2, false, &hits).0, ["one", "both"]);
    let scattered = [
        hit(Who::User, 0b001, "a"),
        hit(Who::User, 0b001, "b"),
        hit(Who::User, 0b010, "c"),
        hit(Who::User, 0b100, "d"),
    ];
    assert_eq!(gather(0b111, 3, false, &scattered).0, ["a", "c", "d"], "each word is shown");
}

#[test]
fn by_score_titles_and_prompts_win() {
    let mut hits: Vec<Hit> = (0..500).map(|n| hit(Who::ToolResult, 1, &n.to_string())).collect();
    hits.push(hit(Who::Claude, 1, "answer"));
    hits.push(hit(Who::Title, 1, "title"));
    assert_eq!(gather(1, 2, true, &hits).0, ["answer", "title"]);
    assert_eq!(gather(1, 2, false, &hits).0, ["0", "1"]);
}

#[test]
fn titles_that_are_repeated_and_records_written_twice_are_one_hit() {
    let title = hit(Who::Title, 1, "title");
    let record = Hit { uuid: Some(1), ..hit(Who::User, 1, "words") };
    let excluded = Hit { uuid: Some(99), ..hit(Who::User, 1, "shown elsewhere") };
    let said_twice = hit(Who::User, 1, "again");
    let hits =
        [title.clone(), title, record.clone(), record, excluded, said_twice.clone(), said_twice];
    assert_eq!(gather(1, 9, false, &hits).0, ["title", "words", "again", "again"]);
}

proptest! {
    #[test]
    fn what_is_not_sought_would_not_be_shown(
        terms in prop::collection::vec(1u64..8, 0..60),
        most in 1usize..5,
        by_score: bool,
    ) {
        let hits: Vec<Hit> = (0..).zip(&terms).map(|(number, terms)| {
            let who = if number % 3 == 0 { Who::User } else { Who::ToolResult };
            hit(who, *terms, &format!("{number}"))
        }).collect();
        let excluded = HashSet::new();
        let wanted = Wanted { all: 0b111, most, by_score, excluded: &excluded };
        let mut gathered = Gathered::new(&wanted);
        for hit in &hits {
            if hit.terms & gathered.sought() != 0 && gathered.take(hit.clone()).is_break() {
                break;
            }
        }
        let found: Vec<String> =
            gathered.finish().into_iter().map(|hit| hit.context.text).collect();
        prop_assert_eq!(found, gather(0b111, most, by_score, &hits).0);
    }
}

#[test]
fn a_word_that_was_seen_often_enough_is_no_longer_sought_while_another_is_missing() {
    let excluded = HashSet::new();
    let wanted = Wanted { all: 0b11, most: 2, by_score: false, excluded: &excluded };
    let mut gathered = Gathered::new(&wanted);
    for (number, (terms, sought)) in (0..).zip([(0b01, 0b11), (0b01, 0b10), (0b10, 0b11)]) {
        assert!(gathered.take(hit(Who::User, terms, &format!("{number}"))).is_continue());
        assert_eq!(gathered.sought(), sought, "{number}");
    }
}
