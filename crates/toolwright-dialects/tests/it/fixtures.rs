//! The recorded traffic under `fixtures/`, by dialect, and helpers to decode and encode it.

use toolwright_core::event::{Event, law};
use toolwright_core::{Json, Request, Response};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, FrameStatus, ReplyContext, WireReply, WireRequest,
};
use toolwright_dialects::frame::{Frame, FrameReader, Framing};

pub use toolwright_testing::fixtures::root;

use crate::spelling;

/// The codecs of all chat dialects.
pub fn codecs() -> Vec<&'static dyn ChatCodec> {
    Dialect::ALL.into_iter().filter_map(dialect::codec).collect()
}

/// The ids of their dialects.
pub fn dialects() -> impl Iterator<Item = &'static str> {
    codecs().into_iter().map(|codec| codec.dialect().id())
}

/// The ids of all dialects but one.
pub fn other_dialects(own: &str) -> impl Iterator<Item = &'static str> {
    dialects().filter(move |id| *id != own)
}

/// Reads a fixture.
pub fn bytes(dialect: Dialect, relative: &str) -> Vec<u8> {
    let path = root().join(dialect.id()).join(relative);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a fixture that is one JSON document.
pub fn json(dialect: Dialect, relative: &str) -> Json {
    Json::parse_bytes(&bytes(dialect, relative)).unwrap()
}

/// The files of one kind for which `keep` holds, sorted by name.
pub fn names(dialect: Dialect, kind: &str, keep: impl Fn(&str) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root().join(dialect.id()).join(kind)) else {
        return vec![];
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| keep(name))
        .collect();
    names.sort();
    names
}

/// The recorded requests of a dialect, and those written for the matrix.
pub fn requests(dialect: Dialect) -> Vec<(String, WireRequest)> {
    let sources = files(dialect, &["captured", "synthetic"], |name| {
        name.ends_with(".json") && (name.starts_with("captured/") || name.contains("request"))
    });
    let read = |name: String| {
        let record = json(dialect, &name);
        let path = record.get("path").and_then(Json::as_str).unwrap_or_default().to_owned();
        let body = record.get("body").cloned().unwrap_or(record);
        (name, WireRequest { path, headers: vec![], body })
    };
    sources.into_iter().map(read).collect()
}

/// The recorded whole replies of a dialect, and those written by hand.
pub fn replies(dialect: Dialect) -> Vec<(String, WireReply)> {
    let sources = files(dialect, &["accepted", "synthetic"], |name| {
        name.ends_with(".json")
            && !["parsed", "error", "request"].iter().any(|word| name.contains(word))
    });
    let read = |name: String| (name.clone(), WireReply::ok(json(dialect, &name)));
    sources.into_iter().map(read).collect()
}

/// The recorded streams of a dialect, including failed ones, and those written by hand.
pub fn streams(dialect: Dialect) -> Vec<(String, Vec<u8>)> {
    let sources = files(dialect, &["accepted", "synthetic"], |name| {
        (name.ends_with(".txt") || name.ends_with(".bin")) && !name.contains(".events.")
    });
    sources.into_iter().map(|name| (name.clone(), bytes(dialect, &name))).collect()
}

/// The stream written for the matrix.
pub fn matrix_stream(dialect: Dialect) -> Vec<u8> {
    let mut own = streams(dialect).into_iter().filter(|(name, _)| name.contains("matrix_stream"));
    own.next().unwrap().1
}

/// Files of several folders for which `keep` holds, by folder and name.
fn files(dialect: Dialect, kinds: &[&str], keep: impl Fn(&str) -> bool) -> Vec<String> {
    let of = |kind: &&str| {
        let kind = (*kind).to_owned();
        names(dialect, &kind, |_| true).into_iter().map(move |name| format!("{kind}/{name}"))
    };
    // Other synthetic files show the tolerance of one dialect and belong to its tests.
    let general = |name: &String| !name.starts_with("synthetic/") || name.contains("/matrix_");
    kinds.iter().flat_map(of).filter(general).filter(|name| keep(name)).collect()
}

/// Cuts a recorded stream into frames.
pub fn frames(framing: Framing, bytes: &[u8]) -> Vec<Frame> {
    let mut reader = FrameReader::new(framing);
    let mut frames = Vec::new();
    reader.push(bytes, &mut frames).unwrap();
    reader.finish(&mut frames).unwrap();
    frames
}

/// Decodes a complete stream.
pub fn events(codec: &dyn ChatCodec, bytes: &[u8]) -> Vec<Event> {
    decoded(codec, frames(codec.framing(), bytes))
}

/// Decodes frames, and asserts that all of them are known.
pub fn decoded(codec: &dyn ChatCodec, frames: impl IntoIterator<Item = Frame>) -> Vec<Event> {
    let (events, unknown) = tolerated(codec, frames);
    assert_eq!(unknown, [], "{}", codec.dialect());
    events
}

/// Decodes frames, asserts that the events follow the grammar, and returns the unknown frames as
/// well.
pub fn tolerated(
    codec: &dyn ChatCodec,
    frames: impl IntoIterator<Item = Frame>,
) -> (Vec<Event>, Vec<Frame>) {
    let mut decoder = codec.stream_decoder();
    let (mut events, mut unknown) = (Vec::new(), Vec::new());
    for frame in frames {
        let seen = decoder.decode(&frame, &mut events).unwrap_or_else(|error| panic!("{error}"));
        unknown.extend((seen == FrameStatus::Unknown).then_some(frame));
    }
    decoder.finish(&mut events);
    law::check(&events).unwrap_or_else(|broken| panic!("{broken}\n{events:#?}"));
    (events, unknown)
}

/// Encodes events.
pub fn encoded(
    codec: &dyn ChatCodec,
    events: impl IntoIterator<Item = Event>,
    asked: &ReplyContext,
) -> Vec<Frame> {
    let mut encoder = codec.stream_encoder(asked);
    let mut frames = Vec::new();
    for event in events {
        encoder.encode(event, &mut frames);
    }
    frames
}

/// Decodes a request and asserts that it encodes to the same document.
#[track_caller]
pub fn request(codec: &dyn ChatCodec, body: &Json) -> Request {
    let wire = WireRequest { body: body.clone(), ..WireRequest::default() };
    let request = codec.decode_request(wire).unwrap_or_else(|error| panic!("{error}"));
    let again = codec.encode_request(request.clone());
    spelling::assert_same(codec.dialect(), "request", body, &again.body);
    request
}

/// Decodes a response and asserts that it encodes to the same document.
#[track_caller]
pub fn response(codec: &dyn ChatCodec, body: &Json) -> Response {
    let wire = WireReply::ok(body.clone());
    let response = codec.decode_response(wire).unwrap_or_else(|error| panic!("{error}"));
    let again = codec.encode_response(response.clone(), &ReplyContext::default());
    spelling::assert_same(codec.dialect(), "response", body, &again.body);
    response
}
