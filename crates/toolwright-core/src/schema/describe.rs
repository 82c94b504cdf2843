//! Describes a schema briefly, for messages.

use toolwright_json::Json;

/// Maximum depth of a description.
const MAX_DEPTH: usize = 3;

/// Maximum number of names or values listed.
const MAX_LISTED: usize = 8;

/// Maximum characters of a name or value shown.
const MAX_SHOWN_CHARS: usize = 60;

/// Describes a schema in one line. References are resolved within `root`.
pub(crate) fn describe(schema: &Json, root: &Json) -> String {
    at_depth(schema, root, MAX_DEPTH)
}

/// Quotes and shortens a name or value.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", shorten(text))
}

/// Shortens a text to [`MAX_SHOWN_CHARS`] characters on one line.
pub(crate) fn shorten(text: &str) -> std::borrow::Cow<'_, str> {
    let (shown, end) = match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => (&text[..end], "…"),
        None => (text, ""),
    };
    if shown.contains(char::is_control) {
        return [&shown.replace(char::is_control, " "), end].concat().into();
    }
    if end.is_empty() { text.into() } else { [shown, end].concat().into() }
}

fn at_depth(schema: &Json, root: &Json, depth: usize) -> String {
    let object = match schema {
        Json::Bool(false) => return "nothing".into(),
        Json::Object(object) if !object.is_empty() => object,
        _ => return "any value".into(),
    };
    if depth == 0 {
        return "a value by its schema".into();
    }
    let below = |schema: &Json| at_depth(schema, root, depth - 1);
    if let Some(reference) = object.get("$ref").and_then(Json::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| "a value by its schema".into(), below);
    }
    if let Some(only) = object.get("const") {
        return shorten(&only.compact()).into_owned();
    }
    if let Some(values) = object.get("enum").and_then(Json::as_array) {
        let values = values.iter().map(|value| shorten(&value.compact()).into_owned());
        return format!("one of {}", list(values.collect()));
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(branches) = object.get(union).and_then(Json::as_array) {
            let mut texts: Vec<String> = branches.iter().take(MAX_LISTED).map(below).collect();
            texts.dedup();
            return texts.join(" or ");
        }
    }
    match object.get("type") {
        Some(Json::String(name)) => match name.as_str() {
            "array" => match object.get("items") {
                Some(items) => format!("array of {}", below(items)),
                None => "array".into(),
            },
            "object" => {
                let names = object.get("required").and_then(Json::as_array).unwrap_or_default();
                let names: Vec<String> = names.iter().filter_map(Json::as_str).map(quote).collect();
                if names.is_empty() {
                    "object".into()
                } else {
                    format!("object with {}", list(names))
                }
            }
            name => name.to_owned(),
        },
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).collect::<Vec<&str>>().join(" or ")
        }
        _ => "a value by its schema".into(),
    }
}

/// Joins the first texts, and gives the number of the others.
fn list(mut texts: Vec<String>) -> String {
    let more = texts.len().saturating_sub(MAX_LISTED);
    texts.truncate(MAX_LISTED);
    match more {
        0 => texts.join(", "),
        more => format!("{} and {more} more", texts.join(", ")),
    }
}
