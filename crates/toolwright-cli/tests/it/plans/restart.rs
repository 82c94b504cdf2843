//! Runs and restarts: what was in progress goes on, or says why it does not.

use toolwright_core::{Json, object};

use super::json;
use super::nested::{LOCAL, ORDER, done, ended, interrupted, publish, publish_order, publish_shop};
use crate::gateway::upstream::{Reply, Upstream};
use crate::gateway::{Gateway, items_at, text_at};

const LOOK_TWICE: &str = r#"{"plan":"1","steps":{"one":{"tool":"shop-prefab/look"},
    "two":{"tool":"shop-prefab/look","after":["one"]}}}"#;

fn start(gateway: &Gateway, plan: &str, headers: &[(&str, &str)]) -> String {
    let body = object! {"plan": json(plan)}.compact();
    let run = gateway.post("/v1/plans", headers, body.as_bytes()).json();
    format!("/v1/plans/{}", text_at(&run, "/run"))
}

#[test]
fn a_killed_gateway_continues_its_runs_when_it_starts() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done(), done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let path = start(&gateway, LOOK_TWICE, &[]);
    upstream.until_received(1);
    let gateway = gateway.crash(LOCAL);
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    assert_eq!(upstream.received().len(), 3);
}

#[test]
fn a_stopped_gateway_ends_runs_at_a_safe_point_and_continues_them() {
    let (release, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let pay_then_look = r#"{"plan":"1","steps":{"pay":{"tool":"shop-prefab/pay"},
        "look":{"tool":"shop-prefab/look","after":["pay"]}}}"#;
    let path = start(&gateway, pay_then_look, &[]);
    upstream.until_received(1);
    // The signal comes while the call is in progress, which ends and is recorded before the process does.
    let releasing = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        release.send(()).unwrap();
    });
    let gateway = gateway.restart(LOCAL);
    releasing.join().unwrap();
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    assert_eq!(upstream.received().len(), 2, "neither call was repeated");
}

