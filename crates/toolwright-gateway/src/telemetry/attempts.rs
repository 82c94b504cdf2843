//! Context of an attempt at an upstream: the time since the exchange began, and its span in a
//! trace.

use std::time::{Duration, Instant};

use http::HeaderValue;

use super::trace::Trace;
use super::wire::WireRecorder;

/// The context of attempts at upstreams.
#[derive(Debug, Clone)]
pub struct AttemptContext {
    pub(super) began: Instant,
    pub(super) trace: Option<Trace>,
    /// Whether the gateway records spans
    pub(super) recorded: bool,
    /// The number of earlier attempts
    pub(super) before: usize,
    /// Records the bodies of attempts, if the ledger has them
    pub wire: Option<WireRecorder>,
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

    /// Returns the header `traceparent` for the attempt after `attempts` others. It has the span of
    /// the attempt if the gateway records spans, otherwise the span of the client.
    pub fn traceparent(&self, attempts: usize) -> Option<HeaderValue> {
        let trace = self.trace?;
        if self.recorded {
            trace.child(self.before + attempts).header()
        } else {
            trace.parent?.header()
        }
    }
}
