//! `cld send`: what arrives in the pane, what is refused, and when it is said to be submitted.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::json;

use crate::queue_stage::{Server, Session, cld, spied};
use crate::stage::check_exit;
use crate::world::{World, poll_until, tmux_program};

const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// A session at its prompt, in a pane that writes down every byte it is given.
struct Prompt {
    session: Session,
    typed: PathBuf,
}

impl Prompt {
    fn open(world: &World, number: u32) -> Self {
        let typed = world.path(&format!("typed-{number}"));
        let program =
            format!("stty raw -echo; printf '\\033[?2004hready'; exec cat >'{}'", typed.display());
        let window = ["new-window", "-d", "-t", "main:", "-P", "-F", "#{pane_id}", &program];
        let pane = world.tmux(&window);
        poll_until("the pane listens", || {
            typed.exists() && world.tmux(&["capture-pane", "-p", "-t", &pane]).contains("ready")
        });
        let session = Session::open(world, &Server::of(world), &pane, number);
        Self { session, typed }
    }

    fn typed(&self) -> Vec<u8> {
        fs::read(&self.typed).unwrap()
    }

    /// What Claude does with a prompt that was typed and sent.
    fn submit(&self, world: &World) {
        poll_until("the text is sent", || self.typed().ends_with(b"\r"));
        self.session.hook(world, "UserPromptSubmit", &json!({"prompt": "text"}));
    }
}

/// Starts `cld send` and gives it its input.
fn send(world: &World, arguments: &[&str], text: &str) -> Child {
    let mut command = world.cld(&[&["send", "--timeout", "50"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child
}

fn pasted(text: &str) -> Vec<u8> {
    [PASTE, text.as_bytes(), PASTE_END, b"\r"].concat()
}

fn buffers(world: &World) -> String {
    world.tmux(&["list-buffers", "-F", "#{buffer_name} #{buffer_size}"])
}

#[track_caller]
fn arrives(text: &str, expected: &str) {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    world.tmux(&["set-buffer", "of the user"]);
    let before = buffers(&world);
    let child = send(&world, &["00000001", "-"], text);
    prompt.submit(&world);
    let (out, _) = check_exit(&child.wait_with_output().unwrap(), 0);
    assert_eq!(out, "submitted\n");
    assert!(prompt.typed() == pasted(expected), "{:?}", String::from_utf8_lossy(&prompt.typed()));
    assert_eq!(buffers(&world), before);
}

#[test]
fn lines_tabs_and_other_scripts_arrive_byte_for_byte_as_one_paste() {
    let text =
        "fix\n\n\tthe 日本語 parser 👩‍💻 é\n$HOME `x` #{pane_id} #(touch x) ; \\ \"y\" 'z' %5;";
    arrives(text, text);
}

#[test]
fn a_hundred_kilobytes_arrive_byte_for_byte() {
    let lines = (0..2000).map(|number| format!("{number:05} word after wörd after word of it\n"));
    let text = lines.collect::<String>() + "end";
    assert!(text.len() > 80_000);
    let text = text.repeat(2);
    arrives(&text, &text);
}

#[test]
fn keys_and_the_end_of_a_paste_are_removed() {
    arrives("one\r\ntwo\u{1b}[201~\u{3}\rrm -rf /\u{9b}201~\u{7f}\n\n", "one\ntwo\nrm -rf /");
}

#[test]
fn a_text_may_stand_on_the_command_line_and_begin_with_a_dash() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    let child = send(&world, &[&prompt.session.pane, "--", "-v and more;"], "");
    prompt.submit(&world);
    check_exit(&child.wait_with_output().unwrap(), 0);
    assert_eq!(prompt.typed(), pasted("-v and more;"));
}

#[test]
fn a_pane_that_is_scrolled_gets_a_whole_paste_too() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    world.tmux(&["copy-mode", "-t", &prompt.session.pane]);
    let child = send(&world, &["00000001", "two\nlines"], "");
    prompt.submit(&world);
    check_exit(&child.wait_with_output().unwrap(), 0);
    assert_eq!(prompt.typed(), pasted("two\nlines"));
}

#[test]
fn a_menu_of_tmux_is_not_typed_into() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    world.tmux(&["choose-tree", "-t", &prompt.session.pane]);
    refused(&world, &prompt, &["00000001", "go"], 1, "main:1.0 shows a menu of tmux");
}

#[test]
fn only_the_event_of_that_session_confirms() {
    let world = World::new();
    let (prompt, other) = (Prompt::open(&world, 1), Session::new(&world, 2));
    let mut child = send(&world, &["00000001", "go"], "");
    poll_until("the text is sent", || prompt.typed().ends_with(b"\r"));
    other.hook(&world, "UserPromptSubmit", &json!({"prompt": "text"}));
    prompt.session.hook(&world, "Stop", &json!({"background_tasks": []}));
    let notice = json!({"prompt": "<task-notification>done</task-notification>"});
    prompt.session.hook(&world, "UserPromptSubmit", &notice);
    assert!(child.try_wait().unwrap().is_none());
    prompt.session.hook(&world, "UserPromptSubmit", &json!({"prompt": "go"}));
    check_exit(&child.wait_with_output().unwrap(), 0);
}

