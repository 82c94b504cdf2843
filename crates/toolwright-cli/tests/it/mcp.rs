//! MCP servers behind the gateway, and the gateway as an MCP server. The servers are Python programs that share no
//! code with it.

mod add;
mod batch;
mod elicit;
mod features;
pub mod login;
mod pins;
mod secrets;
mod sets;
mod stdio;
mod stored;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_gateway::key::KeyHash;

use crate::exchange::tools::{CHAT, call, question, whole};
use crate::gateway::{Answer, Asking, Gateway, Upstream, items_at, table, text_at, until};

/// The table of a test server of a kind.
pub fn server(name: &str, kind: &str, more: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcp/servers/stdio.py");
    format!("[mcp.{name}]\ncommand = [\"python3\", \"{script}\", {kind}]\n{more}\n")
}

fn kind(kind: &str) -> String {
    format!("\"{kind}\"")
}

/// Sends a request without a session.
pub fn send_at(
    gateway: &Gateway,
    path: &str,
    headers: &[(&str, &str)],
    method: &str,
    mut params: Object,
) -> Asking {
    let own = object! {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": Object::new(),
    };
    params.insert("_meta", own);
    let name = params.get("name").or(params.get("uri")).and_then(Json::as_str);
    let name = name.unwrap_or_default().to_owned();
    let body = object! {"jsonrpc": "2.0", "id": 1_u64, "method": method, "params": params};
    let mut all = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        all.push(("mcp-name", &name));
    }
    all.extend(headers);
    gateway.ask("POST", path, &all, body.compact().as_bytes())
}

fn ask_at(
    gateway: &Gateway,
    path: &str,
    headers: &[(&str, &str)],
    method: &str,
    params: Object,
) -> Answer {
    send_at(gateway, path, headers, method, params).answer()
}

fn ask(gateway: &Gateway, method: &str, params: Object) -> Json {
    ask_at(gateway, "/mcp", &[], method, params).ok().json()
}

/// The names of the tools of MCP servers; those of the catalog are left out.
fn names_at(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Vec<String> {
    let listed = ask_at(gateway, path, headers, "tools/list", Object::new()).ok().json();
    let names = items_at(&listed, "/result/tools")
        .iter()
        .map(|tool| text_at(tool, "/name"))
        .collect::<Vec<_>>();
    names
        .into_iter()
        .filter(|name| {
            !name.contains("prefab") && !name.contains("function") && !name.contains("file")
        })
        .collect()
}

pub fn names(gateway: &Gateway) -> Vec<String> {
    names_at(gateway, "/mcp", &[])
}

fn call_tool(gateway: &Gateway, name: &str, arguments: Object) -> Json {
    ask(gateway, "tools/call", object! {"name": name, "arguments": arguments})
}

/// Waits for a line of the log.
fn logs(gateway: &Gateway, text: &str) {
    until(text, || gateway.log().contains(text).then_some(()));
}

fn text_of(answer: &Json) -> String {
    text_at(answer, "/result/content/0/text")
}

#[test]
fn a_dead_server_costs_its_own_tools_only() {
    let config = server("one", &kind("die"), "")
        + &server("two", &kind("plain"), "")
        + "[mcp.gone]\ncommand = [\"no-such-program\"]\n[mcp.shut]\nurl = \"http://127.0.0.1:1/mcp\"\n";
    let gateway = Gateway::start(&config);
    assert_eq!(names(&gateway), ["one_die", "one_live", "two_live"]);
    let died = call_tool(&gateway, "one_die", Object::new());
    assert_eq!(died.pointer("/result/isError").and_then(Json::as_bool), Some(true), "{died:?}");
    assert!(text_of(&died).contains("exit code 3"), "{}", text_of(&died));
    assert!(text_of(&died).contains("not known whether"), "{}", text_of(&died));
    // The others answer, and so does the server itself after it was started again.
    assert_eq!(text_of(&call_tool(&gateway, "two_live", Object::new())), "called live");
    assert_eq!(text_of(&call_tool(&gateway, "one_live", Object::new())), "called live");
    assert_eq!(names(&gateway), ["one_die", "one_live", "two_live"]);
    logs(&gateway, "the MCP server `gone` cannot list its tools");
    logs(&gateway, "the MCP server `shut` cannot list its tools");
}

#[test]
fn names_do_not_depend_on_other_servers() {
    let one = server("one", &kind("collide"), "");
    let alone = names(&Gateway::start(&one));
    let gateway = Gateway::start(&(one + &server("two", &kind("collide"), "")));
    let both = names(&gateway);
    assert_eq!(&both[..alone.len()], &alone[..]);
    assert!(both.contains(&"one_search".to_owned()) && both.contains(&"two_search".to_owned()));
    let is_legal = |name: &String| {
        name.len() <= 64
            && name.chars().all(|own| own.is_ascii_alphanumeric() || "_-".contains(own))
    };
    assert!(both.iter().all(is_legal), "{both:?}");
    // Three tools whose names differ only in characters that vendors refuse are all there, and called as such.
    let alike: Vec<&String> = alone.iter().filter(|name| name.starts_with("one_a_b")).collect();
    assert_eq!(alike.len(), 3, "{alone:?}");
    let mut called: Vec<String> =
        alike.iter().map(|name| text_of(&call_tool(&gateway, name, Object::new()))).collect();
    called.sort();
    assert_eq!(called, ["called a.b", "called a/b", "called a_b"]);
    logs(&gateway, "offers a.b as ");
}

#[test]
fn changes_of_the_tools_are_followed() {
    let gateway = Gateway::start(&server("s", &kind("change"), ""));
    assert_eq!(names(&gateway), ["s_swap", "s_before"]);
    call_tool(&gateway, "s_swap", Object::new());
    until("the other tool", || (names(&gateway) == ["s_swap", "s_after"]).then_some(()));
    assert_eq!(text_of(&call_tool(&gateway, "s_after", Object::new())), "called after");
    let gone = ask_at(&gateway, "/mcp", &[], "tools/call", object! {"name": "s_before"}).json();
    assert!(text_at(&gone, "/error/message").contains("s_before"), "{gone:?}");
}

#[test]
fn an_empty_list_replaces_the_last_one_only_if_it_is_confirmed() {
    let gateway = Gateway::start(&server("s", &kind("empty-once"), ""));
    assert_eq!(names(&gateway), ["s_swap", "s_stay"]);
    // The tools are listed again, first as none.
    call_tool(&gateway, "s_swap", Object::new());
    std::thread::sleep(std::time::Duration::from_millis(90));
    for _ in 0..20 {
        assert_eq!(names(&gateway), ["s_swap", "s_stay"]);
        std::thread::sleep(std::time::Duration::from_millis(90));
    }
}

#[test]
fn numbers_keep_every_digit() {
    let gateway = Gateway::start(&server("s", &kind("rows"), ""));
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_echo","arguments":{"value":[123456789012345678901234567890,9007199254740993,18446744073709551615]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "s_echo"),
    ];
    let answer = gateway.post("/mcp", &headers, body.as_bytes()).ok();
    let digits = "[123456789012345678901234567890,9007199254740993,18446744073709551615]";
    assert!(answer.text().replace(' ', "").contains(digits), "{}", answer.text());
}

