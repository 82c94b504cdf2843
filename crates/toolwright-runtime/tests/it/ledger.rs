//! The ledger: its entries, what they omit, and detection of tampering.

mod exchange;
#[cfg(feature = "sqlite")]
mod failure;
#[cfg(feature = "sqlite")]
mod retention;

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use toolwright_core::Json;
use toolwright_core::args::{Change, Op};
use toolwright_core::loss::{Loss, Severity, Site};
use toolwright_core::object;
use toolwright_core::origin::Origin;
use toolwright_runtime::call::ResultSource;
use toolwright_runtime::ledger::{CallEntry, Entry, Head, Ledger, MemoryLedger, Query};
use toolwright_runtime::{CallErrorKind, Caller};

/// An entry with every field set, including secrets.
fn entry(number: u64) -> Entry {
    call(number).into()
}

fn call(number: u64) -> CallEntry {
    let secret = "hunter2";
    CallEntry {
        time: UNIX_EPOCH + Duration::from_micros(1_794_719_700_250_000 + number),
        run: format!("run {}", number % 2).into(),
        caller: Caller::new(format!("user {}", number % 3)).with_tenant("acme"),
        call_id: format!("call_{number}").into(),
        parent: None,
        tool: format!("tool_{}", number % 5).into(),
        key: Some("0123abcd".into()),
        error: None,
        source: Some(ResultSource::Executed),
        attempts: 2,
        duration: Duration::from_micros(1_500),
        changes: vec![
            Change::new("/n", Op::Number).with_values("5", 5_u64),
            Change::new("/password", Op::Text).with_values(7_u64, secret),
        ],
        losses: vec![Loss::new(
            Severity::Minor,
            Site::of(&Origin::NONE).below("/tools/0/title"),
            "dropped",
            "the target has no titles",
        )],
        data: Some(Json::from(object! {
            "arguments": object! {"n": 5_u64, "password": secret},
            "outcome": "set token=hunter2 for user",
        })),
    }
}

fn shown(entry: &Entry) -> String {
    Json::Object(entry.to_json()).compact()
}

#[test]
fn an_entry_is_a_document_with_known_names() {
    let document = Json::Object(entry(1).to_json()).pretty();
    let expected = r#"{
  "time": "2026-11-15T05:15:00.250001Z",
  "run": "run 1",
  "caller": "user 1",
  "tenant": "acme",
  "call_id": "call_1",
  "tool": "tool_1",
  "key": "0123abcd",
  "outcome": "ok",
  "source": "executed",
  "attempts": 2,
  "duration_us": 1500,
  "changes": [
    {
      "path": "/n",
      "op": "number",
      "from": "5",
      "to": 5
    },
    {
      "path": "/password",
      "op": "text",
      "from": 7,
      "to": "hunter2"
    }
  ],
  "losses": [
    {
      "path": "/tools/0/title",
      "what": "dropped",
      "why": "the target has no titles",
      "severity": "minor"
    }
  ],
  "data": {
    "arguments": {
      "n": 5,
      "password": "hunter2"
    },
    "outcome": "set token=hunter2 for user"
  }
}"#;
    assert_eq!(document, expected);
}

#[test]
fn an_entry_is_read_back_from_its_document() {
    let mut waiting = call(2);
    (waiting.source, waiting.key, waiting.data) = (None, None, None);
    (waiting.changes, waiting.losses) = (Vec::new(), Vec::new());
    assert_eq!(waiting.outcome(), "waiting");
    let mut nothing = call(3);
    nothing.data = Some(Json::Null);
    nothing.changes[0].from = Some(Json::Null);
    let mut entries: Vec<Entry> = vec![entry(1), waiting.into(), nothing.into()];
    for error in CallErrorKind::ALL {
        for source in ResultSource::ALL {
            let failed = CallEntry { error: Some(error), source: Some(source), ..call(4) };
            assert_eq!(failed.outcome(), "failed");
            entries.push(failed.into());
        }
    }
    for entry in entries {
        let document = Json::Object(entry.to_json());
        assert_eq!(Entry::from_json(&document), Ok(entry));
    }
}

