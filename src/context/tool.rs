//! What a tool call would do, in lines. Pure.

use similar::{Algorithm, ChangeTag};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::{exact, text};
use crate::transcript::{Recent, ToolCall};

use super::line::{Line, Mark, at_most, marked};

/// Lines around a change that stay as they are.
const AROUND: usize = 1;
/// A difference is not looked for between longer texts.
const LONGEST_EDIT: usize = 256 * 1024;

/// The fields of Claude's own tools that say more than the headline does.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    old_string: Option<&'a RawValue>,
    #[serde(borrow)]
    new_string: Option<&'a RawValue>,
    #[serde(borrow)]
    edits: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    new_source: Option<&'a RawValue>,
    #[serde(borrow)]
    file_path: Option<&'a RawValue>,
    #[serde(borrow)]
    plan: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    questions: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Question<'a> {
    #[serde(borrow)]
    question: Option<&'a RawValue>,
    #[serde(borrow)]
    options: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Choice<'a> {
    #[serde(borrow)]
    label: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
}

pub(super) fn detail(call: &ToolCall, headline: &str, most: usize) -> Vec<Line> {
    let input: Input<'_> = parsed(Some(&call.input)).unwrap_or_default();
    let mut lines = match (text(input.command), list::<Question<'_>>(input.questions)) {
        (Some(command), _) if command.contains('\n') => {
            let mut lines = vec![Line::new(Mark::Headline, &format!("{}:", call.name))];
            lines.extend(marked(&command, Mark::Plain));
            lines
        }
        (_, questions) if !questions.is_empty() => questions.iter().flat_map(asked).collect(),
        _ => vec![Line::new(Mark::Headline, headline)],
    };
    if input.command.is_some() {
        let description = text(input.description);
        lines.extend(description.map(|words| Line::new(Mark::Aside, &words)));
    }
    lines.extend(changes(&input));
    for written in [input.content, input.new_source] {
        lines.extend(text(written).iter().flat_map(|text| marked(text, Mark::Added)));
    }
    lines.extend(text(input.prompt).iter().flat_map(|text| marked(text, Mark::Plain)));
    at_most(lines, most)
}

/// The plan that is to be approved: in the call, or, where that has none, in the file that was
/// written for it.
pub(super) fn plan(recent: &Recent) -> Option<String> {
    let is_request = |call: &&ToolCall| call.name == "ExitPlanMode";
    let request = recent.open_calls.iter().find(is_request)?;
    let in_call = parsed::<Input<'_>>(Some(&request.input)).and_then(|input| exact(input.plan));
    in_call.or_else(|| {
        recent.done_calls.iter().filter(|call| call.name == "Write").find_map(|call| {
            let input: Input<'_> = parsed(Some(&call.input))?;
            let is_plan = text(input.file_path)?.contains("/plans/");
            is_plan.then(|| exact(input.content)).flatten()
        })
    })
}

fn asked(question: &Question<'_>) -> Vec<Line> {
    let words = text(question.question).unwrap_or_default();
    let mut lines = marked(&words, Mark::Headline);
    for choice in list::<Choice<'_>>(question.options) {
        let label = text(choice.label).unwrap_or_default();
        let line = match exact(choice.description) {
            Some(description) => format!("• {label}: {description}"),
            None => format!("• {label}"),
        };
        lines.push(Line::new(Mark::Choice, &line.replace('\n', " ")));
    }
    lines
}

/// What the edits take away and put in.
fn changes(input: &Input<'_>) -> Vec<Line> {
    let mut edits: Vec<Input<'_>> = list(input.edits);
    if input.old_string.is_some() || input.new_string.is_some() {
        let (old_string, new_string) = (input.old_string, input.new_string);
        edits.insert(0, Input { old_string, new_string, ..Input::default() });
    }
    edits
        .iter()
        .flat_map(|edit| {
            let old = text(edit.old_string).unwrap_or_default();
            let new = text(edit.new_string).unwrap_or_default();
            difference(&old, &new)
        })
        .collect()
}

