//! Cohere: tool plan, documents as outcomes, strictness per request, usage with separate billed
//! units.

use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::{Delta, Event, Head, Start, Tail};
use toolwright_core::loss::Site;
use toolwright_core::part::{Media, MediaKind, MediaSource, Section, SectionKind};
use toolwright_core::request::Format;
use toolwright_core::{
    Arguments, Body, Call, Extra, Fault, FaultClass, Json, Message, Outcome, Part, Request,
    Response, Role, Stop, StopReason, ToolChoice, Usage,
};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, Target, WireReply, WireRequest,
};
use toolwright_dialects::frame::Frame;
use toolwright_dialects::translate::{Options, Translator};

use crate::fixtures;

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::Cohere).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn request(text: &str) -> Request {
    let request = fixtures::request(codec(), &json(text));
    assert_eq!(codec().encode_request(request.clone()).path, "/v2/chat");
    request
}

/// Decodes a reply and asserts that it returns, as a whole and as a stream.
fn response(text: &str) -> Response {
    let response = fixtures::response(codec(), &json(text));
    let frames = encoded(split(response.clone()));
    assert_eq!(join(decoded(&frames)).unwrap(), response);
    response
}

fn encoded(events: impl IntoIterator<Item = Event>) -> Vec<String> {
    let frames = fixtures::encoded(codec(), events, &ReplyContext::default());
    frames.into_iter().map(|frame| frame.data).collect()
}

/// A stream of these events between a start and an end.
fn stream(events: &[&str]) -> Vec<Event> {
    decoded(&whole(events))
}

fn whole<'e>(events: &[&'e str]) -> Vec<&'e str> {
    let start = r#"{"type":"message-start","id":"1"}"#;
    let end = r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#;
    [&[start], events, &[end]].concat()
}

fn decoded(frames: &[impl AsRef<str>]) -> Vec<Event> {
    fixtures::decoded(codec(), frames.iter().map(|data| Frame::data(data.as_ref())))
}

fn call_start(index: u8, id: &str, name: &str) -> String {
    format!(
        r#"{{"type":"tool-call-start","index":{index},"delta":{{"message":{{"tool_calls":{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":""}}}}}}}}}}"#
    )
}

fn call_delta(index: u8, text: &str) -> String {
    let text = Json::from(text);
    format!(
        r#"{{"type":"tool-call-delta","index":{index},"delta":{{"message":{{"tool_calls":{{"function":{{"arguments":{text}}}}}}}}}}}"#
    )
}

fn calls(parts: &[Part]) -> Vec<&Call> {
    parts.iter().filter_map(Part::as_call).collect()
}

#[test]
fn the_stream_joins_to_the_whole_reply_law_3() {
    let bytes = fixtures::bytes(Dialect::Cohere, "accepted/cohere_stream.txt");
    let joined = join(fixtures::events(codec(), &bytes)).unwrap();
    let whole = fixtures::json(Dialect::Cohere, "accepted/cohere_tools.json");
    let whole = codec().decode_response(WireReply::ok(whole)).unwrap();
    // Only the recorded ids differ.
    assert_eq!(joined.id.as_deref(), Some("29f14a5a"));
    assert_eq!(Response { id: whole.id.clone(), ..joined }, whole);
    assert_eq!(whole.stop.reason, StopReason::ToolUse);
}

#[test]
fn a_recorded_stream_returns_frame_by_frame_law_2() {
    for name in ["accepted/cohere_stream.txt", "accepted/cohere_stream_text.txt"] {
        let bytes = fixtures::bytes(Dialect::Cohere, name);
        let events = fixtures::events(codec(), &bytes);
        let again = fixtures::encoded(codec(), events, &ReplyContext::default());
        let original = fixtures::frames(codec().framing(), &bytes);
        assert_eq!(again.len(), original.len(), "{name}");
        for (own, other) in again.iter().zip(&original) {
            assert_eq!(own.name, other.name);
            match Json::parse(&other.data) {
                Ok(value) => assert!(json(&own.data).same(&value), "{} {}", own.data, other.data),
                Err(_) => assert_eq!(own.data, other.data),
            }
        }
    }
}

