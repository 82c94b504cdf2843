//! A server over HTTP: each message is a POST, and the answer to a request is one message or a stream of them.
//!
//! | era | beside the message | further streams |
//! |---|---|---|
//! | handshake | the session that `initialize` created | a GET for messages of the server; a stream that broke is continued |
//! | stateless | headers that repeat the method, the name and marked parameters | none |

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use http::{HeaderMap, Method, StatusCode, Uri};
use tokio::time::{sleep, timeout};
use toolwright_core::Json;
use toolwright_dialects::dialect::mcp::Era;
use toolwright_dialects::frame::{Frame, FrameReader, Framing};
use toolwright_transport::oauth::{Challenge, OAuthError, Token, TokenSource};
use toolwright_transport::{HttpClient, HttpFault, Incoming, IncomingBody, begins_with, sensitive};

use super::authorization::Authorization;
use super::error::ClientError;
use super::inbox::Inbox;
use super::{MAX_MESSAGE, READ_DEADLINE};
use crate::header::{self, ParameterHeader};
use crate::message::{InvalidMessage, Message, Request, Response};
use crate::protocol::header::{LAST_EVENT_ID, METHOD, NAME, SESSION, VERSION};

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const STREAM: HeaderValue = HeaderValue::from_static(Framing::Sse.content_type());

/// Number of times that a broken stream is continued without a message.
const MAX_CONTINUATIONS: usize = 8;

/// Wait before a stream is continued, if the server names none.
const CONTINUE_AFTER: Duration = Duration::from_secs(1);

/// Maximum wait before a stream is continued.
const MAX_CONTINUE_AFTER: Duration = Duration::from_mins(1);

/// Maximum number of times that a request is sent: as it is, with a renewed token, after a login, and after one for
/// further scopes.
const MAX_ATTEMPTS: usize = 4;

/// Maximum number of bytes of an error answer.
const MAX_ERROR: usize = 64 << 10;

/// The address of a server, and how requests reach it.
#[must_use]
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerUrl {
    /// The address
    pub url: Uri,
    /// Sends the requests; its headers, proxies and address policy apply
    pub http: HttpClient,
    access: Access,
}

/// How access tokens for a server are had.
#[derive(Clone)]
enum Access {
    /// The server wants none, or they are in the headers
    None,
    Tokens(TokenSource),
    Login(Box<Authorization>),
}

impl ServerUrl {
    /// Creates an address without access tokens.
    pub fn new(url: Uri, http: HttpClient) -> ServerUrl {
        ServerUrl { url, http, access: Access::None }
    }

    /// Sets the source of access tokens.
    pub fn with_tokens(mut self, tokens: TokenSource) -> ServerUrl {
        self.access = Access::Tokens(tokens);
        self
    }

    /// Sets what gets access tokens by the rules of MCP.
    pub fn with_authorization(mut self, authorization: Authorization) -> ServerUrl {
        self.access = Access::Login(Box::new(authorization));
        self
    }
}

impl Access {
    async fn token(&self) -> Result<Option<Arc<Token>>, OAuthError> {
        match self {
            Access::None => Ok(None),
            Access::Tokens(tokens) => tokens.token().await.map(Some),
            Access::Login(authorization) => authorization.token_for_request().await,
        }
    }

    /// Gets another token after the server has refused a request. Returns whether there is one.
    async fn renew(
        &self,
        status: StatusCode,
        challenge: &Challenge,
        refused: Option<Arc<Token>>,
    ) -> Result<bool, OAuthError> {
        match (self, refused) {
            (Access::Tokens(tokens), Some(token)) if status == StatusCode::UNAUTHORIZED => {
                tokens.reject(&token);
                let renewed = tokens.token().await?;
                Ok(!Arc::ptr_eq(&token, &renewed))
            }
            (Access::Login(authorization), refused) => {
                authorization.renew(status, challenge.clone(), refused).await
            }
            _ => Ok(false),
        }
    }
}

/// A connection over HTTP.
pub(super) struct Http {
    address: ServerUrl,
    inbox: Arc<Inbox>,
    /// The session and the version of a handshake
    session: OnceLock<Session>,
}

