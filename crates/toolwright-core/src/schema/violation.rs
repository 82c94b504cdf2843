//! Violations of a schema, in a form that a model can act on.

use toolwright_json::{Json, Object, object};

/// The keywords that an object violates if its members are misnamed or misplaced.
pub const MEMBER_KEYWORDS: &[&str] = &[
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "dependentRequired",
    "minProperties",
    "maxProperties",
];

/// A place where a value violates its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the value; empty for the value as a whole
    pub path: String,
    /// The violated keyword (`type`, `required`, …)
    pub keyword: String,
    /// The problem, as a sentence without the value
    pub message: String,
    /// The type of the value, or the value itself if it is short
    pub got: Option<Json>,
    /// What is accepted: a type, a list of values, a bound, the known names
    pub accepted: Option<Json>,
    /// JSON Pointer into the schema, to the keyword
    pub schema_path: String,
}

impl Violation {
    /// Creates a violation that does not come from a schema.
    pub(crate) fn new(path: impl Into<String>, keyword: &str, message: impl Into<String>) -> Self {
        Violation {
            path: path.into(),
            keyword: keyword.to_owned(),
            message: message.into(),
            got: None,
            accepted: None,
            schema_path: String::new(),
        }
    }

    /// Returns the JSON form: `{path, keyword, message, got, accepted}`.
    pub fn to_json(&self) -> Object {
        let mut out = object! {
            "path": self.path.as_str(),
            "keyword": self.keyword.as_str(),
            "message": self.message.as_str(),
        };
        out.insert_some("got", self.got.clone());
        out.insert_some("accepted", self.accepted.clone());
        out
    }
}
