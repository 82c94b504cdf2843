//! What is left to do when an answer is complete: the client is charged, opaque reasoning is kept
//! for its next request, and the exchange is told of.

use std::sync::Arc;
use std::time::Instant;

use super::keep::Keep;
use super::notes::Notes;
use crate::key::Client;
use crate::telemetry::Exchanging;

/// The end of one exchange. Dropped without a word, it tells that the client left.
pub struct Close {
    /// What is known of the exchange
    pub note: Exchanging,
    client: Arc<Client>,
    keep: Arc<Keep>,
    /// What a run did meanwhile
    notes: Option<Notes>,
}

impl Close {
    /// Of an exchange with a client.
    pub fn new(note: Exchanging, client: Arc<Client>, keep: Arc<Keep>) -> Close {
        Close { note, client, keep, notes: None }
    }

    /// With the notes of a run.
    #[must_use]
    pub fn with_notes(mut self, notes: Option<Notes>) -> Close {
        self.notes = notes;
        self
    }

    /// The answer is complete.
    pub fn done(mut self) {
        self.read_notes();
        if let Some(kept) = self.note.response.kept.take() {
            self.keep.remember(self.client.name(), kept, Instant::now());
        }
        self.charge();
        self.note.finish();
    }

    /// The client left before the answer was complete; what was said until then has its price.
    pub fn left(mut self) {
        self.read_notes();
        self.charge();
    }

    fn read_notes(&mut self) {
        if let Some(notes) = self.notes.take() {
            notes.onto(&mut self.note);
        }
    }

    fn charge(&self) {
        if let Some(usage) = &self.note.usage {
            self.client.charge(usage.total(), Instant::now());
        }
    }
}
