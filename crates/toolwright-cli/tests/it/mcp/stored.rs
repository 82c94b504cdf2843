//! Values that pass from one MCP server to another: slots and handles.

use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_gateway::key::KeyHash;

use super::{kind, server};
use crate::exchange::tools::{CHAT, call, question, whole};
use crate::gateway::{Answer, Gateway, Reply, Upstream, items_at, table, text_at};

/// Slots from the server `a` to the server `b`, and keys of two tenants.
fn config() -> String {
    let key = |name: &str| {
        let hash = KeyHash::of(&format!("key-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\ntenant = \"{name}\"\n")
    };
    let slots = "[mcp.a.slots.read_rows]\nstore = \"table\"\npart = \"/rows\"\n\
                 reply = \"已读取 {count} 行\"";
    let hide = "[mcp.b.hide.count_rows]\nrows = { slot = \"table\" }";
    key("alice")
        + &key("bob")
        + &server("a", &kind("rows"), slots)
        + &server("b", &kind("rows"), hide)
        + &server("d", &kind("data"), "[mcp.d.parameters.digest]\ndata = { as = \"base64\" }")
}

/// Sends a request without a session. The name of a key is the first argument.
fn send(
    gateway: &Gateway,
    key: &str,
    headers: &[(&str, &str)],
    conversation: Option<&str>,
    method: &str,
    params: Object,
) -> Json {
    let mut params = params;
    let mut own = object! {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": Object::new(),
    };
    own.insert_some("toolwright-conversation", conversation);
    params.insert("_meta", own);
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Json::as_str);
    let name = name.unwrap_or_default().to_owned();
    let body = object! {"jsonrpc": "2.0", "id": 1_u64, "method": method, "params": params};
    let bearer = format!("Bearer key-{key}");
    let mut all = vec![
        ("content-type", "application/json"),
        ("authorization", &bearer),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", &name),
    ];
    all.extend(headers);
    gateway.post("/mcp", &all, body.compact().as_bytes()).json()
}

/// Calls a tool in a conversation that the metadata name.
fn call_in(
    gateway: &Gateway,
    key: &str,
    conversation: &str,
    name: &str,
    arguments: Object,
) -> Json {
    let params = object! {"name": name, "arguments": arguments};
    send(gateway, key, &[], Some(conversation), "tools/call", params)
}

fn read_in(gateway: &Gateway, key: &str, conversation: &str, uri: &str) -> Json {
    send(gateway, key, &[], Some(conversation), "resources/read", object! {"uri": uri})
}

fn text_of(answer: &Json) -> String {
    text_at(answer, "/result/content/0/text")
}

fn rows(count: u64) -> Object {
    object! {"count": count}
}

#[test]
fn a_slot_passes_rows_from_server_to_server_in_a_conversation() {
    let gateway = Gateway::start(&config());
    let empty = call_in(&gateway, "alice", "one", "b_count_rows", Object::new());
    assert_eq!(empty.pointer("/result/isError").and_then(Json::as_bool), Some(true), "{empty:?}");
    assert!(text_of(&empty).contains("Call a_read_rows first"), "{empty:?}");
    let read = call_in(&gateway, "alice", "one", "a_read_rows", rows(2000));
    assert_eq!(text_of(&read), "已读取 2000 行");
    assert!(!read.compact().contains("secret"), "{read:?}");
    // The schema does not have the parameter, and a value that the model writes is not used.
    let listed = send(&gateway, "alice", &[], None, "tools/list", Object::new());
    let is_counting = |tool: &&Json| text_at(tool, "/name") == "b_count_rows";
    let tools = items_at(&listed, "/result/tools");
    let tool = tools.iter().find(is_counting).unwrap();
    assert!(tool.pointer("/inputSchema/properties/rows").is_none(), "{tool:?}");
    let supplied = object! {"rows": vec![Json::from(1_u64)]};
    let counted = call_in(&gateway, "alice", "one", "b_count_rows", supplied);
    assert_eq!(text_of(&counted), "[2000, null]");
    // Neither another conversation nor another tenant has the slot.
    for (key, conversation) in [("alice", "two"), ("bob", "one")] {
        let empty = call_in(&gateway, key, conversation, "b_count_rows", Object::new());
        assert!(text_of(&empty).contains("is not stored yet"), "{key} {conversation}: {empty:?}");
    }
    let gateway = gateway.restart(&config());
    let counted = call_in(&gateway, "alice", "one", "b_count_rows", Object::new());
    assert_eq!(text_of(&counted), "[2000, null]");
}

