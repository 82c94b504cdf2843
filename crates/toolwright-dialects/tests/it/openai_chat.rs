//! OpenAI Chat: all features of the format, and the variants of its vendors.

use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::{Delta, Event, Head, Start, Tail};
use toolwright_core::loss::Site;
use toolwright_core::part::{CacheMark, MediaKind, MediaSource};
use toolwright_core::request::Format;
use toolwright_core::{
    Arguments, Body, Call, Fault, FaultClass, Json, Outcome, Part, Request, Response, Role, Stop,
    StopReason, ToolChoice, ToolKind, Usage,
};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, FrameStatus, ReplyContext, WireReply, WireRequest,
};
use toolwright_dialects::frame::Frame;

use crate::{fixtures, spelling};

const DIALECT: Dialect = Dialect::OpenaiChat;

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(DIALECT).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn decode(body: Json) -> Request {
    codec()
        .decode_request(WireRequest { body, ..WireRequest::default() })
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Decodes a request and asserts that it returns.
fn request(name: &str) -> Request {
    fixtures::request(codec(), &fixtures::json(DIALECT, &format!("synthetic/{name}")))
}

/// Decodes a response and asserts that it returns.
fn response(body: &Json) -> Response {
    fixtures::response(codec(), body)
}

/// Decodes a stream, checks the grammar and joins it.
fn stream(name: &str) -> Response {
    let bytes = fixtures::bytes(DIALECT, &format!("synthetic/{name}"));
    join(fixtures::events(codec(), &bytes)).unwrap()
}

fn frames(events: impl IntoIterator<Item = Event>, asked: &ReplyContext) -> Vec<Frame> {
    fixtures::encoded(codec(), events, asked)
}

fn decoded(frames: &[Frame]) -> Vec<Event> {
    fixtures::decoded(codec(), frames.iter().cloned())
}

fn chunk(delta: &str) -> Frame {
    Frame::data(format!(
        r#"{{"id":"c","model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    ))
}

/// The calls as id, name and arguments.
fn calls(parts: &[Part]) -> Vec<(Option<&str>, &str, &str)> {
    let calls = parts.iter().filter_map(Part::as_call);
    calls.map(|call| (call.id.as_deref(), call.name.as_str(), call.arguments.as_str())).collect()
}

#[test]
fn a_request_keeps_every_field() {
    let request = request("everything_request.json");
    assert_eq!(request.instructions.as_ref().unwrap().parts, vec![Part::text("Be brief.")]);
    let roles: Vec<Role> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [
            Role::Developer,
            Role::User,
            Role::Assistant,
            Role::Assistant,
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::Tool,
            Role::System,
            Role::User,
        ]
    );
    let media: Vec<(MediaKind, Option<&str>, &MediaSource)> = request.messages[1]
        .parts
        .iter()
        .filter_map(|part| match &part.body {
            Body::Media(media) => Some((media.kind, media.mime.as_deref(), &media.source)),
            _ => None,
        })
        .collect();
    let base64 = MediaSource::Base64("aGk=".into());
    assert_eq!(
        media,
        [
            (MediaKind::Image, Some("image/png"), &base64),
            (MediaKind::Image, None, &MediaSource::Url("https://example.com/a.jpg".into())),
            (MediaKind::Audio, Some("audio/mpeg"), &base64),
            (MediaKind::Document, Some("application/pdf"), &base64),
            (MediaKind::Document, None, &MediaSource::File(DIALECT, "file-1".into())),
            (MediaKind::Video, None, &MediaSource::Url("https://example.com/a.mp4".into())),
        ]
    );
    assert!(matches!(request.messages[2].parts[2].body, Body::Refusal(_)));
    let turn = &request.messages[5].parts;
    assert!(matches!(&turn[0].body, Body::Reasoning(own) if own.joined() == "think"));
    assert_eq!(
        calls(turn),
        [(Some("call_1"), "f", "{ \"a\": 1.0 }"), (Some("call_2"), "sql", "SELECT 1")]
    );
    assert!(matches!(turn[3].body, Body::Opaque(_)));
    assert!(matches!(&request.format, Some(Format::Schema(own)) if own.strict == Some(true)));
    assert_eq!(request.thinking.as_ref().unwrap().effort.as_deref(), Some("high"));
    assert_eq!(request.parallel, Some(false));
    assert_eq!(request.sampling.seed.as_ref().unwrap().as_str(), "9007199254740993");
    assert_eq!(
        request.tool_choice,
        Some(ToolChoice::Allowed { names: vec!["f".into(), "sql".into()], required: true })
    );
    assert!(codec().reply_context(&request).stream_usage);
}

#[test]
fn values_have_an_origin() {
    let request = request("everything_request.json");
    let tool = &request.tools[0];
    assert_eq!(tool.origin.pointer(), Some("/tools/0/function"));
    let call = &request.messages[5].parts[1];
    assert_eq!(call.origin.pointer(), Some("/messages/6/tool_calls/0/function"));
    let spelling = codec().field_paths();
    let at = |site: Site| site.pointer(spelling);
    assert_eq!(at(Site::field(&call.origin, "id")), "/messages/6/tool_calls/0/id");
    assert_eq!(
        at(Site::field(&call.origin, "arguments")),
        "/messages/6/tool_calls/0/function/arguments"
    );
    assert_eq!(at(Site::of(&tool.origin).below("/../x_beside/y")), "/tools/0/x_beside/y");
    let outcome = &request.messages[6].parts[0];
    assert_eq!(at(Site::field(&outcome.origin, "call_id")), "/messages/7/tool_call_id");
    assert_eq!(at(Site::field(&toolwright_core::Origin::NONE, "id")), "/id");
}

#[test]
fn every_choice_returns() {
    let tools =
        r#"[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}}]"#;
    let tool = |name: &str| Some(ToolChoice::Tool(name.into()));
    let allowed = ToolChoice::Allowed { names: vec!["c".into(), "f".into()], required: false };
    for (wire, choice) in [
        (r#""auto""#, Some(ToolChoice::Auto)),
        (r#""none""#, Some(ToolChoice::None)),
        (r#""required""#, Some(ToolChoice::Required)),
        (r#"{"type":"function","function":{"name":"f"}}"#, tool("f")),
        (r#"{"type":"custom","custom":{"name":"c"}}"#, tool("c")),
        (
            r#"{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"custom","custom":{"name":"c"}},{"type":"function","function":{"name":"f"}}]}}"#,
            Some(allowed),
        ),
        (r#"{"type":"web_search"}"#, Some(ToolChoice::Other(json(r#"{"type":"web_search"}"#)))),
    ] {
        let body =
            json(&format!(r#"{{"model":"m","messages":[],"tools":{tools},"tool_choice":{wire}}}"#));
        let request = decode(body.clone());
        assert_eq!(request.tool_choice, choice, "{wire}");
        let again = codec().encode_request(request);
        spelling::assert_same(DIALECT, wire, &body, &again.body);
    }
}

#[test]
fn an_empty_custom_form_beside_a_function_is_no_custom_call() {
    let body = r#"{"id":"","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,
        "finish_reason":"","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1",
        "type":"function","function":{"name":"get_tide","arguments":"{\"port\":\"Brest\"}"},
        "custom":{"name":"","input":""}}]}}]}"#;
    let response = codec().decode_response(WireReply::ok(json(body))).unwrap();
    let found = calls(&response.parts);
    assert_eq!(found, [(Some("call_1"), "get_tide", r#"{"port":"Brest"}"#)]);
}

#[test]
fn a_choice_without_a_type_is_a_function() {
    let body = r#"{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f"}}],
        "tool_choice":{"function":{"name":"f"}}}"#;
    let request = decode(json(body));
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("f".into())));
    let again = codec().encode_request(request).body;
    let whole = json(r#"{"type":"function","function":{"name":"f"}}"#);
    assert_eq!(again.get("tool_choice"), Some(&whole));
}

#[test]
fn legacy_functions_return_and_become_tools() {
    let request = request("legacy_request.json");
    assert_eq!(request.tools[0].name, "f");
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("f".into())));
    assert_eq!(calls(&request.messages[1].parts), [(None, "f", r#"{"a":1}"#)]);
    let outcome = request.messages[2].parts[0].as_outcome().unwrap();
    assert_eq!((&outcome.call_id, outcome.name.as_deref()), (&None, Some("f")));

    // With ids, as the profile requires, they become tool calls.
    let mut modern = request;
    for message in &mut modern.messages {
        match &mut message.parts[0].body {
            Body::Call(call) => call.id = Some("call_1".into()),
            Body::Outcome(outcome) => outcome.call_id = Some("call_1".into()),
            _ => {}
        }
    }
    let body = codec().encode_request(modern).body;
    assert_eq!(body.pointer("/messages/1/tool_calls/0/id"), Some(&"call_1".into()));
    assert_eq!(body.pointer("/messages/2/role"), Some(&"tool".into()));
    assert_eq!(
        calls(&stream("legacy_call_stream.txt").parts),
        [(None, "f", r#"{"a":1}"#)],
        "a legacy call in fragments"
    );
}

#[test]
fn a_response_keeps_every_field() {
    let body = fixtures::json(DIALECT, "synthetic/everything_response.json");
    let response = response(&body);
    assert!(matches!(&response.parts[0].body, Body::Reasoning(own) if own.joined() == "because"));
    assert_eq!(response.parts[1].as_text(), Some("hi"));
    let usage = response.usage.as_ref().unwrap();
    assert_eq!(
        (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning),
        (Some(3), Some(4), Some(3), Some(5), Some(2))
    );

    // In a stream to a client, the first choice is the same and the second is present as well.
    let asked = ReplyContext { stream_usage: true, ..ReplyContext::default() };
    let frames = frames(split(response.clone()), &asked);
    let second = frames.iter().map(|frame| &frame.data).find(|data| data.contains("call_1"));
    let second = json(second.unwrap());
    assert_eq!(second.pointer("/choices/1/delta/tool_calls/0/index"), Some(&0_usize.into()));
    // Decoded again, the stream has more choices than a response holds.
    let (events, unknown) = fixtures::tolerated(codec(), frames);
    assert_eq!(unknown.len(), 1);
    let mut joined = join(events).unwrap();
    assert_eq!(joined.stop.extra.get(DIALECT, "native_finish_reason"), Some(&"EOS".into()));
    joined.stop = response.stop.clone();
    assert_eq!(joined, response);
}

#[test]
fn a_refusal_is_a_part_and_the_reason() {
    let response = response(&fixtures::json(DIALECT, "synthetic/refusal_response.json"));
    assert!(matches!(response.parts[0].body, Body::Refusal(_)));
    assert_eq!(response.stop.reason, StopReason::Refusal);
    assert_eq!(
        join(decoded(&frames(split(response.clone()), &ReplyContext::default()))).unwrap(),
        response
    );
}

#[test]
fn stop_reasons_are_mapped_and_return() {
    let reply = |word: &str, message: &str| {
        let text = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":"#;
        json(&format!(r#"{text}{message},"finish_reason":"{word}"}}]}}"#))
    };
    let text = r#"{"role":"assistant","content":"x"}"#;
    let call =
        r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#;
    for (word, message, reason) in [
        ("stop", text, StopReason::End),
        ("length", text, StopReason::MaxTokens),
        ("content_filter", text, StopReason::Filtered),
        ("insufficient_system_resource", text, StopReason::Failed),
        ("sensitive", text, StopReason::Filtered),
        ("something_new", text, StopReason::End),
        ("function_call", call, StopReason::ToolUse),
    ] {
        assert_eq!(response(&reply(word, message)).stop.reason, reason, "{word}");
    }
    for (reason, word) in [
        (StopReason::ContextWindow, "length"),
        (StopReason::StopSequence, "stop"),
        (StopReason::Pause, "stop"),
    ] {
        let response = Response { stop: Stop::new(reason), ..Response::default() };
        let wire = codec().encode_response(response, &ReplyContext::default());
        assert_eq!(wire.body.pointer("/choices/0/finish_reason"), Some(&word.into()));
    }
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    assert_eq!(
        calls(&stream("case_02_no_arguments_stream.txt").parts),
        [(Some("call_1"), "now", "{}")]
    );
    let body = json(
        r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}},{"id":"b","function":{"name":"f","arguments":"{\"x\":"}}]}}]}"#,
    );
    let response = codec().decode_response(WireReply::ok(body)).unwrap();
    assert_eq!(calls(&response.parts), [(Some("a"), "f", "{}"), (Some("b"), "f", "{\"x\":")]);
    assert!(matches!(response.parts[1].as_call().unwrap().arguments, Arguments::Malformed(_)));
}

#[test]
fn indexes_are_dense_whatever_stands_between() {
    let call = |index: usize, id: &str| Event::PartStart {
        index,
        head: Head::Call { id: Some(id.into()), name: "f".into(), free: false },
        extra: toolwright_core::Extra::NONE,
    };
    let arguments =
        |index: usize, text: &str| Event::PartDelta { index, delta: Delta::Arguments(text.into()) };
    let end = |index: usize| Event::PartEnd { index, tail: Tail::default() };
    let text = Event::PartStart { index: 0, head: Head::Text, extra: toolwright_core::Extra::NONE };
    let whole = Part::call(Call::new("c", "g", Arguments::none()));
    let events = vec![
        Event::Start(Start::default()),
        text,
        Event::PartDelta { index: 0, delta: Delta::Text("hm".into()) },
        end(0),
        call(1, "a"),
        call(2, "b"),
        arguments(2, "{\"b\":"),
        arguments(1, "{\"a\":1}"),
        arguments(2, "2}"),
        end(1),
        end(2),
        Event::PartStart {
            index: 3,
            head: Head::Whole(Box::new(whole)),
            extra: toolwright_core::Extra::NONE,
        },
        end(3),
        Event::Stop(Stop::new(StopReason::ToolUse)),
        Event::End,
    ];
    let frames = frames(events, &ReplyContext { created: 7, ..ReplyContext::default() });
    let deltas: Vec<Json> = frames[..frames.len() - 1]
        .iter()
        .map(|frame| json(&frame.data))
        .inspect(|chunk| assert_eq!(chunk.get("id"), Some(&"chatcmpl-7".into())))
        .filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0").cloned())
        .collect();
    let at = |delta: &Json| {
        let text = delta.pointer("/function/arguments").and_then(Json::as_str).unwrap().to_owned();
        (delta.get("index").and_then(Json::as_u64).unwrap(), delta.get("id").is_some(), text)
    };
    assert_eq!(
        deltas.iter().map(at).collect::<Vec<_>>(),
        [
            (0, true, String::new()),
            (1, true, String::new()),
            (1, false, "{\"b\":".into()),
            (0, false, "{\"a\":1}".into()),
            (1, false, "2}".into()),
            (2, true, String::new()),
            (2, false, "{}".into()),
        ]
    );
    let joined = join(decoded(&frames)).unwrap();
    assert_eq!(
        calls(&joined.parts),
        [(Some("a"), "f", "{\"a\":1}"), (Some("b"), "f", "{\"b\":2}"), (Some("c"), "g", "{}")]
    );
}

#[test]
fn fragments_may_interleave() {
    assert_eq!(
        calls(&stream("case_04_interleaved_fragments_stream.txt").parts),
        [
            (Some("call_1"), "read", r#"{"path":"a"}"#),
            (Some("call_2"), "write", r#"{"path":"b","text":"}"}"#),
        ]
    );
}

#[test]
fn a_repeated_index_with_a_new_id_is_a_new_call() {
    assert_eq!(
        calls(&stream("case_05_repeated_index_stream.txt").parts),
        [
            (Some("call_1"), "write_file", r#"{"path":"a.txt"}"#),
            (Some("call_2"), "write_file", r#"{"path":"b.txt"}"#),
            (Some("call_3"), "read_file", "{}"),
        ]
    );
    assert_eq!(
        calls(&stream("case_05_repeated_index_fragments_stream.txt").parts),
        [
            (Some("call_1"), "write_file", r#"{"path":"a.txt"}"#),
            (Some("call_2"), "write_file", r#"{"path":"b.txt"}"#),
        ]
    );
}

#[test]
fn an_omitted_index_is_filled_in() {
    assert_eq!(
        calls(&stream("case_05_omitted_index_stream.txt").parts),
        [(Some("call_1"), "search", r#"{"q":"x"}"#), (Some("call_2"), "search", r#"{"q":"y"}"#)]
    );
}

#[test]
fn a_name_after_complete_arguments_is_a_new_call() {
    assert_eq!(
        calls(&stream("case_05_name_after_complete_stream.txt").parts),
        [
            (None, "wikipedia", r#"{"query":"Emma Bull"}"#),
            (None, "wikipedia", r#"{"query":"Virginia Woolf"}"#),
            (None, "answer", "{}"),
        ]
    );
}

#[test]
fn an_id_on_every_fragment_is_one_call() {
    let response = stream("case_05_id_on_every_fragment_stream.txt");
    assert_eq!(
        calls(&response.parts),
        [(Some("call_1"), "f", r#"{"a":1}"#), (Some("call_2"), "g", r#"{"b":2}"#)]
    );
    assert_eq!(response.parts[1].as_text(), Some("\n"));
}

#[test]
fn fragments_without_a_call_are_refused() {
    for deltas in [
        &[r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#][..],
        &[r#"{"tool_calls":[{"index":0,"id":"a","function":{}}]}"#],
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"content":"x"}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#,
        ],
    ] {
        let mut decoder = codec().stream_decoder();
        let mut events = Vec::new();
        let last = deltas.iter().map(|delta| decoder.decode(&chunk(delta), &mut events)).last();
        let error = last.unwrap().unwrap_err();
        assert_eq!(error.pointer, "/choices/0/delta/tool_calls/0");
    }
    // Empty fragments are accepted.
    let silent = chunk(r#"{"tool_calls":[{"index":0,"function":{}}]}"#);
    let mut decoder = codec().stream_decoder();
    assert_eq!(decoder.decode(&silent, &mut Vec::new()), Ok(FrameStatus::Known));
}

#[test]
fn a_thought_signature_stays_with_its_call() {
    let request = request("everything_request.json");
    let pointer = "/messages/6/tool_calls/0/extra_content/google/thought_signature";
    let body = codec().encode_request(request).body;
    assert_eq!(body.pointer(pointer), Some(&"c2ln".into()));
    let call = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#;
    let late = r#"{"index":0,"extra_content":{"google":{"thought_signature":"c2ln"}}}"#;
    let chunks = [call, late].map(|call| chunk(&format!(r#"{{"tool_calls":[{call}]}}"#)));
    let mut all = chunks.to_vec();
    all.push(Frame::data("[DONE]"));
    let response = join(decoded(&all)).unwrap();
    let wire = codec().encode_response(response, &ReplyContext::default());
    let pointer = "/choices/0/message/tool_calls/0/extra_content/google/thought_signature";
    assert_eq!(wire.body.pointer(pointer), Some(&"c2ln".into()));
}

#[test]
fn each_tool_is_read_in_its_own_shape() {
    let body = fixtures::json(DIALECT, "synthetic/case_11_mixed_shapes_request.json");
    let request = decode(body);
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["nested", "flat", "bare", "spec", "free", "simple"]);
    assert_eq!(request.tool_choice, Some(ToolChoice::Tool("flat".into())));
    let wire = codec().encode_request(request).body;
    for (at, tool) in wire.get("tools").and_then(Json::as_array).unwrap().iter().enumerate() {
        let key = if at == 4 { "custom" } else { "function" };
        assert_eq!(tool.get("type"), Some(&key.into()));
        assert_eq!(tool.pointer(&format!("/{key}/name")), Some(&names_at(at).into()));
        let kind = tool.pointer("/function/parameters/type");
        assert_eq!(kind.is_some(), at != 4, "{tool}");
    }
    assert_eq!(wire.pointer("/tools/1/function/strict"), Some(&false.into()));
    assert_eq!(wire.pointer("/tools/5/function/parameters/required"), Some(&json(r#"["city"]"#)));
}

fn names_at(at: usize) -> &'static str {
    ["nested", "flat", "bare", "spec", "free", "simple"][at]
}

#[test]
fn a_hosted_tool_does_not_become_a_nameless_function() {
    let request = request("case_12_hosted_tool_request.json");
    assert_eq!(request.tools[0].name, "web_search");
    assert!(matches!(request.tools[0].kind, ToolKind::Hosted(_)));
    assert!(matches!(request.tools[1].kind, ToolKind::Function(_)));
}

#[test]
fn a_call_that_the_vendor_answers_is_not_a_client_call() {
    let call = r#"{"id":"s","type":"web_search","web_search":{"query":"x"}}"#;
    let all = [
        chunk(&format!(r#"{{"content":"hm","tool_calls":[{call}]}}"#)),
        Frame::data(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#),
    ];
    let response = join(decoded(&all)).unwrap();
    assert_eq!(response.stop.reason, StopReason::End);
    let wire = codec().encode_response(response.clone(), &ReplyContext::default());
    let again = wire.body.pointer("/choices/0/message/tool_calls/0");
    assert_eq!(again, Some(&json(call)));
    let frames = frames(split(response), &ReplyContext::default());
    let query = frames.iter().find(|frame| frame.data.contains("query")).unwrap();
    let index = json(&query.data).pointer("/choices/0/delta/tool_calls/0/index").cloned();
    assert_eq!(index, Some(0_usize.into()));
}

#[test]
fn an_empty_result_is_an_empty_text() {
    for (wire, empty) in [(r#""""#, true), ("[]", true), ("null", true), (r#"" ""#, false)] {
        let body = json(&format!(r#"{{"role":"tool","tool_call_id":"a","content":{wire}}}"#));
        let part = codec().decode_outcome(body.clone()).unwrap();
        assert_eq!(part.as_outcome().unwrap().content.is_empty(), empty, "{wire}");
        spelling::assert_same(DIALECT, wire, &body, &codec().encode_outcome(&part));
    }
    let none = Outcome { call_id: Some("a".into()), ..Outcome::default() };
    let wire = codec().encode_outcome(&Part::outcome(none));
    assert_eq!(wire.get("content"), Some(&"".into()));
}

#[test]
fn the_stop_reason_follows_from_the_content() {
    let reason = |name: &str| stream(name).stop.reason;
    assert_eq!(reason("case_17_stop_with_calls_stream.txt"), StopReason::ToolUse);
    assert_eq!(reason("case_17_tool_calls_without_call_stream.txt"), StopReason::End);
    let two = stream("case_17_two_finish_chunks_stream.txt");
    assert_eq!(two.stop.reason, StopReason::ToolUse);
    assert_eq!(calls(&two.parts), [(Some("call_1"), "f", "{}")]);
    let wire = codec().encode_response(two, &ReplyContext::default());
    assert_eq!(wire.body.pointer("/choices/0/finish_reason"), Some(&"tool_calls".into()));
}

#[test]
fn a_breakpoint_is_a_cache_mark() {
    let request = request("everything_request.json");
    let mark =
        |ttl: Option<&str>| Some(CacheMark { ttl: ttl.map(str::to_owned), ..CacheMark::default() });
    assert_eq!(request.messages[0].parts[0].cache, mark(Some("1h")));
    assert_eq!(request.messages[1].parts[2].cache, mark(None));
    let odd = json(
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","prompt_cache_breakpoint":{"mode":"new"}}]}]}"#,
    );
    let request = decode(odd.clone());
    assert_eq!(request.messages[0].parts[0].cache, None);
    spelling::assert_same(DIALECT, "odd", &odd, &codec().encode_request(request).body);
}

#[test]
fn numbers_keep_their_digits() {
    let numbers = [
        "9007199254740993",
        "18446744073709551615",
        "123456789012345678901234567890",
        "1e400",
        "0.1",
    ];
    for number in numbers {
        let arguments = format!(r#"{{"n":{number},"m":[{number}]}}"#);
        let call = Part::call(Call::new("a", "f", Arguments::from_text(arguments.as_str())));
        let response = Response {
            id: Some("c".into()),
            model: Some("m".into()),
            parts: vec![call],
            stop: Stop::new(StopReason::ToolUse),
            ..Response::default()
        };
        let wire = codec().encode_response(response.clone(), &ReplyContext::default());
        let whole = codec().decode_response(wire).unwrap();
        assert_eq!(calls(&whole.parts), [(Some("a"), "f", arguments.as_str())]);
        let joined = join(decoded(&frames(split(response), &ReplyContext::default()))).unwrap();
        assert_eq!(calls(&joined.parts), [(Some("a"), "f", arguments.as_str())]);
        // Some vendors send arguments as a JSON value instead of a string.
        let object =
            json(&format!(r#"{{"id":"a","function":{{"name":"f","arguments":{arguments}}}}}"#));
        let part = codec().decode_call(object).unwrap();
        assert_eq!(calls(&[part]), [(Some("a"), "f", arguments.as_str())]);
        let body = json(&format!(
            r#"{{"model":"m","messages":[],"temperature":{number},"tools":[{{"type":"function","function":{{"name":"f","parameters":{{"type":"object","properties":{{"n":{{"maximum":{number}}}}}}}}}}}]}}"#
        ));
        let again = codec().encode_request(decode(body.clone()));
        spelling::assert_same(DIALECT, number, &body, &again.body);
    }
}

#[test]
fn the_stream_joins_to_the_whole_reply_and_its_text_law_3() {
    for (dialect, whole, parts) in [
        (DIALECT, "openai_chat_tools.json", "openai_chat_stream.txt"),
        (Dialect::Deepseek, "deepseek_chat_tools.json", "deepseek_chat_stream.txt"),
    ] {
        let codec = dialect::codec(dialect).unwrap();
        let bytes = fixtures::bytes(dialect, &format!("accepted/{parts}"));
        let mut joined = join(fixtures::events(codec, &bytes)).unwrap();
        let whole = fixtures::json(dialect, &format!("accepted/{whole}"));
        let whole = codec.decode_response(WireReply::ok(whole)).unwrap();
        // The recorded stream has a text that the recorded reply lacks.
        let text = joined.parts.iter().position(|part| part.as_text().is_some()).unwrap();
        assert_eq!(joined.parts.remove(text).as_text(), Some("我先查询天气和航班。"));
        assert_eq!(joined.parts, whole.parts, "{dialect}");
        assert_eq!(joined.stop.reason, whole.stop.reason, "{dialect}");
        assert_eq!(joined.usage, whole.usage, "{dialect}");
        assert_eq!(joined.model, whole.model, "{dialect}");
    }
}

#[test]
fn a_stream_without_done_is_complete_and_one_without_a_stop_is_not() {
    let finish =
        Frame::data(r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#);
    let text = chunk(r#"{"content":"x"}"#);
    assert!(matches!(decoded(&[text.clone(), finish]).last(), Some(Event::End)));
    assert!(matches!(decoded(&[text.clone(), Frame::data("[DONE]")]).last(), Some(Event::End)));
    assert!(matches!(decoded(&[text]).last(), Some(Event::Fault(_))));
    assert!(matches!(decoded(&[Frame::data("[DONE]")]).last(), Some(Event::Fault(_))));
    assert!(matches!(decoded(&[]).last(), Some(Event::Fault(_))));
}

#[test]
fn chunks_of_every_kind_are_accepted() {
    let frames = [
        // Azure begins with an almost empty chunk.
        r#"{"id":"","model":"","choices":[],"prompt_filter_results":[]}"#,
        r#"{"id":"c","model":"m","created":1,"obfuscation":"xxxx","choices":[{"index":0,"delta":{"role":"assistant","content":"","obfuscation":"x"},"logprobs":null}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"hel"},"logprobs":{"content":[1]}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"lo","annotations":[1]},"logprobs":{"content":[2]}}]}"#,
        r#"{"id":"c","model":"m","service_tier":"flex","choices":[{"index":0,"delta":{"annotations":[2]},"finish_reason":"stop"}]}"#,
        r#"{"id":"c","model":"m","choices":[],"x_groq":{"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}}"#,
        "[DONE]",
        r#"{"after":"the end"}"#,
    ]
    .map(Frame::data);
    let response = join(decoded(&frames)).unwrap();
    assert_eq!(response.id.as_deref(), Some("c"));
    assert_eq!(response.parts, vec![Part::text("hello")]);
    assert_eq!(response.usage.as_ref().unwrap().total(), 3);
    let body = codec().encode_response(response, &ReplyContext::default()).body;
    for (pointer, value) in [
        ("/choices/0/logprobs/content", "[1,2]"),
        ("/choices/0/message/annotations", "[1,2]"),
        ("/prompt_filter_results", "[]"),
        ("/service_tier", "\"flex\""),
    ] {
        assert_eq!(body.pointer(pointer), Some(&json(value)), "{pointer}");
    }
    assert_eq!(body.pointer("/choices/0/message/obfuscation"), None);

    let other = Frame::data(r#"{"id":"c","choices":[{"index":1,"delta":{"content":"x"}}]}"#);
    let mut events = Vec::new();
    assert_eq!(codec().stream_decoder().decode(&other, &mut events), Ok(FrameStatus::Unknown));
    let moonshot = stream("usage_in_choice_stream.txt");
    assert_eq!(moonshot.usage.unwrap().total(), 5);
    let custom = stream("custom_call_stream.txt");
    assert_eq!(
        custom.parts[0].as_call().unwrap().arguments,
        Arguments::Free("SELECT 1 + 1".into())
    );
}

#[test]
fn usage_is_sent_if_requested() {
    let usage = Usage { input: Some(1), output: Some(2), ..Usage::default() };
    let response =
        Response { parts: vec![Part::text("x")], usage: Some(usage), ..Response::default() };
    let written = |dialect: Dialect, stream_usage: bool| -> Vec<Json> {
        let asked = ReplyContext { stream_usage, ..ReplyContext::default() };
        let mut encoder = dialect::codec(dialect).unwrap().stream_encoder(&asked);
        let mut frames = Vec::new();
        for event in split(response.clone()) {
            encoder.encode(event, &mut frames);
        }
        assert_eq!(frames.pop().unwrap().data, "[DONE]");
        frames.iter().map(|frame| json(&frame.data)).collect()
    };
    assert!(written(DIALECT, false).iter().all(|chunk| chunk.get("usage").is_none()));
    let asked = written(DIALECT, true);
    let (last, others) = asked.split_last().unwrap();
    assert!(others.iter().all(|chunk| chunk.get("usage") == Some(&Json::Null)));
    assert_eq!(last.get("choices"), Some(&Json::Array(vec![])));
    assert_eq!(last.pointer("/usage/total_tokens"), Some(&3_u64.into()));
    let deepseek = written(Dialect::Deepseek, false);
    let last = deepseek.last().unwrap();
    assert_eq!(last.pointer("/choices/0/finish_reason"), Some(&"stop".into()));
    assert_eq!(last.pointer("/usage/total_tokens"), Some(&3_u64.into()));
}

#[test]
fn faults_are_decoded_and_encoded() {
    let body = json(
        r#"{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
    );
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = vec![
        header("retry-after", "2"),
        header("retry-after-ms", "1500"),
        header("x-request-id", "r"),
    ];
    let fault = codec().decode_fault(WireReply { status: 429, headers, body: body.clone() });
    assert_eq!(fault.class, FaultClass::RateLimited);
    assert_eq!((fault.retry_after_ms, fault.request_id.as_deref()), (Some(1500), Some("r")));
    let wire = codec().encode_fault(&fault);
    assert_eq!((wire.status, wire.header("retry-after")), (429, Some("2")));
    assert_eq!(
        (wire.header("retry-after-ms"), wire.header("x-request-id")),
        (Some("1500"), Some("r"))
    );
    spelling::assert_same(DIALECT, "fault", &body, &wire.body);

    for (status, body, message) in [
        (400, r#"{"error":"Invalid tool_choice"}"#, "Invalid tool_choice"),
        (422, r#"{"object":"error","message":"bad","code":400}"#, "bad"),
        (402, r#"{"error":{"message":"Insufficient Balance","code":402}}"#, "Insufficient Balance"),
        (502, r#""<html>""#, "the upstream answered with status 502"),
    ] {
        let fault = codec().decode_fault(WireReply { status, headers: vec![], body: json(body) });
        assert_eq!(fault.message, message);
        assert_eq!(codec().encode_fault(&fault).status, status);
    }
    let own = codec().encode_fault(&Fault::new(FaultClass::Overloaded, "busy"));
    assert_eq!(own.status, 503);
    assert_eq!(own.body.pointer("/error/type"), Some(&"overloaded_error".into()));

    // A stream has no status; the code or the type determines the class.
    let frame = Frame::data(body.to_string());
    let events = decoded(&[chunk(r#"{"content":"x"}"#), frame]);
    let Some(Event::Fault(fault)) = events.last() else { panic!("{events:#?}") };
    assert_eq!(fault.class, FaultClass::RateLimited);
    let frames = frames([Event::Fault(fault.clone())], &ReplyContext::default());
    spelling::assert_same(DIALECT, "fault", &body, &json(&frames[0].data));
}

#[test]
fn wrong_types_are_refused_with_their_path() {
    for (body, pointer) in [
        (r"[]", ""),
        (r#"{"messages":{}}"#, "/messages"),
        (r#"{"messages":[{"role":"robot","content":"x"}]}"#, "/messages/0/role"),
        (r#"{"messages":[{"role":"user","content":1}]}"#, "/messages/0/content"),
        (r#"{"messages":[{"role":"user","content":[{"type":"text"}]}]}"#, "/messages/0/content/0"),
        (
            r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{}}]}]}"#,
            "/messages/0/tool_calls/0/function",
        ),
        (r#"{"messages":[],"tools":[{"type":"function"}]}"#, "/tools/0"),
        (r#"{"messages":[],"tools":[1]}"#, "/tools/0"),
        (r#"{"messages":[],"tool_choice":1}"#, "/tool_choice"),
        (r#"{"messages":[],"max_tokens":"many"}"#, "/max_tokens"),
        (r#"{"messages":[],"stop":[1]}"#, "/stop"),
    ] {
        let wire = WireRequest { body: json(body), ..WireRequest::default() };
        assert_eq!(codec().decode_request(wire).unwrap_err().pointer, pointer, "{body}");
    }
    for (body, pointer) in [
        (r#"{"choices":[]}"#, ""),
        (r#"{"choices":[{"message":{"content":1}}]}"#, "/choices/0/message/content"),
        (r#"{"choices":[{"message":{}}],"usage":{"prompt_tokens":-1}}"#, "/usage/prompt_tokens"),
    ] {
        let error = codec().decode_response(WireReply::ok(json(body))).unwrap_err();
        assert_eq!(error.pointer, pointer, "{body}");
    }
}

#[test]
fn limits_keep_their_key() {
    for key in ["max_tokens", "max_completion_tokens"] {
        for dialect in [DIALECT, Dialect::Deepseek] {
            let codec = dialect::codec(dialect).unwrap();
            let body = json(&format!(r#"{{"messages":[],"{key}":5,"stop":"x"}}"#));
            let wire = WireRequest { body: body.clone(), ..WireRequest::default() };
            let request = codec.decode_request(wire).unwrap();
            assert_eq!(request.sampling.max_tokens.as_ref().unwrap().as_str(), "5");
            spelling::assert_same(dialect, key, &body, &codec.encode_request(request).body);
        }
    }
    let mut request = Request::default();
    request.sampling.max_tokens = Some(5_u64.into());
    let body =
        |dialect: Dialect| dialect::codec(dialect).unwrap().encode_request(request.clone()).body;
    assert!(body(DIALECT).get("max_completion_tokens").is_some());
    assert!(body(Dialect::Deepseek).get("max_tokens").is_some());
}

#[test]
fn usage_is_requested_only_where_a_stream_omits_it_by_default() {
    let asked = |id: &str, body: &str| {
        let mut request =
            WireRequest { body: Json::parse(body).unwrap(), ..WireRequest::default() };
        toolwright_dialects::dialect::lookup(id).unwrap().ask_for_usage(&mut request);
        request.body.compact()
    };
    let counted = r#"{"stream":true,"stream_options":{"include_usage":true}}"#;
    assert_eq!(asked("openai-chat", r#"{"stream":true}"#), counted);
    assert_eq!(asked("openai-chat", r#"{"stream":true,"stream_options":null}"#), counted);
    assert_eq!(asked("openai-chat", r#"{"stream":false}"#), r#"{"stream":false}"#);
    assert_eq!(asked("deepseek", r#"{"stream":true}"#), counted);
    assert_eq!(asked("moonshot", r#"{"stream":true}"#), r#"{"stream":true}"#);
    assert_eq!(asked("anthropic", r#"{"stream":true}"#), r#"{"stream":true}"#);
}
