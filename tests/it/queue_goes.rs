//! `cld next`, `back`, `skip`, `snooze` and `jump`: who is brought where.

use std::fs;

use serde_json::json;

use crate::queue_stage::{Server, Session, calls, cld, client, everywhere, place, queue, spied};
use crate::stage::check_exit;
use crate::world::{World, poll_until, tmux_program};

/// The pane that every client of the world's server shows.
fn shown(world: &World) -> String {
    world.tmux(&["list-clients", "-F", "#{pane_id}"])
}

/// Sessions of these numbers that ask one after the other, each in a window of its own.
fn asking(world: &World, numbers: std::ops::RangeInclusive<u32>) -> Vec<Session> {
    let sessions: Vec<Session> = numbers.map(|number| Session::new(world, number)).collect();
    for session in &sessions {
        session.ask(world, "make");
    }
    sessions
}

#[test]
fn twenty_panes_in_four_tmux_sessions_on_two_servers_are_visited_once_each_oldest_first() {
    let world = World::new();
    let (own, other) = (Server::of(&world), Server::start(&world, "far"));
    let terminal = world.attach();
    let name = client(&world);
    let mut sessions = Vec::new();
    for number in 1..=20 {
        let (server, tmux_session) =
            [(&own, "main"), (&other, "far"), (&own, "side"), (&other, "beyond")]
                [(number % 4) as usize];
        sessions.push(Session::open(&world, server, &server.window(tmux_session), number));
    }
    // The oldest wait is not the oldest pane.
    sessions.rotate_left(7);
    for session in &sessions {
        session.ask(&world, "make");
    }
    let order: Vec<u32> = sessions.iter().map(|session| session.number).collect();
    assert_eq!(queue(&world, &[]), order);

    let next = |session: &Session| {
        check_exit(&cld(&world, &["next", "--client", &name]), 0);
        let expected = place(session);
        let arrived = || everywhere(&[&own, &other]) == expected;
        poll_until(&format!("{} is shown\n{}", session.pane, terminal.screen()), arrived);
    };
    for session in &sessions {
        next(session);
        if session.number == 12 {
            session.ran(&world, "make");
        }
    }
    sessions.retain(|session| session.number != 12);
    let order: Vec<u32> = sessions.iter().map(|session| session.number).collect();
    assert_eq!(queue(&world, &[]), order);
    for session in &sessions[..3] {
        next(session);
    }
}

#[test]
fn with_nothing_waiting_next_says_so_and_moves_nothing() {
    let world = World::new();
    let _session = Session::new(&world, 1);
    let _terminal = world.attach();
    let before = (shown(&world), world.tmux(&["show-options", "-s"]));
    let (out, err) = check_exit(&cld(&world, &["next"]), 1);
    assert_eq!((&*out, &*err), ("", "cld: nothing waits for you\n"));
    assert_eq!((shown(&world), world.tmux(&["show-options", "-s"])), before);
}

#[test]
fn the_only_one_that_waits_is_not_left() {
    let world = World::new();
    let sessions = asking(&world, 1..=1);
    let _terminal = world.attach();
    check_exit(&cld(&world, &["next"]), 0);
    assert_eq!(shown(&world), sessions[0].pane);
    let (_, err) = check_exit(&cld(&world, &["next"]), 0);
    assert_eq!(err, "cld: nothing else waits for you\n");
    assert_eq!(shown(&world), sessions[0].pane);
}

#[test]
fn whoever_answers_goes_on_from_there_even_when_the_session_asks_again() {
    let world = World::new();
    let sessions = asking(&world, 1..=4);
    let _terminal = world.attach();
    for session in &sessions[..2] {
        check_exit(&cld(&world, &["next"]), 0);
        assert_eq!(shown(&world), session.pane);
    }
    sessions[1].ran(&world, "make");
    sessions[1].ask(&world, "make install");
    for expected in [2, 3, 1, 0] {
        check_exit(&cld(&world, &["next"]), 0);
        assert_eq!(shown(&world), sessions[expected].pane);
    }
}

