//! What depends on a key ends when a reload removes the key: streams, uploads and links.

use std::io::Write;
use std::net::TcpStream;

use toolwright_catalog::{Catalog, Package, PublishOptions};
use toolwright_core::json::Object;
use toolwright_core::{FaultClass, Json, object};

use super::{client, publish, token};
use crate::exchange::tools::CHAT;
use crate::gateway::{Asking, Gateway, HANG, Reply, Upstream, table, text_at, until};

const LOCAL: &str = "[catalog]\nallow_addresses = [\"127.0.0.1\"]\n";

/// Opens the stream of a session at `/mcp`.
fn session_stream(gateway: &Gateway, bearer: (&str, &str)) -> Asking {
    let begin = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let answer = gateway.post("/mcp", &[bearer], begin).ok();
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let mut stream = gateway.ask("GET", "/mcp", &[bearer, ("mcp-session-id", &id)], b"");
    stream.until("retry:");
    stream
}

/// Subscribes to changes at `/mcp`, without a session.
fn subscription(gateway: &Gateway, bearer: (&str, &str)) -> Asking {
    let own = object! {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": Object::new(),
    };
    let method = "subscriptions/listen";
    let params = object! {"_meta": own, "notifications": object! {"toolsListChanged": true}};
    let body = object! {"jsonrpc": "2.0", "id": "s1", "method": method, "params": params};
    let headers = [bearer, ("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    let mut stream = gateway.ask("POST", "/mcp", &headers, body.compact().as_bytes());
    stream.until("acknowledged");
    stream
}

#[test]
fn streams_end_when_their_key_is_removed() {
    let (server, bob) = (Upstream::start([]), client("bob", ""));
    let gateway = Gateway::start(&(LOCAL.to_owned() + &client("alice", "") + &bob));
    let document = object! {
        "id": "web-prefab", "version": "1.0.0", "name": "Web", "description": "Functions of a server.",
        "functions": vec![object! {"name": "wait", "description": "Waits", "effect": "read-only"}],
        "runtime": object! {"http": object! {"base_url": server.url()}},
    };
    publish(&gateway, &document.into());
    let (_release, reply) = Reply::after(Reply::json(200, "{}"));
    server.then(reply);
    let alice = ("authorization", "Bearer key-alice");
    let plan =
        br#"{"plan": {"plan": "1", "steps": {"a": {"tool": "web-prefab/wait", "args": {}}}}}"#;
    let started = gateway.post("/v1/plans", &[alice], plan).json();
    server.until_received(1);
    let path = format!("/v1/plans/{}/events", text_at(&started, "/run"));
    let mut events = gateway.ask("GET", &path, &[alice], b"");
    events.until("event: report");
    let streams = [session_stream(&gateway, alice), subscription(&gateway, alice), events];
    let mut of_bob = subscription(&gateway, ("authorization", "Bearer key-bob"));
    gateway.reload(&(LOCAL.to_owned() + &bob));
    for stream in streams {
        assert!(stream.answer().complete, "the stream ends, and is not cut");
    }
    // The reload is announced to those who stay.
    of_bob.until("list_changed");
}

#[test]
fn streams_of_models_end_with_an_error_when_their_key_is_removed() {
    let (server, bob) = (Upstream::start([]), client("bob", ""));
    let tables = table("up", "openai-chat", &server) + &bob;
    let gateway = Gateway::start(&(tables.clone() + &client("alice", "")));
    let body = br#"{"model":"up/m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    let piece = r#"data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"first"},"finish_reason":null}]}"#;
    // The first passes through, the second is translated.
    let streams = [CHAT, "/v1/messages"].map(|path| {
        let (feed, reply) = Reply::fed("text/event-stream");
        server.then(reply);
        let mut stream = gateway.ask("POST", path, &[("authorization", "Bearer key-alice")], body);
        feed.send(format!("{piece}\n\n").into_bytes()).unwrap();
        stream.until("first");
        (feed, stream)
    });
    gateway.reload(&tables);
    let feeds = streams.map(|(feed, stream)| {
        let answer = stream.answer();
        assert!(answer.complete, "the stream ends, and is not cut");
        assert!(answer.text().contains("`alice` was removed"), "{}", answer.text());
        feed
    });
    server.until_cut(2);
    drop(feeds);
    let errors: Vec<_> = gateway.end().into_iter().map(|exchange| exchange.error).collect();
    assert_eq!(errors, [Some(FaultClass::Forbidden); 2]);
}

#[test]
fn the_stream_of_a_function_ends_with_an_error_when_its_key_is_removed() {
    let gateway = Gateway::start(&(client("alice", "") + &client("bob", "")));
    let source = tempfile::tempdir().unwrap();
    let manifest = r#"{"id": "shell-prefab", "version": "1.0.0", "name": "Shell", "description": "Waits for a long time.",
        "runtime": {"process": {"command": ["sh", "run.sh"]}},
        "functions": [{"name": "wait", "description": "Waits", "streaming": true, "parameters": []}]}"#;
    std::fs::write(source.path().join("prefab.json"), manifest).unwrap();
    let script = r#"echo '{"type":"content","data":"begun"}'; exec sleep 1000"#;
    std::fs::write(source.path().join("run.sh"), script).unwrap();
    let catalog = Catalog::open(&gateway.data()).unwrap();
    catalog.publish(Package::read(source.path()).unwrap(), PublishOptions::default()).unwrap();
    let (path, alice) = ("/v1/prefabs/shell-prefab/execute", ("authorization", "Bearer key-alice"));
    let mut stream = gateway.ask("POST", path, &[alice], br#"{"function": "wait"}"#);
    stream.until("begun");
    gateway.reload(&client("bob", ""));
    let answer = stream.answer();
    assert!(answer.complete, "the stream ends, and is not cut");
    let last = answer.events().pop().unwrap();
    assert_eq!(text_at(&last, "/type"), "error");
    assert!(text_at(&last, "/data/message").contains("`alice` was removed"), "{}", last.compact());
}

#[test]
fn a_download_is_cut_when_its_key_is_removed() {
    // More than the buffers between the gateway and a client that does not read.
    const SIZE: usize = 48 << 20;
    let bob = client("bob", "");
    let gateway = Gateway::start(&(client("alice", "") + &bob));
    let token = token(&gateway, "alice");
    let headers = [("x-internal-token", token.as_str())];
    let link = |answer: &Json, pointer: &str| {
        let base = format!("http://{}", gateway.address);
        text_at(answer, pointer).strip_prefix(&base).unwrap().to_owned()
    };
    let path = "/internal/files/generate_upload_url";
    let reserved = gateway.post(path, &headers, br#"{"filename": "a.bin"}"#).ok().json();
    let upload = link(&reserved, "/upload_url");
    gateway.ask("PUT", &upload, &[], &vec![7; SIZE]).answer().ok();
    let path = format!("/internal/files/download?s3_url={}", text_at(&reserved, "/s3_url"));
    let download = link(&gateway.get(&path, &headers).ok().json(), "/presigned_url");
    let mut begun = gateway.ask("GET", &download, &[], b"");
    assert!(begun.until("\r\n\r\n").contains(&format!("content-length: {SIZE}")));
    gateway.reload(&bob);
    let list = || gateway.get("/internal/files/list", &headers).status;
    until("the reload", || (list() == 401).then_some(()));
    assert_eq!(gateway.get(&download, &[]).status, 403);
    let answer = begun.answer();
    assert_eq!((answer.status, answer.complete), (200, false));
    assert!(answer.body.len() < SIZE);
}

#[test]
fn links_are_refused_and_uploads_end_when_their_key_is_removed() {
    let bob = client("bob", "");
    let gateway = Gateway::start(&(client("alice", "") + &bob));
    let headers = [("x-internal-token", token(&gateway, "alice"))];
    let headers = [(headers[0].0, headers[0].1.as_str())];
    let reserve = || {
        let path = "/internal/files/generate_upload_url";
        let answer = gateway.post(path, &headers, br#"{"filename": "a.txt"}"#).ok().json();
        let base = format!("http://{}", gateway.address);
        let link = text_at(&answer, "/upload_url").strip_prefix(&base).unwrap().to_owned();
        (link, text_at(&answer, "/s3_url"))
    };
    let ((first, url), (second, _)) = (reserve(), reserve());
    assert_eq!(gateway.ask("PUT", &first, &[], b"one").answer().status, 200);
    let path = format!("/internal/files/download?s3_url={url}&mode=presigned");
    let presigned = text_at(&gateway.get(&path, &headers).ok().json(), "/presigned_url");
    let download = presigned.split_once("/internal").map(|(_, rest)| format!("/internal{rest}"));
    let download = download.unwrap();
    gateway.get(&download, &[]).ok();
    // An upload that is under way.
    let mut socket = TcpStream::connect(gateway.address).unwrap();
    socket.set_read_timeout(Some(HANG)).unwrap();
    let head = "HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1000";
    write!(socket, "PUT {second} {head}\r\n\r\nbegun").unwrap();
    gateway.reload(&bob);
    until("the reload", || (gateway.get(&download, &[]).status == 403).then_some(()));
    let answer = gateway.ask("PUT", &first, &[], b"two").answer();
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert!(answer.text().contains("key"), "{}", answer.text());
    let answer = Asking::of(socket).answer();
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert!(Json::parse(&answer.text()).is_ok());
}
