//! Acceptance cases that need a complete translation from one dialect to another.

use toolwright_core::{
    Arguments, Call, Json, Message, Outcome, Part, Request, Role, StopReason, Tool,
};
use toolwright_dialects::dialect::{
    ChatCodec, ReplyContext, Target, WireReply, WireRequest, lookup,
};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::frame::{FrameReader, Framing};
use toolwright_dialects::translate::{Options, Report, Translated, Translator};

use crate::fixtures;

fn codec(id: &str) -> &'static dyn ChatCodec {
    lookup(id).unwrap_or_else(|| panic!("no dialect {id}"))
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn request(from: &str, to: &str, body: &str) -> Translated<WireRequest> {
    let wire = WireRequest { body: json(body), ..WireRequest::default() };
    Translator::new(codec(from), codec(to), &Options::default()).request(wire).unwrap()
}

fn response(from: &str, to: &str, body: &str, aliases: &Aliases) -> Json {
    let options = Options::default();
    let translator = Translator::new(codec(from), codec(to), &options).with_aliases(aliases);
    translator.response(WireReply::ok(json(body))).unwrap().value.body
}

fn stream(from: &str, to: &str, bytes: &[u8]) -> String {
    let context = ReplyContext { stream_usage: true, ..ReplyContext::default() };
    let options = Options::default();
    let translator = Translator::new(codec(from), codec(to), &options);
    let mut stream = translator.with_reply_context(&context).stream();
    let mut out = Vec::new();
    stream.push(bytes, &mut out).unwrap();
    stream.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The payloads of an SSE text, as JSON.
fn payloads(text: &str) -> Vec<Json> {
    let mut reader = FrameReader::new(Framing::Sse);
    let mut frames = Vec::new();
    reader.push(text.as_bytes(), &mut frames).unwrap();
    reader.finish(&mut frames).unwrap();
    frames.iter().filter_map(|frame| Json::parse(&frame.data).ok()).collect()
}

fn at<'j>(value: &'j Json, pointer: &str) -> &'j Json {
    value.pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer} in {}", value.pretty()))
}

fn names(report: &Report, path: &str) -> bool {
    report.losses.iter().any(|entry| entry.path == path)
}

#[test]
fn whole_arguments_become_a_start_one_delta_and_a_stop() {
    for from in ["gemini", "ollama", "mistral"] {
        let text = stream(from, "anthropic", &fixtures::matrix_stream(codec(from).dialect()));
        let events = payloads(&text);
        let kind = |event: &Json| event.get("type").and_then(Json::as_str).map(str::to_owned);
        let starts = events.iter().filter(|event| {
            event.pointer("/content_block/type").and_then(Json::as_str) == Some("tool_use")
        });
        for start in starts.clone() {
            assert_eq!(at(start, "/content_block/input").to_string(), "{}");
            let index = start.get("index").unwrap();
            let own: Vec<String> = events
                .iter()
                .filter(|event| event.get("index") == Some(index))
                .filter_map(kind)
                .collect();
            assert_eq!(
                own,
                ["content_block_start", "content_block_delta", "content_block_stop"],
                "{from}"
            );
        }
        assert_eq!(starts.count(), 2, "{from}");
    }
}

