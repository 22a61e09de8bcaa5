//! What a pane should show after a sequence of events, written from the design's tables and
//! independently of the product code: the events are simply played in order.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::events::{bash, by_agent, event, notification, prompt, start, stop};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ev {
    Start,
    Compact,
    Prompt,
    MachinePrompt,
    Pre(Option<u8>, u8),
    Permission(Option<u8>, u8),
    Post(Option<u8>, u8),
    Failed(Option<u8>, u8),
    Batch(Option<u8>),
    Announce,
    IdlePrompt,
    Elicit,
    Elicited,
    Stop(u8),
    StopWhileAgentsRun,
    StopFailure,
    SubagentStop(u8),
    End,
    Unknown,
}

impl Ev {
    pub(crate) fn payload(&self) -> Value {
        let tool = |name: &str, agent: &Option<u8>, call: &u8| {
            let payload = bash(name, &format!("call {call}"));
            match agent {
                Some(agent) => by_agent(payload, &format!("agent-{agent}")),
                None => payload,
            }
        };
        match self {
            Self::Start => start("startup"),
            Self::Compact => start("compact"),
            Self::Prompt => prompt("do it"),
            Self::MachinePrompt => prompt("<task-notification>\n<task-id>x</task-id>"),
            Self::Pre(agent, call) => tool("PreToolUse", agent, call),
            Self::Permission(agent, call) => tool("PermissionRequest", agent, call),
            Self::Post(agent, call) => tool("PostToolUse", agent, call),
            Self::Failed(agent, call) => tool("PostToolUseFailure", agent, call),
            Self::Batch(None) => event("PostToolBatch", &json!({"tool_calls": []})),
            Self::Batch(Some(agent)) => by_agent(
                event("PostToolBatch", &json!({"tool_calls": []})),
                &format!("agent-{agent}"),
            ),
            Self::Announce => notification("permission_prompt"),
            Self::IdlePrompt => notification("idle_prompt"),
            Self::Elicit => {
                event("Elicitation", &json!({"mcp_server_name": "lab", "message": "Your name?"}))
            }
            Self::Elicited => event("ElicitationResult", &json!({"mcp_server_name": "lab"})),
            Self::Stop(turn) => stop(&format!("turn {turn}")),
            Self::StopWhileAgentsRun => event(
                "Stop",
                &json!({"last_assistant_message": "later", "background_tasks": [
                    {"id": "a", "type": "subagent", "status": "running"}]}),
            ),
            Self::StopFailure => event(
                "StopFailure",
                &json!({"error": "server_error", "last_assistant_message": "529"}),
            ),
            Self::SubagentStop(agent) => {
                by_agent(event("SubagentStop", &json!({})), &format!("agent-{agent}"))
            }
            Self::End => event("SessionEnd", &json!({"reason": "other"})),
            Self::Unknown => event("SomethingNew", &json!({"field": [1, 2]})),
        }
    }
}

/// Agent (none is the main one) and what asks.
type Dialog = (Option<u8>, String);

#[derive(Debug, Default, PartialEq, Clone)]
pub(crate) struct Model {
    said_status: &'static str,
    running: bool,
    /// The letter of the kind and the context, by who asks for what.
    dialogs: BTreeMap<Dialog, (char, String)>,
    finished: Option<(char, String)>,
    set_on: &'static str,
}

const UNNAMED: &str = "unnamed";

impl Model {
    pub(crate) fn after(events: &[Ev]) -> Self {
        let mut model = Self::default();
        for event in events {
            model.apply(event);
        }
        model
    }

    fn apply(&mut self, event: &Ev) {
        let permission = |call: &u8| format!("Bash: call {call}");
        match event {
            Ev::Start => {
                self.dialogs.clear();
                self.finished = None;
                (self.said_status, self.running) = ("stopped", false);
                self.set_on = "SessionStart";
            }
            Ev::Compact => self.set_on = "SessionStart",
            Ev::Prompt => {
                self.end_main();
                (self.said_status, self.running) = ("running", true);
                self.set_on = "UserPromptSubmit";
            }
            Ev::MachinePrompt => {
                self.finished = None;
                (self.said_status, self.running) = ("running", true);
                self.set_on = "UserPromptSubmit";
            }
            Ev::Pre(agent, _) => {
                if agent.is_none() {
                    self.finished = None;
                }
                self.running = true;
            }
            Ev::Permission(agent, call) => {
                self.dialogs.insert((*agent, permission(call)), ('p', permission(call)));
                self.said_status = "stopped";
            }
            Ev::Post(agent, call) | Ev::Failed(agent, call) => {
                self.dialogs.remove(&(*agent, permission(call)));
                self.dialogs.remove(&(None, UNNAMED.to_owned()));
                (self.said_status, self.running) = ("running", true);
            }
            Ev::Batch(agent) => self.end_agent(*agent),
            Ev::Announce => {
                if self.dialogs.keys().all(|(_, what)| what == UNNAMED) {
                    let what = (None, UNNAMED.to_owned());
                    self.dialogs.insert(what, ('p', "Claude needs you".to_owned()));
                }
                self.said_status = "stopped";
            }
            Ev::IdlePrompt => self.said_status = "stopped",
            Ev::Elicit => {
                self.dialogs.insert((None, "lab".to_owned()), ('i', "Your name?".to_owned()));
                self.said_status = "stopped";
            }
            Ev::Elicited => {
                self.dialogs.remove(&(None, "lab".to_owned()));
                self.dialogs.remove(&(None, UNNAMED.to_owned()));
                (self.said_status, self.running) = ("running", true);
            }
            Ev::Stop(turn) => {
                self.end_main();
                self.finished = Some(('d', format!("turn {turn}")));
                (self.said_status, self.running) = ("stopped", false);
                self.set_on = "Stop";
            }
            Ev::StopWhileAgentsRun => {
                self.end_main();
                self.said_status = "stopped";
                self.set_on = "Stop";
            }
            Ev::StopFailure => {
                self.end_main();
                self.finished = Some(('e', "server_error: 529".to_owned()));
                (self.said_status, self.running) = ("stopped", false);
            }
            Ev::SubagentStop(agent) => {
                self.dialogs.retain(|(owner, _), _| *owner != Some(*agent));
                self.set_on = "SubagentStop";
            }
            Ev::End => {
                self.dialogs.clear();
                self.finished = None;
                (self.said_status, self.running) = ("", false);
                self.set_on = "SessionEnd";
            }
            Ev::Unknown => {}
        }
    }

