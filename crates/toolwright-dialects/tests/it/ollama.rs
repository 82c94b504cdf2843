//! Ollama: whole calls, optional ids, one text per message, and fields that its server omits.

use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::{Delta, Event, Head, law};
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::request::{Format, Thinking};
use toolwright_core::{
    Arguments, Body, Call, Fault, FaultClass, Json, Message, Outcome, Part, Request, Response,
    Role, Stop, StopReason, Usage, object,
};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, Target, WireReply, WireRequest, lookup,
};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::translate::{Options, Translator};

use crate::fixtures;

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::Ollama).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn request(text: &str) -> Request {
    let request = fixtures::request(codec(), &json(text));
    assert_eq!(codec().encode_request(request.clone()).path, "/api/chat");
    request
}

fn response(text: &str) -> Response {
    fixtures::response(codec(), &json(text))
}

fn encoded(events: impl IntoIterator<Item = Event>, asked: &ReplyContext) -> Vec<Json> {
    fixtures::encoded(codec(), events, asked).iter().map(|frame| json(&frame.data)).collect()
}

fn calls(parts: &[Part]) -> Vec<&Call> {
    parts.iter().filter_map(Part::as_call).collect()
}

/// A stream of these lines, without the fields that every line repeats.
fn stream(messages: &[&str]) -> Vec<Event> {
    let line = |message: &str, end: &str| {
        let head = r#"{"model":"m","created_at":"2026-11-15T00:00:00Z","message":"#;
        format!("{head}{message},{end}}}\n")
    };
    let mut text: String =
        messages.iter().map(|message| line(message, r#""done":false"#)).collect();
    text += &line(r#"{"role":"assistant"}"#, r#""done":true,"done_reason":"stop""#);
    fixtures::events(codec(), text.as_bytes())
}

#[test]
fn the_stream_joins_to_the_whole_reply_and_its_text_law_3() {
    let bytes = fixtures::bytes(Dialect::Ollama, "accepted/ollama_stream.ndjson.txt");
    let joined = join(fixtures::events(codec(), &bytes)).unwrap();
    let whole = fixtures::json(Dialect::Ollama, "accepted/ollama_tools.json");
    let mut whole = codec().decode_response(WireReply::ok(whole)).unwrap();
    // The recorded stream has a line of text that the recorded reply has not.
    whole.parts.insert(1, Part::text("我先查询。"));
    assert_eq!(joined, whole);
    assert_eq!(joined.stop.reason, StopReason::ToolUse);
    let usage = Usage { input: Some(182), output: Some(91), ..Usage::default() };
    assert_eq!(joined.usage, Some(usage));
}

#[test]
fn a_whole_call_is_a_start_a_delta_and_an_end() {
    let events = stream(&[
        r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"city":"北京"}}}]}"#,
    ]);
    let Event::PartStart { index: 0, head: Head::Call { id: None, name, free: false }, .. } =
        &events[1]
    else {
        panic!("{events:?}")
    };
    assert_eq!(name, "f");
    let delta = Delta::Arguments(r#"{"city":"北京"}"#.to_owned());
    assert_eq!(events[2], Event::PartDelta { index: 0, delta });
    assert!(matches!(events[3], Event::PartEnd { index: 0, .. }));
}

