//! Whether a registry entry still speaks of a living process: the same id with the same start time.

use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    /// No such process, or another one that was given the same id later.
    Dead,
    /// Whether there is such a process, or whether it is the same one, cannot be told.
    Unknown,
}

/// What the system says about a process id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Process {
    /// No such process, or it has ended and only waits to be collected by its parent.
    Gone,
    /// Runs since this moment, in the form Claude Code uses on this system.
    Since(String),
}

pub(super) fn liveness(process: Option<&Process>, noted_start: Option<&str>) -> Liveness {
    let start = match process {
        Some(Process::Gone) => return Liveness::Dead,
        Some(Process::Since(start)) => start,
        None => return Liveness::Unknown,
    };
    match noted_start {
        Some(noted) if is_same_start(start, noted) => Liveness::Alive,
        // A note in another form, by another version or system, proves nothing.
        Some(noted) if is_number(start) != is_number(noted) => Liveness::Unknown,
        Some(_) => Liveness::Dead,
        None => Liveness::Unknown,
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// `ps` fills its columns with spaces.
fn is_same_start(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

#[cfg(target_os = "linux")]
pub(super) fn look_at(pids: impl Iterator<Item = u32>) -> HashMap<u32, Process> {
    let has_processes = || std::path::Path::new("/proc/self/stat").exists();
    let look = |pid: u32| match crate::process::look_at(pid) {
        Ok(stat) => stat.map(|stat| match stat.has_ended {
            true => Process::Gone,
            false => Process::Since(stat.started),
        }),
        Err(error) => (is_gone(&error) && has_processes()).then_some(Process::Gone),
    };
    let mut processes = HashMap::new();
    for pid in pids {
        if !processes.contains_key(&pid) {
            processes.extend(look(pid).map(|process| (pid, process)));
        }
    }
    processes
}

#[cfg(target_os = "linux")]
fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

#[cfg(target_os = "macos")]
pub(super) fn look_at(pids: impl Iterator<Item = u32>) -> HashMap<u32, Process> {
    let pids: Vec<u32> = pids.collect();
    if pids.is_empty() {
        return HashMap::new();
    }
    let possible = pids.iter().filter(|pid| i32::try_from(**pid).is_ok());
    let list = possible.map(u32::to_string).collect::<Vec<_>>().join(",");
    #[expect(
        clippy::disallowed_methods,
        reason = "the only way to a start time on macOS without unsafe code"
    )]
    let mut ps = std::process::Command::new("/bin/ps");
    // Claude Code notes the start time in this language and time zone.
    let output = ps
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .args(["-o", "pid=", "-o", "stat=", "-o", "lstart=", "-p", &list])
        .output();
    // Without any of these processes `ps` fails in silence; with a complaint it could not look.
    let Some(output) = output.ok().filter(|output| output.stderr.is_empty()) else {
        return HashMap::new();
    };
    let mut processes = parse_ps(&String::from_utf8_lossy(&output.stdout));
    for pid in pids {
        processes.entry(pid).or_insert(Process::Gone);
    }
    processes
}

/// Lines of process id, state and start time: `  501 Ss   Sat Aug  8 07:11:34 2026`.
#[cfg(any(target_os = "macos", test))]
fn parse_ps(output: &str) -> HashMap<u32, Process> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let pid = words.next()?.parse().ok()?;
        let state = words.next()?;
        let start = words.collect::<Vec<_>>().join(" ");
        let process = if state.starts_with('Z') { Process::Gone } else { Process::Since(start) };
        Some((pid, process))
    };
    output.lines().filter_map(line).collect()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn look_at(_: impl Iterator<Item = u32>) -> HashMap<u32, Process> {
    HashMap::new()
}

#[cfg(test)]
mod tests {
    use super::{Liveness, Process, liveness, parse_ps};

    #[test]
    fn a_process_is_alive_only_with_the_noted_start_time() {
        let since = |start: &str| Process::Since(start.to_owned());
        for (process, noted, expected) in [
            (since("313692"), Some("313692"), Liveness::Alive),
            (since("313693"), Some("313692"), Liveness::Dead),
            (since("313692"), None, Liveness::Unknown),
            (since("313692"), Some("Sat Aug  8 07:11:34 2026"), Liveness::Unknown),
            (since("Sat Aug 8 07:11:34 2026"), Some("Sat Aug  8 07:11:34 2026"), Liveness::Alive),
            (since("Sat Aug 8 07:11:35 2026"), Some("Sat Aug  8 07:11:34 2026"), Liveness::Dead),
            (Process::Gone, Some("313692"), Liveness::Dead),
            (Process::Gone, None, Liveness::Dead),
        ] {
            assert_eq!(liveness(Some(&process), noted), expected, "{process:?} {noted:?}");
        }
        assert_eq!(liveness(None, Some("313692")), Liveness::Unknown);
    }

    #[test]
    fn processes_are_read_from_the_output_of_ps() {
        let processes = parse_ps(
            "  501 Ss   Sat Aug  8 07:11:34 2026    \n99999 Z    Sat Aug  8 07:11:35 2026\nodd\n\n",
        );
        assert_eq!(processes.len(), 2);
        assert_eq!(processes[&501], Process::Since("Sat Aug 8 07:11:34 2026".to_owned()));
        assert_eq!(processes[&99999], Process::Gone);
    }
}
