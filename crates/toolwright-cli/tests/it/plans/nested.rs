//! Published plans within runs: their calls happen once, whatever interrupts the run.

use std::path::Path;

use toolwright_catalog::{Catalog, Manifest, Package, PublishOptions};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};

use super::{gateway, json, started};
use crate::exchange::tools::TOOLS;
use crate::gateway::upstream::{Reply, Upstream};
use crate::gateway::{Gateway, items_at, text_at, until};

/// Allows functions to call this machine.
pub const LOCAL: &str = "[catalog]\nallow_addresses = [\"127.0.0.1\"]\n";

/// Publishes a prefab that is described by its manifest alone.
pub fn publish(gateway: &Gateway, manifest: &Json) {
    publish_in(&gateway.data(), manifest);
}

fn publish_in(data: &Path, manifest: &Json) {
    let manifest = Manifest::parse(manifest).unwrap();
    let catalog = Catalog::open(data).unwrap();
    catalog.publish(Package::new(manifest), PublishOptions::default()).unwrap();
}

/// Publishes the functions `pay`, which has an effect, and `look`, which has none, at an upstream.
pub fn publish_shop(data: &Path, upstream: &Upstream, description: &str) {
    let function = |name: &str, effect: &str| {
        object! {"name": name, "description": description, "effect": effect, "parameters": Vec::<Json>::new()}
    };
    publish_in(
        data,
        &object! {
            "id": "shop-prefab", "version": "1.0.0", "name": "Shop", "description": "Sells things.",
            "runtime": object! {"http": object! {"base_url": upstream.url()}},
            "functions": vec![function("pay", "once"), function("look", "read-only")]
        }
        .into(),
    );
}

/// Publishes the shop, and the plan `order`, which calls one function after the other.
pub fn publish_order(gateway: &Gateway, upstream: &Upstream) {
    publish_order_in(&gateway.data(), upstream);
}

/// Like [`publish_order`], in a data folder.
pub fn publish_order_in(data: &Path, upstream: &Upstream) {
    publish_shop(data, upstream, "Does it.");
    let plan = r#"{"plan":"1","steps":{"pay":{"tool":"shop-prefab/pay"},
        "look":{"tool":"shop-prefab/look","after":["pay"]}},"outputs":{"seen":{"$from":"look/seen"}}}"#;
    publish_plans_in(data, &[("order", plan.to_owned())]);
}

pub fn publish_plan(gateway: &Gateway, name: &str, plan: &str) {
    publish_plans_in(&gateway.data(), &[(name, plan.to_owned())]);
}

/// Publishes plans as functions of `order-prefab`, in a data folder.
pub fn publish_plans_in(data: &Path, plans: &[(&str, String)]) {
    let function = |(name, plan): &(&str, String)| {
        object! {"name": *name, "description": "Runs a plan.", "plan": json(plan)}
    };
    let functions: Vec<_> = plans.iter().map(function).collect();
    publish_in(
        data,
        &object! {
            "id": "order-prefab", "version": "1.0.0", "name": "Orders", "description": "Orders things.",
            "runtime": object! {"plan": Object::new()}, "functions": functions
        }
        .into(),
    );
}

pub fn done() -> Reply {
    Reply::json(200, r#"{"seen":true}"#)
}

/// The number of requests for a function.
pub fn calls(upstream: &Upstream, function: &str) -> usize {
    upstream.received().iter().filter(|own| own.everything().contains(function)).count()
}

/// The run, when it says why it is not continued.
pub fn interrupted(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Json {
    until("the reason", || {
        let shown = gateway.get(path, headers).ok().json();
        // The reason is recorded before the state.
        let is_interrupted = text_at(&shown, "/status") == "interrupted";
        (is_interrupted && shown.pointer("/error/message").is_some()).then_some(shown)
    })
}

pub fn ended(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Json {
    until("the end", || {
        let shown = gateway.get(path, headers).ok().json();
        ["succeeded", "failed", "cancelled"]
            .contains(&&*text_at(&shown, "/status"))
            .then_some(shown)
    })
}

pub const ORDER: &str = r#"{"plan":"1","steps":{"order":{"tool":"order-prefab/order"}},
    "outputs":{"seen":{"$from":"order/seen"}}}"#;

#[test]
fn a_killed_run_repeats_no_call_of_a_published_plan() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([done(), hanging, done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let body = object! {"plan": json(ORDER)}.compact();
    let run = gateway.post("/v1/plans", &[], body.as_bytes()).json();
    upstream.until_received(2);
    let gateway = gateway.crash(&format!("{LOCAL}[plans]\nresume = \"ask\"\n"));
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    let shown = interrupted(&gateway, &path, &[]);
    assert_eq!(text_at(&shown, "/status"), "interrupted", "{shown}");
    gateway.post(&format!("{path}/resume"), &[], b"");
    let ended = ended(&gateway, &path, &[]);
    assert_eq!(text_at(&ended, "/status"), "succeeded", "{ended}");
    assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, 2));
}

#[test]
fn an_effect_of_a_published_plan_that_was_interrupted_is_a_question_of_the_run() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let body = object! {"plan": json(ORDER)}.compact();
    let run = gateway.post("/v1/plans", &[], body.as_bytes()).json();
    upstream.until_received(1);
    let gateway = gateway.crash(LOCAL);
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    let shown = interrupted(&gateway, &path, &[]);
    assert_eq!(text_at(&shown, "/questions/0/step"), "order/pay", "{shown}");
    assert_eq!(text_at(&shown, "/questions/0/kind"), "uncertain", "{shown}");
    let answer = br#"{"step":"order/pay","answer":"output","output":{"paid":true}}"#;
    let answered = gateway.post(&format!("{path}/answer"), &[], answer);
    assert_eq!(answered.status, 202, "{}", answered.text());
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, 1));
}

