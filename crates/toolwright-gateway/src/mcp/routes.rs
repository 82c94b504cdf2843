//! The gateway as an MCP server: `/mcp` for all tools of a client, `/mcp/NAME` for those of one MCP server or tool set.
//!
//! | request | answer |
//! |---|---|
//! | POST with the metadata of 2026-07-28 | one message, or a stream that ends with the response |
//! | POST `initialize` | a session, for clients of earlier versions |
//! | POST in a session | the same, but the stream can be continued; in version 2025-03-26 also a batch |
//! | GET in a session | messages that belong to no request, or the rest of a stream |
//! | DELETE in a session | the end of the session |

mod headers;
mod session;
mod stream;

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use toolwright_core::json::weigh;
use toolwright_core::{Fault, FaultClass, object};
use toolwright_mcp::protocol::header::{LAST_EVENT_ID, SESSION, VERSION};
use toolwright_mcp::protocol::{
    HEADER_MISMATCH, INITIALIZE, INVALID_REQUEST, LISTEN, METHOD_NOT_FOUND, SESSION_NOT_FOUND,
    UNSUPPORTED_VERSION,
};
use toolwright_mcp::server::{Announcer, Exchange, Features, Outbox, Server};
use toolwright_mcp::{InvalidMessage, Message, Payload, Request, Response, RpcError};
use toolwright_runtime::handle::HandleStore;
use toolwright_runtime::{Context, Session};

use super::{CallerTokens, McpServers};
use crate::conversation::ConversationId;
use crate::http::{Health, HttpRequest, Reply, ReplyBody, Share, browser};
use crate::journal::EffectJournal;
use crate::key::{AuthenticatedClient, Client, Keys};
use crate::telemetry::{RequestId, Telemetry};
use crate::tools::Tools;
use crate::{fault, idempotency};
pub use session::Sessions;
use session::{McpSession, Work};

/// What MCP clients know: the server, and the sessions of earlier versions of the protocol.
#[derive(Default)]
pub struct McpState {
    server: Server,
    sessions: Sessions,
}

impl McpState {
    /// Closes the streams of a session, which its client then continues. `conversation` is that of the session's calls.
    pub fn close_streams(&self, conversation: &str) {
        self.sessions.close_streams(|id| session_conversation(id.as_bytes()) == conversation);
    }
}

/// The conversation of the calls in a session.
fn session_conversation(id: &[u8]) -> String {
    format!("mcp-session:{}", &blake3::hash(id).to_hex()[..32])
}

/// What a request of an MCP client needs of the gateway.
pub(crate) struct McpRoutes<'g> {
    pub(crate) state: &'g McpState,
    pub(crate) keys: &'g Keys,
    pub(crate) tools: &'g Tools,
    pub(crate) servers: &'g McpServers,
    /// Prompts and resources in place of those of the MCP servers
    pub(crate) features: Option<&'g Arc<dyn Features>>,
    pub(crate) journal: &'g EffectJournal,
    pub(crate) handles: &'g Arc<dyn HandleStore>,
    pub(crate) telemetry: &'g Telemetry,
    pub(crate) announcer: &'g Announcer,
    pub(crate) health: &'g Health,
    /// Whether clients of this gateway may approve at all
    pub(crate) may_approve: bool,
}

/// What a request is served with.
struct Caller<'g> {
    gateway: McpRoutes<'g>,
    client: Arc<Client>,
    /// The MCP server or tool set of the path
    server: Option<String>,
}

/// Answers a request at `/mcp` or `/mcp/NAME`.
pub(crate) async fn answer(
    gateway: McpRoutes<'_>,
    server: Option<&str>,
    mut request: HttpRequest,
) -> Reply {
    let admitted = check_page(&request.headers).and_then(|()| {
        let authenticated = gateway.keys.authenticate(&request.headers, &request.uri)?;
        request.set_client(authenticated.client.name());
        authenticated.client.admit(request.started)?;
        Ok(authenticated)
    });
    let AuthenticatedClient { client, .. } = match admitted {
        Ok(authenticated) => authenticated,
        Err(fault) => return refuse_fault(&fault),
    };
    gateway.keys.strip(&mut request.headers);
    let server = server.map(str::to_owned);
    let removed = client.removed();
    let caller = Caller { gateway, client, server };
    let answered = match request.method {
        Method::POST => caller.post(request).await,
        Method::DELETE => caller.delete(&request),
        _ => caller.get(&request),
    };
    let reply = answered.unwrap_or_else(|fault| refuse_fault(&fault));
    reply.map(|body| body.until(removed))
}

