//! Requests, and the service that answers them.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use http::{HeaderMap, Method, Uri};
use toolwright_core::Fault;

use super::body::RequestBody;
use super::budget::Budget;
use super::reply::Reply;

/// A request whose head was read. Its body may still be arriving.
#[derive(Debug)]
pub struct HttpRequest {
    /// Its method
    pub method: Method,
    /// Its target
    pub uri: Uri,
    /// Its headers
    pub headers: HeaderMap,
    /// The address of the peer
    pub peer: SocketAddr,
    /// Whether it came over TLS
    pub secure: bool,
    /// Its body, to be read within the limits
    pub body: RequestBody,
    /// The memory budget for it and its reply
    pub budget: Arc<Budget>,
    /// When its head was read
    pub started: Instant,
    /// The name of its client, once it is known
    pub client: Arc<OnceLock<Box<str>>>,
}

impl HttpRequest {
    /// Sets the name of its client, for the log.
    pub fn set_client(&self, name: &str) {
        self.client.get_or_init(|| name.into());
    }
}

/// Answers requests.
///
/// The future and the body of its reply are dropped at once when the client disconnects: work that
/// must finish belongs in a separate task.
pub trait Service: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, request: HttpRequest) -> impl Future<Output = Reply> + Send;

    /// Creates the reply for a failure outside of [`Self::answer`].
    fn fail(&self, uri: &Uri, fault: Fault) -> Reply;
}
