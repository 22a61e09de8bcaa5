//! Claude Code's transcripts: which session files exist, and what one says about its session.
//!
//! All text that comes out of here (titles, prompts, directories, branches) is as it stands in
//! files that other programs write. It may hold control characters and escape sequences: whoever
//! shows it must make it harmless first.

mod bytes;
mod copies;
mod evidence;
mod find;
mod later;
mod pieces;
mod prompt;
mod read;
mod recent;
mod record;
mod time;
mod title;

pub use copies::{Copies, compare};
pub use evidence::{LastExchange, Piece, SeenCwd, Worktree};
pub use find::{IdPrefix, Session, all, matching};
pub use later::{Later, later};
pub(crate) use pieces::Source;
pub use read::{Facts, Origin, Reader, Summary};
pub use recent::{Recent, ToolCall, recent, recent_of_agents};
pub use time::parse_utc;
pub use title::{Title, TitleSource};