#[test]
fn a_streamed_call_without_arguments_has_an_empty_object() {
    let none = b"data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
        {\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"now\",\"input\":{}}}\n\n\
        data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    for to in ["openai-chat", "openai-responses", "deepseek", "mistral", "cohere"] {
        let text = stream("anthropic", to, none);
        assert!(text.contains(r#""arguments":"{}""#), "{to} {text}");
    }
}

#[test]
fn indexes_of_calls_are_dense() {
    for from in ["anthropic", "bedrock", "openai-responses", "gemini", "cohere"] {
        let text = stream(from, "openai-chat", &fixtures::matrix_stream(codec(from).dialect()));
        let mut seen = Vec::new();
        for chunk in payloads(&text) {
            let call = chunk.pointer("/choices/0/delta/tool_calls/0").cloned();
            if let Some(call) = call.filter(|call| call.get("id").is_some()) {
                seen.push(call.get("index").unwrap().as_u64().unwrap());
            }
        }
        assert_eq!(seen, [0, 1], "{from}");
    }
}

#[test]
fn foreign_history_gets_the_documented_placeholder() {
    let body = r#"{"model":"gemini-3.8-flash","messages":[{"role":"user","content":"x"},
        {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}]}"#;
    let there = request("openai-chat", "gemini", body);
    let parts = at(&there.value.body, "/contents/1/parts");
    assert_eq!(at(parts, "/0/thoughtSignature").as_str(), Some("skip_thought_signature_validator"));
    assert!(parts.pointer("/1/thoughtSignature").is_none());
    // Outcomes pair by name, which Chat does not send.
    assert_eq!(
        at(&there.value.body, "/contents/2/parts/1/functionResponse/name").as_str(),
        Some("g")
    );
}

