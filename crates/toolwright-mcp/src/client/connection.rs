//! One connection to a server: finds out its era, sends requests within their deadlines, and cancels what is no
//! longer wanted.

mod cancel;
mod follow;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;

use self::cancel::CancelOnDrop;
use super::changes::Changes;
use super::error::ClientError;
use super::http::{Answer, Envelope, Http};
use super::inbox::Inbox;
use super::secrets::SentSecrets;
use super::sse::Sse;
use super::stdio::Stdio;
use super::{Address, READ_DEADLINE, ServerInfo};
use crate::header::ParameterHeader;
use crate::interaction::{ElicitationModes, InputRequest, Interaction, capability};
use crate::message::{Message, Notification, Request, Response, RpcError};
use crate::protocol::{
    DISCOVER, ELICIT, INITIALIZE, INITIALIZED, LATEST, LATEST_HANDSHAKE, LIST_ROOTS, SAMPLE,
    UNSUPPORTED_VERSION, URL_ELICITATION_REQUIRED, VERSIONS, implementation, is_stateless_error,
    meta,
};

/// How long a server may take to answer the first request before it counts as one with a handshake.
const PROBE_DEADLINE: Duration = Duration::from_secs(15);

/// Deadline of the handshake. A program may be installed when it is first started.
const HANDSHAKE_DEADLINE: Duration = Duration::from_mins(1);

/// Maximum number of times that a server may ask for input during one request.
const MAX_ROUNDS: usize = 16;

/// A connection.
pub(super) struct Connection {
    core: Arc<Core>,
    pub(super) info: ServerInfo,
    /// Aborted when the connection is dropped
    _followers: JoinSet<()>,
}

struct Core {
    link: Link,
    inbox: Arc<Inbox>,
    era: Era,
    version: String,
    ids: AtomicU64,
}

enum Link {
    Stdio(Stdio),
    Http(Arc<Http>),
    Sse(Arc<Sse>),
}

/// A request to a server.
pub(crate) struct Outgoing<'r> {
    pub(crate) method: &'r str,
    pub(crate) params: Object,
    pub(crate) deadline: Duration,
    pub(crate) interaction: Interaction,
    /// Parameters of the tool that headers repeat
    pub(crate) parameters: &'r [ParameterHeader],
}

impl<'r> Outgoing<'r> {
    /// A request that reads something, and asks no user.
    pub(super) fn reading(method: &'r str, params: Object) -> Outgoing<'r> {
        let interaction = Interaction::default();
        Outgoing { method, params, deadline: READ_DEADLINE, interaction, parameters: &[] }
    }
}

impl Connection {
    /// Connects to a server. A known era is not found out again.
    pub(super) async fn open(
        server: &Arc<str>,
        address: &Address,
        known: Option<Era>,
        changes: Arc<Changes>,
    ) -> Result<Connection, ClientError> {
        let opened = Connection::try_open(server, address, known, changes.clone()).await;
        match (opened, address, known) {
            // Some programs end at a first request that is not `initialize`.
            (Err(ClientError::Ended { .. }), Address::Command(_), None) => {
                Connection::try_open(server, address, Some(Era::Handshake), changes).await
            }
            (opened, ..) => opened,
        }
    }

    async fn try_open(
        server: &Arc<str>,
        address: &Address,
        known: Option<Era>,
        changes: Arc<Changes>,
    ) -> Result<Connection, ClientError> {
        let inbox = Arc::new(Inbox::new(server.clone(), changes, SentSecrets::of(address)));
        let link = match address {
            Address::Command(command) => {
                let started = Stdio::start(command, inbox.clone());
                let failed =
                    |error| inbox.unreachable(format!("cannot start {}: {error}", command.program));
                Link::Stdio(started.map_err(failed)?)
            }
            Address::Url(url) => Link::Http(Arc::new(Http::new(url.clone(), inbox.clone()))),
        };
        let mut core = Core {
            link,
            inbox,
            era: Era::Stateless,
            version: LATEST.to_owned(),
            ids: AtomicU64::new(1),
        };
        let found = match known {
            Some(Era::Handshake) => None,
            _ => core.discover().await?,
        };
        let info = if let Some(info) = found {
            info
        } else {
            core.era = Era::Handshake;
            core.initialize(address).await?
        };
        core.version.clone_from(&info.version);
        let core = Arc::new(core);
        let mut followers = JoinSet::new();
        if let (Link::Http(http), Era::Handshake) = (&core.link, core.era) {
            followers.spawn(http.clone().listen());
        }
        follow::start(&core, &info, &mut followers);
        Ok(Connection { core, info, _followers: followers })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.core.inbox.has_ended()
    }

