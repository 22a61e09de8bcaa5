//! What an event means: a pure function from an event and the facts around it to changes.
//!
//! The function does not see the state of the pane. Hooks run side by side and arrive in any
//! order, so every change is written in a way that gives the same result in every order: a value
//! belongs to the newest event that sets it, and a wait is open when no newer event ended it.

use crate::pane::Dialog;
use crate::session::{Activity, Agent, Call, DialogKind, SessionId, Status, TurnEnd};
use crate::text::is_unsafe;

use super::context;
use super::event::{Background, Event, Kind, Source};

/// What the hook's surroundings say about the event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// A `claude -p` started inside the pane inherits the pane's variables but does not live in it.
    pub nested: bool,
    pub claude: Option<Process>,
    /// The config directory when it is not the default one.
    pub config_dir: Option<String>,
    /// SessionStart names a transcript before it exists, and a wrong one after a resume elsewhere.
    pub transcript_exists: bool,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// Empty where the system does not tell cheaply.
    pub started: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Latest { event: String, folds: bool },
    Session { id: SessionId, set_on: &'static str },
    Status(Status),
    Activity(Activity),
    End(Scope),
    Ask { agent: Agent, call: Call, kind: DialogKind, context: String },
    Finish { how: TurnEnd, turn: Call, context: String },
    Directory(Option<String>),
    Title(Option<String>),
    Background(usize),
    Identity(Identity),
}

/// Where the session lives outside of tmux. What is absent is left as it was, unless the session
/// has only just begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub begins: bool,
    pub transcript: Option<String>,
    pub claude: Option<Process>,
    pub config_dir: Option<String>,
}

/// Which open waits an event ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Everything,
    /// Every wait of one agent; the finished turn belongs to the main one.
    Agent(Agent),
    Call(Agent, Call),
    /// Dialogs that were announced by a Notification alone.
    Unnamed,
    /// The finished turn only: Claude goes on by itself while dialogs may stay open.
    Turn,
}

impl Scope {
    pub fn covers(self, dialog: &Dialog<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Agent(agent) => dialog.agent == agent.to_string(),
            Self::Call(agent, call) => {
                dialog.agent == agent.to_string() && dialog.call == call.to_string()
            }
            Self::Unnamed => dialog.call == Call::Unnamed.to_string(),
            Self::Turn => false,
        }
    }
}

/// Paths longer than this are no paths, and would not fit into one tmux request.
const LONGEST_PATH: usize = 4096;

pub fn transition(event: &Event<'_>, facts: &Facts) -> Vec<Change> {
    if facts.nested {
        return Vec::new();
    }
    let mut changes = meaning(event, facts);
    changes.push(Change::Latest {
        event: label(event),
        folds: matches!(
            event.kind,
            Kind::PreToolUse | Kind::PostToolUse { .. } | Kind::PostToolBatch
        ),
    });
    changes
}

