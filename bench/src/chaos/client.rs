//! The clients of a chaos run. Each sends requests in all dialects, marks retries as SDKs do, and
//! sometimes disconnects in the middle of a reply.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use memchr::memmem;

use super::dialect::Dialect;
use super::record::{Effect, Exchange, Record};
use crate::dice::Dice;
use crate::failure::{Failure, Outcome};
use crate::load::next_nonce;
use crate::nonce::Nonce;
use crate::question::ReplyKind;
use crate::soak::Visit;

/// A timeout that no exchange reaches.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a request is retried after the end of the run.
const GRACE: Duration = Duration::from_secs(30);
/// The model of the mock that calls tools.
const MODEL: &str = "mock-tools";

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    /// A server-side tool with an effect
    Effect(&'static str),
    /// A server-side tool without one
    Look,
    /// A reply of the model without tools
    Chat,
    /// A reply of an upstream that misbehaves
    Fault(&'static str),
}

impl Job {
    fn pick(dice: &mut Dice) -> Job {
        match dice.roll() % 20 {
            0..7 => Job::Effect("write_file"),
            7..12 => Job::Effect("git_commit"),
            12..14 => Job::Look,
            14..17 => Job::Chat,
            _ => Job::Fault(dice.pick(&Visit::faults()).model()),
        }
    }

    fn tool(self) -> Option<&'static str> {
        match self {
            Job::Effect(tool) => Some(tool),
            Job::Look => Some("list_files"),
            Job::Chat | Job::Fault(_) => None,
        }
    }
}

/// How the gateway recognizes that attempts belong to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// By a key that the user sets
    Key,
    /// By the invocation id of an AWS SDK
    Invocation,
    /// By the retry count of the SDKs of OpenAI and Anthropic
    Count,
}

impl Mark {
    fn pick(dialect: Dialect, dice: &mut Dice) -> Mark {
        let own = match dialect {
            Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Anthropic => Mark::Count,
            Dialect::Bedrock => Mark::Invocation,
            _ => Mark::Key,
        };
        *dice.pick(&[own, Mark::Key])
    }
}

/// A request, the same in each attempt.
struct Ask {
    job: Job,
    mark: Mark,
    dialect: Dialect,
    reply: ReplyKind,
    nonce: Nonce,
    path: String,
    body: Bytes,
}

impl Ask {
    fn new(dice: &mut Dice) -> Ask {
        let job = Job::pick(dice);
        let dialect = *dice.pick(&Dialect::ALL);
        let mark = Mark::pick(dialect, dice);
        let reply = *dice.pick(&[ReplyKind::Whole, ReplyKind::Stream]);
        let nonce = next_nonce();
        let model = match job {
            Job::Fault(model) => {
                let upstream = dice.pick(&[Dialect::OpenaiChat, Dialect::Anthropic]);
                format!("{}/{model}", upstream.id())
            }
            _ => format!("{}/{MODEL}", dice.pick(&Dialect::ALL).id()),
        };
        let text = format!("Work on nonce-{}.", String::from_utf8_lossy(nonce.digits()));
        let body = dialect.body(&model, &text, reply).to_string().into();
        Ask { job, mark, dialect, reply, nonce, path: dialect.path(&model, reply), body }
    }

    fn request(&self, gateway: SocketAddr, attempt: u64) -> Outcome<Request<Full<Bytes>>> {
        let id = format!("chaos-{}", String::from_utf8_lossy(self.nonce.digits()));
        let mut request = Request::post(format!("http://{gateway}{}", self.path))
            .header("content-type", "application/json");
        request = match self.mark {
            Mark::Key => request.header("idempotency-key", id),
            Mark::Invocation => request.header("amz-sdk-invocation-id", id),
            Mark::Count => request.header("x-stainless-retry-count", attempt - 1),
        };
        if let Some(tool) = self.job.tool() {
            request = request.header("toolwright-tools", tool);
        }
        Ok(request.body(Full::new(self.body.clone()))?)
    }

    fn name(&self) -> String {
        let model = String::from_utf8_lossy(&self.body);
        let digits = String::from_utf8_lossy(self.nonce.digits());
        let (job, mark, reply) = (self.job, self.mark, self.reply.name());
        format!("{digits} {job:?} {mark:?} {} {reply} {model}", self.dialect.id())
    }
}

/// How an attempt ended.
enum Attempt {
    /// With a reply that reports this effect
    Answered(Effect),
    /// With an error that may be retried
    Again(String),
    /// With an unexpected reply
    Wrong(String),
}

/// One client.
pub(crate) struct Client {
    pub(super) gateway: SocketAddr,
    pub(super) record: Arc<Record>,
    pub(super) pool: Pool<HttpConnector, Full<Bytes>>,
    pub(super) dice: Dice,
}

impl Client {
    /// Creates a client with its own connections.
    pub(crate) fn new(gateway: SocketAddr, record: Arc<Record>, dice: Dice) -> Client {
        let pool = Pool::builder(TokioExecutor::new()).build(HttpConnector::new());
        Client { gateway, record, pool, dice }
    }

