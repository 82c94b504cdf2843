//! How a function is called: arguments, defaults, context, scope.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Barrier;
use toolwright_runtime::context::Need;
use toolwright_runtime::prelude::*;

use super::{parameters, run, run_in, scope, shown};

/// A timeout that nothing here reaches unless it hangs.
const HANG: Duration = Duration::from_mins(1);

mod elsewhere {
    use toolwright_runtime::prelude::*;

    /// Greets.
    #[tool]
    pub(super) fn greet(name: &str, #[default(1)] times: usize) -> String {
        format!("hello {name} ").repeat(times).trim_end().to_owned()
    }
}

// One `use` for the function and its tool.
use elsewhere::greet;

#[tokio::test]
async fn a_function_stays_a_function() {
    assert_eq!(greet("you", 2), "hello you hello you");
    assert_eq!(shown(run(greet::handler(), r#"{"name": "你"}"#).await), "hello 你");
    assert_eq!(greet::handler().tool().name, "greet");
}

#[tool]
async fn exact(a: u64, b: i128, c: Option<u128>, d: u8, half: f32) -> String {
    format!("{a} {b} {c:?} {d} {half}")
}

#[tokio::test]
async fn numbers_arrive_with_every_digit() {
    let arguments = r#"{"a": 18446744073709551615, "b": -170141183460469231731687303715884105728,
        "c": 9007199254740993, "d": 5.0, "half": 0.1}"#;
    assert_eq!(
        shown(run(exact::handler(), arguments).await),
        "18446744073709551615 -170141183460469231731687303715884105728 Some(9007199254740993) 5 0.1"
    );
}

#[tokio::test]
async fn arguments_of_wrong_types_are_refused_together_without_running() {
    let error = run(exact::handler(), r#"{"a": -1, "b": 1, "d": 256}"#).await.unwrap_err();
    assert_eq!(error.kind, "invalid_arguments");
    assert!(!error.retryable);
    for part in ["nothing was done", "`a`: ", "`d`: ", "`half` is missing"] {
        assert!(error.message.contains(part), "{part} in {}", error.message);
    }
    assert!(!error.message.contains("`b`"), "{}", error.message);
}

type Maybe<T> = Option<T>;

#[tool]
fn optional(a: Option<u8>, b: Maybe<u8>, #[default(Some(7))] c: Option<u8>) -> String {
    format!("{a:?} {b:?} {c:?}")
}

#[tokio::test]
async fn an_option_may_be_absent_or_null() {
    assert_eq!(shown(run(optional::handler(), "{}").await), "None None Some(7)");
    let nulls = r#"{"a": null, "b": null, "c": null}"#;
    assert_eq!(shown(run(optional::handler(), nulls).await), "None None None");
    assert_eq!(parameters(&optional::handler()).get("required"), None);
}

#[tool]
fn odd_names(scope: u8, arguments: u8, r#type: u8, returned: u8, mut guard: u8) -> u8 {
    guard += scope + arguments + r#type + returned;
    guard
}

#[tokio::test]
async fn a_parameter_may_have_any_name() {
    let arguments = r#"{"scope": 1, "arguments": 2, "type": 3, "returned": 4, "guard": 5}"#;
    assert_eq!(shown(run(odd_names::handler(), arguments).await), "15");
}

#[tool]
fn borrowed(text: &str, list: &[u8], path: &Path, #[default("x")] end: &str) -> String {
    format!("{text} {list:?} {} {end}", path.display())
}

#[tokio::test]
async fn arguments_may_be_plain_references() {
    let arguments = r#"{"text": "a", "list": [1], "path": "b/c"}"#;
    assert_eq!(shown(run(borrowed::handler(), arguments).await), "a [1] b/c x");
}

#[data]
#[serde(try_from = "String")]
struct Even(u8);

impl TryFrom<String> for Even {
    type Error = String;

    fn try_from(text: String) -> Result<Even, String> {
        match text.parse::<u8>() {
            Ok(number) if number % 2 == 0 => Ok(Even(number)),
            _ => Err("expected an even number".to_owned()),
        }
    }
}

#[tool]
fn custom(list: Vec<Even>) -> usize {
    list.iter().map(|even| usize::from(even.0)).sum()
}

#[tokio::test]
async fn a_custom_deserializer_may_refuse() {
    assert_eq!(shown(run(custom::handler(), r#"{"list": ["2", "4"]}"#).await), "6");
    let error = run(custom::handler(), r#"{"list": ["2", "3"]}"#).await.unwrap_err();
    assert_eq!(error.kind, "invalid_arguments");
    assert!(error.message.contains("`list` at /1: expected an even number"), "{error:?}");
}

#[derive(Default)]
struct Table {
    rows: Vec<u32>,
}

/// 读取指定路径的数据
#[tool]
async fn load(
    #[context] data: &mut Table,
    #[scope] scope: &Scope,
    /// 文件路径
    path: String,
) -> String {
    data.rows = vec![1, 2, 3];
    format!("{} {path}", scope.call_id)
}

#[tool]
fn rows(#[context] data: &Table) -> usize {
    data.rows.len()
}

#[tool]
fn clear(#[context] data: &mut Table, #[scope] scope: Scope) -> u32 {
    data.rows.clear();
    scope.attempt
}

#[tokio::test]
async fn the_context_is_bound_and_not_in_the_schema() {
    let context = Context::new().with(Table::default());
    let handler = load::handler();
    let properties = parameters(&handler);
    let properties = properties.get("properties").and_then(Json::as_object).unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["path"]);
    assert_eq!(handler.needs(), [Need::of::<Table>().exclusive()]);
    assert_eq!(handler.tool().description.as_deref(), Some("读取指定路径的数据"));

    let loaded = run_in(&handler, &context, r#"{"path": "data.csv"}"#).await;
    assert_eq!(shown(loaded), "call_1 data.csv");
    assert_eq!(shown(run_in(&rows::handler(), &context, "{}").await), "3");
    assert_eq!(shown(run_in(&clear::handler(), &context, "{}").await), "1");
    assert_eq!(shown(run_in(&rows::handler(), &context, "{}").await), "0");
}

#[tokio::test]
async fn a_missing_context_is_an_error() {
    for handler in [rows::handler(), load::handler().with_name("load")] {
        let error = run(handler, r#"{"path": ""}"#).await.unwrap_err();
        assert_eq!(error.kind, "missing_context");
        assert!(error.message.contains("Table"), "{error:?}");
    }
}

/// Counts the calls that are inside at the same time.
struct Meeting {
    barrier: Arc<Barrier>,
    inside: AtomicUsize,
}

impl Meeting {
    fn new(calls: usize) -> Meeting {
        Meeting { barrier: Arc::new(Barrier::new(calls)), inside: AtomicUsize::new(0) }
    }

    /// Whether the caller is alone, now and a little later.
    async fn alone(&self) -> bool {
        let before = self.inside.fetch_add(1, Ordering::SeqCst);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let after = self.inside.fetch_sub(1, Ordering::SeqCst);
        before == 0 && after == 1
    }
}

#[tool]
async fn meet(#[context] meeting: &Meeting) {
    meeting.barrier.wait().await;
}

#[tool]
fn meet_blocking(#[context] meeting: &Meeting) {
    tokio::runtime::Handle::current().block_on(meeting.barrier.wait());
}

#[tool]
async fn change(#[context] meeting: &mut Meeting) -> bool {
    meeting.alone().await
}

#[tool]
fn change_blocking(#[context] meeting: &mut Meeting) -> bool {
    tokio::runtime::Handle::current().block_on(meeting.alone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_read_the_context_overlap() {
    for (a, b) in [
        (meet::handler(), meet::handler()),
        (meet_blocking::handler(), meet_blocking::handler()),
        (meet::handler(), meet_blocking::handler()),
    ] {
        let context = Context::new().with(Meeting::new(2));
        let both = async { tokio::join!(run_in(&a, &context, "{}"), run_in(&b, &context, "{}")) };
        let (a, b) = tokio::time::timeout(HANG, both).await.expect("both are inside at once");
        assert_eq!((shown(a), shown(b)), ("done".to_owned(), "done".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_change_the_context_do_not_overlap() {
    let context = Context::new().with(Meeting::new(1));
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..20 {
        let handler = if index % 2 == 0 { change::handler() } else { change_blocking::handler() };
        let context = context.clone();
        calls.spawn(async move { shown(run_in(&handler, &context, "{}").await) });
    }
    for alone in tokio::time::timeout(HANG, calls.join_all()).await.expect("no deadlock") {
        assert_eq!(alone, "true");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_blocking_call_does_not_start_when_its_turn_comes() {
    let context = Context::new().with(Table { rows: vec![1] });
    let held = context.read::<Table>().await.unwrap();
    let scope = scope(context.clone());
    let cancel = scope.cancel.clone();
    let call = tokio::spawn(clear::handler().run(scope, toolwright_core::object! {}));
    // Until it is queued: then no other may overtake it.
    let lock = context.lock::<Table>().unwrap();
    while lock.try_read().is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cancel.cancel();
    let error = tokio::time::timeout(HANG, call).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind, "cancelled");
    drop(held);
    assert_eq!(context.read::<Table>().await.unwrap().rows, [1]);
}
