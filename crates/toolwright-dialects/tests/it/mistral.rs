//! Mistral: chunks, values and streams that no recording covers.

use toolwright_core::event::Event;
use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::part::{Body, MediaSource};
use toolwright_core::{Arguments, FaultClass, Json, Request, Response, StopReason, ToolChoice};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, FrameStatus, ReplyContext, Target, WireReply, WireRequest,
};
use toolwright_dialects::frame::Frame;

use crate::{fixtures, spelling};

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::Mistral).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// Decodes a request and asserts that it returns.
fn request(body: &str) -> Request {
    fixtures::request(codec(), &json(body))
}

/// Decodes a response and asserts that it returns, as a whole and as a stream.
fn response(body: &str) -> Response {
    let response = fixtures::response(codec(), &json(body));
    let again = fixtures::decoded(codec(), stream(response.clone()));
    assert_eq!(join(again).unwrap(), response);
    response
}

/// The frames of a response.
fn stream(response: Response) -> Vec<Frame> {
    fixtures::encoded(codec(), split(response), &ReplyContext::default())
}

/// Decodes chunks and asserts that the events follow the grammar.
fn events(chunks: &[&str]) -> Vec<Event> {
    fixtures::decoded(codec(), chunks.iter().map(|chunk| Frame::data(*chunk)))
}

/// A chunk around a delta.
fn chunk(delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

/// Joins deltas, the last of which has a finish reason.
fn joined(deltas: &[&str], finish: &str) -> Response {
    let (last, first) = deltas.split_last().unwrap();
    let mut chunks: Vec<String> = first.iter().map(|delta| chunk(delta, "null")).collect();
    chunks.push(chunk(last, finish));
    chunks.push("[DONE]".to_owned());
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    join(events(&chunks)).unwrap()
}

/// A whole reply around a message.
fn reply(message: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{message},"finish_reason":"{finish}"}}],"usage":{{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}}}"#
    )
}

fn arguments(response: &Response) -> Vec<&str> {
    response
        .parts
        .iter()
        .filter_map(|part| part.as_call())
        .map(|call| call.arguments.as_str())
        .collect()
}

#[test]
fn the_recorded_stream_has_the_calls_of_the_whole_reply_law_3() {
    let events = fixtures::events(
        codec(),
        &fixtures::bytes(Dialect::Mistral, "accepted/mistral_stream.txt"),
    );
    let streamed = join(events).unwrap();
    let whole = fixtures::json(Dialect::Mistral, "accepted/mistral_tools.json");
    let whole = codec().decode_response(WireReply::ok(whole)).unwrap();
    let [thinking, text, calls @ ..] = streamed.parts.as_slice() else { panic!("{streamed:?}") };
    assert!(matches!(&thinking.body, Body::Reasoning(own) if own.joined() == "用户需要天气"));
    assert_eq!(text.as_text(), Some("我先查询。"));
    assert_eq!(calls, whole.parts.as_slice());
    assert_eq!(streamed.usage, whole.usage);
    assert_eq!((streamed.id, streamed.model), (whole.id, whole.model));
    assert_eq!(streamed.stop.reason, StopReason::ToolUse);
    assert_eq!(whole.usage.unwrap().input, Some(54));
}

