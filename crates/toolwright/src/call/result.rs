//! How a call ended, or the question that it waits for.

use std::time::Duration;

use toolwright_core::Outcome;
use toolwright_core::args::Change;

use super::approval::Approval;
use super::journal::JournalError;
use crate::error::CallError;
use crate::ledger::ResultSource;
use crate::output::Host;

/// The state of a call.
#[derive(Debug, Clone)]
pub enum CallStatus {
    /// The call has its result
    Done(CallResult),
    /// The call waits for approval; the tool was not started
    Waiting(Approval),
}

/// The result of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallResult {
    /// The outcome for the model
    pub outcome: Outcome,
    /// Why the call failed
    pub error: Option<CallError>,
    /// The tool's output for the host; absent if the result comes from the journal
    pub host: Option<Host>,
    /// Changes made to the arguments
    pub changes: Vec<Change>,
    /// Number of attempts; 0 if the tool was not started
    pub attempts: u32,
    /// Where the result comes from
    pub source: ResultSource,
    /// How long the call took
    pub duration: Duration,
    /// Why the journal could not record the result. After a restart, the call will be uncertain.
    pub unrecorded: Option<JournalError>,
}

impl CallStatus {
    /// The result, unless the call waits for approval.
    pub fn result(&self) -> Option<&CallResult> {
        match self {
            CallStatus::Done(result) => Some(result),
            CallStatus::Waiting(_) => None,
        }
    }

    /// The question to a person, if the call waits for one.
    pub fn approval(&self) -> Option<&Approval> {
        match self {
            CallStatus::Done(_) => None,
            CallStatus::Waiting(approval) => Some(approval),
        }
    }
}
