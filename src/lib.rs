//! cld
