//! `cld next`, `back`, `skip`, `snooze` and `jump`: from the queue to a pane.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::cli;
use crate::error::Stop;
use crate::find::find;
use crate::jump::{self, Arrival, Person};
use crate::pane::PUT_OFF;
use crate::roster::{self, Listed, Roster, Servers};
use crate::session::Moment;
use crate::text::one_line;
use crate::tmux::{self, Answer, Batch, Pane};
use crate::{clock, paths};

use super::list::servers;
use super::snooze::Pause;
use super::table::sentence;
use super::{Entry, Order, Place, Queue, Standing, Visits};

const LIMIT: Duration = Duration::from_secs(3);
/// What is remembered of somebody who is no client.
const NOBODY: &str = "-";

pub fn next(options: &cli::Next) -> Result<()> {
    let order = options.by.into();
    let trip = Trip::begin(servers(options.server), order, options.client.as_deref())?;
    trip.go_on()
}

pub fn back(options: &cli::Back) -> Result<()> {
    let trip = Trip::begin(Servers::All, Order::Age, options.client.as_deref())?;
    let visits = trip.visits();
    for place in visits.before(trip.name()) {
        let Some(pane) = trip.pane_at(place) else { continue };
        let mut visits = visits.clone();
        visits.go_back(trip.name(), place);
        if trip.bring(pane, &visits)? == Arrival::There {
            return Ok(());
        }
    }
    trip.refuse("there is nowhere to go back to")
}

pub fn skip(options: &cli::Skip) -> Result<()> {
    let trip = Trip::begin(servers(options.server), Order::Age, options.client.as_deref())?;
    if options.undo {
        return trip.undo(options.id.as_deref());
    }
    trip.put_off(options.id.as_deref(), None)
}

pub fn snooze(options: &cli::Snooze) -> Result<()> {
    let pause = match options.pause.as_slice() {
        [] => Some(Pause::Seconds(20 * 60)),
        words => Pause::parse(words),
    };
    let wrong = || {
        let said = one_line(&options.pause.join(" "), 80);
        Stop::Usage(format!("{said:?} is no time to snooze for\nTry: 20m, 2h or until 14:00"))
    };
    let until = pause.and_then(|pause| pause.end(clock::now(), clock::next_local));
    let until = until.ok_or_else(wrong)?;
    let trip = Trip::begin(servers(options.server), Order::Age, options.client.as_deref())?;
    if options.undo {
        return trip.undo(options.id.as_deref());
    }
    trip.put_off(options.id.as_deref(), Some(until))
}

pub fn jump(options: &cli::Jump) -> Result<()> {
    let trip = Trip::begin(Servers::All, Order::Age, options.client.as_deref())?;
    let found = find(&options.id, &trip.roster).chosen(&options.id)?;
    let open = found.listed.iter().filter(|listed| listed.is_alive());
    let Some(pane) = open.filter_map(|listed| listed.pane.as_ref()).next() else {
        let id = found.id.short();
        let elsewhere = found.listed.iter().any(Listed::is_alive);
        return trip.refuse(&match elsewhere {
            true => format!("session {id} is open, but not in a tmux pane"),
            false => format!("session {id} is not open\nTry: cld resume {id}"),
        });
    };
    trip.visit(pane)
}

/// To a pane that is known already. `back` comes back from there.
pub fn visit(pane: &Pane, client: Option<&str>) -> Result<()> {
    Trip::begin(Servers::All, Order::Age, client)?.visit(pane)
}

/// Writes into the pane of an entry that it is put off: for good, or until a moment. Either ends
/// when the session waits for something new.
pub fn put_off(entry: &Entry, until: Option<Moment>) -> Result<()> {
    let value = entry.put_off_until(until).to_string();
    write(&entry.pane, &["set-option", "-p", "-t", &entry.pane.id.to_string(), PUT_OFF, &value])
}

/// Puts a pane back into the queue.
pub fn take_back(pane: &Pane) -> Result<()> {
    write(pane, &["set-option", "-pu", "-t", &pane.id.to_string(), PUT_OFF])
}

