//! Documents that fuzzing found, each with the defect that it revealed.

use toolwright_core::event::{Event, law};
use toolwright_core::json::Object;
use toolwright_core::profile::{SchemaRule, Subset};
use toolwright_core::schema::lower;
use toolwright_core::{Body, FaultClass, Json, Request, Role};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, Target, WireReply, WireRequest,
};
use toolwright_dialects::fit::fit;
use toolwright_dialects::frame::Frame;

fn codec(dialect: Dialect) -> &'static dyn ChatCodec {
    dialect::codec(dialect).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn wire(text: &str) -> WireRequest {
    WireRequest { path: String::new(), headers: vec![], body: json(text) }
}

fn request(dialect: Dialect, text: &str) -> Request {
    codec(dialect).decode_request(wire(text)).unwrap()
}

fn fitted(dialect: Dialect, text: &str) -> Request {
    let profile = codec(dialect).profile(&Target::default());
    fit(request(dialect, text), dialect, &profile).request
}

/// Decodes and encodes a request.
fn again(dialect: Dialect, text: &str) -> Json {
    codec(dialect).encode_request(request(dialect, text)).body
}

#[track_caller]
fn assert_returns(dialect: Dialect, text: &str) {
    let again = again(dialect, text);
    assert!(again.same(&json(text)), "{dialect}: {again}");
}

/// Asserts that a request fitted to any target does not change when it is fitted again.
#[track_caller]
fn assert_fits_once(from: Dialect, text: &str) {
    for to in Dialect::ALL.into_iter().filter_map(dialect::codec) {
        let profile = to.profile(&Target::default());
        let once = fit(request(from, text), from, &profile).request;
        let read = to.decode_request(to.encode_request(once)).unwrap();
        let twice = fit(read.clone(), to.dialect(), &profile);
        assert_eq!(twice.losses, [], "{}", to.dialect());
        assert_eq!(twice.request, read, "{}", to.dialect());
    }
}

fn response_again(dialect: Dialect, text: &str) -> Json {
    let response = codec(dialect).decode_response(WireReply::ok(json(text))).unwrap();
    codec(dialect).encode_response(response, &ReplyContext::default()).body
}

/// The events of all frames that can be decoded.
fn events(dialect: Dialect, frames: &[&str]) -> Vec<Event> {
    let mut decoder = codec(dialect).stream_decoder();
    let mut events = Vec::new();
    for frame in frames {
        let _ = decoder.decode(&Frame::data(*frame), &mut events);
    }
    decoder.finish(&mut events);
    events
}

