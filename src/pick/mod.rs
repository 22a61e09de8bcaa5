//! `cld pick`: every session on one screen, and the way to each.
//!
//! Keys become inputs (input), an input changes the model (model, update), the model becomes a frame
//! (view); all of this is pure. Threads read what is shown (live, ended, reading) and tell the loop
//! here, the only one that touches the terminal (fullscreen). What the person decided is done after
//! the terminal was given back (go).

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::crossterm::event;

use crate::cli::Pick;
use crate::error::Stop;
use crate::session::SessionId;
use crate::text::one_line;
use crate::{clock, config, paths};

mod ended;
mod filter;
pub mod fullscreen;
mod go;
mod input;
mod layout;
mod live;
mod model;
mod palette;
mod preview;
mod reading;
mod row;
#[cfg(test)]
mod samples;
mod searching;
#[cfg(test)]
mod tests;
mod threads;
mod update;
mod view;
mod wrap;

use fullscreen::Fullscreen;
use go::Way;
use input::Input;
use model::{Mode, Model, Search};
use palette::{Depth, Palette};
use preview::Preview;
use reading::Wish;
use row::{Group, Key, Row};
use searching::Sought;
use threads::{Message, Shared, start, wait_for_input, watch_signals};
use update::{Effect, Pause, update};
use view::View;

/// Ages are counted in seconds.
const TICK: Duration = Duration::from_secs(1);
/// How long the first frame waits for the sessions in panes, so that they are on it.
const FIRST_FRAME: Duration = Duration::from_millis(30);

pub fn run(options: &Pick) -> Result<()> {
    choose(options)?.go(options)
}

/// The session that is picked, for a command that has something else in mind for it.
pub fn one() -> Result<SessionId> {
    let options = Pick { waiting: false, client: None, print: true };
    choose(&options)?.id().ok_or_else(|| Stop::Declined.into())
}

/// The loop, from the first frame to a decision. Its threads end when it is gone.
struct Picker<'a> {
    options: &'a Pick,
    screen: Fullscreen,
    view: View,
    model: Model,
    begun: Instant,
    messages: Receiver<Message>,
    tell: Sender<Message>,
    /// Answered with one word each time the person's input has been read.
    input: Sender<()>,
    wake_live: Sender<()>,
    wishes: Sender<Wish>,
    /// Whose preview was asked for last, and what was known of it then.
    wished: Option<Wish>,
    seek: Sender<Sought>,
    /// What is searched for, or was last.
    sought: Option<Sought>,
    past: Option<StartPast>,
    _leave_past: Sender<()>,
}

/// What is needed to read past sessions, which begins after the first frame.
type StartPast = Box<dyn FnOnce() -> Result<()>>;

fn choose(options: &Pick) -> Result<Way> {
    let shared = Arc::new(Shared {
        home: paths::home(),
        own_server: paths::tmux_socket(),
        config_dirs: Mutex::new(paths::config_dirs()),
    });
    let (tell, messages) = mpsc::channel();
    let (wake_live, woken) = mpsc::channel();
    let (live, told) = (Arc::clone(&shared), tell.clone());
    start("live", move || live::watch(&live, &told, &woken))?;

    let screen = Fullscreen::begin()?;
    let (input, read) = mpsc::channel();
    let told = tell.clone();
    start("input", move || wait_for_input(&told, &read))?;
    let (wishes, wished) = mpsc::channel();
    let told = tell.clone();
    start("preview", move || reading::serve(&wished, &told))?;
    let (seek, sought) = mpsc::channel();
    let (of_search, told) = (Arc::clone(&shared), tell.clone());
    start("search", move || searching::serve(&of_search, &sought, &told))?;
    watch_signals(tell.clone())?;
    let (leave_past, left) = mpsc::channel();
    let told = tell.clone();
    let past: StartPast =
        Box::new(move || start("past", move || ended::watch(&shared, &told, &left)));
    let mut model = Model::new(screen.area());
    model.is_reading = !options.waiting;
    let picker = Picker {
        options,
        screen,
        view: View::new(palette()),
        model,
        begun: Instant::now(),
        messages,
        tell,
        input,
        wake_live,
        wishes,
        wished: None,
        seek,
        sought: None,
        past: (!options.waiting).then_some(past),
        _leave_past: leave_past,
    };
    picker.run()
}

fn palette() -> Palette {
    let depth = match () {
        () if paths::no_color() => Depth::Plain,
        () if paths::has_true_colour() => Depth::True,
        () => Depth::Indexed,
    };
    Palette::new(depth, &config::load().config.tabs)
}

