//! `toolwright plan make`, and the confirmation of plans.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use toolwright_core::Json;

use super::{folder, json, plan};
use crate::exchange::tools::{call, whole};
use crate::gateway::{Upstream, items_at, text_at};
use crate::run::{fixture, toolwright_in};

const VALID: &str = r#"{"plan":"1","steps":{"read":{"tool":"read_file","args":{"path":"a.txt"}}},"outputs":{"text":{"$from":"read"}}}"#;

fn configured(upstream: &Upstream) -> TempDir {
    let config = format!(
        "[upstreams.up]\ndialect = \"openai-chat\"\nbase_url = \"{}\"\nkey = \"file:key\"\n",
        upstream.url()
    );
    folder(&[("toolwright.toml", &config), ("key", "k"), ("a.txt", "α")])
}

#[test]
fn a_model_writes_a_plan_and_corrects_its_errors() {
    let wrong = VALID.replace("read_file", "raed_file");
    let upstream = Upstream::start([
        whole("", &[call(0, "c1", "write_plan", &wrong)]),
        whole("", &[call(0, "c2", "write_plan", VALID)]),
    ]);
    let folder = configured(&upstream);
    let task = ["make", "read a.txt", "--model", "up/m", "-o", "plan.json"];
    let made = plan(folder.path(), &task, "");
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let ran = json(&plan(folder.path(), &["run", "plan.json"], ""));
    assert_eq!(ran.compact(), r#"{"text":"α"}"#);

    let received = upstream.received();
    let first = received[0].json();
    assert_eq!(text_at(&first, "/tool_choice/function/name"), "write_plan");
    assert!(text_at(&first, "/messages/0/content").contains("read_file"));
    let messages = items_at(&received[1].json(), "/messages");
    let outcome = text_at(messages.last().unwrap(), "/content");
    assert!(outcome.contains("did you mean 'read_file'?"), "{outcome}");
}

#[test]
fn an_invalid_plan_is_not_written_and_its_errors_are_shown() {
    let wrong = VALID.replace("read_file", "raed_file");
    let upstream = Upstream::start([whole("", &[call(0, "c1", "write_plan", &wrong)])]);
    let folder = configured(&upstream);
    let task = ["make", "x", "--model", "up/m", "--max-attempts", "1", "-o", "plan.json"];
    let made = plan(folder.path(), &task, "");
    assert_eq!(made.code, 1);
    assert!(made.stderr.contains("/steps/read/tool: there is no tool"), "{}", made.stderr);
    assert!(made.stderr.contains("nothing was written"), "{}", made.stderr);
    assert!(!folder.path().join("plan.json").exists());
    let unknown = plan(folder.path(), &["make", "x", "--model", "nobody/m"], "");
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
}

#[test]
fn a_plan_of_a_model_runs_only_after_a_confirmation() {
    let reply = || whole("", &[call(0, "c1", "write_plan", VALID)]);
    let upstream = Upstream::start([reply(), reply()]);
    let folder = configured(&upstream);
    let refused = plan(folder.path(), &["make", "read", "--model", "up/m", "--run"], "");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("there is no terminal to ask"), "{}", refused.stderr);
    assert!(refused.stderr.contains("pass --yes"), "{}", refused.stderr);
    let run = plan(folder.path(), &["make", "read", "--model", "up/m", "--run", "--yes"], "");
    assert_eq!(json(&run).compact(), r#"{"text":"α"}"#);

    fs::write(folder.path().join("plan.json"), VALID).unwrap();
    let refused = plan(folder.path(), &["run", "plan.json", "--confirm"], "");
    assert_eq!(refused.code, 1);
    let row = refused.stderr.lines().find(|line| line.starts_with("read ")).unwrap();
    assert!(row.contains(r#"read_file  {"path":"a.txt"}"#), "{row}");
    // Only the run that was confirmed in advance.
    let runs = json(&plan(folder.path(), &["runs", "--json"], ""));
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
}

/// Adds a prefab whose functions return a text.
fn add_prefab(folder: &Path, id: &str, functions: &[(String, &str)]) {
    let functions = functions.iter().map(|(name, description)| {
        format!(
            r#"{{"name":"{name}","description":"{description}","effect":"read-only","parameters":[]}}"#
        )
    });
    let manifest = format!(
        r#"{{"id":"{id}","version":"1.0.0","name":"{id}","description":"Functions for tests.","functions":[{}],
            "runtime":{{"process":{{"command":["sh","-c","echo '\"hello\"'"]}}}}}}"#,
        functions.collect::<Vec<_>>().join(",")
    );
    fs::write(folder.join("prefab.json"), manifest).unwrap();
    let added = toolwright_in(folder, &["catalog", "add", "prefab.json"], b"");
    assert_eq!(added.code, 0, "{}", added.stderr);
}

/// The names of the tools that a model was offered.
fn offered(request: &Json) -> Vec<String> {
    let instructions = text_at(request, "/messages/0/content");
    let definitions = Json::parse(instructions.rsplit_once("\n\n").unwrap().1).unwrap();
    let definitions = definitions.as_array().unwrap().iter();
    definitions.map(|tool| tool.get("name").and_then(Json::as_str).unwrap().to_owned()).collect()
}

#[test]
fn a_model_is_offered_functions_of_the_catalog_and_of_mcp_servers() {
    let made = r#"{"plan":"1","steps":{"greet":{"tool":"greeting-prefab/greet"},
        "echo":{"tool":"rows_echo","args":{"value":{"$from":"greet"}}}},"outputs":{"all":{"$from":"echo"}}}"#;
    let reply = || whole("", &[call(0, "c1", "write_plan", made)]);
    let upstream = Upstream::start([reply(), reply()]);
    let folder = configured(&upstream);
    let config = folder.path().join("toolwright.toml");
    let server = |kind: &str| {
        let script = fixture("mcp/servers/stdio.py");
        format!("[mcp.{kind}]\ncommand = [\"python3\", \"{script}\", \"{kind}\"]\n")
    };
    let with = |servers: &str| {
        let text = fs::read_to_string(&config).unwrap() + servers;
        fs::write(&config, text).unwrap();
    };
    with(&server("rows"));
    add_prefab(folder.path(), "greeting-prefab", &[("greet".to_owned(), "Greets a person.")]);
    let task = [
        "make",
        "greet a person, echo it and reverse the text",
        "--model",
        "up/m",
        "--run",
        "--yes",
    ];
    let ran = json(&plan(folder.path(), &task, ""));
    assert_eq!(ran.compact(), r#"{"all":{"value":"hello"}}"#);

    // Of many functions and tools, the best are offered.
    let many: Vec<(String, &str)> = (0..100).map(|at| (format!("f{at}"), "Counts.")).collect();
    for prefab in ["a-prefab", "z-prefab"] {
        add_prefab(folder.path(), prefab, &many);
    }
    with(&server("many"));
    json(&plan(folder.path(), &task, ""));
    let requests: Vec<_> = upstream.received().iter().map(|own| offered(&own.json())).collect();
    for offered in &requests {
        for name in ["read_file", "greeting-prefab/greet", "rows_echo"] {
            assert_eq!(offered.iter().filter(|own| *own == name).count(), 1, "{name}: {offered:?}");
        }
        // Built-in tools are offered once, not as functions as well.
        assert!(!offered.iter().any(|name| name.starts_with("builtin-")), "{offered:?}");
    }
    let count = |start: &str| requests[1].iter().filter(|name| name.starts_with(start)).count();
    assert_eq!(count("many_") + count("rows_"), 50, "{:?}", requests[1]);
    assert!(requests[1].contains(&"many_reverse_text".to_owned()), "{:?}", requests[1]);
    assert!(count("a-prefab/") + count("z-prefab/") < 50, "{:?}", requests[1]);
}

#[test]
fn the_offline_rules_say_that_they_cannot_write_a_plan() {
    let folder = folder(&[]);
    let made = plan(folder.path(), &["make", "read a.txt", "--model", "offline/rules"], "");
    assert_eq!((made.code, made.text().as_str()), (1, ""));
    let message = "error: offline/rules is not a language model, and cannot write a plan\n";
    assert!(made.stderr.starts_with(message), "{}", made.stderr);
    assert!(made.stderr.contains("toolwright ask TASK --record plan.json"), "{}", made.stderr);
    let no_key = plan(folder.path(), &["make", "read a.txt", "--model", "gpt-4o"], "");
    assert_eq!(no_key.code, 2);
    assert!(no_key.stderr.contains("set OPENAI_API_KEY"), "{}", no_key.stderr);
}