#[test]
fn a_key_of_the_wire_is_never_taken_for_a_note() {
    assert_returns(Dialect::Anthropic, r#"{"messages":[],"@index":{}}"#);
    let message = r#"{"messages":[{"role":"user","content":"x","@role":"y","@content":1}]}"#;
    for dialect in [Dialect::OpenaiChat, Dialect::Mistral, Dialect::Ollama, Dialect::Cohere] {
        assert_returns(dialect, message);
    }
    let contents = r#"{"contents":[{"role":"user","parts":[{"text":"x"}],"@role":"function"}]}"#;
    assert_returns(Dialect::Gemini, contents);
}

#[test]
fn keys_that_have_a_meaning_among_extra_fields_are_refused() {
    for codec in crate::fixtures::codecs() {
        for key in [r"\u0001role", ".", ".."] {
            let wire = wire(&format!(r#"{{"messages":[],"{key}":1}}"#));
            let error = codec.decode_request(wire).unwrap_err();
            assert_eq!(error.pointer, "", "{}", codec.dialect());
        }
    }
}

#[test]
fn of_a_repeated_key_the_last_counts() {
    let text = r#"{"messages":[],"seen":1,"model":"a","seen":2,"model":"b"}"#;
    let again = again(Dialect::Anthropic, text);
    assert_eq!(again.to_string(), r#"{"model":"b","messages":[],"seen":2}"#);
}

#[test]
fn an_object_with_repeated_keys_is_the_same_as_itself() {
    let object = |text: &str| json(text).as_object().cloned().unwrap();
    let one = object(r#"{"a":1,"b":2,"a":3}"#);
    assert!(one.same(&one));
    assert!(one.same(&object(r#"{"b":2,"a":1,"a":3}"#)));
    assert!(!one.same(&object(r#"{"b":2,"a":3,"a":1}"#)));
    assert!(!one.same(&object(r#"{"a":1,"b":2,"b":3}"#)));
}

#[test]
fn extra_fields_that_repeat_a_key_return_in_order() {
    let mut own: Object = Object::new();
    own.push("a", 1_u64);
    own.merge(json(r#"{"b":1,"b":2,"a":3}"#).as_object().unwrap());
    assert_eq!(own.compact(), r#"{"a":1,"b":1,"b":2}"#);
}

#[test]
fn an_unknown_part_with_a_text_does_not_become_a_string() {
    let chat = r#"{"messages":[{"role":"user","content":[{"type":"note","text":"x"}]}]}"#;
    assert_returns(Dialect::OpenaiChat, chat);
    let part = r#"{"messages":[{"role":"user","content":[{"text":"x","more":false}]}]}"#;
    assert_returns(Dialect::OpenaiChat, part);
    let responses = r#"{"input":[{"type":"message","role":"user","content":[{"text":"x"}]}]}"#;
    assert_returns(Dialect::OpenaiResponses, responses);
}

#[test]
fn an_empty_text_is_not_dropped() {
    let text = r#"{"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}"#;
    assert_returns(Dialect::OpenaiChat, text);
}

#[test]
fn a_message_item_keeps_the_form_of_its_content() {
    for content in
        [r#""x""#, r#"[{"type":"output_text","text":"x","annotations":[],"logprobs":[]}]"#]
    {
        for own in [r#""id":"msg_1","status":"completed""#, r#""phase":"final_answer""#] {
            let text = format!(
                r#"{{"input":[{{"type":"message","role":"assistant",{own},"content":{content}}}]}}"#
            );
            assert_returns(Dialect::OpenaiResponses, &text);
        }
    }
}

#[test]
fn thinking_that_must_be_off_is_off_whatever_its_mode_was() {
    let text = r#"{"max_tokens":9,"thinking":{"type":"novel"},"messages":[
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]}"#;
    let wire = codec(Dialect::Anthropic).encode_request(fitted(Dialect::Anthropic, text));
    let mode = wire.body.pointer("/thinking/type").and_then(Json::as_str);
    assert_eq!(mode, Some("disabled"));
    assert_eq!(again(Dialect::Anthropic, text).pointer("/thinking/type"), Some(&"novel".into()));
}

#[test]
fn an_outcome_that_answers_no_call_gets_an_id() {
    let request = fitted(Dialect::OpenaiChat, r#"{"messages":[{"role":"tool","content":"x"}]}"#);
    let Body::Outcome(outcome) = &request.messages[0].parts[0].body else { panic!() };
    assert!(outcome.call_id.as_ref().is_some_and(|id| id.starts_with("call_")), "{outcome:?}");
}

#[test]
fn a_result_of_gemini_may_hold_parts_of_any_kind() {
    let text = r#"{"contents":[{"role":"user","parts":[{"functionResponse":
        {"name":"f","response":{"output":1},"parts":[{"functionResponse":{"name":"g"}},{"text":"x"}]}}]}]}"#;
    assert_returns(Dialect::Gemini, text);
}

#[test]
fn a_definition_with_two_schemas_is_refused() {
    let text = r#"{"tools":[{"function":{"name":"f","parameters":{},"function":{}}}]}"#;
    let error = codec(Dialect::OpenaiResponses).decode_request(wire(text)).unwrap_err();
    assert_eq!(error.pointer, "/tools/0/function/function");
}

#[test]
fn a_definition_without_a_schema_is_of_its_own_dialect() {
    let tool = json(r#"{"name":"f","cache_control":{"type":"ephemeral"}}"#);
    assert!(codec(Dialect::Anthropic).decode_tool(tool).unwrap().cache.is_some());
    let tool = json(r#"{"name":"f","annotations":{"readOnlyHint":true}}"#);
    assert!(dialect::tool_codec(Dialect::Mcp).decode_tool(tool).unwrap().annotations.is_some());
}

#[test]
fn a_call_that_a_vendor_answers_itself_returns() {
    let call = json(r#"{"type":"web_search","id":"a"}"#);
    for dialect in [Dialect::OpenaiChat, Dialect::Deepseek] {
        let part = codec(dialect).decode_call(call.clone()).unwrap();
        assert_eq!(codec(dialect).encode_call(&part), call);
    }
}

#[test]
fn an_unknown_stop_reason_returns_beside_calls() {
    let text =
        r#"{"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"stop_reason":"novel"}"#;
    assert_eq!(response_again(Dialect::Anthropic, text).get("stop_reason"), Some(&"novel".into()));
    let text = r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f"}}]},"finish_reason":"novel"}]}"#;
    let again = response_again(Dialect::Mistral, text);
    assert_eq!(again.pointer("/choices/0/finish_reason"), Some(&"novel".into()));
}

#[test]
fn redacted_thinking_without_a_blob_stays() {
    let text = r#"{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"redactedContent":""}}]}},"stopReason":"end_turn","usage":{}}"#;
    let again = response_again(Dialect::Bedrock, text);
    let blob = "/output/message/content/0/reasoningContent/redactedContent";
    assert_eq!(again.pointer(blob), Some(&"".into()));
}

#[test]
fn thinking_with_empty_text_is_dropped_with_its_signature() {
    let text = r#"{"model":"m","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":""}],"encrypted_content":"x"},{"role":"assistant","content":"y"}]}"#;
    let deepseek = codec(Dialect::Deepseek);
    let profile = deepseek.profile(&Target::default());
    let fitted = fit(request(Dialect::OpenaiResponses, text), Dialect::OpenaiResponses, &profile);
    assert!(fitted.losses.iter().any(|loss| loss.what == "thinking dropped"));
    let body = deepseek.encode_request(fitted.request).body;
    assert_eq!(body.pointer("/messages/0/reasoning_content"), None);
}

#[test]
fn a_call_with_an_empty_name_is_read_in_a_stream_as_in_a_reply() {
    let chunk = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"","arguments":"{}"}}]}}]}"#;
    let again = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"","arguments":""}}]}}]}"#;
    let calls = events(Dialect::OpenaiChat, &[chunk, again]).into_iter();
    let heads: Vec<Event> = calls.filter(|own| matches!(own, Event::PartStart { .. })).collect();
    assert_eq!(heads.len(), 1, "{heads:?}");
}

#[test]
fn media_in_base64_have_a_type() {
    let anthropic = r#"{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"eA=="}}]}]}"#;
    let gemini = r#"{"contents":[{"parts":[{"inlineData":{"data":"eA=="}}]}]}"#;
    for (dialect, text) in [(Dialect::Anthropic, anthropic), (Dialect::Gemini, gemini)] {
        assert!(codec(dialect).decode_request(wire(text)).is_err());
    }
}

#[test]
fn a_retry_delay_is_written_once() {
    let body = json(
        r#"{"error":{"message":"x","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo"}]}}"#,
    );
    let headers = vec![("retry-after".to_owned(), "3".to_owned())];
    let gemini = codec(Dialect::Gemini);
    let mut wire = WireReply { status: 429, headers, body };
    for _ in 0..3 {
        let fault = gemini.decode_fault(wire);
        assert_eq!((fault.class, fault.retry_after_ms), (FaultClass::RateLimited, Some(3000)));
        wire = gemini.encode_fault(&fault);
        let details = wire.body.pointer("/error/details").and_then(Json::as_array).unwrap();
        assert_eq!(details.len(), 2);
    }
}

#[test]
fn a_fault_keeps_its_message_beside_an_empty_detail() {
    let mistral = codec(Dialect::Mistral);
    for detail in ["{}", "null"] {
        let body = json(&format!(r#"{{"message":"x","detail":{detail}}}"#));
        let fault = mistral.decode_fault(WireReply { status: 500, headers: vec![], body });
        assert_eq!(mistral.decode_fault(mistral.encode_fault(&fault)).message, "x");
    }
    let body = json(r#"{"message":"","detail":null}"#);
    let fault = mistral.decode_fault(WireReply { status: 500, headers: vec![], body });
    assert_eq!(mistral.decode_fault(mistral.encode_fault(&fault)).message, "");
}

#[test]
fn nothing_comes_after_a_fault() {
    let anthropic = [
        r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"x"}}"#,
        r#"{"type":"content_block_stop"}"#,
    ];
    let gemini = [
        r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}"#,
        r#"{"error":{"message":"x"}}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}"#,
    ];
    let chat = [
        r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#,
        r#"{"error":{"message":"x"}}"#,
    ];
    let mistral = [
        r#"{"choices":[{"delta":{"content":"x"}}]}"#,
        r#"{"error":"x"}"#,
        r#"{"choices":[{"delta":{"content":"x"}}]}"#,
        "[DONE]",
    ];
    let streams: [(Dialect, &[&str]); 4] = [
        (Dialect::Anthropic, &anthropic),
        (Dialect::Gemini, &gemini),
        (Dialect::OpenaiChat, &chat),
        (Dialect::Mistral, &mistral),
    ];
    for (dialect, frames) in streams {
        let events = events(dialect, frames);
        assert_eq!(law::check(&events), Ok(()), "{dialect}: {events:#?}");
        assert!(matches!(events.last(), Some(Event::Fault(_))), "{dialect}");
    }
}

#[test]
fn a_delta_of_another_kind_than_its_block_is_an_error() {
    let thinking =
        r#"{"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}"#;
    let arguments =
        r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"x"}}"#;
    let start = r#"{"type":"content-start","delta":{"message":{"content":{"type":"thinking","thinking":""}}}}"#;
    let delta = r#"{"type":"content-delta","delta":{"message":{"content":{"text":"x"}}}}"#;
    for (dialect, frames) in
        [(Dialect::Anthropic, [thinking, arguments]), (Dialect::Cohere, [start, delta])]
    {
        assert_eq!(law::check(&events(dialect, &frames)), Ok(()));
        let mut decoder = codec(dialect).stream_decoder();
        let mut events = Vec::new();
        assert!(decoder.decode(&Frame::data(frames[0]), &mut events).is_ok());
        assert!(decoder.decode(&Frame::data(frames[1]), &mut events).is_err(), "{dialect}");
    }
}

