//! A ledger whose file cannot be written, is damaged, deleted, or whose process is killed.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use toolwright_runtime::ledger::{Ledger, Overflow, Query, SqliteLedger};
use toolwright_runtime::store::StoreError;
use toolwright_testing::process::{self, Player};

use super::entry;
use super::sqlite::{place, written};

/// A ledger with an observer that counts failures and recoveries.
fn observed(path: &Path) -> (SqliteLedger, Arc<[AtomicUsize; 2]>) {
    let told: Arc<[AtomicUsize; 2]> = Arc::default();
    let counts = Arc::clone(&told);
    let ledger = SqliteLedger::open(path).unwrap().with_observer(move |error| {
        counts[usize::from(error.is_none())].fetch_add(1, Ordering::Relaxed);
    });
    (ledger, told)
}

fn counts(told: &[AtomicUsize; 2]) -> [usize; 2] {
    [0, 1].map(|at: usize| told[at].load(Ordering::Relaxed))
}

const FULL: &str = "ledger::failure::a_full_disk_is_noticed_and_nothing_is_lost";

/// Runs on a small file system, in a namespace where this process may mount one.
#[test]
fn a_full_disk_is_noticed_and_nothing_is_lost() {
    if let Some(role) = process::role() {
        fill_the_disk(Path::new(&role[0]));
    }
    let folder = tempfile::tempdir().unwrap();
    let mount =
        format!("mount -t tmpfs -o size=512k tmpfs {} && exec \"$@\"", folder.path().display());
    let mut player = Player::start_with(
        &["unshare", "-rm", "sh", "-c", &mount, "sh"],
        FULL,
        &[folder.path().to_str().unwrap()],
    );
    let failed = player.next().expect("it plays its role");
    assert!(failed.contains("full"), "{failed}");
    assert_eq!(player.next().as_deref(), Some("told 1 and 0 times"));
    assert_eq!(player.next().as_deref(), Some("told 1 and 1 times, all entries are there"));
    player.end();
}

fn fill_the_disk(folder: &Path) -> ! {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ballast = folder.join("ballast");
        std::fs::write(&ballast, vec![1; 200 * 1024]).unwrap();
        let (ledger, told) = observed(&folder.join("ledger.db"));
        let mut recorded = 0;
        let error = loop {
            (0..20).for_each(|number| ledger.record(entry(recorded + number)));
            recorded += 20;
            if let Err(error) = ledger.flush().await {
                break error;
            }
        };
        process::say(&error.to_string());
        assert_eq!(ledger.failure(), Some(error));
        assert!(ledger.flush().await.is_err() && ledger.failures() > 1);
        process::say(&format!("told {} and {} times", counts(&told)[0], counts(&told)[1]));
        std::fs::remove_file(&ballast).unwrap();
        ledger.flush().await.unwrap();
        assert_eq!((ledger.failure(), ledger.backlog()), (None, 0));
        assert_eq!(ledger.verify().await.unwrap().entries, recorded);
        let [failed, again] = counts(&told);
        process::say(&format!("told {failed} and {again} times, all entries are there"));
    });
    process::leave()
}

#[tokio::test]
async fn a_deleted_file_is_noticed_by_the_next_write() {
    let (_folder, path) = place();
    let (ledger, told) = observed(&path);
    ledger.record(entry(0));
    ledger.flush().await.unwrap();
    std::fs::remove_file(&path).unwrap();
    // On Unix, the old file could still be written, and all of it would be lost.
    ledger.record(entry(1));
    let error = ledger.flush().await.unwrap_err();
    assert!(error.to_string().contains("deleted or replaced"), "{error}");
    assert_eq!(ledger.failure(), Some(error));
    assert_eq!(ledger.backlog(), 1);
    assert!(ledger.flush().await.is_err());
    assert_eq!(counts(&told), [1, 0], "once for the first of many");
    assert!(!path.exists());
}

#[tokio::test]
async fn a_replaced_file_is_not_written() {
    let (folder, path) = place();
    let other = folder.path().join("other.db");
    written(&other, 3).await;
    let ledger = SqliteLedger::open(&path).unwrap();
    ledger.record(entry(0));
    ledger.flush().await.unwrap();
    std::fs::rename(&other, &path).unwrap();
    ledger.record(entry(1));
    assert!(matches!(ledger.flush().await, Err(StoreError::Unavailable { .. })));
}

#[tokio::test]
async fn entries_that_vanish_are_noticed_by_the_next_write() {
    let (_folder, path) = place();
    let ledger = SqliteLedger::open(&path).unwrap();
    ledger.record(entry(0));
    ledger.flush().await.unwrap();
    Connection::open(&path).unwrap().execute_batch("DELETE FROM entry; DELETE FROM head").unwrap();
    ledger.record(entry(1));
    assert!(matches!(ledger.flush().await, Err(StoreError::Damaged { .. })));
}

