//! cld

pub mod registry;
pub mod transcript;
