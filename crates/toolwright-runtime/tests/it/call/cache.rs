//! Cached results.

use std::time::Duration;

use toolwright_runtime::call::ResultSource;
use toolwright_runtime::{Caller, Context, Effect, Handler, Output, Session, ToolError, Toolbox};
use toolwright_testing::tools::{Counter, any, call, counting, done, text, toolbox};

fn cached(ran: &Counter) -> Handler {
    counting("count", ran).with_effect(Effect::None).with_cache(Duration::from_mins(1))
}

async fn ask(toolbox: &Toolbox, session: &Session, arguments: &str) -> (String, ResultSource) {
    let call = call("c", "count", arguments);
    let done = done(toolbox.call(session, &call).await);
    (text(&done), done.source)
}

#[tokio::test(start_paused = true)]
async fn an_equal_call_gets_the_cached_result_until_it_expires() {
    let ran = Counter::default();
    let (toolbox, session) = (toolbox([cached(&ran)]), Session::new("run"));
    let first = ask(&toolbox, &session, r#"{"a":1,"b":[1.0,"x"]}"#).await;
    assert_eq!(first, ("1".to_owned(), ResultSource::Executed));
    // Neither the order of keys nor the spelling of a number matters.
    let again = ask(&toolbox, &session, r#"{"b":[10e-1,"x"],"a":1.0}"#).await;
    assert_eq!(again, ("1".to_owned(), ResultSource::Cached));
    let other = ask(&toolbox, &session, r#"{"a":2,"b":[1,"x"]}"#).await;
    assert_eq!(other, ("2".to_owned(), ResultSource::Executed));

    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(ask(&toolbox, &session, r#"{"a":1,"b":[1,"x"]}"#).await.1, ResultSource::Cached);
    tokio::time::advance(Duration::from_secs(2)).await;
    let late = ask(&toolbox, &session, r#"{"a":1,"b":[1,"x"]}"#).await;
    assert_eq!(late, ("3".to_owned(), ResultSource::Executed));
}

#[tokio::test]
async fn cached_results_are_not_shared_between_callers() {
    let ran = Counter::default();
    let toolbox = toolbox([cached(&ran)]);
    let of = |id: &str, tenant: &str| {
        Session::new("run").with_caller(Caller::new(id).with_tenant(tenant.to_owned()))
    };
    ask(&toolbox, &of("ann", "acme"), "{}").await;
    assert_eq!(ask(&toolbox, &of("ann", "other"), "{}").await.1, ResultSource::Executed);
    assert_eq!(ask(&toolbox, &of("bob", "acme"), "{}").await.1, ResultSource::Executed);
    assert_eq!(ask(&toolbox, &of("ann", "acme"), "{}").await.1, ResultSource::Cached);
}

#[tokio::test]
async fn results_that_depend_on_a_context_are_cached_per_run() {
    let ran = Counter::default();
    let handler = cached(&ran).with_need(toolwright_runtime::context::Need::of::<u8>());
    let toolbox = toolbox([handler]);
    let run = |name: &str| Session::new(name.to_owned()).with_context(Context::new().with(1_u8));
    ask(&toolbox, &run("one"), "{}").await;
    assert_eq!(ask(&toolbox, &run("two"), "{}").await.1, ResultSource::Executed);
    assert_eq!(ask(&toolbox, &run("one"), "{}").await.1, ResultSource::Cached);
}

#[tokio::test]
async fn a_tool_with_effects_has_no_cache() {
    for effect in [Effect::Once, Effect::Keyed] {
        let ran = Counter::default();
        let toolbox = toolbox([cached(&ran).with_effect(effect)]);
        ask(&toolbox, &Session::new("one"), "{}").await;
        assert_eq!(ask(&toolbox, &Session::new("two"), "{}").await.1, ResultSource::Executed);
        assert_eq!(ran.get(), 2);
    }
}

#[tokio::test]
async fn errors_are_not_cached() {
    let ran = Counter::default();
    let counter = ran.clone();
    let handler = Handler::new(any("count"), move |_, _| {
        let first = counter.hit() == 0;
        async move { if first { Err(ToolError::new("no")) } else { Ok(Output::text("yes")) } }
    })
    .with_effect(Effect::None)
    .with_cache(Duration::from_mins(1));
    let (toolbox, session) = (toolbox([handler]), Session::new("run"));
    assert_eq!(ask(&toolbox, &session, "{}").await.0, "count failed: no");
    assert_eq!(ask(&toolbox, &session, "{}").await, ("yes".to_owned(), ResultSource::Executed));
}

#[tokio::test(start_paused = true)]
async fn equal_concurrent_calls_run_once() {
    let ran = Counter::default();
    let counter = ran.clone();
    let handler = Handler::new(any("count"), move |_, _| {
        counter.hit();
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Output::text("slow"))
        }
    })
    .with_effect(Effect::None)
    .with_cache(Duration::from_mins(1));
    let toolbox = toolbox([handler]);
    let (one, two) = (Session::new("one"), Session::new("two"));
    let (first, second) = tokio::join!(ask(&toolbox, &one, "{}"), ask(&toolbox, &two, "{}"));
    assert_eq!((first.0.as_str(), second.0.as_str(), ran.get()), ("slow", "slow", 1));
    assert_eq!((first.1, second.1), (ResultSource::Executed, ResultSource::Cached));
}

#[tokio::test]
async fn the_cache_is_bounded() {
    let ran = Counter::default();
    let (toolbox, session) = (toolbox([cached(&ran)]), Session::new("run"));
    for n in 0..2000 {
        ask(&toolbox, &session, &format!(r#"{{"n":{n}}}"#)).await;
    }
    assert_eq!(ask(&toolbox, &session, r#"{"n":1999}"#).await.1, ResultSource::Cached);
    assert_eq!(ask(&toolbox, &session, r#"{"n":0}"#).await.1, ResultSource::Executed);
}
