//! Sessions of clients that begin with `initialize`. A request of a session goes on if its client disconnects, and
//! its messages are kept for a while, so that the client can continue the stream.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderValue, StatusCode};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use toolwright_core::{Fault, FaultClass};
use toolwright_mcp::server::{Exchange, Peer, Server};
use toolwright_mcp::{Message, Request, Response};

use super::stream::{Messages, event, events_reply};
use super::{accepted, text_reply};
use crate::http::{Health, Reply};
use crate::key::Client;

/// How long a session lives without a request.
const IDLE: Duration = Duration::from_hours(1);

/// Maximum number of sessions of one client; the one that was idle for longest ends.
const MAX_PER_CLIENT: usize = 200;

/// Maximum number of sessions.
const MAX_SESSIONS: usize = 10_000;

/// Maximum number of requests of a session at the same time.
const MAX_STREAMS: usize = 64;

/// Maximum number of messages of a request that are kept.
const MAX_EVENTS: usize = 1000;

/// Maximum size of the messages of a request that are kept, in bytes.
const MAX_BYTES: usize = 8 << 20;

/// Maximum size of all messages that are kept for clients that may continue a stream, in bytes. Beyond it, a request
/// that finishes leaves none if its client has disconnected, and takes the place of earlier ones of its session.
const MAX_KEPT: usize = 256 << 20;

/// How long the messages of a finished request are kept.
const KEEP: Duration = Duration::from_mins(1);

/// How long a client waits before it continues a stream, in milliseconds.
const RETRY_MS: u64 = 1000;

/// The sessions.
#[derive(Default)]
pub struct Sessions {
    sessions: Mutex<HashMap<String, Arc<McpSession>>>,
    /// Number of bytes of all messages
    bytes: Arc<AtomicUsize>,
}

/// A session.
pub(super) struct McpSession {
    peer: Arc<Peer>,
    client: String,
    /// The MCP server or tool set of its path
    server: Option<String>,
    used: Mutex<Instant>,
    streams: Arc<Mutex<VecDeque<Arc<Log>>>>,
    next: AtomicU64,
    /// Messages that belong to no request
    general: Arc<Log>,
    tasks: Mutex<JoinSet<()>>,
    requests: Arc<Semaphore>,
}

impl Drop for McpSession {
    /// Ends the streams of the session.
    fn drop(&mut self) {
        self.general.complete();
        for log in self.streams.lock().iter() {
            log.complete();
        }
    }
}

/// The messages of a request, or those that belong to none.
struct Log {
    id: u64,
    events: Mutex<Events>,
    /// Changes when a message is added
    changes: watch::Sender<()>,
    /// Number of bytes of the messages of all logs
    total: Arc<AtomicUsize>,
}

impl Drop for Log {
    fn drop(&mut self) {
        self.clear();
    }
}

#[derive(Default)]
struct Events {
    /// The number of the first message
    first: u64,
    messages: VecDeque<String>,
    /// Number of bytes of the messages
    bytes: usize,
    /// When the last message was added
    completed: Option<Instant>,
    /// Number of times that the streams were closed before their end
    closed: u64,
}

