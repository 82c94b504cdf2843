//! Answers to questions of a run that is being driven, and calls that run after an approval.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Barrier, Notify, Semaphore};
use toolwright_core::{Json, Tool, object};
use toolwright_plan::journal::{MemoryPlanJournal, RunFilter};
use toolwright_plan::{Engine, LocalEngine, NewRun, RunStatus, StepAnswer};
use toolwright_runtime::call::{Policy, Rule, Verdict};
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::{Effect, Handler, Output, Toolbox};

use super::random::FaultyJournal;
use super::{Log, echo, open_schema, plan, run, states};

fn asking(tools: impl IntoIterator<Item = Handler>) -> Toolbox {
    let policy = Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["pay"]));
    Toolbox::new(tools).unwrap().with_policy(policy)
}

#[tokio::test]
async fn a_run_that_is_continued_is_running_and_takes_answers_to_later_questions() {
    let (started, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (start, end) = (Arc::clone(&started), Arc::clone(&finish));
    let pay = Handler::new(Tool::function("pay", open_schema()), move |_, arguments| {
        let (start, end) = (Arc::clone(&start), Arc::clone(&end));
        async move {
            start.notify_one();
            end.notified().await;
            Ok(Output::json(arguments))
        }
    });
    let engine = LocalEngine::new(asking([pay.with_effect(Effect::None)]));
    let text =
        r#"{"plan":"1","limits":{"parallel":1},"steps":{"a":{"tool":"pay"},"b":{"tool":"pay"}}}"#;
    let waiting = run(&engine, text, "{}").await;
    assert_eq!(states(&waiting), [("a", "waiting"), ("b", "waiting")]);
    let id = waiting.run.id;
    engine.answer(&id, "a", None, StepAnswer::Approve).await.unwrap();
    let driven = tokio::spawn({
        let (engine, id) = (engine.clone(), id.clone());
        async move { engine.drive(&id, None).await }
    });
    started.notified().await;
    let running = RunFilter { status: Some(RunStatus::Running), ..RunFilter::default() };
    assert_eq!(engine.journal().list(&running).await.unwrap().len(), 1);
    // The only permit is taken, so the drive has not reached this question.
    engine.answer(&id, "b", None, StepAnswer::Approve).await.unwrap();
    finish.notify_one();
    finish.notify_one();
    let report = driven.await.unwrap().unwrap();
    assert_eq!(states(&report), [("a", "succeeded"), ("b", "succeeded")]);
}

#[tokio::test]
async fn a_run_whose_last_question_is_answered_is_interrupted_until_it_is_driven() {
    let log = Log::default();
    let engine = LocalEngine::new(asking([echo("pay", &log)]));
    let text = r#"{"plan":"1","steps":{"a":{"tool":"pay"},"b":{"tool":"pay"}}}"#;
    let id = run(&engine, text, "{}").await.run.id;
    for (step, status) in [("a", RunStatus::Waiting), ("b", RunStatus::Interrupted)] {
        engine.answer(&id, step, None, StepAnswer::Approve).await.unwrap();
        // What answered it ends here.
        assert_eq!(engine.report(&id).await.unwrap().status(), status);
    }
    let resumed = engine.resume(&id, None, None).await.unwrap().unwrap();
    assert_eq!(resumed.status(), RunStatus::Succeeded);
    assert_eq!(log.take().len(), 2);
}

#[tokio::test]
async fn no_run_waits_without_a_question_if_the_disk_is_full_while_it_is_answered() {
    let log = Log::default();
    for writes in 0..3 {
        let (toolbox, journal) = (asking([echo("pay", &log)]), Arc::new(MemoryPlanJournal::new()));
        let engine = LocalEngine::new(toolbox.clone()).with_journal(journal.clone());
        let id = run(&engine, r#"{"plan":"1","steps":{"a":{"tool":"pay"}}}"#, "{}").await.run.id;
        let full = Arc::new(FaultyJournal::until_full(&journal, writes));
        let other = LocalEngine::new(toolbox).with_journal(full);
        let answered = other.answer(&id, "a", None, StepAnswer::Approve).await;
        assert_eq!(answered.is_ok(), writes == 2);
        let report = engine.report(&id).await.unwrap();
        assert_eq!(report.questions.is_empty(), answered.is_ok(), "{writes}");
        if answered.is_err() {
            engine.answer(&id, "a", None, StepAnswer::Approve).await.unwrap();
        }
        let resumed = engine.resume(&id, None, None).await.unwrap().unwrap();
        assert_eq!(resumed.status(), RunStatus::Succeeded);
        assert_eq!(log.take().len(), 1);
    }
}

#[tokio::test]
async fn a_call_that_receives_a_handle_runs_after_its_approval() {
    let log = Log::default();
    let schema = r#"{"type":"object","properties":{"rows":{"type":"string","format":"handle"}}}"#;
    let pay = Tool::function("pay", Json::parse(schema).unwrap());
    let pay = Handler::new(pay, |_, arguments| async move { Ok(Output::json(arguments)) });
    let engine = LocalEngine::new(
        asking([echo("echo", &log), pay]).with_handles(Arc::new(MemoryHandles::default())),
    );
    let text = r#"{"plan":"1","steps":{"a":{"tool":"echo","args":{"rows":[1,2]}},
        "pay":{"tool":"pay","each":[1,2],"args":{"rows":{"$from":"a/rows","$as":"handle"}}}},
        "outputs":{"handles":{"$from":"pay"}}}"#;
    let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    let waiting = engine.drive(&id, None).await.unwrap();
    assert_eq!(waiting.questions.len(), 2);
    for item in [0, 1] {
        engine.answer(&id, "pay", Some(item), StepAnswer::Approve).await.unwrap();
    }
    let report = engine.drive(&id, None).await.unwrap();
    assert_eq!(report.status(), RunStatus::Succeeded, "{}", Json::from(report.to_json()));
    let handles: Vec<&Json> =
        report.outputs.get("handles").and_then(Json::as_array).unwrap().iter().collect();
    assert_ne!(handles[0], handles[1], "each call has values of its own");
}

