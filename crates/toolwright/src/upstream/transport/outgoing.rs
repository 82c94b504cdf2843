//! Requests: bytes and headers of the caller, without hop-by-hop headers.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Method;
use http::header::{self, HeaderMap, HeaderName};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::upstream::auth::{API_KEY, ClientCredential, X_API_KEY, X_GOOG_API_KEY};

/// A request to an upstream.
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
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Outgoing {
        self.headers = headers;
        self
    }

    /// Sets the client's credential, which is sent if the upstream passes it on.
    #[must_use]
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

/// Headers that are hop-by-hop (RFC 9110 §7.6.1), that hyper writes itself, or that hold a credential that
/// is not for the upstream.
const NOT_FORWARDED: [HeaderName; 18] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
    header::HOST,
    header::CONTENT_LENGTH,
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
pub(crate) fn strip(headers: &mut HeaderMap) {
    if headers.is_empty() {
        return;
    }
    // `Connection` names further hop-by-hop headers.
    if let Some(connection) = headers.remove(header::CONNECTION) {
        for name in connection.to_str().unwrap_or_default().split(',') {
            headers.remove(name.trim());
        }
    }
    for name in &NOT_FORWARDED {
        headers.remove(name);
    }
}

/// Whether a header controls the framing or routing of a message, so that it cannot be configured.
pub(crate) fn is_framing(name: &HeaderName) -> bool {
    NOT_FORWARDED[..10].contains(name)
}

/// The instant at which the connection took the request body: the deadline for the response starts then.
#[derive(Clone, Default)]
pub(crate) struct Sent(Arc<OnceLock<Instant>>);

impl Sent {
    pub(crate) fn at(&self) -> Option<Instant> {
        self.0.get().copied()
    }
}

/// A request's body: all of it in one frame.
pub(crate) struct OutgoingBody {
    data: Option<Bytes>,
    sent: Sent,
}

impl OutgoingBody {
    pub(crate) fn new(data: Bytes, sent: Sent) -> OutgoingBody {
        OutgoingBody { data: Some(data).filter(|data| !data.is_empty()), sent }
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.sent.0.get_or_init(Instant::now);
        Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.data.as_ref().map_or(0, Bytes::len) as u64)
    }
}
