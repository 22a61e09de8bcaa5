//! The one line that tells a person what a wait is about.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::text::{one_line, one_line_end};

use super::event::{Text, Tool};

/// The longest context in bytes; it has to fit into one tmux request beside two paths.
const LIMIT: usize = 512;

/// `Bash: rm -rf build`, `Edit: src/main.rs`, a question with its options, the start of a plan.
pub(crate) fn of_tool(tool: &Tool<'_>) -> String {
    let input = tool.input.map_or("", RawValue::get);
    let known = serde_json::from_str::<Input<'_>>(input).unwrap_or_default();
    let line = match &*tool.name {
        "AskUserQuestion" => known.questions.and_then(of_questions),
        "ExitPlanMode" => Some(known.plan.0.as_deref().unwrap_or("a plan is ready").to_owned()),
        _ => None,
    };
    let line = line.unwrap_or_else(|| match known.subject() {
        Some(subject) => format!("{}: {subject}", tool.name),
        None if matches!(input, "" | "{}") => tool.name.to_string(),
        None => format!("{}: {}", tool.name, start(input)),
    });
    one_line(&line, LIMIT)
}

pub(super) fn of_message(message: Option<&str>) -> String {
    one_line(message.unwrap_or_default(), LIMIT)
}

/// The end of what Claude said, where the question or the result stands.
pub(crate) fn of_last_words(message: Option<&str>) -> String {
    one_line_end(message.unwrap_or_default(), LIMIT)
}

pub(super) fn of_error(error: Option<&str>, message: Option<&str>) -> String {
    match (error.unwrap_or_default(), message.unwrap_or_default()) {
        ("" | "unknown", message) => one_line(message, LIMIT),
        (error, "") => one_line(error, LIMIT),
        (error, message) => one_line(&format!("{error}: {}", start(message)), LIMIT),
    }
}

/// The input fields that name what a tool is about, in Claude's own tools.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow)]
    command: Text<'a>,
    #[serde(borrow)]
    file_path: Text<'a>,
    #[serde(borrow)]
    notebook_path: Text<'a>,
    #[serde(borrow)]
    url: Text<'a>,
    #[serde(borrow)]
    query: Text<'a>,
    #[serde(borrow)]
    pattern: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    skill: Text<'a>,
    #[serde(borrow)]
    description: Text<'a>,
    #[serde(borrow)]
    plan: Text<'a>,
    #[serde(borrow)]
    questions: Option<&'a RawValue>,
}

impl Input<'_> {
    fn subject(&self) -> Option<&str> {
        let fields = [
            &self.command,
            &self.file_path,
            &self.notebook_path,
            &self.url,
            &self.query,
            &self.pattern,
            &self.path,
            &self.skill,
            &self.description,
        ];
        fields.into_iter().find_map(|field| field.0.as_deref()).map(start)
    }
}

fn of_questions(questions: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Question<'a> {
        #[serde(borrow)]
        question: Cow<'a, str>,
        #[serde(borrow, default)]
        options: Vec<Choice<'a>>,
    }
    #[derive(Deserialize)]
    struct Choice<'a> {
        #[serde(borrow)]
        label: Cow<'a, str>,
    }
    let questions: Vec<Question<'_>> = serde_json::from_str(questions.get()).ok()?;
    let lines: Vec<String> = questions
        .iter()
        .map(|question| {
            let labels: Vec<&str> = question.options.iter().map(|choice| &*choice.label).collect();
            match labels.is_empty() {
                true => question.question.to_string(),
                false => format!("{} ({})", question.question, labels.join(" / ")),
            }
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Enough of a text for one line, so that a file of megabytes is not copied to be cut.
fn start(text: &str) -> &str {
    &text[..text.floor_char_boundary(LIMIT * 4)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, input: &str, line: &str) {
        let raw: Option<&RawValue> =
            (!input.is_empty()).then(|| serde_json::from_str(input).unwrap());
        assert_eq!(of_tool(&Tool { name: Cow::Borrowed(name), input: raw }), line);
    }

    #[test]
    fn a_permission_names_the_tool_and_what_it_would_touch() {
        check("Bash", r#"{"command":"rm -rf build","description":"clean"}"#, "Bash: rm -rf build");
        check("Edit", r#"{"file_path":"src/main.rs","old_string":"a"}"#, "Edit: src/main.rs");
        check(
            "WebFetch",
            r#"{"url":"https://example.com","prompt":"p"}"#,
            "WebFetch: https://example.com",
        );
        check("Agent", r#"{"description":"look","prompt":"long"}"#, "Agent: look");
        check("mcp__lab__ask", "{}", "mcp__lab__ask");
        check("mcp__lab__ask", r#"{"n":1}"#, r#"mcp__lab__ask: {"n":1}"#);
        check("Odd", "", "Odd");
        check("Odd", "[1,2]", "Odd: [1,2]");
        check("Bash", r#"{"command":7}"#, r#"Bash: {"command":7}"#);
    }

    #[test]
    fn a_question_shows_its_text_and_options() {
        check(
            "AskUserQuestion",
            r#"{"questions":[{"question":"Which?","options":[{"label":"A","description":"a"},{"label":"B"}]},{"question":"Sure?"}]}"#,
            "Which? (A / B); Sure?",
        );
        check("AskUserQuestion", r#"{"questions":7}"#, r#"AskUserQuestion: {"questions":7}"#);
    }

    #[test]
    fn a_plan_shows_its_beginning() {
        check("ExitPlanMode", r##"{"plan":"# Plan\n1. do it"}"##, "# Plan 1. do it");
        check("ExitPlanMode", "{}", "a plan is ready");
    }

    #[test]
    fn a_finished_turn_shows_the_end_of_the_message() {
        let long = format!("{} shall I go on?", "word ".repeat(400));
        let line = of_last_words(Some(&long));
        assert!(line.starts_with('…') && line.ends_with("shall I go on?") && line.len() <= LIMIT);
    }

    #[test]
    fn an_error_shows_its_kind_unless_that_is_unknown() {
        assert_eq!(of_error(Some("unknown"), Some("API Error: 400")), "API Error: 400");
        assert_eq!(of_error(Some("rate_limit"), Some("later")), "rate_limit: later");
        assert_eq!(of_error(Some("rate_limit"), None), "rate_limit");
        assert_eq!(of_error(None, None), "");
    }
}