#[test]
fn a_run_is_not_continued_without_its_key_or_with_an_open_effect() {
    let other = toolwright_gateway::key::KeyHash::of("tw-b");
    let others = format!("{LOCAL}[keys.b]\nhash = \"{other}\"\ntenant = \"a\"\n");
    let b = [("authorization", "Bearer tw-b")];
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging]);
    let gateway = Gateway::start(&allowing(r#"["*"]"#));
    publish_order(&gateway, &upstream);
    let path = start(&gateway, LOOK_TWICE, &KEY_A);
    upstream.until_received(1);
    let gateway = gateway.crash(&others);
    let shown = interrupted(&gateway, &path, &b);
    assert_eq!(text_at(&shown, "/status"), "interrupted", "{shown}");
    assert!(text_at(&shown, "/error/message").contains("does not exist any more"), "{shown}");
    assert_eq!(upstream.received().len(), 1);

    // An effect whose outcome is unknown.
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let path = start(&gateway, r#"{"plan":"1","steps":{"pay":{"tool":"shop-prefab/pay"}}}"#, &[]);
    upstream.until_received(1);
    let gateway = gateway.crash(LOCAL);
    let shown = interrupted(&gateway, &path, &[]);
    assert_eq!(text_at(&shown, "/status"), "interrupted", "{shown}");
    assert!(text_at(&shown, "/error/message").contains("the call 'pay'"), "{shown}");
    assert_eq!(text_at(&shown, "/questions/0/step"), "pay");
    let listed = gateway.get("/v1/plans?status=interrupted", &[]).ok().json();
    assert_eq!(items_at(&listed, "/data").len(), 1, "{listed}");
    let running = gateway.get("/v1/plans?status=running", &[]).ok().json();
    assert!(items_at(&running, "/data").is_empty(), "{running}");
    let answer = br#"{"step":"pay","answer":"approve"}"#;
    assert_eq!(gateway.post(&format!("{path}/answer"), &[], answer).status, 202);
    assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
}

/// A configuration in which the key `a` may call these tools.
fn allowing(tools: &str) -> String {
    let hash = toolwright_gateway::key::KeyHash::of("tw-a");
    format!("{LOCAL}[keys.a]\nhash = \"{hash}\"\ntools = {tools}\n")
}

const KEY_A: [(&str, &str); 1] = [("authorization", "Bearer tw-a")];

#[test]
fn a_run_goes_on_only_with_the_tools_that_its_key_has_now() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done(), done()]);
    let gateway = Gateway::start(&allowing(r#"["*"]"#));
    publish_order(&gateway, &upstream);
    let path = start(&gateway, LOOK_TWICE, &KEY_A);
    upstream.until_received(1);
    let gateway = gateway.crash(&allowing(r#"["shop-prefab/pay"]"#));
    let shown = interrupted(&gateway, &path, &KEY_A);
    let reason = text_at(&shown, "/error/message");
    assert!(reason.contains("shop-prefab@1.0.0/look"), "{reason}");
    let refused = gateway.post(&format!("{path}/resume"), &KEY_A, b"");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("shop-prefab@1.0.0/look"), "{}", refused.text());
    assert_eq!(upstream.received().len(), 1);
    // The reason stays until a person resumes the run, which the key allows again.
    let gateway = gateway.restart(&allowing(r#"["shop-prefab/look"]"#));
    assert_eq!(text_at(&interrupted(&gateway, &path, &KEY_A), "/error/message"), reason);
    assert_eq!(gateway.post(&format!("{path}/resume"), &KEY_A, b"").status, 202);
    assert_eq!(text_at(&ended(&gateway, &path, &KEY_A), "/status"), "succeeded");
    assert_eq!(upstream.received().len(), 3);
}

#[test]
fn a_run_whose_key_has_lost_tools_that_it_does_not_need_goes_on() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done(), done()]);
    let gateway = Gateway::start(&allowing(r#"["*"]"#));
    publish_order(&gateway, &upstream);
    let path = start(&gateway, LOOK_TWICE, &KEY_A);
    upstream.until_received(1);
    let gateway = gateway.crash(&allowing(r#"["shop-prefab/look"]"#));
    assert_eq!(text_at(&ended(&gateway, &path, &KEY_A), "/status"), "succeeded");
    assert_eq!(upstream.received().len(), 3);
}

#[test]
fn a_published_plan_of_a_run_goes_on_only_with_the_tools_that_the_key_has_now() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([done(), hanging, done()]);
    let gateway = Gateway::start(&allowing(r#"["*"]"#));
    publish_order(&gateway, &upstream);
    let path = start(&gateway, ORDER, &KEY_A);
    upstream.until_received(2);
    let gateway = gateway.crash(&allowing(r#"["order-prefab/order", "shop-prefab/pay"]"#));
    let shown = ended(&gateway, &path, &KEY_A);
    assert_eq!(text_at(&shown, "/status"), "failed", "{shown}");
    let reason = text_at(&shown, "/steps/0/reason");
    assert!(reason.contains("there is no tool 'shop-prefab/look'"), "{reason}");
    assert_eq!(upstream.received().len(), 2);
}

#[test]
fn a_run_that_waits_for_its_first_start_is_started_by_no_restart() {
    let (_never, hanging) = Reply::after(done());
    let (_neither, also_hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done(), also_hanging, done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let look = r#"{"plan":"1","steps":{"look":{"tool":"shop-prefab/look"}}}"#;
    let body = object! {"plan": json(look), "start": false}.compact();
    let deferred = gateway.post("/v1/plans", &[], body.as_bytes()).json();
    let deferred = format!("/v1/plans/{}", text_at(&deferred, "/run"));
    let other = start(&gateway, look, &[]);
    upstream.until_received(1);
    let gateway = gateway.crash(LOCAL);
    ended(&gateway, &other, &[]);
    let shown = gateway.get(&deferred, &[]).ok().json();
    assert_eq!(text_at(&shown, "/steps/0/state"), "pending", "{shown}");
    assert_eq!(upstream.received().len(), 2);
    // Once it is started, it goes on by itself.
    assert_eq!(gateway.post(&format!("{deferred}/resume"), &[], b"").status, 202);
    upstream.until_received(3);
    let gateway = gateway.crash(LOCAL);
    assert_eq!(text_at(&ended(&gateway, &deferred, &[]), "/status"), "succeeded");
}

#[test]
fn a_run_with_a_changed_tool_is_not_continued() {
    let (_never, hanging) = Reply::after(done());
    let upstream = Upstream::start([hanging, done(), done()]);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let path = start(&gateway, LOOK_TWICE, &[]);
    upstream.until_received(1);
    // Another catalog has this version with another definition.
    let gateway = gateway.crash_with(LOCAL, |data| {
        for file in std::fs::read_dir(data).unwrap().map(|file| file.unwrap()) {
            let name = file.file_name().into_string().unwrap();
            if name == "catalog" {
                std::fs::remove_dir_all(file.path()).unwrap();
            } else if name.starts_with("catalog.sqlite") {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        publish_shop(data, &upstream, "Does something else.");
    });
    let shown = interrupted(&gateway, &path, &[]);
    assert_eq!(text_at(&shown, "/status"), "interrupted", "{shown}");
    let reason = text_at(&shown, "/error/message");
    assert!(reason.contains("these tools have changed"), "{reason}");
    assert_eq!(upstream.received().len(), 1);
}

#[test]
fn few_runs_are_continued_at_once() {
    let count = 12;
    let hanging = (0..2 * count).map(|_| Reply::after(done())).collect::<Vec<_>>();
    let (releases, replies): (Vec<_>, Vec<_>) = hanging.into_iter().unzip();
    let upstream = Upstream::start(replies);
    let gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let look = r#"{"plan":"1","steps":{"look":{"tool":"shop-prefab/look"}}}"#;
    let paths: Vec<String> = (0..count).map(|_| start(&gateway, look, &[])).collect();
    upstream.until_received(count);
    let gateway = gateway.crash(LOCAL);
    // Each one that ends lets another one go on: there are never more than eight calls in progress.
    for (ended, release) in releases.into_iter().skip(count).enumerate() {
        upstream.until_received(count + (ended + 8).min(count));
        assert!(upstream.received().len() <= count + ended + 8, "{ended}");
        release.send(()).unwrap();
    }
    for path in paths {
        assert_eq!(text_at(&ended(&gateway, &path, &[]), "/status"), "succeeded");
    }
}

#[test]
fn a_run_that_was_in_progress_at_three_starts_is_not_started_again() {
    let hanging = (0..4).map(|_| Reply::after(done())).collect::<Vec<_>>();
    let (_never, replies): (Vec<_>, Vec<_>) = hanging.into_iter().unzip();
    let upstream = Upstream::start(replies);
    let mut gateway = Gateway::start(LOCAL);
    publish_order(&gateway, &upstream);
    let path = start(&gateway, r#"{"plan":"1","steps":{"look":{"tool":"shop-prefab/look"}}}"#, &[]);
    for calls in 1..=3 {
        upstream.until_received(calls);
        gateway = gateway.crash(LOCAL);
    }
    let shown = interrupted(&gateway, &path, &[]);
    assert!(text_at(&shown, "/error/message").contains("three starts in a row"), "{shown}");
    let gateway = gateway.crash(LOCAL);
    assert_eq!(text_at(&gateway.get(&path, &[]).ok().json(), "/status"), "interrupted");
    assert_eq!(upstream.received().len(), 3);
}

/// Publishes a plan whose steps call a plan whose steps call a function: `width` × `width` calls.
fn publish_wide(gateway: &Gateway, upstream: &Upstream, width: usize) {
    publish_order(gateway, upstream);
    let step = |at: usize, tool: &str| format!(r#""s{at}":{{"tool":"{tool}"}}"#);
    let plan = |tool: &str| {
        let steps: Vec<String> = (0..width).map(|at| step(at, tool)).collect();
        json(&format!(r#"{{"plan":"1","steps":{{{}}}}}"#, steps.join(",")))
    };
    let function = |name: &str, tool: &str| {
        object! {"name": name, "description": "Runs a plan.", "effect": "read-only", "plan": plan(tool)}
    };
    let manifest = object! {
        "id": "wide-prefab", "version": "1.0.0", "name": "Wide", "description": "Many calls.",
        "runtime": object! {"plan": object! {}},
        "functions": vec![function("inner", "shop-prefab/look"), function("outer", "wide-prefab/inner")]
    };
    publish(gateway, &manifest.into());
}

#[test]
fn the_calls_of_plans_count_against_the_rate_at_any_depth() {
    let upstream = Upstream::start((0..40).map(|_| done()));
    let hash = toolwright_gateway::key::KeyHash::of("tw-a");
    let config = format!("{LOCAL}[keys.a]\nhash = \"{hash}\"\ncalls_per_minute = 6\n");
    let gateway = Gateway::start(&config);
    publish_wide(&gateway, &upstream, 4);
    let key = [("authorization", "Bearer tw-a")];
    let body = br#"{"function":"outer"}"#;
    let refused = gateway.post("/v1/prefabs/wide-prefab/execute", &key, body);
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.text().contains("6 calls of plans per minute"), "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    assert!(upstream.received().len() <= 6, "{}", upstream.received().len());
    // A run waits.
    let body = object! {"plan": json(r#"{"plan":"1","steps":{"a":{"tool":"wide-prefab/inner"}}}"#)};
    let run = gateway.post("/v1/plans", &key, body.compact().as_bytes()).json();
    let path = format!("/v1/plans/{}", text_at(&run, "/run"));
    let shown = gateway.get(&path, &key).ok().json();
    assert_eq!(text_at(&shown, "/status"), "running", "{shown}");
    gateway.post(&format!("{path}/cancel"), &key, b"").ok();
}

#[test]
fn the_calls_of_plans_are_limited_without_keys_as_well() {
    let upstream = Upstream::start((0..700).map(|_| done()));
    let gateway = Gateway::start(LOCAL);
    publish_wide(&gateway, &upstream, 26);
    let body = br#"{"function":"outer"}"#;
    let refused = gateway.post("/v1/prefabs/wide-prefab/execute", &[], body);
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(upstream.received().len() <= 600, "{}", upstream.received().len());
}

#[test]
fn a_tenant_with_too_many_runs_loses_ended_ones_and_then_starts_none() {
    let gateway = Gateway::start("[plans]\nmax_runs = 3\n[tools]\nroot = \".\"\n");
    let waiting =
        r#"{"plan":"1","steps":{"w":{"tool":"write_file","args":{"path":"a","content":"x"}}}}"#;
    let ended = r#"{"plan":"1","steps":{"l":{"tool":"list_files"}}}"#;
    let start = |plan: &str| {
        let body = object! {"plan": json(plan), "wait": true}.compact();
        gateway.post("/v1/plans", &[], body.as_bytes())
    };
    let statuses = || -> Vec<String> {
        let listed = gateway.get("/v1/plans", &[]).ok().json();
        items_at(&listed, "/data").iter().map(|run: &Json| text_at(run, "/status")).collect()
    };
    for plan in [ended, waiting, ended, waiting] {
        start(plan).ok();
    }
    assert_eq!(statuses(), ["waiting", "succeeded", "waiting"]);
    start(waiting).ok();
    assert_eq!(statuses(), ["waiting"; 3]);
    let refused = start(ended);
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(statuses(), ["waiting"; 3]);

    let gateway = Gateway::start("[plans]\nmax_bytes = \"100KB\"\n[tools]\nroot = \".\"\n");
    let plan = ended.replace(r#""steps""#, r#""inputs":{"type":"object"},"steps""#);
    let large = format!(r#"{{"plan":{plan},"inputs":{{"x":"{}"}}}}"#, "y".repeat(200_000));
    let refused = gateway.post("/v1/plans", &[], large.as_bytes());
    assert_eq!(refused.status, 429, "{}", refused.text());
}
