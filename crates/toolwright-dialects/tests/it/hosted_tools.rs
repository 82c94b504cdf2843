//! Hosted tools in requests: mapped to the target's own, dropped, or refused.

use toolwright_core::Json;
use toolwright_dialects::dialect::{WireRequest, lookup};
use toolwright_dialects::translate::{Options, TranslateError, Translated, Translator};

/// Translates a request with these tools and settings.
fn ask(
    from: &str,
    to: &str,
    tools: &str,
    settings: &str,
) -> Result<Translated<WireRequest>, TranslateError> {
    let messages = match from {
        "openai-responses" => r#""input":"x""#,
        "gemini" => r#""contents":[{"role":"user","parts":[{"text":"x"}]}]"#,
        _ => r#""max_tokens":99,"messages":[{"role":"user","content":"x"}]"#,
    };
    let body = Json::parse(&format!(r#"{{{messages},"tools":[{tools}]{settings}}}"#)).unwrap();
    let options = Options { model: Some("m".to_owned()), ..Options::default() };
    let wire = WireRequest { body, ..WireRequest::default() };
    Translator::new(lookup(from).unwrap(), lookup(to).unwrap(), &options).request(wire)
}

fn at(translated: &Translated<WireRequest>, pointer: &str) -> String {
    translated.value.body.pointer(pointer).map_or("-".to_owned(), Json::compact)
}

fn lost(translated: &Translated<WireRequest>) -> Vec<&str> {
    translated.report.losses.iter().map(|entry| entry.path.as_str()).collect()
}

#[test]
fn a_hosted_tool_becomes_the_same_tool_of_the_target() {
    let place = r#"{"type":"approximate","city":"Reykjavík","country":"IS"}"#;
    let search = format!(
        r#"{{"type":"web_search","filters":{{"allowed_domains":["is.wikipedia.org"]}},"user_location":{place},"search_context_size":"low"}}"#
    );
    let claude = format!(
        r#"{{"type":"web_search_20250305","name":"web_search","allowed_domains":["is.wikipedia.org"],"user_location":{place}}}"#
    );
    let limited = r#"{"type":"web_search_20260209","name":"web_search","max_uses":3}"#;
    let code = r#"{"type":"code_interpreter","container":{"type":"auto"}}"#;
    let claude_code = r#"{"type":"code_execution_20250825","name":"code_execution"}"#;
    let fetch = r#"{"type":"web_fetch_20250910","name":"web_fetch"}"#;
    let google = r#"{"googleSearch":{}}"#;
    for (from, to, tools, expected, losses) in [
        (
            "openai-responses",
            "anthropic",
            search.as_str(),
            claude.as_str(),
            &["/tools/0/search_context_size"][..],
        ),
        (
            "openai-responses",
            "anthropic",
            r#"{"type":"web_search_preview"}"#,
            r#"{"type":"web_search_20250305","name":"web_search"}"#,
            &["/tools/0/type"],
        ),
        (
            "anthropic",
            "openai-responses",
            claude.as_str(),
            &format!(
                r#"{{"type":"web_search","filters":{{"allowed_domains":["is.wikipedia.org"]}},"user_location":{place}}}"#
            ),
            &[],
        ),
        (
            "anthropic",
            "openai-responses",
            limited,
            r#"{"type":"web_search"}"#,
            &["/tools/0/max_uses", "/tools/0/type"],
        ),
        ("anthropic", "gemini", fetch, r#"{"urlContext":{}}"#, &[]),
        ("gemini", "anthropic", r#"{"urlContext":{}}"#, fetch, &[]),
        (
            "gemini",
            "anthropic",
            google,
            r#"{"type":"web_search_20250305","name":"web_search"}"#,
            &[],
        ),
        ("gemini", "openai-responses", google, r#"{"type":"web_search"}"#, &[]),
        ("openai-responses", "gemini", r#"{"type":"web_search"}"#, google, &[]),
        ("openai-responses", "anthropic", code, claude_code, &[]),
        ("anthropic", "openai-responses", claude_code, code, &[]),
        ("gemini", "anthropic", r#"{"codeExecution":{}}"#, claude_code, &[]),
    ] {
        let there = ask(from, to, tools, "").unwrap();
        assert_eq!(at(&there, "/tools"), format!("[{expected}]"), "{from} → {to}");
        assert_eq!(lost(&there), losses, "{from} → {to} {tools}");
    }
}

#[test]
fn two_hosted_tools_of_one_entry_are_two_tools() {
    let there =
        ask("gemini", "anthropic", r#"{"googleSearch":{},"codeExecution":{}}"#, "").unwrap();
    assert_eq!(at(&there, "/tools/0/name"), r#""web_search""#);
    assert_eq!(at(&there, "/tools/1/name"), r#""code_execution""#);
}

#[test]
fn a_forced_hosted_tool_is_forced_at_the_target() {
    let search = r#"{"type":"web_search"}"#;
    let forced = r#","tool_choice":{"type":"web_search"}"#;
    let there = ask("openai-responses", "anthropic", search, forced).unwrap();
    assert_eq!(at(&there, "/tool_choice"), r#"{"type":"tool","name":"web_search"}"#);
    let there = ask("openai-responses", "gemini", search, forced).unwrap();
    assert_eq!((at(&there, "/toolConfig"), lost(&there)), ("-".to_owned(), vec!["/tool_choice"]));
    let search = r#"{"type":"web_search_20250305","name":"web_search"}"#;
    let forced = r#","tool_choice":{"type":"tool","name":"web_search"}"#;
    let there = ask("anthropic", "openai-responses", search, forced).unwrap();
    assert_eq!(at(&there, "/tool_choice"), r#"{"type":"web_search"}"#);
}

#[test]
fn a_hosted_tool_that_the_target_lacks_is_left_out_beside_others() {
    let tools = r#"{"type":"web_search"},{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false}"#;
    for to in ["openai-chat", "bedrock", "deepseek", "mistral", "ollama", "cohere", "gemini"] {
        let there = ask("openai-responses", to, tools, r#","parallel_tool_calls":true"#).unwrap();
        assert!(lost(&there).contains(&"/tools/0"), "{to}");
        assert!(!there.value.body.compact().contains("search"), "{to}");
    }
}

#[test]
fn a_hosted_tool_that_may_be_called_is_left_out_with_the_choice() {
    let settings = r#","tool_choice":"auto","parallel_tool_calls":true"#;
    for to in ["openai-chat", "bedrock", "deepseek", "mistral", "ollama", "cohere"] {
        let there = ask("openai-responses", to, r#"{"type":"web_search"}"#, settings).unwrap();
        assert!(lost(&there).contains(&"/tools/0"), "{to}");
        let body = there.value.body.compact();
        for word in ["tools", "tool_choice", "toolConfig", "parallel_tool_calls"] {
            assert!(!body.contains(word), "{to}: {body}");
        }
    }
}

#[test]
fn a_request_that_depends_on_a_hosted_tool_is_refused_where_there_is_none() {
    let function = r#"{"type":"function","name":"f","parameters":{},"strict":false}"#;
    let search = r#"{"type":"web_search"}"#;
    let both = format!("{function},{search}");
    let forced = r#","tool_choice":{"type":"web_search"}"#;
    let required = r#","tool_choice":"required""#;
    for (tools, settings, pointer) in
        [(search, required, "/tools/0"), (both.as_str(), forced, "/tools/1")]
    {
        for to in ["openai-chat", "bedrock", "deepseek", "mistral", "ollama", "cohere"] {
            match ask("openai-responses", to, tools, settings) {
                Err(TranslateError::Unsupported { pointer: own, what }) => {
                    assert_eq!(own, pointer, "{to}");
                    assert!(what.contains("'web_search'"), "{what}");
                }
                other => panic!("{to}: {:?}", other.map(|own| own.value.body)),
            }
        }
    }
}

#[test]
fn a_malformed_hosted_tool_is_refused_with_its_path() {
    for (from, to, tool, pointer) in [
        (
            "openai-responses",
            "anthropic",
            r#"{"type":"web_search","filters":{"allowed_domains":"x"}}"#,
            "/tools/0/filters/allowed_domains",
        ),
        (
            "anthropic",
            "openai-responses",
            r#"{"type":"web_search_20250305","name":"web_search","max_uses":"3"}"#,
            "/tools/0/max_uses",
        ),
        (
            "anthropic",
            "gemini",
            r#"{"type":"web_search_20250305","name":"web_search","user_location":[]}"#,
            "/tools/0/user_location",
        ),
        ("gemini", "anthropic", r#"{"googleSearch":"yes"}"#, "/tools/0/googleSearch"),
    ] {
        match ask(from, to, tool, "") {
            Err(TranslateError::Unsupported { pointer: own, .. }) => assert_eq!(own, pointer),
            other => panic!("{tool}: {:?}", other.map(|own| own.value.body)),
        }
    }
}
