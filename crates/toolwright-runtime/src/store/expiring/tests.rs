//! Tests of both backends.

use super::*;

const LIMITS: Limits = Limits { lifetime: Duration::from_hours(1), bytes: 10_000, entries: 100 };

/// Runs a test on a store in memory and on one in a file.
fn both(test: impl AsyncFn(&ExpiringStore)) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test(&ExpiringStore::in_memory()));
    runtime.block_on(test(&ExpiringStore::open(folder.path().join("store.sqlite")).unwrap()));
}

fn scope(owner: &str) -> Scope {
    Scope { owner: owner.into(), kind: "note" }
}

fn entry(name: &str, value: &str) -> Entry {
    Entry { name: name.to_owned(), aliases: vec![], value: value.into() }
}

fn put(store: &ExpiringStore, owner: &str, entry: Entry, limits: Limits) {
    store.put(&scope(owner), entry, limits, |done| assert_eq!(done, Ok(Outcome::Stored)));
}

async fn get(store: &ExpiringStore, owner: &str, name: &str) -> Option<String> {
    let value = store.get(&scope(owner), name).await.unwrap();
    value.map(|value| String::from_utf8(value).unwrap())
}

#[test]
fn an_entry_is_read_by_its_owner_alone() {
    both(async |store| {
        put(store, "alice", entry("a", "one"), LIMITS);
        assert_eq!(get(store, "alice", "a").await.as_deref(), Some("one"));
        assert_eq!(get(store, "bob", "a").await, None);
        let other = Scope { kind: "other", ..scope("alice") };
        assert_eq!(store.get(&other, "a").await, Ok(None));
        assert_eq!(store.remove(&scope("bob"), "a").await, Ok(false));
        assert_eq!(store.remove(&scope("alice"), "a").await, Ok(true));
        assert_eq!(store.remove(&scope("alice"), "a").await, Ok(false));
        assert_eq!(get(store, "alice", "a").await, None);
    });
}

#[test]
fn an_entry_that_is_committed_is_stored_or_too_large() {
    both(async |store| {
        let stored = store.commit(&scope("alice"), entry("a", "one"), LIMITS).await;
        assert_eq!(stored, Ok(Outcome::Stored));
        assert_eq!(get(store, "alice", "a").await.as_deref(), Some("one"));
        let limits = Limits { bytes: 1, ..LIMITS };
        let refused = store.commit(&scope("alice"), entry("a", "two"), limits).await;
        assert_eq!(refused, Ok(Outcome::TooLarge));
        assert_eq!(get(store, "alice", "a").await.as_deref(), Some("one"));
    });
}

#[test]
fn aliases_lead_to_an_entry_and_go_with_it() {
    both(async |store| {
        let aliases = vec!["x".to_owned(), "y".to_owned()];
        put(store, "alice", Entry { aliases, ..entry("a", "one") }, LIMITS);
        put(store, "alice", Entry { aliases: vec!["y".to_owned()], ..entry("b", "two") }, LIMITS);
        assert_eq!(get(store, "alice", "x").await.as_deref(), Some("one"));
        assert_eq!(get(store, "alice", "y").await.as_deref(), Some("two"), "the later one");
        store.remove(&scope("alice"), "a").await.unwrap();
        assert_eq!(get(store, "alice", "x").await, None);
        assert_eq!(get(store, "alice", "y").await.as_deref(), Some("two"));
    });
}

#[test]
fn an_entry_replaces_the_one_of_its_name() {
    both(async |store| {
        for value in ["one", "two"] {
            put(store, "alice", entry("a", value), Limits { entries: 1, ..LIMITS });
        }
        assert_eq!(get(store, "alice", "a").await.as_deref(), Some("two"));
    });
}

#[test]
fn the_least_recently_used_entries_of_an_owner_make_room() {
    both(async |store| {
        let few = Limits { entries: 2, ..LIMITS };
        put(store, "bob", entry("a", "his"), few);
        put(store, "alice", entry("a", "one"), few);
        put(store, "alice", entry("b", "two"), few);
        // Times are counted in milliseconds.
        std::thread::sleep(Duration::from_millis(5));
        get(store, "alice", "a").await.unwrap();
        put(store, "alice", entry("c", "three"), few);
        assert_eq!(get(store, "alice", "b").await, None, "not read for longest");
        assert_eq!(get(store, "alice", "a").await.as_deref(), Some("one"));
        assert_eq!(get(store, "alice", "c").await.as_deref(), Some("three"));
        assert_eq!(get(store, "bob", "a").await.as_deref(), Some("his"), "another owner");

        let small = Limits { bytes: 1_000, ..LIMITS };
        put(store, "alice", entry("large", &"x".repeat(700)), small);
        assert_eq!(get(store, "alice", "a").await, None);
        assert_eq!(get(store, "alice", "large").await.unwrap().len(), 700);
        store.put(&scope("alice"), entry("huge", &"x".repeat(900)), small, |done| {
            assert_eq!(done, Ok(Outcome::TooLarge));
        });
        assert!(get(store, "alice", "large").await.is_some(), "displaced by nothing");
    });
}

