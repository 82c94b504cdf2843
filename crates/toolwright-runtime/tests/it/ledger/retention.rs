//! Removal of old entries and of their data, and what verification still finds afterwards.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use toolwright_core::Json;
use toolwright_runtime::ledger::{
    Broken, CallEntry, Damage, Head, Ledger, LedgerError, LedgerFile, Query, SqliteLedger,
};

use super::call;
use super::sqlite::{found, place};

const DAY: Duration = Duration::from_hours(24);

/// Records entries that began this many days ago.
fn record(ledger: &SqliteLedger, days: &[u32]) {
    for (number, days) in (0..).zip(days) {
        let time = ago(*days);
        ledger.record(CallEntry { time, ..call(number) }.into());
    }
}

/// The time this many days ago.
fn ago(days: u32) -> SystemTime {
    SystemTime::now() - DAY * days
}

/// A ledger of eight entries, of which the first five are removed. Returns its head as well.
async fn shortened(path: &Path) -> Head {
    let ledger = SqliteLedger::open(path).unwrap().with_data();
    record(&ledger, &[9, 8, 7, 6, 5, 1, 0, 0]);
    let head = ledger.head().await.unwrap();
    assert_eq!(ledger.remove_before(ago(3)).await, Ok(5));
    assert_eq!(ledger.remove_before(ago(3)).await, Ok(0));
    head
}

fn broken(sequence: u64, why: Damage) -> Result<(), LedgerError> {
    Err(Broken { sequence, why }.into())
}

#[tokio::test]
async fn old_entries_are_removed_and_the_chain_continues_from_a_checkpoint() {
    let (_folder, path) = place();
    let head = shortened(&path).await;
    let ledger = SqliteLedger::open(&path).unwrap();
    let verified = ledger.verify().await.unwrap();
    assert_eq!((verified.entries, verified.head), (3, head));
    let checkpoint = verified.checkpoint.unwrap();
    assert_eq!((checkpoint.head.sequence, checkpoint.removed), (5, 5));
    assert!(ledger.holds(&head).await.unwrap() && ledger.holds(&checkpoint.head).await.unwrap());
    assert!(ledger.inspect().await.is_ok());
    assert!(ledger.verify_against(&checkpoint.head).await.is_ok());
    let other = Head { link: head.link, ..checkpoint.head };
    let against = ledger.verify_against(&other).await.map(drop);
    assert_eq!(against, broken(5, Damage::Rewritten));

    // The chain goes on, is shortened again, and may be removed altogether.
    record(&ledger, &[0]);
    ledger.flush().await.unwrap();
    assert_eq!(ledger.remove_before(SystemTime::now()).await, Ok(4));
    record(&ledger, &[0]);
    let verified = ledger.verify().await.unwrap();
    assert_eq!((verified.entries, verified.head.sequence), (1, 10));
    assert_eq!(verified.checkpoint.unwrap().removed, 9);
    assert_eq!(ledger.failure(), None);
    assert_eq!(LedgerFile::open(&path).unwrap().verify(None).unwrap(), verified);
}

#[tokio::test]
async fn an_entry_that_is_not_old_protects_those_after_it() {
    let (_folder, path) = place();
    let ledger = SqliteLedger::open(&path).unwrap();
    record(&ledger, &[9, 1, 9, 9]);
    ledger.flush().await.unwrap();
    assert_eq!(ledger.remove_before(ago(3)).await, Ok(1));
    assert_eq!(ledger.verify().await.unwrap().entries, 3);
}

#[tokio::test]
async fn more_entries_than_one_transaction_removes_are_removed() {
    let (_folder, path) = place();
    let ledger = SqliteLedger::open(&path).unwrap();
    record(&ledger, &[9; 2_500]);
    ledger.flush().await.unwrap();
    assert_eq!(ledger.remove_before(ago(1)).await, Ok(2_500));
    assert_eq!(ledger.verify().await.unwrap().checkpoint.unwrap().removed, 2_500);
}

#[tokio::test]
async fn a_forged_or_missing_checkpoint_is_found() {
    for (tampering, sequence, why) in [
        ("DELETE FROM checkpoint", 1, Damage::Removed),
        ("UPDATE checkpoint SET removed = 4", 5, Damage::Forged),
        ("UPDATE checkpoint SET signature = zeroblob(32)", 5, Damage::Forged),
        ("UPDATE checkpoint SET signature = x'00'", 5, Damage::Forged),
        // More entries are removed, as if retention had done it.
        (
            "UPDATE checkpoint SET sequence = 6, link = (SELECT link FROM entry WHERE sequence = 6);
             DELETE FROM entry WHERE sequence = 6",
            6,
            Damage::Forged,
        ),
        ("DELETE FROM entry WHERE sequence = 6", 6, Damage::Removed),
    ] {
        let (_folder, path) = place();
        shortened(&path).await;
        assert_eq!(found(&path, "").await, Ok(()));
        assert_eq!(found(&path, tampering).await, broken(sequence, why), "{tampering}");
    }
}

