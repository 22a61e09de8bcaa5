use super::{DEEP_TAIL, Facts, Origin, PIECE, Reader, Summary};
use crate::transcript::{LastExchange, Piece, SeenCwd, Title, TitleSource, Worktree, parse_utc};
use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::test_runner::Config;
use std::fs;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const ID: &str = "23e30f82-0000-4000-8000-00000000000a";

const MAIN: &[u8] = include_bytes!(
    "../../../tests/fixtures/transcripts/projects/-home-u-proj/c5a283fc-d3b7-4879-9c1e-7c0190deeb2d.jsonl"
);
const CLEARED: &[u8] = include_bytes!(
    "../../../tests/fixtures/transcripts/projects/-home-u-proj/45da8798-c60b-4f0e-bd96-5f2b076616b2.jsonl"
);
const FORKED: &[u8] = include_bytes!(
    "../../../tests/fixtures/transcripts/projects/-home-u-proj/23ba7ab6-f42f-432f-8a04-5e1d3dcab910.jsonl"
);
const RELOCATED: &[u8] = include_bytes!(
    "../../../tests/fixtures/transcripts/projects/-home-u-extra2/2a6bf156-669d-495d-b34a-a9b6f6a36743.jsonl"
);
const SUBAGENT: &[u8] = include_bytes!(
    "../../../tests/fixtures/transcripts/projects/-home-u-proj/c5a283fc-d3b7-4879-9c1e-7c0190deeb2d/subagents/agent-ad2a24918a505dfec.jsonl"
);
const RECORDED: [&[u8]; 5] = [MAIN, CLEARED, FORKED, RELOCATED, SUBAGENT];

