//! MCP: definitions, calls and results of the recorded exchanges, and differences between protocol
//! eras.

use toolwright_core::part::{Body, MediaKind};
use toolwright_core::profile::JsonRule;
use toolwright_core::{Arguments, Call, Json, Outcome, Part, Tool};
use toolwright_dialects::dialect::DecodeError;
use toolwright_dialects::dialect::mcp::{Era, Mcp};
use toolwright_dialects::dialect::{self, Dialect, Target, ToolCodec};
use toolwright_dialects::frame::Framing;

use crate::fixtures;

const HANDSHAKE: Mcp = Mcp { era: Era::Handshake };
const STATELESS: Mcp = Mcp { era: Era::Stateless };

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[track_caller]
fn assert_same(original: &Json, again: &Json) {
    assert!(original.same(again), "original: {original}\nagain:    {again}");
}

/// Decodes a result and asserts that it encodes to the same result.
fn outcome(codec: Mcp, wire: &Json) -> Part {
    let part = codec.decode_outcome(wire.clone()).unwrap();
    assert_same(wire, &codec.encode_outcome(&part));
    part
}

/// The recorded replies of an era, whole and streamed.
fn replies() -> Vec<(Mcp, Json)> {
    let mut replies = Vec::new();
    for (codec, name) in [(HANDSHAKE, "mcp_legacy.json"), (STATELESS, "mcp_modern.json")] {
        let Json::Object(exchanges) = fixtures::json(Dialect::Mcp, &format!("accepted/{name}"))
        else {
            panic!("{name}")
        };
        replies.extend(exchanges.into_iter().map(|(_, reply)| (codec, reply)));
    }
    let stream = fixtures::bytes(Dialect::Mcp, "accepted/mcp_modern_sse_body.txt");
    let frames = fixtures::frames(Framing::Sse, &stream);
    replies.extend(frames.iter().map(|frame| (STATELESS, json(&frame.data))));
    replies
}

#[test]
fn definitions_and_results_return_law_2() {
    let (mut tools, mut results) = (0, 0);
    for (codec, reply) in replies() {
        for wire in reply.pointer("/result/tools").and_then(Json::as_array).unwrap_or_default() {
            let tool = codec.decode_tool(wire.clone()).unwrap();
            assert_same(wire, &codec.encode_tool(&tool));
            tools += 1;
        }
        if reply.pointer("/result/content").is_some() {
            outcome(codec, reply.get("result").unwrap());
            results += 1;
        }
    }
    assert_eq!((tools, results), (4, 6));
}

#[test]
fn calls_return_law_2() {
    let mut calls = 0;
    for name in fixtures::names(Dialect::Mcp, "captured", |_| true) {
        let exchanges = fixtures::json(Dialect::Mcp, &format!("captured/{name}"));
        for exchange in exchanges.as_array().unwrap() {
            if exchange.pointer("/body/method").and_then(Json::as_str) != Some("tools/call") {
                continue;
            }
            let wire = exchange.pointer("/body/params").unwrap();
            let part = STATELESS.decode_call(wire.clone()).unwrap();
            assert_eq!(part.as_call().unwrap().id, None);
            assert_same(wire, &STATELESS.encode_call(&part));
            calls += 1;
        }
    }
    assert_eq!(calls, 12);
}

#[test]
fn a_definition_maps_to_the_canonical_fields() {
    let wire = replies()[1].1.pointer("/result/tools/0").cloned().unwrap();
    let tool = HANDSHAKE.decode_tool(wire).unwrap();
    assert_eq!(tool.title.as_deref(), Some("Weather 天气"));
    assert!(tool.output.is_some() && tool.parameters().is_some());
    let hint = tool.annotations.as_ref().and_then(|own| own.get("readOnlyHint"));
    assert_eq!(hint.and_then(Json::as_bool), Some(true));
    let extra: Vec<&str> = tool.extra.fields().unwrap().keys().collect();
    assert_eq!(extra, ["icons", "_meta"]);
}

