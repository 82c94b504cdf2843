//! Replies that passed through from an upstream of the Responses API, which stores responses
//! itself.

use super::*;

/// A whole response that the vendor has stored.
fn vendor_said(id: &str, text: &str) -> Reply {
    Reply::json(200, response(id, text))
}

fn response(id: &str, text: &str) -> String {
    format!(
        r#"{{"id":"{id}","object":"response","created_at":1,"status":"completed","store":true,"model":"gpt-x","output":[{{"id":"msg_of_{id}","type":"message","status":"completed","role":"assistant","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}],"usage":null}}"#
    )
}

/// The same as a stream, in pieces of thirteen bytes.
fn vendor_streamed(id: &str, text: &str) -> Reply {
    let begun = format!(
        r#"{{"id":"{id}","object":"response","status":"in_progress","store":true,"output":[]}}"#
    );
    let body = format!(
        "event: response.created\ndata: {{\"type\":\"response.created\",\"response\":{begun}}}\n\n\
         event: response.completed\ndata: {{\"type\":\"response.completed\",\"response\":{}}}\n\n",
        response(id, text)
    );
    Reply::stream("text/event-stream", body.as_bytes(), 13)
}

/// Models of a vendor with state and of one without; `both` tries one after the other.
fn config(openai: &Upstream, claude: &Upstream) -> String {
    format!(
        "{}{}[models]\nfast = \"openai/gpt-x\"\nslow = \"claude/claude-x\"\n\
         both = [\"openai/gpt-x\", \"claude/claude-x\"]\n{}{}",
        table("openai", "openai-responses", openai),
        table("claude", "anthropic", claude),
        client("alice"),
        client("bob")
    )
}

const ALICE: [(&str, &str); 1] = [("authorization", "Bearer key-alice")];
const BOB: [(&str, &str); 1] = [("authorization", "Bearer key-bob")];

