//! Functions of prefabs as processes, and the tools with which models use a catalog.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use toolwright::call::{CallResult, Policy, Rule, Verdict};
use toolwright::catalog::files::{FileLimits, Files, Lifetime};
use toolwright::catalog::runtime::{EventSender, PrefabSettings, Runner};
use toolwright::catalog::tools::{CatalogTools, NAMES};
use toolwright::catalog::{Catalog, Package, PublishOptions};
use toolwright::context::Context;
use toolwright::ledger::{MemoryLedger, Query};
use toolwright::{Caller, Fill, Json, Secret, Session, Toolbox};

use crate::support::{call, done, json, text};

/// A prefab whose process is a shell script.
const MANIFEST: &str = r#"{
  "id": "shell-prefab", "version": "1.0.0", "name": "Shell",
  "description": "Functions that a shell script runs",
  "runtime": {"process": {"command": ["sh", "run.sh"]}},
  "secrets": [{"name": "API_KEY", "instructions": "Ask the team of the API."}],
  "functions": [
    {"name": "echo", "description": "Returns what it receives", "hidden": ["executor"],
     "parameters": [{"name": "word", "type": "string", "description": "A word", "required": true},
                    {"name": "executor", "type": "string", "description": "Where"}], "secrets": []},
    {"name": "fail", "description": "Fails with its secret on stderr", "parameters": [], "secrets": ["API_KEY"]},
    {"name": "garble", "description": "Writes no JSON", "parameters": [], "secrets": []},
    {"name": "hang", "description": "Never ends", "parameters": [], "deadline": "200ms", "secrets": []},
    {"name": "tell", "description": "Tells in pieces", "parameters": [], "streaming": true, "secrets": []},
    {"name": "content", "description": "Returns a long text", "parameters": [], "secrets": []},
    {"name": "copy", "description": "Copies a file", "parameters": [], "secrets": [],
     "files": {"input": {"type": "array", "items": {"type": "InputFile"}, "required": true, "description": "in"},
               "output": {"type": "array", "items": {"type": "OutputFile"}, "description": "out"}}}
  ]
}"#;

const SCRIPT: &str = r#"
input=$(cat)
field() { printf '%s' "$input" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
case $(field function) in
  echo) printf '{"received":%s,"home":"%s","leak":"%s"}' "$input" "$(pwd)" "$CARGO" ;;
  fail) echo "key $(field API_KEY) refused" >&2; exit 3 ;;
  garble) echo 'not JSON' ;;
  hang) sleep 1000 ;;
  tell) echo '{"type":"start"}'; echo '{"type":"content","data":"a"}'; echo '{"type":"content","data":"b"}'
    echo '{"type":"done"}' ;;
  content) printf '{"success":true,"content":"'; head -c 5000 /dev/zero | tr '\0' x; printf '"}' ;;
  copy)
    from=$(printf '%s' "$input" | sed -n 's/.*"files":{"input":\["\([^"]*\)"\].*/\1/p')
    cp "$from" "$(field output_dir)/output/copied.txt"
    printf '{"success":true}' ;;
esac
"#;

struct Site {
    folder: tempfile::TempDir,
    catalog: Catalog,
    files: Files,
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::create_dir(&source).unwrap();
        std::fs::write(source.join("prefab.json"), MANIFEST).unwrap();
        std::fs::write(source.join("run.sh"), SCRIPT).unwrap();
        let catalog = Catalog::open(&folder.path().join("data")).unwrap();
        publish(&catalog, &source);
        let files = Files::open(&folder.path().join("data"), FileLimits::default()).unwrap();
        Site { folder, catalog, files }
    }

    fn runner(&self) -> Runner {
        Runner::new(&self.folder.path().join("data"), self.files.clone())
    }

    fn toolbox(&self, runner: Runner) -> Toolbox {
        let tools = CatalogTools::local(self.catalog.clone(), Arc::new(runner));
        Toolbox::new(tools.handlers()).unwrap()
    }
}

fn publish(catalog: &Catalog, source: &Path) {
    let package = Package::read(source).unwrap();
    catalog.publish(package, PublishOptions::default()).unwrap();
}

async fn make(toolbox: &Toolbox, tool: &str, arguments: &str) -> CallResult {
    let session = Session::new("run").with_caller(Caller::new("alice").with_tenant("blue"));
    done(toolbox.call(&session, &call("c1", tool, arguments)).await)
}

