//! Answer formats, lifetimes of cache breakpoints and limits on strict tools, where targets accept
//! different values.

use toolwright_core::Json;
use toolwright_dialects::dialect::{WireRequest, lookup};
use toolwright_dialects::translate::{Options, Translated, Translator};

fn ask(from: &str, to: &str, body: &str) -> Translated<WireRequest> {
    let options = Options { model: Some("m".to_owned()), ..Options::default() };
    let wire = WireRequest { body: Json::parse(body).unwrap(), ..WireRequest::default() };
    Translator::new(lookup(from).unwrap(), lookup(to).unwrap(), &options).request(wire).unwrap()
}

fn at(translated: &Translated<WireRequest>, pointer: &str) -> String {
    translated.value.body.pointer(pointer).map_or("-".to_owned(), Json::compact)
}

fn is_lost(translated: &Translated<WireRequest>, path: &str) -> bool {
    translated.report.losses.iter().any(|entry| entry.path == path)
}

#[test]
fn a_schema_goes_into_the_instructions_where_the_target_has_no_field_for_it() {
    let schema = r#"{"type":"object","properties":{"town":{"type":"string"}}}"#;
    let format = format!(
        r#""response_format":{{"type":"json_schema","json_schema":{{"name":"place","schema":{schema}}}}}"#
    );
    let user = r#"{"role":"user","content":"x"}"#;
    let plain = format!(r#"{{"messages":[{user}],{format}}}"#);
    let led =
        format!(r#"{{"messages":[{{"role":"system","content":"Be brief."}},{user}],{format}}}"#);
    for to in ["deepseek", "zhipu"] {
        for (body, start) in [(&plain, "Answer with"), (&led, "Be brief.")] {
            let there = ask("openai-chat", to, body);
            assert_eq!(at(&there, "/response_format"), r#"{"type":"json_object"}"#, "{to}");
            assert_eq!(at(&there, "/messages/0/role"), r#""system""#, "{to}");
            let words = at(&there, "/messages/0/content");
            assert!(words.contains("JSON Schema") && words.contains("town"), "{to}: {words}");
            assert!(words.contains(start), "{to}: {words}");
            assert!(is_lost(&there, "/response_format/json_schema"), "{to}");
        }
    }
    for (to, place) in [
        ("ollama", "/format"),
        ("cohere", "/response_format/json_schema"),
        ("mistral", "/response_format/json_schema/schema"),
        ("anthropic", "/output_config/format/schema"),
        ("gemini", "/generationConfig/responseJsonSchema"),
    ] {
        assert_eq!(at(&ask("openai-chat", to, &plain), place), schema, "{to}");
    }
}

#[test]
fn a_json_format_goes_into_the_instructions_where_the_target_has_none() {
    let body =
        r#"{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object"}}"#;
    let there = ask("openai-chat", "anthropic", body);
    assert!(at(&there, "/system").contains("one JSON object"), "{}", at(&there, "/system"));
    assert!(is_lost(&there, "/response_format"));
}

#[test]
fn a_breakpoint_keeps_a_lifetime_that_the_target_has() {
    let chat = |ttl: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"x","prompt_cache_breakpoint":{{"mode":"explicit","ttl":"{ttl}"}}}}]}}]}}"#
        )
    };
    let claude = |ttl: &str| {
        format!(
            r#"{{"max_tokens":9,"messages":[{{"role":"user","content":[{{"type":"text","text":"x","cache_control":{{"type":"ephemeral","ttl":"{ttl}"}}}}]}}]}}"#
        )
    };
    let legal = |to: &str| if to.starts_with("openai") { ["30m", "12h"] } else { ["5m", "1h"] };
    for to in ["openai-chat", "openai-responses", "anthropic", "bedrock"] {
        for ttl in ["5m", "1h", "30m", "12h"] {
            for (from, body) in [("openai-chat", chat(ttl)), ("anthropic", claude(ttl))] {
                if from == to {
                    continue;
                }
                let there = ask(from, to, &body);
                let sent = there.value.body.compact();
                let kept = legal(to).contains(&ttl);
                assert_eq!(
                    sent.contains(&format!(r#""ttl":"{ttl}""#)),
                    kept,
                    "{from} → {to}: {sent}"
                );
                assert_eq!(there.report.losses.is_empty(), kept, "{from} → {to} {ttl}");
            }
        }
    }
}

#[test]
fn strict_tools_stay_within_the_limits_of_the_target() {
    let tool = |name: usize, properties: &str, required: &str| {
        format!(
            r#"{{"type":"function","function":{{"name":"t{name}","strict":true,"parameters":{{"type":"object","additionalProperties":false,"properties":{{{properties}}},"required":[{required}]}}}}}}"#
        )
    };
    let strict = |tools: Vec<String>| {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":"x"}}],"tools":[{}]}}"#,
            tools.join(",")
        );
        let there = ask("openai-chat", "anthropic", &body);
        let lost = there.report.losses.iter().filter(|own| own.path.ends_with("/strict")).count();
        let Some(Json::Array(tools)) = there.value.body.get("tools") else { panic!() };
        let strict = tools.iter().filter(|own| own.get("strict") == Some(&true.into())).count();
        assert_eq!(strict + lost, tools.len());
        strict
    };
    assert_eq!(
        strict((0..22).map(|at| tool(at, r#""a":{"type":"string"}"#, r#""a""#)).collect()),
        20
    );
    let union =
        r#""a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["string","null"]}"#;
    assert_eq!(strict((0..10).map(|at| tool(at, union, r#""a","b""#)).collect()), 8);
    let optional = r#""a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}"#;
    assert_eq!(strict((0..10).map(|at| tool(at, optional, "")).collect()), 8);
}