/// Refuses pages of other sites: they must not use the credentials of a browser, either.
fn check_page(headers: &HeaderMap) -> Result<(), Fault> {
    if browser::is_from_another_site(headers) {
        let message = "Pages of other sites may not use /mcp, with or without a key.";
        return Err(Fault::new(FaultClass::Forbidden, message));
    }
    Ok(())
}

/// Maximum size in bytes of a message whose copies are not weighed.
const UNWEIGHED_BYTES: usize = 64 << 10;

/// Memory of a call as a multiple of its message: the arguments as text and as a tree, before and after the check and
/// for the tool, which may call another one with them.
const CALL_COPIES: usize = 12;

impl Caller<'_> {
    async fn post(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let HttpRequest { headers, body, started, .. } = request;
        let (body, mut share) = body.read_document().await?;
        if body.len() > UNWEIGHED_BYTES {
            let weight = weigh(&body).unwrap_or(0).saturating_mul(CALL_COPIES);
            share.reach(weight, weight).await?;
        }
        let payload = match Payload::parse(&body) {
            Ok(payload) => payload,
            Err(invalid) => return Ok(invalid_reply(invalid)),
        };
        drop(body);
        if let Some(id) = headers.get(&SESSION) {
            let Some(session) =
                self.gateway.state.sessions.find(id, &self.client, self.server.as_deref())
            else {
                return Ok(no_session());
            };
            if let Some(version) = headers.get(&VERSION)
                && version.as_bytes() != session.peer().version().as_bytes()
            {
                let error = RpcError::new(
                    INVALID_REQUEST,
                    format!(
                        "Invalid request: the header MCP-Protocol-Version is not {}, the version of the session",
                        session.peer().version()
                    ),
                );
                return Ok(error_reply(StatusCode::BAD_REQUEST, None, error));
            }
            return match payload {
                Payload::Message(Message::Request(request)) => {
                    let (exchange, messages) = self.exchange(&headers, share).await?;
                    let work = Work { requests: vec![(request, exchange)], refused: None };
                    session.serve(self.gateway.state.server.clone(), work, messages).await
                }
                Payload::Message(message) => {
                    session.take(message);
                    Ok(accepted())
                }
                Payload::Batch(batch) if session.peer().has_batches() => {
                    self.batch(&session, &headers, batch, (share, started)).await
                }
                Payload::Batch(_) => {
                    let version = session.peer().version();
                    Ok(invalid_reply(InvalidMessage::batch(Some(version))))
                }
            };
        }
        let message = match payload {
            Payload::Message(message) => message,
            Payload::Batch(_) => return Ok(invalid_reply(InvalidMessage::batch(None))),
        };
        match message {
            Message::Request(request)
                if request.method == INITIALIZE && !request.is_stateless() =>
            {
                let (exchange, messages) = self.exchange(&headers, share).await?;
                let (peer, result) =
                    self.gateway.state.server.initialize(&request.params, &exchange);
                let server = self.server.clone();
                let id = self.gateway.state.sessions.begin(peer, &self.client, server, messages)?;
                let response = Response { id: Some(request.id), result: Ok(result) };
                let mut reply = message_reply(StatusCode::OK, response);
                reply.headers_mut().insert(SESSION.clone(), id);
                Ok(reply)
            }
            Message::Request(request) => self.stateless(&headers, request, share).await,
            Message::Notification(_) => Ok(accepted()),
            Message::Response(_) => {
                let message = "Invalid request: there is no session to answer a request of";
                let error = RpcError::new(INVALID_REQUEST, message);
                Ok(error_reply(StatusCode::BAD_REQUEST, None, error))
            }
        }
    }

    /// Answers the requests of a batch in a session, and takes its other messages.
    async fn batch(
        &self,
        session: &McpSession,
        headers: &HeaderMap,
        batch: Vec<Result<Message, InvalidMessage>>,
        (share, started): (Share, Instant),
    ) -> Result<Reply, Fault> {
        let (mut requests, mut refused) = (Vec::new(), Vec::new());
        for message in batch {
            match message.and_then(Message::in_batch) {
                Ok(Message::Request(request)) => requests.push(request),
                Ok(message) => session.take(message),
                Err(InvalidMessage(response)) => refused.push(*response),
            }
        }
        if requests.is_empty() && refused.is_empty() {
            return Ok(accepted());
        }
        if requests.is_empty() {
            return Ok(text_reply(StatusCode::BAD_REQUEST, Response::compact_batch(refused)));
        }
        // The request that carries them counts as one.
        let others = requests.len().saturating_sub(1) as u64;
        self.client.try_admit(others, started).map_err(|full| self.client.limited(full))?;
        let (outbox, messages) = Outbox::new();
        let mut work = Work { requests: Vec::new(), refused: Some(refused) };
        let share = Arc::new(share);
        for request in requests {
            let (mut exchange, _) = self.exchange(headers, share.beside()).await?;
            exchange.outbox = outbox.clone();
            // The memory of the batch is held until all are answered.
            exchange.session.context = exchange.session.context.with(share.clone());
            work.requests.push((request, exchange));
        }
        drop(outbox);
        session.serve(self.gateway.state.server.clone(), work, messages).await
    }

    /// Answers a request without a session.
    async fn stateless(
        &self,
        headers: &HeaderMap,
        request: Request,
        share: Share,
    ) -> Result<Reply, Fault> {
        let (exchange, messages) = self.exchange(headers, share).await?;
        let checked = headers::check(headers, &request, &exchange.toolbox)
            .and_then(|()| Server::stateless_peer(&request));
        let peer = match checked {
            Ok(peer) => peer,
            Err(error) => return Ok(error_reply(StatusCode::BAD_REQUEST, Some(request.id), error)),
        };
        let (server, health) = (self.gateway.state.server.clone(), self.gateway.health.clone());
        let serving = async move {
            let (id, is_subscription) = (request.id.clone(), request.method == LISTEN);
            tokio::select! {
                biased;
                response = server.serve(request, &peer, exchange) => response,
                // A subscription does not delay a shutdown.
                () = health.draining(), if is_subscription => {
                    let own = object! {"io.modelcontextprotocol/subscriptionId": id.clone()};
                    let result = Ok(object! {"resultType": "complete", "_meta": own});
                    Some(Response { id: Some(id), result })
                }
            }
        };
        Ok(stream::reply(Box::pin(serving), messages).await)
    }

    /// Continues a stream, or opens that of messages that belong to no request.
    fn get(&self, request: &HttpRequest) -> Result<Reply, Fault> {
        let Some(id) = request.headers.get(&SESSION) else {
            let mut fault =
                Fault::new(FaultClass::Invalid, "A GET needs a session. Send requests by POST.");
            fault.status = Some(StatusCode::METHOD_NOT_ALLOWED.as_u16());
            return Err(fault);
        };
        let Some(session) =
            self.gateway.state.sessions.find(id, &self.client, self.server.as_deref())
        else {
            return Ok(no_session());
        };
        let last = request.headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
        session.listen(last, self.gateway.health)
    }

    fn delete(&self, request: &HttpRequest) -> Result<Reply, Fault> {
        let Some(id) = request.headers.get(&SESSION) else {
            let message = "A DELETE needs the session that it ends (Mcp-Session-Id).";
            return Err(Fault::new(FaultClass::Invalid, message));
        };
        if self.gateway.state.sessions.end(id, &self.client, self.server.as_deref()) {
            let mut reply = Reply::new(ReplyBody::empty());
            *reply.status_mut() = StatusCode::NO_CONTENT;
            return Ok(reply);
        }
        Ok(no_session())
    }

    /// Opens the exchange of a request. It holds the memory for the request until it ends.
    async fn exchange(
        &self,
        headers: &HeaderMap,
        share: Share,
    ) -> Result<(Exchange, stream::Messages), Fault> {
        // The ledger records every call.
        self.gateway.telemetry.admit().await?;
        self.gateway.tools.listed().await;
        let toolbox = self.gateway.tools.for_mcp(self.server.as_deref(), &self.client);
        let Some(toolbox) = toolbox else {
            let message = "There is no MCP server or tool set of this name. /mcp has all tools.";
            return Err(Fault::new(FaultClass::NotFound, message));
        };
        // A client that repeats a call with the same `idempotency-key` repeats no effect.
        let run = idempotency::of_key(headers, &["mcp", self.client.name()]);
        let toolbox = toolbox
            .with_journal(self.gateway.journal.of_request(run.is_some()))
            .with_handles(Arc::clone(self.gateway.handles));
        let context = Context::new()
            .with(self.gateway.tools.access(&self.client))
            .with(CallerTokens::from_headers(headers))
            .with(self.client.call_rate())
            .with(share.plan_memory())
            .with(share);
        let session = Session::new(run.unwrap_or_else(|| RequestId::random().to_string()))
            .with_caller(self.client.caller())
            .with_context(context);
        let session = self.with_conversation(session, headers)?;
        let (outbox, messages) = Outbox::new();
        // As for /v1/approvals: who may approve is a matter of keys, or of this machine.
        let (client, may_approve) = (self.client.clone(), self.gateway.may_approve);
        let may_approve = Arc::new(move |tool: &str| may_approve && client.may_approve(tool));
        let changes = self.gateway.announcer.subscribe();
        let server = self.server.as_deref();
        let features = match self.gateway.features {
            Some(features) => features.clone(),
            None => self.gateway.servers.features(self.gateway.tools, server, &self.client),
        };
        Ok((Exchange { session, toolbox, features, outbox, changes, may_approve }, messages))
    }

    /// Sets the conversation: the one that a header names, or that of the MCP session. All other requests of a client
    /// share their handles, but have no slots. A name in the metadata of a request comes before all of these.
    fn with_conversation(&self, session: Session, headers: &HeaderMap) -> Result<Session, Fault> {
        if let Some(named) = ConversationId::named(headers)? {
            return Ok(session.with_conversation(named.shared()));
        }
        Ok(match headers.get(&SESSION) {
            Some(id) => session.with_conversation(session_conversation(id.as_bytes())),
            None => {
                session.with_conversation(format!("mcp:{}", self.client.name())).without_slots()
            }
        })
    }
}

