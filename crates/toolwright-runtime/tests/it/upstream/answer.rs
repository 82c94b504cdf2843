//! Canonical requests to every dialect, whole and streamed, against recorded replies.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use toolwright_core::event::join::join;
use toolwright_core::part::CacheMark;
use toolwright_core::{Event, Fault, Json, Message, Part, Request, Response, StopReason, Tool};
use toolwright_runtime::model::{Model, Upstream};
use toolwright_runtime::upstream::{Credential, LossPolicy, Remote};
use toolwright_transport::secret::SecretString;

use super::codec;
use super::replay::{Replay, Reply, recorded};

/// A dialect with its recorded replies of two calls, and the path of the request.
struct Row {
    id: &'static str,
    whole: &'static str,
    stream: &'static str,
    kind: &'static str,
    paths: [&'static str; 2],
    /// Pointer to the name of the first tool in a request
    tool: &'static str,
}

const SSE: &str = "text/event-stream";

const ROWS: [Row; 9] = [
    Row {
        id: "openai-chat",
        whole: "openai_chat_tools.json",
        stream: "openai_chat_stream.txt",
        kind: SSE,
        paths: ["/v1/chat/completions"; 2],
        tool: "/tools/0/function/name",
    },
    Row {
        id: "openai-responses",
        whole: "openai_responses_tools.json",
        stream: "openai_responses_stream.txt",
        kind: SSE,
        paths: ["/v1/responses"; 2],
        tool: "/tools/0/name",
    },
    Row {
        id: "anthropic",
        whole: "anthropic_tools.json",
        stream: "anthropic_stream.txt",
        kind: SSE,
        paths: ["/v1/messages"; 2],
        tool: "/tools/0/name",
    },
    Row {
        id: "bedrock",
        whole: "bedrock_converse_tools.json",
        stream: "bedrock_converse_stream.bin",
        kind: "application/vnd.amazon.eventstream",
        paths: ["/model/m%3A1/converse", "/model/m%3A1/converse-stream"],
        tool: "/toolConfig/tools/0/toolSpec/name",
    },
    Row {
        id: "deepseek",
        whole: "deepseek_chat_tools.json",
        stream: "deepseek_chat_stream.txt",
        kind: SSE,
        paths: ["/chat/completions"; 2],
        tool: "/tools/0/function/name",
    },
    Row {
        id: "gemini",
        whole: "gemini_tools.json",
        stream: "gemini_stream.txt",
        kind: SSE,
        paths: [
            "/v1beta/models/m%3A1:generateContent",
            "/v1beta/models/m%3A1:streamGenerateContent?alt=sse",
        ],
        tool: "/tools/0/functionDeclarations/0/name",
    },
    Row {
        id: "ollama",
        whole: "ollama_tools.json",
        stream: "ollama_stream.ndjson.txt",
        kind: "application/x-ndjson",
        paths: ["/api/chat"; 2],
        tool: "/tools/0/function/name",
    },
    Row {
        id: "mistral",
        whole: "mistral_tools.json",
        stream: "mistral_stream.txt",
        kind: SSE,
        paths: ["/v1/chat/completions"; 2],
        tool: "/tools/0/function/name",
    },
    Row {
        id: "cohere",
        whole: "cohere_tools.json",
        stream: "cohere_stream.txt",
        kind: SSE,
        paths: ["/v2/chat"; 2],
        tool: "/tools/0/function/name",
    },
];

pub fn at(id: &str, replay: &Replay) -> Remote {
    let credential = Credential::Bearer(SecretString::from("key"));
    Remote::new("there", codec(id), &replay.url(), credential).expect("a remote")
}

fn tool(name: &str) -> Tool {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;
    Tool::function(name, Json::parse(schema).unwrap())
}

pub fn request() -> Request {
    Request::new([Message::system("be brief"), Message::user("北京天气, and flights to Paris?")])
        .with_tools([tool("get_weather"), tool("search_flights")])
}

async fn events(model: &Model, request: Request) -> Result<Vec<Event>, Fault> {
    Ok(model.stream(request).await?.collect().await)
}

fn calls(response: &Response) -> Vec<(String, String)> {
    let call = |call: &toolwright_core::Call| {
        let arguments = Json::parse(call.arguments.as_str()).expect("arguments");
        (call.name.clone(), arguments.compact())
    };
    response.calls().map(call).collect()
}

fn check(row: &Row, response: &Response) {
    let made = calls(response);
    let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["get_weather", "search_flights"], "{}", row.id);
    assert!(made[0].1.contains("北京"), "{}: {made:?}", row.id);
    assert!(response.calls().all(|call| call.id.is_some()), "{}", row.id);
    assert_eq!(response.stop.reason, StopReason::ToolUse, "{}", row.id);
    assert!(response.usage.as_ref().is_some_and(|usage| usage.total() > 0), "{}", row.id);
}