#[test]
fn tools_that_cannot_be_offered_are_quarantined() {
    let gateway = Gateway::start(&server("s", &kind("bad-schemas"), ""));
    assert_eq!(names(&gateway), ["s_good"]);
    assert_eq!(text_of(&call_tool(&gateway, "s_good", Object::new())), "called good");
    for tool in ["no_schema_object", "broken", "remote", "header", "huge"] {
        logs(&gateway, &format!("does not offer {tool}:"));
    }
}

#[test]
fn hostile_servers_are_bounded_and_do_not_affect_others() {
    let folder = tempfile::tempdir().unwrap();
    let cancelled = folder.path().join("cancelled");
    let hang = format!("\"hang\", {:?}", cancelled.display().to_string());
    let config = server("endless", &kind("endless"), "")
        + &server("garbage", &kind("garbage"), "")
        + &server("hang", &hang, "deadline = \"300ms\"")
        + &server("flood", &kind("flood"), "");
    let gateway = Gateway::start(&config);
    let listed = names(&gateway);
    assert!(!listed.iter().any(|name| name.starts_with("endless")), "{listed:?}");
    logs(&gateway, "pages of tools");
    let garbage = call_tool(&gateway, "garbage_live", Object::new());
    assert!(text_of(&garbage).contains("invalid message"), "{garbage:?}");
    let late = call_tool(&gateway, "hang_hang", Object::new());
    assert_eq!(late.pointer("/result/isError").and_then(Json::as_bool), Some(true), "{late:?}");
    until("the cancellation", || read(&cancelled).filter(|text| !text.is_empty()));
    let flood = call_tool(&gateway, "flood_flood", Object::new());
    assert!(text_of(&flood).contains("message of more than"), "{flood:?}");
    assert_eq!(text_of(&call_tool(&gateway, "flood_live", Object::new())), "called live");
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[test]
fn hidden_parameters_of_remote_tools_come_from_the_configuration() {
    let config =
        server("s", &kind("rows"), "[mcp.s.hide.count_rows]\nexecutor = { const = \"local\" }");
    let gateway = Gateway::start(&config);
    let listed = ask(&gateway, "tools/list", Object::new());
    assert!(!listed.compact().contains("executor"), "{listed:?}");
    // A value that the model supplies is not used.
    let arguments = object! {"rows": vec![Json::from(1_u64)], "executor": "theirs"};
    assert_eq!(text_of(&call_tool(&gateway, "s_count_rows", arguments)), "[1, \"local\"]");
}

#[test]
fn keys_bind_the_tools_of_servers() {
    let key = |name: &str, tools: &str| {
        format!(
            "[keys.{name}]\nhash = \"{}\"\ntools = [{tools}]\n",
            KeyHash::of(&format!("key-{name}"))
        )
    };
    let config = key("all", "\"*\"") + &key("some", "\"s_echo\"") + &server("s", &kind("rows"), "");
    let gateway = Gateway::start(&config);
    let bearer = [("authorization", "Bearer key-some")];
    assert_eq!(names_at(&gateway, "/mcp", &bearer), ["s_echo"]);
    let params = object! {"name": "s_read_rows", "arguments": Object::new()};
    let refused = ask_at(&gateway, "/mcp", &bearer, "tools/call", params).json();
    assert!(refused.get("error").is_some(), "{refused:?}");
    let all = [("authorization", "Bearer key-all")];
    assert_eq!(names_at(&gateway, "/mcp", &all).len(), 3);
    assert_eq!(names_at(&gateway, "/mcp/s", &all).len(), 3);
    assert_eq!(ask_at(&gateway, "/mcp/none", &all, "tools/list", Object::new()).status, 404);
    assert_eq!(ask_at(&gateway, "/mcp", &[], "tools/list", Object::new()).status, 401);
    // A page of another site is refused with and without a key.
    let page = [("authorization", "Bearer key-all"), ("origin", "https://evil.example")];
    let refused = ask_at(&gateway, "/mcp", &page, "tools/list", Object::new());
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("with or without a key"), "{}", refused.text());
}

