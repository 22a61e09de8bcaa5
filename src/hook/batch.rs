//! Changes in, one tmux batch out. Pure.
//!
//! The batch does not know the state of the pane. Nearly every event is the newest its pane has
//! seen, in the session and the window of the one before; its batch just says so and sets what
//! follows, and the tmux server refuses it when that is not true. The careful batch takes nothing
//! for granted: there the server compares, with formats, the event's moment with the
//! [registers](super::registers) of the pane.
//!
//! Data never becomes part of a format or of a command string. It is *staged*: stored as it is,
//! and formats only name the place. What does stand in formats and strings here is written by
//! cld: moments, hashes, words, numbers and session ids.

use crate::pane::{
    ACTIVITY, ASKING, ATTENTION, BACKGROUND, CONFIG_DIR, FINISHED, LATEST_HOOK_EVENT,
    LATEST_HOOK_TIME, PID, PID_START, SESSION_DIR, SESSION_ID, SESSION_ID_SET_ON, SOON, STATUS,
    TITLE, TRANSCRIPT, WINDOW_STATE, without_separator,
};
use crate::session::{Activity, Agent, Call, Moment, Status, TurnEnd, WaitKind};
use crate::tabs::{self, Vocabulary};
use crate::tmux::{Batch, Place};

use super::format::{all, any, choose, equal};
use super::registers::{Order, Registers};
use super::transition::{Change, Identity, Scope};

/// Commands tmux does not know. In the branch of an `if` they end the batch with an error that
/// names them. The first stands for: the socket belongs to another server, or the event is not the
/// newest; nothing was changed.
pub(super) const REFUSED: &str = "cld-refused";
/// All is remembered, and there is nothing new to show.
pub(super) const HIDDEN: &str = "cld-hidden";

/// How the person wants to be shown what a batch says.
#[derive(Debug)]
pub struct Manner {
    pub words: Vocabulary,
    /// The kinds of waits that are told of when nobody looks.
    pub notified: Vec<WaitKind>,
    /// How long the end of a turn has to last before it is shown.
    pub debounce_ms: u64,
}

/// What a batch takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// The event is the newest, its session is the one the pane names, and the pane is still in the
    /// window where its last event found it. So it is nearly always.
    Usual,
    /// The event is the newest and begins a session, maybe the first one of this server.
    First,
    /// Nothing.
    Careful,
}

/// Every command stands in the batch itself. The commands inside an `if` that comes true would be
/// easier to skip, but tmux 3.2 to 3.7 never frees those; so that is for what is rare.
pub(super) fn batch(
    changes: &[Change],
    place: &Place,
    began: Moment,
    plan: Plan,
    manner: &Manner,
) -> Batch {
    let order = match plan {
        Plan::Usual | Plan::First => Order::Newest,
        Plan::Careful => Order::Late,
    };
    let registers = Registers::new(place, began, order);
    let can_delay = place.server.hidden_environment;
    let mut script =
        Script { registers: &registers, manner, plan, can_delay, batch: Batch::default() };
    script.begin(changes, place.server.pid);
    for (register, data) in staged(changes, &registers) {
        registers.stage(&mut script.batch, register, &data);
    }
    for change in changes {
        script.remember(change);
    }
    if let Some(hidden) = hides(changes, &registers) {
        script.batch.end_if(&registers.pane, &hidden, HIDDEN);
    }
    script.show(changes);
    for change in changes {
        if let Change::End(Scope::EarlierPrompt(prompt)) = change {
            registers.set_if_newest(&mut script.batch, "prompt", &prompt.to_string());
        }
    }
    // The others are rare, and may be as long as tmux takes them.
    if plan == Plan::Usual {
        script.batch.tell_end(&registers.pane);
    }
    script.batch
}