#[test]
fn thinking_keeps_its_position_and_empty_thinking_its_signature() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[
        {"type":"thinking","thinking":"","signature":"sig1"},{"type":"text","text":"a"},
        {"type":"redacted_thinking","data":"blob"},{"type":"tool_use","id":"t1","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"1"}]}],
        "tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]}"#;
    let there = request("anthropic", "bedrock", body);
    assert!(there.report.losses.is_empty(), "{:?}", there.report.losses);
    let content = at(&there.value.body, "/messages/1/content");
    assert_eq!(at(content, "/0/reasoningContent/reasoningText/signature").as_str(), Some("sig1"));
    assert_eq!(at(content, "/2/reasoningContent/redactedContent").as_str(), Some("blob"));
    let there = request("anthropic", "openai-chat", body);
    assert!(names(&there.report, "/messages/1/content/0"));
    assert!(names(&there.report, "/messages/1/content/2"));
}

#[test]
fn thinking_is_turned_off_where_it_would_have_to_be_echoed() {
    let body = r#"{"model":"deepseek-v4-flash","messages":[{"role":"user","content":"x"},
        {"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"1"}],"tools":[{"type":"function","function":{"name":"f"}}]}"#;
    let there = request("openai-chat", "deepseek", body);
    assert_eq!(at(&there.value.body, "/thinking/type").as_str(), Some("disabled"));
    let own = body.replace(r#""content":"","#, r#""content":"","reasoning_content":"because","#);
    let there = request("deepseek", "deepseek", &own);
    assert_eq!(at(&there.value.body, "/messages/1/reasoning_content").as_str(), Some("because"));
    assert!(there.value.body.get("thinking").is_none());
}

#[test]
fn call_ids_map_one_to_one() {
    let long = "x".repeat(80);
    // Two calls with the same id are told apart (openai/gpt-oss#309).
    let ids = ["functions.get_weather:0", "call_ok", long.as_str(), "功能", "call_ok", "功能"];
    let mut messages = vec![Message::user("x")];
    let calls = ids.iter().map(|id| Part::call(Call::new(*id, "f", Arguments::none())));
    messages.push(Message::new(Role::Assistant, calls.collect()));
    messages.extend(ids.iter().map(|id| Message::tool(Outcome::text(*id, "1"))));
    let tools = vec![Tool::function("f", json(r#"{"type":"object","properties":{}}"#))];
    let request = Request { model: Some("m".to_owned()), messages, tools, ..Request::default() };
    for target in fixtures::codecs() {
        let profile = target.profile(&Target { model: Some("m"), version: None });
        let fitted = toolwright_dialects::fit::fit(request.clone(), target.dialect(), &profile);
        let wire = target.encode_request(fitted.request.clone());
        let decoded = target.decode_request(wire).unwrap();
        let parts = || decoded.messages.iter().flat_map(|message| &message.parts);
        let called: Vec<_> =
            parts().filter_map(Part::as_call).filter_map(|call| call.id.clone()).collect();
        let answered: Vec<_> =
            parts().filter_map(Part::as_outcome).filter_map(|own| own.call_id.clone()).collect();
        assert_eq!(called, answered, "{}", target.dialect());
        let distinct: std::collections::BTreeSet<_> = called.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "{}", target.dialect());
        let originals: Vec<&str> = called.iter().map(|id| fitted.aliases.id(id)).collect();
        assert_eq!(originals, ids, "{}", target.dialect());
    }
}

#[test]
fn a_hosted_tool_that_cannot_be_translated_is_reported() {
    let body = r#"{"model":"m","input":"x","tools":[{"type":"web_search"},{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}]}"#;
    for to in fixtures::codecs().iter().map(|codec| codec.dialect().id()) {
        let there = request("openai-responses", to, body);
        if to == "openai-responses" {
            assert_eq!(at(&there.value.body, "/tools/0/type").as_str(), Some("web_search"));
            continue;
        }
        // Anthropic has the same tool.
        if to == "anthropic" {
            assert_eq!(at(&there.value.body, "/tools/0/name").as_str(), Some("web_search"));
            continue;
        }
        assert!(names(&there.report, "/tools/0"), "{to}: {:?}", there.report.losses);
        assert!(
            there.report.losses.iter().any(|entry| entry.loss.what.contains("web_search")),
            "{to}"
        );
        let decoded = codec(to).decode_request(there.value).unwrap();
        assert_eq!(decoded.tools.len(), 1, "{to}");
    }
}

#[test]
fn long_names_are_shortened_by_the_same_hash_everywhere() {
    let long = format!("mcp__{}__list.issues/all", "server".repeat(12));
    let near = format!("mcp__{}__list.issues/any", "server".repeat(12));
    let body = format!(
        r#"{{"model":"m","contents":[{{"role":"user","parts":[{{"text":"x"}}]}},
            {{"role":"model","parts":[{{"functionCall":{{"name":"{long}","args":{{}}}}}}]}},
            {{"role":"user","parts":[{{"functionResponse":{{"name":"{long}","response":{{"output":"1"}}}}}}]}}],
            "tools":[{{"functionDeclarations":[{{"name":"{long}"}},{{"name":"{near}"}},{{"name":"fine"}}]}}],
            "toolConfig":{{"functionCallingConfig":{{"mode":"ANY","allowedFunctionNames":["{long}"]}}}}}}"#
    );
    let there = request("gemini", "openai-chat", &body);
    let name = |pointer: &str| at(&there.value.body, pointer).as_str().unwrap().to_owned();
    let first = name("/tools/0/function/name");
    assert!(
        first.len() <= 64 && first.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    );
    assert_ne!(first, name("/tools/1/function/name"));
    assert_eq!(name("/tools/2/function/name"), "fine");
    assert_eq!(name("/messages/1/tool_calls/0/function/name"), first);
    assert_eq!(name("/tool_choice/function/name"), first);
    let reply = format!(
        r#"{{"id":"c","object":"chat.completion","created":0,"model":"m","choices":[{{"index":0,"finish_reason":"tool_calls","message":{{"role":"assistant","content":null,
            "tool_calls":[{{"id":"a","type":"function","function":{{"name":"{first}","arguments":"{{}}"}}}}]}}}}]}}"#
    );
    let back = response("openai-chat", "gemini", &reply, &there.report.aliases);
    assert_eq!(
        at(&back, "/candidates/0/content/parts/0/functionCall/name").as_str(),
        Some(long.as_str())
    );
}

#[test]
fn bedrock_has_tools_whenever_the_history_has_calls() {
    let history = r#"{"model":"m","messages":[{"role":"user","content":"x"},
        {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"1"},{"role":"user","content":"thanks"}]TAIL}"#;
    let there = request("openai-chat", "bedrock", &history.replace("TAIL", ""));
    let tools = at(&there.value.body, "/toolConfig/tools").as_array().unwrap();
    assert_eq!(tools.len(), 1);
    assert!(there.report.aliases.placeholder);
    // A call of the placeholder never reaches the client.
    let reply = r#"{"output":{"message":{"role":"assistant","content":[{"text":"hi"},{"toolUse":{"toolUseId":"t","name":"no_tool_available","input":{}}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1}}"#;
    let back = response("bedrock", "openai-chat", reply, &there.report.aliases);
    assert!(back.pointer("/choices/0/message/tool_calls").is_none());
    assert_eq!(at(&back, "/choices/0/finish_reason").as_str(), Some("stop"));
    let none = r#","tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none""#;
    let there = request("openai-chat", "bedrock", &history.replace("TAIL", none));
    let name =
        at(&there.value.body, "/toolConfig/tools/0/toolSpec/name").as_str().unwrap().to_owned();
    assert_eq!(name, "no_tool_available", "the real tool must not be offered");
    let without = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
    assert!(request("openai-chat", "bedrock", without).value.body.get("toolConfig").is_none());
}