#[test]
fn data_of_a_function_stay_out_of_the_answer_of_call_prefab_function() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.csv"), "name,city\nAda,London\n").unwrap();
    let gateway = Gateway::start_with(folder, "[tools]\nroot = \".\"\n");
    let parameters = object! {"path": "people.csv"};
    let arguments = object! {
        "prefab_id": "builtin-tables", "version": "latest", "function_name": "read_csv", "parameters": parameters,
    };
    let text = text_of(&call_tool(&gateway, "call_prefab_function", arguments));
    assert!(text.contains("1 row") && text.contains("tw:"), "{text}");
    assert!(!text.contains("Ada") && !text.contains("London"), "{text}");
}

#[test]
fn a_call_whose_stream_cannot_be_continued_may_have_had_its_effect() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/mcp/servers/cut.py");
    let mut command = Command::new("python3");
    let mut process = command.arg(script).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let gateway = Gateway::start(&format!("[mcp.s]\nurl = \"{url}\"\n"));
    assert_eq!(names(&gateway), ["s_work"]);
    let text = text_of(&call_tool(&gateway, "s_work", Object::new()));
    process.wait().unwrap();
    assert!(text.contains("not known whether the call had its effect"), "{text}");
    assert!(text.contains("could not be continued"), "{text}");
    // Why the second request failed, and what to do about it, does not hold for the call.
    assert!(!text.contains("try again") && !text.contains("cannot be reached"), "{text}");
}

#[test]
fn invalid_arguments_are_a_result_that_says_how_to_mend_them() {
    let gateway = Gateway::start(&server("s", &kind("rows"), ""));
    let wrong = object! {"count": vec![Json::from("many")]};
    let answer = call_tool(&gateway, "s_read_rows", wrong);
    assert_eq!(answer.pointer("/result/isError").and_then(Json::as_bool), Some(true));
    let text = text_of(&answer);
    assert!(text.starts_with("Invalid input for tool s_read_rows"), "{text}");
    assert!(text.contains("count"), "{text}");
}

#[test]
fn a_session_of_the_handshake_ends_with_delete_and_belongs_to_its_client() {
    let key =
        |name: &str| format!("[keys.{name}]\nhash = \"{}\"\n", KeyHash::of(&format!("key-{name}")));
    let gateway = Gateway::start(&(key("alice") + &key("bob") + &server("s", &kind("rows"), "")));
    let alice = ("authorization", "Bearer key-alice");
    let json = ("content-type", "application/json");
    let begin = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let answer = gateway.post("/mcp", &[alice, json], begin).ok();
    assert_eq!(text_at(&answer.json(), "/result/protocolVersion"), "2025-06-18");
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let list = br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let session = ("mcp-session-id", id.as_str());
    let listed = gateway.post("/mcp", &[alice, json, session], list).ok().json();
    assert!(listed.compact().contains("s_echo"));
    let bob = ("authorization", "Bearer key-bob");
    assert_eq!(gateway.post("/mcp", &[bob, json, session], list).status, 404);
    assert_eq!(gateway.ask("DELETE", "/mcp", &[bob, session], b"").answer().status, 404);
    assert_eq!(gateway.ask("DELETE", "/mcp", &[alice, session], b"").answer().status, 204);
    assert_eq!(gateway.post("/mcp", &[alice, json, session], list).status, 404);
}

