//! Retries.

use std::time::Duration;

use tokio::time::Instant;
use toolwright_runtime::{Effect, Handler, Output, Retry, ToolError};
use toolwright_testing::tools::{Counter, any, kind, make, text, toolbox};

/// Fails this many times, then succeeds, and returns the number of the attempt.
fn flaky(failures: u32, ran: &Counter, retryable: bool) -> Handler {
    let counter = ran.clone();
    Handler::new(any("flaky"), move |scope, _| {
        let times = counter.hit();
        async move {
            let error = ToolError::new("not now").with_kind("Unavailable");
            match (times < failures, retryable) {
                (true, true) => Err(error.retryable()),
                (true, false) => Err(error),
                (false, _) => Ok(Output::text(format!("attempt {}", scope.attempt))),
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn retryable_errors_are_retried_with_backoff() {
    for effect in [Effect::None, Effect::Keyed, Effect::Once] {
        let ran = Counter::default();
        let handler = flaky(3, &ran, true).with_effect(effect).with_retry(Retry::new(3));
        let start = Instant::now();
        let done = make(&toolbox([handler]), "flaky", "{}").await;
        assert_eq!((kind(&done), done.attempts, ran.get()), (None, 4, 4));
        assert_eq!(text(&done), "attempt 4");
        // 100 + 200 + 400 ms, each shortened by up to a quarter.
        let waited = start.elapsed();
        assert!(waited <= Duration::from_millis(700), "{waited:?}");
        assert!(waited >= Duration::from_millis(525), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_bounded() {
    let ran = Counter::default();
    let handler = flaky(99, &ran, true).with_retry(Retry::new(2));
    let done = make(&toolbox([handler]), "flaky", "{}").await;
    assert_eq!((kind(&done), done.attempts, ran.get()), (Some("failed"), 3, 3));
    let error = done.error.unwrap();
    assert!(error.retryable);
    assert_eq!(error.error_type(), "Unavailable");
}

#[tokio::test]
async fn other_errors_are_not_retried() {
    let ran = Counter::default();
    let handler = flaky(99, &ran, false).with_effect(Effect::None).with_retry(Retry::new(5));
    let done = make(&toolbox([handler]), "flaky", "{}").await;
    assert_eq!((kind(&done), done.attempts, ran.get()), (Some("failed"), 1, 1));
}

#[tokio::test]
async fn nothing_is_retried_unless_the_tool_enables_it() {
    let ran = Counter::default();
    let done = make(&toolbox([flaky(99, &ran, true)]), "flaky", "{}").await;
    assert_eq!((kind(&done), ran.get()), (Some("failed"), 1));
}

#[tokio::test(start_paused = true)]
async fn attempts_end_before_the_deadline() {
    let ran = Counter::default();
    let handler = flaky(99, &ran, true)
        .with_retry(Retry { max: 99, backoff: Duration::from_secs(4), ceiling: Duration::MAX })
        .with_deadline(Duration::from_secs(10));
    let done = make(&toolbox([handler]), "flaky", "{}").await;
    // After 4 s and 8 s; another delay would exceed the deadline.
    assert_eq!(kind(&done), Some("failed"));
    assert!((2..=3).contains(&ran.get()), "{}", ran.get());
}

#[tokio::test]
async fn a_panic_is_not_retried() {
    let ran = Counter::default();
    let counter = ran.clone();
    let handler = Handler::new(any("panics"), move |_, _| {
        counter.hit();
        async { panic!("no") }
    })
    .with_effect(Effect::None)
    .with_retry(Retry::new(5));
    let done = make(&toolbox([handler]), "panics", "{}").await;
    assert_eq!((kind(&done), ran.get()), (Some("panicked"), 1));
}