impl Sessions {
    /// Begins a session, and returns its id.
    pub(super) fn begin(
        &self,
        peer: Arc<Peer>,
        client: &Client,
        server: Option<String>,
        messages: Messages,
    ) -> Result<HeaderValue, Fault> {
        let mut bytes = [0_u8; 24];
        let failed = || Fault::new(FaultClass::Internal, "There are no random numbers.");
        getrandom::fill(&mut bytes).map_err(|_| failed())?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let session = Arc::new(McpSession::new(peer, client.name(), server, &self.bytes));
        session.follow(messages);
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| !session.is_idle());
        let mut own: Vec<(Instant, String)> = sessions
            .iter()
            .filter(|(_, session)| session.client == client.name())
            .map(|(id, session)| (*session.used.lock(), id.clone()))
            .collect();
        let mut is_full = sessions.len() >= MAX_SESSIONS;
        if own.len() >= MAX_PER_CLIENT {
            own.sort();
            // A session with a request in progress does not end for another one.
            let idle =
                own.iter().find(|(_, id)| sessions.get(id).is_some_and(|own| !own.is_busy()));
            is_full |= idle.is_none();
            if let Some((_, id)) = idle {
                sessions.remove(id);
            }
        }
        if is_full {
            let message = "The gateway has too many MCP sessions; try again later.";
            return Err(Fault::new(FaultClass::Overloaded, message));
        }
        let value = HeaderValue::from_str(&id).map_err(|_| failed())?;
        sessions.insert(id, session);
        Ok(value)
    }

    /// Finds a session of a client.
    pub(super) fn find(
        &self,
        id: &HeaderValue,
        client: &Client,
        server: Option<&str>,
    ) -> Option<Arc<McpSession>> {
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| !session.is_idle());
        let session = sessions.get(id.to_str().ok()?)?;
        let is_own = session.client == client.name() && session.server.as_deref() == server;
        if !is_own {
            return None;
        }
        *session.used.lock() = Instant::now();
        Some(session.clone())
    }

    /// Closes the streams of requests in the sessions with these ids.
    pub(super) fn close_streams(&self, is_meant: impl Fn(&str) -> bool) {
        let sessions = self.sessions.lock();
        for (_, session) in sessions.iter().filter(|(id, _)| is_meant(id)) {
            session.streams.lock().iter().for_each(|log| log.close_streams());
        }
    }

    /// Ends a session of a client; returns whether there was one.
    pub(super) fn end(&self, id: &HeaderValue, client: &Client, server: Option<&str>) -> bool {
        let is_own = self.find(id, client, server).is_some();
        is_own && id.to_str().is_ok_and(|id| self.sessions.lock().remove(id).is_some())
    }
}

impl McpSession {
    fn new(
        peer: Arc<Peer>,
        client: &str,
        server: Option<String>,
        bytes: &Arc<AtomicUsize>,
    ) -> McpSession {
        McpSession {
            peer,
            client: client.to_owned(),
            server,
            used: Mutex::new(Instant::now()),
            streams: Arc::default(),
            next: AtomicU64::new(1),
            general: Arc::new(Log::new(0, bytes)),
            tasks: Mutex::default(),
            requests: Arc::new(Semaphore::new(MAX_STREAMS)),
        }
    }

    /// Whether a request is in progress.
    fn is_busy(&self) -> bool {
        self.requests.available_permits() < MAX_STREAMS
    }

    /// Whether the session has expired.
    fn is_idle(&self) -> bool {
        let is_followed = self.general.changes.receiver_count() > 0;
        !self.is_busy() && !is_followed && self.used.lock().elapsed() >= IDLE
    }

    pub(super) fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Keeps the messages that belong to no request.
    fn follow(&self, mut messages: Messages) {
        let general = self.general.clone();
        self.tasks.lock().spawn(async move {
            while let Some(message) = messages.recv().await {
                general.add(message.compact());
            }
        });
    }

    /// Takes a message that has no answer.
    pub(super) fn take(&self, message: Message) {
        match message {
            Message::Notification(notification) => self.peer.notified(&notification),
            Message::Response(response) => self.peer.answered(response),
            Message::Request(_) => {}
        }
    }

