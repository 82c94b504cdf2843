//! The calls of one turn.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwright_core::{Arguments, Call, Json};
use toolwright_json::Object;
use toolwright_runtime::call::{CallStatus, Completeness, ResultSource};
use toolwright_runtime::context::Need;
use toolwright_runtime::{Context, Effect, Handler, Output, Session, Toolbox};
use toolwright_testing::tools::{Counter, any, call, counting, done, echo, kind, text, toolbox};

async fn make(toolbox: &Toolbox, calls: &[Call]) -> Vec<toolwright_runtime::call::CallResult> {
    let called = toolbox.call_all(&Session::new("run"), calls, Completeness::Unknown).await;
    called.into_iter().map(done).collect()
}

/// Sleeps for as many seconds as the argument says.
fn sleeper() -> Handler {
    Handler::new(any("sleep"), |_, arguments: Object| async move {
        let seconds = arguments.get("s").and_then(Json::as_u64).unwrap_or(0);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        Ok(Output::text(format!("{seconds}")))
    })
    .with_effect(Effect::None)
}

#[tokio::test(start_paused = true)]
async fn results_are_in_the_order_of_the_calls_and_calls_run_concurrently() {
    let calls = ["3", "1", "2", "0"].map(|s| call(s, "sleep", &format!(r#"{{"s":{s}}}"#)));
    let start = tokio::time::Instant::now();
    let all = make(&toolbox([sleeper()]), &calls).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(all.iter().map(text).collect::<Vec<_>>(), ["3", "1", "2", "0"]);
    for (done, call) in all.iter().zip(&calls) {
        assert_eq!(done.outcome.call_id, call.id);
    }
}

/// Fast unless the work grows with the square of the number of calls.
#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_of_a_turn_all_have_their_outcome() {
    let change = Handler::new(any("change"), |scope, _| async move {
        let mut count = scope.session.context.write::<u64>().await?;
        *count += 1;
        Ok(Output::text(format!("{count}")))
    })
    .with_need(Need::of::<u64>().exclusive());
    let toolbox = toolbox([sleeper(), change, echo("echo")]);
    let calls: Vec<Call> = (0..10_000)
        .map(|number| {
            let name = ["sleep", "change", "echo"][number % 3];
            // A third of the calls of one tool are equal.
            let arguments = if number % 9 == 2 { 0 } else { number / 3 };
            call(&format!("c{number}"), name, &format!(r#"{{"s":{arguments}}}"#))
        })
        .collect();
    let session = Session::new("run").with_context(Context::new().with(0_u64));
    let called = toolbox.call_all(&session, &calls, Completeness::Unknown).await;
    for (number, called) in called.into_iter().enumerate() {
        let done = done(called);
        let wanted = match number % 3 {
            // Longer than the deadline.
            0 if number / 3 >= 60 => continue,
            0 => format!("{}", number / 3),
            1 => format!("{}", number / 3 + 1),
            _ => continue,
        };
        assert_eq!((kind(&done), text(&done)), (None, wanted), "{number}");
    }
}

#[tokio::test]
async fn equal_calls_of_a_turn_run_once() {
    for effect in [Effect::None, Effect::Keyed, Effect::Once] {
        let ran = Counter::default();
        let toolbox = toolbox([counting("count", &ran).with_effect(effect)]);
        let calls = [
            call("a", "count", r#"{"x":1,"y":2}"#),
            call("b", "count", r#"{"y":2.0,"x":1}"#),
            call("c", "count", r#"{"x":1,"y":3}"#),
        ];
        let all = make(&toolbox, &calls).await;
        assert_eq!(ran.get(), 2, "{effect:?}");
        let sources: Vec<_> = all.iter().map(|done| done.source).collect();
        assert_eq!(
            sources,
            [ResultSource::Executed, ResultSource::Duplicate, ResultSource::Executed]
        );
        assert_eq!(all[1].outcome.call_id.as_deref(), Some("b"));
        assert!(text(&all[1]).starts_with(&text(&all[0])));
        // A model that wanted two effects must learn that there was one.
        assert_eq!(text(&all[1]).contains("more than once"), effect != Effect::None);
    }
}

#[tokio::test]
async fn a_repeated_id_rebinds_no_result() {
    let ran = Counter::default();
    let toolbox = toolbox([echo("echo"), counting("count", &ran)]);
    let calls = [
        call("same", "echo", r#"{"n":1}"#),
        call("same", "echo", r#"{"n":2}"#),
        call("same", "count", r#"{"n":1}"#),
        call("same", "count", r#"{"n":2}"#),
    ];
    let all = make(&toolbox, &calls).await;
    let texts: Vec<_> = all.iter().map(text).collect();
    assert_eq!(texts[..2], [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert_eq!((ran.get(), texts[2] == texts[3]), (2, false));
}

#[tokio::test]
async fn calls_without_ids_are_distinguished_and_recognized() {
    let ran = Counter::default();
    let toolbox = toolbox([counting("count", &ran)]);
    let bare = |n: u32| Call {
        id: None,
        name: "count".to_owned(),
        arguments: Arguments::from_text(format!(r#"{{"n":{n}}}"#)),
    };
    let calls = [bare(1), bare(2)];
    let all = make(&toolbox, &calls).await;
    assert_eq!(ran.get(), 2);
    assert!(all.iter().all(|done| done.outcome.call_id.is_none()));
    // The same turn of the same run again.
    let again = make(&toolbox, &calls).await;
    assert_eq!(ran.get(), 2);
    assert!(again.iter().all(|done| done.source == ResultSource::Journal));
    // Another turn.
    let session = Session::new("run").with_turn(1);
    toolbox.call_all(&session, &calls, Completeness::Unknown).await;
    assert_eq!(ran.get(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_change_the_same_context_run_in_their_order() {
    let log: Arc<Mutex<Vec<u64>>> = Arc::default();
    let writer = |name: &str, log: &Arc<Mutex<Vec<u64>>>| {
        let log = log.clone();
        Handler::new(any(name), move |scope, arguments: Object| {
            let log = log.clone();
            async move {
                let n = arguments.get("n").and_then(Json::as_u64).unwrap_or(0);
                let _guard = scope.session.context.write::<u8>().await?;
                tokio::task::yield_now().await;
                log.lock().unwrap().push(n);
                Ok(Output::default())
            }
        })
        .with_need(Need::of::<u8>().exclusive())
    };
    let toolbox = toolbox([writer("a", &log), writer("b", &log)]);
    let calls: Vec<Call> = (0..50)
        .map(|n| {
            let name = if n % 2 == 0 { "a" } else { "b" };
            call(&format!("c{n}"), name, &format!(r#"{{"n":{n}}}"#))
        })
        .collect();
    let session = Session::new("run").with_context(Context::new().with(0_u8));
    let called = toolbox.call_all(&session, &calls, Completeness::Unknown).await;
    assert!(called.iter().all(|called| kind(called.result().unwrap()).is_none()));
    assert_eq!(*log.lock().unwrap(), (0..50).collect::<Vec<u64>>());
}

#[tokio::test]
async fn an_equal_call_after_a_change_of_its_context_is_made_again() {
    let read = Handler::new(any("read"), |scope, _| async move {
        Ok(Output::text(scope.session.context.read::<u8>().await?.to_string()))
    })
    .with_need(Need::of::<u8>())
    .with_effect(Effect::None);
    let add = Handler::new(any("add"), |scope, _| async move {
        *scope.session.context.write::<u8>().await? += 1;
        Ok(Output::text("added"))
    })
    .with_need(Need::of::<u8>().exclusive());
    let toolbox = toolbox([read, add]);
    let calls = ["read", "add", "read", "read"]
        .into_iter()
        .enumerate()
        .map(|(n, name)| call(&n.to_string(), name, "{}"));
    let session = Session::new("run").with_context(Context::new().with(0_u8));
    let calls: Vec<Call> = calls.collect();
    let called = toolbox.call_all(&session, &calls, Completeness::Unknown).await;
    let done: Vec<_> = called.into_iter().map(done).collect();
    assert_eq!(done.iter().map(text).collect::<Vec<_>>(), ["0", "added", "1", "1"]);
    assert_eq!(done[3].source, ResultSource::Duplicate);
}

#[tokio::test(start_paused = true)]
async fn calls_that_only_read_a_context_run_concurrently() {
    let reader = sleeper().with_need(Need::of::<u8>());
    let toolbox = toolbox([reader]);
    let calls = [1, 2, 3].map(|s| call(&s.to_string(), "sleep", &format!(r#"{{"s":{s}}}"#)));
    let session = Session::new("run").with_context(Context::new().with(0_u8));
    let start = tokio::time::Instant::now();
    toolbox.call_all(&session, &calls, Completeness::Unknown).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}

#[tokio::test]
async fn a_turn_without_calls_has_no_outcomes() {
    let called: Vec<CallStatus> =
        toolbox([]).call_all(&Session::new("run"), &[], Completeness::Unknown).await;
    assert!(called.is_empty());
}
