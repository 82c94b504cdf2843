//! Runs of plans over HTTP.

mod direct;
pub mod nested;
mod restart;

use toolwright_catalog::{Catalog, Package, PublishOptions};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use crate::exchange::tools::TOOLS;
use crate::gateway::{Answer, Gateway, items_at, text_at, until};
use crate::run::toolwright_in;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn started(gateway: &Gateway, plan: &str, more: Object) -> Json {
    let mut body = object! {"plan": json(plan), "wait": true};
    body.merge(&more);
    gateway.post("/v1/plans", &[], body.compact().as_bytes()).ok().json()
}

/// Reads the list of files, then each file.
const READ_ALL: &str = r#"{"plan":"1","name":"读","inputs":{"type":"object","required":["names"],"properties":{"names":{"type":"array","items":{"type":"string"}}}},
    "steps":{"read":{"tool":"read_file","each":{"$from":"inputs/names"},"args":{"path":{"$from":"item"}}}},
    "outputs":{"texts":{"$from":"read"}}}"#;

const WRITE: &str = r#"{"plan":"1","steps":{
    "read":{"tool":"read_file","args":{"path":"a.txt"}},
    "write":{"tool":"write_file","args":{"path":"b.txt","content":{"$from":"read"}}}}}"#;

fn gateway() -> Gateway {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "α").unwrap();
    std::fs::write(folder.path().join("c.txt"), "γ").unwrap();
    Gateway::start_with(folder, TOOLS)
}

#[test]
fn a_plan_is_checked_run_listed_shown_and_deleted() {
    let gateway = gateway();
    let schema = gateway.get("/v1/plans/schema", &[]).ok().json();
    assert_eq!(text_at(&schema, "/properties/plan/const"), "1");

    let wrong = READ_ALL.replace("read_file", "raed_file").replace("inputs/names", "input/names");
    let report = gateway.post("/v1/plans/check", &[], wrong.as_bytes()).ok().json();
    let errors = items_at(&report, "/errors");
    assert_eq!(errors.len(), 2, "{report}");
    assert_eq!(text_at(&errors[0], "/suggestion"), "inputs");
    assert_eq!(text_at(&errors[1], "/suggestion"), "read_file");
    let body = object! {"plan": json(&wrong), "inputs": object! {"names": Vec::<Json>::new()}};
    let refused = gateway.post("/v1/plans", &[], body.compact().as_bytes());
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("there is no tool 'raed_file'"), "{}", refused.text());
    let worse = wrong.replace("\"each\"", "\"eahc\"");
    let body = object! {"plan": json(&worse)};
    let refused = gateway.post("/v1/plans", &[], body.compact().as_bytes()).text();
    assert!(
        refused.contains("did you mean 'each'?") && refused.contains("'raed_file'"),
        "{refused}"
    );

    let view = gateway.post("/v1/plans/view", &[], READ_ALL.as_bytes()).ok().json();
    assert_eq!(text_at(&view, "/nodes/0/tool_name"), "read_file");
    assert_eq!(text_at(&view, "/edges/0/source"), "inputs", "{view}");

    let inputs = object! {"inputs": object! {"names": vec!["a.txt", "c.txt"]}};
    let run = started(&gateway, READ_ALL, inputs);
    assert_eq!(text_at(&run, "/status"), "succeeded", "{run}");
    assert_eq!(run.pointer("/outputs/texts/1").and_then(Json::as_str), Some("γ"), "{run}");
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    let shown = gateway.get(&path, &[]).ok().json();
    assert_eq!(text_at(&shown, "/steps/0/state"), "succeeded");
    assert!(text_at(&shown, "/steps/0/output_preview").contains('α'));
    let plan = gateway.get(&format!("{path}/plan"), &[]).ok().json();
    assert!(plan.same(&json(READ_ALL)), "{plan}");
    let picture = gateway.get(&format!("{path}/picture"), &[]).ok();
    assert_eq!(picture.header("content-type"), Some("image/svg+xml"));
    assert!(picture.text().starts_with("<svg") && picture.text().contains("read_file"));
    let mermaid = gateway.get(&format!("{path}/picture?format=mermaid"), &[]).ok().text();
    assert!(mermaid.contains("flowchart TD"), "{mermaid}");
    assert_eq!(gateway.get(&format!("{path}/picture?format=png"), &[]).status, 400);
    let events = gateway.get(&format!("{path}/events"), &[]).ok().text();
    assert!(events.starts_with("event: report\ndata: {"), "{events}");

    let failing =
        started(&gateway, READ_ALL, object! {"inputs": object! {"names": vec!["none.txt"]}});
    assert_eq!(text_at(&failing, "/status"), "failed");
    let listed = gateway.get("/v1/plans?status=failed", &[]).ok().json();
    assert_eq!(items_at(&listed, "/data").len(), 1, "{listed}");
    assert_eq!(gateway.get("/v1/plans?status=done", &[]).status, 400);
    assert_eq!(items_at(&gateway.get("/v1/plans", &[]).ok().json(), "/data").len(), 2);
    gateway.ask("DELETE", &path, &[], b"").answer().ok();
    assert_eq!(gateway.get(&path, &[]).status, 404);
    assert_eq!(items_at(&gateway.get("/v1/plans", &[]).ok().json(), "/data").len(), 1);
}