#[test]
fn outcomes_of_a_turn_are_one_message_and_come_first() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"},
        {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"},{"role":"user","content":"go on"}],
        "tools":[{"type":"function","function":{"name":"f"}}]}"#;
    for (to, list, block) in
        [("bedrock", "/messages", "toolResult"), ("gemini", "/contents", "functionResponse")]
    {
        let there = request("openai-chat", to, body);
        let turns = at(&there.value.body, list).as_array().unwrap();
        assert_eq!(turns.len(), 3, "{to}");
        let blocks = turns[2].get("content").or(turns[2].get("parts")).unwrap().as_array().unwrap();
        let kinds: Vec<bool> = blocks.iter().map(|own| own.get(block).is_some()).collect();
        assert_eq!(kinds, [true, true, false], "{to}");
    }
    let there = request("openai-chat", "anthropic", body);
    let content = at(&there.value.body, "/messages/2/content").as_array().unwrap();
    let kinds: Vec<_> =
        content.iter().map(|block| block.get("type").unwrap().as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
}

#[test]
fn an_empty_outcome_is_written_as_each_model_family_accepts_it() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]}"#;
    let chat = request("anthropic", "openai-chat", body).value.body;
    assert_eq!(at(&chat, "/messages/2/content").as_str(), Some(""));
    let bedrock = request("anthropic", "bedrock", body).value.body;
    assert!(
        !at(&bedrock, "/messages/2/content/0/toolResult/content").as_array().unwrap().is_empty()
    );
    let own = request("anthropic", "anthropic", body).value.body;
    assert!(own.pointer("/messages/2/content/0/content").is_none());
}

