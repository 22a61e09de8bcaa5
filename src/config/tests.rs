use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn problems_of(text: &str) -> Vec<String> {
    parse(text).2.iter().map(ToString::to_string).collect()
}

fn config(text: &str) -> Config {
    parse(text).0
}

/// The file has exactly this problem, and everything else in it has its effect.
#[track_caller]
fn check_problem(text: &str, expected: &str) {
    assert_eq!(problems_of(text), [expected], "{text}");
}

fn style(text: &str) -> TabStyle {
    TabStyle::Style(text.to_owned())
}

#[test]
fn without_a_file_everything_has_its_default() {
    let (config, settings, problems) = parse("");
    assert_eq!(problems, []);
    assert!(settings.iter().all(|setting| setting.line.is_none()));
    assert_eq!(
        (config.tabs.idle, config.tabs.running, config.tabs.waiting, config.tabs.debounce_ms),
        (style("fg=#cdd3de"), style("fg=#6699cc"), style("fg=#EC5f67"), 0)
    );
    assert_eq!(config.display.icons, Icons::Unicode);
    let [channel] = config.notify.channels.as_slice() else { panic!("{:?}", config.notify) };
    assert_eq!((channel.name.as_str(), channel.kinds.len()), ("tmux", 6));
    assert_eq!((config.notify.quiet, config.notify.min_gap), (None, Duration::ZERO));
    assert_eq!((config.keys.next, config.keys.pick), (None, None));
}

#[test]
fn what_the_file_says_has_its_effect() {
    let config = config(
        r#"
        tabs = { idle = "theme", running = "blue", waiting = "bg=colour160 bold" }
        [display]
        icons = "ascii"
        [notify]
        channels = ["terminal", "phone", "sound"]
        kinds = ["error", "permission"]
        quiet = "22:00-8:30"
        min_gap = "2m"
        [notify.terminal]
        protocol = "osc777"
        [notify.phone]
        command = ["push", "--topic", "x"]
        template = "{title}"
        kinds = ["error"]
        deadline = "30s"
        [keys]
        next = "M-n"
        "#,
    );
    assert_eq!(config.tabs.idle, TabStyle::Theme);
    assert_eq!(config.tabs.running, style("fg=blue"));
    assert_eq!(config.tabs.waiting, style("bg=colour160,bold"));
    assert_eq!(config.display.icons, Icons::Ascii);
    assert_eq!(config.notify.quiet, Some(Quiet { from: 22 * 60, to: 8 * 60 + 30 }));
    assert_eq!(config.notify.min_gap, Duration::from_secs(120));
    let names: Vec<&str> = config.notify.channels.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["terminal", "phone", "sound"]);
    let words = |kinds: &[WaitKind]| kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>();
    let [terminal, phone, _] = config.notify.channels.as_slice() else { unreachable!() };
    assert!(matches!(terminal.way, Way::Terminal { protocol: Protocol::Osc777, .. }));
    assert_eq!(words(&terminal.kinds), ["permission", "error"]);
    assert_eq!((words(&phone.kinds), phone.deadline.as_secs()), (vec!["error"], 30));
    assert_eq!(phone.way, Way::Command(["push", "--topic", "x"].map(str::to_owned).into()));
    assert_eq!(config.keys.next.as_ref().map(Key::as_str), Some("M-n"));
}

#[test]
fn unknown_names_are_told_with_their_line_and_the_nearest_known_one() {
    check_problem(
        "[tabs]\nidel = 1",
        "line 2: `tabs.idel` is not known; did you mean `tabs.idle`?",
    );
    check_problem("\n\n[tab]\n", "line 3: `tab` is not known; did you mean `tabs`?");
    check_problem("[tabs]\nzzzzzzzz = 1", "line 2: `tabs.zzzzzzzz` is not known");
    check_problem(
        "[notify.tmux]\ntemplat = ''",
        "line 2: `notify.tmux.templat` is not known; did you mean `notify.tmux.template`?",
    );
    check_problem(
        "[notify]\nchannels = ['bel']",
        "line 2: `notify.channels` names \"bel\"; did you mean \"bell\"?",
    );
    check_problem(
        "[notify]\nchannels = ['my phone']",
        "line 2: `notify.channels` names \"my phone\"; a command needs a table [notify.\"my phone\"]",
    );
    check_problem(
        "[notify]\nchannels = ['phone']\n[notify.phone]",
        "line 2: `notify.channels` names \"phone\", whose table has no command",
    );
}

