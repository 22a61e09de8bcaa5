//! What a check found, for a person and for a script.

use serde::Serialize;

use crate::screen::Screen;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    Fixed,
    Warn,
    Error,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) level: Level,
    /// Without anything that could act on a terminal.
    pub(super) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, level: Level::Ok, message: message.into(), advice: None }
    }

    pub(super) fn fixed(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, level: Level::Fixed, message: message.into(), advice: None }
    }

    pub(super) fn warn(name: &'static str, message: impl Into<String>, advice: &str) -> Self {
        let advice = Some(advice.to_owned());
        Self { name, level: Level::Warn, message: message.into(), advice }
    }

    pub(super) fn error(name: &'static str, message: impl Into<String>, advice: &str) -> Self {
        let advice = Some(advice.to_owned());
        Self { name, level: Level::Error, message: message.into(), advice }
    }
}

pub(super) fn any_error(checks: &[Check]) -> bool {
    checks.iter().any(|check| check.level == Level::Error)
}

/// One line a check.
pub(super) fn text(checks: &[Check], screen: Screen) -> String {
    let longest = checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    checks.iter().map(|check| line(check, longest, screen)).collect()
}

fn line(check: &Check, longest: usize, screen: Screen) -> String {
    let (level, colour) = match check.level {
        Level::Ok => ("ok   ", "32"),
        Level::Fixed => ("fixed", "36"),
        Level::Warn => ("warn ", "33"),
        Level::Error => ("error", "31"),
    };
    let Check { name, message, .. } = check;
    let advice = check.advice.iter().map(|advice| format!(": {advice}")).collect::<String>();
    let level = screen.painted(level, colour);
    format!("{level}  {name:longest$}  {message}{advice}\n")
}

pub(super) fn json(checks: &[Check]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Report<'a> {
        ok: bool,
        checks: &'a [Check],
    }
    let report = Report { ok: !any_error(checks), checks };
    Ok(format!("{}\n", serde_json::to_string_pretty(&report)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Vec<Check> {
        vec![Check::ok("tmux", "3.3a"), Check::error("hooks", "none", "run `cld setup`")]
    }

    #[test]
    fn each_check_is_one_line_with_what_to_do() {
        assert_eq!(
            text(&checks(), Screen { width: None, has_colours: false }),
            "ok     tmux   3.3a\nerror  hooks  none: run `cld setup`\n"
        );
        assert!(
            text(&checks(), Screen { width: None, has_colours: true })
                .starts_with("\u{1b}[32mok   \u{1b}[0m  tmux ")
        );
    }

    #[test]
    fn a_script_gets_the_same() {
        let json: serde_json::Value = serde_json::from_str(&json(&checks()).unwrap()).unwrap();
        assert_eq!(json["ok"], false);
        assert_eq!(json["checks"][0]["level"], "ok");
        assert_eq!(json["checks"][1]["advice"], "run `cld setup`");
        assert!(json["checks"][0].get("advice").is_none());
    }
}
