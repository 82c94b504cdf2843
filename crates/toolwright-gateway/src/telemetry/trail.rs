//! What an attempt at an upstream must know of its exchange, wherever it is made: how long that has
//! lasted, and the place of the attempt in a trace.

use std::time::{Duration, Instant};

use http::HeaderValue;

use super::trace::Trace;

/// The way of an exchange through upstreams.
#[derive(Debug, Clone, Copy)]
pub struct Trail {
    pub(super) began: Instant,
    pub(super) trace: Option<Trace>,
    /// Whether spans are recorded here
    pub(super) recorded: bool,
    /// How many attempts were made before those that are counted
    pub(super) before: usize,
}

impl Trail {
    /// How long the exchange has lasted.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// After so many attempts, which are not counted from now on.
    #[must_use]
    pub fn after(self, attempts: usize) -> Trail {
        Trail { before: attempts, ..self }
    }

    /// The header `traceparent` for the next attempt after so many. It names the attempt's own span
    /// if spans are recorded here, else the client's.
    pub fn traceparent(&self, attempts: usize) -> Option<HeaderValue> {
        let trace = self.trace?;
        if self.recorded {
            trace.child(self.before + attempts).header()
        } else {
            trace.parent?.header()
        }
    }
}