/// The texts that formats copy, each with the register it is staged in. The newest event needs few:
/// it sets its texts without a condition.
fn staged(changes: &[Change], registers: &Registers) -> Vec<(&'static str, String)> {
    let mut staged = Vec::new();
    for change in changes {
        match change {
            Change::Ask { agent, call, kind, context } => {
                let (began, context) = (registers.began, without_separator(context));
                let dialog = format!("|{agent}.{call}.{}@{began} {context}", kind.letter());
                staged.push(("wait", dialog));
            }
            _ if registers.is_late_order() == "0" => {}
            Change::Finish { how, context, .. } => {
                staged.push(("wait", finished(registers.began, *how, context)));
            }
            Change::Directory(Some(directory)) => staged.push(("dir", directory.clone())),
            Change::Title(Some(title)) => staged.push(("title", title.clone())),
            Change::Identity(identity) => {
                staged.extend(identity.transcript.clone().map(|path| ("transcript", path)));
                staged.extend(identity.config_dir.clone().map(|path| ("config_dir", path)));
            }
            _ => {}
        }
    }
    staged
}

fn finished(began: Moment, how: TurnEnd, context: &str) -> String {
    format!("{began} {} {context}", how.letter())
}

/// A burst of tool events would redraw every client for nothing but a newer time. The condition
/// under which that is all that would change, while the time shown is of this second.
fn hides(changes: &[Change], registers: &Registers) -> Option<String> {
    if !changes.iter().any(|change| matches!(change, Change::Latest { folds: true, .. })) {
        return None;
    }
    let mut same = vec![
        format!("#{{==:#{{{LATEST_HOOK_TIME}}},{}}}", registers.began.seconds()),
        format!("#{{m:P*Tool*,#{{{LATEST_HOOK_EVENT}}}}}"),
        format!("#{{?#{{{ASKING}}},0,1}}"),
    ];
    for change in changes {
        match change {
            Change::Status(_) => {
                same.push(equal(&format!("#{{{STATUS}}}"), &status(changes, registers)));
            }
            Change::Activity(said) => {
                same.push(equal(&format!("#{{{ACTIVITY}}}"), &activity(*said, registers)));
            }
            Change::End(scope) if scope.ends_turn() => {
                same.push(format!("#{{?#{{{FINISHED}}},0,1}}"));
            }
            Change::End(Scope::EarlierPrompt(prompt)) => {
                same.push(equal(&registers.read("prompt"), &prompt.to_string()));
            }
            _ => {}
        }
    }
    Some(all(&same))
}

struct Script<'a> {
    registers: &'a Registers,
    manner: &'a Manner,
    plan: Plan,
    /// Since 3.2 tmux can start something later, so that nothing waits for the start.
    can_delay: bool,
    batch: Batch,
}

