//! `toolwright mcp add`: servers that are written into the configuration.

use std::path::Path;

use super::login::GuardedServer;
use crate::run::{Ran, toolwright_in};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcp/servers/stdio.py");

fn add(folder: &Path, arguments: &[&str]) -> Ran {
    toolwright_in(folder, &[&["mcp", "add"], arguments].concat(), b"")
}

#[test]
fn a_server_is_tried_and_appended_to_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolwright.toml");
    let before = "# our gateway\nlisten = \"127.0.0.1:8001\" # inside\n\n[limits]\n# none yet";
    std::fs::write(&file, before).unwrap();
    let ran = add(folder.path(), &["one", "--command", "python3", SCRIPT, "plain"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.text().contains("it has 1 tool"), "{}", ran.text());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(before), "{text}");
    assert!(
        text.ends_with(&format!(
            "\n\n[mcp.one]\ncommand = [\"python3\", \"{SCRIPT}\", \"plain\"]\n"
        ))
    );
    // What cannot be added leaves the file as it is.
    for (arguments, problem) in [
        (&["one", "--command", "python3"][..], "has [mcp.one] already"),
        (&["two", "--command", "no-such-program"], "its program does not start"),
        (&["a b", "--url", "http://127.0.0.1:1/mcp"], "is not the name of an MCP server"),
        (&["two", "--url", "no url"], "http or https URL"),
    ] {
        let ran = add(folder.path(), arguments);
        assert_ne!(ran.code, 0);
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    let guarded = GuardedServer::start();
    let url = format!("http://{}/mcp", guarded.address);
    let ran = add(folder.path(), &["three", "--url", &url]);
    assert!(ran.text().contains("toolwright mcp login three"), "{} {}", ran.text(), ran.stderr);
}

#[test]
fn servers_of_another_host_are_imported_without_their_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let guarded = GuardedServer::start();
    let document = format!(
        r#"{{"mcpServers": {{
            "my files": {{"command": "python3", "args": ["{SCRIPT}", "plain"], "env": {{"API_KEY": "hunter22", "LEVEL": "7"}}}},
            "tickets": {{"type": "http", "url": "http://{}/mcp", "headers": {{"Authorization": "Bearer caller-import"}}}},
            "broken": {{"command": "no-such-program"}},
            "unset": {{"command": "python3", "env": {{"X": "${{NOT_SET_ANYWHERE}}"}}}},
            "off": {{"command": "x", "disabled": true}}
        }}}}"#,
        guarded.address
    );
    std::fs::write(folder.path().join("hosts.json"), document).unwrap();
    let ran = add(folder.path(), &["--import", "hosts.json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.text().contains("added [mcp.my_files]"), "{} {}", ran.text(), ran.stderr);
    assert!(ran.text().contains("added [mcp.tickets]"), "{} {}", ran.text(), ran.stderr);
    for problem in [
        "broken was not added: cannot connect",
        "the variable NOT_SET_ANYWHERE is not set",
        "off was not added: it is disabled",
    ] {
        assert!(ran.stderr.contains(problem), "{problem}: {}", ran.stderr);
    }
    let text = std::fs::read_to_string(folder.path().join("toolwright.toml")).unwrap();
    assert!(!text.contains("hunter22") && !text.contains("caller-import"), "{text}");
    assert!(text.contains("LEVEL = \"7\"") && text.contains("API_KEY = \"file:"), "{text}");
    let secrets = folder.path().join(".toolwright/mcp-secrets");
    let file = secrets.join("my_files.API_KEY");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hunter22");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0);
    }
    // What was imported works.
    let listed = toolwright_in(folder.path(), &["mcp", "list"], b"").text();
    assert!(listed.contains("3 tools") && listed.contains("1 tool"), "{listed}");
}

#[test]
fn a_server_becomes_a_prefab_whose_functions_call_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = super::server("My_Rows", &super::kind("rows"), "")
        + "[mcp.My_Rows.hide.count_rows]\nexecutor = { const = \"local\" }\n";
    std::fs::write(folder.path().join("toolwright.toml"), config).unwrap();
    let run = |arguments: &[&str]| toolwright_in(folder.path(), arguments, b"");
    let added = run(&["catalog", "add", "mcp:My_Rows"]);
    assert!(added.text().contains("published mcp-my-rows@0.1.0 (3 functions"), "{}", added.stderr);
    let again = run(&["catalog", "add", "mcp:My_Rows"]);
    assert!(again.text().contains("already there: mcp-my-rows@0.1.0"), "{}", again.text());
    // A hidden parameter is in no definition, and is filled when the function is called.
    let shown = run(&["catalog", "details", "mcp-my-rows", "count_rows"]).text();
    assert!(shown.contains("rows") && !shown.contains("executor"), "{shown}");
    let arguments = ["--args", r#"{"rows": [{"a": 1}]}"#];
    let called = run(&[&["catalog", "call", "mcp-my-rows", "count_rows"][..], &arguments].concat());
    assert_eq!(called.code, 0, "{}", called.stderr);
    assert!(called.text().contains("local"), "{}", called.text());
    // Another definition is another version; a server that is not configured is named.
    let config = super::server("My_Rows", &super::kind("plain"), "");
    std::fs::write(folder.path().join("toolwright.toml"), config).unwrap();
    let changed = run(&["catalog", "add", "mcp:My_Rows"]);
    assert!(changed.text().contains("published mcp-my-rows@0.2.0"), "{}", changed.stderr);
    let unknown = run(&["catalog", "add", "mcp:My_Row"]);
    assert!(unknown.stderr.contains("did you mean My_Rows?"), "{}", unknown.stderr);
    std::fs::write(folder.path().join("toolwright.toml"), "").unwrap();
    let gone = run(&["catalog", "call", "mcp-my-rows", "live"]);
    assert!(gone.stderr.contains("has no table [mcp.My_Rows]"), "{}", gone.stderr);
}