#[test]
fn a_text_after_a_call_opens_after_it_closed() {
    let chat = concat!(
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":null}]}\n\n",
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"done\"},\"finish_reason\":null}]}\n\n",
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let mut open: Option<u64> = None;
    for event in payloads(&stream("openai-chat", "anthropic", chat.as_bytes())) {
        let index = event.get("index").and_then(Json::as_u64);
        match event.get("type").and_then(Json::as_str).unwrap() {
            "content_block_start" => {
                assert_eq!(open, None, "a block opens while another is open");
                open = index;
            }
            "content_block_delta" => assert_eq!(open, index),
            "content_block_stop" => {
                assert_eq!(open, index);
                open = None;
            }
            _ => {}
        }
    }
    assert_eq!(open, None);
}

#[test]
fn a_cache_marker_arrives_or_is_counted() {
    let body = r#"{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],
        "messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}],
        "tools":[{"name":"f","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}]}"#;
    let there = request("anthropic", "bedrock", body);
    assert!(there.report.losses.is_empty(), "{:?}", there.report.losses);
    let wire = &there.value.body;
    assert_eq!(at(wire, "/system/1/cachePoint/ttl").as_str(), Some("1h"));
    assert!(wire.pointer("/messages/0/content/1/cachePoint").is_some());
    assert!(wire.pointer("/toolConfig/tools/1/cachePoint").is_some());
    for to in ["gemini", "ollama", "mistral", "cohere", "deepseek"] {
        let there = request("anthropic", to, body);
        for path in [
            "/system/0/cache_control",
            "/messages/0/content/0/cache_control",
            "/tools/0/cache_control",
        ] {
            assert!(names(&there.report, path), "{to} {path}: {:?}", there.report.losses);
        }
    }
}

#[test]
fn no_restriction_is_widened_silently() {
    let body = |choice: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],"tools":[{{"type":"function","function":{{"name":"f"}}}},{{"type":"function","function":{{"name":"g"}}}}],{choice}}}"#
        )
    };
    let allowed = r#""tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}}"#;
    for target in fixtures::codecs() {
        let to = target.dialect().id();
        let offered = |choice: &str| {
            let there = request("openai-chat", to, &body(choice));
            let decoded = target.decode_request(there.value).unwrap();
            (decoded, there.report)
        };
        let (none, _) = offered(r#""tool_choice":"none""#);
        let forbids = none.tool_choice == Some(toolwright_core::ToolChoice::None);
        assert!(forbids || none.tools.is_empty(), "{to}: calls are possible under none");
        let (subset, _) = offered(allowed);
        let said = matches!(&subset.tool_choice, Some(toolwright_core::ToolChoice::Allowed { names, .. }) if names == &["f"]);
        assert!(said || subset.tools.len() == 1, "{to}: a tool outside the subset is offered");
        let (single, report) = offered(r#""parallel_tool_calls":false"#);
        assert!(
            single.parallel == Some(false) || report.aliases.single_call,
            "{to}: parallel calls are possible"
        );
        let (forced, report) = offered(r#""tool_choice":"required""#);
        let said = forced.tool_choice == Some(toolwright_core::ToolChoice::Required);
        assert!(said || names(&report, "/tool_choice"), "{to}: required was dropped in silence");
    }
}

#[test]
fn one_call_is_kept_where_one_was_asked_for() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":false}"#;
    let there = request("openai-chat", "gemini", body);
    let reply = r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP","index":0}]}"#;
    let back = response("gemini", "openai-chat", reply, &there.report.aliases);
    assert_eq!(at(&back, "/choices/0/message/tool_calls").as_array().unwrap().len(), 1);
}

#[test]
fn injected_nulls_are_removed() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","strict":true,"input_schema":{"type":"object",
        "properties":{"city":{"type":"string"},"days":{"type":"integer"},"note":{"type":["string","null"]}},"required":["city"],"additionalProperties":false}}]}"#;
    let there = request("anthropic", "openai-chat", body);
    let parameters = at(&there.value.body, "/tools/0/function/parameters");
    assert_eq!(at(parameters, "/required").to_string(), r#"["city","days","note"]"#);
    let reply = r#"{"id":"c","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
        "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"city\":\"x\",\"days\":null,\"note\":null}"}}]}}]}"#;
    let back = response("openai-chat", "anthropic", reply, &there.report.aliases);
    assert_eq!(at(&back, "/content/0/input").to_string(), r#"{"city":"x","note":null}"#);
}

#[test]
fn numbers_keep_their_digits_between_any_pair() {
    const EXACT: &str = r#"{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1e400,"e":0.10,"f":-0}"#;
    let call = Call::new("call_1", "f", Arguments::from_text(EXACT));
    let parts = vec![Part::call(call)];
    for from in fixtures::codecs() {
        let response = toolwright_core::Response {
            id: Some("r".to_owned()),
            model: Some("m".to_owned()),
            parts: parts.clone(),
            stop: toolwright_core::Stop::new(StopReason::ToolUse),
            ..toolwright_core::Response::default()
        };
        let wire = from.encode_response(response, &ReplyContext::default());
        for to in fixtures::codecs() {
            let options = Options::default();
            let there = Translator::new(from, to, &options).response(wire.clone()).unwrap().value;
            let decoded = to.decode_response(there).unwrap();
            let arguments =
                decoded.parts.iter().find_map(Part::as_call).unwrap().arguments.as_str();
            assert_eq!(arguments, EXACT, "{} → {}", from.dialect(), to.dialect());
        }
    }
}

