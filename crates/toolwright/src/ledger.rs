//! Who called what, when, with what outcome: append-only, each entry chained to the one before.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_core::Json;
use toolwright_core::args::Change;
use toolwright_core::fit::Loss;

use crate::call::Source;
use crate::error::CallErrorKind;
use crate::session::Caller;

/// One call, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
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
    pub source: Option<Source>,
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

/// Where entries go. Recording never waits and never fails a call.
pub trait Ledger: Send + Sync + 'static {
    /// Appends an entry.
    fn record(&self, entry: Entry);

    /// Whether arguments and outcomes shall be recorded too.
    fn wants_data(&self) -> bool {
        false
    }
}
