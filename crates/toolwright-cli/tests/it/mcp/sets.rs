//! Named sets of tools.

use toolwright_core::json::Object;
use toolwright_gateway::key::KeyHash;

use super::{ask_at, kind, names_at, server};
use crate::exchange::tools::{CHAT, call, question, whole};
use crate::gateway::{Gateway, Upstream, items_at, table, text_at};

/// Two servers, and a set of some of their tools.
fn config() -> String {
    server("rows", &kind("rows"), "")
        + &server("notes", "\"features\", \"notes\"", "")
        + "[tool_sets.office]\ntools = [\"rows_*_rows\", \"mcp:notes\", \"catalog_none_*\"]\n"
}

#[test]
fn a_set_has_a_place_of_its_own() {
    let gateway = Gateway::start(&config());
    let tools = ["rows_read_rows", "rows_count_rows", "notes_touch", "notes_link"];
    let mut listed = names_at(&gateway, "/mcp/office", &[]);
    listed.sort();
    let mut expected = tools.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(listed, expected);
    let answer = ask_at(&gateway, "/mcp/office", &[], "resources/list", Object::new()).ok().json();
    let resources = items_at(&answer, "/result/resources");
    assert_eq!(text_at(&resources[0], "/uri"), "mcp:notes/note://shared");
    let missing = ask_at(&gateway, "/mcp/none", &[], "tools/list", Object::new());
    assert_eq!(missing.status, 404);
}

#[test]
fn a_key_binds_a_set() {
    let hash = KeyHash::of("key-some");
    let key = format!("[keys.some]\nhash = \"{hash}\"\ntools = [\"rows_*\"]\n");
    let gateway = Gateway::start(&(key + &config()));
    let bearer = [("authorization", "Bearer key-some")];
    let mut listed = names_at(&gateway, "/mcp/office", &bearer);
    listed.sort();
    assert_eq!(listed, ["rows_count_rows", "rows_read_rows"]);
    let prompts = ask_at(&gateway, "/mcp/office", &bearer, "prompts/list", Object::new());
    assert!(items_at(&prompts.ok().json(), "/result/prompts").is_empty());
}

#[test]
fn a_chat_request_names_a_set() {
    let counted = call(0, "call_1", "rows_count_rows", r#"{"rows": [1, 2]}"#);
    let upstream = Upstream::start([whole("", &[counted]), whole("two", &[])]);
    let gateway = Gateway::start(&(table("up", "openai-chat", &upstream) + &config()));
    let wanted = [("toolwright-tools", "office")];
    let answer = gateway.post(CHAT, &wanted, question(false, "").as_bytes()).ok();
    assert_eq!(text_at(&answer.json(), "/choices/0/message/content"), "two");
    let sent = upstream.received()[0].text();
    assert!(sent.contains("notes_touch") && !sent.contains("rows_echo"), "{sent}");
}
