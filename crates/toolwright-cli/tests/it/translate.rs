//! `toolwright translate`: results, reports, exit codes, and what is never printed.

use toolwright_core::Json;

use crate::run::{fixture, scratch, toolwright};

fn arguments<'a>(from: &'a str, to: &'a str, kind: &'a str) -> Vec<&'a str> {
    vec!["translate", "--from", from, "--to", to, "--kind", kind]
}

#[test]
fn tools_of_any_shape_become_the_targets() {
    let tools = br#"[{"type":"function","function":{"name":"nested","parameters":{"type":"object","properties":{}}}},
        {"type":"function","name":"flat","parameters":{"type":"object","properties":{}}},
        {"name":"simple","description":"d","parameters":{"city":{"type":"string","description":"c","required":true},"days":{"type":"integer","required":false}}}]"#;
    let ran = toolwright(&arguments("openai-chat", "anthropic", "tools"), tools);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let out = Json::parse(&ran.text()).unwrap();
    let names: Vec<&str> = out
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool.get("name").unwrap().as_str().unwrap())
        .collect();
    assert_eq!(names, ["nested", "flat", "simple"]);
    assert_eq!(out.pointer("/2/input_schema/required").unwrap().to_string(), r#"["city"]"#);
    assert_eq!(
        out.pointer("/2/input_schema/properties/days/type").unwrap().as_str(),
        Some("integer")
    );
}

#[test]
fn mcp_tools_reach_every_dialect_and_conversations_do_not() {
    let tools = br#"{"tools":[{"name":"files.read","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}}]}"#;
    let ran = toolwright(&arguments("mcp", "bedrock", "tools"), tools);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("/tools/0/annotations"), "{}", ran.stderr);
    let name = Json::parse(&ran.text()).unwrap().pointer("/0/toolSpec/name").unwrap().clone();
    assert!(name.as_str().unwrap().starts_with("files_read_"), "{name}");
    let ran = toolwright(&arguments("mcp", "bedrock", "request"), b"{}");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("hint: use --kind tools"), "{}", ran.stderr);
}

