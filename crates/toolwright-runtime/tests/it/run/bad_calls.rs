//! Bad calls: truncated, unknown, invalid, repeated.

use toolwright_core::{Arguments, Body, Message, Part, Response, StopReason, Tool};
use toolwright_runtime::Handler;
use toolwright_runtime::error::ToolError;
use toolwright_runtime::model::ScriptedModel;
use toolwright_runtime::run::{Limits, RunError};
use toolwright_testing::tools::{Counter, any, call, counting, echo, toolbox};

use super::{agent, assert_legal, follow, given, said};

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_run_and_leaves_a_legal_conversation() {
    use StopReason::{ContextWindow, Failed, Filtered, MaxTokens};
    for reason in [MaxTokens, ContextWindow, Filtered, Failed] {
        for arguments in [r#"{"path": "a.txt", "text": "once upon"#, "", "{}", r#"{"n":1}"#] {
            let ran = Counter::default();
            let script = ScriptedModel::new()
                .then_cut(
                    vec![
                        Part::text("writing"),
                        Part::call(call("whole", "write", r#"{"n":0}"#)),
                        Part::call(call("cut", "write", arguments)),
                    ],
                    reason,
                )
                .then_text("I will send less");
            let toolbox = toolbox([counting("write", &ran)]);
            let finished = agent(&script, toolbox).run("write").finish().await.unwrap();
            assert_eq!(ran.get(), 1, "{reason:?} {arguments}: only the whole call ran");
            let told = given(&script);
            assert_eq!(told[0].error, Some(false));
            assert!(told[1].is_error());
            assert!(said(&told[1]).contains("truncated") && said(&told[1]).contains("smaller"));
            assert_legal(&finished.messages);
            let kept = finished.messages[1].calls().last().unwrap();
            let Arguments::Json(json) = &kept.arguments else { panic!("{kept:?}") };
            let said = if arguments.is_empty() { "{}" } else { arguments };
            assert_eq!(json.to_json().get("_truncated").unwrap().as_str(), Some(said));
        }
    }
}

#[tokio::test]
async fn the_placeholder_of_a_long_truncated_call_is_short() {
    let long = format!(r#"{{"text": "{}"#, "长".repeat(100_000));
    let script = ScriptedModel::new()
        .then_cut(vec![Part::call(call("cut", "echo", &long))], StopReason::MaxTokens)
        .then_text("less");
    let finished = agent(&script, toolbox([echo("echo")])).run("go").finish().await.unwrap();
    let kept = finished.messages[1].calls().next().unwrap();
    assert!(kept.arguments.as_str().len() < 1000);
}

#[tokio::test]
async fn a_model_that_is_always_truncated_ends_the_run() {
    let cut = |id: &str, text: &str| vec![Part::call(call(id, "echo", text))];
    let script = ScriptedModel::new()
        .then_cut(cut("a", r#"{"a": "x"#), StopReason::MaxTokens)
        .then_cut(cut("b", r#"{"a": "xy"#), StopReason::MaxTokens)
        .then_cut(cut("c", r#"{"a": "xyz"#), StopReason::MaxTokens);
    let mut run = agent(&script, toolbox([echo("echo")]))
        .run("go")
        .with_limits(Limits::default().with_repeats(3))
        .build()
        .unwrap();
    let error = run.finish().await.unwrap_err();
    assert_eq!(error, RunError::Stuck { tool: "echo".to_owned(), times: 3 });
    assert_legal(run.messages());
}

#[tokio::test]
async fn truncated_text_ends_the_run_with_a_reason() {
    let script =
        ScriptedModel::new().then_cut(vec![Part::text("once upon")], StopReason::MaxTokens);
    let finished = agent(&script, toolbox([])).run("tell").finish().await.unwrap();
    assert_eq!((finished.text.as_str(), finished.stop), ("once upon", StopReason::MaxTokens));
}

#[tokio::test]
async fn an_unknown_tool_does_not_end_the_run() {
    let script = ScriptedModel::new().then_call("a", "ecko_text", "{}").then_text("sorry");
    let tools = toolbox([echo("echo_text"), echo("other")]);
    let finished = agent(&script, tools).run("go").finish().await.unwrap();
    let told = said(&given(&script)[0]);
    assert!(told.contains("no tool named") && told.contains("echo_text"), "{told}");
    assert_eq!(finished.text, "sorry");
    assert_legal(&finished.messages);
}

#[tokio::test]
async fn the_same_failing_call_is_reported_and_then_ends_the_run() {
    let ran = Counter::default();
    let counter = ran.clone();
    let broken = Handler::new(any("broken"), move |_, _| {
        counter.hit();
        async { Err(ToolError::new("no")) }
    });
    // The order of keys and white space do not distinguish calls.
    let script = ScriptedModel::new()
        .then_call("a", "broken", r#"{"x":1,"y":2}"#)
        .then_call("b", "broken", r#"{ "y": 2, "x": 1 }"#)
        .then_call("c", "broken", r#"{"x":1,"y":2}"#)
        .then_call("d", "broken", r#"{"x":1,"y":2}"#)
        .then_text("never asked");
    let mut run = agent(&script, toolbox([broken]))
        .run("go")
        .with_limits(Limits::default().with_repeats(3))
        .build()
        .unwrap();
    let error = follow(&mut run).await.unwrap_err();
    assert_eq!(error, RunError::Stuck { tool: "broken".to_owned(), times: 3 });
    assert_eq!((ran.get(), script.left()), (3, 2));
    assert_legal(run.messages());
    let told: Vec<String> = run.messages().iter().flat_map(Message::outcomes).map(said).collect();
    assert!(!told[0].contains("again as it is"));
    assert!(told[1].contains("failed 2 times") && told[2].contains("failed 3 times"));
    assert_eq!(run.next().await.unwrap_err(), error, "it stays ended");
}

#[tokio::test]
async fn other_calls_and_success_reset_the_count() {
    let tries = Counter::default();
    let counter = tries.clone();
    let fickle = Handler::new(any("fickle"), move |_, _| {
        let even = counter.hit() % 2 == 0;
        async move {
            if even {
                Err(ToolError::new("no"))
            } else {
                Ok(toolwright_runtime::Output::text("yes"))
            }
        }
    });
    let mut script = ScriptedModel::new();
    for turn in 0..6 {
        script = script.then_call(format!("c{turn}"), "fickle", "{}");
    }
    let script = script.then_text("done");
    let limits = Limits::default().with_repeats(2);
    let finished =
        agent(&script, toolbox([fickle])).run("go").with_limits(limits).finish().await.unwrap();
    assert_eq!((finished.text.as_str(), tries.get()), ("done", 6));
}

#[tokio::test]
async fn wrong_arguments_are_reported_to_the_model() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let ran = Counter::default();
    let counter = ran.clone();
    let tool = Tool::function("double", toolwright_testing::tools::json(schema));
    let double = Handler::new(tool, move |_, _| {
        counter.hit();
        async { Ok(toolwright_runtime::Output::text("ok")) }
    });
    let script = ScriptedModel::new()
        .then_call("a", "double", r#"{"m": 3}"#)
        .then_call("b", "double", "not JSON at all")
        .then_call("c", "double", r#"{"n": 3}"#)
        .then_text("done");
    let finished = agent(&script, toolbox([double])).run("go").finish().await.unwrap();
    assert_eq!(ran.get(), 1);
    let told: Vec<String> =
        finished.messages.iter().flat_map(Message::outcomes).map(said).collect();
    assert!(told[0].contains('n') && !told[0].is_empty(), "{}", told[0]);
    assert!(told[1].contains("Invalid JSON input for tool double"), "{}", told[1]);
    assert_eq!(told[2], "ok");
}

#[tokio::test]
async fn all_arguments_in_the_conversation_are_objects() {
    for (arguments, kept) in [
        ("{path: 'a.txt',}", r#"{"path":"a.txt"}"#),
        ("no idea", r#"{"_raw":"no idea"}"#),
        ("[1, 2]", r#"{"_raw":"[1, 2]"}"#),
        (r#"{ "n": 1.0 }"#, r#"{ "n": 1.0 }"#),
    ] {
        let script = ScriptedModel::new().then_call("a", "echo", arguments).then_text("done");
        let finished = agent(&script, toolbox([echo("echo")])).run("go").finish().await.unwrap();
        assert_legal(&finished.messages);
        let call = finished.messages[1].calls().next().unwrap();
        assert_eq!(call.arguments.as_str(), kept, "{arguments}");
    }
}

#[tokio::test]
async fn a_pause_continues_and_a_refusal_ends_the_run() {
    let script = ScriptedModel::new()
        .then_cut(vec![Part::text("thinking… ")], StopReason::Pause)
        .then(Response::new(vec![Part::new(Body::Refusal("I will not".into()))]));
    let finished = agent(&script, toolbox([])).run("go").finish().await.unwrap();
    assert_eq!((finished.stop, finished.turns), (StopReason::Refusal, 2));
    assert_eq!(finished.response.refusal(), Some("I will not"));
    assert_eq!(script.requests()[1].messages.len(), 2, "what was said before the pause is there");
}

#[tokio::test]
async fn the_content_decides_on_the_next_turn_and_not_the_stop_reason() {
    let calls = vec![Part::call(call("a", "echo", "{}"))];
    let script = ScriptedModel::new()
        .then_cut(calls, StopReason::End)
        .then_cut(vec![Part::text("done")], StopReason::ToolUse);
    let finished = agent(&script, toolbox([echo("echo")])).run("go").finish().await.unwrap();
    assert_eq!((finished.text.as_str(), finished.stop), ("done", StopReason::End));
    assert_eq!(given(&script).len(), 1);
}

#[tokio::test]
async fn a_call_that_the_vendor_could_not_parse_is_requested_again() {
    let script = ScriptedModel::new()
        .then_cut(vec![], StopReason::MalformedCall)
        .then_call("a", "echo", "{}")
        .then_text("done");
    let finished = agent(&script, toolbox([echo("echo")])).run("go").finish().await.unwrap();
    assert_eq!(finished.text, "done");
    let second = &script.requests()[1];
    assert!(second.messages.last().unwrap().text().contains("could not be read"));
    assert_legal(&finished.messages);

    let script = ScriptedModel::new()
        .then_cut(vec![], StopReason::MalformedCall)
        .then_cut(vec![], StopReason::MalformedCall);
    let limits = Limits::default().with_repeats(2);
    let run = agent(&script, toolbox([])).run("go").with_limits(limits).finish().await;
    assert!(matches!(run, Err(RunError::Stuck { times: 2, .. })));
}

#[tokio::test]
async fn an_empty_answer_leaves_no_empty_message() {
    let script = ScriptedModel::new().then(Response::new(vec![]));
    let finished = agent(&script, toolbox([])).run("go").finish().await.unwrap();
    assert_eq!((finished.text.as_str(), finished.messages.len()), ("", 1));
}
