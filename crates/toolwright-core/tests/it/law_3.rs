//! Laws 3, 4 and 6 on recorded streams: joined they equal the whole reply, split they return, and
//! decoders keep the grammar.

use toolwright_core::dialect::Asked;
use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::watch::Watch;
use toolwright_core::event::{Event, law};
use toolwright_core::translate::StreamReader;

use crate::fixtures;

#[test]
fn law_6_decoders_keep_the_grammar() {
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
fn who_only_watches_notes_the_same() {
    for codec in fixtures::codecs() {
        for (name, bytes) in fixtures::streams(codec.dialect()) {
            let noted = |mut reader: StreamReader| {
                let mut events = Vec::new();
                let mut watch = Watch::default();
                reader.push(&bytes, &mut events).unwrap();
                reader.finish(&mut events).unwrap();
                for event in &events {
                    watch.see(event);
                }
                format!("{watch:?}")
            };
            let (all, some) = (StreamReader::new(codec), StreamReader::watching(codec));
            assert_eq!(noted(some), noted(all), "{name}");
        }
    }
}

#[test]
fn law_4_split_and_joined_a_reply_returns() {
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
fn law_3_an_encoded_stream_joins_to_the_same_reply() {
    for codec in fixtures::codecs() {
        for (name, wire) in fixtures::replies(codec.dialect()) {
            let response = codec.decode_response(wire).unwrap();
            let asked = Asked { stream_usage: true, ..Asked::default() };
            let frames = fixtures::encoded(codec, split(response.clone()), &asked);
            let events = fixtures::decoded(codec, frames);
            assert_eq!(join(events).unwrap(), response, "{} {name}", codec.dialect());
        }
    }
}
