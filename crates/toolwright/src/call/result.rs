//! What came of a call: an outcome, or a question to a person.

use std::time::Duration;

use toolwright_core::Outcome;
use toolwright_core::args::Change;

use super::approval::Approval;
use super::journal::JournalError;
use crate::error::CallError;
use crate::ledger::ResultSource;
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
    /// What the tool gave to the host alone; what comes from a journal has none
    pub host: Option<Host>,
    /// What was changed in the arguments
    pub changes: Vec<Change>,
    /// How often it was tried; 0 if the tool was never started
    pub attempts: u32,
    /// Where the result is from
    pub source: ResultSource,
    /// How long it took
    pub duration: Duration,
    /// Why the journal does not know how it ended, if it does not: after a restart the call will be
    /// uncertain
    pub unrecorded: Option<JournalError>,
}

impl Called {
    /// The call with its outcome, unless it waits for a person.
    pub fn done(&self) -> Option<&Done> {
        match self {
            Called::Done(done) => Some(done),
            Called::Waiting(_) => None,
        }
    }

    /// The question to a person, if there is one.
    pub fn waiting(&self) -> Option<&Approval> {
        match self {
            Called::Done(_) => None,
            Called::Waiting(approval) => Some(approval),
        }
    }
}
