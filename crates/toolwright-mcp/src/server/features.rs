//! What a server offers beside tools: prompts, resources, completion.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;

use super::{Exchange, Peer, unknown};
use crate::client::ResourceUpdates;
use crate::message::{Request, RpcError};
use crate::protocol::SUBSCRIBE;

/// An answer in preparation; `None` if the method is unknown.
pub type FeaturesFuture<'a> =
    Pin<Box<dyn Future<Output = Option<Result<Object, RpcError>>> + Send + 'a>>;

/// The observation of a resource in preparation.
pub type ObserveFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ResourceUpdates, RpcError>> + Send + 'a>>;

/// What a server offers beside tools, to one caller.
pub trait Features: Send + Sync + 'static {
    /// The capabilities beside `tools`.
    fn capabilities(&self, era: Era) -> Object;

    /// Answers a request.
    fn answer<'a>(
        &'a self,
        request: &'a Request,
        peer: &'a Arc<Peer>,
        exchange: &'a Exchange,
    ) -> FeaturesFuture<'a>;

    /// Observes a resource, for clients that subscribe to it. By default no resource can be observed.
    fn observe<'a>(&'a self, _uri: &'a str) -> ObserveFuture<'a> {
        Box::pin(async { Err(unknown(SUBSCRIBE)) })
    }

    /// Returns the URI by which the caller reads a resource of an MCP server, if it is another one.
    fn public_uri(&self, _server: &str, _uri: &str) -> Option<String> {
        None
    }
}

/// Nothing beside tools.
#[derive(Debug, Clone, Copy)]
pub struct NoFeatures;

impl Features for NoFeatures {
    fn capabilities(&self, _: Era) -> Object {
        Object::new()
    }

    fn answer<'a>(
        &'a self,
        _: &'a Request,
        _: &'a Arc<Peer>,
        _: &'a Exchange,
    ) -> FeaturesFuture<'a> {
        Box::pin(async { None })
    }
}