impl Picker<'_> {
    fn run(mut self) -> Result<Way> {
        let mut wait = FIRST_FRAME;
        loop {
            let message = match self.messages.recv_timeout(wait) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => {
                    self.wish_again();
                    None
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Declined.into()),
            };
            let more: Vec<Message> = self.messages.try_iter().collect();
            for message in message.into_iter().chain(more) {
                if let Some(choice) = self.take(message)? {
                    return Ok(choice);
                }
            }
            self.wish();
            self.screen.draw(&mut self.view, &self.model, clock::now())?;
            if let Some(start) = self.past.take() {
                start()?;
            }
            wait = TICK;
        }
    }

    fn take(&mut self, message: Message) -> Result<Option<Way>> {
        match message {
            Message::Ready => return self.read_input(),
            Message::Gone => return Err(Stop::Declined.into()),
            Message::Signal(signal) => return Err(Stop::Signal(signal).into()),
            Message::Live(mut rows) => {
                if self.options.waiting {
                    rows.retain(|row| matches!(row.group, Group::Waiting | Group::Later));
                }
                self.model.set_live(rows);
            }
            Message::Past(rows) => self.model.add_past(rows),
            Message::PastGone(gone) => self.model.drop_past(&gone),
            Message::PastRead => self.model.is_reading = false,
            Message::Preview(preview) => self.model.preview = preview,
            Message::Said(said) => self.model.message = said,
            Message::Found { generation, told } => self.take_found(generation, told),
        }
        Ok(None)
    }

    fn read_input(&mut self) -> Result<Option<Way>> {
        while event::poll(Duration::ZERO)? {
            let Some(input) = Input::of(event::read()?) else { continue };
            let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let Some(effect) = update(&mut self.model, input, now) else { continue };
            if let Some(choice) = self.effect(effect)? {
                return Ok(Some(choice));
            }
        }
        // Where the thread is gone, so is the terminal, and the next message says so.
        let _ = self.input.send(());
        Ok(None)
    }

    fn effect(&mut self, effect: Effect) -> Result<Option<Way>> {
        match effect {
            Effect::Leave => return Err(Stop::Declined.into()),
            Effect::Go(key) => return Ok(self.way(&key, |row| Way::to(row, self.options))),
            Effect::Fork(key) => return Ok(self.way(&key, |row| Way::fork(row, self.options))),
            Effect::CopyId(key) => self.copy(&key)?,
            Effect::PutOff(key, pause) => self.put_off(&key, pause)?,
            Effect::TakeBack(key) => self.take_back(&key)?,
            Effect::Search => self.search(),
        }
        Ok(None)
    }

    /// The way to a session; where there is none, the person is told why and stays.
    fn way(&mut self, key: &Key, find: impl Fn(&Row) -> Result<Way>) -> Option<Way> {
        let found = find(self.model.row_of(key)?);
        found.map_err(|error| self.model.message = one_line(&format!("{error:#}"), 500)).ok()
    }

    fn put_off(&self, key: &Key, pause: Pause) -> Result<()> {
        let Some(row) = self.model.row_of(key) else { return Ok(()) };
        let (row, tell, wake) = (row.clone(), self.tell.clone(), self.wake_live.clone());
        // Nobody has to be told where the picker is gone.
        start("put off", move || {
            _ = tell.send(Message::Said(go::put_off(&row, pause)));
            _ = wake.send(());
        })
    }

    fn take_back(&self, key: &Key) -> Result<()> {
        let Some(row) = self.model.row_of(key) else { return Ok(()) };
        let (row, tell, wake) = (row.clone(), self.tell.clone(), self.wake_live.clone());
        start("take back", move || {
            _ = tell.send(Message::Said(go::take_back(&row)));
            _ = wake.send(());
        })
    }

    /// Ends the search that is under way, and begins another where there is something to look for.
    fn search(&mut self) {
        let generation = self.sought.take().map_or(0, |sought| {
            sought.cancel.cancel();
            sought.generation + 1
        });
        let sought = Sought::new(generation, &self.model.text);
        self.sought = Some(sought.clone());
        if self.model.mode != Mode::Filter && !self.model.text.trim().is_empty() {
            self.model.mode = Mode::Search(Search::Running(0));
            // Without its thread nothing is found.
            let _ = self.seek.send(sought);
        }
    }

    fn take_found(&mut self, generation: u64, told: searching::Told) {
        let is_wanted = self.sought.as_ref().is_some_and(|sought| sought.generation == generation);
        if !is_wanted || self.model.mode == Mode::Filter {
            return;
        }
        match told {
            searching::Told::Found(row, hits) => self.model.add_found(*row, hits),
            searching::Told::Percent(percent) => {
                self.model.mode = Mode::Search(Search::Running(percent));
            }
            searching::Told::Done(Ok(())) => self.model.mode = Mode::Search(Search::Done),
            searching::Told::Done(Err(why)) => {
                self.model.mode = Mode::Search(Search::Done);
                self.model.message = why;
            }
        }
    }

    fn copy(&mut self, key: &Key) -> Result<()> {
        let id = key.id.as_str();
        if !go::copy_to_tmux(id) {
            self.screen.copy(id)?;
        }
        self.model.message = format!("copied {id}");
        Ok(())
    }

    /// The transcript of a session that works grows without a word of its hooks.
    fn wish_again(&mut self) {
        if self.model.selected().is_some_and(Row::is_alive) {
            self.wished = None;
        }
    }

    /// Asks for the preview of another session, or of this one when something of it has changed.
    fn wish(&mut self) {
        let Some(row) = self.model.selected() else { return };
        if let Some(hits) = self.model.hits() {
            self.model.preview = Preview::of_hits(row.key.clone(), hits);
            self.wished = None;
            return;
        }
        let is_known = |wished: &Wish| wished.key == row.key && wished.listed == row.listed;
        if !self.wished.as_ref().is_some_and(is_known) {
            let wish = Wish { key: row.key.clone(), listed: Arc::clone(&row.listed) };
            self.wished = Some(wish.clone());
            // Without its thread there is just no preview.
            let _ = self.wishes.send(wish);
        }
    }
}
