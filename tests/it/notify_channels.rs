//! The channels of `cld notify`: what each one gets to see, and that nothing in it acts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::config::configured;
use crate::events::{event, start, stop};
use crate::notify::{asks, calls, check_calls, hook, journal, notify, world};
use crate::stage::check_exit;
use crate::world::{Terminal, World, poll_until, tmux_program, tmux_version};

#[test]
fn desktop_programs_get_heading_and_text_as_words_of_their_own() {
    let world = world(
        "[notify]\nchannels = ['notify-send', 'terminal-notifier', 'sound']\n[notify.terminal-notifier]\ntemplate = '{context}'\n",
    );
    hook(&world, &start("startup"));
    let question = json!({"questions": [{"question": "-x <b>a & b</b>?", "options": []}]});
    hook(
        &world,
        &event(
            "PermissionRequest",
            &json!({"tool_name": "AskUserQuestion", "tool_input": question}),
        ),
    );
    notify(&world);
    check_calls(&world, 3);
    let calls = calls(&world);
    let called: Vec<(&str, Vec<&str>)> = calls
        .iter()
        .map(|call| (call.program.as_str(), call.arguments.iter().map(String::as_str).collect()))
        .collect();
    let group = format!("cld{}", world.pane.trim_start_matches('%'));
    assert_eq!(
        called,
        [
            ("canberra-gtk-play", vec!["-i", "message-new-instant"]),
            (
                "notify-send",
                vec![
                    "--app-name=cld",
                    "--",
                    "Claude: proj",
                    "23e30f82 has a question: -x &lt;b&gt;a &amp; b&lt;/b&gt;?"
                ]
            ),
            (
                "terminal-notifier",
                vec!["-title", "Claude: proj", "-message", "–x <b>a & b</b>?", "-group", &group]
            ),
        ]
    );
}

/// A second client, in a session and a terminal of its own.
fn second_client<'w>(world: &'w World, terminal: &Terminal<'w>) {
    world.tmux(&["new-session", "-d", "-s", "other", "-x", "120", "-y", "40", "sleep 1000"]);
    let attach = format!(
        "env -u TMUX -u TMUX_PANE TERM=screen-256color {} -u -S {} attach -t other",
        tmux_program().display(),
        world.socket().display()
    );
    terminal.tmux(&["new-window", "-d", "-n", "second", &attach]);
    poll_until("two clients are attached", || {
        world.tmux(&["list-clients", "-F", "#{client_name}"]).lines().count() == 2
    });
}

#[test]
fn every_client_gets_the_message_of_tmux() {
    if tmux_version() == (3, 2) {
        return; // There a message goes to the client that was used last.
    }
    let world = world("[notify.tmux]\nshow_ms = 30000\n");
    world.tmux(&["select-window", "-t", "front"]);
    let terminal = world.attach();
    second_client(&world, &terminal);
    asks(&world, "make #{pane_id} 100%");
    notify(&world);
    for window in [":0", ":second"] {
        poll_until("the client shows the message", || {
            let screen = terminal.tmux(&["capture-pane", "-p", "-t", window]);
            screen.contains("asks for permission: Bash: make #{pane_id} 100%")
        });
    }
}

#[test]
fn the_bell_rings_in_the_window_of_the_session() {
    let world = world("[notify]\nchannels = ['bell']\n");
    world.tmux(&["select-window", "-t", "front"]);
    let _terminal = world.attach();
    asks(&world, "make");
    notify(&world);
    poll_until("the window has its bell flag", || {
        let flags =
            world.tmux(&["display-message", "-p", "-t", &world.pane, "#{window_bell_flag}"]);
        flags == "1"
    });
}

/// What a terminal that is no tmux gets to see, byte for byte.
fn seen_by_a_plain_terminal(world: &World, seen: &Path) -> std::process::Child {
    let attach = format!(
        "env -u TMUX -u TMUX_PANE TERM=xterm-256color {} -u -S {} attach -t main",
        tmux_program().display(),
        world.socket().display()
    );
    let mut script = Command::new("script");
    script.args(["-qfc", &attach]).arg(seen).env("SHELL", "/bin/sh").env("LANG", "C.UTF-8");
    let child = script.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    poll_until("a client is attached", || {
        !world.tmux(&["list-clients", "-F", "#{client_name}"]).is_empty()
    });
    child
}

#[test]
fn the_terminal_of_a_client_shows_a_notification_of_the_desktop() {
    for (protocol, expected) in [
        ("auto", "\x1b]9;Claude: proj: 23e30f82 asks for permission: Bash: make a;b\x07"),
        (
            "osc777",
            "\x1b]777;notify;Claude: proj;23e30f82 asks for permission: Bash: make a,b\x1b\\",
        ),
        ("osc99", "p=body;23e30f82 asks for permission: Bash: make a;b\x1b\\"),
    ] {
        let world = world(&format!(
            "[notify]\nchannels = ['terminal']\n[notify.terminal]\nprotocol = '{protocol}'\n"
        ));
        world.tmux(&["select-window", "-t", "front"]);
        let seen = world.path("seen");
        let mut client = seen_by_a_plain_terminal(&world, &seen);
        asks(&world, "make a;b");
        notify(&world);
        let text = || String::from_utf8_lossy(&fs::read(&seen).unwrap_or_default()).into_owned();
        poll_until("the sequence reaches the terminal", || text().contains(expected));
        client.kill().unwrap();
        client.wait().unwrap();
    }
}

