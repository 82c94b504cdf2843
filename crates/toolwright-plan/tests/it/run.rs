//! Plans on the local engine.

mod answers;
mod crash;
mod generate;
mod make;
mod random;
mod record;
mod reference;
mod stored;
#[cfg(feature = "temporal")]
mod temporal;
mod tools;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;
use toolwright_core::{Json, Tool, object};
use toolwright_plan::journal::{
    Entry, EntryEvent, MemoryPlanJournal, PlanJournal, PlanJournalError, Question,
    SqlitePlanJournal,
};
use toolwright_plan::{
    CallRate, Engine, LocalEngine, MemoryBudget, NewRun, Plan, PlanEventKind, PlanMemory, PlanRate,
    PlanRunError, RunReport, RunStatus, StepAnswer, StepState, Template, plan_tool,
};
use toolwright_runtime::call::{Policy, Rule, Verdict};
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::{
    Context, Effect, Fill, Handler, Output, SlotFill, SlotOutput, ToolError, Toolbox,
};

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn plan(text: &str) -> Plan {
    Plan::parse(&json(text)).unwrap()
}

/// The calls of tools, in order, with their arguments.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn open_schema() -> Json {
    object! {"type": "object", "additionalProperties": true}.into()
}

/// A tool that logs its arguments and returns them.
fn echo(name: &str, log: &Log) -> Handler {
    let (log, own) = (log.clone(), name.to_owned());
    Handler::new(Tool::function(name, open_schema()), move |_, arguments| {
        log.add(format!("{own} {arguments}"));
        async move { Ok(Output::json(arguments)) }
    })
    .with_effect(Effect::None)
}

/// A tool that fails while its argument `fail` is true.
fn risky(log: &Log) -> Handler {
    let log = log.clone();
    Handler::new(Tool::function("risky", open_schema()), move |_, arguments| {
        log.add(format!("risky {arguments}"));
        async move {
            if arguments.get("fail").and_then(Json::as_bool) == Some(true) {
                return Err(ToolError::new("it is broken"));
            }
            Ok(Output::json(arguments))
        }
    })
    .with_effect(Effect::None)
}

async fn run(engine: &LocalEngine, text: &str, inputs: &str) -> RunReport {
    let id = engine.start(NewRun::new(plan(text), json(inputs))).await.unwrap();
    engine.drive(&id, None).await.unwrap()
}

fn states(report: &RunReport) -> Vec<(&str, &str)> {
    report.steps.iter().map(|step| (step.id.as_str(), step.status.state.as_str())).collect()
}

/// Case 45.
#[tokio::test]
async fn a_join_gets_all_branches_in_document_order() {
    let log = Log::default();
    let slow = Handler::new(Tool::function("slow", open_schema()), |_, arguments| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(Output::json(arguments))
    })
    .with_effect(Effect::None);
    let engine = LocalEngine::new(Toolbox::new([slow, echo("echo", &log)]).unwrap());
    let report = run(
        &engine,
        r#"{"plan":"1","steps":{
            "a":{"tool":"slow","args":{"n":1}},
            "b":{"tool":"echo","args":{"n":2}},
            "c":{"tool":"slow","args":{"n":3}},
            "join":{"tool":"echo","args":{"all":[{"$from":"a/n"},{"$from":"b/n"},{"$from":"c/n"}]}}},
            "outputs":{"all":{"$from":"join/all"}}}"#,
        "{}",
    )
    .await;
    assert_eq!(report.status(), RunStatus::Succeeded);
    assert_eq!(report.outputs.compact(), r#"{"all":[1,2,3]}"#);
    assert_eq!(log.take(), [r#"echo {"n":2}"#, r#"echo {"all":[1,2,3]}"#]);
}

#[tokio::test]
async fn items_conditions_and_errors_have_their_meaning() {
    let log = Log::default();
    let toolbox = Toolbox::new([echo("echo", &log), risky(&log)]).unwrap();
    let engine = LocalEngine::new(toolbox);
    let report = run(
        &engine,
        r#"{"plan":"1","inputs":{"type":"object","properties":{"rows":{"type":"array"},"flag":{"type":"boolean","default":false}}},"steps":{
            "even":{"tool":"echo","each":{"$from":"inputs/rows"},"when":{"value":{"$from":"item/n"},"is":{"multipleOf":2}},"args":{"n":{"$from":"item/n"},"at":{"$from":"index"}}},
            "no":{"tool":"echo","when":{"$from":"inputs/flag"},"args":{}},
            "after_no":{"tool":"echo","args":{"x":{"$from":"no/x"}}},
            "default":{"tool":"echo","args":{"x":{"$from":"no/x","$default":7}}},
            "ordered":{"tool":"echo","after":["no"],"args":{}},
            "null":{"tool":"risky","args":{"fail":true},"on_error":"continue"},
            "sees_null":{"tool":"echo","args":{"x":{"$from":"null"}}},
            "skip":{"tool":"risky","args":{"fail":true},"on_error":"skip"},
            "skipped":{"tool":"echo","args":{"x":{"$from":"skip"}}},
            "some":{"tool":"risky","each":[{"fail":true},{"fail":false}],"args":{"fail":{"$from":"item/fail"}},"on_error":"skip"},
            "nulls":{"tool":"risky","each":[true,false],"args":{"fail":{"$from":"item"}},"on_error":"continue"},
            "empty":{"tool":"echo","each":[],"args":{}}},
            "outputs":{"even":{"$from":"even"},"default":{"$from":"default/x"},"null":{"$from":"sees_null/x"},
                "some":{"$from":"some"},"nulls":{"$from":"nulls"},"empty":{"$from":"empty"},"absent":{"$from":"no"}}}"#,
        r#"{"rows":[{"n":1},{"n":2},{"n":4}]}"#,
    )
    .await;
    assert_eq!(report.status(), RunStatus::Succeeded, "{}", Json::from(report.to_json()));
    assert_eq!(
        report.outputs.compact(),
        r#"{"even":[{"n":2,"at":1},{"n":4,"at":2}],"default":7,"null":null,"some":[{"fail":false}],"nulls":[null,{"fail":false}],"empty":[],"absent":null}"#
    );
    let skipped = ["no", "after_no", "skip", "skipped"];
    for (id, state) in states(&report) {
        let expected = match id {
            id if skipped.contains(&id) => "skipped",
            "null" => "failed",
            _ => "succeeded",
        };
        assert_eq!(state, expected, "{id}");
    }
}