#[test]
fn arguments_that_are_not_json_are_never_complete() {
    let frame = |index: u64, name: &str, text: &str| {
        let name = if name.is_empty() { String::new() } else { format!(r#""name":"{name}","#) };
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"function":{{{name}"arguments":"{text}"}}}}]}}}}]}}"#
        )
    };
    let frames = [frame(0, "f", "5"), frame(1, "g", "{}"), frame(0, "", "7")];
    let mut decoder = codec(Dialect::OpenaiChat).stream_decoder();
    let mut events = Vec::new();
    for frame in frames {
        decoder.decode(&Frame::data(frame), &mut events).unwrap();
    }
}

#[test]
fn a_nameless_call_passes_through_mistral() {
    let mistral = codec(Dialect::Mistral);
    let call =
        r#"{"id":"abcdefghi","type":"function","function":{"name":"","arguments":"{}"},"index":0}"#;
    let part = mistral.decode_call(json(call)).unwrap();
    assert!(mistral.encode_call(&part).same(&json(call)));
    let frame = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let events = events(Dialect::Mistral, &[&frame, "[DONE]"]);
    assert!(matches!(events.last(), Some(Event::End)), "{events:#?}");
}

#[test]
fn geminis_ref_keyword_is_not_sent_to_others() {
    let schema = json(r#"{"type":"object","properties":{"a":{"ref":"x","pattern":"y"}}}"#);
    for subset in [Subset::OpenaiStrict, Subset::DeepseekStrict, Subset::AnthropicStrict] {
        let rule =
            SchemaRule { subset, strict: subset, root_union: false, integer_as_number: false };
        let lowered = lower(&schema, &rule, true);
        let again = lower(&lowered.schema, &rule, true);
        assert_eq!((again.schema, again.changes), (lowered.schema, vec![]), "{subset:?}");
    }
}

#[test]
fn a_root_that_is_not_an_object_is_unchanged() {
    for schema in
        [r#"{"type":["string","integer"]}"#, r#"{"enum":["a",1]}"#, r#"{"type":["null","array"]}"#]
    {
        for subset in [Subset::OpenaiStrict, Subset::AnthropicStrict, Subset::GeminiOpenapi] {
            let rule =
                SchemaRule { subset, strict: subset, root_union: false, integer_as_number: false };
            let lowered = lower(&json(schema), &rule, true);
            assert_eq!(lowered.schema, json(schema), "{subset:?}");
            assert_eq!(lower(&lowered.schema, &rule, true), lowered, "{subset:?}");
        }
    }
}

#[test]
fn outcomes_that_differ_in_what_the_target_drops_are_one() {
    let result = |image: &str| {
        format!(
            r#"{{"toolResult":{{"toolUseId":"a","content":[{{"text":"4"}},{{"image":{image}}}]}}}}"#
        )
    };
    let text = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"text":"2 + 2?"}}]}},
            {{"role":"assistant","content":[{{"toolUse":{{"toolUseId":"a","name":"add","input":{{}}}}}}]}},
            {{"role":"user","content":[{},{}]}}]}}"#,
        result(r#"{"format":"png","source":{"bytes":"iVBORw0K"}}"#),
        result(r#"{"format":"png"}"#)
    );
    assert_fits_once(Dialect::Bedrock, &text);
}

