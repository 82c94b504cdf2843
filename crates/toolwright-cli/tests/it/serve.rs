//! `toolwright serve` as its operator sees it: start lines and the format of the log.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::gateway::{Gateway, HANG, Reply, Upstream, table, until};
use crate::run::toolwright;

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

/// Starts a gateway that refuses to start, and returns what it says.
fn refused(data: &Path) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + HANG;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "it starts");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn one_gateway_at_a_time_serves_a_data_folder() {
    let upstream = Upstream::start([]);
    let (release, reply) = Reply::after(Reply::json(200, "{}"));
    upstream.then(reply);
    let gateway = Gateway::start(&table("up", "openai-chat", &upstream));
    let data = gateway.data();
    let said = refused(&data);
    assert!(said.contains(data.to_str().unwrap()) && said.contains("--data"), "{said}");
    let path = data.to_str().unwrap();
    for other in [&["catalog", "list"][..], &["mcp"]] {
        let ran = toolwright(&[other, &["--data", path]].concat(), b"");
        assert_eq!(ran.code, 0, "{other:?}: {}", ran.stderr);
    }
    // It is locked until the last request has ended.
    let body = br#"{"model": "up/m", "messages": [{"role": "user", "content": "hello"}]}"#;
    let asking = gateway.ask("POST", "/v1/chat/completions", &[], body);
    upstream.until_received(1);
    gateway.signal("TERM");
    until("the drain", || TcpStream::connect(gateway.address).err());
    refused(&data);
    release.send(()).unwrap();
    drop(asking.answer());
    gateway.restart("").get("/readyz", &[]).ok();
}

#[test]
fn a_file_that_is_damaged_while_the_gateway_runs_makes_it_unready() {
    let gateway = Gateway::start("");
    let ready = || {
        let answer = gateway.get("/readyz", &[]);
        (answer.status, answer.text())
    };
    // The catalog is opened by the first request that needs it.
    let catalog = gateway.data().join("catalog.sqlite");
    let search = || gateway.get("/v1/public/prefabs/some-prefab/functions", &[]).status;
    std::fs::write(&catalog, "not a database".repeat(1000)).unwrap();
    assert_eq!((search(), ready()), (503, (503, "catalog.sqlite is damaged\n".to_owned())));
    std::fs::remove_file(&catalog).unwrap();
    assert_eq!((search(), ready().0), (404, 200), "it is opened anew");
    // A value that is larger than the cache of the database.
    let path = "/v1/handles/tw:0123456789abcdef0123456789abcdef?conversation=c";
    let value = format!("\"{}\"", "x".repeat(8 << 20));
    let put = gateway.ask("PUT", path, &[], value.as_bytes()).answer();
    assert!(put.status < 300, "{}", put.text());
    for name in ["handles.sqlite", "handles.sqlite-wal"] {
        let file = gateway.data().join(name);
        let size = std::fs::metadata(&file).unwrap().len();
        let file = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
        // The pages after the schema.
        file.set_len(4096.min(size)).unwrap();
        file.set_len(size).unwrap();
    }
    let read = gateway.get(path, &[]);
    assert_ne!(read.status, 200);
    assert_eq!(ready(), (503, "handles.sqlite is damaged\n".to_owned()));
    gateway.get("/healthz", &[]).ok();
}

#[test]
fn damaged_files_are_refused_at_the_start() {
    let gateway = Gateway::start("");
    gateway.post("/v1/auth/convert_to_internal_token", &[("authorization", "Bearer x")], b"").ok();
    let (data, folder) = (gateway.data(), gateway.stop());
    let stored = std::fs::read(data.join("signing.key")).unwrap();
    let half = [&stored[..16], &[0; 15]].concat();
    for damaged in [&[][..], &[0; 32], &[0xff; 32], &half] {
        std::fs::write(data.join("signing.key"), damaged).unwrap();
        let said = refused(&data);
        assert!(said.contains("signing.key") && said.contains("remove it"), "{said}");
    }
    std::fs::write(data.join("signing.key"), &stored).unwrap();
    for name in
        ["store.sqlite", "journal.sqlite", "handles.sqlite", "ledger.sqlite", "catalog.sqlite"]
    {
        let (path, kept) = (data.join(name), data.join("kept"));
        if path.exists() {
            std::fs::rename(&path, &kept).unwrap();
        }
        std::fs::write(&path, "not a database".repeat(1000)).unwrap();
        let said = refused(&data);
        assert!(said.contains(name) && said.contains("restore it"), "{said}");
        std::fs::remove_file(&path).unwrap();
        if kept.exists() {
            let mut bytes = std::fs::read(&kept).unwrap();
            // The pages after the schema.
            bytes[4096..].fill(0);
            std::fs::write(&path, bytes).unwrap();
            let said = refused(&data);
            assert!(said.contains(name) && said.contains("damaged"), "{said}");
            std::fs::rename(&kept, &path).unwrap();
        }
    }
    drop(Gateway::start_with(folder, ""));
}
