//! Known failures of other gateways on the way from a vendor to a client, especially in streams.

use super::fold::{self, Folded};
use crate::gateway::vendor::{VENDORS, vendor};
use crate::gateway::{Answer, Gateway, Reply, Upstream, at, fixture, table, text_at};

const SSE: &str = "text/event-stream";

/// A request that is valid both for OpenAI and for Anthropic.
fn question(stream: bool) -> String {
    let rest = r#""model":"up/m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}"#;
    format!("{{\"stream\":{stream},{rest}")
}

/// The replies that clients of two dialects receive. The upstream's own dialect is omitted, because
/// its bytes pass unchanged.
fn clients(dialect: &str, stream: bool, reply: impl Fn() -> Reply) -> Vec<(Folded, Answer)> {
    let upstream = Upstream::start([reply(), reply()]);
    let gateway = Gateway::start(&table("up", dialect, &upstream));
    let mut answers = Vec::new();
    if dialect != "anthropic" {
        let answer = gateway.ask_json("/v1/messages", &question(stream)).ok();
        answers.push((fold::messages(&answer), answer));
    }
    if dialect != "openai-chat" {
        let answer = gateway.ask_json("/v1/chat/completions", &question(stream)).ok();
        answers.push((fold::chat(&answer), answer));
    }
    answers
}

const WEATHER: &str = r#"{"city":"北京","unit":"celsius"}"#;
const FLIGHTS: &str = r#"{"origin":"PEK","destination":"CDG","departure_date":"2026-12-01","passengers":[{"name":"王伟","age":34}],"max_price":null}"#;

#[test]
fn every_stream_joins_to_the_calls_of_the_whole_reply() {
    for vendor in VENDORS {
        for size in [1, 7, 100_000] {
            let stream = vendor.calls_stream();
            let whole = clients(vendor.id, false, || vendor.reply(false));
            // Chunks of one byte split every multibyte character.
            let streamed = clients(vendor.id, true, || Reply::stream(vendor.kind, &stream, size));
            for ((whole, _), (streamed, answer)) in whole.iter().zip(&streamed) {
                let expected = [("get_weather", WEATHER), ("search_flights", FLIGHTS)];
                assert_eq!(whole.said(), expected, "{}", vendor.id);
                assert_eq!(streamed.said(), expected, "{} {size} {}", vendor.id, answer.text());
                assert_eq!(streamed.stop, whole.stop, "{}", vendor.id);
                let ids = |own: &Folded| own.calls.iter().map(|call| call.id.clone()).collect();
                let (first, second): (Vec<String>, Vec<String>) = (ids(whole), ids(streamed));
                assert_eq!(first.len(), second.len());
                if vendor.id != "gemini" {
                    assert_eq!(first, second, "{}", vendor.id);
                }
            }
        }
    }
}

#[test]
fn arguments_that_come_whole_are_a_start_one_delta_and_a_stop() {
    for id in ["gemini", "ollama"] {
        let own = vendor(id);
        let answers = clients(id, true, || own.reply(true));
        let events = answers[0].1.events();
        let start = events.iter().position(|one| at(one, "/content_block/name").as_str().is_some());
        let kinds: Vec<String> =
            events[start.unwrap()..].iter().take(3).map(|one| text_at(one, "/type")).collect();
        assert_eq!(kinds, ["content_block_start", "content_block_delta", "content_block_stop"]);
    }
}

#[test]
fn an_empty_buffer_is_an_empty_object_and_broken_text_is_not() {
    let file = fixture("openai-chat/synthetic/case_02_no_arguments_stream.txt");
    for (folded, answer) in clients("openai-chat", true, || Reply::stream(SSE, &file, 50)) {
        assert_eq!(folded.said(), [("now", "{}")], "{}", answer.text());
    }
    let nothing = br#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

"#;
    for (folded, answer) in clients("anthropic", true, || Reply::stream(SSE, nothing, 50)) {
        assert_eq!(folded.said(), [("now", "{}")], "{}", answer.text());
    }
    let broken = String::from_utf8(file).unwrap().replacen(
        r#""name":"now","arguments":"""#,
        r#""name":"now","arguments":"{\"a\": nope""#,
        1,
    );
    for (folded, answer) in
        clients("openai-chat", true, || Reply::stream(SSE, broken.as_bytes(), 50))
    {
        assert_ne!(folded.said(), [("now", "{}")], "{}", answer.text());
    }
}