#[test]
fn structured_content_is_written_once() {
    let replies = replies();
    let wire = replies[2].1.get("result").unwrap();
    let part = outcome(HANDSHAKE, wire);
    let content = &part.as_outcome().unwrap().content;
    let Body::Json(value) = &content[0].body else { panic!("{content:?}") };
    assert_same(wire.get("structuredContent").unwrap(), value);
    assert!(matches!(&content[1].body, Body::Media(media) if media.kind == MediaKind::Image));
    assert!(matches!(content[2].body, Body::Opaque(_)));
    assert_eq!(content[3].as_text(), Some("hi"));
    assert_eq!(content.len(), 4);

    let alone = json(
        r#"{"content":[{"type":"text","text":"See the value."}],"structuredContent":{"n":12345678901234567890.10},"_meta":{"a":1}}"#,
    );
    let part = outcome(HANDSHAKE, &alone);
    assert!(matches!(part.as_outcome().unwrap().content[1].body, Body::Json(_)));

    let foreign =
        Outcome { content: vec![Part::new(Body::Json(json(r#"{"n":1}"#)))], ..Outcome::default() };
    let wire = HANDSHAKE.encode_outcome(&Part::outcome(foreign));
    let both =
        json(r#"{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}"#);
    assert_same(&both, &wire);
}

#[test]
fn every_block_returns() {
    let wire = json(
        r#"{"resultType":"complete","content":[
            {"type":"text","text":"a","annotations":{"audience":["user"]}},
            {"type":"audio","data":"UklGRg==","mimeType":"audio/wav","_meta":{"k":1}},
            {"type":"resource","resource":{"uri":"a://b","mimeType":"application/pdf","blob":"AAAA","_meta":{}},"annotations":{"priority":0.5}},
            {"type":"resource","resource":{"uri":"a://c","mimeType":"image/png","blob":"AAAA"}},
            {"type":"resource","resource":{"uri":"a://d","text":"{\"n\":1}"}},
            {"type":"resource_link","uri":"https://example.com","name":"x","size":3},
            {"type":"hologram","depth":3}],"structuredContent":{"n":1},"isError":false}"#,
    );
    let part = outcome(STATELESS, &wire);
    let content = &part.as_outcome().unwrap().content;
    let kinds: Vec<MediaKind> = content
        .iter()
        .filter_map(|part| match &part.body {
            Body::Media(media) => Some(media.kind),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [MediaKind::Audio, MediaKind::Document, MediaKind::Image]);
    assert!(matches!(content.last().unwrap().body, Body::Json(_)));
}

#[test]
fn eras_differ_as_the_protocol_specifies() {
    assert_eq!(Era::of("2025-11-25"), Era::Handshake);
    assert_eq!(Era::of("2026-07-28"), Era::Stateless);

    let list = json(r#"{"content":[],"structuredContent":[1,2],"resultType":"complete"}"#);
    let part = outcome(STATELESS, &list);
    let error = HANDSHAKE.decode_outcome(list).unwrap_err();
    assert_eq!(error.to_string(), "mcp: /structuredContent: expected an object");
    let older = HANDSHAKE.encode_outcome(&part);
    assert_same(&json(r#"{"content":[{"type":"text","text":"[1,2]"}]}"#), &older);

    let wire =
        json(r#"{"name":"f","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}"#);
    let tool = STATELESS.decode_tool(wire.clone()).unwrap();
    assert_same(&wire, &STATELESS.encode_tool(&tool));
    assert!(HANDSHAKE.decode_tool(wire).is_err());
    assert!(HANDSHAKE.encode_tool(&tool).get("outputSchema").is_none());

    let rule = |version| {
        let target = Target { version: Some(version), ..Target::default() };
        STATELESS.profile(&target).outcome.json
    };
    assert_eq!(rule("2025-06-18"), JsonRule::Objects);
    assert_eq!(rule("2026-07-28"), JsonRule::Any);
}

#[test]
fn a_result_that_requests_input_is_not_an_outcome() {
    let wire = json(
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}},"requestState":"s"}"#,
    );
    assert!(matches!(outcome(STATELESS, &wire).body, Body::Opaque(_)));
}

#[test]
fn names_may_have_dots() {
    let names = STATELESS.profile(&Target::default()).names;
    let legal =
        |name: &str| name.len() <= names.max && name.chars().all(|own| names.charset.contains(own));
    assert!(legal("files.read-all_v2"));
    assert!(!legal("天气") && !legal("a:b") && !legal(&"a".repeat(129)));
}

#[test]
fn numbers_keep_their_digits() {
    let wire = json(
        r#"{"name":"f","arguments":{"n":[9007199254740993,18446744073709551615,1e400,0.10]}}"#,
    );
    let part = STATELESS.decode_call(wire.clone()).unwrap();
    assert_eq!(STATELESS.encode_call(&part).to_string(), wire.to_string());
}

#[test]
fn calls_without_arguments_return() {
    let bare = json(r#"{"name":"f","task":{"ttl":1}}"#);
    let part = HANDSHAKE.decode_call(bare.clone()).unwrap();
    assert_eq!(part.as_call().unwrap().arguments, Arguments::none());
    assert_same(&bare, &HANDSHAKE.encode_call(&part));
    let made = Part::call(Call::new("x", "f", Arguments::none()));
    assert_same(&json(r#"{"name":"f","arguments":{}}"#), &HANDSHAKE.encode_call(&made));
    let wrong: DecodeError =
        HANDSHAKE.decode_call(json(r#"{"name":"f","arguments":[]}"#)).unwrap_err();
    assert_eq!(wrong.to_string(), "mcp: /arguments: expected an object");
}

#[test]
fn every_dialect_has_a_tool_codec() {
    let parameters = json(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#);
    for dialect in Dialect::ALL
        .into_iter()
        .filter(|own| dialect::codec(*own).is_some() || *own == Dialect::Mcp)
    {
        let codec = dialect::tool_codec(dialect);
        assert_eq!(codec.dialect(), dialect);
        let tool = Tool::function("f", parameters.clone());
        let again = codec.decode_tool(codec.encode_tool(&tool)).unwrap();
        assert_eq!(
            (again.name.as_str(), again.parameters()),
            ("f", Some(&parameters)),
            "{dialect}"
        );
        let mcp = dialect::tool_codec(Dialect::Mcp).encode_tool(&again);
        assert_eq!(mcp.get("inputSchema"), Some(&parameters), "{dialect}");
    }
}
