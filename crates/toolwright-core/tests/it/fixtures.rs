//! The recorded traffic under `fixtures/`, by dialect.

use std::path::{Path, PathBuf};

use toolwright_core::Json;
use toolwright_core::dialect::{ChatCodec, Dialect, WireReply, WireRequest};
use toolwright_core::event::Event;
use toolwright_core::frame::{Frame, FrameReader, Framing};

/// The folder of all fixtures.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The codecs of all dialects that speak conversations.
pub fn codecs() -> Vec<&'static dyn ChatCodec> {
    Dialect::ALL.into_iter().filter_map(Dialect::codec).collect()
}

/// A fixture's bytes.
pub fn bytes(dialect: Dialect, relative: &str) -> Vec<u8> {
    let path = root().join(dialect.id()).join(relative);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A fixture that is one JSON document.
pub fn json(dialect: Dialect, relative: &str) -> Json {
    Json::parse_bytes(&bytes(dialect, relative)).unwrap()
}

/// The files of one kind, sorted by name: those for which `keep` holds.
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

/// The requests that SDKs sent in a dialect.
pub fn requests(dialect: Dialect) -> Vec<(String, WireRequest)> {
    names(dialect, "captured", |name| name.ends_with(".json"))
        .into_iter()
        .map(|name| {
            let record = json(dialect, &format!("captured/{name}"));
            let path = record.get("path").and_then(Json::as_str).unwrap_or_default().to_owned();
            let body = record.get("body").cloned().unwrap();
            (name, WireRequest { path, headers: vec![], body })
        })
        .collect()
}

/// The whole replies that SDKs accepted in a dialect.
pub fn replies(dialect: Dialect) -> Vec<(String, WireReply)> {
    let keep =
        |name: &str| name.ends_with(".json") && !name.contains("parsed") && !name.contains("error");
    names(dialect, "accepted", keep)
        .into_iter()
        .map(|name| (name.clone(), WireReply::ok(json(dialect, &format!("accepted/{name}")))))
        .collect()
}

/// The streams that SDKs accepted in a dialect, failed ones included.
pub fn streams(dialect: Dialect) -> Vec<(String, Vec<u8>)> {
    let keep = |name: &str| {
        (name.ends_with(".txt") || name.ends_with(".bin")) && !name.contains(".events.")
    };
    names(dialect, "accepted", keep)
        .into_iter()
        .map(|name| (name.clone(), bytes(dialect, &format!("accepted/{name}"))))
        .collect()
}

/// Cuts a recorded stream into frames.
pub fn frames(framing: Framing, bytes: &[u8]) -> Vec<Frame> {
    let mut reader = FrameReader::new(framing);
    let mut frames = Vec::new();
    reader.push(bytes, &mut frames).unwrap();
    reader.finish(&mut frames).unwrap();
    frames
}

/// Decodes a whole stream.
pub fn events(codec: &dyn ChatCodec, bytes: &[u8]) -> Vec<Event> {
    let mut decoder = codec.stream_decoder();
    let mut events = Vec::new();
    for frame in frames(codec.framing(), bytes) {
        decoder.decode(&frame, &mut events).unwrap_or_else(|error| panic!("{error}"));
    }
    decoder.finish(&mut events);
    events
}
