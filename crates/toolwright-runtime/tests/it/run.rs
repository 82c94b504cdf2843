//! The agent loop, with a scripted model and real tools.

mod approve;
mod bad_calls;
mod end;
mod hand_over;
mod save;

use std::time::Duration;

use toolwright_core::{Body, Message, Outcome, Part, Request, Response, Role, StopReason};
use toolwright_runtime::call::ResultSource;
use toolwright_runtime::error::ToolError;
use toolwright_runtime::model::ScriptedModel;
use toolwright_runtime::run::{Agent, RunError, RunEvent};
use toolwright_runtime::{Context, Handler, Output, Run, Toolbox};
use toolwright_testing::tools::{any, call, counting, echo, toolbox};

/// An agent with a script and tools.
pub fn agent(script: &ScriptedModel, toolbox: Toolbox) -> Agent {
    Agent::new("tester").with_tools(toolbox).with_model(script.model())
}

/// The text of an outcome for the model.
pub fn said(outcome: &Outcome) -> String {
    let parts = outcome.content.iter().map(|part| match &part.body {
        Body::Text(text) => text.to_string(),
        Body::Json(value) => value.compact(),
        other => format!("{other:?}"),
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The outcomes that the model received last.
pub fn given(script: &ScriptedModel) -> Vec<Outcome> {
    let requests = script.requests();
    let last = requests.last().and_then(|request| request.messages.last());
    last.into_iter().flat_map(Message::outcomes).cloned().collect()
}

/// Asserts that every call has exactly one outcome, right after it, and that no id is used twice.
pub fn assert_legal(messages: &[Message]) {
    let mut seen = std::collections::HashSet::new();
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        assert!(!message.parts.is_empty(), "a message without parts");
        let ids: Vec<_> = message.calls().map(|call| call.id.clone().expect("an id")).collect();
        assert!(ids.iter().all(|id| seen.insert(id.clone())), "an id twice: {ids:?}");
        for call in message.calls() {
            assert!(
                !matches!(call.arguments, toolwright_core::Arguments::Malformed(_)),
                "malformed"
            );
        }
        if ids.is_empty() {
            assert_eq!(message.outcomes().count(), 0, "outcomes without calls");
            continue;
        }
        let next = rest.next().expect("outcomes after calls");
        let answered: Vec<_> =
            next.outcomes().map(|outcome| outcome.call_id.clone().unwrap()).collect();
        assert_eq!((next.role, answered), (Role::Tool, ids));
    }
}

/// Every event of a run.
pub async fn follow(run: &mut Run) -> Result<Vec<RunEvent>, RunError> {
    let mut events = Vec::new();
    loop {
        match run.next().await {
            Ok(Some(event)) => events.push(event),
            Ok(None) | Err(RunError::Waiting(_)) => return Ok(events),
            Err(error) => return Err(error),
        }
    }
}

#[tokio::test]
async fn calls_are_made_and_their_outcomes_are_sent_back() {
    let script =
        ScriptedModel::new().then_call("c1", "echo", r#"{"city":"北京"}"#).then_text("北京 22 度");
    let agent = agent(&script, toolbox([echo("echo")])).with_instructions("你是助手");
    let finished = agent.run("北京今天天气怎么样？").finish().await.unwrap();

    assert_eq!((finished.text.as_str(), finished.turns), ("北京 22 度", 2));
    assert_legal(&finished.messages);
    assert_eq!(finished.messages.len(), 4);
    let requests = script.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].instructions, Some(Message::system("你是助手")));
    assert_eq!(requests[0].messages, [Message::user("北京今天天气怎么样？")]);
    assert_eq!(requests[0].tools[0].name, "echo");
    assert_eq!(requests[0].model.as_deref(), Some("scripted"));
    assert_eq!(requests[1].messages, finished.messages[..3]);
    assert_eq!(said(&given(&script)[0]), r#"{"city":"北京"}"#);
}

#[tokio::test]
async fn calls_of_a_turn_run_concurrently_and_outcomes_keep_their_order() {
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(3));
    let meet = Handler::new(any("meet"), move |scope, _| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok(Output::text(scope.call_id.to_string()))
        }
    });
    let calls = ["c", "a", "b"].map(|id| call(id, "meet", &format!(r#"{{"id":"{id}"}}"#)));
    let script = ScriptedModel::new().then_calls(calls).then_text("met");
    let run = agent(&script, toolbox([meet])).run("meet").finish();
    let finished = tokio::time::timeout(Duration::from_mins(1), run).await.unwrap().unwrap();
    assert_legal(&finished.messages);
    let said: Vec<String> = given(&script).iter().map(said).collect();
    assert_eq!(said, ["c", "a", "b"]);
}

#[tokio::test]
async fn context_passes_between_tools_and_no_message_holds_it() {
    struct Frame(Option<Vec<u32>>);
    let load = Handler::new(any("load"), |scope: toolwright_runtime::Scope, _| async move {
        scope.session.context.write::<Frame>().await?.0 = Some(vec![424_242, 1]);
        Ok(Output::text("loaded").with_host("for the host"))
    })
    .with_need(toolwright_runtime::context::Need::of::<Frame>());
    let script = ScriptedModel::new().then_call("c1", "load", "{}").then_text("done");
    let agent = agent(&script, toolbox([load]));

    let error = agent.run("load").build().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, RunError::MissingContext(_)));
    assert!(text.contains("load") && text.contains("Frame"), "{text}");
    assert_eq!(script.requests().len(), 0, "nothing is asked");

    let context = Context::new().with(Frame(None));
    let finished = agent.run("load").with_context(context.clone()).finish().await.unwrap();
    assert_eq!(context.read::<Frame>().await.unwrap().0.as_deref(), Some(&[424_242, 1][..]));
    assert_eq!(finished.host::<&str>(), Some(&"for the host"));
    let seen = format!("{:?} {:?}", finished.messages, script.requests());
    assert!(!seen.contains("424242") && !seen.contains("for the host"), "{seen}");
}

