//! One exchange with a model through the gateway, as the ledger has it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_core::loss::Loss;
use toolwright_core::{Dialect, FaultClass, Json, StopReason, Usage};

use crate::error::CallErrorKind;
use crate::session::Caller;

/// One exchange, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeEntry {
    /// When the request came
    pub time: SystemTime,
    /// The request's id; calls that were made within the exchange have it as their run
    pub run: Arc<str>,
    /// Who asked
    pub caller: Caller,
    /// The client's dialect
    pub dialect: Dialect,
    /// The endpoint by its name
    pub endpoint: Cow<'static, str>,
    /// The model as the client named it
    pub model: Option<Arc<str>>,
    /// Who answered, or was asked last
    pub upstream: Option<Arc<str>>,
    /// The upstream's dialect
    pub upstream_dialect: Option<Dialect>,
    /// The model that answered, as the upstream names it
    pub answered: Option<String>,
    /// The upstream's id of the answer
    pub answer_id: Option<String>,
    /// Whether a stream was asked for
    pub stream: bool,
    /// Whether the bytes passed through as they were
    pub untouched: bool,
    /// The HTTP status that the client got
    pub status: u16,
    /// What went wrong, if something did
    pub error: Option<FaultClass>,
    /// Whether the client left before the end
    pub left: bool,
    /// Every attempt at an upstream, in order
    pub attempts: Vec<Tried<FaultClass>>,
    /// How long it took
    pub duration: Duration,
    /// How long the client waited for the first byte of the answer
    pub first_byte: Option<Duration>,
    /// What the gateway added
    pub added: Duration,
    /// What it cost, as far as the upstream told; counts without a canonical name are left out
    pub usage: Option<Usage>,
    /// Why the model stopped
    pub stop: Option<StopReason>,
    /// The tools that the model called
    pub calls: Vec<String>,
    /// The calls that the gateway made itself
    pub ran: Vec<Tried<CallErrorKind>>,
    /// The size of the request's body
    pub bytes_in: u64,
    /// The size of the reply's body
    pub bytes_out: u64,
    /// What of the request could not be said to the upstream
    pub losses: Vec<Loss>,
    /// What of the answer could not be said to the client
    pub response_losses: Vec<Loss>,
    /// How many more losses there were than are listed
    pub more_losses: u64,
    /// The bodies, secrets redacted, if data is switched on
    pub data: Option<Json>,
}

/// Something that was tried: an upstream was asked, or a tool was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried<E> {
    /// The upstream or the tool
    pub name: Arc<str>,
    /// Why it failed, if it did
    pub error: Option<E>,
    /// How long it took
    pub duration: Duration,
}