#[test]
fn a_value_of_the_wrong_type_costs_only_that_setting() {
    let text = "[tabs]\nidle = 7\nrunning = 'red'\ndebounce_ms = -1\n[notify]\nmin_gap = true";
    assert_eq!(
        problems_of(text),
        [
            "line 2: `tabs.idle` should be a text in quotes, and is a number; it has its default",
            "line 4: `tabs.debounce_ms` should be a whole number from 0 on, and -1 is not; it has its default",
            "line 6: `notify.min_gap` should be a text in quotes, and is true or false; it has its default",
        ]
    );
    let tabs = config(text).tabs;
    assert_eq!((tabs.idle, tabs.running), (style("fg=#cdd3de"), style("fg=red")));
    check_problem("tabs = 3", "line 1: `tabs` should be a table: [tabs]");
    check_problem(
        "[notify]\nkinds = ['done', 'donne']",
        "line 2: `notify.kinds` knows \"permission\", \"question\", \"plan\", \"input\", \"done\", \"error\", and not \"donne\"; did you mean \"done\"?; it has its default",
    );
    check_problem(
        "[notify]\nquiet = '22-8'",
        "line 2: `notify.quiet` should be hours such as \"22:00-08:00\", or \"off\", and \"22-8\" is not; it has its default",
    );
    check_problem(
        "[keys]\nnext = \"n';kill-server\"",
        "line 2: `keys.next` should be a key of tmux such as \"n\", \"M-n\" or \"F5\", and \"n';kill-server\" is not; it has its default",
    );
}

#[test]
fn a_file_that_is_no_toml_says_nothing_but_where_it_breaks() {
    let text = "[tabs]\nidle = 'theme'\nrunning = = 3\n";
    let [problem] = problems_of(text).try_into().unwrap();
    assert!(problem.starts_with("line 3: "), "{problem}");
    assert!(problem.ends_with("; the whole file is left out"), "{problem}");
    assert_eq!(config(text), config(""));
}

#[test]
fn only_styles_that_tmux_takes_get_through() {
    for (text, expected) in [
        ("#cdd3de", Some("fg=#cdd3de")),
        ("fg=#EC5f67", Some("fg=#EC5f67")),
        ("colour255", Some("fg=colour255")),
        ("bg=color8", Some("bg=colour8")),
        ("brightred", Some("fg=brightred")),
        ("fg=red,bg=default,bold,noitalics", Some("fg=red,bg=default,bold,noitalics")),
        ("default", Some("fg=default")),
        ("none", Some("none")),
        ("fg=red  underscore", Some("fg=red,underscore")),
        ("", None),
        (",", None),
        ("#cdd3d", None),
        ("#cdd3dg", None),
        ("colour256", None),
        ("colour", None),
        ("brightdefault", None),
        ("fg=bleu", None),
        ("fg=", None),
        ("nonone", None),
        ("fg=#(touch x)", None),
        ("#{pane_id}", None),
        ("#[bold]", None),
        ("fg=red\nbold", None),
        ("fg=red;kill-server", None),
        ("fg=rèd", None),
    ] {
        let tabs = config(&format!("[tabs]\nidle = {}", show::string(text))).tabs;
        let expected = expected.map_or_else(|| style("fg=#cdd3de"), style);
        assert_eq!(tabs.idle, expected, "{text:?}");
    }
    check_problem(
        "[tabs]\nidle = 'fg=red,blod'",
        "line 2: `tabs.idle` should be a tmux style such as \"fg=#6699cc,bold\", or \"theme\", and `blod` is none of that (did you mean `bold`?); it has its default",
    );
}

