//! What runs in the panes of the demo: the guide, and simulated Claude Codes. What they print is
//! made up; the hooks they run are those that Claude Code would run.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use crate::paths;
use crate::program::Program;

use super::cast::{self, Role, Step};

const HOOK_LIMIT: Duration = Duration::from_secs(10);

const GUIDE: &str = include_str!("guide.txt");

pub(super) fn run(role: &str, arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match (role, arguments.as_slice()) {
        ("guide", []) => {
            say(GUIDE)?;
            shell("start")
        }
        ("pane", [id]) => {
            Actor::new(id)?.perform("startup")?;
            shell(id)
        }
        ("claude", ["--resume", id, ..]) => Actor::new(id)?.perform("resume"),
        ("claude", _) => bail!("this is no Claude Code, only what the demo has instead of it"),
        _ => bail!("the demo has no role {role}"),
    }
}

/// Becomes the shell of a pane. The demo is over with the one of the first window.
#[expect(clippy::disallowed_methods, reason = "a pane of the demo ends as a shell")]
fn shell(pane: &str) -> Result<()> {
    let then = if pane == "start" { "; tmux kill-server" } else { "" };
    let script = format!(
        "if command -v bash >/dev/null; then bash --noprofile --rcfile \"$HOME/.bashrc\" -i; \
         else sh -i; fi{then}"
    );
    Err(anyhow!(Command::new("sh").args(["-c", &script]).exec()))
}

/// One simulated Claude Code.
struct Actor {
    role: &'static Role,
    home: String,
}

impl Actor {
    fn new(id: &str) -> Result<Self> {
        let role = cast::by_id(id).with_context(|| format!("the demo has no session {id}"))?;
        let home = paths::home().and_then(|home| home.into_os_string().into_string().ok());
        Ok(Self { role, home: home.context("HOME is not set")? })
    }

    fn perform(&self, source: &str) -> Result<()> {
        let title = self.role.title;
        say(&format!("\x1b[2J\x1b[H ✻ A simulated Claude Code · {title}\n\n"))?;
        self.tell("SessionStart", &json!({"source": source}))?;
        if source == "startup" {
            say(&format!("> {}\n\n", self.role.prompt))?;
            self.tell("UserPromptSubmit", &json!({"prompt": self.role.prompt}))?;
            for step in self.role.steps {
                self.take(*step)?;
            }
            self.finish(self.role.reply)?;
        } else {
            say(&format!("> {}\n\n● {}\n\n", self.role.prompt, self.role.reply))?;
        }
        self.converse()
    }

    fn take(&self, step: Step) -> Result<()> {
        match step {
            Step::Work { tool, input, seconds } => {
                say(&format!("● {tool}({input})\n"))?;
                let call = call(tool, input);
                self.tell("PreToolUse", &call)?;
                std::thread::sleep(Duration::from_secs(seconds));
                self.tell("PostToolUse", &call)?;
                say("  └ done\n\n")
            }
            Step::Ask { tool, input } => {
                let call = call(tool, input);
                self.tell("PreToolUse", &call)?;
                self.tell("PermissionRequest", &call)?;
                say(&format!(
                    " {tool} command\n\n   {input}\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n\
                     \x1b[2m Press Enter to say yes \x1b[0m"
                ))?;
                line()?;
                // Claude Code tells of no approval; the end of the tool is the next thing it tells.
                say(&format!("\n● {tool}({input})\n"))?;
                std::thread::sleep(Duration::from_secs(1));
                self.tell("PostToolUse", &call)?;
                say("  └ done\n\n")
            }
            Step::Question { question, answers } => {
                let options: Vec<Value> =
                    answers.iter().map(|answer| json!({"label": answer})).collect();
                let input = json!({"questions": [{"question": question, "options": options}]});
                let asked = json!({"tool_name": "AskUserQuestion", "tool_input": input});
                self.tell("PreToolUse", &asked)?;
                self.tell("PermissionRequest", &asked)?;
                let rows = answers.iter().zip(1..).map(|(answer, n)| format!("   {n}. {answer}\n"));
                let rows: String = rows.collect();
                say(&format!(
                    " {question}\n\n{rows}\n\x1b[2m Press Enter to take the first \x1b[0m"
                ))?;
                line()?;
                self.tell("PostToolUse", &asked)?;
                say("\n")
            }
        }
    }

    fn finish(&self, reply: &str) -> Result<()> {
        say(&format!("● {reply}\n\n"))?;
        self.tell("Stop", &json!({"last_assistant_message": reply, "background_tasks": []}))
    }

    /// Takes prompts until it is left.
    fn converse(&self) -> Result<()> {
        loop {
            say("> ")?;
            match line()?.as_deref().map(str::trim) {
                None | Some("/exit" | "exit") => break,
                Some("") => {}
                Some(prompt) => {
                    self.tell("UserPromptSubmit", &json!({"prompt": prompt}))?;
                    say("\n● Thinking about it …\n")?;
                    std::thread::sleep(Duration::from_secs(2));
                    self.finish("This is a demo, so that was all. /exit leaves.")?;
                }
            }
        }
        self.tell("SessionEnd", &json!({"reason": "prompt_input_exit"}))
    }

    /// Runs the hook, as Claude Code does: the event on standard input.
    fn tell(&self, event: &str, fields: &Value) -> Result<()> {
        let mut hook = Program::new(std::env::current_exe()?, &["hook"]);
        hook.input = self.role.event(&self.home, event, fields).into_bytes();
        let set = |value: &str| Some(value.into());
        hook.environment = vec![
            ("CLAUDECODE", set("1")),
            ("CLAUDE_CODE_ENTRYPOINT", set("cli")),
            ("CLAUDE_CODE_SESSION_ATTENDED", set("1")),
            ("CLAUDE_PID", set(&std::process::id().to_string())),
        ];
        hook.run(HOOK_LIMIT)?;
        Ok(())
    }
}

fn call(tool: &str, input: &str) -> Value {
    let name = if tool == "Bash" { "command" } else { "file_path" };
    json!({"tool_name": tool, "tool_input": {name: input}})
}

fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// A line that was typed; nothing at the end of the input.
fn line() -> Result<Option<String>> {
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line)?;
    Ok((length > 0).then_some(line))
}
