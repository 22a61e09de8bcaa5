//! `cld resume`: back to a session, in the directory it belongs to.
//!
//! Find it (target), see what is known of it (conversation, evidence), decide (directory,
//! decision), ask where that is needed (offers, report), and become Claude Code there (place).

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use crate::claude::{self, Config, Start};
use crate::cli::Resume;
use crate::error::Stop;
use crate::find::Candidate;
use crate::jump::{Arrival, Person};
use crate::roster::{self, Listed, Roster, Servers};
use crate::text::shown;
use crate::tmux::{self, Pane};
use crate::transcript::{self, IdPrefix};
use crate::{jump, paths, terminal};

mod conversation;
pub mod decision;
pub mod directory;
pub mod evidence;
mod offers;
pub mod place;
mod report;
mod target;

use conversation::Conversation;
use decision::{
    Answer, Belongs, Copies, Decision, Destination, Open, Question, Refusal, Wish, decide,
};
use evidence::Witnesses;
use offers::{Offer, instead_of};
use place::Place;
use report::Again;

pub fn run(options: &Resume) -> Result<()> {
    let roster = roster::read(Servers::Current);
    let wish = wish(options);
    let may_ask = wish.answer == Answer::Ask && terminal::is_there();
    let candidate = target::find(options.id.as_deref(), &roster, may_ask)?;
    let resuming = Resuming { options, roster, candidate, current: current(), may_ask };

    let mut conversation = None;
    let decision = decide(wish, resuming.open(), terminal::is_there(), || {
        let conversation = conversation.insert(resuming.conversation());
        resuming.belongs(conversation.as_ref().ok())
    });
    let conversation = || conversation.unwrap_or_else(|| resuming.conversation());
    match decision {
        Decision::Jump(pane) => resuming.jump(&pane),
        Decision::Go { to, warning } => {
            let conversation = conversation()?;
            if let Some(warning) = warning {
                terminal::note(&report::warning(resuming.id(), &warning));
            }
            match to {
                Destination::Current => resuming.go(&conversation, None),
                Destination::Home(dir) => resuming.go(&conversation, Some(&open(&dir)?)),
            }
        }
        Decision::Ask(question) => {
            let conversation = conversation()?;
            let place = resuming.ask(question, &conversation)?;
            resuming.go(&conversation, Some(&place))
        }
        Decision::Refuse(Refusal::OpenElsewhere) => {
            bail!(report::open_elsewhere(resuming.id(), &resuming.again(None)))
        }
        Decision::Refuse(refusal) => Err(resuming.refuse(refusal, &conversation()?)),
    }
}

/// How a session could be resumed from a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// At once, with `-y`.
    Goes,
    /// Only after a question.
    Asks,
}

/// What would come of [`run`] on a terminal, without doing any of it; an error where it would fail.
pub fn outlook(id: &str, fork: bool) -> Result<Outlook> {
    claude::find()?;
    let options = Resume { fork, id: Some(id.to_owned()), ..Resume::default() };
    let roster = roster::read(Servers::Current);
    let candidate = target::find(options.id.as_deref(), &roster, false)?;
    let resuming =
        Resuming { options: &options, roster, candidate, current: current(), may_ask: false };
    let conversation = resuming.conversation()?;
    let decide = |answer| {
        let wish = Wish { answer, ..wish(&options) };
        decide(wish, resuming.open(), true, || resuming.belongs(Some(&conversation)))
    };
    match (decide(Answer::Yes), decide(Answer::Ask)) {
        (Decision::Refuse(_), Decision::Refuse(refusal)) => {
            Err(resuming.refuse(refusal, &conversation))
        }
        (Decision::Refuse(_), _) => Ok(Outlook::Asks),
        _ => Ok(Outlook::Goes),
    }
}

fn wish(options: &Resume) -> Wish {
    let answer = match (options.yes, options.no) {
        (true, _) => Answer::Yes,
        (false, true) => Answer::No,
        (false, false) => Answer::Ask,
    };
    let copy = match (options.fork, options.force) {
        (true, _) => Copies::Fork,
        (false, true) => Copies::Force,
        (false, false) => Copies::Avoid,
    };
    Wish { answer, copy }
}