#[test]
fn an_entry_with_a_short_lifetime_is_not_displaced_by_older_ones_with_a_long_one() {
    both(async |store| {
        let few = Limits { entries: 2, ..LIMITS };
        let short = Limits { lifetime: Duration::from_mins(1), ..few };
        put(store, "alice", entry("a", "one"), few);
        put(store, "alice", entry("b", "two"), few);
        put(store, "alice", entry("short", "three"), short);
        assert_eq!(get(store, "alice", "short").await.as_deref(), Some("three"));
        assert_eq!(get(store, "alice", "a").await, None, "the least recently used");
    });
}

#[test]
fn an_entry_expires_behind_one_that_does_not() {
    both(async |store| {
        let short = Limits { lifetime: Duration::from_millis(1), ..LIMITS };
        put(store, "alice", entry("long", "one"), LIMITS);
        put(
            store,
            "alice",
            Entry { aliases: vec!["x".to_owned()], ..entry("short", "two") },
            short,
        );
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(get(store, "alice", "short").await, None);
        assert_eq!(get(store, "alice", "x").await, None);
        assert_eq!(store.remove(&scope("alice"), "short").await, Ok(false));
        assert_eq!(store.recent("note", 100).await.unwrap().len(), 1);
        assert_eq!(get(store, "alice", "long").await.as_deref(), Some("one"));
    });
}

#[test]
fn an_entry_expires_when_nobody_reads_it() {
    both(async |store| {
        let short = Limits { lifetime: Duration::from_millis(400), ..LIMITS };
        put(store, "alice", entry("read", "one"), short);
        put(store, "alice", entry("unread", "two"), short);
        for _ in 0..500 {
            if store.recent("note", 100).await.unwrap().len() == 1 {
                break;
            }
            assert!(get(store, "alice", "read").await.is_some());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(get(store, "alice", "unread").await, None);
        assert_eq!(get(store, "alice", "read").await.as_deref(), Some("one"));
        assert_eq!(store.remove(&scope("alice"), "unread").await, Ok(false));
    });
}

#[tokio::test]
async fn a_file_keeps_entries_totals_and_expiry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let few = Limits { entries: 2, ..LIMITS };
    let store = ExpiringStore::open(&path).unwrap();
    put(&store, "alice", Entry { aliases: vec!["x".to_owned()], ..entry("a", "one") }, few);
    put(&store, "alice", entry("b", "two"), few);
    let short = Limits { lifetime: Duration::from_millis(1), ..LIMITS };
    put(&store, "carol", entry("short", "gone"), short);
    drop(store);
    std::thread::sleep(Duration::from_millis(20));
    let store = ExpiringStore::open(&path).unwrap();
    assert_eq!(get(&store, "alice", "x").await.as_deref(), Some("one"));
    put(&store, "alice", entry("c", "three"), few);
    assert_eq!(get(&store, "alice", "b").await, None, "counted across the restart");
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("SELECT count(*) FROM entry"), 2);
    assert_eq!(number("SELECT count(*) FROM content"), 2);
    assert_eq!(number("SELECT entries FROM total WHERE owner = 'carol'"), 0);
}

#[test]
fn the_recent_entries_of_a_kind_are_read_for_all_owners() {
    both(async |store| {
        put(store, "alice", entry("a", "one"), LIMITS);
        std::thread::sleep(Duration::from_millis(5));
        put(store, "bob", entry("b", "two"), LIMITS);
        put(store, "bob", entry("short", "gone"), Limits { lifetime: Duration::ZERO, ..LIMITS });
        let other = Scope { kind: "other", ..scope("alice") };
        store.put(&other, entry("c", "three"), LIMITS, |_| {});
        let recent = async |bytes| {
            let found = store.recent("note", bytes).await.unwrap();
            found
                .into_iter()
                .map(|(owner, value)| (owner, String::from_utf8(value).unwrap()))
                .collect::<Vec<_>>()
        };
        let of = |owner: &str, value: &str| (owner.to_owned(), value.to_owned());
        assert_eq!(recent(100).await, [of("alice", "one"), of("bob", "two")]);
        assert_eq!(recent(5).await, [of("bob", "two")], "the most recently used");
    });
}

#[test]
fn the_values_of_a_scope_are_read_without_a_new_lifetime() {
    both(async |store| {
        let short = Limits { lifetime: Duration::from_millis(60), ..LIMITS };
        put(store, "alice", entry("a", "one"), LIMITS);
        put(store, "alice", entry("b", "two"), short);
        put(store, "bob", entry("c", "three"), LIMITS);
        let values = store.values(&scope("alice")).await.unwrap();
        assert!(values.contains(&b"one".to_vec()) && values.iter().all(|value| value != b"three"));
        while store.peek(&scope("alice"), "b").await.unwrap().is_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(store.values(&scope("alice")).await.unwrap(), [b"one".to_vec()]);
        assert_eq!(get(store, "alice", "b").await, None);
    });
}

#[test]
fn an_entry_is_replaced_if_it_is_unchanged() {
    both(async |store| {
        put(store, "alice", entry("a", "one"), LIMITS);
        let replace = async |expected: &str, value: &str| {
            let expected = expected.as_bytes().to_vec();
            store.replace(&scope("alice"), expected, entry("a", value), LIMITS).await.unwrap()
        };
        assert!(!replace("other", "two").await);
        assert!(replace("one", "two").await);
        assert!(!replace("one", "three").await);
        assert_eq!(get(store, "alice", "a").await.as_deref(), Some("two"));
        let (expected, limits) = (b"two".to_vec(), LIMITS);
        assert!(!store.replace(&scope("bob"), expected, entry("a", "x"), limits).await.unwrap());
    });
}