    /// Sends a request and returns its result. Input that the server asks for is given by the interaction.
    pub(super) fn request<'a>(
        &'a self,
        outgoing: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Object, ClientError>> {
        Box::pin(self.core.request(outgoing))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let (Link::Http(http), Ok(runtime)) =
            (&self.core.link, tokio::runtime::Handle::try_current())
        {
            let http = http.clone();
            runtime.spawn(async move { http.close().await });
        }
    }
}

impl Core {
    async fn request(&self, outgoing: Outgoing<'_>) -> Result<Object, ClientError> {
        let Outgoing { method, params, deadline, interaction, parameters } = outgoing;
        let rounds = async {
            let mut request = Request { id: Json::Null, method: method.to_owned(), params };
            for _ in 0..MAX_ROUNDS {
                let result = match self.round(&mut request, &interaction, parameters).await {
                    Err(ClientError::Refused { error, .. })
                        if error.code == URL_ELICITATION_REQUIRED =>
                    {
                        self.visit(error, &interaction).await?;
                        continue;
                    }
                    result => result?,
                };
                match result.get("resultType").and_then(Json::as_str) {
                    None | Some("complete") => return Ok(result),
                    Some("input_required") => {
                        self.add_input(&mut request.params, &result, &interaction).await?;
                    }
                    Some(other) => {
                        let reason = format!("sent a result of the unknown type {other:?}");
                        return Err(self.inbox.broken(reason));
                    }
                }
            }
            Err(self.inbox.broken(format!("asked for input more than {MAX_ROUNDS} times")))
        };
        tokio::select! {
            biased;
            result = rounds => result,
            () = interaction.reached(Instant::now() + deadline) => {
                Err(self.inbox.late(deadline))
            }
        }
    }

    /// Asks the user to visit the URLs that a server requires before it accepts a request.
    async fn visit(&self, error: RpcError, interaction: &Interaction) -> Result<(), ClientError> {
        let data = error.data.as_ref().and_then(|data| data.get("elicitations"));
        let questions = data.and_then(Json::as_array).unwrap_or_default();
        for question in questions {
            let params = question.as_object().cloned().unwrap_or_default();
            let asked = InputRequest::new(self.inbox.server.clone(), ELICIT, params);
            let answer = interaction.ask(asked).await.map_err(|error| self.refused(error))?;
            if answer.get("action").and_then(Json::as_str) != Some("accept") {
                return Err(self.refused(error));
            }
        }
        if questions.is_empty() { Err(self.refused(error)) } else { Ok(()) }
    }

    /// Sends a request once, with an id of its own. Dropping the future cancels it.
    async fn round(
        &self,
        request: &mut Request,
        interaction: &Interaction,
        parameters: &[ParameterHeader],
    ) -> Result<Object, ClientError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        request.id = id.into();
        self.stamp(&mut request.params, Some(id), interaction);
        let mut cancel = CancelOnDrop { core: self, id: Some(id) };
        let answered = self.exchange(id, request, interaction, parameters).await;
        cancel.id = None;
        self.result(answered?)
    }

    /// Sends a request and waits for its answer.
    async fn exchange(
        &self,
        id: u64,
        request: &Request,
        interaction: &Interaction,
        parameters: &[ParameterHeader],
    ) -> Result<Answer, ClientError> {
        let (registration, response) = self.inbox.register(id, interaction.clone());
        let ended = |_| self.inbox.ended("the connection was closed".to_owned());
        match &self.link {
            Link::Http(http) => {
                let envelope = Envelope { era: self.era, version: &self.version, parameters };
                let answer = http.request(id, request, envelope).await;
                registration.complete();
                return answer;
            }
            // If the server has ended, the response says why.
            Link::Stdio(stdio) => stdio.send(&Message::Request(request.clone())).await,
            Link::Sse(sse) => sse.sender.send(&Message::Request(request.clone())).await?,
        }
        let response = response.await.map_err(ended)??;
        Ok(Answer { response: Some(response), ..Answer::default() })
    }

