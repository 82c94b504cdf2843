//! `/v1/internal/run` and `/v1/prefabs/{id}/execute`: calls that really run, as processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

use toolwright_catalog::{Catalog, Package, PublishOptions};
use toolwright_core::{Json, object};
use toolwright_runtime::ledger::{Entry, Kind, Query, SqliteLedger};

use super::{client, detail, token};
use crate::gateway::{Answer, Gateway, Reply, Upstream, items_at, text_at, until};
use crate::plans::nested::publish_order;
use crate::run::toolwright;
use crate::telemetry::openapi::schema;

/// A prefab whose process is a shell script.
const MANIFEST: &str = r#"{
  "id": "shell-prefab", "version": "1.0.0", "name": "Shell",
  "description": "Functions that a shell script runs",
  "runtime": {"process": {"command": ["sh", "run.sh"]}},
  "secrets": [{"name": "API_KEY", "instructions": "Ask the team of the API."}],
  "functions": [
    {"name": "echo", "description": "Returns what it receives",
     "parameters": [{"name": "word", "type": "string", "description": "A word", "required": true},
                    {"name": "times", "type": "integer", "description": "How often"},
                    {"name": "owner", "type": "string", "description": "Whose it is"}], "secrets": []},
    {"name": "large", "description": "Returns a large text",
     "parameters": [{"name": "megabytes", "type": "integer", "description": "Its size", "required": true}],
     "secrets": []},
    {"name": "fail", "description": "Fails", "parameters": [], "secrets": []},
    {"name": "count", "description": "Adds a line to a file",
     "parameters": [{"name": "file", "type": "string", "description": "Where", "required": true}],
     "secrets": []},
    {"name": "wait", "description": "Writes its process id to a file and waits",
     "parameters": [{"name": "file", "type": "string", "description": "Where", "required": true}],
     "secrets": []},
    {"name": "needs_key", "description": "Needs a secret", "parameters": [], "secrets": ["API_KEY"]},
    {"name": "hang", "description": "Never ends", "parameters": [], "deadline": "200ms", "secrets": []},
    {"name": "tell", "description": "Tells in pieces", "parameters": [], "streaming": true, "secrets": []},
    {"name": "break_off", "description": "Tells and dies", "parameters": [], "streaming": true,
     "secrets": []},
    {"name": "copy", "description": "Copies a file", "parameters": [], "secrets": [],
     "files": {"input": {"type": "array", "items": {"type": "InputFile"}, "required": true,
                         "description": "in"},
               "output": {"type": "array", "items": {"type": "OutputFile"}, "description": "out"}}}
  ]
}"#;

const SCRIPT: &str = r#"
input=$(cat)
field() { printf '%s' "$input" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
case $(field function) in
  echo) printf '{"success":true,"message":"done","received":%s}' "$input" ;;
  fail) echo "out of order" >&2; exit 3 ;;
  count) echo line >> "$(field file)"; printf 'null' ;;
  needs_key) printf '{"length":%s}' "$(printf '%s' "$(field API_KEY)" | wc -c)" ;;
  large)
    size=$(printf '%s' "$input" | sed -n 's/.*"megabytes":\([0-9]*\).*/\1/p')
    printf '"'; head -c "$((size * 1048576))" /dev/zero | tr '\0' a; printf '"' ;;
  hang) sleep 1000 ;;
  wait) echo $$ > "$(field file)"; sleep 1000 ;;
  tell) echo '{"type":"content","data":"a"}'; echo '{"type":"progress","data":{"percent":50}}'
    echo '{"type":"content","data":"b"}'; echo '{"type":"done","data":{"success":true}}' ;;
  break_off) echo '{"type":"start","data":{"own":1}}'; echo '{"type":"content","data":"a"}'; exit 1 ;;
  copy)
    from=$(printf '%s' "$input" | sed -n 's/.*"files":{"input":\["\([^"]*\)"\].*/\1/p')
    cp "$from" "$(field output_dir)/output/copied.txt"
    printf '{"success":true}' ;;
esac
"#;

