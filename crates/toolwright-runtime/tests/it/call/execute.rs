//! Deadlines, cancellation, panics.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use toolwright_runtime::call::{Completeness, ResultSource};
use toolwright_runtime::{Effect, Handler, Output, Session, Toolbox};
use toolwright_testing::tools::{Counter, any, call, done, echo, kind, make, text, toolbox};

/// A timeout that no machine reaches.
const GUARD: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_exceeds_its_deadline() {
    let hang = Handler::new(any("hang"), |_, _| std::future::pending())
        .with_effect(Effect::None)
        .with_deadline(Duration::from_secs(5));
    let start = tokio::time::Instant::now();
    let done = make(&toolbox([hang]), "hang", "{}").await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!((kind(&done), done.attempts), (Some("timed_out"), 1));
    assert!(text(&done).contains("5s"), "{}", text(&done));
    assert!(!text(&done).contains("effect"), "{}", text(&done));
}

#[tokio::test(start_paused = true)]
async fn a_tool_with_effects_that_hangs_may_have_had_them() {
    let hang = Handler::new(any("hang"), |_, _| std::future::pending());
    let done = make(&toolbox([hang]), "hang", "{}").await;
    assert_eq!(kind(&done), Some("timed_out"));
    assert!(text(&done).contains("may have had its effect"), "{}", text(&done));
}

