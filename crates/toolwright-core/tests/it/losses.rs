//! Losses: what says nothing is not reported, notes never refuse, and the gravest comes first.

use toolwright_core::dialect::{Dialect, WireRequest, lookup};
use toolwright_core::fit::Severity;
use toolwright_core::translate::{Options, Report, TranslateError, Translated, Translator};
use toolwright_core::{Json, object};

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
        for to in Dialect::ALL.into_iter().filter(|to| to.codec().is_some()) {
            let report = translate(from, to.id(), body, false).unwrap().report;
            // Ollama and Gemini pair by name, and other targets join what stands apart: notes.
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

#[test]
fn notes_are_reported_and_never_refuse() {
    // Two messages of the user in a row become one for Gemini, whose turns alternate.
    let body =
        r#"{"model":"m","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
    let report = translate("openai-chat", "gemini", body, true).unwrap().report;
    assert!(!report.losses.is_empty());
    assert!(report.losses.iter().all(|entry| entry.loss.severity == Severity::Note));
}

#[test]
fn the_gravest_loss_comes_first_and_is_named_by_a_refusal() {
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
    assert!(chat.is_default("/store", &Json::from(false)));
    assert!(!chat.is_default("/store", &Json::from(true)));
    assert!(!chat.is_default("/stored", &Json::from(false)));
    assert!(chat.is_default("/messages/12/tool_calls/3/index", &Json::from(3_u64)));
    assert!(!chat.is_default("/messages/12/index", &Json::from(3_u64)));
    assert!(chat.is_default("/anything", &Json::Null));
    assert!(chat.is_default("/metadata", &object! {}.into()));
    assert!(!chat.is_default("/metadata", &object! {"a": "b"}.into()));
}
