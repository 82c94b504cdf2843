//! A request as it arrives, and who answers it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Uri};
use toolwright_core::Fault;

use super::body::RequestBody;
use super::budget::Budget;
use super::reply::Reply;

/// A request whose head has been read. Its body is still on the way.
#[derive(Debug)]
pub struct HttpRequest {
    /// Its method
    pub method: Method,
    /// Its target
    pub uri: Uri,
    /// Its headers
    pub headers: HeaderMap,
    /// Where it comes from
    pub peer: SocketAddr,
    /// Whether it came over TLS
    pub secure: bool,
    /// Its body, to be read within the limits
    pub body: RequestBody,
    /// The memory for it and for its answer
    pub budget: Arc<Budget>,
    /// When its head was there
    pub started: Instant,
}

/// Answers requests.
///
/// The future is dropped at once when the client goes away, and so is the body of its reply: what
/// must be finished in any case belongs into a task of its own.
pub trait Service: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, request: HttpRequest) -> impl Future<Output = Reply> + Send;

    /// Tells whoever asked for a target what went wrong before or in spite of [`Self::answer`].
    fn fail(&self, uri: &Uri, fault: Fault) -> Reply;
}
