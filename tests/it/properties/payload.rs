//! Whatever stands in a payload, the request for tmux is one line of safe words that fits.

use cld::config::{TabStyle, Tabs};
use cld::hook::event::Event;
use cld::hook::transition::{Change, Facts, LONGEST_CONFIG_DIR, Process, transition};
use cld::hook::{Manner, request};
use cld::session::{Moment, WaitKind};
use cld::tabs::Vocabulary;
use cld::tmux::Place;

/// tmux takes requests of 16 kB.
const LONGEST_REQUEST: usize = 16_000;

pub(crate) fn holds(data: &[u8]) {
    let Some(event) = std::str::from_utf8(data).ok().and_then(|json| Event::parse(json).ok())
    else {
        return;
    };
    let facts = Facts {
        nested: false,
        claude: Some(Process { pid: u32::MAX, started: u64::MAX.to_string() }),
        // As long as they may be: whatever is longest must fit together.
        config_dir: Some(format!("/{}", "c".repeat(LONGEST_CONFIG_DIR - 1))),
        transcript_exists: true,
    };
    let changes = transition(&event, &facts);
    assert!(changes.iter().any(|change| matches!(change, Change::Latest { .. })));
    let nested = Facts { nested: true, ..facts };
    assert_eq!(transition(&event, &nested), [], "a nested session changes nothing");
    let manner = Manner {
        words: Vocabulary::new(
            &Tabs {
                idle: TabStyle::Theme,
                running: TabStyle::Style("fg=#6699cc,bg=default,bold,italics".to_owned()),
                waiting: TabStyle::Style("fg=#EC5f67,bg=default,bold,italics".to_owned()),
                debounce_ms: 1500,
            },
            &"p".repeat(256),
        ),
        notified: WaitKind::ALL.to_vec(),
        debounce_ms: 1500,
    };
    let mut place = Place::parse("/s,1,0".as_ref(), "%5".as_ref()).expect("a place");
    let began = Moment::from_micros(1_794_964_287_516_000);
    for hidden_environment in [true, false] {
        place.server.hidden_environment = hidden_environment;
        for batch in request(&changes, &place, began, &manner) {
            check(&batch.words());
        }
    }
}

fn check(words: &[String]) {
    let length: usize = words.iter().map(|word| word.len() + 1).sum();
    assert!(length <= LONGEST_REQUEST, "a request of {length} bytes");
    for word in words {
        assert!(!word.chars().any(char::is_control), "{word:?}");
    }
    let named = words.first().is_some_and(|word| word.starts_with("cld-"));
    let guard = if named { &words[2..] } else { words };
    assert_eq!(guard[..4], ["if", "-F", "-t", "%5"], "{words:?}");
}
