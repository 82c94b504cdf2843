//! Bedrock: paths, unions, breakpoints, exact numbers, streams by block index, faults.

use toolwright_core::event::Event;
use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::part::CacheMark;
use toolwright_core::request::Format;
use toolwright_core::tool::ToolKind;
use toolwright_core::{
    Body, Fault, FaultClass, Json, Request, Response, Role, StopReason, Tool, ToolChoice,
};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, FrameStatus, ReplyContext, Target, WireReply, WireRequest,
};
use toolwright_dialects::frame::Frame;
use toolwright_dialects::translate::{Options, Translator};

use crate::fixtures;

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::Bedrock).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn decode(path: &str, body: &str) -> Request {
    let wire = WireRequest { path: path.to_owned(), headers: vec![], body: json(body) };
    codec().decode_request(wire).unwrap()
}

/// Decodes a body and asserts that it encodes to the same body.
fn request(body: &str) -> Request {
    fixtures::request(codec(), &json(body))
}

/// Decodes the content of a user message and asserts that it encodes to the same content.
fn content(blocks: &str) -> Vec<toolwright_core::Part> {
    let body = format!(r#"{{"messages":[{{"role":"user","content":{blocks}}}]}}"#);
    request(&body).messages.remove(0).parts
}

/// Decodes a reply with this content and these other fields, and asserts that it encodes to the
/// same reply.
fn reply(content: &str, rest: &str) -> Response {
    let body = json(&format!(
        r#"{{"output":{{"message":{{"role":"assistant","content":{content}}}}},
            "usage":{{"inputTokens":1,"outputTokens":2,"totalTokens":3}},
            "metrics":{{"latencyMs":4}},{rest}}}"#
    ));
    fixtures::response(codec(), &body)
}

/// Decodes a stream written as `event-type payload` lines.
fn events(lines: &str) -> Vec<Event> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let frames = lines.map(|line| {
        let (name, data) = line.split_once(' ').unwrap();
        Frame { exception: name.ends_with("Exception"), ..Frame::named(name, data) }
    });
    fixtures::decoded(codec(), frames)
}

fn encode(events: Vec<Event>) -> Vec<Frame> {
    fixtures::encoded(codec(), events, &ReplyContext::default())
}

/// Encodes a response as a stream and decodes it again.
fn streamed(response: &Response) -> Response {
    join(fixtures::decoded(codec(), encode(split(response.clone())))).unwrap()
}

#[test]
fn the_stream_joins_to_the_whole_reply_law_3() {
    let bytes = fixtures::bytes(Dialect::Bedrock, "accepted/bedrock_converse_stream.bin");
    let joined = join(fixtures::events(codec(), &bytes)).unwrap();
    let mut whole = fixtures::json(Dialect::Bedrock, "accepted/bedrock_converse_tools.json");
    // The recorded stream lacks two fields and the redacted thinking.
    let fields = whole.as_object_mut().unwrap();
    fields.remove("performanceConfig");
    fields.remove("serviceTier");
    let mut whole = codec().decode_response(WireReply::ok(whole)).unwrap();
    assert!(matches!(&whole.parts[1].body, Body::Reasoning(own) if own.redacted));
    whole.parts.remove(1);
    assert_eq!(joined, whole);
}

