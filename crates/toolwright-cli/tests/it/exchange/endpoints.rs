//! The gateway's own endpoints, and configuration reload.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use toolwright_core::Json;

use crate::gateway::vendor::vendor;
use crate::gateway::{Gateway, Upstream, at, items_at, table, text_at, until};

const CHAT: &str = r#"{"model":"fast","messages":[{"role":"user","content":"hi"}]}"#;

#[test]
fn models_are_listed_in_every_vendors_format() {
    let upstream = Upstream::start([]);
    let config = format!(
        "[models]\nfast = [\"up/m\"]\n{}models = [\"gpt-6-astra\"]\n",
        table("up", "openai-chat", &upstream)
    );
    let gateway = Gateway::start(&config);
    let names = ["fast", "up/gpt-6-astra", "offline/rules"];
    let anthropic = [("anthropic-version", "2023-06-01")];
    let google = [("x-goog-api-key", "any")];
    let none = &anthropic[..0];
    let lists = [
        ("/v1/models", none, "/data", "/id", ""),
        ("/openai-chat/v1/models", none, "/data", "/id", ""),
        ("/openai-responses/v1/models", none, "/data", "/id", ""),
        ("/mistral/v1/models", none, "/data", "/id", ""),
        ("/deepseek/models", none, "/data", "/id", ""),
        ("/v1/models", &anthropic[..], "/data", "/id", ""),
        ("/anthropic/v1/models", none, "/data", "/id", ""),
        ("/v1beta/models", none, "/models", "/name", "models/"),
        ("/v1/models", &google[..], "/models", "/name", "models/"),
        ("/gemini/v1beta/models", none, "/models", "/name", "models/"),
        ("/api/tags", none, "/models", "/model", ""),
        ("/ollama/api/tags", none, "/models", "/name", ""),
        ("/cohere/v1/models", none, "/models", "/name", ""),
    ];
    for (path, headers, list, name, before) in lists {
        let answer = gateway.get(path, headers).ok();
        let found = items_at(&answer.json(), list);
        let found: Vec<String> = found.iter().map(|one| text_at(one, name)).collect();
        let expected = names.map(|name| format!("{before}{name}"));
        assert_eq!(found, expected, "{path}");
    }
    assert_eq!(at(&gateway.get("/v1/models", &anthropic).json(), "/has_more"), Json::Bool(false));
    // A single model by its name, with and without an escaped slash.
    for path in ["/v1/models/up/gpt-6-astra", "/v1/models/up%2Fgpt-6-astra"] {
        let answer = gateway.get(path, &[]).ok();
        assert_eq!(text_at(&answer.json(), "/id"), "up/gpt-6-astra");
        assert_eq!(text_at(&answer.json(), "/owned_by"), "up");
    }
    let answer = gateway.get("/v1/models/nowhere", &anthropic);
    assert_eq!(answer.status, 404);
    assert_eq!(text_at(&answer.json(), "/error/type"), "not_found_error", "{}", answer.text());
}

#[test]
fn health_readiness_openapi_and_metrics_are_served() {
    let own = vendor("anthropic");
    let upstream = Upstream::start([own.reply(true)]);
    let config = format!("[models]\nfast = [\"up/m\"]\n{}", table("up", own.id, &upstream));
    let gateway = Gateway::start(&config);
    assert_eq!(gateway.get("/healthz", &[]).status, 200);
    assert_eq!(gateway.get("/readyz", &[]).ok().text(), "ready\n");
    let description = gateway.get("/openapi.json", &[]).ok().json();
    assert!(text_at(&description, "/openapi").starts_with("3."));
    let streamed = CHAT.replacen('{', "{\"stream\":true,", 1);
    gateway.ask_json("/v1/chat/completions", &streamed).ok();
    // The exchange is recorded when its connection has finished.
    let metrics = until("the exchange in the metrics", || {
        let metrics = gateway.get("/metrics", &[]).ok().text();
        metrics.contains("upstream=\"up\"").then_some(metrics)
    });
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    for name in ["get_weather", "search_flights"] {
        assert!(!metrics.contains(name), "a client could make endless labels: {metrics}");
    }
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    let gateway = Gateway::start("");
    let answer = gateway.get("/v1/chat/completions", &[]);
    assert_eq!(answer.status, 405);
    assert_eq!(gateway.get("/nothing", &[]).status, 404);
    let answer = gateway.ask_json("/v1/messages/batches", "{}");
    assert_eq!((answer.status, text_at(&answer.json(), "/type").as_str()), (404, "error"));
    let answer = gateway.ask_json("/healthz", "{}");
    assert_eq!(answer.status, 405);
}

#[test]
fn a_reload_never_opens_a_port_that_others_can_reach() {
    let hash = toolwright_gateway::key::KeyHash::of("tw-1");
    let keys = format!("[keys.alice]\nhash = \"{hash}\"\n");
    let gateway = Gateway::start_as_configured(&format!("listen = \"0.0.0.0:0\"\n{keys}"));
    let without = ["", "listen = \"127.0.0.1:0\"\n", "listen = \"localhost:8000\"\n"];
    for (count, config) in without.iter().enumerate() {
        gateway.reload(config);
        until("the reload is over", || {
            (gateway.log().matches("reloaded").count() > count).then_some(())
        });
        assert_eq!(gateway.get("/v1/models", &[]).status, 401, "{config:?}");
    }
}