#[test]
fn without_a_confirmation_nothing_is_said_to_be_submitted() {
    let world = World::new();
    let _prompt = Prompt::open(&world, 1);
    let (out, err) = check_exit(&cld(&world, &["send", "--timeout", "1", "00000001", "go"]), 1);
    assert_eq!(out, "");
    assert!(err.contains("did not confirm it within 1 s\nLook at it: cld jump 00000001"), "{err}");
}

#[track_caller]
fn refused(world: &World, prompt: &Prompt, arguments: &[&str], code: i32, reason: &str) {
    let (out, err) = check_exit(&cld(world, &[&["send"], arguments].concat()), code);
    assert_eq!(out, "");
    assert!(err.contains(reason), "{err}");
    assert_eq!(prompt.typed(), b"", "{reason}");
    assert_eq!(buffers(world), "");
}

#[test]
fn a_dialog_is_never_answered() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    prompt.session.ask(&world, "rm -rf build");
    let reason = "has a dialog open (permission: Bash: rm -rf build)\nAnswer it first: cld jump";
    refused(&world, &prompt, &["00000001", "yes"], 1, reason);
    refused(&world, &prompt, &["--queue", "00000001", "yes"], 1, reason);
}

#[test]
fn a_busy_claude_is_only_given_text_for_its_queue() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    prompt.session.hook(&world, "UserPromptSubmit", &json!({"prompt": "go"}));
    refused(&world, &prompt, &["00000001", "more"], 1, "main:1.0 is busy");
    let child = send(&world, &["--queue", "00000001", "more"], "");
    prompt.submit(&world);
    check_exit(&child.wait_with_output().unwrap(), 0);
    assert_eq!(prompt.typed(), pasted("more"));
}

#[test]
fn a_turn_that_has_just_begun_is_busy_whatever_the_registry_says() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    prompt.session.hook(&world, "UserPromptSubmit", &json!({"prompt": "go"}));
    prompt.session.register(&world, "idle", 0);
    refused(&world, &prompt, &["00000001", "more"], 1, "main:1.0 is busy");
}

#[test]
fn nothing_is_typed_where_nobody_would_read_it() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    refused(&world, &prompt, &["00000001", " \n\u{1b}"], 2, "there is nothing to send");
    refused(&world, &prompt, &["00000009", "go"], 1, "there is no session 00000009");
    prompt.session.hook(&world, "SessionEnd", &json!({"reason": "other"}));
    refused(&world, &prompt, &["00000001", "go"], 1, "is not open");
}

#[test]
fn a_killed_claude_is_not_typed_to() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let prompt = Prompt::open(&world, 1);
    prompt.session.kill();
    refused(&world, &prompt, &["00000001", "go"], 1, "is not open");
}

#[test]
fn a_dialog_that_opens_at_the_last_moment_is_not_answered() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    let open = format!(
        "case \"$*\" in *load-buffer*) '{}' -S '{}' set-option -p -t '{}' @meta.claude.asking '|main.00ff.p@1794973885217063 Bash: x';; esac",
        tmux_program().display(),
        world.socket().display(),
        prompt.session.pane,
    );
    let world = spied(world, &open);
    refused(&world, &prompt, &["00000001", "yes"], 1, "has just changed");
}

#[test]
fn a_dialog_that_opens_after_the_paste_is_not_answered() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    let open = format!(
        "case \"$*\" in *set-buffer*) '{}' -S '{}' set-option -p -t '{}' @meta.claude.asking '|main.00ff.p@1794973885217063 Bash: x';; esac",
        tmux_program().display(),
        world.socket().display(),
        prompt.session.pane,
    );
    let world = spied(world, &open);
    let (_, err) = check_exit(&cld(&world, &["send", "00000001", "yes"]), 1);
    assert!(err.contains("the text stands in main:1.0, but was not sent"), "{err}");
    assert_eq!(prompt.typed(), [PASTE, b"yes", PASTE_END].concat());
}

#[test]
fn a_dialog_that_was_denied_does_not_stand_in_the_way() {
    let world = World::new();
    let prompt = Prompt::open(&world, 1);
    prompt.session.ask(&world, "rm -rf build");
    prompt.session.register(&world, "idle", 700);
    let child = send(&world, &["00000001", "go"], "");
    prompt.submit(&world);
    check_exit(&child.wait_with_output().unwrap(), 0);
    assert_eq!(prompt.typed(), pasted("go"));
}