#[tokio::test]
async fn an_agent_without_a_model_is_an_error() {
    let error = Agent::new("mute").run("hello").build().unwrap_err();
    assert_eq!(error, RunError::NoModel("mute".to_owned()));
}

/// A script with all kinds of parts and a failing tool.
fn varied() -> ScriptedModel {
    let thought = toolwright_core::part::Reasoning::text("let me see");
    let signed = Part {
        signature: Some(toolwright_core::part::Signature {
            dialect: toolwright_core::Dialect::Anthropic,
            value: "c2lnbmVk".to_owned(),
        }),
        ..Part::new(Body::Reasoning(thought))
    };
    let calls = [call("x", "echo", r#"{"n": 1}"#), call("y", "nothing", "{}")];
    let mut parts = vec![signed, Part::text("I will look")];
    parts.extend(calls.map(Part::call));
    ScriptedModel::new()
        .then(Response::new(parts))
        .then_call("x", "echo", r#"{"n": 2}"#)
        .then_text("all done")
}

#[tokio::test]
async fn a_run_is_the_same_with_and_without_events() {
    let whole = varied();
    let finished =
        agent(&whole, toolbox([echo("echo")])).run("go").with_id("r").finish().await.unwrap();
    for chunk in [0, 1, 3] {
        let streamed = varied().with_chunks(chunk);
        let mut run =
            agent(&streamed, toolbox([echo("echo")])).run("go").with_id("r").build().unwrap();
        let events = follow(&mut run).await.unwrap();
        let Some(RunEvent::Finished(last)) = events.last() else { panic!("{events:?}") };
        assert_eq!(last.messages, finished.messages);
        assert_eq!(last.response, finished.response);
        assert_eq!(streamed.requests(), whole.requests());
        assert_eq!(run.finish().await.unwrap().messages, finished.messages, "asked again");
    }
}

#[tokio::test]
async fn signatures_stay_in_the_conversation() {
    let script = varied();
    let finished = agent(&script, toolbox([echo("echo")])).run("go").finish().await.unwrap();
    assert_legal(&finished.messages);
    let first = &script.requests()[1].messages[1];
    assert_eq!(first.parts[0].signature.as_ref().unwrap().value, "c2lnbmVk");
}

#[tokio::test]
async fn streamed_calls_are_in_the_events() {
    // agentgateway/agentgateway#2760: calls are missing wherever a streamed answer is observed.
    let script = varied().with_chunks(2);
    let mut run = agent(&script, toolbox([echo("echo")])).run("go").build().unwrap();
    let mut told = Vec::new();
    while let Some(event) = run.next().await.unwrap() {
        told.push(match event {
            RunEvent::TurnStarted { turn } => format!("turn {turn}"),
            RunEvent::Model(_) => continue,
            RunEvent::Answered(response) => format!("answered {}", response.calls().count()),
            RunEvent::CallStarted(call) => format!("started {}", call.id.unwrap()),
            RunEvent::CallDone(done) => {
                format!("done {} {:?}", done.outcome.call_id.unwrap(), done.source)
            }
            RunEvent::ApprovalNeeded(approval) => format!("asked {}", approval.call.name),
            RunEvent::TurnDone { turn } => format!("turn {turn} done"),
            RunEvent::Finished(finished) => finished.text,
            other => panic!("unexpected event: {other:?}"),
        });
    }
    assert_eq!(
        told,
        [
            "turn 1",
            "answered 2",
            "started x",
            "started y",
            &format!("done x {:?}", ResultSource::Executed),
            &format!("done y {:?}", ResultSource::Refused),
            "turn 1 done",
            "turn 2",
            "answered 1",
            "started x_2_0",
            &format!("done x_2_0 {:?}", ResultSource::Executed),
            "turn 2 done",
            "turn 3",
            "answered 0",
            "turn 3 done",
            "all done",
        ]
    );
}

#[tokio::test]
async fn repeated_or_missing_call_ids_become_unique() {
    // openai/gpt-oss#309: duplicate ids silently rebind results.
    let ran = toolwright_testing::tools::Counter::default();
    let mut nameless = call("", "count", r#"{"n":3}"#);
    nameless.id = None;
    let same =
        [call("call_0", "count", r#"{"n":1}"#), call("call_0", "count", r#"{"n":2}"#), nameless];
    let script = ScriptedModel::new()
        .then_calls(same)
        .then_call("call_0", "count", r#"{"n":1}"#)
        .then_text("done");
    let finished =
        agent(&script, toolbox([counting("count", &ran)])).run("go").finish().await.unwrap();
    assert_eq!(ran.get(), 4, "each ran once, the last one too");
    assert_legal(&finished.messages);
}

#[tokio::test]
async fn a_given_conversation_is_continued() {
    let script = ScriptedModel::new().then_text("blue");
    let history =
        vec![Message::system("be brief"), Message::user("hello"), Message::assistant("hi")];
    let mut input = history.clone();
    input.push(Message::user("which colour?"));
    let finished = agent(&script, toolbox([])).run(input).finish().await.unwrap();
    let request = &script.requests()[0];
    assert_eq!(request.instructions.as_ref(), Some(&history[0]));
    assert_eq!(request.messages.len(), 3);
    assert_eq!(finished.messages.len(), 5);
    assert_eq!(finished.stop, StopReason::End);
}

#[tokio::test]
async fn a_tool_error_is_reported_and_the_run_continues() {
    let broken =
        Handler::new(any("broken"), |_, _| async { Err(ToolError::new("the disk is full")) });
    let script =
        ScriptedModel::new().then_call("c", "broken", "{}").then_with(|request: &Request| {
            let text = said(request.messages.last().unwrap().outcomes().next().unwrap());
            Response::new(vec![Part::text(text)])
        });
    let finished = agent(&script, toolbox([broken])).run("go").finish().await.unwrap();
    assert!(finished.text.contains("the disk is full"));
}
