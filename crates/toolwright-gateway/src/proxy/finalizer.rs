//! The end of an exchange: caches opaque reasoning for the client's next request; the recorder
//! charges the client and emits the record.

use std::sync::Arc;
use std::time::Instant;

use super::capture::Capture;
use super::reasoning_cache::ReasoningCache;
use crate::http::Share;
use crate::key::{Client, Removal};
use crate::telemetry::ExchangeRecorder;

/// The resources of one exchange until its end. Dropped before [`Finalizer::done`], the exchange is recorded
/// as one whose client disconnected.
pub struct Finalizer {
    /// Records the exchange
    pub recorder: ExchangeRecorder,
    /// The memory that it has reserved, besides the bytes of the request
    pub share: Share,
    /// Stores the response, if the client may refer to it later
    pub capture: Option<Box<dyn Capture>>,
    /// The client of the exchange
    pub client: Arc<Client>,
    /// The fault that a stream ends with when the key of the client is removed
    pub removal: Removal,
    /// The cache of opaque reasoning
    pub reasoning_cache: Arc<ReasoningCache>,
}

impl Finalizer {
    /// Ends the exchange: the reply is complete.
    pub fn done(mut self) {
        if let Some(cached) = self.recorder.record.response_report.cached_reasoning.take() {
            self.reasoning_cache.remember(self.client.name(), cached, Instant::now());
        }
        self.recorder.complete();
    }
}
