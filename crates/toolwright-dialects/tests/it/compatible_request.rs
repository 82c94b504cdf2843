//! Requests of OpenAI-compatible vendors, with their own fields, values, blocks and tools, to
//! OpenAI and others.

use toolwright_core::Json;
use toolwright_core::loss::Severity;
use toolwright_dialects::dialect::{WireRequest, lookup};
use toolwright_dialects::translate::{Options, Translator};

type Losses = Vec<(String, Severity)>;

/// Translates a body between two vendor presets or dialects.
fn translate(from: &str, to: &str, body: &str) -> (Json, Losses) {
    let (from, to) = (lookup(from).unwrap(), lookup(to).unwrap());
    let wire = WireRequest { body: Json::parse(body).unwrap(), ..WireRequest::default() };
    let done = Translator::new(from, to, &Options::default()).request(wire).unwrap();
    let mut losses: Losses =
        done.report.losses.iter().map(|own| (own.path.clone(), own.loss.severity)).collect();
    losses.sort_by(|one, other| one.0.cmp(&other.0));
    (done.value.body, losses)
}

fn minor(paths: &[&str]) -> Losses {
    paths.iter().map(|path| ((*path).to_owned(), Severity::Minor)).collect()
}

const MARKED: &str = r#"{"model":"m","messages":[{"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}]},{"role":"user","content":[{"type":"text","text":"Hi"}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}},"cache_control":{"type":"ephemeral"}}]}"#;

#[test]
fn cache_control_of_a_chat_request_is_a_cache_breakpoint() {
    for from in ["openai-chat", "openrouter"] {
        let (body, losses) = translate(from, "anthropic", MARKED);
        let system = body.pointer("/system/0/cache_control").unwrap();
        assert_eq!(system.compact(), r#"{"type":"ephemeral","ttl":"1h"}"#, "{from}");
        let tool = body.pointer("/tools/0/cache_control").unwrap();
        assert_eq!(tool.compact(), r#"{"type":"ephemeral"}"#, "{from}");
        assert_eq!(losses, [], "{from}");
    }
}

#[test]
fn openai_gets_its_own_breakpoints_and_none_on_tools() {
    let (body, losses) = translate("openrouter", "openai-chat", MARKED);
    let part = body.pointer("/messages/0/content/0").unwrap();
    let mark = part.get("prompt_cache_breakpoint").unwrap();
    assert_eq!(mark.compact(), r#"{"mode":"explicit"}"#);
    assert!(part.get("cache_control").is_none());
    assert!(body.pointer("/tools/0/cache_control").is_none());
    let paths = ["/messages/0/content/0/cache_control/ttl", "/tools/0/cache_control"];
    assert_eq!(losses, minor(&paths));
}

#[test]
fn openrouter_gets_cache_control() {
    let body = r#"{"model":"m","max_tokens":9,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]}"#;
    let (body, losses) = translate("anthropic", "openrouter", body);
    let part = body.pointer("/messages/0/content/0/cache_control").unwrap();
    assert_eq!(part.compact(), r#"{"type":"ephemeral","ttl":"1h"}"#);
    let tool = body.pointer("/tools/0/cache_control").unwrap();
    assert_eq!(tool.compact(), r#"{"type":"ephemeral"}"#);
    assert_eq!(losses, []);
}

#[test]
fn openai_gets_no_field_or_value_that_it_does_not_know() {
    let body = r#"{"model":"m","service_tier":"on_demand","messages":[{"role":"user","content":[{"type":"text","text":"Hi","weight":2},{"type":"image_url","image_url":{"url":"https://example.test/a.png","detail":"low"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","index":0,"mood":"good","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"ok","took_ms":4}],"tools":[{"type":"function","function":{"name":"f"},"eager_input_streaming":true}]}"#;
    let (there, losses) = translate("groq", "openai-chat", body);
    let paths = [
        "/messages/0/content/0/weight",
        "/messages/1/tool_calls/0/mood",
        "/messages/2/took_ms",
        "/service_tier",
        "/tools/0/eager_input_streaming",
    ];
    assert_eq!(losses, minor(&paths));
    for path in paths {
        assert!(there.pointer(path).is_none(), "{path}");
    }
    let detail = there.pointer("/messages/0/content/1/image_url/detail").and_then(Json::as_str);
    assert_eq!(detail, Some("low"));
    // Others ignore them.
    let (there, _) = translate("groq", "vllm", body);
    assert!(there.pointer("/messages/0/content/0/weight").is_some());
    assert!(there.pointer("/service_tier").is_some());
}

#[test]
fn openai_and_deepseek_get_no_hosted_tool_and_no_block_of_another_vendor() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"hologram","hologram":{"url":"https://example.test/a.holo"}}]}],"tools":[{"type":"openrouter:web_search"},{"type":"function","function":{"name":"f"}}]}"#;
    for to in ["openai-chat", "deepseek"] {
        let (there, losses) = translate("openrouter", to, body);
        assert_eq!(there.get("tools").and_then(Json::as_array).unwrap().len(), 1, "{to}");
        assert_eq!(there.pointer("/messages/0/content").and_then(Json::as_str), Some("Hi"), "{to}");
        let paths = ["/messages/0/content/1", "/tools/0"];
        assert_eq!(losses, paths.map(|path| (path.to_owned(), Severity::Major)), "{to}");
    }
    let (there, _) = translate("openrouter", "vllm", body);
    assert_eq!(there.get("tools").and_then(Json::as_array).unwrap().len(), 2);
    assert!(there.pointer("/messages/0/content/1/hologram").is_some());
}

