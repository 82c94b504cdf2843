//! Prompts, resources, templates, completion and subscriptions, passed on.

use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_gateway::key::KeyHash;

use super::{ask, ask_at, call_tool, server};
use crate::gateway::{Asking, Gateway, items_at, text_at, until};

/// Two servers with the same URIs, one of each era.
fn two() -> String {
    server("one", "\"features\", \"one\"", "") + &server("two", "\"features-now\", \"two\"", "")
}

/// One member of each entry of a listing.
fn listed(gateway: &Gateway, path: &str, method: &str, list: &str, key: &str) -> Vec<String> {
    let answer = ask_at(gateway, path, &[], method, Object::new()).ok().json();
    let entries = items_at(&answer, &format!("/result/{list}"));
    entries.iter().map(|entry| text_at(entry, &format!("/{key}"))).collect()
}

fn read(gateway: &Gateway, path: &str, uri: &str) -> Json {
    ask_at(gateway, path, &[], "resources/read", object! {"uri": uri}).json()
}

fn content(answer: &Json) -> (String, String) {
    (text_at(answer, "/result/contents/0/uri"), text_at(answer, "/result/contents/0/text"))
}

#[test]
fn prompts_have_the_prefix_of_their_server() {
    let gone = "[mcp.gone]\ncommand = [\"no-such-program\"]\n";
    let gateway = Gateway::start(&(two() + gone));
    let all = ["one_greet", "one_ask", "two_greet", "two_ask"];
    assert_eq!(listed(&gateway, "/mcp", "prompts/list", "prompts", "name"), all);
    assert_eq!(listed(&gateway, "/mcp/two", "prompts/list", "prompts", "name"), all[2..]);
    let params = object! {"name": "two_ask", "arguments": object! {"city": "上海"}};
    let answer = ask(&gateway, "prompts/get", params);
    let text = text_at(&answer, "/result/messages/0/content/text");
    assert!(text.starts_with("ask") && text.ends_with("of two"), "{text}");
    let embedded = text_at(&answer, "/result/messages/1/content/resource/uri");
    assert_eq!(embedded, "mcp:two/note://shared");
    let unknown = ask_at(&gateway, "/mcp", &[], "prompts/get", object! {"name": "ask"}).json();
    assert_eq!(text_at(&unknown, "/error/message"), "Unknown prompt: ask");
}

#[test]
fn resources_of_several_servers_have_the_names_of_their_servers() {
    let gateway = Gateway::start(&two());
    let uris = listed(&gateway, "/mcp", "resources/list", "resources", "uri");
    let of = |server: &str| {
        [format!("mcp:{server}/note://shared"), format!("mcp:{server}/note://only-{server}")]
    };
    assert_eq!(uris, [of("one"), of("two")].concat());
    for (uri, server) in [(&uris[0], "one"), (&uris[2], "two")] {
        let (own, text) = content(&read(&gateway, "/mcp", uri));
        assert_eq!((&own, &*text), (uri, &*format!("note://shared of {server}, version 0")));
    }
    let list = ("resources/templates/list", "resourceTemplates", "uriTemplate");
    let templates = listed(&gateway, "/mcp", list.0, list.1, list.2);
    assert_eq!(templates, ["mcp:one/row://one/{id}", "mcp:two/row://two/{id}"]);
    let (_, row) = content(&read(&gateway, "/mcp", "mcp:two/row://two/7"));
    assert_eq!(row, "row://two/7 of two, version 0");
    // A URI of a tool's result or a description, which does not name the server.
    assert_eq!(content(&read(&gateway, "/mcp", "row://one/7")).1, "row://one/7 of one, version 0");
    let only = content(&read(&gateway, "/mcp", "note://only-two")).1;
    assert_eq!(only, "note://only-two of two, version 0");
    let several = text_at(&read(&gateway, "/mcp", "note://shared"), "/error/message");
    assert!(several.contains("mcp:one/note://shared or mcp:two/note://shared"), "{several}");
    let unknown = read(&gateway, "/mcp", "mcp:three/note://shared");
    assert!(text_at(&unknown, "/error/message").contains("not found"), "{unknown:?}");
    let refused = read(&gateway, "/mcp", "mcp:one/other://x");
    assert_eq!(text_at(&refused, "/error/message"), "no such resource");
    assert_eq!(refused.pointer("/error/code").map(Json::compact).as_deref(), Some("-32602"));
    // The place of one server has its URIs as they are.
    let own = listed(&gateway, "/mcp/one", "resources/list", "resources", "uri");
    assert_eq!(own, ["note://shared", "note://only-one"]);
    let (uri, text) = content(&read(&gateway, "/mcp/one", "note://shared"));
    assert_eq!((&*uri, &*text), ("note://shared", "note://shared of one, version 0"));
}

#[test]
fn links_in_the_results_of_tools_can_be_read() {
    let gateway = Gateway::start(&two());
    let linked = call_tool(&gateway, "two_link", Object::new());
    let uri = text_at(&linked, "/result/content/0/uri");
    assert_eq!(uri, "mcp:two/note://shared");
    assert_eq!(text_at(&linked, "/result/content/1/resource/uri"), uri);
    assert_eq!(content(&read(&gateway, "/mcp", &uri)).1, "note://shared of two, version 0");
    let params = object! {"name": "two_link", "arguments": Object::new()};
    let linked = ask_at(&gateway, "/mcp/two", &[], "tools/call", params).ok().json();
    assert_eq!(text_at(&linked, "/result/content/0/uri"), "note://shared");
}