fn write(pane: &Pane, command: &[&str]) -> Result<()> {
    let mut batch = Batch::default();
    batch.push_words(command);
    let deadline = Instant::now() + LIMIT;
    match tmux::run(&paths::tmux_program(), &pane.socket, &batch, deadline) {
        Answer::Done(_) => Ok(()),
        Answer::Refused(said) => Err(anyhow!("tmux said: {}", one_line(&said, 200))),
        Answer::TimedOut => Err(anyhow!("tmux did not answer within 3 s")),
        Answer::TooLong => Err(anyhow!("the request is too long for tmux")),
        Answer::NotStarted(error) => Err(anyhow!("tmux could not be started: {error}")),
    }
}

/// Somebody who wants to be brought somewhere, and all there is to see.
struct Trip {
    roster: Roster,
    queue: Queue,
    person: Person,
}

impl Trip {
    fn begin(servers: Servers, order: Order, client: Option<&str>) -> Result<Self> {
        let roster = roster::read(servers);
        let person = Person::find(&roster, client)?;
        let queue = Queue::of(&roster.sessions, order, roster.read_at);
        Ok(Self { roster, queue, person })
    }

    /// To the entry after this place, passing over those whose Claude or pane is gone.
    fn go_on(&self) -> Result<()> {
        let here = self.here();
        for entry in self.queue.from(here.as_ref()) {
            let address = one_line(&entry.pane.address(), 80);
            if entry.standing == Standing::Dead {
                let id = entry.listed.id.short();
                self.person.tell(&format!(
                    "passed over {address}: its Claude was killed (cld resume {id})"
                ));
                continue;
            }
            match self.go(&entry.pane, entry.place())? {
                Arrival::There => return Ok(()),
                Arrival::Gone => self.person.tell(&format!("passed over {address}: it is gone")),
            }
        }
        let is_here = |entry: &Entry| here.as_ref().is_some_and(|p| p.is_same_pane(&entry.place()));
        match self.queue.open().find(|entry| is_here(entry)) {
            // Whoever has left tmux is not there any more.
            Some(entry) if self.person.client.is_none() => return self.visit(&entry.pane),
            Some(_) => {
                self.person.tell("nothing else waits for you");
                return Ok(());
            }
            None => {}
        }
        self.refuse(&nothing_waits(&self.queue))
    }

    fn put_off(&self, id: Option<&str>, until: Option<Moment>) -> Result<()> {
        let pane = self.meant(id)?;
        let Some(entry) = self.queue.in_pane(pane).filter(|entry| entry.standing != Standing::Dead)
        else {
            let address = one_line(&pane.address(), 80);
            return self.refuse(&format!("{address} does not wait for you"));
        };
        put_off(entry, until)?;
        self.person.tell(&sentence(entry, until, self.roster.read_at));
        if id.is_some() {
            return Ok(());
        }
        // Whoever has skipped the last one stays where it is.
        let here = entry.place();
        let mut following = self.queue.from(Some(&here)).filter(|e| e.standing == Standing::Open);
        let arrived = following.try_fold(false, |arrived, entry| -> Result<bool> {
            Ok(arrived || self.go(&entry.pane, entry.place())? == Arrival::There)
        })?;
        if !arrived {
            self.person.tell("nothing else waits for you");
        }
        Ok(())
    }

    fn undo(&self, id: Option<&str>) -> Result<()> {
        let pane = self.meant(id)?;
        if pane.put_off.is_none() {
            let address = one_line(&pane.address(), 80);
            return self.refuse(&format!("{address} was neither skipped nor snoozed"));
        }
        take_back(pane)
    }

    /// The pane of the session that was named, else the one the person looks at.
    fn meant(&self, id: Option<&str>) -> Result<&Pane> {
        let Some(id) = id else {
            let here = self.person.pane(&self.roster);
            return here.ok_or_else(|| anyhow!("this is no pane of tmux\nTry: cld skip ID"));
        };
        let found = find(id, &self.roster).one(id)?;
        let place = found.listed.iter().filter(|listed| listed.is_alive());
        let place = place.filter_map(|listed| listed.pane.as_ref()).next();
        let place = place.ok_or_else(|| anyhow!("session {} is in no pane", found.id.short()))?;
        let is_it = |pane: &&Pane| (&pane.socket, pane.id) == (&place.socket, place.id);
        self.roster.panes.iter().find(is_it).ok_or_else(|| anyhow!("the pane has just gone away"))
    }