#[test]
fn the_path_names_the_model_and_the_stream() {
    let arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x-v1:0";
    let escaped =
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.x-v1%3A0";
    for (path, stream) in [
        (format!("/model/{escaped}/converse"), false),
        (format!("/model/{arn}/converse"), false),
        (format!("/bedrock/model/{arn}/converse-stream?x=1"), true),
    ] {
        let request = decode(&path, r#"{"messages":[]}"#);
        assert_eq!(request.model.as_deref(), Some(arn), "{path}");
        assert_eq!(request.stream, Some(stream), "{path}");
        let verb = if stream { "converse-stream" } else { "converse" };
        assert_eq!(codec().encode_request(request).path, format!("/model/{escaped}/{verb}"));
    }
    assert_eq!(decode("", "{}").model, None);
    assert_eq!(codec().encode_request(decode("", "{}")).path, "");
    assert_eq!(
        decode("", r#"{"modelId":"amazon.nova-pro-v1:0"}"#).model.unwrap(),
        "amazon.nova-pro-v1:0"
    );
    let wire = WireRequest { path: "/model/x/invoke".to_owned(), ..WireRequest::default() };
    assert!(codec().decode_request(WireRequest { body: json("{}"), ..wire }).is_err());
}

#[test]
fn a_union_has_exactly_one_member() {
    let wire = |block: &str| WireRequest {
        body: json(&format!(r#"{{"messages":[{{"role":"user","content":[{block}]}}]}}"#)),
        ..WireRequest::default()
    };
    for block in [r#"{"text":"a","image":{}}"#, "{}", r#""a""#] {
        let error = codec().decode_request(wire(block)).unwrap_err();
        assert_eq!(error.pointer, "/messages/0/content/0", "{block}");
    }
    // Fields beside a union member cannot be represented, but the member is still accepted.
    for block in [r#"{"text":"a","image":null}"#, r#"{"type":"text","text":"a"}"#] {
        let request = codec().decode_request(wire(block)).unwrap();
        assert_eq!(request.messages[0].parts[0].as_text(), Some("a"), "{block}");
    }
    // Extra fields and origins belong to the member.
    let parts = content(
        r#"[{"toolUse":{"toolUseId":"t","name":"n","input":{},"later":1}},
            {"text":"a"},
            {"reasoningContent":{"reasoningText":{"text":"b","signature":"s","later":2}}},
            {"guardContent":{"text":{"text":"c"}}},
            {"image":{"format":"png","source":{"s3Location":{"uri":"s3://bucket/key"}}}},
            {"document":{"name":"d","source":{"content":[{"text":"e"}]}}}]"#,
    );
    let origins: Vec<_> = parts.iter().map(|part| part.origin.to_string()).collect();
    assert_eq!(
        origins,
        [
            "/messages/0/content/0/toolUse",
            "/messages/0/content/1",
            "/messages/0/content/2/reasoningContent/reasoningText",
            "/messages/0/content/3",
            "/messages/0/content/4",
            "/messages/0/content/5",
        ]
    );
    assert!(parts[3..].iter().all(|part| matches!(part.body, Body::Opaque(_))));
}

#[test]
fn every_format_returns() {
    for (kind, formats) in [
        ("image", "png jpeg gif webp avif"),
        ("document", "pdf csv doc docx xls xlsx html txt md epub"),
        ("audio", "mp3 opus wav aac flac mp4 ogg mkv mka x-aac m4a mpeg mpga pcm webm"),
        ("video", "mkv mov mp4 webm flv mpeg mpg wmv three_gp"),
    ] {
        for format in formats.split(' ') {
            let name = if kind == "document" { r#""name":"d","# } else { "" };
            let block = format!(
                r#"{{"{kind}":{{"format":"{format}",{name}"source":{{"bytes":"AAA="}}}}}}"#
            );
            let parts = content(&format!("[{block}]"));
            let Body::Media(media) = &parts[0].body else { panic!("{block}") };
            let known = !matches!(format, "avif" | "epub");
            assert_eq!(media.mime.is_some(), known, "{block}");
        }
    }
    let parts = content(
        r#"[{"document":{"name":"notes","source":{"text":"plain"},"citations":{"enabled":true}}}]"#,
    );
    assert!(matches!(&parts[0].body, Body::Media(media) if media.name.as_deref() == Some("notes")));
}

#[test]
fn parallel_calls_are_kept_apart_by_block_index() {
    let joined = join(events(
        r#"
        messageStart {"role":"assistant","p":"abc"}
        contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"one"}}}
        contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"b","name":"two"}}}
        contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"x\""}}}
        contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"y\":"}},"p":"ab"}
        contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":":1}"}}}
        contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"2}"}}}
        contentBlockStop {"contentBlockIndex":2}
        contentBlockStop {"contentBlockIndex":1}
        contentBlockStart {"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"c","name":"none"}}}
        contentBlockStop {"contentBlockIndex":3}
        messageStop {"stopReason":"tool_use","p":"abcd"}
        metadata {"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":4},"p":"a"}
        "#,
    ))
    .unwrap();
    let whole = reply(
        r#"[{"toolUse":{"toolUseId":"a","name":"one","input":{"y":2}}},
            {"toolUse":{"toolUseId":"b","name":"two","input":{"x":1}}},
            {"toolUse":{"toolUseId":"c","name":"none","input":{}}}]"#,
        r#""stopReason":"tool_use""#,
    );
    assert_eq!(joined, whole);
    assert_eq!(streamed(&whole), whole);
}

