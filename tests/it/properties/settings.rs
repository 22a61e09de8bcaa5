//! A file of the user that cld was put into and taken out of again is the file from before, or was
//! refused as a whole.

use cld::setup::{block, settings};

const COMMAND: &str = "'/home/u/my bin/cld' hook";
const LINES: &str = "source-file -q \"/home/u/.local/share/cld/cld.tmux\"";

/// The bytes are a settings file of Claude Code, and a configuration of tmux.
pub(crate) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    in_settings(text);
    in_lines(text);
}

fn in_settings(text: &str) {
    let without = settings::uninstall(text);
    let Ok(installed) = settings::install(Some(text), COMMAND) else { return };
    assert_eq!(settings::install(Some(&installed), COMMAND).as_deref(), Ok(&*installed), "again");
    let summary = settings::summary(&installed).expect("what was written can be read");
    assert!(!summary.hooks.is_empty());
    assert!(summary.hooks.iter().all(|(_, command)| command == COMMAND), "{:?}", summary.hooks);
    let removed = settings::uninstall(&installed).expect("what was written can be taken out");
    // A file that had hooks of cld before loses those, too.
    if without.as_ref().is_ok_and(|without| without.as_deref() == Some(text)) {
        assert_eq!(removed.as_deref(), Some(text));
    }
    if let Ok(before) = serde_json::from_str::<serde_json::Value>(text) {
        assert!(before.is_object(), "only an object has hooks");
        assert!(serde_json::from_str::<serde_json::Value>(&installed).is_ok_and(|v| v.is_object()));
    }
}

fn in_lines(text: &str) {
    let Ok(installed) = block::install(Some(text), LINES) else { return };
    assert!(block::is_in(&installed));
    assert_eq!(block::install(Some(&installed), LINES).as_deref(), Ok(&*installed), "again");
    if !block::is_in(text) {
        assert_eq!(block::uninstall(&installed), Ok(Some(text.to_owned())));
    }
}
