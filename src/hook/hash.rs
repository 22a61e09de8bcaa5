//! A small stable hash (64-bit FNV-1a). Its values are written into tmux and compared by later
//! processes, so it may never change between builds, unlike the hashers of the standard library.

#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds one field; the end of a field counts, so that `("a", "bc")` differs from `("ab", "c")`.
    pub(super) fn add(self, field: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = field.bytes().fold(self.0, step);
        Self(step(hash, 0xff))
    }

    pub(super) fn finish(self) -> u64 {
        // The low bits of FNV are the weaker ones, and callers keep only those.
        self.0 ^ (self.0 >> 32)
    }

    pub(super) fn finish32(self) -> u32 {
        (self.finish() & 0xffff_ffff) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_never_change_between_builds() {
        assert_eq!(Hash::new().add("Bash").finish(), 0xed30_c9e3_1524_17a3);
        assert_ne!(
            Hash::new().add("a").add("bc").finish(),
            Hash::new().add("ab").add("c").finish()
        );
    }
}