#[test]
fn back_leads_the_whole_way_back_and_then_says_so() {
    let world = World::new();
    let sessions = asking(&world, 1..=3);
    let _terminal = world.attach();
    let home = shown(&world);
    for _ in 0..3 {
        check_exit(&cld(&world, &["next"]), 0);
    }
    // A place that is gone is left out.
    world.tmux(&["kill-pane", "-t", &sessions[1].pane]);
    check_exit(&cld(&world, &["back"]), 0);
    assert_eq!(shown(&world), sessions[0].pane);
    check_exit(&cld(&world, &["next"]), 0);
    assert_eq!(shown(&world), sessions[2].pane);
    check_exit(&cld(&world, &["back"]), 0);
    check_exit(&cld(&world, &["back"]), 0);
    assert_eq!(shown(&world), home);
    let (_, err) = check_exit(&cld(&world, &["back"]), 1);
    assert_eq!(err, "cld: there is nowhere to go back to\n");
}

#[test]
fn back_leads_to_the_server_somebody_came_from() {
    let world = World::new();
    let (own, other) = (Server::of(&world), Server::start(&world, "far"));
    let session = Session::open(&world, &other, &other.window("far"), 1);
    session.ask(&world, "make");
    let _terminal = world.attach();
    let (home, name) = (everywhere(&[&own]), client(&world));
    check_exit(&cld(&world, &["next", "--client", &name]), 0);
    poll_until("the other server is shown", || everywhere(&[&own, &other]) == place(&session));
    check_exit(&cld(&world, &["back", "--client", &name]), 0);
    poll_until("the own server is shown", || everywhere(&[&own, &other]) == home);
}

#[test]
fn a_pane_that_vanishes_on_another_server_brings_the_client_back() {
    let world = World::new();
    let (own, other) = (Server::of(&world), Server::start(&world, "far"));
    let session = Session::open(&world, &other, &other.window("far"), 1);
    session.ask(&world, "make");
    let kill = format!(
        "case \"$*\" in *detach-client*) '{}' -S '{}' kill-pane -t '{}';; esac",
        tmux_program().display(),
        other.socket.display(),
        session.pane
    );
    let world = spied(world, &kill);
    let terminal = world.attach();
    let (home, name) = (everywhere(&[&own]), client(&world));
    world.tmux(&["set-hook", "-g", "client-attached", "set -s @came 1"]);
    check_exit(&cld(&world, &["next", "--client", &name]), 0);
    poll_until("the client is back", || {
        world.tmux(&["show-options", "-sqv", "@came"]) == "1" && everywhere(&[&own, &other]) == home
    });
    assert!(terminal.screen().contains("main"), "{}", terminal.screen());
}

#[test]
fn a_pane_that_vanishes_in_between_is_passed_over_with_a_word() {
    let world = World::new();
    let sessions = asking(&world, 1..=2);
    let kill = format!(
        "case \"$*\" in *switch-client*{0}*) '{1}' -S '{2}' kill-pane -t '{0}' 2>/dev/null;; esac",
        sessions[0].pane,
        tmux_program().display(),
        world.socket().display(),
    );
    let world = spied(world, &kill);
    let _terminal = world.attach();
    let (_, err) = check_exit(&cld(&world, &["next"]), 0);
    assert_eq!(err, "cld: passed over main:1.0: it is gone\n");
    assert_eq!(shown(&world), sessions[1].pane);
}

#[test]
fn a_killed_claude_is_passed_over_with_a_word() {
    let world = World::new();
    world.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    let sessions = asking(&world, 1..=2);
    sessions[0].kill();
    poll_until("the pane is dead", || {
        world.tmux(&["display-message", "-p", "-t", &sessions[0].pane, "#{pane_dead}"]) == "1"
    });
    let _terminal = world.attach();
    assert_eq!(queue(&world, &["--all"]), [2]);
    let (_, err) = check_exit(&cld(&world, &["next"]), 0);
    assert_eq!(err, "cld: passed over main:1.0: its Claude was killed (cld resume 00000001)\n");
    assert_eq!(shown(&world), sessions[1].pane);
}

