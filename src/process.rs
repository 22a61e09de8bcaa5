//! What the system tells about other processes.

use std::fs::{self, File};
use std::io::{self, Read};

use crate::session::Moment;

#[derive(Debug, PartialEq, Eq)]
pub struct Stat {
    pub name: String,
    pub parent: u32,
    /// It has ended and only waits to be collected by its parent.
    pub has_ended: bool,
    /// Clock ticks between boot and the start of the process: tells a reused number from the
    /// process it belonged to before.
    pub started: String,
}

/// Reads `/proc/PID/stat`; nothing where there is no such file.
pub fn stat(pid: u32) -> Option<Stat> {
    look_at(pid).ok().flatten()
}

/// The same, with the reason why it cannot be read. Nothing is a file of another form.
pub fn look_at(pid: u32) -> io::Result<Option<Stat>> {
    Ok(parse(&read_stat(pid)?))
}

fn read_stat(pid: u32) -> io::Result<String> {
    // The system makes up the whole of such a file for one read, and it is never longer.
    let mut stat = [0; 4096];
    let length = File::open(format!("/proc/{pid}/stat"))?.read(&mut stat)?;
    Ok(String::from_utf8_lossy(&stat[..length]).into_owned())
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
    // Not the process itself: one that tmux has just started has the name of the server at first.
    let mut pid = stat(pid)?.parent;
    for _ in 0..32 {
        let stat = stat(pid)?;
        if stat.name.starts_with("tmux: server") {
            return Some(pid);
        }
        pid = stat.parent;
    }
    None
}

/// When a process began, if it is a tmux server.
pub fn tmux_server_since(pid: u32) -> Option<Moment> {
    let stat = stat(pid).filter(|stat| stat.name.starts_with("tmux: server") && !stat.has_ended)?;
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = system.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    let ticks: u64 = stat.started.parse().ok()?;
    Some(Moment::from_seconds(boot + ticks / rustix::param::clock_ticks_per_second()))
}

/// Whether processes that outlive the one that started them are collected when they end. The first
/// process of a container may not care, and they would stay in its table for ever.
pub fn orphans_are_collected() -> bool {
    match read_stat(1) {
        Ok(stat) => minds_children(&stat),
        Err(_) => !cfg!(target_os = "linux"),
    }
}

/// Whether a process catches, ignores (which collects too) or blocks the signal that a child has
/// ended, by its `/proc/PID/stat`. Who blocks it fetches it in another way.
fn minds_children(stat: &str) -> bool {
    const SIGCHLD: u64 = 1 << 16;
    const BLOCKED: usize = 29;
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace());
    let masks = fields.into_iter().flatten().skip(BLOCKED).take(3);
    masks.filter_map(|mask| mask.parse::<u64>().ok()).any(|mask| mask & SIGCHLD != 0)
}

/// Whether there is a process of this number at all.
pub fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| match rustix::process::test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    })
}

fn parse(stat: &str) -> Option<Stat> {
    // The name stands in parentheses and may itself hold blanks and parentheses.
    let (start, rest) = stat.rsplit_once(')')?;
    let (_, name) = start.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?;
    let is_number = started.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Stat {
        name: name.to_owned(),
        parent,
        has_ended,
        started: started.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let rest = "3320 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 313692 1000 10 1844674407370";
        for (stat, expected) in [
            (format!("3539 (claude) S {rest}"), Some(("claude", false))),
            (format!("3539 (a) S 1 (b c)) S {rest}\n"), Some(("a) S 1 (b c)", false))),
            (format!("3539 () S {rest}"), Some(("", false))),
            (format!("3539 (claude) Z {rest}"), Some(("claude", true))),
            ("3539 (claude) S 1 2".to_owned(), None),
            ("3539 (a S 1".to_owned(), None),
            (String::new(), None),
        ] {
            let expected = expected.map(|(name, has_ended)| Stat {
                name: name.to_owned(),
                parent: 3320,
                has_ended,
                started: "313692".to_owned(),
            });
            assert_eq!(parse(&stat), expected, "{stat}");
        }
    }

    #[test]
    fn who_minds_its_children_is_known_by_its_signals() {
        let stat = |masks: &str| {
            let before = "0 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 9 1000 10 18446744073709551615 \
                          1 1 0 0 0 0";
            format!("1 (init) S {before} {masks} 0 0 0 17 0 0 0 0 0 0\n")
        };
        for (init, masks, minds) in [
            ("systemd", "671173123 4096 1260", true),
            ("bash", "65536 3686404 1266761467", true),
            ("ignores", "0 65536 0", true),
            ("sleep", "0 0 0", false),
            ("node", "0 4096 134234626", false),
            ("cut off", "0", false),
        ] {
            assert_eq!(minds_children(&stat(masks)), minds, "{init}");
        }
        assert!(!minds_children(""));
    }

    #[test]
    fn only_tmux_servers_are_tmux_servers() {
        assert!(exists(std::process::id()) && exists(1));
        assert_eq!(tmux_server_since(std::process::id()), None);
        assert!(!exists(0) && !exists(u32::MAX));
    }

    #[test]
    fn the_own_process_has_a_start_time() {
        let own = stat(std::process::id()).unwrap();
        assert!(own.parent > 0 && own.started.parse::<u64>().unwrap() > 0);
    }
}