#[test]
fn the_effort_default_is_omitted_for_others() {
    let body =
        r#"{"model":"m","reasoning_effort":"default","messages":[{"role":"user","content":"Hi"}]}"#;
    for to in ["openai-chat", "openai-responses", "mistral", "deepseek", "anthropic"] {
        let (there, losses) = translate("groq", to, body);
        assert!(!there.compact().contains("effort"), "{to}: {}", there.compact());
        assert!(!there.compact().contains("thinking"), "{to}: {}", there.compact());
        assert_eq!(losses, [], "{to}");
    }
    let (there, _) = translate("openai-chat", "groq", body);
    assert_eq!(there.get("reasoning_effort").and_then(Json::as_str), Some("default"));
}

#[test]
fn an_answer_in_the_responses_format_has_no_cache_breakpoint() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"Yes?","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"Go"}]}"#;
    let (there, losses) = translate("anthropic", "openai-responses", body);
    assert!(there.pointer("/input/0/content/0/prompt_cache_breakpoint").is_some());
    assert!(!there.pointer("/input/1").unwrap().compact().contains("prompt_cache_breakpoint"));
    assert_eq!(losses, minor(&["/messages/1/content/0/cache_control"]));
    let (there, losses) = translate("anthropic", "openai-chat", body);
    assert!(there.pointer("/messages/1/content/0/prompt_cache_breakpoint").is_some());
    assert_eq!(losses, []);
}

#[test]
fn file_data_that_is_a_url_is_a_document_by_url() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Read."},{"type":"file","file":{"filename":"a.pdf","file_data":"https://example.test/a.pdf"}}]}]}"#;
    let (there, losses) = translate("openrouter", "anthropic", body);
    let source = there.pointer("/messages/0/content/1/source").unwrap();
    assert_eq!(source.compact(), r#"{"type":"url","url":"https://example.test/a.pdf"}"#);
    assert_eq!(losses, []);
    // OpenAI takes documents in base64 only.
    let (there, losses) = translate("openrouter", "openai-chat", body);
    assert!(!there.compact().contains("file_data"));
    assert_eq!(losses, [("/messages/0/content/1".to_owned(), Severity::Major)]);
    let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Read."},{"type":"document","source":{"type":"url","url":"https://example.test/a.pdf"}}]}]}"#;
    let (there, losses) = translate("anthropic", "openrouter", body);
    let data = there.pointer("/messages/0/content/1/file/file_data").and_then(Json::as_str);
    assert_eq!(data, Some("https://example.test/a.pdf"));
    assert_eq!(losses, []);
}