#[test]
fn skipped_sessions_stay_out_until_they_wait_for_something_new() {
    let world = World::new();
    let sessions = asking(&world, 1..=3);
    let _terminal = world.attach();
    check_exit(&cld(&world, &["next"]), 0);
    let (_, err) = check_exit(&cld(&world, &["skip"]), 0);
    assert_eq!(err, "cld: skipped main:1.0 until it waits for something new\n");
    assert_eq!(shown(&world), sessions[1].pane);
    assert_eq!((queue(&world, &[]), queue(&world, &["--all"])), (vec![2, 3], vec![2, 3, 1]));
    for expected in [2, 1] {
        check_exit(&cld(&world, &["next"]), 0);
        assert_eq!(shown(&world), sessions[expected].pane);
    }
    // The Notification that follows a dialog is nothing new.
    let note = json!({"notification_type": "permission_prompt", "message": "Claude needs you"});
    sessions[0].hook(&world, "Notification", &note);
    assert_eq!(queue(&world, &[]), [2, 3]);
    sessions[0].ran(&world, "make");
    sessions[0].ask(&world, "make install");
    assert_eq!(queue(&world, &[]), [2, 3, 1]);
}

#[test]
fn whoever_skips_the_last_one_stays_and_is_told() {
    let world = World::new();
    let sessions = asking(&world, 1..=1);
    let _terminal = world.attach();
    check_exit(&cld(&world, &["next"]), 0);
    let (_, err) = check_exit(&cld(&world, &["skip"]), 0);
    assert!(err.ends_with("cld: nothing else waits for you\n"), "{err}");
    assert_eq!(shown(&world), sessions[0].pane);
    let (_, err) = check_exit(&cld(&world, &["next"]), 1);
    assert_eq!(err, "cld: nothing waits for you but 1 skipped (cld queue --all)\n");
    check_exit(&cld(&world, &["skip", "--undo"]), 0);
    assert_eq!(queue(&world, &[]), [1]);
    check_exit(&cld(&world, &["skip", "--undo"]), 1);
}

#[test]
fn a_session_can_be_put_off_from_anywhere() {
    let world = World::new();
    let sessions = asking(&world, 1..=3);
    let _terminal = world.attach();
    let home = shown(&world);
    check_exit(&cld(&world, &["skip", &sessions[1].pane]), 0);
    let (_, err) = check_exit(&cld(&world, &["snooze", "2h", "--id", "00000003"]), 0);
    assert_eq!(err, "cld: snoozed main:3.0 for 2h\n");
    assert_eq!(shown(&world), home);
    assert_eq!(queue(&world, &[]), [1]);
    check_exit(&cld(&world, &["snooze", "--undo", "--id", "00000003"]), 0);
    assert_eq!(queue(&world, &[]), [1, 3]);
    let (_, err) = check_exit(&cld(&world, &["skip"]), 1);
    assert_eq!(err, "cld: main:0.0 does not wait for you\n");
}

#[test]
fn a_snoozed_session_comes_back_when_its_time_is_over() {
    let world = World::new();
    let sessions = asking(&world, 1..=1);
    check_exit(&cld(&world, &["snooze", "until", "14:00", "--id", &sessions[0].id()]), 0);
    assert_eq!(queue(&world, &[]), [0_u32; 0]);
    check_exit(&cld(&world, &["snooze", "1s", "--id", &sessions[0].id()]), 0);
    poll_until("it is back", || queue(&world, &[]) == [1]);
    let (_, err) = check_exit(&cld(&world, &["snooze", "soon"]), 2);
    assert!(err.contains("until 14:00"), "{err}");
}