/// The plan `order`, called by a tool that is no plan.
const ORDER_BY_TOOL: &str = r#"{"plan":"1","steps":{"order":{"tool":"call_prefab_function","args":{
    "prefab_id":"order-prefab","version":"1.0.0","function_name":"order","parameters":{}}}}}"#;

#[test]
fn a_killed_run_repeats_no_effect_of_a_published_plan_that_a_tool_calls() {
    // The process ends after the payment, and during it.
    for (is_paid, status, looks) in [(true, "succeeded", 2), (false, "failed", 0)] {
        let (_never, hanging) = Reply::after(done());
        let replies =
            if is_paid { vec![done(), hanging, done()] } else { vec![hanging, done(), done()] };
        let upstream = Upstream::start(replies);
        let gateway = Gateway::start(LOCAL);
        publish_order(&gateway, &upstream);
        let body = object! {"plan": json(ORDER_BY_TOOL)}.compact();
        let run = gateway.post("/v1/plans", &[], body.as_bytes()).json();
        upstream.until_received(1 + usize::from(is_paid));
        let gateway = gateway.crash(LOCAL);
        let ended = ended(&gateway, &format!("/v1/plans/{}", text_at(&run, "/run")), &[]);
        assert_eq!(text_at(&ended, "/status"), status, "{ended}");
        assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, looks));
    }
}

/// Plans within each other: `outer` calls `order`, which calls `pay` and `look`.
fn publish_outer(gateway: &Gateway) {
    let plan = r#"{"plan":"1","steps":{"middle":{"tool":"order-prefab/order"}},
        "outputs":{"seen":{"$from":"middle/seen"}}}"#;
    let function = object! {"name": "outer", "description": "Runs a plan.", "plan": json(plan)};
    publish(
        gateway,
        &object! {
            "id": "outer-prefab", "version": "1.0.0", "name": "Outer", "description": "Orders things.",
            "runtime": object! {"plan": Object::new()}, "functions": vec![function]
        }
        .into(),
    );
}

#[test]
fn a_killed_run_repeats_no_call_of_a_plan_within_a_published_plan() {
    let plan = ORDER.replace("order-prefab/order", "outer-prefab/outer");
    let body = object! {"plan": json(&plan)}.compact();
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([done(), hanging, done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    publish_outer(&gateway);
    let run = gateway.post("/v1/plans", &[], body.as_bytes()).json();
    upstream.until_received(2);
    let gateway = gateway.crash(LOCAL);
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, 2));

    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    publish_outer(&gateway);
    let run = gateway.post("/v1/plans", &[], body.as_bytes()).json();
    upstream.until_received(1);
    let gateway = gateway.crash(LOCAL);
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    let shown = interrupted(&gateway, &path, &[]);
    assert_eq!(text_at(&shown, "/questions/0/step"), "order/middle/pay", "{shown}");
    let answer = br#"{"step":"order/middle/pay","answer":"output","output":{"paid":true}}"#;
    assert_eq!(gateway.post(&format!("{path}/answer"), &[], answer).status, 202);
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    assert_eq!((calls(&upstream, "pay"), calls(&upstream, "look")), (1, 1));
}

/// Reads a file and writes it, which needs approval.
pub const COPY: &str = r#"{"plan":"1","inputs":{"type":"object","properties":{"to":{"type":"string"}}},"steps":{
    "read":{"tool":"read_file","args":{"path":"a.txt"}},
    "write":{"tool":"write_file","args":{"path":{"$from":"inputs/to"},"content":{"$from":"read"}}}}}"#;

