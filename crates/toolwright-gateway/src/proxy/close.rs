//! What is left to do when an answer is complete: the client is charged, opaque reasoning is kept
//! for its next request, and the exchange is told of.

use std::sync::Arc;
use std::time::Instant;

use super::keep::Keep;
use super::notes::Notes;
use super::responses::capture::Capture;
use crate::http::Share;
use crate::key::Client;
use crate::telemetry::Exchanging;

/// The end of one exchange. Dropped without a word, it tells that the client left.
pub struct Close {
    /// What is known of the exchange
    pub note: Exchanging,
    /// What it has of the memory, besides the client's own bytes
    pub share: Share,
    /// Stores the answer, if the client may refer to it later
    pub capture: Option<Capture>,
    client: Arc<Client>,
    keep: Arc<Keep>,
    /// What a run did meanwhile
    notes: Option<Notes>,
}

impl Close {
    /// Of an exchange with a client.
    pub fn new(note: Exchanging, client: Arc<Client>, keep: Arc<Keep>, share: Share) -> Close {
        Close { note, share, capture: None, client, keep, notes: None }
    }

    /// What is noted here belongs to it, whenever it ends.
    pub fn follow(&mut self, notes: Notes) {
        self.notes = Some(notes);
    }

    /// Where opaque reasoning is kept.
    pub fn keep(&self) -> &Arc<Keep> {
        &self.keep
    }

    /// The answer is complete.
    pub fn done(mut self) {
        if let Some(kept) = self.note.response.kept.take() {
            self.keep.remember(self.client.name(), kept, Instant::now());
        }
        self.note.complete();
    }
}

/// What was used until now has its price, whether or not the client is still there.
impl Drop for Close {
    fn drop(&mut self) {
        if let Some(notes) = self.notes.take() {
            notes.onto(&mut self.note);
        }
        if let Some(usage) = &self.note.usage {
            self.client.charge(usage.total(), Instant::now());
        }
    }
}