#[test]
fn jump_goes_to_any_open_session() {
    let world = World::new();
    let session = Session::new(&world, 7);
    let _terminal = world.attach();
    let home = shown(&world);
    for name in ["00000007", &*session.pane, "main:1.0"] {
        check_exit(&cld(&world, &["jump", name]), 0);
        assert_eq!(shown(&world), session.pane, "{name}");
        check_exit(&cld(&world, &["back"]), 0);
        assert_eq!(shown(&world), home);
    }
    session.hook(&world, "SessionEnd", &json!({"reason": "prompt_input_exit"}));
    let (_, err) = check_exit(&cld(&world, &["jump", "00000007"]), 1);
    assert_eq!(err, "cld: session 00000007 is not open\nTry: cld resume 00000007\n");
}

#[test]
fn of_several_clients_the_named_one_is_brought_there_and_has_its_own_way_back() {
    let world = World::new();
    // Clients of one tmux session always show the same window, so each wait is in one of its own.
    let server = Server::of(&world);
    let open = |number, name| Session::open(&world, &server, &server.window(name), number);
    let sessions = [open(1, "one"), open(2, "two")];
    for session in &sessions {
        session.ask(&world, "make");
    }
    let side = server.window("side");
    let terminal = world.attach();
    let first = client(&world);
    let second = format!(
        "env -u TMUX -u TMUX_PANE TERM=screen-256color {} -u -S {} attach -t side",
        tmux_program().display(),
        world.socket().display()
    );
    terminal.tmux(&["new-window", &second]);
    let list = || world.tmux(&["list-clients", "-F", "#{client_name} #{pane_id}"]);
    poll_until("both clients are there", || list().lines().count() == 2);
    let listed = list();
    let second = listed.lines().find_map(|line| line.strip_suffix(&format!(" {side}"))).unwrap();
    let at = |name: &str, pane: &str| list().lines().any(|line| line == format!("{name} {pane}"));
    let home = world.pane.clone();

    check_exit(&cld(&world, &["next", "--client", second]), 0);
    assert!(at(second, &sessions[0].pane) && at(&first, &home), "{}", list());
    check_exit(&cld(&world, &["next", "--client", &first]), 0);
    check_exit(&cld(&world, &["next", "--client", &first]), 0);
    check_exit(&cld(&world, &["back", "--client", second]), 0);
    assert!(at(second, &side) && at(&first, &sessions[1].pane), "{}", list());
    let (_, err) = check_exit(&cld(&world, &["next", "--client", "/dev/pts/none"]), 1);
    assert_eq!(err, "cld: tmux has no client /dev/pts/none\n");
}

#[test]
fn a_key_binding_brings_its_client_and_shows_what_there_is_to_say() {
    let world = World::new();
    let sessions = asking(&world, 1..=1);
    let terminal = world.attach();
    let mut binding = String::from("env");
    for (name, value) in world.cld(&[]).get_envs().filter_map(|(name, value)| Some((name, value?)))
    {
        if name != "TMUX_PANE" {
            binding.push_str(&format!(" {}='{}'", name.to_str().unwrap(), value.to_str().unwrap()));
        }
    }
    let binding =
        format!("{binding} {} next --client '#{{client_name}}' || true", env!("CARGO_BIN_EXE_cld"));
    world.tmux(&["bind-key", "-n", "M-n", "run-shell", "-b", &binding]);
    world.tmux(&["set-option", "-g", "display-time", "0"]);
    terminal.tmux(&["send-keys", "M-n"]);
    poll_until("the client is brought there", || shown(&world) == sessions[0].pane);
    sessions[0].ran(&world, "make");
    terminal.tmux(&["send-keys", "M-n"]);
    poll_until("the client is told", || terminal.screen().contains("nothing waits for you"));
}