#[test]
fn only_calls_have_a_start_event() {
    let whole = reply(
        r#"[{"reasoningContent":{"reasoningText":{"text":"","signature":"s"}}},
            {"reasoningContent":{"redactedContent":"b3BhcXVl"}},
            {"text":""},{"text":"a"},
            {"toolUse":{"toolUseId":"t","name":"n","input":{}}}]"#,
        r#""stopReason":"tool_use","additionalModelResponseFields":{"k":1},"trace":{"x":1}"#,
    );
    assert_eq!(streamed(&whole), whole);
    let names: Vec<_> = encode(split(whole)).into_iter().map(|frame| frame.name.unwrap()).collect();
    assert_eq!(names.iter().filter(|name| *name == "contentBlockStart").count(), 1);
    assert_eq!(names[names.len() - 2..], ["messageStop", "metadata"]);
}

#[test]
fn calls_that_the_vendor_runs_are_not_client_calls() {
    let whole = reply(
        r#"[{"toolUse":{"toolUseId":"a","name":"grounding","type":"server_tool_use","input":{"q":1}}},
            {"toolResult":{"toolUseId":"a","type":"grounding_result","status":"success","content":[{"text":"x"},{"json":{"y":1}}]}},
            {"image":{"format":"png","source":{"bytes":"AAECAwQF"}}},
            {"citationsContent":{"content":[{"text":"so it is"}],"citations":[{"title":"t"},{"title":"u"}]}}]"#,
        r#""stopReason":"end_turn""#,
    );
    assert_eq!(whole.stop.reason, StopReason::End);
    assert_eq!(whole.parts[3].as_text(), Some("so it is"));
    assert_eq!(streamed(&whole), whole);
    let joined = join(events(
        r#"
        messageStart {"role":"assistant"}
        contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"grounding","type":"server_tool_use"}}}
        contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"q\""}}}
        contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":":1}"}}}
        contentBlockStop {"contentBlockIndex":0}
        contentBlockStart {"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"a","type":"grounding_result","status":"success"}}}
        contentBlockDelta {"contentBlockIndex":1,"delta":{"toolResult":[{"text":"x"}]}}
        contentBlockDelta {"contentBlockIndex":1,"delta":{"toolResult":[{"json":{"y":1}}]}}
        contentBlockStop {"contentBlockIndex":1}
        contentBlockStart {"contentBlockIndex":2,"start":{"image":{"format":"png"}}}
        contentBlockDelta {"contentBlockIndex":2,"delta":{"image":{"source":{"bytes":"AA=="}}}}
        contentBlockDelta {"contentBlockIndex":2,"delta":{"image":{"source":{"bytes":"AQIDBAU="}}}}
        contentBlockStop {"contentBlockIndex":2}
        contentBlockDelta {"contentBlockIndex":3,"delta":{"text":"so it "}}
        contentBlockDelta {"contentBlockIndex":3,"delta":{"citation":{"title":"t"}}}
        contentBlockDelta {"contentBlockIndex":3,"delta":{"text":"is"}}
        contentBlockDelta {"contentBlockIndex":3,"delta":{"citation":{"title":"u"}}}
        contentBlockStop {"contentBlockIndex":3}
        messageStop {"stopReason":"end_turn"}
        metadata {"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":4}}
        "#,
    ))
    .unwrap();
    let value = |response: &Response| {
        let bodies = response.parts.iter().map(|part| &part.body);
        bodies.map(|body| format!("{body:?}")).collect::<Vec<_>>()
    };
    assert_eq!(value(&joined)[1..], value(&whole)[1..]);
    let own = |response: &Response| match &response.parts[0].body {
        Body::Opaque(opaque) => opaque.value.clone(),
        body => panic!("{body:?}"),
    };
    assert!(own(&joined).same(&own(&whole)));
}