#[test]
fn too_many_steps_are_neither_viewed_nor_recorded() {
    let gateway = gateway();
    let step = |at| format!(r#""s{at}":{{"tool":"read_file","args":{{"path":"a.txt"}}}}"#);
    let steps: Vec<String> = (0..=1000).map(step).collect();
    let plan = format!(r#"{{"plan":"1","steps":{{{}}}}}"#, steps.join(","));
    let viewed = gateway.post("/v1/plans/view", &[], plan.as_bytes());
    assert_eq!(viewed.status, 400, "{}", viewed.text());
    assert!(viewed.text().contains("1001 steps, and at most 1000"), "{}", viewed.text());

    let call = r#"{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}"#;
    let record = |count: usize| {
        let calls = vec![call; count].join(",");
        let body = format!(r#"{{"calls":{{"role":"assistant","tool_calls":[{calls}]}}}}"#);
        gateway.post("/v1/plans/record", &[], body.as_bytes())
    };
    let recorded = record(2).ok().json();
    assert_eq!(text_at(&recorded, "/plan/steps/read_file_2/tool"), "read_file", "{recorded}");
    let refused = record(1001);
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(
        refused.text().contains("there are 1001 calls, and a plan has at most 1000 steps"),
        "{}",
        refused.text()
    );
}

#[test]
fn a_run_waits_for_approval_and_continues_after_a_restart() {
    let mut gateway = gateway();
    let run = started(&gateway, WRITE, Object::new());
    assert_eq!(text_at(&run, "/status"), "waiting", "{run}");
    assert_eq!(text_at(&run, "/questions/0/step"), "write");
    assert_eq!(text_at(&run, "/questions/0/arguments/path"), "b.txt");
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));

    gateway = gateway.restart(TOOLS);
    let shown = gateway.get(&path, &[]).ok().json();
    assert_eq!(text_at(&shown, "/status"), "waiting", "{shown}");
    let answer = format!("{path}/answer");
    assert_eq!(gateway.post(&answer, &[], br#"{"step":"write"}"#).status, 400);
    assert_eq!(gateway.post(&answer, &[], br#"{"step":"read","answer":"approve"}"#).status, 409);
    let approved = gateway.post(&answer, &[], br#"{"step":"write","answer":"approve"}"#);
    assert_eq!(approved.status, 202, "{}", approved.text());
    let ended = until("the end", || {
        let shown = gateway.get(&path, &[]).ok().json();
        (text_at(&shown, "/status") != "running" && text_at(&shown, "/status") != "waiting")
            .then_some(shown)
    });
    assert_eq!(text_at(&ended, "/status"), "succeeded", "{ended}");
    assert_eq!(std::fs::read_to_string(gateway.file("b.txt")).unwrap(), "α");
    assert_eq!(gateway.post(&format!("{path}/resume"), &[], b"").status, 409);

    // Repeated from the second step on, with another file.
    let fork = r#"{"step":"write","args":{"path":"d.txt","content":{"$from":"read"}}}"#;
    let forked = gateway.post(&format!("{path}/fork"), &[], fork.as_bytes());
    assert_eq!(forked.status, 202, "{}", forked.text());
    let forked = forked.json();
    assert_eq!(text_at(&forked, "/parent"), text_at(&run, "/run"));
    let path = format!("/v1/plans/{}", text_at(&forked, "/run"));
    until("the question", || {
        let shown = gateway.get(&path, &[]).ok().json();
        (text_at(&shown, "/status") == "waiting").then_some(())
    });
    let cancelled = gateway.post(&format!("{path}/cancel"), &[], b"").ok().json();
    assert_eq!(text_at(&cancelled, "/status"), "cancelled", "{cancelled}");
    assert!(!gateway.file("d.txt").exists());
}

#[test]
fn runs_belong_to_their_tenant() {
    let hash = |key: &str| toolwright_gateway::key::KeyHash::of(key).to_string();
    let key = |name: &str, more: &str| {
        format!("[keys.{name}]\nhash = \"{}\"\n{more}\n", hash(&format!("tw-{name}")))
    };
    let keys = [
        key("a", "tenant = \"one\"\ntools = [\"read_file\"]"),
        key("b", "tenant = \"two\"\ntools = [\"*\"]"),
        key("w", "tenant = \"one\"\ntools = [\"*_file\"]\napprove = []"),
        key("boss", "tenant = \"one\"\ntools = []\napprove = [\"write_*\"]"),
    ];
    let keys = keys.concat();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "α").unwrap();
    let gateway = Gateway::start_with(folder, &format!("{TOOLS}{keys}"));
    let (w, boss) = ([("authorization", "Bearer tw-w")], [("authorization", "Bearer tw-boss")]);
    let (a, b) = ([("authorization", "Bearer tw-a")], [("authorization", "Bearer tw-b")]);
    let body =
        object! {"plan": json(READ_ALL), "inputs": object! {"names": vec!["a.txt"]}, "wait": true};
    assert_eq!(gateway.post("/v1/plans", &[], body.compact().as_bytes()).status, 401);
    let run = gateway.post("/v1/plans", &a, body.compact().as_bytes()).ok().json();
    assert_eq!(text_at(&run, "/status"), "succeeded", "{run}");
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    assert_eq!(gateway.get(&path, &b).status, 404);
    assert_eq!(items_at(&gateway.get("/v1/plans", &b).ok().json(), "/data").len(), 0);
    for action in ["resume", "cancel", "answer", "fork"] {
        let body = br#"{"step":"read","answer":"approve"}"#;
        assert_eq!(gateway.post(&format!("{path}/{action}"), &b, body).status, 404, "{action}");
    }
    // Another key of the tenant answers, and the run continues with the tools of the key that started it.
    let run = gateway.post(
        "/v1/plans",
        &w,
        object! {"plan": json(WRITE), "wait": true}.compact().as_bytes(),
    );
    let path = format!("/v1/plans/{}", text_at(&run.ok().json(), "/run"));
    let answer = format!("{path}/answer");
    let body = br#"{"step":"write","answer":"approve"}"#;
    assert_eq!(gateway.post(&answer, &w, body).status, 403);
    assert_eq!(gateway.post(&answer, &boss, body).status, 202);
    until("the end", || {
        let shown = gateway.get(&path, &w).ok().json();
        (text_at(&shown, "/status") == "succeeded").then_some(())
    });
    assert_eq!(std::fs::read_to_string(gateway.file("b.txt")).unwrap(), "α");

    // A key calls only its tools, in plans too.
    let body = object! {"plan": json(WRITE)};
    let refused = gateway.post("/v1/plans", &a, body.compact().as_bytes());
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("there is no tool 'write_file'"), "{}", refused.text());
}

/// Publishes a version of a prefab whose function returns a greeting that names the version.
fn publish_greeting(gateway: &Gateway, version: &str) {
    publish(gateway, version, &format!(r#"echo '{{\"text\":\"hello {version}\"}}'"#));
}

/// Publishes the function `greet`, which runs a command of the shell.
fn publish(gateway: &Gateway, version: &str, command: &str) {
    let folder = tempfile::tempdir().unwrap();
    let manifest = format!(
        r#"{{"id":"greeting-prefab","version":"{version}","name":"Greeting","description":"Greets in one way.",
            "runtime":{{"process":{{"command":["sh","-c","{command}"]}}}},
            "functions":[{{"name":"greet","description":"Greets.","effect":"read-only","parameters":[],
                "returns":{{"type":"object","properties":{{"text":{{"type":"string"}}}}}}}}]}}"#
    );
    std::fs::write(folder.path().join("prefab.json"), manifest).unwrap();
    let catalog = Catalog::open(&gateway.data()).unwrap();
    let package = Package::read(folder.path()).unwrap();
    catalog.publish(package, PublishOptions::default()).unwrap();
}

const GREET: &str = r#"{"plan":"1","steps":{"greet":{"tool":"greeting-prefab/greet"}},
    "outputs":{"text":{"$from":"greet/text"}}}"#;

#[test]
fn a_document_counts_against_the_memory_until_its_request_ends() {
    let gateway = Gateway::start("[limits]\nmemory = 67108864\n");
    publish(&gateway, "1.0.0", "exec sleep 600");
    let heavy = format!("[{}]", vec!["[]"; 20_000].join(","));
    let body = format!(r#"{{"plan":{GREET},"wait":true,"x":{heavy}}}"#);
    let check = || gateway.post("/v1/plans/check", &[], body.as_bytes());
    assert_eq!(check().status, 200);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| gateway.post("/v1/plans", &[], body.as_bytes()));
        let run = until("the run to start", || {
            let runs = gateway.get("/v1/plans", &[]).ok().json();
            items_at(&runs, "/data").first().map(|run| text_at(run, "/run"))
        });
        let refused = check();
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert!(refused.text().contains("memory"), "{}", refused.text());
        gateway.post(&format!("/v1/plans/{run}/cancel"), &[], b"").ok();
        assert_eq!(waiting.join().unwrap().status, 200);
    });
    assert_eq!(check().status, 200);
}

#[test]
fn a_run_keeps_the_versions_of_its_functions() {
    let gateway = gateway();
    publish_greeting(&gateway, "1.0.0");
    let later = |plan: &str| {
        let body = object! {"plan": json(plan), "start": false}.compact();
        text_at(&gateway.post("/v1/plans", &[], body.as_bytes()).json(), "/run")
    };
    let (old, withdrawn) = (later(GREET), later(GREET));
    publish_greeting(&gateway, "1.1.0");
    let greeting = |run: &Json| text_at(run, "/outputs/text");
    let new = started(&gateway, GREET, Object::new());
    assert_eq!(greeting(&new), "hello 1.1.0", "{new}");
    assert_eq!(text_at(&new, "/steps/0/tool"), "greeting-prefab@1.1.0/greet");
    let exact = GREET.replace("prefab/", "prefab@1.0.0/");
    assert_eq!(greeting(&started(&gateway, &exact, Object::new())), "hello 1.0.0");
    assert_eq!(gateway.post(&format!("/v1/plans/{old}/resume"), &[], b"").status, 202);
    let ended = until("the end", || {
        let shown = gateway.get(&format!("/v1/plans/{old}"), &[]).ok().json();
        (text_at(&shown, "/status") == "succeeded").then_some(shown)
    });
    assert_eq!(greeting(&ended), "hello 1.0.0");

    let catalog = Catalog::open(&gateway.data()).unwrap();
    catalog.yank("greeting-prefab", "1.0.0", Some("it is rude")).unwrap();
    let refused = gateway.post(&format!("/v1/plans/{withdrawn}/resume"), &[], b"");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("was withdrawn: it is rude"), "{}", refused.text());
    let errors = |plan: &str| {
        let report = gateway.post("/v1/plans/check", &[], plan.as_bytes()).ok().json();
        items_at(&report, "/errors").iter().map(|own| text_at(own, "/message")).collect::<Vec<_>>()
    };
    let errors_of =
        |version: &str| errors(&GREET.replace("prefab/", &format!("prefab@{version}/")));
    assert!(
        errors_of("1.0.0")[0].contains("was withdrawn: it is rude"),
        "{:?}",
        errors_of("1.0.0")
    );
    assert!(errors_of("1.2.0")[0].contains("has no version 1.2.0"), "{:?}", errors_of("1.2.0"));

    // What a function returns is known to the check.
    let wrong = r#"{"plan":"1","steps":{"greet":{"tool":"greeting-prefab/greet"},
        "read":{"tool":"read_file","args":{"path":{"$from":"greet"}}}}}"#;
    assert_eq!(errors(wrong).len(), 1, "{:?}", errors(wrong));
    assert_eq!(errors(&wrong.replace("\"greet\"}}", "\"greet/text\"}}")), Vec::<String>::new());
}

