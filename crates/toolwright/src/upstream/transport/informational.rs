//! What may come before the head of a reply: informational ones, of which no API sends many. They
//! are read in one go as fast as they come, so a flood of them would keep a thread from all others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The most informational replies before a reply.
pub(crate) const MOST: usize = 64;

/// The informational replies to one request. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct Preamble(Arc<Counted>);

#[derive(Default)]
struct Counted {
    seen: AtomicUsize,
    flooded: Notify,
}

impl Preamble {
    /// One more has come.
    pub(crate) fn count(&self) {
        if self.0.seen.fetch_add(1, Ordering::Relaxed) == MOST {
            self.0.flooded.notify_one();
        }
    }

    /// Waits until there are too many, which is never in good company.
    pub(crate) async fn flooded(&self) {
        self.0.flooded.notified().await;
    }
}
