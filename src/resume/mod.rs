//! `cld resume`: back to a session, in the directory it belongs to.

pub mod decision;
pub mod directory;
pub mod evidence;
pub mod place;