#[test]
fn tool_use_with_a_type_field_is_a_call() {
    let whole = reply(
        r#"[{"text":"I look it up."},
            {"toolUse":{"toolUseId":"tooluse_1","name":"lookup","input":{"city":"Oslo"},"type":"tool_use"}},
            {"toolUse":{"toolUseId":"tooluse_2","name":"lookup","input":{},"type":"client_tool_use"}}]"#,
        r#""stopReason":"tool_use""#,
    );
    assert_eq!(whole.calls().count(), 2);
    assert_eq!(whole.stop.reason, StopReason::ToolUse);
    let streamed_reply = join(events(
        r#"
        messageStart {"role":"assistant"}
        contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"I look it up."}}
        contentBlockStop {"contentBlockIndex":0}
        contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"tooluse_1","name":"lookup","type":"tool_use"}}}
        contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"city\":"}}}
        contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"\"Oslo\"}"}}}
        contentBlockStop {"contentBlockIndex":1}
        contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"tooluse_2","name":"lookup","type":"client_tool_use"}}}
        contentBlockStop {"contentBlockIndex":2}
        messageStop {"stopReason":"tool_use"}
        metadata {"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":4}}
        "#,
    ))
    .unwrap();
    assert_eq!(streamed_reply, whole);
    // The type also returns in a stream of the same dialect.
    assert_eq!(streamed(&whole), whole);
    // A client sends the calls back unchanged, and the results in a form of its own.
    let history = request(
        r#"{"messages":[
            {"role":"assistant","content":[{"toolUse":{"toolUseId":"tooluse_1","name":"lookup","input":{},"type":"tool_use"}}]},
            {"role":"user","content":[{"toolResult":{"toolUseId":"tooluse_1","content":[{"text":"rain"}],"type":"tool_result"}}]}]}"#,
    );
    assert!(matches!(history.messages[0].parts[0].body, Body::Call(_)));
    assert!(matches!(history.messages[1].parts[0].body, Body::Outcome(_)));
}

#[test]
fn cited_text_is_text_whatever_accompanies_it() {
    let whole = reply(
        r#"[{"citationsContent":{"content":[{"text":"So it "},{"text":"is."}],"citations":[{"title":"t"}]}},
            {"citationsContent":{"content":[{"text":" Or not."}],"citations":[],"later":1}},
            {"citationsContent":{"content":[{"text":" Well."}]}}]"#,
        r#""stopReason":"end_turn""#,
    );
    assert_eq!(whole.text(), "So it is. Or not. Well.");
}

#[test]
fn a_text_block_may_start_with_an_empty_start() {
    let events = events(
        r#"
        messageStart {"role":"assistant"}
        contentBlockStart {"contentBlockIndex":0,"start":{}}
        contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"a"}}
        contentBlockStop {"contentBlockIndex":0}
        messageStop {"stopReason":"end_turn"}
        metadata {"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}
        "#,
    );
    assert_eq!(join(events).unwrap().text(), "a");
}

