//! A tree of two thousand sessions in which everything happens that makes directories and titles
//! hard to tell, planted from a fixed seed, and what cld says about it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cld::resume::directory::Home;
use cld::resume::evidence::Witnesses;
use cld::roster::past;
use cld::transcript::{self, Reader, Session};
use serde_json::{Value, json};

use crate::stage::{Stage, check_exit, prompt, reply};
use crate::world::World;

const SESSIONS: usize = 2_000;
/// Files that look like sessions and are none.
const OTHERS: usize = 150;

/// What is true of a planted session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Truth {
    directory: PathBuf,
    title: String,
}

struct Tree {
    world: World,
    truth: BTreeMap<String, Truth>,
    /// Ids of files that are no sessions.
    others: Vec<String>,
}

impl Tree {
    fn plant() -> Self {
        let world = World::bare().staged();
        let mut planter = Planter { dice: Dice(0x23e3_0f82), dirs: dirs(&world), world: &world };
        let mut truth = BTreeMap::new();
        for _ in 0..SESSIONS {
            let (id, true_of_it) = planter.session();
            assert!(truth.insert(id, true_of_it).is_none(), "ids are unique");
        }
        let others = (0..OTHERS).map(|_| planter.other()).collect();
        drop(planter);
        Self { world, truth, others }
    }

    fn config_dir(&self) -> PathBuf {
        self.world.home().join(".claude")
    }
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Directories whose folders collide, whose names are no plain ones, and whose slugs are cut.
fn dirs(world: &World) -> Vec<PathBuf> {
    let long = "a rather long name of a directory ".repeat(3);
    let mut names: Vec<String> = [
        "foo_bar",
        "foo-bar",
        "foo.bar",
        "foo/bar",
        "foo bar",
        "foo_bar_baz",
        "foo-bar/baz",
        "foo/bar-baz",
        "café",
        "cafe\u{301}",
        "日本",
        "中国",
        "emoji 😀",
        "--",
        "-dash",
        ".hidden/.deeper",
        "it's",
        "new\nline",
        "#(x)",
        "$HOME",
        "tail ",
        "UPPER",
        "upper",
        "a/b/c/d/e",
        "a-b/c-d/e",
        "node_modules/x",
        "x.git",
    ]
    .map(str::to_owned)
    .into();
    names.extend((0..40).map(|number| format!("work/team-{}/project_{number}", number % 5)));
    names.extend(["1", "2", "é😀"].map(|end| format!("{long}/{long}/{end}")));
    names.iter().map(|name| world.dir(name)).collect()
}

struct Planter<'a> {
    dice: Dice,
    dirs: Vec<PathBuf>,
    world: &'a World,
}

/// What happened in a session, as far as its directory is concerned.
#[derive(Clone, Copy)]
enum Story {
    Stayed,
    /// `cd` into a directory below, and never back.
    WentBelow,
    /// `/cd`, and on with the conversation.
    Moved,
    /// `/cd`, and then the end.
    MovedAtTheEnd,
    ResumedElsewhere,
    /// Side conversations of an old version stand in the file itself.
    HadSideTalks,
}

const STORIES: [Story; 6] = [
    Story::Stayed,
    Story::WentBelow,
    Story::Moved,
    Story::MovedAtTheEnd,
    Story::ResumedElsewhere,
    Story::HadSideTalks,
];

