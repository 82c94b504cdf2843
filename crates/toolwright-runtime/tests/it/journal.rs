//! The journal: begun and finished calls are known, whatever happens in between.

use toolwright_core::{Json, object};
use toolwright_runtime::call::journal::{
    Begun, Intent, Journal, JournalError, MemoryJournal, SharedJournal,
};

fn intent(key: &str) -> Intent {
    version(key, key)
}

/// The intent of a call with some version of its tool.
fn version(key: &str, unversioned_key: &str) -> Intent {
    Intent {
        key: key.into(),
        unversioned_key: format!("{unversioned_key} of any version").into(),
        run: "run".into(),
        tool: "pay".into(),
        call_id: "call".into(),
    }
}

fn record(text: &str) -> Json {
    Json::from(object! {"text": text, "id": Json::parse("9007199254740993").unwrap()})
}

/// The contract of every journal.
async fn keeps_its_word(journal: impl Journal) {
    let journal = SharedJournal::new(journal);
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::New));
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Unfinished(1)));
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Unfinished(2)));
    assert_eq!(journal.begin(&intent("b")).await, Ok(Begun::New), "keys are apart");

    journal.finish("a", &record("first")).await.unwrap();
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Finished(record("first"))));
    journal.finish("a", &record("second")).await.unwrap();
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Finished(record("first"))));
    journal.withdraw("a").await.unwrap();
    assert_eq!(
        journal.begin(&intent("a")).await,
        Ok(Begun::Finished(record("first"))),
        "what is finished cannot be withdrawn"
    );

    // A reopened call has begun once, and takes another record.
    assert!(journal.reopen(&intent("a"), &record("second")).await.is_err(), "not its record");
    journal.reopen(&intent("a"), &record("first")).await.unwrap();
    assert!(journal.reopen(&intent("a"), &record("first")).await.is_err(), "it has no record");
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Unfinished(1)));
    journal.finish("a", &record("second")).await.unwrap();
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Finished(record("second"))));
    journal.reopen(&intent("a"), &record("second")).await.unwrap();
    journal.withdraw("a").await.unwrap();
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::New));

    journal.withdraw("b").await.unwrap();
    assert_eq!(journal.begin(&intent("b")).await, Ok(Begun::New));
    assert_eq!(journal.begin(&intent("b")).await, Ok(Begun::Unfinished(1)));
    journal.withdraw("b").await.unwrap();
    assert_eq!(
        journal.begin(&intent("b")).await,
        Ok(Begun::Unfinished(1)),
        "an earlier attempt stays when a later one is withdrawn"
    );

    journal.withdraw("unknown").await.unwrap();
    let error = journal.finish("unknown", &record("")).await.unwrap_err();
    assert!(error.to_string().contains("never begun"), "{error}");
    assert_eq!(journal.begin(&intent("unknown")).await, Ok(Begun::New));

    // A version sees the latest other one, and is not seen once it is withdrawn.
    let versions = ["v1", "v2", "v3"].map(|key| version(key, "v"));
    assert_eq!(journal.begin(&versions[0]).await, Ok(Begun::New));
    assert_eq!(journal.begin(&versions[1]).await, Ok(Begun::ToolChanged(None)));
    journal.withdraw("v2").await.unwrap();
    journal.finish("v1", &record("first")).await.unwrap();
    for _ in 0..2 {
        let begun = journal.begin(&versions[1]).await;
        assert_eq!(begun, Ok(Begun::ToolChanged(Some(record("first")))));
        journal.withdraw("v2").await.unwrap();
    }
    journal.begin(&versions[1]).await.unwrap();
    assert_eq!(journal.begin(&versions[1]).await, Ok(Begun::Unfinished(1)));
    journal.finish("v2", &record("second")).await.unwrap();
    let begun = journal.begin(&versions[2]).await;
    assert_eq!(begun, Ok(Begun::ToolChanged(Some(record("second")))));
    assert_eq!(journal.begin(&versions[0]).await, Ok(Begun::Finished(record("first"))));
    // The latest version is seen also after an earlier one was reopened.
    journal.withdraw("v3").await.unwrap();
    journal.reopen(&versions[0], &record("first")).await.unwrap();
    journal.withdraw("v1").await.unwrap();
    let begun = journal.begin(&versions[2]).await;
    assert_eq!(begun, Ok(Begun::ToolChanged(Some(record("second")))));
}

