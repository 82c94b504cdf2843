//! What is told of one exchange when it is over.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use toolwright::{CallErrorKind, Caller};
use toolwright_core::event::watch::Watch;
use toolwright_core::fit::Severity;
use toolwright_core::translate::Report;
use toolwright_core::{Dialect, FaultClass, StopReason, Usage};

use super::RequestId;
use super::trace::Trace;

/// One exchange: who asked what, who answered, what it took, what was lost.
#[derive(Debug, Clone)]
pub struct Exchanged {
    /// Its id
    pub id: RequestId,
    /// When the request came
    pub start: SystemTime,
    /// The client's dialect
    pub dialect: Dialect,
    /// The endpoint by its name: `chat`, `responses`, `messages`, `converse`, …
    pub endpoint: &'static str,
    /// The client by the name of its key, and its tenant
    pub client: Caller,
    /// The model as the client named it
    pub asked: Option<Arc<str>>,
    /// The upstream that answered, or was asked last
    pub upstream: Option<Arc<str>>,
    /// The upstream's dialect
    pub upstream_dialect: Option<Dialect>,
    /// The model that answered, as the upstream names it
    pub model: Option<String>,
    /// The upstream's id of the answer
    pub answer_id: Option<String>,
    /// Whether a stream was asked for
    pub stream: bool,
    /// Whether the bytes passed through as they were, in both directions
    pub untouched: bool,
    /// The HTTP status that the client got
    pub status: u16,
    /// What went wrong, if something did: before the answer, or in the middle of it
    pub fault: Option<FaultClass>,
    /// Whether the client left before the end
    pub left: bool,
    /// Every attempt at an upstream, in order
    pub attempts: Vec<Attempt>,
    /// How long it took
    pub took: Took,
    /// What it cost, as far as the upstream told
    pub usage: Option<Usage>,
    /// Why the model stopped
    pub stop: Option<StopReason>,
    /// The tools that the model called, in order
    pub calls: Vec<String>,
    /// The calls that the gateway made itself
    pub ran: Vec<Ran>,
    /// What the translation of the request reports
    pub request: Report,
    /// What the translation of the answer reports
    pub response: Report,
    /// The size of the request's body
    pub bytes_in: u64,
    /// The size of the reply's body
    pub bytes_out: u64,
    /// The bodies, where [`Telemetry::wants_payloads`](super::Telemetry::wants_payloads)
    pub payloads: Option<Payloads>,
    /// Its place in a trace, if it is in one
    pub trace: Option<Trace>,
}

/// How long an exchange took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Took {
    /// From the head of the request to the last byte of the reply
    pub total: Duration,
    /// To the first byte of the reply's body
    pub first_byte: Option<Duration>,
    /// What the gateway itself added: all but the waiting for client, upstream and tools
    pub added: Duration,
}

/// One attempt at an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Who was asked
    pub upstream: Arc<str>,
    /// How it failed, if it did
    pub fault: Option<FaultClass>,
    /// When it began, from the start of the exchange
    pub began: Duration,
    /// How long it took, to the head of the reply if there was one
    pub took: Duration,
}

/// One call that the gateway made itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The tool
    pub tool: Arc<str>,
    /// How it failed, if it did
    pub error: Option<CallErrorKind>,
    /// When it began, from the start of the exchange
    pub began: Duration,
    /// How long it took
    pub took: Duration,
}

/// The bodies of an exchange, as they came from the client and went to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Payloads {
    /// The request's body
    pub request: Bytes,
    /// The reply's body, or its beginning
    pub response: Vec<u8>,
}

impl Exchanged {
    /// An exchange that begins now, of which nothing else is known yet.
    pub fn new(dialect: Dialect, endpoint: &'static str, client: Caller) -> Exchanged {
        Exchanged {
            id: RequestId::random(),
            start: SystemTime::now(),
            dialect,
            endpoint,
            client,
            asked: None,
            upstream: None,
            upstream_dialect: None,
            model: None,
            answer_id: None,
            stream: false,
            untouched: false,
            status: 0,
            fault: None,
            left: false,
            attempts: Vec::new(),
            took: Took::default(),
            usage: None,
            stop: None,
            calls: Vec::new(),
            ran: Vec::new(),
            request: Report::default(),
            response: Report::default(),
            bytes_in: 0,
            bytes_out: 0,
            payloads: None,
            trace: None,
        }
    }

    /// Takes over what was seen of an answer. Of several answers, as when the gateway runs tools
    /// itself, the usage adds up and the rest is that of the last.
    pub fn saw(&mut self, watch: Watch) {
        let Watch { id, model, calls, stop, usage, fault, .. } = watch;
        self.answer_id = id.or(self.answer_id.take());
        self.model = model.or(self.model.take());
        self.calls.extend(calls);
        self.stop = stop.or(self.stop);
        self.fault = fault.or(self.fault);
        match (&mut self.usage, usage) {
            (Some(own), Some(more)) => own.add(&more),
            (own, more) => *own = own.take().or(more),
        }
    }

    /// How many things of a severity were lost, on both ways.
    pub fn lost(&self, severity: Severity) -> u64 {
        let losses = self.request.losses.iter().chain(&self.response.losses);
        losses.filter(|entry| entry.loss.severity == severity).count() as u64
    }

    /// How many things were lost, on both ways.
    pub fn losses(&self) -> usize {
        self.request.losses.len() + self.response.losses.len()
    }

    /// What went wrong in a word: the class of the fault, or that the client left.
    pub fn error(&self) -> Option<&'static str> {
        self.fault.map(FaultClass::word).or(self.left.then_some("client_left"))
    }
}
