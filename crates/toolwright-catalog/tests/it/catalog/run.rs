//! Functions of prefabs as processes, and the tools with which models use a catalog.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use toolwright_catalog::files::{FileLimits, Files, Lifetime};
use toolwright_catalog::runtime::{EventSender, PrefabSettings, Runner};
use toolwright_catalog::tools::{CatalogTools, NAMES};
use toolwright_catalog::{Catalog, Manifest, Package, PublishError, PublishOptions};
use toolwright_core::Json;
use toolwright_runtime::builtin::{self, Root};
use toolwright_runtime::call::{CallResult, Policy, Rule, Verdict};
use toolwright_runtime::context::Context;
use toolwright_runtime::ledger::{MemoryLedger, Query};
use toolwright_runtime::{Caller, Fill, Session, Toolbox};
use toolwright_transport::secret::Secret;

use toolwright_testing::tools::{call, done, json, text};

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
    {"name": "reveal", "description": "Returns all that it receives", "secrets": ["API_KEY"],
     "parameters": [{"name": "key", "type": "string", "description": "A hidden one"}]},
    {"name": "reveal_in_pieces", "description": "Tells its secret", "parameters": [], "streaming": true,
     "secrets": ["API_KEY"]},
    {"name": "reveal_in_error", "description": "Fails with its secret", "parameters": [], "streaming": true,
     "secrets": ["API_KEY"]},
    {"name": "fail_at_length", "description": "Writes its secret to the end of a long stderr", "parameters": [],
     "secrets": ["API_KEY"]},
    {"name": "garble", "description": "Writes no JSON", "parameters": [], "secrets": []},
    {"name": "garble_bytes", "description": "Writes no text", "parameters": [], "secrets": []},
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
  reveal) printf '{"received":%s}' "$input" ;;
  reveal_in_pieces) printf '{"type":"content","data":"key %s"}\n{"type":"done"}\n' "$(field API_KEY)" ;;
  reveal_in_error) printf '{"type":"error","data":{"message":"key %s"}}\n' "$(field API_KEY)" ;;
  fail_at_length) { head -c 65530 /dev/zero | tr '\0' x; field API_KEY; } >&2; exit 3 ;;
  garble) echo 'not JSON' ;;
  garble_bytes) printf '"\377"' ;;
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
        Runner::new(self.files.clone())
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
    assert!(word(&result, "/result/function_result/home").ends_with("/prefab"), "a copy");
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
        ("fail", "it ended with code 3, and wrote to stderr:\nkey [redacted] refused"),
        ("garble", "its stdout is not one JSON document"),
        ("garble_bytes", "its stdout is not UTF-8"),
        ("hang", "200"),
    ] {
        let failed = run(&toolbox, function, r#", "parameters": {}"#).await;
        assert_eq!(failed.get("success"), Some(&Json::Bool(false)));
        assert!(word(&failed, "/error").contains(wanted), "{function}: {}", failed.compact());
        assert!(!failed.compact().contains("tw-very-secret"));
    }
}

