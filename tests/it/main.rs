//! The integration tests: the real binary against real tmux, each test in a world of its own.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking and start programs themselves"
)]

mod doctor;
mod events;
mod fuzz_corpus;
mod hook_faults;
mod hook_forward;
mod hook_injection;
mod hook_race;
mod hook_redraw;
mod hook_table;
mod living;
mod log;
mod ls;
mod model;
mod planted;
mod plugin;
mod properties;
mod resume;
mod resume_asks;
mod resume_jumps;
mod setup;
mod setup_faults;
mod show;
mod stage;
mod usage;
mod world;