#[test]
fn a_call_that_came_whole_is_a_start_a_delta_and_an_end() {
    let call = Call::new("a", "f", Arguments::from_text(r#"{"n":1}"#));
    let whole = Head::Whole(Box::new(Part::call(call)));
    let frames = encoded([
        Event::PartStart { index: 0, head: whole, extra: Extra::NONE },
        Event::PartEnd { index: 0, tail: Tail::default() },
    ]);
    let end = r#"{"type":"tool-call-end","index":0}"#.to_owned();
    assert_eq!(frames, [call_start(0, "a", "f"), call_delta(0, r#"{"n":1}"#), end]);
}

#[test]
fn an_empty_buffer_is_an_empty_object_and_broken_text_stays() {
    for (text, arguments) in [
        ("", Arguments::none()),
        (r#"{"a":"#, Arguments::Malformed(r#"{"a":"#.to_owned())),
        ("oops", Arguments::Malformed("oops".to_owned())),
    ] {
        let events = stream(&[&call_start(0, "a", "f"), &call_delta(0, text)]);
        let joined = join(events).unwrap();
        assert_eq!(calls(&joined.parts)[0].arguments, arguments);
        let call = format!(
            r#"{{"id":"a","type":"function","function":{{"name":"f","arguments":{}}}}}"#,
            Json::from(text)
        );
        let part = codec().decode_call(json(&call)).unwrap();
        assert_eq!(part.as_call().unwrap().arguments, arguments);
    }
}

#[test]
fn a_repeated_index_starts_a_new_call() {
    let joined = join(stream(&[
        &call_start(0, "a", "f"),
        &call_delta(0, r#"{"n":"#),
        &call_delta(0, "1}"),
        &call_start(0, "b", "f"),
        &call_delta(0, r#"{"n":2}"#),
    ]))
    .unwrap();
    let seen: Vec<(&str, &str)> = calls(&joined.parts)
        .iter()
        .map(|call| (call.id.as_deref().unwrap(), call.arguments.as_str()))
        .collect();
    assert_eq!(seen, [("a", r#"{"n":1}"#), ("b", r#"{"n":2}"#)]);
}

#[test]
fn interleaved_calls_stay_separate() {
    let frames = [
        &call_start(0, "a", "f"),
        &call_start(1, "b", "g"),
        &call_delta(1, "{}"),
        &call_delta(0, r#"{"n":1}"#),
    ];
    let events = stream(&frames.map(String::as_str));
    let joined = join(events.clone()).unwrap();
    let arguments: Vec<&str> =
        calls(&joined.parts).iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"n":1}"#, "{}"]);
    assert_eq!(encoded(events)[1..5], frames.map(Clone::clone));
}

#[test]
fn ids_are_required_and_kept_as_they_are() {
    assert!(codec().profile(&Target::default()).ids.required);
    let request = request(
        r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"functions.f:0","content":"x"}]}"#,
    );
    assert_eq!(calls(&request.messages[0].parts)[0].id.as_deref(), Some("functions.f:0"));
    assert_eq!(request.messages[1], Message::tool(Outcome::text("functions.f:0", "x")));
}

#[test]
fn empty_results_keep_their_form() {
    for (content, parts) in [("[]", vec![]), (r#""""#, vec![Part::text("")])] {
        let request = request(&format!(
            r#"{{"messages":[{{"role":"tool","tool_call_id":"a","content":{content}}}]}}"#
        ));
        assert_eq!(request.messages[0].parts[0].as_outcome().unwrap().content, parts);
    }
}

#[test]
fn the_stop_reason_follows_from_the_content() {
    let call =
        r#""tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]"#;
    for (word, message, reason) in [
        ("COMPLETE", call, StopReason::ToolUse),
        ("TOOL_CALL", r#""content":[]"#, StopReason::End),
        ("MAX_TOKENS", call, StopReason::MaxTokens),
    ] {
        let body =
            format!(r#"{{"finish_reason":"{word}","message":{{"role":"assistant",{message}}}}}"#);
        let response = codec().decode_response(WireReply::ok(json(&body))).unwrap();
        assert_eq!(response.stop.reason, reason, "{word}");
    }
    for (word, reason) in [
        ("COMPLETE", StopReason::End),
        ("STOP_SEQUENCE", StopReason::StopSequence),
        ("ERROR", StopReason::Failed),
        ("TIMEOUT", StopReason::Failed),
        ("WEIRD", StopReason::End),
    ] {
        let body = format!(
            r#"{{"id":"1","finish_reason":"{word}","message":{{"role":"assistant","content":[{{"type":"text","text":"hi"}}]}}}}"#
        );
        assert_eq!(response(&body).stop.reason, reason, "{word}");
    }
}

#[test]
fn a_tool_choice_is_none_or_required() {
    for (word, choice) in [
        (r#""REQUIRED""#, ToolChoice::Required),
        (r#""NONE""#, ToolChoice::None),
        (r#""SOME""#, ToolChoice::Other(Json::from("SOME"))),
    ] {
        let request = request(&format!(r#"{{"messages":[],"tool_choice":{word}}}"#));
        assert_eq!(request.tool_choice, Some(choice));
    }
    let rule = codec().profile(&Target::default()).choice;
    assert!(rule.none && rule.required);
    assert!(!rule.auto && !rule.tool && !rule.allowed_auto && !rule.allowed_required);
}

#[test]
fn numbers_keep_their_digits() {
    let arguments = r#"{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1e400,"e":0.10}"#;
    let joined = join(stream(&[&call_start(0, "a", "f"), &call_delta(0, arguments)])).unwrap();
    assert_eq!(calls(&joined.parts)[0].arguments.as_str(), arguments);
    let again = codec().encode_response(joined, &ReplyContext::default()).body;
    let sent = again.pointer("/message/tool_calls/0/function/arguments");
    assert_eq!(sent.and_then(Json::as_str), Some(arguments));
    let result = format!(
        r#"{{"role":"tool","tool_call_id":"a","content":[{{"type":"document","document":{{"data":{arguments}}}}}]}}"#
    );
    let part = codec().decode_outcome(json(&result)).unwrap();
    assert_eq!(codec().encode_outcome(&part).to_string(), result);
}

#[test]
fn the_plan_is_text_and_returns_to_its_field() {
    let request = request(
        r#"{"messages":[{"role":"assistant","tool_plan":"First f.","content":"So:","citations":[{"start":0}],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#,
    );
    let [plan, text, _] = request.messages[0].parts.as_slice() else { panic!("{request:?}") };
    assert_eq!((plan.as_text(), text.as_text()), (Some("First f."), Some("So:")));
    // The plan reaches every target as text, so nothing is lost.
    let chat = dialect::codec(Dialect::OpenaiChat).unwrap();
    let wire = codec().encode_request(request);
    let translated = Translator::new(codec(), chat, &Options::default()).request(wire).unwrap();
    assert!(translated.value.body.to_string().contains("First f."), "{}", translated.value.body);
    let paths: Vec<String> = translated.report.losses.into_iter().map(|loss| loss.path).collect();
    assert!(!paths.iter().any(|path| path.contains("tool_plan")), "{paths:?}");
}

#[test]
fn strictness_applies_to_all_tools_of_a_request() {
    let tool = r#"{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}"#;
    let strict =
        request(&format!(r#"{{"messages":[],"tools":[{tool},{tool}],"strict_tools":true}}"#));
    assert!(strict.tools.iter().all(|tool| tool.strict == Some(true)));
    let site = Site::field(&strict.tools[1].origin, "strict");
    assert_eq!(site.pointer(codec().field_paths()), "/strict_tools");
    let silent = request(&format!(r#"{{"messages":[],"tools":[{tool}]}}"#));
    assert_eq!(silent.tools[0].strict, None);
    // Without tools, and on a tool, the field is unknown.
    let _ = request(r#"{"messages":[],"strict_tools":true}"#);
    let odd = request(
        r#"{"messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{},"strict":true,"output_schema":{}},"x":1},{"type":"web"}]}"#,
    );
    assert_eq!(odd.tools[0].strict, None);
    // A field beside the definition has its own path.
    let site = Site::field(&odd.tools[0].origin, "..").below("/x");
    assert_eq!(site.pointer(codec().field_paths()), "/tools/0/x");
}

#[test]
fn outcomes_hold_texts_and_documents() {
    let request = request(
        r#"{"messages":[{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"t"},{"type":"document","document":{"data":{"n":1},"id":"d"}},{"type":"document","document":{"data":"plain"}},{"type":"document","document":{"data":[1]}},{"type":"odd","text":"x"}]}]}"#,
    );
    let outcome = request.messages[0].parts[0].as_outcome().unwrap();
    let bodies: Vec<&Body> = outcome.content.iter().map(|part| &part.body).collect();
    assert_eq!(bodies[0], &Body::Text("t".into()));
    assert_eq!(bodies[1], &Body::Json(json(r#"{"n":1}"#)));
    assert_eq!(bodies[2], &Body::Text("plain".into()));
    assert!(matches!(bodies[3..], [Body::Opaque(_), Body::Opaque(_)]));
}

#[test]
fn a_request_keeps_every_field() {
    let request = request(
        r#"{"model":"command-a-03-2025","messages":[{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]},{"role":"system","content":"later"}],"max_tokens":10,"temperature":0.30,"p":0.9,"k":5,"stop_sequences":["x"],"seed":7,"thinking":{"type":"enabled","token_budget":100},"response_format":{"type":"json_object","json_schema":{"type":"object"}},"documents":["d"],"safety_mode":"OFF"}"#,
    );
    assert_eq!(request.instructions.unwrap().parts.len(), 2);
    // An unknown block that looks like a text stays a block.
    let _ =
        self::request(r#"{"messages":[{"role":"user","content":[{"type":"odd","text":"x"}]}]}"#);
    let image = |mime: Option<&str>, source| Media {
        kind: MediaKind::Image,
        mime: mime.map(str::to_owned),
        source,
        name: None,
    };
    let inline = image(Some("image/png"), MediaSource::Base64("AAAA".to_owned()));
    assert_eq!(request.messages[0].parts[1].body, Body::Media(inline));
    let linked = image(None, MediaSource::Url("https://x/y.png".to_owned()));
    assert_eq!(request.messages[0].parts[2].body, Body::Media(linked));
    assert_eq!(request.messages[1], Message::system("later"));
    assert_eq!(request.sampling.temperature.unwrap().as_str(), "0.30");
    assert_eq!(request.thinking.unwrap().budget.unwrap().as_str(), "100");
    assert!(matches!(request.format, Some(Format::Schema(_))));
}

#[test]
fn unknown_modes_and_formats_return() {
    for field in [
        r#""thinking":{"type":"adaptive","x":1}"#,
        r#""thinking":{"type":"disabled"}"#,
        r#""response_format":{"type":"json_object"}"#,
        r#""response_format":{"type":"text"}"#,
        r#""response_format":{"type":"xml","x":1}"#,
    ] {
        let _ = request(&format!(r#"{{"messages":[],{field}}}"#));
    }
}

#[test]
fn outcomes_in_a_users_turn_become_messages_of_their_own() {
    let parts = vec![Part::outcome(Outcome::text("a", "1")), Part::text("go on")];
    let request = Request { messages: vec![Message::new(Role::User, parts)], ..Request::default() };
    let expected = json(
        r#"[{"role":"tool","tool_call_id":"a","content":"1"},{"role":"user","content":"go on"}]"#,
    );
    assert_eq!(codec().encode_request(request).body.get("messages"), Some(&expected));
}

#[test]
fn wrong_types_are_refused_with_their_path() {
    for (body, error) in [
        (r#"{"messages":[{"role":"user"}]}"#, "cohere: /messages/0: missing field 'content'"),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}"#,
            "cohere: /messages/0/content/0/image_url: missing field 'url'",
        ),
        (
            r#"{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}]}"#,
            "cohere: /messages/0/tool_calls/0/function/arguments: expected a string",
        ),
        (r#"{"strict_tools":"yes"}"#, "cohere: /strict_tools: expected true or false"),
    ] {
        let wire = WireRequest { body: json(body), ..WireRequest::default() };
        assert_eq!(codec().decode_request(wire).unwrap_err().to_string(), error);
    }
}

#[test]
fn usage_counts_tokens_and_billed_units_stay_extra() {
    let usage = |usage: &str| {
        let body = format!(
            r#"{{"id":"1","finish_reason":"COMPLETE","message":{{"role":"assistant"}},"usage":{usage}}}"#
        );
        let Usage { input, cache_read, output, .. } = response(&body).usage.unwrap();
        (input, cache_read, output)
    };
    let all = r#"{"billed_units":{"input_tokens":1.5},"tokens":{"input_tokens":912,"output_tokens":91},"cached_tokens":128}"#;
    assert_eq!(usage(all), (Some(784), Some(128), Some(91)));
    let fraction =
        r#"{"tokens":{"input_tokens":1.5,"output_tokens":2,"image_tokens":3},"cached_tokens":0.5}"#;
    assert_eq!(usage(fraction), (None, None, Some(2)));
    // More cached than input tokens: the count cannot be part of the input.
    let odd = r#"{"tokens":{"input_tokens":1},"cached_tokens":2}"#;
    assert_eq!(usage(odd), (Some(1), None, None));
}

#[test]
fn fields_that_the_vendor_adds_return_whole_and_streamed() {
    let response = response(
        r#"{"id":"1","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"new":1,"citations":[{"start":0,"end":1},{"start":1,"end":2}]},"logprobs":[{"text":"hi"}]}"#,
    );
    assert_eq!(response.parts, [Part::text("hi")]);
    let names: Vec<String> = encoded(split(response))
        .iter()
        .filter_map(|data| Json::parse(data).ok()?.get("type")?.as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        names[4..],
        ["citation-start", "citation-end", "citation-start", "citation-end", "message-end"]
    );
}

#[test]
fn unknown_blocks_and_events_are_tolerated() {
    let start = r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"odd","x":1}}}}"#;
    let delta = r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"x":2}}},"logprobs":{"text":"a"}}"#;
    let odd = Frame::data(r#"{"type":"debug"}"#);
    let frames = whole(&[start, delta, &odd.data]).into_iter().map(Frame::data);
    let (events, unknown) = fixtures::tolerated(codec(), frames);
    assert_eq!(unknown, [odd]);
    let joined = join(events).unwrap();
    assert!(matches!(joined.parts[0].body, Body::Opaque(_)));
    let logprobs = joined.stop.extra.get(Dialect::Cohere, "logprobs");
    assert_eq!(logprobs, Some(&json(r#"[{"text":"a"}]"#)));
    assert_eq!(joined.stop.reason, StopReason::End);
}

#[test]
fn sections_of_thinking_stay_separate_in_a_stream_as_in_a_reply() {
    let section = |text: &str| Section { kind: SectionKind::Summary, text: text.to_owned() };
    let reasoning = toolwright_core::part::Reasoning {
        sections: vec![section("a"), section("b")],
        redacted: false,
    };
    let response = Response {
        parts: vec![Part::new(Body::Reasoning(reasoning.clone()))],
        ..Response::default()
    };
    let frames = encoded(split(response));
    let text: String = frames
        .iter()
        .filter_map(|data| Json::parse(data).ok())
        .filter_map(|value| {
            value.pointer("/delta/message/content/thinking")?.as_str().map(str::to_owned)
        })
        .collect();
    assert_eq!(text, reasoning.joined());
}

#[test]
fn faults_end_a_stream_or_are_a_reply() {
    let end = r#"data: {"type":"message-end","delta":{"finish_reason":"ERROR","error":"oh"}}"#;
    let events = fixtures::events(codec(), format!("{end}\n\n").as_bytes());
    let fault = Fault::new(FaultClass::Internal, "oh");
    assert_eq!(events, [Event::Fault(fault.clone())]);
    assert_eq!(format!("data: {}", encoded([Event::Fault(fault)])[0]), end);

    let body = json(r#"{"message":"no","id":"r1","x":1}"#);
    let wire = WireReply { status: 498, headers: vec![], body };
    let fault = codec().decode_fault(wire.clone());
    assert_eq!((fault.class, fault.request_id.as_deref()), (FaultClass::Invalid, Some("r1")));
    assert_eq!(codec().encode_fault(&fault), wire);
    let foreign = Fault { status: Some(529), ..Fault::new(FaultClass::Overloaded, "full") };
    assert_eq!(codec().encode_fault(&foreign).status, 503);
}

#[test]
fn a_stream_that_is_cut_or_out_of_order_is_refused() {
    let text = "data: {\"type\":\"message-start\",\"id\":\"1\"}\n\ndata: [DONE]\n\n";
    let events = fixtures::events(codec(), text.as_bytes());
    assert!(matches!(events.as_slice(), [Event::Start(_), Event::Fault(_)]));
    let mut decoder = codec().stream_decoder();
    for (data, error) in [
        (call_delta(3, "x"), "cohere: /index: broken stream: a delta of a part that is not open"),
        (
            r#"{"type":"tool-call-delta","delta":{"message":{"tool_calls":{"function":{"arguments":{}}}}}}"#.to_owned(),
            "cohere: /delta/message/tool_calls/function/arguments: expected a string",
        ),
    ] {
        let frame = Frame::data(data);
        assert_eq!(decoder.decode(&frame, &mut Vec::new()).unwrap_err().to_string(), error);
    }
}

#[test]
fn a_translated_reply_has_all_fields_that_clients_expect() {
    let response = Response {
        parts: vec![Part::text("hi")],
        stop: Stop::new(StopReason::ContextWindow),
        usage: Some(Usage {
            input: Some(1),
            cache_write: Some(2),
            output: Some(3),
            ..Usage::default()
        }),
        ..Response::default()
    };
    let expected = json(
        r#"{"id":"00000000-0000-0000-0000-000000000000","finish_reason":"MAX_TOKENS","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},"usage":{"billed_units":{"input_tokens":3,"output_tokens":3},"tokens":{"input_tokens":3,"output_tokens":3}}}"#,
    );
    assert_eq!(codec().encode_response(response, &ReplyContext::default()).body, expected);
    let frames = encoded([Event::Start(Start::default())]);
    assert!(frames[0].contains("00000000-0000-0000-0000-000000000000"));
    let delta = Delta::Text("x".to_owned());
    assert_eq!(encoded([Event::PartDelta { index: 0, delta }, Event::Ping]), Vec::<String>::new());
}

#[test]
fn every_reply_reports_billed_units() {
    let usage = toolwright_core::Usage {
        input: Some(7),
        cache_read: Some(3),
        output: Some(5),
        ..toolwright_core::Usage::default()
    };
    for (usage, billed) in [
        (Some(usage), r#""billed_units":{"input_tokens":10,"output_tokens":5}"#),
        (None, r#""billed_units":{"input_tokens":0,"output_tokens":0}"#),
    ] {
        let response = Response { usage, ..Response::new(vec![Part::text("x")]) };
        let whole = codec().encode_response(response.clone(), &ReplyContext::default()).body;
        assert!(whole.compact().contains(billed), "{whole}");
        let again = codec().decode_response(WireReply::ok(whole)).unwrap();
        assert_eq!(again.usage, response.usage);
        let frames = encoded(split(response.clone()));
        let end = frames.iter().find(|own| own.contains("message-end")).unwrap();
        assert!(end.contains(billed), "{end}");
        assert_eq!(join(decoded(&frames)).unwrap().usage, response.usage);
    }
}

#[test]
fn a_schema_is_read_under_the_older_key() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object","schema":{"type":"object"}}}"#;
    let wire = WireRequest { body: json(body), ..WireRequest::default() };
    let request = codec().decode_request(wire).unwrap();
    let Some(toolwright_core::request::Format::Schema(format)) = request.format else { panic!() };
    assert_eq!(format.schema, json(r#"{"type":"object"}"#));
    assert!(request.extra.is_empty());
}
