//! Which requests are attempts at the same one.
//!
//! | the request has | attempts at the same are |
//! |---|---|
//! | `Idempotency-Key` | all with this key; another body under it is an error |
//! | `amz-sdk-invocation-id`, which AWS SDKs repeat | all with this id and body |
//! | `x-stainless-retry-count`, as the SDKs of OpenAI and Anthropic count | those that count from 1, of the latest with this body |
//! | none of them | none |

use std::time::Duration;

use http::HeaderMap;
use toolwright::call::canonical;
use toolwright_core::{Fault, FaultClass, Json};

use super::inbound::InboundRequest;
use crate::tools;

/// How long a run is saved for clients that name it by a key of theirs.
const KEYED: Duration = Duration::from_hours(24);

/// How long a run is saved for an SDK that retries by itself.
const UNKEYED: Duration = Duration::from_mins(10);

/// What attempts at the same request have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name that all attempts share
    pub name: String,
    /// The hash of what is asked
    pub digest: String,
    /// Whether an earlier attempt may have been made
    pub attempt: Attempt,
    /// How long another attempt may take to come
    pub window: Duration,
}

/// Which attempt a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The first, also if an equal request was made before
    First,
    /// Any
    Any,
}

impl Identity {
    /// Of a request, if another may be an attempt at the same.
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

/// What a client marks its attempts with.
enum Mark<'h> {
    Key(&'h str),
    Invocation(&'h str),
    Body,
}

fn mark(headers: &HeaderMap) -> Option<(Mark<'_>, Attempt)> {
    let text = |name: &str| headers.get(name)?.to_str().ok().filter(|value| !value.is_empty());
    if let Some(key) = text("idempotency-key") {
        return Some((Mark::Key(key), Attempt::Any));
    }
    if let Some(id) = text("amz-sdk-invocation-id") {
        return Some((Mark::Invocation(id), Attempt::Any));
    }
    let count: u32 = text("x-stainless-retry-count")?.parse().ok()?;
    Some((Mark::Body, if count == 0 { Attempt::First } else { Attempt::Any }))
}

/// The hash of where a request is posted to, the tools that it names, and its body, however that is
/// spelled.
fn digest(inbound: &InboundRequest) -> Result<String, Fault> {
    let body = Json::parse_bytes(&inbound.received).ok();
    let body = body.as_ref().and_then(Json::as_object).map(canonical).ok_or_else(|| {
        Fault::new(FaultClass::Invalid, "The body is not a JSON object. Send one, whole.")
    })?;
    let tools = inbound.headers.get(tools::HEADER).and_then(|value| value.to_str().ok());
    Ok(hash(&[&inbound.endpoint.address(), tools.unwrap_or_default(), &body]))
}

/// The hash of some texts, each with its length, so that none runs into the next.
fn hash(texts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
