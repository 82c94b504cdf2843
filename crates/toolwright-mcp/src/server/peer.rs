//! The client of a server, and the messages to it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolwright_core::Json;
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;

use super::subscription::{MAX_RESOURCES, follow_resource};
use crate::client::ResourceUpdates;
use crate::interaction::{ElicitationModes, InputFuture, InputHandler, InputRequest, capability};
use crate::message::{Message, Notification, Request, Response, RpcError};
use crate::protocol::{BATCH_VERSION, CANCELLED};

/// Levels of log messages, from the least important.
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Log messages are not sent.
const NO_LOG: usize = usize::MAX;

/// Number of messages that may wait for a client.
const OUTBOX: usize = 256;

/// The client of a server.
pub struct Peer {
    version: String,
    capabilities: Object,
    /// Index of the least important log level that is sent
    log_level: AtomicUsize,
    /// Requests of the server that wait for an answer
    asked: Mutex<HashMap<u64, oneshot::Sender<Result<Object, RpcError>>>>,
    next: AtomicU64,
    /// Requests of the client, by the text of their ids
    in_flight: Mutex<HashMap<String, CancellationToken>>,
    session: Option<SessionNotifications>,
}

/// Messages to the client of a session that belong to no request.
struct SessionNotifications {
    outbox: Outbox,
    /// Aborted when the session ends
    _following: JoinSet<()>,
    /// The subscription to each resource, aborted when it is removed
    resources: Mutex<HashMap<String, JoinSet<()>>>,
}

/// Messages to a client before the response of a request. A client that does not read them loses the latest.
#[derive(Clone)]
pub struct Outbox(mpsc::Sender<Message>);

impl Outbox {
    /// Creates an outbox and its receiver.
    pub fn new() -> (Outbox, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::channel(OUTBOX);
        (Outbox(sender), receiver)
    }

    /// Sends a notification, if there is room for it.
    pub fn notify(&self, method: &str, params: Object) {
        let notification = Notification { method: method.to_owned(), params };
        let _ = self.0.try_send(Message::Notification(notification));
    }

    /// Sends a message. An error means that nobody reads it.
    async fn send(&self, message: Message) -> Result<(), ()> {
        self.0.send(message).await.map_err(drop)
    }

    /// Waits until nobody reads the messages.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Peer {
    pub(super) fn new(version: &str, capabilities: Object) -> Peer {
        let era = Era::of(version);
        Peer {
            version: version.to_owned(),
            capabilities,
            // A session sends everything until the client says otherwise.
            log_level: AtomicUsize::new(if era == Era::Handshake { 0 } else { NO_LOG }),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            in_flight: Mutex::default(),
            session: None,
        }
    }