#[tokio::test]
async fn a_damaged_page_is_noticed_by_the_quick_check() {
    let (_folder, path) = place();
    written(&path, 300).await;
    let ledger = SqliteLedger::open(&path).unwrap();
    ledger.inspect().await.unwrap();
    drop(ledger);
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(20 * 4096)).unwrap();
    file.write_all(&[0xff; 4096]).unwrap();
    drop(file);
    let error = SqliteLedger::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("restore it from a copy"), "{error}");
}

#[tokio::test]
async fn a_changed_entry_is_noticed_by_the_quick_check() {
    let (_folder, path) = place();
    written(&path, 3).await;
    let change = "UPDATE entry SET text = replace(text, 'tool_1', 'tool_9') WHERE sequence = 2";
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let error = SqliteLedger::open(&path).unwrap().inspect().await.unwrap_err();
    assert!(error.to_string().contains("entry 2"), "{error}");
}

const KILLED: &str = "ledger::failure::entries_that_a_kill_may_have_lost_are_a_gap";

#[test]
fn entries_that_a_kill_may_have_lost_are_a_gap() {
    if let Some(role) = process::role() {
        record_until_killed(Path::new(&role[0]));
    }
    let (_folder, path) = place();
    let mut player = Player::start(KILLED, &[path.to_str().unwrap()]);
    assert_eq!(player.next().as_deref(), Some("recorded"));
    player.kill();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ledger = SqliteLedger::open(&path).unwrap();
        let gaps = ledger.gaps().await.unwrap();
        let entries = ledger.verify().await.unwrap().entries;
        assert!((10..=15).contains(&entries), "{entries}");
        assert_eq!(gaps.len(), 1);
        assert_eq!((gaps[0].after, gaps[0].missing), (entries, None));
        assert!(gaps[0].since <= gaps[0].until);
        drop(ledger);
        // A closed ledger leaves no gap, and the old gap is remembered.
        let again = SqliteLedger::open(&path).unwrap();
        assert_eq!(again.gaps().await.unwrap(), gaps);
    });
}

#[test]
fn a_ledger_that_was_closed_before_the_kill_has_no_gap() {
    const CLOSED: &str = "ledger::failure::a_ledger_that_was_closed_before_the_kill_has_no_gap";
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(role) = process::role() {
        runtime.block_on(async {
            let ledger = SqliteLedger::open(&role[0]).unwrap();
            ledger.record(entry(0));
            ledger.close().await.unwrap();
            process::say("closed");
            process::hear();
        });
        process::leave()
    }
    let (_folder, path) = place();
    let mut player = Player::start(CLOSED, &[path.to_str().unwrap()]);
    assert_eq!(player.next().as_deref(), Some("closed"));
    player.kill();
    runtime.block_on(async {
        let ledger = SqliteLedger::open(&path).unwrap();
        assert_eq!(ledger.verify().await.unwrap().entries, 1);
        assert_eq!(ledger.gaps().await.unwrap(), []);
    });
}

fn record_until_killed(path: &Path) -> ! {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ledger = SqliteLedger::open(path).unwrap();
        (0..10).for_each(|number| ledger.record(entry(number)));
        ledger.flush().await.unwrap();
        (10..15).for_each(|number| ledger.record(entry(number)));
        process::say("recorded");
        process::hear();
    });
    process::leave()
}

#[tokio::test]
async fn entries_that_are_dropped_are_counted_and_leave_a_gap() {
    let (_folder, path) = place();
    let ledger = SqliteLedger::open(&path).unwrap().with_backlog(2).with_overflow(Overflow::Drop);
    ledger.record(entry(0));
    ledger.flush().await.unwrap();
    let other = Connection::open(&path).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON entry BEGIN SELECT RAISE(FAIL, 'full'); END";
    other.execute_batch(full).unwrap();
    for number in 1..8 {
        assert!(ledger.backpressure().is_none(), "nobody waits");
        ledger.record(entry(number));
    }
    assert_eq!((ledger.backlog(), ledger.dropped()), (2, 5));
    assert!(ledger.flush().await.is_err());
    other.execute_batch("DROP TRIGGER full").unwrap();
    ledger.flush().await.unwrap();
    assert_eq!(ledger.entries(&Query::new()).await.unwrap().len(), 3);
    let gaps = ledger.gaps().await.unwrap();
    assert_eq!((gaps.len(), gaps[0].after, gaps[0].missing), (1, 1, Some(5)));
}
