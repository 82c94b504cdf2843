//! The client of one server.

mod authorization;
mod changes;
mod connection;
mod error;
mod http;
mod inbox;
mod info;
mod secrets;
mod sse;
mod stdio;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_dialects::frame::MAX_FRAME;
use toolwright_json::Object;

pub use authorization::{Authorization, LoginFuture, LoginHandler, RegisteredClient};
pub use changes::{ListKind, ResourceUpdates};
pub use error::ClientError;
pub use http::ServerUrl;
pub use info::ServerInfo;
pub use stdio::ServerCommand;

use super::interaction::Interaction;
use super::protocol::{
    COMPLETE, GET_PROMPT, LIST_PROMPTS, LIST_RESOURCES, LIST_TEMPLATES, LIST_TOOLS,
    METHOD_NOT_FOUND, READ_RESOURCE,
};
use changes::{Changes, Subscription};
use connection::Connection;
pub(super) use connection::Outgoing;

/// Maximum size of a message in bytes.
const MAX_MESSAGE: usize = MAX_FRAME;

/// Maximum number of pages of a listing.
const MAX_PAGES: usize = 1000;

/// Maximum number of entries of a listing.
const MAX_ENTRIES: usize = 20_000;

/// Deadline of a request that reads definitions.
const READ_DEADLINE: Duration = Duration::from_secs(10);

/// Deadline of other requests that have none of their own.
const DEFAULT_DEADLINE: Duration = Duration::from_mins(1);

/// Maximum size of all entries of a listing, in bytes.
const MAX_LISTING: usize = 32 << 20;

/// The wait after a failed attempt to connect; it doubles with each attempt.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);

/// Maximum wait after a failed attempt to connect.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// Where a server is.
#[derive(Clone)]
pub enum Address {
    /// A child process
    Command(ServerCommand),
    /// A server over HTTP
    Url(ServerUrl),
}

impl From<ServerCommand> for Address {
    fn from(command: ServerCommand) -> Address {
        Address::Command(command)
    }
}

impl From<ServerUrl> for Address {
    fn from(url: ServerUrl) -> Address {
        Address::Url(url)
    }
}

/// The client of one server. It connects when it is needed, and again when the server has ended. Clones share the
/// connection.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    address: Address,
    state: tokio::sync::Mutex<State>,
    /// What the server said about itself when it was last connected
    last_info: Mutex<Option<ServerInfo>>,
    changes: Arc<Changes>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    /// The era of the server, once it is known
    era: Option<Era>,
    /// Whether there was a connection
    was_connected: bool,
    failure: Option<Failure>,
}

/// An attempt to connect that failed.
struct Failure {
    error: ClientError,
    /// Until when the error is returned without another attempt
    until: Instant,
    backoff: Duration,
}

impl Client {
    /// Creates a client. The name identifies the server in messages.
    pub fn new(name: impl Into<Arc<str>>, address: impl Into<Address>) -> Client {
        Client(Arc::new(Inner {
            name: name.into(),
            address: address.into(),
            state: tokio::sync::Mutex::default(),
            last_info: Mutex::default(),
            changes: Arc::default(),
        }))
    }

    /// The name of the server.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Connects to the server if there is no connection, and returns what it says about itself.
    pub async fn info(&self) -> Result<ServerInfo, ClientError> {
        Ok(self.connection().await?.info.clone())
    }

    /// Returns what the server said about itself when it was last connected, without a connection.
    pub fn last_info(&self) -> Option<ServerInfo> {
        self.0.last_info.lock().clone()
    }

    /// Sends a request, and returns its result.
    pub async fn request(
        &self,
        method: &str,
        params: Object,
        deadline: Duration,
    ) -> Result<Object, ClientError> {
        self.request_with(method, params, deadline, Interaction::default()).await
    }

    /// Sends a request whose caller gives input and receives notifications.
    pub async fn request_with(
        &self,
        method: &str,
        params: Object,
        deadline: Duration,
        interaction: Interaction,
    ) -> Result<Object, ClientError> {
        let outgoing = Outgoing { method, params, deadline, interaction, parameters: &[] };
        self.connection_within(deadline).await?.request(outgoing).await
    }

    /// Lists all definitions of tools; none if the server has no tools at all.
    pub async fn list_tools(&self) -> Result<Vec<Json>, ClientError> {
        match self.list(LIST_TOOLS, "tools").await {
            // Some servers with tools do not declare them.
            Err(ClientError::Refused { error, .. })
                if error.code == METHOD_NOT_FOUND
                    && !self.connection().await?.info.has("tools") =>
            {
                Ok(Vec::new())
            }
            listed => listed,
        }
    }

