//! Versions of Claude Code and tmux: what they say of themselves, and whether cld is content.

use super::check::Check;

/// The version of Claude Code whose events were recorded and whose client ran the tests.
const TESTED: (u32, u32, u32) = (2, 1, 326);

/// tmux before this has no options of panes, in which cld keeps everything.
const PANE_OPTIONS: (u32, u32) = (3, 0);

/// The first tmux with a hidden environment, which the hook writes to without a redraw.
pub(super) const HIDDEN_ENVIRONMENT: (u32, u32) = (3, 2);

/// What later versions do better for cld.
const LATER: [((u32, u32), &str); 3] = [
    ((3, 3), "shows a message to every client"),
    ((3, 4), "tells a terminal in front from one behind"),
    ((3, 6), "shows messages without holding up the panes"),
];

/// `printed` by `claude --version`, at a path.
pub(super) fn claude(printed: &str, path: &str) -> Check {
    let number = printed.split_ascii_whitespace().next().unwrap_or_default();
    let Some(found) = triple(number) else {
        let message = format!("{path} --version says {printed:?}, which is no version");
        return Check::warn("claude", message, "install Claude Code again");
    };
    let tested = format!("{}.{}.{}", TESTED.0, TESTED.1, TESTED.2);
    match found.cmp(&TESTED) {
        std::cmp::Ordering::Less => Check::warn(
            "claude",
            format!("{number} at {path} is older than {tested}, which cld was tested with"),
            "run `claude update`, or expect that some events are missing",
        ),
        std::cmp::Ordering::Equal => Check::ok("claude", format!("{number} at {path}")),
        std::cmp::Ordering::Greater => {
            Check::ok("claude", format!("{number} at {path}, tested with {tested}"))
        }
    }
}

/// `printed` by `tmux -V`.
pub(super) fn tmux(printed: &str) -> Check {
    let name = printed.strip_prefix("tmux ").unwrap_or(printed);
    match tmux_version(printed) {
        None => Check::ok("tmux", format!("{name}, an unreleased version")),
        Some(found) if found < PANE_OPTIONS => Check::error(
            "tmux",
            format!("{name} has no options of panes, where cld keeps what it knows"),
            "install tmux 3.2 or later",
        ),
        Some(found) if found < HIDDEN_ENVIRONMENT => Check::warn(
            "tmux",
            format!("{name} redraws its clients on every event, it has no hidden environment"),
            "install tmux 3.2 or later",
        ),
        Some(found) => {
            let missing: Vec<String> = LATER
                .into_iter()
                .filter(|(since, _)| found < *since)
                .map(|((major, minor), what)| format!("{major}.{minor} {what}"))
                .collect();
            Check::ok(
                "tmux",
                match missing.is_empty() {
                    true => name.to_owned(),
                    false => format!("{name}; {}", missing.join(", ")),
                },
            )
        }
    }
}

/// From `tmux 3.3a`, `tmux next-3.8` or `tmux openbsd-7.6`, which has its own count.
pub(super) fn tmux_version(printed: &str) -> Option<(u32, u32)> {
    crate::tmux::version_number(printed.strip_prefix("tmux ")?.trim())
}

fn triple(text: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = text.split('.');
    let mut next = || numbers.next()?.split('-').next()?.parse().ok();
    Some((next()?, next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::super::check::Level;
    use super::*;

    #[test]
    fn claude_is_compared_with_the_tested_version() {
        for (printed, level) in [
            ("2.1.326 (Claude Code)", Level::Ok),
            ("2.1.1000 (Claude Code)", Level::Ok),
            ("3.0.0-beta.1 (Claude Code)", Level::Ok),
            ("2.1.325 (Claude Code)", Level::Warn),
            ("1.0.128 (Claude Code)", Level::Warn),
            ("", Level::Warn),
            ("command not found", Level::Warn),
        ] {
            assert_eq!(claude(printed, "/usr/bin/claude").level, level, "{printed}");
        }
    }

    #[test]
    fn what_a_tmux_lacks_is_told() {
        let said = |printed| tmux(printed).message;
        assert!(said("tmux 3.2a").starts_with("3.2a; 3.3 shows a message to every client, 3.4 "));
        assert!(said("tmux 3.5a").starts_with("3.5a; 3.6 shows messages"));
        assert_eq!(said("tmux 3.6b"), "3.6b");
    }

    #[test]
    fn tmux_is_judged_by_what_it_lacks() {
        for (printed, version, level) in [
            ("tmux 2.9a", Some((2, 9)), Level::Error),
            ("tmux 3.0a", Some((3, 0)), Level::Warn),
            ("tmux 3.1c", Some((3, 1)), Level::Warn),
            ("tmux 3.2", Some((3, 2)), Level::Ok),
            ("tmux 3.3a", Some((3, 3)), Level::Ok),
            ("tmux 3.10", Some((3, 10)), Level::Ok),
            ("tmux next-3.8", Some((3, 8)), Level::Ok),
            ("tmux master", None, Level::Ok),
        ] {
            assert_eq!(tmux_version(printed), version, "{printed}");
            assert_eq!(tmux(printed).level, level, "{printed}");
        }
    }
}