#[test]
fn a_count_written_as_a_fraction_becomes_an_integer() {
    let body = r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"topK":40.0,"maxOutputTokens":9.0,"temperature":1.0}}"#;
    let (there, losses) = translate("gemini", "mistral", body);
    assert_eq!(there.get("top_k").unwrap().compact(), "40");
    assert_eq!(there.get("max_tokens").unwrap().compact(), "9");
    assert_eq!(there.get("temperature").unwrap().compact(), "1.0");
    assert_eq!(losses, []);
}

const VIDEOS: &str = r#"{"model":"m","messages":[{"role":"user","content":[
    {"type":"video_url","video_url":{"url":"https://example.test/a.mp4"}},
    {"type":"video_url","video_url":{"url":"data:video/webm;base64,AAAA"}},
    {"type":"text","text":"What happens?"}]}]}"#;

#[test]
fn videos_reach_targets_that_take_them() {
    let (there, losses) = translate("openrouter", "gemini", VIDEOS);
    let parts = there.pointer("/contents/0/parts").unwrap();
    let expected = r#"[{"fileData":{"mimeType":"video/mp4","fileUri":"https://example.test/a.mp4"}},{"inlineData":{"mimeType":"video/webm","data":"AAAA"}},{"text":"What happens?"}]"#;
    assert!(parts.same(&Json::parse(expected).unwrap()), "{parts}");
    assert_eq!(losses, []);
    // Vendors of the same format receive them unchanged.
    for to in ["openrouter", "qwen", "zhipu", "vllm"] {
        let (there, losses) = translate("openai-chat", to, VIDEOS);
        let own = Json::parse(VIDEOS).unwrap();
        let (sent, own) = (there.pointer("/messages/0"), own.pointer("/messages/0"));
        assert!(sent.unwrap().same(own.unwrap()), "{to}: {there}");
        assert_eq!(losses, [], "{to}");
    }
    let (there, _) = translate(
        "gemini",
        "qwen",
        r#"{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"video/mp4","data":"AAAA"}}]}]}"#,
    );
    let url = there.pointer("/messages/0/content/0/video_url/url").and_then(Json::as_str);
    assert_eq!(url, Some("data:video/mp4;base64,AAAA"));
}

#[test]
fn a_video_that_the_target_does_not_accept_is_reported_with_its_path() {
    for to in ["openai-chat", "anthropic", "openai-responses", "mistral", "cohere", "deepseek"] {
        let (there, losses) = translate("openrouter", to, VIDEOS);
        assert!(!there.compact().contains("a.mp4"), "{to}: {there}");
        let major = losses.iter().filter(|(_, severity)| *severity == Severity::Major);
        let paths: Vec<&str> = major.map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["/messages/0/content/0", "/messages/0/content/1"], "{to}");
    }
}

#[test]
fn a_breakpoint_on_a_message_follows_its_last_part() {
    let body = r#"{"model":"m","max_tokens":9,"messages":[
        {"role":"system","content":"Be kind.","cache_control":{"type":"ephemeral"}},
        {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"cache_control":{"type":"ephemeral","ttl":"1h"}}]}"#;
    let (there, losses) = translate("openrouter", "anthropic", body);
    let mark = |pointer: &str| there.pointer(pointer).map(Json::compact).unwrap_or_default();
    assert_eq!(mark("/system/0/cache_control"), r#"{"type":"ephemeral"}"#);
    assert_eq!(mark("/messages/0/content/0/cache_control"), "");
    assert_eq!(mark("/messages/0/content/1/cache_control"), r#"{"type":"ephemeral","ttl":"1h"}"#);
    assert_eq!(losses, []);
    let (_, losses) = translate("openrouter", "gemini", body);
    assert_eq!(losses, minor(&["/messages/0/cache_control", "/messages/1/cache_control"]));
}
