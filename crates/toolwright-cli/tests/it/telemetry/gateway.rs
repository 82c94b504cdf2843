//! Telemetry of the running gateway.

use crate::gateway::vendor::vendor;
use crate::gateway::{Gateway, Upstream, items_at, table, until};

const CHAT: &str = r#"{"model":"fast","messages":[{"role":"user","content":"hi"}]}"#;
const CLIENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn the_clients_trace_reaches_the_upstream() {
    for id in ["openai-chat", "anthropic"] {
        let own = vendor(id);
        let upstream = Upstream::start([own.reply(false), own.reply(false)]);
        let config = format!("[models]\nfast = [\"up/m\"]\n{}", table("up", own.id, &upstream));
        let gateway = Gateway::start(&config);
        let headers = [("traceparent", CLIENT)];
        gateway.post("/v1/chat/completions", &headers, CHAT.as_bytes()).ok();
        assert_eq!(upstream.last().header("traceparent"), Some(CLIENT), "{id}");
        gateway.post("/v1/chat/completions", &[], CHAT.as_bytes()).ok();
        assert_eq!(upstream.last().header("traceparent"), None, "{id}");
    }
}

#[test]
fn a_configured_model_has_its_own_metrics() {
    let own = vendor("openai-chat");
    let upstream = Upstream::start([own.reply(false), own.reply(false)]);
    let config = format!("[models]\nfast = [\"up/m\"]\n{}", table("up", own.id, &upstream));
    let gateway = Gateway::start(&config);
    gateway.ask_json("/v1/chat/completions", CHAT).ok();
    gateway.ask_json("/v1/chat/completions", &CHAT.replace("fast", "up/unheard-of")).ok();
    let metrics = until("both exchanges in the metrics", || {
        let metrics = gateway.get("/metrics", &[]).ok().text();
        metrics.contains("model=\"other\"").then_some(metrics)
    });
    assert!(metrics.contains("upstream=\"up\",model=\"fast\",status=\"2xx\"} 1"), "{metrics}");
    assert!(!metrics.contains("unheard-of"), "{metrics}");
}

#[test]
fn losses_are_read_by_the_id_of_the_reply() {
    let own = vendor("gemini");
    let upstream = Upstream::start([own.reply(false)]);
    let gateway = Gateway::start(&table("up", own.id, &upstream));
    let body = r#"{"model":"up/m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],
        "tools":[{"name":"a","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]}"#;
    let answer = gateway.ask_json("/v1/messages", body).ok();
    let id = answer.header("toolwright-request-id").unwrap();
    let report = gateway.get(&format!("/v1/losses/{id}"), &[]).ok().json();
    let count = ["/request/losses", "/response/losses"].map(|list| items_at(&report, list).len());
    let told = answer.header("toolwright-losses").unwrap();
    let expected = format!("{}; major=0; first=", count.iter().sum::<usize>());
    assert!(told.starts_with(&expected), "{told} {report:?}");
}