    /// Sends requests until the time is over.
    pub(crate) async fn work(mut self, until: Instant) {
        while Instant::now() < until && !self.record.has_failed() {
            let ask = Ask::new(&mut self.dice);
            let has_effect = matches!(ask.job, Job::Effect(_));
            if has_effect {
                self.record.pending.fetch_add(1, Ordering::Relaxed);
            }
            self.ask(&ask, until + GRACE).await;
            if has_effect {
                self.record.pending.fetch_sub(1, Ordering::Relaxed);
            }
            tokio::time::sleep(Duration::from_millis(self.dice.roll() % 200)).await;
        }
    }

    /// Retries a request until it is answered.
    async fn ask(&mut self, ask: &Ask, give_up: Instant) {
        for attempts in 1.. {
            let attempt = self.attempt(ask, attempts).await;
            if self.is_over(ask, attempts, attempt, give_up) {
                return;
            }
            let pause = 50 * attempts.min(8) + self.dice.roll() % 100;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }

    /// Records an attempt, and returns whether it is the last. A request to an upstream that
    /// misbehaves is sent once.
    fn is_over(&self, ask: &Ask, attempts: u64, attempt: Attempt, give_up: Instant) -> bool {
        let mut seen = self.record.seen();
        let counts = seen.requests.entry(ask.dialect.id()).or_default();
        counts.0 += u64::from(attempts == 1);
        counts.1 += 1;
        match attempt {
            Attempt::Answered(effect) => {
                seen.attempt("answered");
                if matches!(ask.job, Job::Effect(_)) {
                    seen.acknowledge(ask.nonce, effect);
                }
                true
            }
            Attempt::Again(how) => {
                seen.attempt(&how);
                let is_late = Instant::now() > give_up;
                if is_late {
                    seen.wrong(format!("{}: {attempts} attempts, the last {how}", ask.name()));
                }
                is_late || self.record.has_failed() || matches!(ask.job, Job::Fault(_))
            }
            Attempt::Wrong(what) => {
                seen.attempt("wrong");
                seen.wrong(format!("{}, attempt {attempts}: {what}", ask.name()));
                true
            }
        }
    }

    /// Makes one attempt, unless the client disconnects before its end.
    async fn attempt(&mut self, ask: &Ask, number: u64) -> Attempt {
        let mut id = None;
        let mut leave = self.record.leave.subscribe();
        let leaves = self.dice.roll().is_multiple_of(16);
        let own = Duration::from_millis(self.dice.roll() % 150);
        let exchange = self.exchange(ask, number, &mut id);
        let attempt = tokio::select! {
            attempt = exchange => attempt.unwrap_or_else(|failure| {
                let Failure(why) = failure;
                Attempt::Again(format!("connection lost ({why})"))
            }),
            _ = leave.changed() => Attempt::Again("client left".into()),
            () = tokio::time::sleep(own), if leaves => Attempt::Again("client left".into()),
            () = tokio::time::sleep(PATIENCE) => {
                Attempt::Wrong(format!("no end within {} s", PATIENCE.as_secs()))
            }
        };
        if let Some(id) = id {
            self.record.seen().exchanges.push(Exchange { id, ended: SystemTime::now() });
        }
        attempt
    }

    /// Runs one exchange to the end of its reply.
    async fn exchange(&self, ask: &Ask, number: u64, id: &mut Option<String>) -> Outcome<Attempt> {
        let lost = |_| Failure("before the answer".into());
        let request = ask.request(self.gateway, number)?;
        let reply = self.pool.request(request).await.map_err(lost)?;
        let status = reply.status().as_u16();
        let given = reply.headers().get("toolwright-request-id");
        *id = given.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let lost = |_| Failure("in the answer".into());
        let body = reply.into_body().collect().await.map_err(lost)?.to_bytes();
        let text = || String::from_utf8_lossy(&body[..body.len().min(600)]).into_owned();
        Ok(match status {
            _ if matches!(ask.job, Job::Fault(_)) => {
                Attempt::Again(format!("{status} of a faulty upstream"))
            }
            200 if !ask.dialect.is_whole(ask.reply, &body) => {
                Attempt::Again("200 with an error in the stream".into())
            }
            200 => match said(ask.nonce, &body) {
                Some(effect) => Attempt::Answered(effect),
                None => Attempt::Wrong(format!("200 without its nonce: {}", text())),
            },
            // No SDK retries a 424 automatically, but a user may.
            408 | 409 | 424 | 429 | 500.. => Attempt::Again(status.to_string()),
            _ => Attempt::Wrong(format!("{status}: {}", text())),
        })
    }
}

/// What a reply reports about the effect with a nonce.
fn said(nonce: Nonce, body: &[u8]) -> Option<Effect> {
    let is_said = |word: &str| {
        let digits = String::from_utf8_lossy(nonce.digits());
        memmem::find(body, format!("nonce-{digits} {word}").as_bytes()).is_some()
    };
    let effects =
        [("done", Effect::Done), ("failed", Effect::Failed), ("unknown", Effect::Unknown)];
    effects.into_iter().find(|(word, _)| is_said(word)).map(|(_, effect)| effect)
}
