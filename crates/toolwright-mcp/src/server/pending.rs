//! Requests that wait for input of their client.
//!
//! Without a session, a server asks by a result `input_required`, and the client sends its request again with the
//! answers. The work continues where it stopped: it is kept under the `requestState` of the result, an unguessable
//! name that only the same caller can use, once, and only with the same request.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use toolwright_core::{Json, object};
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;
use toolwright_runtime::Caller;

use super::peer::SessionInput;
use super::{Exchange, Outbox, Peer, Server, crashed};
use crate::interaction::{ElicitationModes, InputFuture, InputHandler, InputRequest, Interaction};
use crate::message::{Request, RpcError};
use crate::protocol::{LOG, PROGRESS, meta};

/// How long a request waits for the client.
const LIFETIME: Duration = Duration::from_mins(10);

/// Maximum number of requests of one tenant that wait.
const MAX_PER_TENANT: usize = 100;

/// Maximum number of requests that wait.
const MAX_WAITING: usize = 10_000;

/// Maximum number of bytes of the requests of one tenant that wait.
const MAX_BYTES_PER_TENANT: usize = 32 << 20;

/// Maximum number of bytes of the requests that wait.
const MAX_BYTES: usize = 256 << 20;

/// Time in which further questions of the same work join the first one.
const GATHER: Duration = Duration::from_millis(5);

/// Number of random bytes of a state.
const STATE_BYTES: usize = 24;

/// The requests that wait.
#[derive(Default)]
pub(super) struct PendingCalls(Mutex<HashMap<String, Waiting>>);

/// A request that waits.
struct Waiting {
    work: Work,
    questions: Vec<Question>,
    /// Caller, method and parameters; its length is the number of bytes that count
    origin: String,
    tenant: Arc<str>,
    until: Instant,
}

/// The work for a request. Dropping it ends the work.
struct Work {
    running: BoxFuture<'static, Result<Object, RpcError>>,
    questions: mpsc::Receiver<Box<Question>>,
    /// Where its notifications go: to the exchange that waits for it
    outbox: Arc<Mutex<Outbox>>,
    /// The names of its questions so far
    asked: HashSet<String>,
}

impl Work {
    /// Continues the work in a task, so that it goes on while the client is asked.
    fn detach(&mut self) {
        let running = std::mem::replace(&mut self.running, Box::pin(std::future::pending()));
        let mut task = JoinSet::new();
        task.spawn(running);
        self.running = Box::pin(async move {
            task.join_next().await.and_then(Result::ok).unwrap_or_else(|| Err(crashed()))
        });
    }
}

/// A request for input, and where its answer goes.
struct Question {
    key: String,
    request: InputRequest,
    answer: oneshot::Sender<Result<Object, RpcError>>,
}

impl PendingCalls {
    /// Starts or continues the work for a request, until it is done or asks for input.
    pub(super) async fn run(
        &self,
        server: &Server,
        mut request: Request,
        peer: &Arc<Peer>,
        exchange: Exchange,
    ) -> Result<Object, RpcError> {
        let state = request.params.remove("requestState");
        let answers = request.params.remove("inputResponses");
        let request = Arc::new(request);
        let (caller, own) = (exchange.session.caller.clone(), request.clone());
        let origin = || origin(&own, &caller);
        let outbox = exchange.outbox.clone();
        let mut answers = match answers {
            Some(Json::Object(answers)) => answers,
            _ => Object::new(),
        };
        let (work, open) = match state {
            Some(state) => {
                let mut waiting = self.take(&state, &origin())?;
                *waiting.work.outbox.lock() = outbox;
                let questions = std::mem::take(&mut waiting.questions);
                let open = give(questions, &mut answers, |_| true);
                // What was not asked for has no meaning for later questions.
                answers = Object::new();
                (waiting.work, open)
            }
            None => (start(server, request, peer, exchange), Vec::new()),
        };
        self.wait(work, open, answers, origin, &caller.tenant).await
    }