    /// Lists all prompts; none if the server has no prompts at all.
    pub async fn list_prompts(&self) -> Result<Vec<Json>, ClientError> {
        self.list_capability("prompts", LIST_PROMPTS, "prompts").await
    }

    /// Renders a prompt with its arguments, and returns its `messages` beside other members.
    pub async fn get_prompt(&self, name: &str, arguments: Object) -> Result<Object, ClientError> {
        let params = object! {"name": name, "arguments": arguments};
        self.request(GET_PROMPT, params, DEFAULT_DEADLINE).await
    }

    /// Lists all resources; none if the server has no resources at all.
    pub async fn list_resources(&self) -> Result<Vec<Json>, ClientError> {
        self.list_capability("resources", LIST_RESOURCES, "resources").await
    }

    /// Lists all templates of resources.
    pub async fn list_resource_templates(&self) -> Result<Vec<Json>, ClientError> {
        match self.list_capability("resources", LIST_TEMPLATES, "resourceTemplates").await {
            // Not every server with resources knows templates.
            Err(ClientError::Refused { error, .. }) if error.code == METHOD_NOT_FOUND => {
                Ok(Vec::new())
            }
            listed => listed,
        }
    }

    /// Reads a resource, and returns its `contents` beside other members.
    pub async fn read_resource(&self, uri: &str) -> Result<Object, ClientError> {
        self.request(READ_RESOURCE, object! {"uri": uri}, DEFAULT_DEADLINE).await
    }

    /// Completes an argument of a prompt (`{"type": "ref/prompt", "name": …}`) or of a template
    /// (`{"type": "ref/resource", "uri": …}`). Returns the member `completion`.
    pub async fn complete(
        &self,
        reference: Object,
        argument: &str,
        value: &str,
    ) -> Result<Object, ClientError> {
        let argument = object! {"name": argument, "value": value};
        let params = object! {"ref": reference, "argument": argument};
        let mut result = self.request(COMPLETE, params, READ_DEADLINE).await?;
        match result.remove("completion") {
            Some(Json::Object(completion)) => Ok(completion),
            _ => Err(self.broken("sent a completion without \"completion\"".to_owned())),
        }
    }

    /// Observes a resource. Later connections to the server continue the observation.
    pub async fn observe_resource(&self, uri: &str) -> Result<ResourceUpdates, ClientError> {
        let refused = |reason: String| ClientError::Refused {
            server: self.name().to_owned(),
            error: super::message::RpcError::new(METHOD_NOT_FOUND, reason),
        };
        if !self.connection_within(READ_DEADLINE).await?.info.announces_updates() {
            return Err(refused("it does not announce updates of resources".to_owned()));
        }
        let mut observing = self.0.changes.observing();
        let updates = self.0.changes.observe(uri);
        let settled = async {
            loop {
                match self.0.changes.state(uri) {
                    Some(Subscription::Active) => return Ok(()),
                    Some(Subscription::Refused(reason)) => return Err(refused(reason)),
                    _ => {}
                }
                // The sender belongs to this client.
                let _ = observing.changed().await;
            }
        };
        self.within(READ_DEADLINE, settled).await?;
        Ok(updates)
    }

    /// Returns the connection. The opening goes on if it takes longer.
    async fn connection_within(&self, deadline: Duration) -> Result<Arc<Connection>, ClientError> {
        self.within(deadline, self.connection()).await
    }

    async fn within<T>(
        &self,
        deadline: Duration,
        future: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let late = |_| ClientError::Timeout { server: self.name().to_owned(), after: deadline };
        tokio::time::timeout(deadline, future).await.map_err(late)?
    }

    /// Lists what belongs to a capability, if the server has it.
    async fn list_capability(
        &self,
        capability: &str,
        method: &str,
        key: &str,
    ) -> Result<Vec<Json>, ClientError> {
        if !self.connection().await?.info.has(capability) {
            return Ok(Vec::new());
        }
        self.list(method, key).await
    }