    fn result(&self, Answer { status, response, .. }: Answer) -> Result<Object, ClientError> {
        let missing = || self.inbox.broken(format!("answered with status {status} and no message"));
        response.ok_or_else(missing)?.result.map_err(|error| self.refused(error))
    }

    /// Adds the metadata of a request.
    fn stamp(&self, params: &mut Object, progress: Option<u64>, interaction: &Interaction) {
        let mut own = match params.remove(meta::META) {
            Some(Json::Object(own)) => own,
            _ => Object::new(),
        };
        if self.era == Era::Stateless {
            own.insert(meta::VERSION, self.version.as_str());
            own.insert(meta::CLIENT, implementation());
            let modes = interaction.modes();
            own.insert(
                meta::CAPABILITIES,
                capabilities(modes, |method| interaction.offers(method)),
            );
        }
        if let Some(id) = progress.filter(|_| interaction.wants_progress()) {
            own.insert(meta::PROGRESS_TOKEN, id);
        }
        if !own.is_empty() {
            params.insert(meta::META, own);
        }
    }

    /// Puts the input that a result asks for into the next round, in place of that of the last one.
    async fn add_input(
        &self,
        params: &mut Object,
        result: &Object,
        interaction: &Interaction,
    ) -> Result<(), ClientError> {
        params.remove("inputResponses");
        params.remove("requestState");
        if let Some(requests) = result.get("inputRequests").and_then(Json::as_object) {
            let answers = requests.iter().map(|(key, request)| async move {
                let method = request.get("method").and_then(Json::as_str).unwrap_or_default();
                let params = request.get("params").and_then(Json::as_object).cloned();
                let asked = InputRequest::new(
                    self.inbox.server.clone(),
                    method,
                    params.unwrap_or_default(),
                );
                match interaction.ask(asked.with_key(key)).await {
                    Ok(answer) => Ok((key.to_owned(), answer)),
                    Err(error) => {
                        let reason = format!("asked for input that it does not get: {error}");
                        Err(self.inbox.broken(reason))
                    }
                }
            });
            let mut responses = Object::new();
            for (key, answer) in try_join_all(answers).await? {
                responses.insert(key, answer);
            }
            params.insert("inputResponses", responses);
        }
        if let Some(state) = result.get("requestState") {
            params.insert("requestState", state.clone());
        }
        Ok(())
    }

    /// Asks a server without a handshake for its capabilities. Returns `None` if it has one.
    async fn discover(&self) -> Result<Option<ServerInfo>, ClientError> {
        let mut refused = None;
        // A server that refuses the version and then offers it is asked again, once.
        for _ in 0..2 {
            let Some(response) = self.probe().await? else { return Ok(None) };
            let error = match response.result {
                Ok(result) => {
                    let versions = result.get("supportedVersions");
                    return Ok(speaks(versions, &[LATEST]).then(|| ServerInfo::discovered(&result)));
                }
                Err(error) if is_stateless_error(error.code) => error,
                Err(_) => return Ok(None),
            };
            let supported = error.data.as_ref().and_then(|data| data.get("supported"));
            let is_version = error.code == UNSUPPORTED_VERSION;
            if is_version && !speaks(supported, &[LATEST]) && speaks(supported, &VERSIONS[1..]) {
                return Ok(None);
            }
            let is_offered = is_version && speaks(supported, &[LATEST]);
            refused = Some(self.refused(error));
            if !is_offered {
                break;
            }
        }
        refused.map_or(Ok(None), Err)
    }

