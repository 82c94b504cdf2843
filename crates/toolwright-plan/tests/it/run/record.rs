//! Runs of an agent as plans: the plan of a run gives its results again, without a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright_core::{
    Arguments, Body, Call, Json, Message, Part, Request, Response, Role, Tool, object,
};
use toolwright_plan::{
    Engine, LocalEngine, MAX_STEPS, NewRun, PlanTools, Recording, RunReport, RunStatus, check,
    messages_with_calls, plan_tools, record_messages, record_run,
};
use toolwright_runtime::builtin::{Root, handlers};
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::model::ScriptedModel;
use toolwright_runtime::run::{Agent, Run};
use toolwright_runtime::settings::ValueForm;
use toolwright_runtime::{Effect, Fill, Handler, Output, SlotFill, SlotOutput, Toolbox};

use super::open_schema;

/// What the model has read of the last outcome.
fn last_outcome(request: &Request) -> String {
    let last = request.messages.iter().flat_map(Message::outcomes).last().unwrap();
    let texts = last.content.iter().map(|part| match &part.body {
        Body::Text(text) => text.to_string(),
        Body::Json(value) => value.compact(),
        other => panic!("{other:?}"),
    });
    texts.collect()
}

fn handle_in(text: &str) -> &str {
    let start = text.find("tw:").expect("a handle");
    &text[start..start + 35]
}

/// Calls a tool with the handle of the last outcome in the place of `HANDLE`.
fn pass_on(tool: &'static str, arguments: &'static str) -> impl FnOnce(&Request) -> Response {
    move |request| {
        let arguments = arguments.replace("HANDLE", handle_in(&last_outcome(request)));
        let call = Call::new(format!("call_{tool}"), tool, Arguments::from_text(arguments));
        Response::new(vec![Part::call(call)])
    }
}

async fn finished(toolbox: &Toolbox, script: &ScriptedModel, question: &str) -> Run {
    let agent = Agent::new("recorded").with_tools(toolbox.clone()).with_model(script.model());
    let mut run = agent.run(question).build().unwrap();
    run.finish().await.unwrap();
    assert_eq!(script.left(), 0);
    run
}

/// Records a run, and runs the plan with tools of their own, without a model.
async fn replayed(run: &Run, toolbox: &Toolbox, fresh: Toolbox) -> (Recording, RunReport) {
    let recording = record_run(&run.save(), toolbox).await.unwrap();
    let tools = plan_tools(toolbox, recording.plan.tool_names()).await;
    let report = check(&recording.plan, &tools, MAX_STEPS);
    assert!(report.is_valid(), "{:?}", report.errors);
    let engine = LocalEngine::new(fresh);
    let id = engine.start(NewRun::new(recording.plan.clone(), object! {})).await.unwrap();
    let report = engine.drive(&id, None).await.unwrap();
    assert_eq!(report.status(), RunStatus::Succeeded, "{:?}", report.error);
    (recording, report)
}

fn args(recording: &Recording, id: &str) -> String {
    let document = Json::Object(recording.plan.to_json());
    document.pointer(&format!("/steps/{id}/args")).map(Json::compact).unwrap_or_default()
}

fn with_handles(tools: impl IntoIterator<Item = Handler>) -> Toolbox {
    Toolbox::new(tools).unwrap().with_handles(Arc::new(MemoryHandles::default()))
}

/// The tools of a folder with a table.
fn data(folder: &Path) -> Toolbox {
    let table =
        "姓名,电话,海拔\n张三丰,13800138000,8848.86\n李寻欢,,3776.12\n令狐冲,13700137000,5895.03\n";
    fs::write(folder.join("test.csv"), table).unwrap();
    with_handles(handlers(Root::open(folder).unwrap()))
}

