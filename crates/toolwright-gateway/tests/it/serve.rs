//! `toolwright serve` as its operator sees it: start lines and the format of the log.

use crate::gateway::{Gateway, until};

const CONFIG: &str = r#"
[upstreams.claude]
dialect = "anthropic"
key = "env:UPSTREAM_KEY"
models = ["claude-haiku-5"]

[upstreams.local]
dialect = "openai-chat"
base_url = "http://127.0.0.1:9"

[models]
fast = ["claude/claude-haiku-5", "offline/rules"]

[tools]
root = "."
"#;

/// The start lines after the first, which [`Gateway`] reads to find the address.
fn start_lines(gateway: &Gateway) -> String {
    until("the last start line", || {
        let log = gateway.log();
        log.contains("\n  try ").then_some(log)
    })
}

#[test]
fn start_lines_say_what_is_reachable_and_how() {
    let gateway = Gateway::start(CONFIG);
    let url = format!("http://{}", gateway.address);
    let text = start_lines(&gateway);
    let (tools, others): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("  tools "));
    let expected = [
        "  models         claude/MODEL (anthropic), local/MODEL (openai-chat), offline/rules",
        "  listed         claude/claude-haiku-5",
        "  alias          fast → claude/claude-haiku-5, offline/rules",
        &format!("  OpenAI SDK     OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=unused"),
        &format!("  Anthropic SDK  ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=unused"),
        &format!(
            "  Claude Code    ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=unused \
             ANTHROPIC_MODEL=fast claude"
        ),
        &format!(
            "  try            curl {url}/v1/chat/completions -d '{{\"model\": \"offline/rules\", \
             \"messages\": [{{\"role\": \"user\", \"content\": \"hello\"}}]}}'"
        ),
    ];
    assert_eq!(others, expected);
    let [tools] = *tools else { panic!("{text}") };
    assert!(
        tools.contains("list_files") && tools.ends_with("(header toolwright-tools)"),
        "{tools}"
    );
}

#[test]
fn start_lines_without_configuration_name_the_offline_model() {
    let text = start_lines(&Gateway::start(""));
    assert!(text.starts_with("  models         offline/rules\n  OpenAI SDK "), "{text}");
    assert!(text.contains("ANTHROPIC_MODEL=offline/rules claude"), "{text}");
}

#[test]
fn start_lines_ask_for_a_key_if_there_are_keys() {
    let hash = "0".repeat(64);
    let gateway = Gateway::start(&format!("[keys.alice]\nhash = \"blake3:{hash}\"\n"));
    let text = start_lines(&gateway);
    assert!(text.contains("OPENAI_API_KEY=KEY\n"), "{text}");
    assert!(text.contains("-H 'authorization: Bearer KEY' -d"), "{text}");
}

#[test]
fn the_option_log_wins_over_the_configuration() {
    let hello = r#"{"model":"offline/rules","messages":[{"role":"user","content":"hi"}]}"#;
    for (configured, option, line) in [
        ("json", "text", "openai-chat      → offline/"),
        ("json", "full", "toolwright.dialect=\"openai-chat\""),
        ("text", "json", "\"toolwright.dialect\":\"openai-chat\""),
    ] {
        let config = format!("[log]\nformat = \"{configured}\"\n");
        let gateway = Gateway::start_with_arguments(&config, &["--log", option]);
        gateway.ask_json("/v1/chat/completions", hello).ok();
        until("the exchange in the log", || gateway.log().contains(line).then_some(()));
    }
}

#[test]
fn an_unknown_format_of_the_log_is_wrong_usage() {
    let ran = crate::run::toolwright(&["serve", "--log", "xml"], b"");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("[possible values: text, full, json]"), "{}", ran.stderr);
}
