//! The text of a settings file of Claude Code, with and without the hooks of cld.
//!
//! The text is edited where the hooks stand and nowhere else: order, indentation, comments, numbers
//! and whatever other tools wrote stay byte for byte, and [`uninstall`] after [`install`] gives the
//! bytes from before.

use super::command::program_of;
use super::events;

mod ours;
mod scan;
mod splice;
#[cfg(test)]
mod tests;

use ours::{Ours, find};
pub use scan::Refusal;
use scan::{Document, Shape, Value, scan};
use splice::{Edits, Style, created_tail, gap, insert, remove, was_created};

/// The text with the command registered for every event once; nothing stands for no file.
pub fn install(text: Option<&str>, command: &str) -> Result<String, Refusal> {
    let events: Vec<&str> = events::registered().collect();
    install_for(&events, text, command)
}

fn install_for(events: &[&str], text: Option<&str>, command: &str) -> Result<String, Refusal> {
    let wanted = Wanted { events, command };
    let Some(text) = text else {
        return Ok(format!("{}\n", wanted.object(&Style::of("", None))));
    };
    if program_of(command).is_none() {
        let problem = format!("`{command}` would not be known again as a hook of cld");
        return Err(Refusal { line: 1, column: 1, problem });
    }
    let mut text = text.to_owned();
    // One change at a time, each on a text that was read anew: a change never has to know what
    // the one before did to positions.
    while let Some(changed) = next_change(&text, &wanted)? {
        text = changed;
    }
    Ok(text)
}

/// The text without any hook of cld; nothing where there would be no file but for [`install`].
pub fn uninstall(text: &str) -> Result<Option<String>, Refusal> {
    let mut text = text.to_owned();
    loop {
        let document = scan(&text)?;
        let Some(root) = &document.root else { return Ok(Some(text)) };
        let ours = find(root);
        // From the end, which undoes additions in the reverse of their order.
        let Some(last) = ours.last() else { return Ok(Some(text)) };
        match take_out(&text, &document, last) {
            Some(edits) => text = edits.apply(&text),
            None => return Ok(without_object(&text, root)),
        }
    }
}

/// What a settings file says, as far as cld has to know.
#[derive(Debug, Default)]
pub struct Summary {
    /// Claude Code can read it; it ignores files with comments or trailing commas.
    pub strict: bool,
    pub disables_all_hooks: bool,
    pub only_managed_hooks: bool,
    /// The hooks of cld that take effect: event and command.
    pub hooks: Vec<(String, String)>,
    /// Ids of the plugins that are switched on.
    pub plugins: Vec<String>,
}

impl Summary {
    /// The plugin form of cld is switched on.
    pub fn has_plugin(&self) -> bool {
        self.plugins.iter().any(|plugin| plugin == "cld" || plugin.starts_with("cld@"))
    }
}

pub fn summary(text: &str) -> Result<Summary, Refusal> {
    let document = scan(text)?;
    let Some(root) = &document.root else {
        return Ok(Summary { strict: true, ..Summary::default() });
    };
    let is_true = |name| root.member(name).is_some_and(|value| matches!(value.shape, Shape::True));
    let plugins = root.member("enabledPlugins").map_or(&[][..], Value::members);
    let enabled = plugins.iter().filter(|plugin| !matches!(plugin.value.shape, Shape::False));
    let hooks = find(root);
    let hooks = hooks.iter().filter(|hook| hook.effective && hook.unrestricted);
    Ok(Summary {
        strict: document.strict,
        disables_all_hooks: is_true("disableAllHooks"),
        only_managed_hooks: is_true("allowManagedHooksOnly"),
        hooks: hooks.map(|hook| (hook.event.to_owned(), hook.command_text().to_owned())).collect(),
        plugins: enabled.map(|plugin| plugin.name().to_owned()).collect(),
    })
}

fn next_change(text: &str, wanted: &Wanted<'_>) -> Result<Option<String>, Refusal> {
    let document = scan(text)?;
    let style = Style::of(text, document.root.as_ref());
    let Some(root) = &document.root else {
        return Ok(Some(format!("{text}{}", wanted.object(&style))));
    };
    expect(text, root, "the settings", "an object")?;
    let Some(hooks) = root.member("hooks") else {
        let gap = gap(text, root, &style);
        let member = wanted.hooks(&gap, &style);
        return Ok(Some(insert(text, &document, root, &gap, &member, &style).apply(text)));
    };
    expect(text, hooks, "`hooks`", "an object")?;
    for event in wanted.events {
        if let Some(array) = hooks.member(event) {
            expect(text, array, &format!("`hooks.{event}`"), "an array")?;
        }
    }
    let edits = repair(root, wanted.command)
        .or_else(|| add_to_array(text, &document, hooks, wanted, &style))
        .or_else(|| add_members(text, &document, hooks, wanted, &style))
        .or_else(|| drop_surplus(text, &document, root));
    Ok(edits.map(|edits| edits.apply(text)))
}

fn expect(text: &str, value: &Value, name: &str, kind: &str) -> Result<(), Refusal> {
    if value.kind() == kind {
        return Ok(());
    }
    let problem = format!("{name} should be {kind} and is {}", value.kind());
    Err(Refusal::at(text, value.start, problem))
}

