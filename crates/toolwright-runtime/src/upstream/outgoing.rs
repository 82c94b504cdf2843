//! Requests: bytes and headers of the caller, without hop-by-hop headers.

use std::fmt;

use bytes::Bytes;
use http::Method;
use http::header::{self, HeaderMap, HeaderName};

use super::auth::{API_KEY, ClientCredential, X_API_KEY, X_GOOG_API_KEY};

/// A request to an upstream.
#[must_use]
#[derive(Clone)]
pub struct Outgoing {
    /// The method, usually POST
    pub method: Method,
    /// The path with its query, as the codec wrote it
    pub path: String,
    /// Headers; hop-by-hop headers and credentials are replaced
    pub headers: HeaderMap,
    /// The body
    pub body: Bytes,
    /// The client's credential, for an upstream that passes it on
    pub client: Option<ClientCredential>,
}

impl Default for Outgoing {
    fn default() -> Outgoing {
        Outgoing {
            method: Method::POST,
            path: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            client: None,
        }
    }
}

impl Outgoing {
    /// Creates a POST request with a JSON body.
    pub fn new(path: impl Into<String>, body: impl Into<Bytes>) -> Outgoing {
        Outgoing { path: path.into(), body: body.into(), ..Outgoing::default() }
    }

    /// Sets the headers.
    pub fn with_headers(mut self, headers: HeaderMap) -> Outgoing {
        self.headers = headers;
        self
    }

    /// Sets the client's credential, which is sent if the upstream passes it on.
    pub fn with_client(mut self, client: ClientCredential) -> Outgoing {
        self.client = Some(client);
        self
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.split('?').next();
        let sizes = (self.headers.len(), self.body.len());
        formatter
            .debug_struct("Outgoing")
            .field("path", &path)
            .field("sizes", &sizes)
            .finish_non_exhaustive()
    }
}

/// Headers that hold a credential that is not for the upstream.
const CREDENTIALS: [HeaderName; 8] = [
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::AUTHORIZATION,
    header::COOKIE,
    HeaderName::from_static("x-amz-security-token"),
    X_API_KEY,
    X_GOOG_API_KEY,
    API_KEY,
];

/// Removes the headers that are not forwarded.
pub(super) fn strip(headers: &mut HeaderMap) {
    toolwright_transport::remove_connection_headers(headers);
    for name in &CREDENTIALS {
        headers.remove(name);
    }
}
