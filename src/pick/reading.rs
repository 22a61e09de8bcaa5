//! Reads what the preview shows, off the screen's thread. Only the newest wish counts.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use super::preview::Preview;
use super::row::Key;
use super::threads::Message;
use crate::context;
use crate::roster::{Listed, past};
use crate::session::WaitKind;
use crate::transcript::Reader;

/// Whose preview is wanted.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) key: Key,
    pub(super) listed: Arc<Listed>,
}

/// Reads until nobody wishes any more. A wish that is followed by another is not worth the reading.
pub(super) fn serve(wishes: &Receiver<Wish>, tell: &Sender<Message>) {
    let mut reader = Reader::new();
    while let Ok(first) = wishes.recv() {
        let mut wish = wishes.try_iter().last().unwrap_or(first);
        let mut preview = Preview::of(wish.key.clone());
        read_context(&wish.listed, &mut preview);
        // Whoever went on in the meantime need not wait for the rest.
        while let Some(newer) = wishes.try_iter().last() {
            preview = Preview::of(newer.key.clone());
            read_context(&newer.listed, &mut preview);
            wish = newer;
        }
        read_exchange(&wish.listed, &mut reader, &mut preview);
        if tell.send(Message::Preview(preview)).is_err() {
            return;
        }
    }
}

/// What it asks: the oldest wait in full, others in one line each.
fn read_context(listed: &Listed, preview: &mut Preview) {
    let waits = listed.health.waits.as_slice();
    let Some((first, others)) = waits.split_first() else { return };
    if let Some(context) = context::of(listed) {
        preview.add_context(first.kind.word(), &context);
    }
    for wait in others {
        preview.add(wait.kind.word(), &wait.context);
    }
}

fn read_exchange(listed: &Listed, reader: &mut Reader, preview: &mut Preview) {
    let Some(path) = listed.transcript.as_deref() else { return };
    let bucket = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let Ok(facts) = reader.facts(path, &bucket, past::slug_of) else { return };
    let mut exchange = facts.last_exchange;
    // A turn that came to its end waits with the same words.
    let is_over = |wait: &WaitKind| matches!(wait, WaitKind::Turn(_));
    if listed.waits_for().is_some_and(|wait| is_over(&wait.kind)) && exchange.is_answered {
        exchange.reply = None;
    }
    preview.add_exchange(&exchange);
}
