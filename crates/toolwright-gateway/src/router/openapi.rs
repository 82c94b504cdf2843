//! `/openapi.json`: describes the gateway's own endpoints, and refers to the vendors' documents for
//! theirs.

use bytes::Bytes;
use http::{HeaderValue, header};

use crate::http::{Reply, ReplyBody};

/// The document.
pub const DOCUMENT: &str = include_str!("openapi.json");

/// The document as a reply.
pub fn reply() -> Reply {
    let mut reply = Reply::new(ReplyBody::full(Bytes::from_static(DOCUMENT.as_bytes())));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(header::CONTENT_TYPE, json);
    reply
}
