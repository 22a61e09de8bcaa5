//! What must hold for any input; `fuzz/` looks for one where it does not.

pub(crate) mod escape;
pub(crate) mod payload;
pub(crate) mod search;
pub(crate) mod settings;
pub(crate) mod slug;
pub(crate) mod sse;
pub(crate) mod transcript;
