//! The stores: the same tests for memory and SQLite, then what is particular to each.

use std::collections::HashSet;
use std::time::Duration;

use toolwright_runtime::handle::{
    HandleError, HandleId, HandleStore, HandleStoreError, Limits, MemoryHandles,
};
use toolwright_runtime::output::Content;

use toolwright_core::Json;

use super::{blob, json, owner, table};

/// Runs a test on a store in memory, and on one in a file if the feature is enabled.
async fn each(limits: Limits, test: impl AsyncFn(&dyn HandleStore)) {
    test(&MemoryHandles::new(limits)).await;
    #[cfg(feature = "sqlite")]
    {
        let folder = tempfile::tempdir().unwrap();
        test(&sqlite::open(folder.path(), limits)).await;
    }
}

#[tokio::test]
async fn only_its_owner_finds_a_value() {
    each(Limits::default(), async |store| {
        let mine = owner("acme", "chat-1");
        let id = store.put(&mine, Content::json(table())).await.unwrap();
        assert_eq!(store.find(&mine, id).await, Ok(Content::json(table())));
        for stranger in [owner("acme", "chat-2"), owner("other", "chat-1"), owner("", "")] {
            assert_eq!(store.find(&stranger, id).await, Err(HandleError::Unknown));
        }
        let forged = HandleId::from_random(7);
        assert_eq!(store.find(&mine, forged).await, Err(HandleError::Unknown));
    })
    .await;
}

