//! What is left to do when an answer is complete: the client is charged, opaque reasoning is kept
//! for its next request, and the exchange is told of.

use std::sync::Arc;
use std::time::Instant;

use super::keep::Keep;
use crate::key::Client;
use crate::telemetry::Exchanging;

/// The end of one exchange. Dropped without a word, it tells that the client left.
pub struct Close {
    /// What is known of the exchange
    pub note: Exchanging,
    client: Arc<Client>,
    keep: Arc<Keep>,
}

impl Close {
    /// Of an exchange with a client.
    pub fn new(note: Exchanging, client: Arc<Client>, keep: Arc<Keep>) -> Close {
        Close { note, client, keep }
    }

    /// The answer is complete.
    pub fn done(mut self) {
        if let Some(kept) = self.note.response.kept.take() {
            self.keep.remember(self.client.name(), kept, Instant::now());
        }
        self.charge();
        self.note.finish();
    }

    /// The client left before the answer was complete; what was said until then has its price.
    pub fn left(self) {
        self.charge();
    }

    fn charge(&self) {
        if let Some(usage) = &self.note.usage {
            self.client.charge(usage.total(), Instant::now());
        }
    }
}
