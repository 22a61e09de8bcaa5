//! cld keeps many Claude Code sessions in tmux in reach.
//!
//! The modules in the order in which one would read them.

// What the user types, sees and has configured.
pub mod cli;
pub mod error;
pub mod paths;
pub mod text;

// The nouns, and how they are written into tmux.
pub mod pane;
pub mod session;

// `cld hook`, from a payload to one tmux call.
pub mod hook;

// What Claude Code itself keeps about its sessions.
pub mod registry;
pub mod slug;
pub mod transcript;

// What is true of every session, out of all of the above.
pub mod roster;

// `cld log`, from the journal to the terminal.
pub mod log;

// The doors: each is the only way to one thing outside the program.
pub mod clock;
pub mod journal;
pub mod process;
pub mod tmux;
