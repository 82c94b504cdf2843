//! OpenAI Responses: items and their grouping, ids, tools, stop reasons, exact numbers, streams
//! with missing events, faults.

use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::{Delta, Event, Head, Start, Tail};
use toolwright_core::loss::Severity;
use toolwright_core::part::{CacheMark, MediaKind, MediaSource, Reasoning, SectionKind};
use toolwright_core::request::{Format, Thinking};
use toolwright_core::tool::ToolKind;
use toolwright_core::{
    Arguments, Body, Call, Extra, Fault, FaultClass, Json, Message, Outcome, Part, Request,
    Response, Role, Stop, StopReason, Tool, ToolChoice, Usage,
};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, FrameStatus, ReplyContext, WireReply, WireRequest,
};
use toolwright_dialects::frame::Frame;
use toolwright_dialects::translate::{Options, Translator};

use crate::{fixtures, spelling};

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::OpenaiResponses).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn decode(body: &str) -> Request {
    let wire = WireRequest { path: String::new(), headers: vec![], body: json(body) };
    codec().decode_request(wire).unwrap_or_else(|error| panic!("{error}"))
}

/// Decodes a body and asserts that it encodes to the same body.
fn request(body: &str) -> Request {
    fixtures::request(codec(), &json(body))
}

/// Decodes items and asserts that they encode to the same items.
fn input(items: &str) -> Vec<Message> {
    request(&format!(r#"{{"input":[{items}]}}"#)).messages
}

fn encode(request: Request) -> Json {
    codec().encode_request(request).body
}

/// Decodes a reply with these items and these other fields, and asserts that it encodes to the same
/// reply.
fn reply(items: &str, rest: &str) -> Response {
    let body = json(&format!(
        r#"{{"id":"resp_1","object":"response","created_at":7,"model":"m","output":[{items}],
            "parallel_tool_calls":true,"tool_choice":"auto","tools":[],{rest}}}"#
    ));
    fixtures::response(codec(), &body)
}

/// Decodes frames given by their data.
fn events(frames: &[&str]) -> Vec<Event> {
    fixtures::decoded(codec(), frames.iter().map(|data| Frame::data(*data)))
}

/// Encodes events, asserts the name and number of each frame, and returns the data.
fn frames(events: impl IntoIterator<Item = Event>) -> Vec<Json> {
    let frames = fixtures::encoded(codec(), events, &ReplyContext::default());
    let data: Vec<Json> = frames.iter().map(|frame| json(&frame.data)).collect();
    for (number, (frame, data)) in frames.iter().zip(&data).enumerate() {
        assert_eq!(data.get("type").and_then(Json::as_str), frame.name.as_deref());
        assert_eq!(data.get("sequence_number"), Some(&Json::from(number)));
    }
    data
}

fn types(frames: &[Json]) -> Vec<&str> {
    frames
        .iter()
        .map(|frame| frame.get("type").and_then(Json::as_str).unwrap())
        .map(|name| name.strip_prefix("response.").unwrap_or(name))
        .collect()
}