    fn end_agent(&mut self, agent: Option<u8>) {
        match agent {
            None => self.end_main(),
            Some(_) => self.dialogs.retain(|(owner, _), _| *owner != agent),
        }
    }

    fn end_main(&mut self) {
        self.dialogs.retain(|(owner, _), _| owner.is_some());
        self.finished = None;
    }

    /// What the options show, written like [`shown`] writes what it finds.
    pub(crate) fn shown(&self) -> String {
        let waits = !self.dialogs.is_empty() || self.finished.is_some();
        let status = if self.dialogs.is_empty() { self.said_status } else { "stopped" };
        let mut dialogs: Vec<String> =
            self.dialogs.values().map(|(kind, context)| format!("{kind} {context}")).collect();
        dialogs.sort();
        let finished = self.finished.as_ref().map(|(kind, context)| format!("{kind} {context}"));
        let window = match (waits, self.running) {
            (true, _) => "waiting",
            (false, true) => "running",
            (false, false) => "idle",
        };
        let attention = if waits { "1" } else { "" };
        format!(
            "status={status} dialogs={dialogs:?} finished={:?} attention={attention} \
             window={window} set_on={}",
            finished.unwrap_or_default(),
            self.set_on
        )
    }
}

/// What the options of a world's pane show.
pub(crate) fn shown(world: &crate::world::World) -> String {
    let dialogs_option = world.meta("asking");
    let dialogs = dialogs_option.split('|').filter(|dialog| !dialog.is_empty());
    let mut dialogs: Vec<String> = dialogs
        .map(|dialog| {
            let (head, context) = dialog.split_once(' ').unwrap();
            let kind = head.split('@').next().unwrap().chars().last().unwrap();
            format!("{kind} {context}")
        })
        .collect();
    dialogs.sort();
    let finished = world.meta("finished");
    let finished = finished.split_once(' ').map_or("", |(_moment, rest)| rest);
    format!(
        "status={} dialogs={dialogs:?} finished={finished:?} attention={} window={} set_on={}",
        world.meta("status"),
        world.option("@claude-attn"),
        world.window_state(),
        world.meta("session_id_set_on"),
    )
}

fn agent() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![3 => Just(None), 1 => Just(Some(1)), 1 => Just(Some(2))]
}

/// Events that may come in any order and must give what they give in order.
pub(crate) fn ordered_event() -> impl Strategy<Value = Ev> {
    prop_oneof![
        1 => Just(Ev::Start),
        1 => Just(Ev::Compact),
        2 => Just(Ev::Prompt),
        2 => Just(Ev::MachinePrompt),
        3 => (agent(), 0..3_u8).prop_map(|(agent, call)| Ev::Pre(agent, call)),
        5 => (agent(), 0..3_u8).prop_map(|(agent, call)| Ev::Permission(agent, call)),
        4 => (agent(), 0..3_u8).prop_map(|(agent, call)| Ev::Post(agent, call)),
        1 => (agent(), 0..3_u8).prop_map(|(agent, call)| Ev::Failed(agent, call)),
        1 => agent().prop_map(Ev::Batch),
        1 => Just(Ev::IdlePrompt),
        1 => Just(Ev::Elicit),
        1 => Just(Ev::Elicited),
        3 => (0..2_u8).prop_map(Ev::Stop),
        1 => Just(Ev::StopWhileAgentsRun),
        1 => Just(Ev::StopFailure),
        1 => (1..3_u8).prop_map(Ev::SubagentStop),
        1 => Just(Ev::End),
        1 => Just(Ev::Unknown),
    ]
}

pub(crate) fn any_event() -> impl Strategy<Value = Ev> {
    prop_oneof![12 => ordered_event(), 1 => Just(Ev::Announce)]
}