#[test]
fn missing_arguments_are_an_empty_object_and_broken_ones_stay() {
    let call = |arguments: &str| {
        format!(
            r#"{{"tool_calls":[{{"id":"D681PevKs","index":0,"function":{{"name":"now","arguments":{arguments}}}}}]}}"#
        )
    };
    let empty = joined(&[&call(r#""""#)], "\"tool_calls\"");
    assert_eq!(arguments(&empty), ["{}"]);
    let cut = joined(&[&call(r#""{\"a\":""#)], "\"length\"");
    let Body::Call(call) = &cut.parts[0].body else { panic!("{cut:?}") };
    assert_eq!(call.arguments, Arguments::Malformed("{\"a\":".to_owned()));
}

#[test]
fn calls_are_numbered_densely() {
    let whole = response(&reply(
        r#"{"role":"assistant","content":"Two.","tool_calls":[
            {"id":"aaaaaaaaa","type":"function","index":0,"function":{"name":"f","arguments":"{}"}},
            {"id":"bbbbbbbbb","type":"function","index":1,"function":{"name":"f","arguments":"{}"}}]}"#,
        "tool_calls",
    ));
    let frames = stream(whole);
    let deltas: Vec<Vec<Option<u64>>> = frames
        .iter()
        .filter_map(|frame| Json::parse(&frame.data).ok())
        .filter_map(|value| {
            let calls = value.pointer("/choices/0/delta/tool_calls")?.as_array()?;
            Some(calls.iter().map(|call| call.get("index")?.as_u64()).collect())
        })
        .collect();
    // All calls are in one delta, because pydantic-ai distinguishes calls by their position in it.
    assert_eq!(deltas, [[Some(0), Some(1)]]);
}

#[test]
fn a_repeated_index_starts_a_new_call() {
    let call = |id: &str| {
        format!(
            r#"{{"tool_calls":[{{{id}"index":0,"function":{{"name":"f","arguments":"{{\"n\":1}}"}}}}]}}"#
        )
    };
    let by_id = joined(&[&call(r#""id":"aaaaaaaaa","#), &call(r#""id":"bbbbbbbbb","#)], "null");
    assert_eq!(arguments(&by_id), [r#"{"n":1}"#; 2]);
    let by_name = joined(&[&call(""), &call(r#""id":"null","#)], "\"tool_calls\"");
    assert_eq!(arguments(&by_name), [r#"{"n":1}"#; 2]);
}

#[test]
fn num_cached_tokens_are_cache_reads() {
    let body = reply(r#"{"role":"assistant","content":"a"}"#, "stop")
        .replace(r#""prompt_tokens":1,"#, r#""prompt_tokens":64,"num_cached_tokens":32,"#)
        .replace(r#""total_tokens":3"#, r#""total_tokens":66"#);
    let usage = response(&body).usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.total()), (Some(32), Some(32), 66));
}

#[test]
fn fragments_of_calls_are_joined() {
    let deltas = [
        r#"{"role":"assistant","content":""}"#,
        r#"{"tool_calls":[{"index":0,"id":"aaaaaaaaa","type":"function","function":{"name":"f","arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"bbbbbbbbb","type":"function","function":{"name":"g","arguments":"{\"b\":"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}},{"index":1,"function":{"arguments":"2}"}}]}"#,
        r#"{"content":"Done."}"#,
    ];
    let response = joined(&deltas, "\"stop\"");
    assert_eq!(arguments(&response), [r#"{"a":1}"#, r#"{"b":2}"#]);
    assert_eq!(response.parts[2].as_text(), Some("Done."));
    let mut decoder = codec().stream_decoder();
    let orphan = chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}"#, "null");
    let error = decoder.decode(&Frame::data(orphan), &mut vec![]).unwrap_err();
    assert_eq!(error.pointer, "/choices/0/delta/tool_calls/0");
}

#[test]
fn ids_must_have_nine_alphanumeric_characters() {
    let ids = codec().profile(&Target::default()).ids;
    let legal = |id: &str| {
        (ids.min..=ids.max).contains(&id.len()) && id.chars().all(|own| ids.charset.contains(own))
    };
    assert!(ids.required && legal("D681PevKs"));
    for id in ["call_W8xw01aZ", "D681Pev-s", "D681PevK", "toolu_0123", ""] {
        assert!(!legal(id), "{id}");
    }
}

#[test]
fn the_stop_reason_follows_from_the_calls() {
    let call = r#"{"role":"assistant","content":"","tool_calls":[{"id":"aaaaaaaaa","type":"function","index":0,"function":{"name":"f","arguments":"{}"}}]}"#;
    let whole = codec().decode_response(WireReply::ok(json(&reply(call, "stop")))).unwrap();
    assert_eq!(whole.stop.reason, StopReason::ToolUse);
    assert_eq!(joined(&[call], "\"stop\"").stop.reason, StopReason::ToolUse);
    let none = r#"{"role":"assistant","content":"Hi"}"#;
    assert_eq!(joined(&[none], "\"tool_calls\"").stop.reason, StopReason::End);
    assert_eq!(response(&reply(none, "model_length")).stop.reason, StopReason::ContextWindow);
    assert_eq!(response(&reply(none, "error")).stop.reason, StopReason::Failed);
    response(&reply(none, "content_filter"));
}

#[test]
fn numbers_keep_their_digits_in_both_forms_of_arguments() {
    let numbers =
        "[9007199254740993,18446744073709551615,123456789012345678901234567890,1e400,0.1]";
    let call = |arguments: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"assistant","content":"","tool_calls":[{{"id":"aaaaaaaaa","type":"function","index":0,"function":{{"name":"f","arguments":{arguments}}}}}]}}]}}"#
        )
    };
    let text = format!(r#"{{"n":{numbers}}}"#);
    let quoted = Json::from(text.as_str()).to_string();
    for arguments in [&text, &quoted] {
        let request = request(&call(arguments));
        assert_eq!(request.messages[0].parts[0].as_call().unwrap().arguments.as_str(), text);
    }
}

#[test]
fn every_chunk_returns() {
    let request = request(
        r#"{"model":"m","messages":[{"role":"user","content":[
            {"type":"text","text":"Look:"},
            {"type":"image_url","image_url":"data:image/jpeg;base64,AAAA"},
            {"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
            {"type":"image_url","image_url":{"url":"https://example.com/b.png"}},
            {"type":"document_url","document_url":"https://example.com/a.pdf","document_name":"a"},
            {"type":"input_audio","input_audio":"UklGRg=="},
            {"type":"input_audio","input_audio":"data:audio/mpeg;base64,UklGRg=="},
            {"type":"input_audio","input_audio":"https://example.com/a.wav"},
            {"type":"file","file_id":"f-1"},
            {"type":"reference","reference_ids":[1,"b"]},
            {"type":"resource_link","uri":"file:///a","metadata":{"size":1}},
            {"type":"thinking","thinking":[{"type":"reference","reference_ids":[1]}]},
            {"type":"hologram","depth":3}]}]}"#,
    );
    let parts = &request.messages[0].parts;
    let sources: Vec<&MediaSource> = parts
        .iter()
        .filter_map(|part| match &part.body {
            Body::Media(media) => Some(&media.source),
            _ => None,
        })
        .collect();
    let base64 = |source: &&&MediaSource| matches!(source, MediaSource::Base64(_));
    assert_eq!((sources.len(), sources.iter().filter(base64).count()), (8, 3));
    assert_eq!(parts.iter().filter(|part| matches!(part.body, Body::Opaque(_))).count(), 4);
}

#[test]
fn thinking_keeps_sections_signature_and_position() {
    let message = r#"{"role":"assistant","content":[
        {"type":"thinking","thinking":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"signature":"s1","closed":true},
        {"type":"thinking","thinking":[{"type":"text","text":"c"}]},
        {"type":"text","text":"So:","annotations":[]},
        {"type":"reference","reference_ids":[1]}],"prefix":false}"#;
    let response = response(&reply(message, "stop"));
    let signatures: Vec<bool> =
        response.parts.iter().map(|part| part.signature.is_some()).collect();
    assert_eq!(signatures, [true, false, false, false]);
    let Body::Reasoning(first) = &response.parts[0].body else { panic!("{response:?}") };
    assert_eq!(first.sections.len(), 2);
    let _ = request(&format!(r#"{{"model":"m","messages":[{message}]}}"#));
}

#[test]
fn every_field_of_a_request_returns() {
    let first = request(
        r#"{"model":"m","messages":[{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
            {"role":"user","content":""},
            {"role":"assistant","tool_calls":[{"id":"null","function":{"name":"f","arguments":{}},"type":"function"}]},
            {"role":"tool","tool_call_id":"null","content":[]},
            {"role":"assistant","content":"Go","prefix":true}],
            "tool_choice":"required","stop":"END","random_seed":7,"top_k":3,"reasoning_effort":"none",
            "response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"},"strict":true}},
            "safe_prompt":true,"prompt_cache_key":"k","metadata":{"a":1}}"#,
    );
    assert_eq!(first.tool_choice, Some(ToolChoice::Required));
    assert_eq!(first.thinking.unwrap().effort.as_deref(), Some("none"));
    assert_eq!(first.messages[1].parts[0].as_call().unwrap().id, None);
    assert!(first.instructions.is_some());
    let second = request(
        r#"{"model":"m","messages":[],"stop":["a"],"prompt_mode":"reasoning","reasoning_effort":"high",
            "tool_choice":{"type":"function","function":{"name":"f"}},"response_format":{"type":"json_object"},
            "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"},"strict":true,"x":1},"y":2},
                {"type":"image_generation"},{"type":"connector","connector_id":"c"}]}"#,
    );
    assert_eq!(second.tool_choice, Some(ToolChoice::Tool("f".to_owned())));
    let odd = request(
        r#"{"model":"m","messages":[],"tool_choice":{"type":"function","function":{"name":"f"},"z":1},"response_format":{"type":"xml"}}"#,
    );
    assert!(matches!(odd.tool_choice, Some(ToolChoice::Other(_))));
}

