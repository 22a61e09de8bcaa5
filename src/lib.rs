//! cld keeps many Claude Code sessions in tmux within reach.
//!
//! The modules in the order in which one would read them.

// What the user types, sees and has configured.
pub mod cli;
pub mod config;
pub mod error;
pub mod paths;
pub mod screen;
pub mod shell;
pub mod spelling;
pub mod text;

// The nouns, and how they are written into tmux.
pub mod pane;
pub mod session;
pub mod tabs;

// `cld hook`, from a payload to one tmux call.
pub mod hook;

// `cld dismiss`, which takes the red from a tab.
pub mod dismiss;

// `cld settle`, which shows the end of a turn after a while.
pub mod settle;

// What Claude Code itself keeps about its sessions.
mod lenient;
pub mod projects;
pub mod registry;
pub mod slug;
pub mod transcript;

// What is true of every session, out of all of the above.
pub mod find;
pub mod roster;

// `cld mend`, from what is true to what the tabs show.
pub mod mend;

// `cld ls` and `cld show`, from the roster to the screen.
pub mod ls;
pub mod show;

// What a session asks, in full.
pub mod context;

// `cld queue` and the commands that go through it.
pub mod queue;

// `cld search`, from words to the sessions that hold them.
pub mod search;

// `cld send`, from a person's text to a prompt.
pub mod send;

// `cld wait` and `cld watch`, from one look at the sessions to the next.
pub mod wait;
pub mod watch;

// `cld resume` and `cld restore`, from an id to Claude Code in the right directory.
pub mod jump;
pub mod restore;
pub mod resume;

// `cld pick`, from keys to frames, and from a row to its session.
pub mod pick;

// `cld setup`, from the files as they are to the files as they should be, and what is wrong there.
pub mod doctor;
pub mod setup;

// `cld notify`, from a wait that nobody sees to the channels that tell of it.
pub mod notify;

// `cld hub`, from requests and events to sessions and streams.
pub mod hub;

// `cld log` and `cld stats`, from the journal to the terminal.
pub mod log;
pub mod stats;

// The shell companion, the manual and the first five minutes.
pub mod complete;
pub mod demo;
pub mod init;
pub mod man;

// The doors: each is the only way to one thing outside the program.
pub mod claude;
pub mod clock;
pub mod git;
pub mod journal;
pub mod paste;
pub mod process;
pub mod program;
pub mod terminal;
pub mod tmux;
pub mod tty;
