//! Entries of a ledger: calls, exchanges, and answers to approvals.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_core::Json;
use toolwright_core::args::Change;
use toolwright_core::loss::Loss;

use super::ExchangeEntry;
use crate::error::CallErrorKind;
use crate::session::Caller;

/// An entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// A call of a tool
    Call(Box<CallEntry>),
    /// An exchange with a model
    Exchange(Box<ExchangeEntry>),
    /// The answer of a person to a call that waited for approval
    Approval(Box<ApprovalEntry>),
}

toolwright_json::words! {
    /// The kinds of entry.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Kind: word, from_word {
        /// A call of a tool
        Call = "call",
        /// An exchange with a model
        Exchange = "exchange",
        /// The answer to a call that waited for approval
        Approval = "approval",
    }
}

/// The entry of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEntry {
    /// Start of the call
    pub time: SystemTime,
    /// The run of the call
    pub run: Arc<str>,
    /// The caller
    pub caller: Caller,
    /// The call's id
    pub call_id: Arc<str>,
    /// The id of the call whose tool made this one, if a tool did
    pub parent: Option<Arc<str>>,
    /// The name of the tool as the model wrote it
    pub tool: Arc<str>,
    /// The idempotency key, if it was computed
    pub key: Option<Arc<str>>,
    /// Why the call failed
    pub error: Option<CallErrorKind>,
    /// Where the result comes from; absent while the call waits for approval
    pub source: Option<ResultSource>,
    /// Number of attempts
    pub attempts: u32,
    /// Duration
    pub duration: Duration,
    /// Changes of the arguments; without values unless data is recorded
    pub changes: Vec<Change>,
    /// Losses of translation
    pub losses: Vec<Loss>,
    /// The arguments and the outcome, with secrets redacted, if data is recorded
    pub data: Option<Json>,
}

/// The entry of the answer to a call that waited for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalEntry {
    /// Time of the answer
    pub time: SystemTime,
    /// The run of the call
    pub run: Arc<str>,
    /// Who answered
    pub caller: Caller,
    /// The id of the approval
    pub approval: Arc<str>,
    /// The tool
    pub tool: Arc<str>,
    /// The conversation of the call, if it belongs to one
    pub conversation: Option<Arc<str>>,
    /// Whether the call may run
    pub approved: bool,
}

toolwright_json::words! {
    /// Where the result of a call comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ResultSource: as_str, from_name {
        /// The tool ran
        Executed = "executed",
        /// The cached result of an earlier call with equal arguments
        Cached = "cached",
        /// The result that the journal recorded for this same call
        Journal = "journal",
        /// The result of an equal call of the same turn
        Duplicate = "duplicate",
        /// None: the call was refused before the tool started
        Refused = "refused",
    }
}

impl Entry {
    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        match self {
            Entry::Call(_) => Kind::Call,
            Entry::Exchange(_) => Kind::Exchange,
            Entry::Approval(_) => Kind::Approval,
        }
    }

    /// Returns the start time.
    pub fn time(&self) -> SystemTime {
        match self {
            Entry::Call(call) => call.time,
            Entry::Exchange(exchange) => exchange.time,
            Entry::Approval(answer) => answer.time,
        }
    }

    /// Returns the run of a call or of an approval, or the request id of an exchange.
    pub fn run(&self) -> &str {
        match self {
            Entry::Call(call) => &call.run,
            Entry::Exchange(exchange) => &exchange.run,
            Entry::Approval(answer) => &answer.run,
        }
    }

    /// Returns the caller; of an approval, who answered.
    pub fn caller(&self) -> &Caller {
        match self {
            Entry::Call(call) => &call.caller,
            Entry::Exchange(exchange) => &exchange.caller,
            Entry::Approval(answer) => &answer.caller,
        }
    }

    /// Returns the call, if it is one.
    pub fn as_call(&self) -> Option<&CallEntry> {
        if let Entry::Call(call) = self { Some(call) } else { None }
    }

    /// Returns the exchange, if it is one.
    pub fn as_exchange(&self) -> Option<&ExchangeEntry> {
        if let Entry::Exchange(exchange) = self { Some(exchange) } else { None }
    }

    /// Returns the answer to an approval, if it is one.
    pub fn as_approval(&self) -> Option<&ApprovalEntry> {
        if let Entry::Approval(answer) = self { Some(answer) } else { None }
    }
}

impl From<CallEntry> for Entry {
    fn from(call: CallEntry) -> Entry {
        Entry::Call(Box::new(call))
    }
}

impl From<ExchangeEntry> for Entry {
    fn from(exchange: ExchangeEntry) -> Entry {
        Entry::Exchange(Box::new(exchange))
    }
}

impl From<ApprovalEntry> for Entry {
    fn from(answer: ApprovalEntry) -> Entry {
        Entry::Approval(Box::new(answer))
    }
}
