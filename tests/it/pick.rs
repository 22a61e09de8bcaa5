//! `cld pick` on a real terminal: what it shows, and what every key does.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::living::{Claude, config_dir};
use crate::picking::{Open, Picker, command, line, titles, wait};
use crate::stage::{Stage, check_exit, id, plant, prompt, reply};
use crate::world::{World, poll_until, tmux_program, tmux_version};

/// A past session in a directory of its own, the higher the number the newer.
fn plant_past(world: &World, number: u32, title: &str) {
    let dir = world.dir(&format!("past{number}"));
    let mut lines = [prompt(&dir, title), reply(&dir, &format!("answered {number}"))];
    for line in &mut lines {
        line["timestamp"] = json!(format!("2026-11-17T00:{number:02}:00.000Z"));
        line["gitBranch"] = json!(format!("branch-{number}"));
    }
    plant(&world.home().join(".claude"), &dir, &id(number), &lines);
}

/// Two that wait, one that runs, two of the past.
fn everything(world: &World) -> [Open<'_>; 3] {
    let login = Open::start(world, 1, "fix the login");
    let page = Open::start(world, 2, "new page");
    let parser = Open::start(world, 3, "slow parser");
    page.asks("make page");
    login.asks("make login");
    plant_past(world, 10, "old story");
    plant_past(world, 11, "newer story");
    [login, page, parser]
}

/// Whether all of [`everything`] is shown, those in panes as such.
fn all_are_there(screen: &str) -> bool {
    screen.contains("5/5") && screen.contains("waiting 2")
}

#[track_caller]
fn check_restored(picker: &Picker<'_>) {
    let modes = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}";
    assert_eq!(picker.format(modes), "0 0 1", "{}", picker.screen());
}