#[tokio::test]
async fn large_calls_wait_for_people_a_few_at_a_time() {
    let log = Log::default();
    // In memory these are more than 20 MB.
    let rows = Handler::new(Tool::function("rows", open_schema()), |_, _| async {
        Ok(Output::json(Json::Array(vec![object! {"n": Json::Null}.into(); 100_000])))
    });
    let counted = log.clone();
    let pay = Handler::new(Tool::function("pay", open_schema()), move |_, _| {
        counted.add("pay");
        async { Ok(Output::text("paid")) }
    });
    let engine = LocalEngine::new(asking([rows.with_effect(Effect::None), pay]));
    let text = r#"{"plan":"1","limits":{"parallel":1},"steps":{"read":{"tool":"rows"},
        "pay":{"tool":"pay","each":[1,2,3,4],"args":{"rows":{"$from":"read"},"n":{"$from":"item"}}}}}"#;
    let mut report = run(&engine, text, "{}").await;
    let id = report.run.id.clone();
    let mut asked = Vec::new();
    while report.status() == RunStatus::Waiting {
        asked.push(report.questions.len());
        for question in &report.questions {
            let answer = StepAnswer::Approve;
            engine.answer(&id, &question.step, question.item, answer).await.unwrap();
        }
        report = engine.drive(&id, None).await.unwrap();
    }
    assert_eq!(report.status(), RunStatus::Succeeded, "{}", Json::from(report.to_json()));
    assert_eq!(log.take().len(), 4);
    assert!(asked.len() > 1 && asked.iter().all(|count| (1..=3).contains(count)), "{asked:?}");
}

#[tokio::test]
async fn items_that_were_interrupted_run_together_again() {
    let (started, resumed) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicBool::new(false)));
    let together = Arc::new(Barrier::new(4));
    let (begun, again) = (Arc::clone(&started), Arc::clone(&resumed));
    let meet = Handler::new(Tool::function("meet", open_schema()), move |_, _| {
        let (begun, again, together) =
            (Arc::clone(&begun), Arc::clone(&again), Arc::clone(&together));
        async move {
            if !again.load(Ordering::Relaxed) {
                begun.add_permits(1);
                return std::future::pending().await;
            }
            together.wait().await;
            Ok(Output::text("met"))
        }
    });
    let engine = LocalEngine::new(Toolbox::new([meet.with_effect(Effect::None)]).unwrap());
    let text = r#"{"plan":"1","steps":{"meet":{"tool":"meet","each":[1,2,3,4]}}}"#;
    let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    tokio::select! {
        ended = engine.drive(&id, None) => panic!("{ended:?}"),
        all = started.acquire_many(4) => drop(all.unwrap()),
    }
    resumed.store(true, Ordering::Relaxed);
    // One after the other, the first would wait forever.
    let report = tokio::time::timeout(Duration::from_secs(30), engine.drive(&id, None)).await;
    assert_eq!(report.unwrap().unwrap().status(), RunStatus::Succeeded);
}
