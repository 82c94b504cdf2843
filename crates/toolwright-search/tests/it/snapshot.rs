//! Snapshots: what is read ranks as what was written, and damage is noticed.

use proptest::prelude::*;
use toolwright_search::{Document, Index, Options, Parameter, Prefab, Ranker, SnapshotError};

fn catalog() -> Index {
    let mut index = Index::new();
    for (prefab, name, description) in [
        ("weather", "get_forecast", "Weather forecast for a city"),
        ("weather", "查询天气", "查询城市的天气预报"),
        ("removed", "parse_file", "Extracts text from a document"),
        ("files", "parse_file", "Extracts text and tables from a document"),
    ] {
        index.add(Document {
            id: format!("{prefab}/{name}"),
            name: name.into(),
            description: description.into(),
            parameters: vec![Parameter { name: "max_rows".into(), description: String::new() }],
            prefab: Prefab {
                id: prefab.into(),
                name: format!("{prefab} tools"),
                description: "Tools".into(),
                tags: vec!["one".into(), "two".into()],
                author: "Ada".into(),
                revision: "1".into(),
            }
            .into(),
        });
    }
    index.remove_prefab("removed");
    index
}

#[test]
fn a_snapshot_ranks_as_its_index() {
    let index = catalog();
    let mut read = Index::from_snapshot(&index.to_snapshot()).expect("a snapshot");
    assert!(read.prefabs().eq(index.prefabs()));
    let options = Options::default().with_tag("two").with_author("ada").with_weak_hits(true);
    for ranker in [Ranker::Search, Ranker::Recommend] {
        for query in ["forcast", "天气预报", "parse_file", "extract tables", "max rows", "Ada"]
        {
            assert_eq!(read.rank(ranker, query, &options), index.rank(ranker, query, &options));
        }
    }
    assert_eq!(read.to_snapshot(), index.to_snapshot());
    assert_eq!(read.remove_prefab("weather"), 2);
    assert_eq!(read.len(), 1);
}

#[test]
fn other_bytes_are_no_snapshot() {
    assert_eq!(Index::from_snapshot(b"").err(), Some(SnapshotError::Damaged));
    assert_eq!(Index::from_snapshot(b"SQLite format 3").err(), Some(SnapshotError::Damaged));
}

#[test]
fn the_snapshot_of_another_version_is_refused() {
    let mut snapshot = catalog().to_snapshot();
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let at = snapshot.windows(version.len()).position(|bytes| bytes == version).expect("a version");
    snapshot[at] = b'9';
    let checksum = crc32fast::hash(&snapshot[12..]).to_le_bytes();
    snapshot[8..12].copy_from_slice(&checksum);
    assert_eq!(Index::from_snapshot(&snapshot).err(), Some(SnapshotError::OtherVersion));
}

proptest! {
    #[test]
    fn a_changed_or_cut_snapshot_is_refused(at in any::<prop::sample::Index>(), bit in 0..8) {
        let snapshot = catalog().to_snapshot();
        let at = at.index(snapshot.len());
        prop_assert!(Index::from_snapshot(&snapshot[..at]).is_err());
        let mut changed = snapshot;
        changed[at] ^= 1_u8 << bit;
        prop_assert!(Index::from_snapshot(&changed).is_err());
    }

    #[test]
    fn a_body_that_ends_nowhere_is_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut snapshot = catalog().to_snapshot();
        let at = 12 + at.index(snapshot.len() - 12);
        snapshot[at] = byte;
        let checksum = crc32fast::hash(&snapshot[12..]).to_le_bytes();
        snapshot[8..12].copy_from_slice(&checksum);
        // It may be another valid index. It must not panic.
        let _ = Index::from_snapshot(&snapshot);
    }
}