#[test]
fn the_oldest_wait_comes_first_and_the_past_last() {
    let world = World::new();
    let _open = everything(&world);
    let picker = Picker::open(&world, "");
    let screen = picker.wait("all are there", |screen| screen.contains("old story"));
    assert_eq!(
        titles(&screen),
        [
            "waiting 2",
            "new page",
            "fix the login",
            "running 1",
            "slow parser",
            "past 2",
            "newer story",
            "old story"
        ]
    );
    assert!(all_are_there(&screen), "{screen}");
    let screen = picker.wait("its preview", |screen| screen.contains("an answer to 2"));
    assert_eq!(Picker::chosen(&screen), "new page");
    for part in ["waiting: permission", "Bash: make page", "~/proj2 (main)"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

#[test]
fn typing_filters_by_title_directory_branch_and_id() {
    let world = World::new();
    let _open = everything(&world);
    let picker = Picker::open(&world, "");
    picker.wait("all are there", all_are_there);
    for (text, expected) in [
        ("parser", &["running 1", "slow parser"][..]),
        ("past11", &["past 1", "newer story"]),
        ("branch-10", &["past 1", "old story"]),
        ("00000002", &["waiting 1", "new page"]),
        ("nothing of it", &[]),
    ] {
        picker.keys(&["-l", text]);
        let fits = |screen: &str| {
            let found = titles(screen);
            found == expected || expected.is_empty() && screen.contains("nothing fits")
        };
        picker.wait(text, fits);
        picker.keys(&["C-u"]);
        picker.wait("all are back", all_are_there);
    }
}

#[test]
fn enter_brings_the_client_to_the_pane_of_a_session() {
    let world = World::new();
    let [login, ..] = everything(&world);
    let _terminal = world.attach();
    let picker = Picker::open(&world, "");
    picker.wait_for_choice("new page");
    picker.keys(&["Down"]);
    picker.wait_for_choice("fix the login");
    picker.keys(&["Enter"]);
    picker.wait_for_exit(0);
    assert_eq!(world.tmux(&["list-clients", "-F", "#{pane_id}"]), login.pane);
    check_restored(&picker);
}

#[test]
fn enter_resumes_a_past_session_in_its_directory() {
    let world = World::new().staged();
    plant_past(&world, 10, "old story");
    plant_past(&world, 11, "newer story");
    let picker = Picker::open(&world, "");
    picker.keys(&["old"]);
    picker.wait_for_choice("old story");
    picker.keys(&["Enter"]);
    world.wait_for_start().check(&world.dir("past10"), &["--resume", &id(10)]);
    picker.wait_for_exit(0);
    check_restored(&picker);
}

#[test]
fn where_the_directory_is_gone_it_is_asked_where_to_go_on() {
    let world = World::new().staged();
    plant_past(&world, 10, "old story");
    fs::remove_dir_all(world.dir("past10")).unwrap();
    let picker = Picker::open(&world, "");
    picker.wait_for_choice("old story");
    picker.keys(&["Enter"]);
    picker.wait("the question", |screen| screen.contains("Where to resume?"));
    picker.keys(&["1", "Enter"]);
    world.wait_for_start();
}

#[test]
fn whoever_cannot_go_stays_and_is_told_why() {
    let world = World::new();
    plant_past(&world, 10, "old story");
    let claude = Claude::start();
    claude.register(&config_dir(&world), &id(1), &json!({"status": "idle", "name": "elsewhere"}));
    let empty = world.path("empty");
    fs::create_dir(&empty).unwrap();
    let world = world.with("PATH", empty.to_str().unwrap());
    let picker = Picker::open(&world, "");
    picker.wait_for_choice("elsewhere");
    picker.keys(&["Enter"]);
    picker.wait("a reason", |screen| screen.contains("it is open, but in no pane of tmux"));
    picker.keys(&["Down"]);
    picker.wait_for_choice("old story");
    picker.keys(&["Enter"]);
    picker.wait("a reason", |screen| screen.contains("there is no program `claude`"));
    picker.keys(&["Escape"]);
    picker.wait_for_exit(130);
}

#[test]
fn a_fork_is_asked_for_and_leaves_the_session_alone() {
    let world = World::new().staged();
    let open = Open::start(&world, 1, "fix the login");
    let picker = Picker::open(&world, "");
    picker.wait_for_choice("fix the login");
    picker.keys(&["f"]);
    picker.wait("the question", |screen| screen.contains("Go on in a copy"));
    assert!(world.started().is_none());
    picker.keys(&["Enter"]);
    let started = world.wait_for_start();
    started.check(&world.dir("proj1"), &["--resume", &open.id, "--fork-session"]);
}

/// What `cld queue` lists, in its order.
fn queue(world: &World, arguments: &[&str]) -> Vec<String> {
    let output = world.cld(&[&["queue", "--json"], arguments].concat()).output().unwrap();
    let (out, _) = check_exit(&output, 0);
    let queue: serde_json::Value = serde_json::from_str(&out).unwrap();
    let sessions = queue["sessions"].as_array().unwrap().iter();
    sessions.map(|session| session["session_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_snoozed_or_skipped_leaves_the_queue_and_the_same_key_brings_it_back() {
    for (key, word) in [("s", "snoozed"), ("x", "skipped"), ("M-s", "snoozed"), ("M-x", "skipped")]
    {
        let world = World::new();
        let [login, page, _parser] = everything(&world);
        let picker = Picker::open(&world, "");
        picker.wait("all are there", all_are_there);
        assert_eq!(queue(&world, &[]), [&*page.id, &*login.id]);
        picker.keys(&[key]);
        let later = ["waiting 1", "fix the login", "later 1", "new page", "running 1"];
        let screen = picker
            .wait("it is put off", |screen| titles(screen).starts_with(&later.map(str::to_owned)));
        assert_eq!(Picker::chosen(&screen), "fix the login", "the next one");
        picker.wait("a word about it", |screen| {
            screen
                .lines()
                .last()
                .is_some_and(|line| line.starts_with(word) && line.ends_with("new page"))
        });
        assert_eq!(queue(&world, &[]), [&*login.id]);
        picker.keys(&["Down"]);
        picker.wait_for_choice("new page");
        picker.keys(&[key]);
        let back = ["waiting 2", "new page", "fix the login", "running 1"];
        picker.wait("it is back", |screen| titles(screen).starts_with(&back.map(str::to_owned)));
        assert_eq!(queue(&world, &[]), [&*page.id, &*login.id]);
    }
}

#[test]
fn back_leads_from_a_picked_session_to_where_one_was() {
    let world = World::new();
    let _open = everything(&world);
    let _terminal = world.attach();
    let picker = Picker::open(&world, "");
    picker.wait_for_choice("new page");
    picker.keys(&["Enter"]);
    picker.wait_for_exit(0);
    let shown = || world.tmux(&["list-clients", "-F", "#{pane_id}"]);
    assert_ne!(shown(), picker.pane);
    check_exit(&world.cld(&["back"]).output().unwrap(), 0);
    assert_eq!(shown(), picker.pane);
}

#[test]
fn a_slash_searches_what_was_said_and_enter_goes_to_where() {
    let world = World::new().staged();
    let dir = world.dir("deep");
    let words = "first line\nthe server said: connection refused on port 8080\nlast line";
    let lines = [prompt(&dir, "what is wrong"), reply(&dir, words)];
    plant(&world.home().join(".claude"), &dir, &id(20), &lines);
    plant_past(&world, 10, "old story");
    let open = Open::start(&world, 1, "fix the login");
    let picker = Picker::open(&world, "");
    picker.wait("all are there", |screen| screen.contains("3/3"));
    picker.keys(&["/"]);
    picker.keys(&["-l", "refused port"]);
    let screen =
        picker.wait("it is found", |screen| screen.contains("1 found") && !screen.contains('%'));
    assert_eq!(titles(&screen), ["found 1", "what is wrong"], "{screen}");
    assert_eq!(Picker::chosen(&screen), "what is wrong");
    let screen = screen.replace(['\n', '│'], " ");
    assert!(screen.contains("refused on port 8080"), "{screen}");
    assert!(!screen.contains("last line"), "only the line of the match: {screen}");
    let painted = world.tmux(&["capture-pane", "-p", "-e", "-t", &picker.pane]);
    assert!(painted.contains("mrefused\u{1b}["), "it is marked: {painted:?}");
    picker.keys(&["C-u"]);
    picker.keys(&["-l", "\"answer to 1\""]);
    picker.wait_for_choice("fix the login");
    picker.keys(&["C-u"]);
    picker.keys(&["-l", "no such words at all"]);
    picker.wait("nothing", |screen| screen.contains("nothing found"));
    picker.keys(&["Escape"]);
    picker.wait("all are back", |screen| screen.contains("3/3"));
    let _terminal = world.attach();
    picker.keys(&["-l", "/\"answer to\""]);
    // The same session was the first one before.
    picker.wait("it is found", |screen| titles(screen) == ["found 1", "fix the login"]);
    picker.keys(&["Enter"]);
    picker.wait_for_exit(0);
    assert_eq!(world.tmux(&["list-clients", "-F", "#{pane_id}"]), open.pane);
    let picker = Picker::open(&world, "");
    picker.keys(&["-l", "/refused"]);
    picker.wait_for_choice("what is wrong");
    picker.keys(&["Enter"]);
    world.wait_for_start().check(&dir, &["--resume", &id(20)]);
}

#[test]
fn an_id_is_copied_to_tmux() {
    let world = World::new();
    let [_, page, _] = everything(&world);
    let picker = Picker::open(&world, "");
    picker.wait_for_choice("new page");
    picker.keys(&["y"]);
    picker.wait("a word about it", |screen| screen.contains(&format!("copied {}", page.id)));
    assert_eq!(world.tmux(&["show-buffer"]), page.id);
}

#[test]
fn outside_of_tmux_an_id_is_copied_through_the_terminal() {
    let world = World::new();
    plant_past(&world, 10, "old story");
    world.tmux(&["set-option", "-s", "set-clipboard", "on"]);
    let run = line(&world, "pick").replace("env ", "env -u TMUX -u TMUX_PANE ");
    let picker = Picker::start(&world, &run);
    picker.wait_for_choice("old story");
    picker.keys(&["y"]);
    picker.wait("a word about it", |screen| screen.contains("copied "));
    wait("the buffer", || world.tmux(&["list-buffers", "-F", "#{buffer_sample}"]), |b| b == id(10));
}

#[test]
fn leaving_does_nothing_and_says_so() {
    for key in ["Escape", "C-c"] {
        let world = World::new().staged();
        plant_past(&world, 10, "old story");
        let picker = Picker::open(&world, "");
        picker.wait_for_choice("old story");
        picker.keys(&[key]);
        picker.wait_for_exit(130);
        check_restored(&picker);
        assert!(world.started().is_none());
    }
}

#[test]
fn help_shows_every_key_and_goes_away() {
    let world = World::new();
    let picker = Picker::open(&world, "");
    picker.keys(&["?"]);
    let screen = picker.wait("help", |screen| screen.contains("╰"));
    for key in ["Enter", "Alt+s", "Alt+x", "Alt+f", "Alt+y", "PgDn", "Ctrl+C"] {
        assert!(screen.contains(key), "{key}: {screen}");
    }
    picker.keys(&["?"]);
    picker.wait("no help", |screen| !screen.contains("╰"));
    picker.keys(&["Escape"]);
    picker.wait_for_exit(130);
}

#[test]
fn the_screen_follows_what_happens_and_the_choice_stays() {
    let world = World::new();
    let [login, page, parser] = everything(&world);
    let picker = Picker::open(&world, "");
    picker.wait("all are there", all_are_there);
    picker.keys(&["Down", "Down"]);
    picker.wait_for_choice("slow parser");
    page.tell("UserPromptSubmit", &json!({"prompt": "go on"}));
    let answered =
        ["waiting 1", "fix the login", "running 2", "new page", "slow parser"].map(str::to_owned);
    let screen = picker.wait("an answer", |screen| titles(screen).starts_with(&answered));
    assert_eq!(Picker::chosen(&screen), "slow parser");
    parser.asks("make slow");
    let asks = ["waiting 2", "fix the login", "slow parser", "running 1"].map(str::to_owned);
    let screen = picker.wait("a question", |screen| titles(screen).starts_with(&asks));
    assert_eq!(Picker::chosen(&screen), "slow parser");
    picker.wait("what is asked", |screen| screen.contains("Bash: make slow"));
    world.tmux(&["kill-pane", "-t", &parser.pane]);
    let screen = picker.wait("it is over", |screen| {
        titles(screen)
            .iter()
            .skip_while(|line| !line.starts_with("past"))
            .any(|l| l == "slow parser")
    });
    assert_eq!(Picker::chosen(&screen), "slow parser");
    let pid = world.tmux(&["display-message", "-p", "-t", &login.pane, "#{pane_pid}"]);
    world.tmux(&["set-option", "-w", "-t", &login.pane, "remain-on-exit", "on"]);
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let screen = picker.wait("nobody waits", |screen| !screen.contains("waiting "));
    assert!(titles(&screen).contains(&"fix the login".to_owned()), "{screen}");
}

#[test]
fn the_preview_grows_with_the_conversation() {
    let world = World::new();
    let open = Open::start(&world, 1, "fix the login");
    let picker = Picker::open(&world, "");
    picker.wait("its preview", |screen| screen.contains("an answer to 1"));
    let more = reply(&world.dir("proj1"), "and one more word");
    let mut transcript = fs::File::options().append(true).open(open.transcript()).unwrap();
    writeln!(transcript, "{more}").unwrap();
    picker.wait("the new words", |screen| screen.contains("and one more word"));
}

#[test]
fn while_nothing_happens_only_ages_are_drawn() {
    let world = World::new();
    let _open = everything(&world);
    let picker = Picker::open(&world, "");
    picker
        .wait("all is drawn", |screen| all_are_there(screen) && screen.contains("an answer to 2"));
    let written = world.path("written");
    let copy = format!("exec cat > '{}'", written.display());
    world.tmux(&["pipe-pane", "-t", &picker.pane, &copy]);
    let drawn = || String::from_utf8_lossy(&fs::read(&written).unwrap_or_default()).into_owned();
    let frames = |drawn: &str| drawn.matches("\u{1b}[?25h").count();
    poll_until("three frames are drawn", || frames(&drawn()) >= 3);
    let drawn = drawn();
    assert!(drawn.len() / frames(&drawn) < 300, "{drawn:?}");
    assert!(!drawn.contains("\u{1b}[2J") && !drawn.contains("login"), "{drawn:?}");
}

#[test]
fn a_pane_that_is_closed_takes_the_picker_with_it() {
    let world = World::new();
    let picker = Picker::open(&world, "");
    let shell = picker.format("#{pane_pid}");
    let children = format!("/proc/{shell}/task/{shell}/children");
    let child = fs::read_to_string(children).unwrap().trim().to_owned();
    world.tmux(&["kill-pane", "-t", &picker.pane]);
    poll_until("it is gone", || !Path::new(&format!("/proc/{child}")).exists());
}

#[test]
fn every_size_has_its_frame() {
    let world = World::new();
    let _open = everything(&world);
    let picker = Picker::open(&world, "");
    picker.wait("all are there", all_are_there);
    picker.resize(200, 60);
    // A frame comes in pieces, its last line last.
    let wide = picker.wait("the whole frame, with the keys below", |screen| {
        screen.lines().count() == 60 && screen.lines().last().unwrap().contains("Esc leave")
    });
    assert!(wide.contains("00000002 permission  new page"), "{wide}");
    picker.resize(60, 30);
    picker.wait("the preview below", |screen| screen.contains("────") && !screen.contains('│'));
    for (columns, rows) in [(30, 6), (10, 3), (2, 2), (1, 1)] {
        picker.resize(columns, rows);
        picker.wait("a small frame", |screen| screen.starts_with('>'));
    }
    picker.resize(80, 24);
    picker.wait_for_choice("new page");
    picker.keys(&["Escape"]);
    picker.wait_for_exit(130);
}

#[test]
fn wide_letters_and_emoji_leave_the_columns_straight() {
    let world = World::new();
    let titles = [
        "日本語のテストを直してください、お願いします",
        "party 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉",
        "naïve café",
        "plain",
    ];
    for (number, title) in (10..).zip(titles) {
        plant_past(&world, number, title);
    }
    let picker = Picker::open(&world, "");
    for (columns, rows) in [(80, 24), (200, 60), (101, 30)] {
        picker.resize(columns, rows);
        let list = usize::from(columns * 11 / 20);
        let is_straight = |screen: &str| {
            let lines = screen.lines().skip(1).take(usize::from(rows) - 2);
            let columns = lines.map(|line| cld::screen::width(line.split('│').next().unwrap()));
            columns.into_iter().all(|columns| columns == list) && screen.contains("日本語")
        };
        picker.wait("a straight line", is_straight);
    }
}

#[test]
fn nothing_of_a_title_or_an_answer_acts_on_the_terminal() {
    let world = World::new();
    let dir = world.dir("proj");
    let evil = "\u{1b}]2;pwned\u{7}\u{1b}[2Jtitle\u{9b}31m\u{202e}!";
    let lines = [prompt(&dir, evil), reply(&dir, &format!("answer {evil}\n\u{1b}[5mend"))];
    plant(&world.home().join(".claude"), &dir, &id(1), &lines);
    let picker = Picker::open(&world, "");
    let screen = picker.wait("the preview", |screen| screen.contains("answer"));
    assert!(screen.starts_with('>') && screen.contains("]2;pwned"), "{screen}");
    assert!(!picker.format("#{pane_title}").contains("pwned"));
}

#[test]
fn the_mouse_chooses_and_goes() {
    let world = World::new();
    let [login, ..] = everything(&world);
    let _terminal = world.attach();
    let picker = Picker::open(&world, "");
    picker.wait("all are there", all_are_there);
    picker.raw("\u{1b}[<65;5;5M");
    picker.wait_for_choice("newer story");
    let click = "\u{1b}[<0;5;4M\u{1b}[<0;5;4m";
    picker.raw(click);
    picker.wait_for_choice("fix the login");
    picker.raw(&format!("{click}{click}"));
    picker.wait_for_exit(0);
    assert_eq!(world.tmux(&["list-clients", "-F", "#{pane_id}"]), login.pane);
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    for signal in ["TERM", "HUP", "INT"] {
        let world = World::new();
        let home = world.home();
        let script = home.join("script");
        fs::write(&script, format!("echo $$ > pid\nexec {}", command(&world, "pick"))).unwrap();
        let run = format!("cd '{}'; stty -a > before; sh script; stty -a > after", home.display());
        let picker = Picker::start(&world, &run);
        picker.wait("a frame", |screen| screen.starts_with('>'));
        let pid = fs::read_to_string(home.join("pid")).unwrap();
        let kill = ["-s", signal, pid.trim()];
        assert!(Command::new("kill").args(kill).status().unwrap().success());
        picker.wait("the end", |screen| screen.contains("exit "));
        check_restored(&picker);
        let mode = |name: &str| fs::read_to_string(home.join(name)).unwrap();
        assert_eq!(mode("before"), mode("after"), "{signal}");
    }
}

/// Run by the test below, in a pane: the panic of a picker.
#[test]
#[ignore = "takes the whole terminal"]
fn panics_on_the_whole_screen() {
    let _screen = cld::pick::fullscreen::Fullscreen::begin().unwrap();
    panic!("in the middle of a frame");
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was_and_is_read() {
    let world = World::new();
    let test = std::env::current_exe().unwrap();
    let run = format!(
        "cd '{}'; stty -a > before; {} --ignored --exact --nocapture pick::panics_on_the_whole_screen; \
         echo \"exit $?\"; stty -a > after; echo done",
        world.home().display(),
        test.display()
    );
    let picker = Picker::start(&world, &run);
    let screen = picker.wait("the end", |screen| screen.contains("done"));
    assert!(screen.contains("in the middle of a frame"), "{screen}");
    assert!(screen.contains("exit 101"), "{screen}");
    check_restored(&picker);
    let mode = |name: &str| fs::read_to_string(world.home().join(name)).unwrap();
    assert_eq!(mode("before"), mode("after"));
}

#[test]
fn without_a_terminal_there_is_nothing_to_pick_on() {
    let world = World::new();
    let output = world.cld(&["pick"]).stdin(Stdio::null()).output().unwrap();
    let (_, err) = check_exit(&output, 2);
    assert!(err.contains("pick needs a terminal"), "{err}");
}

#[test]
fn the_id_is_printed_for_scripts() {
    let world = World::new().staged();
    plant_past(&world, 10, "old story");
    let picker = Picker::open(&world, "--print > out");
    picker.wait_for_choice("old story");
    picker.keys(&["Enter"]);
    picker.wait_for_exit(0);
    assert_eq!(fs::read_to_string(world.home().join("out")).unwrap(), id(10) + "\n");
    assert!(world.started().is_none());
}

#[test]
fn without_colours_only_bold_faint_and_reversed_text_is_used() {
    for (colour, expected) in [("NO_COLOR=1", false), ("NO_COLOR=", true)] {
        let world = World::new();
        let _open = everything(&world);
        let run = line(&world, "pick").replace("env ", &format!("env {colour} "));
        let picker = Picker::start(&world, &run);
        picker.wait("all are there", all_are_there);
        let painted = world.tmux(&["capture-pane", "-p", "-e", "-t", &picker.pane]);
        assert_eq!(painted.contains("38;2;236;95;103"), expected, "{painted:?}");
        let painted = painted.replace("\u{1b}[39m", "").replace("\u{1b}[49m", "");
        let has_colour =
            painted.split('\u{1b}').any(|code| code.starts_with("[3") || code.starts_with("[4"));
        assert_eq!(has_colour, expected, "{painted:?}");
    }
}

/// Since 3.3 a binding can tell a popup which client it belongs to.
pub(crate) fn has_popups() -> bool {
    tmux_version() >= (3, 3)
}

/// The binding that the help shows, made in the world's server, and a client to press it in. What
/// it runs is written down when it is over.
fn bound(world: &World) -> crate::world::Terminal<'_> {
    let (help, _) = check_exit(&world.cld(&["pick", "--help"]).output().unwrap(), 0);
    let bind = help.replace("\\\n", " ");
    let bind = bind.lines().find(|line| line.contains("bind-key")).unwrap().trim();
    let tmux = format!("'{}' -S '{}'", tmux_program().display(), world.socket().display());
    let bind = bind.replacen("tmux", &tmux, 1);
    assert!(Command::new("sh").args(["-c", &bind]).status().unwrap().success(), "{bind}");
    let bin = world.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\n{} \"$@\"\necho \"exit $?\" > '{}'\n",
        command(world, ""),
        world.path("ended").display()
    );
    fs::write(bin.join("cld"), script).unwrap();
    fs::set_permissions(bin.join("cld"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.tmux(&["set-environment", "-g", "PATH", &path]);
    let terminal = world.attach();
    terminal.tmux(&["send-keys", "C-b", "g"]);
    terminal
}

#[track_caller]
fn wait_for_end(world: &World, expected: &str) {
    poll_until("the popup is over", || {
        fs::read_to_string(world.path("ended")).is_ok_and(|text| text.ends_with('\n'))
    });
    assert_eq!(fs::read_to_string(world.path("ended")).unwrap(), expected);
}

#[test]
fn from_a_popup_the_client_that_opened_it_is_brought_to_the_session() {
    if !has_popups() {
        return;
    }
    let world = World::new();
    let [_, page, _] = everything(&world);
    // Another client, which was used later, stays where it is.
    let other = ["new-session", "-d", "-s", "side", "-P", "-F", "#{pane_id}", "exec sleep 1000"];
    let other = world.tmux(&other);
    let terminal = bound(&world);
    let second = format!(
        "env -u TMUX -u TMUX_PANE TERM=screen-256color {} -u -S {} attach -t side",
        tmux_program().display(),
        world.socket().display()
    );
    terminal.tmux(&["new-window", "-d", &second]);
    wait("the popup", || terminal.screen(), |screen| screen.contains("an answer to 2"));
    let clients = || world.tmux(&["list-clients", "-F", "#{session_name} #{pane_id}"]);
    poll_until("both clients are there", || clients().contains(&format!("side {other}")));
    terminal.tmux(&["send-keys", "Enter"]);
    poll_until("the client is there", || clients().contains(&format!("main {}", page.pane)));
    assert!(clients().contains(&format!("side {other}")), "{}", clients());
    wait_for_end(&world, "exit 0\n");
}

#[test]
fn from_a_popup_a_past_session_is_resumed_in_a_window_of_its_own() {
    if !has_popups() {
        return;
    }
    let world = World::new().staged();
    plant_past(&world, 10, "old story");
    let terminal = bound(&world);
    wait("the popup", || terminal.screen(), |screen| screen.contains("answered 10"));
    let windows = ["list-windows", "-t", "main", "-F", "#{window_id}"];
    let before = world.tmux(&windows).lines().count();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    terminal.tmux(&["send-keys", "Enter"]);
    world.wait_for_start().check(&world.dir("past10"), &["--resume", &id(10)]);
    assert_eq!(world.tmux(&windows).lines().count(), before + 1);
    wait_for_end(&world, "exit 0\n");
}

#[test]
fn a_popup_is_left_without_a_trace() {
    if !has_popups() {
        return;
    }
    let world = World::new();
    let _open = everything(&world);
    let terminal = bound(&world);
    wait("the popup", || terminal.screen(), |screen| screen.contains("an answer to 2"));
    terminal.tmux(&["send-keys", "Escape"]);
    wait_for_end(&world, "exit 130\n");
    wait("no popup", || terminal.screen(), |screen| !screen.contains("fix the login"));
}