#[test]
fn the_hook_reads_the_same_values_without_the_rest() {
    for (text, kinds) in [
        ("", 6),
        ("[tabs]\nidle = 'theme'\nrunning = 3\n[notify]\nkinds = ['done']\nx = 1", 1),
        ("[notify]\nchannels = []", 0),
        ("[tabs", 6),
    ] {
        let mut reader = Reader::values_only(text);
        assert_eq!(reader.section("tabs", Tabs::read), config(text).tabs, "{text}");
        assert_eq!(reader.section("notify", Notify::read_kinds).len(), kinds, "{text}");
    }
}

#[test]
fn quiet_hours_may_go_past_midnight() {
    let at = |hour: u32, minute: u32| hour * 60 + minute;
    let night = Quiet { from: at(22, 0), to: at(8, 0) };
    let noon = Quiet { from: at(12, 0), to: at(13, 30) };
    for (quiet, minute, expected) in [
        (night, at(21, 59), false),
        (night, at(22, 0), true),
        (night, at(0, 0), true),
        (night, at(7, 59), true),
        (night, at(8, 0), false),
        (noon, at(12, 0), true),
        (noon, at(13, 29), true),
        (noon, at(13, 30), false),
        (noon, at(0, 0), false),
        (Quiet { from: 60, to: 60 }, 60, false),
    ] {
        assert_eq!(quiet.holds(minute), expected, "{quiet:?} {minute}");
    }
}

#[test]
fn keys_are_those_of_tmux_that_need_no_quoting() {
    for (text, expected) in [
        ("n", true),
        ("M-n", true),
        ("C-M-Space", true),
        ("F12", true),
        ("-", true),
        ("C--", true),
        ("F13", false),
        ("F0", false),
        ("nn", false),
        ("C-", false),
        (";", false),
        ("'", false),
        ("#", false),
        ("é", false),
        ("M-n ", false),
    ] {
        let keys = config(&format!("[keys]\nnext = {}", show::string(text))).keys;
        assert_eq!(keys.next.is_some(), expected, "{text:?}");
    }
}

/// What is shown is a file that says the same.
#[track_caller]
fn check_shown(text: &str) {
    let (config, settings, _) = parse(text);
    let shown = show::document(&settings);
    let (again, resettings, problems) = parse(&shown);
    assert_eq!(problems, [], "{shown}");
    assert_eq!(again, config, "{shown}");
    assert!(resettings.iter().all(|setting| setting.line.is_some()), "{shown}");
}

#[test]
fn the_shown_settings_are_a_file_with_the_same_effect() {
    check_shown("");
    check_shown(
        "[tabs]\nidle='theme'\n[notify]\nchannels=['a b', 'sound']\nquiet='1:00-2:00'\nmin_gap='90s'\n\
         [notify.'a b']\ncommand=['x', '\"\\', \"\\u001b\"]\ntemplate='ü \" {title}'\n[keys]\npick='F3'",
    );
    let (_, settings, _) = parse("[tabs]\n\nwaiting = 'red'");
    let shown = show::document(&settings);
    assert!(shown.contains("\nwaiting = \"fg=red\"  # line 3\n"), "{shown}");
    assert!(shown.contains("\nrunning = \"fg=#6699cc\"  # default\n"), "{shown}");
}

proptest! {
    #[test]
    fn no_file_breaks_anything(text in "(\\PC|[\n\\[\\]='\"{}#,.]|tabs|notify|idle|channels){0,60}") {
        let (config, settings, _) = parse(&text);
        let shown = show::document(&settings);
        let acts = |c: char| c != '\n' && crate::text::is_unsafe(c);
        prop_assert!(!shown.contains(acts), "{:?}", shown);
        prop_assert_eq!(parse(&shown).0, config);
    }

    #[test]
    fn any_text_is_a_string_again(text in any::<String>()) {
        let written = format!("[notify.tmux]\ntemplate = {}", show::string(&text));
        prop_assert_eq!(problems_of(&written).iter().filter(|one| one.contains("left out")).count(), 0);
    }
}
