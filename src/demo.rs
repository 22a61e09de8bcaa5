//! `cld demo`: a tmux server of its own with simulated Claude Codes, whose hooks are real.
//!
//! The cast says who appears and what they do, the stage puts the files and the server up, and play
//! is what runs in the panes.

use anyhow::{Result, bail};

use crate::cli::Demo;
use crate::terminal;

mod cast;
mod play;
mod stage;

use stage::Stage;

pub fn run(options: &Demo) -> Result<()> {
    if let [role, arguments @ ..] = options.play.as_slice() {
        return play::run(role, arguments);
    }
    if !terminal::can_show_tmux() {
        bail!("the demo needs a terminal\nTry: cld demo, in a terminal window");
    }
    let stage = Stage::set_up()?;
    stage.show()
}