/// Corrects a hook that names another place of the program, as after a move or an upgrade.
fn repair(root: &Value, command: &str) -> Option<Edits> {
    let ours = find(root);
    let stale = ours.iter().find(|hook| hook.effective && hook.command_text() != command)?;
    let mut edits = Edits::default();
    edits.replace(stale.command.start..stale.command.end, json_string(command));
    Some(edits)
}

/// Adds an entry beside those that others have for the event.
fn add_to_array(
    text: &str,
    document: &Document,
    hooks: &Value,
    wanted: &Wanted<'_>,
    style: &Style,
) -> Option<Edits> {
    let lacking = wanted.events.iter().filter_map(|event| Some((*event, hooks.member(event)?)));
    let (event, array) = lacking
        .into_iter()
        .find(|(event, array)| !ours::in_event(event, array).any(|hook| hook.unrestricted))?;
    // Entries are written on one line, also into an array that has no line yet.
    let is_empty = array.elements().is_empty();
    let gap = if is_empty { String::new() } else { gap(text, array, style) };
    Some(insert(text, document, array, &gap, &wanted.entry(event, style), style))
}

/// Adds the events that nobody has hooks for.
fn add_members(
    text: &str,
    document: &Document,
    hooks: &Value,
    wanted: &Wanted<'_>,
    style: &Style,
) -> Option<Edits> {
    let missing = wanted.events.iter().filter(|event| hooks.member(event).is_none());
    let members: Vec<String> = missing.map(|event| wanted.member(event, style)).collect();
    let gap = gap(text, hooks, style);
    let members = (!members.is_empty()).then(|| members.join(&format!(",{gap}")))?;
    Some(insert(text, document, hooks, &gap, &members, style))
}

/// Removes a second hook for one event, and one where it does harm.
fn drop_surplus(text: &str, document: &Document, root: &Value) -> Option<Edits> {
    let ours = find(root);
    let effective: Vec<&Ours<'_>> =
        ours.iter().filter(|hook| hook.effective && hook.unrestricted).collect();
    let surplus = effective.iter().enumerate().find(|(position, hook)| {
        events::HARMFUL.contains(&hook.event)
            || effective[..*position].iter().any(|earlier| earlier.event == hook.event)
    });
    take_out(text, document, surplus?.1)
}

/// Takes out a hook together with every container that holds nothing else and exists only because
/// of it; nothing is left to edit where that is the whole file.
fn take_out(text: &str, document: &Document, ours: &Ours<'_>) -> Option<Edits> {
    let (hooks_of_entry, hook) = ours.in_entry;
    if hooks_of_entry.items().len() > 1 {
        return Some(remove(text, document, hooks_of_entry, hook));
    }
    let containers = [ours.in_array, ours.in_hooks, ours.in_root];
    let kept = containers.into_iter().find(|(container, _)| !was_created(text, container));
    match kept {
        Some((container, index)) => Some(remove(text, document, container, index)),
        None if is_blank_around(text, ours.in_root.0) => None,
        None => Some(remove(text, document, ours.in_root.0, ours.in_root.1)),
    }
}

fn is_blank_around(text: &str, root: &Value) -> bool {
    let blank = |part: &str| part.chars().all(|c| c.is_ascii_whitespace() || c == '\u{feff}');
    blank(&text[..root.start]) && blank(&text[root.end..])
}

/// [`install`] ends a file that it creates with a line break, and adds none to a blank one.
fn without_object(text: &str, root: &Value) -> Option<String> {
    let (before, after) = (&text[..root.start], &text[root.end..]);
    (!before.is_empty() || !matches!(after, "\n" | "\r\n")).then(|| format!("{before}{after}"))
}

/// What is to be registered, and how it is written.
struct Wanted<'a> {
    events: &'a [&'a str],
    command: &'a str,
}

impl Wanted<'_> {
    fn object(&self, style: &Style) -> String {
        let gap = format!("{}{}", style.newline, style.unit);
        let hooks = self.hooks(&gap, style);
        format!("{{{gap}{hooks}{}}}", created_tail(&gap, &style.unit))
    }

    fn hooks(&self, gap: &str, style: &Style) -> String {
        let inner = if gap.contains('\n') { format!("{gap}{}", style.unit) } else { String::new() };
        let members: Vec<String> =
            self.events.iter().map(|event| self.member(event, style)).collect();
        let separator = if inner.is_empty() { style.inline_gap() } else { &inner };
        let members = members.join(&format!(",{separator}"));
        let tail = created_tail(&inner, &style.unit);
        format!("\"hooks\"{}{{{inner}{members}{tail}}}", style.colon)
    }

    fn member(&self, event: &str, style: &Style) -> String {
        format!("\"{event}\"{}[{}]", style.colon, self.entry(event, style))
    }

    fn entry(&self, event: &str, style: &Style) -> String {
        let (colon, gap) = (&style.colon, style.inline_gap());
        let (command, timeout) = (json_string(self.command), events::timeout(event));
        format!(
            "{{\"hooks\"{colon}[{{\"type\"{colon}\"command\",{gap}\"command\"{colon}{command},\
             {gap}\"timeout\"{colon}{timeout}}}]}}"
        )
    }
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
