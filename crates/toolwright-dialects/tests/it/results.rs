//! Results of tools: their order, media that must be sent beside them, and documents.

use toolwright_core::Json;
use toolwright_core::loss::Severity;
use toolwright_dialects::dialect::{WireRequest, lookup};
use toolwright_dialects::translate::{Options, Report, Translator};

use crate::fixtures;

/// The first bytes of an image of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn translated(from: &str, to: &str, body: &str) -> (Json, Report) {
    let options = Options::default();
    let wire = WireRequest { body: Json::parse(body).unwrap(), ..WireRequest::default() };
    let translator = Translator::new(lookup(from).unwrap(), lookup(to).unwrap(), &options);
    let translated = translator.request(wire).unwrap();
    (translated.value.body, translated.report)
}

/// The kinds of the parts of a body, in order: calls, results, images, texts.
fn kinds(body: &Json) -> String {
    let text = body.compact();
    let marks = [
        (r#""role":"tool""#, 'r'),
        (r#""function_call_output""#, 'r'),
        (r#""tool_result""#, 'r'),
        (r#""toolResult""#, 'r'),
        (r#""type":"image"#, 'i'),
        (r#""input_image""#, 'i'),
        (r#"{"image":{"#, 'i'),
        (r#""images":["#, 'i'),
    ];
    let found = marks
        .iter()
        .flat_map(|(mark, kind)| text.match_indices(mark).map(move |(at, _)| (at, *kind)));
    let mut found: Vec<(usize, char)> = found.collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, kind)| kind).collect()
}

#[test]
fn an_image_between_two_results_follows_them() {
    let image = format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{PIXEL}"}}}}"#);
    let result = |id: &str| {
        format!(
            r#"{{"functionResponse":{{"id":"{id}","name":"look","response":{{"output":"{id}"}}}}}}"#
        )
    };
    let call =
        |id: &str| format!(r#"{{"functionCall":{{"id":"{id}","name":"look","args":{{}}}}}}"#);
    let calls = format!(r#"{{"role":"model","parts":[{},{}]}}"#, call("a"), call("b"));
    let first = r#"{"role":"user","parts":[{"text":"x"}]}"#;
    let (one, two) = (result("a"), result("b"));
    let tools = r#""tools":[{"functionDeclarations":[{"name":"look"}]}]"#;
    for after in [
        format!(r#"{{"role":"user","parts":[{one},{image},{two}]}}"#),
        format!(
            r#"{{"role":"user","parts":[{one}]}},{{"role":"user","parts":[{image}]}},{{"role":"user","parts":[{two}]}}"#
        ),
    ] {
        let body = format!(r#"{{"contents":[{first},{calls},{after}],{tools}}}"#);
        for to in fixtures::other_dialects("gemini") {
            let (body, _) = translated("gemini", to, &body);
            // DeepSeek takes no images.
            let expected = if to == "deepseek" { "rr" } else { "rri" };
            assert_eq!(kinds(&body), expected, "{to}: {}", body.pretty());
        }
    }
}

#[test]
fn an_image_that_leaves_its_result_is_announced_with_the_call() {
    let source = format!(r#"{{"type":"base64","media_type":"image/png","data":"{PIXEL}"}}"#);
    let body = format!(
        r#"{{"max_tokens":9,"messages":[{{"role":"user","content":"x"}},
        {{"role":"assistant","content":[
          {{"type":"tool_use","id":"toolu_1","name":"get_chart","input":{{}}}},
          {{"type":"tool_use","id":"toolu_2","name":"get_map","input":{{}}}}]}},
        {{"role":"user","content":[
          {{"type":"tool_result","tool_use_id":"toolu_1","content":[{{"type":"text","text":"A chart."}},{{"type":"image","source":{source}}}]}},
          {{"type":"tool_result","tool_use_id":"toolu_2","content":[{{"type":"image","source":{source}}}]}}]}}],
        "tools":[{{"name":"get_chart","input_schema":{{"type":"object"}}}},{{"name":"get_map","input_schema":{{"type":"object"}}}}]}}"#
    );
    for to in ["openai-chat", "ollama", "cohere", "openrouter"] {
        let (body, report) = translated("anthropic", to, &body);
        let text = body.compact();
        let chart = text.find("Image from tool call toolu_1 (get_chart):");
        let map = text.find("Image from tool call toolu_2 (get_map):");
        assert!(chart.is_some() && chart < map, "{to}: {text}");
        assert!(chart > text.rfind(r#""role":"tool""#), "{to}: {text}");
        assert_eq!(text.matches(PIXEL).count(), 2, "{to}");
        assert!(report.losses.iter().all(|own| own.loss.severity < Severity::Major), "{to}");
    }
    // A result that can hold the image keeps it.
    let (body, _) = translated("anthropic", "openai-responses", &body);
    assert!(!body.compact().contains("from tool call"), "{}", body.pretty());
}

#[test]
fn an_announced_image_names_the_id_that_the_target_sees() {
    let long = "toolu_".to_owned() + &"x".repeat(60);
    let source = format!(r#"{{"type":"base64","media_type":"image/png","data":"{PIXEL}"}}"#);
    let body = format!(
        r#"{{"max_tokens":9,"messages":[{{"role":"user","content":"x"}},
        {{"role":"assistant","content":[{{"type":"tool_use","id":"{long}","name":"look","input":{{}}}}]}},
        {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{long}","content":[{{"type":"image","source":{source}}}]}}]}}]}}"#
    );
    let (body, report) = translated("anthropic", "openai-chat", &body);
    let alias = &report.aliases.ids[0].0;
    assert!(body.compact().contains(&format!("Image from tool call {alias} (look):")), "{body}");
}

#[test]
fn text_documents_reach_anthropic_as_text() {
    // "a,b\n1,2\n" and "# Ä"
    for (mime, data, text) in [
        ("text/csv", "YSxiCjEsMgo=", "a,b\n1,2\n"),
        ("text/markdown; charset=utf-8", "IyDDhA==", "# Ä"),
        ("application/json", "e30=", "{}"),
    ] {
        let gemini = format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"inlineData":{{"mimeType":"{mime}","data":"{data}"}}}}]}}]}}"#
        );
        let chat = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"file","file":{{"filename":"f","file_data":"data:{mime};base64,{data}"}}}}]}}]}}"#
        );
        for (from, body) in [("gemini", gemini), ("openai-chat", chat)] {
            let (body, report) = translated(from, "anthropic", &body);
            let source = body.pointer("/messages/0/content/0/source").unwrap();
            assert_eq!(source.get("type").and_then(Json::as_str), Some("text"), "{from} {mime}");
            assert_eq!(source.get("media_type").and_then(Json::as_str), Some("text/plain"));
            assert_eq!(source.get("data").and_then(Json::as_str), Some(text));
            assert!(report.losses.iter().all(|own| own.loss.severity < Severity::Major));
        }
    }
    let pdf = r#"{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="}}]}]}"#;
    let (body, _) = translated("gemini", "anthropic", pdf);
    let source = body.pointer("/messages/0/content/0/source").unwrap();
    assert_eq!(source.get("type").and_then(Json::as_str), Some("base64"));
}