    /// Lists all pages of a listing, such as `resources/list`, whose entries are the member `key`.
    pub async fn list(&self, method: &str, key: &str) -> Result<Vec<Json>, ClientError> {
        let connection = self.connection().await?;
        let mut entries = Vec::new();
        let mut size = 0;
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut params = Object::new();
            params.insert_some("cursor", cursor.as_deref());
            let mut page = connection.request(Outgoing::reading(method, params)).await?;
            match page.remove(key) {
                Some(Json::Array(page)) => {
                    size += page.iter().map(|entry| entry.compact().len()).sum::<usize>();
                    entries.extend(page);
                }
                _ => return Err(self.broken(format!("sent a page without {key:?}"))),
            }
            if entries.len() > MAX_ENTRIES || size > MAX_LISTING {
                return Err(self.broken(format!("lists too many {key}, or too large ones")));
            }
            let next = page.get("nextCursor").and_then(Json::as_str).map(str::to_owned);
            match next {
                None => return Ok(entries),
                next if next == cursor => {
                    return Err(self.broken("repeats a page of its listing".to_owned()));
                }
                next => cursor = next,
            }
        }
        Err(self.broken(format!("sends more than {MAX_PAGES} pages of {key}")))
    }

    /// Calls a tool, and returns the result as it came. An error of the tool is a result with `isError`.
    pub(super) async fn call_tool(&self, call: Outgoing<'_>) -> Result<Object, ClientError> {
        self.connection().await?.request(call).await
    }

    /// Ends the connection. The next request opens another one.
    pub async fn close(&self) {
        self.0.state.lock().await.connection = None;
    }

    /// Observes changes of a list.
    pub fn changes(&self, list: ListKind) -> watch::Receiver<u64> {
        self.0.changes.of(list).subscribe()
    }

    /// Reports that a list may have changed, so that those who observe it fetch it again.
    pub fn mark_changed(&self, list: ListKind) {
        self.0.changes.list_changed(list);
    }

    /// Returns the connection, or opens one. A caller that stops waiting does not interrupt that.
    async fn connection(&self) -> Result<Arc<Connection>, ClientError> {
        if let Ok(state) = self.0.state.try_lock()
            && let Some(connection) = state.connection.as_ref().filter(|own| !own.has_ended())
        {
            return Ok(connection.clone());
        }
        let client = self.clone();
        let opening = tokio::spawn(async move { client.open().await });
        let crashed = |_| ClientError::Connect {
            server: self.name().to_owned(),
            reason: "the runtime is shutting down".to_owned(),
            detail: None,
        };
        opening.await.map_err(crashed)?
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<Connection>, ClientError>> {
        Box::pin(async move {
            let mut state = self.0.state.lock().await;
            if let Some(connection) = state.connection.as_ref().filter(|own| !own.has_ended()) {
                return Ok(connection.clone());
            }
            state.connection = None;
            let mut backoff = FIRST_BACKOFF;
            if let Some(failure) = &state.failure {
                if Instant::now() < failure.until {
                    return Err(failure.error.clone());
                }
                backoff = (failure.backoff * 2).min(MAX_BACKOFF);
            }
            let Inner { name, address, changes, .. } = &*self.0;
            match Connection::open(name, address, state.era, changes.clone()).await {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    state.era = Some(connection.info.era());
                    state.failure = None;
                    state.connection = Some(connection.clone());
                    let info = Some(connection.info.clone());
                    *self.0.last_info.lock() = info;
                    if std::mem::replace(&mut state.was_connected, true) {
                        // Everything may have changed meanwhile.
                        changes.all_changed();
                    }
                    Ok(connection)
                }
                Err(error) => {
                    let error = self.unconnected(error);
                    // The server may have been replaced by one of the other era.
                    state.era = None;
                    let until = Instant::now() + backoff;
                    state.failure = Some(Failure { error: error.clone(), until, backoff });
                    Err(error)
                }
            }
        })
    }

    /// The error of requests that were not sent because there is no connection.
    fn unconnected(&self, error: ClientError) -> ClientError {
        let mut said = None;
        let reason = match error {
            ClientError::Ended { reason, detail, .. } => {
                said = detail;
                reason
            }
            ClientError::Timeout { after, .. } => format!("no answer within {after:?}"),
            ClientError::Refused { error, .. } => error.to_string(),
            ClientError::Protocol { reason, .. } => format!("it {reason}"),
            error => return error,
        };
        ClientError::Connect { server: self.name().to_owned(), reason, detail: said }
    }

    fn broken(&self, reason: String) -> ClientError {
        ClientError::Protocol { server: self.name().to_owned(), reason }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("name", &self.0.name).finish_non_exhaustive()
    }
}