#[test]
fn a_zoomed_window_stays_zoomed_and_a_split_one_shows_the_right_pane() {
    let world = World::new();
    let server = Server::of(&world);
    server.window("main");
    let split = ["split-window", "-d", "-t", "main:1", "-P", "-F", "#{pane_id}", "exec sleep 1000"];
    let session = Session::open(&world, &server, &world.tmux(&split), 1);
    session.ask(&world, "make");
    world.tmux(&["select-pane", "-t", &session.pane]);
    world.tmux(&["resize-pane", "-Z", "-t", &session.pane]);
    let _terminal = world.attach();
    check_exit(&cld(&world, &["next"]), 0);
    assert_eq!(shown(&world), session.pane);
    let zoomed = ["display-message", "-p", "-t", &session.pane, "#{window_zoomed_flag}"];
    assert_eq!(world.tmux(&zoomed), "1");
}

#[test]
fn a_window_that_two_tmux_sessions_share_is_shown_in_the_one_somebody_is_in() {
    let world = World::new();
    let sessions = asking(&world, 1..=1);
    world.tmux(&["new-session", "-d", "-s", "twin", "-t", "main"]);
    // tmux itself would take the session that was used last.
    world.tmux(&["select-window", "-t", "twin:0"]);
    let _terminal = world.attach();
    check_exit(&cld(&world, &["next"]), 0);
    let at = world.tmux(&["list-clients", "-F", "#{session_name} #{pane_id}"]);
    assert_eq!(at, format!("main {}", sessions[0].pane));
    let twin = world.tmux(&["display-message", "-p", "-t", "twin:", "#{pane_id}"]);
    assert_ne!(twin, sessions[0].pane);
}

#[test]
fn without_a_client_the_panes_are_put_in_front_one_after_the_other() {
    let world = World::new();
    let sessions = asking(&world, 1..=3);
    for session in sessions.iter().chain(&sessions[..1]) {
        check_exit(&cld(&world, &["next"]), 0);
        let front = world.tmux(&["display-message", "-p", "-t", "main:", "#{pane_id}"]);
        assert_eq!(front, session.pane);
    }
}

#[test]
fn a_plain_terminal_becomes_a_client_and_goes_on_where_it_was() {
    let world = World::new();
    let far = Server::start(&world, "far");
    let sessions: Vec<Session> =
        (1..=2).map(|number| Session::open(&world, &far, &far.window("far"), number)).collect();
    for session in &sessions {
        session.ask(&world, "make");
    }
    let terminal = world.attach();
    let mut shell = "env -u TMUX -u TMUX_PANE".to_owned();
    for (name, value) in world.cld(&[]).get_envs().filter_map(|(name, value)| Some((name, value?)))
    {
        if name.to_str().is_some_and(|name| !name.starts_with("TMUX") || name == "TMUX_TMPDIR") {
            shell.push_str(&format!(" {}='{}'", name.to_str().unwrap(), value.to_str().unwrap()));
        }
    }
    terminal.tmux(&["new-window", &format!("{shell} TERM=screen-256color PS1=ready: sh")]);
    let visit = |session: &Session| {
        poll_until("the shell is there", || terminal.screen().trim_end().ends_with("ready:"));
        terminal.press(&["-l", concat!(env!("CARGO_BIN_EXE_cld"), " next")]);
        terminal.press(&["Enter"]);
        poll_until("the pane is shown", || far.shown() == session.pane);
        terminal.press(&["C-b", "d"]);
        poll_until("it is left", || far.shown().is_empty());
    };
    for number in [0, 1, 0, 1] {
        visit(&sessions[number]);
    }
    sessions[0].ran(&world, "make");
    visit(&sessions[1]);
}

#[test]
fn next_takes_two_tmux_processes() {
    let world = World::new();
    asking(&world, 1..=5);
    let world = spied(world, "");
    let _terminal = world.attach();
    check_exit(&cld(&world, &["next"]), 0);
    let said = fs::read_to_string(world.path("calls")).unwrap();
    assert_eq!(calls(&world), 2, "{said}");
}