    /// Answers a request, or those of a batch.
    pub(super) async fn serve(
        &self,
        server: Server,
        work: Work,
        messages: Messages,
    ) -> Result<Reply, Fault> {
        let count = u32::try_from(work.requests.len()).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.requests).try_acquire_many_owned(count);
        let permit = permit.map_err(|_| {
            let message =
                format!("The session has {MAX_STREAMS} requests in progress; try again later.");
            Fault::new(FaultClass::RateLimited, message)
        })?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let log = Arc::new(Log::new(number, &self.general.total));
        {
            let mut streams = self.streams.lock();
            if streams.len() >= 2 * MAX_STREAMS {
                streams.pop_front();
            }
            streams.push_back(log.clone());
        }
        let (peer, own, streams) = (self.peer.clone(), log.clone(), self.streams.clone());
        let (answered, answer) = tokio::sync::oneshot::channel();
        let mut changes = log.changes.subscribe();
        {
            let mut tasks = self.tasks.lock();
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                let serving = work.serve(&server, &peer);
                let is_kept = run(serving, messages, &own, answered).await;
                drop(permit);
                if is_kept {
                    while own.total.load(Ordering::Relaxed) > MAX_KEPT
                        && streams.lock().pop_front().is_some()
                    {}
                    let kept = Arc::downgrade(&own);
                    drop(own);
                    sleep(KEEP).await;
                    streams.lock().retain(|log| !std::ptr::eq(Arc::as_ptr(log), kept.as_ptr()));
                }
            });
        }
        Ok(tokio::select! {
            biased;
            _ = changes.changed() => log.reply(0, true),
            // A response without messages before it needs no stream.
            response = answer => match response {
                Ok(response) => {
                    self.streams.lock().retain(|own| !Arc::ptr_eq(own, &log));
                    // A status other than 200 has a meaning of its own in a session.
                    response.map_or_else(accepted, |own| text_reply(StatusCode::OK, own))
                }
                Err(_) => log.reply(0, true),
            },
        })
    }

    /// Continues a stream after its last event, or opens that of messages that belong to no request.
    pub(super) fn listen(&self, last: Option<&str>, health: &Health) -> Result<Reply, Fault> {
        let Some(last) = last else {
            // One stream at a time, which begins with what happens from now on.
            self.general.close_streams();
            let end = self.general.end();
            return Ok(self.general.reply_while_open(end, true, health));
        };
        let position = last.split_once('-').and_then(|(stream, number)| {
            Some((stream.parse::<u64>().ok()?, number.parse::<u64>().ok()?))
        });
        let Some((stream, number)) = position else {
            let message = "The header Last-Event-ID is not the id of an event of this session.";
            return Err(Fault::new(FaultClass::Invalid, message));
        };
        let streams = self.streams.lock();
        let log = streams.iter().find(|log| log.id == stream);
        let log = if stream == 0 { Some(&self.general) } else { log };
        let gone = || Fault::new(FaultClass::Invalid, "The messages after this event are gone.");
        let log = log.ok_or_else(gone)?;
        Ok(match stream {
            0 => log.reply_while_open(number + 1, false, health),
            _ => log.reply(number + 1, false),
        })
    }
}

/// Requests that arrived together, each with what it is served with.
pub(super) struct Work {
    pub(super) requests: Vec<(Request, Exchange)>,
    /// The refusals of the other messages of a batch; none if it is no batch
    pub(super) refused: Option<Vec<Response>>,
}

impl Work {
    /// Answers the requests, and returns the text of the response or responses.
    async fn serve(self, server: &Server, peer: &Arc<Peer>) -> Option<String> {
        let requests = self.requests.into_iter();
        let serving = requests.map(|(request, exchange)| server.serve(request, peer, exchange));
        let mut answered = join_all(serving).await.into_iter().flatten();
        match self.refused {
            None => answered.next().map(|response| Message::Response(response).compact()),
            Some(refused) => {
                let responses: Vec<Response> = answered.chain(refused).collect();
                (!responses.is_empty()).then(|| Response::compact_batch(responses))
            }
        }
    }
}

