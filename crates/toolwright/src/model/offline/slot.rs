//! What a parameter takes, as far as rules can tell from its schema and its words.

use std::collections::HashSet;

use toolwright_core::json::Object;
use toolwright_core::{Json, Tool};

use super::cut;
use super::word::words;

/// A parameter.
#[derive(Debug, Clone)]
pub(super) struct Slot<'a> {
    /// Its name
    pub(super) name: &'a str,
    /// What is said about it
    pub(super) about: Option<&'a str>,
    /// Whether it must be given
    pub(super) required: bool,
    /// What it takes
    pub(super) takes: Takes<'a>,
    /// What it is for
    pub(super) role: Role,
}

/// What a parameter takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Takes<'a> {
    /// One of some values
    OneOf(&'a [Json]),
    /// Yes or no
    Boolean,
    /// A number
    Number {
        /// Whether it must be whole
        whole: bool,
    },
    /// A text; by a format where there is one
    Text(Option<&'a str>),
    /// Some texts
    Texts,
    /// Some numbers
    Numbers,
    /// Data that only a handle can stand for
    Data,
    /// A text, or a handle
    Any,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A file or folder
    Path,
    /// An address on the web
    Url,
    /// An address for mail
    Email,
    /// A day
    Date,
    /// Where something begins
    From,
    /// Where something ends
    To,
    /// A place
    Place,
    /// What to look for
    Query,
    /// What to say
    Message,
    /// How many
    Count,
    /// Something else
    Other,
}

/// Which words tell what a parameter is for; the first row that matches decides.
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

/// Maximum number of parameters of a tool that are looked at.
const MAX_SLOTS: usize = 64;

/// Maximum number of bytes that are read of what is said about a parameter.
const READ_ABOUT: usize = 512;

/// The parameters of a tool, in their order.
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
            // A text that may be a handle may come from an outcome.
            let named = |text: &str| text.contains("handle") || text.contains("句柄");
            let takes = match takes(root, schema, 0) {
                Takes::Text(_) if named(name) || about.is_some_and(named) => Takes::Any,
                takes => takes,
            };
            Slot { name, about, required, takes, role: role(name, about) }
        })
        .collect()
}

/// What a schema takes: of a union the first that is not null.
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
