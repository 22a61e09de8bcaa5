//! cld

pub mod transcript;
