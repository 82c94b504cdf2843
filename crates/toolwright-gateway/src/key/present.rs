//! Finds the key in a request, where each vendor's SDK puts it.
//!
//! A client that signs with AWS Signature Version 4 sends the id of its access key and not the
//! secret, so the gateway cannot verify the signature. It accepts its own key as the access key id,
//! which is then presented like a bearer token (record 0014).

use http::{HeaderMap, HeaderName, Uri, header};
use toolwright_runtime::upstream::{X_API_KEY, X_GOOG_API_KEY};

/// The gateway's own header. A client that uses it can send a vendor's credential elsewhere.
const OWN: HeaderName = HeaderName::from_static("toolwright-key");

/// Where a key was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// The header `toolwright-key`
    Own,
    /// The header `authorization`, as a bearer token
    Bearer,
    /// The header `x-api-key`
    ApiKey,
    /// The header `x-goog-api-key`
    GoogApiKey,
    /// `key` in the query
    Query,
    /// The header `authorization`, as the access key id of an AWS signature
    AccessKey,
}

/// Returns the candidates for a key, in the order in which they are tried. If the gateway's own
/// header is present, no other is tried.
pub(super) fn presented<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Vec<(Carrier, &'r str)> {
    let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if headers.contains_key(OWN) {
        return vec![(Carrier::Own, header(OWN).unwrap_or_default().trim())];
    }
    let authorization = header(header::AUTHORIZATION);
    let places = [
        (Carrier::Bearer, authorization.and_then(bearer)),
        (Carrier::ApiKey, header(X_API_KEY)),
        (Carrier::GoogApiKey, header(X_GOOG_API_KEY)),
        (Carrier::Query, uri.query().and_then(query)),
        (Carrier::AccessKey, authorization.and_then(access_key)),
    ];
    let given = places.into_iter().filter_map(|(carrier, key)| Some((carrier, key?.trim())));
    given.filter(|(_, key)| !key.is_empty()).collect()
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, key) = authorization.trim_start().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key)
}

/// Returns the value of `key` in a query. Keys contain no escaped characters.
fn query(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("key="))
}

/// Returns the id in `AWS4-HMAC-SHA256 Credential=<id>/<date>/<region>/<service>/aws4_request, …`.
fn access_key(authorization: &str) -> Option<&str> {
    let fields = authorization.trim_start().strip_prefix("AWS4-HMAC-SHA256")?;
    let credential = |field: &'_ str| field.trim().starts_with("Credential=");
    let field = fields.split(',').find(|field| credential(field))?;
    field.trim().strip_prefix("Credential=")?.split('/').next()
}
