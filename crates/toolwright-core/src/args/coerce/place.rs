//! Places in a value, by JSON Pointer: looking, putting, taking away.

use crate::json::Json;

/// How many bytes of a value a report shows.
const SHOWN: usize = 4096;

/// The value at a pointer, to change.
pub(super) fn find<'j>(value: &'j mut Json, pointer: &str) -> Option<&'j mut Json> {
    let mut here = value;
    for segment in segments(pointer) {
        here = match here {
            Json::Object(object) => object.get_mut(&segment)?,
            Json::Array(items) => items.get_mut(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}

/// The pointer around a pointer, and its last key or index.
pub(super) fn split(pointer: &str) -> Option<(&str, String)> {
    let (around, last) = pointer.rsplit_once('/')?;
    Some((around, unescape(last)))
}

/// How much there is to look at in a value.
pub(super) fn weight(value: &Json) -> usize {
    match value {
        Json::String(text) => 1 + text.len() / 64,
        Json::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Json::Object(object) => 1 + object.iter().map(|(_, value)| weight(value)).sum::<usize>(),
        _ => 1,
    }
}

/// A value for a report: itself, or the beginning of its text if it is long.
pub(super) fn shown(value: &Json) -> Json {
    let text = match value {
        Json::String(text) if text.len() > SHOWN => text.clone(),
        Json::Array(_) | Json::Object(_) => value.compact(),
        _ => return value.clone(),
    };
    if text.len() <= SHOWN {
        return value.clone();
    }
    let end = text.floor_char_boundary(SHOWN);
    Json::from(format!("{}… ({} bytes)", &text[..end], text.len()))
}

/// The keys and indexes of a pointer.
pub(super) fn segments(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescape)
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}