impl Script<'_> {
    /// Refuses what the plan takes for granted where it is not so, and prepares the window.
    fn begin(&mut self, changes: &[Change], server: u32) {
        let (registers, pane) = (self.registers, &self.registers.pane);
        let condition = match self.plan {
            Plan::Usual => any(&[self.is_unusual(changes, server), registers.is_late()]),
            _ => any(&[format!("#{{!=:#{{pid}},{server}}}"), registers.is_late()]),
        };
        if self.plan == Plan::Usual {
            self.batch.push([self.manner.words.word()]);
        }
        self.batch.end_if(pane, &condition, REFUSED);
        if self.plan != Plan::Usual {
            self.manner.words.define(&mut self.batch);
            self.manner.words.take_over(&mut self.batch, pane);
            registers.set(&mut self.batch, "window", "#{window_id}");
        }
    }

    /// Whether the server, the window or the session is not the one of the events before.
    fn is_unusual(&self, changes: &[Change], server: u32) -> String {
        let window = format!("#{{?#{{{WINDOW_STATE}}},#{{window_id}},}}");
        let mut found = format!("#{{pid}} {window}");
        let mut usual = format!("{server} {}", self.registers.read("window"));
        for change in changes {
            match change {
                Change::Session { id, .. } => {
                    found.push_str(&format!(" #{{{SESSION_ID}}}"));
                    usual.push_str(&format!(" {}", id.as_str()));
                }
                Change::Identity(Identity { claude: Some(claude), .. }) => {
                    found.push_str(&format!(" #{{{PID}}} #{{{PID_START}}}"));
                    usual.push_str(&format!(" {} {}", claude.pid, claude.started));
                }
                _ => {}
            }
        }
        format!("#{{!=:{found},{usual}}}")
    }

    /// Takes a change into the registers.
    fn remember(&mut self, change: &Change) {
        let (registers, batch) = (self.registers, &mut self.batch);
        match change {
            Change::Latest { .. } => registers.set_newest(batch, "newest", ""),
            Change::Session { .. } => registers.set_newest(batch, "session", ""),
            Change::Directory(_) => registers.set_newest(batch, "directory", ""),
            Change::Status(status) => registers.set_newest(batch, "status", status.word()),
            Change::Activity(activity) => {
                registers.set_newest(batch, "activity", register_word(*activity));
            }
            Change::End(Scope::Everything) => registers.set_newest(batch, "end_all", ""),
            Change::End(Scope::Agent(Agent::Main)) => registers.set_newest(batch, "end_main", ""),
            Change::End(Scope::Unnamed) => registers.set_newest(batch, "end_unnamed", ""),
            Change::End(Scope::Turn) => registers.set_newest(batch, "end_turn", ""),
            Change::End(Scope::Agent(agent)) => registers.add_call(batch, &format!("{agent}.any")),
            Change::End(Scope::Call(agent, call)) => {
                registers.add_call(batch, &format!("{agent}.{call}"));
            }
            Change::End(Scope::EarlierPrompt(_))
            | Change::Ask { .. }
            | Change::Finish { .. }
            | Change::Title(_)
            | Change::Background(_)
            | Change::Identity(_) => {}
        }
    }

    /// Prints the open dialogs without their text. An event that ends the dialogs of one call or
    /// agent does not know whether there were any, and the journal wants to know. Rarely there are,
    /// and printing takes its time.
    fn print_dialogs(&mut self) {
        let (pane, asking) = (&self.registers.pane, format!("#{{{ASKING}}}"));
        let print = format!("display-message -p -t {pane} '#{{s/ [^|]*//:{ASKING}}}'");
        self.batch.push(["if", "-F", "-t", pane, &asking, &print]);
    }

    /// Sets the options that follow.
    fn show(&mut self, changes: &[Change]) {
        let ends = changes.iter().any(|c| matches!(c, Change::End(_)));
        let asks = changes.iter().any(|c| matches!(c, Change::Ask { .. }));
        for change in changes {
            self.attend(change);
        }
        self.end_waits(changes);
        for change in changes {
            match change {
                Change::Ask { agent, call, .. } => self.ask(*agent, *call),
                Change::Finish { how, turn, context } => self.finish(*how, *turn, context),
                Change::Activity(said) => self.set(ACTIVITY, &activity(*said, self.registers)),
                _ => self.name(change),
            }
        }
        // The end of a turn that is set without a condition is a wait of its own.
        let waits = changes.iter().any(|c| matches!(c, Change::Finish { .. }))
            && turn_is_over(self.registers) == "0";
        if ends && !waits {
            self.stop_attending();
        }
        if ends || asks || changes.iter().any(|c| matches!(c, Change::Status(_))) {
            self.set(STATUS, &status(changes, self.registers));
        }
        if self.plan != Plan::Usual || changes.iter().any(shows_in_window) {
            let leaves_to_theme = self.manner.words.leaves_to_theme();
            tabs::show(&mut self.batch, &self.registers.pane, leaves_to_theme);
        }
        if changes.contains(&Change::Status(Status::Removed)) {
            self.remove_status();
        }
        if changes.iter().any(|change| self.debounces(change)) {
            self.settle_later();
        }
    }

    /// Asks for attention when a wait opens that was not open before.
    fn attend(&mut self, change: &Change) {
        let (over, again, kind) = match change {
            Change::Ask { agent, call, kind, .. } => (
                dialog_is_over(*agent, *call, self.registers),
                is_asking(*agent, *call),
                WaitKind::Dialog(*kind),
            ),
            Change::Finish { turn, how, .. } => {
                let known = equal(&self.registers.read("turn"), &turn.to_string());
                let again = choose(&format!("#{{{FINISHED}}}"), &known, "0");
                (turn_is_over(self.registers), again, WaitKind::Turn(*how))
            }
            _ => return,
        };
        let same = format!("#{{{ATTENTION}}}");
        let wanted = match self.debounces(change) {
            true => choose(&equal(&same, "1"), "1", SOON),
            false => {
                self.notify(kind, &any(&[over.clone(), again.clone()]));
                "1".to_owned()
            }
        };
        self.set(ATTENTION, &choose(&over, &same, &choose(&again, &same, &wanted)));
    }

    /// Has somebody told of a wait that opens now, if nobody looks.
    fn notify(&mut self, kind: WaitKind, is_open: &str) {
        if !self.manner.notified.contains(&kind) {
            return;
        }
        let pane = &self.registers.pane;
        let unseen = choose(is_open, "0", &choose(&tabs::is_seen(), "0", "1"));
        // The server takes its time to start a process, and Claude waits for the server.
        let start = tabs::start(&format!("notify {pane}"), self.can_delay.then_some(10));
        self.batch.push(["if", "-F", "-t", pane, &unseen, &start]);
    }

    fn debounces(&self, change: &Change) -> bool {
        self.can_delay && self.manner.debounce_ms > 0 && matches!(change, Change::Finish { .. })
    }

    /// Looks again, after a while, whether the end of a turn was one.
    fn settle_later(&mut self) {
        let pane = &self.registers.pane;
        let soon = format!("#{{==:#{{{ATTENTION}}},{SOON}}}");
        let settle = format!("settle {pane} {}", self.registers.began);
        let start = tabs::start(&settle, Some(self.manner.debounce_ms));
        self.batch.push(["if", "-F", "-t", pane, &soon, &start]);
    }

    /// Attention is over with the last open wait.
    fn stop_attending(&mut self) {
        let waits = format!("#{{{ASKING}}}#{{{FINISHED}}}");
        self.set(ATTENTION, &choose(&waits, &format!("#{{{ATTENTION}}}"), ""));
    }

    fn end_waits(&mut self, changes: &[Change]) {
        let scopes = changes.iter().filter_map(|change| match change {
            Change::End(scope) => Some(*scope),
            _ => None,
        });
        let dialogs: Vec<String> = scopes.clone().filter_map(dialogs_of).collect();
        if !dialogs.is_empty() {
            if prints_dialogs(changes) {
                self.print_dialogs();
            }
            let ended =
                format!("[|]({})[.][a-z]@{} [^|]*", dialogs.join("|"), self.registers.before());
            self.set(ASKING, &format!("#{{?#{{{ASKING}}},#{{s/{ended}//:{ASKING}}},}}"));
        }
        for scope in scopes.clone() {
            if let Scope::EarlierPrompt(prompt) = scope {
                self.end_dialogs_of_earlier_prompts(prompt);
            }
        }
        let finishes = changes.iter().any(|change| matches!(change, Change::Finish { .. }));
        if scopes.clone().any(Scope::ends_turn) && !finishes {
            let finished = format!("#{{{FINISHED}}}");
            self.set(FINISHED, &choose(&self.registers.is_older(&finished), "", &finished));
        }
    }

    /// Nothing is remembered of this end: a request that arrives later is taken for a new one.
    fn end_dialogs_of_earlier_prompts(&mut self, prompt: Call) {
        let asking = format!("#{{{ASKING}}}");
        let same = equal(&self.registers.read("prompt"), &prompt.to_string());
        let main = format!("[|]{}[.][0-9a-z]+[.][a-z]@[0-9]* [^|]*", Agent::Main);
        let others = choose(&asking, &format!("#{{s/{main}//:{ASKING}}}"), "");
        self.set(ASKING, &choose(&any(&[same, self.registers.is_late_order()]), &asking, &others));
    }

    fn ask(&mut self, agent: Agent, call: Call) {
        let (over, wait) =
            (dialog_is_over(agent, call, self.registers), self.registers.read("wait"));
        let mut replaced = format!("[|]{agent}[.]{call}[.][a-z]@{} [^|]*", self.registers.before());
        if call != Call::Unnamed {
            let later = self.registers.after();
            replaced = format!("({replaced}|[|][0-9a-z]+[.]none[.][a-z]@{later} [^|]*)");
        }
        let asking = format!("#{{{ASKING}}}");
        let added = choose(&over, "", &choose(&is_asking(agent, call), "", &wait));
        let without = format!("#{{s/{replaced}//:{ASKING}}}");
        self.set(ASKING, &choose(&over, &asking, &without));
        self.set(ASKING, &format!("{asking}{added}"));
    }

    /// The end of a turn also ends the turn before.
    fn finish(&mut self, how: TurnEnd, turn: Call, context: &str) {
        let (over, before) = (turn_is_over(self.registers), format!("#{{{FINISHED}}}"));
        let known = self.registers.read("turn");
        self.registers.set(&mut self.batch, "turn", &choose(&over, &known, &turn.to_string()));
        if over == "0" {
            return self.set_data(FINISHED, &finished(self.registers.began, how, context));
        }
        let unended = choose(&self.registers.is_older(&before), "", &before);
        self.set(FINISHED, &choose(&over, &unended, &self.registers.read("wait")));
    }

    /// What belongs to the newest event that says it.
    fn name(&mut self, change: &Change) {
        match change {
            Change::Latest { event, .. } => {
                let seconds = self.registers.began.seconds().to_string();
                self.set_if_own("newest", LATEST_HOOK_EVENT, event);
                self.set_if_own("newest", LATEST_HOOK_TIME, &seconds);
            }
            Change::Session { id, set_on } => {
                if self.plan != Plan::Usual {
                    self.set_if_own("session", SESSION_ID, id.as_str());
                }
                self.set_if_own("session", SESSION_ID_SET_ON, set_on);
            }
            Change::Directory(directory) => {
                self.copy_if_own("directory", SESSION_DIR, "dir", directory.as_ref());
            }
            Change::Title(title) => self.copy_if_own("session", TITLE, "title", title.as_ref()),
            Change::Background(tasks) => self.set_if_own("session", BACKGROUND, &tasks.to_string()),
            Change::Identity(identity) => self.name_identity(identity),
            _ => {}
        }
    }

    fn name_identity(&mut self, identity: &Identity) {
        if let Some(claude) = identity.claude.as_ref().filter(|_| self.plan != Plan::Usual) {
            self.set_if_own("session", PID, &claude.pid.to_string());
            self.set_if_own("session", PID_START, &claude.started);
        }
        for (option, register, value) in [
            (TRANSCRIPT, "transcript", identity.transcript.as_ref()),
            (CONFIG_DIR, "config_dir", identity.config_dir.as_ref()),
        ] {
            if value.is_some() || identity.begins {
                self.copy_if_own("session", option, register, value);
            }
        }
    }

    fn remove_status(&mut self) {
        let pane = &self.registers.pane;
        let word = self.registers.word("status", Some(Status::Removed.word()));
        let removed = equal(&word, Status::Removed.word());
        match removed.as_str() {
            "1" => self.batch.push(["set", "-pu", "-t", pane, STATUS]),
            _ => {
                let remove = format!("set -pu -t {pane} {STATUS}");
                self.batch.push(["if", "-F", "-t", pane, &removed, &remove]);
            }
        }
    }

    fn set_if_own(&mut self, register: &str, option: &str, constant: &str) {
        let own = self.registers.is_own(register);
        self.set(option, &choose(&own, constant, &format!("#{{{option}}}")));
    }

    /// Sets an option to data; without a value the option becomes empty.
    fn copy_if_own(&mut self, register: &str, option: &str, staged: &str, value: Option<&String>) {
        match value {
            Some(data) if self.registers.is_own(register) == "1" => self.set_data(option, data),
            Some(_) => self.set_if_own(register, option, &self.registers.read(staged)),
            None => self.set_if_own(register, option, ""),
        }
    }

    fn set_data(&mut self, option: &str, data: &str) {
        self.batch.push(["set", "-p", "-t", &self.registers.pane, option, data]);
    }

    fn set(&mut self, option: &str, format: &str) {
        self.registers.set_option(&mut self.batch, option, format);
    }
}

