//! What a caller wants to be started, checked before anything is done. Pure but for one look at the
//! directory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::text::{one_line, shown};

use super::problem::Problem;

/// The system takes no longer argument.
const LONGEST_ARGUMENT: usize = 100 * 1024;
const LONGEST_NAME: usize = 200;
const MOST_ARGUMENTS: usize = 64;

/// These are the hub's own, would end the session at once, or switch off the hooks.
const FORBIDDEN: [&str; 24] = [
    "--settings",
    "--setting-sources",
    "--session-id",
    "--resume",
    "-r",
    "--continue",
    "-c",
    "--fork-session",
    "--print",
    "-p",
    "--bg",
    "--background",
    "--cloud",
    "--desktop",
    "--from-pr",
    "--teleport",
    "--tmux",
    "--bare",
    "--safe-mode",
    "--version",
    "-v",
    "--help",
    "-h",
    "--",
];

/// The body of `POST /sessions`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    session_id: Option<String>,
    cwd: Option<String>,
    prompt: Option<String>,
    name: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    resume: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) session_id: String,
    pub(super) directory: PathBuf,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) name: Option<String>,
    pub(super) resume: bool,
    pub(super) environment: BTreeMap<String, String>,
    arguments: Vec<String>,
    prompt: Option<String>,
}

impl Wanted {
    pub(super) fn check(body: Body) -> Result<Self, Problem> {
        let session_id = body.session_id.as_deref().and_then(uuid).ok_or_else(|| {
            Problem::unprocessable("invalid_session_id", "session_id has to be a UUID")
        })?;
        let (directory, device, inode) = directory(body.cwd.as_deref())?;
        check_arguments(&body.args)?;
        check_environment(&body.env)?;
        let name = body.name.map(|name| one_line(&name, LONGEST_NAME));
        if name.as_deref() == Some("") {
            return Err(Problem::unprocessable("invalid_name", "the name is empty"));
        }
        let prompt = body.prompt.filter(|prompt| !prompt.is_empty());
        if prompt.iter().any(|prompt| prompt.len() > LONGEST_ARGUMENT || prompt.contains('\0')) {
            let detail = "a first prompt has at most 100 KiB and no NUL; send more as a message";
            return Err(Problem::unprocessable("invalid_prompt", detail));
        }
        Ok(Self {
            session_id,
            directory,
            device,
            inode,
            name,
            resume: body.resume,
            environment: body.env,
            arguments: body.args,
            prompt,
        })
    }

    /// The arguments for Claude Code. A prompt stands behind `--`, where it cannot be an option.
    pub(super) fn arguments(&self, settings: &str) -> Vec<String> {
        let which = if self.resume { "--resume" } else { "--session-id" };
        let mut words = vec![which, &self.session_id, "--settings", settings];
        if let Some(name) = &self.name {
            words.extend(["--name", name]);
        }
        words.extend(self.arguments.iter().map(String::as_str));
        if let Some(prompt) = &self.prompt {
            words.extend(["--", prompt]);
        }
        words.into_iter().map(str::to_owned).collect()
    }
}

/// A UUID in its usual form, in lower case as Claude Code writes it.
pub(super) fn uuid(text: &str) -> Option<String> {
    let is_uuid = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    is_uuid.then(|| text.to_ascii_lowercase())
}

/// The real path, as Claude Code will see it, and which directory that is.
fn directory(cwd: Option<&str>) -> Result<(PathBuf, u64, u64), Problem> {
    let refused = |detail: String| Problem::unprocessable("invalid_cwd", detail);
    let given = cwd.ok_or_else(|| refused("cwd is needed".to_owned()))?;
    let path = PathBuf::from(given);
    if !path.is_absolute() || given.contains('\0') {
        return Err(refused("cwd has to be an absolute path".to_owned()));
    }
    let real = fs::canonicalize(&path).and_then(|real| Ok((fs::metadata(&real)?, real)));
    match real {
        Ok((found, real)) if found.is_dir() => Ok((real, found.dev(), found.ino())),
        Ok(_) => Err(refused(format!("{} is not a directory", shown(&path)))),
        Err(error) => Err(refused(format!("{} cannot be entered: {error}", shown(&path)))),
    }
}