struct Session {
    id: Option<HeaderValue>,
    version: HeaderValue,
}

/// The answer to a request.
#[derive(Default)]
pub(super) struct Answer {
    /// The status; that of success for a message that did not come by HTTP
    pub(super) status: StatusCode,
    /// The response; none if the body is something else
    pub(super) response: Option<Response>,
    pub(super) headers: HeaderMap,
}

/// What a POST carries beside its message.
#[derive(Clone, Copy)]
pub(super) struct Envelope<'e> {
    pub(super) era: Era,
    pub(super) version: &'e str,
    /// Parameters of the tool that headers repeat
    pub(super) parameters: &'e [ParameterHeader],
}

impl Http {
    pub(super) fn new(address: ServerUrl, inbox: Arc<Inbox>) -> Http {
        Http { address, inbox, session: OnceLock::new() }
    }

    /// Sets the session that an answer to `initialize` created, and the version that was agreed on.
    pub(super) fn open(&self, headers: &HeaderMap, version: &str) -> Result<(), ClientError> {
        let version = HeaderValue::from_str(version);
        let version =
            version.map_err(|_| self.inbox.broken("sent an invalid version".to_owned()))?;
        let id = headers.get(SESSION).cloned();
        let _ = self.session.set(Session { id, version });
        Ok(())
    }

    /// Sends a request and waits for its response. Dropping the future closes the stream of the answer.
    pub(super) async fn request(
        self: &Arc<Http>,
        id: u64,
        request: &Request,
        envelope: Envelope<'_>,
    ) -> Result<Answer, ClientError> {
        let headers = self.headers(request, envelope)?;
        let body = Bytes::from(request.compact());
        let incoming = self.send(Method::POST, &headers, body).await?;
        let (status, headers) = (incoming.status, incoming.headers.clone());
        let response = if is_stream(&headers) && status.is_success() {
            Some(self.read_stream(id, incoming.body).await?)
        } else {
            let limit = if status.is_success() { MAX_MESSAGE } else { MAX_ERROR };
            let body = incoming
                .body
                .collect(limit)
                .await
                .map_err(|fault| self.inbox.ended(fault.message))?;
            let mut messages = self.inbox.read(&body);
            let response = match messages.len() {
                1 => messages.pop().and_then(Result::ok).and_then(Message::into_response),
                _ => self.receive(messages, Some(id)).await,
            };
            // An error may have no id.
            let is_other = |response: &Response| {
                response.result.is_ok() && response.id.as_ref().and_then(Json::as_u64) != Some(id)
            };
            if response.as_ref().is_some_and(is_other) {
                return Err(self.inbox.broken("answered another request".to_owned()));
            }
            if status == StatusCode::NOT_FOUND && self.session.get().is_some() {
                self.inbox.end("its session has expired", None);
                return Err(self.inbox.unreachable("its session has expired".to_owned()));
            }
            response
        };
        Ok(Answer { status, response, headers })
    }

