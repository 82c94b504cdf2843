//! The record of one exchange.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use toolwright_core::loss::Severity;
use toolwright_core::{Dialect, FaultClass, StopReason, Usage};
use toolwright_dialects::dialect::ResponseSummary;
use toolwright_dialects::translate::Report;
use toolwright_runtime::{CallErrorKind, Caller};

use super::RequestId;
use super::trace::Trace;

/// All data about one exchange for log, metrics and ledger.
#[derive(Debug, Clone)]
pub struct ExchangeRecord {
    /// Request id assigned by the gateway
    pub id: RequestId,
    /// When the head of the request was read
    pub start: SystemTime,
    /// The client's dialect
    pub dialect: Dialect,
    /// The name of the endpoint: `chat`, `responses`, `messages`, `converse`, …
    pub endpoint: &'static str,
    /// The client by the name of its key, and its tenant
    pub client: Caller,
    /// The conversation, if the exchange belongs to one
    pub conversation: Option<Arc<str>>,
    /// The model that the client asked for
    pub requested_model: Option<Arc<str>>,
    /// The upstream that answered, or was asked last
    pub upstream: Option<Arc<str>>,
    /// The upstream's dialect
    pub upstream_dialect: Option<Dialect>,
    /// The model that answered, as the upstream names it
    pub response_model: Option<String>,
    /// The upstream's id of the reply
    pub response_id: Option<String>,
    /// Whether the client asked for a stream
    pub stream: bool,
    /// Whether the bytes passed through unchanged in both directions
    pub untouched: bool,
    /// The HTTP status of the reply; 0 if the client disconnected before it
    pub status: u16,
    /// The fault, before the reply or in the middle of it
    pub fault: Option<FaultClass>,
    /// Whether the client disconnected before the end of the reply
    pub client_left: bool,
    /// Whether the request had no valid key
    pub is_unauthenticated: bool,
    /// Every attempt at an upstream, in order
    pub attempts: Vec<Attempt>,
    /// Durations
    pub timing: Timing,
    /// Tokens that the upstream counted
    pub usage: Option<Usage>,
    /// Why the model stopped
    pub stop: Option<StopReason>,
    /// The tools that the model called, in order
    pub calls: Vec<String>,
    /// The calls that the gateway ran itself
    pub executed_calls: Vec<ExecutedCall>,
    /// The report of the translation of the request
    pub request_report: Report,
    /// The report of the translation of the reply
    pub response_report: Report,
    /// The size of the request's body
    pub bytes_in: u64,
    /// The size of the reply's body
    pub bytes_out: u64,
    /// The bodies, if [`Telemetry::wants_payloads`](super::Telemetry::wants_payloads)
    pub payloads: Option<Payloads>,
    /// Its span in a trace, if there is one
    pub trace: Option<Trace>,
}

/// The durations of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// From the head of the request to the last byte of the reply
    pub total: Duration,
    /// To the first byte of the reply's body
    pub first_byte: Option<Duration>,
    /// The time that the gateway added: the total without waits for client, upstream and tools
    pub added: Duration,
}

/// One attempt at an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The upstream
    pub upstream: Arc<str>,
    /// How it failed, if it did
    pub fault: Option<FaultClass>,
    /// When it began, from the start of the exchange
    pub began: Duration,
    /// How long it took, to the head of the reply if there was one
    pub took: Duration,
}

/// One call that the gateway ran itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutedCall {
    /// The tool
    pub tool: Arc<str>,
    /// How it failed, if it did
    pub error: Option<CallErrorKind>,
    /// When it began, from the start of the exchange
    pub began: Duration,
    /// How long it took
    pub took: Duration,
}

/// The bodies of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Payloads {
    /// The request's body, as it came from the client
    pub request: Bytes,
    /// The reply's body as it went to the client, or its beginning
    pub response: Vec<u8>,
    /// The bodies between the gateway and its upstreams, for the ledger, unless they are the same
    pub upstream: UpstreamPayloads,
}

/// The names of upstreams, with the bodies that were sent to them and came back.
pub type UpstreamPayloads = Vec<(Arc<str>, Payloads)>;

impl ExchangeRecord {
    /// Creates the record of an exchange that begins now.
    pub fn new(dialect: Dialect, endpoint: &'static str, client: Caller) -> ExchangeRecord {
        ExchangeRecord {
            id: RequestId::random(),
            start: SystemTime::now(),
            dialect,
            endpoint,
            client,
            conversation: None,
            requested_model: None,
            upstream: None,
            upstream_dialect: None,
            response_model: None,
            response_id: None,
            stream: false,
            untouched: false,
            status: 0,
            fault: None,
            client_left: false,
            is_unauthenticated: false,
            attempts: Vec::new(),
            timing: Timing::default(),
            usage: None,
            stop: None,
            calls: Vec::new(),
            executed_calls: Vec::new(),
            request_report: Report::default(),
            response_report: Report::default(),
            bytes_in: 0,
            bytes_out: 0,
            payloads: None,
            trace: None,
        }
    }

    /// Adds the summary of a reply. For several replies, as when the gateway runs tools, usage and
    /// calls are added up, and the rest is that of the last.
    pub fn add_reply(&mut self, watch: ResponseSummary) {
        let ResponseSummary { id, model, calls, stop, usage, fault, .. } = watch;
        self.response_id = id.or(self.response_id.take());
        self.response_model = model.or(self.response_model.take());
        self.calls.extend(calls);
        self.stop = stop.or(self.stop);
        self.fault = fault.or(self.fault);
        match (&mut self.usage, usage) {
            (Some(own), Some(more)) => own.add(&more),
            (own, more) => *own = own.take().or(more),
        }
    }

    /// The number of losses of a severity, of request and reply.
    pub fn losses_of(&self, severity: Severity) -> u64 {
        let losses = self.request_report.losses.iter().chain(&self.response_report.losses);
        losses.filter(|entry| entry.loss.severity == severity).count() as u64
    }

    /// The number of losses, of request and reply.
    pub fn loss_count(&self) -> usize {
        self.request_report.losses.len() + self.response_report.losses.len()
    }

    /// The class of the fault, or `client_left` if the client disconnected.
    pub fn error(&self) -> Option<&'static str> {
        self.fault.map(FaultClass::word).or(self.client_left.then_some("client_left"))
    }
}