#[test]
fn a_call_within_a_published_plan_of_a_run_asks_in_the_name_of_its_step() {
    let gateway = gateway();
    publish_plan(&gateway, "copy", COPY);
    let outer = r#"{"plan":"1","steps":{
        "copies":{"tool":"order-prefab/copy","each":["b.txt","d.txt"],"args":{"to":{"$from":"item"}}}}}"#;
    let run = started(&gateway, outer, Object::new());
    assert_eq!(text_at(&run, "/status"), "waiting", "{run}");
    let steps: Vec<String> =
        items_at(&run, "/questions").iter().map(|own| text_at(own, "/step")).collect();
    assert_eq!(steps, ["copies#0/write", "copies#1/write"]);
    assert_eq!(text_at(&run, "/questions/1/arguments/path"), "d.txt");
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    let gateway = gateway.restart(TOOLS);
    let shown = gateway.get(&path, &[]).ok().json();
    assert_eq!(items_at(&shown, "/questions").len(), 2, "{shown}");
    for step in steps {
        let answer = object! {"step": step, "answer": "approve"}.compact();
        let answered = gateway.post(&format!("{path}/answer"), &[], answer.as_bytes());
        assert!(answered.status < 300, "{}", answered.text());
    }
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    for name in ["b.txt", "d.txt"] {
        assert_eq!(std::fs::read_to_string(gateway.file(name)).unwrap(), "α");
    }
}

#[test]
fn a_repeated_request_starts_a_run_once() {
    let gateway = gateway();
    let start = |key: &str, plan: &str| {
        let body = object! {"plan": json(plan), "wait": true}.compact();
        gateway.post("/v1/plans", &[("idempotency-key", key)], body.as_bytes())
    };
    let read = r#"{"plan":"1","steps":{"read":{"tool":"read_file","args":{"path":"a.txt"}}}}"#;
    let id = |answer: crate::gateway::client::Answer| text_at(&answer.ok().json(), "/run");
    let first = id(start("a", read));
    assert_eq!(id(start("a", read)), first);
    assert_ne!(id(start("b", read)), first);
    let other = start("a", &read.replace("a.txt", "c.txt"));
    assert_eq!(other.status, 422, "{}", other.text());
    assert_eq!(items_at(&gateway.get("/v1/plans", &[]).ok().json(), "/data").len(), 2);
}

#[test]
fn a_repeated_request_finds_its_run_where_no_further_run_fits() {
    let upstream = Upstream::start([done(), done()]);
    let gateway = Gateway::start(&format!("{LOCAL}[plans]\nmax_runs = 1\n"));
    publish_order(&gateway, &upstream);
    let plan = r#"{"plan":"1","steps":{"pay":{"tool":"shop-prefab/pay"}}}"#;
    let body = object! {"plan": json(plan), "wait": true}.compact();
    let start = || {
        let key = [("idempotency-key", "once")];
        text_at(&gateway.post("/v1/plans", &key, body.as_bytes()).ok().json(), "/run")
    };
    let first = start();
    assert_eq!(start(), first);
    assert_eq!(calls(&upstream, "pay"), 1);
}

#[test]
fn answers_at_once_leave_no_run_waiting() {
    let gateway = gateway();
    let plan = r#"{"plan":"1","steps":{
        "one":{"tool":"write_file","args":{"path":"ROUND.1","content":"1"}},
        "two":{"tool":"write_file","args":{"path":"ROUND.2","content":"2"}}}}"#;
    for round in 0..20 {
        let run = started(&gateway, &plan.replace("ROUND", &round.to_string()), Object::new());
        let path = format!("/v1/plans/{}", text_at(&run, "/run"));
        std::thread::scope(|scope| {
            for step in ["one", "two"] {
                let (gateway, path) = (&gateway, &path);
                scope.spawn(move || {
                    let answer = object! {"step": step, "answer": "approve"}.compact();
                    let answered = gateway.post(&format!("{path}/answer"), &[], answer.as_bytes());
                    assert!(answered.status < 300, "{round}: {}", answered.text());
                });
            }
        });
        assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    }
}

#[test]
fn an_answer_without_an_item_is_for_all_items_that_wait() {
    let gateway = gateway();
    let plan = r#"{"plan":"1","steps":{"write":{"tool":"write_file","each":["1","2","3"],
        "args":{"path":{"$from":"item"},"content":"x"}}}}"#;
    let run = started(&gateway, plan, Object::new());
    assert_eq!(items_at(&run, "/questions").len(), 3, "{run}");
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    let answer = br#"{"step":"write","answer":"approve"}"#;
    assert_eq!(gateway.post(&format!("{path}/answer"), &[], answer).status, 202);
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    assert!(["1", "2", "3"].iter().all(|name| gateway.file(name).exists()));
}
