/// What a walk may still spend. `expired` is asked before every step, so that a directory with
/// very many entries ends in time too.
pub(super) struct Allowance<E> {
    pub(super) listings: usize,
    pub(super) entries: usize,
    pub(super) expired: E,
    pub(super) overdrawn: bool,
}

impl<E: FnMut() -> bool> Allowance<E> {
    pub(super) fn take_listing(&mut self) -> bool {
        let left = self.listings.checked_sub(1);
        self.listings = left.unwrap_or(0);
        self.goes_on(left.is_some())
    }

    pub(super) fn take_entry(&mut self) -> bool {
        let left = self.entries.checked_sub(1);
        self.entries = left.unwrap_or(0);
        self.goes_on(left.is_some())
    }

    fn goes_on(&mut self, affordable: bool) -> bool {
        self.overdrawn = self.overdrawn || !affordable || (self.expired)();
        !self.overdrawn
    }
}

#[cfg(test)]
mod tests {
    use super::Allowance;

    #[test]
    fn as_many_listings_and_entries_as_allowed_may_be_taken() {
        let mut allowance =
            Allowance { listings: 1, entries: 2, expired: || false, overdrawn: false };
        assert!(allowance.take_listing());
        assert!(allowance.take_entry());
        assert!(allowance.take_entry());
        assert!(!allowance.overdrawn);
        assert!(!allowance.take_entry());
        assert!(allowance.overdrawn);
    }

    #[test]
    fn one_listing_too_many_overdraws_the_entries_too() {
        let mut allowance =
            Allowance { listings: 0, entries: 9, expired: || false, overdrawn: false };
        assert!(!allowance.take_listing());
        assert!(!allowance.take_entry());
        assert!(allowance.overdrawn);
    }

    #[test]
    fn what_has_expired_once_is_not_asked_again() {
        let mut asked = 0;
        let expired = || {
            asked += 1;
            asked == 2
        };
        let mut allowance = Allowance { listings: 9, entries: 9, expired, overdrawn: false };
        assert!(allowance.take_listing());
        assert!(!allowance.take_entry());
        assert!(!allowance.take_entry());
        assert!(!allowance.take_listing());
        assert!(allowance.overdrawn);
        assert_eq!(asked, 2);
    }
}