#[test]
fn a_repeated_type_is_no_loss_elsewhere() {
    let body = json(
        r#"{"output":{"message":{"role":"assistant","content":[
            {"toolUse":{"toolUseId":"tooluse_1","name":"lookup","input":{},"type":"tool_use"}}]}},
            "stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}"#,
    );
    let to = dialect::codec(Dialect::Anthropic).unwrap();
    let options = Options::default();
    let translated = Translator::new(codec(), to, &options).response(WireReply::ok(body)).unwrap();
    assert_eq!(translated.value.body.pointer("/content/0/type"), Some(&Json::from("tool_use")));
    assert_eq!(translated.report.losses, []);
}

#[test]
fn redacted_thinking_streams() {
    let joined = join(events(
        r#"
        contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"b3Bh"}}}
        contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"cXVl"}}}
        contentBlockStop {"contentBlockIndex":0}
        messageStop {"stopReason":"end_turn"}
        "#,
    ))
    .unwrap();
    assert_eq!(joined.parts[0].signature.as_ref().unwrap().value, "b3BhcXVl");
}

#[test]
fn a_stream_ends_with_its_usage_or_with_its_bytes() {
    let text = r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"a"}}"#;
    let stop = r#"messageStop {"stopReason":"max_tokens"}"#;
    let whole = events(&format!("{text}\n{stop}"));
    assert_eq!(whole.last(), Some(&Event::End));
    assert_eq!(join(whole).unwrap().stop.reason, StopReason::MaxTokens);
    let cut = events(text);
    assert!(matches!(cut.last(), Some(Event::Fault(fault)) if fault.class == FaultClass::Internal));
    // A delta of a call that was never opened is an error.
    let frame = Frame::named(
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}"#,
    );
    assert!(codec().stream_decoder().decode(&frame, &mut Vec::new()).is_err());
    let later = Frame::named("futureEvent", "{}");
    assert_eq!(
        codec().stream_decoder().decode(&later, &mut Vec::new()).unwrap(),
        FrameStatus::Unknown
    );
}

