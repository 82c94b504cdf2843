//! Concurrency limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolwright_core::Call;
use toolwright_runtime::call::Completeness;
use toolwright_runtime::{Effect, Handler, Output, Session};
use toolwright_testing::tools::{any, call, kind, toolbox};

/// Counts concurrent executions.
#[derive(Clone, Default)]
struct Crowd {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

fn slow(name: &str, crowd: &Crowd) -> Handler {
    let crowd = crowd.clone();
    Handler::new(any(name), move |_, _| {
        let crowd = crowd.clone();
        async move {
            let now = crowd.now.fetch_add(1, Ordering::SeqCst) + 1;
            crowd.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            crowd.now.fetch_sub(1, Ordering::SeqCst);
            Ok(Output::default())
        }
    })
    .with_effect(Effect::None)
}

fn calls(names: [&str; 6]) -> Vec<Call> {
    let numbered = names.into_iter().enumerate();
    numbered.map(|(n, name)| call(&format!("c{n}"), name, &format!(r#"{{"n":{n}}}"#))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_a_concurrency_limit() {
    let (limited, free) = (Crowd::default(), Crowd::default());
    let toolbox = toolbox([slow("limited", &limited).with_concurrency(2), slow("free", &free)]);
    let names = ["limited", "limited", "limited", "limited", "free", "free"];
    let called = toolbox.call_all(&Session::new("run"), &calls(names), Completeness::Unknown).await;
    assert!(called.iter().all(|called| kind(called.result().unwrap()).is_none()));
    assert_eq!(limited.most.load(Ordering::SeqCst), 2);
    assert_eq!(free.most.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn all_tools_together_have_a_concurrency_limit() {
    let crowd = Crowd::default();
    let toolbox = toolbox([slow("a", &crowd), slow("b", &crowd)]).with_concurrency(3);
    let names = ["a", "b", "a", "b", "a", "b"];
    toolbox.call_all(&Session::new("run"), &calls(names), Completeness::Unknown).await;
    assert_eq!(crowd.most.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn waiting_counts_against_the_deadline() {
    let crowd = Crowd::default();
    let handler =
        slow("slow", &crowd).with_concurrency(1).with_deadline(Duration::from_millis(2500));
    let toolbox = toolbox([handler]);
    let (session, calls) = (Session::new("run"), calls(["slow"; 6]));
    let start = tokio::time::Instant::now();
    let called = toolbox.call_all(&session, &calls, Completeness::Unknown).await;
    let kinds: Vec<_> = called.iter().map(|called| kind(called.result().unwrap())).collect();
    assert_eq!(kinds[..2], [None, None]);
    // The third starts and does not end; the others never start.
    assert_eq!(kinds[2], Some("timed_out"));
    assert_eq!(kinds[3..], [Some("busy"), Some("busy"), Some("busy")]);
    assert_eq!(start.elapsed(), Duration::from_millis(2500));
}
