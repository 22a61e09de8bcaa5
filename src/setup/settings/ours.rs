//! Which hooks of a settings file are cld's.

use super::scan::{Item, Shape, Value};
use crate::setup::command;

/// A hook of cld and the containers around it, each with the position of what leads to the hook.
#[derive(Debug)]
pub(super) struct Ours<'a> {
    pub(super) event: &'a str,
    pub(super) command: &'a Value,
    /// Not hidden by a later member of the same name.
    pub(super) effective: bool,
    /// Runs whatever the event is about.
    pub(super) unrestricted: bool,
    pub(super) in_root: (&'a Value, usize),
    pub(super) in_hooks: (&'a Value, usize),
    pub(super) in_array: (&'a Value, usize),
    pub(super) in_entry: (&'a Value, usize),
}

impl Ours<'_> {
    pub(super) fn command_text(&self) -> &str {
        self.command.text().unwrap_or_default()
    }
}

/// All hooks of cld in the order of the text.
pub(super) fn find(root: &Value) -> Vec<Ours<'_>> {
    let mut found = Vec::new();
    for (root_index, member) in root.members().iter().enumerate() {
        if member.name() != "hooks" {
            continue;
        }
        let hooks = &member.value;
        let counts = is_last(root.members(), root_index);
        for (event_index, event) in hooks.members().iter().enumerate() {
            let effective = counts && is_last(hooks.members(), event_index);
            for hook in in_event(event.name(), &event.value) {
                found.push(Ours {
                    event: hook.event,
                    command: hook.command,
                    effective,
                    unrestricted: hook.unrestricted,
                    in_root: (root, root_index),
                    in_hooks: (hooks, event_index),
                    in_array: (&event.value, hook.entry),
                    in_entry: (hook.hooks, hook.position),
                });
            }
        }
    }
    found
}

/// A hook of cld within the array of one event.
#[derive(Debug)]
pub(super) struct InEvent<'a> {
    event: &'a str,
    command: &'a Value,
    entry: usize,
    hooks: &'a Value,
    position: usize,
    pub(super) unrestricted: bool,
}

pub(super) fn in_event<'a>(event: &'a str, array: &'a Value) -> impl Iterator<Item = InEvent<'a>> {
    array.elements().iter().enumerate().flat_map(move |(index, entry)| {
        let entry = &entry.value;
        let unrestricted = match entry.member("matcher").map(|matcher| &matcher.shape) {
            None => true,
            Some(Shape::Text(matcher)) => matches!(matcher.as_str(), "" | "*"),
            Some(_) => false,
        };
        let hooks = entry.member("hooks");
        hooks.into_iter().flat_map(move |hooks| {
            hooks.elements().iter().enumerate().filter_map(move |(position, hook)| {
                let command = command_of_ours(hook)?;
                Some(InEvent { event, command, entry: index, hooks, position, unrestricted })
            })
        })
    })
}

fn command_of_ours(hook: &Item) -> Option<&Value> {
    let hook = &hook.value;
    let command = hook.member("command")?;
    let is_command = hook.member("type").and_then(Value::text) == Some("command");
    // With `args`, the command is a program and not a line for the shell.
    let for_the_shell = hook.member("args").is_none();
    (is_command && for_the_shell && command::program_of(command.text()?).is_some())
        .then_some(command)
}

fn is_last(members: &[Item], index: usize) -> bool {
    let name = members[index].name();
    !members[index + 1..].iter().any(|later| later.name() == name)
}
