//! `cld init`: the companion of a shell, from the files in `shell/`.

use std::io::{self, Write};

use anyhow::Result;

use crate::cli::{Init, Shell};
use crate::complete;

/// What a shell is given, besides the completion.
struct Files {
    base: &'static str,
    prompt: &'static str,
    hint: &'static str,
}

const BASH: Files = Files {
    base: include_str!("../shell/cld.bash"),
    prompt: include_str!("../shell/prompt.bash"),
    hint: include_str!("../shell/hint.bash"),
};

const ZSH: Files = Files {
    base: include_str!("../shell/cld.zsh"),
    prompt: include_str!("../shell/prompt.zsh"),
    hint: include_str!("../shell/hint.zsh"),
};

const FISH: Files = Files {
    base: include_str!("../shell/cld.fish"),
    prompt: include_str!("../shell/prompt.fish"),
    hint: include_str!("../shell/hint.fish"),
};

pub fn run(options: &Init) -> Result<()> {
    Ok(io::stdout().write_all(script(options).as_bytes())?)
}

fn script(options: &Init) -> String {
    let files = match options.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    };
    let mut script = vec![files.base, complete::file(options.shell)];
    script.extend(options.prompt.then_some(files.prompt));
    script.extend(options.hint.then_some(files.hint));
    script.join("\n")
}
