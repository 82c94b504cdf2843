//! Counts the informational replies (1xx) before a response. They are read without yielding, so a flood
//! of them would block the thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Maximum number of informational replies before a response.
pub(crate) const MAX_INFORMATIONAL: usize = 64;

/// The number of informational replies to one request. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct InformationalReplies(Arc<Counter>);

#[derive(Default)]
struct Counter {
    seen: AtomicUsize,
    exceeded: Notify,
}

impl InformationalReplies {
    /// Counts one more.
    pub(crate) fn count(&self) {
        if self.0.seen.fetch_add(1, Ordering::Relaxed) == MAX_INFORMATIONAL {
            self.0.exceeded.notify_one();
        }
    }

    /// Waits until there are too many.
    pub(crate) async fn exceeded(&self) {
        self.0.exceeded.notified().await;
    }
}