/// A reply with one message.
fn message_reply(status: StatusCode, response: Response) -> Reply {
    text_reply(status, Message::Response(response).compact())
}

/// The reply to what is no message.
fn invalid_reply(invalid: InvalidMessage) -> Reply {
    message_reply(StatusCode::BAD_REQUEST, *invalid.0)
}

/// A reply with the text of messages.
fn text_reply(status: StatusCode, text: String) -> Reply {
    let mut reply = fault::text(text);
    *reply.status_mut() = status;
    reply
}

fn error_reply(status: StatusCode, id: Option<toolwright_core::Json>, error: RpcError) -> Reply {
    message_reply(status, Response { id, result: Err(error) })
}

/// The reply to a notification.
fn accepted() -> Reply {
    let mut reply = Reply::new(ReplyBody::empty());
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

fn no_session() -> Reply {
    let message = "Session not found: it has ended or expired; send initialize again";
    error_reply(StatusCode::NOT_FOUND, None, RpcError::new(SESSION_NOT_FOUND, message))
}

/// Encodes a fault of the gateway as an error without an id.
fn refuse_fault(fault: &Fault) -> Reply {
    let status = fault.status.unwrap_or_else(|| fault.class.status());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply =
        error_reply(status, None, RpcError::new(INVALID_REQUEST, fault.message.clone()));
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer");
        reply.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    reply
}

/// The status of a response: requests that cannot be understood have an error status.
fn status_of(response: &Response) -> StatusCode {
    match &response.result {
        Err(error) if error.code == METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        Err(error) if (UNSUPPORTED_VERSION..=HEADER_MISMATCH).contains(&error.code) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}