#[test]
fn a_header_or_a_session_names_the_conversation_of_slots() {
    let gateway = Gateway::start(&config());
    let call = |headers: &[(&str, &str)], name: &str| {
        let params = object! {"name": name, "arguments": Object::new()};
        send(&gateway, "alice", headers, None, "tools/call", params)
    };
    let named = [("toolwright-conversation", "thread-7")];
    assert_eq!(text_of(&call(&named, "a_read_rows")), "已读取 {count} 行");
    assert_eq!(text_of(&call(&named, "b_count_rows")), "[3, null]");
    // Without a conversation, nothing is stored: another one would read it.
    let refused = call(&[], "a_read_rows");
    assert!(text_of(&refused).contains("toolwright-conversation"), "{refused:?}");
    let invalid = object! {"name": "a_read_rows", "arguments": Object::new()};
    let invalid = send(&gateway, "alice", &[], Some("a b"), "tools/call", invalid);
    assert!(text_at(&invalid, "/error/message").contains("toolwright-conversation"), "{invalid:?}");
    let begin = || {
        let bearer = ("authorization", "Bearer key-alice");
        let json = ("content-type", "application/json");
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
        let answer = gateway.post("/mcp", &[bearer, json], body).ok();
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        let gateway = &gateway;
        move |name: &str| -> Answer {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{name}"}}}}"#
            );
            let session = ("mcp-session-id", id.as_str());
            gateway.post("/mcp", &[bearer, json, session], body.as_bytes()).ok()
        }
    };
    let (one, other) = (begin(), begin());
    one("a_read_rows");
    assert!(one("b_count_rows").text().contains("[3, null]"));
    assert!(other("b_count_rows").text().contains("Call a_read_rows first"));
}

