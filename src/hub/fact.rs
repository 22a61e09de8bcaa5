//! What an event tells about the session it came from. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::hook::event::{Event, Kind, Malformed, Source};
use crate::lenient;
use crate::session::{Agent, Call, SessionId};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) session: SessionId,
    pub(super) change: Change,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A session begins in this process, the first one or another.
    Started,
    /// The session goes on after its conversation was made shorter.
    Compacted,
    Prompted {
        prompt: String,
    },
    Working,
    /// A dialog opens; one that names no call may be about one that is known already.
    Asked {
        agent: Agent,
        call: Call,
    },
    Answered {
        agent: Agent,
        call: Call,
    },
    /// All calls of one message of this agent have ended.
    Settled {
        agent: Agent,
    },
    TurnEnded,
    AgentEnded {
        agent: Agent,
    },
    /// The process goes on with another session.
    Replaced,
    Ended,
    Nothing,
}

/// Fields that only the hub reads.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
}

impl Fact {
    pub(super) fn read(json: &str) -> Result<Self, Malformed> {
        let event = Event::parse(json)?;
        let agent = event.agent;
        let change = match event.kind {
            Kind::SessionStart { source: Source::Fresh } => Change::Started,
            Kind::SessionStart { source: Source::Compact } => Change::Compacted,
            Kind::UserPromptSubmit { .. } => {
                let fields: Fields<'_> = serde_json::from_str(json).unwrap_or_default();
                let prompt = lenient::text(fields.prompt).unwrap_or_default().into_owned();
                Change::Prompted { prompt }
            }
            Kind::PreToolUse { .. } => Change::Working,
            Kind::PostToolUse { call } | Kind::ElicitationResult { call } => {
                Change::Answered { agent, call }
            }
            Kind::PostToolBatch => Change::Settled { agent },
            Kind::PermissionRequest { call, .. } | Kind::Elicitation { call, .. } => {
                Change::Asked { agent, call }
            }
            Kind::Notification { about, .. } => match &*about {
                "permission_prompt" | "elicitation_dialog" | "agent_needs_input" => {
                    Change::Asked { agent, call: Call::Unnamed }
                }
                _ => Change::Nothing,
            },
            Kind::Stop { .. } | Kind::StopFailure { .. } => Change::TurnEnded,
            Kind::SubagentStop { .. } => Change::AgentEnded { agent },
            Kind::SessionEnd => {
                let fields: Fields<'_> = serde_json::from_str(json).unwrap_or_default();
                match lenient::text(fields.reason).as_deref() {
                    Some("clear" | "resume") => Change::Replaced,
                    _ => Change::Ended,
                }
            }
            Kind::Other => Change::Nothing,
        };
        Ok(Self { session: event.session, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn fixture(name: &str) -> Change {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
        let json = fs::read_to_string(dir.join(name).with_extension("json")).unwrap();
        Fact::read(&json).unwrap().change
    }

    #[test]
    fn real_payloads_tell_what_happened() {
        for (name, expected) in [
            ("SessionStart-startup", Change::Started),
            ("SessionStart-resume", Change::Started),
            ("SessionStart-clear", Change::Started),
            ("SessionStart-compact", Change::Compacted),
            ("SessionEnd-clear", Change::Replaced),
            ("SessionEnd-resume", Change::Replaced),
            ("SessionEnd-other", Change::Ended),
            ("SessionEnd-prompt_input_exit", Change::Ended),
            ("Stop", Change::TurnEnded),
            ("StopFailure-server_error", Change::TurnEnded),
            ("PostToolBatch", Change::Settled { agent: Agent::Main }),
            ("PreToolUse-Bash", Change::Working),
            ("Notification-idle_prompt", Change::Nothing),
            (
                "Notification-permission_prompt",
                Change::Asked { agent: Agent::Main, call: Call::Unnamed },
            ),
            ("ConfigChange", Change::Nothing),
        ] {
            assert_eq!(fixture(name), expected, "{name}");
        }
        let Change::Asked { call: asked, .. } = fixture("PermissionRequest-Bash") else { panic!() };
        assert_ne!(asked, Call::Unnamed);
        assert!(
            matches!(fixture("UserPromptSubmit"), Change::Prompted { prompt } if !prompt.is_empty())
        );
    }

    #[test]
    fn an_event_without_a_name_or_a_session_tells_nothing() {
        for json in ["[]", "7", "{}", r#"{"session_id":"a"}"#, r#"{"hook_event_name":"Stop"}"#] {
            assert!(Fact::read(json).is_err(), "{json}");
        }
    }
}
