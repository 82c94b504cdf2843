//! Runs that end early: faults, limits, cancellation.

use std::time::Duration;

use toolwright_core::event::split::split;
use toolwright_core::{Event, FaultClass};
use toolwright_core::{Fault, Outcome, Part, Request, Response, StopReason, Usage};
use toolwright_runtime::model::{EventStream, event_stream};
use toolwright_runtime::model::{Model, ScriptedModel, Upstream};
use toolwright_runtime::run::{Agent, Limit, Limits, RunError};
use toolwright_runtime::{Handler, Output};
use toolwright_testing::tools::{Counter, any, call, counting, toolbox};

use super::{agent, assert_legal, follow, said};

#[tokio::test]
async fn a_fault_is_returned_and_the_run_can_continue() {
    let script = ScriptedModel::new()
        .then_call("a", "count", "{}")
        .then_fault(Fault::new(FaultClass::Overloaded, "no room"))
        .then_text("done");
    let ran = Counter::default();
    let mut run = agent(&script, toolbox([counting("count", &ran)])).run("go").build().unwrap();
    let RunError::Model(fault) = run.finish().await.unwrap_err() else { panic!() };
    assert_eq!(fault.class, FaultClass::Overloaded);
    assert_legal(run.messages());
    assert_eq!(run.finish().await.unwrap().text, "done");
    assert_eq!(ran.get(), 1, "the call was not made again");
}

#[tokio::test]
async fn a_failure_within_a_stream_is_a_fault() {
    let script = ScriptedModel::new().then_cut(vec![Part::text("well")], StopReason::Failed);
    let error = agent(&script, toolbox([])).run("go").finish().await.unwrap_err();
    assert!(matches!(error, RunError::Model(_)));
}

/// An upstream whose streams break off before their end.
struct Broken;