/// Whether a dialog was over before this event, which opens it, arrived.
fn dialog_is_over(agent: Agent, call: Call, registers: &Registers) -> String {
    let mut over = vec![
        registers.is_passed("end_all"),
        registers.call_ended(&format!("{agent}[.]({call}|any)")),
    ];
    if agent == Agent::Main {
        over.push(registers.is_passed("end_main"));
    }
    if call == Call::Unnamed {
        over.push(registers.is_passed("end_unnamed"));
        // The dialog that was announced asks under its own name already.
        let named = format!("[|][0-9a-z]+[.][0-9a-f]+[.][a-z]@{}", registers.before());
        over.push(format!("#{{m/r:{named},#{{{ASKING}}}}}"));
    }
    any(&over)
}

/// The same for the end of a turn.
fn turn_is_over(registers: &Registers) -> String {
    any(&[
        registers.is_passed("end_all"),
        registers.is_passed("end_main"),
        registers.is_passed("end_turn"),
        registers.is_newer(&format!("#{{{FINISHED}}}")),
    ])
}

/// The status as it follows from the newest event that says it and from the dialogs: stopped
/// while one is open.
fn status(changes: &[Change], registers: &Registers) -> String {
    let said = changes.iter().find_map(|change| match change {
        Change::Status(status) => Some(status.word()),
        _ => None,
    });
    let word = registers.word("status", said);
    let word = choose(&equal(&word, Status::Removed.word()), "", &word);
    choose(&format!("#{{{ASKING}}}"), Status::Stopped.word(), &word)
}

