//! The integration tests: the real binary against real tmux, each test in a world of its own.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking and start programs themselves"
)]

mod completions;
mod config;
mod demo;
mod doctor;
mod events;
mod fuzz_corpus;
mod generated;
mod help;
mod hook_faults;
mod hook_forward;
mod hook_injection;
mod hook_race;
mod hook_redraw;
mod hook_table;
mod hub_docs;
mod hub_events;
mod hub_fuzz;
mod hub_hook;
mod hub_message;
mod hub_security;
mod hub_sessions;
mod hub_world;
mod init;
mod install;
mod living;
mod log;
mod ls;
mod man;
mod model;
mod notify;
mod notify_channels;
mod packages;
mod pick;
mod picking;
mod planted;
mod plugin;
mod properties;
mod queue;
mod queue_context;
mod queue_goes;
mod queue_heals;
mod queue_stage;
mod readme;
mod readme_tables;
mod restore;
mod resume;
mod resume_asks;
mod resume_jumps;
mod search;
mod search_planted;
mod send;
mod setup;
mod setup_faults;
mod setup_tmux;
mod shells;
mod show;
mod stage;
mod stats;
mod tabs;
mod tabs_display;
mod tabs_mended;
mod tabs_moves;
mod tabs_notify;
mod usage;
mod wait;
mod watch;
mod world;
