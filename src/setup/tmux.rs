//! What a setup does to tmux: a file of its own, a block in the user's configuration that loads it,
//! and the servers that run.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::config::{Config, Icons, Keys};
use crate::program::Program;
use crate::text::{one_line, shown};
use crate::tmux::{Batch, sockets_in};
use crate::{config, paths, terminal};

use super::block;
use super::targets::{Edit, Of, Target, has_block, plain};

/// What tmux loads.
pub(crate) const TEXT: &str = include_str!("../../shell/cld.tmux");

const NAME: &str = "cld.tmux";

/// The file makes the server take everything out again where this option is set.
const OFF: &str = "@cld-off";

const SERVER_LIMIT: Duration = Duration::from_secs(3);

/// Where the file is that tmux loads.
pub(crate) fn file() -> Result<PathBuf> {
    let dir = paths::data_dir().context("HOME is not set, so there is no place for cld.tmux")?;
    Ok(dir.join(NAME))
}

/// The configuration that has a block, else the last one that tmux reads, so that no theme comes
/// after it, else the usual one.
pub(crate) fn configuration() -> Result<PathBuf> {
    let files = paths::tmux_confs();
    let with_block = files.iter().find(|file| has_block(file));
    let last = || files.iter().rfind(|file| file.exists());
    let chosen = with_block.or_else(last).or(files.first());
    chosen.cloned().context("HOME is not set, so there is no tmux.conf")
}

/// The lines of the block: what the configuration of cld says about tmux, and the file.
pub(crate) fn lines(file: &Path) -> Result<String> {
    let path = plain(file)?.replace('"', "\\\"").replace('$', "\\$");
    let loaded = config::load();
    let options = options(&loaded.config).into_iter();
    let options = options.map(|(name, value)| format!("set -g {name} {value}\n"));
    Ok(format!("{}source-file -q \"{path}\"", options.collect::<String>()))
}

/// What the file takes from the options of tmux, which is given only where it is not the default.
/// No value needs to be quoted.
fn options(config: &Config) -> Vec<(&'static str, &str)> {
    let Keys { next, back, queue, pick } = &config.keys;
    let keys = [
        ("@cld-key-next", next),
        ("@cld-key-back", back),
        ("@cld-key-queue", queue),
        ("@cld-key-pick", pick),
    ];
    let keys = keys.into_iter().filter_map(|(name, key)| Some((name, key.as_ref()?.as_str())));
    let icons = (config.display.icons == Icons::Ascii).then_some(("@cld-icons", "ascii"));
    icons.into_iter().chain(keys).collect()
}

/// The options that the block sets as it is now, so that a server can be made to forget them.
pub(super) fn options_in_use() -> Vec<String> {
    let text = configuration().ok().and_then(|file| fs::read_to_string(file).ok());
    let text = text.unwrap_or_default();
    let block = text.lines().skip_while(|line| *line != block::BEGIN);
    let block = block.take_while(|line| *line != block::END);
    let set = block.filter_map(|line| line.strip_prefix("set -g @cld-")?.split(' ').next());
    set.map(|name| format!("@cld-{name}")).collect()
}

pub(super) fn targets(uninstall: bool) -> Result<Vec<Target>> {
    let target = |file: PathBuf, edit: Edit| Target { of: Of::Tmux, file, edit };
    let own = file()?;
    if uninstall {
        let blocks = paths::tmux_confs().into_iter().filter(|file| has_block(file));
        let blocks = blocks.map(|file| target(file, Edit::Block(None)));
        let own = own.exists().then(|| target(own, Edit::Own(None)));
        return Ok(own.into_iter().chain(blocks).collect());
    }
    let block = Edit::Block(Some(lines(&own)?));
    Ok(vec![target(own, Edit::Own(Some(TEXT))), target(configuration()?, block)])
}

/// The tmux servers of this user that listen.
pub(crate) fn servers() -> Vec<PathBuf> {
    let mut sockets = sockets_in(&paths::tmux_socket_dir());
    if let Some(inside) = paths::inside_tmux()
        && !sockets.contains(&inside.socket)
    {
        sockets.push(inside.socket);
    }
    sockets.retain(|socket| UnixStream::connect(socket).is_ok());
    sockets
}

/// What a server is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Load,
    TakeOut,
}

/// Makes a server load the file, or take everything out again. The options in `before` were set by
/// an earlier block.
pub(crate) fn tell(socket: &Path, told: Told, before: &[String]) -> Result<()> {
    let file = file()?;
    let loaded = config::load();
    let mut batch = Batch::default();
    for name in before {
        batch.push(["set-option", "-gu", name]);
    }
    match told {
        Told::TakeOut => batch.push(["set-option", "-g", OFF, "1"]),
        Told::Load => {
            for (name, value) in options(&loaded.config) {
                batch.push(["set-option", "-g", name, value]);
            }
        }
    }
    batch.push(["source-file", plain(&file)?]);
    let mut program = Program::new(paths::tmux_program(), &["-u", "-S"]);
    program.arguments.push(socket.as_os_str().to_owned());
    program.arguments.extend(batch.words().iter().map(Into::into));
    let finished = program.run(SERVER_LIMIT).context("no answer")?;
    let said = one_line(&format!("{}{}", finished.out, finished.err), 200);
    anyhow::ensure!(finished.code == Some(0), "{said}");
    Ok(())
}

/// The same for every server, with a word for the person about each. One that does not answer is
/// no reason to stop: it reads its configuration when it is started again.
pub(super) fn tell_all(servers: &[PathBuf], told: Told, before: &[String]) {
    for socket in servers {
        let name = shown(socket);
        terminal::note(&match (tell(socket, told, before), told) {
            (Ok(()), Told::TakeOut) => format!("The tmux server at {name} is as without cld."),
            (Ok(()), Told::Load) => format!("The tmux server at {name} has it now."),
            (Err(error), _) => format!("The tmux server at {name} could not be told: {error:#}"),
        });
    }
}