    /// Waits for the work, or keeps it if it asks for input that the request does not have.
    async fn wait(
        &self,
        mut work: Work,
        mut open: Vec<Question>,
        mut answers: Object,
        origin: impl Fn() -> String,
        tenant: &Arc<str>,
    ) -> Result<Object, RpcError> {
        while open.is_empty() {
            tokio::select! {
                biased;
                done = &mut work.running => return done,
                Some(question) = work.questions.recv() => open.push(*question),
            }
            work.detach();
            sleep(GATHER).await;
            while let Ok(question) = work.questions.try_recv() {
                open.push(*question);
            }
            name(&mut open, &mut work.asked);
            open = give(open, &mut answers, |question| !question.request.must_be_asked);
        }
        let mut requests = Object::new();
        for question in &open {
            let InputRequest { method, params, .. } = &question.request;
            let request = object! {"method": method.as_str(), "params": params.clone()};
            requests.insert(question.key.clone(), request);
        }
        let (origin, tenant, until) = (origin(), tenant.clone(), Instant::now() + LIFETIME);
        let state = self.keep(Waiting { work, questions: open, origin, tenant, until })?;
        Ok(object! {
            "resultType": "input_required", "inputRequests": requests, "requestState": state,
        })
    }

    fn keep(&self, own: Waiting) -> Result<String, RpcError> {
        let mut waiting = self.0.lock();
        let now = Instant::now();
        waiting.retain(|_, entry| entry.until > now);
        let (mut of_tenant, mut tenant_bytes, mut bytes) = (0, own.origin.len(), own.origin.len());
        for entry in waiting.values() {
            let is_same = entry.tenant == own.tenant;
            of_tenant += usize::from(is_same);
            tenant_bytes += if is_same { entry.origin.len() } else { 0 };
            bytes += entry.origin.len();
        }
        if of_tenant >= MAX_PER_TENANT || waiting.len() >= MAX_WAITING {
            let message = "Internal error: too many requests wait for input; try again later";
            return Err(RpcError::internal(message));
        }
        if tenant_bytes > MAX_BYTES_PER_TENANT || bytes > MAX_BYTES {
            let message = format!(
                "Internal error: the requests that wait for input have too many bytes, of one client at most \
                 {MAX_BYTES_PER_TENANT}; try again later, or with smaller arguments"
            );
            return Err(RpcError::internal(message));
        }
        let mut bytes = [0; STATE_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|_| RpcError::internal("Internal error: no random numbers"))?;
        let state = URL_SAFE_NO_PAD.encode(bytes);
        waiting.insert(state.clone(), own);
        Ok(state)
    }

    fn take(&self, state: &Json, origin: &str) -> Result<Waiting, RpcError> {
        let mut waiting = self.0.lock();
        let key = state.as_str().unwrap_or_default();
        let is_own =
            waiting.get(key).is_some_and(|own| own.origin == origin && own.until > Instant::now());
        let found = if is_own { waiting.remove(key) } else { None };
        found.ok_or_else(|| {
            let message = "Invalid params: 'requestState' is unknown, has expired, or belongs to another \
                           request; send the request again without it";
            RpcError::invalid_params(message)
        })
    }
}

/// What a request that continues must have in common with the first one.
fn origin(request: &Request, caller: &Caller) -> String {
    let mut params = request.params.clone();
    params.remove(meta::META);
    let parts = [&*caller.tenant, &*caller.id, &request.method, &params.compact()];
    parts.join("\n")
}

/// Names questions, so that answers find them. No name is used twice for one request.
fn name(questions: &mut [Question], asked: &mut HashSet<String>) {
    for question in questions {
        let wanted = question.request.key.clone().unwrap_or_else(|| "input".to_owned());
        let mut name = wanted.clone();
        while asked.contains(&name) {
            name = format!("{wanted}_{}", asked.len() + 1);
        }
        asked.insert(name.clone());
        question.key = name;
    }
}

/// Gives answers to questions that may have them, each once; returns the others.
fn give(
    questions: Vec<Question>,
    answers: &mut Object,
    may_have: impl Fn(&Question) -> bool,
) -> Vec<Question> {
    let mut open = Vec::new();
    for question in questions {
        let answer = if may_have(&question) { answers.remove(&question.key) } else { None };
        match answer {
            Some(Json::Object(answer)) => {
                let _ = question.answer.send(Ok(answer));
            }
            _ => open.push(question),
        }
    }
    open
}