#[test]
fn outcomes_that_differ_in_the_name_of_their_tool_are_one() {
    let response = |name: &str| {
        format!(r#"{{"functionResponse":{{"id":"a","name":"{name}","response":{{"output":4}}}}}}"#)
    };
    let text = format!(
        r#"{{"contents":[{{"role":"user","parts":[{{"text":"2 + 2?"}}]}},
            {{"role":"model","parts":[{{"functionCall":{{"id":"a","name":"add","args":{{}}}}}}]}},
            {{"role":"user","parts":[{},{}]}}]}}"#,
        response("date"),
        response("add")
    );
    let profile = codec(Dialect::OpenaiChat).profile(&Target::default());
    let fitted = fit(request(Dialect::Gemini, &text), Dialect::Gemini, &profile).request;
    let parts = fitted.messages.iter().flat_map(|message| &message.parts);
    assert_eq!(parts.filter(|part| part.as_outcome().is_some()).count(), 1);
}

#[test]
fn calls_that_the_user_makes_are_dropped_with_a_loss() {
    let response = r#"{"functionResponse":{"id":"a","name":"add","response":{"output":4}}}"#;
    let text = format!(
        r#"{{"contents":[{{"role":"user","parts":[{response},{response}]}},
            {{"role":"function","parts":[{{"text":"2 + 2?"}},{{"functionCall":{{"id":"a","name":"add","args":{{}}}}}}]}},
            {{"role":"user","parts":[{response},{response}]}}]}}"#
    );
    assert_fits_once(Dialect::Gemini, &text);
    for to in Dialect::ALL.into_iter().filter(|to| *to != Dialect::Gemini) {
        let Some(to) = dialect::codec(to) else { continue };
        let profile = to.profile(&Target::default());
        let fitted = fit(request(Dialect::Gemini, &text), Dialect::Gemini, &profile);
        let dropped = fitted.losses.iter().find(|loss| loss.what == "call dropped").unwrap();
        assert_eq!(dropped.site.origin.pointer(), Some("/contents/1/parts/1"), "{}", to.dialect());
    }
}