#[test]
fn a_tmux_around_this_one_hands_the_sequence_on() {
    let world = world("[notify]\nchannels = ['terminal']\n");
    world.tmux(&["select-window", "-t", "front"]);
    let terminal = world.attach();
    if terminal.tmux(&["show-options", "-gwqv", "allow-passthrough"]).is_empty() {
        return;
    }
    terminal.tmux(&["set-option", "-gw", "allow-passthrough", "on"]);
    let seen = world.path("seen");
    let attach = format!(
        "env -u TMUX -u TMUX_PANE TERM=xterm-256color {} -u -S {} attach",
        tmux_program().display(),
        world.path("terminal-main").display()
    );
    let mut script = Command::new("script");
    script.args(["-qfc", &attach]).arg(&seen).env("SHELL", "/bin/sh").env("LANG", "C.UTF-8");
    let mut outermost = script.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    poll_until("the outermost terminal is attached", || {
        !terminal.tmux(&["list-clients", "-F", "#{client_name}"]).is_empty()
    });
    asks(&world, "make");
    notify(&world);
    let expected = "\x1b]9;Claude: proj: 23e30f82 asks for permission: Bash: make\x07";
    poll_until("the sequence reaches the outermost terminal", || {
        String::from_utf8_lossy(&fs::read(&seen).unwrap_or_default()).contains(expected)
    });
    outermost.kill().unwrap();
    outermost.wait().unwrap();
}

/// Every channel at once, with all that a hostile session can put into its texts, in front of a
/// client that draws them.
#[test]
fn hostile_texts_do_nothing_in_any_channel() {
    let world = world(
        "[notify]\nchannels = ['tmux', 'bell', 'terminal', 'notify-send', 'terminal-notifier', 'sound', 'phone']\n\
         [notify.tmux]\nshow_ms = 1\ntemplate = '{window} {project} {title} {context}'\n\
         [notify.terminal]\ntitle = '{window}'\ntemplate = '{project} {title} {context}'\n\
         [notify.notify-send]\ntitle = '{title}'\ntemplate = '{context}'\n\
         [notify.terminal-notifier]\ntitle = '{title}'\ntemplate = '{context}'\n\
         [notify.phone]\ncommand = ['recorder']\n",
    );
    world.tmux(&["select-window", "-t", "front"]);
    let terminal = world.attach();
    let marker = world.path("marker");
    let marker = marker.to_str().unwrap();
    let mut told = 0;
    for text in [
        format!("#(touch {marker})"),
        format!("#{{E:#(touch {marker})}}"),
        format!("$(touch {marker}) `touch {marker}`"),
        format!("';run-shell 'touch {marker}';'"),
        format!("\" ; run-shell \"touch {marker}\" ; \""),
        "';kill-server".to_owned(),
        "; kill-server ;".to_owned(),
        "\\;".to_owned(),
        "-c nobody".to_owned(),
        "--help".to_owned(),
        "[fg=red] #[fg=red] %H:%M %%".to_owned(),
        "\u{1b}]0;owned\u{7}\u{1b}\\\u{9c}\u{9d}52;c;AAAA\u{7}".to_owned(),
        "4;1;50".to_owned(),
        "x".repeat(20_000),
    ] {
        let mut started = start("startup");
        started["cwd"] = json!(format!("/home/u/{text}"));
        started["session_title"] = json!(text);
        hook(&world, &started);
        // tmux itself expands the argument of rename-window and cleans the result.
        let name: String = text.replace('#', "##").chars().filter(|c| !c.is_control()).collect();
        world.tmux(&["rename-window", "-t", &world.pane, "--", &name[..name.len().min(200)]]);
        hook(&world, &stop(&text));
        notify(&world);
        told += 4;
        check_calls(&world, told);
    }
    for call in calls(&world) {
        let texts = call.arguments.iter().chain(call.environment.values());
        for text in texts.filter(|text| !text.contains("/proc/")) {
            assert!(!text.chars().any(char::is_control), "{}: {text:?}", call.program);
        }
    }
    for line in journal(&world) {
        assert_eq!(line["failed"], Value::Null, "{line}");
    }
    world.tmux(&["rename-window", "-t", "front", "still here"]);
    poll_until("the client draws", || terminal.screen().contains("still here"));
    assert!(!Path::new(marker).exists(), "something was executed");
    let title = terminal.tmux(&["display-message", "-p", "#{pane_title}"]);
    assert!(!title.contains("owned"), "the terminal obeyed: {title}");
}

#[test]
fn a_trial_says_how_each_channel_went() {
    let world = world(
        "[notify]\nchannels = ['phone', 'fails']\n[notify.phone]\ncommand = ['recorder']\n[notify.fails]\ncommand = ['fails']\n",
    );
    let (said, problem) = check_exit(&world.cld(&["notify", "--test"]).output().unwrap(), 1);
    assert_eq!(said, "phone  done\nfails  failed: exit code 3: the secret is out\n");
    assert!(problem.contains("1 of 2 channels failed"), "{problem}");
    check_calls(&world, 1);
    configured(&world, "");
    let (said, _) = check_exit(&world.cld(&["notify", "--test"]).output().unwrap(), 1);
    assert_eq!(said, "tmux  failed: no client is attached\n");
    let _terminal = world.attach();
    let (said, _) = check_exit(&world.cld(&["notify", "--test"]).output().unwrap(), 0);
    assert_eq!(said, "tmux  told 1 client\n");
    let (_, usage) = check_exit(&world.cld(&["notify"]).output().unwrap(), 2);
    assert!(usage.contains("%5"), "{usage}");
    check_exit(&world.cld(&["notify", "main:0"]).output().unwrap(), 2);
}
