//! A run with a client's request: its settings reach the model, and calls of its tools are returned
//! to the client.

use toolwright_core::request::{Format, Sampling, Thinking};
use toolwright_core::{Message, Request, Role, StopReason, Tool, ToolChoice};
use toolwright_json::Number;
use toolwright_runtime::model::ScriptedModel;
use toolwright_runtime::run::{Agent, RunEvent};
use toolwright_testing::tools::{Counter, any, call, counting, echo, toolbox};

use super::{agent, follow, said};

/// The members of a request besides the conversation.
fn template() -> Request {
    Request {
        instructions: Some(Message::system("只回答数字")),
        tools: vec![any("theirs")],
        tool_choice: Some(ToolChoice::Required),
        parallel: Some(true),
        sampling: Sampling { temperature: Some(Number::from(0_u64)), ..Sampling::default() },
        thinking: Some(Thinking { effort: Some("high".to_owned()), ..Thinking::default() }),
        format: Some(Format::Json),
        ..Request::default()
    }
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn all_settings_of_a_request_reach_the_model_in_every_turn() {
    let script = ScriptedModel::new().then_call("c1", "echo", "{}").then_text("7");
    let agent = agent(&script, toolbox([echo("echo")])).with_request(template());
    let finished = agent.run("七是几？").finish().await.unwrap();
    assert_eq!(finished.text, "7");
    let requests = script.requests();
    for (at, request) in requests.iter().enumerate() {
        let mut expected = template();
        expected.messages = finished.messages[..=2 * at].to_vec();
        expected.model = Some("scripted".to_owned());
        expected.tools = request.tools.clone();
        // If the call were forced again, the model could not answer.
        if at > 0 {
            expected.tool_choice = Some(ToolChoice::Auto);
        }
        assert_eq!(request, &expected);
        assert_eq!(names(&request.tools), ["theirs", "echo"]);
    }
    assert_eq!(requests.len(), 2);
}

#[tokio::test]
async fn a_call_of_a_client_tool_ends_the_run_after_the_other_calls() {
    let count = Counter::default();
    let tool = counting("ours", &count);
    let calls = || [call("c2", "theirs", r#"{"a":1}"#), call("c3", "ours", r#"{"b":2}"#)];
    let script = || ScriptedModel::new().then_call("c1", "ours", "{}").then_calls(calls());
    let make = |script: &ScriptedModel| -> Agent {
        agent(script, toolbox([tool.clone()])).with_request(template())
    };
    let (whole, streamed) = (script(), script());
    let finished = make(&whole).run("go").finish().await.unwrap();
    assert_eq!((count.get(), finished.turns, whole.left()), (2, 2, 0));
    assert_eq!(finished.stop, StopReason::ToolUse);
    let named: Vec<&str> = finished.response.calls().map(|call| call.name.as_str()).collect();
    assert_eq!(named, ["theirs", "ours"]);
    let last = finished.messages.last().unwrap();
    assert_eq!((last.role, last.outcomes().count()), (Role::Tool, 1));
    let outcome = last.outcomes().next().unwrap();
    assert_eq!(outcome.call_id.as_deref(), Some("c3"));
    assert!(!outcome.is_error(), "{}", said(outcome));

    let mut run = make(&streamed).run("go").build().unwrap();
    let events = follow(&mut run).await.unwrap();
    let Some(RunEvent::Finished(told)) = events.last() else { panic!("{:?}", events.last()) };
    assert_eq!((told.messages.len(), &told.response), (5, &finished.response));
}

#[tokio::test]
async fn a_turn_with_only_client_calls_ends_the_run_at_once() {
    let script = ScriptedModel::new().then_call("c1", "theirs", "{}");
    let agent = agent(&script, toolbox([echo("echo")])).with_request(template());
    let finished = agent.run("go").finish().await.unwrap();
    assert_eq!(finished.messages.len(), 2);
    assert_eq!(finished.messages[1].calls().count(), 1);
}

#[tokio::test]
async fn a_tool_in_the_toolbox_is_not_handed_over() {
    let script = ScriptedModel::new().then_call("c1", "theirs", "{}").then_text("done");
    let agent = agent(&script, toolbox([echo("theirs")])).with_request(template());
    assert_eq!(agent.run("go").finish().await.unwrap().text, "done");
}

#[tokio::test]
async fn a_toolbox_can_be_limited_to_some_tools() {
    let script = ScriptedModel::new().then_call("c1", "b", "{}").then_text("done");
    let all = toolbox([echo("a"), echo("b"), echo("c")]);
    let agent = agent(&script, all.only(["c", "b", "unheard"]));
    assert_eq!(agent.run("go").finish().await.unwrap().text, "done");
    assert_eq!(names(&script.requests()[0].tools), ["b", "c"]);
    assert_eq!(all.tools().len(), 3);
}