/// Encodes a response as a stream, decodes it, and asserts that it equals the encoded whole reply.
fn streamed(response: &Response) -> Response {
    let data: Vec<String> = frames(split(response.clone())).iter().map(Json::to_string).collect();
    let joined = join(events(&data.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
    let whole = codec().encode_response(response.clone(), &ReplyContext::default());
    assert_eq!(joined, codec().decode_response(whole).unwrap());
    joined
}

#[test]
fn the_stream_joins_to_the_whole_reply_law_3() {
    let dialect = codec().dialect();
    let bytes = fixtures::bytes(dialect, "accepted/openai_responses_stream.txt");
    let whole = fixtures::json(dialect, "accepted/openai_responses_tools.json");
    let whole = codec().decode_response(WireReply::ok(whole)).unwrap();
    assert_eq!(join(fixtures::events(codec(), &bytes)).unwrap(), whole);
}

#[test]
fn the_recorded_stream_is_written_back() {
    let dialect = codec().dialect();
    let bytes = fixtures::bytes(dialect, "accepted/openai_responses_stream.txt");
    let recorded = fixtures::frames(codec().framing(), &bytes);
    let again = frames(fixtures::events(codec(), &bytes));
    assert_eq!(again.len(), recorded.len());
    for (recorded, again) in recorded.iter().zip(&again) {
        let mut recorded = json(&recorded.data);
        recorded.as_object_mut().unwrap().remove("obfuscation");
        spelling::assert_same(dialect, "frame", &recorded, again);
    }
}

#[test]
fn items_of_a_turn_are_one_message() {
    let messages = input(
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit","ttl":"30m"}}]},
           {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"b"}],"content":[{"type":"reasoning_text","text":"c"}],"encrypted_content":"e="},
           {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search"}},
           {"role":"assistant","id":"msg_1","status":"completed","phase":"commentary","content":[
              {"type":"output_text","text":"d","annotations":[{"type":"file_path","file_id":"f","index":1}],"logprobs":[]},
              {"type":"refusal","refusal":"e"},{"type":"new","x":1}]},
           {"role":"assistant","content":[{"type":"output_text","text":"f","annotations":[]}]},
           {"role":"assistant","content":[{"type":"new","x":2}]},
           {"role":"assistant","id":"msg_2","content":[]},
           {"type":"function_call","call_id":"call_1","name":"t","arguments":"{}","id":"fc_1","namespace":"n"},
           {"type":"custom_tool_call","call_id":"call_2","name":"u","input":"x y","id":"ctc_1"},
           {"type":"function_call_output","call_id":"call_1","output":"","status":"completed","name":"t"},
           {"type":"custom_tool_call_output","call_id":"call_9","output":[{"type":"input_file","file_id":"f"}]},
           {"id":"msg_3"},
           {"type":"additional_tools","role":"developer","tools":[]},
           {"role":"developer","content":"g"},
           {"role":"system","content":[]}"#,
    );
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::Tool,
            Role::Assistant,
            Role::Developer,
            Role::System
        ]
    );
    let ttl = Some("30m".to_owned());
    assert_eq!(messages[0].parts[0].cache, Some(CacheMark { ttl, ..CacheMark::default() }));
    let turn = &messages[1].parts;
    assert_eq!(turn.len(), 10);
    let Body::Reasoning(Reasoning { sections, redacted: false }) = &turn[0].body else {
        panic!("{:?}", turn[0]);
    };
    let kinds: Vec<_> = sections.iter().map(|own| (own.kind, own.text.as_str())).collect();
    assert_eq!(kinds, [(SectionKind::Summary, "b"), (SectionKind::Full, "c")]);
    assert_eq!(turn[0].signature.as_ref().unwrap().value, "e=");
    assert!(matches!(turn[1].body, Body::Opaque(_)));
    assert_eq!(turn[2].as_text(), Some("d"));
    assert_eq!(turn[2].origin.pointer(), Some("/input/3/content/0"));
    assert_eq!(turn[3].body, Body::Refusal("e".into()));
    assert_eq!(turn[8].as_call().unwrap().id.as_deref(), Some("call_1"));
    assert_eq!(turn[8].origin.pointer(), Some("/input/7"));
    assert_eq!(turn[9].as_call().unwrap().arguments, Arguments::Free("x y".to_owned()));
    assert_eq!(messages[2].parts[0].as_outcome().unwrap().call_id.as_deref(), Some("call_1"));
}

#[test]
fn reasoning_that_does_not_fit_into_sections_stays_whole() {
    let items = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"new_text","text":"b"}]}"#;
    assert!(matches!(input(items)[0].parts[0].body, Body::Opaque(_)));
}

#[test]
fn media_are_decoded_and_encoded() {
    let messages = input(
        r#"{"role":"user","content":[
            {"type":"input_image","image_url":"data:image/webp;base64,AA==","detail":"high"},
            {"type":"input_image","image_url":"https://x/y.png"},
            {"type":"input_image","image_url":"data:image/svg+xml,%3Csvg/%3E"},
            {"type":"input_image","file_id":"file-1","detail":"auto"},
            {"type":"input_file","file_data":"data:application/pdf;base64,BB==","filename":"b.pdf"},
            {"type":"input_file","file_data":"CC=="},
            {"type":"input_file","file_url":"https://x/d.pdf"},
            {"type":"input_audio","input_audio":{"data":"DD==","format":"wav","x":1}},
            {"type":"input_image"}]}"#,
    );
    let media: Vec<_> = messages[0].parts[..8]
        .iter()
        .map(|part| match &part.body {
            Body::Media(media) => (media.kind, media.mime.as_deref(), media.source.clone()),
            body => panic!("{body:?}"),
        })
        .collect();
    let base64 = |data: &str| MediaSource::Base64(data.to_owned());
    let url = |url: &str| MediaSource::Url(url.to_owned());
    let file = MediaSource::File(codec().dialect(), "file-1".to_owned());
    let (image, document) = (MediaKind::Image, MediaKind::Document);
    assert_eq!(
        media,
        [
            (image, Some("image/webp"), base64("AA==")),
            (image, None, url("https://x/y.png")),
            (image, None, url("data:image/svg+xml,%3Csvg/%3E")),
            (image, None, file),
            (document, Some("application/pdf"), base64("BB==")),
            (document, None, base64("CC==")),
            (document, None, url("https://x/d.pdf")),
            (MediaKind::Audio, Some("audio/wav"), base64("DD==")),
        ]
    );
    assert!(matches!(messages[0].parts[8].body, Body::Opaque(_)));
}