#[test]
fn a_malformed_entry_is_refused_with_the_field() {
    let whole = entry(1).to_json();
    for (field, wrong) in [
        ("time", Json::from("yesterday")),
        ("run", Json::Null),
        ("caller", Json::from(1_u64)),
        ("tenant", Json::Null),
        ("call_id", Json::Null),
        ("tool", Json::Null),
        ("key", Json::from(1_u64)),
        ("outcome", Json::from("failed")),
        ("error", Json::from("unheard_of")),
        ("source", Json::from("elsewhere")),
        ("attempts", Json::from(u64::MAX)),
        ("duration_us", Json::from("1")),
        ("changes", Json::parse(r#"[{"path":"","op":"magic"}]"#).unwrap()),
        ("losses", Json::parse(r#"[{"path":"","what":"","why":"","severity":"fatal"}]"#).unwrap()),
    ] {
        let mut changed = whole.clone();
        changed.insert(field, wrong);
        let error = Entry::from_json(&Json::Object(changed)).unwrap_err();
        assert!(error.to_string().contains(field), "{field}: {error}");
    }
    assert!(Entry::from_json(&Json::Null).is_err());
}

#[test]
fn without_data_no_value_is_in_the_ledger() {
    let ledger = MemoryLedger::new();
    assert!(!ledger.wants_data());
    ledger.record(entry(1));
    let entries = ledger.entries(&Query::new());
    let text = shown(&entries[0].entry);
    assert!(!text.contains("hunter2"), "{text}");
    let call = entries[0].entry.as_call().unwrap();
    assert_eq!(call.data, None);
    let changes = &call.changes;
    assert_eq!(*changes, [Change::new("/n", Op::Number), Change::new("/password", Op::Text)]);
}

#[test]
fn with_data_no_secret_is_in_the_ledger() {
    let ledger = MemoryLedger::new().with_data();
    assert!(ledger.wants_data());
    ledger.record(entry(1));
    let entries = ledger.entries(&Query::new());
    let text = shown(&entries[0].entry);
    assert!(!text.contains("hunter2"), "{text}");
    let call = entries[0].entry.as_call().unwrap();
    let data = call.data.as_ref().unwrap();
    assert_eq!(data.pointer("/arguments/n"), Some(&Json::from(5_u64)));
    assert_eq!(data.pointer("/arguments/password"), Some(&Json::from("[redacted]")));
    assert_eq!(data.pointer("/outcome"), Some(&Json::from("set token=[redacted] for user")));
    assert_eq!(data.pointer("/changes/0/to"), Some(&Json::from(5_u64)));
    assert_eq!(data.pointer("/changes/1/to"), Some(&Json::from("[redacted]")));
    assert!(call.changes.iter().all(|change| change.to.is_none()), "values are data");
}

fn sequences(entries: &[toolwright_runtime::ledger::Recorded]) -> Vec<u64> {
    entries.iter().map(|recorded| recorded.sequence).collect()
}

#[test]
fn the_memory_ledger_stores_the_last_entries_and_counts_the_others() {
    let ledger = MemoryLedger::new().with_limit(3);
    assert_eq!(ledger.verify().unwrap().head, Head::start());
    for number in 0..5 {
        ledger.record(entry(number));
    }
    assert_eq!(ledger.dropped(), 2);
    assert_eq!(sequences(&ledger.entries(&Query::new())), [3, 4, 5]);
    let verified = ledger.verify().unwrap();
    assert_eq!((verified.entries, verified.head), (3, ledger.head()));
    assert_eq!(ledger.head().sequence, 5);

    let whole = MemoryLedger::new();
    for number in 0..5 {
        whole.record(entry(number));
    }
    assert_eq!(whole.head(), ledger.head(), "the chain goes on over what has left");
    let text = ledger.head().to_string();
    assert_eq!(text.parse(), Ok(ledger.head()));
    assert!("5:abc".parse::<Head>().is_err());
}

#[test]
fn a_ledger_can_be_shared_as_a_trait_object() {
    let memory = MemoryLedger::new();
    let shared: Arc<dyn Ledger> = Arc::new(memory.clone());
    shared.record(entry(1));
    assert!(shared.backpressure().is_none());
    assert_eq!(memory.head().sequence, 1);
}

/// Queries on twelve entries, and the positions of the results.
fn questions() -> Vec<(Query, Vec<u64>)> {
    vec![
        (Query::new(), (1..=12).collect()),
        (Query::new().with_limit(2), vec![1, 2]),
        (Query::new().with_limit(0), vec![]),
        (Query::new().newest_first().with_limit(3), vec![12, 11, 10]),
        (Query::new().newest_first().after(3), vec![2, 1]),
        (Query::new().after(10), vec![11, 12]),
        (Query::new().with_run("run 1").with_limit(3), vec![2, 4, 6]),
        (Query::new().with_tool("tool_4"), vec![5, 10]),
        (Query::new().with_caller("user 2"), vec![3, 6, 9, 12]),
        (Query::new().with_caller("user 2").with_run("run 0"), vec![3, 9]),
        (Query::new().with_tenant("acme").after(11), vec![12]),
        (Query::new().with_tenant("other"), vec![]),
        (Query::new().with_run("run' OR '1'='1"), vec![]),
    ]
}

#[test]
fn the_memory_ledger_answers_queries() {
    let ledger = MemoryLedger::new();
    (0..12).for_each(|number| ledger.record(entry(number)));
    for (query, expected) in questions() {
        assert_eq!(sequences(&ledger.entries(&query)), expected, "{query:?}");
    }
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::path::{Path, PathBuf};

    use rusqlite::Connection;
    use tempfile::TempDir;
    use toolwright_runtime::ledger::{
        Broken, Damage, Head, Ledger, LedgerError, MemoryLedger, Query, SqliteLedger,
    };
    use toolwright_runtime::store::StoreError;

    use super::{entry, questions, sequences};
    use toolwright_testing::process::{self, Player};

    pub(super) fn place() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        (folder, path)
    }

    /// Writes a ledger with some entries, and closes it.
    pub(super) async fn written(path: &Path, entries: u64) -> Head {
        let ledger = SqliteLedger::open(path).unwrap();
        (0..entries).for_each(|number| ledger.record(entry(number)));
        ledger.head().await.unwrap()
    }

    #[tokio::test]
    async fn a_file_has_the_same_chain_as_memory() {
        let (_folder, path) = place();
        let (file, memory) = (SqliteLedger::open(&path).unwrap(), MemoryLedger::new());
        for number in 0..12 {
            file.record(entry(number));
            memory.record(entry(number));
        }
        assert_eq!(file.head().await.unwrap(), memory.head());
        let all = Query::new();
        assert_eq!(file.entries(&all).await.unwrap(), memory.entries(&all));
        for (query, expected) in questions() {
            assert_eq!(sequences(&file.entries(&query).await.unwrap()), expected, "{query:?}");
        }
        let verified = file.verify().await.unwrap();
        assert_eq!((verified.entries, verified.head), (12, memory.head()));
    }

    #[tokio::test]
    async fn a_restart_continues_the_chain() {
        let (_folder, path) = place();
        for _ in 0..3 {
            // Dropped without a flush: the remaining entries are still written.
            let ledger = SqliteLedger::open(&path).unwrap();
            (0..10).for_each(|number| ledger.record(entry(number)));
        }
        let ledger = SqliteLedger::open(&path).unwrap();
        let verified = ledger.verify().await.unwrap();
        assert_eq!((verified.entries, verified.head.sequence), (30, 30));
        assert_eq!(ledger.verify_against(&verified.head).await, Ok(verified));
    }

    #[tokio::test]
    async fn data_is_off_and_secrets_are_redacted_in_a_file() {
        let (_folder, path) = place();
        let without = SqliteLedger::open(&path).unwrap();
        without.record(entry(1));
        let entries = without.entries(&Query::new()).await.unwrap();
        assert_eq!(entries[0].entry.as_call().unwrap().data, None);
        drop(without);
        let with = SqliteLedger::open(&path).unwrap().with_data();
        assert!(with.wants_data());
        with.record(entry(2));
        let entries = with.entries(&Query::new()).await.unwrap();
        assert!(entries[1].entry.as_call().unwrap().data.is_some());
        drop(with);
        for file in std::fs::read_dir(path.parent().unwrap()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));
        }
    }

    /// Changes the file behind the ledger, and returns what verification finds.
    pub(super) async fn found(path: &Path, tampering: &str) -> Result<(), LedgerError> {
        Connection::open(path).unwrap().execute_batch(tampering).unwrap();
        SqliteLedger::open(path).unwrap().verify().await.map(drop)
    }

    #[tokio::test]
    async fn tampering_is_found() {
        let swap = "
            UPDATE entry SET sequence = -1 WHERE sequence = 4;
            UPDATE entry SET sequence = 4 WHERE sequence = 5;
            UPDATE entry SET sequence = 5 WHERE sequence = -1;";
        let insert = "
            UPDATE entry SET sequence = -sequence WHERE sequence > 5;
            INSERT INTO entry SELECT 6, time, run, caller, tenant, tool, text, link, kind
                FROM entry WHERE sequence = 2;
            UPDATE entry SET sequence = 1 - sequence WHERE sequence < 0;";
        for (tampering, sequence, why) in [
            (
                "UPDATE entry SET text = replace(text, '\"attempts\":2', '\"attempts\":1') WHERE sequence = 3",
                3,
                Damage::Changed,
            ),
            ("UPDATE entry SET text = text || ' ' WHERE sequence = 10", 10, Damage::Changed),
            ("UPDATE entry SET link = zeroblob(32) WHERE sequence = 1", 1, Damage::Changed),
            ("UPDATE entry SET link = x'00' WHERE sequence = 7", 7, Damage::Changed),
            ("UPDATE entry SET text = CAST(x'ff' AS TEXT) WHERE sequence = 7", 7, Damage::Changed),
            ("UPDATE entry SET run = 'another' WHERE sequence = 6", 6, Damage::Misfiled),
            ("UPDATE entry SET time = time + 1 WHERE sequence = 6", 6, Damage::Misfiled),
            ("UPDATE entry SET caller = 'me' WHERE sequence = 6", 6, Damage::Misfiled),
            ("UPDATE entry SET tenant = 'me' WHERE sequence = 6", 6, Damage::Misfiled),
            ("UPDATE entry SET tool = 'me' WHERE sequence = 6", 6, Damage::Misfiled),
            ("DELETE FROM entry WHERE sequence = 1", 1, Damage::Removed),
            ("DELETE FROM entry WHERE sequence = 5", 5, Damage::Removed),
            ("DELETE FROM entry WHERE sequence > 8", 9, Damage::Removed),
            ("DELETE FROM entry", 1, Damage::Removed),
            ("DELETE FROM head", 1, Damage::Added),
            ("UPDATE head SET link = zeroblob(32)", 10, Damage::Rewritten),
            (swap, 4, Damage::Changed),
            (insert, 6, Damage::Changed),
        ] {
            let (_folder, path) = place();
            written(&path, 10).await;
            assert_eq!(found(&path, "").await, Ok(()));
            let broken = Broken { sequence, why };
            let found = found(&path, tampering).await;
            assert_eq!(found, Err(LedgerError::Broken(broken)), "{tampering}");
            assert!(broken.to_string().contains(&format!("entry {sequence}")));
        }
    }

    #[tokio::test]
    async fn a_truncation_stays_visible_after_more_entries() {
        let (_folder, path) = place();
        written(&path, 10).await;
        Connection::open(&path)
            .unwrap()
            .execute_batch("DELETE FROM entry WHERE sequence > 8")
            .unwrap();
        written(&path, 10).await;
        let broken = Broken { sequence: 9, why: Damage::Removed };
        assert_eq!(found(&path, "").await, Err(LedgerError::Broken(broken)));
    }

    /// Whoever can write the file can also truncate it, or write another chain. Only a head that
    /// was stored elsewhere reveals that.
    #[tokio::test]
    async fn a_stored_head_reveals_what_the_file_alone_cannot() {
        let (_folder, path) = place();
        let kept = written(&path, 10).await;
        let cut = "
            DELETE FROM entry WHERE sequence > 8;
            UPDATE head SET sequence = 8, link = (SELECT link FROM entry WHERE sequence = 8);";
        assert_eq!(found(&path, cut).await, Ok(()), "the file alone does not tell");
        let ledger = SqliteLedger::open(&path).unwrap();
        let against = ledger.verify_against(&kept).await;
        assert_eq!(against, Err(Broken { sequence: 9, why: Damage::Removed }.into()));

        // Another chain of the same length.
        let (_folder, other) = place();
        let ledger = SqliteLedger::open(&other).unwrap();
        (0..20).for_each(|number| ledger.record(entry(number + 1)));
        ledger.verify().await.unwrap();
        let against = ledger.verify_against(&kept).await;
        assert_eq!(against, Err(Broken { sequence: 10, why: Damage::Rewritten }.into()));
        // A head from within the chain stays valid when the chain grows.
        let earlier = ledger.entries(&Query::new().after(4).with_limit(1)).await.unwrap();
        let earlier = Head { sequence: earlier[0].sequence, link: earlier[0].link };
        assert_eq!(ledger.verify_against(&earlier).await.unwrap().entries, 20);
        assert!(ledger.verify_against(&Head::start()).await.is_ok());
    }

    #[tokio::test]
    async fn an_unreadable_entry_is_reported() {
        let (_folder, path) = place();
        written(&path, 3).await;
        let ledger = SqliteLedger::open(&path).unwrap();
        Connection::open(&path)
            .unwrap()
            .execute_batch("UPDATE entry SET text = '{}' WHERE sequence = 2")
            .unwrap();
        let entries = ledger.entries(&Query::new()).await;
        assert_eq!(entries, Err(Broken { sequence: 2, why: Damage::Unreadable }.into()));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_deleted_ledger_is_not_taken_for_an_empty_one() {
        let (_folder, path) = place();
        written(&path, 3).await;
        let ledger = SqliteLedger::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let error = ledger.verify().await.unwrap_err();
        assert!(matches!(error, LedgerError::Store(StoreError::Unavailable { .. })), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_journal_file_is_not_opened_as_a_ledger() {
        let (folder, _) = place();
        let path = folder.path().join("journal.db");
        drop(toolwright_runtime::call::journal::SqliteJournal::open(&path).unwrap());
        let error = SqliteLedger::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    }

    /// While the file cannot be written nothing is lost: calls continue until too many entries are
    /// queued, and new ones then wait for capacity.
    #[tokio::test(flavor = "multi_thread")]
    async fn entries_wait_for_the_disk_and_none_is_dropped() {
        let (_folder, path) = place();
        let ledger = SqliteLedger::open(&path).unwrap().with_backlog(20);
        ledger.record(entry(0));
        ledger.flush().await.unwrap();
        assert_eq!(ledger.backlog(), 0);
        let other = Connection::open(&path).unwrap();
        other
            .execute_batch(
                "CREATE TRIGGER full BEFORE INSERT ON entry
                 BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
            )
            .unwrap();
        for number in 1..20 {
            assert!(ledger.backpressure().is_none());
            ledger.record(entry(number));
        }
        let error = ledger.flush().await.unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert_eq!(ledger.backlog(), 19);
        ledger.record(entry(20));
        let room = ledger.backpressure().expect("too many wait");
        let mut room = tokio::spawn(room);
        let soon = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, &mut room).await.is_err(), "there is no room yet");
        ledger.record(entry(21));

        other.execute_batch("DROP TRIGGER full").unwrap();
        room.await.unwrap();
        ledger.flush().await.unwrap();
        assert_eq!(ledger.backlog(), 0);
        assert!(ledger.backpressure().is_none());
        let entries = ledger.entries(&Query::new()).await.unwrap();
        let ids: Vec<_> =
            entries.iter().map(|each| each.entry.as_call().unwrap().call_id.to_string()).collect();
        let expected: Vec<_> = (0..22).map(|number| format!("call_{number}")).collect();
        assert_eq!(ids, expected, "each once, in order");
        assert_eq!(ledger.verify().await.unwrap().entries, 22);
    }

    #[tokio::test]
    async fn backpressure_ends_with_its_ledger() {
        let (_folder, path) = place();
        let ledger = SqliteLedger::open(&path).unwrap().with_backlog(0);
        let room = ledger.backpressure().expect("no capacity is expected");
        drop(ledger);
        room.await;
    }

    const EACH: usize = 200;

    #[test]
    fn two_processes_write_one_chain() {
        if let Some(role) = process::role() {
            record_much(Path::new(&role[0]));
        }
        let (_folder, path) = place();
        let test = "ledger::sqlite::two_processes_write_one_chain";
        let role = [path.to_str().unwrap()];
        let mut players = [Player::start(test, &role), Player::start(test, &role)];
        for player in &mut players {
            assert_eq!(player.next().as_deref(), Some("ready"));
        }
        for player in &mut players {
            player.tell("go");
        }
        drop(players.map(Player::end));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let verified = runtime.block_on(async {
            let ledger = SqliteLedger::open(&path).unwrap();
            ledger.verify().await.unwrap()
        });
        assert_eq!(verified.entries, 2 * EACH as u64);
    }

    fn record_much(path: &Path) -> ! {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let ledger = SqliteLedger::open(path).unwrap();
            process::say("ready");
            process::hear();
            for number in 0..EACH {
                ledger.record(entry(number as u64));
                if number % 10 == 0 {
                    ledger.flush().await.unwrap();
                }
            }
            ledger.flush().await.unwrap();
        });
        process::leave()
    }
}