#[test]
fn flat_tools_are_read() {
    let flat = json(r#"{"type":"function","name":"f","parameters":{"type":"object"}}"#);
    let tool = codec().decode_tool(flat).unwrap();
    let nested = codec().encode_tool(&tool);
    assert_eq!(nested.pointer("/function/name").and_then(Json::as_str), Some("f"));
    assert!(nested.pointer("/function/parameters/type").is_some());
}

#[test]
fn a_reply_has_what_the_sdk_requires() {
    let body = codec().encode_response(Response::default(), &ReplyContext::default()).body;
    for key in ["id", "object", "created", "model", "choices", "usage"] {
        assert!(body.get(key).is_some(), "{key}");
    }
    for frame in stream(Response::default()) {
        let Ok(value) = Json::parse(&frame.data) else { continue };
        let choice = value.pointer("/choices/0").unwrap().as_object().unwrap();
        assert!(choice.contains_key("finish_reason"));
    }
}

#[test]
fn further_choices_and_logprobs_return() {
    response(
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[
            {"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop","logprobs":{"content":[{"token":"a"}]}}],
            "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":9,"prompt_audio_seconds":4}}"#,
    );
    let two = json(
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[
            {"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},
            {"index":1,"message":{"role":"assistant","content":"b"},"finish_reason":"stop"}],
            "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
    );
    let decoded = codec().decode_response(WireReply::ok(two.clone())).unwrap();
    let again = codec().encode_response(decoded, &ReplyContext::default()).body;
    spelling::assert_same(Dialect::Mistral, "two choices", &two, &again);
    let logprobs = |token: &str| {
        format!(
            r#"{{"id":"c","choices":[{{"index":0,"delta":{{"content":"{token}"}},"finish_reason":null,"logprobs":{{"content":["{token}"]}}}}]}}"#
        )
    };
    let events = events(&[&logprobs("a"), &logprobs("b"), &chunk("{}", "\"stop\"")]);
    let stop = join(events).unwrap().stop;
    let tokens = stop.extra.get(Dialect::Mistral, "logprobs").unwrap().pointer("/content").unwrap();
    assert_eq!(tokens.as_array().unwrap().len(), 2);
}

