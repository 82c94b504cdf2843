//! What holds for everything that is written.

use toolwright_core::json::{MAX_DEPTH, Object};
use toolwright_core::{Extra, Json, Part, Tool};

/// How large the result of a document may be: what is added is proportional to it.
pub fn room(document: &Json) -> usize {
    64 * document.to_string().len() + 64 * 1024
}

/// What is written can be read, and is no larger than its source allows.
pub fn is_sound(value: &Json, room: usize) {
    let text = value.to_string();
    assert!(text.len() <= room, "{} bytes where there is room for {room}", text.len());
    if depth(value) <= MAX_DEPTH {
        assert_eq!(Json::parse(&text).as_ref(), Ok(value));
    }
}

/// Tools that came in a neighbour's shape keep what they are, not where each field stood.
pub fn are_same_tools(later: &[Tool], earlier: &[Tool]) {
    let essence = |tool: &Tool| (tool.name.clone(), tool.description.clone(), tool.kind.clone());
    let (later, earlier): (Vec<_>, Vec<_>) =
        (later.iter().map(essence).collect(), earlier.iter().map(essence).collect());
    assert_eq!(later, earlier);
}

/// Parts that may have gained extra fields.
pub fn are_same_parts(later: &[Part], earlier: &[Part]) {
    for (later, earlier) in later.iter().zip(earlier) {
        has_all(&later.extra, &earlier.extra);
        assert_eq!(Part { extra: earlier.extra.clone(), ..later.clone() }, *earlier);
    }
    assert_eq!(later.len(), earlier.len());
}

/// Extra fields may be added, but none is gone.
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