#[test]
fn a_call_that_was_cut_off_stays_cut_off() {
    let reply = r#"{"id":"c","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant","content":null,
        "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"path\":\"/tmp"}}]}}]}"#;
    for to in fixtures::codecs() {
        let options = Options::default();
        let there = Translator::new(codec("openai-chat"), to, &options);
        let there = there.response(WireReply::ok(json(reply))).unwrap().value;
        let decoded = to.decode_response(there).unwrap();
        assert_eq!(decoded.stop.reason, StopReason::MaxTokens, "{}", to.dialect());
        let arguments = &decoded.parts.iter().find_map(Part::as_call).unwrap().arguments;
        assert_ne!(*arguments, Arguments::none(), "{}: never an empty object", to.dialect());
        assert!(arguments.as_str().contains("/tmp"), "{}", to.dialect());
    }
}

/// The paths of losses that concern the arguments of a truncated call.
fn cut_off(report: &Report) -> Vec<&str> {
    let changed = report.losses.iter().filter(|own| own.loss.what.contains("'_raw'"));
    changed.map(|own| own.path.as_str()).collect()
}

#[test]
fn arguments_that_were_cut_off_are_reported_in_a_stream_as_in_a_whole_reply() {
    let call = r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"path\":\"/tmp"}}"#;
    let reply = format!(
        r#"{{"id":"c","object":"chat.completion","created":0,"model":"m","choices":[{{"index":0,"finish_reason":"length","message":{{"role":"assistant","content":null,"tool_calls":[{call}]}}}}]}}"#
    );
    let chunk = |delta: &str, reason: &str| {
        format!(
            r#"data: {{"id":"c","object":"chat.completion.chunk","created":0,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]}}"#
        ) + "\n\n"
    };
    let delta = format!(r#"{{"role":"assistant","tool_calls":[{call}]}}"#);
    let bytes = chunk(&delta, "null") + &chunk("{}", r#""length""#) + "data: [DONE]\n\n";
    for to in ["gemini", "ollama"] {
        let options = Options::default();
        let translator = Translator::new(codec("openai-chat"), codec(to), &options);
        let whole = translator.response(WireReply::ok(json(&reply))).unwrap().report;
        assert_eq!(cut_off(&whole), ["/choices/0/message/tool_calls/0/function/arguments"], "{to}");
        let (mut stream, mut out) = (translator.stream(), Vec::new());
        stream.push(bytes.as_bytes(), &mut out).unwrap();
        stream.finish(&mut out).unwrap();
        let report = stream.report();
        assert_eq!(cut_off(&report).len(), 1, "{to}: {:?}", report.losses);
        assert!(String::from_utf8(out).unwrap().contains("_raw"), "{to}");
    }
    // A client that receives the arguments in fragments receives these fragments.
    let text = stream("openai-chat", "anthropic", bytes.as_bytes());
    assert!(text.contains("/tmp") && !text.contains("_raw"), "{text}");
}

#[test]
fn generated_ids_differ_from_reply_to_reply() {
    let reply = |id: &str| {
        format!(
            r#"{{"responseId":"{id}","candidates":[{{"content":{{"role":"model","parts":[{{"functionCall":{{"name":"f","args":{{}}}}}},{{"functionCall":{{"name":"f","args":{{}}}}}}]}},"finishReason":"STOP","index":0}}]}}"#
        )
    };
    let ids = |id: &str| -> Vec<String> {
        let body = response("gemini", "openai-chat", &reply(id), &Aliases::default());
        let calls = at(&body, "/choices/0/message/tool_calls").as_array().unwrap();
        calls.iter().map(|call| call.get("id").unwrap().as_str().unwrap().to_owned()).collect()
    };
    let (first, second) = (ids("r1"), ids("r2"));
    assert_ne!(first[0], first[1]);
    assert!(first.iter().all(|id| !second.contains(id)), "{first:?} {second:?}");
    assert_eq!(first, ids("r1"));
}

#[test]
fn a_reply_without_an_id_gets_the_id_of_the_reply_context() {
    let context = ReplyContext { id: Some("msg_9".to_owned()), ..ReplyContext::default() };
    let options = Options::default();
    let translator =
        Translator::new(codec("ollama"), codec("anthropic"), &options).with_reply_context(&context);
    let body = json(
        r#"{"model":"m","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop"}"#,
    );
    let translated = translator.response(WireReply::ok(body)).unwrap();
    assert_eq!(at(&translated.value.body, "/id").as_str(), Some("msg_9"));
}

#[test]
fn joined_texts_are_reported() {
    let options = Options::default();
    let body = r#"{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}"#;
    let translator = Translator::new(codec("anthropic"), codec("openai-chat"), &options);
    let translated = translator.response(WireReply::ok(json(body))).unwrap();
    assert!(names(&translated.report, "/content/1"), "{:?}", translated.report.losses);
    assert_eq!(at(&translated.value.body, "/choices/0/message/content").as_str(), Some("ab"));
}

#[test]
fn default_thinking_yields_to_a_forced_call() {
    let body = |more: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],"tools":[{{"type":"function","function":{{"name":"f"}}}},{{"type":"function","function":{{"name":"g"}}}}],"tool_choice":{{"type":"function","function":{{"name":"f"}}}}{more}}}"#
        )
    };
    let there = request("openai-chat", "deepseek", &body(""));
    assert_eq!(at(&there.value.body, "/tool_choice/function/name").as_str(), Some("f"));
    assert_eq!(at(&there.value.body, "/thinking/type").as_str(), Some("disabled"));
    assert!(there.report.losses.is_empty(), "{:?}", there.report.losses);
    // If thinking was requested, the forced call wins as well, and the loss is reported.
    let there = request("deepseek", "anthropic", &body(r#","thinking":{"type":"enabled"}"#));
    assert_eq!(at(&there.value.body, "/tool_choice/name").as_str(), Some("f"));
    assert_eq!(at(&there.value.body, "/thinking/type").as_str(), Some("disabled"));
    assert!(names(&there.report, "/thinking"));
}

#[test]
fn effort_is_mapped_to_a_level_of_the_target() {
    let ask = |to: &str, model: &str, effort: &str| {
        let body = format!(
            r#"{{"model":"{model}","messages":[{{"role":"user","content":"x"}}],"reasoning_effort":"{effort}"}}"#
        );
        request("openai-chat", to, &body)
    };
    for (to, said, place, word) in [
        ("anthropic", "minimal", "/output_config/effort", "low"),
        ("bedrock", "minimal", "/outputConfig/effort", "low"),
        ("gemini", "xhigh", "/generationConfig/thinkingConfig/thinkingLevel", "HIGH"),
        ("ollama", "max", "/think", "high"),
    ] {
        let there = ask(to, "m", said);
        assert_eq!(at(&there.value.body, place).as_str(), Some(word), "{to}");
        assert!(names(&there.report, "/reasoning_effort"), "{to}");
    }
    let there = ask("anthropic", "m", "xhigh");
    assert_eq!(at(&there.value.body, "/output_config/effort").as_str(), Some("xhigh"));
    assert!(!names(&there.report, "/reasoning_effort"));
    // A value that no other vendor has cannot be mapped; a vendor's own values pass unchanged.
    assert!(names(&ask("anthropic", "m", "heroic").report, "/reasoning_effort"));
    assert_eq!(
        at(&ask("deepseek", "m", "heroic").value.body, "/reasoning_effort").as_str(),
        Some("heroic")
    );
    // Families before Gemini 3 have no levels.
    let there = ask("gemini", "gemini-2.5-flash", "high");
    let budget = at(&there.value.body, "/generationConfig/thinkingConfig/thinkingBudget");
    assert_eq!(budget.as_u64(), Some(24_576));
    assert!(names(&there.report, "/reasoning_effort"));
}

#[test]
fn a_thinking_budget_stays_within_the_bounds_of_the_target() {
    let ask = |config: &str| {
        let body = format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"text":"x"}}]}}],"generationConfig":{{{config}}}}}"#
        );
        request("gemini", "anthropic", &body)
    };
    let place = "/thinking/budget_tokens";
    // Without a limit, the added limit leaves tokens for the answer.
    let there = ask(r#""thinkingConfig":{"thinkingBudget":8192}"#);
    assert_eq!(at(&there.value.body, place).as_u64(), Some(8192));
    assert!(at(&there.value.body, "/max_tokens").as_u64() > Some(8192));
    assert!(there.report.losses.is_empty(), "{:?}", there.report.losses);
    for (limit, said, budget) in
        [(4000, 512, Some(1024)), (4000, 9000, Some(3999)), (900, 2000, None)]
    {
        let there = ask(&format!(
            r#""maxOutputTokens":{limit},"thinkingConfig":{{"thinkingBudget":{said}}}"#
        ));
        assert_eq!(there.value.body.pointer(place).and_then(Json::as_u64), budget);
        assert!(names(&there.report, "/generationConfig/thinkingConfig/thinkingBudget"));
    }
}