#[test]
fn faults_are_read_from_both_shapes() {
    let decode = |status, body: &str| {
        codec().decode_fault(WireReply { status, headers: vec![], body: json(body) })
    };
    let detail = fixtures::json(Dialect::Mistral, "accepted/mistral_error_422_detail.json");
    let fault = decode(422, &detail.to_string());
    assert_eq!(
        (fault.class, fault.message.as_str()),
        (FaultClass::Invalid, "body.model: Field required")
    );
    let nested = r#"{"object":"error","message":{"detail":[{"loc":["body",0],"msg":"bad"}]},"type":"invalid_request_error","param":null,"code":3051}"#;
    let fault = decode(422, nested);
    assert_eq!((fault.message.as_str(), fault.code.as_deref()), ("body.0: bad", Some("3051")));
    spelling::assert_same(
        Dialect::Mistral,
        "nested",
        &json(nested),
        &codec().encode_fault(&fault).body,
    );
    assert_eq!(decode(401, r#"{"detail":"Unauthorized"}"#).message, "Unauthorized");
    assert_eq!(decode(503, "[]").class, FaultClass::Overloaded);
    let cut = events(&[
        &chunk(r#"{"content":"a"}"#, "null"),
        r#"{"object":"error","message":"slow down","type":"rate_limited","param":null,"code":"1300"}"#,
    ]);
    assert!(
        matches!(cut.last(), Some(Event::Fault(fault)) if fault.class == FaultClass::RateLimited)
    );
    assert!(matches!(
        events(&[&chunk(r#"{"content":"a"}"#, "null")]).last(),
        Some(Event::Fault(_))
    ));
}

#[test]
fn unknown_frames_and_malformed_requests_are_reported() {
    let mut decoder = codec().stream_decoder();
    let seen = decoder.decode(&Frame::data(r#"{"kind":"weather"}"#), &mut vec![]).unwrap();
    assert_eq!(seen, FrameStatus::Unknown);
    let decode = |body: &str| {
        let wire = WireRequest { path: String::new(), headers: vec![], body: json(body) };
        codec().decode_request(wire).unwrap_err().to_string()
    };
    assert_eq!(
        decode(r#"{"messages":[{"role":"oracle","content":"x"}]}"#),
        "mistral: /messages/0/role: expected system, user, assistant or tool"
    );
    assert_eq!(
        decode(
            r#"{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":7}}]}]}"#
        ),
        "mistral: /messages/0/tool_calls/0/function/arguments: expected a string or an object"
    );
}

#[test]
fn audio_is_read_in_both_shapes() {
    let request = request(
        r#"{"model":"m","messages":[{"role":"user","content":[
            {"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}},
            {"type":"input_audio","input_audio":"SUQz"}]}]}"#,
    );
    let media = request.messages[0].parts.iter().map(|part| match &part.body {
        Body::Media(media) => (media.mime.clone(), media.source.clone()),
        _ => panic!(),
    });
    let data = MediaSource::Base64("SUQz".to_owned());
    let expected = vec![(Some("audio/mpeg".to_owned()), data.clone()), (None, data)];
    assert_eq!(media.collect::<Vec<_>>(), expected);
}

#[test]
fn a_call_id_of_another_form_from_mistral_itself_reaches_its_clients() {
    let body = r#"{"id":"r1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,
        "message":{"role":"assistant","content":"","tool_calls":[{"id":"chatcmpl-tool-1","type":"function",
        "function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let options = toolwright_dialects::translate::Options::default();
    let codec = dialect::codec(Dialect::Mistral).unwrap();
    let translator = toolwright_dialects::translate::Translator::new(codec, codec, &options);
    let reply = translator.response(WireReply::ok(Json::parse(body).unwrap())).unwrap();
    assert!(reply.value.body.compact().contains(r#""id":"chatcmpl-tool-1""#));
}
