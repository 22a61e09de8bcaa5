use super::*;
use crate::session::Moment;
use proptest::prelude::*;

const BOOT: u64 = 0x0006_61b2_c5e3_f0a8;

struct Fixture {
    store: Store,
    _dir: tempfile::TempDir,
}

fn fixture(ring_bytes: usize, ring_events: usize, total_bytes: usize) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let spool =
        Spool::open(dir.path().to_owned(), &format!("{BOOT:013x}"), Moment::from_seconds(0));
    let limits = Limits { ring_bytes, ring_events, total_bytes };
    Fixture { store: Store::new(BOOT, limits, spool.unwrap()), _dir: dir }
}

impl Fixture {
    fn post(&self, key: &str, payload: &str) -> u64 {
        self.store.append(&Key::new(key), Kind::Hook, payload).id.seq
    }

    /// All that a reader gets from `cursor` on, and how many it was told are missing.
    fn read(&self, scope: &Scope, mut cursor: u64) -> (Vec<u64>, u64) {
        let (mut seen, mut missing) = (Vec::new(), 0);
        loop {
            match self.store.read(scope, cursor, 100) {
                Read::Entries(entries) => {
                    seen.extend(entries.iter().map(|entry| entry.seq));
                    cursor = *seen.last().unwrap();
                }
                Read::Missing { through, count } => {
                    missing += count;
                    cursor = through;
                }
                Read::Nothing | Read::End => return (seen, missing),
            }
        }
    }
}

fn one(key: &str) -> Scope {
    Scope::One(Key::new(key))
}

#[test]
fn ids_are_written_and_read_back() {
    let id = Id { boot: BOOT, seq: 17 };
    assert_eq!(id.to_string(), "661b2c5e3f0a8-17");
    assert_eq!(Id::parse("661b2c5e3f0a8-17"), Some(id));
    for bad in
        ["", "-", "a-", "-1", "x-1", "a-x", "a-1-2", "+a-1", "a-+1", "a-18446744073709551616"]
    {
        assert_eq!(Id::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn a_ring_is_bounded_by_bytes_and_by_events_but_keeps_the_newest() {
    let by_bytes = fixture(1000, 4096, 1 << 20);
    for _ in 0..10 {
        by_bytes.post("k", &"x".repeat(100));
    }
    assert!(by_bytes.store.usage().bytes <= 1000);
    let last = by_bytes.post("k", &"x".repeat(5000));
    assert_eq!(by_bytes.read(&one("k"), last - 1), (vec![last], 0));
    assert_eq!(by_bytes.store.usage().entries, 1);

    let by_events = fixture(1 << 20, 3, 1 << 20);
    for _ in 0..10 {
        by_events.post("k", "x");
    }
    assert_eq!(by_events.read(&one("k"), 0), (vec![8, 9, 10], 7));
}

#[test]
fn what_is_missing_is_counted_from_where_the_reader_was() {
    let fixture = fixture(1 << 20, 3, 1 << 20);
    for round in 0..20 {
        fixture.post(if round % 2 == 0 { "even" } else { "odd" }, "x");
    }
    // 1, 3, 5 … are `even`.
    assert_eq!(fixture.read(&one("even"), 0), (vec![15, 17, 19], 7));
    assert_eq!(fixture.read(&one("even"), 11), (vec![15, 17, 19], 1));
    assert_eq!(fixture.read(&one("even"), 12), (vec![15, 17, 19], 1));
    assert_eq!(fixture.read(&one("even"), 15), (vec![17, 19], 0));
    assert_eq!(fixture.read(&Scope::All, 10), (vec![15, 16, 17, 18, 19, 20], 4));
    assert_eq!(fixture.read(&Scope::All, 20), (vec![], 0));
}

#[test]
fn one_loud_session_does_not_take_the_events_of_another() {
    let fixture = fixture(1 << 20, 3, 1 << 20);
    let quiet = fixture.post("quiet", "x");
    for _ in 0..100 {
        fixture.post("loud", "x");
    }
    assert_eq!(fixture.read(&one("quiet"), 0), (vec![quiet], 0));
    let (seen, missing) = fixture.read(&Scope::All, 0);
    assert_eq!((seen.len(), missing), (4, 97));
}

#[test]
fn holes_that_a_loud_session_leaves_are_one_to_a_reader_of_everything() {
    let fixture = fixture(1 << 20, 10, 1 << 20);
    for round in 0..1000 {
        let key = if round % 100 == 0 { "quiet" } else { "loud" };
        fixture.post(key, "x");
    }
    // The first is there, then nine quiet ones stand alone between holes.
    let Read::Missing { through, count } = fixture.store.read(&Scope::All, 1, 100) else {
        panic!()
    };
    assert_eq!((through, count), (990, 989));
    assert_eq!(fixture.read(&Scope::All, 1), ((991..=1000).collect(), 989));
}

#[test]
fn the_oldest_ended_session_gives_way_first() {
    let fixture = fixture(1 << 20, 4096, 10 * (OVERHEAD + 40));
    let live = fixture.post("live", "x");
    for key in ["first", "second"] {
        for _ in 0..3 {
            fixture.post(key, "x");
        }
        fixture.store.end(&Key::new(key));
    }
    for _ in 0..6 {
        fixture.post("live", "x");
    }
    assert_eq!(fixture.read(&one("live"), 0).0.first(), Some(&live));
    assert_eq!(fixture.read(&one("first"), 0).0.len(), 0);
    assert!(!fixture.read(&one("second"), 0).0.is_empty());
}

#[test]
fn a_session_that_has_ended_is_read_to_its_end() {
    let fixture = fixture(1 << 20, 4096, 1 << 20);
    let last = fixture.post("k", "x");
    fixture.store.end(&Key::new("k"));
    assert!(matches!(fixture.store.read(&one("k"), 0, 100), Read::Entries(_)));
    assert!(matches!(fixture.store.read(&one("k"), last, 100), Read::End));
    fixture.store.begin(&Key::new("k"));
    assert!(matches!(fixture.store.read(&one("k"), last, 100), Read::Nothing));
}

#[test]
fn sessions_without_number_do_not_fill_the_memory() {
    let fixture = fixture(1 << 20, 4096, 1 << 30);
    for session in 0..MOST_RINGS + 100 {
        fixture.post(&format!("k{session}"), "x");
    }
    assert_eq!(fixture.store.usage().rings, MOST_RINGS);
    assert_eq!(fixture.store.usage().entries, MOST_RINGS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_event_is_seen_once_in_order_or_declared_missing(
        posts in prop::collection::vec((0_usize..4, 0_usize..400), 1..200),
        ring_bytes in 200_usize..3000,
        ring_events in 1_usize..40,
        total_bytes in 500_usize..8000,
        cursor in 0_u64..200,
    ) {
        let fixture = fixture(ring_bytes, ring_events, total_bytes);
        let keys = ["a", "b", "c", "d"];
        let mut posted = Vec::new();
        for (key, length) in posts {
            posted.push((keys[key], fixture.post(keys[key], &"x".repeat(length))));
        }
        for scope in [Scope::All, one("a"), one("b")] {
            let wanted = posted.iter().filter(|(key, seq)| scope.holds(key) && *seq > cursor);
            let wanted = wanted.count() as u64;
            let (seen, missing) = fixture.read(&scope, cursor);
            prop_assert!(seen.is_sorted() && seen.windows(2).all(|two| two[0] < two[1]));
            prop_assert_eq!(seen.len() as u64 + missing, wanted);
        }
    }
}
