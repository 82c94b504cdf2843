//! The entry of an exchange with a model through the gateway.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_core::loss::Loss;
use toolwright_core::{Dialect, FaultClass, Json, StopReason, Usage};

use crate::error::CallErrorKind;
use crate::session::Caller;

/// The entry of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeEntry {
    /// Start of the request
    pub time: SystemTime,
    /// The request id; calls within the exchange have it as their run
    pub run: Arc<str>,
    /// The client
    pub caller: Caller,
    /// The conversation, if the exchange belongs to one
    pub conversation: Option<Arc<str>>,
    /// The client's dialect
    pub dialect: Dialect,
    /// The name of the endpoint
    pub endpoint: Cow<'static, str>,
    /// The model that the client requested
    pub model: Option<Arc<str>>,
    /// The upstream that answered, or the last one tried
    pub upstream: Option<Arc<str>>,
    /// The upstream's dialect
    pub upstream_dialect: Option<Dialect>,
    /// The model that answered, as named by the upstream
    pub answered: Option<String>,
    /// The upstream's id of the response
    pub answer_id: Option<String>,
    /// Whether the client asked for a stream
    pub stream: bool,
    /// Whether the bytes were passed through unchanged
    pub untouched: bool,
    /// The HTTP status of the reply
    pub status: u16,
    /// The class of the fault, if the exchange failed
    pub error: Option<FaultClass>,
    /// Whether the client disconnected before the end
    pub left: bool,
    /// The attempts at upstreams, in order
    pub attempts: Vec<Tried<FaultClass>>,
    /// Duration
    pub duration: Duration,
    /// Time to the first byte of the reply
    pub first_byte: Option<Duration>,
    /// Time spent in the gateway
    pub added: Duration,
    /// Usage as reported by the upstream, without counts that have no canonical name
    pub usage: Option<Usage>,
    /// The stop reason
    pub stop: Option<StopReason>,
    /// The tools that the model called
    pub calls: Vec<String>,
    /// The calls that the gateway ran
    pub ran: Vec<Tried<CallErrorKind>>,
    /// Size of the request body, in bytes
    pub bytes_in: u64,
    /// Size of the reply body, in bytes
    pub bytes_out: u64,
    /// Losses of the request
    pub losses: Vec<Loss>,
    /// Losses of the response
    pub response_losses: Vec<Loss>,
    /// Number of further losses that are not listed
    pub more_losses: u64,
    /// Number of equal requests that the entry stands for
    pub count: u64,
    /// The bodies, with secrets redacted, if data is recorded
    pub data: Option<Json>,
}

/// An attempt at an upstream, or a tool that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried<E> {
    /// The name of the upstream or the tool
    pub name: Arc<str>,
    /// The error, if it failed
    pub error: Option<E>,
    /// Duration
    pub duration: Duration,
}
