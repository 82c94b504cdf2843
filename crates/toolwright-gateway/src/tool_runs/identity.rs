//! Identifies attempts at the same request.
//!
//! | request header | attempts at the same request |
//! |---|---|
//! | `Idempotency-Key` | all with this key; another body under it is an error |
//! | `amz-sdk-invocation-id`, which AWS SDKs repeat | all with this id and body |
//! | `x-stainless-retry-count`, of the SDKs of OpenAI and Anthropic | a count of 1 or more continues the latest request with this body |
//! | none of them | none |

use std::time::Duration;

use http::HeaderMap;
use toolwright_core::{Fault, FaultClass, Json};
use toolwright_runtime::call::canonical;

use crate::idempotency::{self, hash};
use crate::proxy::inbound::InboundRequest;
use crate::{conversation, tools};

/// How long a run is saved for requests with an idempotency key.
const KEYED: Duration = Duration::from_hours(24);

/// How long a run is saved for SDKs that retry by themselves.
const UNKEYED: Duration = Duration::from_mins(10);

/// The identity that attempts at the same request share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name of the saved run
    pub name: String,
    /// The hash of the request
    pub digest: String,
    /// Which attempt this is
    pub attempt: Attempt,
    /// How long to wait for another attempt
    pub window: Duration,
}

/// The number of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The first, even if an equal request was sent before
    First,
    /// Unknown
    Any,
}

impl Identity {
    /// Returns the identity of a request, if it may be retried.
    pub fn of(inbound: &InboundRequest) -> Result<Option<Identity>, Fault> {
        let Some((mark, attempt)) = mark(&inbound.headers) else { return Ok(None) };
        let digest = digest(inbound)?;
        let (name, window) = match mark {
            Mark::Key(key) => (hash(&["key", key]), KEYED),
            Mark::Invocation(id) => (hash(&["invocation", id, &digest]), UNKEYED),
            Mark::Body => (hash(&["body", &digest]), UNKEYED),
        };
        Ok(Some(Identity { name, digest, attempt, window }))
    }
}

/// The header by which a client marks attempts.
enum Mark<'h> {
    Key(&'h str),
    Invocation(&'h str),
    Body,
}

fn mark(headers: &HeaderMap) -> Option<(Mark<'_>, Attempt)> {
    let text = |name: &str| headers.get(name)?.to_str().ok().filter(|value| !value.is_empty());
    if let Some(key) = text(idempotency::HEADER.as_str()) {
        return Some((Mark::Key(key), Attempt::Any));
    }
    if let Some(id) = text("amz-sdk-invocation-id") {
        return Some((Mark::Invocation(id), Attempt::Any));
    }
    let count: u32 = text("x-stainless-retry-count")?.parse().ok()?;
    Some((Mark::Body, if count == 0 { Attempt::First } else { Attempt::Any }))
}

/// Hashes the endpoint, the selected tools, the canonical form of the body, and the conversation that the
/// header names: equal bodies in two conversations, such as "go on", are different requests.
fn digest(inbound: &InboundRequest) -> Result<String, Fault> {
    let body = Json::parse_bytes(&inbound.received).ok();
    let body = body.as_ref().and_then(Json::as_object).map(canonical).ok_or_else(|| {
        Fault::new(FaultClass::Invalid, "The body is not a JSON object. Send a complete one.")
    })?;
    let header = |name| inbound.headers.get(name).and_then(|value| value.to_str().ok());
    let address = inbound.endpoint.address();
    let mut texts = vec![&*address, header(tools::HEADER).unwrap_or_default(), &body];
    texts.extend(header(conversation::HEADER));
    Ok(hash(&texts))
}