impl Upstream for Broken {
    async fn respond(&self, _: Request) -> Result<Response, Fault> {
        Ok(Response::new(vec![Part::call(call("a", "count", r#"{"n":1}"#))]))
    }

    async fn stream(&self, request: Request) -> Result<EventStream, Fault> {
        let mut events = split(self.respond(request).await?);
        events.retain(|event| !matches!(event, Event::Stop(_) | Event::End));
        Ok(event_stream(events))
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_runs_nothing() {
    let ran = Counter::default();
    let agent = Agent::new("a")
        .with_model(Model::with_upstream(Broken, "broken"))
        .with_tools(toolbox([counting("count", &ran)]));
    let mut run = agent.run("go").build().unwrap();
    let RunError::Model(fault) = follow(&mut run).await.unwrap_err() else { panic!() };
    assert!(fault.message.contains("interrupted"));
    assert_eq!((ran.get(), run.messages().len()), (0, 1));
}

fn endless(turns: usize) -> ScriptedModel {
    (0..turns).fold(ScriptedModel::new(), |script, turn| {
        script.then_call(format!("c{turn}"), "count", format!(r#"{{"turn":{turn}}}"#))
    })
}

#[tokio::test]
async fn a_limit_on_turns_ends_the_run_which_can_be_resumed_with_more() {
    let ran = Counter::default();
    let script = endless(3).then_text("done");
    let agent = agent(&script, toolbox([counting("count", &ran)]));
    let mut run = agent.run("go").with_limits(Limits::turns(2)).build().unwrap();
    assert_eq!(run.finish().await.unwrap_err(), RunError::Limit(Limit::Turns(2)));
    assert_eq!(run.finish().await.unwrap_err(), RunError::Limit(Limit::Turns(2)));
    assert_legal(run.messages());
    assert_eq!(ran.get(), 2);
    let resumed = agent.resume(&run.save()).unwrap();
    assert_eq!(resumed.finish().await.unwrap().text, "done");
    assert_eq!(ran.get(), 3);
}

#[tokio::test]
async fn a_limit_on_calls_runs_those_within_it_and_reports_the_others() {
    let ran = Counter::default();
    let calls = (0..5).map(|n| call(&format!("c{n}"), "count", &format!(r#"{{"n":{n}}}"#)));
    let script = ScriptedModel::new().then_calls(calls);
    let agent = agent(&script, toolbox([counting("count", &ran)]));
    let limits = Limits::default().with_calls(3);
    let mut run = agent.run("go").with_limits(limits).build().unwrap();
    assert_eq!(run.finish().await.unwrap_err(), RunError::Limit(Limit::Calls(3)));
    assert_eq!(ran.get(), 3);
    assert_legal(run.messages());
    let told: Vec<bool> = run.messages()[2].outcomes().map(Outcome::is_error).collect();
    assert_eq!(told, [false, false, false, true, true]);
    assert!(said(run.messages()[2].outcomes().last().unwrap()).contains("Nothing was done"));
}

#[tokio::test]
async fn a_limit_on_tokens_runs_no_more_calls() {
    let ran = Counter::default();
    let usage = Usage { input: Some(60), output: Some(50), ..Usage::default() };
    let mut response = Response::new(vec![Part::call(call("a", "count", "{}"))]);
    response.usage = Some(usage.clone());
    let mut last = Response::new(vec![Part::text("done")]);
    last.usage = Some(usage);
    let script = ScriptedModel::new().then(response.clone()).then(last);
    let agent = agent(&script, toolbox([counting("count", &ran)]));

    let limits = Limits::default().with_tokens(100);
    let mut run = agent.run("go").with_limits(limits).build().unwrap();
    assert_eq!(run.finish().await.unwrap_err(), RunError::Limit(Limit::Tokens(100)));
    assert_eq!(ran.get(), 0);
    assert_legal(run.messages());
    assert_eq!(run.usage().total(), 110);

    // The last answer may exceed the limit, because it is already there.
    let finished = agent.run("go").with_limits(limits).finish().await.unwrap();
    assert_eq!(finished.text, "done");
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_time_ends_calls_and_each_has_an_outcome() {
    let hang = Handler::new(any("hang"), |_, _| async {
        std::future::pending::<()>().await;
        Ok(Output::text("never"))
    })
    .with_deadline(Duration::from_hours(1));
    let script = ScriptedModel::new()
        .then_calls([call("a", "hang", r#"{"n":1}"#), call("b", "hang", r#"{"n":2}"#)]);
    let limits = Limits::default().with_duration(Duration::from_secs(5));
    let agent = agent(&script, toolbox([hang]));
    let mut run = agent.run("go").with_limits(limits).build().unwrap();
    let error = run.finish().await.unwrap_err();
    assert_eq!(error, RunError::Limit(Limit::Duration(Duration::from_secs(5))));
    assert_legal(run.messages());
    assert!(run.messages()[2].outcomes().all(Outcome::is_error));
}

/// An upstream that never answers.
struct Silent;

impl Upstream for Silent {
    async fn respond(&self, _: Request) -> Result<Response, Fault> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_bounded_by_the_limit_on_time() {
    let agent = Agent::new("a").with_model(Model::with_upstream(Silent, "silent"));
    for following in [false, true] {
        let limits = Limits::default().with_duration(Duration::from_secs(5));
        let mut run = agent.run("go").with_limits(limits).build().unwrap();
        let error = if following {
            follow(&mut run).await.unwrap_err()
        } else {
            run.finish().await.unwrap_err()
        };
        assert_eq!(error, RunError::Limit(Limit::Duration(Duration::from_secs(5))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_leaves_a_legal_conversation() {
    let quick = toolwright_testing::tools::echo("quick");
    let hang = Handler::new(any("hang"), |_, _| async {
        std::future::pending::<()>().await;
        Ok(Output::text("never"))
    });
    let script =
        ScriptedModel::new().then_calls([call("a", "quick", "{}"), call("b", "hang", "{}")]);
    let cancel = tokio_util::sync::CancellationToken::new();
    let mut run = agent(&script, toolbox([quick, hang]))
        .run("go")
        .with_cancel(cancel.clone())
        .build()
        .unwrap();
    let stopper = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert_eq!(run.finish().await.unwrap_err(), RunError::Cancelled);
    stopper.await.unwrap();
    assert_legal(run.messages());
    let told: Vec<bool> = run.messages()[2].outcomes().map(Outcome::is_error).collect();
    assert_eq!(told, [false, true], "what was done is told as done");
    assert_eq!(run.finish().await.unwrap_err(), RunError::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_pending_step_loses_nothing() {
    let ran = Counter::default();
    let counter = ran.clone();
    let slow = Handler::new(any("slow"), move |_, _| {
        counter.hit();
        async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(Output::text("slept"))
        }
    });
    let script = ScriptedModel::new().then_call("a", "slow", "{}").then_text("done");
    let mut run = agent(&script, toolbox([slow])).run("go").build().unwrap();
    let mut waits = 0;
    let finished = loop {
        match tokio::time::timeout(Duration::from_secs(1), run.finish()).await {
            Ok(finished) => break finished.unwrap(),
            Err(_) => waits += 1,
        }
    };
    assert_eq!((finished.text.as_str(), ran.get()), ("done", 1));
    assert!(waits > 3);
}