/// Of many that begin the same key concurrently, exactly one is told that it is new.
async fn tells_one_that_it_is_new(journal: impl Journal) {
    let journal = SharedJournal::new(journal);
    let begins: Vec<_> = (0..64)
        .map(|_| {
            let journal = journal.clone();
            tokio::spawn(async move { journal.begin(&intent("same")).await })
        })
        .collect();
    let mut told = Vec::new();
    for begin in begins {
        told.push(begin.await.unwrap().unwrap());
    }
    told.sort_by_key(|begun| match begun {
        Begun::New => 0,
        Begun::Unfinished(times) => *times,
        Begun::Finished(_) | Begun::ToolChanged(_) => u32::MAX,
    });
    let expected: Vec<_> =
        std::iter::once(Begun::New).chain((1..64).map(Begun::Unfinished)).collect();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn the_memory_journal_fulfils_the_contract() {
    keeps_its_word(MemoryJournal::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_journal_reports_a_key_as_new_once() {
    tells_one_that_it_is_new(MemoryJournal::new()).await;
}

#[tokio::test]
async fn the_memory_journal_evicts_the_oldest_finished_entries() {
    let journal = MemoryJournal::new().with_limit(2);
    journal.begin(&intent("open")).await.unwrap();
    for key in ["a", "b", "c"] {
        journal.begin(&intent(key)).await.unwrap();
        journal.finish(key, &record(key)).await.unwrap();
    }
    assert_eq!(journal.len(), 3, "two finished and one open");
    assert_eq!(journal.begin(&intent("open")).await, Ok(Begun::Unfinished(1)));
    assert_eq!(journal.begin(&intent("c")).await, Ok(Begun::Finished(record("c"))));
    assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::New));
}

#[tokio::test]
async fn an_error_can_be_shown() {
    let error = JournalError("disk full".to_owned());
    assert_eq!(error.to_string(), "journal: disk full");
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::fs;
    use std::path::Path;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use rusqlite::Connection;
    use toolwright_runtime::call::journal::{Begun, Journal, SqliteJournal};
    use toolwright_runtime::store::StoreError;

    use super::{intent, keeps_its_word, record, tells_one_that_it_is_new};
    use toolwright_testing::process::{self, Player};

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn open(path: &Path) -> SqliteJournal {
        SqliteJournal::open(path).unwrap()
    }

    #[tokio::test]
    async fn keeps_its_word_in_a_file() {
        let folder = folder();
        keeps_its_word(open(&folder.path().join("journal.db"))).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tells_one_that_it_is_new_in_a_file() {
        let folder = folder();
        tells_one_that_it_is_new(open(&folder.path().join("journal.db"))).await;
    }

    #[tokio::test]
    async fn remembers_after_a_restart() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        journal.begin(&intent("begun")).await.unwrap();
        journal.begin(&intent("finished")).await.unwrap();
        journal.finish("finished", &record("密钥")).await.unwrap();
        drop(journal);

        let journal = open(&path);
        assert_eq!(journal.begin(&intent("begun")).await, Ok(Begun::Unfinished(1)));
        assert_eq!(journal.begin(&intent("finished")).await, Ok(Begun::Finished(record("密钥"))));
        let open = journal.unfinished().await.unwrap();
        assert_eq!(open.len(), 1);
        assert_eq!((&open[0].intent, open[0].attempts), (&intent("begun"), 2));
        journal.forget("begun").await.unwrap();
        assert_eq!(journal.unfinished().await.unwrap(), []);
        assert_eq!(journal.begin(&intent("begun")).await, Ok(Begun::New));
    }

    #[tokio::test]
    async fn a_call_that_was_recorded_without_a_version_is_reopened() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        journal.begin(&intent("a")).await.unwrap();
        journal.finish("a", &record("first")).await.unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("UPDATE effect SET key = unversioned_key").unwrap();
        assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Finished(record("first"))));
        journal.reopen(&intent("a"), &record("first")).await.unwrap();
        journal.finish("a", &record("second")).await.unwrap();
        assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::Finished(record("second"))));
    }

    #[tokio::test]
    async fn a_dropped_begin_is_withdrawn() {
        let folder = folder();
        let journal = open(&folder.path().join("journal.db"));
        for _ in 0..50 {
            let wanted = intent("given up");
            let mut begin = Box::pin(journal.begin(&wanted));
            // Polled once and dropped, probably before the answer.
            let answer = begin.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            drop(begin);
            if answer.is_ready() {
                journal.withdraw("given up").await.unwrap();
            }
        }
        // Jobs run in order. The first one runs after every begin, when each withdrawal has been
        // queued; the second one runs after the withdrawals.
        journal.withdraw("unrelated").await.unwrap();
        journal.withdraw("unrelated").await.unwrap();
        assert_eq!(journal.unfinished().await.unwrap(), []);
        assert_eq!(journal.begin(&intent("given up")).await, Ok(Begun::New));
    }

    #[tokio::test]
    async fn old_finished_entries_are_pruned() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        for number in 0..5 {
            let key = format!("old {number}");
            journal.begin(&intent(&key)).await.unwrap();
            journal.finish(&key, &record("")).await.unwrap();
        }
        // Enough rows for several rounds, without as many commits.
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
                 INSERT INTO effect (key, run, tool, call_id, attempts, begun, finished, record)
                 SELECT 'many ' || i, 'r', 't', 'c', 1, 0, 0, '{}' FROM n;
                 UPDATE effect SET begun = 0, finished = 1000;",
            )
            .unwrap();
        journal.begin(&intent("open")).await.unwrap();
        other.execute_batch("UPDATE effect SET begun = 0 WHERE key = 'open'").unwrap();
        journal.begin(&intent("fresh")).await.unwrap();
        journal.finish("fresh", &record("fresh")).await.unwrap();

        assert_eq!(journal.prune(Duration::from_hours(1)).await, Ok(2_505));
        assert_eq!(journal.prune(Duration::from_hours(1)).await, Ok(0));
        assert_eq!(journal.begin(&intent("fresh")).await, Ok(Begun::Finished(record("fresh"))));
        assert_eq!(journal.begin(&intent("open")).await, Ok(Begun::Unfinished(1)));
        assert_eq!(journal.begin(&intent("old 1")).await, Ok(Begun::New));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn only_the_owner_may_read_the_files() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let journal = open(&folder.path().join("journal.db"));
        journal.begin(&intent("a")).await.unwrap();
        let mut seen = 0;
        for file in fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", file.path().display());
            seen += 1;
        }
        assert!(seen >= 2, "the file and its write-ahead log");
    }

    #[test]
    fn a_file_of_another_kind_is_refused_and_left_as_it_is() {
        let folder = folder();
        let text = folder.path().join("notes.txt");
        let words = "not a database, but long enough to look at: ".repeat(200);
        fs::write(&text, &words).unwrap();
        let error = SqliteJournal::open(&text).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains("notes.txt is not a journal"), "{error}");
        assert_eq!(fs::read_to_string(&text).unwrap(), words);

        let other = folder.path().join("other.db");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
        let before = fs::read(&other).unwrap();
        assert!(matches!(SqliteJournal::open(&other), Err(StoreError::Foreign { .. })));
        assert_eq!(fs::read(&other).unwrap(), before);

        let missing = folder.path().join("no/such/folder/journal.db");
        assert!(matches!(SqliteJournal::open(&missing), Err(StoreError::Unavailable { .. })));
        assert!(matches!(SqliteJournal::open(folder.path()), Err(StoreError::Unavailable { .. })));
    }

    #[test]
    fn a_file_of_a_newer_version_is_refused() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        drop(open(&path));
        Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 7").unwrap();
        let error = SqliteJournal::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 7, known: 2, .. }), "{error}");
    }

    #[tokio::test]
    async fn a_damaged_file_is_an_error() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        for number in 0..20 {
            let key = format!("{number:04}{}", "k".repeat(500));
            journal.begin(&intent(&key)).await.unwrap();
        }
        drop(journal);
        let mut bytes = fs::read(&path).unwrap();
        assert!(bytes.len() > 8192, "several pages");
        // Everything after the first page, which contains the schema.
        bytes[4096..].fill(0xA5);
        fs::write(&path, bytes).unwrap();
        let error = match SqliteJournal::open(&path) {
            Err(error) => error.to_string(),
            Ok(journal) => journal.begin(&intent("a")).await.unwrap_err().to_string(),
        };
        assert!(error.contains("damaged"), "{error}");
    }

    #[tokio::test]
    async fn a_record_that_was_tampered_with_is_an_error() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        journal.begin(&intent("a")).await.unwrap();
        journal.finish("a", &record("")).await.unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("UPDATE effect SET record = '{\"half\":'").unwrap();
        let error = journal.begin(&intent("a")).await.unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
        assert_eq!(journal.begin(&intent("b")).await, Ok(Begun::New), "the others go on");
    }

    #[tokio::test]
    async fn a_failed_write_is_an_error_and_not_begun() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch(
                "CREATE TRIGGER full BEFORE INSERT ON effect
                 BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
            )
            .unwrap();
        let error = journal.begin(&intent("a")).await.unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        other.execute_batch("DROP TRIGGER full").unwrap();
        assert_eq!(journal.begin(&intent("a")).await, Ok(Begun::New));
    }

    #[tokio::test]
    async fn a_failed_job_does_not_affect_others_in_its_batch() {
        let folder = folder();
        let path = folder.path().join("journal.db");
        let journal = open(&path);
        journal.begin(&intent("bad")).await.unwrap();
        journal.finish("bad", &record("")).await.unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("UPDATE effect SET record = '' WHERE key = 'bad'").unwrap();
        // Polled together, they are in one transaction or two; the valid one is committed in either
        // case.
        let (one, other) = (intent("bad"), intent("good"));
        let (bad, good) = tokio::join!(journal.begin(&one), journal.begin(&other));
        assert!(bad.is_err());
        assert_eq!(good, Ok(Begun::New));
        assert_eq!(journal.begin(&intent("good")).await, Ok(Begun::Unfinished(1)));
    }

    const KEYS: usize = 150;

    #[test]
    fn of_two_processes_one_gets_a_new_key() {
        if let Some(role) = process::role() {
            begin_everything(Path::new(&role[0]));
        }
        let folder = folder();
        let path = folder.path().join("journal.db");
        let path = path.to_str().unwrap();
        let test = "journal::sqlite::of_two_processes_one_gets_a_new_key";
        let mut players = [Player::start(test, &[path]), Player::start(test, &[path])];
        for player in &mut players {
            assert_eq!(player.next().as_deref(), Some("ready"));
        }
        for player in &mut players {
            player.tell("go");
        }
        let [one, other] = players.map(Player::end);
        assert_eq!((one.len(), other.len()), (KEYS, KEYS));
        for (one, other) in one.iter().zip(&other) {
            let mut told = [one.as_str(), other.as_str()];
            told.sort_unstable();
            assert_eq!(told, ["new", "unfinished 1"]);
        }
    }

    /// Begins the same keys as the other process, concurrently.
    fn begin_everything(path: &Path) -> ! {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            // Both processes also create the file concurrently.
            let journal = std::sync::Arc::new(open(path));
            process::say("ready");
            process::hear();
            let begins: Vec<_> = (0..KEYS)
                .map(|number| {
                    let journal = journal.clone();
                    tokio::spawn(async move { journal.begin(&intent(&number.to_string())).await })
                })
                .collect();
            for begin in begins {
                match begin.await.unwrap().unwrap() {
                    Begun::New => process::say("new"),
                    Begun::Unfinished(times) => process::say(&format!("unfinished {times}")),
                    Begun::Finished(_) | Begun::ToolChanged(_) => process::say("finished"),
                }
            }
        });
        process::leave()
    }
}