#[test]
fn a_client_gets_a_call_whole() {
    let mut events = vec![
        Event::Start(toolwright_core::event::Start::default()),
        Event::PartStart {
            index: 0,
            head: Head::Call { id: Some("a".to_owned()), name: "f".to_owned(), free: false },
            extra: toolwright_core::Extra::NONE,
        },
    ];
    for text in [r#"{"n":"#, "9007199254740993", "}"] {
        let delta = Delta::Arguments(text.to_owned());
        events.push(Event::PartDelta { index: 0, delta });
    }
    events.push(Event::PartEnd { index: 0, tail: toolwright_core::event::Tail::default() });
    let lines = encoded(events, &ReplyContext { created: 951_782_400, ..ReplyContext::default() });
    let expected = json(
        r#"{"model":"","created_at":"2000-02-29T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{"n":9007199254740993}}}]},"done":false}"#,
    );
    assert_eq!(lines, [expected]);
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    for arguments in ["", r#","arguments":{}"#, r#","arguments":null"#] {
        let message = format!(
            r#"{{"role":"assistant","tool_calls":[{{"function":{{"name":"f"{arguments}}}}}]}}"#
        );
        let response = join(stream(&[&message])).unwrap();
        assert_eq!(calls(&response.parts)[0].arguments, Arguments::none());
        let lines = encoded(split(response), &ReplyContext::default());
        let sent = lines[0].pointer("/message/tool_calls/0/function/arguments");
        assert_eq!(sent, Some(&json("{}")));
    }
    let wire = json(r#"{"function":{"name":"f","arguments":"{}"}}"#);
    let error = codec().decode_call(wire).unwrap_err();
    assert_eq!(error.to_string(), "ollama: /function/arguments: expected an object");
}

#[test]
fn a_repeated_index_starts_a_new_call() {
    for (first, second) in [(r#""index":0,"#, r#""index":0,"#), ("", "")] {
        let line = |name: &str, index: &str| {
            format!(
                r#"{{"role":"assistant","content":"","tool_calls":[{{"function":{{{index}"name":"{name}","arguments":{{}}}}}}]}}"#
            )
        };
        let response = join(stream(&[&line("f", first), &line("g", second)])).unwrap();
        let names: Vec<&str> = calls(&response.parts).iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["f", "g"]);
        // Extra fields of the second call are preserved, in a stream as in a whole reply.
        let lines = encoded(split(response.clone()), &ReplyContext::default());
        let whole = codec().encode_response(response, &ReplyContext::default()).body;
        let expected = usize::from(second.is_empty());
        let index = Some(Json::from(expected));
        assert_eq!(lines[1].pointer("/message/tool_calls/0/function/index"), index.as_ref());
        assert_eq!(whole.pointer("/message/tool_calls/1/function/index"), index.as_ref());
    }
}

#[test]
fn ids_are_optional_and_kept_as_they_are() {
    let rule = codec().profile(&Target::default()).ids;
    assert!(!rule.required);
    let request = request(
        r#"{"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"functions.f:0","function":{"name":"f","arguments":{}}},{"type":"function","function":{"name":"f","arguments":{}}}]},{"role":"tool","content":"1","tool_name":"f","tool_call_id":"functions.f:0"},{"role":"tool","content":"2","tool_name":"f"}]}"#,
    );
    let ids: Vec<Option<&str>> =
        calls(&request.messages[0].parts).iter().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("functions.f:0"), None]);
    let outcome = |text: &str, id: Option<&str>| {
        Message::tool(Outcome {
            call_id: id.map(str::to_owned),
            name: Some("f".to_owned()),
            content: vec![Part::text(text)],
            error: None,
        })
    };
    assert_eq!(request.messages[1..], [outcome("1", Some("functions.f:0")), outcome("2", None)]);
}

