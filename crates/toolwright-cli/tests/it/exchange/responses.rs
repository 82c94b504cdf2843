//! Stored responses: conversations that refer to earlier replies by id, through upstreams with and
//! without state.

mod lookup;
mod passed;

use std::time::Duration;

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use crate::gateway::{Answer, Gateway, Reply, Upstream, at, items_at, table, text_at, until};

const PATH: &str = "/v1/responses";

/// A whole Anthropic reply with reasoning, a text and a call.
fn thinking_call() -> Reply {
    Reply::json(
        200,
        r#"{"id":"msg_same","type":"message","role":"assistant","model":"claude-x","content":[
            {"type":"thinking","thinking":"Look it up.","signature":"sig-1"},
            {"type":"text","text":"One moment."},
            {"type":"tool_use","id":"toolu_1","name":"get_time","input":{"zone":"UTC"}}],
            "stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":7}}"#,
    )
}

/// A whole Anthropic reply. Its id is the same every time, as with some simple servers.
fn said(text: &str) -> Reply {
    let text = Json::from(text).compact();
    Reply::json(
        200,
        format!(
            r#"{{"id":"msg_same","type":"message","role":"assistant","model":"claude-x",
            "content":[{{"type":"text","text":{text}}}],
            "stop_reason":"end_turn","usage":{{"input_tokens":9,"output_tokens":7}}}}"#
        ),
    )
}