#[test]
fn effort_and_budget_are_not_combined_where_they_exclude_each_other() {
    let body = r#"{"model":"m","max_tokens":9000,"messages":[{"role":"user","content":"x"}],"thinking":{"type":"enabled","budget_tokens":2048},"output_config":{"effort":"high"}}"#;
    let there = request("anthropic", "gemini", body);
    let config = at(&there.value.body, "/generationConfig/thinkingConfig");
    assert_eq!(config.get("thinkingLevel").and_then(Json::as_str), Some("HIGH"));
    assert!(config.get("thinkingBudget").is_none());
    assert!(names(&there.report, "/thinking/budget_tokens"));
    let there = request("anthropic", "openrouter", body);
    assert!(there.value.body.pointer("/reasoning/max_tokens").is_none());
}

#[test]
fn a_newer_version_of_the_same_api_is_fitted_to() {
    let body = r#"{"model":"m","max_tokens":9,"temperature":0.2,"messages":[{"role":"user","content":"x"}]}"#;
    let options = Options { version: Some("2026-10-21".to_owned()), ..Options::default() };
    let wire = WireRequest { body: json(body), ..WireRequest::default() };
    let translator = Translator::new(codec("anthropic"), codec("anthropic"), &options);
    let translated = translator.request(wire).unwrap();
    assert!(translated.value.body.get("temperature").is_none());
    assert!(names(&translated.report, "/temperature"));
    let kept = request("anthropic", "anthropic", body);
    assert!(kept.value.body.get("temperature").is_some() && kept.report.losses.is_empty());
}

