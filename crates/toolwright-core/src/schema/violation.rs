//! Where a value breaks its schema, in words a model can act on.

use crate::json::{Json, Object};
use crate::object;

/// One place where a value is not what its schema asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the value; empty for the value as a whole
    pub path: String,
    /// The keyword that was broken (`type`, `required`, …)
    pub keyword: String,
    /// What is wrong, in a sentence without the value itself
    pub message: String,
    /// What kind of value came, or the value itself if it is short
    pub got: Option<Json>,
    /// What would be accepted: a type, a list of values, a bound, the names that exist
    pub accepted: Option<Json>,
    /// JSON Pointer into the schema, to the keyword
    pub schema_path: String,
}

impl Violation {
    /// A violation that no schema is the source of.
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

    /// For reports: `{path, keyword, message, got, accepted}`.
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