/// Enough for these paths; the real encoder has its own tests.
fn slug_of(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

struct Transcript {
    root: TempDir,
}

impl Transcript {
    fn new(content: impl AsRef<[u8]>) -> Self {
        let transcript = Self { root: TempDir::new().unwrap() };
        fs::write(transcript.path(), content).unwrap();
        transcript
    }

    fn path(&self) -> PathBuf {
        self.root.path().join(format!("{ID}.jsonl"))
    }

    fn facts(&self, bucket: &str) -> Facts {
        Reader::new().facts(&self.path(), bucket, slug_of).unwrap()
    }

    fn origin(&self, bucket: &str) -> Origin {
        Reader::new().origin(&self.path(), bucket, slug_of).unwrap()
    }

    fn summary(&self, bucket: &str) -> Summary {
        Reader::new().summary(&self.path(), bucket, slug_of).unwrap()
    }
}

fn facts(content: impl AsRef<[u8]>) -> Facts {
    Transcript::new(content).facts("-home-u-proj")
}

fn line(kind: &str, fields: &str) -> String {
    format!("{{\"type\":\"{kind}\",{fields}}}\n")
}

fn envelope(cwd: &str, second: u8) -> String {
    format!(
        "\"isSidechain\":false,\"cwd\":\"{cwd}\",\"gitBranch\":\"main\",\"entrypoint\":\"cli\",\"timestamp\":\"2026-11-18T00:00:{second:02}.000Z\""
    )
}

fn prompt_in(cwd: &str, words: &str, second: u8) -> String {
    line(
        "user",
        &format!(
            "\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}},{}",
            envelope(cwd, second)
        ),
    )
}

fn prompt(words: &str, second: u8) -> String {
    prompt_in("/home/u/proj", words, second)
}

fn reply(words: &str, second: u8) -> String {
    let content = format!("[{{\"type\":\"text\",\"text\":\"{words}\"}}]");
    line(
        "assistant",
        &format!("\"message\":{{\"content\":{content}}},{}", envelope("/home/u/proj", second)),
    )
}

fn attachment(length: usize, second: u8) -> String {
    let text = "x".repeat(length);
    line(
        "attachment",
        &format!("\"attachment\":{{\"text\":\"{text}\"}},{}", envelope("/home/u/proj", second)),
    )
}

fn custom_title(title: &str) -> String {
    line("custom-title", &format!("\"customTitle\":\"{title}\""))
}

fn ai_title(title: &str) -> String {
    line("ai-title", &format!("\"aiTitle\":\"{title}\""))
}

fn title(text: &str, source: TitleSource) -> Option<Title> {
    Some(Title { text: text.to_owned(), source })
}

fn exchange(prompt: Option<&str>, reply: Option<&str>, is_answered: bool) -> LastExchange {
    LastExchange { prompt: prompt.map(str::to_owned), reply: reply.map(str::to_owned), is_answered }
}

fn seen(path: &str, first_seen: Piece, last_seen: Piece) -> SeenCwd {
    SeenCwd { path: path.to_owned(), first_seen, last_seen }
}

#[test]
fn a_recorded_session_is_understood() {
    let facts = facts(MAIN);
    let expected = Summary {
        title: title("lab sample", TitleSource::Custom),
        bucket_cwd: Some("/home/u/proj".to_owned()),
        last_cwd: Some("/home/u/proj".to_owned()),
        branch: Some("main".to_owned()),
        last_active: parse_utc("2026-11-18T01:11:55.849Z"),
        entrypoint: Some("cli".to_owned()),
        has_turn: true,
        ..Summary::default()
    };
    assert_eq!(facts.summary, expected);
    assert!(facts.summary.is_session() && !facts.summary.is_scripted());
    assert_eq!(facts.cwds, [seen("/home/u/proj", Piece::Whole, Piece::Whole)]);
    assert_eq!(facts.first_prompt.as_deref(), Some("DO text hello from the lab"));
    assert_eq!(facts.last_exchange, exchange(Some("DO text bye"), Some("bye"), true));
    assert_eq!((facts.relocated_cwd, facts.worktree, facts.forked_from), (None, None, None));
    assert!(!facts.is_interrupted);
}

#[test]
fn a_session_after_clear_begins_with_its_first_real_prompt() {
    let facts = facts(CLEARED);
    assert_eq!(facts.summary.title, title("DO text two", TitleSource::Prompt));
    assert_eq!(facts.last_exchange, exchange(Some("DO text three"), Some("three"), true));
    assert_eq!(facts.forked_from, None);
}

#[test]
fn a_fork_names_the_session_it_came_from() {
    let facts = facts(FORKED);
    assert_eq!(facts.forked_from.as_deref(), Some("fde01c59-f797-403a-8a79-5202af3a77c3"));
    assert_eq!(facts.last_exchange, exchange(Some("DO text forked"), Some("forked"), true));
}

#[test]
fn a_session_moved_by_cd_belongs_to_its_new_directory() {
    let facts = Transcript::new(RELOCATED).facts("-home-u-extra2");
    assert_eq!(facts.summary.bucket_cwd.as_deref(), Some("/home/u/extra2"));
    assert_eq!(facts.relocated_cwd.as_deref(), Some("/home/u/extra2"));
    assert_eq!(facts.summary.title, title("my lab name", TitleSource::Custom));
    let expected =
        ["/home/u/proj", "/home/u/extra2"].map(|path| seen(path, Piece::Whole, Piece::Whole));
    assert_eq!(facts.cwds, expected);
}

#[test]
fn a_session_may_end_with_the_move() {
    let moved = line("relocated", "\"relocatedCwd\":\"/home/u/pro.j\"");
    let transcript = Transcript::new(prompt_in("/home/u/pro-j", "start", 1) + &moved);
    assert_eq!(transcript.summary("-home-u-pro-j").bucket_cwd.as_deref(), Some("/home/u/pro.j"));
    let went_on = prompt_in("/home/u/pro_j", "again", 2);
    let transcript = Transcript::new(moved + &went_on);
    assert_eq!(transcript.summary("-home-u-pro-j").bucket_cwd.as_deref(), Some("/home/u/pro_j"));
}

#[test]
fn a_subagents_file_is_not_a_session() {
    let facts = facts(SUBAGENT);
    assert!(facts.summary.is_sidechain);
    assert!(!facts.summary.is_session());
}

#[test]
fn side_conversations_inside_an_old_session_file_do_not_count() {
    let side = prompt_in("/home/u/proj/side", "do a part", 9)
        .replace("\"isSidechain\":false", "\"isSidechain\":true");
    let facts = facts(side.clone() + &prompt("hello", 1) + &side);
    assert!(facts.summary.is_session());
    assert_eq!(facts.first_prompt.as_deref(), Some("hello"));
    assert_eq!(facts.last_exchange, exchange(Some("hello"), None, false));
    assert_eq!(facts.summary.last_active, parse_utc("2026-11-18T00:00:01Z"));
    assert_eq!(facts.cwds, [seen("/home/u/proj", Piece::Whole, Piece::Whole)]);
}

#[test]
fn a_member_of_a_team_is_not_a_session_but_its_leader_is() {
    let in_team = |line: String, fields: &str| {
        line.replace("\"isSidechain\"", &format!("{fields},\"isSidechain\""))
    };
    let member = in_team(prompt("part", 1), "\"teamName\":\"t\",\"agentName\":\"dev\"");
    assert!(!facts(member).summary.is_session());
    let joined_later = prompt("hello", 1) + &in_team(prompt("more", 2), "\"teamName\":\"t\"");
    assert!(facts(joined_later).summary.is_session());
    let leader = in_team(prompt("hello", 1), "\"teamName\":\"t\",\"agentName\":\"team-lead\"");
    assert!(facts(leader).summary.is_session());
}

#[test]
fn a_member_of_a_team_is_known_by_the_head_of_a_large_file() {
    let in_team = |words, second| {
        prompt(words, second).replace("\"isSidechain\"", "\"teamName\":\"t\",\"isSidechain\"")
    };
    let end = in_team("more", 3) + &custom_title("dev");
    let member = in_team("part", 1) + &attachment(3 * PIECE, 2) + &end;
    assert!(check_both_ways(member.as_bytes(), "-home-u-proj").summary.is_teammate);
    let leader = prompt("hello", 1) + &attachment(3 * PIECE, 2) + &end;
    assert!(!check_both_ways(leader.as_bytes(), "-home-u-proj").summary.is_teammate);
}

#[test]
fn the_directory_is_the_last_one_whose_slug_is_the_bucket() {
    for (cwds, expected) in [
        (vec!["/home/u/proj"], Some("/home/u/proj")),
        (vec!["/old", "/home/u/proj"], Some("/home/u/proj")),
        (vec!["/home/u/proj", "/home/u/proj/src"], Some("/home/u/proj")),
        (
            vec!["/home/u.proj", "/home/u/proj", "/home/u_proj", "/home/u/proj"],
            Some("/home/u/proj"),
        ),
        (vec!["/home/u/proj", "/home/u_proj", "/elsewhere"], Some("/home/u_proj")),
        (vec!["/elsewhere", ""], None),
    ] {
        let content: String = cwds.iter().map(|cwd| prompt_in(cwd, "hello", 1)).collect();
        assert_eq!(facts(content).summary.bucket_cwd.as_deref(), expected, "{cwds:?}");
    }
}

/// The origin, which is cheaper, says what the facts say.
#[track_caller]
fn check_origin(content: impl AsRef<[u8]>, bucket: &str) -> Origin {
    let transcript = Transcript::new(content);
    let (origin, facts) = (transcript.origin(bucket), transcript.facts(bucket));
    let expected = Origin {
        bucket_cwd: facts.summary.bucket_cwd,
        first_cwd: facts.cwds.first().map(|seen| seen.path.clone()),
        relocated_cwd: facts.relocated_cwd,
        worktree: facts.worktree,
        branch: facts.summary.branch,
        is_sidechain: facts.summary.is_sidechain,
        is_teammate: facts.summary.is_teammate,
        has_turn: facts.summary.has_turn,
    };
    assert_eq!(origin, expected);
    origin
}

#[test]
fn the_origin_of_a_session_needs_no_title() {
    for recorded in RECORDED {
        check_origin(recorded, "-home-u-proj");
        check_origin(recorded, "-home-u-extra2");
    }
    let moved = check_origin(RELOCATED, "-home-u-extra2");
    assert_eq!(moved.bucket_cwd.as_deref(), Some("/home/u/extra2"));
    assert_eq!(moved.first_cwd.as_deref(), Some("/home/u/proj"));
    let large: String =
        [prompt_in("/a", "start", 1), attachment(3 * PIECE, 2), prompt_in("/b", "end", 3)].concat();
    let origin = check_origin(&large, "-a");
    assert_eq!(
        (origin.bucket_cwd.as_deref(), origin.first_cwd.as_deref()),
        (Some("/a"), Some("/a"))
    );
    assert!(!check_origin(line("file-history-snapshot", "\"messageId\":\"m\""), "-a").has_turn);
}

#[test]
fn a_title_near_the_end_is_found_without_reading_the_rest() {
    let title = |name: &str| line("ai-title", &format!("\"aiTitle\":\"{name}\""));
    let near_end = |content: String| {
        let transcript = Transcript::new(content);
        let title = Reader::new().title_near_end(&transcript.path()).unwrap();
        title.map(|title| title.text)
    };
    let start = [title("old"), attachment(3 * PIECE, 2)].concat();
    assert_eq!(near_end(format!("{start}{}", title("new"))).as_deref(), Some("new"));
    assert_eq!(near_end(start), None);
    assert_eq!(near_end(title("only")).as_deref(), Some("only"));
}

#[test]
fn directories_are_listed_in_the_order_of_first_sight_with_their_pieces() {
    let early = prompt_in("/a", "one", 1) + &prompt_in("/b", "two", 2);
    let late = prompt_in("/c", "three", 3) + &prompt_in("/a", "four", 4);
    let facts = facts(early + &attachment(3 * PIECE, 2) + &late);
    let expected = [
        seen("/a", Piece::Head, Piece::Tail),
        seen("/b", Piece::Head, Piece::Head),
        seen("/c", Piece::Tail, Piece::Tail),
    ];
    assert_eq!(facts.cwds, expected);
    assert_eq!(facts.summary.last_cwd.as_deref(), Some("/a"));
}

#[test]
fn titles_come_from_the_best_source() {
    let start = prompt("first words", 1);
    let command = prompt("<command-name>/fix</command-name><command-args>42</command-args>", 1);
    for (content, expected) in [
        (
            start.clone() + &ai_title("ai") + &custom_title("mine") + &ai_title("newer"),
            title("mine", TitleSource::Custom),
        ),
        (start.clone() + &ai_title("ai") + &ai_title("newer"), title("newer", TitleSource::Ai)),
        (command.clone() + &start, title("first words", TitleSource::Prompt)),
        (command.clone() + &reply("done", 2), title("/fix 42", TitleSource::Command)),
        (reply("hello", 1), None),
    ] {
        assert_eq!(facts(&content).summary.title, expected, "{content}");
    }
}

#[test]
fn a_prompt_in_the_tail_stands_in_for_a_title_when_the_head_has_none() {
    let content = attachment(3 * PIECE, 1) + &prompt("late words", 2) + &prompt("later words", 3);
    assert_eq!(facts(content).summary.title, title("late words", TitleSource::Prompt));
}

#[test]
fn a_title_kept_beside_the_transcript_counts_unless_the_end_has_a_newer_one() {
    let check = |content: String, expected: &str| {
        let transcript = Transcript::new(content);
        let folder = transcript.path().with_extension("");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("custom-title.json"), r#"{"customTitle":"beside"}"#).unwrap();
        assert_eq!(transcript.summary("-home-u-proj").title, title(expected, TitleSource::Custom));
        assert_eq!(
            transcript.facts("-home-u-proj").summary.title,
            title(expected, TitleSource::Custom)
        );
    };
    let middle = attachment(3 * PIECE, 2);
    check(prompt("hello", 1) + &ai_title("ai"), "beside");
    check(custom_title("inside") + &prompt("hello", 1), "inside");
    check(custom_title("old") + &middle + &reply("bye", 3), "beside");
    check(custom_title("old") + &middle + &custom_title("new"), "new");
}

#[test]
fn the_middle_is_searched_for_a_title_only_when_both_ends_have_none() {
    let gap = attachment(2 * PIECE, 2);
    let start = prompt("first words", 1);
    let with_middle = |middle: &str, end: &str| start.clone() + &gap + middle + &gap + end;
    for (content, expected) in [
        (with_middle(&ai_title("ai"), ""), title("ai", TitleSource::Ai)),
        (
            with_middle(&(custom_title("mine") + &ai_title("ai")), ""),
            title("mine", TitleSource::Custom),
        ),
        (with_middle(&custom_title("mine"), &ai_title("ai")), title("ai", TitleSource::Ai)),
        (with_middle("", ""), title("first words", TitleSource::Prompt)),
    ] {
        let transcript = Transcript::new(content);
        assert_eq!(transcript.summary("-home-u-proj").title, expected);
        assert_eq!(transcript.facts("-home-u-proj").summary.title, expected);
    }
}

#[test]
fn titles_on_lines_cut_at_the_edges_of_the_pieces_are_found() {
    let start = prompt("first words", 1);
    let title_line = ai_title("at the edge");
    for shift in 0..title_line.len() {
        let before = PIECE - start.len() - shift;
        let filler = |length: usize| "{}\n".repeat(length / 3) + &"\n".repeat(length % 3);
        let at_the_head = start.clone() + &filler(before) + &title_line + &filler(3 * PIECE);
        let at_the_tail = start.clone() + &filler(3 * PIECE) + &title_line + &filler(PIECE - shift);
        for content in [at_the_head, at_the_tail] {
            let found = Transcript::new(content).summary("-home-u-proj").title;
            assert_eq!(found, title("at the edge", TitleSource::Ai), "{shift}");
        }
    }
}

#[test]
fn the_last_exchange_says_whether_the_prompt_was_answered() {
    let tool = line(
        "user",
        &format!(
            "\"message\":{{\"content\":[{{\"type\":\"tool_result\"}}]}},{}",
            envelope("/home/u/proj", 4)
        ),
    );
    let filler = reply("No response requested.", 5)
        .replace("\"content\"", "\"model\":\"<synthetic>\",\"content\"");
    for (content, expected) in [
        (prompt("a", 1) + &reply("b", 2) + &tool, exchange(Some("a"), Some("b"), true)),
        (prompt("a", 1) + &reply("b", 2) + &prompt("c", 3), exchange(Some("c"), Some("b"), false)),
        (prompt("a", 1) + &reply("b", 2) + &filler, exchange(Some("a"), Some("b"), true)),
        (prompt("a", 1) + &reply(" ", 2), exchange(Some("a"), None, false)),
        (tool.clone(), exchange(None, None, false)),
    ] {
        assert_eq!(facts(&content).last_exchange, expected, "{content}");
    }
}

#[test]
fn the_last_exchange_is_looked_for_behind_a_large_record_but_not_in_the_head() {
    let start = prompt("first", 1) + &reply("first reply", 2);
    let end = prompt("last", 3) + &reply("last reply", 4);
    let behind = start.clone() + &attachment(2 * PIECE, 2) + &end + &attachment(2 * PIECE, 5);
    assert_eq!(facts(behind).last_exchange, exchange(Some("last"), Some("last reply"), true));
    let on_the_first_line = prompt("only", 1) + &attachment(3 * PIECE, 2) + &reply("tail", 6);
    assert_eq!(facts(on_the_first_line).last_exchange, exchange(Some("only"), Some("tail"), true));
    let too_far =
        start + &attachment(2 * PIECE, 2) + &end + &attachment(DEEP_TAIL, 5) + &reply("tail", 6);
    assert_eq!(facts(too_far).last_exchange, exchange(None, Some("tail"), false));
}

#[test]
fn an_interruption_counts_until_the_conversation_goes_on() {
    let mark = prompt("[Request interrupted by user for tool use]", 3);
    let aside = prompt("<command-name>/exit</command-name>", 4) + &attachment(10, 5);
    let start = prompt("a", 1) + &reply("b", 2);
    for (content, expected) in [
        (start.clone() + &mark, true),
        (start.clone() + &mark + &aside, true),
        (start.clone() + &mark + &prompt("go on", 4), false),
        (start.clone() + &mark + &reply("c", 4), false),
        (start.clone(), false),
    ] {
        assert_eq!(facts(&content).is_interrupted, expected, "{content}");
    }
    let in_the_head = start.clone() + &mark + &attachment(3 * PIECE, 4) + &attachment(10, 5);
    assert!(!facts(in_the_head).is_interrupted);
}

#[test]
fn the_last_turn_gives_the_time_and_book_keeping_does_not() {
    let later = prompt("<command-name>/exit</command-name>", 8) + &attachment(10, 9);
    let at = |second: u8| parse_utc(&format!("2026-11-18T00:00:{second:02}Z"));
    assert_eq!(facts(prompt("a", 1) + &later).summary.last_active, at(1));
    assert_eq!(facts(&later).summary.last_active, at(9));
    let only_in_the_head = prompt("a", 1) + &attachment(3 * PIECE, 4) + &attachment(10, 5);
    assert_eq!(facts(only_in_the_head).summary.last_active, at(5));
    assert_eq!(facts(prompt("a", 1) + &attachment(3 * PIECE, 4)).summary.last_active, None);
}

#[test]
fn the_last_worktree_record_counts() {
    let worktree = |fields: &str| {
        line("worktree-state", &format!("\"worktreeSession\":{fields},\"sessionId\":\"s\""))
    };
    let entered = worktree(
        r#"{"originalCwd":"/home/u/proj","worktreePath":"/home/u/proj/.claude/worktrees/x","worktreeName":"x","worktreeBranch":"worktree-x"}"#,
    );
    let expected = Worktree {
        original_cwd: Some("/home/u/proj".to_owned()),
        path: Some("/home/u/proj/.claude/worktrees/x".to_owned()),
        branch: Some("worktree-x".to_owned()),
    };
    assert_eq!(facts(&entered).worktree, Some(expected));
    assert_eq!(facts(entered.clone() + &worktree("null")).worktree, None);
    assert_eq!(facts(worktree("null") + &worktree("{}")).worktree, Some(Worktree::default()));
}

#[test]
fn every_mark_of_a_fork_is_known_and_the_session_itself_is_none() {
    for (fields, expected) in [
        (
            r#""sessionId":"own","forkedFrom":{"sessionId":"parent","messageUuid":"m"},"requestSessionId":"older""#,
            Some("parent"),
        ),
        (r#""agentId":"a","parentSessionId":"parent""#, Some("parent")),
        (r#""sessionId":"own","requestSessionId":"parent""#, Some("parent")),
        (r#""sessionId":"own","requestSessionId":"own""#, None),
        (r#""sessionId":"own","forkedFrom":"parent""#, None),
    ] {
        assert_eq!(facts(line("x", fields)).forked_from.as_deref(), expected, "{fields}");
    }
}

#[test]
fn scripted_sessions_are_marked() {
    for (entrypoint, expected) in
        [("cli", false), ("sdk-cli", true), ("sdk-ts", true), ("claude-vscode", false)]
    {
        let content = prompt("a", 1)
            .replace("\"entrypoint\":\"cli\"", &format!("\"entrypoint\":\"{entrypoint}\""));
        assert_eq!(facts(content).summary.is_scripted(), expected, "{entrypoint}");
    }
}

#[test]
fn a_file_in_which_nobody_said_anything_is_not_a_session() {
    let snapshot = line("file-history-snapshot", "\"messageId\":\"m\",\"snapshot\":{}");
    for content in [
        String::new(),
        snapshot.clone(),
        snapshot + &prompt("<command-name>/clear</command-name>", 1),
    ] {
        assert!(!facts(&content).summary.is_session(), "{content}");
    }
    assert!(facts(reply("hello", 1)).summary.is_session());
}

#[test]
fn a_large_file_in_which_nobody_said_anything_is_not_a_session() {
    let said = r#"{\"type\":\"user\"}"#;
    let snapshot = |length| {
        let backup = format!("\"messageId\":\"m\",\"snapshot\":\"{}{said}\"", "x".repeat(length));
        line("file-history-snapshot", &backup)
    };
    let silent = snapshot(2 * PIECE) + &snapshot(10) + &snapshot(2 * PIECE);
    assert!(!facts(&silent).summary.is_session());
    assert!(!check_origin(&silent, "-a").has_turn);
    for turn in [prompt(&"x".repeat(PIECE), 1), reply("hello", 1)] {
        let content = snapshot(2 * PIECE) + &turn + &snapshot(2 * PIECE);
        assert!(facts(&content).summary.is_session());
        assert!(check_origin(&content, "-a").has_turn);
    }
}

#[test]
fn long_texts_are_cut() {
    let long = "é".repeat(10_000);
    let facts = facts(prompt(&long, 1) + &reply(&long, 2));
    let lengths = [
        facts.first_prompt,
        facts.last_exchange.prompt,
        facts.last_exchange.reply,
        facts.summary.title.map(|t| t.text),
    ]
    .map(|text| text.unwrap().len());
    assert_eq!(lengths, [4096; 4]);
}

#[test]
fn a_last_line_without_its_newline_counts_when_it_is_complete() {
    let content = prompt("a", 1) + &reply("b", 2);
    assert_eq!(facts(content.trim_end()), facts(&content));
}

/// A file with a hole is cheap to make and reads as one line of zeroes.
fn with_a_hole(start: &str, length: u64, end: &str) -> Transcript {
    let transcript = Transcript::new(start);
    let mut file = fs::File::options().write(true).open(transcript.path()).unwrap();
    file.seek(SeekFrom::Start(start.len() as u64 + length)).unwrap();
    file.write_all(end.as_bytes()).unwrap();
    transcript
}

#[test]
fn a_line_of_a_hundred_megabytes_does_no_harm_and_is_not_held() {
    let end = String::from("\n") + &prompt("last", 3) + &reply("bye", 4);
    let transcript = with_a_hole(&(custom_title("mine") + &prompt("first", 1)), 100 << 20, &end);
    let mut reader = Reader::new();
    let facts = reader.facts(&transcript.path(), "-home-u-proj", slug_of).unwrap();
    assert_eq!(facts.summary.title, title("mine", TitleSource::Custom));
    assert_eq!(facts.last_exchange, exchange(Some("last"), Some("bye"), true));
    let held = reader.head.capacity() + reader.tail.capacity() + reader.scratch.capacity();
    assert!(held < 4 * DEEP_TAIL, "{held}");
}

#[test]
fn a_search_through_a_huge_line_is_bounded() {
    let transcript =
        with_a_hole(&prompt("first", 1), 4 << 20, &("\n".to_owned() + &reply("bye", 4)));
    let mut reader = Reader::new();
    let summary = reader.summary(&transcript.path(), "-home-u-proj", slug_of).unwrap();
    assert_eq!(summary.title, title("first", TitleSource::Prompt));
    assert!(reader.scratch.capacity() < DEEP_TAIL, "{}", reader.scratch.capacity());
}

#[test]
fn a_file_that_is_gone_is_an_error_that_says_so() {
    let gone = Reader::new().summary(Path::new("/nowhere/at/all.jsonl"), "-nowhere", slug_of);
    assert_eq!(gone.err().map(|error| error.kind()), Some(ErrorKind::NotFound));
}

#[test]
fn one_reader_reads_many_files_without_mixing_them() {
    let mut reader = Reader::new();
    let large = prompt("first", 1) + &attachment(3 * PIECE, 2) + &reply("bye", 3);
    let contents = [MAIN, large.as_bytes(), b"", CLEARED, b"{}\n", RELOCATED];
    for content in contents.iter().chain(contents.iter().rev()) {
        let transcript = Transcript::new(content);
        assert_eq!(
            reader.facts(&transcript.path(), "-home-u-proj", slug_of).unwrap(),
            facts(content)
        );
    }
}

/// Reads in both ways, which must agree where both answer.
#[track_caller]
fn check_both_ways(content: &[u8], bucket: &str) -> Facts {
    let transcript = Transcript::new(content);
    let facts = transcript.facts(bucket);
    assert_eq!(transcript.summary(bucket), facts.summary);
    facts
}

#[test]
fn a_summary_is_the_same_as_that_of_all_facts() {
    for content in RECORDED {
        for bucket in ["-home-u-proj", "-home-u-extra2", "named-freely"] {
            check_both_ways(content, bucket);
        }
    }
}

fn any_line() -> impl Strategy<Value = String> {
    let cwd =
        prop::sample::select(vec!["/home/u/proj", "/home/u_proj", "/home/u/proj/src", "/else"]);
    let words = prop::sample::select(vec![
        "fix it",
        "[Request interrupted by user]",
        "<command-name>/exit</command-name>",
        "<local-command-stdout>x",
        "",
    ]);
    prop_oneof![
        (cwd, words, 0..60u8).prop_map(|(cwd, words, second)| prompt_in(cwd, words, second)),
        (0..60u8).prop_map(|second| reply("done", second)),
        (0..60u8).prop_map(|second| prompt("aside", second)
            .replace("\"isSidechain\":false", "\"isSidechain\":true")),
        (0..60u8).prop_map(
            |second| prompt("in team", second).replace("\"cwd\"", "\"teamName\":\"t\",\"cwd\"")
        ),
        prop::sample::select(vec![10, 5_000, 70_000]).prop_map(|length| attachment(length, 30)),
        (0..9u8).prop_map(|number| ai_title(&format!("ai {number}"))),
        (0..9u8).prop_map(|number| custom_title(&format!("custom {number}"))),
        prop::sample::select(vec![
            "{\"type\":\"user\"\n",
            "\0\0\0\n",
            "\n",
            "[]\n",
            "{\"type\":\"relocated\",\"relocatedCwd\":\"/x\"}\n"
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(Config::with_cases(64))]

    #[test]
    fn summaries_and_facts_agree_on_any_conversation(
        lines in prop::collection::vec(any_line(), 0..40),
    ) {
        check_both_ways(lines.concat().as_bytes(), "-home-u-proj");
    }

    #[test]
    fn a_torn_last_line_is_as_if_it_were_not_there(
        lines in prop::collection::vec(any_line(), 1..30),
        last in any_line(),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = lines.concat();
        let last = last.trim_end();
        let torn = &last[..cut.index(last.len() + 1).min(last.len().saturating_sub(1))];
        // Where the pieces lie depends on the file's size: only small files compare exactly.
        if whole.len() + last.len() <= 2 * PIECE {
            let content = whole.clone() + torn;
            assert_eq!(check_both_ways(content.as_bytes(), "-home-u-proj"), facts(&whole));
        }
    }

    #[test]
    fn recorded_files_cut_anywhere_do_no_harm(
        which in 0..RECORDED.len(),
        cut in any::<prop::sample::Index>(),
    ) {
        let content = RECORDED[which];
        let cut = cut.index(content.len());
        let last_newline = content[..cut].iter().rposition(|b| *b == b'\n');
        let whole_lines = last_newline.map_or(0, |newline| newline + 1);
        let at_a_whole_line = content[whole_lines..cut].ends_with(b"}") && content[cut] == b'\n';
        let facts = check_both_ways(&content[..cut], "-home-u-proj");
        if !at_a_whole_line {
            assert_eq!(facts, check_both_ways(&content[..whole_lines], "-home-u-proj"));
        }
    }

    #[test]
    fn recorded_files_with_changed_bytes_do_no_harm(
        which in 0..RECORDED.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut content = RECORDED[which].to_vec();
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        check_both_ways(&content, "-home-u-proj");
    }

    #[test]
    fn any_bytes_do_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        copies in 1..200usize,
    ) {
        check_both_ways(&bytes.repeat(copies), "-home-u-proj");
    }
}
