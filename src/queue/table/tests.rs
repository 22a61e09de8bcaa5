use super::*;
use crate::queue::tests::{NOW, pane, session, wait};
use crate::queue::{Order, Queue};
use crate::roster::Listed;
use proptest::prelude::*;

fn entry(id: u32, letter: char, context: &str, directory: &str, title: &str) -> Listed {
    let mut wait = wait(letter, NOW.micros() - 240_000_000);
    wait.context = context.to_owned();
    let mut listed = session(Some(pane("/s", id)), vec![wait]);
    listed.directory = Some(directory.into());
    listed.title = Some(title.to_owned());
    listed
}

fn text(sessions: &[Listed], width: Option<usize>) -> String {
    let queue = Queue::of(sessions, Order::Age, NOW);
    let entries: Vec<&Entry> = queue.open().chain(queue.put_off()).collect();
    let screen = Screen { width, has_colours: false };
    table(&entries, screen, NOW, Some(Path::new("/home/u")), Path::new("/s")).concat()
}

#[test]
fn an_entry_says_what_is_asked_where_and_since_when() {
    let mut snoozed = entry(3, 'q', "Which?", "/srv/日本", "names");
    let pane = snoozed.pane.as_mut().unwrap();
    let until = Some(NOW.plus_seconds(700));
    pane.put_off = Some(crate::pane::PutOff { newest_wait: NOW, until });
    let sessions = [
        entry(1, 'p', "Bash: rm -rf build", "/home/u/web", "new landing page"),
        entry(2, 'd', "All is\u{1b}[2J well.", "/home/u/docs", "rewrite"),
        snoozed,
    ];
    assert_eq!(
        text(&sessions, None),
        "00000001  permission             4m  work:1.0  ~/web      new landing page  Bash: rm -rf build\n\
         00000002  done                   4m  work:2.0  ~/docs     rewrite           All is [2J well.\n\
         00000003  question, snoozed 11m  4m  work:3.0  /srv/日本  names             Which?\n"
    );
}

#[test]
fn on_a_narrow_screen_the_question_keeps_its_room() {
    let long = entry(
        1,
        'p',
        &"Bash: cargo test ".repeat(9),
        "/home/u/some/where/deep/in/here",
        &"title ".repeat(9),
    );
    assert_eq!(
        text(&[long], Some(90)),
        "00000001  permission  4m  work:1.0  …eep/in/here  title title…  Bash: cargo test Bash: ca…\n"
    );
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_screen(
        cells in prop::collection::vec(("\\PC{0,80}", "\\PC{1,40}", "\\PC{0,80}"), 1..5),
        columns in 1_usize..150,
    ) {
        let sessions: Vec<Listed> = (0..).zip(&cells)
            .map(|(id, (context, directory, title))| entry(id, 'p', context, directory, title))
            .collect();
        for line in text(&sessions, Some(columns)).lines() {
            prop_assert!(width(line) <= columns, "{line:?}");
        }
    }
}
