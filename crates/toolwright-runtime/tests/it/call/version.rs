//! Calls of a tool that changes between two attempts at them.

use std::sync::Arc;

use toolwright_core::{Json, Tool};
use toolwright_runtime::call::journal::{MemoryJournal, SharedJournal};
use toolwright_runtime::call::{Answer, CallResult, CallStatus, Policy, ResultSource, Verdict};
use toolwright_runtime::ledger::{MemoryLedger, Query};
use toolwright_runtime::{Effect, Fill, Handler, Output, Session, ToolError, Toolbox};
use toolwright_testing::tools::{Counter, any, call, counting, done, kind, text, tool, toolbox};
use toolwright_transport::secret::SecretString;

async fn pay(toolbox: &Toolbox) -> CallResult {
    done(toolbox.call(&Session::new("run"), &call("c1", "pay", "{}")).await)
}

fn handler(tool: Tool) -> Handler {
    Handler::new(tool, |_, _| async { Ok(Output::text("done")) })
}

#[test]
fn a_digest_covers_what_a_call_does_and_nothing_else() {
    let base = || handler(any("pay").with_description("Pays."));
    let digest = base().digest();
    // The same in every process and every release, because keys on disk contain it.
    let known = "f1028a74def0a440806e2d690dcf89e588c8ceb9d5165fd3ee2d0bab0d9cf53d";
    assert_eq!(digest.to_string(), known);
    let output = Tool { output: Some(Json::Bool(true)), ..any("pay").with_description("Pays.") };
    for changed in [
        base().with_name("give"),
        base().with_version("1"),
        base().with_version("2"),
        base().with_effect(Effect::Keyed),
        base().with_hidden(["key"]),
        base().with_fill("key", Fill::Constant(Json::Null)),
        base().with_fill("key", Fill::Constant(Json::from(1))),
        base().with_fill("key", Fill::Tenant),
        handler(any("pay").with_description("Pays!")),
        handler(tool("pay", r#"{"type":"object","required":["a"]}"#).with_description("Pays.")),
        handler(output),
    ] {
        assert_ne!(changed.digest(), digest, "{changed:?}");
    }
    let secret = |text: &str| base().with_fill("key", Fill::Secret(SecretString::from(text)));
    assert_eq!(secret("old").digest(), secret("new").digest());
    assert_eq!(base().with_budget(7).with_concurrency(1).digest(), digest);
}

#[tokio::test]
async fn the_key_of_a_call_contains_the_digest_of_its_tool() {
    let ledger = Arc::new(MemoryLedger::new());
    let ran = Counter::default();
    for version in ["1", "1", "2"] {
        let toolbox = toolbox([counting("pay", &ran).with_version(version)]);
        pay(&toolbox.with_ledger(ledger.clone())).await;
    }
    let entries = ledger.entries(&Query::default());
    let key = |index: usize| entries[index].entry.as_call().unwrap().key.clone().unwrap();
    let mut keys = [key(0), key(1), key(2)];
    keys.sort();
    assert!(keys.iter().all(|key| key.len() == 64), "{keys:?}");
    assert_ne!(keys[0], keys[2]);
    assert!(keys[1] == keys[0] || keys[1] == keys[2]);
}

#[tokio::test]
async fn an_effect_of_an_earlier_version_is_neither_returned_nor_repeated() {
    for effect in [Effect::Once, Effect::Keyed] {
        let (ran, journal) = (Counter::default(), SharedJournal::new(MemoryJournal::new()));
        let version = |version: &str| {
            let handler = counting("pay", &ran).with_version(version).with_effect(effect);
            toolbox([handler]).with_journal(journal.clone())
        };
        assert_eq!(text(&pay(&version("1")).await), "1");
        for _ in 0..2 {
            let changed = pay(&version("2")).await;
            assert_eq!((kind(&changed), ran.get()), (Some("uncertain"), 1));
            assert!(text(&changed).contains("has changed since"), "{}", text(&changed));
        }
        // The version that ran still knows its outcome.
        let again = pay(&version("1")).await;
        assert_eq!((text(&again).as_str(), again.source), ("1", ResultSource::Journal));
        // A new call runs.
        let next = Session::new("run").with_turn(1);
        let new = done(version("2").call(&next, &call("c1", "pay", "{}")).await);
        assert_eq!(text(&new), "2");
    }
}

#[tokio::test]
async fn a_call_without_effects_runs_again_with_the_changed_tool() {
    let ran = Counter::default();
    for (version, wanted) in [("1", "1"), ("2", "2")] {
        let handler = counting("pay", &ran).with_version(version).with_effect(Effect::None);
        assert_eq!(text(&pay(&toolbox([handler])).await), wanted);
    }
}

#[tokio::test]
async fn a_call_that_failed_runs_again_with_the_changed_tool() {
    let journal = SharedJournal::new(MemoryJournal::new());
    let broken = Handler::new(any("pay"), |_, _| async { Err(ToolError::new("a bug")) });
    let broken = toolbox([broken]).with_journal(journal.clone());
    assert_eq!(kind(&pay(&broken).await), Some("failed"));
    let ran = Counter::default();
    let fixed = |version: &str| {
        toolbox([counting("pay", &ran).with_version(version)]).with_journal(journal.clone())
    };
    assert_eq!(text(&pay(&fixed("2")).await), "1");
    assert_eq!(pay(&fixed("2")).await.source, ResultSource::Journal);
    assert_eq!((kind(&pay(&fixed("3")).await), ran.get()), (Some("uncertain"), 1));
}

#[tokio::test]
async fn an_approval_does_not_cover_a_tool_that_changed() {
    let ran = Counter::default();
    let asking = |version: &str| {
        toolbox([counting("pay", &ran).with_version(version)])
            .with_policy(Policy::new(Verdict::Ask))
    };
    let session = Session::new("run");
    let status = asking("1").call(&session, &call("c1", "pay", "{}")).await;
    let approval = status.approval().unwrap();
    let status = asking("2").answer(&session, approval, Answer::Approve).await;
    let CallStatus::Waiting(again) = status else { panic!("{status:?}") };
    assert_eq!(ran.get(), 0);
    let answered = asking("2").answer(&session, &again, Answer::Approve).await;
    assert_eq!(text(&done(answered)), "1");
}

#[cfg(feature = "sqlite")]
mod file {
    use super::{Counter, counting, kind, pay, text, toolbox};
    use rusqlite::Connection;
    use toolwright_runtime::call::journal::{SharedJournal, SqliteJournal};
    use toolwright_runtime::{Effect, Toolbox};

    /// Rewrites a journal as the release before digests wrote it.
    fn downgrade(path: &std::path::Path) {
        let file = Connection::open(path).unwrap();
        file.execute_batch(
            "UPDATE effect SET key = unversioned_key;
             DROP INDEX effect_unversioned_key;
             ALTER TABLE effect DROP COLUMN unversioned_key;
             PRAGMA user_version = 1;",
        )
        .unwrap();
    }

    /// Neither a finished nor an unfinished effect is repeated after an upgrade.
    #[tokio::test]
    async fn a_journal_without_digests_is_honoured() {
        for (unfinished, effect) in [
            (false, Effect::Once),
            (true, Effect::Once),
            (false, Effect::Keyed),
            (true, Effect::Keyed),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("journal.db");
            let ran = Counter::default();
            let open = || -> Toolbox {
                let journal = SharedJournal::new(SqliteJournal::open(&path).unwrap());
                toolbox([counting("pay", &ran).with_effect(effect)]).with_journal(journal)
            };
            assert_eq!(text(&pay(&open()).await), "1");
            downgrade(&path);
            if unfinished {
                let file = Connection::open(&path).unwrap();
                file.execute_batch("UPDATE effect SET finished = NULL, record = NULL").unwrap();
            }
            for _ in 0..2 {
                let replayed = pay(&open()).await;
                let wanted = if unfinished { Some("uncertain") } else { None };
                assert_eq!((kind(&replayed), ran.get()), (wanted, 1));
            }
        }
    }
}
