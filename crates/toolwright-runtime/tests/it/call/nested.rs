//! Calls that a tool makes while it runs.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use toolwright_core::{Json, object};
use toolwright_runtime::call::{CallResult, Completeness, Policy, ResultSource, Rule, Verdict};
use toolwright_runtime::context::{Context, Need};
use toolwright_runtime::ledger::{CallEntry, MemoryLedger, Query};
use toolwright_runtime::toolbox::CompiledTool;
use toolwright_runtime::{
    Effect, Fill, Handler, Output, Retry, Scope, Session, ToolError, Toolbox,
};
use toolwright_testing::tools::{
    Counter, any, call, counting, done, echo, kind, text, tool, toolbox,
};

/// A tool that calls another and returns its output.
fn outer(name: &str, inner: &'static str) -> Handler {
    Handler::new(any(name), move |scope: Scope, arguments| async move {
        let result = scope.call(inner, arguments).await?;
        Ok(Output::json(result.value().map(Cow::into_owned).unwrap_or_default()))
    })
}

async fn make(toolbox: &Toolbox) -> CallResult {
    make_in(toolbox, &Session::new("run")).await
}

async fn make_in(toolbox: &Toolbox, session: &Session) -> CallResult {
    done(toolbox.call(session, &call("c1", "outer", r#"{"n": 1}"#)).await)
}

fn entries(ledger: &MemoryLedger) -> Vec<CallEntry> {
    let entries = ledger.entries(&Query::default());
    let mut entries: Vec<_> =
        entries.iter().map(|entry| entry.entry.as_call().unwrap().clone()).collect();
    entries.sort_by_key(|entry| entry.call_id.clone());
    entries
}

#[tokio::test]
async fn a_nested_call_is_recorded_under_its_own_name() {
    let ledger = Arc::new(MemoryLedger::new());
    let toolbox = toolbox([outer("outer", "echo"), echo("echo")]).with_ledger(ledger.clone());
    assert_eq!(text(&make(&toolbox).await), r#"{"n":1}"#);
    let [first, second] = &entries(&ledger)[..] else { panic!("two entries") };
    assert_eq!((&*first.tool, &*first.call_id, &first.parent), ("outer", "c1", &None));
    assert_eq!((&*second.tool, second.parent.as_deref()), ("echo", Some("c1")));
    assert_ne!(first.key, second.key);
}

#[tokio::test]
async fn arguments_are_checked_and_names_are_looked_up() {
    let schema = r#"{"type": "object", "required": ["city"]}"#;
    let strict = Handler::new(tool("strict", schema), |_, _| async { Ok(Output::text("")) });
    for (inner, wanted) in [("strict", "Missing, required: city"), ("stric", "Did you mean")] {
        let toolbox = toolbox([outer("outer", inner), strict.clone()]);
        let result = make(&toolbox).await;
        assert_eq!(kind(&result), Some("failed"));
        assert!(text(&result).contains(wanted), "{}", text(&result));
    }
}

#[tokio::test]
async fn the_policy_decides_by_the_inner_name() {
    let ran = Counter::default();
    for (verdict, wanted) in [
        (Verdict::Deny, "is not allowed to call it"),
        (Verdict::Ask, "it needs the approval of a person. Money moves."),
    ] {
        let rule = Rule::new(verdict).with_tools(["pay"]).with_reason("Money moves.");
        let ledger = Arc::new(MemoryLedger::new());
        let toolbox = toolbox([outer("outer", "pay"), counting("pay", &ran)])
            .with_policy(Policy::default().with_rule(rule))
            .with_ledger(ledger.clone());
        let result = make(&toolbox).await;
        assert_eq!((kind(&result), ran.get()), (Some("failed"), 0));
        assert!(text(&result).contains(wanted), "{}", text(&result));
        let refused = &entries(&ledger)[1];
        assert_eq!((&*refused.tool, refused.source), ("pay", Some(ResultSource::Refused)));
    }
}

#[tokio::test]
async fn a_retry_of_the_outer_call_does_not_repeat_an_effect() {
    let (ran, tried) = (Counter::default(), Counter::default());
    let again = tried.clone();
    let flaky = Handler::new(any("outer"), move |scope: Scope, _| {
        let attempt = again.hit();
        async move {
            // In another order each time, and twice the same.
            let mut names = ["a", "b", "b"];
            if attempt == 1 {
                names.reverse();
            }
            let calls = names.map(|name| scope.call("pay", object! {"to": name}));
            let paid: Vec<_> = join_all(calls).await;
            assert!(paid.iter().all(Result::is_ok), "{paid:?}");
            if attempt < 2 {
                return Err(ToolError::new("not yet").retryable());
            }
            let sources: Vec<_> = paid.iter().flatten().map(|paid| paid.source).collect();
            assert_eq!(sources, [ResultSource::Journal; 3]);
            Ok(Output::text("paid"))
        }
    });
    let retry = Retry { backoff: Duration::from_millis(1), ..Retry::new(3) };
    let toolbox = toolbox([flaky.with_retry(retry), counting("pay", &ran)]);
    let result = make(&toolbox).await;
    assert_eq!((text(&result).as_str(), tried.get(), ran.get()), ("paid", 3, 3));
}

/// An outer call that was interrupted runs again with its key; the nested one is replayed.
#[tokio::test(start_paused = true)]
async fn an_interrupted_outer_call_replays_its_nested_calls() {
    let (ran, tried) = (Counter::default(), Counter::default());
    let again = tried.clone();
    let stuck = Handler::new(any("outer"), move |scope: Scope, _| {
        let attempt = again.hit();
        async move {
            let paid = scope.call("pay", object! {}).await?;
            if attempt == 0 {
                std::future::pending::<()>().await;
            }
            assert_eq!(paid.source, ResultSource::Journal);
            Ok(Output::text("paid"))
        }
    });
    let stuck = stuck.with_effect(Effect::Keyed).with_deadline(Duration::from_secs(1));
    let toolbox = toolbox([stuck, counting("pay", &ran)]);
    assert_eq!(kind(&make(&toolbox).await), Some("timed_out"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(text(&make(&toolbox).await), "paid");
    assert_eq!((tried.get(), ran.get()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_nested_call_ends_with_its_outer_call() {
    let slow = Handler::new(any("slow"), |scope: Scope, _| async move {
        assert!(scope.deadline <= Instant::now() + Duration::from_secs(1));
        scope.cancel.cancelled().await;
        Ok(Output::text(""))
    });
    let ledger = Arc::new(MemoryLedger::new());
    let outer = outer("outer", "slow").with_deadline(Duration::from_secs(1));
    let toolbox = toolbox([outer, slow.with_effect(Effect::None)]).with_ledger(ledger.clone());
    // The outer tool may return the error of the inner one before its own deadline is noticed.
    let result = make(&toolbox).await;
    assert!(matches!(kind(&result), Some("timed_out" | "failed")), "{}", text(&result));

    let session = Session::new("other");
    let cancel = session.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
    });
    let result = make_in(&toolbox, &session).await;
    assert!(text(&result).contains("was cancelled"), "{}", text(&result));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(entries(&ledger).len(), 4, "every call is recorded");
}

#[tokio::test]
async fn limits_hold_without_a_deadlock() {
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let highest = most.clone();
    let single = Handler::new(any("single"), move |_, _| {
        let (running, most) = (running.clone(), highest.clone());
        async move {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(Output::text("ok"))
        }
    });
    let many = Handler::new(any("outer"), |scope: Scope, _| async move {
        let calls = (0..20).map(|number| scope.call("single", object! {"n": number}));
        let results: Result<Vec<_>, _> = join_all(calls).await.into_iter().collect();
        Ok(Output::json(results?.len()))
    });
    let toolbox = toolbox([many, single.with_concurrency(1)]).with_concurrency(1);
    let calls = [call("a", "outer", r#"{"a":1}"#), call("b", "outer", r#"{"b":1}"#)];
    let session = Session::new("run");
    for status in toolbox.call_all(&session, &calls, Completeness::default()).await {
        assert_eq!(text(&done(status)), "20");
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn recursion_and_deep_nesting_are_refused() {
    let loops = toolbox([outer("outer", "other"), outer("other", "outer")]);
    let result = make(&loops).await;
    assert!(text(&result).contains("a tool may not call itself"), "{}", text(&result));

    let names = ["outer", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"];
    let chain = |length: usize| {
        let last = [echo(names[length])];
        let links = (0..length).map(|at| outer(names[at], names[at + 1]));
        toolbox(links.chain(last))
    };
    assert_eq!(text(&make(&chain(7)).await), r#"{"n":1}"#);
    let result = make(&chain(8)).await;
    assert!(text(&result).contains("8 calls within each other"), "{}", text(&result));
}

#[tokio::test]
async fn hidden_values_reach_the_inner_tool_and_no_other() {
    struct Shared(&'static str);
    struct Own(&'static str);
    let inner = Handler::new(any("inner"), |scope: Scope, arguments| async move {
        let shared = scope.session.context.read::<Shared>().await?.0;
        let own = scope.session.context.read::<Own>().await.map(|own| own.0);
        assert_eq!((shared, own.ok()), ("shared", None), "the outer tool's own value stays there");
        Ok(Output::json(arguments))
    });
    let fill = Fill::Constant(Json::from("host"));
    let inner = inner.with_need(Need::of::<Shared>()).with_fill("executor", fill);
    let toolbox = toolbox([outer("outer", "inner").with_own(Own("own")), inner]);
    let session = Session::new("run").with_context(Context::new().with(Shared("shared")));
    let result = make_in(&toolbox, &session).await;
    assert_eq!(text(&result), r#"{"n":1,"executor":"host"}"#);
}

/// The outer call may hold the value while it waits for the inner one.
#[tokio::test]
async fn tools_that_would_wait_for_each_others_context_are_refused() {
    struct Data;
    let need = Need::of::<Data>();
    let session = Session::new("run").with_context(Context::new().with(Data));
    for (held, wanted, runs) in [
        (need, need, true),
        (need.exclusive(), need, false),
        (need, need.exclusive(), false),
        (need.exclusive(), need.exclusive(), false),
    ] {
        let inner = echo("inner").with_need(wanted);
        let toolbox = toolbox([outer("outer", "inner").with_need(held), inner]);
        let result = make_in(&toolbox, &session).await;
        assert_eq!(kind(&result).is_none(), runs, "{}", text(&result));
        assert!(runs || text(&result).contains("both use the context value"), "{}", text(&result));
    }
}

#[tokio::test]
async fn a_tool_outside_of_the_toolbox_runs_under_its_policy_and_ledger() {
    let ledger = Arc::new(MemoryLedger::new());
    let denied = Rule::new(Verdict::Deny).with_tools(["denied/*"]);
    let inner = [echo("allowed/echo"), echo("denied/echo")];
    let inner = inner.map(|handler| CompiledTool::new(handler).unwrap());
    let tools = inner.clone();
    let outer = Handler::new(any("outer"), move |scope: Scope, arguments| {
        let tools = tools.clone();
        async move {
            assert!(scope.may_call("allowed/echo") && !scope.may_call("denied/echo"));
            let refused = scope.call_tool(&tools[1], arguments.clone()).await.unwrap_err();
            assert_eq!(refused.kind.as_str(), "not_allowed");
            let result = scope.call_tool(&tools[0], arguments).await?;
            Ok(Output::json(result.value().map(Cow::into_owned).unwrap_or_default()))
        }
    });
    let toolbox = toolbox([outer])
        .with_policy(Policy::default().with_rule(denied))
        .with_ledger(ledger.clone());
    assert_eq!(text(&make(&toolbox).await), r#"{"n":1}"#);
    let direct = call("c2", "any name", r#"{"n": 2}"#);
    let result = done(toolbox.call_tool(&Session::new("run"), &inner[0], &direct).await);
    assert_eq!(text(&result), r#"{"n":2}"#);
    let recorded: Vec<_> = entries(&ledger).iter().map(|entry| entry.tool.to_string()).collect();
    assert_eq!(recorded, ["outer", "allowed/echo", "denied/echo", "allowed/echo"]);
}
