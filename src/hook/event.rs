//! One hook payload: JSON in, a typed and borrowed [`Event`] out.
//!
//! Claude Code adds events and fields with most releases, so nothing here is a closed list: an
//! unknown name becomes [`Kind::Other`], an unknown field is skipped without being stored, and a
//! field of an unexpected type counts as absent.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::lenient;
use crate::session::{Agent, Call, SessionId};

use super::hash::Hash;

/// The events Claude Code 2.1.326 can fire.
pub const NAMES: [&str; 33] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

#[derive(Debug)]
pub struct Event<'a> {
    /// The name as it came, for display; not safe for a tmux format.
    pub name: Cow<'a, str>,
    pub session: SessionId,
    pub agent: Agent,
    pub cwd: Option<Cow<'a, str>>,
    pub transcript: Option<Cow<'a, str>>,
    pub title: Option<Cow<'a, str>>,
    pub kind: Kind<'a>,
}

#[derive(Debug)]
pub enum Kind<'a> {
    SessionStart {
        source: Source,
    },
    UserPromptSubmit {
        by_machine: bool,
    },
    PreToolUse {
        prompt: Option<Call>,
    },
    /// PostToolUse and PostToolUseFailure: the call is over either way.
    PostToolUse {
        call: Call,
    },
    PostToolBatch,
    PermissionRequest {
        tool: Tool<'a>,
        call: Call,
    },
    Notification {
        about: Cow<'a, str>,
        message: Option<Cow<'a, str>>,
    },
    Elicitation {
        call: Call,
        message: Option<Cow<'a, str>>,
    },
    ElicitationResult {
        call: Call,
    },
    Stop {
        message: Option<Cow<'a, str>>,
        turn: Call,
        background: Background,
    },
    StopFailure {
        error: Option<Cow<'a, str>>,
        message: Option<Cow<'a, str>>,
        turn: Call,
    },
    SubagentStop {
        background: Background,
    },
    SessionEnd,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Compaction fires SessionStart in the middle of a turn, for the same session.
    Compact,
    /// startup, resume, clear, fork and whatever comes later: a session begins in this pane.
    Fresh,
}

#[derive(Debug)]
pub struct Tool<'a> {
    pub name: Cow<'a, str>,
    pub input: Option<&'a RawValue>,
}

/// Background work that was still running when the event fired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Background {
    pub tasks: usize,
    /// Subagents among them; when one ends, Claude goes on by itself.
    pub subagents: usize,
}

#[derive(Debug)]
pub enum Malformed {
    Json(serde_json::Error),
    NoName,
    NoSession,
    BadSession,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Only the place and the category: serde's own message can quote the payload.
            Self::Json(error) => write!(
                f,
                "payload is not the expected JSON ({:?} error at line {} column {})",
                error.classify(),
                error.line(),
                error.column()
            ),
            Self::NoName => f.write_str("payload has no hook_event_name"),
            Self::NoSession => f.write_str("payload has no session_id"),
            Self::BadSession => f.write_str("session_id is not [0-9A-Za-z-]{1,64}"),
        }
    }
}

impl<'a> Event<'a> {
    pub fn parse(json: &'a str) -> Result<Self, Malformed> {
        let payload: Payload<'a> = serde_json::from_str(json).map_err(Malformed::Json)?;
        // A list would be read as the fields in their order.
        let is_object = json.trim_start().starts_with('{');
        let name = payload.hook_event_name.0.as_ref().filter(|_| is_object);
        let name = name.ok_or(Malformed::NoName)?.clone();
        let session = payload.session_id.0.as_deref().ok_or(Malformed::NoSession)?;
        let session = SessionId::parse(session).ok_or(Malformed::BadSession)?;
        let agent = match payload.agent_id.0.as_deref() {
            None | Some("") => Agent::Main,
            Some(id) => Agent::Sub(Hash::new().add(id).finish32()),
        };
        let kind = payload.kind(&name);
        Ok(Self {
            name,
            session,
            agent,
            cwd: payload.cwd.0,
            transcript: payload.transcript_path.0,
            title: payload.session_title.0,
            kind,
        })
    }
}

/// The fields some event is read for. Everything else, above all `tool_response`, is skipped by
/// the parser without being kept.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow)]
    hook_event_name: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    agent_id: Text<'a>,
    #[serde(borrow)]
    cwd: Text<'a>,
    #[serde(borrow)]
    transcript_path: Text<'a>,
    #[serde(borrow)]
    session_title: Text<'a>,
    #[serde(borrow)]
    source: Text<'a>,
    #[serde(borrow)]
    prompt: Text<'a>,
    #[serde(borrow)]
    prompt_id: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    notification_type: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    mcp_server_name: Text<'a>,
    #[serde(borrow)]
    last_assistant_message: Text<'a>,
    #[serde(borrow)]
    error: Text<'a>,
    #[serde(borrow)]
    background_tasks: Option<&'a RawValue>,
}

