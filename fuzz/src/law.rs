//! Properties of everything that is encoded.

use toolwright_core::json::{MAX_DEPTH, Object};
use toolwright_core::{Extra, Json, Part, Tool};

/// The maximum size of the result for a document: additions are proportional to it.
pub fn room(document: &Json) -> usize {
    64 * document.to_string().len() + 64 * 1024
}

/// Asserts that an encoded value can be parsed, and is within the size bound.
pub fn is_sound(value: &Json, room: usize) {
    let text = value.to_string();
    assert!(text.len() <= room, "{} bytes where there is room for {room}", text.len());
    if depth(value) <= MAX_DEPTH {
        assert_eq!(Json::parse(&text).as_ref(), Ok(value));
    }
}

/// Asserts that tools that came in another vendor's shape are equal, apart from the origins of
/// their fields.
pub fn are_same_tools(later: &[Tool], earlier: &[Tool]) {
    let essence = |tool: &Tool| (tool.name.clone(), tool.description.clone(), tool.kind.clone());
    let (later, earlier): (Vec<_>, Vec<_>) =
        (later.iter().map(essence).collect(), earlier.iter().map(essence).collect());
    assert_eq!(later, earlier);
}

/// Asserts that parts are equal, apart from added extra fields.
pub fn are_same_parts(later: &[Part], earlier: &[Part]) {
    for (later, earlier) in later.iter().zip(earlier) {
        has_all(&later.extra, &earlier.extra);
        assert_eq!(Part { extra: earlier.extra.clone(), ..later.clone() }, *earlier);
    }
    assert_eq!(later.len(), earlier.len());
}

/// Asserts that no extra field was lost.
pub fn has_all(later: &Extra, earlier: &Extra) {
    let none = Object::new();
    includes(later.fields().unwrap_or(&none), earlier.fields().unwrap_or(&none));
}

fn includes(later: &Object, earlier: &Object) {
    for key in earlier.keys() {
        match (later.get(key), earlier.get(key)) {
            (Some(Json::Object(later)), Some(Json::Object(earlier))) => includes(later, earlier),
            (later, earlier) => assert_eq!(later, earlier, "{key}"),
        }
    }
}

fn depth(value: &Json) -> usize {
    match value {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(object) => 1 + object.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        _ => 0,
    }
}
