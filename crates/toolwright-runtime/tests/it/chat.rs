//! Messages and responses in plain JSON, field by field.

use toolwright_core::part::{MediaSource, Reasoning};
use toolwright_core::{
    Arguments, Body, Call, Json, Message, Outcome, Part, Response, Role, StopReason, Tool,
    ToolChoice, Usage,
};
use toolwright_runtime::ScriptedModel;
use toolwright_runtime::chat::{message, response};
use toolwright_testing::tools::json;

fn answered() -> Response {
    let call =
        Call::new("call_123", "get_weather", Arguments::from_text(r#"{"location": "北京"}"#));
    let mut response = Response::new(vec![
        Part::new(Body::Reasoning(Reasoning::text("The user asks for the weather."))),
        Part::text("让我查一下。"),
        Part::call(call),
    ]);
    response.model = Some("gpt-4o".to_owned());
    response.usage =
        Some(Usage { input: Some(10), cache_read: Some(5), output: Some(7), ..Usage::default() });
    response
}

#[test]
fn a_response_is_written_field_by_field() {
    let golden = r#"{
  "message": {
    "content": {
      "text": "让我查一下。",
      "reasoning": "The user asks for the weather."
    },
    "tool_desc": [
      {
        "id": "call_123",
        "type": "function",
        "name": "get_weather",
        "arguments": "{\"location\": \"北京\"}"
      }
    ],
    "finish_reason": "tool_calls"
  },
  "model": "gpt-4o",
  "usage": {
    "input_tokens": 15,
    "output_tokens": 7,
    "total_tokens": 22
  }
}"#;
    assert_eq!(Json::Object(response::write(&answered())).pretty(), golden);
}

#[test]
fn absent_fields_are_null() {
    let written = response::write(&Response::default());
    let golden = r#"{"message":{"content":{"text":null,"reasoning":null},"tool_desc":null,"finish_reason":"stop"},"model":null,"usage":null}"#;
    assert_eq!(written.compact(), golden);
}

#[test]
fn every_stop_reason_has_a_distinct_name_and_is_read_back() {
    use StopReason::{
        ContextWindow, End, Failed, Filtered, MalformedCall, MaxTokens, Pause, Refusal,
        StopSequence, ToolUse,
    };
    let all = [
        (End, "stop"),
        (ToolUse, "tool_calls"),
        (MaxTokens, "length"),
        (ContextWindow, "context_window"),
        (StopSequence, "stop_sequence"),
        (Refusal, "refusal"),
        (Filtered, "content_filter"),
        (MalformedCall, "malformed_call"),
        (Pause, "pause"),
        (Failed, "error"),
    ];
    for (reason, word) in all {
        assert_eq!(reason.name(), word);
        assert_eq!(StopReason::from_name(word), Some(reason));
    }
}

#[test]
fn a_response_is_read_back_and_its_message_can_be_appended() {
    let written = Json::Object(response::write(&answered()));
    let read = response::read(&written).unwrap();
    let mut expected = answered();
    expected.usage = Some(Usage { input: Some(15), output: Some(7), ..Usage::default() });
    assert_eq!(read, expected);

    // The message of a response can be appended to the conversation unchanged.
    let history = Json::Array(vec![
        json(r#"{"content": "你是一个可以使用工具的智能助手", "role": "system"}"#),
        json(r#"{"content": "北京今天天气怎么样？", "role": "user", "tool_id": null}"#),
        written.get("message").unwrap().clone(),
        json(r#"{"content": "{\"temperature\": 22}", "role": "tool", "tool_id": "call_123"}"#),
    ]);
    let messages = message::read_all(&history).unwrap();
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(messages[2], answered().message());
    assert_eq!(messages[3], Message::tool(Outcome::text("call_123", "{\"temperature\": 22}")));
}

#[test]
fn arguments_are_text_or_an_object() {
    let read = |arguments: &str| {
        let text = format!(
            r#"{{"content": {{"text": null}}, "tool_desc": [{{"id": "1", "type": "function",
                "name": "f", "arguments": {arguments}}}]}}"#
        );
        message::read(&json(&text)).map(|message| message.calls().next().unwrap().clone().arguments)
    };
    assert_eq!(read(r#"{"n": 9007199254740993}"#).unwrap().as_str(), r#"{"n":9007199254740993}"#);
    assert_eq!(read(r#""{\"n\": 1.0}""#).unwrap().as_str(), r#"{"n": 1.0}"#);
    assert_eq!(read(r#""{cut""#).unwrap(), Arguments::Malformed("{cut".to_owned()));
    assert_eq!(read("3").unwrap_err().path, "/tool_desc/0/arguments");
}

#[test]
fn a_user_message_with_a_tool_id_is_an_outcome() {
    let of = |text: &str| message::read(&json(text)).unwrap();
    let plain = of(r#"{"content": "sunny", "role": "user", "tool_id": "call_1"}"#);
    assert_eq!(plain, Message::tool(Outcome::text("call_1", "sunny")));
    assert_eq!(of(r#"{"content": "sunny", "tool_id": "call_1"}"#), plain);
    for content in [r#"{"temperature": 22}"#, "[1, 2]", "[]"] {
        let text = format!(r#"{{"content": {content}, "role": "user", "tool_id": "call_1"}}"#);
        let outcome = of(&text).outcomes().next().unwrap().clone();
        assert_eq!(outcome.content, [Part::new(Body::Json(json(content)))], "{content}");
    }
}

#[test]
fn content_of_a_user_is_text_a_list_or_an_object() {
    let of = |content: &str| {
        let text = format!(r#"{{"content": {content}, "role": "user"}}"#);
        message::read(&json(&text)).unwrap().parts
    };
    assert_eq!(of(r#""hello""#), [Part::text("hello")]);
    assert_eq!(of(r#"["a", {"b": 1}]"#), [Part::text("a"), Part::text(r#"{"b":1}"#)]);
    assert_eq!(of(r#"{"city": "北京"}"#), [Part::text(r#"{"city":"北京"}"#)]);
    let parts = of(r#"[{"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}]"#);
    assert_eq!(parts[0].as_text(), Some("see"));
    let Body::Media(media) = &parts[1].body else { panic!("{parts:?}") };
    assert_eq!(media.source, MediaSource::Url("https://x.org/a.png".to_owned()));
}

#[test]
fn messages_are_written_and_read_back() {
    let text = r#"[
        {"content": "be brief", "role": "system"},
        {"content": "hello", "role": "user", "tool_id": null},
        {"content": "hi", "role": "assistant"},
        {"content": {"text": null, "reasoning": "hm"}, "tool_desc": [
            {"id": "a", "type": "function", "name": "f", "arguments": "{}"},
            {"id": "b", "type": "custom", "name": "g", "arguments": "free text"}],
         "finish_reason": null},
        {"content": "one", "role": "tool", "tool_id": "a"},
        {"content": "two", "role": "tool", "tool_id": "b"}]"#;
    let messages = message::read_all(&json(text)).unwrap();
    assert_eq!(message::write_all(&messages), json(text));

    // Several outcomes in one message become several messages here.
    let outcomes = messages[4..].iter().flat_map(|message| message.parts.clone()).collect();
    let together = Message::new(Role::Tool, outcomes);
    assert_eq!(message::write(&together).len(), 2);
}

#[test]
fn a_malformed_message_is_refused_with_its_path() {
    for (text, path) in [
        ("3", "/0"),
        (r#"{"role": "robot", "content": "x"}"#, "/0/role"),
        (r#"{"content": "x"}"#, "/0/role"),
        (r#"{"role": "user"}"#, "/0/content"),
        (r#"{"role": "tool", "content": "x"}"#, "/0/tool_id"),
        (r#"{"role": "system", "content": ["x"]}"#, "/0/content"),
        (r#"{"role": "user", "content": "x", "tool_id": 3}"#, "/0/tool_id"),
        (r#"{"role": "assistant", "content": "x", "tool_id": "a"}"#, "/0/tool_id"),
        (r#"{"content": {"text": 3}}"#, "/0/content/text"),
        (r#"{"content": {"text": null}, "tool_desc": [{}]}"#, "/0/tool_desc/0/id"),
    ] {
        let error = message::read_all(&Json::Array(vec![json(text)])).unwrap_err();
        assert_eq!(error.path, path, "{text}: {error}");
    }
}

#[tokio::test]
async fn a_model_is_called_in_one_line() {
    let script = ScriptedModel::new().then(answered()).then_text("22 度");
    let model = script.model();
    let weather = Tool::function("get_weather", json(r#"{"type":"object"}"#));
    let mut messages = vec![Message::system("你是助手"), Message::user("北京今天天气怎么样？")];

    let response = model
        .chat(messages.clone())
        .with_tools([weather.clone()])
        .with_tool_choice(ToolChoice::Auto)
        .send()
        .await
        .unwrap();
    let call = response.calls().next().unwrap();
    messages.push(response.message());
    messages.push(Message::tool(Outcome::text(call.id.clone().unwrap(), "22")));
    let last = model.chat(messages).send().await.unwrap();
    assert_eq!(last.text(), "22 度");

    let requests = script.requests();
    assert_eq!(requests[0].instructions, Some(Message::system("你是助手")));
    assert_eq!(requests[0].tools, [weather]);
    assert_eq!(requests[0].tool_choice, Some(ToolChoice::Auto));
    assert_eq!(requests[1].messages[1], answered().message(), "as it is");
}