/// Serves requests, and keeps their messages. Returns whether there are any.
async fn run(
    serving: impl Future<Output = Option<String>>,
    mut messages: Messages,
    log: &Log,
    answered: tokio::sync::oneshot::Sender<Option<String>>,
) -> bool {
    let mut serving = Box::pin(serving);
    let response = loop {
        tokio::select! {
            biased;
            Some(message) = messages.recv() => log.add(message.compact()),
            response = &mut serving => break response,
        }
    };
    while let Ok(message) = messages.try_recv() {
        log.add(message.compact());
    }
    if log.events.lock().messages.is_empty() {
        // Nobody may wait any more: then the response is kept for a client that continues the stream.
        match answered.send(response) {
            Ok(()) => return false,
            Err(Some(response)) => log.add(response),
            Err(None) => {}
        }
    } else if let Some(response) = response {
        log.add(response);
    }
    log.complete();
    if log.changes.receiver_count() == 0 && log.total.load(Ordering::Relaxed) > MAX_KEPT {
        log.clear();
    }
    true
}

impl Log {
    fn new(id: u64, total: &Arc<AtomicUsize>) -> Log {
        let (events, changes) = (Mutex::default(), watch::Sender::new(()));
        Log { id, events, changes, total: total.clone() }
    }

    /// Forgets all messages.
    fn clear(&self) {
        let mut events = self.events.lock();
        events.first += events.messages.len() as u64;
        events.messages.clear();
        self.total.fetch_sub(std::mem::take(&mut events.bytes), Ordering::Relaxed);
    }

    fn add(&self, message: String) {
        let mut events = self.events.lock();
        events.bytes += message.len();
        self.total.fetch_add(message.len(), Ordering::Relaxed);
        events.messages.push_back(message);
        // The last message stays, whatever its size.
        while events.messages.len() > MAX_EVENTS
            || (events.bytes > MAX_BYTES && events.messages.len() > 1)
        {
            let Some(gone) = events.messages.pop_front() else { break };
            events.bytes -= gone.len();
            self.total.fetch_sub(gone.len(), Ordering::Relaxed);
            events.first += 1;
        }
        drop(events);
        self.changes.send_replace(());
    }

    /// Closes the streams of the messages. Clients continue them.
    fn close_streams(&self) {
        self.events.lock().closed += 1;
        self.changes.send_replace(());
    }

    /// The number of the next message.
    fn end(&self) -> u64 {
        let events = self.events.lock();
        events.first + events.messages.len() as u64 + 1
    }

    fn complete(&self) {
        self.events.lock().completed = Some(Instant::now());
        self.changes.send_replace(());
    }

    /// Streams the messages from a number on, until the server drains.
    fn reply_while_open(self: &Arc<Log>, from: u64, is_new: bool, health: &Health) -> Reply {
        let health = health.clone();
        let draining = async move { health.draining().await };
        events_reply(self.events(from, is_new).take_until(Box::pin(draining)))
    }

    /// Streams the messages from a number on.
    fn reply(self: &Arc<Log>, from: u64, is_new: bool) -> Reply {
        events_reply(self.events(from, is_new))
    }

    /// Returns the messages from a number on as events. The first event says how to continue.
    fn events(
        self: &Arc<Log>,
        from: u64,
        is_new: bool,
    ) -> impl Stream<Item = String> + Send + 'static + use<> {
        let opening = is_new.then(|| format!("id: {}-0\nretry: {RETRY_MS}\ndata:\n\n", self.id));
        let closed = self.events.lock().closed;
        let state = (self.clone(), self.changes.subscribe(), from.max(1), opening);
        stream::unfold(state, move |(log, mut changes, at, opening)| async move {
            if let Some(opening) = opening {
                return Some((opening, (log, changes, at, None)));
            }
            loop {
                let (message, is_complete) = {
                    let events = log.events.lock();
                    // Messages are numbered from 1; those that are gone are skipped.
                    let at = at.max(events.first + 1);
                    let index = usize::try_from(at - 1 - events.first).unwrap_or(usize::MAX);
                    let message = events.messages.get(index).map(|message| (at, message.clone()));
                    (message, events.completed.is_some() || events.closed != closed)
                };
                if let Some((at, message)) = message {
                    let text = event(Some(&format!("{}-{at}", log.id)), &message);
                    return Some((text, (log, changes, at + 1, None)));
                }
                if is_complete || changes.changed().await.is_err() {
                    return None;
                }
            }
        })
    }
}