    /// Where the person is. Whoever was brought to a wait and has answered it is still at its place
    /// in the queue; so is somebody without a client, who looks at nothing, and would otherwise be
    /// brought to the same wait again and again.
    fn here(&self) -> Option<Place> {
        let visits = self.visits();
        let brought = visits.at(self.name());
        let pane = self.person.pane(&self.roster);
        let is_there = |place: &&Place| match (&self.person.client, pane) {
            (Some(_), Some(pane)) => place.is_same_pane(&bare(pane)),
            (Some(_), None) => false,
            (None, _) => true,
        };
        brought.filter(is_there).cloned().or_else(|| Some(self.place_of(pane?)))
    }

    fn place_of(&self, pane: &Pane) -> Place {
        self.queue.in_pane(pane).map_or_else(|| bare(pane), Entry::place)
    }

    fn visit(&self, pane: &Pane) -> Result<()> {
        match self.go(pane, self.place_of(pane))? {
            Arrival::There => Ok(()),
            Arrival::Gone => self.refuse(&format!("the pane {} has just gone away", pane.id)),
        }
    }

    fn go(&self, pane: &Pane, place: Place) -> Result<Arrival> {
        let mut visits = self.visits();
        visits.go(self.name(), self.here(), place);
        self.bring(pane, &visits)
    }

    /// Brings the person to a pane; its server remembers them beside its own clients.
    fn bring(&self, pane: &Pane, visits: &Visits) -> Result<Arrival> {
        let mut remembered = self.remembered_by(&pane.socket);
        remembered.take_over(self.name(), visits);
        let is_client = |name: &str| {
            let of_server = |client: &tmux::Client| client.socket == pane.socket;
            name == self.name()
                || self.roster.clients.iter().any(|c| c.name == name && of_server(c))
        };
        remembered.keep_only(is_client);
        jump::to(pane, &self.person, Some(&remembered.to_string()))
    }

    /// What is remembered where the person is, or was last: a terminal that has left tmux may have
    /// been on any server.
    fn visits(&self) -> Visits {
        let all = || self.roster.visits.iter().map(|(_, text)| Visits::parse(text));
        match (&self.person.client, self.person.name()) {
            (Some(client), _) => self.remembered_by(&client.socket),
            (None, Some(terminal)) => Visits::newest(all(), terminal).unwrap_or_default(),
            (None, None) => self.remembered_by(&paths::tmux_socket()),
        }
    }

    fn remembered_by(&self, socket: &Path) -> Visits {
        let of_server = self.roster.visits.iter().find(|(server, _)| server == socket);
        of_server.map(|(_, text)| Visits::parse(text)).unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.person.name().unwrap_or(NOBODY)
    }

    fn pane_at(&self, place: &Place) -> Option<&Pane> {
        let is_it = |pane: &&Pane| (&pane.socket, pane.id) == (&place.socket, place.pane);
        self.roster.panes.iter().find(is_it)
    }

    /// Ends the command with a reason that also the user of a key binding sees.
    fn refuse<T>(&self, reason: &str) -> Result<T> {
        self.person.show(reason);
        bail!("{reason}")
    }
}

/// A pane that nobody was brought to.
fn bare(pane: &Pane) -> Place {
    Place { socket: pane.socket.clone(), pane: pane.id, wait: None }
}

fn nothing_waits(queue: &Queue) -> String {
    let skipped = queue.put_off().filter(|entry| entry.standing == Standing::Skipped).count();
    let snoozed = queue.put_off().count() - skipped;
    match (skipped, snoozed) {
        (0, 0) => "nothing waits for you".to_owned(),
        (skipped, 0) => format!("nothing waits for you but {skipped} skipped (cld queue --all)"),
        (0, snoozed) => format!("nothing waits for you but {snoozed} snoozed (cld queue --all)"),
        (skipped, snoozed) => {
            format!(
                "nothing waits for you but {skipped} skipped and {snoozed} snoozed (cld queue --all)"
            )
        }
    }
}

impl From<cli::By> for Order {
    fn from(by: cli::By) -> Self {
        match by {
            cli::By::Age => Self::Age,
            cli::By::Kind => Self::Kind,
        }
    }
}