#[test]
fn a_request_keeps_every_field() {
    let request = request(
        r#"{"model":"m","instructions":"i","input":"x","max_output_tokens":9,"temperature":0.10,"top_p":1e0,
            "stream":true,"parallel_tool_calls":false,"store":false,"previous_response_id":"resp_0",
            "reasoning":{"effort":"none","summary":"auto"},
            "text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}}}"#,
    );
    assert_eq!(request.instructions, Some(Message::system("i")));
    assert_eq!(request.messages, [Message::user("x")]);
    assert_eq!(request.parallel, Some(false));
    let effort = Some("none".to_owned());
    assert_eq!(
        request.thinking,
        Some(Thinking { effort, show: Some(true), ..Thinking::default() })
    );
    assert!(matches!(request.format, Some(Format::Schema(_))));
    for format in [r#"{"type":"text"}"#, r#"{"type":"json_object"}"#, r#"{"type":"grammar"}"#] {
        let _ = self::request(&format!(r#"{{"text":{{"format":{format}}}}}"#));
    }
}

#[test]
fn wrong_types_are_refused_with_their_path() {
    for (body, message) in [
        ("[]", "openai-responses: /: expected an object"),
        (r#"{"input":5}"#, "openai-responses: /input: expected a string or an array of items"),
        (r#"{"input":[5]}"#, "openai-responses: /input/0: expected an object"),
        (
            r#"{"input":[{"role":"critic","content":""}]}"#,
            "openai-responses: /input/0/role: expected user, assistant, system or developer",
        ),
        (
            r#"{"input":[{"type":"function_call","name":"t","arguments":"{}","id":"fc_1"}]}"#,
            "openai-responses: /input/0: missing field 'call_id'",
        ),
        (
            r#"{"input":[{"type":"function_call","call_id":"c","name":"t","arguments":{}}]}"#,
            "openai-responses: /input/0/arguments: expected a string",
        ),
        (
            r#"{"text":{"format":{"type":"json_schema","name":"n"}}}"#,
            "openai-responses: /text/format: missing field 'schema'",
        ),
        (r#"{"reasoning":{"effort":1}}"#, "openai-responses: /reasoning/effort: expected a string"),
        (r#"{"tools":[{"type":"function"}]}"#, "openai-responses: /tools/0: missing field 'name'"),
    ] {
        let wire = WireRequest { path: String::new(), headers: vec![], body: json(body) };
        assert_eq!(codec().decode_request(wire).unwrap_err().to_string(), message);
    }
}

#[test]
fn encrypted_reasoning_without_text_is_preserved() {
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA="}"#;
    let turn = input(item).remove(0);
    assert_eq!(turn.parts[0].signature.as_ref().unwrap().value, "gAAA=");
    let response = reply(item, r#""status":"completed""#);
    assert_eq!(response.parts, turn.parts);
    assert_eq!(streamed(&response).parts, turn.parts);
}

#[test]
fn only_call_id_correlates() {
    let items = r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"t","arguments":"{}","status":"completed"},
                   {"type":"function_call_output","call_id":"call_1","output":"r"}"#;
    let messages = input(items);
    assert_eq!(messages[0].parts[0].as_call().unwrap().id.as_deref(), Some("call_1"));
    // A request does not invent item ids.
    let call = Part::call(Call::new("toolu_1", "t", Arguments::none()));
    let request = Request {
        messages: vec![
            Message::new(Role::Assistant, vec![call]),
            Message::tool(Outcome::text("toolu_1", "r")),
        ],
        ..Request::default()
    };
    let expected = json(
        r#"[{"type":"function_call","call_id":"toolu_1","name":"t","arguments":"{}"},
            {"type":"function_call_output","call_id":"toolu_1","output":"r"}]"#,
    );
    assert_eq!(encode(request).get("input"), Some(&expected));
}

#[test]
fn ids_of_a_translated_reply_have_their_prefixes_and_differ() {
    let parts = || {
        vec![
            Part::new(Body::Reasoning(Reasoning::text("r"))),
            Part::text("a"),
            Part::text("b"),
            Part::call(Call::new("toolu_1", "t", Arguments::none())),
        ]
    };
    let ids = |id: &str| -> Vec<String> {
        let response = Response { id: Some(id.to_owned()), parts: parts(), ..Response::default() };
        let body = codec().encode_response(response, &ReplyContext::default()).body;
        let items = body.get("output").unwrap().as_array().unwrap().to_vec();
        items.iter().map(|item| item.get("id").and_then(Json::as_str).unwrap().to_owned()).collect()
    };
    let first = ids("msg_1");
    let prefixes: Vec<&str> = first.iter().map(|id| id.split_once('_').unwrap().0).collect();
    assert_eq!(prefixes, ["rs", "msg", "msg", "fc"]);
    assert_ne!(first[1], first[2]);
    assert_eq!(first, ids("msg_1"));
    assert!(first.iter().zip(ids("msg_2")).all(|(first, second)| *first != second));
}

#[test]
fn tools_in_the_shape_of_chat_completions_are_read() {
    let request = decode(
        r#"{"tools":[
            {"type":"function","function":{"name":"a","parameters":{"type":"object"},"strict":true}},
            {"type":"function","name":"b","parameters":null,"strict":null},
            {"type":"custom","custom":{"name":"c","format":{"type":"grammar","grammar":{"definition":"d","syntax":"lark"}}}},
            {"name":"e","input_schema":{"type":"object"}}],
            "tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[
              {"type":"function","function":{"name":"a"}},{"type":"custom","custom":{"name":"c"}}]}}}"#,
    );
    let names = vec!["a".to_owned(), "c".to_owned()];
    assert_eq!(request.tool_choice, Some(ToolChoice::Allowed { names, required: true }));
    let expected = json(
        r#"{"tools":[
            {"type":"function","name":"a","parameters":{"type":"object"},"strict":true},
            {"type":"function","name":"b","parameters":null,"strict":null},
            {"type":"custom","name":"c","format":{"type":"grammar","definition":"d","syntax":"lark"}},
            {"type":"function","name":"e","parameters":{"type":"object"},"strict":null}],
            "tool_choice":{"type":"allowed_tools","mode":"required","tools":[
              {"type":"function","name":"a"},{"type":"custom","name":"c"}]}}"#,
    );
    let grammar = r#"{"type":"grammar","grammar":{"definition":"d","syntax":"lark"}}"#;
    assert_eq!(request.tools[2].kind, ToolKind::Custom(Some(json(grammar))));
    assert_eq!(decode(&expected.to_string()), request);
    assert_eq!(encode(request), expected);
    let nested = decode(r#"{"tool_choice":{"type":"function","function":{"name":"a"}}}"#);
    assert_eq!(nested.tool_choice, Some(ToolChoice::Tool("a".to_owned())));
}