#[test]
fn a_document_that_anthropic_cannot_read_is_named() {
    // Not UTF-8, and not a text type.
    for (mime, data) in [("text/plain", "/////w=="), ("application/msword", "AAAA")] {
        let body = format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"text":"x"}},{{"inlineData":{{"mimeType":"{mime}","data":"{data}"}}}}]}}]}}"#
        );
        let (body, report) = translated("gemini", "anthropic", &body);
        assert!(!body.compact().contains("base64"), "{mime}: {body}");
        let loss = report.losses.iter().find(|own| own.loss.severity == Severity::Major);
        assert_eq!(loss.unwrap().path, "/contents/0/parts/1", "{mime}");
    }
}

#[test]
fn image_jpg_is_written_as_image_jpeg() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/jpg;base64,/9j/4AAQ"}}]}]}"#;
    for (to, said) in [
        ("anthropic", r#""media_type":"image/jpeg""#),
        ("gemini", r#""mimeType":"image/jpeg""#),
        ("bedrock", r#""format":"jpeg""#),
    ] {
        let (body, _) = translated("openai-chat", to, body);
        assert!(body.compact().contains(said), "{to}: {body}");
    }
}

#[test]
fn mistral_accepts_a_user_message_right_after_results() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"call_1","content":"1"},{"role":"user","content":"y"}]}"#;
    let (body, report) = translated("openai-chat", "mistral", body);
    let messages = body.get("messages").and_then(Json::as_array).unwrap();
    let roles: Vec<&str> =
        messages.iter().map(|own| own.get("role").unwrap().as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    assert!(report.additions.iter().all(|own| own.field != "messages"));
}

#[test]
fn a_call_without_an_id_takes_the_id_of_its_result() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"},
        {"role":"assistant","content":"","tool_calls":[
          {"function":{"name":"a","arguments":{"n":1}}},{"function":{"name":"b","arguments":{}}},{"function":{"name":"a","arguments":{"n":2}}}]},
        {"role":"tool","tool_call_id":"call_b00000001","tool_name":"b","content":"B"},
        {"role":"tool","tool_call_id":"call_a00000001","content":"A1"},
        {"role":"tool","tool_call_id":"call_a00000002","content":"A2"}],
        "tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}}]}"#;
    let (body, _) = translated("ollama", "openai-chat", body);
    let calls = body.pointer("/messages/1/tool_calls").and_then(Json::as_array).unwrap();
    let ids: Vec<&str> = calls.iter().map(|own| own.get("id").unwrap().as_str().unwrap()).collect();
    assert_eq!(ids, ["call_a00000001", "call_b00000001", "call_a00000002"]);
    for (to, key) in [
        ("anthropic", "tool_use_id"),
        ("openai-responses", "call_id"),
        ("mistral", "tool_call_id"),
        ("bedrock", "toolUseId"),
    ] {
        let (body, _) = translated("openai-chat", to, &body.compact());
        assert!(body.compact().contains(key), "{to}");
    }
}

#[test]
fn results_in_reverse_order_find_their_calls() {
    const CALLS: usize = 40_000;
    let call = |at: usize| {
        format!(
            r#"{{"id":"call_{at}","type":"function","function":{{"name":"f{at}","arguments":"{{}}"}}}}"#
        )
    };
    let result =
        |at: usize| format!(r#"{{"role":"tool","tool_call_id":"call_{at}","content":"{at}"}}"#);
    let calls: Vec<String> = (0..CALLS).map(call).collect();
    let results: Vec<String> = (0..CALLS).rev().map(result).collect();
    let body = format!(
        r#"{{"messages":[{{"role":"assistant","content":null,"tool_calls":[{}]}},{}]}}"#,
        calls.join(","),
        results.join(",")
    );
    let (body, _) = translated("openai-chat", "gemini", &body);
    let turn = body.get("contents").and_then(Json::as_array).and_then(<[Json]>::last).unwrap();
    let parts = turn.get("parts").and_then(Json::as_array).unwrap();
    assert_eq!(parts.len(), CALLS);
    for (at, part) in (0..CALLS).rev().zip(parts) {
        let name = part.pointer("/functionResponse/name").and_then(Json::as_str);
        assert_eq!(name, Some(format!("f{at}").as_str()));
    }
}
