//! Effects happen once: keys, the journal, uncertain outcomes.

use std::sync::{Arc, Mutex};

use toolwright_core::{Call, Json};
use toolwright_runtime::call::ResultSource;
use toolwright_runtime::call::journal::{
    Begun, Intent, Journal, JournalError, MemoryJournal, SharedJournal,
};
use toolwright_runtime::ledger::{MemoryLedger, Query};
use toolwright_runtime::{Caller, Effect, Handler, Output, Session, ToolError, Toolbox};
use toolwright_testing::tools::{Counter, any, call, counting, done, kind, text, toolbox};

fn journal() -> SharedJournal {
    SharedJournal::new(MemoryJournal::new())
}

async fn make(
    toolbox: &Toolbox,
    session: &Session,
    call: &Call,
) -> toolwright_runtime::call::CallResult {
    done(toolbox.call(session, call).await)
}

#[tokio::test]
async fn the_same_call_runs_once_and_its_outcome_is_repeated() {
    let (ran, journal) = (Counter::default(), journal());
    let call = call("c1", "pay", r#"{"amount": 5}"#);
    let first = toolbox([counting("pay", &ran)]).with_journal(journal.clone());
    let first = make(&first, &Session::new("run"), &call).await;
    // After a restart: another toolbox, the same journal, the same run.
    let second = toolbox([counting("pay", &ran)]).with_journal(journal);
    let second = make(&second, &Session::new("run"), &call).await;
    assert_eq!(ran.get(), 1);
    assert_eq!((first.source, second.source), (ResultSource::Executed, ResultSource::Journal));
    assert_eq!(first.outcome, second.outcome);
    assert_eq!(second.attempts, 0);
}

#[tokio::test]
async fn a_toolbox_without_a_journal_has_one_in_memory() {
    let ran = Counter::default();
    let toolbox = toolbox([counting("pay", &ran)]);
    let call = call("c1", "pay", "{}");
    make(&toolbox, &Session::new("run"), &call).await;
    make(&toolbox.clone(), &Session::new("run"), &call).await;
    assert_eq!(ran.get(), 1);
}

#[tokio::test]
async fn another_call_is_another_effect() {
    let ran = Counter::default();
    let toolbox = toolbox([counting("pay", &ran), counting("pay2", &ran)]);
    let run = Session::new("run");
    let base = call("c1", "pay", r#"{"amount":5}"#);
    make(&toolbox, &run, &base).await;
    make(&toolbox, &run, &call("c2", "pay", r#"{"amount":5}"#)).await;
    make(&toolbox, &run, &call("c1", "pay", r#"{"amount":6}"#)).await;
    make(&toolbox, &run, &call("c1", "pay2", r#"{"amount":5}"#)).await;
    make(&toolbox, &Session::new("run2"), &base).await;
    // Vendors restart their call ids in each turn.
    make(&toolbox, &run.clone().with_turn(1), &base).await;
    assert_eq!(ran.get(), 6);
    // The same call, spelled differently, is the same.
    make(&toolbox, &run, &call("c1", "pay", r#"{ "amount": 5.0 }"#)).await;
    assert_eq!(ran.get(), 6);
}

#[tokio::test]
async fn a_failure_is_recorded_too() {
    let ran = Counter::default();
    let counter = ran.clone();
    let handler = Handler::new(any("pay"), move |_, _| {
        counter.hit();
        async { Err(ToolError::new("declined").with_kind("Declined")) }
    });
    let (toolbox, run, call) = (toolbox([handler]), Session::new("run"), call("c", "pay", "{}"));
    let first = make(&toolbox, &run, &call).await;
    let second = make(&toolbox, &run, &call).await;
    assert_eq!((second.source, ran.get()), (ResultSource::Journal, 1));
    assert_eq!((first.outcome, first.error), (second.outcome, second.error));
}

#[tokio::test]
async fn a_call_that_had_no_effect_may_be_repeated() {
    let ran = Counter::default();
    let counter = ran.clone();
    let handler = Handler::new(any("pay"), move |_, _| {
        let first = counter.hit() == 0;
        async move {
            if first { Err(ToolError::new("busy").retryable()) } else { Ok(Output::text("done")) }
        }
    });
    let (toolbox, run, call) = (toolbox([handler]), Session::new("run"), call("c", "pay", "{}"));
    assert_eq!(kind(&make(&toolbox, &run, &call).await), Some("failed"));
    let second = make(&toolbox, &run, &call).await;
    assert_eq!((text(&second).as_str(), second.source), ("done", ResultSource::Executed));
}

/// A journal whose last process died before it recorded an outcome.
fn interrupted() -> SharedJournal {
    struct Interrupted(MemoryJournal);
    impl Journal for Interrupted {
        async fn begin(&self, intent: &Intent) -> Result<Begun, JournalError> {
            self.0.begin(intent).await?;
            self.0.begin(intent).await
        }
        async fn finish(&self, key: &str, record: &Json) -> Result<(), JournalError> {
            self.0.finish(key, record).await
        }
        async fn withdraw(&self, key: &str) -> Result<(), JournalError> {
            self.0.withdraw(key).await
        }
        async fn reopen(&self, intent: &Intent, record: &Json) -> Result<(), JournalError> {
            self.0.reopen(intent, record).await
        }
    }
    SharedJournal::new(Interrupted(MemoryJournal::new()))
}

#[tokio::test]
async fn an_interrupted_effect_is_not_repeated() {
    let ran = Counter::default();
    let toolbox = toolbox([counting("pay", &ran)]).with_journal(interrupted());
    let done = make(&toolbox, &Session::new("run"), &call("c", "pay", "{}")).await;
    assert_eq!((kind(&done), done.attempts, ran.get()), (Some("uncertain"), 0, 0));
    let words = text(&done);
    assert!(words.contains("it is unknown whether") && words.contains("not repeated"), "{words}");
}

#[tokio::test]
async fn an_interrupted_effect_is_repeated_with_the_same_key_if_the_tool_is_keyed() {
    type Seen = Arc<Mutex<Vec<(Arc<str>, u32)>>>;
    let keys = Seen::default();
    let seen = keys.clone();
    let handler = move || {
        let seen = seen.clone();
        Handler::new(any("pay"), move |scope, _| {
            seen.lock().unwrap().push((scope.key.clone(), scope.attempt));
            async { Ok(Output::text("paid")) }
        })
        .with_effect(Effect::Keyed)
    };
    let call = call("c", "pay", "{}");
    let first = toolbox([handler()]);
    make(&first, &Session::new("run"), &call).await;
    let second = toolbox([handler()]).with_journal(interrupted());
    let second = make(&second, &Session::new("run"), &call).await;
    assert_eq!((kind(&second), second.source), (None, ResultSource::Executed));
    let keys = keys.lock().unwrap();
    assert_eq!(keys[0].0, keys[1].0);
    assert_eq!((keys[0].1, keys[1].1), (1, 2));
}

/// Tenants with equal run names share a journal, but no entries.
#[tokio::test]
async fn a_tenant_never_gets_the_outcome_of_another() {
    let ran = Counter::default();
    let toolbox = toolbox([counting("pay", &ran)]);
    for (tenant, wanted) in [("acme", "1"), ("other", "2"), ("acme", "1")] {
        let session = Session::new("run").with_caller(Caller::new("bob").with_tenant(tenant));
        assert_eq!(text(&make(&toolbox, &session, &call("a", "pay", "{}")).await), wanted);
    }
}

/// Ids come from the model; of any length, they distinguish calls and take little memory.
#[tokio::test]
async fn ids_of_any_length_distinguish_calls() {
    let (ran, ledger) = (Counter::default(), Arc::new(MemoryLedger::new()));
    let toolbox = toolbox([counting("pay", &ran)]).with_ledger(ledger.clone());
    let session = Session::new("run");
    let long = "\u{0}\n".repeat(500_000);
    for (id, wanted) in [(format!("{long}a"), "1"), (format!("{long}b"), "2"), (long + "a", "1")] {
        let done = make(&toolbox, &session, &call(&id, "pay", "{}")).await;
        assert_eq!(text(&done), wanted);
        assert_eq!(done.outcome.call_id, Some(id));
    }
    for recorded in ledger.entries(&Query::default()) {
        assert!(recorded.entry.as_call().unwrap().call_id.len() < 1000);
    }
}

/// A journal that cannot be written.
struct Broken {
    begins: bool,
}

impl Journal for Broken {
    async fn begin(&self, _: &Intent) -> Result<Begun, JournalError> {
        if self.begins { Ok(Begun::New) } else { Err(JournalError("disk full".to_owned())) }
    }
    async fn finish(&self, _: &str, _: &Json) -> Result<(), JournalError> {
        Err(JournalError("disk full".to_owned()))
    }
    async fn withdraw(&self, _: &str) -> Result<(), JournalError> {
        Err(JournalError("disk full".to_owned()))
    }
    async fn reopen(&self, _: &Intent, _: &Json) -> Result<(), JournalError> {
        Err(JournalError("disk full".to_owned()))
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_journaled_does_not_run() {
    let ran = Counter::default();
    let handlers = [counting("pay", &ran), counting("look", &ran).with_effect(Effect::None)];
    let toolbox = toolbox(handlers).with_journal(SharedJournal::new(Broken { begins: false }));
    let run = Session::new("run");
    let pay = make(&toolbox, &run, &call("a", "pay", "{}")).await;
    assert_eq!((kind(&pay), ran.get()), (Some("unrecorded"), 0));
    assert!(!text(&pay).contains("disk"), "{}", text(&pay));
    assert_eq!(kind(&make(&toolbox, &run, &call("b", "look", "{}")).await), None);
}

#[tokio::test]
async fn an_unrecorded_effect_is_reported_to_the_host() {
    let ran = Counter::default();
    let toolbox =
        toolbox([counting("pay", &ran)]).with_journal(SharedJournal::new(Broken { begins: true }));
    let done = make(&toolbox, &Session::new("run"), &call("a", "pay", "{}")).await;
    assert_eq!((kind(&done), text(&done).as_str()), (None, "1"));
    assert_eq!(done.unrecorded, Some(JournalError("disk full".to_owned())));
}

#[tokio::test]
async fn an_unreadable_record_is_uncertain() {
    struct Strange;
    impl Journal for Strange {
        async fn begin(&self, _: &Intent) -> Result<Begun, JournalError> {
            Ok(Begun::Finished(Json::Null))
        }
        async fn finish(&self, _: &str, _: &Json) -> Result<(), JournalError> {
            Ok(())
        }
        async fn withdraw(&self, _: &str) -> Result<(), JournalError> {
            Ok(())
        }
        async fn reopen(&self, _: &Intent, _: &Json) -> Result<(), JournalError> {
            Ok(())
        }
    }
    let ran = Counter::default();
    let toolbox = toolbox([counting("pay", &ran)]).with_journal(SharedJournal::new(Strange));
    let done = make(&toolbox, &Session::new("run"), &call("a", "pay", "{}")).await;
    assert_eq!((kind(&done), ran.get()), (Some("uncertain"), 0));
}
