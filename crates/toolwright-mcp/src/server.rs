//! Answers the requests of MCP clients, in both eras.
//!
//! ```text
//! bytes → Message → Peer → Server::serve(Exchange) → Response → bytes
//! ```
//!
//! A [`Peer`] is the client: it begins with `initialize`, or is in the metadata of each request. An [`Exchange`] is
//! what a host gives for one request: the session of the caller, the tools that it may use, and an [`Outbox`] for
//! messages before the response. Transports read and write messages: [`serve_stdio`] here, HTTP in the gateway.

mod features;
mod handles;
mod page;
mod peer;
mod pending;
mod stdio;
mod subscription;
mod tools;

use std::sync::Arc;

use toolwright_core::{Json, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;
use toolwright_runtime::{Session, Toolbox};

pub use features::{Features, FeaturesFuture, NoFeatures, ObserveFuture};
pub use page::page;
pub use peer::{Outbox, Peer};
pub use stdio::serve_stdio;
pub use subscription::{Announcer, Changes};

use super::message::{Request, Response, RpcError};
use super::protocol::{
    CALL_TOOL, DISCOVER, INITIALIZE, INVALID_REQUEST, LATEST, LATEST_HANDSHAKE, LIST_PROMPTS,
    LIST_RESOURCES, LIST_TEMPLATES, LIST_TOOLS, LISTEN, METHOD_NOT_FOUND, PING, READ_RESOURCE,
    SET_LOG_LEVEL, SUBSCRIBE, UNSUBSCRIBE, UNSUPPORTED_VERSION, VERSIONS, implementation, meta,
};
use pending::PendingCalls;

/// How long clients may keep a list, in milliseconds.
const TTL_MS: u64 = 60_000;

/// Methods whose results say how long they may be kept.
const CACHEABLE: [&str; 6] =
    [DISCOVER, LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES, LIST_TEMPLATES, READ_RESOURCE];

/// A server. Clones share what it remembers between requests.
#[derive(Clone, Default)]
pub struct Server(Arc<Inner>);

#[derive(Default)]
struct Inner {
    instructions: Option<String>,
    pending: PendingCalls,
}

/// What a host gives for one request.
#[derive(Clone)]
pub struct Exchange {
    /// The session of the caller
    pub session: Session,
    /// The tools that the caller may use
    pub toolbox: Toolbox,
    /// The prompts and resources that the caller may use
    pub features: Arc<dyn Features>,
    /// Where messages before the response go; for `initialize`, messages that belong to no request
    pub outbox: Outbox,
    /// Changes of the tools, prompts and resources
    pub changes: Changes,
    /// Which calls that need approval the caller itself may approve
    pub may_approve: MayApprove,
}

/// Whether the caller may approve a call of a tool.
pub type MayApprove = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Server {
    /// Creates a server.
    pub fn new() -> Server {
        Server::default()
    }

    /// Sets how to use the server, for models. Call it before the server is cloned.
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Server {
        let instructions = Some(instructions.into());
        Server(Arc::new(Inner { instructions, pending: PendingCalls::default() }))
    }

    /// Begins a session by the parameters of `initialize`. Its messages that belong to no request go to the
    /// outbox of the exchange, for as long as the client is kept.
    pub fn initialize(&self, params: &Object, exchange: &Exchange) -> (Arc<Peer>, Object) {
        let asked = params.get("protocolVersion").and_then(Json::as_str);
        let version = VERSIONS[1..].iter().find(|own| Some(**own) == asked);
        let version = version.copied().unwrap_or(LATEST_HANDSHAKE);
        let client = params.get("capabilities").and_then(Json::as_object).cloned();
        let capabilities = capabilities(exchange, Era::Handshake);
        let peer = Peer::new(version, client.unwrap_or_default());
        let changes = exchange.changes.clone();
        let peer = peer.with_session(exchange.outbox.clone(), |outbox| {
            subscription::follow(capabilities.clone(), outbox, changes)
        });
        let mut result = object! {
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": implementation(),
        };
        result.insert_some("instructions", self.0.instructions.as_deref());
        (Arc::new(peer), result)
    }

    /// Reads the client from the metadata of a request without a session.
    pub fn stateless_peer(request: &Request) -> Result<Arc<Peer>, RpcError> {
        let own = request.params.get(meta::META);
        let member = |key| own.and_then(|own| own.get(key));
        let missing = |key: &str| {
            let message = format!("Invalid params: '_meta' lacks the member {key:?}");
            RpcError::invalid_params(message)
        };
        let version = member(meta::VERSION).and_then(Json::as_str);
        let version = version.ok_or_else(|| missing(meta::VERSION))?;
        if version != LATEST {
            let supported: Vec<Json> = VERSIONS.iter().map(|own| Json::from(*own)).collect();
            let data = object! {"supported": supported, "requested": version};
            let error = RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version");
            return Err(error.with_data(data));
        }
        let capabilities = member(meta::CAPABILITIES).and_then(Json::as_object).cloned();
        let capabilities = capabilities.ok_or_else(|| missing(meta::CAPABILITIES))?;
        let mut peer = Peer::new(version, capabilities);
        peer.set_log_level(member(meta::LOG_LEVEL).and_then(Json::as_str));
        Ok(Arc::new(peer))
    }

    /// Answers a request. Returns `None` if the client has cancelled it. Dropping the future cancels the work.
    pub async fn serve(
        &self,
        request: Request,
        peer: &Arc<Peer>,
        exchange: Exchange,
    ) -> Option<Response> {
        let id = request.id.clone();
        let Some(in_flight) = peer.begin(&id) else {
            let message = "Invalid request: a request with this id is in progress";
            let result = Err(RpcError::new(INVALID_REQUEST, message));
            return Some(Response { id: Some(id), result });
        };
        let cancel = in_flight.cancel.clone();
        let result = tokio::select! {
            biased;
            () = cancel.cancelled() => return None,
            result = self.answer(request, peer, exchange) => result,
        };
        drop(in_flight);
        Some(Response { id: Some(id), result })
    }

    async fn answer(
        &self,
        request: Request,
        peer: &Arc<Peer>,
        mut exchange: Exchange,
    ) -> Result<Object, RpcError> {
        if let Some(conversation) = conversation(&request.params)? {
            exchange.session.conversation = Some(conversation);
            exchange.session.has_slots = true;
        }
        let era = peer.era();
        let method = request.method.clone();
        let mut result = match (method.as_str(), era) {
            (PING, Era::Handshake) => Object::new(),
            (SET_LOG_LEVEL, Era::Handshake) => peer.change_log_level(&request.params)?,
            (DISCOVER, Era::Stateless) => self.discover(&exchange),
            (LIST_TOOLS, _) => tools::list(&exchange, &request.params, era)?,
            (LISTEN, Era::Stateless) => {
                // The subscription must not keep tools that a reload has removed.
                let Exchange { outbox, changes, features, .. } = exchange;
                subscription::listen(&request, &outbox, changes, features).await
            }
            (SUBSCRIBE, Era::Handshake) => {
                let uri = uri(&request.params)?;
                peer.subscribe(uri, exchange.features.observe(uri).await?)?;
                Object::new()
            }
            (UNSUBSCRIBE, Era::Handshake) => {
                peer.unsubscribe(uri(&request.params)?);
                Object::new()
            }
            (
                INITIALIZE | DISCOVER | LISTEN | PING | SET_LOG_LEVEL | SUBSCRIBE | UNSUBSCRIBE,
                _,
            ) if era == Era::Stateless || matches!(&*method, DISCOVER | LISTEN) => {
                return Err(unknown(&method));
            }
            _ => self.0.pending.run(self, request, peer, exchange).await?,
        };
        if era == Era::Stateless {
            complete(&method, &mut result);
        }
        Ok(result)
    }

    /// Answers a request that may take long and may ask for input.
    async fn perform(
        &self,
        request: &Request,
        peer: &Arc<Peer>,
        exchange: &Exchange,
    ) -> Result<Object, RpcError> {
        if request.method == CALL_TOOL {
            return tools::call(request, peer, exchange).await;
        }
        if request.method == READ_RESOURCE
            && let Some(read) =
                handles::read(&request.params, peer.era(), &exchange.session, &exchange.toolbox)
                    .await
        {
            return read;
        }
        let answered = exchange.features.answer(request, peer, exchange).await;
        answered.unwrap_or_else(|| match request.method.as_str() {
            // Handles are resources that are in no list.
            LIST_RESOURCES => Ok(object! {"resources": Vec::<Json>::new()}),
            LIST_TEMPLATES => Ok(object! {"resourceTemplates": Vec::<Json>::new()}),
            READ_RESOURCE => {
                let uri = request.params.get("uri").and_then(Json::as_str).unwrap_or_default();
                Err(RpcError::resource_not_found(uri, peer.era()))
            }
            method => Err(unknown(method)),
        })
    }

    fn discover(&self, exchange: &Exchange) -> Object {
        let versions: Vec<Json> = VERSIONS.iter().map(|own| Json::from(*own)).collect();
        let mut result = object! {
            "supportedVersions": versions,
            "capabilities": capabilities(exchange, Era::Stateless),
        };
        result.insert_some("instructions", self.0.instructions.as_deref());
        result
    }
}

/// What the server offers to the caller of an exchange. Handles are resources.
fn capabilities(exchange: &Exchange, era: Era) -> Object {
    let mut capabilities =
        object! {"tools": object! {"listChanged": true}, "resources": Object::new()};
    if era == Era::Handshake {
        // Log messages of servers behind this one are passed on.
        capabilities.insert("logging", Object::new());
    }
    for (name, value) in exchange.features.capabilities(era).iter() {
        capabilities.insert(name.to_owned(), value.clone());
    }
    capabilities
}

/// The URI that the parameters of a request name.
fn uri(params: &Object) -> Result<&str, RpcError> {
    let uri = params.get("uri").and_then(Json::as_str);
    uri.ok_or_else(|| RpcError::invalid_params("Invalid params: 'uri' is missing"))
}

fn unknown(method: &str) -> RpcError {
    RpcError::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
}

/// Reads the conversation that a request names in its metadata.
fn conversation(params: &Object) -> Result<Option<Arc<str>>, RpcError> {
    let named = params.get(meta::META).and_then(|own| own.get(meta::CONVERSATION));
    match named {
        None => Ok(None),
        Some(Json::String(name)) if Session::is_conversation_name(name) => {
            Ok(Some(name.as_str().into()))
        }
        Some(_) => {
            let message = format!(
                "Invalid params: {:?} in '_meta' is 1 to 128 letters, digits and the characters -_.:",
                meta::CONVERSATION
            );
            Err(RpcError::invalid_params(message))
        }
    }
}

/// The error of a request that a crash ended.
fn crashed() -> RpcError {
    RpcError::internal("Internal error: the request was interrupted")
}

/// Adds what every result without a session has.
fn complete(method: &str, result: &mut Object) {
    if !result.contains_key("resultType") {
        result.insert("resultType", "complete");
    }
    let is_complete = result.get("resultType").and_then(Json::as_str) == Some("complete");
    if is_complete && CACHEABLE.contains(&method) {
        if !result.contains_key("ttlMs") {
            result.insert("ttlMs", TTL_MS);
        }
        if !result.contains_key("cacheScope") {
            result.insert("cacheScope", "private");
        }
    }
    let mut own = match result.remove(meta::META) {
        Some(Json::Object(own)) => own,
        _ => Object::new(),
    };
    own.insert(meta::SERVER, implementation());
    result.insert(meta::META, own);
}
