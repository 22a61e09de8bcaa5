//! cld

pub mod slug;