fn difference(old: &str, new: &str) -> Vec<Line> {
    if old.len() + new.len() > LONGEST_EDIT {
        return vec![Line::new(Mark::Aside, "(too long for a preview)")];
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let changes = similar::capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut lines = Vec::new();
    for hunk in similar::group_diff_ops(changes, AROUND) {
        for change in hunk.iter().flat_map(|change| change.iter_changes(&old, &new)) {
            let (sign, mark) = match change.tag() {
                ChangeTag::Equal => (' ', Mark::Plain),
                ChangeTag::Delete => ('-', Mark::Removed),
                ChangeTag::Insert => ('+', Mark::Added),
            };
            lines.push(Line::new(mark, &format!("{sign} {}", change.value())));
        }
    }
    lines
}

fn parsed<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// What can be read of a list.
fn list<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Vec<T> {
    let items: Vec<&RawValue> = parsed(raw).unwrap_or_default();
    items.into_iter().filter_map(|item| parsed(Some(item))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn call(name: &str, input: &Value) -> ToolCall {
        let input = RawValue::from_string(input.to_string()).unwrap();
        ToolCall { name: name.to_owned(), input }
    }

    #[track_caller]
    fn check(name: &str, input: &Value, expected: &[(Mark, &str)]) {
        let lines = detail(&call(name, input), "the headline", 12);
        let found: Vec<(Mark, &str)> = lines.iter().map(|l| (l.mark, l.text.as_str())).collect();
        assert_eq!(found, expected, "{input}");
    }

    #[test]
    fn an_edit_shows_a_short_difference() {
        let old = "fn main() {\n    one();\n    two();\n    three();\n}\n";
        check(
            "Edit",
            &json!({"file_path": "src/main.rs", "old_string": old, "new_string": old.replace("two", "2")}),
            &[
                (Mark::Headline, "the headline"),
                (Mark::Plain, "      one();"),
                (Mark::Removed, "-     two();"),
                (Mark::Added, "+     2();"),
                (Mark::Plain, "      three();"),
            ],
        );
        check(
            "MultiEdit",
            &json!({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}, 7]}),
            &[
                (Mark::Headline, "the headline"),
                (Mark::Removed, "- a"),
                (Mark::Added, "+ b"),
                (Mark::Removed, "- c"),
            ],
        );
    }

    #[test]
    fn a_command_of_several_lines_is_shown_as_it_is() {
        check(
            "Bash",
            &json!({"command": "rm -rf build", "description": "clean"}),
            &[(Mark::Headline, "the headline"), (Mark::Aside, "clean")],
        );
        check(
            "Bash",
            &json!({"command": "for x in *\ndo\n\techo \u{1b}[2J$x\ndone"}),
            &[
                (Mark::Headline, "Bash:"),
                (Mark::Plain, "for x in *"),
                (Mark::Plain, "do"),
                (Mark::Plain, "    echo [2J$x"),
                (Mark::Plain, "done"),
            ],
        );
    }

    #[test]
    fn a_question_shows_its_options() {
        let options = json!([{"label": "A", "description": "the\nfirst"}, {"label": "B"}]);
        check(
            "AskUserQuestion",
            &json!({"questions": [{"question": "Which?", "options": options}, {"question": "Sure?"}]}),
            &[
                (Mark::Headline, "Which?"),
                (Mark::Choice, "• A: the first"),
                (Mark::Choice, "• B"),
                (Mark::Headline, "Sure?"),
            ],
        );
    }

    #[test]
    fn a_written_file_shows_its_beginning() {
        let content: String = (1..=30).map(|number| format!("line {number}\n")).collect();
        let lines = detail(&call("Write", &json!({"file_path": "f", "content": content})), "h", 4);
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["h", "line 1", "line 2", "line 3", "… 27 more lines"]);
    }

    #[test]
    fn odd_input_still_has_its_headline() {
        for input in [json!({}), json!([1]), json!({"command": 7, "edits": "x", "questions": {}})] {
            let lines = detail(&call("Odd", &input), "the headline", 12);
            assert_eq!(lines[0].text, "the headline", "{input}");
        }
    }

    #[test]
    fn a_plan_is_in_its_call_or_in_its_file() {
        let mut recent = Recent::default();
        assert_eq!(plan(&recent), None);
        recent.open_calls.push(call("ExitPlanMode", &json!({})));
        assert_eq!(plan(&recent), None);
        let file = json!({"file_path": "/home/u/.claude/plans/x.md", "content": "# Plan"});
        recent.done_calls.push(call("Write", &json!({"file_path": "/a", "content": "other"})));
        recent.done_calls.push(call("Write", &file));
        assert_eq!(plan(&recent).as_deref(), Some("# Plan"));
        recent.open_calls[0] = call("ExitPlanMode", &json!({"plan": "In the call."}));
        assert_eq!(plan(&recent).as_deref(), Some("In the call."));
    }
}
