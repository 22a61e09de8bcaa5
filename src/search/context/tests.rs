use super::*;
use proptest::prelude::*;

fn marked(context: &Context) -> String {
    let mut text = String::new();
    let mut at = 0;
    for mark in &context.marks {
        text.push_str(&context.text[at..mark.start]);
        text.push_str(&format!("<{}>", &context.text[mark.clone()]));
        at = mark.end;
    }
    text + &context.text[at..]
}

fn around(text: &str, words: &[&str]) -> Context {
    let mut marks: Vec<Range<usize>> =
        words.iter().flat_map(|w| text.match_indices(w).map(|(at, w)| at..at + w.len())).collect();
    marks.sort_by_key(|mark| mark.start);
    let focus = marks[0].clone();
    Context::around(text, &focus, &marks)
}

#[test]
fn the_line_of_the_match_is_shown() {
    let context = around("one\n  two and two\nthree", &["two"]);
    assert_eq!((marked(&context).as_str(), context.is_cut), ("<two> and <two>", (false, false)));
    assert_eq!(
        marked(&around("connection\trefused by x", &["refused"])),
        "connection <refused> by x"
    );
    assert_eq!(marked(&around("a\nb", &["a\nb"])), "<a b>");
}

#[test]
fn nothing_harmful_is_left_and_marks_stay_right() {
    let context = around("\u{1b}[1;31merror\u{1b}[0m: \u{202e}bad\u{7} thing", &["bad", "err"]);
    assert_eq!(marked(&context), "<err>or: <bad> thing");
    assert_eq!(marked(&around("a\u{200b}b c", &["a\u{200b}b"])), "<ab> c");
    assert_eq!(marked(&around("x\u{1b}]0;title\u{7}y", &["y"])), "x]0;title <y>");
    assert_eq!(marked(&around("a\u{200b}b", &["\u{200b}"])), "ab");
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let text = format!("{}needle{}", "é".repeat(1000), "ü".repeat(1000));
    let context = around(&text, &["needle"]);
    assert_eq!(context.is_cut, (true, true));
    assert!(context.text.len() <= BEFORE + AFTER + 8);
    let fitted = context.fit(30);
    assert_eq!(marked(&fitted), format!("…{}<needle>{}…", "é".repeat(9), "ü".repeat(13)));
}

#[test]
fn a_line_that_fits_is_left_whole() {
    let context = around("say needle here", &["needle"]);
    assert_eq!(marked(&context.fit(15)), "say <needle> here");
    assert_eq!(marked(&context.fit(14)), "say <needle> h…");
    assert_eq!(marked(&around("0123456789 needle", &["needle"]).fit(12)), "…789 <needle>");
}

proptest! {
    #[test]
    fn whatever_stands_around_it_is_safe_and_fits(
        before in any::<String>(),
        word in "[a-zé日]{1,6}",
        after in any::<String>(),
        columns in 2_usize..80,
    ) {
        let text = format!("{before}{word}{after}");
        let focus = before.len()..before.len() + word.len();
        let context = Context::around(&text, &focus, std::slice::from_ref(&focus));
        prop_assert!(!context.text.chars().any(is_unsafe), "{context:?}");
        prop_assert_eq!(context.marks.len(), 1);
        prop_assert_eq!(&context.text[context.marks[0].clone()], &word);
        let fitted = context.fit(columns);
        prop_assert!(width(&fitted.text) <= columns, "{} > {columns}: {fitted:?}", width(&fitted.text));
        for mark in &fitted.marks {
            prop_assert!(word.contains(&fitted.text[mark.clone()]));
        }
    }
}
