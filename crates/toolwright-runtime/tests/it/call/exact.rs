//! Arguments that must satisfy their schema as they are written.

use std::sync::Arc;

use toolwright_core::args::Op;
use toolwright_core::{Arguments, Json};
use toolwright_runtime::call::{Answer, CallResult, Completeness, Policy, Verdict};
use toolwright_runtime::handle::{HandleStore, Limits, MemoryHandles};
use toolwright_runtime::output::Content;
use toolwright_runtime::{Effect, Fill, Handler, Output, Session, Toolbox};
use toolwright_testing::tools::{call, done, json, kind, text, tool, toolbox};

const SCHEMA: &str = r#"{"type": "object", "required": ["rows"], "properties": {
    "rows": {"type": "array", "items": {"type": "integer"}},
    "days": {"type": "integer", "default": 3}, "note": {"type": "string"}}}"#;

fn echo() -> Toolbox {
    let echo =
        Handler::new(
            tool("echo", SCHEMA),
            |_, arguments| async move { Ok(Output::json(arguments)) },
        );
    let fill = Fill::Constant(Json::from("local"));
    toolbox([echo.with_effect(Effect::None).with_fill("executor", fill)])
}

fn session() -> Session {
    Session::new("run").with_exact_arguments()
}

async fn exact(toolbox: &Toolbox, arguments: &str) -> CallResult {
    let call = call("c1", "echo", arguments);
    done(toolbox.call_with(&session(), &call, Completeness::Complete).await)
}

#[tokio::test]
async fn valid_arguments_reach_the_tool_with_defaults_filled_in() {
    let result = exact(&echo(), r#"{"rows": [1, 2], "more": "1"}"#).await;
    assert_eq!(text(&result), r#"{"rows":[1,2],"more":"1","days":3,"executor":"local"}"#);
    assert!(result.changes.is_empty(), "{:?}", result.changes);
}

/// Each of these runs in a session without exact arguments.
#[tokio::test]
async fn nothing_is_repaired_coerced_or_removed() {
    let toolbox = echo();
    for (arguments, path, keyword) in [
        (r#"{"rows": ["1"]}"#, "/rows/0", "type"),
        (r#"{"rows": "[1]"}"#, "/rows", "type"),
        (r#"{"rows": [1], "days": "2"}"#, "/days", "type"),
        (r#"{"rows": [1], "executor": "mine"}"#, "/executor", "hidden"),
        (r#"{"rows": [1], "rows": [1]}"#, "", "repeated"),
        (r#"{"rows": [1], "note": 5}"#, "/note", "type"),
        (r#""{\"rows\": [1]}""#, "", "type"),
        (r#"{"rows": [1],}"#, "", "json"),
        (r#"{"rows": [1]"#, "", "json"),
    ] {
        let lenient = call("c1", "echo", arguments);
        let lenient = toolbox.call_with(&Session::new("r"), &lenient, Completeness::Complete).await;
        assert_eq!(kind(&done(lenient)), None, "{arguments}");

        let result = exact(&toolbox, arguments).await;
        assert!(kind(&result).is_some_and(|kind| kind.starts_with("invalid_")), "{arguments}");
        assert!(result.changes.is_empty(), "{arguments}: {:?}", result.changes);
        if keyword != "json" {
            let place = if path.is_empty() { "the arguments" } else { path };
            assert!(text(&result).contains(&format!("{place} ({keyword})")), "{}", text(&result));
        }
        let checked = toolbox.check_arguments("echo", &Arguments::from_text(arguments)).await;
        let checked = checked.unwrap();
        let errors: Vec<_> =
            checked.errors().iter().map(|error| (&*error.path, &*error.keyword)).collect();
        assert!(!checked.is_runnable() && errors.contains(&(path, keyword)), "{errors:?}");
    }
}

#[tokio::test]
async fn a_check_runs_nothing_and_finds_the_same() {
    let toolbox = echo();
    let valid = Arguments::from_text(r#"{"rows": []}"#);
    let checked = toolbox.check_arguments("echo", &valid).await.unwrap();
    assert!(checked.is_runnable());
    assert_eq!(checked.arguments().compact(), r#"{"rows":[],"days":3}"#);
    let missing = toolbox.check_arguments("echo", &Arguments::none()).await.unwrap();
    assert_eq!(&*missing.missing()[0].name, "rows");
    let error = toolbox.check_arguments("ecko", &valid).await.unwrap_err();
    assert!(error.text.contains("Did you mean `echo`"), "{error}");
}

#[tokio::test]
async fn handles_are_replaced_by_their_values() {
    let (handles, owner) = (Arc::new(MemoryHandles::new(Limits::default())), session().owner());
    let id = handles.put(&owner, Content::json(json("[1, 2]"))).await.unwrap();
    let toolbox = echo().with_handles(handles);
    let result = exact(&toolbox, &format!(r#"{{"rows": "{id}"}}"#)).await;
    assert_eq!(text(&result), r#"{"rows":[1,2],"days":3,"executor":"local"}"#);
    assert!(matches!(&result.changes[..], [change] if change.op == Op::Handle));
    let result = exact(&toolbox, &format!(r#"{{"rows": "{id}#/0"}}"#)).await;
    assert_eq!(kind(&result), Some("invalid_arguments"), "the check sees the value");
}

#[tokio::test]
async fn an_approved_call_stays_exact() {
    let toolbox = echo().with_policy(Policy::new(Verdict::Ask));
    let status = toolbox.call(&session(), &call("c1", "echo", r#"{"rows": []}"#)).await;
    let approval = status.approval().unwrap();
    let result = done(toolbox.answer(&session(), approval, Answer::Approve).await);
    assert_eq!(text(&result), r#"{"rows":[],"days":3,"executor":"local"}"#);
}