#[tokio::test]
async fn two_parallel_calls_are_decoded_from_every_dialect_whole_and_streamed() {
    for row in &ROWS {
        let file = |name: &str| recorded(&format!("{}/accepted/{name}", row.id));
        let replies = [Reply::json(file(row.whole)), Reply::stream(row.kind, file(row.stream))];
        let replay = Replay::of(replies).await;
        let model = Model::with_upstream(at(row.id, &replay), "m:1");
        let whole = model.respond(request()).await.expect(row.id);
        check(row, &whole);
        let streamed = events(&model, request()).await.expect(row.id);
        toolwright_core::event::law::check(&streamed).expect(row.id);
        let streamed = join(streamed).expect(row.id);
        check(row, &streamed);
        let seen = replay.seen();
        for (seen, path) in seen.iter().zip(row.paths) {
            assert_eq!(seen.path(), path, "{}", row.id);
            assert_eq!(seen.text(row.tool), Some("get_weather"), "{}: {}", row.id, seen.body);
            assert_eq!(seen.header("authorization"), Some("Bearer key"), "{}", row.id);
        }
        assert_eq!(seen.len(), 2, "{}", row.id);
    }
}

#[tokio::test]
async fn an_aliased_name_is_restored() {
    // The upstream calls the tool by the name that it was offered.
    let replay = Replay::by(|_, seen| {
        let name = seen.text("/tools/0/function/name").unwrap();
        assert!(name.is_ascii(), "{name}");
        let call = format!(r#"{{"id":"c","type":"function","function":{{"name":"{name}","arguments":"{{}}"}}}}"#);
        Reply::json(format!(
            r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}"#
        ))
    })
    .await;
    let request = Request::new([Message::user("hi")]).with_tools([tool("查天气.now")]);
    let response = at("openai-chat", &replay).respond(request.with_model("m")).await.unwrap();
    assert_eq!(calls(&response), [("查天气.now".to_owned(), "{}".to_owned())]);
}

fn marked() -> Request {
    let mut part = Part::text("hi");
    part.cache = Some(CacheMark::default());
    Request::new([Message::new(toolwright_core::Role::User, vec![part])]).with_model("command-r")
}

#[tokio::test]
async fn losses_are_recorded_reported_or_refused() {
    let files = ["cohere_final.json", "cohere_stream_text.txt"];
    let [whole, stream] = files.map(|name| recorded(&format!("cohere/accepted/{name}")));
    let replay = Replay::of([Reply::json(whole), Reply::stream(SSE, stream)]).await;
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let paths = Arc::clone(&told);
    let remote = at("cohere", &replay).with_losses(LossPolicy::observe(move |report| {
        paths.lock().unwrap().extend(report.losses.iter().map(|entry| entry.path.clone()));
    }));
    let noted = |response: &Response| -> Vec<Option<String>> {
        let path = |loss: &Json| loss.get("path").and_then(Json::as_str).map(str::to_owned);
        response.losses().map(path).collect()
    };
    let path = "/messages/0/parts/0/cache".to_owned();
    let response = remote.respond(marked()).await.unwrap();
    assert_eq!(noted(&response), [Some(path.clone())]);
    let streamed =
        events(&Model::with_upstream(remote.clone(), "command-r"), marked()).await.unwrap();
    assert_eq!(noted(&join(streamed).unwrap()), [Some(path.clone())]);
    assert_eq!(*told.lock().unwrap(), [path.clone(), path.clone()]);

    let strict = remote.with_losses(LossPolicy::Refuse);
    let fault = strict.respond(marked()).await.unwrap_err();
    assert!(fault.message.contains(&path), "{}", fault.message);
    assert_eq!(replay.seen().len(), 2, "nothing was sent");
}

#[tokio::test]
async fn a_server_without_streams_is_supported() {
    let whole = recorded("openai-chat/accepted/openai_chat_tools.json");
    let replay = Replay::of([Reply::json(whole)]).await;
    let model = Model::with_upstream(at("openai-chat", &replay), "m");
    let response = join(events(&model, request()).await.unwrap()).unwrap();
    check(&ROWS[0], &response);
    let options = replay.seen()[0].body.pointer("/stream_options/include_usage").cloned();
    assert_eq!(options, Some(Json::from(true)), "counts were asked for");
}
