//! What `cld show` tells, and how sessions are named.

use serde_json::json;

use crate::events::{SESSION, bash, prompt, start};
use crate::living::{Claude, Transcript, config_dir, now_millis, printed};
use crate::world::World;

const OTHER: &str = "23e3ffff-0000-4000-8000-000000000002";

fn plant(world: &World, id: &str, prompt: &str) {
    let directory = "/home/u/proj";
    let transcript = Transcript { id, directory, prompt, entrypoint: "cli", seconds_ago: 3600 };
    transcript.plant(&config_dir(world));
}

/// The exit code, and what was printed for the person.
fn show(world: &World, id: &str) -> (i32, String) {
    let output = world.cld(&["show", "--", id]).output().unwrap();
    let said = if output.status.success() { &output.stdout } else { &output.stderr };
    (output.status.code().unwrap(), String::from_utf8_lossy(said).into_owned())
}

#[track_caller]
fn shows(world: &World, id: &str, session: &str) {
    let (code, said) = show(world, id);
    assert_eq!(code, 0, "{id:?}: {said}");
    assert!(
        said.starts_with("session") && said.lines().next().unwrap().contains(session),
        "{id:?}: {said}"
    );
}

#[track_caller]
fn fails(world: &World, id: &str, expected: i32, hint: &str) {
    let (code, said) = show(world, id);
    assert!(
        code == expected && said.starts_with("cld: ") && said.contains(hint),
        "{id:?}: {code} {said}"
    );
}

#[test]
fn every_fact_is_told_with_its_source_and_age() {
    let world = World::new();
    let claude = Claude::start();
    plant(&world, SESSION, "fix the parser");
    claude.hook(&world, &start("startup"));
    claude.hook(&world, &bash("PermissionRequest", "rm -rf build"));
    let stamp = now_millis() + 1000;
    let registry =
        json!({"status": "busy", "name": "parser", "cwd": "/", "statusUpdatedAt": stamp});
    claude.register(&config_dir(&world), SESSION, &registry);
    let (code, said) = show(&world, SESSION);
    assert_eq!(code, 0, "{said}");
    let process = format!("process {} runs (system, 0s ago)", claude.pid());
    let lines: Vec<String> =
        said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "title parser (registry, 0s ago)",
        "fix the parser (transcript, the first prompt, 1h ago)",
        "state [▶] running (registry, 0s ago)",
        "hooks say stopped, PermissionRequest (hooks, 0s ago)",
        "registry says busy (registry, 0s ago)",
        "started as interactive, cli (registry, 0s ago)",
        &process,
        "directory /home/u/proj, gone (pane, where it was started)",
        "/ (registry, 0s ago)",
        "/home/u/proj, gone (transcript, the last that fits its folder, 1h ago)",
        "branch main (transcript, 1h ago)",
        "last prompt fix the parser (transcript, 1h ago)",
        "last reply It is done. (transcript, 1h ago)",
    ] {
        assert!(lines.iter().any(|line| almost(line) == almost(expected)), "{expected}\n{said}");
    }
}

/// A slow machine takes some seconds.
fn almost(line: &str) -> String {
    let seconds: Vec<String> = (0..20).map(|seconds| format!(", {seconds}s ago)")).collect();
    seconds.iter().fold(line.to_owned(), |line, age| line.replace(age.as_str(), ", now)"))
}

#[test]
fn a_session_is_found_by_id_pane_title_and_file() {
    let world = World::new();
    plant(&world, SESSION, "Fix the Parser");
    plant(&world, OTHER, "cafe");
    world.hook(&start("startup"));
    let file = config_dir(&world).join(format!("projects/-home-u-proj/{OTHER}.jsonl"));
    for (id, session) in [
        (SESSION, SESSION),
        ("23e30", SESSION),
        ("23E3FFFF", OTHER),
        ("23e3ffff00004000", OTHER),
        (world.pane.as_str(), SESSION),
        ("main:0.0", SESSION),
        ("fix the PARSER", SESSION),
        ("cafe", OTHER),
        (file.to_str().unwrap(), OTHER),
    ] {
        shows(&world, id, session);
    }
}

#[test]
fn a_past_session_is_as_old_as_its_last_words() {
    let world = World::bare();
    plant(&world, SESSION, "fix the parser");
    let file = config_dir(&world).join(format!("projects/-home-u-proj/{SESSION}.jsonl"));
    let file = std::fs::File::options().append(true).open(file).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    let (_, said) = show(&world, SESSION);
    let state = said.lines().find(|line| line.starts_with("state")).unwrap();
    assert!(state.ends_with("(transcript, 1h ago)"), "{said}");
}

#[test]
fn a_session_without_a_transcript_is_found_too() {
    let world = World::new();
    world.hook(&prompt("go"));
    shows(&world, "23e3", SESSION);
}

#[test]
fn a_prefix_of_several_ids_lists_them_and_does_nothing() {
    let world = World::bare();
    plant(&world, SESSION, "first title");
    plant(&world, OTHER, "second title");
    for part in [SESSION, OTHER, "first title", "second title", "/home/u/proj"] {
        fails(&world, "23e3", 2, part);
    }
    plant(&world, OTHER, "first title");
    fails(&world, "First Title", 2, OTHER);
}

#[test]
fn an_unknown_id_suggests_the_nearest() {
    let world = World::new();
    fails(&world, "23e30f83", 1, "cld ls --all");
    plant(&world, SESSION, "first title");
    plant(&world, OTHER, "second title");
    fails(&world, "23e30f83", 1, SESSION);
    fails(&world, "second titel", 1, OTHER);
    fails(&world, "%77", 1, "cld ls");
    fails(&world, world.pane.as_str(), 1, "no Claude Code session was ever seen");
}

#[test]
fn what_cannot_be_a_session_is_refused() {
    let world = World::bare();
    for id in ["", "23e", "../../etc/passwd", "23e3;ls", "%x", "a\u{1b}[31m", "$(touch x)"] {
        fails(&world, id, 2, "");
        let (_, said) = show(&world, id);
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn a_transcript_without_a_turn_is_called_that() {
    let world = World::bare();
    plant(&world, SESSION, "x");
    let file = config_dir(&world).join(format!("projects/-home-u-proj/{SESSION}.jsonl"));
    std::fs::write(file, "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\"}\n").unwrap();
    let said = printed(&world.cld(&["show", "23e3"]).output().unwrap());
    assert!(said.contains("nothing to resume: nobody has said anything"), "{said}");
}