#[test]
fn web_search_stays_hosted() {
    let tools = request(
        r#"{"tools":[{"type":"web_search","search_context_size":"low"},
            {"type":"mcp","server_label":"s","server_url":"https://x"},
            {"type":"tool_search"}]}"#,
    )
    .tools;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["web_search", "mcp", "tool_search"]);
    assert!(tools.iter().all(|tool| matches!(tool.kind, ToolKind::Hosted(_))));
}

#[test]
fn tools_keep_every_field() {
    let tools = request(
        r#"{"tools":[{"type":"function","name":"t","description":"d","parameters":{"type":"object"},"strict":false,
            "output_schema":{"type":"string"},"defer_loading":true,"allowed_callers":["direct"],"async":true},
            {"type":"custom","name":"c","description":"d","format":{"type":"text"}}]}"#,
    )
    .tools;
    assert_eq!(tools[0].output, Some(json(r#"{"type":"string"}"#)));
    assert_eq!(tools[0].origin.pointer(), Some("/tools/0"));
    assert_eq!(tools[1].kind, ToolKind::Custom(Some(json(r#"{"type":"text"}"#))));
}

#[test]
fn every_tool_choice_comes_back() {
    let choice = |wire: &str| {
        let tools = r#"[{"type":"function","name":"t"},{"type":"custom","name":"c"}]"#;
        let body = format!(r#"{{"tools":{tools},"tool_choice":{wire}}}"#);
        request(&body).tool_choice.unwrap()
    };
    assert_eq!(choice(r#""auto""#), ToolChoice::Auto);
    assert_eq!(choice(r#""none""#), ToolChoice::None);
    assert_eq!(choice(r#""required""#), ToolChoice::Required);
    let tool = |name: &str| ToolChoice::Tool(name.to_owned());
    assert_eq!(choice(r#"{"type":"function","name":"t"}"#), tool("t"));
    assert_eq!(choice(r#"{"type":"custom","name":"c"}"#), tool("c"));
    let names = || vec!["t".to_owned(), "c".to_owned()];
    for (mode, required) in [("auto", false), ("required", true)] {
        let wire = format!(
            r#"{{"type":"allowed_tools","mode":"{mode}","tools":[{{"type":"function","name":"t"}},{{"type":"custom","name":"c"}}]}}"#
        );
        assert_eq!(choice(&wire), ToolChoice::Allowed { names: names(), required });
    }
    for other in [
        r#""new""#,
        r#"{"type":"custom","name":"unheard"}"#,
        r#"{"type":"mcp","server_label":"s","name":"t"}"#,
        r#"{"type":"web_search"}"#,
        r#"{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"s"}]}"#,
    ] {
        assert_eq!(choice(other), ToolChoice::Other(json(other)));
    }
}

#[test]
fn the_stop_reason_follows_from_the_content() {
    let call = r#"{"type":"function_call","id":"fc_1","call_id":"c","name":"t","arguments":"{}","status":"completed"}"#;
    let refusal = r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"no"}]}"#;
    let reason = |items: &str, rest: &str| {
        let response = reply(items, rest);
        let stop = response.stop.reason;
        if stop != StopReason::Failed {
            assert_eq!(streamed(&response).stop, response.stop);
        }
        stop
    };
    let completed = r#""status":"completed""#;
    let incomplete =
        |why: &str| format!(r#""status":"incomplete","incomplete_details":{{"reason":"{why}"}}"#);
    assert_eq!(reason("", completed), StopReason::End);
    assert_eq!(reason(call, completed), StopReason::ToolUse);
    assert_eq!(reason(refusal, completed), StopReason::Refusal);
    assert_eq!(reason(&format!("{refusal},{call}"), completed), StopReason::ToolUse);
    assert_eq!(reason(call, &incomplete("max_output_tokens")), StopReason::MaxTokens);
    assert_eq!(reason("", &incomplete("max_messages")), StopReason::MaxTokens);
    assert_eq!(reason("", &incomplete("content_filter")), StopReason::Filtered);
    assert_eq!(reason("", &incomplete("steered")), StopReason::Pause);
    assert_eq!(reason("", r#""status":"incomplete""#), StopReason::MaxTokens);
    assert_eq!(reason("", r#""status":"cancelled""#), StopReason::Failed);
    assert_eq!(reason("", r#""status":"queued""#), StopReason::Pause);
    let failed = r#""status":"failed","error":{"code":"invalid_prompt","message":"m"}"#;
    assert_eq!(reason("", failed), StopReason::Failed);
}

#[test]
fn an_outdated_status_is_not_written() {
    let mut response = reply("", r#""status":"cancelled""#);
    response.stop.reason = StopReason::MaxTokens;
    let body = codec().encode_response(response, &ReplyContext::default()).body;
    assert_eq!(body.get("status").and_then(Json::as_str), Some("incomplete"));
}

#[test]
fn usage_adds_up() {
    let usage = |usage: &str| {
        let rest = format!(r#""status":"completed","usage":{usage}"#);
        let response = reply("", &rest);
        assert_eq!(streamed(&response).usage, response.usage);
        response.usage.unwrap()
    };
    let plain = usage(
        r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30,"x":1},
            "output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":109}"#,
    );
    assert_eq!((plain.input, plain.cache_read, plain.cache_write), (Some(10), Some(60), Some(30)));
    assert_eq!((plain.input_total(), plain.output, plain.reasoning), (100, Some(9), Some(4)));
    // Totals of a vendor that counts differently return unchanged.
    usage(
        r#"{"input_tokens":5,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":0},
            "output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":1}"#,
    );
}

#[test]
fn numbers_keep_their_digits() {
    let numbers = r#"{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1e400,"e":0.10}"#;
    let escaped = Json::from(numbers).to_string();
    let call = format!(
        r#"{{"type":"function_call","id":"fc_1","status":"completed","call_id":"c","name":"t","arguments":{escaped}}}"#
    );
    let output = format!(r#"{{"type":"function_call_output","call_id":"c","output":{escaped}}}"#);
    let messages = input(&format!("{call},{output}"));
    assert_eq!(messages[0].parts[0].as_call().unwrap().arguments.as_str(), numbers);
    let response = reply(&call, r#""status":"completed""#);
    assert_eq!(streamed(&response).parts[0].as_call().unwrap().arguments.as_str(), numbers);
    // A schema keeps them as values.
    let _ = request(&format!(
        r#"{{"tools":[{{"type":"function","name":"t","parameters":{{"type":"object","default":{numbers}}}}}]}}"#
    ));
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let joined = join(events(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"t","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":""}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"t","arguments":""}}"#,
        r#"{"type":"response.completed","response":{"status":"completed"}}"#,
    ]))
    .unwrap();
    assert_eq!(joined.parts[0].as_call().unwrap().arguments, Arguments::none());
    let cut = decode(
        r#"{"input":[{"type":"function_call","call_id":"c","name":"t","arguments":"{\"a\":"}]}"#,
    );
    let arguments = &cut.messages[0].parts[0].as_call().unwrap().arguments;
    assert_eq!(*arguments, Arguments::Malformed("{\"a\":".to_owned()));
}

#[test]
fn items_may_interleave_and_events_may_be_missing() {
    let joined = join(events(&[
        // No `created` event; one call is announced, the other has only its end.
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_0","call_id":"c0","name":"t","arguments":""}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"u","input":""}}"#,
        r#"{"type":"response.custom_tool_call_input.delta","output_index":1,"delta":"a"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\""}"#,
        r#"{"type":"response.custom_tool_call_input.delta","output_index":1,"delta":"b"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":":1}"}"#,
        r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"x\":1}"}"#,
        r#"{"type":"response.custom_tool_call_input.done","output_index":1,"input":"ab"}"#,
        // Text without an announcement, only with its end.
        r#"{"type":"response.output_text.done","output_index":2,"content_index":0,"text":"hello"}"#,
        r#"{"type":"response.output_item.done","output_index":3,"item":{"type":"web_search_call","id":"ws_1"}}"#,
        // The last event carries the remaining items.
        r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[
            {"type":"function_call","id":"fc_0","call_id":"c0","name":"t","arguments":"{\"x\":1}","status":"completed"},
            {"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"u","input":"ab"},
            {"type":"message","role":"assistant","id":"msg_2","content":[{"type":"output_text","text":"hello"},{"type":"refusal","refusal":"no"}]},
            {"type":"web_search_call","id":"ws_1"},
            {"type":"reasoning","id":"rs_4","summary":[{"type":"summary_text","text":"s"}]}]}}"#,
        "[DONE]",
    ]))
    .unwrap();
    let whole = codec().decode_response(WireReply::ok(json(
        r#"{"id":"resp_1","status":"completed","output":[
            {"type":"function_call","id":"fc_0","call_id":"c0","name":"t","arguments":"{\"x\":1}","status":"completed"},
            {"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"u","input":"ab"},
            {"type":"message","role":"assistant","id":"msg_2","content":[{"type":"output_text","text":"hello"}]},
            {"type":"web_search_call","id":"ws_1"},
            {"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]},
            {"type":"reasoning","id":"rs_4","summary":[{"type":"summary_text","text":"s"}]}]}"#,
    ))).unwrap();
    // The refusal arrives after the search was sent; apart from its position everything is equal.
    let bodies = |response: &Response| -> Vec<Body> {
        response.parts.iter().map(|part| part.body.clone()).collect()
    };
    assert_eq!(bodies(&joined), bodies(&whole));
    assert_eq!(joined.stop.reason, StopReason::ToolUse);
    assert_eq!(joined.parts[0].extra, whole.parts[0].extra);
    assert_eq!(joined.parts[2].extra, whole.parts[2].extra);
}

#[test]
fn sections_of_reasoning_stream_apart() {
    let joined = join(events(&[
        r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"part"}}"#,
        r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"b"}"#,
        r#"{"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":1,"text":"b"}"#,
        r#"{"type":"response.reasoning_text.done","output_index":0,"content_index":0,"text":"c"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"whole",
            "summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"content":[{"type":"reasoning_text","text":"c"}]}}"#,
        r#"{"type":"response.incomplete","response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}"#,
    ]))
    .unwrap();
    let Body::Reasoning(Reasoning { sections, .. }) = &joined.parts[0].body else { panic!() };
    let texts: Vec<&str> = sections.iter().map(|own| own.text.as_str()).collect();
    assert_eq!(texts, ["a", "b", "c"]);
    assert_eq!(joined.parts[0].signature.as_ref().unwrap().value, "whole");
    assert_eq!(joined.stop.reason, StopReason::MaxTokens);
    assert_eq!(streamed(&joined).parts, joined.parts);
}

#[test]
fn events_of_other_kinds_are_unknown() {
    let mut decoder = codec().stream_decoder();
    let frame = Frame::data(r#"{"type":"response.budget.updated","left":0}"#);
    assert_eq!(decoder.decode(&frame, &mut vec![]).unwrap(), FrameStatus::Unknown);
    // Progress events are ignored, because the end of the item repeats them.
    let frame = Frame::data(r#"{"type":"response.web_search_call.searching","output_index":0}"#);
    assert_eq!(decoder.decode(&frame, &mut vec![]).unwrap(), FrameStatus::Known);
    // The name of the frame replaces a missing type.
    let frame = Frame::named("response.created", r#"{"response":{"id":"r"}}"#);
    let mut events = Vec::new();
    assert_eq!(decoder.decode(&frame, &mut events).unwrap(), FrameStatus::Known);
    assert!(matches!(&events[..], [Event::Start(start)] if start.id.as_deref() == Some("r")));
    assert!(decoder.decode(&Frame::data("{"), &mut events).is_err());
}

#[test]
fn the_length_of_a_summary_returns() {
    for length in ["auto", "concise", "detailed"] {
        let body = format!(r#"{{"reasoning":{{"effort":"high","summary":"{length}"}}}}"#);
        assert_eq!(request(&body).thinking.unwrap().show, Some(true), "{length}");
    }
}

#[test]
fn items_left_out_of_the_terminal_event_do_not_repeat_others() {
    let message = |id: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","role":"assistant","status":"completed",
                "content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}"#
        )
    };
    let (first, last) = (message("msg_a", "Wait. "), message("msg_c", "Done."));
    let done = |at: u64, item: &str| {
        let added = r#"{"type":"response.output_item.added","output_index":AT,"item":ITEM}"#;
        let fill = |text: &str| text.replace("AT", &at.to_string()).replace("ITEM", item);
        [fill(added), fill(&added.replace("added", "done"))]
    };
    let mut data = vec![r#"{"type":"response.created","response":{"id":"resp_1"}}"#.to_owned()];
    data.extend(done(0, &first));
    data.extend(done(1, r#"{"type":"web_search_call","id":"ws_b","status":"completed"}"#));
    data.extend(done(2, &last));
    data.push(format!(
        r#"{{"type":"response.completed","response":{{"id":"resp_1","status":"completed","output":[{first},{last}]}}}}"#
    ));
    let joined = join(events(&data.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
    let texts: Vec<_> = joined.parts.iter().filter_map(Part::as_text).collect();
    assert_eq!(texts, ["Wait. ", "Done."]);
}

#[test]
fn a_translated_stream_has_all_events() {
    let stream = [
        Event::Start(Start { id: Some("msg_1".to_owned()), ..Start::default() }),
        Event::PartStart { index: 0, head: Head::Reasoning, extra: Extra::NONE },
        Event::PartDelta {
            index: 0,
            delta: Delta::Reasoning { section: 0, kind: SectionKind::Full, text: "r".to_owned() },
        },
        Event::PartEnd { index: 0, tail: Tail::default() },
        Event::PartStart { index: 1, head: Head::Text, extra: Extra::NONE },
        Event::Ping,
        Event::PartDelta { index: 1, delta: Delta::Text("a".to_owned()) },
        // The second call interleaves and waits for the first; one arrives whole.
        Event::PartEnd { index: 1, tail: Tail::default() },
        call_start(2, "t", false),
        call_start(3, "u", true),
        Event::PartDelta { index: 3, delta: Delta::Arguments("x".to_owned()) },
        Event::PartEnd { index: 3, tail: Tail::default() },
        Event::PartEnd { index: 2, tail: Tail::default() },
        Event::PartStart {
            index: 4,
            head: Head::Whole(Box::new(Part::call(Call::new(
                "c4",
                "v",
                Arguments::from_text(r#"{"a":1}"#),
            )))),
            extra: Extra::NONE,
        },
        Event::PartEnd { index: 4, tail: Tail::default() },
        Event::Stop(Stop::new(StopReason::ToolUse)),
        Event::Usage(Usage { input: Some(3), output: Some(4), ..Usage::default() }),
        Event::End,
    ];
    let frames = frames(stream.clone());
    let item = |kind: &'static str, between: &[&'static str]| {
        let mut all = vec!["output_item.added"];
        all.extend(between);
        all.push("output_item.done");
        (kind, all)
    };
    let items = [
        item(
            "reasoning",
            &[
                "content_part.added",
                "reasoning_text.delta",
                "reasoning_text.done",
                "content_part.done",
            ],
        ),
        item(
            "message",
            &["content_part.added", "output_text.delta", "output_text.done", "content_part.done"],
        ),
        item("function_call", &["function_call_arguments.delta", "function_call_arguments.done"]),
        item("custom_tool_call", &["custom_tool_call_input.delta", "custom_tool_call_input.done"]),
        item("function_call", &["function_call_arguments.delta", "function_call_arguments.done"]),
    ];
    let mut expected = vec!["created", "in_progress"];
    expected.extend(items.iter().flat_map(|(_, events)| events.clone()));
    expected.push("completed");
    assert_eq!(types(&frames), expected);
    // Items keep their ids and indexes from the first event to the last.
    let last = frames.last().unwrap().get("response").unwrap();
    let output = last.get("output").unwrap().as_array().unwrap();
    for frame in &frames {
        let Some(number) = frame.get("output_index").and_then(Json::as_u64) else { continue };
        let item = &output[usize::try_from(number).unwrap()];
        let id = frame.get("item_id").or_else(|| frame.pointer("/item/id"));
        assert_eq!(id, item.get("id"), "{frame}");
        if frame.get("type").and_then(Json::as_str) == Some("response.output_item.done") {
            assert_eq!(frame.get("item"), Some(item));
        }
    }
    let kinds: Vec<&str> =
        output.iter().map(|item| item.get("type").and_then(Json::as_str).unwrap()).collect();
    assert_eq!(kinds, items.map(|(kind, _)| kind));
    assert_eq!(output[2].get("arguments").and_then(Json::as_str), Some("{}"));
    // The whole reply equals the last event.
    let whole = codec().encode_response(join(stream).unwrap(), &ReplyContext::default()).body;
    assert_eq!(*last, whole);
}

fn call_start(index: usize, name: &str, free: bool) -> Event {
    let head = Head::Call { id: Some(format!("c{index}")), name: name.to_owned(), free };
    Event::PartStart { index, head, extra: Extra::NONE }
}

#[test]
fn a_reply_repeats_fields_of_the_request() {
    let request = decode(
        r#"{"model":"m","instructions":"i","input":"x","temperature":0.5,"parallel_tool_calls":false,"metadata":{"k":"v"},
            "tools":[{"type":"function","name":"t","parameters":null,"strict":null}],"tool_choice":"required"}"#,
    );
    let asked = ReplyContext { created: 9, ..codec().reply_context(&request) };
    let body = codec().encode_response(Response::default(), &asked).body;
    let expected = json(
        r#"{"id":"resp_9","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"m",
            "output":[],"usage":null,"instructions":"i","metadata":{"k":"v"},"parallel_tool_calls":false,"temperature":0.5,
            "tool_choice":"required","tools":[{"type":"function","name":"t","parameters":null,"strict":null}],
            "created_at":9,"top_p":null}"#,
    );
    assert_eq!(body, expected);
    // Fields of the reply take precedence.
    let own = json(r#"{"id":"r","model":"n","temperature":1.0,"created_at":1,"output":[]}"#);
    let own = codec().decode_response(WireReply::ok(own)).unwrap();
    let body = codec().encode_response(own, &asked).body;
    assert_eq!(body.get("temperature"), Some(&json("1.0")));
    assert_eq!(body.get("created_at"), Some(&json("1")));
    assert_eq!(body.get("model").and_then(Json::as_str), Some("n"));
    assert_eq!(body.get("tool_choice").and_then(Json::as_str), Some("required"));
}

#[test]
fn a_translated_history_is_written_as_items() {
    let thinking = Part {
        signature: Some(toolwright_core::part::Signature {
            dialect: Dialect::Anthropic,
            value: "s".to_owned(),
        }),
        ..Part::new(Body::Reasoning(Reasoning::text("t")))
    };
    let free = Part::call(Call::new("c1", "u", Arguments::Free("x".to_owned())));
    let request = Request {
        instructions: Some(Message::new(Role::System, vec![Part::text("a"), Part::text("b")])),
        messages: vec![
            Message::new(Role::Assistant, vec![thinking, Part::text("c"), Part::text("d"), free]),
            Message::tool(Outcome::text("c1", "r")),
        ],
        tools: vec![Tool::function("t", json("{}"))],
        tool_choice: Some(ToolChoice::Tool("t".to_owned())),
        ..Request::default()
    };
    let expected = json(
        r#"{"instructions":"a\n\nb","input":[
            {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},
            {"type":"message","role":"assistant","content":"c"},
            {"type":"message","role":"assistant","content":"d"},
            {"type":"custom_tool_call","call_id":"c1","name":"u","input":"x"},
            {"type":"custom_tool_call_output","call_id":"c1","output":"r"}],
            "tools":[{"type":"function","name":"t","parameters":{},"strict":null}],
            "tool_choice":{"type":"function","name":"t"}}"#,
    );
    assert_eq!(encode(request), expected);
}

#[test]
fn faults_are_decoded_and_encoded() {
    let body = r#"{"error":{"message":"m","type":"tokens","param":"p","code":"rate_limit_exceeded","misalignment":{"x":1}}}"#;
    let headers = vec![
        ("retry-after-ms".to_owned(), "1500".to_owned()),
        ("x-request-id".to_owned(), "req_1".to_owned()),
    ];
    let wire = WireReply { status: 429, headers, body: json(body) };
    let fault = codec().decode_fault(wire);
    assert_eq!((fault.class, fault.retry_after_ms), (FaultClass::RateLimited, Some(1500)));
    assert_eq!(fault.code.as_deref(), Some("rate_limit_exceeded"));
    assert_eq!((fault.param.as_deref(), fault.request_id.as_deref()), (Some("p"), Some("req_1")));
    let again = codec().encode_fault(&fault);
    assert_eq!(again.body, json(body));
    assert_eq!((again.status, again.header("retry-after")), (429, Some("2")));
    assert_eq!(again.header("x-request-id"), Some("req_1"));
    for (body, message) in [
        ("null", "the upstream answered with status 409"),
        ("{}", "the upstream answered with status 409"),
        (r#"{"error":"text"}"#, "text"),
    ] {
        let wire = WireReply { status: 409, headers: vec![], body: json(body) };
        let fault = codec().decode_fault(wire);
        assert_eq!((fault.class, fault.message.as_str()), (FaultClass::Invalid, message));
        assert_eq!(codec().encode_fault(&fault).status, 409);
    }
}

#[test]
fn streams_break_off_in_three_ways() {
    let fault = |frame: &str| match events(&[frame]).pop() {
        Some(Event::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    };
    let flat = fault(
        r#"{"type":"error","sequence_number":3,"code":"rate_limit_exceeded","message":"m","param":null}"#,
    );
    let nested = fault(
        r#"{"type":"error","error":{"type":"server_error","code":"rate_limit_exceeded","message":"m"}}"#,
    );
    let failed = fault(
        r#"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"m"},"output":[]}}"#,
    );
    for fault in [&flat, &nested, &failed] {
        assert_eq!((fault.class, fault.message.as_str()), (FaultClass::RateLimited, "m"));
        assert_eq!(fault.code.as_deref(), Some("rate_limit_exceeded"));
    }
    let cut = events(&[r#"{"type":"response.created","response":{"id":"r"}}"#]);
    assert!(matches!(cut.last(), Some(Event::Fault(own)) if own.class == FaultClass::Internal));
    // Before the start it is an error event, after it the response failed.
    let mut own = Fault::new(FaultClass::Overloaded, "m");
    own.code = Some("overloaded".to_owned());
    let before = frames([Event::Fault(own.clone())]);
    let expected =
        r#"{"type":"error","sequence_number":0,"code":"overloaded","message":"m","param":null}"#;
    assert_eq!(before, [json(expected)]);
    let after = frames([Event::Start(Start::default()), Event::Fault(own)]);
    assert_eq!(types(&after), ["created", "in_progress", "failed"]);
    let expected = json(r#"{"code":"server_error","message":"m"}"#);
    assert_eq!(after[2].pointer("/response/error"), Some(&expected));
    assert_eq!(after[2].pointer("/response/status"), Some(&Json::from("failed")));
}

#[test]
fn a_reference_without_a_type_stays_or_is_reported() {
    for item in [r#"{"id":"msg_1"}"#, r#"{"type":null,"id":"msg_1"}"#] {
        let body = format!(r#"{{"model":"m","input":[{{"role":"user","content":"x"}},{item}]}}"#);
        let request = fixtures::request(codec(), &json(&body));
        assert!(matches!(request.messages[1].parts[0].body, Body::Opaque(_)), "{item}");
        let options = Options::default();
        let anthropic = dialect::codec(Dialect::Anthropic).unwrap();
        let wire = WireRequest { body: json(&body), ..WireRequest::default() };
        let report = Translator::new(codec(), anthropic, &options).request(wire).unwrap().report;
        let major = report.losses.iter().find(|own| own.loss.severity == Severity::Major);
        assert_eq!(major.map(|own| own.path.as_str()), Some("/input/1"), "{item}");
    }
}
