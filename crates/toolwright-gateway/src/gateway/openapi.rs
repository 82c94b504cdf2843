//! `/openapi.json`: describes the gateway's own endpoints, and refers to the vendors' documents for
//! theirs. Each feature describes its endpoints in a document of its own; here they are put together.

use std::sync::LazyLock;

use toolwright_core::Json;
use toolwright_core::json::Object;

use crate::http::{Reply, typed_reply};

/// The documents of the features. The first has the information about the gateway, and components
/// that several features use.
pub const PARTS: [&str; 11] = [
    include_str!("openapi.json"),
    include_str!("../monitoring/openapi.json"),
    include_str!("../models/openapi.json"),
    include_str!("../exchange/openapi.json"),
    include_str!("../responses/openapi.json"),
    include_str!("../approvals/openapi.json"),
    include_str!("../inputs/openapi.json"),
    include_str!("../handles/openapi.json"),
    include_str!("../plans/openapi.json"),
    include_str!("../catalog/openapi.json"),
    include_str!("../mcp/openapi.json"),
];

/// The document.
pub fn document() -> &'static str {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
        let mut document = Object::default();
        for part in PARTS {
            if let Ok(Json::Object(part)) = Json::parse(part) {
                document.merge(&part);
            }
        }
        Json::Object(document).pretty()
    });
    &DOCUMENT
}

/// The document as a reply.
pub fn reply() -> Reply {
    typed_reply("application/json", document())
}
