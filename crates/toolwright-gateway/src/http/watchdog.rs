//! The watchdog of a connection: reads and writes update its timestamps, and a periodic check closes a
//! connection that is idle or stuck. No request sets or clears a timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::config::Limits;
use super::sniff::HttpVersion;

/// The activity of one connection.
#[derive(Debug)]
pub(super) struct Watchdog {
    opened: Instant,
    /// Number of requests that are being answered
    busy: AtomicUsize,
    /// Start of the time without a request, in milliseconds after the opening
    free: AtomicU64,
    /// Whether there has been a request
    served: AtomicBool,
    /// Whether bytes have arrived that are no complete head of a request
    head: AtomicBool,
    /// Start of a blocked write, in milliseconds after the opening; 0 if none is blocked
    blocked: AtomicU64,
    /// Start of a lingering close, in milliseconds after the opening; 0 if there is none
    lingering: AtomicU64,
    /// Whether the body of the request was not read to its end
    unread: AtomicBool,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing is wrong; check again at this time
    Well(Instant),
    /// No request for too long: close gracefully
    Idle,
    /// A step takes too long: close at once
    Stuck,
}

impl Watchdog {
    pub(super) fn new() -> Arc<Watchdog> {
        Arc::new(Watchdog {
            opened: Instant::now(),
            busy: AtomicUsize::new(0),
            free: AtomicU64::new(0),
            served: AtomicBool::new(false),
            head: AtomicBool::new(false),
            blocked: AtomicU64::new(0),
            lingering: AtomicU64::new(0),
            unread: AtomicBool::new(false),
        })
    }

    /// Milliseconds after the opening, at least 1, because 0 means none.
    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Records that bytes have arrived.
    pub(super) fn heard(&self) {
        if self.busy.load(Relaxed) == 0 && !self.head.load(Relaxed) {
            self.head.store(true, Relaxed);
            // The first head counts from the opening: a connection is opened in order to send.
            if self.served.load(Relaxed) {
                self.free.store(self.now(), Relaxed);
            }
        }
    }

    /// Records that bytes were written.
    pub(super) fn sent(&self) {
        if self.blocked.load(Relaxed) != 0 {
            self.blocked.store(0, Relaxed);
        }
    }

    /// Records that a write is blocked.
    pub(super) fn blocked(&self) {
        if self.blocked.load(Relaxed) == 0 {
            self.blocked.store(self.now(), Relaxed);
        }
    }

    /// Records that the connection closes while the client may still send.
    pub(super) fn linger(&self) {
        self.lingering.store(self.now(), Relaxed);
    }

    /// Records whether the body of a request is unread.
    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Relaxed);
    }

    /// Whether the body of the last request was not read to its end.
    pub(super) fn is_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    /// Whether the client may have sent bytes that were not read.
    pub(super) fn has_unread_input(&self) -> bool {
        self.is_unread() || self.head.load(Relaxed)
    }

    /// Records the start of a request, which lasts until the returned guard is dropped.
    pub(super) fn begin(self: &Arc<Watchdog>) -> Busy {
        self.head.store(false, Relaxed);
        self.served.store(true, Relaxed);
        self.busy.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    /// Checks the connection against the limits.
    pub(super) fn inspect(&self, limits: &Limits, version: HttpVersion) -> Finding {
        let now = Instant::now();
        let due = |since: u64, limit: Duration| self.opened + Duration::from_millis(since) + limit;
        let soon = now + limits.header_timeout;
        let stuck = |at: Instant| if at <= now { Finding::Stuck } else { Finding::Well(at) };
        let (blocked, lingering) = (self.blocked.load(Relaxed), self.lingering.load(Relaxed));
        if lingering != 0 {
            return stuck(due(lingering, limits.body_timeout));
        }
        if blocked != 0 {
            return stuck(due(blocked, limits.write_timeout));
        }
        if self.busy.load(Relaxed) > 0 {
            return Finding::Well(soon);
        }
        let free = self.free.load(Relaxed);
        let awaited = !self.served.load(Relaxed);
        // In HTTP/1 bytes outside of a request begin a head; in HTTP/2 they may be a ping.
        if awaited || (self.head.load(Relaxed) && version == HttpVersion::Http1) {
            return stuck(due(free, limits.header_timeout));
        }
        let idle = due(free, limits.idle_timeout);
        // A head may begin at any time, and its timeout is shorter.
        if idle <= now { Finding::Idle } else { Finding::Well(idle.min(soon)) }
    }
}

/// A request in flight, until the last byte of its reply.
#[derive(Debug)]
pub(super) struct Busy(Arc<Watchdog>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.free.store(self.0.now(), Relaxed);
        self.0.busy.fetch_sub(1, Relaxed);
    }
}
