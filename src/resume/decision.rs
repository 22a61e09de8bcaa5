//! What to do about a session: go, jump, ask or refuse. Pure.

use std::path::PathBuf;

use crate::tmux::Pane;

use super::directory::{Home, Source};

/// What the user said on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    pub answer: Answer,
    pub copy: Copies,
}

/// What to do about the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `-y`: go to the session's.
    Yes,
    /// `-n`: stay in the current one.
    No,
    Ask,
}

/// What to do about a session that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Never open a second one: two writers would ruin the transcript.
    Avoid,
    /// `--fork`: go on under a new id.
    Fork,
    /// `--force`: open it a second time.
    Force,
}

/// A session that some Claude Code has open right now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    InPane(Box<Pane>),
    /// Outside any tmux pane that is known.
    Elsewhere,
}

/// Where the session belongs, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belongs {
    pub home: Home,
    /// Whether a home that is known is there; of no meaning for another.
    pub standing: Standing,
    /// What the pane says, where that is another directory than the home.
    pub pane_says: Option<PathBuf>,
}

impl Belongs {
    pub fn unknown() -> Self {
        Self { home: Home::Unknown, standing: Standing::Elsewhere, pane_says: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Current,
    Elsewhere,
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// To the pane that has the session open.
    Jump(Box<Pane>),
    Go {
        to: Destination,
        warning: Option<Disagreement>,
    },
    Ask(Question),
    Refuse(Refusal),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    Current,
    Home(PathBuf),
}

/// The pane and the transcript name different directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    pub pane: PathBuf,
    pub home: PathBuf,
    pub source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Confirm { dir: PathBuf, disagreement: Option<Disagreement> },
    Which { dirs: Vec<PathBuf>, source: Source },
    Gone { dir: PathBuf, source: Source },
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    OpenElsewhere,
    /// Nobody is there to be asked.
    NeedsAnswer {
        dir: PathBuf,
        disagreement: Option<Disagreement>,
    },
    Several {
        dirs: Vec<PathBuf>,
        source: Source,
    },
    Gone {
        dir: PathBuf,
        source: Source,
    },
    Unknown,
}

/// `belongs` is looked up only where the answer depends on it.
pub fn decide(
    wish: Wish,
    open: Option<Open>,
    has_terminal: bool,
    belongs: impl FnOnce() -> Belongs,
) -> Decision {
    match (open, wish.copy) {
        (Some(Open::InPane(pane)), Copies::Avoid) => return Decision::Jump(pane),
        (Some(Open::Elsewhere), Copies::Avoid) => return Decision::Refuse(Refusal::OpenElsewhere),
        (None, _) | (Some(_), Copies::Fork | Copies::Force) => {}
    }
    let may_ask = match wish.answer {
        Answer::No => return Decision::Go { to: Destination::Current, warning: None },
        Answer::Yes => false,
        Answer::Ask => has_terminal,
    };
    let Belongs { home, standing, pane_says } = belongs();
    match home {
        Home::Unknown if may_ask => Decision::Ask(Question::Unknown),
        Home::Unknown => Decision::Refuse(Refusal::Unknown),
        Home::Several { dirs, source } if may_ask => {
            Decision::Ask(Question::Which { dirs, source })
        }
        Home::Several { dirs, source } => Decision::Refuse(Refusal::Several { dirs, source }),
        Home::Known { dir, source } => {
            let disagreement =
                pane_says.map(|pane| Disagreement { pane, home: dir.clone(), source });
            match standing {
                Standing::Gone if may_ask => Decision::Ask(Question::Gone { dir, source }),
                Standing::Gone => Decision::Refuse(Refusal::Gone { dir, source }),
                Standing::Current if disagreement.is_none() => {
                    Decision::Go { to: Destination::Current, warning: None }
                }
                Standing::Current | Standing::Elsewhere => match wish.answer {
                    Answer::Yes | Answer::No => {
                        Decision::Go { to: Destination::Home(dir), warning: disagreement }
                    }
                    Answer::Ask if may_ask => {
                        Decision::Ask(Question::Confirm { dir, disagreement })
                    }
                    Answer::Ask => Decision::Refuse(Refusal::NeedsAnswer { dir, disagreement }),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Moment, PaneId};
    use Answer::{Ask, No, Yes};
    use Copies::{Avoid, Force, Fork};
    use Standing::{Current, Elsewhere, Gone};

    fn pane() -> Box<Pane> {
        Box::new(Pane {
            socket: "/s".into(),
            server_pid: 1,
            server_started: Moment::from_seconds(0),
            id: PaneId(5),
            process: Some(2),
            is_dead: false,
            session: "work".to_owned(),
            window: "@3".to_owned(),
            window_index: 2,
            index: 1,
            links: Vec::new(),
            put_off: None,
            kept: None,
        })
    }

    fn home(standing: Standing) -> Belongs {
        let home = Home::Known { dir: "/home/u/p".into(), source: Source::Transcript };
        Belongs { home, standing, pane_says: None }
    }

    fn several() -> Belongs {
        let dirs = vec!["/a_b".into(), "/a-b".into()];
        let home = Home::Several { dirs, source: Source::Disk };
        Belongs { home, standing: Elsewhere, pane_says: None }
    }

    fn disagreeing(standing: Standing) -> Belongs {
        Belongs { pane_says: Some("/elsewhere".into()), ..home(standing) }
    }

    fn disagreement() -> Disagreement {
        let (pane, home) = ("/elsewhere".into(), "/home/u/p".into());
        Disagreement { pane, home, source: Source::Transcript }
    }

    fn dir() -> PathBuf {
        "/home/u/p".into()
    }

    fn go(to: Destination) -> Decision {
        Decision::Go { to, warning: None }
    }

    #[track_caller]
    fn check(answer: Answer, has_terminal: bool, belongs: &Belongs, expected: &Decision) {
        for (copy, open) in [
            (Avoid, None),
            (Fork, None),
            (Fork, Some(Open::InPane(pane()))),
            (Force, Some(Open::Elsewhere)),
        ] {
            let wish = Wish { answer, copy };
            assert_eq!(decide(wish, open, has_terminal, || belongs.clone()), *expected);
        }
    }

    #[track_caller]
    fn check_unasked(wish: Wish, open: Option<&Open>, expected: &Decision) {
        for has_terminal in [true, false] {
            let decision = decide(wish, open.cloned(), has_terminal, || {
                panic!("the directory is of no interest")
            });
            assert_eq!(decision, *expected);
        }
    }

    #[test]
    fn an_open_session_is_never_opened_twice_unless_insisted() {
        for answer in [Yes, No, Ask] {
            let wish = Wish { answer, copy: Avoid };
            check_unasked(wish, Some(&Open::InPane(pane())), &Decision::Jump(pane()));
            let refused = Decision::Refuse(Refusal::OpenElsewhere);
            check_unasked(wish, Some(&Open::Elsewhere), &refused);
        }
    }

    #[test]
    fn no_stays_where_it_is_whatever_is_known() {
        for (copy, open) in [(Avoid, None), (Fork, Some(&Open::Elsewhere)), (Force, None)] {
            check_unasked(Wish { answer: No, copy }, open, &go(Destination::Current));
        }
    }

    #[test]
    fn in_the_sessions_own_directory_nothing_is_asked() {
        for (answer, has_terminal) in [(Yes, true), (Yes, false), (Ask, true), (Ask, false)] {
            check(answer, has_terminal, &home(Current), &go(Destination::Current));
        }
    }

    #[test]
    fn another_directory_needs_a_yes() {
        check(Yes, false, &home(Elsewhere), &go(Destination::Home(dir())));
        check(Yes, true, &home(Elsewhere), &go(Destination::Home(dir())));
        let question = Question::Confirm { dir: dir(), disagreement: None };
        check(Ask, true, &home(Elsewhere), &Decision::Ask(question));
        let refusal = Refusal::NeedsAnswer { dir: dir(), disagreement: None };
        check(Ask, false, &home(Elsewhere), &Decision::Refuse(refusal));
    }

    #[test]
    fn a_pane_that_says_otherwise_is_asked_about_even_on_the_spot() {
        let disagreement = Some(disagreement());
        for standing in [Current, Elsewhere] {
            let belongs = disagreeing(standing);
            let go = Decision::Go { to: Destination::Home(dir()), warning: disagreement.clone() };
            check(Yes, false, &belongs, &go);
            let question = Question::Confirm { dir: dir(), disagreement: disagreement.clone() };
            check(Ask, true, &belongs, &Decision::Ask(question));
            let refusal = Refusal::NeedsAnswer { dir: dir(), disagreement: disagreement.clone() };
            check(Ask, false, &belongs, &Decision::Refuse(refusal));
        }
    }

    #[test]
    fn a_directory_that_is_gone_is_never_replaced_without_a_question() {
        let source = Source::Transcript;
        let asked = Decision::Ask(Question::Gone { dir: dir(), source });
        let refused = Decision::Refuse(Refusal::Gone { dir: dir(), source });
        check(Ask, true, &home(Gone), &asked);
        check(Ask, true, &disagreeing(Gone), &asked);
        check(Ask, false, &home(Gone), &refused);
        check(Yes, true, &home(Gone), &refused);
        check(Yes, false, &disagreeing(Gone), &refused);
    }

    #[test]
    fn between_several_directories_only_the_user_chooses() {
        let (dirs, source) = (vec!["/a_b".into(), "/a-b".into()], Source::Disk);
        let asked = Decision::Ask(Question::Which { dirs: dirs.clone(), source });
        let refused = Decision::Refuse(Refusal::Several { dirs, source });
        check(Ask, true, &several(), &asked);
        check(Ask, false, &several(), &refused);
        check(Yes, true, &several(), &refused);
        check(Yes, false, &several(), &refused);
    }

    #[test]
    fn no_directory_at_all_is_said() {
        check(Ask, true, &Belongs::unknown(), &Decision::Ask(Question::Unknown));
        check(Ask, false, &Belongs::unknown(), &Decision::Refuse(Refusal::Unknown));
        check(Yes, true, &Belongs::unknown(), &Decision::Refuse(Refusal::Unknown));
    }
}
