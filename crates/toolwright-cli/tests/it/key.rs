//! `toolwright key`: the printed configuration admits the client.

use std::path::Path;

use http::{HeaderMap, Uri};
use toolwright_core::Json;
use toolwright_gateway::Config;
use toolwright_gateway::key::Keys;

use crate::run::toolwright;

/// The configuration with a table, and the client that a key authenticates.
fn enters(table: &str, key: &str) -> (Config, Option<String>) {
    let config = Config::parse(table, Path::new(""), &|_| None).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", key.parse().unwrap());
    let found = Keys::new(&config.keys).authenticate(&headers, &Uri::from_static("/"));
    (config, found.ok().map(|found| found.client.name().to_owned()))
}

#[test]
fn the_table_goes_to_stdout_and_the_key_to_stderr() {
    let ran = toolwright(&["key", "alice"], b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let key = ran.stderr.lines().last().unwrap();
    assert!(key.starts_with("tw-"), "{}", ran.stderr);
    assert!(!ran.text().contains(key), "the key itself is in no file");
    let (config, name) = enters(&format!("open = false{}", ran.text()), key);
    assert_eq!(name.as_deref(), Some("alice"));
    let alice = &config.keys[0];
    assert!(alice.models.has("openai/gpt-4o") && alice.tools.has("read_csv"));
    assert!(alice.rates.requests_per_minute.is_none());
    assert_eq!(enters(&ran.text(), "tw-0").1, None);
    assert_ne!(toolwright(&["key", "alice"], b"").stdout, ran.stdout, "each key is new");
}

#[test]
fn the_table_contains_the_options() {
    let ran = toolwright(
        &[
            ["key", "小明.ci", "--json", "--models", "fast, openai/*"].as_slice(),
            &["--tools", "", "--tenant", "a\"b", "--requests-per-minute", "60"],
            &["--tokens-per-minute", "100000"],
        ]
        .concat(),
        b"",
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let document = Json::parse(&ran.text()).unwrap();
    let text = |key: &str| document.get(key).unwrap().as_str().unwrap().to_owned();
    let (config, name) = enters(&text("toml"), &text("key"));
    assert_eq!((name, text("name")), (Some("小明.ci".to_owned()), "小明.ci".to_owned()));
    let key = &config.keys[0];
    assert_eq!(key.hash.to_string(), text("hash"));
    assert_eq!(key.tenant, "a\"b");
    assert!(key.models.has("fast") && key.models.has("openai/x") && !key.models.has("slow"));
    assert!(!key.tools.has("read_csv"));
    assert_eq!(key.rates.requests_per_minute.unwrap().get(), 60);
    assert_eq!(key.rates.tokens_per_minute.unwrap().get(), 100_000);
}

#[test]
fn a_wrong_name_or_rate_is_wrong_usage() {
    for arguments in [
        &["key"][..],
        &["key", ""],
        &["key", "a/b"],
        &["key", "a", "--requests-per-minute", "0"],
        &["key", "a", "--tenant", ""],
    ] {
        let ran = toolwright(arguments, b"");
        assert_eq!((ran.code, ran.text().as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}
