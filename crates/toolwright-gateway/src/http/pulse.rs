//! What a connection is doing and since when, noted by those who do it and read by a patrol that
//! comes by now and then. No request sets or clears a timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::limits::Limits;

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Pulse {
    opened: Instant,
    /// Requests that are being answered
    busy: AtomicUsize,
    /// Since when there has been no request, in milliseconds from the opening
    free: AtomicU64,
    /// Whether there has been a request
    served: AtomicBool,
    /// Whether bytes have come that are no request yet
    head: AtomicBool,
    /// Since when the client has taken nothing that waits for it; 0 if nothing waits
    blocked: AtomicU64,
    /// Since when the connection has been closing while the client still sends; 0 if it is not
    lingering: AtomicU64,
    /// Whether the body of the request was not read to its end
    unread: AtomicBool,
}

/// What the patrol finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing; look again then
    Well(Instant),
    /// No request for long: close politely
    Idle,
    /// Something takes too long: close
    Stuck,
}

impl Pulse {
    pub(super) fn new() -> Arc<Pulse> {
        Arc::new(Pulse {
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

    /// Milliseconds from the opening, at least 1: 0 says "not at all".
    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Bytes have come.
    pub(super) fn heard(&self) {
        if self.busy.load(Relaxed) == 0 && !self.head.load(Relaxed) {
            self.head.store(true, Relaxed);
            // The first head counts from the opening: a connection is opened in order to send.
            if self.served.load(Relaxed) {
                self.free.store(self.now(), Relaxed);
            }
        }
    }

    /// Bytes could be sent.
    pub(super) fn sent(&self) {
        if self.blocked.load(Relaxed) != 0 {
            self.blocked.store(0, Relaxed);
        }
    }

    /// Bytes could not be sent now.
    pub(super) fn blocked(&self) {
        if self.blocked.load(Relaxed) == 0 {
            self.blocked.store(self.now(), Relaxed);
        }
    }

    /// The connection closes while the client may still send.
    pub(super) fn linger(&self) {
        self.lingering.store(self.now(), Relaxed);
    }

    /// The body of a request is, or is not, waiting to be read.
    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Relaxed);
    }

    /// Whether the body of the last request was not read to its end.
    pub(super) fn is_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    /// Whether the client may have sent what nobody read.
    pub(super) fn is_owed_a_hearing(&self) -> bool {
        self.is_unread() || self.head.load(Relaxed)
    }

    /// A request begins. It lasts as long as what is returned.
    pub(super) fn begin(self: &Arc<Pulse>) -> Busy {
        self.head.store(false, Relaxed);
        self.served.store(true, Relaxed);
        self.busy.fetch_add(1, Relaxed);
        Busy(Arc::clone(self))
    }

    /// Looks after the connection.
    pub(super) fn inspect(&self, limits: &Limits, heads: Heads) -> Finding {
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
        if awaited || (self.head.load(Relaxed) && heads == Heads::Timed) {
            return stuck(due(free, limits.header_timeout));
        }
        let idle = due(free, limits.idle_timeout);
        // A head may begin at any time, and then less patience is due.
        if idle <= now { Finding::Idle } else { Finding::Well(idle.min(soon)) }
    }
}

/// Whether bytes without a request are the beginning of one. In HTTP/2 they may be a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heads {
    /// They are
    Timed,
    /// They may be anything
    Untimed,
}

/// A request under way, up to the last byte of its answer.
#[derive(Debug)]
pub(super) struct Busy(Arc<Pulse>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.free.store(self.0.now(), Relaxed);
        self.0.busy.fetch_sub(1, Relaxed);
    }
}
