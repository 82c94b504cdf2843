//! Selects the headers that are forwarded to the vendor and back to the client.
//!
//! Headers are selected by allowlists, so that unknown headers are not forwarded.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Headers of a client that are forwarded to a vendor of the same dialect.
const ONWARD: [HeaderName; 11] = [
    header::ACCEPT,
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("idempotency-key"),
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

/// Hop-by-hop headers, and headers that are written anew.
const BY_HOP: [HeaderName; 14] = [
    header::ALT_SVC,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::DATE,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-connection"),
    header::SET_COOKIE,
    header::SERVER,
    header::STRICT_TRANSPORT_SECURITY,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
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
    // `Connection` may name further hop-by-hop headers.
    let named: Vec<HeaderName> = reply.get_all(header::CONNECTION).iter().flat_map(names).collect();
    let forged = reply.keys().filter(|name| name.as_str().starts_with(OURS)).cloned();
    for name in forged.chain(named).collect::<Vec<_>>() {
        reply.remove(name);
    }
    for name in &BY_HOP {
        reply.remove(name);
    }
    reply
}

/// Returns the names in a list of headers.
fn names(list: &HeaderValue) -> impl Iterator<Item = HeaderName> {
    let names = list.to_str().unwrap_or_default().split(',');
    names.filter_map(|name| HeaderName::try_from(name.trim()).ok())
}
