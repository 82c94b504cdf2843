//! Laws 3, 4 and 6 on recorded streams: joined they equal the whole reply, split replies join to
//! the same reply, and decoders follow the grammar.

use toolwright_core::Json;
use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::{Event, law};
use toolwright_dialects::dialect::ResponseSummary;
use toolwright_dialects::dialect::{ReplyContext, WireReply};
use toolwright_dialects::translate::StreamReader;

use crate::fixtures;

#[test]
fn decoders_keep_the_grammar_law_6() {
    for codec in fixtures::codecs() {
        for (name, bytes) in fixtures::streams(codec.dialect()) {
            let events = fixtures::events(codec, &bytes);
            law::check(&events).unwrap_or_else(|broken| panic!("{name}: {broken}\n{events:#?}"));
            let failed = matches!(events.last(), Some(Event::Fault(_)));
            assert_eq!(failed, name.contains("error") || name.contains("failed"), "{name}");
        }
    }
}

#[test]
fn a_summarizing_reader_gives_the_same_summary() {
    for codec in fixtures::codecs() {
        for (name, bytes) in fixtures::streams(codec.dialect()) {
            let noted = |mut reader: StreamReader| {
                let mut events = Vec::new();
                let mut summary = ResponseSummary::default();
                reader.push(&bytes, &mut events).unwrap();
                reader.finish(&mut events).unwrap();
                for event in &events {
                    summary.update(event);
                }
                format!("{summary:?}")
            };
            let (all, some) = (StreamReader::new(codec), StreamReader::summarizing(codec));
            assert_eq!(noted(some), noted(all), "{name}");
        }
    }
}

#[test]
fn the_summary_of_a_body_equals_that_of_the_decoded_response() {
    let unusual = [
        r#"{"choices":[{"message":{"content":null,"function_call":{"name":"a","arguments":""}}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"type":"custom","custom":{"name":"a"}}]}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"type":"search","search":{}}]}}]}"#,
        r#"{"choices":[{"message":{"content":[{"type":"refusal","refusal":"no"}]}}]}"#,
        r#"{"choices":[{"message":{"refusal":"no"},"finish_reason":"stop"}],"usage":null}"#,
        r#"{"choices":[{"message":{"tool_calls":[]},"finish_reason":"tool_calls"}],"usage":7}"#,
        r#"{"choices":[{"finish_reason":"stop"}]}"#,
        r#"{"id":"","model":"","choices":[{"message":{}},{"message":{"refusal":"no"}}]}"#,
        r#"{"choices":[]}"#,
        r#"{"content":[{"name":"a","type":"tool_use","id":"1"}],"stop_reason":"end_turn"}"#,
        r#"{"content":[{"name":"a","type":"server_tool_use","id":"1"}],"stop_reason":"new"}"#,
        r#"{"content":[],"stop_reason":"tool_use","usage":{"input_tokens":1}}"#,
        "[]",
        "{",
    ];
    for codec in fixtures::codecs() {
        let replies = fixtures::replies(codec.dialect()).into_iter();
        let replies = replies.map(|(name, wire)| (name, wire.body.compact()));
        let unusual = unusual.iter().map(|text| ("unusual".to_owned(), (*text).to_owned()));
        for (name, text) in replies.chain(unusual) {
            let read = Json::parse(&text).ok().map(WireReply::ok);
            let read = read.and_then(|wire| codec.decode_response(wire).ok());
            let read =
                read.map(|response| format!("{:?}", ResponseSummary::from_response(&response)));
            let summarized = ResponseSummary::from_bytes(codec, text.as_bytes());
            let dialect = codec.dialect();
            assert_eq!(summarized.map(|own| format!("{own:?}")), read, "{dialect} {name} {text}");
        }
    }
}

#[test]
fn split_and_joined_a_reply_returns_law_4() {
    for codec in fixtures::codecs() {
        for (name, wire) in fixtures::replies(codec.dialect()) {
            let response = codec.decode_response(wire).unwrap();
            let events = split(response.clone());
            law::check(&events).unwrap_or_else(|broken| panic!("{name}: {broken}"));
            assert_eq!(join(events).unwrap(), response, "{name}");
        }
    }
}

#[test]
fn an_encoded_stream_joins_to_the_same_reply_law_3() {
    for codec in fixtures::codecs() {
        for (name, wire) in fixtures::replies(codec.dialect()) {
            let response = codec.decode_response(wire).unwrap();
            let asked = ReplyContext { stream_usage: true, ..ReplyContext::default() };
            let frames = fixtures::encoded(codec, split(response.clone()), &asked);
            let events = fixtures::decoded(codec, frames);
            assert_eq!(join(events).unwrap(), response, "{} {name}", codec.dialect());
        }
    }
}
