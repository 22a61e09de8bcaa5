//! cld keeps many Claude Code sessions in tmux in reach.
//!
//! The modules in the order in which one would read them.

// What the user types, sees and has configured.
pub mod cli;
pub mod error;
pub mod paths;
pub mod screen;
pub mod shell;
pub mod text;

// The nouns, and how they are written into tmux.
pub mod pane;
pub mod session;

// `cld hook`, from a payload to one tmux call.
pub mod hook;

// What Claude Code itself keeps about its sessions.
mod lenient;
pub mod projects;
pub mod registry;
pub mod slug;
pub mod transcript;

// What is true of every session, out of all of the above.
pub mod find;
pub mod roster;

// `cld ls` and `cld show`, from the roster to the screen.
pub mod ls;
pub mod show;

// `cld resume`, from an id to Claude Code in the right directory.
pub mod jump;
pub mod resume;

// `cld setup`, from the files as they are to the files as they should be, and what is wrong there.
pub mod doctor;
pub mod setup;

// `cld log`, from the journal to the terminal.
pub mod log;

// The doors: each is the only way to one thing outside the program.
pub mod claude;
pub mod clock;
pub mod git;
pub mod journal;
pub mod process;
pub mod program;
pub mod terminal;
pub mod tmux;
