//! Known failures of other gateways on the way from a client to a vendor.

use toolwright_core::{Json, object};

use super::fold;
use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{
    Answer, Gateway, Received, Reply, Upstream, at, fixture, items_at, table, text_at,
};

/// Sends one body to a path through a new gateway to an upstream of a dialect.
fn through(path: &str, body: &str, dialect: &str) -> (Answer, Received) {
    let upstream = Upstream::start([vendor(dialect).final_reply(false)]);
    let gateway = Gateway::start(&table("up", dialect, &upstream));
    let answer = gateway.ask_json(path, body).ok();
    (answer, upstream.last())
}

/// A chat in OpenAI's dialect, with more members before its messages.
fn chat(more: &str, messages: &str) -> String {
    format!(r#"{{"model":"up/m",{more}"messages":[{{"role":"user","content":"hi"}}{messages}]}}"#)
}

const TOOL: &str = r#"{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}"#;

/// A turn with two calls and their results.
const TURN: &str = r#",{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":\"1\"}"}},{"id":"call_2","type":"function","function":{"name":"f","arguments":"{\"a\":\"2\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"one"},{"role":"tool","tool_call_id":"call_2","content":"two"}"#;

const CHAT: &str = "/v1/chat/completions";

#[test]
fn only_the_call_id_correlates() {
    let own = vendor("openai-responses");
    let upstream = Upstream::start([own.reply(false), own.final_reply(false)]);
    let gateway = Gateway::start(&table("up", own.id, &upstream));
    let first = fold::chat(&gateway.ask_json(CHAT, &chat("", "")).ok());
    let recorded = Json::parse_bytes(&own.calls()).unwrap();
    let calls = items_at(&recorded, "/output");
    let calls: Vec<&Json> = calls.iter().filter(|item| item.get("call_id").is_some()).collect();
    for (call, item) in first.calls.iter().zip(&calls) {
        assert_eq!(call.id, text_at(item, "/call_id"));
        assert_ne!(call.id, text_at(item, "/id"));
    }
    let mut messages = vec![first.message()];
    messages.extend(first.results());
    let messages: String =
        messages.iter().flat_map(|one| [",".to_owned(), one.compact()]).collect();
    gateway.ask_json(CHAT, &chat("", &messages)).ok();
    for item in items_at(&upstream.last().json(), "/input") {
        if at(&item, "/type") == Json::from("function_call") {
            assert!(first.calls.iter().any(|call| call.id == text_at(&item, "/call_id")));
            let id = at(&item, "/id");
            let received = calls.iter().any(|call| at(call, "/id") == id);
            assert!(id.is_null() || received, "{}", item.compact());
        }
    }
}

#[test]
fn tools_of_any_shape_keep_their_names() {
    let body = fixture("openai-chat/synthetic/case_11_mixed_shapes_request.json");
    let body = String::from_utf8(body).unwrap().replacen("\"m\"", "\"up/m\"", 1);
    for (id, list, name) in [
        ("anthropic", "/tools", "/name"),
        ("bedrock", "/toolConfig/tools", "/toolSpec/name"),
        ("gemini", "/tools/0/functionDeclarations", "/name"),
        ("openai-responses", "/tools", "/name"),
        ("mistral", "/tools", "/function/name"),
        ("cohere", "/tools", "/function/name"),
    ] {
        let (_, received) = through(CHAT, &body, id);
        let mut names: Vec<String> = items_at(&received.json(), list)
            .iter()
            .map(|tool| at(tool, name).as_str().unwrap_or_default().to_owned())
            .collect();
        names.sort();
        // A target without a tool choice is offered only the forced tool.
        if names.len() == 1 {
            assert_eq!(names, ["flat"], "{id} {}", received.text());
        } else {
            assert_eq!(names, ["bare", "flat", "free", "nested", "simple", "spec"], "{id}");
        }
    }
}

#[test]
fn a_hosted_tool_does_not_become_a_nameless_function() {
    let body = fixture("openai-chat/synthetic/case_12_hosted_tool_request.json");
    let body = String::from_utf8(body).unwrap().replacen("\"m\"", "\"up/m\"", 1);
    for id in ["anthropic", "bedrock", "mistral", "cohere", "ollama"] {
        let (answer, received) = through(CHAT, &body, id);
        let tools = match id {
            "bedrock" => items_at(&received.json(), "/toolConfig/tools"),
            _ => items_at(&received.json(), "/tools"),
        };
        let hosted = received.text().contains("web_search");
        assert_eq!(tools.len(), 1 + usize::from(hosted), "{id} {}", received.text());
        assert!(hosted || answer.header("toolwright-losses").is_some(), "{id}");
        assert!(!received.text().contains("\"name\":\"\""), "{id} {}", received.text());
    }
}

#[test]
fn illegal_tool_names_are_aliased_and_restored() {
    let long = format!("mcp__files.example.com/{}", "read_a_very_long_name_".repeat(5));
    let tools = format!(
        r#""tools":[{{"type":"function","function":{{"name":"{long}","parameters":{{"type":"object","properties":{{}}}}}}}},{TOOL}],"tool_choice":{{"type":"function","function":{{"name":"{long}"}}}},"#
    );
    let history = TURN.replacen("\"name\":\"f\"", &format!("\"name\":\"{long}\""), 1);
    let reply = Reply::made(|received: &Received| {
        let name = text_at(&received.json(), "/tools/0/name");
        let recorded = String::from_utf8(vendor("anthropic").calls()).unwrap();
        Reply::json(200, recorded.replace("get_weather", &name))
    });
    let upstream = Upstream::start([reply]);
    let gateway = Gateway::start(&table("up", "anthropic", &upstream));
    let answer = gateway.ask_json(CHAT, &chat(&tools, &history)).ok();
    assert_eq!(fold::chat(&answer).calls[0].name, long, "{}", answer.text());
    let document = upstream.last().json();
    let name = text_at(&document, "/tools/0/name");
    let legal = |one: char| one.is_ascii_alphanumeric() || "_-".contains(one);
    assert!(name.len() <= 64 && name.chars().all(legal), "{name}");
    assert_eq!(text_at(&document, "/tools/1/name"), "f");
    assert_eq!(text_at(&document, "/tool_choice/name"), name);
    assert_eq!(text_at(&document, "/messages/1/content/0/name"), name, "{}", document.compact());
    assert!(!document.compact().contains(&long));
}

#[test]
fn bedrock_gets_tools_with_a_history_of_calls_and_results_in_one_message() {
    let (_, received) = through(CHAT, &chat("", TURN), "bedrock");
    let document = received.json();
    assert!(!items_at(&document, "/toolConfig/tools").is_empty(), "{}", received.text());
    let (_, with_tools) = through(CHAT, &chat(&format!("\"tools\":[{TOOL}],"), TURN), "bedrock");
    let offered = items_at(&with_tools.json(), "/toolConfig/tools");
    assert_eq!((offered.len(), text_at(&offered[0], "/toolSpec/name").as_str()), (1, "f"));
    let more = r#",{"role":"user","content":[{"type":"text","text":"and?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}"#;
    for id in ["bedrock", "anthropic"] {
        let (_, received) = through(CHAT, &chat("", &format!("{TURN}{more}")), id);
        let messages = items_at(&received.json(), "/messages");
        let roles: Vec<String> = messages.iter().map(|own| text_at(own, "/role")).collect();
        assert_eq!(roles, ["user", "assistant", "user"], "{}", received.text());
        let content = items_at(&messages[2], "/content");
        let is_result = |block: &Json| {
            block.get("toolResult").is_some() || at(block, "/type") == Json::from("tool_result")
        };
        assert!(is_result(&content[0]) && is_result(&content[1]), "{}", received.text());
        assert!(content[2..].iter().all(|block| !is_result(block)), "{}", received.text());
        assert_eq!(content.len(), 4);
    }
}

#[test]
fn an_empty_result_reaches_every_vendor() {
    let empty = TURN.replacen("\"content\":\"one\"", "\"content\":\"\"", 1);
    for vendor in VENDORS.iter().filter(|vendor| vendor.id != "openai-chat") {
        let (_, received) = through(CHAT, &chat("", &empty), vendor.id);
        let text = received.text();
        // Each call still has its result.
        assert!(text.contains("two"), "{} {text}", vendor.id);
        let (from, to) = match vendor.id {
            "anthropic" => ("tool_use_id", 2),
            "bedrock" => ("toolResult", 2),
            "gemini" => ("functionResponse", 2),
            "openai-responses" => ("function_call_output", 2),
            "ollama" => ("\"role\":\"tool\"", 2),
            _ => ("tool_call_id", 2),
        };
        assert_eq!(text.matches(from).count(), to, "{} {text}", vendor.id);
    }
}

#[test]
fn a_cache_marker_arrives_or_is_counted() {
    let body = r#"{"model":"up/m","max_tokens":9,"system":[{"type":"text","text":"long","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#;
    let (_, received) = through("/v1/messages", body, "bedrock");
    assert_eq!(received.text().matches("cachePoint").count(), 2, "{}", received.text());
    let system = items_at(&received.json(), "/system");
    assert!(system[1].get("cachePoint").is_some(), "{}", received.text());
    let (_, received) = through("/v1/messages", body, "openai-chat");
    let marks = received.text().matches("prompt_cache_breakpoint").count();
    assert_eq!(marks, 2, "{}", received.text());
    for id in ["gemini", "mistral", "ollama"] {
        let (answer, received) = through("/v1/messages", body, id);
        assert!(!received.text().contains("cache"), "{}", received.text());
        let lost = answer.header("toolwright-losses").unwrap_or_else(|| panic!("{id}: in silence"));
        assert!(lost.contains("first="), "{lost}");
    }
}

#[test]
fn the_same_request_is_the_same_bytes_in_every_process() {
    for from in VENDORS {
        let to = if from.id == "anthropic" { "gemini" } else { "anthropic" };
        let sent = from.request(false).with_model(&from, "up/m");
        let (_, first) = through(&sent.path, &sent.body, to);
        let (_, second) = through(&sent.path, &sent.body, to);
        assert_eq!(first.text(), second.text(), "{}", from.id);
    }
}

#[test]
fn no_restriction_is_widened_silently() {
    let offered = |choice: &str| format!("\"tools\":[{TOOL}],\"tool_choice\":{choice},");
    for vendor in VENDORS.iter().filter(|vendor| vendor.id != "openai-chat") {
        let (_, received) = through(CHAT, &chat(&offered("\"none\""), ""), vendor.id);
        let document = received.json();
        let said = match vendor.id {
            "anthropic" => at(&document, "/tool_choice/type"),
            "gemini" => at(&document, "/toolConfig/functionCallingConfig/mode"),
            _ => at(&document, "/tool_choice"),
        };
        let said = said.as_str().unwrap_or_default().to_lowercase();
        let offers = received.text().contains("\"f\"");
        assert!(said == "none" || !offers, "{} {}", vendor.id, received.text());
    }
    // One call at a time: requested from the vendor, or enforced.
    let single = format!("\"tools\":[{TOOL}],\"parallel_tool_calls\":false,");
    let (_, received) = through(CHAT, &chat(&single, ""), "anthropic");
    let choice = at(&received.json(), "/tool_choice/disable_parallel_tool_use");
    assert_eq!(choice, Json::Bool(true), "{}", received.text());
    for stream in [false, true] {
        let upstream = Upstream::start([vendor("gemini").reply(stream)]);
        let gateway = Gateway::start(&table("up", "gemini", &upstream));
        let body = chat(&format!("\"stream\":{stream},{single}"), "");
        let answer = gateway.ask_json(CHAT, &body).ok();
        assert_eq!(fold::chat(&answer).calls.len(), 1, "{}", answer.text());
    }
    // A subset of the tools: the others are not offered, or cannot be chosen.
    let other = TOOL.replace("\"f\"", "\"g\"");
    let allowed = format!(
        r#""tools":[{TOOL},{other}],"tool_choice":{{"type":"allowed_tools","allowed_tools":{{"mode":"auto","tools":[{{"type":"function","function":{{"name":"g"}}}}]}}}},"#
    );
    for id in ["anthropic", "bedrock", "mistral", "cohere", "ollama"] {
        let (_, received) = through(CHAT, &chat(&allowed, ""), id);
        assert!(received.text().contains("\"g\""), "{id} {}", received.text());
        assert!(!received.text().contains("\"f\""), "{id} {}", received.text());
    }
}

#[test]
fn a_null_that_strict_mode_required_is_removed() {
    let tool = r#"{"name":"f","strict":true,"input_schema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}}"#;
    let body = format!(
        r#"{{"model":"up/m","max_tokens":9,"tools":[{tool}],"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    let recorded = String::from_utf8(vendor("openai-chat").calls()).unwrap();
    let recorded = recorded
        .replace("get_weather", "f")
        .replace(r#"{\"city\":\"北京\",\"unit\":\"celsius\"}"#, r#"{\"a\":\"x\",\"b\":null}"#);
    let upstream = Upstream::start([Reply::json(200, recorded)]);
    let gateway = Gateway::start(&table("up", "openai-chat", &upstream));
    let answer = gateway.ask_json("/v1/messages", &body).ok();
    let tool = at(&upstream.last().json(), "/tools/0/function");
    assert_eq!(at(&tool, "/strict"), Json::Bool(true));
    assert_eq!(at(&tool, "/parameters/required").compact(), r#"["a","b"]"#, "{}", tool.compact());
    assert_eq!(fold::messages(&answer).calls[0].arguments, r#"{"a":"x"}"#, "{}", answer.text());
}

#[test]
fn digits_of_a_history_and_of_a_schema_arrive() {
    let exact = r#"{"id":9007199254740993,"huge":1e400,"tenth":0.10}"#;
    let call = object! {
        "id": "call_1", "type": "function",
        "function": object! {"name": "f", "arguments": exact},
    };
    let history = format!(
        r#",{{"role":"assistant","tool_calls":[{}]}},{{"role":"tool","tool_call_id":"call_1","content":"ok"}}"#,
        call.compact()
    );
    for id in ["anthropic", "bedrock", "gemini", "ollama"] {
        let (_, received) = through(CHAT, &chat("", &history), id);
        assert!(received.text().contains(exact), "{id} {}", received.text());
    }
    let tool = TOOL
        .replace(r#"{"type":"string"}"#, r#"{"type":"integer","maximum":18446744073709551615}"#);
    let (_, received) = through(CHAT, &chat(&format!("\"tools\":[{tool}],"), ""), "anthropic");
    assert!(received.text().contains("\"maximum\":18446744073709551615"), "{}", received.text());
}

#[test]
fn case_gpt_oss_309_results_of_calls_with_one_id_stay_with_their_calls() {
    let twins = TURN.replace("call_2", "call_1");
    let (_, received) = through(CHAT, &chat("", &twins), "anthropic");
    let document = received.json();
    let ids = |message: usize, key: &str| -> Vec<String> {
        let blocks = items_at(&document, &format!("/messages/{message}/content"));
        blocks.iter().map(|block| text_at(block, key)).collect()
    };
    let (calls, results) = (ids(1, "/id"), ids(2, "/tool_use_id"));
    assert_eq!(calls, results, "{}", received.text());
    assert_ne!(calls[0], calls[1]);
}

#[test]
fn no_secret_and_no_payload_is_in_the_log() {
    let own = vendor("anthropic");
    for (format, line) in [("text", "→ up/"), ("full", "toolwright::exchange")] {
        let upstream =
            Upstream::start([own.reply(true), Reply::json(401, "{}"), Reply::json(500, "{}")]);
        let config = format!("[log]\nformat = \"{format}\"\n{}", table("up", own.id, &upstream));
        let gateway = Gateway::start(&config);
        let body = chat("\"stream\":true,", r#",{"role":"user","content":"PRIVATE-WORDS"}"#);
        let headers = [("authorization", "Bearer sk-client-secret")];
        for _ in 0..3 {
            gateway.post(CHAT, &headers, body.as_bytes());
        }
        let log = crate::gateway::until("three exchanges in the log", || {
            let log = gateway.log();
            (log.matches(line).count() == 3).then_some(log)
        });
        let key = crate::gateway::UPSTREAM_KEY;
        for secret in ["PRIVATE-WORDS", "sk-client-secret", key, "celsius"] {
            assert!(!log.contains(secret), "{log}");
        }
    }
}