#[test]
fn a_request_with_its_path_goes_there_and_back_by_its_aliases() {
    let report = scratch("there.json");
    let request = br#"{"path":"/v1beta/models/gemini-3.8-flash:generateContent","body":{"contents":[{"role":"user","parts":[{"text":"x"}]}],
        "tools":[{"functionDeclarations":[{"name":"github.list:issues","parametersJsonSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}]}}"#;
    let mut there = arguments("gemini", "openai-chat", "request");
    there.extend(["--report", &report]);
    let there = toolwright(&there, request);
    assert_eq!(there.code, 0, "{}", there.stderr);
    let out = Json::parse(&there.text()).unwrap();
    let alias = out.pointer("/tools/0/function/name").unwrap().as_str().unwrap().to_owned();
    assert!(alias.starts_with("github_list_issues_") && alias.len() <= 64, "{alias}");
    assert_eq!(out.get("model").and_then(Json::as_str), Some("gemini-3.8-flash"));
    let mut back = arguments("openai-chat", "gemini", "request");
    back.extend(["--aliases", &report]);
    let back = toolwright(&back, &there.stdout);
    assert_eq!(back.code, 0, "{}", back.stderr);
    let name = "/tools/0/functionDeclarations/0/name";
    let name = Json::parse(&back.text()).unwrap().pointer(name).unwrap().clone();
    assert_eq!(name.as_str(), Some("github.list:issues"));
}

#[test]
fn a_model_in_the_path_and_an_added_limit_are_reported() {
    let report = scratch("model.json");
    let mut command = arguments("openai-chat", "bedrock", "request");
    command.extend(["--report", &report]);
    let ran = toolwright(&command, br#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = Json::parse(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report.get("model").and_then(Json::as_str), Some("m"));
    let report = scratch("limit.json");
    let mut command = arguments("openai-chat", "anthropic", "request");
    command.extend(["--report", &report, "--model", "claude-opus-5"]);
    let ran = toolwright(&command, br#"{"messages":[{"role":"user","content":"x"}]}"#);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let out = Json::parse(&ran.text()).unwrap();
    assert_eq!(out.get("model").and_then(Json::as_str), Some("claude-opus-5"));
    let report = Json::parse(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report.pointer("/additions/0/field").and_then(Json::as_str), Some("max_tokens"));
}

#[test]
fn strict_refuses_with_exit_3_and_writes_nothing_but_the_report() {
    let report = scratch("strict.json");
    let mut command = arguments("anthropic", "openai-chat", "request");
    let file = fixture("anthropic/synthetic/matrix_request.json");
    command.extend(["--strict", "--report", &report, &file]);
    let ran = toolwright(&command, b"");
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.is_empty());
    assert!(ran.stderr.contains("error: refused: "), "{}", ran.stderr);
    let report = Json::parse(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert!(!report.get("losses").unwrap().as_array().unwrap().is_empty());
    let mut command = arguments("anthropic", "openai-chat", "stream");
    let file = fixture("anthropic/synthetic/matrix_stream.txt");
    command.extend(["--strict", &file]);
    let ran = toolwright(&command, b"");
    assert_eq!((ran.code, ran.stdout.len()), (3, 0));
}

#[test]
fn a_stream_goes_through_stdin_to_stdout() {
    let source = std::fs::read(fixture("gemini/synthetic/matrix_stream.txt")).unwrap();
    let ran = toolwright(&arguments("gemini", "anthropic", "stream"), &source);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = ran.text();
    assert!(text.starts_with("event: message_start\n"), "{text}");
    assert!(text.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"), "{text}");
    assert_eq!(text.matches("\"type\":\"input_json_delta\"").count(), 2);
}

#[test]
fn the_same_input_gives_the_same_bytes_in_every_process_law_9() {
    let file = fixture("openai-chat/synthetic/matrix_request.json");
    for to in ["anthropic", "bedrock", "gemini", "mistral", "cohere", "ollama", "openai-responses"]
    {
        let mut command = arguments("openai-chat", to, "request");
        command.push(&file);
        let runs: Vec<_> = (0..3).map(|_| toolwright(&command, b"").stdout).collect();
        assert!(!runs[0].is_empty());
        assert!(runs.iter().all(|run| *run == runs[0]), "{to}");
    }
}

#[test]
fn errors_are_one_line_with_dialect_path_and_kind_but_no_payload() {
    let secret = "sk-live-1234567890";
    let bad = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":{{"{secret}":"{secret}"}}}}]}}"#
    );
    let ran = toolwright(&arguments("openai-chat", "anthropic", "request"), bad.as_bytes());
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.is_empty());
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: openai-chat: /messages/0/content: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("sk-live"), "{}", ran.stderr);
    let ran = toolwright(&arguments("openai-chat", "anthropic", "request"), b"{\"sk-live");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("not JSON") && !ran.stderr.contains("sk-live"), "{}", ran.stderr);
    let ran = toolwright(&arguments("bedrock", "anthropic", "stream"), &[0xff; 64]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
}

#[test]
fn wrong_usage_is_exit_2_with_a_hint() {
    let ran = toolwright(&arguments("openai-chta", "anthropic", "tools"), b"[]");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("'openai-chta'") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert_eq!(toolwright(&["translate"], b"").code, 2);
    assert_eq!(toolwright(&[], b"").code, 2);
    let help = toolwright(&["translate", "--help"], b"");
    assert_eq!(help.code, 0);
    assert!(help.text().contains("openai-responses"));
}

#[test]
fn vendor_presets_are_targets() {
    let file = fixture("anthropic/synthetic/matrix_request.json");
    for row in ["moonshot", "zhipu", "qwen", "groq", "openrouter", "xai", "vllm", "lmstudio"] {
        let mut command = arguments("anthropic", row, "request");
        command.push(&file);
        let ran = toolwright(&command, b"");
        assert_eq!(ran.code, 0, "{row}: {}", ran.stderr);
        let out = Json::parse(&ran.text()).unwrap();
        assert_eq!(out.get("tools").unwrap().as_array().unwrap().len(), 4, "{row}");
    }
}

#[test]
fn the_path_is_printed_and_reported() {
    let report = scratch("path.json");
    let mut command = arguments("openai-chat", "bedrock", "request");
    command.extend(["--report", &report]);
    let request = br#"{"model":"anthropic.claude-opus-5-v1:0","stream":true,"messages":[{"role":"user","content":"x"}]}"#;
    let ran = toolwright(&command, request);
    let path = "/model/anthropic.claude-opus-5-v1%3A0/converse-stream";
    assert!(ran.stderr.contains(&format!("path: {path}\n")), "{}", ran.stderr);
    let report = Json::parse(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report.get("path").and_then(Json::as_str), Some(path));
}

#[test]
fn an_empty_foreign_or_truncated_stream_is_exit_1() {
    let streams = ["anthropic", "openai-chat", "gemini", "cohere"].map(|from| {
        let whole = std::fs::read(fixture(&format!("{from}/synthetic/matrix_stream.txt"))).unwrap();
        let text = String::from_utf8(whole).unwrap().replace("\r\n", "\n");
        (from, text)
    });
    for (from, text) in &streams {
        let to = if *from == "anthropic" { "openai-chat" } else { "anthropic" };
        let command = arguments(from, to, "stream");
        assert_eq!(toolwright(&command, text.as_bytes()).code, 0, "{from}");
        let foreign = streams.iter().find(|(own, _)| own != from).map(|(_, text)| text).unwrap();
        let frames: Vec<&str> = text.split_inclusive("\n\n").collect();
        let half = frames[..frames.len() / 2].concat();
        for input in ["", "\n\n", "hello\n", "{}", half.as_str(), foreign] {
            let ran = toolwright(&command, input.as_bytes());
            assert_eq!(ran.code, 1, "{from}: {input:.60}: {}", ran.text());
        }
        let mut strict = command.clone();
        strict.push("--strict");
        let ran = toolwright(&strict, half.as_bytes());
        assert_eq!((ran.code, ran.stdout.len()), (1, 0), "{from}");
    }
}

#[test]
fn a_damaged_stream_is_exit_1_with_a_fault_in_the_output() {
    let whole = std::fs::read(fixture("anthropic/synthetic/matrix_stream.txt")).unwrap();
    let half = &whole[..whole.len() / 2];
    let ran = toolwright(&arguments("anthropic", "openai-chat", "stream"), half);
    assert_eq!(ran.code, 1);
    let out = ran.text();
    assert!(out.trim_end().rsplit("data: ").next().unwrap().starts_with(r#"{"error""#), "{out}");
    // With --strict nothing is written before the whole input was decoded.
    let mut command = arguments("anthropic", "openai-chat", "stream");
    command.push("--strict");
    let ran = toolwright(&command, half);
    assert_eq!((ran.code, ran.stdout.len()), (1, 0));
}