/// The same as a stream, in pieces of eleven bytes.
fn streamed(text: &str) -> Reply {
    let text = Json::from(text).compact();
    let frames = [
        r#"{"type":"message_start","message":{"id":"msg_same","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#.to_owned(),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
        format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#),
        r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    let body = format!("data: {}\n\n", frames.join("\n\ndata: "));
    Reply::stream("text/event-stream", body.as_bytes(), 11)
}

fn claude(upstream: &Upstream) -> String {
    format!("{}[models]\nfast = \"claude/claude-x\"\n", table("claude", "anthropic", upstream))
}

fn client(name: &str) -> String {
    format!("[keys.{name}]\nhash = \"{}\"\n", KeyHash::of(&format!("key-{name}")))
}

/// Sends some input, with more members.
fn ask(gateway: &Gateway, input: &str, more: &str) -> Answer {
    gateway.ask_json(PATH, &format!(r#"{{"model":"fast","input":{input}{more}}}"#))
}

fn continues(id: &str) -> String {
    format!(r#","previous_response_id":"{id}""#)
}

/// The id of a whole or streamed reply.
fn id_of(answer: &Answer) -> String {
    if answer.text().starts_with('{') {
        text_at(&answer.json(), "/id")
    } else {
        text_at(answer.events().last().unwrap(), "/response/id")
    }
}

/// A summary of the texts and calls in the last request to an Anthropic upstream.
fn history(upstream: &Upstream) -> Vec<String> {
    let body = upstream.last().json();
    let mut out = Vec::new();
    for message in items_at(&body, "/messages") {
        let role = text_at(&message, "/role");
        let blocks = match at(&message, "/content") {
            Json::String(text) => vec![format!("{role}: {text}")],
            Json::Array(blocks) => blocks
                .iter()
                .map(|block| {
                    let kind = text_at(block, "/type");
                    let word = ["text", "thinking", "id", "tool_use_id"]
                        .iter()
                        .find_map(|key| at(block, &format!("/{key}")).as_str().map(str::to_owned));
                    format!("{role}: {kind} {}", word.unwrap_or_default())
                })
                .collect(),
            _ => vec![],
        };
        out.extend(blocks);
    }
    // A text may be a block or a string.
    out.iter().map(|line| line.replace(": text ", ": ")).collect()
}

fn is_previous_not_found(answer: &Answer, id: &str) {
    assert_eq!(answer.status, 400, "{}", answer.text());
    let error = answer.json();
    assert_eq!(
        text_at(&error, "/error/message"),
        format!("Previous response with id '{id}' not found.")
    );
    assert_eq!(text_at(&error, "/error/type"), "invalid_request_error");
    assert_eq!(text_at(&error, "/error/code"), "previous_response_not_found");
    assert_eq!(text_at(&error, "/error/param"), "previous_response_id");
}

fn is_item_not_found(answer: &Answer, id: &str) {
    assert_eq!(answer.status, 404, "{}", answer.text());
    let error = answer.json();
    assert_eq!(text_at(&error, "/error/message"), format!("Item with id '{id}' not found."));
    assert_eq!(text_at(&error, "/error/type"), "invalid_request_error");
    assert_eq!(text_at(&error, "/error/param"), "input");
}

#[test]
fn a_conversation_goes_on_by_previous_response_id_whole_and_streamed() {
    for stream in [false, true] {
        let reply = |text| if stream { streamed(text) } else { said(text) };
        let upstream = Upstream::start([reply("Hello."), reply("Blue."), reply("Both.")]);
        let gateway = Gateway::start(&claude(&upstream));
        let more = format!(r#","stream":{stream},"instructions":"Be brief.","temperature":0.5"#);
        let first = ask(&gateway, "\"Hi.\"", &more).ok();
        let second = id_of(&first);
        assert!(second.starts_with("resp_") && second.len() == 37, "{second}");

        let more = format!(r#","stream":{stream}{}"#, continues(&second));
        let answer = ask(&gateway, r#"[{"role":"user","content":"Color?"}]"#, &more).ok();
        assert_eq!(history(&upstream), ["user: Hi.", "assistant: Hello.", "user: Color?"]);
        let sent = upstream.last().json();
        assert_eq!(at(&sent, "/system"), Json::Null, "instructions are not carried over");
        assert_eq!(at(&sent, "/temperature"), Json::Null);
        let third = id_of(&answer);
        assert_ne!(second, third, "the upstream's ids repeat, ours do not");
        assert!(answer.text().contains(&format!("\"previous_response_id\":\"{second}\"")));

        let more = format!(r#","stream":{stream}{}"#, continues(&third));
        ask(&gateway, "\"Which?\"", &more).ok();
        assert_eq!(
            history(&upstream),
            ["user: Hi.", "assistant: Hello.", "user: Color?", "assistant: Blue.", "user: Which?"]
        );
    }
}

#[test]
fn a_call_and_its_thinking_return_by_previous_response_id_and_by_references() {
    let upstream = Upstream::start([thinking_call(), said("Noon."), said("Noon again.")]);
    let gateway = Gateway::start(&claude(&upstream));
    let tools = r#","tools":[{"type":"function","name":"get_time","parameters":{"type":"object","properties":{"zone":{"type":"string"}}}}],"reasoning":{"effort":"low"}"#;
    let first = ask(&gateway, "\"Time?\"", tools).ok().json();
    let items = items_at(&first, "/output");
    let kinds: Vec<String> = items.iter().map(|item| text_at(item, "/type")).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    let expected = [
        "user: Time?",
        "assistant: thinking Look it up.",
        "assistant: One moment.",
        "assistant: tool_use toolu_1",
        "user: tool_result toolu_1",
    ];
    let output = r#"{"type":"function_call_output","call_id":"toolu_1","output":"12:00"}"#;
    let more = format!("{tools}{}", continues(&text_at(&first, "/id")));
    ask(&gateway, &format!("[{output}]"), &more).ok();
    assert_eq!(history(&upstream), expected);
    assert!(upstream.last().text().contains("sig-1"), "{}", upstream.last().text());

    // The form in which Vercel's provider for OpenAI sends earlier turns.
    let references = items
        .iter()
        .map(|item| format!(r#"{{"type":"item_reference","id":"{}"}}"#, text_at(item, "/id")));
    let references: Vec<String> = references.collect();
    let input =
        format!(r#"[{{"role":"user","content":"Time?"}},{},{output}]"#, references.join(","));
    let answer = ask(&gateway, &input, tools).ok();
    assert_eq!(history(&upstream), expected);
    assert!(upstream.last().text().contains("sig-1"), "{}", upstream.last().text());
    // The type of a reference may be omitted or null.
    let kinds = ["", r#""type":null,"#, r#""type":"item_reference","#];
    let bare: Vec<String> = items
        .iter()
        .zip(kinds)
        .map(|(item, kind)| format!(r#"{{{kind}"id":"{}"}}"#, text_at(item, "/id")))
        .collect();
    upstream.then(said("Noon again."));
    let input = format!(r#"[{{"role":"user","content":"Time?"}},{},{output}]"#, bare.join(","));
    ask(&gateway, &input, tools).ok();
    assert_eq!(history(&upstream), expected);
    // The stored response contains the items, so the conversation can continue.
    upstream.then(said("Done."));
    ask(&gateway, "\"Thanks.\"", &format!("{tools}{}", continues(&id_of(&answer)))).ok();
    let last = history(&upstream);
    assert_eq!(&last[..5], expected);
    assert_eq!(&last[5..], ["assistant: Noon again.", "user: Thanks."]);
}

#[test]
fn ids_that_are_not_stored_are_refused() {
    let upstream = Upstream::start([said("Secret."), said("Known.")]);
    let gateway = Gateway::start(&claude(&upstream));
    let first = ask(&gateway, "\"Hi.\"", r#","store":false"#).ok().json();
    let id = text_at(&first, "/id");
    is_previous_not_found(&ask(&gateway, "\"So?\"", &continues(&id)), &id);
    let item = text_at(&first, "/output/0/id");
    let reference = |id: &str| format!(r#"[{{"type":"item_reference","id":"{id}"}}]"#);
    is_item_not_found(&ask(&gateway, &reference(&item), ""), &item);
    is_item_not_found(&ask(&gateway, &format!(r#"[{{"id":"{item}"}}]"#), ""), &item);
    is_previous_not_found(&ask(&gateway, "\"So?\"", &continues("resp_none")), "resp_none");
    // The id of an item is not accepted as a response, nor the reverse.
    let second = ask(&gateway, "\"Hi.\"", "").ok().json();
    let item = text_at(&second, "/output/0/id");
    is_previous_not_found(&ask(&gateway, "\"So?\"", &continues(&item)), &item);
    let id = text_at(&second, "/id");
    is_item_not_found(&ask(&gateway, &reference(&id), ""), &id);
    let twice = format!(
        r#"[{{"type":"item_reference","id":"{item}"}},{{"type":"item_reference","id":"{item}"}}]"#
    );
    let answer = ask(&gateway, &twice, "");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("Duplicate item"), "{}", answer.text());
    assert_eq!(upstream.received().len(), 2, "nothing was asked without its history");
}

#[test]
fn a_client_never_finds_another_clients_responses() {
    let upstream = Upstream::start([said("Hers."), said("Hers too.")]);
    let config = format!("{}{}{}", claude(&upstream), client("alice"), client("bob"));
    let gateway = Gateway::start(&config);
    let (alice, bob) = ([("authorization", "Bearer key-alice")], [("x-api-key", "key-bob")]);
    let body = r#"{"model":"fast","input":"Hi."}"#;
    let first = gateway.post(PATH, &alice, body.as_bytes()).ok().json();
    let (id, item) = (text_at(&first, "/id"), text_at(&first, "/output/0/id"));
    let next = format!(r#"{{"model":"fast","input":"So?"{}}}"#, continues(&id));
    is_previous_not_found(&gateway.post(PATH, &bob, next.as_bytes()), &id);
    let body = format!(r#"{{"model":"fast","input":[{{"type":"item_reference","id":"{item}"}}]}}"#);
    is_item_not_found(&gateway.post(PATH, &bob, body.as_bytes()), &item);
    let path = format!("{PATH}/{id}");
    assert_eq!(gateway.get(&path, &bob).status, 404);
    assert_eq!(gateway.get(&format!("{path}/input_items"), &bob).status, 404);
    assert_eq!(gateway.ask("DELETE", &path, &bob, b"").answer().status, 404);
    assert_eq!(gateway.get(&path, &[]).status, 401);
    gateway.get(&path, &alice).ok();
    gateway.post(PATH, &alice, next.as_bytes()).ok();
}

#[test]
fn stored_responses_survive_a_restart_and_expire() {
    let upstream = Upstream::start([said("One."), said("Two."), said("Three.")]);
    let gateway = Gateway::start(&claude(&upstream));
    let first = id_of(&ask(&gateway, "\"Hi.\"", "").ok());
    let config = format!("{}[responses]\nmax_age = \"1ms\"\n", claude(&upstream));
    let gateway = gateway.restart(&config);
    let second = id_of(&ask(&gateway, "\"Next.\"", &continues(&first)).ok());
    assert_eq!(history(&upstream), ["user: Hi.", "assistant: One.", "user: Next."]);
    std::thread::sleep(Duration::from_millis(20));
    is_previous_not_found(&ask(&gateway, "\"So?\"", &continues(&second)), &second);
    assert_eq!(gateway.get(&format!("{PATH}/{second}"), &[]).status, 404);
    gateway.get(&format!("{PATH}/{first}"), &[]).ok();
}

#[test]
fn a_client_has_at_most_the_configured_number_of_responses() {
    let upstream = Upstream::start([said("One."), said("Two."), said("Three."), said("Long.")]);
    let config =
        format!("{}[responses]\nmax_entries = 2\nmax_bytes = \"4KB\"\n", claude(&upstream));
    let gateway = Gateway::start(&config);
    let ids: Vec<String> = (0..3).map(|_| id_of(&ask(&gateway, "\"Hi.\"", "").ok())).collect();
    assert_eq!(gateway.get(&format!("{PATH}/{}", ids[0]), &[]).status, 404);
    gateway.get(&format!("{PATH}/{}", ids[2]), &[]).ok();
    let long = Json::from("x".repeat(5000).as_str()).compact();
    let id = id_of(&ask(&gateway, &long, "").ok());
    assert_eq!(gateway.get(&format!("{PATH}/{id}"), &[]).status, 404);
    gateway.get(&format!("{PATH}/{}", ids[2]), &[]).ok();
    until("a warning", || gateway.log().contains("larger than responses.max_bytes").then_some(()));
}

#[test]
fn nothing_is_stored_if_storage_is_disabled() {
    let upstream = Upstream::start([said("One.")]);
    let gateway = Gateway::start(&format!("{}[responses]\nstore = false\n", claude(&upstream)));
    let id = id_of(&ask(&gateway, "\"Hi.\"", "").ok());
    is_previous_not_found(&ask(&gateway, "\"So?\"", &continues(&id)), &id);
}

#[test]
fn a_stream_that_breaks_off_is_not_stored() {
    let body = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\
                \"role\":\"assistant\",\"model\":\"c\",\"content\":[],\"usage\":{\"input_tokens\":1,\
                \"output_tokens\":1}}}\n\n";
    let upstream = Upstream::start([Reply::stream("text/event-stream", body.as_bytes(), 9)]);
    let gateway = Gateway::start(&claude(&upstream));
    let answer = ask(&gateway, "\"Hi.\"", r#","stream":true"#);
    let id = id_of(&answer);
    assert_eq!(text_at(answer.events().last().unwrap(), "/type"), "response.failed");
    is_previous_not_found(&ask(&gateway, "\"So?\"", &continues(&id)), &id);
}

#[test]
fn state_that_only_a_vendor_has_is_refused_by_name() {
    let upstream = Upstream::start([]);
    let gateway = Gateway::start(&claude(&upstream));
    for (more, param) in [
        (r#","conversation":"conv_1""#, "conversation"),
        (r#","conversation":{"id":"conv_1"}"#, "conversation"),
        (r#","background":true"#, "background"),
        (r#","prompt":{"id":"pmpt_1"}"#, "prompt"),
    ] {
        let answer = ask(&gateway, "\"Hi.\"", more);
        assert_eq!(answer.status, 400, "{more}: {}", answer.text());
        let error = answer.json();
        assert_eq!(text_at(&error, "/error/param"), param);
        assert_eq!(text_at(&error, "/error/type"), "invalid_request_error");
        assert_eq!(text_at(&error, "/error/code"), "unsupported_parameter");
    }
    for more in [r#","store":"yes""#, r#","previous_response_id":7"#, r#","background":1"#] {
        assert_eq!(ask(&gateway, "\"Hi.\"", more).status, 400, "{more}");
    }
    assert!(upstream.received().is_empty());
    upstream.then(said("Hello."));
    let more = r#","conversation":null,"background":false,"prompt":null,"store":null,"previous_response_id":null"#;
    ask(&gateway, "\"Hi.\"", more).ok();
}

#[test]
fn the_offline_model_continues_a_conversation() {
    let gateway = Gateway::start("");
    let body = r#"{"model":"offline/rules","input":"hello"}"#;
    let first = id_of(&gateway.ask_json(PATH, body).ok());
    let next = format!(r#"{{"model":"offline/rules","input":"more"{}}}"#, continues(&first));
    let second = id_of(&gateway.ask_json(PATH, &next).ok());
    let items = gateway.get(&format!("{PATH}/{second}/input_items?order=asc"), &[]).ok().json();
    assert_eq!(items_at(&items, "/data").len(), 3);
}

#[test]
fn a_run_of_gateway_tools_continues_by_previous_response_id() {
    let call = |id: &str, name: &str| {
        format!(
            r#"{{"id":"m","type":"message","role":"assistant","model":"c","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}],"stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        )
    };
    let replies = [call("toolu_ours", "list_files"), call("toolu_theirs", "ask_user")];
    let upstream = Upstream::start(replies.map(|body| Reply::json(200, body)));
    upstream.then(said("Done."));
    let gateway = Gateway::start(&format!("[tools]\nroot = \".\"\n{}", claude(&upstream)));
    let tools =
        r#","tools":[{"type":"function","name":"ask_user","parameters":{"type":"object"}}]"#;
    let post = |input: &str, more: &str| {
        let body = format!(r#"{{"model":"fast","input":{input}{tools}{more}}}"#);
        gateway.post(PATH, &[("toolwright-tools", "list_files")], body.as_bytes()).ok()
    };
    let first = post("\"What is here?\"", "");
    assert!(!first.text().contains("list_files"), "{}", first.text());
    let output = r#"[{"type":"function_call_output","call_id":"toolu_theirs","output":"yes"}]"#;
    post(output, &continues(&id_of(&first)));
    assert_eq!(
        history(&upstream),
        [
            "user: What is here?",
            "assistant: tool_use toolu_ours",
            "user: tool_result toolu_ours",
            "assistant: tool_use toolu_theirs",
            "user: tool_result toolu_theirs",
        ]
    );
}
