//! Tools that the gateway runs itself: the client sends one request and receives one reply.

use toolwright_core::Json;
use toolwright_gateway::key::KeyHash;

use crate::gateway::{Gateway, Reply, Upstream, at, items_at, table, text_at, until};

const KIND: &str = "text/event-stream";
pub(crate) const CHAT: &str = "/v1/chat/completions";

/// Tools whose root is the folder of the configuration.
pub(crate) const TOOLS: &str = "[tools]\nroot = \".\"\n";

/// A tool that succeeds, and one that fails.
const WANTED: (&str, &str) = ("toolwright-tools", "list_files, read_file");

/// A frame of OpenAI's stream.
fn frame(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\
         \"model\":\"gpt-x\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
         \"finish_reason\":{finish}}}]}}\n\n"
    )
}

/// The frames that end a stream, with ten tokens of input and five of output.
fn ending(finish: &str) -> String {
    let usage = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\
                 \"model\":\"gpt-x\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\
                 \"completion_tokens\":5,\"total_tokens\":15}}\n\n";
    frame("{}", &format!("\"{finish}\"")) + usage + "data: [DONE]\n\n"
}

pub(crate) fn call(index: usize, id: &str, name: &str, arguments: &str) -> String {
    let arguments = Json::from(arguments).compact();
    format!(
        r#"{{"index":{index},"id":"{id}","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

/// A stream with a text and calls, in chunks of seven bytes.
pub(super) fn streamed(text: &str, calls: &[String]) -> Reply {
    let mut body = frame(r#"{"role":"assistant","content":""}"#, "null");
    if !text.is_empty() {
        body += &frame(&format!(r#"{{"content":{}}}"#, Json::from(text).compact()), "null");
    }
    for call in calls {
        body += &frame(&format!(r#"{{"tool_calls":[{call}]}}"#), "null");
    }
    body += &ending(if calls.is_empty() { "stop" } else { "tool_calls" });
    Reply::stream(KIND, body.as_bytes(), 7)
}

/// A whole reply with a text and calls.
pub(crate) fn whole(text: &str, calls: &[String]) -> Reply {
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let calls = match calls {
        [] => String::new(),
        calls => format!(",\"tool_calls\":[{}]", calls.join(",")),
    };
    let text = Json::from(text).compact();
    let body = format!(
        "{{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"gpt-x\",\
         \"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{text}{calls}}},\
         \"finish_reason\":\"{finish}\"}}],\"usage\":{{\"prompt_tokens\":10,\
         \"completion_tokens\":5,\"total_tokens\":15}}}}"
    );
    Reply::json(200, body)
}

/// Calls of both tools; the second fails.
fn both() -> Vec<String> {
    vec![
        call(0, "call_a", "list_files", "{}"),
        call(1, "call_b", "read_file", r#"{"path":"nothing.txt"}"#),
    ]
}

pub(crate) fn question(stream: bool, more: &str) -> String {
    format!(
        r#"{{"model":"up/gpt-x","stream":{stream},"messages":[{{"role":"system","content":"Be brief."}},{{"role":"user","content":"What is here?"}}]{more}}}"#
    )
}

/// The messages of a role in a request to an upstream.
pub(super) fn of_role(request: &Json, role: &str) -> Vec<Json> {
    let messages = items_at(request, "/messages").into_iter();
    messages.filter(|message| text_at(message, "/role") == role).collect()
}

#[test]
fn a_stream_has_the_text_of_all_turns_as_one_reply_without_gateway_calls() {
    let replies = [streamed("Let me look.", &both()), streamed("Two files: 文件.", &[])];
    let upstream = Upstream::start(replies);
    let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS].concat());
    let more = r#","temperature":0.25,"stream_options":{"include_usage":true},"user":"u-1""#;
    let answer = gateway.post(CHAT, &[WANTED], question(true, more).as_bytes()).ok();
    assert_eq!(answer.header("toolwright-upstream"), Some("up"));
    let text = answer.text();
    assert!(!text.contains("tool_calls") && !text.contains("list_files"), "{text}");
    assert_eq!(text.matches("[DONE]").count(), 1);
    let events = answer.events();
    let said: String = events
        .iter()
        .filter_map(|event| at(event, "/choices/0/delta/content").as_str().map(str::to_owned))
        .collect();
    assert_eq!(said, "Let me look.\n\nTwo files: 文件.");
    let stops: Vec<String> = events
        .iter()
        .filter_map(|event| at(event, "/choices/0/finish_reason").as_str().map(str::to_owned))
        .collect();
    assert_eq!(stops, ["stop"]);
    let usage = at(events.last().unwrap(), "/usage");
    assert_eq!(at(&usage, "/prompt_tokens").compact(), "20");
    assert_eq!(at(&usage, "/completion_tokens").compact(), "10");

    let received = upstream.received();
    assert_eq!(received.len(), 2);
    for own in &received {
        let request = own.json();
        assert_eq!(text_at(&request, "/model"), "gpt-x");
        assert_eq!(text_at(&request, "/user"), "u-1");
        assert_eq!(at(&request, "/temperature").compact(), "0.25");
        assert_eq!(text_at(&request, "/messages/0/content"), "Be brief.");
        let tools = items_at(&request, "/tools");
        let names: Vec<String> = tools.iter().map(|own| text_at(own, "/function/name")).collect();
        assert_eq!(names, ["list_files", "read_file"]);
    }
    let outcomes = of_role(&received[1].json(), "tool");
    assert_eq!(outcomes.len(), 2);
    assert_eq!(text_at(&outcomes[0], "/tool_call_id"), "call_a");
    assert!(text_at(&outcomes[0], "/content").contains("toolwright.toml"));
    assert_eq!(text_at(&outcomes[1], "/tool_call_id"), "call_b");
    assert!(text_at(&outcomes[1], "/content").contains("nothing.txt"));

    let id = answer.header("toolwright-request-id").unwrap().to_owned();
    let entries = gateway.end();
    let entry = &entries[0];
    assert_eq!(*entry.run, *id);
    assert_eq!(entry.calls, ["list_files", "read_file"]);
    let ran: Vec<(&str, bool)> =
        entry.ran.iter().map(|ran| (&*ran.name, ran.error.is_some())).collect();
    assert_eq!(ran, [("list_files", false), ("read_file", true)]);
    assert_eq!((entry.attempts.len(), entry.usage.as_ref().unwrap().total()), (2, 30));
}

#[test]
fn an_answer_with_a_format_is_the_last_turn_alone() {
    let upstream =
        Upstream::start([streamed("Let me look.", &both()), streamed(r#"{"n":2}"#, &[])]);
    let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS].concat());
    let more = r#","response_format":{"type":"json_object"}"#;
    let answer = gateway.post(CHAT, &[WANTED], question(true, more).as_bytes()).ok();
    let said: String = answer
        .events()
        .iter()
        .filter_map(|event| at(event, "/choices/0/delta/content").as_str().map(str::to_owned))
        .collect();
    assert_eq!(said, r#"{"n":2}"#);
    for own in upstream.received() {
        assert_eq!(text_at(&own.json(), "/response_format/type"), "json_object");
    }
}

#[test]
fn an_alias_brings_its_tools_to_every_dialect_whole() {
    let upstream = Upstream::start([whole("Let me look.", &both()), whole("Two files.", &[])]);
    let alias =
        "[models]\nhelper = { use = [\"up/gpt-x\"], tools = [\"list_files\", \"read_file\"] }\n";
    let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS, alias].concat());
    let body = r#"{"model":"helper","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}"#;
    let answer = gateway.ask_json("/v1/messages", body).ok().json();
    assert_eq!(items_at(&answer, "/content").len(), 1, "{}", answer.compact());
    assert_eq!(text_at(&answer, "/content/0/text"), "Two files.");
    assert_eq!(text_at(&answer, "/stop_reason"), "end_turn");
    assert_eq!(at(&answer, "/usage/input_tokens").compact(), "20");
    assert_eq!(at(&answer, "/usage/output_tokens").compact(), "10");
    assert!(upstream.received().iter().all(|own| at(&own.json(), "/stream") != Json::Bool(true)));
}

#[test]
fn calls_with_effects_wait_for_approval_unless_allowed() {
    let write = || [call(0, "call_w", "write_file", r#"{"path":"new.txt","content":"x"}"#)];
    for (allow, expected) in
        [("", "waits for the approval of a person"), ("allow = [\"write_file\"]\n", "Done.")]
    {
        let upstream = Upstream::start([whole("", &write()), whole("Done.", &[])]);
        let config = [&table("up", "openai-chat", &upstream), TOOLS, allow].concat();
        let gateway = Gateway::start(&config);
        let headers = [("toolwright-tools", "write_file")];
        let answer = gateway.post(CHAT, &headers, question(false, "").as_bytes()).ok();
        let said = text_at(&answer.json(), "/choices/0/message/content");
        assert!(said.contains(expected), "{said}");
        assert_eq!(gateway.file("new.txt").exists(), !allow.is_empty());
    }
}

#[test]
fn all_means_the_allowed_tools() {
    let upstream = Upstream::start([whole("Hello.", &[])]);
    let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS].concat());
    gateway.post(CHAT, &[("toolwright-tools", "*")], question(false, "").as_bytes()).ok();
    let tools = items_at(&upstream.last().json(), "/tools");
    let names: Vec<String> = tools.iter().map(|own| text_at(own, "/function/name")).collect();
    assert!(names.contains(&"read_csv".to_owned()) && names.contains(&"git_log".to_owned()));
    assert!(!names.contains(&"write_file".to_owned()) && !names.contains(&"git_commit".to_owned()));
}

#[test]
fn a_forbidden_tool_is_refused_before_any_upstream_is_called() {
    let upstream = Upstream::start([]);
    let hash = KeyHash::of("key-a");
    let key = format!("[keys.a]\nhash = \"{hash}\"\ntools = [\"list_*\"]\n");
    let config = [&table("up", "openai-chat", &upstream), TOOLS, &key].concat();
    let gateway = Gateway::start(&config);
    let own = r#","tools":[{"type":"function","function":{"name":"list_files","parameters":{"type":"object"}}}]"#;
    for (wanted, more, status, expected) in [
        ("list_fils", "", 400, "Did you mean `list_files`?"),
        ("list_files, git_log", "", 403, "may not use the tool `git_log`"),
        ("list_files", own, 400, "defines a tool `list_files`"),
    ] {
        let headers = [("toolwright-tools", wanted), ("authorization", "Bearer key-a")];
        let answer = gateway.post(CHAT, &headers, question(false, more).as_bytes());
        let text = answer.text();
        assert!(answer.status == status && text.contains(expected), "{} {text}", answer.status);
    }
    assert!(upstream.received().is_empty());

    let gateway = Gateway::start(&table("up", "openai-chat", &upstream));
    let answer = gateway.post(CHAT, &[WANTED], question(false, "").as_bytes());
    assert!(answer.text().contains("has only the tools of its catalog"), "{}", answer.text());
}

/// A tool of the client.
pub(super) const THEIRS: &str = r#","tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]"#;

#[test]
fn calls_of_client_tools_are_returned_and_the_conversation_continues() {
    for stream in [true, false] {
        let say = |text, calls: &[String]| {
            if stream { streamed(text, calls) } else { whole(text, calls) }
        };
        let mixed = [
            call(0, "call_t", "get_weather", r#"{"city":"北京"}"#),
            call(1, "call_o", "read_file", r#"{"path":"toolwright.toml"}"#),
        ];
        let first = [call(0, "call_l", "list_files", "{}")];
        let upstream = Upstream::start([say("", &first), say("", &mixed), say("22 度", &[])]);
        let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS].concat());
        let answer = gateway.post(CHAT, &[WANTED], question(stream, THEIRS).as_bytes()).ok();
        let text = answer.text();
        assert!(text.contains("call_t") && text.contains("get_weather"), "{text}");
        assert!(!text.contains("call_o") && !text.contains("call_l"), "{text}");
        assert!(text.contains(r#""finish_reason":"tool_calls""#), "{text}");

        // The client returns with its outcome; the hidden turns are restored.
        let body = format!(
            r#"{{"model":"up/gpt-x","stream":{stream},"messages":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":null,"tool_calls":[{}]}},{{"role":"tool","tool_call_id":"call_t","content":"sunny"}}]{THEIRS}}}"#,
            call(0, "call_t", "get_weather", r#"{"city":"北京"}"#)
        );
        let answer = gateway.post(CHAT, &[WANTED], body.as_bytes()).ok();
        assert!(answer.text().contains("22 度"));
        let last = upstream.last().json();
        let said: Vec<String> = items_at(&last, "/messages")
            .iter()
            .map(|message| match text_at(message, "/role").as_str() {
                "tool" => text_at(message, "/tool_call_id"),
                role => role.to_owned(),
            })
            .collect();
        assert_eq!(said, ["user", "assistant", "call_l", "assistant", "call_o", "call_t"]);
        assert_eq!(items_at(&last, "/messages/3/tool_calls").len(), 2);
    }
}

#[test]
fn a_mistral_client_continues_its_conversation_by_an_id_in_mistrals_form() {
    const MISTRAL: &str = "/mistral/v1/chat/completions";
    for stream in [true, false] {
        let say = |text, calls: &[String]| {
            if stream { streamed(text, calls) } else { whole(text, calls) }
        };
        let first = [call(0, "call_l", "list_files", "{}")];
        let theirs = [call(0, "call_t", "get_weather", "{}")];
        let upstream = Upstream::start([say("", &first), say("", &theirs), say("22 度", &[])]);
        let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS].concat());
        let answer = gateway.post(MISTRAL, &[WANTED], question(stream, THEIRS).as_bytes()).ok();
        let text = answer.text();
        let (_, calls) = text.split_once("\"tool_calls\"").unwrap();
        let (_, id) = calls.split_once("\"id\":\"").unwrap();
        let (id, _) = id.split_once('"').unwrap();
        assert!(id.len() == 9 && id.chars().all(|own| own.is_ascii_alphanumeric()), "{text}");

        let body = format!(
            r#"{{"model":"up/gpt-x","stream":{stream},"messages":[{{"role":"user","content":"hi"}},{{"role":"assistant","content":"","tool_calls":[{}]}},{{"role":"tool","tool_call_id":"{id}","content":"sunny"}}]{THEIRS}}}"#,
            call(0, id, "get_weather", "{}")
        );
        assert!(gateway.post(MISTRAL, &[WANTED], body.as_bytes()).ok().text().contains("22 度"));
        let last = upstream.last().json();
        assert_eq!(text_at(&last, "/messages/1/tool_calls/0/function/name"), "list_files");
        assert_eq!(text_at(&last, "/messages/3/tool_calls/0/id"), id);
        assert_eq!(text_at(&last, "/messages/4/tool_call_id"), id);
    }
}

#[test]
fn fallbacks_are_tried_until_the_first_event() {
    let fails = Upstream::start([Reply::json(503, r#"{"error":{"message":"busy"}}"#)]);
    let works = Upstream::start([streamed("", &both()), streamed("Found.", &[])]);
    let config = [
        &table("one", "openai-chat", &fails),
        &table("two", "openai-chat", &works),
        TOOLS,
        "[models]\nboth = { use = [\"one/a\", \"two/b\"], tools = [\"list_files\", \"read_file\"] }\n",
    ];
    let gateway = Gateway::start(&config.concat());
    let body = r#"{"model":"both","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    let answer = gateway.ask_json(CHAT, body).ok();
    assert!(answer.text().contains("Found."));
    assert_eq!(answer.header("toolwright-upstream"), Some("two"));
    assert_eq!((fails.received().len(), works.received().len()), (1, 2));
    let entries = gateway.end();
    assert_eq!(entries[0].attempts.len(), 3);
}

#[test]
fn a_run_ends_at_its_limit_with_a_fault_that_no_sdk_retries() {
    let again =
        |at: usize| [call(0, &format!("call_{at}"), "list_files", &format!(r#"{{"depth":{at}}}"#))];
    let upstream =
        Upstream::start([whole("", &again(1)), whole("", &again(2)), whole("", &again(3))]);
    let config = [&table("up", "openai-chat", &upstream), TOOLS, "max_turns = 2\n"].concat();
    let gateway = Gateway::start(&config);
    let answer = gateway.post(CHAT, &[WANTED], question(false, "").as_bytes());
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("limit of 2 turns"), "{}", answer.text());
    assert_eq!(upstream.received().len(), 2);
    assert_eq!(gateway.end()[0].ran.len(), 2);
}

#[test]
fn a_disconnect_ends_the_run() {
    let (feed, second) = Reply::fed(KIND);
    let upstream = Upstream::start([streamed("Let me look.", &both()), second]);
    let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS].concat());
    let mut asking = gateway.ask("POST", CHAT, &[WANTED], question(true, "").as_bytes());
    upstream.until_received(2);
    asking.until("Let me look.");
    drop(asking);
    upstream.until_cut(1);
    drop(feed);
    until("the exchange in the log", || gateway.log().contains("client_left").then_some(()));
    let entries = gateway.end();
    assert!(entries[0].left && entries[0].ran.len() == 2, "{:?}", entries[0]);
    assert_eq!(entries[0].usage.as_ref().unwrap().total(), 15);
}

#[test]
fn a_disconnected_client_is_charged_for_the_used_tokens() {
    for stream in [false, true] {
        let first = if stream { streamed("", &both()) } else { whole("", &both()) };
        let (word, second) = Reply::after(whole("", &[]));
        let upstream = Upstream::start([first, second]);
        let gateway = Gateway::start(&[&table("up", "openai-chat", &upstream), TOOLS].concat());
        let asking = gateway.ask("POST", CHAT, &[WANTED], question(stream, "").as_bytes());
        upstream.until_received(2);
        drop(asking);
        until("the exchange in the log", || gateway.log().contains("client_left").then_some(()));
        word.send(()).unwrap();
        let entries = gateway.end();
        let entry = &entries[0];
        assert_eq!(entry.attempts.len(), 2, "{entry:?}");
        assert_eq!(entry.upstream.as_deref(), Some("up"));
        assert_eq!(entry.calls, ["list_files", "read_file"]);
        let usage = entry.usage.as_ref().unwrap();
        assert_eq!((usage.input, usage.output), (Some(10), Some(5)), "{entry:?}");
    }
}
