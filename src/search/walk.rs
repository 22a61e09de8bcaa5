//! Walks through the JSON of one record, piece by piece, and hands out the texts that matter.
//!
//! A record may be a hundred megabytes long, end in the middle or be no JSON at all. So it is never
//! held as a whole: pieces are fed as they are read, texts come out in windows of bounded length,
//! and what is torn has given all that was there.

use std::ops::ControlFlow;

use memchr::memchr2;

use super::places::{Field, Flag, Meaning, NOTHING, Place, Slot, Use, element_of, value_of};

/// How much decoded text is handed out at a time, and how much of it is repeated in the next
/// window, so that a match at the edge is not lost.
const WINDOW: usize = 256 * 1024;
const OVERLAP: usize = 16 * 1024;
// A match may begin in one window and end in the next.
const _: () = assert!(OVERLAP < WINDOW / 2);
/// Names and short values; what is longer is none that is known.
const LONGEST_NAME: usize = 256;
const DEEPEST: usize = 256;

/// A block is known by its number; texts outside of blocks have the number 0.
#[derive(Debug)]
pub(super) enum Event<'a> {
    Field { field: Field, block: u32, value: &'a str },
    Flag(Flag),
    Text { slot: Slot, block: u32, is_first: bool, text: &'a str },
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    place: Place,
    is_array: bool,
    wants_key: bool,
    /// What the value after the last key means.
    next: Meaning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    InString(Use),
    AfterBackslash(Use),
    InUnicode { string: Use, digits: u8, value: u16 },
}

#[derive(Debug)]
pub(super) struct Walker {
    state: State,
    frames: Vec<Frame>,
    block: u32,
    /// The string that is being read, decoded.
    bytes: Vec<u8>,
    is_first_window: bool,
    high_surrogate: Option<u16>,
}

impl Walker {
    pub(super) fn new() -> Self {
        Self {
            state: State::Between,
            frames: Vec::new(),
            block: 0,
            bytes: Vec::new(),
            is_first_window: true,
            high_surrogate: None,
        }
    }

    /// Forgets the record.
    pub(super) fn reset(&mut self) {
        self.state = State::Between;
        self.frames.clear();
        self.block = 0;
        self.bytes.clear();
        self.is_first_window = true;
        self.high_surrogate = None;
    }

    /// Takes the next piece of a record. Stops early when `tell` has heard enough, or when this is
    /// no record.
    pub(super) fn feed(
        &mut self,
        piece: &[u8],
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut rest = piece;
        while let Some(byte) = rest.first() {
            match self.state {
                State::Between => {
                    self.between(*byte, tell)?;
                    rest = &rest[1..];
                }
                State::InString(string) => rest = self.in_string(string, rest, tell)?,
                State::AfterBackslash(string) => {
                    self.after_backslash(string, *byte);
                    rest = &rest[1..];
                }
                State::InUnicode { string, digits, value } => {
                    let Some(digit) = char::from(*byte).to_digit(16) else {
                        self.state = State::InString(string);
                        continue;
                    };
                    let value = value << 4 | u16::try_from(digit).unwrap_or(0);
                    self.state = match digits {
                        3 => State::InString(string),
                        _ => State::InUnicode { string, digits: digits + 1, value },
                    };
                    if digits == 3 && string != Use::Skipped {
                        self.take_unit(value);
                    }
                    rest = &rest[1..];
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// The record ends here. One that was torn inside a text gives what is there of it.
    pub(super) fn finish(
        &mut self,
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.state {
            State::InString(string @ Use::Text(_))
            | State::AfterBackslash(string @ Use::Text(_))
            | State::InUnicode { string: string @ Use::Text(_), .. } => {
                self.end_string(string, tell)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn between(
        &mut self,
        byte: u8,
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match byte {
            b'"' => {
                let string = match self.frames.last() {
                    Some(frame) if frame.wants_key => Use::Key,
                    Some(frame) => frame.next.string,
                    None => return ControlFlow::Break(()),
                };
                self.bytes.clear();
                self.is_first_window = true;
                self.state = State::InString(string);
            }
            b'{' | b'[' => return self.open(byte == b'['),
            b'}' | b']' => {
                self.frames.pop();
                if self.frames.is_empty() {
                    return ControlFlow::Break(());
                }
            }
            b',' => {
                if let Some(frame) = self.frames.last_mut().filter(|frame| !frame.is_array) {
                    frame.wants_key = true;
                }
            }
            b'\n' => return ControlFlow::Break(()),
            b't' => {
                if let Some(flag) = self.frames.last().and_then(|frame| frame.next.flag) {
                    return tell(Event::Flag(flag));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn open(&mut self, is_array: bool) -> ControlFlow<()> {
        let place = match self.frames.last() {
            None if is_array => return ControlFlow::Break(()),
            None => Place::Record,
            Some(frame) => frame.next.container,
        };
        if self.frames.len() == DEEPEST {
            return ControlFlow::Break(());
        }
        if place == Place::Block {
            self.block += 1;
        }
        let next = if is_array { element_of(place) } else { NOTHING };
        self.frames.push(Frame { place, is_array, wants_key: !is_array, next });
        ControlFlow::Continue(())
    }

    fn in_string<'p>(
        &mut self,
        string: Use,
        rest: &'p [u8],
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<(), &'p [u8]> {
        let end = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        self.take_bytes(string, &rest[..end], tell)?;
        match rest.get(end) {
            Some(b'\\') => self.state = State::AfterBackslash(string),
            Some(_) => {
                self.state = State::Between;
                self.end_string(string, tell)?;
            }
            None => {}
        }
        ControlFlow::Continue(rest.get(end + 1..).unwrap_or_default())
    }

    fn take_bytes(
        &mut self,
        string: Use,
        mut plain: &[u8],
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !plain.is_empty() {
            self.end_surrogate();
        }
        match string {
            Use::Skipped => {}
            Use::Key | Use::Field(_) => {
                let room = LONGEST_NAME.saturating_sub(self.bytes.len());
                self.bytes.extend_from_slice(&plain[..plain.len().min(room)]);
            }
            Use::Text(slot) => loop {
                let room = WINDOW.saturating_sub(self.bytes.len());
                let (now, later) = plain.split_at(plain.len().min(room));
                append(&mut self.bytes, now);
                plain = later;
                if self.bytes.len() < WINDOW {
                    break;
                }
                self.end_window(slot, tell)?;
            },
        }
        ControlFlow::Continue(())
    }

    fn after_backslash(&mut self, string: Use, byte: u8) {
        self.state = State::InString(string);
        let decoded = match byte {
            b'u' => {
                self.state = State::InUnicode { string, digits: 0, value: 0 };
                return;
            }
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            other => other,
        };
        if string != Use::Skipped {
            self.end_surrogate();
            self.push(char::from(decoded));
        }
    }

    fn take_unit(&mut self, unit: u16) {
        let pair = self.high_surrogate.take();
        if let Some(high) = pair {
            let mut both = char::decode_utf16([high, unit]);
            if let (Some(Ok(character)), None) = (both.next(), both.next()) {
                self.push(character);
                return;
            }
            self.push(char::REPLACEMENT_CHARACTER);
        }
        match unit {
            0xd800..=0xdbff => self.high_surrogate = Some(unit),
            _ => self.push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    /// Texts never grow beyond a window; a name of nothing but escapes could.
    fn push(&mut self, character: char) {
        if self.bytes.len() > WINDOW {
            return;
        }
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => self.bytes.push(byte),
            _ => self.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    /// JavaScript cuts text inside of an emoji; the half that is left is no character.
    fn end_surrogate(&mut self) {
        if self.high_surrogate.take().is_some() {
            self.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn end_window(
        &mut self,
        slot: Slot,
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let whole = boundary(&self.bytes, self.bytes.len());
        let text = String::from_utf8_lossy(&self.bytes[..whole]);
        let is_first = std::mem::replace(&mut self.is_first_window, false);
        tell(Event::Text { slot, block: self.block, is_first, text: &text })?;
        let kept = boundary(&self.bytes, self.bytes.len() - OVERLAP);
        self.bytes.drain(..kept);
        ControlFlow::Continue(())
    }

    fn end_string(
        &mut self,
        string: Use,
        tell: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.end_surrogate();
        let value = String::from_utf8_lossy(&self.bytes);
        match string {
            Use::Skipped => {}
            Use::Key => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.next = value_of(frame.place, &value);
                    frame.wants_key = false;
                }
            }
            Use::Field(field) => tell(Event::Field { field, block: self.block, value: &value })?,
            Use::Text(slot) => {
                let is_first = self.is_first_window;
                tell(Event::Text { slot, block: self.block, is_first, text: &value })?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// The end of the last whole character before `end`.
fn boundary(bytes: &[u8], end: usize) -> usize {
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    if end < bytes.len() {
        return (end.saturating_sub(3)..=end).rev().find(|at| !is_inside(at)).unwrap_or(end);
    }
    // At the very end only the first byte of the last character tells whether it is whole.
    let start = (end.saturating_sub(3)..end).rev().find(|at| !is_inside(at));
    match start {
        Some(start) if bytes[start] >= 0xc0 => {
            let length = bytes[start].leading_ones() as usize;
            if start + length > end { start } else { end }
        }
        _ => end,
    }
}

/// Texts come in short runs between escapes, for which a call of the C library's `memcpy` costs more
/// than the bytes: that of musl takes a third of a search.
fn append(bytes: &mut Vec<u8>, run: &[u8]) {
    const SHORT: usize = 256;
    if run.len() > SHORT {
        return bytes.extend_from_slice(run);
    }
    let (chunks, rest) = run.as_chunks::<16>();
    bytes.reserve(run.len());
    for chunk in chunks {
        bytes.extend_from_slice(chunk);
    }
    for byte in rest {
        bytes.push(*byte);
    }
}

#[cfg(test)]
mod tests;
