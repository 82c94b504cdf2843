//! One rule for the configuration and the data folder in every command: `--config FILE`, then `./toolwright.toml`, then
//! the defaults; `data` of the configuration, unless `--data DIR` names another folder.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toolwright_runtime::store::ExpiringStore;

use crate::gateway::until;
use crate::run::{ok_in, toolwright_in, write_words_prefab};

const PLAN: &str =
    r#"{"plan": "1", "steps": {"list": {"tool": "list_files", "args": {}}}, "outputs": {}}"#;

/// A folder with a configuration in another one, whose `data` is `others/data`, and what the commands need.
fn prepared() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let others = folder.path().join("others");
    std::fs::create_dir(&others).unwrap();
    std::fs::write(others.join("gateway.toml"), "data = \"data\"\n").unwrap();
    std::fs::write(folder.path().join("plan.json"), PLAN).unwrap();
    let manifest = r#"{"id":"tables-prefab","version":"0.1.0","name":"t","description":"Tables of figures.",
        "functions":[{"name":"read","description":"Reads.","parameters":[]}],
        "runtime":{"http":{"base_url":"https://example.com"}}}"#;
    std::fs::write(folder.path().join("prefab.json"), manifest).unwrap();
    std::fs::write(folder.path().join("prefab-2.json"), manifest.replace("0.1.0", "0.2.0"))
        .unwrap();
    write_words_prefab(folder.path());
    (folder, others.join("data"))
}

/// Commands that use the data folder, in an order in which each can succeed. They fail, or read nothing, in another
/// folder.
fn commands() -> Vec<Vec<&'static str>> {
    [
        "catalog add prefab.json",
        "catalog add prefab-2.json",
        "catalog list",
        "catalog versions tables-prefab",
        "catalog search tables",
        "catalog recommend tables",
        "catalog functions tables-prefab",
        "catalog details tables-prefab read",
        "catalog diff tables-prefab 0.1.0 0.2.0",
        "catalog deprecate tables-prefab 0.1.0",
        "catalog yank tables-prefab 0.1.0",
        "catalog visibility tables-prefab public",
        "catalog remove tables-prefab 0.1.0",
        "plan publish plan.json --as list-prefab/list --version 1.0.0",
        "catalog add words",
        "catalog test words-prefab",
        "catalog call words-prefab count",
        "call words-prefab/count",
        "call list-prefab/list",
        "call list_files",
        "ask hello",
        "plan run plan.json",
        "plan runs",
        "plan check plan.json",
        "ledger verify",
        "ledger show",
        "approvals",
        "mcp list",
        "mcp add keyed --no-test --env API_KEY=secret --command true",
    ]
    .map(|line| line.split(' ').collect())
    .to_vec()
}

fn run_all(folder: &Path, data: &Path, options: &[&str]) {
    std::fs::create_dir_all(data).unwrap();
    drop(ExpiringStore::open(data.join("store.sqlite")).unwrap());
    for command in commands() {
        // What follows `--command` belongs to the server.
        let end = command.iter().position(|word| *word == "--command").unwrap_or(command.len());
        let (before, after) = command.split_at(end);
        let said = ok_in(folder, &[before, options, after].concat());
        let expected = match &*command {
            ["catalog", "list" | "search" | "recommend", ..] => "tables-prefab",
            ["ledger", "show"] => "list_files",
            ["plan", "runs"] => "succeeded",
            _ => "",
        };
        assert!(said.contains(expected), "{command:?} {options:?}: {said}");
    }
    for file in
        ["catalog.sqlite", "ledger.sqlite", "journal.sqlite", "handles.sqlite", "plans.sqlite"]
            .into_iter()
            .chain(["mcp-secrets/keyed.API_KEY"])
    {
        assert!(data.join(file).exists(), "{options:?}: {file}");
    }
}

#[test]
fn every_command_uses_the_data_folder_of_the_configuration_that_is_named() {
    let (folder, data) = prepared();
    run_all(folder.path(), &data, &["--config", "others/gateway.toml"]);
    assert!(!folder.path().join(".toolwright").exists(), "nothing is written elsewhere");
}

#[test]
fn every_command_uses_the_data_folder_of_the_configuration_of_the_current_folder() {
    let (folder, data) = prepared();
    std::fs::write(folder.path().join("toolwright.toml"), "data = \"others/data\"\n").unwrap();
    run_all(folder.path(), &data, &[]);
    assert!(!folder.path().join(".toolwright").exists(), "nothing is written elsewhere");
}

#[test]
fn every_command_uses_the_data_folder_that_is_named_above_all() {
    let (folder, data) = prepared();
    let own = folder.path().join("own");
    run_all(folder.path(), &own, &["--config", "others/gateway.toml", "--data", "own"]);
    assert!(!data.exists() && !folder.path().join(".toolwright").exists());
}

#[test]
fn without_a_configuration_every_command_uses_the_default_folder() {
    let (folder, data) = prepared();
    run_all(folder.path(), &folder.path().join(".toolwright"), &[]);
    assert!(!data.exists());
}

#[test]
fn the_gateway_uses_the_data_folder_of_its_configuration() {
    let (folder, data) = prepared();
    let mut gateway = std::process::Command::new(env!("CARGO_BIN_EXE_toolwright"))
        .current_dir(folder.path())
        .args(["serve", "--config", "others/gateway.toml", "--listen", "127.0.0.1:0"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the ledger", || data.join("ledger.sqlite").exists().then_some(()));
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert!(!folder.path().join(".toolwright").exists());
}

#[test]
fn commands_that_need_the_data_folder_only_need_no_secrets() {
    let (folder, _) = prepared();
    let config = "data = \"others/data\"\n[upstreams.vendor]\ndialect = \"openai-chat\"\n\
                  base_url = \"https://example.com\"\nkey = \"env:TOOLWRIGHT_TEST_NO_SUCH_KEY\"\n";
    ok_in(folder.path(), &["call", "list_files", "--data", "others/data"]);
    std::fs::write(folder.path().join("toolwright.toml"), config).unwrap();
    let ran = toolwright_in(folder.path(), &["call", "list_files"], b"");
    assert!(ran.stderr.contains("TOOLWRIGHT_TEST_NO_SUCH_KEY"), "{}", ran.stderr);
    for command in [["ledger", "verify"], ["catalog", "list"], ["plan", "runs"]] {
        ok_in(folder.path(), &command);
    }
    let missing = toolwright_in(folder.path(), &["ledger", "show", "--config", "none.toml"], b"");
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("none.toml"), "{}", missing.stderr);
}
