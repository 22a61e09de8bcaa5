//! What `cld search` finds and how it shows it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::living::{Claude, config_dir};
use crate::stage::{Stage, check_exit, id, plant, prompt, reply, said};
use crate::world::{World, poll_until, wait_for};

/// cld must stay below this, in kB.
const MOST_MEMORY: u64 = 40_000;

fn search(world: &World, arguments: &[&str]) -> Output {
    world.cld(&["search"]).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// What is printed where something is found.
#[track_caller]
fn found(world: &World, arguments: &[&str]) -> String {
    let (out, err) = check_exit(&search(world, arguments), 0);
    assert_eq!(err, "", "{out}");
    out
}

/// The short ids of the sessions that are found, in order.
#[track_caller]
fn ids(world: &World, arguments: &[&str]) -> Vec<u32> {
    let output =
        world.cld(&["search", "-l"]).args(arguments).stdin(Stdio::null()).output().unwrap();
    let code = if output.stdout.is_empty() { 1 } else { 0 };
    let (out, _) = check_exit(&output, code);
    let number = |line: &str| u32::from_str_radix(&line[..8], 16).unwrap();
    out.lines().map(number).collect()
}

#[track_caller]
fn hits(world: &World, arguments: &[&str]) -> Vec<Value> {
    let output = world.cld(&["search", "--json"]).args(arguments).output().unwrap();
    let (out, _) = check_exit(&output, i32::from(output.stdout.is_empty()));
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A session that was last written to so many minutes ago.
fn session(world: &World, number: u32, minutes: u64, dir: &Path, lines: &[Value]) -> PathBuf {
    let path = plant(&config_dir(world), dir, &id(number), lines);
    let modified = SystemTime::now() - Duration::from_secs(60 * minutes);
    fs::File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    path
}

fn record(kind: &str, cwd: &Path, content: &Value) -> Value {
    let mut record = said(kind, cwd, "");
    record["message"]["content"] = content.clone();
    record
}

#[test]
fn a_session_is_shown_with_who_said_it_and_the_match_marked() {
    let world = World::bare();
    let dir = world.dir("api");
    let call =
        json!([{"type": "tool_use", "name": "Bash", "input": {"command": "curl localhost:5432"}}]);
    let result =
        json!([{"type": "tool_result", "content": "one\ncurl: (7) Connection refused\nthree"}]);
    let lines = [
        prompt(&dir, "why is the connection refused?"),
        reply(&dir, "I will look. A connection is refused when nobody listens."),
        record("assistant", &dir, &call),
        record("user", &dir, &result),
        json!({"type": "custom-title", "customTitle": "connection trouble"}),
    ];
    session(&world, 0x23e3_0f82, 5, &dir, &lines);
    let text = found(&world, &["connection", "refused", "--hits", "9"]);
    let (header, hits) = text.split_once('\n').unwrap();
    assert!(
        header.starts_with("23e30f82  ") && header.ends_with("  ~/api  connection trouble"),
        "{header}"
    );
    assert_eq!(
        hits,
        "  you          why is the «connection» «refused»?\n  \
           Claude       I will look. A «connection» is «refused» when nobody listens.\n  \
           tool result  curl: (7) «Connection» «refused»\n  \
           title        «connection» trouble\n"
    );
    let text = found(&world, &["localhost:5432"]);
    assert!(text.ends_with("\n  tool input   Bash: curl «localhost:5432»\n"), "{text}");
}

#[test]
fn all_words_must_occur_in_the_session_but_not_in_one_place() {
    let world = World::bare();
    let dir = world.dir("p");
    session(&world, 1, 1, &dir, &[prompt(&dir, "alpha"), reply(&dir, "beta")]);
    session(&world, 2, 2, &dir, &[prompt(&dir, "alpha"), reply(&dir, "gamma")]);
    session(&world, 3, 3, &dir, &[prompt(&dir, "beta alpha")]);
    assert_eq!(ids(&world, &["alpha", "beta"]), [1, 3]);
    assert_eq!(ids(&world, &["alpha"]), [1, 2, 3]);
    assert_eq!(ids(&world, &["beta alpha"]), [3], "quotes make a phrase");
    assert_eq!(ids(&world, &["alpha", "nowhere"]), [] as [u32; 0]);
    assert_eq!(ids(&world, &["alpha", "beta", "--in", "user"]), [3], "the words of one");
}

#[test]
fn case_is_smart_unless_said_otherwise() {
    let world = World::bare();
    let dir = world.dir("p");
    session(&world, 1, 1, &dir, &[prompt(&dir, "TODO: École")]);
    session(&world, 2, 2, &dir, &[prompt(&dir, "todo: école")]);
    assert_eq!(ids(&world, &["todo"]), [1, 2]);
    assert_eq!(ids(&world, &["TODO"]), [1]);
    assert_eq!(ids(&world, &["-i", "TODO"]), [1, 2]);
    assert_eq!(ids(&world, &["-s", "todo"]), [2]);
    assert_eq!(ids(&world, &["école"]), [1, 2]);
    assert_eq!(ids(&world, &["École"]), [1]);
    assert_eq!(ids(&world, &["--regex", "^tod+o: é"]), [1, 2]);
    assert_eq!(ids(&world, &["--regex", "^Tod+o"]), [] as [u32; 0]);
}

#[test]
fn sessions_can_be_narrowed_down() {
    let world = World::bare();
    let (api, web) = (world.dir("work/api"), world.dir("work/web_app"));
    let on = |mut record: Value, branch: &str, time: &str| {
        record["gitBranch"] = json!(branch);
        record["timestamp"] = json!(time);
        record
    };
    let old = "2026-01-01T00:00:00.000Z";
    let soon = "2099-01-01T00:00:00.000Z";
    session(&world, 1, 0, &api, &[on(prompt(&api, "needle"), "main", soon)]);
    session(&world, 2, 1, &web, &[on(prompt(&web, "needle"), "fix", soon)]);
    session(
        &world,
        3,
        2,
        &web,
        &[on(prompt(&web, "needle"), "fix", old), on(reply(&web, "x"), "main", soon)],
    );
    session(&world, 4, 60 * 24 * 300, &api, &[on(prompt(&api, "needle"), "main", old)]);
    let mut scripted = prompt(&api, "needle");
    scripted["entrypoint"] = json!("sdk-cli");
    session(&world, 5, 3, &api, &[scripted]);
    assert_eq!(ids(&world, &["needle"]), [1, 2, 3, 4]);
    assert_eq!(ids(&world, &["needle", "--sdk"]), [1, 2, 3, 5, 4]);
    assert_eq!(ids(&world, &["needle", "--project", "api"]), [1, 4]);
    assert_eq!(ids(&world, &["needle", "--project", web.to_str().unwrap()]), [2, 3]);
    assert_eq!(
        ids(&world, &["needle", "--project", "work"]),
        [] as [u32; 0],
        "not the parent's name"
    );
    assert_eq!(ids(&world, &["needle", "--branch", "fix"]), [2, 3]);
    assert_eq!(ids(&world, &["needle", "--since", "3d"]), [1, 2]);
    assert_eq!(ids(&world, &["needle", "--since", "2025-12-31"]), [1, 2, 3, 4]);
    assert_eq!(ids(&world, &["needle", "--since", "2026-02-01T00:00:00Z"]), [1, 2]);
    assert_eq!(ids(&world, &["needle", "--limit", "2"]), [1, 2]);
    let here = world.cld(&["search", "-l", "--here", "needle"]).current_dir(&web).output().unwrap();
    assert_eq!(check_exit(&here, 0).0.lines().count(), 2);
}

#[test]
fn words_of_one_side_only() {
    let world = World::bare();
    let dir = world.dir("p");
    let call = json!([{"type": "tool_use", "name": "Read", "input": {"file_path": "needle.rs"}}]);
    let result =
        json!([{"type": "tool_result", "content": [{"type": "text", "text": "needle out"}]}]);
    session(&world, 1, 1, &dir, &[prompt(&dir, "needle")]);
    session(&world, 2, 2, &dir, &[prompt(&dir, "x"), reply(&dir, "needle")]);
    session(&world, 3, 3, &dir, &[prompt(&dir, "x"), record("assistant", &dir, &call)]);
    session(&world, 4, 4, &dir, &[prompt(&dir, "x"), record("user", &dir, &result)]);
    session(
        &world,
        5,
        5,
        &dir,
        &[prompt(&dir, "x"), json!({"type": "ai-title", "aiTitle": "needle"})],
    );
    for (whom, expected) in [
        ("user", &[1][..]),
        ("assistant", &[2]),
        ("tool", &[3, 4]),
        ("title", &[5]),
        ("user,tool", &[1, 3, 4]),
    ] {
        assert_eq!(ids(&world, &["needle", "--in", whom]), expected, "{whom}");
    }
    assert_eq!(ids(&world, &["needle", "--by", "score"]), [1, 5, 2, 3, 4]);
    assert_eq!(ids(&world, &["needle", "--by", "score", "--limit", "3"]), [1, 5, 2]);
}

#[test]
fn every_hit_is_a_line_of_json() {
    let world = World::bare();
    let dir = world.dir("p");
    let mut first = prompt(&dir, "an é needle \u{1b}[31m and a Needle\nnext line");
    first["uuid"] = json!("23e30f82-0000-4000-8000-00000000000a");
    let path = session(&world, 1, 1, &dir, &[reply(&dir, "x"), first]);
    let offset = fs::read_to_string(&path).unwrap().find('\n').unwrap() + 1;
    let expected = json!({
        "version": 1, "session_id": id(1), "title": "an é needle [31m and a Needle next line",
        "directory": dir, "branch": "main", "transcript": path, "alive": false, "state": "ended",
        "last_active": 1_794_960_000, "who": "user", "tool": null, "said_at": 1_794_960_000,
        "uuid": "23e30f82-0000-4000-8000-00000000000a", "offset": offset,
        "text": "an é needle and a Needle", "marks": [[5, 11], [18, 24]],
    });
    assert_eq!(hits(&world, &["needle"]), [expected]);
    let three: Vec<Value> = (0..3).map(|n| prompt(&dir, &format!("pin {n}"))).collect();
    session(&world, 2, 2, &dir, &three);
    assert_eq!(hits(&world, &["pin", "--hits", "2"]).len(), 2);
    assert_eq!(hits(&world, &["pin"]).len(), 3);
}

#[test]
fn a_session_that_is_alive_has_its_icon() {
    let world = World::new();
    let (alive, ended) = (Claude::start(), world.dir("p"));
    session(&world, 1, 1, &ended, &[prompt(&ended, "needle")]);
    session(&world, 2, 2, &ended, &[prompt(&ended, "needle")]);
    alive.register(
        &config_dir(&world),
        &id(2),
        &json!({"status": "busy", "name": "its name", "cwd": ended}),
    );
    let text = found(&world, &["needle"]);
    let headers: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(headers[0].starts_with("00000001  ") && !headers[0].contains("[▶]"), "{text}");
    assert!(headers[1].starts_with("00000002  [▶] ") && headers[1].ends_with("its name"), "{text}");
    let found = hits(&world, &["needle"]);
    assert_eq!((&found[1]["alive"], &found[1]["state"]), (&json!(true), &json!("running")));
}

#[test]
fn a_fork_shows_only_what_its_original_does_not_have() {
    let world = World::bare();
    let dir = world.dir("p");
    let with_uuid = |mut record: Value, number: u32| {
        record["uuid"] = json!(format!("0000000{number}-1111-4111-8111-111111111111"));
        record
    };
    let shared: Vec<Value> =
        (1..6).map(|n| with_uuid(prompt(&dir, &format!("needle {n}")), n)).collect();
    let with = |more: &[Value]| [&shared[..], more].concat();
    session(&world, 1, 1, &dir, &with(&[]));
    session(&world, 2, 2, &dir, &with(&[with_uuid(prompt(&dir, "a needle of its own"), 7)]));
    session(&world, 3, 3, &dir, &shared[..2]);
    let shown = |arguments: &[&str]| -> Vec<String> {
        let found = hits(&world, arguments);
        found
            .iter()
            .map(|hit| {
                format!(
                    "{} {}",
                    &hit["session_id"].as_str().unwrap()[7..8],
                    hit["text"].as_str().unwrap()
                )
            })
            .collect()
    };
    assert_eq!(
        shown(&["needle"]),
        ["1 needle 1", "1 needle 2", "1 needle 3", "2 a needle of its own"]
    );
    assert_eq!(shown(&["needle", "--forks", "--hits", "9"]).len(), 5 + 6 + 2);
    assert_eq!(ids(&world, &["needle 2"]), [1]);
    assert_eq!(ids(&world, &["needle 2", "--forks"]), [1, 2, 3]);
}

#[test]
fn what_claude_code_stores_for_itself_is_never_shown() {
    let world = World::bare();
    let dir = world.dir("p");
    let attachment = |kind: &str| {
        let mut record = said("attachment", &dir, "needle");
        record["attachment"] = json!({"type": kind, "content": "needle", "prompt": "needle", "tools": [{"description": "needle"}]});
        record
    };
    let mut meta = prompt(&dir, "needle");
    meta["isMeta"] = json!(true);
    let lines = [
        prompt(&dir, "a question"),
        json!({"type": "api-request-shape", "shape": {"system": "needle", "tools": ["needle"]}}),
        json!({"type": "api-request-blob", "message": {"role": "user", "content": "needle"}}),
        json!({"type": "api-request", "params": {"messages": [{"role": "user", "content": "needle"}]}}),
        attachment("prompt_snapshot"),
        attachment("skill_listing"),
        prompt(&dir, "<system-reminder>needle</system-reminder>"),
        meta,
    ];
    session(&world, 1, 1, &dir, &lines);
    let (out, err) = check_exit(&search(&world, &["needle"]), 1);
    assert_eq!((out.as_str(), err.as_str()), ("", "nothing found in 1 session\n"));
}

#[test]
fn nothing_of_a_transcript_acts_on_the_terminal() {
    let world = World::bare();
    let dir = world.dir("p");
    let evil = "\u{1b}]0;x\u{7}\u{1b}[2J needle \u{202e}\u{9b}31m\r\n\u{200b}\u{e0041}";
    let title = json!({"type": "custom-title", "customTitle": evil});
    let tool = json!([{"type": "tool_use", "name": evil, "input": {"x": evil}}]);
    let mut odd = prompt(&dir, evil);
    odd["gitBranch"] = json!(evil);
    session(&world, 1, 1, &dir, &[odd, title, record("assistant", &dir, &tool)]);
    for arguments in [
        &["needle", "--hits", "9"][..],
        &["needle", "--json"],
        &["-l", "needle"],
        &["--regex", "\u{202e}"],
    ] {
        let (out, _) = check_exit(&search(&world, arguments), 0);
        assert!(!out.is_empty());
    }
}

#[test]
fn an_id_can_be_handed_to_resume() {
    let world = World::bare().staged();
    let dir = world.dir("api");
    session(&world, 1, 1, &dir, &[prompt(&dir, "the flaky login test")]);
    let out = found(&world, &["-l", "flaky login"]);
    assert_eq!(out, format!("{}\n", id(1)));
    let (out, _) = check_exit(&world.resume(&dir, &["--print", "-y", out.trim()]), 0);
    assert!(out.contains(&format!("claude --resume {}", id(1))), "{out}");
}

#[test]
fn wrong_usage_says_what_is_wrong() {
    let world = World::bare();
    for (arguments, said) in [
        (&[][..], "WORDS"),
        (&[""], "nothing to search for"),
        (&["--regex", "("], "unclosed group"),
        (&["--regex", "a*"], "matches everything"),
        (&["x", "--since", "yesterday"], "--since yesterday: write 90m"),
        (&["x", "--in", "nobody"], "possible values"),
        (&["x", "--hits", "0"], "a number from 1 on"),
        (&["x", "-l", "--json"], "cannot be used with"),
        (&["x", "-i", "-s"], "cannot be used with"),
    ] {
        let (out, err) = check_exit(&search(&world, arguments), 2);
        assert!(out.is_empty() && err.contains(said), "{arguments:?}: {err}");
    }
    check_exit(&search(&world, &["x"]), 1);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let world = World::bare();
    let dir = world.dir("p");
    let long = format!("needle {}", "hay ".repeat(100));
    for number in 0..300 {
        session(
            &world,
            number,
            u64::from(number),
            &dir,
            &[prompt(&dir, &long), prompt(&dir, &long), prompt(&dir, &long)],
        );
    }
    let mut command = world.cld(&["search", "needle"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    drop(out);
    assert_eq!(wait_for(&mut child).code(), Some(0));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "");
}

#[test]
fn files_that_cannot_be_read_are_counted_and_the_others_searched() {
    let world = World::bare();
    let dir = world.dir("p");
    session(&world, 1, 1, &dir, &[prompt(&dir, "needle")]);
    let folder = config_dir(&world).join("projects/-home-u-other");
    fs::create_dir_all(folder.join(format!("{}.jsonl", id(2)))).unwrap();
    fs::write(folder.join(format!("{}.jsonl", id(3))), b"\xff\xfe needle \0\n{\"type\":\"user\"\n")
        .unwrap();
    assert_eq!(ids(&world, &["needle"]), [1]);
}

/// The most memory a process had so far, in kB.
fn memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn a_line_of_a_hundred_megabytes_is_searched_in_little_memory() {
    let world = World::bare();
    let dir = world.dir("p");
    let path = session(&world, 1, 1, &dir, &[prompt(&dir, "first")]);
    let hay = ("hay and ".repeat(20) + "\\\"hay\\\" ").repeat(310_000);
    let head = r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":""#;
    let line = format!("{head}{hay} a needle in \\u00e9t\\u00E9 {hay}\"}}]}}}}\n");
    assert!(line.len() > 100_000_000);
    let after = prompt(&dir, "another needle").to_string();
    fs::write(&path, fs::read_to_string(&path).unwrap() + &line + &after + "\n").unwrap();
    drop((hay, line));
    let mut command = world.cld(&["search", "--json", "needle"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut most = 0;
    poll_until("the search ends", || {
        most = memory(child.id()).unwrap_or(0).max(most);
        child.try_wait().unwrap().is_some()
    });
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let found: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&found[0]["who"], &found[1]["text"]),
        (&json!("tool_result"), &json!("another needle"))
    );
    let text = found[0]["text"].as_str().unwrap();
    assert!(text.contains("\"hay\" a needle in été hay"), "{text}");
    assert!(0 < most && most < MOST_MEMORY, "{most} kB");
}

#[test]
fn a_long_search_says_so_and_ends_at_once_on_ctrl_c() {
    let world = World::new();
    let dir = world.dir("p");
    session(&world, 1, 1, &dir, &[prompt(&dir, "needle")]);
    // A file with a hole reads as zeros, for as long as one likes.
    let path = session(&world, 2, 2, &dir, &[prompt(&dir, "x")]);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    file.set_modified(UNIX_EPOCH).unwrap();
    let command = format!("exec {} search needle", env!("CARGO_BIN_EXE_cld"));
    let pane = world.tmux(&["new-window", "-d", "-P", "-F", "#{pane_id} #{pane_pid}", &command]);
    let (pane, pid) = pane.split_once(' ').unwrap();
    let screen = || world.tmux(&["capture-pane", "-p", "-t", pane]);
    poll_until("a progress line appears", || {
        screen().contains("searched 1 of 2 sessions, 0 of 1099511 MB")
    });
    assert!(screen().contains("00000001"), "the newest session is there already: {}", screen());
    let most = memory(pid.parse().unwrap()).unwrap();
    assert!(most < MOST_MEMORY, "{most} kB");
    world.tmux(&["send-keys", "-t", pane, "C-c"]);
    // tmux may leave a process unburied that is dead.
    poll_until("the process has ended", || {
        fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
}

#[test]
fn files_that_vanish_shrink_and_grow_do_no_harm() {
    let world = World::bare();
    let dir = world.dir("p");
    let filler = "hay ".repeat(2_000);
    let lines: Vec<Value> = (0..40).map(|_| prompt(&dir, &filler)).collect();
    let steady: Vec<u32> = (0..20).collect();
    for number in &steady {
        session(&world, *number, 5, &dir, &[&lines[..], &[prompt(&dir, "needle")]].concat());
    }
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let path = session(&world, 100 + turn % 7, 0, &dir, &lines);
                match turn % 3 {
                    0 => fs::remove_file(path).unwrap(),
                    1 => fs::File::options().write(true).open(path).unwrap().set_len(1000).unwrap(),
                    _ => {}
                }
                turn += 1;
            }
        });
        for _ in 0..5 {
            let mut found = ids(&world, &["needle"]);
            found.sort_unstable();
            assert_eq!(found, steady);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn times_are_those_of_the_conversation() {
    let world = World::bare();
    let dir = world.dir("p");
    session(&world, 1, 1, &dir, &[prompt(&dir, "needle")]);
    let said = UNIX_EPOCH + Duration::from_secs(1_794_960_000);
    let age = SystemTime::now().duration_since(said).map_or(0, |age| age.as_secs());
    let text = found(&world, &["needle"]);
    let shown = text.split_whitespace().nth(1).unwrap();
    let expected = [cld::clock::rounded(age), cld::clock::rounded(age.saturating_sub(60))];
    assert!(expected.contains(&shown.to_owned()), "{text}");
}
