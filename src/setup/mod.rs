//! `cld setup`: the files as they are -> the files as they should be -> the difference -> a
//! question -> written, or nothing is.

mod command;
mod events;
pub mod settings;
mod write;
