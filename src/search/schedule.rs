//! Which file is searched next. Pure.

/// Files in the order in which their results are wanted, the newest first, each to be taken once.
#[derive(Debug)]
pub(super) struct Schedule {
    sizes: Vec<u64>,
    taken: Vec<bool>,
    first: usize,
    /// All files, the largest first, and how many of them are surely taken.
    by_size: Vec<usize>,
    largest: usize,
    bytes_left: u64,
    workers: u64,
}

impl Schedule {
    pub(super) fn new(sizes: Vec<u64>, workers: usize) -> Self {
        let mut by_size: Vec<usize> = (0..sizes.len()).collect();
        by_size.sort_by_key(|at| std::cmp::Reverse(sizes[*at]));
        Self {
            taken: vec![false; sizes.len()],
            first: 0,
            by_size,
            largest: 0,
            bytes_left: sizes.iter().sum(),
            workers: workers.max(1) as u64,
            sizes,
        }
    }

    /// The newest file, except that one which would keep a worker busy longer than all the others
    /// together is begun in time. The first worker always takes the newest, so that results in
    /// order are never waited for in vain.
    pub(super) fn next(&mut self, worker: usize) -> Option<usize> {
        while self.taken.get(self.first).copied()? {
            self.first += 1;
        }
        while self.by_size.get(self.largest).is_some_and(|at| self.taken[*at]) {
            self.largest += 1;
        }
        let is_urgent = |at: &&usize| self.sizes[**at] > self.bytes_left / self.workers;
        let urgent = self.by_size.get(self.largest).filter(is_urgent).filter(|_| worker > 0);
        let next = urgent.copied().unwrap_or(self.first);
        self.taken[next] = true;
        self.bytes_left -= self.sizes[next];
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use proptest::prelude::{prop, proptest};

    fn order(sizes: &[u64], workers: &[usize]) -> Vec<usize> {
        let count = workers.iter().max().unwrap() + 1;
        let mut schedule = Schedule::new(sizes.to_vec(), count);
        workers.iter().map_while(|worker| schedule.next(*worker)).collect()
    }

    #[test]
    fn the_newest_come_first() {
        assert_eq!(order(&[5, 4, 6, 5], &[0, 1, 0, 1, 0]), [0, 1, 2, 3]);
    }

    #[test]
    fn a_file_larger_than_a_fair_share_is_begun_at_once() {
        assert_eq!(order(&[1, 1, 1, 100], &[0, 1, 0, 0]), [0, 3, 1, 2]);
        assert_eq!(order(&[1, 1, 1, 100], &[0, 0, 0, 0]), [0, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn every_file_is_taken_once(
            sizes in prop::collection::vec(0u64..1000, 0..40),
            workers in prop::collection::vec(0usize..4, 60),
        ) {
            let mut taken = order(&sizes, &workers);
            taken.sort_unstable();
            assert_eq!(taken, (0..sizes.len()).collect::<Vec<_>>());
        }
    }
}