#[test]
fn a_key_sees_only_its_functions_in_plans() {
    let key = |name: &str, tools: &str| {
        let hash = toolwright_gateway::key::KeyHash::of(&format!("tw-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\ntools = {tools}\n")
    };
    let keys = [key("a", r#"["read_file"]"#), key("b", r#"["greeting-prefab/*"]"#)].concat();
    let gateway = Gateway::start(&format!("{TOOLS}{keys}"));
    publish_greeting(&gateway, "1.0.0");
    for (key, is_allowed) in [("Bearer tw-a", false), ("Bearer tw-b", true)] {
        for name in ["greeting-prefab/", "greeting-prefab@1.0.0/"] {
            let body =
                object! {"plan": json(&GREET.replace("greeting-prefab/", name)), "wait": true};
            let answer =
                gateway.post("/v1/plans", &[("authorization", key)], body.compact().as_bytes());
            assert_eq!(answer.status, if is_allowed { 200 } else { 400 }, "{}", answer.text());
            let sees = answer.text().contains("hello");
            assert_eq!(sees, is_allowed, "{}", answer.text());
        }
    }
}

#[test]
fn ended_runs_are_removed_and_others_stay() {
    let gateway = gateway();
    let waiting = text_at(&started(&gateway, WRITE, Object::new()), "/run");
    let inputs = || object! {"inputs": object! {"names": vec!["a.txt"]}};
    started(&gateway, READ_ALL, inputs());
    started(&gateway, READ_ALL, inputs());
    let (first, mut ids) = (gateway.get("/v1/plans?limit=2", &[]).ok().json(), Vec::new());
    let next = format!("/v1/plans?limit=2&before={}", text_at(&first, "/next"));
    let second = gateway.get(&next, &[]).ok().json();
    for page in [&first, &second] {
        ids.extend(items_at(page, "/data").iter().map(|run| text_at(run, "/run")));
    }
    assert_eq!((ids.len(), second.get("next")), (3, None), "{second}");
    assert_eq!(gateway.get("/v1/plans?before=soon", &[]).status, 400);
    let gateway = gateway.restart(&format!("{TOOLS}[plans]\nmax_age = \"1ms\"\n"));
    let ids = until("the removal", || {
        let listed = gateway.get("/v1/plans", &[]).ok().json();
        let ids: Vec<String> =
            items_at(&listed, "/data").iter().map(|run| text_at(run, "/run")).collect();
        (ids.len() < 3).then_some(ids)
    });
    assert_eq!(ids, [waiting]);
}

#[test]
fn a_published_plan_is_called_as_a_function() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "α").unwrap();
    let plan = r#"{"plan":"1","name":"Copy a file","inputs":{"type":"object","required":["path"],
        "properties":{"path":{"type":"string"}}},
        "steps":{"read":{"tool":"read_file","args":{"path":{"$from":"inputs/path"}}}},
        "outputs":{"text":{"$from":"read"}}}"#;
    std::fs::write(folder.path().join("plan.json"), plan).unwrap();
    std::fs::write(folder.path().join("toolwright.toml"), TOOLS).unwrap();
    let run = |arguments: &[&str]| toolwright_in(folder.path(), arguments, b"");
    let publish = ["plan", "publish", "plan.json", "--version", "1.0.0", "--as"];
    let publish = |name: &str| run(&[&publish[..], &[name]].concat());
    assert_eq!(publish("file-prefab").code, 2);
    let published = publish("file-prefab/read_text");
    assert_eq!(
        published.text(),
        "published file-prefab@1.0.0: read_text\n",
        "{}",
        published.stderr
    );
    let again =
        run(&["plan", "publish", "plan.json", "--version", "1.1.0", "--as", "file-prefab/copy"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let called =
        run(&["catalog", "call", "file-prefab", "read_text", "--args", r#"{"path":"a.txt"}"#]);
    assert_eq!(Json::parse(&called.text()).unwrap(), json(r#"{"text":"α"}"#), "{}", called.stderr);

    let key = |name: &str, tools: &str| {
        let hash = toolwright_gateway::key::KeyHash::of(&format!("tw-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\ntools = {tools}\n")
    };
    let keys = [key("all", r#"["*"]"#), key("one", r#"["file-prefab/*"]"#)].concat();
    let gateway = Gateway::start_with(folder, &format!("{TOOLS}{keys}"));
    let (all, one) = ([("authorization", "Bearer tw-all")], [("authorization", "Bearer tw-one")]);
    let body = br#"{"function":"read_text","parameters":{"path":"a.txt"}}"#;
    let execute = |key: &[(&str, &str)]| {
        gateway.post("/v1/prefabs/file-prefab/execute", key, body).ok().json()
    };
    let result = execute(&all);
    assert_eq!(text_at(&result, "/output/output/text"), "α", "{result}");
    // Who may call a plan, but not the tools of its steps, cannot run it.
    let refused = execute(&one);
    assert_eq!(text_at(&refused, "/status"), "FAILED", "{refused}");
    assert!(refused.compact().contains("there is no tool 'read_file'"), "{refused}");

    let outer = r#"{"plan":"1","steps":{"a":{"tool":"file-prefab/read_text","args":{"path":"a.txt"}}},
        "outputs":{"text":{"$from":"a/text"}}}"#;
    let body = object! {"plan": json(outer), "wait": true}.compact();
    let run = gateway.post("/v1/plans", &all, body.as_bytes()).ok().json();
    assert_eq!(text_at(&run, "/outputs/text"), "α", "{run}");
}

#[test]
fn values_behind_handles_belong_to_a_tenant_and_a_conversation() {
    let gateway = gateway();
    let path = "/v1/handles/tw:0123456789abcdef0123456789abcdef";
    let own = format!("{path}?conversation=plan_1");
    let large = format!("[\"{}\"]", "x".repeat(5_000_000));
    let stored = gateway.ask("PUT", &own, &[], large.as_bytes()).answer();
    assert_eq!(stored.status, 204, "{}", stored.text());
    assert_eq!(gateway.get(&own, &[]).ok().text(), large);
    let is_download = |answer: &Answer| {
        answer.header("content-disposition").is_some_and(|own| own.starts_with("attachment"))
            && answer.header("x-content-type-options") == Some("nosniff")
    };
    assert!(is_download(&gateway.get(&own, &[])));
    assert_eq!(gateway.get(&format!("{path}?conversation=plan_2"), &[]).status, 404);
    assert_eq!(gateway.get(path, &[]).status, 400);
    let bytes = [("content-type", "image/png")];
    assert_eq!(gateway.ask("PUT", &own, &bytes, b"\x89PNG").answer().status, 204);
    let image = gateway.get(&own, &[]).ok();
    assert!(image.header("content-type") == Some("image/png") && is_download(&image));
    assert_eq!(gateway.ask("PUT", &own, &[], b"{").answer().status, 400);
    assert_eq!(gateway.get("/v1/handles/tw:1?conversation=a", &[]).status, 400);
}