impl<'a> Payload<'a> {
    fn kind(&self, name: &str) -> Kind<'a> {
        match name {
            "SessionStart" => Kind::SessionStart {
                source: match self.source.0.as_deref() {
                    Some("compact") => Source::Compact,
                    _ => Source::Fresh,
                },
            },
            "UserPromptSubmit" => {
                Kind::UserPromptSubmit {
                    by_machine: self.prompt.0.as_deref().is_some_and(|prompt| {
                        prompt.trim_start().starts_with("<task-notification>")
                    }),
                }
            }
            "PreToolUse" => Kind::PreToolUse {
                prompt: self
                    .prompt_id
                    .0
                    .as_deref()
                    .map(|id| Call::named(Hash::new().add(id).finish())),
            },
            "PostToolUse" | "PostToolUseFailure" => Kind::PostToolUse { call: self.call() },
            "PostToolBatch" => Kind::PostToolBatch,
            "PermissionRequest" => Kind::PermissionRequest { tool: self.tool(), call: self.call() },
            "Notification" => Kind::Notification {
                about: self.notification_type.0.clone().unwrap_or_default(),
                message: self.message.0.clone(),
            },
            "Elicitation" => {
                Kind::Elicitation { call: self.elicitation(), message: self.message.0.clone() }
            }
            "ElicitationResult" => Kind::ElicitationResult { call: self.elicitation() },
            "Stop" => Kind::Stop {
                message: self.last_assistant_message.0.clone(),
                turn: self.turn(),
                background: self.background(),
            },
            "StopFailure" => Kind::StopFailure {
                error: self.error.0.clone(),
                message: self.last_assistant_message.0.clone(),
                turn: self.turn(),
            },
            "SubagentStop" => Kind::SubagentStop { background: self.background() },
            "SessionEnd" => Kind::SessionEnd,
            _ => Kind::Other,
        }
    }

    fn tool(&self) -> Tool<'a> {
        Tool { name: self.tool_name.0.clone().unwrap_or_default(), input: self.tool_input }
    }

    /// The same value for the request and the end of one call. Two tools come back with a changed
    /// input: a question gains the answers, a plan its text.
    fn call(&self) -> Call {
        let name = self.tool_name.0.as_deref().unwrap_or_default();
        let input = self.tool_input.map_or("", RawValue::get);
        let same = match name {
            "AskUserQuestion" => questions(input).unwrap_or(input),
            "ExitPlanMode" => "",
            _ => input,
        };
        Call::named(Hash::new().add(name).add(same).finish())
    }

    fn elicitation(&self) -> Call {
        let server = self.mcp_server_name.0.as_deref().unwrap_or_default();
        Call::named(Hash::new().add("elicitation").add(server).finish())
    }

    /// Tells a turn that ended from the same event delivered twice.
    fn turn(&self) -> Call {
        let prompt = self.prompt_id.0.as_deref().unwrap_or_default();
        let message = self.last_assistant_message.0.as_deref().unwrap_or_default();
        Call::named(Hash::new().add(prompt).add(message).finish())
    }

    fn background(&self) -> Background {
        let mut background = Background::default();
        let Some(raw) = self.background_tasks else { return background };
        let Ok(tasks) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
            return background;
        };
        for task in tasks {
            let Ok(task) = serde_json::from_str::<Task<'_>>(task.get()) else { continue };
            let own = task.id.0.is_some() && task.id.0 == self.agent_id.0;
            if task.status.0.as_deref() == Some("running") && !own {
                background.tasks += 1;
                background.subagents += usize::from(task.kind.0.as_deref() == Some("subagent"));
            }
        }
        background
    }
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
}

fn questions(input: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Input<'a> {
        #[serde(borrow)]
        questions: &'a RawValue,
    }
    serde_json::from_str::<Input<'_>>(input).ok().map(|input| input.questions.get())
}

