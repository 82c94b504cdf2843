//! The toolbox: which tools it accepts, what a model is shown, and a simple call.

use toolwright_core::{Arguments, Call};
use toolwright_runtime::call::{CallStatus, Completeness, ResultSource};
use toolwright_runtime::{Context, Effect, Handler, Output, Session, Toolbox};
use toolwright_testing::tools::{any, call, done, echo, json, kind, make, text, tool, toolbox};

#[tokio::test]
async fn a_call_reaches_its_tool_and_its_result_comes_back() {
    let toolbox = toolbox([echo("echo")]);
    let done = make(&toolbox, "echo", r#"{"city":"北京"}"#).await;
    assert_eq!(text(&done), r#"{"city":"北京"}"#);
    assert_eq!(done.outcome.call_id.as_deref(), Some("c1"));
    assert_eq!(done.outcome.name.as_deref(), Some("echo"));
    assert_eq!((done.outcome.error, done.attempts), (Some(false), 1));
    assert_eq!(done.source, ResultSource::Executed);
}

#[tokio::test]
async fn every_digit_of_a_number_reaches_the_tool() {
    let toolbox = toolbox([echo("echo")]);
    let arguments =
        r#"{"id":9007199254740993,"max":18446744073709551615,"far":1e400,"tenth":0.10}"#;
    assert_eq!(text(&make(&toolbox, "echo", arguments).await), arguments);
}

#[tokio::test]
async fn a_truncated_call_never_runs() {
    let ran = toolwright_testing::tools::Counter::default();
    let toolbox = toolbox([toolwright_testing::tools::counting("write", &ran)]);
    let session = Session::new("run");
    for arguments in [r#"{"text":"half"#, "", "{}", r#"{"text":"whole"}"#] {
        let call = call("c1", "write", arguments);
        let done = done(toolbox.call_with(&session, &call, Completeness::Truncated).await);
        assert_eq!(kind(&done), Some("truncated"), "{arguments}");
        assert!(text(&done).contains("truncated") && text(&done).contains("smaller"));
        assert_eq!((done.outcome.error, done.attempts), (Some(true), 0));
        assert_eq!(done.source, ResultSource::Refused);
    }
    assert_eq!(ran.get(), 0);
}

#[tokio::test]
async fn only_the_last_call_of_a_truncated_turn_is_cut_off() {
    let toolbox = toolbox([echo("echo")]);
    let calls = [call("a", "echo", r#"{"n":1}"#), call("b", "echo", r#"{"n":2}"#)];
    let called = toolbox.call_all(&Session::new("run"), &calls, Completeness::Truncated).await;
    let kinds: Vec<_> = called.iter().map(|called| kind(called.result().unwrap())).collect();
    assert_eq!(kinds, [None, Some("truncated")]);
}

#[tokio::test]
async fn text_that_cannot_be_understood_never_becomes_an_empty_object() {
    let ran = toolwright_testing::tools::Counter::default();
    let toolbox = toolbox([toolwright_testing::tools::counting("wipe", &ran)]);
    let session = Session::new("run");
    let all = [
        Arguments::Malformed("wipe everything please".to_owned()),
        Arguments::from_text("[1, 2]"),
        Arguments::from_text("7"),
        Arguments::Free("some words".to_owned()),
    ];
    for arguments in all {
        let call = Call::new("c1", "wipe", arguments.clone());
        let done = done(toolbox.call_with(&session, &call, Completeness::Complete).await);
        assert!(done.error.is_some(), "{arguments:?}");
        assert_eq!(done.attempts, 0);
    }
    assert_eq!(ran.get(), 0);
}

#[test]
fn a_toolbox_refuses_tools_that_it_could_not_call() {
    let error = |handlers: Vec<Handler>| Toolbox::new(handlers).unwrap_err().to_string();
    let twice = error(vec![echo("same"), echo("same")]);
    assert!(twice.contains("same"), "{twice}");
    let broken = Handler::new(tool("broken", r#"{"type":"objekt"}"#), |_, _| async {
        Ok(Output::default())
    });
    let schema = error(vec![echo("fine"), broken]);
    assert!(schema.contains("broken") && schema.contains("type"), "{schema}");
    assert!(error(vec![echo("")]).contains("no name"));
}

#[test]
fn a_model_is_shown_no_hidden_parameter() {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"},"executor":{}},"required":["city","executor"]}"#;
    let handler = Handler::new(tool("t", schema), |_, _| async { Ok(Output::default()) })
        .with_hidden(["executor"]);
    let shown = toolbox([handler]).tools();
    let expected =
        r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    assert_eq!(shown[0].parameters(), Some(&json(expected)));
}

#[tokio::test]
async fn a_missing_context_is_found_before_the_run_and_refused_in_it() {
    let handler = Handler::new(any("count"), |_, _| async { Ok(Output::default()) })
        .with_need(toolwright_runtime::context::Need::of::<u64>())
        .with_effect(Effect::None);
    let toolbox = toolbox([echo("echo"), handler]);
    let missing = toolbox.check_context(&Context::new()).unwrap_err();
    assert_eq!(missing.len(), 1);
    let words = missing[0].to_string();
    assert!(words.contains("count") && words.contains("u64"), "{words}");
    assert_eq!(toolbox.check_context(&Context::new().with(7_u64)), Ok(()));
    assert_eq!(kind(&make(&toolbox, "count", "{}").await), Some("missing_context"));
    let session = Session::new("run").with_context(Context::new().with(7_u64));
    let called = toolbox.call(&session, &call("c", "count", "{}")).await;
    assert!(matches!(called, CallStatus::Done(done) if done.error.is_none()));
}