    /// Sets where messages that belong to no request go, and what sends them.
    pub(super) fn with_session<F>(
        mut self,
        outbox: Outbox,
        follow: impl FnOnce(Outbox) -> F,
    ) -> Peer
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut following = JoinSet::new();
        following.spawn(follow(outbox.clone()));
        let resources = Mutex::default();
        self.session = Some(SessionNotifications { outbox, _following: following, resources });
        self
    }

    /// Subscribes the client of a session to a resource.
    pub(super) fn subscribe(&self, uri: &str, updates: ResourceUpdates) -> Result<(), RpcError> {
        let Some(session) = &self.session else { return Ok(()) };
        let mut resources = session.resources.lock();
        if resources.len() >= MAX_RESOURCES && !resources.contains_key(uri) {
            let message = format!("Invalid params: more than {MAX_RESOURCES} subscriptions");
            return Err(RpcError::invalid_params(message));
        }
        let (outbox, own) = (session.outbox.clone(), uri.to_owned());
        let mut following = JoinSet::new();
        following.spawn(async move {
            follow_resource(&outbox, Object::new(), &own, updates).await;
        });
        resources.insert(uri.to_owned(), following);
        Ok(())
    }

    /// Ends the subscription of the client of a session to a resource.
    pub(super) fn unsubscribe(&self, uri: &str) {
        if let Some(session) = &self.session {
            session.resources.lock().remove(uri);
        }
    }

    /// The version of the protocol.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether the version has batches.
    pub fn has_batches(&self) -> bool {
        self.version == BATCH_VERSION
    }

    /// The era of the version.
    pub fn era(&self) -> Era {
        Era::of(&self.version)
    }

    /// The capabilities of the client.
    pub fn capabilities(&self) -> &Object {
        &self.capabilities
    }

    /// Whether the client answers requests of a method.
    pub fn offers(&self, method: &str) -> bool {
        capability(method).is_some_and(|capability| self.capabilities.contains_key(capability))
    }

    /// How the client asks its user.
    pub(super) fn modes(&self) -> ElicitationModes {
        let capability = self.capabilities.get("elicitation");
        ElicitationModes::of_capability(capability.unwrap_or(&Json::Null))
    }

    /// Whether the client wants log messages of a level.
    pub(super) fn wants_log(&self, level: &str) -> bool {
        let level = LEVELS.iter().position(|own| *own == level).unwrap_or(0);
        level >= self.log_level.load(Ordering::Relaxed)
    }

    pub(super) fn set_log_level(&mut self, level: Option<&str>) {
        let level = level.and_then(|level| LEVELS.iter().position(|own| *own == level));
        *self.log_level.get_mut() = level.unwrap_or(NO_LOG);
    }

    /// Answers `logging/setLevel`.
    pub(super) fn change_log_level(&self, params: &Object) -> Result<Object, RpcError> {
        let level = params.get("level").and_then(Json::as_str);
        let Some(index) = LEVELS.iter().position(|own| Some(*own) == level) else {
            let message = format!("Invalid params: 'level' is one of {}", LEVELS.join(", "));
            return Err(RpcError::invalid_params(message));
        };
        self.log_level.store(index, Ordering::Relaxed);
        Ok(Object::new())
    }

    /// Takes a notification of the client.
    pub fn notified(&self, notification: &Notification) {
        if notification.method == CANCELLED
            && let Some(id) = notification.params.get("requestId")
            && let Some(cancel) = self.in_flight.lock().get(&id.compact())
        {
            cancel.cancel();
        }
    }

    /// Takes an answer of the client to a request of the server.
    pub fn answered(&self, response: Response) {
        let id = response.id.as_ref().and_then(Json::as_u64);
        if let Some(asked) = id.and_then(|id| self.asked.lock().remove(&id)) {
            let _ = asked.send(response.result);
        }
    }

    /// Sends a request to the client of a session, and waits for its answer.
    async fn ask(
        &self,
        outbox: &Outbox,
        method: String,
        params: Object,
    ) -> Result<Object, RpcError> {
        let gone = || RpcError::internal("the client is gone");
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.asked.lock().insert(id, sender);
        let _forget = Forget { peer: self, id };
        let request = Request { id: id.into(), method, params };
        outbox.send(Message::Request(request)).await.map_err(|()| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Registers a request, so that the client can cancel it. Returns `None` if one with its id is in progress.
    pub(super) fn begin(&self, id: &Json) -> Option<InFlight<'_>> {
        let (id, cancel) = (id.compact(), CancellationToken::new());
        let mut in_flight = self.in_flight.lock();
        if in_flight.contains_key(&id) {
            return None;
        }
        in_flight.insert(id.clone(), cancel.clone());
        Some(InFlight { peer: self, id, cancel })
    }
}

/// A request of the client that is being answered.
pub(super) struct InFlight<'p> {
    peer: &'p Peer,
    id: String,
    pub(super) cancel: CancellationToken,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.peer.in_flight.lock().remove(&self.id);
    }
}

struct Forget<'p> {
    peer: &'p Peer,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.peer.asked.lock().remove(&self.id);
    }
}

/// Gives the input of the client of a session.
pub(super) struct SessionInput {
    pub(super) peer: Arc<Peer>,
    pub(super) outbox: Outbox,
}

impl InputHandler for SessionInput {
    fn answer(&self, request: InputRequest) -> InputFuture<'_> {
        Box::pin(self.peer.ask(&self.outbox, request.method, request.params))
    }

    fn offers(&self, method: &str) -> bool {
        self.peer.offers(method)
    }

    fn modes(&self) -> ElicitationModes {
        self.peer.modes()
    }
}