#[test]
fn a_model_moves_rows_that_no_message_has() {
    let calls = [call(0, "call_1", "a_read_rows", r#"{"count": 500}"#)];
    let counts = [call(0, "call_2", "b_count_rows", "{}")];
    let upstream = Upstream::start([whole("", &calls), whole("", &counts), whole("done", &[])]);
    let config = table("up", "openai-chat", &upstream) + &config();
    let gateway = Gateway::start(&config);
    let headers = [("toolwright-tools", "mcp:a,mcp:b"), ("authorization", "Bearer key-alice")];
    let answer = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    assert_eq!(text_at(&answer.json(), "/choices/0/message/content"), "done");
    let sent = upstream.last().text();
    assert!(sent.contains("[500, null]") && sent.contains("已读取 500 行"), "{sent}");
    assert!(upstream.received().iter().all(|request| !request.text().contains("secret")));
}

#[test]
fn a_large_result_is_a_handle_that_its_tenant_reads_and_passes_on() {
    let gateway = Gateway::start(&config());
    let large = call_in(&gateway, "alice", "one", "d_table", rows(5000));
    let link = items_at(&large, "/result/content").pop().unwrap();
    assert_eq!(text_at(&link, "/type"), "resource_link", "{large:?}");
    let (uri, handle) = (text_at(&link, "/uri"), text_at(&link, "/name"));
    assert_eq!(uri, format!("toolwright://handle/{handle}"));
    assert!(large.compact().len() < 4000, "{large:?}");
    // The result satisfies the schema that is listed.
    assert_eq!(text_at(&large, "/result/structuredContent/handle"), handle);
    let listed = send(&gateway, "alice", &[], None, "tools/list", Object::new());
    let tools = items_at(&listed, "/result/tools");
    let tool = tools.iter().find(|tool| text_at(tool, "/name") == "d_table").unwrap();
    let schema = tool.get("outputSchema").unwrap();
    assert_eq!(text_at(schema, "/type"), "object");
    let check = toolwright_core::schema::Check::compile(schema).unwrap();
    let small = call_in(&gateway, "alice", "one", "d_table", rows(3));
    for answer in [&large, &small] {
        let structured = answer.pointer("/result/structuredContent").unwrap();
        assert!(check.violations(structured).is_empty(), "{structured:?} {schema:?}");
    }
    let wrong = object! {"rows": vec![Json::from(1_u64)]}.into();
    assert!(!check.violations(&wrong).is_empty());
    // The value is read, whole or in part, and passed to another server.
    let whole = read_in(&gateway, "alice", "one", &uri);
    let text = text_at(&whole, "/result/contents/0/text");
    assert_eq!(items_at(&Json::parse(&text).unwrap(), "/rows").len(), 5000);
    let name = text_at(
        &read_in(&gateway, "alice", "one", &format!("{uri}#/rows/7/name")),
        "/result/contents/0/text",
    );
    assert_eq!(name.len(), 12);
    let passed = object! {"value": format!("{handle}#/rows/7")};
    let echoed = call_in(&gateway, "alice", "one", "a_echo", passed);
    assert_eq!(text_at(&echoed, "/result/structuredContent/value/name"), name);
    // Nobody else reads it; what does not exist is the same error.
    for (key, conversation) in [("alice", "two"), ("bob", "one")] {
        let refused = read_in(&gateway, key, conversation, &uri);
        assert!(refused.compact().contains("-32602"), "{refused:?}");
        assert_eq!(text_at(&refused, "/error/message"), "Resource not found: no such handle");
        let passed = object! {"value": handle.as_str()};
        let refused = call_in(&gateway, key, conversation, "a_echo", passed);
        assert!(text_of(&refused).contains("there is no data under"), "{refused:?}");
    }
    let unknown = read_in(&gateway, "alice", "one", "toolwright://handle/tw:0");
    assert_eq!(text_at(&unknown, "/error/message"), "Resource not found: no such handle");
    let gateway = gateway.restart(&config());
    let again = read_in(&gateway, "alice", "one", &uri);
    assert_eq!(text_at(&again, "/result/contents/0/text"), text);
}

#[test]
fn binary_data_pass_as_base64_by_slot_and_by_handle() {
    let data = |more: &str| server("d", &kind("data"), more);
    // By handle: the result is hidden from models.
    let config =
        data("hide_results = [\"image\"]\n[mcp.d.parameters.digest]\ndata = { as = \"base64\" }");
    let gateway = Gateway::start(&config);
    let listed = send(&gateway, "", &[], None, "tools/list", Object::new());
    assert!(listed.compact().contains("Or a handle from an earlier result"), "{listed:?}");
    let image = call_in(&gateway, "", "one", "d_image", Object::new());
    assert!(text_of(&image).contains("3.0 kB of image/png"), "{image:?}");
    let link = items_at(&image, "/result/content").pop().unwrap();
    assert_eq!(
        (text_at(&link, "/mimeType"), link.get("size")),
        ("image/png".to_owned(), Some(&Json::from(3000_u64)))
    );
    let handle = text_at(&link, "/name");
    let blob = read_in(&gateway, "", "one", &text_at(&link, "/uri"));
    assert_eq!(text_at(&blob, "/result/contents/0/blob").len(), 4000);
    let digest = call_in(&gateway, "", "one", "d_digest", object! {"data": handle.as_str()});
    assert_eq!(text_of(&digest).len(), 64, "{digest:?}");
    // The server decodes the bytes; the client gets the same ones.
    let same = call_in(
        &gateway,
        "",
        "one",
        "d_digest",
        object! {"data": text_at(&blob, "/result/contents/0/blob")},
    );
    assert_eq!(text_of(&same), text_of(&digest));
    // By slot: nothing is passed.
    let config = data(
        "[mcp.d.slots.image]\nstore = \"picture\"\n\
         [mcp.d.hide.digest]\ndata = { slot = \"picture\", as = \"base64\" }",
    );
    gateway.reload(&config);
    let stored = crate::gateway::until("the slot", || {
        let image = call_in(&gateway, "", "one", "d_image", Object::new());
        text_of(&image).starts_with("Done.").then_some(image)
    });
    assert!(text_of(&stored).contains("3.0 kB of image/png"), "{stored:?}");
    let digest = call_in(&gateway, "", "one", "d_digest", Object::new());
    assert_eq!(text_of(&digest).len(), 64, "{digest:?}");
}

#[test]
fn settings_of_a_tool_that_a_server_does_not_have_are_reported() {
    let more = "hide_results = [\"read_row\"]\n[mcp.s.slots.none]\nstore = \"table\"";
    let gateway = Gateway::start(&server("s", &kind("rows"), more));
    let listed = "has settings for the tool";
    super::logs(
        &gateway,
        &format!("{listed} read_row, which it does not list (did you mean read_rows?)"),
    );
    super::logs(&gateway, &format!("{listed} none, which it does not list"));
}

#[test]
fn hidden_results_show_no_values_to_a_model() {
    let reads = [call(0, "call_1", "d_table", r#"{"count": 3}"#)];
    let upstream = Upstream::start([
        whole("", &reads),
        Reply::made(|request| {
            // The model passes the handle that it has read.
            let text = request.text();
            let start = text.find("tw:").unwrap();
            let handle = format!(r#"{{"value": "{}#/rows"}}"#, &text[start..start + 35]);
            whole("", &[call(0, "call_2", "d_echo", &handle)])
        }),
        whole("done", &[]),
    ]);
    let config = table("up", "openai-chat", &upstream)
        + &server("d", &kind("data"), "hide_results = [\"table\"]")
        + &server("e", &kind("rows"), "names = { echo = \"d_echo\" }\nhide_results = [\"echo\"]");
    let gateway = Gateway::start(&config);
    let headers = [("toolwright-tools", "d_table,d_echo")];
    let answer = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
    assert_eq!(text_at(&answer.json(), "/choices/0/message/content"), "done");
    let sent = upstream.last().text();
    assert!(sent.contains("object with 1 key: rows"), "{sent}");
    assert!(sent.contains("object with 1 key: value"), "{sent}");
    assert!(!sent.contains(r#"\"name\":\""#), "{sent}");
}