impl Planter<'_> {
    fn session(&mut self) -> (String, Truth) {
        let home = self.dice.pick(&self.dirs).clone();
        let other = self.dice.pick(&self.dirs).clone();
        let id = self.id();
        let story = match self.dice.pick(&STORIES) {
            // From a directory that shares the folder, this is what a move would look like.
            Story::ResumedElsewhere if self.folder(&home) == self.folder(&other) => Story::Stayed,
            story => *story,
        };
        let words = format!("please do number {} 日本", self.dice.below(100_000));
        let mut lines = vec![json!({"type": "mode", "mode": "default", "sessionId": id})];
        lines.extend(told(story, &home, &other, &words, &id));
        let (titles, title) = self.titles(&words, &id);
        let place = self.dice.below(lines.len() + 1).max(1);
        lines.splice(place..place, titles);
        if self.dice.one_in(40) {
            // The beginning and the end are read; this is in between.
            let filler = json!({"type": "api-request-shape", "text": "x".repeat(90_000)});
            let middle = lines.len() / 2;
            lines.splice(middle.max(2)..middle.max(2), [filler.clone(), filler]);
        }
        self.write(&home, &id, &lines);
        (id, Truth { directory: home, title })
    }

    /// Records of titles, and the title that counts: the last of the user's, else the last of
    /// Claude's, else the first prompt.
    fn titles(&mut self, words: &str, id: &str) -> (Vec<Value>, String) {
        let number = self.dice.below(100_000);
        let custom =
            |text: &str| json!({"type": "custom-title", "customTitle": text, "sessionId": id});
        let ai = |text: &str| json!({"type": "ai-title", "aiTitle": text, "sessionId": id});
        let (mine, claudes) = (format!("Mine {number} é"), format!("Claude's {number} 😀"));
        match self.dice.below(6) {
            0 => (vec![], words.to_owned()),
            1 => (vec![ai("an older one"), ai(&claudes)], claudes),
            2 => (vec![custom(&mine), ai(&claudes)], mine),
            3 => (vec![custom("an older one"), ai(&claudes), custom(&mine)], mine),
            4 => (vec![custom("taken back"), ai(&claudes), custom("")], claudes),
            _ => (
                vec![
                    ai(&claudes),
                    custom(&mine),
                    json!({"type": "last-prompt", "lastPrompt": "stale"}),
                ],
                mine,
            ),
        }
    }

    /// A file beside the sessions that is none; its id.
    fn other(&mut self) -> String {
        let home = self.dice.pick(&self.dirs).clone();
        let id = self.id();
        let mut side = prompt(&home, "of a subagent");
        side["isSidechain"] = json!(true);
        let mut member = prompt(&home, "of a team");
        member["teamName"] = json!("team");
        member["agentName"] = json!("dev");
        let snapshot = |content: &str| json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": content});
        let large = "a file that was changed ".repeat(10_000);
        match self.dice.below(5) {
            0 => self.write(&home, &id, &[side.clone(), side]),
            1 => self.write(&home, &id, &[snapshot(""), snapshot("")]),
            2 => self.write(&home, &id, &[snapshot(&large), snapshot(&large)]),
            3 => self.write(&home, &id, &[member]),
            _ => self.write(&home, &id, &[]),
        };
        let folder = self.folder(&home);
        for name in [
            format!("{id}/subagents/agent-{}.jsonl", &id[..8]),
            format!("{id}/{id}.jsonl"),
            format!("agent-{}.jsonl", &id[..8]),
            format!("memory/{id}.jsonl"),
            format!("{}.jsonl", id.to_uppercase()),
            format!("{id}.jsonl.bak"),
            ".session-aliases".to_owned(),
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{}\n", prompt(&home, "not a session"))).unwrap();
        }
        id
    }

    /// Sometimes the last line is torn, or the file holds what is no record at all.
    fn write(&mut self, home: &Path, id: &str, lines: &[Value]) {
        let mut content: Vec<u8> = Vec::new();
        for line in lines {
            writeln!(content, "{line}").unwrap();
            if self.dice.one_in(30) {
                content.extend(b"\xff\xfe not a record\n\n");
            }
        }
        if !lines.is_empty() && self.dice.one_in(5) {
            let torn = prompt(Path::new("/somewhere/else"), "torn").to_string();
            content.extend(&torn.as_bytes()[..torn.len() - 1 - self.dice.below(40)]);
        }
        let folder = self.folder(home);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{id}.jsonl")), content).unwrap();
    }

    fn folder(&self, home: &Path) -> PathBuf {
        let slug = cld::slug::encode(home).unwrap();
        self.world.home().join(".claude/projects").join(slug)
    }

    fn id(&mut self) -> String {
        let (one, two) = (self.dice.next(), self.dice.next());
        let (a, b, c) = (one >> 32, (one >> 16) & 0xffff, one & 0xfff);
        format!("{a:08x}-{b:04x}-4{c:03x}-8{:03x}-{:012x}", two >> 52, two & 0xffff_ffff_ffff)
    }
}

