//! The command line itself.

use crate::events::{bash, start};
use crate::world::{World, run};

#[test]
fn bad_arguments_are_refused_with_exit_2() {
    let world = World::bare();
    for arguments in
        [&["hok"][..], &["hook", "extra"], &["hook", "--nope"], &["log", "-n", "x"], &[]]
    {
        let output = run(world.cld(arguments), b"");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty() && error.contains("--help"), "{arguments:?}: {error}");
    }
    let typo = String::from_utf8(run(world.cld(&["hok"]), b"").stderr).unwrap();
    assert!(typo.contains("'hook'"), "the nearest command is named: {typo}");
}

#[test]
fn help_and_version_are_data() {
    let world = World::bare();
    for arguments in [&["--help"][..], &["help", "hook"], &["hook", "--help"], &["--version"]] {
        let output = run(world.cld(arguments), b"");
        assert!(output.status.success() && !output.stdout.is_empty() && output.stderr.is_empty());
    }
}

#[test]
fn a_dry_run_prints_a_command_that_does_what_the_hook_would_do() {
    let world = World::new();
    world.hook(&start("startup"));
    let payload = bash("PermissionRequest", "echo 'it''s' #(touch marker);");
    let output = run(world.cld(&["hook", "--dry-run"]), payload.to_string().as_bytes());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("Ask {"), "{text}");
    assert_eq!(world.meta("asking"), "", "a dry run changes nothing");

    let (_, command) = text.split_once("Latest").unwrap();
    let (_, command) = command.split_once('\n').unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(command).env_remove("TMUX");
    let shell = shell.output().unwrap();
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    assert!(
        world.meta("asking").ends_with(" Bash: echo 'it''s' #(touch marker);"),
        "{}",
        world.meta("asking")
    );
}

#[test]
fn a_dry_run_says_why_nothing_would_be_done() {
    let refused = run(World::new().cld(&["hook", "--dry-run"]), b"nonsense");
    assert!(String::from_utf8(refused.stdout).unwrap().starts_with("refused: "));
    let outside =
        run(World::bare().cld(&["hook", "--dry-run"]), start("startup").to_string().as_bytes());
    assert!(
        String::from_utf8(outside.stdout).unwrap().ends_with("nothing to do: not inside tmux\n")
    );
}
