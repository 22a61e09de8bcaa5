//! The folder name Claude gives a working directory.

pub use encode::encode;

mod encode;