#[tokio::test]
async fn a_blocking_tool_that_hangs_exceeds_its_deadline_and_keeps_its_permit() {
    let (free, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let hang = Handler::blocking(any("hang"), move |_, _| {
        wait.lock().unwrap().recv().unwrap();
        Ok(Output::text("late"))
    })
    .with_deadline(Duration::from_millis(50))
    .with_concurrency(1);
    let toolbox = toolbox([hang]);
    let first = tokio::time::timeout(GUARD, make(&toolbox, "hang", "{}")).await.unwrap();
    assert_eq!(kind(&first), Some("timed_out"));

    // The thread still runs, and counts against the limit.
    let session = Session::new("run");
    let again = call("c2", "hang", r#"{"n":2}"#);
    let second = done(toolbox.call(&session, &again).await);
    assert_eq!((kind(&second), second.attempts), (Some("busy"), 0));

    // When it ends, its permit is released, and its outcome is recorded after all.
    free.send(()).unwrap();
    free.send(()).unwrap();
    let mut third = second;
    for id in 3..1000 {
        let call = call(&format!("c{id}"), "hang", r#"{"n":3}"#);
        third = done(toolbox.call(&session, &call).await);
        if kind(&third) != Some("busy") {
            break;
        }
    }
    assert_eq!(kind(&third), None);
    let known = make(&toolbox, "hang", "{}").await;
    assert_eq!((known.source, text(&known).as_str()), (ResultSource::Journal, "late"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_async_tool_that_blocks_its_thread_exceeds_its_deadline() {
    let (free, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let hang = Handler::new(any("hang"), move |_, _| {
        let wait = wait.clone();
        async move {
            let _ = wait.lock().unwrap().recv();
            Ok(Output::default())
        }
    })
    .with_deadline(Duration::from_millis(50));
    let toolbox = toolbox([hang]);
    let call = tokio::spawn(async move { make(&toolbox, "hang", "{}").await });
    let done = tokio::time::timeout(GUARD, call).await.unwrap().unwrap();
    assert_eq!(kind(&done), Some("timed_out"));
    drop(free);
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_for_a_tool_that_stops_and_its_effect_stays_unknown() {
    let stopped = Counter::default();
    let counter = stopped.clone();
    let stop = Handler::new(any("stop"), move |scope, _| {
        let counter = counter.clone();
        async move {
            scope.cancel.cancelled().await;
            // As long as it takes to end a process.
            tokio::time::sleep(Duration::from_millis(20)).await;
            counter.hit();
            Err(toolwright_runtime::ToolError::new("it was killed"))
        }
    });
    let toolbox = toolbox([stop.with_deadline(Duration::from_secs(5)).with_stop_on_cancel()]);
    let done = make(&toolbox, "stop", "{}").await;
    assert_eq!((kind(&done), stopped.get()), (Some("timed_out"), 1));
    assert!(text(&done).contains("may have had its effect"), "{}", text(&done));
    let again = make(&toolbox, "stop", "{}").await;
    assert_eq!((kind(&again), stopped.get()), (Some("uncertain"), 1), "{}", text(&again));
}

#[tokio::test]
async fn cancelling_the_session_ends_a_call_and_notifies_the_tool() {
    let (began, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (began2, told2) = (began.clone(), told.clone());
    let hang = Handler::new(any("hang"), move |scope, _| {
        let (began, told) = (began2.clone(), told2.clone());
        async move {
            began.notify_one();
            scope.cancel.cancelled().await;
            told.notify_one();
            std::future::pending().await
        }
    });
    let toolbox = toolbox([hang]);
    let session = Session::new("run");
    let cancel = session.cancel.clone();
    let under_way =
        tokio::spawn(async move { toolbox.call(&session, &call("c", "hang", "{}")).await });
    began.notified().await;
    cancel.cancel();
    let done = done(tokio::time::timeout(GUARD, under_way).await.unwrap().unwrap());
    assert_eq!((kind(&done), done.attempts), (Some("cancelled"), 1));
    tokio::time::timeout(GUARD, told.notified()).await.unwrap();
}

#[tokio::test]
async fn a_tool_that_stopped_was_cancelled_and_did_not_fail() {
    let (began, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (began2, stopped2) = (began.clone(), stopped.clone());
    let stop = Handler::new(any("stop"), move |scope, _| {
        let (began, stopped) = (began2.clone(), stopped2.clone());
        async move {
            began.notify_one();
            scope.cancel.cancelled().await;
            stopped.notify_one();
            Err(toolwright_runtime::ToolError::new("it was killed"))
        }
    });
    let toolbox = toolbox([stop.with_stop_on_cancel()]);
    let session = Session::new("run");
    let call = call("c", "stop", "{}");
    let mut calling = Box::pin(toolbox.call(&session, &call));
    tokio::select! {
        _ = &mut calling => panic!("it waits"),
        () = began.notified() => {}
    }
    // Its caller looks when both have happened.
    session.cancel.cancel();
    stopped.notified().await;
    tokio::task::yield_now().await;
    assert_eq!(kind(&done(calling.await)), Some("cancelled"));
}

#[tokio::test]
async fn a_cancelled_session_starts_no_call() {
    let ran = Counter::default();
    let toolbox = toolbox([toolwright_testing::tools::counting("count", &ran)]);
    let session = Session::new("run");
    session.cancel.cancel();
    let done = done(toolbox.call(&session, &call("c", "count", "{}")).await);
    assert_eq!((kind(&done), done.attempts, ran.get()), (Some("cancelled"), 0, 0));
    assert!(text(&done).contains("Nothing was done"));
}

#[tokio::test]
async fn dropping_the_call_notifies_the_tool() {
    let (began, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (began2, told2) = (began.clone(), told.clone());
    let hang = Handler::new(any("hang"), move |scope, _| {
        let (began, told) = (began2.clone(), told2.clone());
        async move {
            began.notify_one();
            scope.cancel.cancelled().await;
            told.notify_one();
            Ok(Output::default())
        }
    });
    let toolbox = toolbox([hang]);
    tokio::select! {
        _ = make(&toolbox, "hang", "{}") => panic!("it hangs"),
        () = began.notified() => {}
    }
    tokio::time::timeout(GUARD, told.notified()).await.unwrap();
}

#[tokio::test]
async fn a_panic_fails_one_call_and_its_message_is_not_shown() {
    let handlers = [
        Handler::new(any("async"), |_, _| async { panic!("the password is hunter2") }),
        Handler::new(any("at_once"), |_, _| -> std::future::Ready<_> { panic!("hunter2") }),
        Handler::blocking(any("blocking"), |_, _| panic!("hunter2")),
        echo("echo"),
    ];
    let toolbox = toolbox(handlers);
    let calls = [
        call("1", "async", "{}"),
        call("2", "at_once", "{}"),
        call("3", "blocking", "{}"),
        call("4", "echo", "{}"),
    ];
    let called = toolbox.call_all(&Session::new("run"), &calls, Completeness::Unknown).await;
    let kinds: Vec<_> = called.iter().map(|called| kind(called.result().unwrap())).collect();
    assert_eq!(kinds, [Some("panicked"), Some("panicked"), Some("panicked"), None]);
    for called in called {
        let done = done(called);
        assert!(!format!("{:?} {:?}", done.outcome, done.error).contains("hunter2"));
    }
}

/// Panics when it is dropped, unless already panicking.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_drop_fails_one_call() {
    let at_end = Handler::new(any("at_end"), |_, _| async {
        let _bomb = Bomb;
        Ok(Output::text("done"))
    });
    let as_words = Handler::new(any("as_words"), |_, _| async { std::panic::panic_any(Bomb) });
    let on_a_thread = Handler::blocking(any("on_a_thread"), |_, _| std::panic::panic_any(Bomb));
    let given_up = Handler::new(any("given_up"), |_, _| async {
        let _bomb = Bomb;
        std::future::pending().await
    });
    let toolbox = toolbox([at_end, as_words, on_a_thread, given_up, echo("echo")]);
    for (name, wanted) in [
        ("at_end", "panicked"),
        ("as_words", "panicked"),
        ("on_a_thread", "panicked"),
        ("given_up", "timed_out"),
    ] {
        assert_eq!(kind(&make(&toolbox, name, "{}").await), Some(wanted), "{name}");
    }
    // Long enough for cancelled work to stop.
    tokio::time::sleep(GUARD).await;
    assert_eq!(kind(&make(&toolbox, "echo", "{}").await), None);
}

#[tokio::test]
async fn a_panic_in_the_error_text_fails_one_call() {
    let handler = Handler::new(any("fail"), |_, _| async { Err("no".parse::<u8>().unwrap_err())? })
        .with_error_text(|_| panic!("hunter2"));
    let done = make(&toolbox([handler]), "fail", "{}").await;
    assert_eq!((kind(&done), text(&done).as_str()), (Some("failed"), "fail failed."));
}

#[tokio::test]
async fn a_blocking_call_that_waited_too_long_does_not_start() {
    // The only thread for blocking work is busy.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let ran = Counter::default();
    let counter = ran.clone();
    let (free, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let taken = Arc::new(Notify::new());
    let signal = taken.clone();
    let hold = Handler::blocking(any("hold"), move |_, _| {
        signal.notify_one();
        let _ = wait.lock().unwrap().recv();
        Ok(Output::default())
    });
    let late = Handler::blocking(any("late"), move |_, _| {
        counter.hit();
        Ok(Output::default())
    })
    .with_deadline(Duration::from_millis(50));
    let toolbox = toolbox([hold, late]);
    let other: Toolbox = toolbox.clone();
    let holding = runtime.spawn(async move { make(&other, "hold", "{}").await });
    taken.notified().await;
    let late = runtime.spawn(async move {
        let session = Session::new("run");
        toolbox.call(&session, &call("late", "late", "{}")).await
    });
    let late = done(late.await.unwrap());
    assert_eq!(kind(&late), Some("timed_out"));
    drop(free);
    holding.await.unwrap();
    // Queued work has been processed when the threads are gone.
    tokio::task::spawn_blocking(move || drop(runtime)).await.unwrap();
    assert_eq!(ran.get(), 0);
}
