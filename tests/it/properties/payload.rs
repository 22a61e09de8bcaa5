//! Whatever stands in a payload, the request for tmux is one line of safe words that fits.

use cld::hook::event::Event;
use cld::hook::request;
use cld::hook::transition::{Change, Facts, LONGEST_CONFIG_DIR, Process, transition};
use cld::session::Moment;
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
    let mut place = Place::parse("/s,1,0".as_ref(), "%5".as_ref()).expect("a place");
    for hidden_environment in [true, false] {
        place.server.hidden_environment = hidden_environment;
        for batch in request(&changes, &place, Moment::from_micros(1_794_964_287_516_000)) {
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
    let text = words.join(" ");
    assert!(text.starts_with("if -F -t %5 "), "{text}");
}
