//! Numbers for Prometheus, added up as exchanges end.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Exchanged;

/// All numbers.
#[derive(Debug, Default)]
pub struct Metrics {
    open: AtomicU64,
    done: AtomicU64,
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Metrics {
        Metrics::default()
    }

    /// How many exchanges are under way.
    pub fn in_flight(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn begun(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn count(&self, _told: &Exchanged) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
