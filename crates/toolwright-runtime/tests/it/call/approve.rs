//! Calls that need a person's approval.

use std::sync::Arc;

use toolwright_core::args::CoercionOptions;
use toolwright_core::{Json, object};
use toolwright_runtime::call::journal::{MemoryJournal, SharedJournal};
use toolwright_runtime::call::{
    Answer, Approval, CallStatus, Completeness, Policy, ResultSource, Rule, Verdict,
};
use toolwright_runtime::handle::{HandleStore, Limits, MemoryHandles};
use toolwright_runtime::ledger::{MemoryLedger, Query};
use toolwright_runtime::output::Content;
use toolwright_runtime::{Caller, Handler, Output, Session, Toolbox};
use toolwright_testing::tools::{
    Counter, call, counting, done, echo, json, kind, text, tool, toolbox,
};

fn asking(ran: &Counter) -> Toolbox {
    let rule = Rule::new(Verdict::Ask).with_tools(["pay"]).with_reason("Money moves.");
    toolbox([counting("pay", ran), echo("look")]).with_policy(Policy::default().with_rule(rule))
}

async fn ask(toolbox: &Toolbox, session: &Session) -> Approval {
    let call = call("c1", "pay", r#"{"amount": 9007199254740993}"#);
    match toolbox.call(session, &call).await {
        CallStatus::Waiting(approval) => approval,
        CallStatus::Done(done) => panic!("{done:?}"),
    }
}

#[tokio::test]
async fn nothing_runs_before_approval() {
    let ran = Counter::default();
    let (toolbox, session) = (asking(&ran), Session::new("run"));
    let approval = ask(&toolbox, &session).await;
    assert_eq!(ran.get(), 0);
    assert_eq!(approval.reason, "Money moves.");
    assert_eq!(approval.arguments.compact(), r#"{"amount":9007199254740993}"#);

    let done = done(toolbox.answer(&session, &approval, Answer::Approve).await);
    assert_eq!((kind(&done), ran.get()), (None, 1));
    assert_eq!(done.outcome.call_id.as_deref(), Some("c1"));
}

#[tokio::test]
async fn an_approval_can_be_saved_and_decided_by_another_process() {
    let ran = Counter::default();
    let approval = ask(&asking(&ran), &Session::new("run").with_turn(3)).await;
    let written = approval.to_json().compact();

    let later = asking(&ran);
    let read = Approval::from_json(&Json::parse(&written).unwrap()).unwrap();
    assert_eq!(read, approval);
    let done = done(later.answer(&Session::new("run"), &read, Answer::Approve).await);
    assert_eq!((kind(&done), ran.get()), (None, 1));
}

#[tokio::test]
async fn a_tenant_cannot_decide_for_another() {
    let ran = Counter::default();
    let (toolbox, session) = (asking(&ran), Session::new("run"));
    let approval = ask(&toolbox, &session).await;
    let stranger = Session::new("run").with_caller(Caller::new("local").with_tenant("other"));
    for answer in [Answer::Approve, Answer::Reject("no".to_owned())] {
        let done = done(toolbox.answer(&stranger, &approval, answer).await);
        assert_eq!((kind(&done), ran.get()), (Some("not_allowed"), 0));
    }
}

/// A model that wraps its arguments moves the values of handles.
#[tokio::test]
async fn an_approval_shows_handles_instead_of_values() {
    let schema = r#"{"type": "object", "required": ["rows"], "additionalProperties": false,
        "properties": {"rows": {"type": "array"}, "user_name": {"type": "string"}}}"#;
    let send = Handler::new(tool("send", schema), |_, _| async { Ok(Output::text("sent")) })
        .with_coercions(CoercionOptions::LENIENT);
    let handles = Arc::new(MemoryHandles::new(Limits::default()));
    let session = Session::new("run");
    let id = handles.put(&session.owner(), Content::json(json(r#"["private"]"#))).await.unwrap();
    let ledger = Arc::new(MemoryLedger::new().with_data());
    let toolbox = toolbox([send])
        .with_policy(Policy::default().with_rule(Rule::new(Verdict::Ask)))
        .with_ledger(ledger.clone())
        .with_handles(handles);
    for arguments in [
        format!(r#"{{"rows": "{id}"}}"#),
        format!(r#"{{"Rows": "{id}"}}"#),
        format!(r#"{{"arguments": {{"rows": "{id}"}}}}"#),
        format!(r#"{{"send": {{"rows": "{id}"}}}}"#),
    ] {
        let called = toolbox
            .call_with(&session, &call("c", "send", &arguments), Completeness::Complete)
            .await;
        let Some(approval) = called.approval() else { panic!("{arguments}: {called:?}") };
        let seen = approval.to_json().compact();
        assert!(seen.contains(&id.to_string()) && !seen.contains("private"), "{seen}");
        assert!(approval.arguments.compact().contains(&id.to_string()), "{seen}");
        let wrong = arguments.replace('}', r#", "userName": 7}"#);
        let called =
            toolbox.call_with(&session, &call("c", "send", &wrong), Completeness::Complete).await;
        assert!(!format!("{called:?}").contains("private"), "{called:?}");
    }
    assert!(!format!("{:?}", ledger.entries(&Query::default())).contains("private"));
}

#[tokio::test]
async fn of_large_arguments_and_outcomes_the_beginning_is_shown_without_a_secret_at_the_cut() {
    const SHOWN: usize = 64 << 10;
    let schema = r#"{"type": "object", "properties": {"note": {"type": "string"}}}"#;
    let ledger = Arc::new(MemoryLedger::new().with_data());
    let (ask, session) =
        (Policy::default().with_rule(Rule::new(Verdict::Ask)), Session::new("run"));
    for before in (SHOWN - 120..SHOWN + 20).step_by(40) {
        let (secret, after) = ("aB3".repeat(24), "y ".repeat(100_000));
        let words = "many words ".repeat(SHOWN / 11 + 3);
        let note = format!("{} sk-proj-{secret} {after}", &words[..before]);
        let answer = note.clone();
        let send = Handler::new(tool("send", schema), move |_, _| {
            let answer = answer.clone();
            async move { Ok(Output::text(answer)) }
        });
        let toolbox = toolbox([send]).with_policy(ask.clone()).with_ledger(ledger.clone());
        let arguments = object! {"note": note}.compact();
        let called = toolbox.call(&session, &call("c", "send", &arguments)).await;
        let Some(approval) = called.approval() else { panic!("{before}: {called:?}") };
        let shown = approval.arguments.compact();
        assert!(shown.contains("many words") && !shown.contains("aB3"), "{before}");
        assert!(shown.len() < SHOWN + 100, "{before}: {}", shown.len());
        done(toolbox.answer(&session, approval, Answer::Approve).await);
    }
    let entries = format!("{:?}", ledger.entries(&Query::default()));
    assert!(
        entries.contains("many words") && entries.contains("outcome") && !entries.contains("aB3")
    );
}

#[tokio::test]
async fn answering_twice_runs_once() {
    let ran = Counter::default();
    let journal = SharedJournal::new(MemoryJournal::new());
    let toolbox = asking(&ran).with_journal(journal.clone());
    let session = Session::new("run");
    let approval = ask(&toolbox, &session).await;
    done(toolbox.answer(&session, &approval, Answer::Approve).await);
    let again = asking(&ran).with_journal(journal);
    let again = done(again.answer(&session, &approval, Answer::Approve).await);
    assert_eq!((again.source, ran.get()), (ResultSource::Journal, 1));
    assert_eq!(text(&again), "1");
}

#[tokio::test]
async fn a_rejection_reaches_the_model_with_its_reason() {
    let ran = Counter::default();
    let (toolbox, session) = (asking(&ran), Session::new("run"));
    let approval = ask(&toolbox, &session).await;
    let answer = Answer::Reject("too much".to_owned());
    let done = done(toolbox.answer(&session, &approval, answer).await);
    assert_eq!((kind(&done), ran.get()), (Some("rejected"), 0));
    assert!(text(&done).contains("too much"), "{}", text(&done));
}

#[tokio::test]
async fn an_approval_is_valid_for_its_run_and_arguments_only() {
    let ran = Counter::default();
    let (toolbox, session) = (asking(&ran), Session::new("run"));
    let mut approval = ask(&toolbox, &session).await;
    let foreign = toolbox.answer(&Session::new("other"), &approval, Answer::Approve).await;
    assert_eq!(kind(&done(foreign)), Some("not_allowed"));

    // With other arguments under the same signature, approval is required again.
    approval.call = call("c1", "pay", r#"{"amount": 1000000}"#);
    let again = toolbox.answer(&session, &approval, Answer::Approve).await;
    assert!(again.approval().is_some());
    assert_eq!(ran.get(), 0);
}

#[tokio::test]
async fn a_call_denied_in_the_meantime_does_not_run() {
    let ran = Counter::default();
    let session = Session::new("run");
    let approval = ask(&asking(&ran), &session).await;
    let closed = toolbox([counting("pay", &ran)]).with_policy(Policy::new(Verdict::Deny));
    let done = done(closed.answer(&session, &approval, Answer::Approve).await);
    assert_eq!((kind(&done), ran.get()), (Some("not_allowed"), 0));
}

#[tokio::test]
async fn only_calls_that_need_approval_wait_and_equal_calls_run_once() {
    let ran = Counter::default();
    let (toolbox, session) = (asking(&ran), Session::new("run"));
    let calls = [
        call("a", "pay", r#"{"n":1}"#),
        call("b", "look", r#"{"n":1}"#),
        call("c", "pay", r#"{"n":1}"#),
    ];
    let called = toolbox.call_all(&session, &calls, Completeness::Unknown).await;
    assert!(called[1].result().is_some());
    let (first, second) = (called[0].approval().unwrap(), called[2].approval().unwrap());
    assert_ne!(first.id, second.id);
    let first = done(toolbox.answer(&session, first, Answer::Approve).await);
    let second = done(toolbox.answer(&session, second, Answer::Approve).await);
    assert_eq!(ran.get(), 1);
    assert_eq!((first.source, second.source), (ResultSource::Executed, ResultSource::Journal));
    assert_eq!(second.outcome.call_id.as_deref(), Some("c"));
}

#[test]
fn a_malformed_approval_is_refused() {
    for document in ["{}", "[]", r#"{"id":"x","run":"r","turn":-1}"#] {
        assert!(Approval::from_json(&json(document)).is_err(), "{document}");
    }
}