/// A gateway whose catalog has the prefab.
fn start(config: &str) -> Gateway {
    let gateway = Gateway::start(config);
    let source = tempfile::tempdir().unwrap();
    std::fs::write(source.path().join("prefab.json"), MANIFEST).unwrap();
    std::fs::write(source.path().join("run.sh"), SCRIPT).unwrap();
    let catalog = Catalog::open(&gateway.data()).unwrap();
    let package = Package::read(source.path()).unwrap();
    catalog.publish(package, PublishOptions::default()).unwrap();
    gateway
}

/// A gateway whose functions may write to a folder beside its configuration, and that folder.
fn start_with_folder() -> (Gateway, PathBuf) {
    let gateway = start("[prefabs.shell-prefab]\nwrite = [\"shared\"]\n");
    let folder = gateway.file("shared");
    std::fs::create_dir(&folder).unwrap();
    (gateway, folder)
}

/// A call as a client sends it.
fn call(function: &str, parameters: &str) -> String {
    format!(
        r#"{{"prefab_id": "shell-prefab", "version": "1.0.0", "function_name": "{function}",
             "inputs": {{"parameters": {parameters}}}}}"#
    )
}

fn run(gateway: &Gateway, headers: &[(&str, &str)], calls: &[String]) -> Answer {
    let body = format!(r#"{{"calls": [{}]}}"#, calls.join(","));
    gateway.post("/v1/internal/run", headers, body.as_bytes())
}

fn word(answer: &Json, pointer: &str) -> String {
    text_at(answer, pointer)
}

#[test]
fn calls_run_and_their_results_are_in_their_order() {
    let gateway = start("");
    let calls = [call("echo", r#"{"word": "你好"}"#), call("fail", "{}"), call("hang", "{}")];
    let answer = run(&gateway, &[], &calls).ok().json();
    assert_eq!(schema("RunResult").violations(&answer), []);
    assert!(word(&answer, "/job_id").starts_with("req_"));
    assert_eq!(word(&answer, "/status"), "PARTIAL");
    let results = items_at(&answer, "/results");
    assert_eq!(word(&results[0], "/status"), "SUCCESS");
    assert_eq!(word(&results[0], "/output/status"), "SUCCESS");
    assert_eq!(word(&results[0], "/output/output/received/parameters/word"), "你好");
    assert_eq!(word(&results[0], "/output/output/message"), "done");
    assert_eq!(results[0].pointer("/output/files"), Some(&Json::parse("{}").unwrap()));
    assert_eq!(word(&results[1], "/status"), "FAILED");
    assert_eq!(word(&results[1], "/error/error_code"), "FAILED");
    assert!(word(&results[1], "/error/message").contains("out of order"), "{}", answer.compact());
    assert_eq!(word(&results[2], "/error/error_code"), "TIMED_OUT");
    assert!(results[2].get("output").is_none());
    // The version may be left out, and `latest` is one.
    for version in ["", r#""version": null,"#, r#""version": "latest","#] {
        let body = format!(
            r#"{{"calls": [{{"prefab_id": "shell-prefab", {version} "function_name": "fail"}}]}}"#
        );
        let answer = gateway.post("/v1/internal/run", &[], body.as_bytes()).ok().json();
        assert_eq!(word(&answer, "/status"), "FAILED", "{version}");
    }
    let answer = run(&gateway, &[], &[]).ok().json();
    assert_eq!(items_at(&answer, "/results"), Vec::<Json>::new());
}

#[test]
fn a_request_with_one_bad_call_runs_none() {
    let (gateway, folder) = start_with_folder();
    let file = folder.join("lines");
    let good = call("count", &format!(r#"{{"file": "{}"}}"#, file.display()));
    let unknown = good.replace("shell-prefab", "shell-prefb");
    for (bad, status, text) in [
        (unknown, 404, "Prefab 'shell-prefb' not found"),
        (good.replace("1.0.0", "2.0.0"), 404, "Prefab 'shell-prefab@2.0.0' not found"),
        (call("cuont", "{}"), 404, "Function 'cuont' not found in prefab shell-prefab@1.0.0"),
    ] {
        let answer = run(&gateway, &[], &[good.clone(), bad.clone()]);
        assert_eq!((answer.status, detail(&answer).as_str()), (status, text));
        assert!(answer.json().get("suggestions").is_some(), "{}", answer.text());
    }
    for (parameters, path) in [
        ("{}", "word"),
        (r#"{"word": 1}"#, "/word"),
        (r#"{"word": "a", "times": "3"}"#, "/times"),
        (r#"{"word": "a", "other": 1}"#, "no place for 'other'"),
    ] {
        let answer = run(&gateway, &[], &[good.clone(), call("echo", parameters)]);
        assert_eq!(answer.status, 422, "{parameters} {}", answer.text());
        let detail = answer.json().get("detail").unwrap().clone();
        assert_eq!(word(&detail, "/error_code"), "INVALID_ARGUMENTS");
        assert_eq!(detail.get("call"), Some(&Json::from(1)));
        assert!(word(&detail, "/message").contains(path), "{}", answer.text());
        assert_eq!(schema("Detail").violations(&answer.json()), []);
    }
    for (body, words) in [
        ("{}", "`calls`"),
        (r#"{"calls": {}}"#, "`calls`"),
        (r#"{"calls": [1]}"#, "must be an object"),
        (r#"{"calls": [{"function_name": "echo"}]}"#, "`prefab_id`"),
        (r#"{"calls": [{"prefab_id": "shell-prefab"}]}"#, "`function_name`"),
        (r#"{"calls": [{"prefab_id": 7, "function_name": "echo"}]}"#, "`prefab_id`"),
        (
            r#"{"calls": [{"prefab_id": "shell-prefab", "function_name": "fail", "inputs": []}]}"#,
            "`inputs`",
        ),
        ("nonsense", "valid JSON"),
    ] {
        let answer = gateway.post("/v1/internal/run", &[], body.as_bytes());
        assert_eq!(answer.status, 422, "{body} {}", answer.text());
        assert!(detail(&answer).contains(words), "{body} {}", answer.text());
    }
    let many = vec![call("fail", "{}"); 101];
    assert_eq!(run(&gateway, &[], &many).status, 422);
    assert!(!file.exists(), "nothing ran");
    run(&gateway, &[], &[good.clone(), good]).ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "line\nline\n", "each call runs");
}

#[test]
fn a_missing_secret_is_named_with_instructions_and_a_present_one_stays_inside() {
    let gateway = start("");
    let answer = run(&gateway, &[], &[call("needs_key", "{}")]);
    assert_eq!(answer.status, 400);
    let detail = answer.json().get("detail").unwrap().clone();
    assert_eq!(word(&detail, "/error_code"), "MISSING_SECRET");
    assert_eq!(word(&detail, "/prefab_id"), "shell-prefab");
    assert_eq!(word(&detail, "/secret_name"), "API_KEY");
    assert_eq!(word(&detail, "/instructions"), "Ask the team of the API.");
    let config = "[prefabs.shell-prefab.secrets]\nAPI_KEY = \"env:UPSTREAM_KEY\"\n";
    gateway.reload(config);
    let answer = until("the secret", || {
        Some(run(&gateway, &[], &[call("needs_key", "{}")])).filter(|own| own.status == 200)
    });
    let length = Json::from(crate::gateway::UPSTREAM_KEY.len());
    assert_eq!(answer.json().pointer("/results/0/output/output/length"), Some(&length));
    assert!(!answer.text().contains(crate::gateway::UPSTREAM_KEY));
    assert!(!gateway.log().contains(crate::gateway::UPSTREAM_KEY));
}

#[test]
fn a_builtin_function_that_is_not_configured_is_named() {
    let gateway = start("");
    let body = br#"{"function": "list_files", "parameters": {}}"#;
    let answer = gateway.post("/v1/prefabs/builtin-files/execute", &[], body);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(word(&answer.json(), "/detail/error_code"), "NOT_RUNNABLE");
    assert_eq!(schema("Detail").violations(&answer.json()), []);
}

#[test]
fn hidden_parameters_come_from_the_configuration_alone() {
    let config = client("alice", "tenant = \"acme\"")
        + "[prefabs.shell-prefab.hide.echo]\nowner = { caller = \"tenant\" }\n";
    let gateway = start(&config);
    let token = token(&gateway, "alice");
    let headers = [("x-internal-token", token.as_str())];
    let answer = run(&gateway, &headers, &[call("echo", r#"{"word": "a"}"#)]).ok().json();
    let owner = "/results/0/output/output/received/parameters/owner";
    assert_eq!(word(&answer, owner), "acme");
    let answer = run(&gateway, &headers, &[call("echo", r#"{"word": "a", "owner": "other"}"#)]);
    assert_eq!(answer.status, 422, "{}", answer.text());
}

#[test]
fn a_forbidden_function_is_not_called_by_any_name() {
    let config = client("alice", "tools = [\"shell-prefab/echo\"]") + &client("bob", "tools = []");
    let gateway = start(&config);
    let alice = token(&gateway, "alice");
    let headers = [("x-internal-token", alice.as_str())];
    run(&gateway, &headers, &[call("echo", r#"{"word": "a"}"#)]).ok();
    let answer = run(&gateway, &headers, &[call("fail", "{}")]);
    let expected = "Function 'fail' not found in prefab shell-prefab@1.0.0";
    assert_eq!((answer.status, detail(&answer).as_str()), (404, expected));
    let execute = |key: &str, function: &str| {
        let bearer = format!("Bearer key-{key}");
        let body = format!(r#"{{"function": "{function}", "parameters": {{"word": "a"}}}}"#);
        let path = "/v1/prefabs/shell-prefab/execute";
        gateway.post(path, &[("authorization", &bearer)], body.as_bytes())
    };
    execute("alice", "echo").ok();
    let answer = execute("alice", "fail");
    assert_eq!((answer.status, detail(&answer).as_str()), (404, expected));
    let answer = execute("bob", "echo");
    assert_eq!(detail(&answer), "Prefab 'shell-prefab' not found");
    let bob = token(&gateway, "bob");
    let answer = run(&gateway, &[("x-internal-token", &bob)], &[call("echo", "{}")]);
    assert_eq!((answer.status, answer.json().get("suggestions").is_some()), (404, false));
}

#[test]
fn one_call_with_a_key() {
    let gateway = start(&client("alice", "requests_per_minute = 2"));
    let path = "/v1/prefabs/shell-prefab/execute";
    let body = br#"{"function": "echo", "parameters": {"word": "a"}, "version": "1.0.0"}"#;
    assert_eq!(gateway.post(path, &[], body).status, 401);
    let key = [("authorization", "Bearer key-alice")];
    let answer = gateway.post(path, &key, body).ok().json();
    assert_eq!(word(&answer, "/status"), "SUCCESS");
    assert_eq!(word(&answer, "/output/output/received/parameters/word"), "a");
    assert!(answer.get("job_id").is_some());
    let answer = gateway.post(path, &key, b"{}");
    assert_eq!((answer.status, detail(&answer).as_str()), (422, "`function` is required."));
    gateway.post(path, &key, body).ok();
    let answer = gateway.post(path, &key, body);
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
    let detail = answer.json().get("detail").unwrap().clone();
    assert_eq!(word(&detail, "/quota_type"), "requests_per_minute");
    let number = |name: &str| detail.get(name).cloned().unwrap();
    assert_eq!((number("limit"), number("used")), (Json::from(2), Json::from(2)));
}

#[test]
fn a_call_above_the_rate_of_plans_says_when_the_next_may_be_made() {
    let upstream = Upstream::start((0..4).map(|_| Reply::json(200, r#"{"seen":true}"#)));
    let local = "[catalog]\nallow_addresses = [\"127.0.0.1\"]\n".to_owned();
    let gateway = Gateway::start(&(local + &client("alice", "calls_per_minute = 2")));
    publish_order(&gateway, &upstream);
    let order = || {
        let alice = [("authorization", "Bearer key-alice")];
        gateway.post("/v1/prefabs/order-prefab/execute", &alice, br#"{"function":"order"}"#)
    };
    order().ok();
    let refused = order();
    assert_eq!(refused.status, 429, "{}", refused.text());
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(wait > 1, "a call may be made every 30 seconds: {wait}");
}

#[test]
fn a_streaming_function_answers_with_events() {
    let gateway = start("");
    let answer = run(&gateway, &[], &[call("tell", "{}")]).ok();
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.events();
    let kinds: Vec<String> = events.iter().map(|own| text_at(own, "/type")).collect();
    assert_eq!(kinds, ["start", "content", "progress", "content", "done"]);
    assert_eq!(text_at(&events[1], "/data"), "a");
    assert_eq!(events[4].get("data"), Some(&Json::Object(object! {"success": true})));
    let answer = run(&gateway, &[], &[call("break_off", "{}")]).ok();
    let events = answer.events();
    let kinds: Vec<String> = events.iter().map(|own| text_at(own, "/type")).collect();
    assert_eq!(kinds, ["start", "content", "error"]);
    assert_eq!(events[0].pointer("/data/own"), Some(&Json::from(1)));
    assert_eq!(text_at(&events[2], "/data/error_code"), "FAILED");
    // Among others it has one result.
    let answer = run(&gateway, &[], &[call("tell", "{}"), call("fail", "{}")]).ok().json();
    assert_eq!(word(&answer, "/results/0/status"), "SUCCESS");
    // What is wrong with the request is known before the stream.
    assert_eq!(run(&gateway, &[], &[call("tell", r#"{"x": 1}"#)]).status, 422);
}

#[test]
fn files_go_in_and_out_and_belong_to_their_tenant() {
    let gateway = start(&(client("alice", "") + &client("bob", "")));
    let [alice, bob] = ["alice", "bob"].map(|name| token(&gateway, name));
    let mut form = Vec::new();
    write!(
        form,
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n--x--"
    )
    .unwrap();
    let kind = ("content-type", "multipart/form-data; boundary=x");
    let answer =
        gateway.post("/internal/files/upload", &[kind, ("x-internal-token", &alice)], &form);
    let url = text_at(&answer.ok().json(), "/s3_url");
    let body = format!(
        r#"{{"calls": [{{"prefab_id": "shell-prefab", "version": "1.0.0", "function_name": "copy",
             "inputs": {{"parameters": {{}}, "files": {{"input": ["{url}"]}}}}}}]}}"#
    );
    let run = |token: &str, body: &str| {
        gateway.post("/v1/internal/run", &[("x-internal-token", token)], body.as_bytes())
    };
    let answer = run(&alice, &body).ok().json();
    assert_eq!(word(&answer, "/status"), "SUCCESS", "{}", answer.compact());
    let output = answer.pointer("/results/0/output/output").unwrap();
    assert_eq!(output, &Json::Object(object! {"success": true}));
    let copied = word(&answer, "/results/0/output/files/output/0");
    let path = format!("/internal/files/download?s3_url={copied}");
    let link = gateway.get(&path, &[("x-internal-token", &alice)]).ok().json();
    let link = text_at(&link, "/presigned_url");
    let target = link.strip_prefix(&format!("http://{}", gateway.address)).unwrap();
    assert_eq!(gateway.get(target, &[]).ok().body, b"hello");
    assert_eq!(gateway.get(&path, &[("x-internal-token", &bob)]).status, 404);
    // Another tenant cannot feed it to a function.
    let answer = run(&bob, &body).ok();
    assert_eq!(word(&answer.json(), "/results/0/status"), "FAILED");
    assert!(!answer.text().contains("hello"), "{}", answer.text());
    assert_eq!(run(&alice, &body.replace("\"input\"", "\"other\"")).status, 422);
    let without = body.replace("copy", "fail");
    assert_eq!(run(&alice, &without).status, 422, "the function takes no files");
}

#[test]
fn every_call_is_in_the_ledger_and_in_the_metrics_under_its_function() {
    let gateway = start("");
    run(&gateway, &[], &[call("echo", r#"{"word": "a"}"#), call("fail", "{}")]).ok();
    let metrics = gateway.get("/metrics", &[]).ok().text();
    for line in [
        r#"toolwright_function_calls_total{function="shell-prefab/echo",outcome="ok"} 1"#,
        r#"toolwright_function_calls_total{function="shell-prefab/fail",outcome="failed"} 1"#,
        r#"toolwright_function_duration_seconds_count{function="shell-prefab/echo"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let ledger = SqliteLedger::open(gateway.data().join("ledger.sqlite")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let query = Query::new().with_kind(Kind::Call);
    let tools = until("both calls in the ledger", || {
        let entries = runtime.block_on(ledger.entries(&query)).unwrap();
        let tools = entries.iter().filter_map(|own| match &own.entry {
            Entry::Call(call) => Some(call.tool.to_string()),
            _ => None,
        });
        Some(tools.collect::<Vec<String>>()).filter(|own| own.len() == 2)
    });
    assert!(tools.iter().all(|own| own.starts_with("shell-prefab/")), "{tools:?}");
    let data = gateway.data();
    let details = |function: &str, more: &[&str]| {
        let arguments = ["catalog", "details", "shell-prefab", function, "--data"];
        let ran = toolwright(&[&arguments, &[data.to_str().unwrap()][..], more].concat(), b"");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.text()
    };
    let shown = details("echo", &[]);
    assert!(shown.contains("\n}\n\n1 call, 0 errors, latency p50 "), "{shown}");
    let document = Json::parse(&details("fail", &["--json"])).unwrap();
    assert_eq!(document.pointer("/figures/calls"), Some(&Json::from(1_u64)));
    assert_eq!(document.pointer("/figures/errors"), Some(&Json::from(1_u64)));
    assert_eq!(document.pointer("/name").and_then(Json::as_str), Some("fail"));
}

#[test]
fn metrics_name_no_function_that_the_client_may_not_call() {
    let clients = client("alice", "") + &client("bob", "tools = [\"shell-prefab/echo\"]");
    let gateway = start(&clients);
    let alice = [("authorization", "Bearer key-alice")];
    run(&gateway, &alice, &[call("echo", r#"{"word": "a"}"#), call("fail", "{}")]).ok();
    let of = |key: &str| {
        let bearer = format!("Bearer key-{key}");
        gateway.get("/metrics", &[("authorization", &bearer)]).ok().text()
    };
    assert!(of("alice").contains("shell-prefab/fail"));
    let bob = of("bob");
    assert!(bob.contains("shell-prefab/echo") && !bob.contains("fail\""), "{bob}");
    assert!(bob.contains("toolwright_requests_in_flight") && bob.ends_with("# EOF\n"));
}

#[test]
fn a_request_whose_calls_exceed_the_rate_is_not_counted() {
    let clients =
        client("alice", "requests_per_minute = 3") + &client("bob", "requests_per_minute = 3");
    let gateway = start(&clients);
    let alice = [("authorization", "Bearer key-alice")];
    let echo = || call("echo", r#"{"word": "a"}"#);
    let answer = run(&gateway, &alice, &vec![echo(); 4]);
    assert_eq!((answer.status, answer.header("retry-after")), (429, None));
    assert!(word(&answer.json(), "/detail/message").contains("fewer calls"), "{}", answer.text());
    run(&gateway, &alice, &vec![echo(); 2]).ok();
    let answer = run(&gateway, &alice, &vec![echo(); 2]);
    assert!(answer.status == 429 && answer.header("retry-after").is_some(), "{}", answer.text());
    run(&gateway, &alice, &[echo()]).ok();
    assert_eq!(run(&gateway, &alice, &[]).status, 429, "a request without calls is one");
    // Tokens and files count as well.
    let bob = [("authorization", "Bearer key-bob")];
    token(&gateway, "bob");
    gateway.get("/internal/files/list", &bob).ok();
    let link = gateway.post("/internal/files/generate_upload_url", &bob, br#"{"filename": "a"}"#);
    let link = text_at(&link.ok().json(), "/upload_url");
    for answer in [
        gateway.post("/v1/auth/convert_to_internal_token", &bob, b""),
        gateway.get("/internal/files/list", &bob),
    ] {
        assert_eq!(answer.status, 429, "{}", answer.text());
        assert_eq!(word(&answer.json(), "/detail/quota_type"), "requests_per_minute");
    }
    let path = link.split_once("/internal/").map(|(_, path)| format!("/internal/{path}")).unwrap();
    assert_eq!(
        gateway.ask("PUT", &path, &[], b"bytes").answer().status,
        200,
        "the link was counted"
    );
}

#[test]
fn documents_that_are_large_once_parsed_are_refused() {
    let memory = "[limits]\nmemory = 67108864\n";
    let gateway = start(memory);
    let heavy = format!("[{}]", vec!["[]"; 1 << 20].join(","));
    let bodies = [
        ("/v1/internal/run", format!(r#"{{"calls": [], "more": {heavy}}}"#)),
        ("/v1/prefabs/shell-prefab/execute", format!(r#"{{"function": "fail", "more": {heavy}}}"#)),
    ];
    for (path, body) in bodies {
        let answer = gateway.post(path, &[], body.as_bytes());
        assert_eq!(answer.status, 413, "{path}: {}", answer.text());
        assert!(detail(&answer).contains("limits.memory"), "{}", answer.text());
    }
}

#[test]
fn the_results_of_a_request_are_bounded_together() {
    let gateway = start("[limits]\nbody = 1048576\nmemory = 16777216\n");
    let large = || call("large", r#"{"megabytes": 2}"#);
    let small = call("echo", r#"{"word": "a"}"#);
    let calls = [large(), large(), large(), large(), large(), large(), small];
    let answer = run(&gateway, &[], &calls).ok().json();
    assert_eq!(word(&answer, "/status"), "PARTIAL");
    assert_eq!(schema("RunResult").violations(&answer), []);
    let results = items_at(&answer, "/results");
    let refused = results.iter().filter_map(|own| own.pointer("/error/error_code")?.as_str());
    let refused: Vec<&str> = refused.collect();
    assert!((1..6).contains(&refused.len()), "some of six fit: {refused:?}");
    assert!(refused.iter().all(|code| *code == "RESULT_TOO_LARGE"), "{refused:?}");
    assert_eq!(word(&results[6], "/status"), "SUCCESS");
    // The memory is free again.
    let answer = run(&gateway, &[], &[large(), large()]).ok().json();
    assert_eq!(word(&answer, "/status"), "SUCCESS");
}

#[test]
fn an_idempotency_key_belongs_to_one_request() {
    let (gateway, folder) = start_with_folder();
    let file = folder.join("lines");
    let count = call("count", &format!(r#"{{"file": "{}"}}"#, file.display()));
    let keyed = [("idempotency-key", "order-17")];
    let unknown = run(&gateway, &keyed, &[call("cuont", "{}")]);
    assert_eq!(unknown.status, 404, "a refused request does not use the key");
    let first = run(&gateway, &keyed, std::slice::from_ref(&count)).ok().text();
    assert_eq!(
        run(&gateway, &keyed, &[count.replace(": ", ":")]).ok().text(),
        first,
        "the same value"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "line\n", "the effect happened once");
    for calls in [vec![count.clone(), count.clone()], vec![call("fail", "{}")]] {
        let answer = run(&gateway, &keyed, &calls);
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert_eq!(word(&answer.json(), "/detail/error_code"), "IDEMPOTENCY_KEY_REUSED");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "line\n");
    run(&gateway, &[("idempotency-key", "order-18")], &[count]).ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "line\nline\n");
}

/// A server that answers every request with what it received, and its address.
fn echo_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok() && line != "\r\n" {
                let lower = line.to_lowercase();
                if let Some(size) = lower.strip_prefix("content-length:") {
                    length = size.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let mut stream = reader.into_inner();
            write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n").unwrap();
            stream.write_all(&body).unwrap();
        }
    });
    address
}

#[test]
fn an_http_function_reaches_an_address_that_is_allowed() {
    let address = echo_server();
    let mut document = super::manifest("echo-prefab", "1.0.0", &["echo"]);
    if let Json::Object(document) = &mut document {
        let http = object! {"base_url": address};
        document.insert("runtime", object! {"http": http});
    }
    for (config, status) in
        [("", "FAILED"), ("[catalog]\nallow_addresses = [\"127.0.0.1\"]\n", "SUCCESS")]
    {
        let gateway = Gateway::start(config);
        super::publish(&gateway, &document);
        let call = call("echo", r#"{"text": "a"}"#).replace("shell-prefab", "echo-prefab");
        let answer = run(&gateway, &[], &[call]).ok().json();
        assert_eq!(word(&answer, "/results/0/status"), status, "{}", answer.compact());
        if status == "SUCCESS" {
            assert_eq!(word(&answer, "/results/0/output/output/text"), "a");
        }
    }
}

#[test]
fn a_client_that_disconnects_ends_its_calls() {
    let (gateway, folder) = start_with_folder();
    let file = folder.join("pid");
    let call = call("wait", &format!(r#"{{"file": "{}"}}"#, file.display()));
    let body = format!(r#"{{"calls": [{call}]}}"#);
    let asking = gateway.ask("POST", "/v1/internal/run", &[], body.as_bytes());
    let id: u32 = until("the process", || {
        std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok())
    });
    let process = format!("/proc/{id}/stat");
    assert!(std::fs::exists(&process).unwrap());
    drop(asking);
    until("the end of the process", || (!std::fs::exists(&process).unwrap()).then_some(()));
}
