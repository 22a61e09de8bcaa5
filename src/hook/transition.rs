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
    /// The main thread's dialogs, if the call before belonged to another prompt than this one.
    EarlierPrompt(Call),
}

impl Scope {
    /// Whether a dialog is certain to be ended.
    pub fn covers(self, dialog: &Dialog<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Agent(agent) => dialog.agent == agent.to_string(),
            Self::Call(agent, call) => {
                dialog.agent == agent.to_string() && dialog.call == call.to_string()
            }
            Self::Unnamed => dialog.call == Call::Unnamed.to_string(),
            Self::Turn | Self::EarlierPrompt(_) => false,
        }
    }
}

/// Paths longer than this are no paths.
const LONGEST_PATH: usize = 4096;
/// With a longer one, three paths would not fit into one tmux request.
pub const LONGEST_CONFIG_DIR: usize = 256;

pub fn transition(event: &Event<'_>, facts: &Facts) -> Vec<Change> {
    if facts.nested {
        return Vec::new();
    }
    let mut changes = meaning(event, facts);
    changes.push(Change::Latest {
        event: label(event),
        folds: matches!(
            event.kind,
            Kind::PreToolUse { .. } | Kind::PostToolUse { .. } | Kind::PostToolBatch
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
        // A call may begin while another of the same message already asks: Claude starts tools as
        // they are streamed. So a beginning call ends only what an earlier prompt has left, when a
        // queued one goes on without a UserPromptSubmit.
        Kind::PreToolUse { prompt } if agent == Agent::Main => {
            let mut changes = vec![End(Scope::Turn), Show(Activity::Running)];
            changes.extend(prompt.map(|prompt| End(Scope::EarlierPrompt(prompt))));
            changes
        }
        Kind::PreToolUse { .. } => vec![Show(Activity::Running)],
        Kind::PostToolUse { call } | Kind::ElicitationResult { call } => vec![
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
    let config_dir = facts.config_dir.as_deref().filter(|dir| dir.len() <= LONGEST_CONFIG_DIR);
    Change::Identity(Identity {
        begins: matches!(event.kind, Kind::SessionStart { source: Source::Fresh }),
        transcript: transcript.and_then(plain_path),
        claude: facts.claude.clone(),
        config_dir: config_dir.and_then(plain_path),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(name: &str, fields: &str, facts: &Facts) -> Vec<Change> {
        let json = format!(r#"{{"hook_event_name":"{name}","session_id":"s"{fields}}}"#);
        transition(&Event::parse(&json).unwrap(), facts)
    }

    /// The changes without those that only carry names, as words.
    #[track_caller]
    fn check(name: &str, fields: &str, expected: &[&str]) {
        let word = |change: Change| match change {
            Change::Status(status) => Some(status.word().to_owned()),
            Change::Activity(activity) => Some(format!("tab {}", activity.word())),
            Change::End(scope) => Some(format!("end {scope:?}")),
            Change::Ask { kind, context, .. } => Some(format!("ask {kind:?} {context}")),
            Change::Finish { how, context, .. } => Some(format!("finish {how:?} {context}")),
            Change::Session { set_on, .. } => Some(format!("session {set_on}")),
            Change::Latest { folds, event } => {
                assert!(event.starts_with(name));
                folds.then(|| "folds".to_owned())
            }
            Change::Directory(_)
            | Change::Title(_)
            | Change::Background(_)
            | Change::Identity(_) => None,
        };
        let found: Vec<String> =
            changes(name, fields, &Facts::default()).into_iter().filter_map(word).collect();
        assert_eq!(found, expected, "{name} {fields}");
    }

    #[test]
    fn the_table_of_events() {
        let main = "end Agent(Main)";
        check(
            "SessionStart",
            r#","source":"startup""#,
            &["end Everything", "stopped", "tab idle", "session SessionStart"],
        );
        check(
            "SessionStart",
            r#","source":"resume""#,
            &["end Everything", "stopped", "tab idle", "session SessionStart"],
        );
        check("SessionStart", r#","source":"compact""#, &["session SessionStart"]);
        check(
            "UserPromptSubmit",
            r#","prompt":"x""#,
            &[main, "running", "tab running", "session UserPromptSubmit"],
        );
        check(
            "UserPromptSubmit",
            r#","prompt":"<task-notification>""#,
            &["end Turn", "running", "tab running", "session UserPromptSubmit"],
        );
        check("PreToolUse", "", &["end Turn", "tab running", "folds"]);
        check("PreToolUse", r#","prompt_id":"p","agent_id":"a""#, &["tab running", "folds"]);
        check("PostToolBatch", "", &[main, "folds"]);
        check(
            "PermissionRequest",
            r#","tool_name":"Bash","tool_input":{"command":"ls"}"#,
            &["stopped", "ask Permission Bash: ls"],
        );
        check(
            "PermissionRequest",
            r#","tool_name":"AskUserQuestion""#,
            &["stopped", "ask Question AskUserQuestion"],
        );
        check(
            "PermissionRequest",
            r#","tool_name":"ExitPlanMode""#,
            &["stopped", "ask Plan a plan is ready"],
        );
        check(
            "Notification",
            r#","notification_type":"permission_prompt","message":"m""#,
            &["stopped", "ask Permission m"],
        );
        check(
            "Notification",
            r#","notification_type":"elicitation_dialog","message":"m""#,
            &["stopped", "ask Input m"],
        );
        check(
            "Notification",
            r#","notification_type":"agent_needs_input","message":"m""#,
            &["stopped", "ask Input m"],
        );
        check("Notification", r#","notification_type":"idle_prompt""#, &["stopped"]);
        check("Notification", r#","notification_type":"auth_success""#, &[]);
        check("Elicitation", r#","message":"m""#, &["stopped", "ask Input m"]);
        check(
            "Stop",
            r#","last_assistant_message":"m""#,
            &[main, "stopped", "session Stop", "tab idle", "finish Done m"],
        );
        check(
            "Stop",
            r#","background_tasks":[{"type":"subagent","status":"running"}]"#,
            &[main, "stopped", "session Stop"],
        );
        check(
            "Stop",
            r#","background_tasks":[{"type":"shell","status":"running"}]"#,
            &[main, "stopped", "session Stop", "tab idle", "finish Done "],
        );
        check("StopFailure", r#","error":"e""#, &[main, "stopped", "tab idle", "finish Error e"]);
        check("SubagentStop", "", &["session SubagentStop"]);
        check("SessionEnd", "", &["end Everything", "removed", "tab idle", "session SessionEnd"]);
        for name in ["SubagentStart", "PreCompact", "PostCompact", "CwdChanged", "New"] {
            check(name, "", &[]);
        }
    }

    #[test]
    fn a_call_ends_its_own_wait_and_the_unnamed_ones() {
        for name in ["PostToolUse", "PostToolUseFailure", "ElicitationResult"] {
            let changes = changes(name, r#","tool_name":"Bash","agent_id":"a""#, &Facts::default());
            assert!(
                matches!(changes[0], Change::End(Scope::Call(Agent::Sub(_), Call::Named(_)))),
                "{name}"
            );
            assert_eq!(changes[1], Change::End(Scope::Unnamed));
            assert_eq!(
                changes[2..4],
                [Change::Status(Status::Running), Change::Activity(Activity::Running)]
            );
        }
        let stopped = changes("SubagentStop", r#","agent_id":"a""#, &Facts::default());
        assert!(
            stopped.iter().any(|change| matches!(change, Change::End(Scope::Agent(Agent::Sub(_)))))
        );
    }

    #[test]
    fn a_nested_session_changes_nothing() {
        let facts = Facts { nested: true, ..Facts::default() };
        assert_eq!(changes("SessionStart", "", &facts), []);
    }

    #[test]
    fn a_label_means_nothing_to_tmux() {
        for (name, label) in
            [("Stop", "Stop"), ("a#{b},c;d'e", "a__b__c_d_e"), ("é", "_"), ("x-y_z", "x-y_z")]
        {
            let changes = changes(name, "", &Facts::default());
            assert!(
                changes.contains(&Change::Latest { event: label.to_owned(), folds: false }),
                "{name}"
            );
        }
    }

    #[test]
    fn a_transcript_is_named_only_when_it_exists() {
        let path = r#","transcript_path":"/t.jsonl""#;
        for exists in [true, false] {
            let facts = Facts { transcript_exists: exists, ..Facts::default() };
            let found = changes("Stop", path, &facts).into_iter().find_map(|change| match change {
                Change::Identity(identity) => Some(identity.transcript),
                _ => None,
            });
            assert_eq!(found, Some(exists.then(|| "/t.jsonl".to_owned())));
        }
    }

    #[test]
    fn a_scope_covers_its_own_dialogs_only() {
        let (agent, call) = (Agent::Sub(0xbeef), Call::named(7));
        for (scope, covered) in [
            (Scope::Everything, [true, true, true, true]),
            (Scope::Agent(Agent::Main), [true, true, false, false]),
            (Scope::Agent(agent), [false, false, true, true]),
            (Scope::Call(agent, call), [false, false, true, false]),
            (Scope::Call(Agent::Main, call), [true, false, false, false]),
            (Scope::Unnamed, [false, true, false, true]),
            (Scope::Turn, [false; 4]),
            (Scope::EarlierPrompt(call), [false; 4]),
        ] {
            let asking = "|main.000000000007.p@1 a|main.none.p@1 b|0000beef.000000000007.p@1|0000beef.none.i@1";
            let found: Vec<bool> = Dialog::parse_all(asking).map(|d| scope.covers(&d)).collect();
            assert_eq!(found, covered, "{scope:?}");
        }
    }

    #[test]
    fn a_session_has_the_title_it_was_given() {
        let titles = |name, fields| -> Vec<Option<String>> {
            let changes = changes(name, fields, &Facts::default()).into_iter();
            changes.filter_map(|c| if let Change::Title(t) = c { Some(t) } else { None }).collect()
        };
        let named = r#","session_title":"my\n name""#;
        assert_eq!(titles("SessionStart", named), [Some("my name".to_owned())]);
        assert_eq!(titles("SessionStart", ""), [None], "a new session has no old title");
        assert_eq!(titles("UserPromptSubmit", named), [Some("my name".to_owned())]);
        assert_eq!(titles("UserPromptSubmit", ""), [], "a prompt leaves the title");
    }

    #[test]
    fn a_path_is_stored_as_it_is_or_not_at_all() {
        let longest = format!("/{}", "x".repeat(LONGEST_PATH - 1));
        let longer = format!("{longest}x");
        for (cwd, stored) in [
            ("/home/u/a b;#{c}", true),
            (&longest, true),
            (&longer, false),
            ("", false),
            (r"/a\\nb", true),
            (r"/a\nb", false),
            (r"/a\u202eb", false),
        ] {
            let changes = changes("SessionStart", &format!(r#","cwd":"{cwd}""#), &Facts::default());
            let path = stored.then(|| cwd.replace(r"\\", r"\"));
            assert!(changes.contains(&Change::Directory(path)), "{cwd:?} stored: {stored}");
        }
    }

    #[test]
    fn a_config_directory_is_kept_unless_it_is_too_long() {
        for (length, kept) in [(LONGEST_CONFIG_DIR, true), (LONGEST_CONFIG_DIR + 1, false)] {
            let dir = format!("/{}", "c".repeat(length - 1));
            let facts = Facts { config_dir: Some(dir.clone()), ..Facts::default() };
            let found = changes("Stop", "", &facts).into_iter().find_map(|change| match change {
                Change::Identity(identity) => Some(identity.config_dir),
                _ => None,
            });
            assert_eq!(found, Some(kept.then_some(dir)), "{length}");
        }
    }

    #[test]
    fn a_notification_is_called_by_its_type() {
        for (fields, label) in [
            (r#","notification_type":"idle_prompt""#, "Notification-idle_prompt"),
            (r#","notification_type":"""#, "Notification"),
            ("", "Notification"),
        ] {
            let changes = changes("Notification", fields, &Facts::default());
            assert!(
                changes.contains(&Change::Latest { event: label.to_owned(), folds: false }),
                "{fields}"
            );
        }
    }
}
