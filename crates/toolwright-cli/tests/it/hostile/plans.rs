//! Plans and their endpoints with large values: what a run or a request needs is within the memory of the gateway, or
//! it is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolwright_core::{Json, object};

use super::assert_well;
use crate::exchange::tools::TOOLS;
use crate::gateway::upstream::{Reply, Upstream};
use crate::gateway::{Gateway, items_at, text_at};
use crate::plans::nested::{LOCAL, publish, publish_plan, publish_plans_in};

/// The memory of the gateway, and the limit for the rest of its process.
const MEMORY: usize = 64 << 20;
const BESIDE: usize = 128 << 20;

fn config() -> String {
    format!("{TOOLS}{LOCAL}[limits]\nmemory = {MEMORY}\nbody = \"30MB\"\n")
}

fn gateway() -> Gateway {
    Gateway::start(&config())
}

fn assert_bounded(gateway: &Gateway, what: &str) {
    let peak = gateway.peak_memory() - gateway.program_memory();
    assert!(peak < MEMORY + BESIDE, "{what}: {} MB", peak >> 20);
    assert_well(gateway);
}

/// Publishes functions that take anything: `take` returns little, `give` returns 6 MB.
fn publish_echo(gateway: &Gateway) -> Upstream {
    let large: Arc<str> = format!(r#"{{"rows":"{}"}}"#, "r".repeat(6 << 20)).into();
    let reply = |large: Arc<str>| {
        Reply::made(move |request| {
            Reply::json(200, if request.path.contains("give") { &*large } else { "{}" })
        })
    };
    let upstream = Upstream::start((0..1000).map(|_| reply(Arc::clone(&large))));
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

#[test]
fn published_plans_that_multiply_their_values_are_refused_and_stay_within_the_memory() {
    let gateway = gateway();
    let _upstream = publish_echo(&gateway);
    let eight = [r#"{"$from":"inputs/s"}"#; 8].join(",");
    let plan = |steps: &[String], outputs: &str| {
        let (steps, inputs) = (steps.join(","), r#"{"type":"object","properties":{"s":{}}}"#);
        format!(r#"{{"plan":"1","inputs":{inputs},"steps":{{{steps}}}{outputs}}}"#)
    };
    let steps = |count: usize, step: &str| -> Vec<String> {
        (0..count).map(|at| format!(r#""s{at}":{step}"#)).collect()
    };
    let take = |more: &str| format!(r#"{{"tool":"echo-prefab/take"{more}}}"#);
    let references = take(&format!(r#","args":{{"x":[{eight}]}}"#));
    let outputs = format!(r#","outputs":{{"x":[{eight},{eight},{eight},{eight}]}}"#);
    let plans = [
        ("references", plan(&steps(4, &references), "")),
        ("outputs", plan(&steps(1, &take("")), &outputs)),
        ("results", plan(&steps(14, r#"{"tool":"echo-prefab/give"}"#), "")),
    ];
    publish_plans_in(&gateway.data(), &plans);
    let inputs = format!(r#"{{"s":"{}"}}"#, "x".repeat(3 << 19));
    for (name, _) in plans {
        let within = format!(
            r#"{{"plan":"1","inputs":{{"type":"object"}},"steps":{{"p":{{"tool":"order-prefab/{name}","args":{{"s":{{"$from":"inputs/s"}}}}}}}}}}"#
        );
        let shown = run(&gateway, &within, &inputs);
        assert_eq!(kinds(&shown), ["limit"], "{name}");
        assert_bounded(&gateway, name);
        let body = format!(r#"{{"function":"{name}","parameters":{inputs}}}"#);
        let path = "/v1/prefabs/order-prefab/execute";
        let executed = gateway.post(path, &[], body.as_bytes()).json();
        let told = text_at(&executed, "/error/message");
        assert!(told.contains("memory"), "{name}: {told}");
        assert_bounded(&gateway, name);
    }
}

/// Sends a request fifty times at once, and checks the memory. Returns how many were answered: the gateway has too
/// little memory for the others, or another one was faster.
fn flood(gateway: &Gateway, method: &str, path: &str, body: &str) -> usize {
    let statuses = std::thread::scope(|scope| {
        let ask = || gateway.ask(method, path, &[], body.as_bytes()).status();
        let asking: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect::<Vec<u16>>()
    });
    let expected = [200, 202, 204, 409, 429, 503, 507];
    assert!(statuses.iter().all(|own| expected.contains(own)), "{method} {path}: {statuses:?}");
    assert_bounded(gateway, path);
    statuses.into_iter().filter(|status| *status < 300).count()
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
        assert!(flood(&gateway, "GET", &format!("{path}{view}"), "") > 0, "{view}");
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
    assert_eq!(flood(&gateway, "GET", "/v1/plans?limit=100", ""), 50);
}

/// The longest text that an argument in a plan may be, and a list of small values, whose tree takes much more than its
/// text.
fn large_values() -> [String; 2] {
    let lists = format!("[{}]", vec!["[]"; 10_000].join(","));
    [format!("\"{}\"", "x".repeat((1 << 20) - 2)), lists]
}

/// A plan that takes a value.
fn take(value: &str) -> String {
    format!(
        r#"{{"plan":"1","steps":{{"s":{{"tool":"echo-prefab/take","args":{{"x":{value}}}}}}}}}"#
    )
}

#[test]
fn fifty_large_bodies_at_each_endpoint_of_plans_stay_within_the_memory() {
    let gateway = gateway();
    let _upstream = publish_echo(&gateway);
    for large in large_values() {
        let plan = take(&large);
        let arguments = Json::from(format!(r#"{{"x":{large}}}"#)).compact();
        let calls = format!(
            r#"{{"calls":{{"role":"assistant","tool_calls":[{{"id":"1","type":"function","function":{{"name":"echo-prefab/take","arguments":{arguments}}}}}]}}}}"#
        );
        let start = format!(r#"{{"plan":{plan},"wait":true}}"#);
        let handle = "/v1/handles/tw:0123456789abcdef0123456789abcdef?conversation=c";
        for (method, path, body) in [
            ("POST", "/v1/plans/check", &*plan),
            ("POST", "/v1/plans/view", &plan),
            ("POST", "/v1/plans/record", &calls),
            ("POST", "/v1/plans", &start),
            ("PUT", handle, &large),
            ("GET", handle, ""),
        ] {
            flood(&gateway, method, path, body);
        }
    }
}

#[test]
fn fifty_large_bodies_for_runs_and_published_plans_stay_within_the_memory() {
    let inputs = r#""inputs":{"type":"object","properties":{"x":{}}},"steps""#;
    let pass = take(r#"{"$from":"inputs/x"}"#).replace(r#""steps""#, inputs);
    let asking = r#"{"plan":"1","steps":{"w":{"tool":"write_file","each":[1,2,3,4,5,6,7,8],
        "args":{"path":"a","content":"x"}}}}"#;
    for large in large_values() {
        let gateway = gateway();
        let _upstream = publish_echo(&gateway);
        publish_plan(&gateway, "pass", &pass);
        let ran = |plan: &str| format!("/v1/plans/{}", text_at(&run(&gateway, plan, "{}"), "/run"));
        let (waiting, ended) = (ran(asking), ran(&take("1")));
        let within = take(&large).replace("echo-prefab/take", "order-prefab/pass");
        let answer = format!(r#"{{"step":"w","answer":"output","output":{large}}}"#);
        let fork = format!(r#"{{"step":"s","args":{{"x":{large}}}}}"#);
        let start = format!(r#"{{"plan":{within},"wait":true}}"#);
        let execute = format!(r#"{{"function":"pass","parameters":{{"x":{large}}}}}"#);
        for (method, path, body) in [
            ("POST", format!("{waiting}/answer"), &*answer),
            ("GET", format!("{waiting}/events"), ""),
            ("POST", format!("{ended}/fork"), &fork),
            ("POST", "/v1/plans".to_owned(), &start),
            ("POST", "/v1/prefabs/order-prefab/execute".to_owned(), &execute),
        ] {
            flood(&gateway, method, &path, body);
        }
    }
}

#[test]
fn the_health_is_answered_while_large_runs_are_shown() {
    let gateway = Gateway::start(LOCAL);
    let _upstream = publish_echo(&gateway);
    let lists = vec!["[]"; 100_000].join(",");
    let inputs = format!(r#"{{"s":[[{lists}],"{}"]}}"#, "x".repeat(700_000));
    let plan = r#"{"plan":"1","inputs":{"type":"object"},"steps":{"s":{"tool":"echo-prefab/take"}},
        "outputs":{"x":{"$from":"inputs/s"}}}"#;
    let shown = run(&gateway, plan, &inputs);
    assert_eq!(text_at(&shown, "/status"), "succeeded");
    let path = format!("/v1/plans/{}", text_at(&shown, "/run"));
    // All are sent before the first request for the health.
    let views = ["", "/events", "/plan"].iter().cycle().take(24);
    let ask = |view| gateway.ask("GET", &format!("{path}{view}"), &[], b"");
    let asking: Vec<_> = views.map(ask).collect();
    let (count, open) = (asking.len(), AtomicUsize::new(asking.len()));
    std::thread::scope(|scope| {
        for asking in asking {
            let open = &open;
            scope.spawn(move || {
                assert_eq!(asking.status(), 200);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
        for _ in 0..20 {
            gateway.get("/healthz", &[]).ok();
        }
        // Were the views made on the threads of connections, the health would wait for nearly all of them.
        let open = open.load(Ordering::SeqCst);
        assert!(
            open > count / 2,
            "the health was answered after {} of {count} views",
            count - open
        );
    });
}
