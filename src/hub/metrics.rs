//! Figures about the hub, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts up, and down again where something can go away.
#[derive(Debug, Default, Clone)]
pub(super) struct Count(Arc<AtomicU64>);

impl Count {
    pub(super) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more, for as long as the answer lives; nothing where there are `most` already.
    pub(super) fn enter(&self, most: u64) -> Option<Gauge> {
        let count = |now| (now < most).then_some(now + 1);
        let entered = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        entered.ok().map(|_| Gauge(self.clone()))
    }
}

#[derive(Debug)]
pub(super) struct Gauge(Count);

impl Drop for Gauge {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) events: Count,
    pub(super) event_bytes: Count,
    pub(super) events_refused: Count,
    pub(super) oversize: Count,
    pub(super) spool_errors: Count,
    pub(super) requests: Count,
    pub(super) requests_refused: Count,
    pub(super) streams: Count,
    pub(super) connections: Count,
    pub(super) gaps: Count,
    pub(super) slow_readers: Count,
    pub(super) messages: Count,
    pub(super) sessions_started: Count,
}

/// One line of the answer.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) help: &'static str,
    pub(super) value: u64,
}

pub(super) fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for Line { name, kind, help, value } in lines {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP cld_hub_{name} {help}\n# TYPE cld_hub_{name} {kind}\ncld_hub_{name} {value}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_counts_what_is_there_up_to_a_limit() {
        let count = Count::default();
        let first = count.enter(2);
        let second = count.enter(2);
        assert!(first.is_some() && second.is_some() && count.enter(2).is_none());
        drop(first);
        assert_eq!(count.get(), 1);
        assert!(count.enter(2).is_some());
    }

    #[test]
    fn lines_have_a_help_and_a_type() {
        let line = Line { name: "streams", kind: "gauge", help: "Open streams.", value: 3 };
        assert_eq!(
            text(&[line]),
            "# HELP cld_hub_streams Open streams.\n# TYPE cld_hub_streams gauge\ncld_hub_streams 3\n"
        );
    }
}