#[tokio::test]
async fn a_checkpoint_of_another_key_or_without_one_is_found() {
    let (folder, path) = place();
    shortened(&path).await;
    let key = folder.path().join("signing.key");
    let original = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    assert_eq!(found(&path, "").await, broken(5, Damage::Forged));
    assert!(!key.exists(), "verification creates no key");
    let (other, _) = place();
    shortened(&other.path().join("ledger.db")).await;
    std::fs::copy(other.path().join("signing.key"), &key).unwrap();
    assert_eq!(found(&path, "").await, broken(5, Damage::Forged));
    std::fs::write(&key, original).unwrap();
    assert_eq!(found(&path, "").await, Ok(()));
}

#[tokio::test]
async fn an_earlier_checkpoint_does_not_hide_what_was_removed_since() {
    let (folder, path) = place();
    shortened(&path).await;
    let copy = |to: &str| -> PathBuf {
        let to = folder.path().join(to);
        Connection::open(&path).unwrap().execute("VACUUM INTO ?1", [to.to_str().unwrap()]).unwrap();
        to
    };
    let earlier = copy("earlier.db");
    let ledger = SqliteLedger::open(&path).unwrap();
    assert_eq!(ledger.remove_before(SystemTime::now() - DAY / 2).await, Ok(1));
    drop(ledger);
    let replayed = format!(
        "ATTACH '{}' AS earlier; DELETE FROM checkpoint;
         INSERT INTO checkpoint SELECT * FROM earlier.checkpoint",
        earlier.display()
    );
    assert_eq!(found(&path, &replayed).await, broken(6, Damage::Removed));
}

#[tokio::test]
async fn damaged_entries_are_not_removed() {
    let (_folder, path) = place();
    let ledger = SqliteLedger::open(&path).unwrap();
    record(&ledger, &[9, 8, 7, 0]);
    ledger.flush().await.unwrap();
    let tampering = "UPDATE entry SET caller = 'me' WHERE sequence = 2";
    Connection::open(&path).unwrap().execute_batch(tampering).unwrap();
    let removed = ledger.remove_before(ago(1)).await.map(drop);
    assert_eq!(removed, broken(2, Damage::Misfiled));
    assert_eq!(ledger.entries(&Query::new()).await.unwrap().len(), 4, "the evidence stays");
}

#[tokio::test]
async fn data_is_beside_the_chain_and_can_be_removed() {
    let (_folder, path) = place();
    let ledger = SqliteLedger::open(&path).unwrap().with_data();
    record(&ledger, &[9, 0]);
    let entries = ledger.entries(&Query::new()).await.unwrap();
    let data = entries[0].entry.as_call().unwrap().data.clone().unwrap();
    assert_eq!(data.pointer("/arguments/n"), Some(&Json::from(5_u64)));
    let digest = entries[0].data_digest.clone().unwrap();
    let texts = Connection::open(&path).unwrap();
    let text: String =
        texts.query_row("SELECT text FROM entry WHERE sequence = 1", [], |row| row.get(0)).unwrap();
    assert!(text.contains(&*digest) && !text.contains("arguments"), "{text}");
    let before = ledger.verify().await.unwrap();

    texts.execute_batch("DELETE FROM body WHERE sequence = 1").unwrap();
    assert_eq!(ledger.verify().await.unwrap(), before);
    let entries = ledger.entries(&Query::new()).await.unwrap();
    assert_eq!(entries[0].entry.as_call().unwrap().data, None);
    assert_eq!(entries[0].data_digest, Some(digest));
    assert!(entries[1].entry.as_call().unwrap().data.is_some());
    let without = Query { with_data: false, ..Query::new() };
    assert!(ledger.entries(&without).await.unwrap()[1].entry.as_call().unwrap().data.is_none());
}

#[tokio::test]
async fn changed_data_is_found() {
    for tampering in [
        "UPDATE body SET text = replace(text, '5', '6') WHERE sequence = 2",
        "UPDATE body SET text = 'none' WHERE sequence = 2",
        "UPDATE body SET text = text || ' ' WHERE sequence = 2",
    ] {
        let (_folder, path) = place();
        let ledger = SqliteLedger::open(&path).unwrap().with_data();
        record(&ledger, &[2, 1, 0]);
        drop(ledger);
        assert_eq!(found(&path, tampering).await, broken(2, Damage::DataChanged), "{tampering}");
    }
}

#[tokio::test]
async fn entries_are_found_by_their_time() {
    let (_folder, path) = place();
    let ledger = SqliteLedger::open(&path).unwrap();
    record(&ledger, &[5, 4, 3, 2, 1]);
    let now = SystemTime::now();
    let (since, until) = (Some(now - DAY * 9 / 2), Some(now - DAY * 3 / 2));
    let query = Query { since, until, ..Query::new() };
    assert_eq!(super::sequences(&ledger.entries(&query).await.unwrap()), [2, 3, 4]);
}
