//! What stands in a ledger: a call or an exchange.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_core::Json;
use toolwright_core::args::Change;
use toolwright_core::loss::Loss;

use super::ExchangeEntry;
use crate::error::CallErrorKind;
use crate::session::Caller;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A tool was called
    Call(Box<CallEntry>),
    /// A model was asked
    Exchange(Box<ExchangeEntry>),
}

/// The kinds of entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tool was called
    Call,
    /// A model was asked
    Exchange,
}

/// One call, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEntry {
    /// When the call came
    pub time: SystemTime,
    /// The run that it belongs to
    pub run: Arc<str>,
    /// Who called
    pub caller: Caller,
    /// The call's id
    pub call_id: Arc<str>,
    /// The tool's name, as it was called
    pub tool: Arc<str>,
    /// The idempotency key, if it came so far
    pub key: Option<Arc<str>>,
    /// Why it failed, if it did
    pub error: Option<CallErrorKind>,
    /// Where the result is from; none while it waits for a person
    pub source: Option<ResultSource>,
    /// How often it was tried
    pub attempts: u32,
    /// How long it took
    pub duration: Duration,
    /// What was changed in the arguments, values left out unless data is switched on
    pub changes: Vec<Change>,
    /// What could not be said in a dialect
    pub losses: Vec<Loss>,
    /// The arguments and the outcome, secrets redacted, if data is switched on
    pub data: Option<Json>,
}

/// Where the result of a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultSource {
    /// The tool ran
    Executed,
    /// The cached result of an earlier call with equal arguments
    Cached,
    /// The result that the journal recorded for this same call
    Journal,
    /// The result of an equal call of the same turn
    Duplicate,
    /// None: the call was refused before the tool started
    Refused,
}

impl Entry {
    /// What kind it is of.
    pub fn kind(&self) -> Kind {
        match self {
            Entry::Call(_) => Kind::Call,
            Entry::Exchange(_) => Kind::Exchange,
        }
    }

    /// When it began.
    pub fn time(&self) -> SystemTime {
        match self {
            Entry::Call(call) => call.time,
            Entry::Exchange(exchange) => exchange.time,
        }
    }

    /// The run of a call; the request's id of an exchange.
    pub fn run(&self) -> &str {
        match self {
            Entry::Call(call) => &call.run,
            Entry::Exchange(exchange) => &exchange.run,
        }
    }

    /// For whom.
    pub fn caller(&self) -> &Caller {
        match self {
            Entry::Call(call) => &call.caller,
            Entry::Exchange(exchange) => &exchange.caller,
        }
    }

    /// The call, if it is one.
    pub fn as_call(&self) -> Option<&CallEntry> {
        match self {
            Entry::Call(call) => Some(call),
            Entry::Exchange(_) => None,
        }
    }

    /// The exchange, if it is one.
    pub fn as_exchange(&self) -> Option<&ExchangeEntry> {
        match self {
            Entry::Call(_) => None,
            Entry::Exchange(exchange) => Some(exchange),
        }
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

impl Kind {
    /// The word in documents and files.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Call => "call",
            Kind::Exchange => "exchange",
        }
    }
}

impl ResultSource {
    /// All sources.
    pub const ALL: &[ResultSource] = &[
        ResultSource::Executed,
        ResultSource::Cached,
        ResultSource::Journal,
        ResultSource::Duplicate,
        ResultSource::Refused,
    ];

    /// The name in ledgers and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            ResultSource::Executed => "executed",
            ResultSource::Cached => "cached",
            ResultSource::Journal => "journal",
            ResultSource::Duplicate => "duplicate",
            ResultSource::Refused => "refused",
        }
    }

    /// Parses a name written by [`as_str`](ResultSource::as_str).
    pub fn from_name(name: &str) -> Option<ResultSource> {
        Self::ALL.iter().copied().find(|source| source.as_str() == name)
    }
}
