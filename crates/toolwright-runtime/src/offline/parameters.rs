//! What a parameter takes, by its schema, its name and its description.

use std::collections::HashSet;

use toolwright_core::{Json, Tool};
use toolwright_json::Object;

use super::cut;
use super::vocabulary::words;

/// A parameter.
#[derive(Debug, Clone)]
pub(super) struct Parameter<'t> {
    /// Its name
    pub(super) name: &'t str,
    /// Its description
    pub(super) about: Option<&'t str>,
    /// Whether it is required
    pub(super) is_required: bool,
    /// What it takes
    pub(super) takes: Takes<'t>,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Takes<'t> {
    /// One of some values
    OneOf(&'t [Json]),
    /// A number, and whether it must be an integer
    Number {
        /// Whether it must be an integer
        is_whole: bool,
        /// Whether it counts something
        is_count: bool,
    },
    /// A file or folder
    Path,
    /// A date, in a format of JSON Schema or as written
    Date {
        /// Whether it must have the format
        is_formal: bool,
    },
    /// The start of a trip
    From,
    /// The end of a trip
    To,
    /// A location
    Place,
    /// Another text
    Text,
    /// A list of texts
    Texts,
    /// Data, which can only be passed as a handle
    Data,
    /// A text or a handle
    Any,
}

/// Words that tell what a text is; the first row that matches decides.
const ROLES: [(&str, Takes<'static>); 5] = [
    ("date 日期", Takes::Date { is_formal: false }),
    ("origin source from", Takes::From),
    ("destination target to", Takes::To),
    ("location", Takes::Place),
    ("path file filename directory filepath", Takes::Path),
];

/// Words in names of parameters that count something.
const COUNTS: &str = "limit count n max maximum top size line lines first last";

/// Maximum number of parameters of a tool that are considered.
const MAX_PARAMETERS: usize = 64;

/// Maximum number of bytes of a description that are read.
const READ_ABOUT: usize = 512;

/// Maximum number of references and unions that lead to a type.
const MAX_DEPTH: usize = 8;

/// Returns the parameters of a tool, in order.
pub(super) fn parameters(tool: &Tool) -> Vec<Parameter<'_>> {
    let Some(root) = tool.parameters() else { return Vec::new() };
    let required = root.get("required").and_then(Json::as_array).unwrap_or_default();
    let required: HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
    let properties = root.get("properties").and_then(Json::as_object);
    let all = properties.into_iter().flat_map(Object::iter).take(MAX_PARAMETERS);
    all.map(|(name, schema)| {
        let about = schema.get("description").and_then(Json::as_str);
        // A text that may be a handle may come from an outcome.
        let names_handle = |text: &str| text.contains("handle") || text.contains("句柄");
        let takes = match takes(root, schema, 0) {
            Takes::Text if names_handle(name) || about.is_some_and(names_handle) => Takes::Any,
            Takes::Text => role(name).or_else(|| role(about?)).unwrap_or(Takes::Text),
            Takes::Number { is_whole, .. } => {
                let is_count =
                    words(name).iter().chain([&name.to_owned()]).any(|word| has(COUNTS, word));
                Takes::Number { is_whole, is_count }
            }
            takes => takes,
        };
        Parameter { name, about, is_required: required.contains(name), takes }
    })
    .collect()
}

/// What a schema takes; for a union, the first branch that is not null.
fn takes<'t>(root: &'t Json, schema: &'t Json, depth: usize) -> Takes<'t> {
    let text = |key| schema.get(key).and_then(Json::as_str);
    let target = text("$ref").and_then(|name| root.pointer(name.strip_prefix('#')?));
    let unions =
        ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    let is_real = |own: &&Json| own.get("type").and_then(Json::as_str) != Some("null");
    if let Some(inner) = target.or_else(|| unions.flatten().find(is_real)) {
        return if depth < MAX_DEPTH { takes(root, inner, depth + 1) } else { Takes::Data };
    }
    if let Some(accepted) = schema.get("enum").and_then(Json::as_array) {
        return Takes::OneOf(accepted);
    }
    let named = match schema.get("type") {
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).find(|name| *name != "null")
        }
        name => name.and_then(Json::as_str),
    };
    match named {
        Some(name @ ("integer" | "number")) => {
            Takes::Number { is_whole: name == "integer", is_count: false }
        }
        Some("string") if text("format").is_some_and(|format| format.starts_with("date")) => {
            Takes::Date { is_formal: true }
        }
        Some("string") => Takes::Text,
        Some("array")
            if schema
                .get("items")
                .is_some_and(|own| takes(root, own, depth + 1) == Takes::Text) =>
        {
            Takes::Texts
        }
        Some(_) => Takes::Data,
        None => Takes::Any,
    }
}

/// What a name or a description says that a text is.
fn role(text: &str) -> Option<Takes<'static>> {
    let own = words(cut(text, READ_ABOUT));
    let is_name = |list: &str| has(list, text);
    let found =
        ROLES.iter().find(|(list, _)| is_name(list) || own.iter().any(|word| has(list, word)));
    found.map(|(_, takes)| *takes)
}

fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|own| own == word)
}