#[test]
fn a_call_within_an_outcome_is_dropped_with_a_loss() {
    let call = r#"{"toolUse":{"toolUseId":"a","name":"add","input":{}}}"#;
    let result = |content: &str| {
        format!(r#"{{"toolResult":{{"toolUseId":"a","content":[{{"text":"4"}}{content}]}}}}"#)
    };
    let text = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"text":"2 + 2?"}}]}},
            {{"role":"assistant","content":[{call}]}},
            {{"role":"user","content":[{},{}]}}]}}"#,
        result(""),
        result(&format!(",{call}"))
    );
    assert_fits_once(Dialect::Bedrock, &text);
    let profile = codec(Dialect::Ollama).profile(&Target::default());
    let fitted = fit(request(Dialect::Bedrock, &text), Dialect::Bedrock, &profile);
    let dropped = fitted.losses.iter().find(|loss| loss.what == "block dropped").unwrap();
    let place = Some("/messages/2/content/1/toolResult/content/1");
    assert_eq!(dropped.site.origin.pointer(), place);
}

#[test]
fn a_conversation_starts_with_a_user_message_after_drops() {
    let text = r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},
        {"role":"user","content":""},{"role":"assistant","content":"4"},{"role":"user","content":"Why?"}]}"#;
    assert_fits_once(Dialect::Cohere, text);
    let profile = codec(Dialect::Anthropic).profile(&Target::default());
    let fitted = fit(request(Dialect::Cohere, text), Dialect::Cohere, &profile).request;
    assert_eq!(fitted.messages[0].role, Role::User);
}

