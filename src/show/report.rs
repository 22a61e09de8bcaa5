//! Named facts, one line each, with who says so and how old it is. Pure.

use crate::clock::rounded;
use crate::screen::{Screen, padded, width};
use crate::session::Moment;
use crate::text::one_line;

const LONGEST_VALUE: usize = 1024;
const DIM: &str = "2";

#[derive(Debug)]
pub(super) struct Report {
    now: Moment,
    facts: Vec<Fact>,
}

#[derive(Debug)]
struct Fact {
    name: &'static str,
    value: String,
    source: &'static str,
    since: Option<Moment>,
}

impl Report {
    pub(super) fn new(now: Moment) -> Self {
        Self { now, facts: Vec::new() }
    }

    /// Adds a fact; one without a value is none. The value is foreign text.
    pub(super) fn say(
        &mut self,
        name: &'static str,
        value: Option<impl AsRef<str>>,
        source: &'static str,
        since: Option<Moment>,
    ) {
        let value = value.map(|value| one_line(value.as_ref(), LONGEST_VALUE));
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.facts.push(Fact { name, value, source, since });
        }
    }

    /// A name that several lines share is written once.
    pub(super) fn text(&self, screen: Screen) -> String {
        let names = self.facts.iter().map(|fact| width(fact.name)).max().unwrap_or(0);
        let mut text = String::new();
        let mut above = "";
        for fact in &self.facts {
            let name = if fact.name == above { "" } else { fact.name };
            above = fact.name;
            let said = match fact.since {
                Some(since) => {
                    format!("({}, {} ago)", fact.source, rounded(self.now.seconds_since(since)))
                }
                None => format!("({})", fact.source),
            };
            text.push_str(&screen.painted(&padded(name, names), DIM));
            text.push_str(&format!("  {}  {}\n", fact.value, screen.painted(&said, DIM)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_has_a_source_and_an_age() {
        let mut report = Report::new(Moment::from_seconds(100));
        report.say("title", Some("fix\u{1b}[2J\nit"), "hooks", Some(Moment::from_seconds(40)));
        report.say("directory", Some("~/a"), "pane", None);
        report.say("directory", Some("~/b"), "registry", Some(Moment::from_seconds(98)));
        report.say("branch", None::<&str>, "transcript", None);
        report.say("branch", Some(" \n"), "transcript", None);
        assert_eq!(
            report.text(Screen { width: None, has_colours: false }),
            "title      fix [2J it  (hooks, 1m ago)\n\
             directory  ~/a  (pane)\n\
             \u{20}          ~/b  (registry, 2s ago)\n"
        );
    }
}
