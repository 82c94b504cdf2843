//! Plans and their endpoints with large values: what a run or a request needs is within the memory of the gateway, or it is
//! refused.

use toolwright_core::{Json, object};

use super::assert_well;
use crate::gateway::upstream::{Reply, Upstream};
use crate::gateway::{Gateway, items_at, text_at};
use crate::plans::nested::publish;

/// The memory of the gateway, and the limit for the rest of its process.
const MEMORY: usize = 64 << 20;
const BESIDE: usize = 128 << 20;

fn config() -> String {
    format!(
        "[limits]\nmemory = {MEMORY}\nbody = \"30MB\"\n[catalog]\nallow_addresses = [\"127.0.0.1\"]\n"
    )
}

fn gateway() -> Gateway {
    Gateway::start(&config())
}

fn assert_bounded(gateway: &Gateway, what: &str) {
    let peak = gateway.peak_memory();
    assert!(peak < MEMORY + BESIDE, "{what}: {} MB", peak >> 20);
    assert_well(gateway);
}

/// Publishes functions that take anything: `take` returns little, `give` returns 6 MB.
fn publish_echo(gateway: &Gateway) -> Upstream {
    let large = format!(r#"{{"rows":"{}"}}"#, "r".repeat(6 << 20));
    let reply = move |large: String| {
        Reply::made(move |request| {
            let body = if request.path.contains("give") { large } else { "{}".to_owned() };
            Reply::json(200, body)
        })
    };
    let upstream = Upstream::start((0..400).map(|_| reply(large.clone())));
    let function = |name: &str| {
        let schema = Json::parse(r#"{"type":"object","additionalProperties":true}"#).unwrap();
        object! {"name": name, "description": "Takes anything.", "effect": "read-only", "input_schema": schema}
    };
    let manifest = object! {
        "id": "echo-prefab", "version": "1.0.0", "name": "Echo", "description": "Takes anything.",
        "runtime": object! {"http": object! {"base_url": upstream.url()}},
        "functions": vec![function("take"), function("give")]
    };
    publish(gateway, &manifest.into());
    upstream
}

fn run(gateway: &Gateway, plan: &str, inputs: &str) -> Json {
    let body = format!(r#"{{"plan":{plan},"inputs":{inputs},"wait":true}}"#);
    gateway.post("/v1/plans", &[], body.as_bytes()).ok().json()
}

fn kinds(run: &Json) -> Vec<String> {
    let kind = |step: &Json| Some(step.get("error_kind")?.as_str()?.to_owned());
    items_at(run, "/steps").iter().filter_map(kind).collect()
}

#[test]
fn plans_that_multiply_their_values_are_refused_and_stay_within_the_memory() {
    let gateway = gateway();
    let _upstream = publish_echo(&gateway);
    let inputs = format!(r#"{{"s":"{}"}}"#, "x".repeat(3 << 19));
    let eight = [r#"{"$from":"inputs/s"}"#; 8].join(",");
    let head = r#"{"plan":"1","inputs":{"type":"object"},"steps":"#;
    let wide: Vec<String> = (0..4)
        .map(|at| format!(r#""s{at}":{{"tool":"echo-prefab/take","args":{{"x":[{eight}]}}}}"#))
        .collect();
    let wide = format!("{head}{{{}}}}}", wide.join(","));
    let shown = run(&gateway, &wide, &inputs);
    assert_eq!(text_at(&shown, "/status"), "failed");
    assert!(kinds(&shown).iter().any(|kind| kind == "limit"), "{:?}", kinds(&shown));
    assert_bounded(&gateway, "references");

    let each = format!(
        r#"{head}{{"s":{{"tool":"echo-prefab/take","each":[{eight},{eight},{eight}],"args":{{"x":{{"$from":"item"}}}},"on_error":"continue"}}}}}}"#
    );
    run(&gateway, &each, &inputs);
    assert_bounded(&gateway, "items");

    let outputs = format!(
        r#"{head}{{"s":{{"tool":"echo-prefab/take"}}}},"outputs":{{"x":[{eight},{eight},{eight},{eight}]}}}}"#
    );
    let shown = run(&gateway, &outputs, &inputs);
    assert_eq!(text_at(&shown, "/error/kind"), "limit", "{}", text_at(&shown, "/status"));
    assert_bounded(&gateway, "outputs");

    let results: Vec<String> =
        (0..14).map(|at| format!(r#""s{at}":{{"tool":"echo-prefab/give"}}"#)).collect();
    let shown =
        run(&gateway, &format!(r#"{{"plan":"1","steps":{{{}}}}}"#, results.join(",")), "{}");
    assert_eq!(text_at(&shown, "/status"), "failed");
    assert!(kinds(&shown).iter().any(|kind| kind == "limit"), "{:?}", kinds(&shown));
    assert_bounded(&gateway, "results");
}

/// Asks fifty times at once. Returns how many answers had the status 200; others say that there is too little memory.
fn ask_fifty_times(gateway: &Gateway, path: &str) -> usize {
    let answers = std::thread::scope(|scope| {
        let ask = || gateway.ask("GET", path, &[], b"").answer().status;
        let asking: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect::<Vec<u16>>()
    });
    assert!(answers.iter().all(|status| matches!(status, 200 | 503)), "{path}: {answers:?}");
    answers.into_iter().filter(|status| *status == 200).count()
}

#[test]
fn a_run_with_large_outputs_is_shown_within_the_memory() {
    let gateway = gateway();
    let _upstream = publish_echo(&gateway);
    let inputs = format!(r#"{{"s":"{}"}}"#, "x".repeat(3 << 19));
    let eight = [r#"{"$from":"inputs/s"}"#; 8].join(",");
    let plan = format!(
        r#"{{"plan":"1","inputs":{{"type":"object"}},"steps":{{"s":{{"tool":"echo-prefab/take"}}}},"outputs":{{"x":[{eight}]}}}}"#
    );
    let shown = run(&gateway, &plan, &inputs);
    assert_eq!(text_at(&shown, "/status"), "succeeded", "{}", text_at(&shown, "/error/message"));
    let path = format!("/v1/plans/{}", text_at(&shown, "/run"));
    drop(shown);
    for view in ["", "/events", "/plan", "/picture?format=mermaid"] {
        assert!(ask_fifty_times(&gateway, &format!("{path}{view}")) > 0, "{view}");
        assert_bounded(&gateway, view);
    }
}

#[test]
fn a_run_that_was_started_has_its_id_also_without_memory_for_its_report() {
    let gateway = gateway();
    let _upstream = publish_echo(&gateway);
    let plan =
        r#"{"plan":"1","inputs":{"type":"object"},"steps":{"s":{"tool":"echo-prefab/take"}}}"#;
    // The request takes four times as much, and its run twice.
    let inputs = format!(r#"{{"s":"{}"}}"#, "x".repeat(11 << 20));
    let body = format!(r#"{{"plan":{plan},"inputs":{inputs},"start":false}}"#);
    let started = gateway.post("/v1/plans", &[], body.as_bytes());
    assert_eq!(started.status, 202, "{}", started.text());
    assert_eq!(started.json().get("steps"), None, "there is too little memory for the report");
    let path = format!("/v1/plans/{}", text_at(&started.json(), "/run"));
    assert_eq!(text_at(&gateway.get(&path, &[]).ok().json(), "/status"), "interrupted");
}

#[test]
fn runs_with_large_inputs_are_listed_within_the_memory() {
    let gateway = gateway();
    let _upstream = publish_echo(&gateway);
    let plan =
        r#"{"plan":"1","inputs":{"type":"object"},"steps":{"s":{"tool":"echo-prefab/take"}}}"#;
    let inputs = format!(r#"{{"s":"{}"}}"#, "x".repeat(3 << 20));
    let body = format!(r#"{{"plan":{plan},"inputs":{inputs},"start":false}}"#);
    for _ in 0..60 {
        assert_eq!(gateway.post("/v1/plans", &[], body.as_bytes()).status, 202);
    }
    let gateway = gateway.restart(&config());
    let listed = gateway.get("/v1/plans?limit=100", &[]).ok().json();
    assert_eq!(items_at(&listed, "/data").len(), 60);
    assert_eq!(ask_fifty_times(&gateway, "/v1/plans?limit=100"), 50);
    assert_bounded(&gateway, "lists");
}

#[test]
fn fifty_large_bodies_at_each_endpoint_of_plans_stay_within_the_memory() {
    let gateway = gateway();
    let _upstream = publish_echo(&gateway);
    let text = "x".repeat(1 << 20);
    let lists = format!("[{}]", vec!["[]"; 100_000].join(","));
    for large in [format!("\"{text}\""), lists] {
        let plan = format!(
            r#"{{"plan":"1","steps":{{"s":{{"tool":"echo-prefab/take","args":{{"x":{large}}}}}}}}}"#
        );
        let arguments = Json::from(format!(r#"{{"x":{large}}}"#)).compact();
        let calls = format!(
            r#"{{"calls":{{"role":"assistant","tool_calls":[{{"id":"1","type":"function","function":{{"name":"echo-prefab/take","arguments":{arguments}}}}}]}}}}"#
        );
        let start = format!(r#"{{"plan":{plan},"wait":true}}"#);
        let handle = "/v1/handles/tw:0123456789abcdef0123456789abcdef?conversation=c";
        for (method, path, body) in [
            ("POST", "/v1/plans/check", &plan),
            ("POST", "/v1/plans/view", &plan),
            ("POST", "/v1/plans/record", &calls),
            ("POST", "/v1/plans", &start),
            ("PUT", handle, &large),
            ("GET", handle, &String::new()),
        ] {
            std::thread::scope(|scope| {
                for _ in 0..50 {
                    scope.spawn(|| {
                        let status =
                            gateway.ask(method, path, &[], body.as_bytes()).answer().status;
                        assert!(
                            matches!(status, 200 | 202 | 204 | 400 | 413 | 429 | 503 | 507),
                            "{method} {path}: {status}"
                        );
                    });
                }
            });
            assert_bounded(&gateway, path);
        }
    }
}