fn post(gateway: &Gateway, who: &[(&str, &str)], model: &str, input: &str, more: &str) -> Answer {
    let body = format!(r#"{{"model":"{model}","input":{input}{more}}}"#);
    gateway.post(PATH, who, body.as_bytes())
}

#[test]
fn vendor_ids_go_only_to_that_vendor_and_from_their_client() {
    for stream in [false, true] {
        let reply =
            if stream { vendor_streamed("resp_v", "A") } else { vendor_said("resp_v", "A") };
        let openai =
            Upstream::start([reply, vendor_said("resp_w", "B"), vendor_said("resp_x", "C")]);
        let claude = Upstream::start([]);
        let gateway = Gateway::start(&config(&openai, &claude));
        let more = format!(r#","stream":{stream}"#);
        post(&gateway, &ALICE, "fast", "\"Hi.\"", &more).ok();
        // The bytes pass unchanged, including the id.
        let more = continues("resp_v");
        post(&gateway, &ALICE, "fast", "\"So?\"", &more).ok();
        let sent = openai.last().json();
        assert_eq!(text_at(&sent, "/previous_response_id"), "resp_v");
        assert_eq!(text_at(&sent, "/input"), "So?");
        let reference = r#"[{"type":"item_reference","id":"msg_of_resp_v"}]"#;
        post(&gateway, &ALICE, "fast", reference, "").ok();
        assert_eq!(text_at(&openai.last().json(), "/input/0/type"), "item_reference");
        // Another upstream does not know them, and another client may not use them.
        is_previous_not_found(&post(&gateway, &ALICE, "slow", "\"So?\"", &more), "resp_v");
        is_item_not_found(&post(&gateway, &ALICE, "slow", reference, ""), "msg_of_resp_v");
        is_previous_not_found(&post(&gateway, &BOB, "fast", "\"So?\"", &more), "resp_v");
        is_item_not_found(&post(&gateway, &BOB, "fast", reference, ""), "msg_of_resp_v");
        is_previous_not_found(
            &post(&gateway, &ALICE, "fast", "\"So?\"", &continues("resp_u")),
            "resp_u",
        );
        assert_eq!((openai.received().len(), claude.received().len()), (3, 0));
    }
}

#[test]
fn a_lookup_of_a_vendors_response_goes_to_the_vendor() {
    let openai = Upstream::start([
        vendor_said("resp_v", "A"),
        vendor_said("resp_v", "A"),
        Reply::json(
            404,
            r#"{"error":{"message":"No such key: sk-upstream-secret","type":"invalid_request_error","param":null,"code":"gone"}}"#,
        ),
        Reply::json(200, r#"{"object":"list","data":[]}"#),
        Reply::json(200, r#"{"id":"resp_v","object":"response","deleted":true}"#),
    ]);
    let claude = Upstream::start([]);
    let gateway = Gateway::start(&config(&openai, &claude));
    post(&gateway, &ALICE, "fast", "\"Hi.\"", "").ok();
    let path = format!("{PATH}/resp_v");
    assert_eq!(gateway.get(&path, &BOB).status, 404);
    let found = gateway.get(&format!("{path}?include=x"), &ALICE).ok();
    assert_eq!(found.text(), response("resp_v", "A"));
    let asked = openai.last();
    assert_eq!((asked.method.as_str(), &*asked.path), ("GET", "/v1/responses/resp_v?include=x"));
    assert_eq!(asked.header("authorization"), Some("Bearer sk-upstream-secret"));
    let refused = gateway.get(&path, &ALICE);
    assert_eq!((refused.status, text_at(&refused.json(), "/error/code").as_str()), (404, "gone"));
    assert!(!refused.text().contains("sk-upstream-secret"), "{}", refused.text());
    gateway.get(&format!("{path}/input_items?limit=3"), &ALICE).ok();
    assert_eq!(openai.last().path, "/v1/responses/resp_v/input_items?limit=3");
    gateway.ask("DELETE", &path, &ALICE, b"").answer().ok();
    assert_eq!(openai.last().method, "DELETE");
    assert_eq!(gateway.get(&path, &ALICE).status, 404);
    assert_eq!(openai.received().len(), 5);
}

#[test]
fn a_conversation_moves_from_a_vendor_without_state_to_one_with_it() {
    let overloaded = Reply::json(500, r#"{"error":{"message":"overloaded"}}"#);
    let openai = Upstream::start([overloaded, vendor_said("resp_v", "B")]);
    let claude = Upstream::start([thinking_call()]);
    let gateway = Gateway::start(&config(&openai, &claude));
    let first = id_of(&post(&gateway, &ALICE, "both", "\"Time?\"", "").ok());
    let output = r#"[{"type":"function_call_output","call_id":"toolu_1","output":"12:00"}]"#;
    let answer = post(&gateway, &ALICE, "both", output, &continues(&first)).ok().json();
    let sent = openai.last().json();
    assert_eq!(at(&sent, "/previous_response_id"), Json::Null, "the vendor does not know it");
    let items = items_at(&sent, "/input");
    let kinds: Vec<String> = items
        .iter()
        .map(|item| at(item, "/type").as_str().unwrap_or("message").to_owned())
        .collect();
    assert_eq!(kinds, ["message", "message", "function_call", "function_call_output"]);
    assert!(items.iter().all(|item| at(item, "/id") == Json::Null), "{}", sent.compact());
    assert_eq!(text_at(&answer, "/previous_response_id"), first);
    assert_ne!(text_at(&answer, "/id"), "resp_v", "the gateway has this conversation");
    // So the conversation can continue with any upstream.
    claude.then(said("Bye."));
    post(&gateway, &ALICE, "slow", "\"Bye.\"", &continues(&text_at(&answer, "/id"))).ok();
    let last = history(&claude);
    assert_eq!(last.first().map(String::as_str), Some("user: Time?"));
    assert_eq!(last.last().map(String::as_str), Some("user: Bye."));
}

#[test]
fn without_keys_unknown_ids_are_forwarded_to_the_vendor() {
    let openai = Upstream::start([vendor_said("resp_v", "A")]);
    let config = format!(
        "{}[models]\nfast = \"openai/gpt-x\"\n",
        table("openai", "openai-responses", &openai)
    );
    let gateway = Gateway::start(&config);
    let more = r#","previous_response_id":"resp_before","conversation":null"#;
    ask(&gateway, "\"Hi.\"", more).ok();
    assert_eq!(text_at(&openai.last().json(), "/previous_response_id"), "resp_before");
    openai.then(vendor_said("resp_w", "B"));
    ask(&gateway, "\"Hi.\"", r#","conversation":"conv_1","background":true"#).ok();
    assert_eq!(text_at(&openai.last().json(), "/conversation"), "conv_1");
}

/// Replies of a server without state: they do not say that they were stored.
fn without_state(reply: Reply) -> Reply {
    let forget = |text: Vec<u8>| String::from_utf8(text).unwrap().replace(r#""store":true,"#, "");
    match reply {
        Reply::Whole { status, headers, body } => {
            Reply::Whole { status, headers, body: forget(body).into() }
        }
        Reply::Pieces { kind, pieces } => {
            Reply::Pieces { kind, pieces: vec![forget(pieces.concat()).into()] }
        }
        other => other,
    }
}

#[test]
fn an_upstream_without_state_gets_the_conversation_in_place_of_its_id() {
    for stream in [false, true] {
        let reply =
            if stream { vendor_streamed("resp_v", "A.") } else { vendor_said("resp_v", "A.") };
        let replies = [reply, vendor_said("resp_w", "B."), vendor_said("resp_x", "C.")];
        let local = Upstream::start(replies.map(without_state));
        let claude = Upstream::start([said("D.")]);
        let gateway = Gateway::start(&config(&local, &claude));
        let more = format!(r#","stream":{stream}"#);
        post(&gateway, &ALICE, "fast", "\"Hi.\"", &more).ok();
        let texts = |sent: &Json| -> Vec<String> {
            let items = items_at(sent, "/input");
            let text = |item: &Json| match at(item, "/content") {
                Json::String(text) => text.into_string(),
                _ => text_at(item, "/content/0/text"),
            };
            items.iter().map(text).collect()
        };
        let second = post(&gateway, &ALICE, "fast", "\"So?\"", &continues("resp_v")).ok();
        let sent = local.last().json();
        assert_eq!(at(&sent, "/previous_response_id"), Json::Null);
        assert_eq!(texts(&sent), ["Hi.", "A.", "So?"], "{}", sent.compact());
        let reference = r#"[{"type":"item_reference","id":"msg_of_resp_v"}]"#;
        post(&gateway, &ALICE, "fast", reference, "").ok();
        assert_eq!(texts(&local.last().json()), ["A."]);
        // Responses that the gateway stored can continue with any upstream, for the same client.
        post(&gateway, &ALICE, "slow", "\"Bye.\"", &continues(&id_of(&second))).ok();
        assert_eq!(history(&claude).last().map(String::as_str), Some("user: Bye."));
        is_previous_not_found(
            &post(&gateway, &BOB, "fast", "\"So?\"", &continues("resp_v")),
            "resp_v",
        );
    }
}

#[test]
fn a_response_that_continues_itself_is_followed_within_bounds() {
    let reply = || without_state(vendor_said("resp_same", "A."));
    let local = Upstream::start([reply(), reply()]);
    let config =
        format!("{}[models]\nfast = \"local/m\"\n", table("local", "openai-responses", &local));
    let gateway = Gateway::start(&config);
    for _ in 0..2 {
        ask(&gateway, "\"Hi.\"", &continues("resp_same")).ok();
        assert_eq!(text_at(&local.last().json(), "/previous_response_id"), "resp_same");
    }
}