    /// Sends `server/discover`. Returns `None` if the server does not answer with a message.
    async fn probe(&self) -> Result<Option<Response>, ClientError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let interaction = Interaction::default();
        let mut params = Object::new();
        self.stamp(&mut params, None, &interaction);
        let request = Request { id: id.into(), method: DISCOVER.to_owned(), params };
        let exchange = self.exchange(id, &request, &interaction, &[]);
        match timeout(PROBE_DEADLINE, exchange).await {
            Ok(Ok(answer)) => Ok(answer.response),
            Ok(Err(ClientError::Protocol { .. })) | Err(_) => Ok(None),
            Ok(Err(error)) => Err(error),
        }
    }

    /// Performs the handshake.
    async fn initialize(&mut self, address: &Address) -> Result<ServerInfo, ClientError> {
        let late = |_| self.inbox.late(HANDSHAKE_DEADLINE);
        let mut answer =
            timeout(HANDSHAKE_DEADLINE, self.send_initialize()).await.map_err(late)??;
        // The first transport over HTTP has no POST at the address of the server.
        if let (
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED,
            None,
            Address::Url(url),
        ) = (answer.status, &answer.response, address)
        {
            let opening = Sse::open(url, self.inbox.clone());
            let late = |_| self.inbox.unreachable("its stream does not open".to_owned());
            let sse = timeout(HANDSHAKE_DEADLINE, opening).await.map_err(late)??;
            self.link = Link::Sse(sse);
            let late = |_| self.inbox.unreachable("no answer to initialize".to_owned());
            answer = timeout(HANDSHAKE_DEADLINE, self.send_initialize()).await.map_err(late)??;
        }
        let headers = std::mem::take(&mut answer.headers);
        let info = ServerInfo::initialized(&self.result(answer)?);
        if !VERSIONS[1..].contains(&info.version.as_str()) {
            let reason = format!("speaks only version {:?} of the protocol", info.version);
            return Err(self.inbox.unreachable(reason));
        }
        if let Link::Http(http) = &self.link {
            http.open(&headers, &info.version)?;
        }
        let notified = timeout(HANDSHAKE_DEADLINE, self.notify(INITIALIZED, Object::new())).await;
        notified.map_err(|_| self.inbox.unreachable("it does not read".to_owned()))??;
        Ok(info)
    }

    async fn send_initialize(&self) -> Result<Answer, ClientError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let params = object! {
            "protocolVersion": LATEST_HANDSHAKE,
            // Which user will be asked is known when the server asks.
            "capabilities": capabilities(Some(ElicitationModes::ALL), |_| false),
            "clientInfo": implementation(),
        };
        let request = Request { id: id.into(), method: INITIALIZE.to_owned(), params };
        self.exchange(id, &request, &Interaction::default(), &[]).await
    }

    async fn notify(&self, method: &str, params: Object) -> Result<(), ClientError> {
        let message = Message::Notification(Notification { method: method.to_owned(), params });
        match &self.link {
            Link::Stdio(stdio) => {
                stdio.send(&message).await;
                Ok(())
            }
            Link::Http(http) => http.notify(&message).await,
            Link::Sse(sse) => sse.sender.send(&message).await,
        }
    }

    fn refused(&self, error: RpcError) -> ClientError {
        ClientError::Refused { server: self.inbox.server.to_string(), error }
    }
}

/// Whether a list of versions has one of these.
fn speaks(list: Option<&Json>, versions: &[&str]) -> bool {
    let list = list.and_then(Json::as_array).unwrap_or_default();
    list.iter().filter_map(Json::as_str).any(|version| versions.contains(&version))
}

/// The capabilities of a client that asks users in these modes, and answers requests of these methods.
fn capabilities(modes: Option<ElicitationModes>, offers: impl Fn(&str) -> bool) -> Object {
    let mut capabilities = Object::new();
    for method in [ELICIT, SAMPLE, LIST_ROOTS] {
        let settings = match (method, modes) {
            (ELICIT, Some(modes)) => modes.to_capability(),
            (ELICIT, None) => continue,
            _ if offers(method) => Object::new(),
            _ => continue,
        };
        capabilities.insert(capability(method).unwrap_or(method).to_owned(), settings);
    }
    capabilities
}
