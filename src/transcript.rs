//! Claude Code's transcripts: which session files exist.

mod find;

pub use find::{IdPrefix, Session, all, matching};