#[tokio::test]
async fn a_failure_keeps_other_results_and_names_what_depends_on_it() {
    let log = Log::default();
    let engine = LocalEngine::new(Toolbox::new([echo("echo", &log), risky(&log)]).unwrap());
    let report = run(
        &engine,
        r#"{"plan":"1","steps":{
            "bad":{"tool":"risky","args":{"fail":true}},
            "needs":{"tool":"echo","args":{"x":{"$from":"bad/x"}}},
            "later":{"tool":"echo","after":["needs"],"args":{}},
            "free":{"tool":"echo","args":{"n":1}},
            "nothing":{"tool":"echo","args":{"x":{"$from":"free/missing"}}}},
            "outputs":{"free":{"$from":"free/n"}}}"#,
        "{}",
    )
    .await;
    assert_eq!(report.status(), RunStatus::Failed);
    assert_eq!(
        states(&report),
        [
            ("bad", "failed"),
            ("needs", "blocked"),
            ("later", "blocked"),
            ("free", "succeeded"),
            ("nothing", "failed")
        ]
    );
    assert_eq!(report.outputs.compact(), r#"{"free":1}"#);
    assert_eq!(report.steps[0].blocks, ["needs", "later"]);
    assert!(report.steps[0].reason.as_ref().unwrap().contains("it is broken"));
    assert_eq!(
        report.steps[4].reason.as_deref(),
        Some("there is no value at 'free/missing', and no '$default'")
    );
}

#[tokio::test]
async fn attempts_share_their_key_and_only_repeatable_calls_are_retried() {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let flaky = |name: &str, effect| {
        let keys = Arc::clone(&keys);
        let count = Arc::new(AtomicUsize::new(0));
        Handler::new(Tool::function(name, open_schema()), move |scope, _| {
            keys.lock().unwrap().push(scope.key.to_string());
            let attempt = count.fetch_add(1, Ordering::Relaxed);
            async move {
                if attempt < 2 {
                    return Err(ToolError::new("not yet"));
                }
                Ok(Output::text("done"))
            }
        })
        .with_effect(effect)
    };
    let toolbox =
        Toolbox::new([flaky("safe", Effect::Keyed), flaky("once", Effect::Once)]).unwrap();
    let engine = LocalEngine::new(toolbox);
    let retry = r#""retry":{"max":5,"backoff_ms":1}"#;
    let text = format!(
        r#"{{"plan":"1","steps":{{"a":{{"tool":"safe","args":{{}},{retry}}},"b":{{"tool":"once","args":{{}},{retry}}}}},"outputs":{{"a":{{"$from":"a"}}}}}}"#
    );
    let report = run(&engine, &text, "{}").await;
    assert_eq!(report.outputs.compact(), r#"{"a":"done"}"#);
    assert_eq!(states(&report), [("a", "succeeded"), ("b", "failed")]);
    assert_eq!((report.steps[0].status.attempts, report.steps[1].status.attempts), (3, 1));
    let mut keys = keys.lock().unwrap().clone();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 2, "one key for each step");
}

