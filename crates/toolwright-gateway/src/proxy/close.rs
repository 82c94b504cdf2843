//! What is left to do when an answer is complete: the client is charged, opaque reasoning is kept
//! for its next request, and the exchange is told of.

use std::sync::Arc;
use std::time::Instant;

use toolwright_core::Usage;

use super::keep::Keep;
use super::notes::Notes;
use super::responses::capture::Capture;
use super::tokens::BYTES_PER_TOKEN;
use crate::http::Share;
use crate::key::{Client, Reservation};
use crate::telemetry::Exchanging;

/// The end of one exchange. Dropped without a word, it tells that the client left.
pub struct Close {
    /// What is known of the exchange
    pub note: Exchanging,
    /// What it has of the memory, besides the client's own bytes
    pub share: Share,
    /// Stores the answer, if the client may refer to it later
    pub capture: Option<Capture>,
    /// About how many tokens of an answer have come, where they can be counted as they come
    pub output_tokens: Option<u64>,
    client: Arc<Client>,
    keep: Arc<Keep>,
    /// Tokens that are reserved for it, if its client's are limited
    reservation: Option<Reservation>,
    /// Whether the client got all there was
    is_done: bool,
    /// What a run did meanwhile
    notes: Option<Notes>,
}

impl Close {
    /// Of an exchange with a client.
    pub fn new(note: Exchanging, client: Arc<Client>, keep: Arc<Keep>, share: Share) -> Close {
        Close {
            note,
            share,
            capture: None,
            output_tokens: None,
            client,
            keep,
            reservation: None,
            is_done: false,
            notes: None,
        }
    }

    /// With tokens that are reserved for it.
    #[must_use]
    pub fn with_reservation(mut self, reservation: Option<Reservation>) -> Close {
        self.reservation = reservation;
        self
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
        self.is_done = true;
        self.note.complete();
    }

    /// The tokens that it used: as the upstream counts them, or by an estimate where it does not say,
    /// or where the client left before it could.
    fn used_tokens(&self) -> u64 {
        let note = &self.note;
        let total = note.usage.as_ref().map_or(0, Usage::total);
        let is_counted = note.usage.as_ref().is_some_and(|usage| usage.output.is_some());
        let is_whole = self.is_done && note.fault.is_none();
        // An upstream was asked, and the client disconnected before the response began.
        let is_left = note.status == 0 && !self.is_done && note.upstream_dialect.is_some();
        if (is_counted && is_whole) || !(is_left || (200..300).contains(&note.status)) {
            return total;
        }
        let output = self.output_tokens.unwrap_or(note.bytes_out / BYTES_PER_TOKEN);
        total.max((note.bytes_in / BYTES_PER_TOKEN).saturating_add(output))
    }
}

/// What was used until now has its price, whether or not the client is still there.
impl Drop for Close {
    fn drop(&mut self) {
        let notes = self.notes.take();
        if let Some(notes) = &notes {
            notes.onto(&mut self.note);
        }
        let used = self.used_tokens();
        let used = notes.map_or(used, |notes| notes.unpaid(used));
        if let Some(reservation) = &mut self.reservation {
            reservation.settle(used, Instant::now());
        }
    }
}
