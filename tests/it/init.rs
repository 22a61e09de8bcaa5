//! The shell companion, in the real shells.

use std::fs;
use std::process::{Command, Output};

use serde_json::json;

use crate::events::{event, start};
use crate::generated::{has, repository};
use crate::living::{Claude, Transcript, config_dir};
use crate::shells::{Shell, shells};
use crate::world::{World, run};

const PAST: &str = "dddd0000-4444-4444-8444-444444444444";

fn init(world: &World, arguments: &[&str]) -> String {
    let output = run(world.cld(&[&["init"], arguments].concat()), b"");
    assert!(output.status.success() && output.stderr.is_empty());
    String::from_utf8(output.stdout).unwrap()
}

/// A past session in a directory whose name no shell likes.
fn with_session(world: &World) -> String {
    let directory = fs::canonicalize(world.home()).unwrap().join("it's $(a) \"dir\"");
    fs::create_dir(&directory).unwrap();
    let directory = directory.to_str().unwrap().to_owned();
    let past = Transcript {
        id: PAST,
        directory: &directory,
        prompt: "fix it",
        entrypoint: "cli",
        seconds_ago: 60,
    };
    past.plant(&config_dir(world));
    directory
}

/// Runs a script in a shell that is not interactive.
fn script(world: &World, shell: &str, script: &str) -> Output {
    let bin = std::path::PathBuf::from(env!("CARGO_BIN_EXE_cld"));
    let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    match shell {
        "bash" => command.args(["--norc", "--noprofile", "-c", script]),
        "zsh" => command.args(["-f", "-c", script]),
        _ => command.args(["--no-config", "-c", script]),
    };
    command.env_clear().env("PATH", path).env("HOME", world.home()).env("LANG", "C.UTF-8");
    command.env("TMUX_TMPDIR", world.path("")).env("TERM", "xterm");
    command.current_dir(world.home()).output().unwrap()
}

fn eval(shell: &str, arguments: &str) -> String {
    match shell {
        "fish" => format!("cld init fish {arguments} | source\n"),
        shell => format!("eval \"$(cld init {shell} {arguments})\"\n"),
    }
}

#[test]
fn what_is_printed_is_made_of_the_files() {
    let world = World::bare();
    for shell in ["bash", "zsh", "fish"] {
        let file = |name: &str| {
            fs::read_to_string(repository().join(format!("shell/{name}.{shell}"))).unwrap()
        };
        let plain = init(&world, &[shell]);
        assert!(plain.starts_with(&file("cld")) && !plain.contains("__cld_hint --on"));
        let all = init(&world, &[shell, "--prompt", "--hint"]);
        assert!(all.contains(&file("prompt")) && all.ends_with(&file("hint")));
    }
    let wrong = run(world.cld(&["init", "tcsh"]), b"");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("bash, zsh, fish"));
}

#[test]
fn cldcd_goes_to_the_directory_of_a_session() {
    for shell in shells() {
        let world = World::bare();
        let directory = with_session(&world);
        let went = script(&world, shell, &format!("{}cldcd dddd && pwd", eval(shell, "")));
        assert_eq!(
            String::from_utf8(went.stdout).unwrap(),
            format!("{directory}\n"),
            "{shell}: {}",
            String::from_utf8_lossy(&went.stderr)
        );
        for (arguments, code, said) in
            [("", 2, "name one session"), ("ffff0000", 1, "no session ffff0000")]
        {
            let text = format!("{}cldcd {arguments}\nexit $status", eval(shell, ""));
            let text = if shell == "bash" { text.replace("$status", "$?") } else { text };
            let refused = script(&world, shell, &text);
            let error = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(code), "{shell} {arguments}: {error}");
            assert!(error.contains(said), "{shell}: {error}");
        }
    }
}

#[test]
fn a_directory_whose_name_ends_in_a_newline_is_entered_too() {
    for shell in shells().filter(|shell| *shell != "fish") {
        let world = World::bare();
        let directory = fs::canonicalize(world.home()).unwrap().join("odd\n\n");
        fs::create_dir(&directory).unwrap();
        let directory = directory.to_str().unwrap();
        Transcript { id: PAST, directory, prompt: "x", entrypoint: "cli", seconds_ago: 60 }
            .plant(&config_dir(&world));
        let text = format!("{}cldcd dddd && printf '%s.' \"$PWD\"", eval(shell, ""));
        let went = script(&world, shell, &text);
        assert_eq!(String::from_utf8(went.stdout).unwrap(), format!("{directory}."), "{shell}");
    }
}

#[test]
fn it_is_silent_under_strict_settings_when_read_twice_and_with_hostile_aliases() {
    let hostile = "\
        alias cd='echo broken' cldcd='echo broken' cld='echo broken' command='echo broken'\n\
        alias printf='echo broken' tmux='echo broken' read='echo broken' local='echo broken'\n\
        alias return='echo broken' builtin='echo broken' complete='echo broken' kill='echo broken'\n";
    for shell in shells().filter(|shell| *shell != "fish") {
        let world = World::bare();
        let directory = with_session(&world);
        let all = eval(shell, "--prompt --hint");
        let aliases = match shell {
            "bash" => format!("shopt -s expand_aliases\n{hostile}"),
            _ => hostile.to_owned(),
        };
        // The script of cld itself must come from the program, not from the alias.
        let all = all.replace("$(cld", "$(\\command cld").replace("eval", "\\builtin eval");
        let hooks = "__cld_prompt\n__cld_hint\n";
        let text = format!("set -eu\n{aliases}{all}{all}{hooks}\\cldcd dddd\n\\builtin pwd\n");
        let done = script(&world, shell, &text);
        let error = String::from_utf8_lossy(&done.stderr);
        assert_eq!(
            (String::from_utf8_lossy(&done.stdout).as_ref(), error.as_ref()),
            (format!("{directory}\n").as_str(), ""),
            "{shell}: {:?}",
            done.status
        );
    }
}