/// A string, borrowed where the JSON has no escapes; any other type counts as absent.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(lenient::text(Some(raw))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call_of(json: &str) -> Call {
        match Event::parse(json).unwrap().kind {
            Kind::PermissionRequest { call, .. } | Kind::PostToolUse { call } => call,
            other => panic!("no call in {other:?}"),
        }
    }

    fn tool(name: &str, tool: &str, input: &str) -> String {
        format!(
            r#"{{"hook_event_name":"{name}","session_id":"s","tool_name":"{tool}","tool_input":{input}}}"#
        )
    }

    #[test]
    fn the_request_and_the_end_of_a_call_are_the_same_call() {
        for (name, asked, ended) in [
            ("Bash", r#"{"command":"a"}"#, r#"{"command":"a"}"#),
            ("AskUserQuestion", r#"{"questions":[1]}"#, r#"{"questions":[1],"answers":{"a":"b"}}"#),
            ("ExitPlanMode", "{}", r#"{"plan":"p"}"#),
        ] {
            let request = call_of(&tool("PermissionRequest", name, asked));
            assert_eq!(request, call_of(&tool("PostToolUse", name, ended)), "{name}");
            assert_eq!(request, call_of(&tool("PostToolUseFailure", name, ended)), "{name}");
        }
        let bash = call_of(&tool("PermissionRequest", "Bash", r#"{"command":"a"}"#));
        assert_ne!(bash, call_of(&tool("PostToolUse", "Bash", r#"{"command":"b"}"#)));
        assert_ne!(bash, call_of(&tool("PostToolUse", "Read", r#"{"command":"a"}"#)));
    }

    #[test]
    fn background_work_counts_what_runs_and_not_the_agent_that_stops() {
        let stop = |tasks: &str| {
            let json = format!(
                r#"{{"hook_event_name":"SubagentStop","session_id":"s","agent_id":"me","background_tasks":{tasks}}}"#
            );
            match Event::parse(&json).unwrap().kind {
                Kind::SubagentStop { background } => (background.tasks, background.subagents),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(stop(r#"[{"id":"me","type":"subagent","status":"running"}]"#), (0, 0));
        assert_eq!(stop(r#"[{"id":"a","type":"subagent","status":"running"}]"#), (1, 1));
        assert_eq!(stop(r#"[{"id":"a","type":"shell","status":"running"}]"#), (1, 0));
        assert_eq!(stop(r#"[{"id":"a","type":"subagent","status":"done"}]"#), (0, 0));
        assert_eq!(stop(r#"[7,{"type":1,"status":"running"},null]"#), (1, 0));
        assert_eq!(stop(r#""none""#), (0, 0));
    }

    #[test]
    fn only_the_machines_own_prompts_are_the_machines() {
        for (prompt, machine) in [
            ("<task-notification>x", true),
            (r" \n<task-notification>", true),
            ("a <task-notification>", false),
        ] {
            let json = format!(
                r#"{{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"{prompt}"}}"#
            );
            let Kind::UserPromptSubmit { by_machine } = Event::parse(&json).unwrap().kind else {
                panic!()
            };
            assert_eq!(by_machine, machine, "{prompt}");
        }
    }

    #[test]
    fn a_field_of_another_type_counts_as_absent() {
        for value in ["null", "7", "-7", "1.5", "true", "[1,[2]]", r#"{"a":{"b":1}}"#] {
            let json = format!(
                r#"{{"cwd":{value},"agent_id":{value},"prompt":{value},"hook_event_name":"Stop","session_id":"s"}}"#
            );
            let event = Event::parse(&json).unwrap();
            assert!(event.cwd.is_none() && event.agent == Agent::Main, "{value}");
        }
        assert!(matches!(Event::parse(r#"{"session_id":"s"}"#), Err(Malformed::NoName)));
        assert!(matches!(Event::parse(r#"{"hook_event_name":"Stop"}"#), Err(Malformed::NoSession)));
    }

    #[test]
    fn half_an_emoji_does_not_cost_the_event() {
        let json =
            r#"{"hook_event_name":"Stop","session_id":"s","last_assistant_message":"done \ud83d"}"#;
        let Kind::Stop { message, .. } = Event::parse(json).unwrap().kind else { panic!() };
        assert!(message.unwrap().starts_with("done "));
    }

    proptest! {
        #[test]
        fn any_text_is_an_event_or_malformed(text in any::<String>()) {
            let _ = Event::parse(&text);
        }

        #[test]
        fn any_fields_make_an_event(name in 0..NAMES.len(), value in any::<String>(), number in any::<i64>()) {
            let quoted = serde_json::to_string(&value).unwrap();
            let json = format!(
                r#"{{"hook_event_name":"{}","session_id":"s","tool_name":{quoted},"tool_input":{quoted},
                "message":{number},"background_tasks":[{quoted},{number}],"prompt":{quoted},"source":{quoted}}}"#,
                NAMES[name]
            );
            prop_assert!(Event::parse(&json).is_ok());
        }
    }
}