#[test]
fn a_repeated_outcome_of_one_call_is_sent_once() {
    let outcome = r#"{"functionResponse":{"id":"c1","name":"now","response":{"output":"noon"}}}"#;
    let body = format!(
        r#"{{"contents":[{{"role":"user","parts":[{{"text":"When?"}}]}},
            {{"role":"model","parts":[{{"functionCall":{{"id":"c1","name":"now","args":{{}}}}}}]}},
            {{"role":"user","parts":[{outcome},{outcome}]}}],
            "tools":[{{"functionDeclarations":[{{"name":"now"}}]}}]}}"#
    );
    let translated = request("gemini", "openai-chat", &body);
    let messages = at(&translated.value.body, "/messages").as_array().unwrap();
    let roles: Vec<_> =
        messages.iter().filter_map(|message| message.get("role")?.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert!(names(&translated.report, "/contents/2/parts/1"), "{:?}", translated.report);
}

#[test]
fn equal_outcomes_of_two_calls_with_one_id_both_stay() {
    let call = r#"{"functionCall":{"id":"c1","name":"now","args":{}}}"#;
    let outcome = r#"{"functionResponse":{"id":"c1","name":"now","response":{"output":"noon"}}}"#;
    let body = format!(
        r#"{{"contents":[{{"role":"user","parts":[{{"text":"When?"}}]}},
            {{"role":"model","parts":[{call},{call}]}},
            {{"role":"user","parts":[{outcome},{outcome}]}}],
            "tools":[{{"functionDeclarations":[{{"name":"now"}}]}}]}}"#
    );
    let translated = request("gemini", "openai-chat", &body);
    assert_eq!(at(&translated.value.body, "/messages").as_array().unwrap().len(), 4);
}