#[test]
fn stop_reasons_return() {
    for (word, reason) in [
        ("end_turn", StopReason::End),
        ("max_tokens", StopReason::MaxTokens),
        ("stop_sequence", StopReason::StopSequence),
        ("guardrail_intervened", StopReason::Filtered),
        ("content_filtered", StopReason::Filtered),
        ("malformed_model_output", StopReason::MalformedCall),
        ("malformed_tool_use", StopReason::MalformedCall),
        ("model_context_window_exceeded", StopReason::ContextWindow),
        ("weird", StopReason::End),
    ] {
        let response = reply(r#"[{"text":"a"}]"#, &format!(r#""stopReason":"{word}""#));
        assert_eq!(response.stop.reason, reason, "{word}");
        assert_eq!(streamed(&response), response, "{word}");
    }
}

#[test]
fn required_reply_fields_are_written_and_not_decoded() {
    let reply = codec().encode_response(Response::default(), &ReplyContext::default());
    assert_eq!(reply.body.pointer("/metrics/latencyMs"), Some(&json("0")));
    assert_eq!(reply.body.pointer("/usage/totalTokens"), Some(&json("0")));
    let again = codec().decode_response(reply).unwrap();
    assert!(again.stop.extra.is_empty() && again.usage.unwrap().extra.is_empty());
    let id = Response { id: Some("r-1".to_owned()), ..Response::default() };
    let reply = codec().encode_response(id, &ReplyContext::default());
    assert_eq!(reply.header("x-amzn-requestid"), Some("r-1"));
    assert_eq!(codec().decode_response(reply).unwrap().id.as_deref(), Some("r-1"));
}

#[test]
fn settings_return() {
    let request = request(
        r#"{"system":[{"text":"s"},{"guardContent":{"text":{"text":"g"}}}],
            "messages":[{"role":"user","content":[{"text":"u"}]}],
            "inferenceConfig":{"maxTokens":10,"temperature":0.10,"topP":1e-1,"stopSequences":["x"],"later":1},
            "additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024},"top_k":5,"anthropic_beta":["b"]},
            "outputConfig":{"effort":"high","textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\": \"object\"}","name":"n"}}}},
            "guardrailConfig":{"guardrailIdentifier":"g"},"serviceTier":{"type":"flex"}}"#,
    );
    let thinking = request.thinking.unwrap();
    assert_eq!((thinking.enabled, thinking.effort.as_deref()), (Some(true), Some("high")));
    assert_eq!(request.sampling.top_k.unwrap().as_str(), "5");
    let Some(Format::Schema(format)) = request.format else { panic!() };
    assert_eq!(format.schema.to_string(), r#"{"type":"object"}"#);
    // Schemas that are not simple stay unchanged.
    let request = self::request(
        r#"{"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1,"display":"loud"},"top_k":"x"}}"#,
    );
    assert!(request.thinking.is_none());
    for mode in [r#"{"type":"disabled"}"#, r#"{"type":"adaptive"}"#] {
        let body = format!(r#"{{"additionalModelRequestFields":{{"thinking":{mode}}}}}"#);
        assert!(self::request(&body).thinking.is_some());
    }
}

#[test]
fn choices_return() {
    let spec = r#"{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}"#;
    for (choice, expected) in [
        (r#"{"auto":{}}"#, ToolChoice::Auto),
        (r#"{"any":{}}"#, ToolChoice::Required),
        (r#"{"tool":{"name":"f"}}"#, ToolChoice::Tool("f".to_owned())),
        (r#"{"later":{}}"#, ToolChoice::Other(json(r#"{"later":{}}"#))),
    ] {
        let body = format!(r#"{{"toolConfig":{{"tools":[{spec}],"toolChoice":{choice}}}}}"#);
        assert_eq!(request(&body).tool_choice, Some(expected));
    }
    // The format cannot express "none", so no tool may be offered.
    let mut request = request(&format!(r#"{{"toolConfig":{{"tools":[{spec}]}}}}"#));
    request.tool_choice = Some(ToolChoice::None);
    assert_eq!(codec().encode_request(request).body.get("toolConfig"), None);
}

#[test]
fn tools_of_any_shape_are_read() {
    for wire in [
        r#"{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}"#,
        r#"{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}"#,
        r#"{"type":"function","name":"f","parameters":{"type":"object"}}"#,
        r#"{"name":"f","input_schema":{"type":"object"}}"#,
    ] {
        let tool = codec().decode_tool(json(wire)).unwrap();
        assert_eq!(tool, Tool::function("f", json(r#"{"type":"object"}"#)), "{wire}");
    }
    let tool = codec().decode_tool(json(r#"{"systemTool":{"name":"nova_grounding"}}"#)).unwrap();
    assert_eq!(tool.name, "nova_grounding");
    assert!(matches!(tool.kind, ToolKind::Hosted(_)));
}

#[test]
fn recorded_ids_are_legal_and_long_ones_are_not() {
    let rule = codec().profile(&Target::default()).ids;
    let legal = |id: &str| {
        (rule.min..=rule.max).contains(&id.len())
            && id.chars().all(|own| rule.charset.contains(own))
    };
    let mut count = 0;
    for (_, wire) in fixtures::requests(Dialect::Bedrock) {
        for message in codec().decode_request(wire).unwrap().messages {
            for call in message.parts.iter().filter_map(toolwright_core::Part::as_call) {
                assert!(legal(call.id.as_deref().unwrap()));
                count += 1;
            }
        }
    }
    assert!(count > 0);
    assert!(legal("functions.get_weather:0"));
    assert!(!legal(&"x".repeat(65)) && !legal("") && !legal("a/b"));
}

#[test]
fn an_outcome_without_content_is_read_and_never_sent() {
    let parts = content(
        r#"[{"toolResult":{"toolUseId":"a","content":[],"status":"success"}},
            {"toolResult":{"toolUseId":"b","content":[{"json":[]},{"searchResult":{"source":"s","title":"t","content":[]}}],"status":"later"}}]"#,
    );
    let outcome = parts[0].as_outcome().unwrap();
    assert!(outcome.content.is_empty() && outcome.error == Some(false));
    assert_eq!(parts[1].as_outcome().unwrap().error, None);
    assert!(!codec().profile(&Target::default()).outcome.empty);
}

#[test]
fn cache_points_keep_their_positions() {
    let point = r#"{"cachePoint":{"type":"default"}}"#;
    let hour = r#"{"cachePoint":{"type":"default","ttl":"1h"}}"#;
    let spec = r#"{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}"#;
    let request = request(&format!(
        r#"{{"system":[{{"text":"s"}},{hour}],
             "messages":[{{"role":"user","content":[{point},{{"text":"a"}},{hour},{point},
                {{"toolResult":{{"toolUseId":"t","content":[{{"text":"r"}}]}}}},{point},
                {{"guardContent":{{"text":{{"text":"g"}}}}}},{point},
                {{"text":"b"}},{{"cachePoint":{{"type":"later"}}}}]}}],
             "toolConfig":{{"tools":[{spec},{point},{{"systemTool":{{"name":"s"}}}},{hour}]}}}}"#
    ));
    let ttl = |mark: &Option<CacheMark>| mark.as_ref().map(|mark| mark.ttl.clone());
    let system = request.instructions.unwrap();
    assert_eq!(system.role, Role::System);
    assert_eq!(ttl(&system.parts[0].cache), Some(Some("1h".to_owned())));
    let marks: Vec<_> = request.messages[0].parts.iter().map(|part| ttl(&part.cache)).collect();
    let (plain, long) = (Some(None), Some(Some("1h".to_owned())));
    assert_eq!(marks, [None, long.clone(), None, plain.clone(), plain.clone(), None, None]);
    let origin = |mark: &Option<CacheMark>| mark.as_ref().unwrap().origin.to_string();
    assert_eq!(origin(&request.messages[0].parts[1].cache), "/messages/0/content/2/cachePoint");
    assert_eq!([ttl(&request.tools[0].cache), ttl(&request.tools[1].cache)], [plain, long]);
    assert_eq!(origin(&request.tools[0].cache), "/toolConfig/tools/1/cachePoint");
    let tools = codec().encode_tools(&request.tools);
    assert_eq!(tools.len(), 4);
    assert_eq!(codec().decode_tools(tools).unwrap(), request.tools);
}

#[test]
fn numbers_keep_their_digits() {
    let numbers = r#"{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1e400,"e":0.10}"#;
    let parts = content(&format!(
        r#"[{{"toolUse":{{"toolUseId":"t","name":"n","input":{numbers}}}}},
            {{"toolResult":{{"toolUseId":"t","content":[{{"json":{numbers}}}]}}}}]"#
    ));
    assert_eq!(parts[0].as_call().unwrap().arguments.as_str(), numbers);
    let whole = reply(
        &format!(r#"[{{"toolUse":{{"toolUseId":"t","name":"n","input":{numbers}}}}}]"#),
        r#""stopReason":"tool_use""#,
    );
    let again = codec().encode_response(streamed(&whole), &ReplyContext::default());
    let input = again.body.pointer("/output/message/content/0/toolUse/input").unwrap();
    assert_eq!(input.to_string(), numbers);
}

#[test]
fn faults_carry_their_type() {
    let reply = |status, headers: &[(&str, &str)], body: &str| WireReply {
        status,
        headers: headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        body: json(body),
    };
    for (word, status, class) in [
        ("ValidationException", 400, FaultClass::Invalid),
        ("ConflictException", 400, FaultClass::Invalid),
        ("AccessDeniedException", 403, FaultClass::Forbidden),
        ("UnrecognizedClientException", 403, FaultClass::Unauthenticated),
        ("ResourceNotFoundException", 404, FaultClass::NotFound),
        ("ModelTimeoutException", 408, FaultClass::Timeout),
        ("ModelErrorException", 424, FaultClass::Internal),
        ("ThrottlingException", 429, FaultClass::RateLimited),
        ("ModelNotReadyException", 429, FaultClass::Overloaded),
        ("InternalServerException", 500, FaultClass::Internal),
        ("ServiceUnavailableException", 503, FaultClass::Overloaded),
        ("FutureException", 418, FaultClass::Invalid),
    ] {
        let header = format!("{word}:http://internal.amazon.com/coral/");
        let headers = [("x-amzn-errortype", header.as_str()), ("x-amzn-requestid", "r")];
        let fault = codec().decode_fault(reply(status, &headers, r#"{"message":"m","more":1}"#));
        assert_eq!((fault.class, fault.message.as_str()), (class, "m"), "{word}");
        let again = codec().encode_fault(&fault);
        assert_eq!((again.status, again.header("x-amzn-errortype")), (status, Some(word)));
        assert_eq!(again.header("x-amzn-requestid"), Some("r"));
        assert_eq!(again.body, json(r#"{"message":"m","more":1}"#));
    }
    let typed = r#"{"__type":"com.amazon#ThrottlingException","Message":"m"}"#;
    let fault = codec().decode_fault(reply(400, &[("retry-after", "2")], typed));
    assert_eq!((fault.class, fault.retry_after_ms), (FaultClass::RateLimited, Some(2000)));
    assert_eq!(fault.message, "m");
    let fault = codec().decode_fault(reply(502, &[], r#""<html>""#));
    assert_eq!(fault.class, FaultClass::Internal);
}

#[test]
fn faults_end_a_stream() {
    for (name, class) in [
        ("throttlingException", FaultClass::RateLimited),
        ("validationException", FaultClass::Invalid),
        ("internalServerException", FaultClass::Internal),
        ("modelStreamErrorException", FaultClass::Internal),
        ("serviceUnavailableException", FaultClass::Overloaded),
    ] {
        let events = events(&format!(r#"{name} {{"message":"m"}}"#));
        assert!(matches!(&events[0], Event::Fault(fault) if fault.class == class), "{name}");
        let frames = encode(events);
        assert_eq!(frames, [Frame::exception(name, r#"{"message":"m"}"#)]);
    }
    // A class that a stream cannot express becomes the closest one that it can.
    let late = Event::Fault(Fault::new(FaultClass::Timeout, "m"));
    assert_eq!(encode(vec![late])[0].name.as_deref(), Some("serviceUnavailableException"));
}

#[test]
fn documents_get_legal_names_and_a_text_beside_them() {
    let file = |name: &str| {
        format!(
            r#"{{"type":"document",{name}"source":{{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}}}"#
        )
    };
    let (named, again) =
        (file(r#""title":"Q3_report  v1.pdf","#), file(r#""title":"Q3 report v1","#));
    let nameless = file("");
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{named},{again},{nameless}]}}]}}"#
    );
    let wire = WireRequest { body: json(&body), ..WireRequest::default() };
    let from = dialect::codec(Dialect::Anthropic).unwrap();
    let there = Translator::new(from, codec(), &Options::default()).request(wire).unwrap();
    let blocks = there.value.body.pointer("/messages/0/content").unwrap().as_array().unwrap();
    let labels: Vec<_> =
        blocks.iter().filter_map(|own| own.pointer("/document/name")?.as_str()).collect();
    assert_eq!(labels, ["Q3 report v1", "Q3 report v1 2", "document"]);
    assert!(blocks.last().unwrap().get("text").is_some());
    assert_eq!(there.report.losses.len(), 2, "{:?}", there.report.losses);
}

#[test]
fn an_empty_description_is_omitted() {
    let tool = Tool::function("f", json(r#"{"type":"object"}"#)).with_description("");
    let wire = codec().encode_tool(&tool);
    assert!(wire.pointer("/toolSpec/description").is_none());
}
