//! Iterates over the candidates of a request: how long to retry each, whether a failure allows the
//! next, and which failure is returned if none answers.

use std::time::Duration;

use toolwright_core::{Fault, FaultClass};
use toolwright_runtime::upstream::retry;

use super::send::Failure;
use crate::models::route::Candidate;

/// Maximum wait for a retry while there is another candidate.
const IMPATIENT: Duration = Duration::from_secs(1);

/// The candidates of one request, and their failures.
pub struct Fallback<'c> {
    candidates: &'c [Candidate],
    /// The index of the next candidate
    next: usize,
    /// The failure to return if no candidate answers
    failure: Option<Box<Failure>>,
}

impl<'c> Fallback<'c> {
    /// Starts with one of the candidates.
    pub fn from(candidates: &'c [Candidate], first: usize) -> Fallback<'c> {
        Fallback { candidates, next: first, failure: None }
    }

    /// Returns the next candidate, and the maximum wait between its retries.
    pub fn advance(&mut self) -> Option<(&'c Candidate, Duration)> {
        let candidate = self.candidates.get(self.next)?;
        self.next += 1;
        let alone = self.next == self.candidates.len();
        Some((candidate, if alone { retry::MAX_RETRY_AFTER } else { IMPATIENT }))
    }

    /// Returns the index of the last candidate.
    pub fn place(&self) -> usize {
        self.next.saturating_sub(1)
    }

    /// Records that the last candidate failed. Returns the failure if the request itself is at
    /// fault, so that no other candidate is tried.
    pub fn failed(&mut self, failure: Box<Failure>) -> Result<(), Box<Failure>> {
        if failure.is_final() {
            return Err(failure);
        }
        // The failure of a candidate that could not be asked is less informative than one that
        // answered.
        if !failure.is_unfit() || self.failure.is_none() {
            self.failure = Some(failure);
        }
        Ok(())
    }

    /// Returns the failure when no candidate is left.
    pub fn over(self) -> Box<Failure> {
        let nobody = || Fault::new(FaultClass::Internal, "Nobody was asked.").into();
        self.failure.unwrap_or_else(nobody)
    }
}
