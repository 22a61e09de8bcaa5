//! What `cld setup` registers with Claude Code: which events, and how long each may take.

use crate::hook::event::NAMES;

/// Registering for these does harm. Hooks for worktrees replace Claude's own work: one for
/// WorktreeCreate has to make the worktree, and where one for WorktreeRemove exists Claude relies
/// on it to remove what it would else remove itself. MessageDisplay fires with every piece of text.
pub(super) const HARMFUL: [&str; 3] = ["WorktreeCreate", "WorktreeRemove", "MessageDisplay"];

/// Fires only for file names that its matcher lists, and cld has none to list.
const NEEDS_A_MATCHER: &str = "FileChanged";

/// The events cld registers for, in the order of the client's own list.
pub(crate) fn registered() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| !HARMFUL.contains(name) && *name != NEEDS_A_MATCHER)
}

/// Seconds. Claude gives all hooks of SessionEnd together 1.5 s unless one declares more, and the
/// person waits for them.
pub(super) fn timeout(event: &str) -> u32 {
    if event == "SessionEnd" { 5 } else { 10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_are_registered_but_the_harmful_and_the_useless() {
        let left_out: Vec<&str> =
            NAMES.into_iter().filter(|name| !registered().any(|event| event == *name)).collect();
        assert_eq!(left_out, ["WorktreeCreate", "WorktreeRemove", "FileChanged", "MessageDisplay"]);
    }
}