/// Nothing where the current directory was deleted.
fn current() -> Option<Place> {
    Place::open(&std::env::current_dir().ok()?).ok()
}

fn open(dir: &Path) -> Result<Place> {
    Place::open(dir).with_context(|| format!("{} cannot be opened", shown(dir)))
}

/// One session on its way to be resumed.
struct Resuming<'a> {
    options: &'a Resume,
    roster: Roster,
    candidate: Candidate,
    current: Option<Place>,
    may_ask: bool,
}

impl Resuming<'_> {
    fn id(&self) -> &str {
        self.candidate.id.as_str()
    }

    fn open(&self) -> Option<Open> {
        let mut open = self.candidate.listed.iter().filter(|listed| listed.is_alive()).peekable();
        open.peek()?;
        let pane = open.find_map(pane_of);
        Some(pane.map_or(Open::Elsewhere, |pane| Open::InPane(Box::new(pane))))
    }

    fn conversation(&self) -> Result<Conversation> {
        let files = &self.candidate.files;
        let mut conversation = Conversation::read(self.id(), files, self.may_ask)?;
        // Whoever names a file leaves out the others of the same id.
        if let Some(id) = IdPrefix::parse(self.id()).filter(|_| self.is_named_by_file()) {
            let all = transcript::matching(&self.roster.config_dirs, &id);
            conversation.is_double = all.len() > 1;
        }
        Ok(conversation)
    }

    fn is_named_by_file(&self) -> bool {
        self.options.id.as_ref().is_some_and(|asked| asked.ends_with(".jsonl"))
    }

    /// Of a conversation that cannot be read, nothing is known.
    fn belongs(&self, conversation: Option<&Conversation>) -> Belongs {
        conversation.map_or_else(Belongs::unknown, |conversation| {
            self.witnesses(conversation).belongs(self.current.as_ref())
        })
    }

    fn witnesses<'a>(&'a self, conversation: &'a Conversation) -> Witnesses<'a> {
        let listed = &self.candidate.listed;
        let of_panes = self.roster.panes.iter().filter_map(|pane| pane.kept.as_ref());
        Witnesses {
            session: &conversation.session,
            origin: &conversation.origin,
            registry: listed
                .iter()
                .find_map(|listed| listed.entry.as_ref()?.cwd.as_deref())
                .map(Path::new),
            pane: listed
                .iter()
                .find_map(|listed| listed.pane.as_ref()?.kept.as_ref()?.directory.as_deref()),
            hints: of_panes.filter_map(|kept| kept.directory.clone()).collect(),
            project_lists: paths::project_lists(&conversation.session.config_dir),
        }
    }

    fn jump(&self, pane: &Pane) -> Result<()> {
        let person = Person::find(&self.roster, None)?;
        if self.options.print {
            return print(&jump::printed(pane, &person));
        }
        terminal::note(&report::jumping(self.id(), pane));
        match jump::to(pane, &person, None)? {
            Arrival::There => Ok(()),
            Arrival::Gone => bail!("the pane {} has just gone away\nTry again", pane.id),
        }
    }

    fn ask(&self, question: Question, conversation: &Conversation) -> Result<Place> {
        match question {
            Question::Confirm { dir, disagreement } => {
                let place = open(&dir)?;
                if let Some(disagreement) = disagreement {
                    terminal::note(&report::disagreement(self.id(), &disagreement));
                }
                terminal::confirm(&report::question(self.id(), &dir))?;
                Ok(place)
            }
            Question::Which { dirs, source } => {
                terminal::note(&report::which(self.id(), source));
                let rows: Vec<String> = dirs.iter().map(|dir| report::row(dir)).collect();
                let places: Vec<Option<Place>> =
                    dirs.iter().map(|dir| Place::open(dir).ok()).collect();
                let chosen = terminal::choose("Which one?", &rows)?;
                match places.into_iter().nth(chosen).flatten() {
                    Some(place) => Ok(place),
                    None => self.ask_instead(&dirs[chosen], conversation),
                }
            }
            Question::Gone { dir, source } => {
                terminal::note(&report::gone(self.id(), &dir, source));
                self.ask_instead(&dir, conversation)
            }
            Question::Unknown => {
                let place = current().context("the current directory is gone")?;
                terminal::note(&report::unknown(self.id(), &conversation.session.bucket));
                terminal::confirm(&report::question(self.id(), place.path()))?;
                Ok(place)
            }
        }
    }

    fn ask_instead(&self, gone: &Path, conversation: &Conversation) -> Result<Place> {
        let mut offers = self.offers(gone, conversation);
        if offers.is_empty() {
            bail!("nothing is known that could stand in for {}", shown(gone));
        }
        let rows: Vec<String> = offers.iter().map(Offer::row).collect();
        match offers.swap_remove(terminal::choose("Where to resume?", &rows)?) {
            Offer::Go { place, .. } => Ok(place),
            Offer::Worktree(worktree) => {
                worktree.make()?;
                // The directory may have been one below the worktree that git does not know of.
                Place::open(gone).or_else(|_| open(&worktree.path))
            }
        }
    }

    fn offers(&self, gone: &Path, conversation: &Conversation) -> Vec<Offer> {
        let projects = self.witnesses(conversation).projects();
        instead_of(gone, &conversation.origin, &projects, current())
    }

    fn refuse(&self, refusal: Refusal, conversation: &Conversation) -> anyhow::Error {
        let (id, again) = (self.id(), self.again(Some(conversation)));
        match refusal {
            Refusal::OpenElsewhere => anyhow!(report::open_elsewhere(id, &again)),
            Refusal::NeedsAnswer { dir, disagreement } => {
                let current = self.current.as_ref().map(Place::path);
                let mut message = report::needs_answer(id, &dir, current, &again);
                if let Some(disagreement) = disagreement {
                    message = format!("{}\n{message}", report::disagreement(id, &disagreement));
                }
                Stop::Usage(message).into()
            }
            Refusal::Several { dirs, source } => {
                Stop::Usage(report::several(id, &dirs, source, &again)).into()
            }
            Refusal::Gone { dir, source } => {
                let offers = self.offers(&dir, conversation);
                let instead = report::what_there_is(&offers, &again);
                anyhow!("{}{instead}", report::gone(id, &dir, source))
            }
            Refusal::Unknown => {
                let why = report::unknown(id, &conversation.session.bucket);
                anyhow!("{why}\nTry: {}  (stays in the current directory)", again.answered("-n"))
            }
        }
    }

    fn again(&self, conversation: Option<&Conversation>) -> Again {
        Again::new(self.options, self.id(), conversation)
    }

    /// Enters the place and becomes Claude Code there; comes back only with an error.
    fn go(&self, conversation: &Conversation, place: Option<&Place>) -> Result<()> {
        // Looked for before the directory changes, because `$PATH` may name relative ones.
        let program = if self.options.print { None } else { Some(claude::find()?) };
        if let Some(place) = place {
            place.enter()?;
        }
        let dir = place.map(Place::path);
        let start = Start {
            session: conversation.argument(std::env::current_dir().ok().as_deref()),
            fork: self.options.fork,
            config: Config::of(
                &conversation.session.config_dir,
                paths::default_config_dir().as_deref(),
                paths::other_config_dir().as_deref(),
            ),
            foreign: claude::variables_of_another_session(),
            arguments: self.options.arguments.clone(),
        };
        match program {
            None => print(&start.command_line(dir)),
            Some(program) => {
                tmux::end_clients();
                Err(start.exec(&program, dir))
            }
        }
    }
}

/// The pane of a session, on whichever server it is.
fn pane_of(listed: &Listed) -> Option<Pane> {
    if listed.pane.is_some() {
        return listed.pane.clone();
    }
    listed.entry.as_ref()?.tmux.as_ref()?;
    let everywhere = roster::read(Servers::All).sessions.into_iter();
    let mut same = everywhere.filter(|other| other.id == listed.id && other.is_alive());
    same.find_map(|other| other.pane)
}

fn print(line: &str) -> Result<()> {
    writeln!(io::stdout(), "{line}").map_err(Into::into)
}
