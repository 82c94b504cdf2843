//! The type and role of a parameter, derived from its schema and description.

use std::collections::HashSet;

use toolwright_core::{Json, Tool};
use toolwright_json::Object;

use super::cut;
use super::word::words;

/// A parameter.
#[derive(Debug, Clone)]
pub(super) struct Slot<'a> {
    /// Its name
    pub(super) name: &'a str,
    /// Its description
    pub(super) about: Option<&'a str>,
    /// Whether it is required
    pub(super) required: bool,
    /// Its type
    pub(super) takes: Takes<'a>,
    /// Its role
    pub(super) role: Role,
}

/// The type of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Takes<'a> {
    /// An enumeration
    OneOf(&'a [Json]),
    /// A boolean
    Boolean,
    /// A number
    Number {
        /// Whether it must be an integer
        whole: bool,
    },
    /// A string, with its format if there is one
    Text(Option<&'a str>),
    /// An array of strings
    Texts,
    /// An array of numbers
    Numbers,
    /// Data, which can only be passed as a handle
    Data,
    /// A string or a handle
    Any,
}

/// The role of a string parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A file or folder
    Path,
    /// A URL
    Url,
    /// An email address
    Email,
    /// A date
    Date,
    /// The start of a trip or a range
    From,
    /// The end of a trip or a range
    To,
    /// A location
    Place,
    /// A search query
    Query,
    /// A message
    Message,
    /// A count
    Count,
    /// Another role
    Other,
}

/// Words that indicate a role; the first matching row decides.
const ROLES: &[(Role, &[&str])] = &[
    (Role::Url, &["url", "link", "uri", "href"]),
    (Role::Email, &["email", "recipient"]),
    (Role::Date, &["date", "日期"]),
    (Role::From, &["origin", "source"]),
    (Role::To, &["destination", "target"]),
    (Role::Place, &["location"]),
    (Role::Path, &["path", "file", "filename", "directory", "filepath"]),
    (
        Role::Query,
        &["query", "search", "keyword", "question", "term", "pattern", "expression", "q"],
    ),
    (Role::Message, &["message", "text", "content", "body", "comment", "subject"]),
    (
        Role::Count,
        &["limit", "count", "n", "max", "maximum", "top", "size", "line", "first", "last"],
    ),
];

/// Maximum number of parameters of a tool that are considered.
const MAX_SLOTS: usize = 64;

/// Maximum number of bytes of a description that are read.
const READ_ABOUT: usize = 512;

/// Returns the parameters of a tool, in order.
pub(super) fn slots(tool: &Tool) -> Vec<Slot<'_>> {
    let Some(root) = tool.parameters() else { return Vec::new() };
    let required = root.get("required").and_then(Json::as_array).unwrap_or_default();
    let required: HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
    let properties = root.get("properties").and_then(Json::as_object);
    properties
        .into_iter()
        .flat_map(Object::iter)
        .take(MAX_SLOTS)
        .map(|(name, schema)| {
            let required = required.contains(name);
            let about = schema.get("description").and_then(Json::as_str);
            // A string that may be a handle may come from an outcome.
            let named = |text: &str| text.contains("handle") || text.contains("句柄");
            let takes = match takes(root, schema, 0) {
                Takes::Text(_) if named(name) || about.is_some_and(named) => Takes::Any,
                takes => takes,
            };
            Slot { name, about, required, takes, role: role(name, about) }
        })
        .collect()
}

/// Returns the type of a schema; for a union, that of the first branch that is not null.
fn takes<'a>(root: &'a Json, schema: &'a Json, depth: usize) -> Takes<'a> {
    const DEEP: usize = 8;
    if depth > DEEP {
        return Takes::Data;
    }
    let target = schema.get("$ref").and_then(Json::as_str);
    if let Some(target) = target.and_then(|name| root.pointer(name.strip_prefix('#')?)) {
        return takes(root, target, depth + 1);
    }
    for union in ["anyOf", "oneOf", "allOf"] {
        let members = schema.get(union).and_then(Json::as_array).unwrap_or_default();
        let real = |own: &&Json| own.get("type").and_then(Json::as_str) != Some("null");
        if let Some(first) = members.iter().find(real) {
            return takes(root, first, depth + 1);
        }
    }
    if let Some(accepted) = schema.get("enum").and_then(Json::as_array) {
        return Takes::OneOf(accepted);
    }
    let named = match schema.get("type") {
        Some(Json::String(name)) => Some(name.as_str()),
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).find(|name| *name != "null")
        }
        _ => None,
    };
    match named {
        Some("boolean") => Takes::Boolean,
        Some("integer") => Takes::Number { whole: true },
        Some("number") => Takes::Number { whole: false },
        Some("string") => Takes::Text(schema.get("format").and_then(Json::as_str)),
        Some("array") => match schema.get("items").map(|items| takes(root, items, depth + 1)) {
            Some(Takes::Text(_)) => Takes::Texts,
            Some(Takes::Number { .. }) => Takes::Numbers,
            _ => Takes::Data,
        },
        Some(_) => Takes::Data,
        None => Takes::Any,
    }
}

fn role(name: &str, about: Option<&str>) -> Role {
    let find = |text: &str| {
        let own = words(cut(text, READ_ABOUT));
        let has =
            |row: &&(Role, &[&str])| row.1.iter().any(|word| own.iter().any(|own| own == word));
        ROLES.iter().find(has).map(|row| row.0)
    };
    match name {
        "from" => Role::From,
        "to" => Role::To,
        "n" | "last" | "first" | "top" => Role::Count,
        _ => find(name).or_else(|| find(about?)).unwrap_or(Role::Other),
    }
}
