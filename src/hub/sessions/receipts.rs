//! Which messages were sent to a session, and which prompts it has confirmed. Pure.

use std::collections::{HashMap, VecDeque};

use crate::hub::store::Id;

/// How many confirmed prompts are remembered until a message asks for them.
const MOST_PROMPTS: usize = 64;
/// How many messages are remembered, so that one sent twice is typed once.
const MOST_MESSAGES: usize = 1024;

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hub) enum Outcome {
    /// Somebody is typing it.
    Pending,
    Submitted {
        event: Id,
    },
    /// Typed while Claude was busy.
    Queued {
        event: Option<Id>,
    },
    Unconfirmed,
}

#[derive(Debug, Clone, Default)]
pub(in crate::hub) struct Receipts {
    /// Prompts that no message has asked for, with their events.
    prompts: VecDeque<(String, Id)>,
    /// With a fingerprint of the text.
    messages: HashMap<String, (u64, Outcome)>,
    order: VecDeque<String>,
}

impl Receipts {
    pub(in crate::hub) fn submitted(&mut self, prompt: &str, event: Id) {
        if self.prompts.len() >= MOST_PROMPTS {
            self.prompts.pop_front();
        }
        self.prompts.push_back((prompt.to_owned(), event));
    }

    /// The first prompt after `after` that is this text; each confirms one message only.
    pub(in crate::hub) fn take(&mut self, text: &str, after: Option<Id>) -> Option<Id> {
        let fits = |(prompt, event): &(String, Id)| {
            after.is_none_or(|after| *event > after) && is_same(prompt, text)
        };
        let at = self.prompts.iter().position(fits)?;
        self.prompts.remove(at).map(|(_, event)| event)
    }

    pub(in crate::hub) fn outcome(&self, message: &str) -> Option<(u64, Outcome)> {
        self.messages.get(message).cloned()
    }

    pub(in crate::hub) fn note(&mut self, message: &str, text: u64, outcome: Outcome) {
        if self.messages.insert(message.to_owned(), (text, outcome)).is_none() {
            self.order.push_back(message.to_owned());
        }
        if self.order.len() > MOST_MESSAGES
            && let Some(oldest) = self.order.pop_front()
        {
            self.messages.remove(&oldest);
        }
    }

    /// A message that was not typed may be sent again.
    pub(in crate::hub) fn forget(&mut self, message: &str) {
        self.messages.remove(message);
        self.order.retain(|known| known != message);
    }
}

/// Claude Code may drop blanks at the ends, and shows tabs as blanks.
fn is_same(prompt: &str, text: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
    prompt == text || words(prompt) == words(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(seq: u64) -> Id {
        Id { boot: 1, seq }
    }

    #[test]
    fn a_prompt_confirms_the_message_that_it_is_and_only_once() {
        let mut receipts = Receipts::default();
        receipts.submitted("other", id(1));
        receipts.submitted("fix it ", id(2));
        assert_eq!(receipts.take("fix it", Some(id(2))), None);
        assert_eq!(receipts.take("fix it", Some(id(1))), Some(id(2)));
        assert_eq!(receipts.take("fix it", None), None);
    }

    #[test]
    fn messages_are_remembered_up_to_a_number() {
        let mut receipts = Receipts::default();
        for message in 0..=MOST_MESSAGES {
            receipts.note(&message.to_string(), 7, Outcome::Pending);
        }
        receipts.note("1024", 7, Outcome::Unconfirmed);
        assert_eq!(receipts.outcome("0"), None);
        assert_eq!(receipts.outcome("1"), Some((7, Outcome::Pending)));
        assert_eq!(receipts.outcome("1024"), Some((7, Outcome::Unconfirmed)));
        receipts.forget("1");
        assert_eq!(receipts.outcome("1"), None);
    }
}
