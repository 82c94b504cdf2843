//! What came of a call: an outcome, or a question to a person.

use std::time::Duration;

use toolwright_core::args::Change;
use toolwright_core::json::Object;
use toolwright_core::{Call, Outcome};

use crate::error::CallError;
use crate::output::Host;

/// What came of a call.
#[derive(Debug, Clone)]
pub enum Called {
    /// It has an outcome
    Done(Done),
    /// A person must say whether it may run; nothing was done yet
    Waiting(Approval),
}

/// A call with its outcome.
#[derive(Debug, Clone)]
pub struct Done {
    /// What goes back to the model
    pub outcome: Outcome,
    /// Why it failed, if it did
    pub error: Option<CallError>,
    /// What the tool gave to the host alone
    pub host: Option<Host>,
    /// What was changed in the arguments
    pub changes: Vec<Change>,
    /// How often it was tried; 0 if the tool was never started
    pub attempts: u32,
    /// Where the result is from
    pub source: Source,
    /// How long it took
    pub duration: Duration,
}

/// Where a result is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The tool ran
    Executed,
    /// An equal call ran before, not long ago
    Cached,
    /// This very call ran before and was recorded
    Journal,
    /// It was refused before the tool
    Refused,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// What to answer with
    pub id: String,
    /// The call as the model made it
    pub call: Call,
    /// The arguments that it would run with, secrets redacted
    pub arguments: Object,
    /// Why a person is asked
    pub reason: String,
}