    /// Sends a notification or a response. No caller waits for it, so it has its own deadline.
    pub(super) async fn notify(&self, message: &Message) -> Result<(), ClientError> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, BOTH);
        headers.insert(CONTENT_TYPE, JSON);
        let body = Bytes::from(message.compact());
        let sending = self.send(Method::POST, &headers, body);
        let late = |_| self.inbox.late(READ_DEADLINE);
        let incoming = timeout(READ_DEADLINE, sending).await.map_err(late)??;
        if incoming.status.is_success() {
            return Ok(());
        }
        let reason = format!("answered a notification with status {}", incoming.status);
        Err(self.inbox.broken(reason))
    }

    /// Receives messages of the server that belong to no request, until the server ends or refuses the stream.
    pub(super) async fn listen(self: Arc<Http>) {
        let mut last = None;
        let mut failures: u32 = 0;
        while !self.inbox.has_ended() {
            let mut wait = CONTINUE_AFTER;
            match self.get(last.as_deref()).await {
                Ok(incoming) if incoming.status.is_server_error() => {}
                Ok(incoming) if !incoming.status.is_success() || !is_stream(&incoming.headers) => {
                    return;
                }
                Ok(incoming) => {
                    let mut stream = Stream::new(incoming.body);
                    while let Some(Ok(frame)) = stream.next().await {
                        failures = 0;
                        self.receive(self.inbox.read(frame.data.as_bytes()), None).await;
                    }
                    last = stream.last_event_id().or(last);
                    wait = stream.wait();
                }
                Err(_) => {}
            }
            // The first closes are usual; a server that only closes is asked ever more rarely.
            let backoff = CONTINUE_AFTER * (1 << failures.min(6)) / 2;
            sleep(wait.max(backoff).min(MAX_CONTINUE_AFTER)).await;
            failures = failures.saturating_add(1);
        }
    }

    /// Ends the session.
    pub(super) async fn close(&self) {
        if self.session.get().is_some_and(|session| session.id.is_some()) {
            let headers = self.session_headers();
            let sending = self.send(Method::DELETE, &headers, Bytes::new());
            let _ = timeout(READ_DEADLINE, sending).await;
        }
    }

    /// Reads the stream of an answer to its response. A stream of a session that breaks is continued.
    async fn read_stream(
        self: &Arc<Http>,
        id: u64,
        body: IncomingBody,
    ) -> Result<Response, ClientError> {
        let mut stream = Stream::new(body);
        let mut last = None;
        let mut silent = 0;
        while silent < MAX_CONTINUATIONS {
            silent += 1;
            let fault = loop {
                match stream.next().await {
                    Some(Ok(frame)) => {
                        silent = 0;
                        let messages = self.inbox.read(frame.data.as_bytes());
                        if let Some(response) = self.receive(messages, Some(id)).await {
                            return Ok(response);
                        }
                    }
                    Some(Err(reason)) => break reason,
                    None => break "the stream ended without a response".to_owned(),
                }
            };
            last = stream.last_event_id().or(last);
            let (Some(last), true) = (last.as_deref(), self.session.get().is_some()) else {
                return Err(self.inbox.ended(fault));
            };
            sleep(stream.wait()).await;
            // The request itself was sent, so what the error of this one advises does not hold.
            let ended = |_| self.inbox.ended(format!("{fault}, and could not be continued"));
            let incoming = self.get(Some(last)).await.map_err(ended)?;
            if !incoming.status.is_success() {
                return Err(self.inbox.ended(fault));
            }
            stream = Stream::new(incoming.body);
        }
        Err(self.inbox.ended("the stream broke too often".to_owned()))
    }

    /// Delivers messages, and answers those that are requests. Returns the response to the request of the stream.
    async fn receive(
        self: &Arc<Http>,
        messages: Vec<Result<Message, InvalidMessage>>,
        origin: Option<u64>,
    ) -> Option<Response> {
        let mut own = None;
        for message in messages {
            match message {
                Ok(Message::Response(response))
                    if origin.is_some()
                        && response.id.as_ref().and_then(Json::as_u64) == origin =>
                {
                    own = Some(response);
                }
                message => {
                    let Some(request) = self.inbox.deliver(message, origin) else { continue };
                    let http = self.clone();
                    let send = |answer| async move { drop(http.notify(&answer).await) };
                    self.inbox.spawn_answer(request, origin, send).await;
                }
            }
        }
        own
    }

    async fn get(&self, last: Option<&str>) -> Result<Incoming, ClientError> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, STREAM);
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT_ID, last);
        }
        self.send(Method::GET, &headers, Bytes::new()).await
    }

    /// Sends a request with an access token. If the server refuses the token, another one is tried.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Incoming, ClientError> {
        let ServerUrl { url, http, access } = &self.address;
        let failed = |error: OAuthError| {
            self.inbox.unreachable(format!("there is no access token: {error}"))
        };
        let mut attempts = 1;
        loop {
            let mut request = http::Request::new(body.clone());
            *request.method_mut() = method.clone();
            *request.uri_mut() = url.clone();
            request.headers_mut().clone_from(headers);
            let token = access.token().await.map_err(failed)?;
            if let Some(token) = &token {
                self.inbox.secrets.add(token);
                let value = sensitive(&format!("Bearer {}", token.access().expose()));
                let invalid = || self.inbox.unreachable("its access token is invalid".to_owned());
                request.headers_mut().insert(AUTHORIZATION, value.ok_or_else(invalid)?);
            }
            // A GET continues the answer to a POST, which may be a call.
            let sent = http.send_as(request, false).await;
            let incoming = sent.map_err(|fault| self.failed(&fault))?;
            let status = incoming.status;
            if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                return Ok(incoming);
            }
            let values = incoming.headers.get_all(WWW_AUTHENTICATE).iter();
            let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
            let challenge = Challenge::parse(&values.join(", "));
            if status == StatusCode::FORBIDDEN && !challenge.wants_more_scopes() {
                return Ok(incoming);
            }
            let can_retry = attempts < MAX_ATTEMPTS;
            if !can_retry || !access.renew(status, &challenge, token).await.map_err(failed)? {
                let server = self.inbox.server.to_string();
                return Err(ClientError::Unauthorized { server, challenge });
            }
            attempts += 1;
        }
    }

    fn headers(&self, request: &Request, envelope: Envelope<'_>) -> Result<HeaderMap, ClientError> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, BOTH);
        headers.insert(CONTENT_TYPE, JSON);
        if envelope.era == Era::Handshake {
            return Ok(headers);
        }
        let mut values =
            vec![(VERSION, envelope.version.to_owned()), (METHOD, request.method.clone())];
        values.extend(request.target().map(|name| (NAME, header::encode(name))));
        if let Some(arguments) = request.params.get("arguments").and_then(Json::as_object) {
            let invalid = |reason| self.inbox.unreachable(reason);
            header::check_range(envelope.parameters, arguments).map_err(invalid)?;
            for parameter in envelope.parameters {
                let name = HeaderName::try_from(parameter.name.as_str());
                values.extend(name.ok().zip(parameter.value(arguments)));
            }
        }
        for (name, value) in values {
            let invalid = |_| self.inbox.unreachable(format!("{name} is no header value"));
            let value = HeaderValue::from_str(&value).map_err(invalid)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn session_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(session) = self.session.get() {
            headers.insert(VERSION, session.version.clone());
            if let Some(id) = &session.id {
                headers.insert(SESSION, id.clone());
            }
        }
        headers
    }

    /// The error of a request without an answer.
    fn failed(&self, fault: &HttpFault) -> ClientError {
        if fault.is_unsent() {
            self.inbox.unreachable(fault.message.clone())
        } else {
            self.inbox.ended(fault.message.clone())
        }
    }
}

