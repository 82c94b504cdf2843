//! `toolwright mcp`, the server on stdin and stdout: its calls are in the ledger, its effects in the journal.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use super::{kind, server};
use crate::gateway::until;
use crate::run::{ok_in, toolwright_in};

/// A program in place of git, whose commit has an effect and then does not end while `stop` exists.
const GIT: &str = r#"#!/bin/sh
case " $* " in
*" commit "*) echo effect >> effects; while [ -e stop ]; do sleep 0.01; done ;;
*" diff "*) printf 'file\0' ;;
*" rev-parse "*) echo 1234567 ;;
esac
"#;

/// A call as a line of the protocol.
fn call(name: &str, arguments: Object) -> Vec<u8> {
    let meta = object! {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": Object::new(),
    };
    let params = object! {"name": name, "arguments": arguments, "_meta": meta};
    let call = object! {"jsonrpc": "2.0", "id": 1_u64, "method": "tools/call", "params": params};
    (call.compact() + "\n").into_bytes()
}

/// A folder with a configuration, a file, and the program in place of git.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = "[tools]\nroot = \".\"\nallow = [\"git_commit\"]\n".to_owned();
    let config = config + &server("s", &kind("plain"), "");
    std::fs::write(folder.path().join("toolwright.toml"), config).unwrap();
    std::fs::write(folder.path().join("note.txt"), "words").unwrap();
    let git = folder.path().join("bin/git");
    std::fs::create_dir_all(folder.path().join(".git")).unwrap();
    std::fs::create_dir_all(git.parent().unwrap()).unwrap();
    std::fs::write(&git, GIT).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Starts the server.
fn start(folder: &Path) -> Child {
    let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .arg("mcp")
        .current_dir(folder)
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The calls in the ledger: tool and outcome.
fn recorded(folder: &Path) -> Vec<String> {
    let entry = |line: &str| {
        let entry = Json::parse(line).unwrap();
        assert_eq!(entry.pointer("/caller").and_then(Json::as_str), Some("local"), "{line}");
        let tool = entry.pointer("/tool").and_then(Json::as_str);
        tool.unwrap_or_else(|| panic!("no tool: {line}")).to_owned()
    };
    ok_in(folder, &["ledger", "show", "--json"]).lines().map(entry).collect()
}

#[test]
fn calls_over_stdio_and_of_mcp_test_are_in_the_ledger() {
    let folder = folder();
    let read = call("read_file", object! {"path": "note.txt"});
    // Several servers run on one data folder.
    let servers = [start(folder.path()), start(folder.path())];
    for mut server in servers {
        server.stdin.take().unwrap().write_all(&read).unwrap();
        let output = server.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("words"), "{text}");
    }
    let tested = toolwright_in(folder.path(), &["mcp", "test", "s", "live"], b"");
    assert_eq!((tested.code, tested.text().trim()), (0, "called live"), "{}", tested.stderr);
    assert_eq!(recorded(folder.path()), ["read_file", "read_file", "live"]);
}

#[test]
fn an_effect_during_which_the_server_was_killed_is_reported_by_the_next() {
    let folder = folder();
    let commit = call("git_commit", object! {"message": "in words"});
    std::fs::write(folder.path().join("stop"), "").unwrap();
    let mut server = start(folder.path());
    let mut input = server.stdin.take().unwrap();
    input.write_all(&commit).unwrap();
    until("the effect", || folder.path().join("effects").exists().then_some(()));
    server.kill().unwrap();
    server.wait().unwrap();
    std::fs::remove_file(folder.path().join("stop")).unwrap();
    let next = start(folder.path());
    let output = next.wait_with_output().unwrap();
    let warned = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warned.contains("git_commit did not finish"), "{warned}");
    // An effect that has ended is not reported.
    let mut server = start(folder.path());
    server.stdin.take().unwrap().write_all(&commit).unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("1234567"));
    let warned = start(folder.path()).wait_with_output().unwrap().stderr;
    assert_eq!(String::from_utf8_lossy(&warned).matches("git_commit").count(), 1);
}