async fn run(toolbox: &Toolbox, function: &str, more: &str) -> Json {
    let arguments = format!(
        r#"{{"prefab_id": "shell-prefab", "version": "1.0.0", "function_name": "{function}"{more}}}"#
    );
    json(&text(&make(toolbox, "call_prefab_function", &arguments).await))
}

fn word<'j>(value: &'j Json, pointer: &str) -> &'j str {
    value.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

#[tokio::test]
async fn a_process_receives_its_call_and_nothing_of_the_host() {
    let site = Site::new();
    let mut settings = PrefabSettings::default();
    settings
        .fills
        .insert("echo".to_owned(), vec![("executor".to_owned(), Fill::Constant("local".into()))]);
    let toolbox = site.toolbox(site.runner().with_prefab("shell-prefab", settings));
    let result =
        run(&toolbox, "echo", r#", "parameters": {"word": "你好", "executor": "mine"}"#).await;
    let received = result.pointer("/result/function_result/received").unwrap();
    assert_eq!(received.get("parameters"), Some(&json(r#"{"word":"你好","executor":"local"}"#)));
    assert_eq!(received.pointer("/context/tenant").and_then(Json::as_str), Some("blue"));
    assert!(word(&result, "/result/function_result/home").ends_with("catalog/shell-prefab/1.0.0"));
    assert_eq!(word(&result, "/result/function_result/leak"), "", "the environment of the host");
    let wrong = run(&toolbox, "echo", r#", "parameters": {}"#).await;
    assert_eq!(wrong.get("success"), Some(&Json::Bool(false)));
    assert!(word(&wrong, "/error").contains("word"), "{wrong:?}");
}

#[tokio::test]
async fn a_process_that_fails_costs_one_call() {
    let site = Site::new();
    let missing = run(&site.toolbox(site.runner()), "fail", r#", "parameters": {}"#).await;
    let wanted = "The prefab shell-prefab needs the secret API_KEY, which is not configured. Ask the \
                  team of the API.";
    assert_eq!(word(&missing, "/error"), wanted);
    let mut settings = PrefabSettings::default();
    settings.secrets.insert("API_KEY".to_owned(), Secret::new("tw-very-secret".to_owned()));
    let toolbox = site.toolbox(site.runner().with_prefab("shell-prefab", settings));
    for (function, wanted) in [
        ("fail", "it ended with code 3, and wrote to stderr:\nkey [secret] refused"),
        ("garble", "its stdout is not one JSON document"),
        ("hang", "200"),
    ] {
        let failed = run(&toolbox, function, r#", "parameters": {}"#).await;
        assert_eq!(failed.get("success"), Some(&Json::Bool(false)));
        assert!(word(&failed, "/error").contains(wanted), "{function}: {}", failed.compact());
        assert!(!failed.compact().contains("tw-very-secret"));
    }
}

#[tokio::test]
async fn files_reach_a_process_and_come_back() {
    let site = Site::new();
    let toolbox = site.toolbox(site.runner());
    let mut upload = site.files.upload("blue", "a.txt", None, SystemTime::now()).await.unwrap();
    upload.write(b"content").await.unwrap();
    let stored = upload.finish(Lifetime::Permanent, SystemTime::now()).await.unwrap();
    let files = |url: &str| format!(r#", "parameters": {{}}, "files": {{"input": ["{url}"]}}"#);
    let result = run(&toolbox, "copy", &files(&stored.url.to_string())).await;
    let link = word(&result, "/result/output_files/output/0");
    let copied = site.files.find("blue", link, SystemTime::now()).await.unwrap();
    assert_eq!(std::fs::read(copied.path).unwrap(), b"content");
    assert_eq!(copied.url.name(), "copied.txt");

    let foreign = site.files.upload("red", "a.txt", None, SystemTime::now()).await.unwrap();
    let foreign = foreign.finish(Lifetime::Permanent, SystemTime::now()).await.unwrap();
    let refused = run(&toolbox, "copy", &files(&foreign.url.to_string())).await;
    assert!(word(&refused, "/error").contains("does not exist"), "{}", refused.compact());
}

#[tokio::test]
async fn long_content_is_cut_for_the_model() {
    let site = Site::new();
    let toolbox = site.toolbox(site.runner());
    let result = run(&toolbox, "content", r#", "parameters": {}"#).await;
    let shown = result.pointer("/result/function_result").unwrap();
    assert_eq!(word(shown, "/content").len(), 2000);
    assert_eq!(shown.get("_truncated"), Some(&Json::Bool(true)));
    assert_eq!(shown.get("_original_length").and_then(Json::as_u64), Some(5000));
    assert!(shown.get("_summary").is_some());
}

#[tokio::test]
async fn a_streaming_function_sends_events_and_has_a_result() {
    let site = Site::new();
    let toolbox = site.toolbox(site.runner());
    let (sender, mut events) = tokio::sync::mpsc::channel(9);
    let session = Session::new("run").with_context(Context::new().with(EventSender(sender)));
    let arguments = r#"{"prefab_id": "shell-prefab", "version": "1.0.0", "function_name": "tell",
        "parameters": {}}"#;
    let call = call("c1", "call_prefab_function", arguments);
    let result = json(&text(&done(toolbox.call(&session, &call).await)));
    assert_eq!(word(&result, "/result/function_result"), "ab");
    drop(session);
    let mut kinds = Vec::new();
    while let Some(event) = events.recv().await {
        kinds.push(word(&event, "/type").to_owned());
    }
    assert_eq!(kinds, ["start", "content", "content", "done"]);
}

#[tokio::test]
async fn tools_answer_in_the_form_of_prefab_gateways() {
    let site = Site::new();
    let toolbox = site.toolbox(site.runner());
    assert_eq!(toolbox.names().collect::<Vec<_>>(), NAMES);
    for (tool, arguments, wanted) in [
        (
            "list_prefab_functions",
            r#"{"prefab_id": "non-existent-prefab"}"#,
            r#"{"success":false,"error":"Prefab 'non-existent-prefab' not found","tool_name":"list_prefab_functions"}"#,
        ),
        (
            "get_function_details",
            r#"{"prefab_id": "shell-prefab", "function_name": "non_existent_function"}"#,
            r#"{"success":false,"error":"Function 'non_existent_function' not found in prefab shell-prefab@1.0.0","tool_name":"get_function_details"}"#,
        ),
    ] {
        assert_eq!(text(&make(&toolbox, tool, arguments).await), wanted);
    }
    let tools = CatalogTools::local(site.catalog.clone(), Arc::new(site.runner()));
    let remote = Toolbox::new(tools.with_remote(None).handlers()).unwrap();
    let answer = make(&remote, "list_prefab_functions", r#"{"prefab_id": "any-prefab"}"#).await;
    assert_eq!(
        text(&answer),
        r#"{"success":false,"error":"Prefab gateway URL not configured","tool_name":"list_prefab_functions"}"#
    );
    let details = make(
        &toolbox,
        "get_function_details",
        r#"{"prefab_id": "shell-prefab", "function_name": "echo"}"#,
    );
    let details = json(&text(&details.await));
    assert_eq!(word(&details, "/result/version"), "1.0.0");
    assert!(!details.compact().contains("executor"), "a hidden parameter is shown");
}

/// Case 34.
#[tokio::test]
async fn a_forbidden_function_is_neither_found_described_nor_called() {
    let site = Site::new();
    let ledger = Arc::new(MemoryLedger::new());
    let denied = Rule::new(Verdict::Deny).with_tools(["shell-prefab/echo"]);
    let toolbox = site
        .toolbox(site.runner())
        .with_policy(Policy::default().with_rule(denied))
        .with_ledger(ledger.clone());
    let listed =
        text(&make(&toolbox, "list_prefab_functions", r#"{"prefab_id": "shell-prefab"}"#).await);
    assert!(listed.contains("garble") && !listed.contains("echo"), "{listed}");
    let unknown = "Function 'echo' not found in prefab shell-prefab@1.0.0";
    let arguments = r#"{"prefab_id": "shell-prefab", "function_name": "echo"}"#;
    assert!(text(&make(&toolbox, "get_function_details", arguments).await).contains(unknown));
    let called = run(&toolbox, "echo", r#", "parameters": {"word": "a"}"#).await;
    assert_eq!(word(&called, "/error"), unknown);

    let allowed = run(&toolbox, "garble", r#", "parameters": {}"#).await;
    assert!(word(&allowed, "/error").contains("stdout"));
    let entries = ledger.entries(&Query::default());
    let names: Vec<_> =
        entries.iter().map(|entry| entry.entry.as_call().unwrap().tool.to_string()).collect();
    assert!(names.contains(&"shell-prefab/garble".to_owned()), "{names:?}");
    assert!(!names.contains(&"shell-prefab/echo".to_owned()));
}