/// Case 30. A process may return its secrets, but nobody receives them.
#[tokio::test]
async fn a_process_cannot_return_its_secrets() {
    let site = Site::new();
    let mut settings = PrefabSettings::default();
    settings.secrets.insert("API_KEY".to_owned(), Secret::new("tw-very-secret".to_owned()));
    let hidden = Fill::Secret(Secret::new("a hidden key".to_owned()));
    settings.fills.insert("reveal".to_owned(), vec![("key".to_owned(), hidden)]);
    let toolbox = site.toolbox(site.runner().with_prefab("shell-prefab", settings));
    let revealed = run(&toolbox, "reveal", r#", "parameters": {}"#).await;
    let received = revealed.pointer("/result/function_result/received").unwrap();
    assert_eq!(word(received, "/context/secrets/API_KEY"), "[redacted]");
    assert_eq!(word(received, "/parameters/key"), "[redacted]");

    let (sender, mut events) = tokio::sync::mpsc::channel(9);
    let session = Session::new("run").with_context(Context::new().with(EventSender(sender)));
    for (function, pointer) in
        [("reveal_in_pieces", "/result/function_result"), ("reveal_in_error", "/error")]
    {
        let arguments = format!(
            r#"{{"prefab_id": "shell-prefab", "version": "1.0.0", "function_name": "{function}", "parameters": {{}}}}"#
        );
        let call = call(function, "call_prefab_function", &arguments);
        let result = json(&text(&done(toolbox.call(&session, &call).await)));
        assert!(word(&result, pointer).ends_with("key [redacted]"), "{}", result.compact());
    }
    drop(session);
    while let Some(event) = events.recv().await {
        assert!(!event.compact().contains("secret"), "{}", event.compact());
    }
    // The end of what is read of stderr is a part of the secret.
    let failed = run(&toolbox, "fail_at_length", r#", "parameters": {}"#).await;
    assert!(word(&failed, "/error").ends_with("xxx"), "{}", failed.compact());
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
async fn a_published_function_whose_file_no_request_has_is_found_and_not_run() {
    let site = Site::new();
    let document = |http: &str| {
        let text = format!(
            r#"{{"id":"scan-prefab","version":"1.0.0","name":"Scans","description":"Scans documents.",
                "functions":[{{"name":"scan","description":"Scans a document",
                    "files":{{"page":{{"type":"array","items":{{"type":"InputFile"}}}}}}{http}}}],
                "runtime":{{"http":{{"base_url":"https://example.com"}}}}}}"#
        );
        json(&text)
    };
    let sent =
        r#","http":{"method":"POST","path":"/","body":{"content_type":"image/png","file":"page"}}"#;
    let manifest = Manifest::parse(&document(sent)).unwrap();
    site.catalog.publish(Package::new(manifest), PublishOptions::default()).unwrap();
    // As it was published before this was checked.
    let file = rusqlite::Connection::open(site.folder.path().join("data/catalog.sqlite")).unwrap();
    let change = "UPDATE version SET document = ? WHERE prefab = 'scan-prefab'";
    assert_eq!(file.execute(change, [document("").compact()]).unwrap(), 1);
    let toolbox = site.toolbox(site.runner());
    let found = text(&make(&toolbox, "search_prefabs", r#"{"query": "scan"}"#).await);
    assert!(found.contains("scan-prefab"), "{found}");
    let arguments = r#"{"prefab_id": "scan-prefab", "version": "1.0.0", "function_name": "scan",
        "parameters": {}}"#;
    let refused = text(&make(&toolbox, "call_prefab_function", arguments).await);
    assert!(refused.contains("no request has its input file `page`"), "{refused}");
}

#[tokio::test]
async fn a_model_is_told_which_hits_are_weak() {
    let site = Site::new();
    let toolbox = site.toolbox(site.runner());
    let found = async |tool, need: &str| {
        text(&make(&toolbox, tool, &format!(r#"{{"query": "{need}"}}"#)).await)
    };
    for tool in ["search_prefabs", "prefab_recommend"] {
        let weak =
            found(tool, "telescopes, lighthouses and harbours in a file of the cliffs").await;
        let functions = weak.matches(r#"{"name":"#).count();
        assert!((1..=5).contains(&functions), "{tool}: {weak}");
        assert_eq!(weak.matches(r#""weak":true"#).count(), functions, "{tool}: {weak}");
        assert!(weak.contains("share only a few common words"), "{tool}: {weak}");
        let real = found(tool, "read_file").await;
        assert!(!real.contains("share only a few"), "{tool}: {real}");
    }
}

#[tokio::test]
async fn queries_have_a_maximum_length() {
    let site = Site::new();
    let toolbox = site.toolbox(site.runner());
    for tool in ["search_prefabs", "prefab_recommend"] {
        for (length, is_error) in [(10_000, false), (10_001, true)] {
            let arguments = format!(r#"{{"query": "{}"}}"#, "天".repeat(length));
            let result = make(&toolbox, tool, &arguments).await;
            assert_eq!(result.error.is_some(), is_error, "{tool} {length}: {}", text(&result));
        }
    }
}

#[tokio::test]
async fn a_parameter_that_the_configuration_hides_is_not_searched() {
    let site = Site::new();
    let query = r#"{"query": "word"}"#;
    let found = |toolbox: Toolbox| async move {
        text(&make(&toolbox, "search_prefabs", query).await).contains("shell-prefab")
    };
    assert!(found(site.toolbox(site.runner())).await);
    let hidden = || {
        let mut settings = PrefabSettings::default();
        settings
            .fills
            .insert("echo".to_owned(), vec![("word".to_owned(), Fill::Constant("a".into()))]);
        site.runner().with_prefab("shell-prefab", settings)
    };
    assert!(!found(site.toolbox(hidden())).await, "it is removed from the index");
    assert!(found(site.toolbox(site.runner())).await, "another configuration shows it again");
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

/// Case 34. A rule for a built-in tool holds for the function of a prefab that runs it.
#[tokio::test]
async fn a_forbidden_tool_is_not_called_as_a_function() {
    let site = Site::new();
    let root = site.folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    let runner = || site.runner().with_builtins(builtin::handlers(Root::open(&root).unwrap()));
    let write = r#"{"prefab_id": "builtin-files", "function_name": "write_file", "version": "latest",
        "parameters": {"path": "a.txt", "content": "a"}}"#;
    for verdict in [Verdict::Deny, Verdict::Ask] {
        let rule = Rule::new(verdict).with_tools(["write_*"]);
        let toolbox = site.toolbox(runner()).with_policy(Policy::default().with_rule(rule));
        let answer = text(&make(&toolbox, "call_prefab_function", write).await);
        assert!(answer.contains(r#""success":false"#), "{answer}");
        assert!(!root.join("a.txt").exists());
        let list = r#"{"prefab_id": "builtin-files"}"#;
        let listed = text(&make(&toolbox, "list_prefab_functions", list).await);
        assert!(listed.contains("read_file"), "{listed}");
        assert_eq!(listed.contains("write_file"), verdict == Verdict::Ask, "{listed}");
    }
    // A rule that names the function itself is earlier.
    let named = Rule::new(Verdict::Allow).with_tools(["builtin-files/*"]);
    let denied = Rule::new(Verdict::Deny).with_tools(["write_*"]);
    let policy = Policy::default().with_rule(named).with_rule(denied);
    let toolbox = site.toolbox(runner()).with_policy(policy);
    let answer = text(&make(&toolbox, "call_prefab_function", write).await);
    assert!(answer.contains(r#""success":true"#) && root.join("a.txt").exists(), "{answer}");
}

#[tokio::test]
async fn only_our_prefabs_have_builtin_functions() {
    let site = Site::new();
    let document = |id: &str, runtime: &str| {
        let text = format!(
            r#"{{"id": "{id}", "version": "9.0.0", "name": "Stranger", "description": "Writes our files.",
                "functions": [{{"name": "write_file", "description": "Writes a file"}}], "runtime": {runtime}}}"#
        );
        Package::new(Manifest::parse(&json(&text)).unwrap())
    };
    let http = r#"{"http": {"base_url": "https://example.com"}}"#;
    for (id, runtime, pointer) in [
        ("stranger", r#"{"builtin": {}}"#, "/runtime/builtin"),
        ("builtin-files", http, "/id"),
        ("builtin-more", http, "/id"),
    ] {
        let refused = site.catalog.publish(document(id, runtime), PublishOptions::default());
        let Err(PublishError::Refused { faults, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(faults.iter().map(|own| own.pointer.as_str()).collect::<Vec<_>>(), [pointer]);
    }
    site.catalog.publish(document("stranger", http), PublishOptions::default()).unwrap();
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