#[test]
fn an_outcome_among_instructions_is_dropped_with_a_loss() {
    let image = r#"{"inline_data":{"mime_type":"image/png","data":"iVBORw=="}}"#;
    let text = format!(
        r#"{{"systemInstruction":{{"parts":[{{"functionResponse":{{"id":"a","name":"add","response":{{"output":4}},"parts":[{image}]}}}}]}},
            "contents":[{{"role":"user","parts":[{{"text":"2 + 2?"}}]}}]}}"#
    );
    assert_fits_once(Dialect::Gemini, &text);
    let profile = codec(Dialect::Cohere).profile(&Target::default());
    let fitted = fit(request(Dialect::Gemini, &text), Dialect::Gemini, &profile);
    let dropped = fitted.losses.iter().find(|loss| loss.what == "outcome dropped").unwrap();
    assert_eq!(dropped.site.origin.pointer(), Some("/systemInstruction/parts/0"));
}

#[test]
fn a_second_outcome_of_a_call_has_the_name_of_the_call() {
    let text = r#"{"messages":[
        {"role":"user","content":[{"text":"a"}]},
        {"role":"assistant","content":[
            {"toolUse":{"toolUseId":"id_1","name":"first","input":{}}},
            {"toolUse":{"toolUseId":"id_2","name":"second","input":{}}},
            {"toolResult":{"toolUseId":"id_1","content":[{"text":"early"}]}}]},
        {"role":"user","content":[
            {"toolResult":{"toolUseId":"id_1","content":[{"text":"late"}]}},
            {"toolResult":{"toolUseId":"id_2","content":[{"text":"b"}]}}]}]}"#;
    assert_fits_once(Dialect::Bedrock, text);
}