#[test]
fn a_chat_model_calls_the_tools_of_a_server() {
    let counted = call(0, "call_1", "s_count_rows", r#"{"rows": [1, 2]}"#);
    let upstream = Upstream::start([whole("", &[counted]), whole("two", &[])]);
    let config = table("up", "openai-chat", &upstream) + &server("s", &kind("rows"), "");
    let gateway = Gateway::start(&config);
    let wanted = [("toolwright-tools", "mcp:s")];
    let answer = gateway.post(CHAT, &wanted, question(false, "").as_bytes()).ok();
    assert_eq!(text_at(&answer.json(), "/choices/0/message/content"), "two");
    let sent = upstream.last().text();
    assert!(sent.contains("[2, null]"), "{sent}");
}

#[test]
fn a_client_does_not_approve_its_own_calls_without_the_right_to() {
    let key = |name: &str, more: &str| {
        let hash = KeyHash::of(&format!("key-{name}"));
        format!("[keys.{name}]\nhash = \"{hash}\"\n{more}\n")
    };
    let config = key("alice", "") + &key("boss", "approve = [\"*\"]") + "[tools]\nroot = \".\"\n";
    let gateway = Gateway::start(&config);
    let write = |name: &str, file: &str, more: Object| {
        let arguments = object! {"path": file, "content": "written"};
        let mut params = object! {"name": "write_file", "arguments": arguments};
        params.merge(&more);
        let capabilities = object! {"elicitation": Object::new()};
        let own = object! {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        };
        params.insert("_meta", own);
        let body =
            object! {"jsonrpc": "2.0", "id": 1_u64, "method": "tools/call", "params": params};
        let bearer = format!("Bearer key-{name}");
        let headers = [
            ("content-type", "application/json"),
            ("authorization", &*bearer),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "write_file"),
        ];
        gateway.post("/mcp", &headers, body.compact().as_bytes()).ok().json()
    };
    let accept = || object! {"approval": object! {"action": "accept"}};
    let early = || object! {"inputResponses": accept()};
    let refused = write("alice", "a.txt", early());
    assert!(text_of(&refused).contains("approval"), "{refused:?}");
    assert!(!gateway.file("a.txt").exists());
    // Who may approve is asked first: an answer before the question does not count.
    let asked = write("boss", "b.txt", early());
    assert_eq!(text_at(&asked, "/result/resultType"), "input_required", "{asked:?}");
    assert!(!gateway.file("b.txt").exists());
    let state = text_at(&asked, "/result/requestState");
    let mut more = early();
    more.insert("requestState", state.as_str());
    let stolen = write("alice", "b.txt", more.clone());
    assert!(stolen.compact().contains("approval") || stolen.get("error").is_some(), "{stolen:?}");
    assert!(!gateway.file("b.txt").exists());
    let done = write("boss", "b.txt", more);
    assert!(done.pointer("/result/isError").is_none(), "{done:?}");
    assert!(gateway.file("b.txt").exists());
}

#[test]
fn an_unknown_method_does_not_end_a_session_and_a_repeated_id_is_refused() {
    let gateway = Gateway::start(&server("s", &kind("rows"), ""));
    let json = ("content-type", "application/json");
    let begin = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let answer = gateway.post("/mcp", &[json], begin).ok();
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let headers = [json, ("mcp-session-id", id.as_str())];
    let unknown = gateway.post("/mcp", &headers, br#"{"jsonrpc":"2.0","id":2,"method":"no/such"}"#);
    assert_eq!(unknown.status, 200, "{}", unknown.text());
    assert!(unknown.text().contains("-32601"), "{}", unknown.text());
    let gone = [headers[0], headers[1], ("last-event-id", "77-1")];
    assert_eq!(gateway.get("/mcp", &gone).status, 400);
    for _ in 0..50 {
        let call = br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"s_echo","arguments":{},"_meta":{"progressToken":1}}}"#;
        let answer = gateway.post("/mcp", &headers, call).ok();
        assert!(answer.text().contains("\"result\""), "{}", answer.text());
    }
}
