//! Gemini: letter case, paths, tools, signatures and streams.

use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::{Delta, Event, Head};
use toolwright_core::json::JsonText;
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::request::Format;
use toolwright_core::{
    Arguments, Body, Call, FaultClass, Json, Message, Outcome, Part, Request, Response, Role,
    StopReason, Tool, ToolChoice, ToolKind,
};
use toolwright_dialects::dialect::ChatCodec;
use toolwright_dialects::dialect::{self, Dialect, ReplyContext, Target, WireReply, WireRequest};
use toolwright_dialects::fit::fit;
use toolwright_dialects::frame::Frame;

use crate::fixtures;

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::Gemini).unwrap()
}

fn parse(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn request_at(path: &str, body: &str) -> Request {
    let wire = WireRequest { path: path.into(), headers: vec![], body: parse(body) };
    codec().decode_request(wire).unwrap()
}

/// Decodes a body, asserts that it encodes to the same body, and returns the request.
fn request(body: &str) -> Request {
    fixtures::request(codec(), &parse(body))
}

fn response(body: &str) -> Response {
    fixtures::response(codec(), &parse(body))
}

/// The parts of one message of a request, after a round trip.
fn parts(parts: &str) -> Vec<toolwright_core::Part> {
    let body = format!(r#"{{"contents":[{{"role":"user","parts":{parts}}}]}}"#);
    request(&body).messages.remove(0).parts
}

fn stream(chunks: &[&str]) -> Vec<Event> {
    fixtures::decoded(codec(), chunks.iter().map(|chunk| Frame::data(*chunk)))
}

/// A chunk with parts, and a finish reason if there is one.
fn chunk(parts: &str, finish: &str) -> String {
    let finish =
        if finish.is_empty() { String::new() } else { format!(r#","finishReason":"{finish}""#) };
    format!(
        r#"{{"candidates":[{{"content":{{"parts":{parts},"role":"model"}},"index":0{finish}}}]}}"#
    )
}

#[test]
fn the_stream_joins_to_the_whole_reply_law_3() {
    let bytes = fixtures::bytes(Dialect::Gemini, "accepted/gemini_stream.txt");
    let whole = fixtures::json(Dialect::Gemini, "accepted/gemini_tools.json");
    let whole = codec().decode_response(WireReply::ok(whole)).unwrap();
    assert_eq!(join(fixtures::events(codec(), &bytes)).unwrap(), whole);
}

#[test]
fn a_whole_call_is_a_start_one_delta_and_a_stop() {
    let bytes = fixtures::bytes(Dialect::Gemini, "accepted/gemini_stream.txt");
    let events = fixtures::events(codec(), &bytes);
    let start = events
        .iter()
        .position(|event| {
            matches!(event, Event::PartStart { head: Head::Call { name, .. }, .. } if name == "get_weather")
        })
        .unwrap();
    let arguments = r#"{"city":"北京","unit":"celsius"}"#;
    assert_eq!(
        events[start + 1],
        Event::PartDelta { index: 2, delta: Delta::Arguments(arguments.to_owned()) }
    );
    assert!(
        matches!(&events[start + 2], Event::PartEnd { index: 2, tail } if tail.signature.is_some())
    );
    // Missing arguments are written explicitly.
    let events = stream(&[&chunk(r#"[{"functionCall":{"name":"now"}}]"#, "STOP")]);
    let delta = Event::PartDelta { index: 0, delta: Delta::Arguments("{}".to_owned()) };
    assert!(events.contains(&delta));
}

#[test]
fn signatures_return_bit_for_bit_on_their_parts() {
    let body = r#"{"contents":[{"role":"model","parts":[
        {"text":"thinking","thought":true,"thoughtSignature":"AA+/=="},
        {"text":"words","thoughtSignature":"Qk0="},
        {"text":"","thoughtSignature":"Q00="},
        {"functionCall":{"name":"a","args":{}},"thoughtSignature":"RE0="},
        {"functionCall":{"id":"x","name":"b","args":{}}},
        {"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"RU0="},
        {"thoughtSignature":"Rk0="}
    ]}]}"#;
    let message = request(body).messages.remove(0);
    let signatures: Vec<_> =
        message.parts.iter().map(|part| Some(part.signature.as_ref()?.value.as_str())).collect();
    let expected = [Some("AA+/=="), Some("Qk0="), Some("Q00="), Some("RE0="), None, None, None];
    assert_eq!(signatures, expected);
    assert!(matches!(message.parts[0].body, Body::Reasoning(_)));
    assert!(matches!(message.parts[5].body, Body::Opaque(_)));
    // A signature of another vendor is never written.
    let mut call = message.parts[3].clone();
    call.signature.as_mut().unwrap().dialect = Dialect::Anthropic;
    assert!(codec().encode_call(&call).get("thoughtSignature").is_none());
}

#[test]
fn a_signature_ends_its_text_block() {
    let chunks = [
        chunk(r#"[{"text":"a"}]"#, ""),
        chunk(r#"[{"text":"b","thoughtSignature":"AA=="}]"#, ""),
        chunk(r#"[{"text":"c"}]"#, ""),
        chunk(r#"[{"text":"","thoughtSignature":"BB=="}]"#, ""),
        chunk(r#"[{"functionCall":{"name":"f","args":{}}}]"#, ""),
        chunk(r#"[{"text":"","thoughtSignature":"CC=="}]"#, "STOP"),
    ];
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let response = join(stream(&chunks)).unwrap();
    let seen: Vec<_> = response
        .parts
        .iter()
        .map(|part| (part.as_text(), part.signature.as_ref().map(|own| own.value.as_str())))
        .collect();
    let expected = [
        (Some("ab"), Some("AA==")),
        (Some("c"), Some("BB==")),
        (None, None),
        (Some(""), Some("CC==")),
    ];
    assert_eq!(seen, expected);
    assert_eq!(response.stop.reason, StopReason::ToolUse);
}

#[test]
fn foreign_history_gets_the_placeholder_where_signatures_are_checked() {
    let stand_in =
        |model| codec().profile(&Target { model: Some(model), version: None }).reasoning.stand_in;
    assert_eq!(stand_in("gemini-3.8-flash"), Some("skip_thought_signature_validator"));
    assert_eq!(stand_in("gemini-2.5-pro"), None);
}

#[test]
fn every_tool_choice_has_its_mode() {
    let choice = |config: &str| {
        let body =
            format!(r#"{{"contents":[],"toolConfig":{{"functionCallingConfig":{config}}}}}"#);
        request(&body).tool_choice
    };
    let allowed = |required| {
        Some(ToolChoice::Allowed { names: vec!["a".to_owned(), "b".to_owned()], required })
    };
    assert_eq!(choice(r#"{"mode":"AUTO"}"#), Some(ToolChoice::Auto));
    assert_eq!(choice(r#"{"mode":"VALIDATED"}"#), Some(ToolChoice::Auto));
    assert_eq!(choice(r#"{"mode":"NONE"}"#), Some(ToolChoice::None));
    assert_eq!(choice(r#"{"mode":"NONE","allowedFunctionNames":["a"]}"#), Some(ToolChoice::None));
    assert_eq!(choice(r#"{"mode":"ANY"}"#), Some(ToolChoice::Required));
    let one = choice(r#"{"mode":"ANY","allowed_function_names":["a"]}"#);
    assert_eq!(one, Some(ToolChoice::Tool("a".to_owned())));
    assert_eq!(choice(r#"{"mode":"ANY","allowedFunctionNames":["a","b"]}"#), allowed(true));
    assert_eq!(choice(r#"{"mode":"VALIDATED","allowedFunctionNames":["a","b"]}"#), allowed(false));
    assert_eq!(choice(r#"{"mode":"AUTO","allowedFunctionNames":["a","b"]}"#), allowed(false));
    assert!(matches!(choice(r#"{"mode":"FUTURE","x":1}"#), Some(ToolChoice::Other(_))));
    let streamed = choice(r#"{"mode":"any","streamFunctionCallArguments":true}"#);
    assert_eq!(streamed, Some(ToolChoice::Required));
}

#[test]
fn the_openapi_subset_is_read_as_json_schema_and_returns_as_it_came() {
    let body = r##"{"contents":[],"tools":[{"function_declarations":[{"name":"f",
        "parameters":{"type":"OBJECT","property_ordering":["b","a"],"required":["a"],
            "properties":{
                "a":{"type":"ARRAY","min_items":"1","items":{"ref":"#/defs/P"}},
                "b":{"type":"STRING","nullable":true,"enum":["x"],"example":"x"},
                "any_of":{"any_of":[{"type":"NUMBER"},{"type":"BOOLEAN"}],"nullable":true}},
            "defs":{"P":{"type":"INTEGER","minimum":1.0}}},
        "response":{"type":"STRING"},"behavior":"BLOCKING"}]}]}"##;
    let mut own = request(body);
    let tool = &own.tools[0];
    let expected = r##"{"type":"object","required":["a"],
        "properties":{
            "b":{"type":["string","null"],"enum":["x",null],"examples":["x"]},
            "a":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/P"}},
            "any_of":{"anyOf":[{"type":"number"},{"type":"boolean"},{"type":"null"}]}},
        "$defs":{"P":{"type":"integer","minimum":1.0}}}"##;
    assert_eq!(tool.parameters().unwrap().to_string(), parse(expected).to_string());
    assert_eq!(tool.output, Some(parse(r#"{"type":"string"}"#)));
    // A schema that was changed after decoding is written in full.
    let lowered = parse(r#"{"type":"object","properties":{}}"#);
    own.tools[0].kind = ToolKind::Function(Some(lowered.clone()));
    let wire = codec().encode_request(own).body;
    let declaration = wire.pointer("/tools/0/functionDeclarations/0").unwrap();
    assert_eq!(declaration.get("parametersJsonSchema"), Some(&lowered));
    assert_eq!(declaration.get("parameters"), None);
}

#[test]
fn names_with_dots_and_colons_are_legal() {
    let names = codec().profile(&Target::default()).names;
    assert!("mcp.files:read-all".chars().all(|letter| names.charset.contains(letter)));
    assert!(names.letter_first);
    assert_eq!(names.max, 128);
}

#[test]
fn ids_are_optional_and_stay_as_they_came() {
    let own = parts(
        r#"[{"functionCall":{"name":"f","args":{}}},
            {"functionCall":{"id":"functions.f:0","name":"f","args":{}}},
            {"functionResponse":{"name":"f","response":{"output":1}}},
            {"functionResponse":{"id":"functions.f:0","name":"f","response":{"output":2}}}]"#,
    );
    assert_eq!(own[0].as_call().unwrap().id, None);
    assert_eq!(own[1].as_call().unwrap().id.as_deref(), Some("functions.f:0"));
    assert_eq!(own[2].as_outcome().unwrap().call_id, None);
    assert_eq!(own[3].as_outcome().unwrap().call_id.as_deref(), Some("functions.f:0"));
    assert!(!codec().profile(&Target::default()).ids.required);
}

#[test]
fn numbers_keep_their_digits() {
    let digits = r#"{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1e400,"e":0.1,"f":0.10}"#;
    let own = parts(&format!(
        r#"[{{"functionCall":{{"name":"f","args":{digits}}}}},
            {{"functionResponse":{{"name":"f","response":{{"output":{digits}}}}}}}]"#
    ));
    let arguments = Arguments::Json(JsonText::new(digits).unwrap());
    assert_eq!(own[0].as_call().unwrap().arguments, arguments);
    assert_eq!(own[1].as_outcome().unwrap().content[0].body, Body::Json(parse(digits)));
    let call = format!(r#"[{{"functionCall":{{"name":"f","args":{digits}}}}}]"#);
    let whole = response(&chunk(&call, "STOP"));
    assert_eq!(whole.parts[0].as_call().unwrap().arguments, arguments);
    assert_eq!(join(stream(&[&chunk(&call, "STOP")])).unwrap(), whole);
}

#[test]
fn paths_name_the_model_and_the_stream_and_return() {
    for (path, model, stream) in [
        ("/v1beta/models/gemini-3:generateContent", "gemini-3", false),
        ("/v1/models/gemini-3:streamGenerateContent?alt=sse", "gemini-3", true),
        ("/v1beta1/publishers/google/models/gemini-3:generateContent", "gemini-3", false),
        ("/v1beta/models/openai/gpt-5:generateContent", "openai/gpt-5", false),
        ("/v1beta/models/openai%2Fgpt-5:generateContent", "openai/gpt-5", false),
        ("/v1beta/models/a%3Ab%20c:generateContent", "a:b c", false),
        ("/v1beta/models/claude:v1:generateContent", "claude:v1", false),
        ("/v1beta/models/qwen3%3A8b:generateContent", "qwen3:8b", false),
        ("/v1beta/tunedModels/mine-7:generateContent", "mine-7", false),
    ] {
        let own = request_at(path, r#"{"contents":[]}"#);
        assert_eq!(own.model.as_deref(), Some(model), "{path}");
        assert_eq!(own.stream, Some(stream), "{path}");
        assert_eq!(codec().encode_request(own).path, path);
    }
    // A different model or stream flag keeps the path before it; a key is never forwarded.
    let mut own = request_at("/v1/models/a:generateContent?key=secret", r#"{"contents":[]}"#);
    own.model = Some("b/c d".to_owned());
    own.stream = Some(true);
    let path = codec().encode_request(own).path;
    assert_eq!(path, "/v1/models/b%2Fc%20d:streamGenerateContent?alt=sse");
}

#[test]
fn a_body_alone_may_name_the_model_or_not() {
    let own = request(r#"{"model":"models/gemini-3","contents":[]}"#);
    assert_eq!(own.model.as_deref(), Some("gemini-3"));
    assert_eq!(own.stream, None);
    assert_eq!(codec().encode_request(own).path, "/v1beta/models/gemini-3:generateContent");
    let own = request(r#"{"contents":[]}"#);
    assert_eq!(own.model, None);
    assert_eq!(codec().encode_request(own).path, "");
}

#[test]
fn keys_are_read_in_either_case_and_written_in_camel_case() {
    let body = r#"{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"AA=="}},
        {"file_data":{"mime_type":"audio/wav","file_uri":"gs://a/b"},"video_metadata":{"fps":1}}]}],
        "system_instruction":{"parts":[{"text":"s"}]},
        "generation_config":{"max_output_tokens":5,"top_p":0.9,"stop_sequences":["x"],"seed":3,
            "candidate_count":1,"response_mime_type":"application/json",
            "response_schema":{"type":"OBJECT","any_of":[]},
            "thinking_config":{"include_thoughts":true,"thinking_budget":2048,"thinking_level":"low"}},
        "safety_settings":[{"category":"C","threshold":"T"}],"cached_content":"cachedContents/1"}"#;
    let own = request(body);
    assert_eq!(own.sampling.max_tokens.as_ref().unwrap().as_str(), "5");
    assert_eq!(own.sampling.stop, ["x"]);
    let thinking = own.thinking.clone().unwrap();
    assert_eq!((thinking.enabled, thinking.effort.as_deref()), (Some(true), Some("low")));
    assert!(matches!(&own.format, Some(Format::Schema(format))
        if format.schema == parse(r#"{"type":"object","anyOf":[]}"#)));
    let kinds: Vec<_> = own.messages[0].parts.iter().map(|part| part.body.clone()).collect();
    let audio = MediaSource::File(Dialect::Gemini, "gs://a/b".to_owned());
    assert!(matches!(&kinds[0], Body::Media(Media { kind: MediaKind::Image, .. })));
    assert!(
        matches!(&kinds[1], Body::Media(Media { kind: MediaKind::Audio, source, .. }) if *source == audio)
    );
    let text = codec().encode_request(own).body.to_string();
    for key in ["inlineData", "mimeType", "systemInstruction", "maxOutputTokens", "candidateCount"]
    {
        assert!(text.contains(&format!("\"{key}\"")), "{key}");
    }
}

#[test]
fn thinking_is_switched_by_budget_and_thoughts() {
    let thinking = |config: &str| {
        let body = format!(r#"{{"contents":[],"generationConfig":{{"thinkingConfig":{config}}}}}"#);
        request(&body).thinking
    };
    assert_eq!(thinking(r#"{"thinkingBudget":0}"#).unwrap().enabled, Some(false));
    let off = thinking(r#"{"thinkingBudget":0,"includeThoughts":true}"#);
    assert_eq!(off.unwrap().enabled, Some(false));
    assert_eq!(thinking(r#"{"thinkingBudget":-1}"#), None);
    assert_eq!(thinking(r#"{"includeThoughts":false}"#), None);
    let level = thinking(r#"{"thinkingLevel":"HIGH"}"#).unwrap();
    assert_eq!((level.enabled, level.effort.as_deref()), (None, Some("high")));
}

#[test]
fn answer_formats_return() {
    let format =
        |config: &str| request(&format!(r#"{{"contents":[],"generationConfig":{config}}}"#)).format;
    assert_eq!(format(r#"{"responseMimeType":"application/json"}"#), Some(Format::Json));
    assert_eq!(format(r#"{"responseMimeType":"text/plain"}"#), Some(Format::Text));
    assert_eq!(format(r#"{"responseMimeType":"text/x.other"}"#), None);
    let chosen =
        r#"{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["a"]}}"#;
    assert!(matches!(format(chosen), Some(Format::Schema(_))));
    let full = r#"{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}"#;
    assert!(matches!(format(full), Some(Format::Schema(_))));
}

#[test]
fn outcomes_are_results_failures_or_whole_objects() {
    let outcome = |response: &str| {
        let part = format!(r#"[{{"functionResponse":{{"name":"f","response":{response}}}}}]"#);
        parts(&part).remove(0).as_outcome().cloned().unwrap()
    };
    let text = |text: &str| Body::Text(text.into());
    let plain = outcome(r#"{"output":"fine"}"#);
    assert_eq!((plain.error, &plain.content[0].body), (None, &text("fine")));
    let failed = outcome(r#"{"error":"no"}"#);
    assert_eq!((failed.error, &failed.content[0].body), (Some(true), &text("no")));
    let detailed = outcome(r#"{"error":{"code":5}}"#);
    assert_eq!(detailed.content[0].body, Body::Json(parse(r#"{"code":5}"#)));
    for whole in [r#"{"temp":1}"#, r#"{"output":1,"error":null}"#, r#"{"error":null}"#] {
        let own = outcome(whole);
        assert_eq!((own.error, &own.content[0].body), (None, &Body::Json(parse(whole))));
    }
    assert_eq!(outcome("{}").content, []);
    let silent = outcome(r#"{"error":""}"#);
    assert_eq!((silent.error, silent.content.len()), (Some(true), 0));
    let own = parts(
        r#"[{"functionResponse":{"id":"1","name":"f","response":{"output":[]},"scheduling":"SILENT",
            "parts":[{"inlineData":{"mimeType":"image/png","data":"AA==","displayName":"a.png"}},
                     {"future":{}}]}}]"#,
    );
    let content = &own[0].as_outcome().unwrap().content;
    assert!(matches!(content[1].body, Body::Media(_)));
    assert!(matches!(content[2].body, Body::Opaque(_)));
}

#[test]
fn a_failure_of_null_stays_a_failure() {
    let null = Part::new(Body::Json(Json::Null));
    let failed = Outcome {
        call_id: Some("call_1".to_owned()),
        name: Some("f".to_owned()),
        content: vec![null],
        error: Some(true),
    };
    let call = Call::new("call_1", "f", Arguments::Json(JsonText::new("{}").unwrap()));
    let messages = vec![
        Message::new(Role::User, vec![Part::text("x")]),
        Message::new(Role::Assistant, vec![Part::call(call)]),
        Message::tool(failed),
    ];
    let profile = codec().profile(&Target { model: Some("m"), version: None });
    let fitted = fit(Request { messages, ..Request::default() }, Dialect::Gemini, &profile);
    let wire = codec().encode_request(fitted.request);
    let response = wire.body.pointer("/contents/2/parts/0/functionResponse/response");
    assert_eq!(response, Some(&parse(r#"{"error":"null"}"#)));
    assert!(fitted.losses.iter().any(|loss| loss.what == "JSON becomes text"));
}

#[test]
fn tools_keep_their_entries() {
    let own = request(
        r#"{"contents":[],"tools":[
            {"functionDeclarations":[{"name":"a"},{"name":"b"}]},
            {"functionDeclarations":[{"name":"c"}],"codeExecution":{}},
            {"functionDeclarations":[{"name":"d"}]},
            {"googleSearch":{"timeRangeFilter":{}}},
            {"urlContext":{}},
            {"functionDeclarations":[{"name":"e"}]}]}"#,
    );
    let names: Vec<_> = own.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "codeExecution", "d", "googleSearch", "urlContext", "e"]);
    assert_eq!(own.tools[1].origin.pointer(), Some("/tools/0/functionDeclarations/1"));
    assert!(matches!(own.tools[5].kind, ToolKind::Hosted(_)));
}

#[test]
fn tools_are_read_in_any_shape() {
    let schema = r#"{"type":"object","properties":{}}"#;
    let expected = Tool::function("f", parse(schema)).with_description("d");
    for wire in [
        format!(r#"{{"name":"f","description":"d","parametersJsonSchema":{schema}}}"#),
        format!(r#"{{"name":"f","description":"d","input_schema":{schema}}}"#),
        format!(r#"{{"type":"function","name":"f","description":"d","parameters":{schema}}}"#),
        format!(
            r#"{{"type":"function","function":{{"name":"f","description":"d","parameters":{schema}}}}}"#
        ),
        format!(
            r#"{{"functionDeclarations":[{{"name":"f","description":"d","parametersJsonSchema":{schema}}}]}}"#
        ),
    ] {
        let tool = codec().decode_tool(parse(&wire)).unwrap();
        assert_eq!(tool, expected, "{wire}");
        let again = codec().encode_tool(&tool);
        assert_eq!(again.get("parametersJsonSchema"), Some(&parse(schema)));
        let body = request_at("", &format!(r#"{{"contents":[],"tools":[{wire}]}}"#));
        assert_eq!(body.tools.as_slice(), std::slice::from_ref(&expected), "{wire}");
    }
    assert!(codec().decode_tool(parse(r#"{"functionDeclarations":[]}"#)).is_err());
}

#[test]
fn roles_may_be_absent_or_old() {
    let own = request(
        r#"{"contents":[{"parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},
            {"role":"function","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}"#,
    );
    let roles: Vec<_> = own.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    let wire = parse(r#"{"contents":[{"role":"wizard","parts":[]}]}"#);
    let error = codec()
        .decode_request(WireRequest { path: String::new(), headers: vec![], body: wire })
        .unwrap_err();
    assert_eq!(error.to_string(), "gemini: /contents/0/role: expected user or model");
}

#[test]
fn finish_reasons_keep_their_words() {
    for (word, reason) in [
        ("STOP", StopReason::End),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Filtered),
        ("RECITATION", StopReason::Filtered),
        ("UNEXPECTED_TOOL_CALL", StopReason::MalformedCall),
        ("CONTINUATION", StopReason::Pause),
        ("MALFORMED_RESPONSE", StopReason::Failed),
        ("FUTURE", StopReason::End),
    ] {
        let body = chunk(r#"[{"text":"a"}]"#, word);
        assert_eq!(response(&body).stop.reason, reason, "{word}");
        assert_eq!(join(stream(&[&body])).unwrap(), response(&body), "{word}");
        let body = chunk(r#"[{"functionCall":{"name":"f","args":{}}}]"#, word);
        let calls = if reason == StopReason::End { StopReason::ToolUse } else { reason };
        assert_eq!(response(&body).stop.reason, calls, "{word}");
    }
}

#[test]
fn extra_fields_and_further_candidates_return() {
    let own = response(
        r#"{"candidates":[
            {"content":{"parts":[{"text":"a"}],"role":"model"},"finishReason":"STOP","index":0,
             "safetyRatings":[{"category":"C"}],"citationMetadata":{"citationSources":[]}},
            {"content":{"parts":[{"text":"b"}],"role":"model"},"finishReason":"STOP","index":1}],
            "createTime":"2026-11-15T00:00:00Z"}"#,
    );
    assert_eq!(own.parts.len(), 1);
    assert!(own.stop.extra.get(Dialect::Gemini, "safetyRatings").is_some());
}

#[test]
fn a_blocked_prompt_has_no_candidates() {
    let own = response(
        r#"{"promptFeedback":{"block_reason":"SAFETY"},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}"#,
    );
    assert_eq!((own.parts.len(), own.stop.reason), (0, StopReason::Filtered));
    assert_eq!(own.usage.unwrap().output, None);
}

#[test]
fn model_armor_is_a_filter() {
    for reason in ["MODEL_ARMOR", "SAFETY"] {
        let body = chunk("[]", reason);
        assert_eq!(response(&body).stop.reason, StopReason::Filtered, "{reason}");
        assert_eq!(join(stream(&[&body])).unwrap().stop.reason, StopReason::Filtered, "{reason}");
    }
}

#[test]
fn usage_follows_the_canonical_convention() {
    let usage = |counts: &str| {
        let body = chunk(r#"[{"text":"a"}]"#, "STOP");
        let body = body.replacen('{', &format!(r#"{{"usageMetadata":{counts},"#), 1);
        assert_eq!(join(stream(&[&body])).unwrap(), response(&body));
        response(&body).usage.unwrap()
    };
    let own = usage(
        r#"{"promptTokenCount":182,"cachedContentTokenCount":128,"candidatesTokenCount":67,
            "thoughtsTokenCount":24,"toolUsePromptTokenCount":9,"totalTokenCount":282}"#,
    );
    // Tokens of the vendor's own tools are input, in addition to the prompt.
    assert_eq!((own.input, own.cache_read, own.output), (Some(63), Some(128), Some(91)));
    assert_eq!((own.reasoning, own.total()), (Some(24), 282));
    let keys: Vec<_> = own.extra.fields().unwrap().keys().collect();
    assert_eq!(keys, ["toolUsePromptTokenCount"]);
    // Inconsistent or redundant counts still return unchanged.
    usage(r#"{"promptTokenCount":1,"cachedContentTokenCount":5,"totalTokenCount":99}"#);
    usage(
        r#"{"promptTokenCount":1,"candidatesTokenCount":0,"thoughtsTokenCount":3,"totalTokenCount":4}"#,
    );
    usage(r#"{"promptTokenCount":1,"thoughtsTokenCount":3,"totalTokenCount":4}"#);
}

#[test]
fn the_encoder_writes_complete_unnamed_chunks() {
    let whole = fixtures::json(Dialect::Gemini, "accepted/gemini_tools.json");
    let whole = codec().decode_response(WireReply::ok(whole)).unwrap();
    let mut encoder = codec().stream_encoder(&ReplyContext::default());
    let mut frames = Vec::new();
    encoder.encode(Event::Ping, &mut frames);
    for event in split(whole) {
        encoder.encode(event, &mut frames);
    }
    let chunks: Vec<Json> = frames.iter().map(|frame| parse(&frame.data)).collect();
    assert!(frames.iter().all(|frame| frame.name.is_none()));
    let finish = |chunk: &Json| chunk.pointer("/candidates/0/finishReason").cloned();
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(finish(last), Some("STOP".into()));
    assert!(last.get("usageMetadata").is_some());
    assert!(others.iter().all(|chunk| finish(chunk).is_none()));
    let calls: Vec<_> = others
        .iter()
        .filter_map(|chunk| chunk.pointer("/candidates/0/content/parts/0/functionCall/args"))
        .collect();
    assert_eq!(calls.len(), 2);
}

#[test]
fn interleaved_fragments_become_whole_calls_in_order() {
    let open = |index, name: &str| Event::PartStart {
        index,
        head: Head::Call { id: None, name: name.to_owned(), free: false },
        extra: toolwright_core::Extra::NONE,
    };
    let grow =
        |index, text: &str| Event::PartDelta { index, delta: Delta::Arguments(text.to_owned()) };
    let close = |index| Event::PartEnd { index, tail: toolwright_core::event::Tail::default() };
    let mut encoder = codec().stream_encoder(&ReplyContext::default());
    let mut frames = Vec::new();
    for event in [
        open(0, "a"),
        open(1, "b"),
        grow(0, "{\"x\""),
        grow(1, "{}"),
        close(1),
        grow(0, ":1}"),
        close(0),
    ] {
        encoder.encode(event, &mut frames);
    }
    let calls: Vec<String> = frames
        .iter()
        .map(|frame| {
            let chunk = parse(&frame.data);
            chunk.pointer("/candidates/0/content/parts/0/functionCall").unwrap().to_string()
        })
        .collect();
    assert_eq!(calls, [r#"{"name":"a","args":{"x":1}}"#, r#"{"name":"b","args":{}}"#]);
}

#[test]
fn a_stream_that_ends_early_is_a_fault() {
    let events = stream(&[&chunk(r#"[{"text":"a"}]"#, "")]);
    assert!(
        matches!(events.last(), Some(Event::Fault(fault)) if fault.class == FaultClass::Internal)
    );
    let events =
        stream(&[r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#]);
    assert!(
        matches!(events.last(), Some(Event::Fault(fault)) if fault.class == FaultClass::RateLimited)
    );
}

#[test]
fn faults_carry_the_retry_delay() {
    let fault = |delay: &str| {
        let body = format!(
            r#"[{{"error":{{"code":503,"message":"m","status":"UNAVAILABLE","details":[
                {{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{delay}"}}]}}}}]"#
        );
        codec().decode_fault(WireReply { status: 503, headers: vec![], body: parse(&body) })
    };
    for (delay, millis) in [("17s", 17_000), ("0.5s", 500), ("1.000000001s", 1_000)] {
        assert_eq!(fault(delay).retry_after_ms, Some(millis), "{delay}");
    }
    assert_eq!(fault("-1s").retry_after_ms, None);
    assert_eq!(fault("soon").retry_after_ms, None);
    // A fault of another dialect carries the delay as well.
    let mut foreign = toolwright_core::Fault::new(FaultClass::RateLimited, "slow down");
    foreign.retry_after_ms = Some(1_500);
    let reply = codec().encode_fault(&foreign);
    assert_eq!(reply.status, 429);
    assert_eq!(reply.body.pointer("/error/details/0/retryDelay"), Some(&"1.500s".into()));
    assert_eq!(codec().decode_fault(reply).retry_after_ms, Some(1_500));
    // Codes that share a class return unchanged.
    let body = parse(r#"{"error":{"code":409,"message":"m","status":"ABORTED"}}"#);
    let wire = WireReply { status: 409, headers: vec![], body: body.clone() };
    let again = codec().encode_fault(&codec().decode_fault(wire));
    assert_eq!((again.status, again.body), (409, body));
    let strange = WireReply { status: 502, headers: vec![], body: Json::Null };
    assert_eq!(codec().decode_fault(strange).class, FaultClass::Internal);
}
