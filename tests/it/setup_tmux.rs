//! What `cld setup` does to tmux and to the shell, and takes back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup::read;
use crate::world::{World, poll_until, run, tmux_program};

const CONF: &str = "# mine\nset -g mouse on\nrun '~/.tmux/plugins/tpm/tpm'";

fn conf(world: &World) -> PathBuf {
    world.home().join(".tmux.conf")
}

fn own(world: &World) -> PathBuf {
    world.home().join(".local/share/cld/cld.tmux")
}

/// Runs `cld setup` with these arguments, which has to succeed; what it said.
#[track_caller]
fn setup(world: &World, arguments: &[&str]) -> String {
    let output = run(world.cld(&[&["setup"], arguments].concat()), b"");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

#[track_caller]
fn refused(world: &World, arguments: &[&str], code: i32) -> String {
    let output = run(world.cld(&[&["setup"], arguments].concat()), b"");
    assert_eq!(output.status.code(), Some(code));
    String::from_utf8(output.stderr).unwrap()
}

/// What a new server says to a question after it has read the configuration of the home.
fn asked(world: &World, question: &str) -> String {
    let tmux = || {
        let mut tmux = Command::new(tmux_program());
        tmux.arg("-S").arg(world.path("new")).env_clear();
        tmux.env("PATH", std::env::var("PATH").unwrap()).env("HOME", world.home());
        tmux
    };
    let started = tmux().args(["new-session", "-d", "sleep 100"]).status().unwrap();
    assert!(started.success());
    let question: Vec<&str> = question.split(' ').collect();
    let answer = tmux().args(question).output().unwrap();
    let _ = tmux().arg("kill-server").output();
    String::from_utf8(answer.stdout).unwrap()
}

#[test]
fn the_configuration_of_tmux_loads_the_file_of_cld_and_comes_back_byte_for_byte() {
    let world = World::bare();
    fs::write(conf(&world), CONF).unwrap();
    let said = setup(&world, &["-y"]);
    assert!(said.contains("+# >>> cld >>>"), "{said}");
    let line = format!("source-file -q \"{}\"", own(&world).display());
    let block = format!("# >>> cld >>>\n{line}\n# <<< cld <<<");
    assert_eq!(read(&conf(&world)), format!("{CONF}\n{block}"));
    let hooks = asked(&world, "show-hooks -g session-window-changed");
    assert!(hooks.contains("session-window-changed[990]"), "{hooks}");

    let said = setup(&world, &["-y"]);
    assert_eq!(said.matches("already up to date\n").count(), 3, "{said}");
    setup(&world, &["-y", "--uninstall"]);
    assert_eq!(read(&conf(&world)), CONF);
    assert!(!world.home().join(".local").exists(), "no trace of the file of cld");
}

#[test]
fn a_server_that_runs_is_told_at_once_and_forgets_it_again() {
    let world = World::new();
    world.tmux(&["set-hook", "-g", "session-window-changed[3]", "display-message mine"]);
    let hooks = || world.tmux(&["show-hooks", "-g"]);
    let before = hooks();
    let shown = setup(&world, &["-n"]);
    assert!(shown.contains(&format!("tmux server at {}: told at once", world.socket().display())));
    assert_eq!(hooks(), before);
    setup(&world, &["-y"]);
    assert!(hooks().contains("session-window-changed[990]"), "{}", hooks());
    assert!(hooks().contains("session-window-changed[3] display-message mine"), "{}", hooks());
    setup(&world, &["-y", "--uninstall"]);
    assert_eq!(hooks(), before);
}

#[test]
fn what_is_configured_for_tmux_stands_in_the_block_and_reaches_the_server() {
    let world = World::new();
    let options = || world.tmux(&["show-options", "-g"]);
    let (before, keys) = (options(), world.tmux(&["list-keys", "-T", "prefix"]));
    let config = world.home().join(".config/cld/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "[display]\nicons = \"ascii\"\n[keys]\nnext = \"M-n\"\n").unwrap();
    setup(&world, &["-y"]);
    let text = read(&conf(&world));
    assert!(text.contains("\nset -g @cld-icons ascii\nset -g @cld-key-next M-n\nsource-file "));
    poll_until("the key is bound", || options().contains("@cld-bound-next M-n"));

    fs::write(&config, "[keys]\nback = \"M-b\"\n").unwrap();
    setup(&world, &["-y"]);
    assert!(!read(&conf(&world)).contains("next"));
    poll_until("the other key is bound", || {
        options().contains("@cld-bound-back M-b") && !options().contains("-next")
    });

    fs::remove_file(&config).unwrap();
    setup(&world, &["-y", "--uninstall"]);
    poll_until("the server is as it was", || {
        options() == before && world.tmux(&["list-keys", "-T", "prefix"]) == keys
    });
}

#[test]
fn tmux_is_left_alone_where_that_is_wanted() {
    let world = World::new();
    fs::write(conf(&world), CONF).unwrap();
    let before = world.tmux(&["show-hooks", "-g"]);
    setup(&world, &["-y", "--no-tmux"]);
    assert_eq!((read(&conf(&world)).as_str(), own(&world).exists()), (CONF, false));
    assert_eq!(world.tmux(&["show-hooks", "-g"]), before);

    setup(&world, &["-y"]);
    setup(&world, &["-y", "--uninstall", "--no-tmux"]);
    assert!(read(&conf(&world)).contains("# >>> cld >>>") && own(&world).exists());
}

#[test]
fn the_last_file_that_tmux_reads_gets_the_block_and_links_are_followed() {
    let world = World::bare();
    let dir = world.home().join(".config/tmux");
    fs::create_dir_all(&dir).unwrap();
    fs::write(conf(&world), CONF).unwrap();
    fs::write(world.home().join("dotfile"), "set -g status off\n").unwrap();
    symlink("../../dotfile", dir.join("tmux.conf")).unwrap();
    setup(&world, &["-y"]);
    assert_eq!(read(&conf(&world)), CONF);
    assert!(read(&world.home().join("dotfile")).contains("# >>> cld >>>"));
    assert!(fs::symlink_metadata(dir.join("tmux.conf")).unwrap().is_symlink());

    let other = world.path("xdg");
    fs::create_dir_all(other.join("tmux")).unwrap();
    fs::write(other.join("tmux/tmux.conf"), "").unwrap();
    let world = world.with("XDG_CONFIG_HOME", other.to_str().unwrap());
    assert!(!setup(&world, &["-y"]).contains("xdg"), "a block stays where it is");
    setup(&world, &["-y", "--uninstall"]);
    assert_eq!(read(&world.home().join("dotfile")), "set -g status off\n");
}

#[test]
fn a_stale_block_and_a_stale_file_are_brought_up_to_date() {
    let world = World::bare();
    let block = |line: &str| format!("a\n# >>> cld >>>\n{line}\n# <<< cld <<<\nb\n");
    fs::write(conf(&world), block("source-file -q \"/old/cld.tmux\"")).unwrap();
    fs::create_dir_all(own(&world).parent().unwrap()).unwrap();
    fs::write(own(&world), "# of an earlier cld\n").unwrap();
    setup(&world, &["-y"]);
    let line = format!("source-file -q \"{}\"", own(&world).display());
    assert_eq!(read(&conf(&world)), block(&line));
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("shell/cld.tmux");
    assert_eq!(read(&own(&world)), read(&shipped));
    let beside = fs::read_dir(own(&world).parent().unwrap()).unwrap().count();
    assert_eq!(beside, 1, "a file of cld needs no backup");
    setup(&world, &["-y", "--uninstall"]);
    assert_eq!(read(&conf(&world)), "a\nb\n");
}

#[test]
fn a_configuration_that_cannot_be_understood_is_left_alone_and_so_is_the_rest() {
    for (text, problem) in [
        ("a\n# >>> cld >>>\nb\n", "line 2 column 1: the block of cld that begins here"),
        ("a\nset -g status-left \\\n", "ends in a backslash"),
    ] {
        let world = World::bare();
        fs::write(conf(&world), text).unwrap();
        let error = refused(&world, &["-y"], 1);
        assert!(error.contains(problem) && error.contains("is left as it is"), "{error}");
        assert_eq!(read(&conf(&world)), text);
        assert!(!world.home().join(".claude").exists() && !own(&world).exists());
    }
}

#[test]
fn a_home_of_any_name_is_quoted_for_tmux() {
    for (name, works) in [("it's $HOME \"q\" #{x} ;", true), ("a*b", false)] {
        let world = World::bare();
        let data = world.path(name);
        fs::create_dir(&data).unwrap();
        let world = world.with("XDG_DATA_HOME", data.to_str().unwrap());
        if works {
            setup(&world, &["-y"]);
            let hooks = asked(&world, "show-hooks -g session-window-changed");
            assert!(hooks.contains("session-window-changed[990]"), "{hooks}");
        } else {
            let error = refused(&world, &["-y"], 1);
            assert!(error.contains("cannot be named in tmux.conf"), "{error}");
        }
    }
}

#[test]
fn the_shell_starts_its_companion_when_that_is_asked_for() {
    for (shell, file) in
        [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish/config.fish")]
    {
        let world = World::bare().with("SHELL", &format!("/usr/bin/{shell}"));
        let file = world.home().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "alias a=b\n").unwrap();
        setup(&world, &["-y"]);
        assert_eq!(read(&file), "alias a=b\n", "only on request");
        setup(&world, &["-y", "--shell"]);
        let text = read(&file);
        assert!(text.starts_with("alias a=b\n# >>> cld >>>\nif "), "{text}");
        assert!(text.contains(&format!("cld init {shell}")), "{text}");
        if let Ok(output) = Command::new(shell).arg("-n").arg(&file).output() {
            assert!(output.status.success(), "{text}");
        }
        let said = setup(&world, &["-y"]);
        assert_eq!(said.matches("already up to date\n").count(), 4, "it is looked after: {said}");
        setup(&world, &["-y", "--uninstall"]);
        assert_eq!(read(&file), "alias a=b\n");
    }
    let world = World::bare().with("SHELL", "/bin/tcsh");
    let error = refused(&world, &["-y", "--shell"], 2);
    assert!(error.contains("--shell knows bash, zsh and fish"), "{error}");
}
