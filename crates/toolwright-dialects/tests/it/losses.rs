//! Losses: redundant members are not reported, informational losses never cause a refusal, and the
//! most severe loss comes first.

use toolwright_core::loss::Severity;
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::{self, Dialect, WireReply, WireRequest, lookup};
use toolwright_dialects::translate::{Options, Report, TranslateError, Translated, Translator};

use crate::fixtures;

fn translate(
    from: &str,
    to: &str,
    body: &str,
    strict: bool,
) -> Result<Translated<WireRequest>, TranslateError> {
    let options = Options { strict, ..Options::default() };
    let wire = WireRequest { body: Json::parse(body).unwrap(), ..WireRequest::default() };
    Translator::new(lookup(from).unwrap(), lookup(to).unwrap(), &options).request(wire)
}

fn paths(report: &Report) -> Vec<&str> {
    report.losses.iter().map(|entry| entry.path.as_str()).collect()
}

/// A request of each dialect in which every optional member has its default.
const DEFAULTS: [(&str, &str); 8] = [
    (
        "openai-chat",
        r#"{"model":"m","messages":[
            {"role":"user","content":"hi"},
            {"role":"assistant","content":"","refusal":null,"annotations":[],"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"call_a","content":"1"}],
            "tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{}},"strict":false}}],
            "n":1,"stream":true,"stream_options":{"include_usage":true},"store":false,"logprobs":false,
            "frequency_penalty":0,"presence_penalty":0.0,"parallel_tool_calls":true,"tool_choice":"auto",
            "service_tier":"auto","response_format":{"type":"text"},"metadata":{},"logit_bias":null}"#,
    ),
    (
        "openai-responses",
        r#"{"model":"m","input":[
            {"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]},
            {"role":"user","content":"hi"},
            {"type":"function_call","id":"fc_1","call_id":"call_a","name":"f","arguments":"{}","status":"completed"},
            {"type":"function_call_output","id":"fco_1","call_id":"call_a","output":"1","status":"completed"}],
            "tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}],
            "store":false,"include":["reasoning.encrypted_content"],"truncation":"disabled","background":false,
            "parallel_tool_calls":true,"tool_choice":"auto","text":{"format":{"type":"text"},"verbosity":"medium"}}"#,
    ),
    (
        "anthropic",
        r#"{"model":"m","max_tokens":9,"messages":[
            {"role":"user","content":"hi"},
            {"role":"assistant","content":[{"type":"tool_use","id":"toolu_a","name":"f","input":{},"caller":{"type":"direct"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","content":"1","is_error":false}]}],
            "tools":[{"type":"custom","name":"f","input_schema":{"type":"object","properties":{}},"defer_loading":false}],
            "tool_choice":{"type":"auto","disable_parallel_tool_use":false},"service_tier":"auto","metadata":{}}"#,
    ),
    (
        "bedrock",
        r#"{"modelId":"m","messages":[
            {"role":"user","content":[{"text":"hi"}]},
            {"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},
            {"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"1"}],"status":"success"}}]}],
            "system":[],"inferenceConfig":{},"performanceConfig":{"latency":"standard"},
            "toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}],"toolChoice":{"auto":{}}}}"#,
    ),
    (
        "gemini",
        r#"{"contents":[
            {"role":"user","parts":[{"text":"hi","thought":false}]},
            {"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}}]}],
            "systemInstruction":{"role":"user","parts":[{"text":"be kind"}]},"safetySettings":[],
            "tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}}]}],
            "toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},
            "generationConfig":{"candidateCount":1,"responseModalities":["TEXT"],"responseLogprobs":false,"frequencyPenalty":0,"responseMimeType":"text/plain"}}"#,
    ),
    (
        "ollama",
        r#"{"model":"m","messages":[
            {"role":"user","content":"hi","images":[]},
            {"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"f","arguments":{}}}]},
            {"role":"tool","tool_name":"f","content":"1"}],
            "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],
            "keep_alive":"5m","format":"","options":{"num_predict":-1,"presence_penalty":0},"stream":false}"#,
    ),
    (
        "mistral",
        r#"{"model":"m","messages":[
            {"role":"user","content":"hi"},
            {"role":"assistant","content":"","prefix":false,"tool_calls":[{"id":"abcdefghi","type":"function","index":0,"function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"abcdefghi","name":"f","content":"1"}],
            "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}},"strict":false}}],
            "n":1,"safe_prompt":false,"presence_penalty":0,"parallel_tool_calls":true,"tool_choice":"auto","response_format":{"type":"text"}}"#,
    ),
    (
        "cohere",
        r#"{"model":"m","messages":[
            {"role":"user","content":"hi"},
            {"role":"assistant","tool_plan":"I call f.","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"a","content":"1"}],
            "tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],
            "documents":[],"safety_mode":"CONTEXTUAL","logprobs":false,"strict_tools":false,"response_format":{"type":"text"}}"#,
    ),
];

#[test]
fn explicit_defaults_nulls_and_bookkeeping_are_no_loss() {
    for (from, body) in DEFAULTS {
        for to in Dialect::ALL.into_iter().filter(|to| dialect::codec(*to).is_some()) {
            let report = translate(from, to.id(), body, false).unwrap().report;
            // Informational losses: Ollama and Gemini pair results by name, and other targets merge
            // adjacent messages.
            let lost: Vec<String> = report
                .losses
                .iter()
                .filter(|entry| entry.loss.severity > Severity::Note)
                .map(ToString::to_string)
                .collect();
            assert!(lost.is_empty(), "{from} → {to}: {lost:?}");
            let word = ["tool_choice", "toolChoice", "parallel", "strict", "is_error", "status"];
            let named =
                paths(&report).into_iter().find(|path| word.iter().any(|word| path.contains(word)));
            assert_eq!(named, None, "{from} → {to}");
        }
    }
}

#[test]
fn values_other_than_the_default_are_losses() {
    let body = |more: &str| {
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],{more}}}"#)
    };
    for (more, path) in [
        (r#""logit_bias":{"1":2}"#, "/logit_bias/1"),
        (r#""store":true"#, "/store"),
        (r#""service_tier":"flex""#, "/service_tier"),
        (r#""modalities":["text","audio"]"#, "/modalities"),
        (r#""made_up":1"#, "/made_up"),
    ] {
        let report = translate("openai-chat", "anthropic", &body(more), false).unwrap().report;
        assert_eq!(paths(&report), [path]);
        assert!(translate("openai-chat", "anthropic", &body(more), true).is_err(), "{path}");
    }
}

/// A reply of each dialect with one word, and all members that describe how the vendor served it.
const BOOKKEEPING: [(&str, &str); 8] = [
    (
        "openai-chat",
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m","service_tier":"on_demand","system_fingerprint":"fp",
            "x_groq":{"id":"req"},"time_info":{"queue_time":0.1},"provider":"Novita",
            "choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],
            "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"queue_time":0.1,
                "prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0,"text_tokens":1},
                "completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0}}}"#,
    ),
    (
        "openai-responses",
        r#"{"id":"resp_1","object":"response","created_at":1,"completed_at":2,"status":"completed","error":null,"incomplete_details":null,
            "instructions":"Be kind.","max_output_tokens":99,"model":"m","parallel_tool_calls":true,"previous_response_id":"resp_0",
            "reasoning":{"effort":"low","summary":"auto"},"store":true,"temperature":0.5,"top_p":1.0,"top_logprobs":0,"truncation":"auto",
            "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}},"verbosity":"low"},"tool_choice":"required",
            "tools":[{"type":"function","name":"f","parameters":null,"strict":true}],"service_tier":"flex","billing":{"payer":"developer"},
            "tool_usage":{"image_gen":{"input_tokens":0}},"metadata":{"a":"b"},"background":true,
            "output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[],"logprobs":[]}]}],
            "usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":2}}"#,
    ),
    (
        "anthropic",
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi","citations":null}],
            "stop_reason":"end_turn","stop_sequence":null,"container":null,"context_management":{"applied_edits":[]},
            "usage":{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,
                "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"service_tier":"standard",
                "server_tool_use":{"web_search_requests":0,"web_fetch_requests":0}}}"#,
    ),
    (
        "bedrock",
        r#"{"ResponseMetadata":{"RequestId":"r","HTTPStatusCode":200},"metrics":{"latencyMs":7},"serviceTier":{"type":"flex"},
            "output":{"message":{"role":"assistant","content":[{"text":"hi"}]}},"stopReason":"end_turn",
            "usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2,"cacheReadInputTokens":0,"cacheReadInputTokenCount":0,
                "cacheWriteInputTokens":0,"cacheWriteInputTokenCount":0,"serverToolUsage":{}}}"#,
    ),
    (
        "gemini",
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP","index":0,"avgLogprobs":-0.1}],
            "modelVersion":"m","responseId":"r","createTime":"2026-11-15T00:00:00Z",
            "usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2,"trafficType":"ON_DEMAND",
                "promptTokensDetails":[{"modality":"TEXT","tokenCount":1}],"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":1}]}}"#,
    ),
    (
        "cohere",
        r#"{"id":"c","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},
            "usage":{"billed_units":{"input_tokens":1,"output_tokens":1},"tokens":{"input_tokens":1,"output_tokens":1},"cached_tokens":0}}"#,
    ),
    (
        "mistral",
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m",
            "choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":null},"finish_reason":"stop"}],
            "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
    ),
    (
        "ollama",
        r#"{"model":"m","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop",
            "total_duration":4,"load_duration":1,"prompt_eval_count":1,"prompt_eval_duration":1,"eval_count":1,"eval_duration":2}"#,
    ),
];

