//! Selects the headers that are forwarded to the vendor and back to the client.
//!
//! Headers are selected by allowlists, so that unknown headers are not forwarded.

use http::header::{self, HeaderMap, HeaderName};
use toolwright_transport::remove_connection_headers;

use crate::idempotency;

/// Headers of a client that are forwarded to a vendor of the same dialect.
const ONWARD: [HeaderName; 11] = [
    header::ACCEPT,
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("anthropic-version"),
    idempotency::HEADER,
    HeaderName::from_static("openai-beta"),
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
    header::USER_AGENT,
    HeaderName::from_static("x-amzn-bedrock-trace"),
    HeaderName::from_static("x-goog-api-client"),
    HeaderName::from_static("x-goog-user-project"),
];

/// Headers of a client that codecs read.
const MEANT: &[&str] = &["anthropic-beta", "anthropic-version"];

/// Headers of a reply that concern only the vendor's server.
const OF_SERVER: [HeaderName; 6] = [
    header::ALT_SVC,
    header::DATE,
    header::PROXY_AUTHENTICATE,
    header::SET_COOKIE,
    header::SERVER,
    header::STRICT_TRANSPORT_SECURITY,
];

/// Returns the headers for a vendor of the client's dialect.
pub fn onward(client: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(4);
    for name in &ONWARD {
        if let Some(value) = client.get(name) {
            out.insert(name, value.clone());
        }
    }
    out
}

/// Returns the request headers that a codec reads.
pub fn meant(client: &HeaderMap) -> Vec<(String, String)> {
    let said = MEANT.iter().filter_map(|name| Some((name, client.get(*name)?.to_str().ok()?)));
    said.map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect()
}

/// Returns the reply headers that a codec reads.
pub fn for_codec(reply: &HeaderMap) -> Vec<(String, String)> {
    let said = reply.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    said.map(|(name, value)| (name.as_str().to_owned(), value.to_owned())).collect()
}

/// The prefix of headers that only the gateway sets.
const OURS: &str = "toolwright-";

/// Returns the headers of a vendor's reply for a client of the same dialect.
pub fn back(mut reply: HeaderMap) -> HeaderMap {
    remove_connection_headers(&mut reply);
    let forged = reply.keys().filter(|name| name.as_str().starts_with(OURS));
    let forged: Vec<HeaderName> = forged.cloned().collect();
    for name in forged.iter().chain(&OF_SERVER) {
        reply.remove(name);
    }
    reply
}