#[test]
fn calls_with_a_repeated_or_missing_index_stay_separate() {
    let expected: &[(&str, &[(&str, &str)])] = &[
        (
            "repeated_index",
            &[
                ("write_file", r#"{"path":"a.txt"}"#),
                ("write_file", r#"{"path":"b.txt"}"#),
                ("read_file", "{}"),
            ],
        ),
        (
            "repeated_index_fragments",
            &[("write_file", r#"{"path":"a.txt"}"#), ("write_file", r#"{"path":"b.txt"}"#)],
        ),
        ("omitted_index", &[("search", r#"{"q":"x"}"#), ("search", r#"{"q":"y"}"#)]),
        (
            "name_after_complete",
            &[
                ("wikipedia", r#"{"query":"Emma Bull"}"#),
                ("wikipedia", r#"{"query":"Virginia Woolf"}"#),
                ("answer", "{}"),
            ],
        ),
    ];
    for (name, calls) in expected {
        let file = fixture(&format!("openai-chat/synthetic/case_05_{name}_stream.txt"));
        for (folded, answer) in clients("openai-chat", true, || Reply::stream(SSE, &file, 50)) {
            assert_eq!(folded.said(), *calls, "{name} {}", answer.text());
            assert_eq!(folded.stop, "tool_use");
        }
    }
}

#[test]
fn the_one_stop_reason_follows_from_the_content() {
    for (name, calls, stop) in [
        ("stop_with_calls", 1, "tool_use"),
        ("tool_calls_without_call", 0, "end_turn"),
        ("two_finish_chunks", 1, "tool_use"),
    ] {
        let file = fixture(&format!("openai-chat/synthetic/case_17_{name}_stream.txt"));
        for (folded, answer) in clients("openai-chat", true, || Reply::stream(SSE, &file, 50)) {
            assert_eq!(
                (folded.calls.len(), folded.stop.as_str()),
                (calls, stop),
                "{}",
                answer.text()
            );
        }
    }
    // Ollama and Gemini always report `stop`.
    for id in ["ollama", "gemini"] {
        for stream in [false, true] {
            for (folded, answer) in clients(id, stream, || vendor(id).reply(stream)) {
                assert!(["tool_use", "tool_calls"].contains(&&*folded.stop), "{}", answer.text());
            }
        }
    }
}

#[test]
fn text_after_a_call_opens_when_the_call_is_closed() {
    let line = |message: &str, rest: &str| {
        format!(
            "{{\"model\":\"m\",\"created_at\":\"2026-11-15T00:00:00Z\",\"message\":{{\"role\":\"assistant\",{message}}}{rest}}}\n"
        )
    };
    let call = |name: &str| {
        line(
            &format!(
                r#""content":"","tool_calls":[{{"function":{{"name":"{name}","arguments":{{"a":1}}}}}}]"#
            ),
            ",\"done\":false",
        )
    };
    let text = |text: &str| line(&format!("\"content\":\"{text}\""), ",\"done\":false");
    let end = line("\"content\":\"\"", ",\"done\":true,\"done_reason\":\"stop\"");
    let stream =
        [text("before"), call("f"), text("between"), call("f"), text("after"), end].concat();
    let answers =
        clients("ollama", true, || Reply::stream("application/x-ndjson", stream.as_bytes(), 11));
    for (folded, answer) in answers {
        assert_eq!(folded.text, "beforebetweenafter", "{}", answer.text());
        assert_eq!(folded.said(), [("f", r#"{"a":1}"#), ("f", r#"{"a":1}"#)]);
        assert_ne!(folded.calls[0].id, folded.calls[1].id, "ids that were made up differ");
    }
}

/// A chat completion with calls.
fn completion(calls: &[(&str, &str, &str)], stop: &str) -> String {
    let calls = calls.iter().map(|(id, name, arguments)| {
        let arguments = toolwright_core::Json::from(*arguments).compact();
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}"#)
    });
    let calls = calls.collect::<Vec<String>>().join(",");
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{calls}]}},"finish_reason":"{stop}"}}],"usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}"#
    )
}

/// Numbers that exceed the range or precision of `f64` and `i64`.
const EXACT: &str = r#"{"id":9007199254740993,"max":18446744073709551615,"huge":1e400,"tenth":0.10,"long":1234567890123456789012345678901234567890}"#;

#[test]
fn every_digit_of_a_number_arrives() {
    let whole = completion(&[("call_1", "f", EXACT)], "tool_calls");
    for (folded, _) in clients("openai-chat", false, || Reply::json(200, whole.clone())) {
        assert_eq!(folded.said(), [("f", EXACT)]);
    }
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f","args":{EXACT}}}}}],"role":"model"}},"finishReason":"STOP","index":0}}],"modelVersion":"m","responseId":"r"}}"#
    );
    for (folded, _) in clients("gemini", false, || Reply::json(200, gemini.clone())) {
        assert_eq!(folded.said(), [("f", EXACT)]);
    }
    let stream = format!("data: {gemini}\n\n");
    for (folded, _) in clients("gemini", true, || Reply::stream(SSE, stream.as_bytes(), 9)) {
        assert_eq!(folded.said(), [("f", EXACT)]);
    }
}

#[test]
fn a_truncated_call_is_not_reported_as_complete() {
    let cut = r#"{"path":"a.txt","content":"hello"#;
    let whole = completion(&[("call_1", "write_file", cut)], "length");
    for (folded, answer) in clients("openai-chat", false, || Reply::json(200, whole.clone())) {
        assert_eq!(folded.stop, "max_tokens", "{}", answer.text());
        assert_ne!(folded.said(), [("write_file", "{}")], "{}", answer.text());
    }
    let stream = String::from_utf8(vendor("anthropic").calls_stream()).unwrap();
    // Without the end of the last call.
    let lines: Vec<&str> = stream.split_inclusive("\n\n").collect();
    let last = lines.iter().rposition(|frame| frame.contains("input_json_delta")).unwrap();
    let stream = [&lines[..last], &lines[last + 1..]].concat().concat();
    let stream = stream.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"max_tokens\"");
    for (folded, answer) in clients("anthropic", true, || Reply::stream(SSE, stream.as_bytes(), 99))
    {
        assert_eq!(folded.stop, "length", "{}", answer.text());
        assert_eq!(folded.calls[0].arguments, WEATHER);
        let second = folded.calls.get(1).map(|call| call.arguments.as_str());
        assert!(second.is_none_or(|own| own != "{}" && own != FLIGHTS), "{}", answer.text());
    }
}

#[test]
fn case_gpt_oss_309_calls_with_one_id_get_two() {
    let calls = [("call_1", "f", r#"{"a":1}"#), ("call_1", "g", r#"{"b":2}"#)];
    let whole = completion(&calls, "tool_calls");
    for (folded, answer) in clients("openai-chat", false, || Reply::json(200, whole.clone())) {
        assert_eq!(folded.said(), [("f", r#"{"a":1}"#), ("g", r#"{"b":2}"#)]);
        assert_ne!(folded.calls[0].id, folded.calls[1].id, "{}", answer.text());
    }
}

#[test]
fn case_agentgateway_2760_calls_of_a_translated_stream_are_recorded() {
    for vendor in VENDORS {
        let upstream = Upstream::start([vendor.reply(true)]);
        let config = table("up", vendor.id, &upstream);
        let gateway = Gateway::start_with_arguments(&config, &["--log", "full"]);
        let path = if vendor.id == "anthropic" { "/v1/chat/completions" } else { "/v1/messages" };
        gateway.ask_json(path, &question(true)).ok();
        let line = crate::gateway::until("the exchange in the log", || {
            let log = gateway.log();
            log.lines().find(|line| line.contains("toolwright::exchange")).map(str::to_owned)
        });
        assert!(line.contains("toolwright.calls=2"), "{} {line}", vendor.id);
        assert!(!line.contains("北京"), "no payload in a log: {line}");
        let entries = gateway.end();
        assert_eq!(entries[0].calls, ["get_weather", "search_flights"], "{}", vendor.id);
        assert!(entries[0].stream && !entries[0].untouched && !entries[0].left);
        assert!(entries[0].usage.is_some(), "{}", vendor.id);
    }
}
