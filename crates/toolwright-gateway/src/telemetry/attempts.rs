//! What an attempt at an upstream needs to know of its exchange: the time since it began, and the
//! place of the attempt in a trace.

use std::time::{Duration, Instant};

use http::HeaderValue;

use super::trace::Trace;

/// The context of attempts at upstreams.
#[derive(Debug, Clone, Copy)]
pub struct AttemptContext {
    pub(super) began: Instant,
    pub(super) trace: Option<Trace>,
    /// Whether spans are recorded here
    pub(super) recorded: bool,
    /// The number of earlier attempts
    pub(super) before: usize,
}

impl AttemptContext {
    /// The time since the exchange began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Sets the number of earlier attempts.
    #[must_use]
    pub fn after(self, attempts: usize) -> AttemptContext {
        AttemptContext { before: attempts, ..self }
    }

    /// The header `traceparent` for the attempt after `attempts` others. It names the span of the attempt
    /// if spans are recorded here, otherwise the span of the client.
    pub fn traceparent(&self, attempts: usize) -> Option<HeaderValue> {
        let trace = self.trace?;
        if self.recorded {
            trace.child(self.before + attempts).header()
        } else {
            trace.parent?.header()
        }
    }
}