#[test]
fn arguments_are_completed_by_their_server() {
    let gateway = Gateway::start(&two());
    for (reference, completed) in [
        (object! {"type": "ref/prompt", "name": "one_ask"}, "be-ref/prompt-one"),
        (object! {"type": "ref/resource", "uri": "mcp:two/row://two/{id}"}, "be-ref/resource-two"),
    ] {
        let argument = object! {"name": "city", "value": "be"};
        let params = object! {"ref": reference, "argument": argument};
        let answer = ask(&gateway, "completion/complete", params);
        assert_eq!(text_at(&answer, "/result/completion/values/0"), completed);
    }
}

#[test]
fn capabilities_are_those_of_the_servers() {
    let gateway = Gateway::start(&(two() + &server("plain", "\"plain\"", "")));
    let of = |path: &str| {
        let answer = ask_at(&gateway, path, &[], "server/discover", Object::new()).ok().json();
        answer.pointer("/result/capabilities").map(Json::compact).unwrap_or_default()
    };
    assert!(of("/mcp").contains("prompts") && of("/mcp").contains("subscribe"), "{}", of("/mcp"));
    assert!(of("/mcp/two").contains("completions"));
    assert_eq!(of("/mcp/plain"), r#"{"tools":{"listChanged":true},"resources":{}}"#);
}

#[test]
fn keys_bind_prompts_and_resources_by_the_prefix_of_the_server() {
    let key = |name: &str, tools: &str| {
        let hash = KeyHash::of(&format!("key-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\ntools = [{tools}]\n")
    };
    let config = key("one", "\"one_*\"") + &key("rows", "\"*_ask\", \"two_row:*\"") + &two();
    let gateway = Gateway::start(&config);
    let one = [("authorization", "Bearer key-one")];
    let rows = [("authorization", "Bearer key-rows")];
    let entries = |key: &[(&str, &str)], method: &str, list: &str| {
        let answer = ask_at(&gateway, "/mcp", key, method, Object::new()).ok().json();
        items_at(&answer, &format!("/result/{list}")).len()
    };
    assert_eq!(entries(&one, "prompts/list", "prompts"), 2);
    assert_eq!(entries(&one, "resources/list", "resources"), 2);
    assert_eq!(entries(&rows, "prompts/list", "prompts"), 2);
    assert_eq!(entries(&rows, "resources/list", "resources"), 0);
    assert_eq!(entries(&rows, "resources/templates/list", "resourceTemplates"), 1);
    let read = |key: &[(&str, &str)], uri: &str| {
        ask_at(&gateway, "/mcp", key, "resources/read", object! {"uri": uri}).json()
    };
    assert!(read(&rows, "mcp:two/row://two/1").get("result").is_some());
    assert!(read(&rows, "mcp:two/note://shared").get("error").is_some());
    assert!(read(&one, "mcp:two/note://shared").get("error").is_some());
    assert!(read(&one, "note://shared").get("result").is_some(), "there is only one for this key");
    let get = ask_at(&gateway, "/mcp", &one, "prompts/get", object! {"name": "two_ask"}).json();
    assert!(get.get("error").is_some());
}

/// Opens a subscription without a session.
pub(super) fn listen(gateway: &Gateway, notifications: Object) -> Asking {
    let own = object! {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": Object::new(),
    };
    let params = object! {"_meta": own, "notifications": notifications};
    let method = "subscriptions/listen";
    let body = object! {"jsonrpc": "2.0", "id": "s1", "method": method, "params": params};
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    gateway.ask("POST", "/mcp", &headers, body.compact().as_bytes())
}

#[test]
fn updates_and_changed_lists_reach_subscribers_of_both_eras() {
    let gateway = Gateway::start(&two());
    for name in ["one", "two"] {
        let uri = format!("mcp:{name}/note://shared");
        let uris = vec![Json::from(uri.as_str()), Json::from("mcp:one/other://x")];
        let mut stream = listen(
            &gateway,
            object! {"promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": uris},
        );
        let accepted = stream.until("\n\n");
        assert!(accepted.contains(&uri), "{accepted}");
        call_tool(&gateway, &format!("{name}_touch"), Object::new());
        let updated = stream.until("resources/updated");
        let rest = stream.until("\n\n");
        assert!((updated + &rest).contains(&uri), "{rest}");
        stream.until("prompts/list_changed");
        until("the new prompt", || {
            let prompts = listed(&gateway, "/mcp", "prompts/list", "prompts", "name");
            prompts.contains(&format!("{name}_new_0")).then_some(())
        });
        assert!(content(&read(&gateway, "/mcp", &uri)).1.ends_with("version 1"));
    }
}

#[test]
fn a_session_subscribes_to_resources() {
    let gateway = Gateway::start(&two());
    let json = ("content-type", "application/json");
    let begin = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let answer = gateway.post("/mcp", &[json], begin).ok();
    assert!(answer.text().contains("\"subscribe\":true"), "{}", answer.text());
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let headers = [json, ("mcp-session-id", id.as_str())];
    let mut stream = gateway.ask("GET", "/mcp", &headers, b"");
    stream.until("retry:");
    let send = |method: &str, uri: &str| {
        let body = object! {"jsonrpc": "2.0", "id": 2_u64, "method": method, "params": object! {"uri": uri}};
        gateway.post("/mcp", &headers, body.compact().as_bytes()).ok().json()
    };
    let (one, two) = ("mcp:one/note://shared", "mcp:two/note://shared");
    assert!(send("resources/subscribe", one).get("result").is_some());
    assert!(send("resources/subscribe", two).get("result").is_some());
    assert!(send("resources/unsubscribe", one).get("result").is_some());
    assert!(send("resources/subscribe", "mcp:three/x").get("error").is_some());
    call_tool(&gateway, "one_touch", Object::new());
    call_tool(&gateway, "two_touch", Object::new());
    let before = stream.until(two);
    assert!(!before.contains(one), "{before}");
}