/// Starts the work for a request.
fn start(server: &Server, request: Arc<Request>, peer: &Arc<Peer>, mut exchange: Exchange) -> Work {
    let outbox = Arc::new(Mutex::new(exchange.outbox.clone()));
    let (sender, questions) = mpsc::channel(16);
    let interaction = match peer.era() {
        Era::Handshake => Interaction::new()
            .with_input(SessionInput { peer: peer.clone(), outbox: exchange.outbox.clone() }),
        Era::Stateless => {
            Interaction::new().with_input(ResultInput { peer: peer.clone(), questions: sender })
        }
    };
    let token = request.params.get(meta::META).and_then(|own| own.get(meta::PROGRESS_TOKEN));
    let (token, notified, client) = (token.cloned(), outbox.clone(), peer.clone());
    let interaction = interaction.with_notifications(token.is_some(), move |mut notification| {
        if notification.method == LOG {
            let level = notification.params.get("level").and_then(Json::as_str);
            if !client.wants_log(level.unwrap_or("info")) {
                return;
            }
        }
        if let (PROGRESS, Some(token)) = (notification.method.as_str(), &token) {
            notification.params.insert(meta::PROGRESS_TOKEN, token.clone());
        }
        notified.lock().notify(&notification.method, notification.params);
    });
    exchange.session.context = exchange.session.context.with(interaction);
    let (server, peer) = (server.clone(), peer.clone());
    let running = AssertUnwindSafe(async move {
        // Ends the calls of the request when the work is dropped.
        let _guard = exchange.session.cancel.clone().drop_guard();
        server.perform(&request, &peer, &exchange).await
    });
    let running =
        running.catch_unwind().map(|performed| performed.unwrap_or_else(|_| Err(crashed())));
    Work { running: running.boxed(), questions, outbox, asked: HashSet::new() }
}

/// Gives input that a client sends with its next request.
struct ResultInput {
    peer: Arc<Peer>,
    questions: mpsc::Sender<Box<Question>>,
}

impl InputHandler for ResultInput {
    fn answer(&self, request: InputRequest) -> InputFuture<'_> {
        Box::pin(async move {
            let gone = || RpcError::internal("the client did not answer");
            let (sender, answer) = oneshot::channel();
            let question = Question { key: String::new(), request, answer: sender };
            self.questions.send(Box::new(question)).await.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())?
        })
    }

    fn offers(&self, method: &str) -> bool {
        self.peer.offers(method)
    }

    fn modes(&self) -> ElicitationModes {
        self.peer.modes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(tenant: &str, bytes: usize) -> Waiting {
        let (_, questions) = mpsc::channel(1);
        let work = Work {
            running: Box::pin(std::future::pending()),
            questions,
            outbox: Arc::new(Mutex::new(Outbox::new().0)),
            asked: HashSet::new(),
        };
        let until = Instant::now() + LIFETIME;
        Waiting {
            work,
            questions: Vec::new(),
            origin: "x".repeat(bytes),
            tenant: tenant.into(),
            until,
        }
    }

    #[tokio::test]
    async fn requests_that_wait_are_bounded_by_their_bytes() {
        const LARGE: usize = 10 << 20;
        let pending = PendingCalls::default();
        let kept: Vec<String> =
            (0..3).map(|_| pending.keep(waiting("acme", LARGE)).unwrap()).collect();
        let refused = pending.keep(waiting("acme", LARGE)).unwrap_err();
        assert!(refused.message.contains("too many bytes"), "{refused}");
        pending.keep(waiting("acme", 1000)).unwrap();
        // An answer makes room.
        pending.take(&kept[0].as_str().into(), &"x".repeat(LARGE)).unwrap();
        pending.keep(waiting("acme", LARGE)).unwrap();
        let others = (0..30).map(|at| pending.keep(waiting(&format!("tenant {at}"), LARGE)));
        assert_eq!(others.flatten().count(), 22, "256 MiB of all tenants");
    }
}
