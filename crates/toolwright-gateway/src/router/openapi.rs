//! `/openapi.json`: describes the gateway's own endpoints, and refers to the vendors' documents for
//! theirs.

use crate::http::{Reply, typed_reply};

/// The document.
pub const DOCUMENT: &str = include_str!("openapi.json");

/// The document as a reply.
pub fn reply() -> Reply {
    typed_reply("application/json", DOCUMENT)
}
