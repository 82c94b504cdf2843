//! Which headers of a client go on to the vendor, and which of the vendor's come back.
//!
//! By name, never all but a few: a header that nobody thought of stays here.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Headers of a client that mean something to the vendor whose dialect it speaks.
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

/// Headers of a client that mean something to a codec.
const MEANT: &[&str] = &["anthropic-beta", "anthropic-version"];

/// Headers that belong to one connection, and those that are written anew.
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

/// What goes on to a vendor of the client's own dialect.
pub fn onward(client: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(4);
    for name in &ONWARD {
        if let Some(value) = client.get(name) {
            out.insert(name, value.clone());
        }
    }
    out
}

/// What a codec reads beside the body.
pub fn meant(client: &HeaderMap) -> Vec<(String, String)> {
    let said = MEANT.iter().filter_map(|name| Some((name, client.get(*name)?.to_str().ok()?)));
    said.map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect()
}

/// What a codec reads of a vendor's reply.
pub fn told(reply: &HeaderMap) -> Vec<(String, String)> {
    let said = reply.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    said.map(|(name, value)| (name.as_str().to_owned(), value.to_owned())).collect()
}

/// How headers begin that only we may set.
const OURS: &str = "toolwright-";

/// What comes back from a vendor of the client's own dialect.
pub fn back(mut reply: HeaderMap) -> HeaderMap {
    // A hop may name more headers that are only its own.
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

/// The names in a list of headers.
fn names(list: &HeaderValue) -> impl Iterator<Item = HeaderName> {
    let names = list.to_str().unwrap_or_default().split(',');
    names.filter_map(|name| HeaderName::try_from(name.trim()).ok())
}