fn activity(said: Activity, registers: &Registers) -> String {
    let word = registers.word("activity", Some(register_word(said)));
    let running = equal(&word, register_word(Activity::Running));
    choose(&running, Activity::Running.word(), Activity::Idle.word())
}

/// Seven letters each, as the words of [`Status`].
fn register_word(activity: Activity) -> &'static str {
    match activity {
        Activity::Running => "running",
        Activity::Idle => "resting",
    }
}

/// Whether the tab of the window may look different after a change.
fn shows_in_window(change: &Change) -> bool {
    matches!(
        change,
        Change::Activity(_) | Change::End(_) | Change::Ask { .. } | Change::Finish { .. }
    )
}

fn is_asking(agent: Agent, call: Call) -> String {
    format!("#{{m/r:[|]{agent}[.]{call}[.],#{{{ASKING}}}}}")
}

/// Whether the server may print which dialogs were open, for the journal. A prompt or the end of a
/// turn goes into it anyway.
pub(super) fn prints_dialogs(changes: &[Change]) -> bool {
    changes.iter().any(|change| match change {
        Change::Latest { folds, .. } => *folds,
        Change::End(scope) => matches!(scope, Scope::Call(..) | Scope::Agent(Agent::Sub(_))),
        _ => false,
    })
}

/// A pattern for the `AGENT.CALL` of the dialogs that a scope covers.
fn dialogs_of(scope: Scope) -> Option<String> {
    match scope {
        Scope::Everything => Some("[0-9a-z]+[.][0-9a-z]+".to_owned()),
        Scope::Agent(agent) => Some(format!("{agent}[.][0-9a-z]+")),
        Scope::Call(agent, call) => Some(format!("{agent}[.]{call}")),
        Scope::Unnamed => Some("[0-9a-z]+[.]none".to_owned()),
        Scope::Turn | Scope::EarlierPrompt(_) => None,
    }
}

impl Scope {
    fn ends_turn(self) -> bool {
        matches!(self, Self::Everything | Self::Turn | Self::Agent(Agent::Main))
    }
}