/// A stream of server-sent events.
pub(super) struct Stream {
    body: IncomingBody,
    reader: FrameReader,
    frames: std::vec::IntoIter<Frame>,
}

impl Stream {
    pub(super) fn new(body: IncomingBody) -> Stream {
        Stream { body, reader: FrameReader::new(Framing::Sse), frames: Vec::new().into_iter() }
    }

    pub(super) async fn next(&mut self) -> Option<Result<Frame, String>> {
        loop {
            if let Some(frame) = self.frames.next() {
                return Some(Ok(frame));
            }
            let mut frames = Vec::new();
            let read = match self.body.next().await? {
                Ok(bytes) => self.reader.push(&bytes, &mut frames),
                Err(fault) => return Some(Err(fault.message)),
            };
            if let Err(error) = read {
                return Some(Err(error.to_string()));
            }
            self.frames = frames.into_iter();
        }
    }

    fn last_event_id(&self) -> Option<String> {
        self.reader.last_event_id().map(str::to_owned)
    }

    /// How long to wait before the stream is continued.
    fn wait(&self) -> Duration {
        self.reader.reconnection_time().unwrap_or(CONTINUE_AFTER).min(MAX_CONTINUE_AFTER)
    }
}

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    begins_with(headers, &CONTENT_TYPE, Framing::Sse.content_type())
}

#[cfg(test)]
mod tests;