#[tokio::test(start_paused = true)]
async fn the_first_pause_before_a_retry_is_as_long_as_the_plan_says() {
    let engine = LocalEngine::new(Toolbox::new([risky(&Log::default())]).unwrap());
    let text = r#"{"plan":"1","steps":{"a":{"tool":"risky","args":{"fail":true},"retry":{"max":1,"backoff_ms":60000}}}}"#;
    let start = tokio::time::Instant::now();
    assert_eq!(run(&engine, text, "{}").await.steps[0].status.attempts, 2);
    assert!(start.elapsed() >= Duration::from_mins(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn tools_that_change_a_shared_value_run_in_document_order() {
    let log = Log::default();
    let write = |name: &str, delay: u64| {
        let log = log.clone();
        let own = name.to_owned();
        Handler::new(Tool::function(name, open_schema()), move |_, _| {
            let (log, own) = (log.clone(), own.clone());
            async move {
                tokio::time::sleep(Duration::from_millis(delay)).await;
                log.add(own.clone());
                Ok(Output::json(object! {"by": own}))
            }
        })
        .with_effect(Effect::None)
        .with_slot(SlotOutput::new("table"))
    };
    let log_read = log.clone();
    let read = Handler::new(Tool::function("read", open_schema()), move |_, arguments| {
        log_read.add(format!("read {arguments}"));
        async move { Ok(Output::json(arguments)) }
    })
    .with_effect(Effect::None)
    .with_hidden(["table"])
    .with_fill("table", Fill::Slot(SlotFill::new("table")));
    let toolbox = Toolbox::new([write("slow", 30), write("fast", 0), read]).unwrap();
    let engine = LocalEngine::new(toolbox.with_handles(Arc::new(MemoryHandles::default())));
    let report = run(
        &engine,
        r#"{"plan":"1","steps":{"a":{"tool":"slow"},"b":{"tool":"read"},"c":{"tool":"fast"},"d":{"tool":"read"}},
            "outputs":{"b":{"$from":"b"},"d":{"$from":"d"},"a":{"$from":"a"}}}"#,
        "{}",
    )
    .await;
    assert_eq!(report.status(), RunStatus::Succeeded, "{}", Json::from(report.to_json()));
    let expected =
        ["slow", r#"read {"table":{"by":"slow"}}"#, "fast", r#"read {"table":{"by":"fast"}}"#];
    assert_eq!(log.take(), expected);
    assert_eq!(report.outputs.get("a"), Some(&object! {"by": "slow"}.into()));
}

#[tokio::test]
async fn large_values_pass_whole_and_by_handle_where_asked() {
    let log = Log::default();
    let big = Handler::new(Tool::function("big", open_schema()), |_, _| async {
        Ok(Output::json(object! {"rows": vec!["行"; 200_000]}))
    })
    .with_effect(Effect::None);
    let count = Handler::new(Tool::function("count", open_schema()), |_, arguments| async move {
        let rows = arguments.get("rows").and_then(Json::as_array).map(<[Json]>::len);
        Ok(Output::json(object! {"n": rows}))
    })
    .with_effect(Effect::None);
    let toolbox = Toolbox::new([big, count, echo("echo", &log)]).unwrap();
    let engine = LocalEngine::new(toolbox.with_handles(Arc::new(MemoryHandles::default())));
    let report = run(
        &engine,
        r#"{"plan":"1","steps":{"big":{"tool":"big"},
            "value":{"tool":"count","args":{"rows":{"$from":"big/rows"}}},
            "handle":{"tool":"count","args":{"rows":{"$from":"big/rows","$as":"handle"}}}},
            "outputs":{"a":{"$from":"value/n"},"b":{"$from":"handle/n"}}}"#,
        "{}",
    )
    .await;
    assert_eq!(report.outputs.compact(), r#"{"a":200000,"b":200000}"#);
}

#[tokio::test]
async fn broken_plans_and_inputs_run_nothing() {
    let log = Log::default();
    let engine = LocalEngine::new(Toolbox::new([echo("echo", &log)]).unwrap());
    let invalid = |text: &str, inputs: &str| {
        let (engine, new) = (engine.clone(), NewRun::new(plan(text), json(inputs)));
        async move { engine.start(new).await.unwrap_err().to_string() }
    };
    let text = r#"{"plan":"1","inputs":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}},
        "steps":{"a":{"tool":"ehco"},"b":{"tool":"echo","after":["c"]}}}"#;
    assert_eq!(
        invalid(text, r#"{"n":"x"}"#).await.lines().collect::<Vec<_>>(),
        [
            "/steps/b/after/0: there is no step 'c'",
            "/steps/a/tool: there is no tool 'ehco'; did you mean 'echo'?",
            "/inputs/n: must be an integer, not a string",
        ]
    );
    let text = r#"{"plan":"1","steps":{"a":{"tool":"echo"}}}"#;
    assert!(invalid(text, r#"{"n":1}"#).await.contains("the plan has no inputs"));
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_needs_approval_waits_and_other_branches_go_on() {
    let log = Log::default();
    let toolbox = Toolbox::new([echo("echo", &log), echo("pay", &log)]).unwrap();
    let policy = Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["pay"]));
    let toolbox = toolbox.with_policy(policy);
    let journal = Arc::new(MemoryPlanJournal::new());
    let engine = LocalEngine::new(toolbox.clone()).with_journal(journal.clone());
    let text = r#"{"plan":"1","steps":{"free":{"tool":"echo","args":{"n":1}},"pay":{"tool":"pay","args":{"n":2}},
        "end":{"tool":"echo","args":{"n":{"$from":"pay/n"}}}},"outputs":{"n":{"$from":"end/n"}}}"#;
    let report = run(&engine, text, "{}").await;
    assert_eq!(report.status(), RunStatus::Waiting);
    assert_eq!(states(&report), [("free", "succeeded"), ("pay", "waiting"), ("end", "pending")]);
    assert_eq!(report.questions.len(), 1);
    assert_eq!(log.take(), [r#"echo {"n":1}"#]);

    // Another engine continues, as after a restart.
    let engine = LocalEngine::new(toolbox).with_journal(journal);
    let id = &report.run.id;
    let wrong = engine.answer(id, "end", None, StepAnswer::Approve).await.unwrap_err();
    assert_eq!(wrong, PlanRunError::NoQuestion("end".to_owned()));
    let waiting = engine.drive(id, None).await.unwrap();
    assert_eq!(waiting.status(), RunStatus::Waiting);
    engine.answer(id, "pay", None, StepAnswer::Approve).await.unwrap();
    let report = engine.drive(id, None).await.unwrap();
    assert_eq!(report.outputs.compact(), r#"{"n":2}"#);
    assert_eq!(log.take(), [r#"pay {"n":2}"#, r#"echo {"n":2}"#]);
    let ended = engine.drive(id, None).await.unwrap_err();
    assert_eq!(ended.to_string(), "the run has ended: it succeeded");

    let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    engine.drive(&id, None).await.unwrap();
    engine.answer(&id, "pay", None, StepAnswer::Reject("too much".to_owned())).await.unwrap();
    let report = engine.drive(&id, None).await.unwrap();
    assert_eq!(states(&report), [("free", "succeeded"), ("pay", "failed"), ("end", "blocked")]);
    assert!(report.steps[1].reason.as_ref().unwrap().contains("too much"));
}

/// Runs a plan whose journal says that the call of a step was started, and nothing more.
async fn interrupted(effect: Effect, answer: Option<StepAnswer>) -> (RunReport, Vec<String>) {
    let log = Log::default();
    let send = echo("send", &log).with_effect(effect);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plans.sqlite");
    let text = r#"{"plan":"1","steps":{"first":{"tool":"send","args":{"n":1}},"second":{"tool":"send","args":{"n":{"$from":"first/n"}}}},
        "outputs":{"n":{"$from":"second/n"}}}"#;
    let id = {
        let journal = Arc::new(SqlitePlanJournal::open(&path).unwrap());
        let engine =
            LocalEngine::new(Toolbox::new([send.clone()]).unwrap()).with_journal(journal.clone());
        let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
        if effect == Effect::Once {
            journal.append(&id, entry("first", EntryEvent::Intent)).await.unwrap();
        }
        id
    };
    let journal = Arc::new(SqlitePlanJournal::open(&path).unwrap());
    let engine = LocalEngine::new(Toolbox::new([send]).unwrap()).with_journal(journal);
    let mut report = engine.drive(&id, None).await.unwrap();
    if let Some(answer) = answer {
        assert_eq!(report.questions[0].question, Question::Uncertain);
        assert_eq!(log.take(), Vec::<String>::new());
        engine.answer(&id, "first", None, answer).await.unwrap();
        report = engine.drive(&id, None).await.unwrap();
    }
    (report, log.take())
}

fn entry(step: &str, event: EntryEvent) -> Entry {
    Entry::new(step, None, 0, event)
}

/// Case 44.
#[tokio::test]
async fn a_call_whose_outcome_is_unknown_runs_again_only_if_it_may() {
    let (report, calls) = interrupted(Effect::Keyed, None).await;
    assert_eq!((report.status(), calls.len()), (RunStatus::Succeeded, 2));

    let (report, calls) = interrupted(Effect::Once, Some(StepAnswer::Approve)).await;
    assert_eq!((report.status(), calls.len()), (RunStatus::Succeeded, 2));
    let output = StepAnswer::Output(Arc::new(object! {"n": 5}.into()));
    let (report, calls) = interrupted(Effect::Once, Some(output)).await;
    assert_eq!(report.outputs.compact(), r#"{"n":5}"#);
    assert_eq!(calls, [r#"send {"n":5}"#]);
    let (report, calls) = interrupted(Effect::Once, Some(StepAnswer::Reject(String::new()))).await;
    assert_eq!((report.status(), calls.len()), (RunStatus::Failed, 0));
}

/// Case 44.
#[tokio::test]
async fn a_resumed_run_repeats_no_finished_step_and_refuses_changed_tools() {
    let log = Log::default();
    let is_first = Arc::new(AtomicUsize::new(0));
    let wait = Handler::new(Tool::function("wait", open_schema()), move |_, arguments| {
        let count = is_first.fetch_add(1, Ordering::SeqCst);
        async move {
            if count == 0 {
                std::future::pending::<()>().await;
            }
            Ok(Output::json(arguments))
        }
    })
    .with_effect(Effect::None);
    let journal = Arc::new(MemoryPlanJournal::new());
    let tools = [echo("echo", &log), wait];
    let engine =
        LocalEngine::new(Toolbox::new(tools.clone()).unwrap()).with_journal(journal.clone());
    let text = r#"{"plan":"1","steps":{"a":{"tool":"echo","args":{"n":1}},"b":{"tool":"wait","args":{"n":{"$from":"a/n"}}}},"outputs":{"n":{"$from":"b/n"}}}"#;
    let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    {
        let drive = engine.drive(&id, None);
        let dropped = tokio::time::timeout(Duration::from_millis(50), drive).await;
        assert!(dropped.is_err(), "the second step waits");
    }
    assert_eq!(log.take().len(), 1);
    assert_eq!(engine.report(&id).await.unwrap().steps[0].status.state, StepState::Succeeded);

    let changed = [echo("echo", &log).with_version("2"), tools[1].clone()];
    let other = LocalEngine::new(Toolbox::new(changed).unwrap()).with_journal(journal);
    let error = other.drive(&id, None).await.unwrap_err();
    assert_eq!(error, PlanRunError::ToolsChanged(vec!["echo".to_owned()]));
    let report = other.with_changed_tools().drive(&id, None).await.unwrap();
    assert_eq!(report.outputs.compact(), r#"{"n":1}"#);
    assert_eq!(log.take(), Vec::<String>::new(), "the finished step did not run again");
}

#[tokio::test]
async fn a_run_can_be_cancelled_and_is_driven_once_at_a_time() {
    let log = Log::default();
    let forever = Handler::new(Tool::function("forever", open_schema()), |_, _| async {
        std::future::pending::<()>().await;
        Ok(Output::text(""))
    })
    .with_effect(Effect::None);
    let engine = LocalEngine::new(Toolbox::new([forever, echo("echo", &log)]).unwrap());
    let text = r#"{"plan":"1","steps":{"a":{"tool":"forever"},"b":{"tool":"echo","after":["a"]}}}"#;
    let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    let started = Arc::new(Notify::new());
    let notify = Arc::clone(&started);
    let observer = Arc::new(move |event: &toolwright_plan::PlanEvent| {
        if matches!(event.kind, PlanEventKind::CallStarted { .. }) {
            notify.notify_one();
        }
    });
    let drive = engine.drive(&id, Some(observer));
    let cancel = async {
        started.notified().await;
        let second = engine.drive(&id, None).await.unwrap_err();
        assert_eq!(second, PlanJournalError::InProgress(id.to_string()).into());
        engine.cancel(&id).await.unwrap();
    };
    let (report, ()) = tokio::join!(drive, cancel);
    assert_eq!(report.unwrap().status(), RunStatus::Cancelled);
    assert_eq!(log.take(), Vec::<String>::new());
}

/// Case 44.
#[tokio::test]
async fn a_call_in_progress_is_no_question_and_a_fork_keeps_unknown_outcomes() {
    let log = Log::default();
    let started = Arc::new(Notify::new());
    let notify = Arc::clone(&started);
    let pay = Handler::new(Tool::function("pay", open_schema()), move |_, _| {
        let notify = Arc::clone(&notify);
        async move {
            notify.notify_one();
            std::future::pending::<()>().await;
            Ok(Output::text(""))
        }
    });
    let toolbox = Toolbox::new([pay, echo("mail", &log)]).unwrap();
    let engine = LocalEngine::new(toolbox);
    let text =
        r#"{"plan":"1","steps":{"pay":{"tool":"pay"},"mail":{"tool":"mail","args":{"n":1}}}}"#;
    let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    {
        let mut drive = engine.drive(&id, None);
        tokio::select! {
            _ = &mut drive => panic!("the call does not end"),
            () = started.notified() => {}
        }
        let report = engine.report(&id).await.unwrap();
        assert_eq!(report.steps[0].status.state, StepState::Running);
        assert_eq!(report.questions, []);
        let answered = engine.answer(&id, "pay", None, StepAnswer::Approve).await.unwrap_err();
        assert_eq!(answered, PlanRunError::NoQuestion("pay".to_owned()));
        let caller = toolwright_runtime::Caller::default();
        let forked = engine.fork(&id, "mail", None, caller).await.unwrap_err();
        assert_eq!(forked, PlanJournalError::InProgress(id.to_string()).into());
    }
    // The process has lost the call, and nobody knows whether it was paid.
    let args = vec![("n".to_owned(), Template::Literal(Json::from(2_u64)))];
    let caller = toolwright_runtime::Caller::new("other");
    let fork = engine.fork(&id, "mail", Some(args), caller.clone()).await.unwrap();
    let report = engine.drive(&fork, None).await.unwrap();
    assert_eq!(report.questions[0].question, Question::Uncertain);
    assert_eq!((report.run.parent.as_ref(), &report.run.caller), (Some(&id), &caller));
    let output = StepAnswer::Output(Arc::default());
    engine.answer(&fork, "pay", None, output).await.unwrap();
    assert_eq!(engine.drive(&fork, None).await.unwrap().status(), RunStatus::Succeeded);
}

#[tokio::test]
async fn limits_on_calls_time_and_parallelism_hold() {
    let most = Arc::new(AtomicUsize::new(0));
    let now = Arc::new(AtomicUsize::new(0));
    let (most_seen, running) = (Arc::clone(&most), Arc::clone(&now));
    let work = Handler::new(Tool::function("work", open_schema()), move |_, _| {
        let (most, now) = (Arc::clone(&most_seen), Arc::clone(&running));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(Output::text("done"))
        }
    })
    .with_effect(Effect::None);
    let engine = LocalEngine::new(Toolbox::new([work]).unwrap());
    let items = format!("[{}]", vec!["0"; 20].join(","));
    let text = |limits: &str| {
        format!(
            r#"{{"plan":"1","steps":{{"a":{{"tool":"work","each":{items}}}}},"limits":{limits}}}"#
        )
    };
    let report = run(&engine, &text(r#"{"parallel":3}"#), "{}").await;
    assert_eq!(report.status(), RunStatus::Succeeded);
    assert_eq!(most.load(Ordering::SeqCst), 3);
    let report = run(&engine, &text(r#"{"calls":7}"#), "{}").await;
    assert_eq!(report.status(), RunStatus::Failed);
    assert_eq!(report.steps[0].status.attempts, 7);
    assert!(report.error.unwrap().message.contains("limit of 7 calls"));
    let report = run(&engine, &text(r#"{"time_ms":12,"parallel":1}"#), "{}").await;
    assert_eq!(report.status(), RunStatus::Failed);
    assert!(report.error.unwrap().message.contains("longer than 12 ms"));
}

#[tokio::test]
async fn references_do_not_multiply_a_large_value() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let count = Handler::new(Tool::function("count", open_schema()), move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(Output::text("")) }
    });
    let engine = LocalEngine::new(Toolbox::new([count.with_effect(Effect::None)]).unwrap());
    let many = vec![r#"{"$from":"inputs/s"}"#; 13].join(",");
    let text = format!(
        r#"{{"plan":"1","inputs":{{"type":"object"}},"steps":{{
            "args":{{"tool":"count","args":{{"x":[{many}]}},"on_error":"continue"}},
            "each":{{"tool":"count","each":[{many}],"on_error":"continue"}},
            "when":{{"tool":"count","when":{{"value":[{many}],"is":{{}}}},"on_error":"continue"}}}},
            "outputs":{{"x":[{many}]}}}}"#
    );
    let inputs = object! {"s": "x".repeat(20 << 20)};
    let id = engine.start(NewRun::new(plan(&text), inputs)).await.unwrap();
    let unstarted = engine.report(&id).await.unwrap();
    assert_eq!(unstarted.error.unwrap().kind, "limit");
    assert!(unstarted.outputs.is_empty());
    let report = engine.drive(&id, None).await.unwrap();
    assert_eq!(report.status(), RunStatus::Failed);
    assert!(report.error.unwrap().message.contains("need more than 256 MiB"));
    let kinds: Vec<_> = report.steps.iter().map(|step| step.error_kind.as_deref()).collect();
    // Items are not copied.
    assert_eq!(kinds, [Some("limit"), None, Some("limit")]);
    assert_eq!(calls.load(Ordering::SeqCst), 13);
}

#[tokio::test]
async fn a_report_has_the_beginnings_of_large_arguments() {
    let engine = LocalEngine::new(Toolbox::new([echo("echo", &Log::default())]).unwrap());
    let step = r#"{"tool":"echo","args":{"x":{"$from":"inputs/s"}}}"#;
    let text = format!(
        r#"{{"plan":"1","inputs":{{"type":"object"}},"steps":{{"a":{step},"b":{step},"c":{step}}}}}"#
    );
    let inputs = object! {"s": "x".repeat(30 << 20)};
    let id = engine.start(NewRun::new(plan(&text), inputs)).await.unwrap();
    let report = engine.report(&id).await.unwrap();
    for step in &report.steps {
        assert!(step.input.as_ref().unwrap().weight() < 1 << 20);
        let preview = step.to_json().get("input_preview").unwrap().compact();
        assert!(preview.contains("xxx") && preview.len() < 600, "{preview}");
    }
}

/// A budget of some bytes that does not wait.
struct Bytes(AtomicUsize, usize);

impl MemoryBudget for Bytes {
    fn reserve(&self, bytes: usize) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        let left = |left: usize| left.checked_sub(bytes);
        let taken = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok();
        Box::pin(std::future::ready(taken))
    }

    fn release(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::SeqCst);
    }

    fn total(&self) -> usize {
        self.1
    }
}

#[tokio::test]
async fn a_run_stays_within_the_memory_of_its_host_and_gives_it_back() {
    const ALL: usize = 20 << 20;
    let budget = Arc::new(Bytes(AtomicUsize::new(ALL), ALL));
    let log = Log::default();
    let large = Handler::new(Tool::function("large", open_schema()), |_, _| async {
        Ok(Output::text("x".repeat(15 << 20)))
    });
    let toolbox = Toolbox::new([echo("echo", &log), large.with_effect(Effect::None)]).unwrap();
    let context = Context::new().with(PlanMemory(budget.clone()));
    let engine = LocalEngine::new(toolbox).with_context(context);
    let refused = |report: &RunReport| {
        let kinds: Vec<_> = report.steps.iter().map(|step| step.error_kind.clone()).collect();
        assert_eq!(report.status(), RunStatus::Failed, "{kinds:?}");
        kinds
    };
    // Eight copies of the arguments do not fit; one does.
    let eight = [r#"{"$from":"inputs/s"}"#; 8].join(",");
    let text = format!(
        r#"{{"plan":"1","inputs":{{"type":"object"}},"steps":{{
            "eight":{{"tool":"echo","args":{{"x":[{eight}]}}}},
            "one":{{"tool":"echo","args":{{"x":{{"$from":"inputs/s"}}}}}}}}}}"#
    );
    let inputs = object! {"s": "y".repeat(1 << 20)};
    let id = engine.start(NewRun::new(plan(&text), inputs)).await.unwrap();
    let report = engine.drive(&id, None).await.unwrap();
    assert_eq!(refused(&report), [Some("limit".to_owned()), None]);
    assert_eq!(log.take().len(), 1);
    // An output that does not fit beside another one fails its step.
    let text = r#"{"plan":"1","limits":{"parallel":1},"steps":{"a":{"tool":"large"},"b":{"tool":"large"}}}"#;
    let second = run(&engine, text, "{}").await;
    assert_eq!(refused(&second), [None, Some("limit".to_owned())]);
    assert!(budget.0.load(Ordering::SeqCst) < ALL, "a report holds its values");
    drop((report, second));
    assert_eq!(budget.0.load(Ordering::SeqCst), ALL);
    // A run that does not fit is not loaded.
    let id = engine.start(NewRun::new(
        plan(r#"{"plan":"1","inputs":{"type":"object"},"steps":{"a":{"tool":"echo"}}}"#),
        object! {"s": "z".repeat(25 << 20)},
    ));
    let id = id.await.unwrap();
    assert!(matches!(engine.report(&id).await, Err(PlanRunError::TooLarge(_))));
    assert_eq!(budget.0.load(Ordering::SeqCst), ALL);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_resumed_when_there_is_memory_and_interrupted_if_there_never_is() {
    const ALL: usize = 4 << 20;
    let budget = Arc::new(Bytes(AtomicUsize::new(ALL), ALL));
    let engine = LocalEngine::new(Toolbox::new([echo("echo", &Log::default())]).unwrap())
        .with_context(Context::new().with(PlanMemory(budget.clone())));
    let text = r#"{"plan":"1","inputs":{"type":"object"},"steps":{"a":{"tool":"echo"}}}"#;
    let start = async |bytes: usize| {
        let inputs = object! {"s": "x".repeat(bytes)};
        engine.start(NewRun::new(plan(text), inputs)).await.unwrap()
    };
    let run = start(1 << 10).await;
    assert!(budget.reserve(ALL).await);
    let resumed = {
        let (engine, run) = (engine.clone(), run.clone());
        tokio::spawn(async move { engine.resume(&run, None, None).await })
    };
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(!resumed.is_finished());
    budget.release(ALL);
    let report = resumed.await.unwrap().unwrap().unwrap();
    assert_eq!(report.status(), RunStatus::Succeeded);
    let run = start(2 * ALL).await;
    let reason = engine.resume(&run, None, None).await.unwrap().unwrap_err();
    assert!(reason.contains("too little left"), "{reason}");
    let summary = engine.journal().summary(&run).await.unwrap();
    assert_eq!(summary.status, RunStatus::Interrupted);
}

/// A rate that lets a call wait for an hour, four times out of five.
#[derive(Default)]
struct Slow(AtomicUsize);

impl CallRate for Slow {
    fn count(&self) -> Result<(), (Duration, String)> {
        if self.0.fetch_add(1, Ordering::SeqCst).is_multiple_of(5) {
            return Ok(());
        }
        Err((Duration::from_hours(1), "too many calls".to_owned()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_within_a_plan_of_a_run_waits_for_the_rate_longer_than_its_deadline() {
    let log = Log::default();
    let toolbox = Toolbox::new([echo("echo", &log)]).unwrap();
    let inner = plan(
        r#"{"plan":"1","steps":{"a":{"tool":"echo","args":{"x":1}},"b":{"tool":"echo","after":["a"]}}}"#,
    );
    let tool = Tool::function("inner", open_schema());
    let inner = plan_tool(tool, Arc::new(inner), toolbox);
    let toolbox = Toolbox::new([inner, echo("echo", &log)]).unwrap();
    let context = Context::new().with(PlanRate(Arc::new(Slow::default())));
    let engine = LocalEngine::new(toolbox.clone()).with_context(context.clone());
    let text = r#"{"plan":"1","steps":{"a":{"tool":"inner"}}}"#;
    let report = run(&engine, text, "{}").await;
    assert_eq!(report.status(), RunStatus::Succeeded, "{:?}", report.steps);
    assert_eq!(log.take().len(), 2);
    // Outside of a run, it does not wait.
    let session = toolwright_runtime::Session::new("run").with_context(context);
    let call =
        toolwright_core::Call::new("c", "inner", toolwright_core::Arguments::from_text("{}"));
    let status = toolbox.call(&session, &call).await;
    let error = status.result().unwrap().error.as_ref().unwrap();
    assert_eq!(error.kind, toolwright_runtime::error::CallErrorKind::RateLimited, "{error:?}");
}

#[tokio::test]
async fn outputs_that_people_give_count_against_the_memory() {
    const ALL: usize = 20 << 20;
    let budget = Arc::new(Bytes(AtomicUsize::new(ALL), ALL));
    let policy = Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["echo"]));
    let toolbox = Toolbox::new([echo("echo", &Log::default())]).unwrap().with_policy(policy);
    let context = Context::new().with(PlanMemory(budget.clone()));
    let engine = LocalEngine::new(toolbox).with_context(context);
    let text = r#"{"plan":"1","steps":{"a":{"tool":"echo","each":[1,2,3],"args":{"x":{"$from":"item"}}}}}"#;
    let id = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    assert_eq!(engine.drive(&id, None).await.unwrap().questions.len(), 3);
    let output = StepAnswer::Output(Arc::new("x".repeat(9 << 20).into()));
    engine.answer(&id, "a", None, output).await.unwrap();
    let report = engine.drive(&id, None).await.unwrap();
    assert_eq!(report.steps[0].error_kind.as_deref(), Some("limit"), "{:?}", report.status());
}

#[tokio::test]
async fn a_report_without_outputs_needs_no_memory_for_them() {
    const ALL: usize = 20 << 20;
    let budget = Arc::new(Bytes(AtomicUsize::new(ALL), ALL));
    let context = Context::new().with(PlanMemory(budget.clone()));
    let engine = LocalEngine::new(Toolbox::new([echo("echo", &Log::default())]).unwrap());
    let engine = engine.with_context(context);
    let four = [r#"{"$from":"inputs/s"}"#; 4].join(",");
    let text = format!(
        r#"{{"plan":"1","inputs":{{"type":"object"}},"steps":{{"a":{{"tool":"echo"}}}},"outputs":{{"x":[{four}]}}}}"#
    );
    let inputs = object! {"s": "y".repeat(2 << 20)};
    let id = engine.start(NewRun::new(plan(&text), inputs)).await.unwrap();
    assert_eq!(engine.drive(&id, None).await.unwrap().status(), RunStatus::Succeeded);
    assert!(budget.reserve(12 << 20).await);
    assert!(engine.progress(&id).await.unwrap().outputs.is_empty());
    let refused = engine.report(&id).await.unwrap_err();
    assert!(matches!(refused, PlanRunError::TooLarge(_)), "{refused}");
    budget.release(12 << 20);
    let report = engine.report(&id).await.unwrap();
    assert!(report.weight() > 8 << 20);
    assert!(budget.0.load(Ordering::SeqCst) < ALL - report.weight(), "its outputs are reserved");
}

#[test]
fn a_plan_is_checked_on_another_thread() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let engine = LocalEngine::new(Toolbox::new([echo("echo", &Log::default())]).unwrap());
        let new = || NewRun::new(plan(r#"{"plan":"1","steps":{"a":{"tool":"echo"}}}"#), json("{}"));
        let run = engine.start(new()).await.unwrap();
        let fork = || engine.fork(&run, "a", None, toolwright_runtime::Caller::default());
        // The only thread for it is busy.
        let (free, busy) = std::sync::mpsc::channel::<()>();
        let thread = tokio::task::spawn_blocking(move || busy.recv());
        assert!(engine.start(new()).now_or_never().is_none());
        assert!(fork().now_or_never().is_none());
        drop(free);
        assert!(thread.await.unwrap().is_err());
        assert!(fork().await.is_ok());
    });
}

#[tokio::test]
async fn runs_are_listed_filtered_and_deleted() {
    use toolwright_plan::journal::RunFilter;
    let folder = tempfile::tempdir().unwrap();
    let log = Log::default();
    let sqlite = Arc::new(SqlitePlanJournal::open(folder.path().join("plans.sqlite")).unwrap());
    let journals: [Arc<dyn PlanJournal>; 2] = [Arc::new(MemoryPlanJournal::new()), sqlite];
    for journal in journals {
        let toolbox = Toolbox::new([echo("echo", &log), risky(&log)]).unwrap();
        let engine = LocalEngine::new(toolbox).with_journal(Arc::clone(&journal));
        let mut found = BTreeMap::new();
        for fail in [true, false] {
            let text = format!(
                r#"{{"plan":"1","name":"名","steps":{{"a":{{"tool":"risky","args":{{"fail":{fail}}}}}}}}}"#
            );
            let report = run(&engine, &text, "{}").await;
            found.insert(report.status().as_str(), report.run.id.clone());
            let mut stored = engine.report(&report.run.id).await.unwrap();
            assert_eq!(stored.steps[0].input.take(), Some(object! {"fail": fail}.into()));
            assert_eq!(stored, report);
        }
        let filter = RunFilter { status: Some(RunStatus::Failed), ..RunFilter::default() };
        let failed = journal.list(&filter).await.unwrap();
        assert_eq!(failed.iter().map(|run| &run.id).collect::<Vec<_>>(), [&found["failed"]]);
        let foreign = RunFilter { tenant: Some("other".into()), ..RunFilter::default() };
        assert_eq!(journal.list(&foreign).await.unwrap(), []);
        let one = RunFilter { limit: Some(1), ..RunFilter::default() };
        assert_eq!(journal.list(&one).await.unwrap().len(), 1);
        journal.delete(&found["failed"]).await.unwrap();
        assert_eq!(journal.list(&RunFilter::default()).await.unwrap().len(), 1);
        let gone = engine.report(&found["failed"]).await.unwrap_err();
        assert_eq!(gone, PlanJournalError::UnknownRun(found["failed"].to_string()).into());
    }
}

#[tokio::test]
async fn only_ended_runs_are_removed_by_age_and_by_quota() {
    use toolwright_plan::journal::{RunFilter, RunQuota};
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Arc::new(SqlitePlanJournal::open(folder.path().join("plans.sqlite")).unwrap());
    let journals: [Arc<dyn PlanJournal>; 2] = [Arc::new(MemoryPlanJournal::new()), sqlite];
    for journal in journals {
        let toolbox = Toolbox::new([echo("echo", &Log::default())]).unwrap();
        let engine = LocalEngine::new(toolbox).with_journal(Arc::clone(&journal));
        let text = r#"{"plan":"1","steps":{"a":{"tool":"echo"}}}"#;
        let caller = toolwright_runtime::Caller::new("x").with_tenant("one");
        let open = NewRun::new(plan(text), object! {}).with_caller(caller);
        let (open, _) = journal.load(&engine.start(open).await.unwrap()).await.unwrap();
        let runs = [("c", "one", 300), ("b", "one", 200), ("a", "one", 200), ("d", "two", 100)];
        for (at, (id, tenant, ended_ms)) in (1..).zip(runs) {
            let mut run = open.clone();
            (run.id, run.created_ms, run.caller.tenant) = (id.into(), at, tenant.into());
            journal.create(&run, Vec::new(), None).await.unwrap();
            journal.set_status(id, RunStatus::Failed, Some(ended_ms)).await.unwrap();
        }
        assert_eq!(journal.prune(150).await.unwrap(), 1);
        let gone = journal.load("d").await.unwrap_err();
        assert_eq!(gone, PlanJournalError::UnknownRun("d".to_owned()));
        let ids = async || -> Vec<Arc<str>> {
            let runs = journal.list(&RunFilter::default()).await.unwrap();
            runs.into_iter().map(|run| run.id).collect()
        };
        let mut new = open.clone();
        new.id = "new".into();
        let full = RunQuota { runs: 1, bytes: usize::MAX };
        let refused = journal.create(&new, Vec::new(), Some(full)).await.unwrap_err();
        assert_eq!(refused, PlanJournalError::Full(full), "one has not ended");
        assert_eq!(ids().await.len(), 4, "none was removed in vain");
        let quota = RunQuota { runs: 4, bytes: usize::MAX };
        journal.create(&new, Vec::new(), Some(quota)).await.unwrap();
        let left = ids().await;
        assert!(left.len() == 4 && !left.contains(&"c".into()), "the oldest went: {left:?}");
        let again = journal.create(&new, Vec::new(), Some(full)).await.unwrap_err();
        assert_eq!(again, PlanJournalError::Exists("new".to_owned()));
        assert_eq!(ids().await, left);
    }
}

#[tokio::test]
async fn ended_runs_are_removed_for_the_bytes_of_a_new_one_and_for_none_that_does_not_fit() {
    use toolwright_plan::journal::{RunFilter, RunQuota};
    let folder = tempfile::tempdir().unwrap();
    let journal = SqlitePlanJournal::open(folder.path().join("plans.sqlite")).unwrap();
    let journal = Arc::new(journal);
    let engine = LocalEngine::new(Toolbox::new([echo("echo", &Log::default())]).unwrap())
        .with_journal(journal.clone());
    let text = r#"{"plan":"1","inputs":{"type":"object"},"steps":{"a":{"tool":"echo"}}}"#;
    let new = |size: usize| NewRun::new(plan(text), object! {"x": "x".repeat(size)});
    let quota = RunQuota { runs: 100, bytes: 10_000 };
    let engine = engine.with_quota(quota);
    let count = async || journal.list(&RunFilter::default()).await.unwrap().len();
    for at in 1..=4 {
        let run = engine.start(new(2000)).await.unwrap();
        let (mut record, _) = journal.load(&run).await.unwrap();
        // A second run may start in the same millisecond.
        journal.delete(&run).await.unwrap();
        record.created_ms = at;
        (record.status, record.ended_ms) = (RunStatus::Succeeded, Some(at));
        journal.create(&record, Vec::new(), None).await.unwrap();
    }
    let refused = engine.start(new(10_000)).await.unwrap_err();
    assert_eq!(refused, PlanJournalError::Full(quota).into());
    assert_eq!(count().await, 4, "none was removed in vain");
    let run = engine.start(new(4000)).await.unwrap();
    let left = journal.list(&RunFilter::default()).await.unwrap();
    assert_eq!(left.iter().map(|run| run.created_ms).skip(1).collect::<Vec<_>>(), [4, 3]);
    // A fork has the bytes of its run.
    journal.set_status(&run, RunStatus::Waiting, None).await.unwrap();
    let fork = engine.fork(&run, "a", None, toolwright_runtime::Caller::default()).await.unwrap();
    journal.set_status(&fork, RunStatus::Waiting, None).await.unwrap();
    assert_eq!(count().await, 2);
    let refused = engine.fork(&run, "a", None, toolwright_runtime::Caller::default()).await;
    assert_eq!(refused.unwrap_err(), PlanJournalError::Full(quota).into());
}

#[tokio::test]
async fn the_time_limit_counts_over_all_drives_and_its_error_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plans.sqlite");
    let journal = Arc::new(SqlitePlanJournal::open(&path).unwrap());
    let log = Log::default();
    let engine =
        LocalEngine::new(Toolbox::new([echo("echo", &log)]).unwrap()).with_journal(journal.clone());
    let text = r#"{"plan":"1","limits":{"time_ms":60000},"steps":{"a":{"tool":"echo"},"b":{"tool":"echo","after":["a"]}}}"#;
    let at = |step: &str, time_ms, event| Entry::new(step, None, time_ms, event);
    let done = || EntryEvent::Succeeded { output: Arc::default(), started_ms: 0, attempts: 1 };
    // One drive ended, another was interrupted after its first call: 30 and 40 seconds.
    let run = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    for entry in [
        at("", 0, EntryEvent::DriveStarted),
        at("", 30_000, EntryEvent::DriveEnded { error: None }),
        at("", 500_000, EntryEvent::DriveStarted),
        at("a", 540_000, done()),
    ] {
        journal.append(&run, entry).await.unwrap();
    }
    let report = engine.drive(&run, None).await.unwrap();
    assert_eq!((report.status(), log.take().len()), (RunStatus::Failed, 0));
    let states: Vec<StepState> = report.steps.iter().map(|step| step.status.state).collect();
    assert_eq!(states, [StepState::Succeeded, StepState::Cancelled]);
    let stored = engine.report(&run).await.unwrap();
    let error = stored.error.unwrap();
    assert!(error.message.contains("60000 ms"), "{error}");
    assert_eq!(report.error.as_ref(), Some(&error));

    // With less time used, it goes on.
    let run = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    for entry in [at("", 0, EntryEvent::DriveStarted), at("a", 50_000, done())] {
        journal.append(&run, entry).await.unwrap();
    }
    assert_eq!(engine.drive(&run, None).await.unwrap().status(), RunStatus::Succeeded);
    let forked = engine.fork(&run, "b", None, toolwright_runtime::Caller::default()).await.unwrap();
    let (_, entries) = journal.load(&forked).await.unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
}

#[tokio::test]
async fn who_answers_is_recorded() {
    use toolwright_runtime::ledger::{MemoryLedger, Query};
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(SqlitePlanJournal::open(folder.path().join("plans.sqlite")).unwrap());
    let (ledger, log) = (Arc::new(MemoryLedger::default()), Log::default());
    let policy = Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["echo"]));
    let toolbox = Toolbox::new([echo("echo", &log)]).unwrap().with_policy(policy);
    let engine =
        LocalEngine::new(toolbox.with_ledger(ledger.clone())).with_journal(journal.clone());
    let text = r#"{"plan":"1","steps":{"a":{"tool":"echo"}}}"#;
    let run = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    engine.drive(&run, None).await.unwrap();
    let boss = engine.clone().with_caller(toolwright_runtime::Caller::new("boss"));
    boss.answer(&run, "a", None, StepAnswer::Approve).await.unwrap();
    assert_eq!(engine.drive(&run, None).await.unwrap().status(), RunStatus::Succeeded);
    let (_, entries) = journal.load(&run).await.unwrap();
    let by = entries.iter().find_map(|entry| match &entry.event {
        EntryEvent::Answered { by, .. } => by.clone(),
        _ => None,
    });
    assert_eq!(by.as_deref(), Some("boss"));
    let recorded = ledger.entries(&Query::default());
    let answer = recorded.iter().find_map(|own| own.entry.as_approval()).unwrap();
    assert_eq!((&*answer.caller.id, &*answer.tool, answer.approved), ("boss", "echo", true));
    assert_eq!(*answer.run, *run);
}

#[tokio::test]
async fn a_report_shows_running_and_cancelled_steps() {
    let (started, log) = (Arc::new(Notify::new()), Log::default());
    let hang = {
        let started = Arc::clone(&started);
        Handler::new(Tool::function("hang", open_schema()), move |scope, _| {
            started.notify_one();
            async move {
                scope.cancel.cancelled().await;
                Err(ToolError::new("cancelled"))
            }
        })
        .with_effect(Effect::None)
    };
    let engine = LocalEngine::new(Toolbox::new([hang, echo("echo", &log)]).unwrap());
    let text = r#"{"plan":"1","steps":{"a":{"tool":"hang"},"b":{"tool":"echo","after":["a"]}}}"#;
    let run = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
    let driven = {
        let (engine, run) = (engine.clone(), run.clone());
        tokio::spawn(async move { engine.drive(&run, None).await })
    };
    started.notified().await;
    let states = async || {
        let report = engine.report(&run).await.unwrap();
        report.steps.iter().map(|step| step.status.state).collect::<Vec<StepState>>()
    };
    assert_eq!(states().await, [StepState::Running, StepState::Pending]);
    engine.cancel(&run).await.unwrap();
    assert_eq!(driven.await.unwrap().unwrap().status(), RunStatus::Cancelled);
    assert_eq!(states().await, [StepState::Cancelled, StepState::Cancelled]);
}

#[tokio::test]
async fn pages_of_runs_lose_none_that_started_at_one_time() {
    use toolwright_plan::journal::RunFilter;
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Arc::new(SqlitePlanJournal::open(folder.path().join("plans.sqlite")).unwrap());
    let journals: [Arc<dyn PlanJournal>; 2] = [Arc::new(MemoryPlanJournal::new()), sqlite];
    for journal in journals {
        let engine = LocalEngine::new(Toolbox::new([echo("echo", &Log::default())]).unwrap())
            .with_journal(Arc::clone(&journal));
        let text = r#"{"plan":"1","steps":{"a":{"tool":"echo"}}}"#;
        let first = engine.start(NewRun::new(plan(text), object! {})).await.unwrap();
        let (mut record, _) = journal.load(&first).await.unwrap();
        journal.delete(&first).await.unwrap();
        for id in ["a", "b", "c", "d", "e"] {
            (record.id, record.created_ms) = (id.into(), if id == "e" { 8 } else { 7 });
            journal.create(&record, Vec::new(), None).await.unwrap();
        }
        let (mut found, mut filter) =
            (Vec::new(), RunFilter { limit: Some(2), ..RunFilter::default() });
        loop {
            let page = journal.list(&filter).await.unwrap();
            let Some(last) = page.last() else { break };
            (filter.before_ms, filter.before_id) = (Some(last.created_ms), Some(last.id.clone()));
            found.extend(page.iter().map(|run| run.id.to_string()));
        }
        assert_eq!(found, ["e", "d", "c", "b", "a"]);
        let earlier = RunFilter { before_ms: Some(8), ..RunFilter::default() };
        assert_eq!(journal.list(&earlier).await.unwrap().len(), 4);
    }
}