#[test]
fn how_a_reply_was_served_is_no_loss() {
    for (from, body) in BOOKKEEPING {
        for to in fixtures::codecs() {
            let options = Options::default();
            let wire = WireReply::ok(Json::parse(body).unwrap());
            let translator = Translator::new(lookup(from).unwrap(), to, &options);
            let report = translator.response(wire).unwrap().report;
            // Replies of Bedrock and Cohere do not name the model.
            let lost = paths(&report).into_iter();
            let lost: Vec<&str> = lost.filter(|path| !path.starts_with("/model")).collect();
            assert_eq!(lost, [""; 0], "{from} → {}", to.dialect());
        }
    }
}

#[test]
fn thinking_that_says_nothing_is_lost_with_a_note() {
    let body = |more: &str| {
        format!(
            r#"{{"id":"resp_1","object":"response","status":"completed","model":"m","output":[
            {{"type":"reasoning","id":"rs_1","summary":[]{more}}},
            {{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"hi"}}]}}]}}"#
        )
    };
    let (from, to) = (lookup("openai-responses").unwrap(), lookup("anthropic").unwrap());
    for (more, severity) in [("", Severity::Note), (r#","encrypted_content":"x""#, Severity::Minor)]
    {
        let options = Options::default();
        let wire = WireReply::ok(Json::parse(&body(more)).unwrap());
        let report = Translator::new(from, to, &options).response(wire).unwrap().report;
        let thinking = report.losses.iter().find(|own| own.path == "/output/0").unwrap();
        assert_eq!(thinking.loss.severity, severity, "{more}");
    }
}

#[test]
fn notes_are_reported_and_never_refuse() {
    // Two consecutive user messages become one for Gemini, whose turns alternate.
    let body =
        r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
    let report = translate("openai-chat", "gemini", body, true).unwrap().report;
    assert!(!report.losses.is_empty());
    assert!(report.losses.iter().all(|entry| entry.loss.severity == Severity::Note));
}

#[test]
fn the_most_severe_loss_comes_first_and_is_named_by_a_refusal() {
    let tool = |name: &str, more: &str| {
        format!(r#"{{"name":"{name}","input_schema":{{"type":"object","properties":{{}}}}{more}}}"#)
    };
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"container":"c","messages":[{{"role":"user","content":"a"}}],"tools":[{},{},{}]}}"#,
        tool("a", r#","cache_control":{"type":"ephemeral"}"#),
        tool("b", r#","strict":true"#),
        tool("c", r#","strict":true"#),
    );
    let report = translate("anthropic", "gemini", &body, false).unwrap().report;
    let severities: Vec<Severity> = report.losses.iter().map(|entry| entry.loss.severity).collect();
    assert!(severities.is_sorted_by(|one, next| one >= next), "{severities:?}");
    let all = ["/tools/1/strict", "/tools/2/strict", "/container", "/tools/0/cache_control"];
    assert_eq!(paths(&report), all);
    assert_eq!((report.count_of(Severity::Major), report.count_of(Severity::Minor)), (2, 2));
    let refused = translate("anthropic", "gemini", &body, true).unwrap_err().to_string();
    assert!(refused.contains("4 things") && refused.contains("/tools/1/strict"), "{refused}");
}

#[test]
fn a_default_is_known_by_its_path_and_its_value() {
    let chat = Dialect::OpenaiChat;
    assert!(dialect::is_default(chat, "/store", &Json::from(false)));
    assert!(!dialect::is_default(chat, "/store", &Json::from(true)));
    assert!(!dialect::is_default(chat, "/stored", &Json::from(false)));
    assert!(dialect::is_default(chat, "/messages/12/tool_calls/3/index", &Json::from(3_u64)));
    assert!(!dialect::is_default(chat, "/messages/12/index", &Json::from(3_u64)));
    assert!(dialect::is_default(chat, "/anything", &Json::Null));
    assert!(dialect::is_default(chat, "/time_info/queue/first", &Json::from(3_u64)));
    assert!(!dialect::is_default(chat, "/time_infos/queue", &Json::from(3_u64)));
    assert!(dialect::is_default(chat, "/metadata", &object! {}.into()));
    assert!(!dialect::is_default(chat, "/metadata", &object! {"a": "b"}.into()));
}
