//! Calls that need a person's approval, decided now or after a restart.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Json;
use toolwright_json::Object;
use toolwright_runtime::call::{Answer, Policy, Rule, Verdict};
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::model::ScriptedModel;
use toolwright_runtime::run::{Agent, RunError, RunEvent};
use toolwright_runtime::{Fill, Handler, Limits, Output, SlotFill, SlotOutput, Toolbox};
use toolwright_testing::tools::{Counter, any, call, counting, tool, toolbox};

use super::{agent, assert_legal, follow, given, said};

/// Requires approval for `pay`, and allows the rest.
fn careful(handlers: impl IntoIterator<Item = Handler>) -> Toolbox {
    toolbox(handlers)
        .with_policy(Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["pay"])))
}

fn script() -> ScriptedModel {
    ScriptedModel::new()
        .then_calls([call("free", "look", "{}"), call("dear", "pay", r#"{"sum":5}"#)])
        .then_text("paid")
}

struct Setup {
    looks: Counter,
    pays: Counter,
    script: ScriptedModel,
    agent: Agent,
}

fn setup() -> Setup {
    let (looks, pays, script) = (Counter::default(), Counter::default(), script());
    let toolbox = careful([counting("look", &looks), counting("pay", &pays)]);
    let agent = agent(&script, toolbox);
    Setup { looks, pays, script, agent }
}

#[tokio::test]
async fn a_call_waits_and_runs_after_approval() {
    let Setup { looks, pays, script, agent } = setup();
    let mut run = agent.run("pay").build().unwrap();
    let events = follow(&mut run).await.unwrap();
    assert!(matches!(events.last(), Some(RunEvent::ApprovalNeeded(own)) if own.call.name == "pay"));
    let waiting: Vec<_> = run.waiting().cloned().collect();
    assert_eq!((waiting.len(), looks.get(), pays.get()), (1, 1, 0));
    assert!(matches!(run.next().await, Err(RunError::Waiting(own)) if own == waiting));
    assert!(matches!(run.finish().await, Err(RunError::Waiting(own)) if own == waiting));
    assert_eq!(script.requests().len(), 1, "the model is not asked while a call waits");
    assert_legal(run.messages());

    let id = &waiting[0].id;
    run.answer(id, Answer::Approve).unwrap();
    assert_eq!(run.answer(id, Answer::Approve), Err(RunError::NotWaiting(id.clone())));
    let finished = run.finish().await.unwrap();
    assert_eq!((finished.text.as_str(), looks.get(), pays.get()), ("paid", 1, 1));
    assert_legal(&finished.messages);
    assert!(matches!(run.next().await, Ok(None)), "it has ended");
}

#[tokio::test]
async fn a_rejected_call_does_not_run_and_the_model_gets_the_reason() {
    let Setup { looks, pays, script, agent } = setup();
    let mut run = agent.run("pay").build().unwrap();
    run.finish().await.unwrap_err();
    let id = run.waiting().next().unwrap().id.clone();
    run.answer(&id, Answer::Reject("too dear".to_owned())).unwrap();
    run.finish().await.unwrap();
    assert_eq!((looks.get(), pays.get()), (1, 0));
    let told = given(&script);
    assert_eq!(told[0].error, Some(false));
    assert!(told[1].is_error() && said(&told[1]).contains("too dear"));
}

#[tokio::test]
async fn equal_calls_that_were_both_approved_have_one_effect_and_one_outcome() {
    let (pays, script) = (Counter::default(), ScriptedModel::new());
    let script = script
        .then_calls([call("a", "pay", r#"{"sum":5}"#), call("b", "pay", r#"{"sum":5.0}"#)])
        .then_text("paid");
    let pay = pays.clone();
    let slow = Handler::new(any("pay"), move |_, _| {
        pay.hit();
        async {
            tokio::task::yield_now().await;
            Ok(Output::text("paid once"))
        }
    });
    let mut run = agent(&script, careful([slow])).run("pay").build().unwrap();
    run.finish().await.unwrap_err();
    let ids: Vec<String> = run.waiting().map(|approval| approval.id.clone()).collect();
    assert_eq!(ids.len(), 2);
    for id in ids {
        run.answer(&id, Answer::Approve).unwrap();
    }
    run.finish().await.unwrap();
    let told = given(&script);
    assert_eq!(told.iter().map(said).collect::<Vec<_>>(), ["paid once", "paid once"]);
    assert_eq!(pays.get(), 1);
}

#[tokio::test]
async fn approved_calls_use_a_slot_in_the_order_of_the_model() {
    let write = Handler::new(any("write"), |_, _| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(Output::text("the rows"))
    });
    let schema = r#"{"type": "object", "properties": {"rows": {"type": "string"}}}"#;
    let read = Handler::new(tool("read", schema), |_, arguments: Object| async move {
        Ok(Output::json(arguments.get("rows").cloned().unwrap_or_default()))
    });
    let handlers = [
        write.with_slot(SlotOutput::new("table")),
        read.with_fill("rows", Fill::Slot(SlotFill::new("table"))),
    ];
    let toolbox = toolbox(handlers)
        .with_policy(Policy::new(Verdict::Ask))
        .with_handles(Arc::new(MemoryHandles::default()));
    let calls = [call("a", "write", "{}"), call("b", "read", "{}")];
    let script = ScriptedModel::new().then_calls(calls).then_text("read");
    let mut run = agent(&script, toolbox).run("read").build().unwrap();
    run.finish().await.unwrap_err();
    let ids: Vec<String> = run.waiting().map(|approval| approval.id.clone()).collect();
    for id in ids.iter().rev() {
        run.answer(id, Answer::Approve).unwrap();
    }
    run.finish().await.unwrap();
    assert_eq!(said(&given(&script)[1]), "the rows");
}

#[tokio::test]
async fn a_saved_approval_of_another_call_is_refused() {
    let Setup { agent, .. } = setup();
    let mut run = agent.run("pay").build().unwrap();
    run.finish().await.unwrap_err();
    let saved = run.save().compact();
    let (before, after) = saved.rsplit_once(r#""name":"pay""#).unwrap();
    let forged = format!(r#"{before}"name":"look"{after}"#);
    let refused = agent.resume(&Json::parse(&forged).unwrap()).map(drop);
    let Err(RunError::Saved(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.path, "/pending/calls/1/waiting");
}

/// An edited saved run is refused or continues; it never causes a panic.
#[tokio::test]
async fn an_edited_run_is_refused_or_continues() {
    let Setup { agent, .. } = setup();
    let mut run = agent.run("pay").with_id("r").build().unwrap();
    run.finish().await.unwrap_err();
    let saved = run.save().compact();
    for at in 0..saved.len() {
        for with in ["9", "\"", "null", "18446744073709551615"] {
            let edited = format!("{}{with}{}", &saved[..at], &saved[at + 1..]);
            let Ok(document) = Json::parse(&edited) else { continue };
            let Ok(start) = agent.resume(&document) else { continue };
            let limits = Limits::turns(3).with_duration(Duration::MAX);
            let mut run = start.with_limits(limits).build().unwrap();
            drop(run.finish().await);
            run.save();
        }
    }
}

/// The document as another process would read it.
fn reread(saved: &Json) -> Json {
    Json::parse(&saved.compact()).unwrap()
}

#[tokio::test]
async fn a_resumed_run_makes_no_call_twice() {
    // langchain-ai/langgraph#4397: an approval resumes, and tools run twice.
    for answered_before in [false, true] {
        let Setup { looks, pays, script, agent } = setup();
        let mut run = agent.run("pay").build().unwrap();
        run.finish().await.unwrap_err();
        let id = run.waiting().next().unwrap().id.clone();
        if answered_before {
            run.answer(&id, Answer::Approve).unwrap();
        }
        let saved = reread(&run.save());
        drop(run);

        let mut run = agent.resume(&saved).unwrap().build().unwrap();
        let answers = run.answers(1);
        assert_eq!((answers.len(), answers[0].calls().count()), (1, 2), "its calls are under way");
        if !answered_before {
            assert_eq!(run.waiting().count(), 1);
            run.answer(&id, Answer::Approve).unwrap();
        }
        let finished = run.finish().await.unwrap();
        assert_eq!((looks.get(), pays.get()), (1, 1));
        assert_eq!(run.answers(1).last(), Some(&finished.response));
        assert_legal(&finished.messages);
        assert_eq!(script.requests().len(), 2);

        // The same document again: the journal knows the recorded effect.
        let mut again = agent.resume(&saved).unwrap().build().unwrap();
        let _ = again.answer(&id, Answer::Approve);
        again.finish().await.unwrap_err();
        assert_eq!((looks.get(), pays.get()), (1, 1), "the script is over, and nothing ran again");
    }
}

#[tokio::test]
async fn a_run_saved_during_a_call_does_not_repeat_its_effect() {
    let pays = Counter::default();
    let counter = pays.clone();
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    let open = gate.clone();
    let pay = Handler::new(any("pay"), move |_, _| {
        counter.hit();
        let open = open.clone();
        async move {
            open.notified().await;
            Ok(Output::text("paid"))
        }
    });
    let script = ScriptedModel::new().then_call("a", "pay", "{}").then_text("one").then_text("two");
    let agent = agent(&script, toolbox([pay]));
    let mut run = agent.run("pay").build().unwrap();
    while pays.get() == 0 {
        let wait = std::time::Duration::from_millis(1);
        let _ = tokio::time::timeout(wait, run.finish()).await;
    }
    let saved = reread(&run.save());
    gate.notify_one();
    assert_eq!(run.finish().await.unwrap().text, "one");

    let finished = agent.resume(&saved).unwrap().finish().await.unwrap();
    assert_eq!((finished.text.as_str(), pays.get()), ("two", 1));
    assert_legal(&finished.messages);
    assert_eq!(said(finished.messages[2].outcomes().next().unwrap()), "paid");
}

#[tokio::test]
async fn a_run_of_another_agent_is_refused() {
    let Setup { agent, script, .. } = setup();
    let mut run = agent.run("pay").build().unwrap();
    run.finish().await.unwrap_err();
    let other = Agent::new("other").with_model(script.model());
    assert!(
        matches!(other.resume(&run.save()), Err(RunError::Saved(error)) if error.path == "/agent")
    );
}

#[tokio::test]
async fn a_saved_run_whose_calls_were_changed_is_refused() {
    let Setup { agent, .. } = setup();
    let mut run = agent.run("pay").build().unwrap();
    run.finish().await.unwrap_err();
    let text = run.save().compact();
    for (from, to) in [
        (r#""calls":[{"call":{"id":"free""#, r#""calls":[{"call":{"id":"other""#),
        (r#","waiting":"#, r#","done":{"content":[]},"waiting":"#),
    ] {
        assert!(text.contains(from));
        let changed = Json::parse(&text.replacen(from, to, 1)).unwrap();
        assert!(matches!(agent.resume(&changed), Err(RunError::Saved(_))), "{to}");
    }
}