#[test]
fn an_empty_result_is_an_empty_text() {
    let request = request(r#"{"messages":[{"role":"tool","content":"","tool_name":"f"}]}"#);
    assert_eq!(request.messages[0].parts[0].as_outcome().unwrap().content, []);
}

#[test]
fn the_stop_reason_follows_from_the_content() {
    let message = r#""message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}"#;
    let reason = |rest: &str, message: &str| {
        response(&format!(
            r#"{{"model":"m","created_at":"2026-11-15T00:00:00Z",{message},"done":true{rest}}}"#
        ))
        .stop
        .reason
    };
    let text = r#""message":{"role":"assistant","content":"hi"}"#;
    assert_eq!(reason(r#","done_reason":"stop""#, message), StopReason::ToolUse);
    assert_eq!(reason("", message), StopReason::ToolUse);
    assert_eq!(reason(r#","done_reason":"length""#, message), StopReason::MaxTokens);
    assert_eq!(reason(r#","done_reason":"stop""#, text), StopReason::End);
    assert_eq!(reason(r#","done_reason":"unload""#, text), StopReason::End);
    assert_eq!(reason("", text), StopReason::End);
}

#[test]
fn the_profile_has_no_tool_choice() {
    let rule = codec().profile(&Target::default()).choice;
    let can = [rule.auto, rule.none, rule.required, rule.tool];
    assert_eq!(can, [false; 4]);
    assert!(!rule.allowed_auto && !rule.allowed_required);
}

#[test]
fn numbers_keep_their_digits() {
    let arguments = r#"{"a":9007199254740993,"b":18446744073709551615,"c":123456789012345678901234567890,"d":1e400,"e":0.10}"#;
    let message = format!(
        r#"{{"role":"assistant","content":"","tool_calls":[{{"function":{{"index":0,"name":"f","arguments":{arguments}}}}}]}}"#
    );
    let response = join(stream(&[&message])).unwrap();
    assert_eq!(calls(&response.parts)[0].arguments.as_str(), arguments);
    let again = codec().encode_response(response, &ReplyContext::default()).body;
    let sent = again.pointer("/message/tool_calls/0/function/arguments").unwrap();
    assert_eq!(sent.to_string(), arguments);
}

#[test]
fn a_request_keeps_every_field() {
    let request = request(
        r#"{"model":"qwen3:8b","messages":[{"role":"system","content":"Be brief.","x":1},{"role":"user","content":"?","images":["/9j/4AAQ","AAAA"]},{"role":"system","content":"Later."},{"role":"assistant","thinking":"…"}],"tools":[{"type":"function","function":{"name":"f","strict":true,"output_schema":{}}},{"type":"web_search"}],"think":"high","format":{"type":"object"},"keep_alive":"5m","options":{"num_predict":10,"temperature":0.70,"top_p":1,"top_k":40,"stop":["a","b"],"seed":7,"num_ctx":8192}}"#,
    );
    assert_eq!(request.instructions.as_ref().unwrap().parts, [Part::text("Be brief.")]);
    assert_eq!(request.messages[1], Message::system("Later."));
    let image = |mime: Option<&str>, data: &str| {
        Part::new(Body::Media(Media {
            kind: MediaKind::Image,
            mime: mime.map(str::to_owned),
            source: MediaSource::Base64(data.to_owned()),
            name: None,
        }))
    };
    let parts = [Part::text("?"), image(Some("image/jpeg"), "/9j/4AAQ"), image(None, "AAAA")];
    assert_eq!(request.messages[0].parts, parts);
    assert_eq!(request.messages[0].parts[1].origin.pointer(), Some("/messages/1/images/0"));
    assert_eq!(request.tools[0].origin.pointer(), Some("/tools/0/function"));
    let (enabled, effort) = (None, Some("high".to_owned()));
    assert_eq!(request.thinking, Some(Thinking { enabled, effort, ..Thinking::default() }));
    assert!(matches!(request.format, Some(Format::Schema(_))));
    assert_eq!(request.stream, None);
    assert_eq!(request.sampling.temperature.unwrap().as_str(), "0.70");
    assert_eq!(request.sampling.stop, ["a", "b"]);
}

#[test]
fn an_unlimited_token_count_is_not_a_limit() {
    let request = request(r#"{"messages":[],"options":{"num_predict":-1}}"#);
    assert_eq!(request.sampling.max_tokens, None);
}

#[test]
fn outcomes_in_a_users_turn_become_messages_of_their_own() {
    let parts = vec![
        Part::outcome(Outcome::text("a", "1")),
        Part::outcome(Outcome::text("b", "2")),
        Part::text("go on"),
    ];
    let request = Request { messages: vec![Message::new(Role::User, parts)], ..Request::default() };
    let expected = json(
        r#"[{"role":"tool","content":"1","tool_call_id":"a"},{"role":"tool","content":"2","tool_call_id":"b"},{"role":"user","content":"go on"}]"#,
    );
    assert_eq!(codec().encode_request(request).body.get("messages"), Some(&expected));
}

#[test]
fn wrong_types_are_refused_with_their_path() {
    for (body, error) in [
        ("[]", "ollama: /: expected an object"),
        (r#"{"messages":[{"content":"x"}]}"#, "ollama: /messages/0: missing field 'role'"),
        (
            r#"{"messages":[{"role":"user","content":["x"]}]}"#,
            "ollama: /messages/0/content: expected a string",
        ),
        (
            r#"{"messages":[{"role":"user","images":[1]}]}"#,
            "ollama: /messages/0/images/0: expected an image in base64",
        ),
        (r#"{"think":1}"#, "ollama: /think: expected true, false or a level"),
        (r#"{"options":{"seed":"x"}}"#, "ollama: /options/seed: expected a number"),
    ] {
        let wire = WireRequest { body: json(body), ..WireRequest::default() };
        assert_eq!(codec().decode_request(wire).unwrap_err().to_string(), error);
    }
}

#[test]
fn fragments_continue_a_part_until_the_kind_changes() {
    let line = |key: &str, text: &str| format!(r#"{{"role":"assistant","{key}":"{text}"}}"#);
    let events = stream(&[
        &line("thinking", "a"),
        &line("thinking", "b"),
        &line("content", "c"),
        &line("content", ""),
        &line("content", "d"),
        &line("thinking", "e"),
    ]);
    let response = join(events).unwrap();
    let texts: Vec<String> = response
        .parts
        .iter()
        .map(|part| match &part.body {
            Body::Reasoning(reasoning) => reasoning.joined(),
            _ => part.as_text().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(texts, ["ab", "cd", "e"]);
}

#[test]
fn extra_fields_of_lines_are_preserved() {
    let text = concat!(
        r#"{"model":"m","message":{"content":"a"},"done":false,"logprobs":[1]}"#,
        "\n",
        r#"{"model":"m","message":{"content":"b"},"done":false,"logprobs":[2,3]}"#,
        "\n",
        r#"{"model":"m","done":true,"done_reason":"length","eval_duration":5}"#,
    );
    let joined = join(fixtures::events(codec(), text.as_bytes())).unwrap();
    let whole = response(
        r#"{"model":"m","created_at":"1970-01-01T00:00:00Z","message":{"role":"assistant","content":"ab"},"done":true,"done_reason":"length","logprobs":[1,2,3],"eval_duration":5}"#,
    );
    assert_eq!(joined, Response { extra: toolwright_core::Extra::NONE, ..whole });
}

#[test]
fn a_cut_stream_is_a_fault() {
    let text = r#"{"model":"m","message":{"content":"a"},"done":false}"#;
    let events = fixtures::events(codec(), text.as_bytes());
    law::check(&events).unwrap();
    assert!(
        matches!(events.last(), Some(Event::Fault(fault)) if fault.class == FaultClass::Internal)
    );
}

#[test]
fn faults_have_a_status_and_a_text() {
    let wire = WireReply { status: 404, headers: vec![], body: json(r#"{"error":"no model"}"#) };
    let fault = codec().decode_fault(wire.clone());
    assert_eq!((fault.class, fault.message.as_str()), (FaultClass::NotFound, "no model"));
    assert_eq!(codec().encode_fault(&fault), wire);
    let other = codec().decode_fault(WireReply { status: 502, ..WireReply::default() });
    assert_eq!(other.class, FaultClass::Internal);
    let lines =
        encoded([Event::Fault(Fault::new(FaultClass::Internal, "oh"))], &ReplyContext::default());
    assert_eq!(lines, [json(r#"{"error":"oh"}"#)]);
}

#[test]
fn a_translated_reply_has_all_fields_that_clients_expect() {
    let response = Response {
        parts: vec![Part::text("hi")],
        stop: Stop::new(StopReason::StopSequence),
        usage: Some(Usage {
            input: Some(1),
            cache_read: Some(2),
            output: Some(3),
            ..Usage::default()
        }),
        ..Response::default()
    };
    let asked = ReplyContext {
        model: Some("m".to_owned()),
        created: 1_794_700_800,
        ..ReplyContext::default()
    };
    let last = r#""done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":3,"total_duration":1,"load_duration":1,"prompt_eval_duration":1,"eval_duration":1}"#;
    let head = r#"{"model":"m","created_at":"2026-11-15T00:00:00Z","message":"#;
    let whole = format!(r#"{head}{{"role":"assistant","content":"hi"}},{last}"#);
    assert_eq!(codec().encode_response(response.clone(), &asked).body, json(&whole));
    let lines = [
        format!(r#"{head}{{"role":"assistant","content":"hi"}},"done":false}}"#),
        format!(r#"{head}{{"role":"assistant","content":""}},{last}"#),
    ];
    assert_eq!(encoded(split(response), &asked), lines.map(|line| json(&line)));
}

#[test]
fn every_reply_has_nonzero_durations() {
    let keys = ["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"];
    let response = Response::new(vec![Part::text("x")]);
    let whole = codec().encode_response(response.clone(), &ReplyContext::default()).body;
    let lines =
        encoded(toolwright_core::event::split::split(response.clone()), &ReplyContext::default());
    for reply in [&whole, lines.last().unwrap()] {
        for key in keys {
            assert!(reply.get(key).and_then(Json::as_u64).is_some_and(|own| own > 0), "{key}");
        }
    }
    // Empty values are ignored; measured values stay.
    assert_eq!(codec().decode_response(WireReply::ok(whole)).unwrap().stop, response.stop);
    let measured = r#"{"model":"m","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant","content":"x"},"done":true,"done_reason":"stop","total_duration":5,"load_duration":2,"prompt_eval_duration":2,"eval_duration":3}"#;
    fixtures::response(codec(), &json(measured));
}

/// A request that forces a call, in `openai-chat`.
fn forcing(choice: &str) -> String {
    format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"tool_choice":{choice},"tools":[
        {{"type":"function","function":{{"name":"add","parameters":{{"type":"object","properties":{{"a":{{"type":"integer"}}}},"required":["a"]}}}}}},
        {{"type":"function","function":{{"name":"noop"}}}}]}}"#
    )
}

#[test]
fn a_forced_call_is_enforced_by_the_format_of_the_answer() {
    let (chat, ollama) = (lookup("openai-chat").unwrap(), lookup("ollama").unwrap());
    for (choice, names) in [
        (r#""required""#, vec!["add", "noop"]),
        (r#"{"type":"function","function":{"name":"add"}}"#, vec!["add"]),
    ] {
        let strict = Options { strict: true, ..Options::default() };
        let wire =
            WireRequest { body: Json::parse(&forcing(choice)).unwrap(), ..WireRequest::default() };
        let there = Translator::new(chat, ollama, &strict).request(wire).unwrap();
        let format = there.value.body.get("format").unwrap().to_string();
        for name in ["add", "noop"] {
            assert_eq!(format.contains(name), names.contains(&name), "{format}");
        }
        let aliases = Aliases::from_json(&there.report.aliases.to_json()).unwrap();
        assert!(aliases.forced);
        let options = Options::default();
        let back = Translator::new(ollama, chat, &options).with_aliases(&aliases);
        let said = r#"{"name":"add","arguments":{"a":1}}"#;
        let reply = object! {"model": "m", "message": object! {"role": "assistant", "content": said}, "done": true, "done_reason": "stop"};
        let answer = back.response(WireReply::ok(reply.clone())).unwrap().value.body;
        let call = answer.pointer("/choices/0/message/tool_calls/0/function").unwrap();
        assert_eq!(call.get("name").and_then(Json::as_str), Some("add"), "{answer}");
        assert_eq!(call.get("arguments").and_then(Json::as_str), Some(r#"{"a":1}"#), "{answer}");
        let stop = answer.pointer("/choices/0/finish_reason").and_then(Json::as_str);
        assert_eq!(stop, Some("tool_calls"), "{answer}");
        // The same as a stream, in two fragments.
        let mut stream = back.stream();
        let mut out = Vec::new();
        for (text, done) in [(&said[..12], false), (&said[12..], false), ("", true)] {
            let line = object! {"model": "m", "message": object! {"role": "assistant", "content": text}, "done": done, "done_reason": done.then_some("stop")};
            stream.push(format!("{line}\n").as_bytes(), &mut out).unwrap();
        }
        stream.finish(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(r#""name":"add""#) && text.contains(r#"\"a\":1"#), "{text}");
        assert!(text.contains(r#""finish_reason":"tool_calls""#), "{text}");
        assert!(!text.contains(r#""content":"{"#), "{text}");
    }
    // Text that is not a call stays text.
    let (options, mut aliases) = (Options::default(), Aliases::default());
    aliases.forced = true;
    let reply = object! {"model": "m", "message": object! {"role": "assistant", "content": "no"}, "done": true};
    let back = Translator::new(ollama, chat, &options).with_aliases(&aliases);
    let back = back.response(WireReply::ok(reply)).unwrap();
    let text = back.value.body.pointer("/choices/0/message/content").and_then(Json::as_str);
    assert_eq!(text, Some("no"));
}
