//! What the system tells about other processes.

use std::fs;

#[derive(Debug, PartialEq, Eq)]
pub struct Stat {
    pub name: String,
    pub parent: u32,
    /// Clock ticks between boot and the start of the process: tells a reused number from the
    /// process it belonged to before.
    pub started: String,
}

/// Reads `/proc/PID/stat`; nothing where there is no such file.
pub fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The process that started this one, past the shell that hook commands run in.
pub fn started_by() -> Option<u32> {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..4 {
        let stat = stat(pid)?;
        if !matches!(&*stat.name, "sh" | "dash" | "bash" | "zsh" | "fish" | "ksh") {
            return Some(pid);
        }
        pid = stat.parent;
    }
    None
}

/// The tmux server that a process runs in, by its process id; nothing where that cannot be told.
pub fn tmux_server_above(pid: u32) -> Option<u32> {
    let mut pid = pid;
    for _ in 0..32 {
        let stat = stat(pid)?;
        if stat.name.starts_with("tmux: server") {
            return Some(pid);
        }
        pid = stat.parent;
    }
    None
}

fn parse(stat: &str) -> Option<Stat> {
    // The name stands in parentheses and may itself hold blanks and parentheses.
    let (start, rest) = stat.rsplit_once(')')?;
    let (_, name) = start.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?;
    let digits = !started.is_empty() && started.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Stat { name: name.to_owned(), parent, started: started.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let line = "3334 (a) (b c) S 3320 3334 3334 34817 3334 4194304 1 0 0 0 5 3 0 0 20 0 11 0 313692 1 2";
        let stat = parse(line).unwrap();
        assert_eq!(
            (stat.name.as_str(), stat.parent, stat.started.as_str()),
            ("a) (b c", 3320, "313692")
        );
        assert_eq!(parse("3334 (a S 1"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn the_own_process_has_a_start_time() {
        let own = stat(std::process::id()).unwrap();
        assert!(own.parent > 0 && own.started.parse::<u64>().unwrap() > 0);
    }
}
