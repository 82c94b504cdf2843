//! Documents of unusual shapes that recorded traffic does not contain, for the laws.

use toolwright_core::Json;
use toolwright_dialects::dialect::{Dialect, WireReply, WireRequest};

/// Requests with unusual positions of instructions, repeated roles, and unusual turns.
const REQUESTS: [(Dialect, &str); 16] = [
    (
        Dialect::OpenaiResponses,
        r#"{"input":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"input":[{"role":"developer","content":"be brief"},{"role":"user","content":"hi"}]}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"instructions":"x","input":[{"role":"system","content":"be brief"},
            {"role":"user","content":"hi"}]}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"instructions":"x","input":[{"role":"user","content":"hi"},
            {"role":"developer","content":"be brief"},{"role":"user","content":"go on"}]}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[]},
            {"role":"assistant","content":"a"},{"role":"assistant","content":"b"},
            {"role":"user","content":"c"}]}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"input":[{"role":"user","content":"hi"},
            {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"p"},
                {"type":"summary_text","text":"q"}],
                "content":[{"type":"reasoning_text","text":"r"}],"encrypted_content":"zz"},
            {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[
                {"type":"output_text","text":"a","annotations":[]},
                {"type":"refusal","refusal":"no"}]},
            {"role":"user","content":"c"}]}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"input":[{"role":"user","content":"hi"},
            {"type":"web_search_call","id":"ws_1","status":"completed"},
            {"role":"user","content":"c"},
            {"type":"custom_tool_call","call_id":"c1","name":"f","input":"abc"},
            {"type":"custom_tool_call_output","call_id":"c1","output":"o"}],
            "tools":[{"type":"custom","name":"f"},{"type":"web_search"}],"tool_choice":"required",
            "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},
                "strict":true},"verbosity":"low"},
            "reasoning":{"effort":"none","summary":"auto"},"parallel_tool_calls":false}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"input":"hi","tools":[{"type":"function","name":"a","parameters":{},"strict":true},
            {"type":"function","name":"b"}],
            "tool_choice":{"type":"allowed_tools","mode":"auto",
                "tools":[{"type":"function","name":"a"}]}}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"input":[{"role":"user","content":[
            {"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}},
            {"type":"input_image","image_url":"https://x/y.png","detail":"high"},
            {"type":"input_file","file_id":"file_1"},
            {"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}]}]}"#,
    ),
    (
        Dialect::OpenaiResponses,
        r#"{"input":[{"role":"user","content":"x"},
            {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
            {"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},
            {"type":"function_call_output","call_id":"c1","output":[
                {"type":"input_text","text":"a"},
                {"type":"input_image","image_url":"https://x/y.png"}]},
            {"type":"function_call_output","call_id":"c2","output":""}]}"#,
    ),
    (
        Dialect::OpenaiChat,
        r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"},
            {"role":"assistant","content":"a"},{"role":"assistant","content":"b"},
            {"role":"user","content":"c"}]}"#,
    ),
    (
        Dialect::OpenaiChat,
        r#"{"messages":[{"role":"developer","content":"s"},{"role":"user","content":"hi"},
            {"role":"assistant","content":"a"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
                "function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"o"}]}"#,
    ),
    (
        Dialect::Anthropic,
        r#"{"max_tokens":5,"messages":[{"role":"user","content":"hi"},
            {"role":"assistant","content":"a"},{"role":"assistant","content":"b"},
            {"role":"user","content":"c"}]}"#,
    ),
    (
        Dialect::Ollama,
        r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},
            {"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#,
    ),
    (
        Dialect::Mistral,
        r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},
            {"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#,
    ),
    (
        Dialect::Cohere,
        r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},
            {"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#,
    ),
];

/// The items of replies in the Responses format, and their stop reasons.
const REPLIES: [(&str, &str); 12] = [
    (MESSAGE, r#""status":"completed","parallel_tool_calls":true,"tool_choice":"auto","tools":[]"#),
    (
        MESSAGE,
        r#""status":"completed","parallel_tool_calls":false,"tool_choice":"required",
        "tools":[{"type":"web_search"}],"temperature":1.0,"instructions":"i""#,
    ),
    (
        r#"{"type":"reasoning","id":"rs_1","summary":[]},
        {"type":"message","id":"msg_1","role":"assistant","status":"incomplete","content":[
            {"type":"output_text","text":"a","annotations":[{"type":"x"}],"logprobs":[]}]}"#,
        r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#,
    ),
    (
        r#"{"type":"reasoning","id":"rs_1","status":"completed","summary":[
            {"type":"summary_text","text":"q"},{"type":"summary_text","text":"r"}],
            "content":[{"type":"reasoning_text","text":"s"}],"encrypted_content":"zz"}"#,
        r#""status":"incomplete","incomplete_details":{"reason":"content_filter"}"#,
    ),
    (MESSAGE, r#""status":"incomplete","incomplete_details":{"reason":"steered"}"#),
    (MESSAGE, r#""status":"in_progress""#),
    (MESSAGE, r#""status":"cancelled""#),
    (MESSAGE, r#""status":"failed","error":{"code":"server_error","message":"m"}"#),
    (MESSAGE, r#""status":"failed","error":{"message":"m"}"#),
    (
        r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[
            {"type":"refusal","refusal":"no"}]}"#,
        r#""status":"completed""#,
    ),
    (
        r#"{"type":"custom_tool_call","id":"ctc_1","call_id":"c9","name":"n","input":"x"},
        {"type":"function_call","id":"fc_1","call_id":"c1","name":"n","arguments":"{\"a\":",
            "status":"incomplete"}"#,
        r#""status":"completed""#,
    ),
    (
        r#"{"type":"web_search_call","id":"ws_1","status":"completed"},
        {"type":"message","id":"m","role":"assistant","content":[]}"#,
        r#""status":"completed""#,
    ),
];

const MESSAGE: &str = r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed",
    "content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]}"#;

const USAGES: [&str; 3] = [
    r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":5,"cache_write_tokens":7},
        "output_tokens":50,"output_tokens_details":{"reasoning_tokens":9},"total_tokens":150}"#,
    r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},
        "output_tokens":50,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":150}"#,
    "null",
];

/// The requests of a dialect.
pub fn requests(dialect: Dialect) -> Vec<(String, WireRequest)> {
    let own = REQUESTS.iter().enumerate().filter(|(_, (own, _))| *own == dialect);
    own.map(|(number, (_, body))| {
        let mut body = Json::parse(body).unwrap();
        body.as_object_mut().unwrap().insert("model", "m");
        (format!("shape {number}"), WireRequest { path: String::new(), headers: vec![], body })
    })
    .collect()
}

/// The replies of a dialect.
pub fn replies(dialect: Dialect) -> Vec<(String, WireReply)> {
    if dialect != Dialect::OpenaiResponses {
        return vec![];
    }
    let mut out = Vec::new();
    for (number, (items, ending)) in REPLIES.iter().enumerate() {
        for usage in USAGES {
            let body = format!(
                r#"{{"id":"resp_1","object":"response","created_at":7,"model":"m",
                "output":[{items}],{ending},"usage":{usage}}}"#
            );
            out.push((format!("shape {number}"), WireReply::ok(Json::parse(&body).unwrap())));
        }
    }
    out
}