fn meaning(event: &Event<'_>, facts: &Facts) -> Vec<Change> {
    use Change::{Activity as Show, Ask, Background as Tasks, End, Finish, Status as Be};
    let agent = event.agent;
    let session = |set_on| Change::Session { id: event.session.clone(), set_on };
    match &event.kind {
        Kind::SessionStart { source: Source::Compact } => {
            vec![session("SessionStart"), identity(event, facts)]
        }
        Kind::SessionStart { source: Source::Fresh } => vec![
            End(Scope::Everything),
            Be(Status::Stopped),
            Show(Activity::Idle),
            session("SessionStart"),
            Change::Directory(event.cwd.as_deref().and_then(plain_path)),
            Change::Title(title(event)),
            Tasks(0),
            identity(event, facts),
        ],
        Kind::UserPromptSubmit { by_machine } => {
            let mut changes = vec![
                End(if *by_machine { Scope::Turn } else { Scope::Agent(Agent::Main) }),
                Be(Status::Running),
                Show(Activity::Running),
                session("UserPromptSubmit"),
                identity(event, facts),
            ];
            changes.extend(title(event).map(|title| Change::Title(Some(title))));
            changes
        }
        Kind::PreToolUse => vec![End(Scope::Agent(agent)), Show(Activity::Running)],
        Kind::PostToolUse { call } => vec![
            End(Scope::Call(agent, *call)),
            End(Scope::Unnamed),
            Be(Status::Running),
            Show(Activity::Running),
        ],
        Kind::PostToolBatch => vec![End(Scope::Agent(agent))],
        Kind::PermissionRequest { tool, call } => {
            let kind = match &*tool.name {
                "AskUserQuestion" => DialogKind::Question,
                "ExitPlanMode" => DialogKind::Plan,
                _ => DialogKind::Permission,
            };
            let context = context::of_tool(tool);
            vec![Be(Status::Stopped), Ask { agent, call: *call, kind, context }]
        }
        Kind::Notification { about, message } => match &**about {
            "permission_prompt" | "elicitation_dialog" | "agent_needs_input" => {
                let kind = match &**about {
                    "permission_prompt" => DialogKind::Permission,
                    _ => DialogKind::Input,
                };
                let context = context::of_message(message.as_deref());
                vec![Be(Status::Stopped), Ask { agent, call: Call::Unnamed, kind, context }]
            }
            "idle_prompt" => vec![Be(Status::Stopped)],
            _ => Vec::new(),
        },
        Kind::Elicitation { call, message } => {
            let context = context::of_message(message.as_deref());
            vec![Be(Status::Stopped), Ask { agent, call: *call, kind: DialogKind::Input, context }]
        }
        Kind::ElicitationResult { call } => vec![
            End(Scope::Call(agent, *call)),
            End(Scope::Unnamed),
            Be(Status::Running),
            Show(Activity::Running),
        ],
        Kind::Stop { message, turn, background } => {
            let mut changes =
                vec![End(Scope::Agent(Agent::Main)), Be(Status::Stopped), session("Stop")];
            if background.subagents == 0 {
                let context = context::of_last_words(message.as_deref());
                changes.push(Show(Activity::Idle));
                changes.push(Finish { how: TurnEnd::Done, turn: *turn, context });
            }
            changes.extend([tasks(*background), identity(event, facts)]);
            changes
        }
        Kind::StopFailure { error, message, turn } => {
            let context = context::of_error(error.as_deref(), message.as_deref());
            vec![
                End(Scope::Agent(Agent::Main)),
                Be(Status::Stopped),
                Show(Activity::Idle),
                Finish { how: TurnEnd::Error, turn: *turn, context },
            ]
        }
        Kind::SubagentStop { background } => {
            let mut changes =
                vec![session("SubagentStop"), tasks(*background), identity(event, facts)];
            if agent != Agent::Main {
                changes.push(End(Scope::Agent(agent)));
            }
            changes
        }
        Kind::SessionEnd => vec![
            End(Scope::Everything),
            Be(Status::Removed),
            Show(Activity::Idle),
            session("SessionEnd"),
            Tasks(0),
            identity(event, facts),
        ],
        Kind::Other => Vec::new(),
    }
}

fn tasks(background: Background) -> Change {
    Change::Background(background.tasks)
}

fn title(event: &Event<'_>) -> Option<String> {
    event.title.as_deref().map(|title| context::of_message(Some(title)))
}

fn identity(event: &Event<'_>, facts: &Facts) -> Change {
    let transcript = event.transcript.as_deref().filter(|_| facts.transcript_exists);
    Change::Identity(Identity {
        begins: matches!(event.kind, Kind::SessionStart { source: Source::Fresh }),
        transcript: transcript.and_then(plain_path),
        claude: facts.claude.clone(),
        config_dir: facts.config_dir.as_deref().and_then(plain_path),
    })
}

/// A path that can be stored as it is. One that would have to be changed is better left out than
/// stored wrong: readers then ask the transcript.
fn plain_path(path: &str) -> Option<String> {
    let plain = !path.is_empty() && path.len() <= LONGEST_PATH && !path.chars().any(is_unsafe);
    plain.then(|| path.to_owned())
}

/// The event's name for `latest_hook_event`, reduced to characters that mean nothing to a tmux
/// format.
fn label(event: &Event<'_>) -> String {
    let name = match &event.kind {
        Kind::Notification { about, .. } if !about.is_empty() => format!("{}-{about}", event.name),
        _ => event.name.to_string(),
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    name.chars().take(64).map(safe).collect()
}