#[tokio::test]
async fn ids_are_random() {
    each(Limits::default(), async |store| {
        let mine = owner("acme", "chat-1");
        let mut ids = HashSet::new();
        for _ in 0..1000 {
            ids.insert(store.put(&mine, Content::json(Json::Null)).await.unwrap().to_string());
        }
        assert_eq!(ids.len(), 1000);
        // Every digit takes many values: the id is no counter or timestamp, and has no leading zeros.
        for place in 3..35 {
            let digits: HashSet<u8> = ids.iter().map(|id| id.as_bytes()[place]).collect();
            assert_eq!(digits.len(), 16, "digit {place}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_value_comes_back_exactly() {
    each(Limits::default(), async |store| {
        let mine = owner("acme", "会话");
        let values = [
            Content::json(json(r#"{"n":1.10,"n":1e400,"深":[null,true,"\u0000\n"]}"#)),
            Content::json("x".repeat(1 << 20)),
            Content::Bytes(blob(b"\n{\0\xff")),
            Content::Bytes(blob(&vec![7; 1 << 20])),
            Content::Bytes(blob(b"")),
        ];
        for value in values {
            let id = store.put(&mine, value.clone()).await.unwrap();
            assert_eq!(store.find(&mine, id).await, Ok(value));
        }
    })
    .await;
}

#[tokio::test]
async fn a_value_expires_for_its_owner_alone() {
    let limits = Limits { lifetime: Duration::from_millis(40), ..Limits::default() };
    each(limits, async |store| {
        let mine = owner("acme", "chat-1");
        let id = store.put(&mine, Content::json(table())).await.unwrap();
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(store.find(&mine, id).await, Err(HandleError::Expired));
        // The next value evicts it; the owner still gets the reason, and another owner learns nothing.
        store.put(&mine, Content::json(Json::Null)).await.unwrap();
        assert_eq!(store.find(&mine, id).await, Err(HandleError::Expired));
        assert_eq!(store.find(&owner("acme", "chat-2"), id).await, Err(HandleError::Unknown));
        assert_eq!(store.find(&owner("other", "chat-1"), id).await, Err(HandleError::Unknown));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_value_lives_exactly_as_long_as_the_limits_say_after_its_last_use() {
    let limits = Limits { lifetime: Duration::from_mins(10), ..Limits::default() };
    let store = MemoryHandles::new(limits);
    let mine = owner("acme", "chat-1");
    let id = store.put(&mine, Content::json(table())).await.unwrap();
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(599)).await;
        assert!(store.find(&mine, id).await.is_ok());
    }
    tokio::time::advance(Duration::from_mins(10)).await;
    assert_eq!(store.find(&mine, id).await, Err(HandleError::Expired));
}

#[tokio::test]
async fn the_oldest_values_are_evicted() {
    each(Limits { entries: 3, ..Limits::default() }, async |store| {
        let mine = owner("acme", "chat-1");
        let mut ids = Vec::new();
        for number in 0..5_u64 {
            ids.push(store.put(&mine, Content::json(number)).await.unwrap());
        }
        for id in &ids[..2] {
            assert_eq!(store.find(&mine, *id).await, Err(HandleError::Expired));
        }
        for id in &ids[2..] {
            assert!(store.find(&mine, *id).await.is_ok());
        }
    })
    .await;
}

#[tokio::test]
async fn no_tenant_evicts_values_of_another() {
    let kilobyte = || Content::Bytes(blob(&[0; 1000]));
    each(Limits { bytes: 10_500, ..Limits::default() }, async |store| {
        let (small, large) = (owner("small", "r"), owner("large", "r"));
        let id = store.put(&small, kilobyte()).await.unwrap();
        for _ in 0..100 {
            store.put(&large, kilobyte()).await.unwrap();
        }
        assert!(store.find(&small, id).await.is_ok());
        let big = Content::Bytes(blob(&vec![0; 20_000]));
        assert_eq!(store.put(&large, big).await, Err(HandleStoreError::Full));
        assert!(store.find(&small, id).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_value_larger_than_the_free_memory_is_not_stored() {
    let store = MemoryHandles::new(Limits { bytes: 10_500, ..Limits::default() });
    let (small, large) = (owner("small", "r"), owner("large", "r"));
    let id = store.put(&small, Content::Bytes(blob(&[0; 1000]))).await.unwrap();
    let big = store.put(&large, Content::Bytes(blob(&[0; 10_000]))).await;
    assert_eq!(big, Err(HandleStoreError::Full));
    assert!(store.find(&small, id).await.is_ok());
}

#[tokio::test]
async fn concurrent_callers_each_find_their_values() {
    each(Limits::default(), async |store| {
        let callers = (0..50_u64).map(async |number| {
            let mine = owner(&format!("tenant-{}", number % 5), &format!("chat-{number}"));
            let id = store.put(&mine, Content::json(number)).await.unwrap();
            assert_eq!(store.find(&mine, id).await, Ok(Content::json(number)));
        });
        futures_util::future::join_all(callers).await;
    })
    .await;
}

#[cfg(feature = "sqlite")]
mod sqlite {
    //! A store in a file.

    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use rusqlite::Connection;
    use toolwright_runtime::handle::SqliteHandles;
    use toolwright_runtime::store::StoreError;
    use toolwright_runtime::{Effect, Handler, Output};

    use super::*;
    use toolwright_testing::tools as support;

    pub(super) fn open(folder: &Path, limits: Limits) -> SqliteHandles {
        SqliteHandles::open(folder.join("handles.sqlite"), limits).unwrap()
    }

    #[tokio::test]
    async fn a_restart_keeps_values_and_the_memory_of_expired_ones() {
        let folder = tempfile::tempdir().unwrap();
        let mine = owner("acme", "chat-1");
        let store = open(folder.path(), Limits::default());
        let id = store.put(&mine, Content::json(table())).await.unwrap();
        drop(store);
        let short = Limits { lifetime: Duration::from_millis(1), ..Limits::default() };
        let store = open(folder.path(), short);
        let brief = store.put(&mine, Content::json(1_u64)).await.unwrap();
        drop(store);
        std::thread::sleep(Duration::from_millis(5));
        let store = open(folder.path(), Limits::default());
        assert_eq!(store.find(&mine, id).await, Ok(Content::json(table())));
        assert_eq!(store.find(&owner("acme", "chat-2"), id).await, Err(HandleError::Unknown));
        assert_eq!(store.find(&mine, brief).await, Err(HandleError::Expired));
    }

    #[tokio::test]
    async fn two_processes_may_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let stores = [(); 2].map(|()| open(folder.path(), Limits::default()));
        let mine = owner("acme", "chat-1");
        let mut ids = Vec::new();
        for round in 0..20_u64 {
            let puts = stores.each_ref().map(|store| store.put(&mine, Content::json(round)));
            ids.extend(futures_util::future::join_all(puts).await.into_iter().map(Result::unwrap));
        }
        for store in &stores {
            for id in &ids {
                assert!(store.find(&mine, *id).await.is_ok());
            }
        }
    }

    #[test]
    fn a_damaged_file_is_reported_when_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("handles.sqlite");
        std::fs::write(&path, "not a database, and long enough to look like one".repeat(100))
            .unwrap();
        let error = SqliteHandles::open(&path, Limits::default()).unwrap_err();
        assert!(
            matches!(error, StoreError::Foreign { .. } | StoreError::Damaged { .. }),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_damaged_value_is_unavailable_and_the_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), Limits::default());
        let mine = owner("acme", "chat-1");
        let damaged = store.put(&mine, Content::json(table())).await.unwrap();
        let other = store.put(&mine, Content::json(2_u64)).await.unwrap();
        let file = Connection::open(folder.path().join("handles.sqlite")).unwrap();
        file.execute(
            "UPDATE content SET value = x'00ff' WHERE entry =
             (SELECT id FROM entry WHERE kind = 'handle' AND name LIKE ?1)",
            [format!("{damaged}%")],
        )
        .unwrap();
        assert_eq!(store.find(&mine, damaged).await, Err(HandleError::Unavailable));
        assert_eq!(store.find(&mine, other).await, Ok(Content::json(2_u64)));
    }

    #[tokio::test]
    async fn a_full_disk_costs_the_values_that_need_it() {
        let folder = tempfile::tempdir().unwrap();
        let reported: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&reported);
        let store = open(folder.path(), Limits::default())
            .with_report(move |error| log.lock().unwrap().push(error.to_string()));
        let store = Arc::new(store);
        let (mine, large) = (owner("acme", "chat-1"), || Content::json("x".repeat(100_000)));
        let id = store.put(&mine, large()).await.unwrap();
        let file = Connection::open(folder.path().join("handles.sqlite")).unwrap();
        file.execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON content
             BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
        )
        .unwrap();
        let error = store.put(&mine, large()).await.unwrap_err();
        assert!(matches!(error, HandleStoreError::Failed(_)), "{error}");
        assert!(reported.lock().unwrap()[0].contains("the disk is full"));
        assert!(store.find(&mine, id).await.is_ok(), "what is stored can be read");

        // A call that needs no handle runs, and the model does not read the path of the file.
        let say = |name: &str, bytes: usize| {
            Handler::new(support::any(name), move |_, _| async move {
                Ok(Output::text("x".repeat(bytes)))
            })
            .with_effect(Effect::None)
        };
        let toolbox =
            support::toolbox([say("small", 10), say("long", 100_000)]).with_handles(store);
        let small = support::make(&toolbox, "small", "{}").await;
        assert_eq!(support::text(&small), "x".repeat(10));
        let cut = support::text(&support::make(&toolbox, "long", "{}").await);
        assert!(cut.contains("not kept: the handle store failed"), "{}", &cut[cut.len() - 200..]);
    }

    #[tokio::test]
    async fn a_value_that_could_not_be_read_again_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), Limits::default());
        let nested = |depth| (0..depth).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        let mine = owner("acme", "chat-1");
        let id = store.put(&mine, Content::json(nested(128))).await.unwrap();
        assert_eq!(store.find(&mine, id).await, Ok(Content::json(nested(128))));
        let deeper = store.put(&mine, Content::json(nested(129))).await;
        assert!(matches!(deeper, Err(HandleStoreError::Failed(_))), "{deeper:?}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn storing_a_large_value_does_not_block_the_runtime() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), Limits { bytes: 1 << 30, ..Limits::default() });
        let rows: Vec<u64> = (0..1_000_000).collect();
        let (mine, value) = (owner("acme", "chat-1"), Content::json(Json::from(rows)));
        let mut turns = 0_u32;
        let other = async {
            loop {
                turns += 1;
                tokio::task::yield_now().await;
            }
        };
        let id = tokio::select! {
            id = store.put(&mine, value) => id.unwrap(),
            () = other => unreachable!(),
        };
        assert!(turns > 2, "other tasks ran meanwhile");
        assert!(store.find(&mine, id).await.is_ok());
    }
}
