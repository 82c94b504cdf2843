//! Candidates in order: how long each is tried, whether another is asked after a failure, and what the
//! client is told if nobody answers.

use std::time::Duration;

use toolwright::upstream::retry;
use toolwright_core::{Fault, FaultClass};

use super::route::Candidate;
use super::send::Failure;

/// How long to wait for another attempt while there is somebody else to ask.
const IMPATIENT: Duration = Duration::from_secs(1);

/// Those who may answer one question, and what came of asking them.
pub struct Fallback<'c> {
    candidates: &'c [Candidate],
    /// Who is next
    next: usize,
    /// What the client is told if nobody else does better
    failure: Option<Box<Failure>>,
}

impl<'c> Fallback<'c> {
    /// Candidates in order, from one of them on.
    pub fn from(candidates: &'c [Candidate], first: usize) -> Fallback<'c> {
        Fallback { candidates, next: first, failure: None }
    }

    /// Who is asked now, and for how long it may be waited between attempts.
    pub fn advance(&mut self) -> Option<(&'c Candidate, Duration)> {
        let candidate = self.candidates.get(self.next)?;
        self.next += 1;
        let alone = self.next == self.candidates.len();
        Some((candidate, if alone { retry::MAX_RETRY_AFTER } else { IMPATIENT }))
    }

    /// The place of whoever was asked last.
    pub fn place(&self) -> usize {
        self.next.saturating_sub(1)
    }

    /// Whoever was asked last gave no answer. It is an error if nobody else needs to be asked: the
    /// request itself is at fault.
    pub fn failed(&mut self, failure: Box<Failure>) -> Result<(), Box<Failure>> {
        if failure.is_final() {
            return Err(failure);
        }
        // That somebody cannot be asked says less than what somebody said who was.
        if !failure.is_unfit() || self.failure.is_none() {
            self.failure = Some(failure);
        }
        Ok(())
    }

    /// Nobody answered.
    pub fn over(self) -> Box<Failure> {
        let nobody = || Fault::new(FaultClass::Internal, "Nobody was asked.").into();
        self.failure.unwrap_or_else(nobody)
    }
}