#[tokio::test]
async fn a_table_is_cleaned_again_without_a_model() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let toolbox = data(first.path());
    let script = ScriptedModel::new()
        // A call that fails and is repeated is not in the plan.
        .then_call("call_0", "read_csv", r#"{"path":"missing.csv"}"#)
        .then_call("call_1", "read_csv", r#"{"path":"test.csv"}"#)
        .then_with(pass_on("drop_missing", r#"{"table":"HANDLE"}"#))
        .then_with(pass_on("write_file", r#"{"path":"out.json","content":"HANDLE#/rows"}"#))
        .then_text("完成");
    let run = finished(&toolbox, &script, "读取test.csv，删除缺失数据").await;
    let (recording, report) = replayed(&run, &toolbox, data(second.path())).await;
    assert_eq!(args(&recording, "read_csv"), r#"{"path":"test.csv"}"#);
    assert_eq!(args(&recording, "drop_missing"), r#"{"table":{"$from":"read_csv"}}"#);
    assert_eq!(
        args(&recording, "write_file"),
        r#"{"path":"out.json","content":{"$from":"drop_missing/rows"}}"#
    );
    assert_eq!(recording.notes.len(), 1, "{:?}", recording.notes);
    let written = |folder: &tempfile::TempDir| fs::read(folder.path().join("out.json")).unwrap();
    assert_eq!(written(&first), written(&second));
    assert!(String::from_utf8_lossy(&written(&second)).contains("令狐冲"));
    // What the model read of the last call is the output of the last step.
    let read = last_outcome(script.requests().last().unwrap());
    let output = report.outputs.get("write_file").unwrap();
    assert!(read == output.compact() || output.as_str() == Some(&read), "{read} {output:?}");
}

/// A tool that takes any arguments.
fn tool(name: &str, work: impl Fn(&Json) -> Output + Send + Sync + 'static) -> Handler {
    let work = Arc::new(work);
    Handler::new(Tool::function(name, open_schema()), move |_, arguments| {
        let work = Arc::clone(&work);
        async move { Ok(work(&arguments.into())) }
    })
    .with_effect(Effect::None)
}

fn several() -> Toolbox {
    let large = || "x".repeat(100_000);
    // A text, a large text behind a handle, and bytes.
    let give = tool("give", move |_| {
        let mut output = Output::json(object! {"id": "r-1029"});
        output.pieces.extend(Output::text(large()).pieces);
        output.pieces.extend(Output::bytes("image/png", *b"\x89PNG\xff").pieces);
        output
    });
    // Structured content that the tool declares, and the same picture for models.
    let schema = object! {"type": "object", "properties": object! {"image": object! {}}};
    let mut definition = Tool::function("picture", open_schema());
    definition.output = Some(schema.into());
    let picture = Handler::new(definition, |_, _| async {
        let mut output = Output::bytes("image/png", *b"\x89PNG\xff");
        output.pieces.extend(Output::json(object! {"image": "iVBOR/8="}).pieces);
        Ok(output)
    });
    let length = tool("length", |arguments| {
        Output::text(arguments.get("text").and_then(Json::as_str).unwrap().len().to_string())
    });
    let encoded = object! {"type": "object", "properties": object! {
        "data": object! {"type": "string", "contentEncoding": "base64"},
    }};
    let decode =
        Handler::new(Tool::function("decode", encoded.into()), |_, arguments| async move {
            Ok(Output::json(arguments))
        });
    let mut digest = tool("digest", |arguments| Output::json(arguments.clone()));
    digest = digest.with_form("text", ValueForm::Base64);
    let store = tool("store", |arguments| Output::json(arguments.clone()))
        .with_slot(SlotOutput::new("kept"));
    let load = tool("load", |arguments| Output::json(arguments.clone()))
        .with_hidden(["kept"])
        .with_fill("kept", Fill::Slot(SlotFill::new("kept")));
    let picture = picture.with_effect(Effect::None);
    with_handles([give, picture, length, decode.with_effect(Effect::None), digest, store, load])
}

#[tokio::test]
async fn pieces_bytes_forms_and_slots_are_passed_as_in_the_run() {
    let toolbox = several();
    let of = |request: &Request, number: usize| {
        let text = last_outcome(request);
        let handles: Vec<&str> =
            text.match_indices("tw:").map(|(at, _)| &text[at..at + 35]).collect();
        let mut unique = Vec::new();
        for handle in handles {
            if !unique.contains(&handle) {
                unique.push(handle);
            }
        }
        unique[number].to_owned()
    };
    let script = ScriptedModel::new()
        .then_call("call_1", "give", "{}")
        .then_with(move |request| {
            let (text, bytes) = (of(request, 0), of(request, 1));
            let call = |id: &str, tool: &str, arguments: toolwright_core::json::Object| {
                Part::call(Call::new(id, tool, Arguments::from_json(&arguments.into())))
            };
            Response::new(vec![
                call("call_2", "length", object! {"text": text.as_str()}),
                call("call_3", "decode", object! {"data": bytes}),
                call("call_4", "digest", object! {"text": text}),
                call("call_5", "store", object! {"id": "r-1029"}),
            ])
        })
        .then_call("call_6", "load", "{}")
        .then_call("call_7", "picture", "{}")
        .then_with(pass_on("decode", r#"{"data":"HANDLE"}"#))
        .then_text("done");
    let run = finished(&toolbox, &script, "Go").await;
    let (recording, report) = replayed(&run, &toolbox, several()).await;
    assert_eq!(args(&recording, "length"), r#"{"text":{"$from":"give/1"}}"#);
    assert_eq!(args(&recording, "decode"), r#"{"data":{"$from":"give/2/data"}}"#);
    assert_eq!(args(&recording, "digest"), r#"{"text":{"$from":"give/1","$as":"handle"}}"#);
    assert_eq!(args(&recording, "store"), r#"{"id":{"$from":"give/0/id"}}"#);
    assert_eq!(args(&recording, "load"), "");
    assert_eq!(args(&recording, "decode_2"), r#"{"data":{"$from":"picture/image"}}"#);
    let output = |name: &str| report.outputs.get(name).unwrap().compact();
    assert_eq!(output("length"), "\"100000\"");
    for name in ["decode", "decode_2"] {
        assert_eq!(output(name), r#"{"data":"iVBOR/8="}"#);
    }
    assert!(output("digest").starts_with(r#"{"text":"eHh4eHh4"#));
    assert_eq!(output("load"), r#"{"kept":{"id":"r-1029"}}"#);
}

#[tokio::test]
async fn a_saved_run_without_outputs_is_recorded_from_its_messages() {
    let toolbox = several();
    let script =
        ScriptedModel::new().then_call("call_1", "length", r#"{"text":"four"}"#).then_text("done");
    let run = finished(&toolbox, &script, "Go").await;
    let mut saved = run.save();
    saved.as_object_mut().unwrap().remove("outputs");
    let recording = record_run(&saved, &toolbox).await.unwrap();
    assert_eq!(args(&recording, "length"), r#"{"text":"four"}"#);
    let wrong = record_run(&object! {"format": "other"}.into(), &toolbox).await.unwrap_err();
    assert!(wrong.to_string().contains("format"), "{wrong}");
}

#[test]
fn a_plan_is_made_of_as_many_calls_as_it_has_steps() {
    let calls = |count: usize| {
        let call = |at: usize| Call::new(format!("c{at}"), "echo", Arguments::from_text("{}"));
        vec![Message::new(Role::Assistant, (0..count).map(|at| Part::call(call(at))).collect())]
    };
    let tools = PlanTools::default();
    let recording = record_messages(&calls(MAX_STEPS), &tools).unwrap();
    assert_eq!(recording.plan.steps.len(), MAX_STEPS);
    let refused = record_messages(&calls(MAX_STEPS + 1), &tools).unwrap_err();
    assert_eq!(refused.to_string(), "there are 1001 calls, and a plan has at most 1000 steps");
}

fn fixture(dialect: &str, kind: &str) -> Json {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let file = root.join(dialect).join(format!("synthetic/matrix_{kind}.json"));
    Json::parse(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn the_calls_of_a_response_of_any_dialect_are_parallel_steps() {
    let dialects = [
        "anthropic",
        "bedrock",
        "cohere",
        "deepseek",
        "gemini",
        "mistral",
        "ollama",
        "openai-chat",
        "openai-responses",
    ];
    for dialect in dialects {
        let messages = messages_with_calls(&fixture(dialect, "response")).expect(dialect);
        let recording = record_messages(&messages, &PlanTools::default()).unwrap();
        let ids: Vec<&str> = recording.plan.steps.iter().map(|step| &*step.id).collect();
        assert_eq!(ids, ["convert_currency", "get_weather"], "{dialect}");
        let expected = r#"{"amount":123456789012345678901234567890,"from":"EUR","to":"CNY"}"#;
        assert_eq!(args(&recording, "convert_currency"), expected, "{dialect}");
        assert!(recording.plan.steps.iter().all(|step| step.after.is_empty()), "{dialect}");
        assert!(recording.notes.is_empty(), "{dialect}: {:?}", recording.notes);
    }
    // A message by itself, and one without calls.
    let message = fixture("openai-chat", "response").pointer("/choices/0/message").cloned();
    let messages = messages_with_calls(&message.unwrap()).unwrap();
    assert_eq!(messages[0].calls().count(), 2);
    let block = fixture("gemini", "response").pointer("/candidates/0/content").cloned();
    assert_eq!(messages_with_calls(&block.unwrap()).unwrap()[0].calls().count(), 2);
    let text = object! {"role": "assistant", "content": "no calls"};
    assert!(messages_with_calls(&text.into()).is_none());
}