#[test]
fn a_reload_keeps_the_connections_of_an_unchanged_upstream() {
    let own = vendor("openai-chat");
    let upstream = Upstream::start((0..4).map(|_| own.final_reply(false)));
    let with = |alias: &str, rest: &str| {
        let table = table("up", own.id, &upstream);
        format!("[models]\n{alias} = [\"up/m\"]\nfast = [\"up/m\"]\n{table}{rest}")
    };
    let gateway = Gateway::start(&with("first", ""));
    let loaded = |alias: &str| {
        let listed = || gateway.get("/v1/models", &[]).ok().text().contains(alias);
        until("the alias", || listed().then_some(()));
        gateway.ask_json("/v1/chat/completions", CHAT).ok();
    };
    loaded("first");
    gateway.reload(&with("second", ""));
    loaded("second");
    assert_eq!(upstream.connections(), 1);
    gateway.reload(&with("third", "headers = { \"x-team\" = \"agents\" }\n"));
    loaded("third");
    assert_eq!(upstream.connections(), 2);
    assert_eq!(upstream.last().header("x-team"), Some("agents"));
}

#[test]
fn a_reload_under_load_drops_nothing_and_a_bad_file_changes_nothing() {
    let own = vendor("openai-chat");
    let first = Upstream::start((0..20_000).map(|_| own.final_reply(true)));
    let second = Upstream::start((0..20_000).map(|_| own.final_reply(true)));
    let with = |upstream: &Upstream, alias: &str| {
        format!(
            "[models]\n{alias} = [\"up/m\"]\nfast = [\"up/m\"]\n{}",
            table("up", own.id, upstream)
        )
    };
    let gateway = Arc::new(Gateway::start(&with(&first, "old")));
    let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (gateway, over) = (Arc::clone(&gateway), Arc::clone(&over));
            let answered = Arc::clone(&answered);
            let expected = own.last_stream();
            std::thread::spawn(move || {
                let streamed = CHAT.replacen('{', "{\"stream\":true,", 1);
                while !over.load(Ordering::Relaxed) {
                    let answer = gateway.ask_json("/v1/chat/completions", &streamed).ok();
                    assert_eq!(answer.body, expected);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let more = |what: &str| {
        let before = answered.load(Ordering::Relaxed);
        until(what, || (answered.load(Ordering::Relaxed) > before + 8).then_some(()));
    };
    let listed = |name: &str| {
        let names = gateway.get("/v1/models", &[]).ok().text();
        names.contains(&format!("\"{name}\""))
    };
    more("load");
    assert!(listed("old") && !listed("new"));
    gateway.reload(&with(&second, "new"));
    until("the new alias", || listed("new").then_some(()));
    assert!(!listed("old"));
    let before = first.received().len();
    more("load after the reload");
    // Requests that were in flight at the reload may still have gone to the old upstream.
    assert!(first.received().len() <= before + 4, "the old upstream is asked no more");
    assert!(!second.received().is_empty());
    for bad in ["listen = 7", "[models]\nfast = [\"nowhere/m\"]", "[upstreams.x]\ndialect = \"no\""]
    {
        let log = gateway.log().len();
        gateway.reload(bad);
        until("the reason in the log", || gateway.log()[log..].contains("reload").then_some(()));
        more("load after a bad file");
        assert!(listed("new"));
    }
    over.store(true, Ordering::Relaxed);
    for clients in load {
        clients.join().unwrap();
    }
}

#[test]
fn a_reload_changes_the_level_of_the_log() {
    let gateway = Gateway::start("");
    let hello = r#"{"model":"offline/rules","messages":[{"role":"user","content":"hi"}]}"#;
    let lines = |dialect: &str| {
        let log = gateway.log();
        log.lines().filter(|line| line.contains(" → offline/") && line.contains(dialect)).count()
    };
    let ask = || gateway.ask_json("/v1/chat/completions", hello).ok();
    ask();
    until("a line", || (lines("openai-chat") == 1).then_some(()));
    gateway.reload("[log]\nlevel = \"error\"\n[models]\nquiet = [\"offline/rules\"]\n");
    let models = || gateway.get("/v1/models", &[]).ok().text();
    until("the reload", || models().contains("\"quiet\"").then_some(()));
    // Reloads are sequential: once the next one has failed, this one is complete.
    gateway.reload("listen = 7");
    until("an error", || gateway.log().contains("not reloaded").then_some(()));
    let message = hello.replacen('{', "{\"max_tokens\":9,", 1);
    gateway.ask_json("/v1/messages", &message).ok();
    gateway.reload("");
    until("lines again", || {
        ask();
        (lines("openai-chat") > 1).then_some(())
    });
    assert_eq!(lines("anthropic"), 0);
}

#[test]
fn bodies_are_in_the_ledger_only_if_the_configuration_says_so() {
    for wanted in [true, false] {
        let gateway = Gateway::start(&format!("[ledger]\npayloads = {wanted}\n"));
        for stream in [false, true] {
            let body = format!(
                r#"{{"model": "offline/rules", "stream": {stream},
                     "messages": [{{"role": "user", "content": "private words"}}]}}"#
            );
            assert_eq!(gateway.ask_json("/v1/chat/completions", &body).status, 200);
        }
        for entry in gateway.end() {
            let data = entry.data.map(|data| data.compact()).unwrap_or_default();
            assert_eq!(data.contains("private words"), wanted, "{data}");
            assert_eq!(data.contains("rule-based stand-in"), wanted, "{data}");
        }
    }
}