fn told(story: Story, home: &Path, other: &Path, words: &str, id: &str) -> Vec<Value> {
    let moved =
        json!({"type": "relocated", "relocatedCwd": home.to_str().unwrap(), "sessionId": id});
    let below = home.join("src/deep");
    match story {
        Story::Stayed => vec![prompt(home, words), reply(home, "ok")],
        Story::WentBelow => vec![
            prompt(home, words),
            reply(home, "ok"),
            prompt(&below, "there"),
            reply(&below, "ok"),
        ],
        Story::Moved => vec![
            prompt(other, words),
            reply(other, "ok"),
            moved,
            prompt(home, "here"),
            reply(home, "ok"),
        ],
        Story::MovedAtTheEnd => vec![prompt(other, words), reply(other, "ok"), moved],
        Story::ResumedElsewhere => {
            vec![prompt(home, words), reply(home, "ok"), prompt(other, "there"), reply(other, "ok")]
        }
        Story::HadSideTalks => {
            let mut side = prompt(Path::new("/side"), "side talk");
            side["isSidechain"] = json!(true);
            vec![side.clone(), prompt(home, words), side.clone(), reply(home, "ok"), side]
        }
    }
}

/// Where `cld resume` would go, without starting it.
fn home_of(session: &Session) -> Option<PathBuf> {
    let origin = Reader::new().origin(&session.path, &session.bucket, past::slug_of).unwrap();
    let witnesses = Witnesses {
        session,
        origin: &origin,
        registry: None,
        pane: None,
        hints: Vec::new(),
        project_lists: Vec::new(),
    };
    match witnesses.belongs(None).home {
        Home::Known { dir, .. } => Some(dir),
        Home::Several { .. } | Home::Unknown => None,
    }
}

#[test]
fn of_two_thousand_sessions_none_is_missing_extra_or_wrong() {
    let tree = Tree::plant();

    let files = transcript::all(&[tree.config_dir()]);
    let mut reader = Reader::new();
    let mut found = BTreeMap::new();
    for file in &files {
        let Some(listed) = past::read_one(file, &mut reader) else { continue };
        let directory = home_of(file).expect("a directory is known");
        assert_eq!(listed.directory.as_ref(), Some(&directory));
        let title = listed.title.unwrap_or_default();
        assert!(found.insert(file.id.clone(), Truth { directory, title }).is_none());
    }
    assert_eq!(found.len(), tree.truth.len());
    for (id, truth) in &tree.truth {
        assert_eq!(found.get(id), Some(truth), "{id}");
    }

    listed_by_the_binary(&tree);
    resumed_by_the_binary(&tree);
}

fn listed_by_the_binary(tree: &Tree) {
    let output = tree.world.cld(&["ls", "--all", "--json"]).output().unwrap();
    let (json, _) = check_exit(&output, 0);
    let document: Value = serde_json::from_str(&json).unwrap();
    let sessions = document["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), tree.truth.len());
    for session in sessions {
        let truth = &tree.truth[session["session_id"].as_str().unwrap()];
        assert_eq!(session["directory"].as_str(), truth.directory.to_str());
        assert_eq!(session["title"].as_str(), Some(&*truth.title));
    }
}

fn resumed_by_the_binary(tree: &Tree) {
    for (id, truth) in tree.truth.iter().step_by(tree.truth.len() / 150) {
        let output = tree.world.resume(Path::new("/"), &["--print", "-y", &id[..12]]);
        let (printed, _) = check_exit(&output, 0);
        let dir = cld::shell::quoted(truth.directory.as_os_str());
        assert_eq!(printed, format!("cd -- {dir} && claude --resume {id}\n"));
    }
    for id in tree.others.iter().step_by(10) {
        check_exit(&tree.world.resume(Path::new("/"), &["--print", "-y", id]), 1);
    }
}