#[test]
fn reading_it_twice_adds_nothing_twice() {
    let world = World::bare();
    let all = eval("bash", "--prompt --hint");
    if !["bash", "zsh", "fish"].into_iter().all(has) {
        return;
    }
    let text = format!("PROMPT_COMMAND='x; '\n{all}{all}echo \"$PROMPT_COMMAND\"");
    let done = script(&world, "bash", &text);
    assert_eq!(String::from_utf8_lossy(&done.stdout), "x; __cld_prompt; __cld_hint\n");
    let text = format!("PROMPT_COMMAND=(x y)\n{all}{all}echo \"${{PROMPT_COMMAND[@]}}\"");
    let done = script(&world, "bash", &text);
    assert_eq!(String::from_utf8_lossy(&done.stdout), "x y __cld_prompt __cld_hint\n");
    let all = eval("zsh", "--prompt --hint");
    let done = script(&world, "zsh", &format!("{all}{all}print -- $precmd_functions"));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "__cld_prompt __cld_hint\n");
    let all = eval("fish", "--prompt --hint");
    let before = "function fish_prompt; echo mine; end\n";
    let done = script(&world, "fish", &format!("{before}{all}{all}fish_prompt"));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "mine\n");
}

/// A session starts and ends in the pane of the shell, as its hooks tell.
fn play(world: &World, pane: &str, claude: &Claude, name: &str) {
    let mut payload = match name {
        "SessionStart" => start("startup"),
        name => event(name, &json!({"reason": "prompt_input_exit"})),
    };
    payload["session_id"] = json!(PAST);
    let mut hook = world.cld(&["hook"]);
    hook.env("TMUX_PANE", pane).env("CLAUDE_PID", claude.pid().to_string());
    crate::world::assert_silent(&run(hook, payload.to_string().as_bytes()));
}

#[test]
fn the_hint_says_how_to_get_back_after_an_end_and_after_a_kill() {
    for name in shells() {
        let world = World::new();
        let shell = Shell::start(&world, name, &eval(name, "--hint"));
        let hints =
            |shell: &Shell<'_>| shell.screen().matches("resume with: cld resume dddd0000").count();
        let mut claude = Claude::start();
        play(&world, &shell.pane, &claude, "SessionStart");
        shell.line("true");
        assert_eq!(hints(&shell), 0, "{name}: it runs\n{}", shell.screen());

        play(&world, &shell.pane, &claude, "SessionEnd");
        shell.line("true");
        shell.wait_until("the hint", |screen| screen.contains("resume with: cld resume dddd0000"));
        shell.line("true");
        assert_eq!(hints(&shell), 1, "{name}: once\n{}", shell.screen());

        play(&world, &shell.pane, &claude, "SessionStart");
        shell.line("true");
        claude.kill();
        shell.line("true");
        shell.wait_until("the second hint", |screen| {
            screen.matches("resume with: cld resume dddd0000").count() == 2
        });
    }
}

#[test]
fn the_prompt_tells_how_many_wait_as_long_as_any_do() {
    for name in shells() {
        let world = World::new();
        let shell = Shell::start(&world, name, &eval(name, "--prompt"));
        shell.line("true");
        assert!(!shell.screen().contains("waiting]"), "{name}: {}", shell.screen());
        world.hook(&start("startup"));
        world.hook(&crate::events::stop("It is done."));
        shell.line("true");
        shell.wait_for("[1 waiting] ready> ");
        shell.line("true");
        world.hook(&crate::events::prompt("go on"));
        shell.line("true");
        shell.wait_until("a plain prompt again", |screen| {
            screen.trim_end().lines().last().is_some_and(|line| line.starts_with("ready>"))
        });
        let twice = shell.screen().contains("[1 waiting] [1 waiting]");
        assert!(!twice, "{name}: {}", shell.screen());
    }
}

#[test]
fn the_companion_completes_cldcd() {
    for name in shells() {
        let world = World::new();
        with_session(&world);
        let shell = Shell::start(&world, name, &eval(name, ""));
        shell.type_text("cldcd ddd");
        shell.keys(&["Tab"]);
        shell.wait_for("cldcd dddd0000");
        shell.keys(&["C-u"]);
        shell.type_text("cld doc");
        shell.keys(&["Tab"]);
        shell.wait_for("cld doctor");
    }
}

#[test]
fn the_files_pass_the_lints_of_their_shells() {
    let bash = ["completions/cld.bash", "shell/cld.bash", "shell/prompt.bash", "shell/hint.bash"];
    for (program, arguments) in
        [("shellcheck", &["--norc"][..]), ("shfmt", &["-d", "-i", "4", "-ci"]), ("bash", &["-n"])]
    {
        for file in bash {
            check(program, arguments, file);
        }
    }
    for file in ["completions/_cld", "shell/cld.zsh", "shell/prompt.zsh", "shell/hint.zsh"] {
        check("zsh", &["-f", "-n"], file);
    }
    for file in ["completions/cld.fish", "shell/cld.fish", "shell/prompt.fish", "shell/hint.fish"] {
        check("fish", &["--no-config", "-n"], file);
        check("fish_indent", &["--check"], file);
    }
}

#[track_caller]
fn check(program: &str, arguments: &[&str], file: &str) {
    if !has(program) {
        return;
    }
    let mut command = Command::new(program);
    let output = command.args(arguments).arg(file).current_dir(repository()).output();
    let output = output.unwrap_or_else(|error| panic!("{program} is needed: {error}"));
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{program} {file}: {}", String::from_utf8_lossy(&said));
}
