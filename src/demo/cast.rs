//! Who appears in the demo: the sessions, and what each of them does.

use serde_json::{Value, json};

use crate::clock;
use crate::session::Moment;

/// A simulated session.
#[derive(Debug)]
pub(super) struct Role {
    /// The name of its window and of its directory below the home.
    pub(super) name: &'static str,
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) prompt: &'static str,
    pub(super) reply: &'static str,
    pub(super) steps: &'static [Step],
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Uses a tool for so many seconds.
    Work { tool: &'static str, input: &'static str, seconds: u64 },
    /// Wants to use a tool, must be allowed to, and then uses it.
    Ask { tool: &'static str, input: &'static str },
    /// Has a question with answers to choose from.
    Question { question: &'static str, answers: &'static [&'static str] },
}

/// The sessions that are open when the demo begins.
pub(super) const OPEN: [Role; 3] = [
    Role {
        name: "api",
        id: "23e30f82-1111-4111-8111-111111111111",
        title: "fix the flaky login test",
        prompt: "The login test fails one time in ten. Find out why.",
        reply: "The test did not wait for the token. It does now: 200 of 200 runs passed.",
        steps: &[
            Step::Work { tool: "Bash", input: "cargo test login -- --nocapture", seconds: 4 },
            Step::Work { tool: "Read", input: "src/login.rs", seconds: 3 },
            Step::Work { tool: "Edit", input: "src/login.rs", seconds: 3 },
            Step::Work {
                tool: "Bash",
                input: "for i in $(seq 200); do cargo test login; done",
                seconds: 20,
            },
            Step::Question {
                question: "Shall the token live longer, too?",
                answers: &["No, only the test was wrong", "Yes, an hour", "Yes, a day"],
            },
            Step::Work { tool: "Edit", input: "CHANGELOG.md", seconds: 3 },
        ],
    },
    Role {
        name: "web",
        id: "9f00aa11-2222-4222-8222-222222222222",
        title: "new landing page",
        prompt: "Build the new landing page.",
        reply: "The page is built. It is 14 kB smaller than the old one.",
        steps: &[
            Step::Work { tool: "Edit", input: "index.html", seconds: 2 },
            Step::Ask { tool: "Bash", input: "rm -rf build && npm run build" },
            Step::Work { tool: "Read", input: "build/index.html", seconds: 6 },
        ],
    },
    Role {
        name: "docs",
        id: "77cc00dd-3333-4333-8333-333333333333",
        title: "rewrite the install page",
        prompt: "Rewrite the install page, it is too long.",
        reply: "Done: one command instead of nine. Have a look at docs/install.md.",
        steps: &[
            Step::Work { tool: "Read", input: "docs/install.md", seconds: 1 },
            Step::Work { tool: "Edit", input: "docs/install.md", seconds: 2 },
        ],
    },
];

/// One that has ended a while ago, in a directory of its own.
pub(super) const ENDED: Role = Role {
    name: "parser",
    id: "dddd0000-4444-4444-8444-444444444444",
    title: "the parser and its error messages",
    prompt: "Make the error messages of the parser say what was expected.",
    reply: "They do now, and they point at the column.",
    steps: &[],
};

pub(super) fn by_id(id: &str) -> Option<&'static Role> {
    OPEN.iter().chain([&ENDED]).find(|role| role.id == id)
}

impl Role {
    /// An event as Claude Code would tell it to its hooks.
    pub(super) fn event(&self, home: &str, name: &str, fields: &Value) -> String {
        let directory = format!("{home}/{}", self.name);
        let mut event = json!({
            "session_id": self.id,
            "transcript_path": transcript(home, self),
            "cwd": directory,
            "hook_event_name": name,
            "session_title": self.title,
        });
        if let (Some(event), Some(fields)) = (event.as_object_mut(), fields.as_object()) {
            event.extend(fields.clone());
        }
        event.to_string()
    }

    /// The lines of its transcript, said at that moment.
    pub(super) fn transcript(&self, home: &str, said: Moment) -> String {
        let record = |kind: &str, text: &str| {
            json!({
                "type": kind,
                "message": {"role": kind, "content": [{"type": "text", "text": text}]},
                "cwd": format!("{home}/{}", self.name),
                "sessionId": self.id,
                "entrypoint": "cli",
                "isSidechain": false,
                "timestamp": clock::utc(said),
            })
        };
        let title =
            json!({"type": "custom-title", "customTitle": self.title, "sessionId": self.id});
        let lines = [record("user", self.prompt), record("assistant", self.reply), title];
        lines.map(|line| format!("{line}\n")).concat()
    }
}

/// Where Claude Code would keep the transcript of a session.
pub(super) fn transcript(home: &str, role: &Role) -> String {
    let directory = format!("{home}/{}", role.name);
    let slug = crate::slug::encode(std::path::Path::new(&directory)).unwrap_or_default();
    format!("{home}/.claude/projects/{slug}/{}.jsonl", role.id)
}
