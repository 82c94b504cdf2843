//! Every call is in the ledger, with only the data that the ledger may hold.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use toolwright_runtime::call::{Completeness, Policy, ResultSource, Rule, Verdict};
use toolwright_runtime::handle::{HandleStore, Limits, MemoryHandles};
use toolwright_runtime::ledger::{Backpressure, CallEntry, Entry, Ledger, MemoryLedger, Query};
use toolwright_runtime::output::Content;
use toolwright_runtime::{CallErrorKind, Caller, Effect, Handler, Output, Session};
use toolwright_testing::tools::{Counter, any, call, counting, echo, json, tool, toolbox};

#[tokio::test]
async fn every_call_is_recorded_even_if_it_did_not_run() {
    let ledger = Arc::new(MemoryLedger::new());
    let policy = Policy::default()
        .with_rule(Rule::new(Verdict::Deny).with_tools(["denied"]))
        .with_rule(Rule::new(Verdict::Ask).with_tools(["asked"]));
    let toolbox = toolbox([echo("echo"), echo("denied"), echo("asked"), any_panic()])
        .with_policy(policy)
        .with_ledger(ledger.clone());
    let session = Session::new("run-7").with_caller(Caller::new("ann").with_tenant("acme"));
    let calls = [
        call("1", "echo", r#"{"n":"a"}"#),
        call("2", "echo", r#"{"n":"a"}"#),
        call("3", "unknown", "{}"),
        call("4", "denied", "{}"),
        call("5", "asked", "{}"),
        call("6", "panics", "{}"),
        call("7", "echo", r#"{"n":"cut off"#),
    ];
    toolbox.call_all(&session, &calls, Completeness::Truncated).await;
    let recorded = ledger.entries(&Query::default());
    let mut entries: Vec<&CallEntry> =
        recorded.iter().map(|recorded| recorded.entry.as_call().unwrap()).collect();
    entries.sort_by(|one, other| one.call_id.cmp(&other.call_id));
    let noted: Vec<_> = entries
        .iter()
        .map(|entry| (&*entry.call_id, &*entry.tool, entry.source, entry.error))
        .collect();
    assert_eq!(
        noted,
        [
            ("1", "echo", Some(ResultSource::Executed), None),
            ("2", "echo", Some(ResultSource::Duplicate), None),
            ("3", "unknown", Some(ResultSource::Refused), Some(CallErrorKind::UnknownTool)),
            ("4", "denied", Some(ResultSource::Refused), Some(CallErrorKind::NotAllowed)),
            ("5", "asked", None, None),
            ("6", "panics", Some(ResultSource::Executed), Some(CallErrorKind::Panicked)),
            ("7", "echo", Some(ResultSource::Refused), Some(CallErrorKind::Truncated)),
        ]
    );
    assert!(entries.iter().all(|entry| &*entry.run == "run-7" && &*entry.caller.id == "ann"));
    assert!(entries.iter().all(|entry| entry.data.is_none()));
    assert!(entries[0].key.is_some() && entries[2].key.is_none());
}

#[tokio::test]
async fn a_dropped_call_is_recorded() {
    let ledger = Arc::new(MemoryLedger::new());
    let hang = Handler::new(any("hang"), |_, _| std::future::pending());
    let toolbox = toolbox([hang]).with_ledger(ledger.clone());
    tokio::select! {
        _ = toolwright_testing::tools::make(&toolbox, "hang", "{}") => panic!("it hangs"),
        () = tokio::time::sleep(Duration::from_millis(10)) => {}
    }
    let entries = ledger.entries(&Query::default());
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].entry.as_call().unwrap().error, Some(CallErrorKind::Cancelled));
}

fn any_panic() -> Handler {
    Handler::new(any("panics"), |_, _| async { panic!("no") })
}

const LOGIN: &str = r#"{"type": "object", "properties": {
    "user": {"type": "string"}, "code": {"type": "string", "writeOnly": true},
    "tries": {"type": "integer"}, "rows": {"type": "array"}}}"#;

fn login() -> Handler {
    Handler::new(tool("login", LOGIN), |_, _| async { Ok(Output::text("welcome")) })
}

#[tokio::test]
async fn data_is_recorded_only_if_enabled_and_without_secrets() {
    let arguments = r#"{"user": "ann", "code": "hunter2", "tries": "3"}"#;
    for wanted in [false, true] {
        let ledger = MemoryLedger::new();
        let ledger = Arc::new(if wanted { ledger.with_data() } else { ledger });
        let toolbox = toolbox([login()]).with_ledger(ledger.clone());
        let call = call("1", "login", arguments);
        toolbox.call(&Session::new("run"), &call).await;
        let entry = ledger.entries(&Query::default()).remove(0).entry;
        let written = format!("{entry:?}");
        assert!(!written.contains("hunter2"), "{written}");
        assert_eq!(written.contains("ann\""), wanted, "{written}");
        assert_eq!(written.contains("welcome"), wanted, "{written}");
        let call = entry.as_call().unwrap();
        assert_eq!(call.changes.len(), 1);
        let from = call.data.as_ref().and_then(|data| data.pointer("/changes/0/from"));
        assert_eq!(from.is_some(), wanted);
    }
}

#[tokio::test]
async fn an_approval_shows_neither_secrets_nor_values_of_handles() {
    let handles = Arc::new(MemoryHandles::new(Limits::default()));
    let session = Session::new("run");
    let id = handles.put(&session.owner(), Content::json(json("[1,2,3]"))).await.unwrap();
    let toolbox = toolbox([login()]).with_handles(handles).with_policy(Policy::new(Verdict::Ask));
    let arguments = format!(r#"{{"user": "ann", "code": "hunter2", "rows": "{id}"}}"#);
    let called = toolbox.call(&session, &call("1", "login", &arguments)).await;
    let shown = called.approval().unwrap().arguments.compact();
    assert_eq!(shown, format!(r#"{{"user":"ann","code":"[redacted]","rows":"{id}"}}"#));
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_full_ledger_and_then_runs_or_fails() {
    #[derive(Clone, Default)]
    struct Full(Arc<Notify>);
    impl Ledger for Full {
        fn record(&self, _: Entry) {}
        fn backpressure(&self) -> Option<Backpressure> {
            let room = self.0.clone();
            Some(Backpressure::new(async move { room.notified().await }))
        }
    }
    let (ran, full) = (Counter::default(), Full::default());
    let handler =
        counting("count", &ran).with_effect(Effect::None).with_deadline(Duration::from_secs(9));
    let toolbox = toolbox([handler]).with_ledger(Arc::new(full.clone()));
    let busy = toolwright_testing::tools::make(&toolbox, "count", "{}").await;
    assert_eq!((toolwright_testing::tools::kind(&busy), ran.get()), (Some("busy"), 0));
    full.0.notify_one();
    let done = toolwright_testing::tools::make(&toolbox, "count", "{}").await;
    assert_eq!((toolwright_testing::tools::kind(&done), ran.get()), (None, 1));
}