fn check_arguments(arguments: &[String]) -> Result<(), Problem> {
    if arguments.len() > MOST_ARGUMENTS {
        let detail = format!("there are more than {MOST_ARGUMENTS} arguments");
        return Err(Problem::unprocessable("forbidden_arg", detail));
    }
    for argument in arguments {
        let option = argument.split('=').next().unwrap_or_default();
        // Short options may be written together: `-pc`.
        let together = option.starts_with('-') && !option.starts_with("--");
        let hidden = |short: char| together && option.contains(short);
        if FORBIDDEN.contains(&option) || ['r', 'c', 'p'].into_iter().any(hidden) {
            let shown = one_line(argument, 80);
            let detail = format!("{shown} is for the hub to give, or would end the session");
            return Err(Problem::unprocessable("forbidden_arg", detail));
        }
        if argument.len() > LONGEST_ARGUMENT || argument.contains('\0') {
            let detail = "an argument has at most 100 KiB and no NUL";
            return Err(Problem::unprocessable("forbidden_arg", detail));
        }
    }
    Ok(())
}

fn check_environment(environment: &BTreeMap<String, String>) -> Result<(), Problem> {
    for (name, value) in environment {
        let is_name = name.bytes().enumerate().all(|(at, byte)| match byte {
            b'0'..=b'9' => at > 0,
            _ => byte.is_ascii_alphabetic() || byte == b'_',
        });
        let is_own = name.starts_with("CLAUDE_HUB_") || name.starts_with("TMUX");
        if name.is_empty()
            || !is_name
            || is_own
            || value.contains('\0')
            || value.len() > LONGEST_ARGUMENT
        {
            let detail = format!("the variable {:?} cannot be set", one_line(name, 80));
            return Err(Problem::unprocessable("forbidden_env", detail));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const ID: &str = "23e30f82-0000-4000-8000-000000000001";

    fn check(body: Value) -> Result<Wanted, Problem> {
        Wanted::check(serde_json::from_value(body).unwrap())
    }

    #[track_caller]
    fn refused(fields: &Value, code: &str) {
        let mut body = json!({ "session_id": ID, "cwd": "/" });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        assert_eq!(check(body).unwrap_err().code, code, "{fields}");
    }

    #[test]
    fn what_is_wanted_becomes_arguments() {
        let wanted = check(json!({
            "session_id": ID.to_uppercase(), "cwd": "/", "name": "a\nb", "args": ["--model", "opus"],
            "prompt": "-p is no option here",
        }));
        let arguments = wanted.unwrap().arguments("/s.json");
        assert_eq!(
            arguments,
            [
                "--session-id",
                ID,
                "--settings",
                "/s.json",
                "--name",
                "a b",
                "--model",
                "opus",
                "--",
                "-p is no option here"
            ]
        );
        let resumed = check(json!({ "session_id": ID, "cwd": "/", "resume": true })).unwrap();
        assert_eq!(resumed.arguments("/s")[..2], ["--resume", ID]);
    }

    #[test]
    fn ids_are_uuids() {
        for id in [
            json!(null),
            json!(""),
            json!("23e30f82"),
            json!("../../x"),
            json!(format!("{ID}0")),
            json!("23e30f82-0000-4000-8000-00000000000g"),
            json!("23e30f820-000-4000-8000-000000000001"),
        ] {
            refused(&json!({ "session_id": id }), "invalid_session_id");
        }
    }

    #[test]
    fn directories_exist_and_are_absolute() {
        for cwd in [
            json!(null),
            json!(""),
            json!("x"),
            json!("/nonexistent/x"),
            json!("/etc/passwd"),
            json!("/\u{0}"),
        ] {
            refused(&json!({ "cwd": cwd }), "invalid_cwd");
        }
    }

    #[test]
    fn what_is_the_hubs_cannot_be_given() {
        for argument in FORBIDDEN.iter().copied().chain([
            "--settings={}",
            "--resume=x",
            "--session-id=x",
            "-pc",
            "-dp",
            "a\u{0}b",
        ]) {
            refused(&json!({ "args": [argument] }), "forbidden_arg");
        }
        for name in ["", "A=B", "1A", "A B", "TMUX", "TMUX_PANE", "CLAUDE_HUB_COLLECTOR_URL", "é"]
        {
            refused(&json!({ "env": { name: "x" } }), "forbidden_env");
        }
        refused(&json!({ "prompt": "x".repeat(LONGEST_ARGUMENT + 1) }), "invalid_prompt");
        refused(&json!({ "name": "\n" }), "invalid_name");
    }
}
