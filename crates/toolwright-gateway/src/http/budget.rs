//! The memory that requests and answers may take together, as bytes and as what is grown from them. A
//! small one finds room beside a large one that waits, so nobody can block the others by asking for
//! much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use toolwright_core::{Fault, FaultClass};

/// Maximum time that a body waits for memory.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Minimum number of bytes that a share grows by, so that bodies of usual size reserve memory once.
const MIN_GROWTH: usize = 64 << 10;

/// Bytes for all of them.
#[derive(Debug)]
pub struct Budget {
    all: usize,
    taken: AtomicUsize,
    waiting: AtomicUsize,
    freed: Notify,
}

/// There is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// There was none in time
    Now,
    /// There is less in all
    Ever,
}

/// What one body or exchange has of the budget. Dropping it gives it back.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    size: usize,
}

impl Budget {
    /// So many.
    pub fn new(all: usize) -> Arc<Budget> {
        let taken = AtomicUsize::new(0);
        Arc::new(Budget { all, taken, waiting: AtomicUsize::new(0), freed: Notify::new() })
    }

    /// A share of nothing yet.
    pub fn share(self: &Arc<Budget>) -> Share {
        Share { budget: Arc::clone(self), size: 0 }
    }

    fn try_take(&self, size: usize) -> bool {
        let fits = |taken: usize| taken.checked_add(size).filter(|sum| *sum <= self.all);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    async fn take(&self, size: usize) -> Result<(), Full> {
        if self.try_take(size) {
            return Ok(());
        }
        if size > self.all {
            return Err(Full::Ever);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiter = Waiter(self);
        let wait = async {
            loop {
                let freed = self.freed.notified();
                tokio::pin!(freed);
                // Listens before it looks: what is freed in between is not missed.
                freed.as_mut().enable();
                if self.try_take(size) {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(RESERVE_TIMEOUT, wait).await.map_err(|_| Full::Now)
    }

    fn give(&self, size: usize) {
        self.taken.fetch_sub(size, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.freed.notify_waiters();
        }
    }
}

struct Waiter<'a>(&'a Budget);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Share {
    /// Makes room for a body that has come to this size and may come to `most`. It grows by what has
    /// come, not by what was announced: an announcement costs a client nothing.
    pub async fn reach(&mut self, size: usize, most: usize) -> Result<(), Full> {
        if size <= self.size {
            return Ok(());
        }
        // By doubling, so that a body settles its account a few times at most; exactly, where room
        // is scarce.
        let ample = (self.size * 2).max(MIN_GROWTH).min(most).max(size);
        if self.budget.try_take(ample - self.size) {
            self.size = ample;
            return Ok(());
        }
        self.budget.take(size - self.size).await?;
        self.size = size;
        Ok(())
    }

    /// Has room for exactly so much from now on, more or less than before.
    pub async fn resize(&mut self, size: usize) -> Result<(), Full> {
        if size > self.size {
            self.budget.take(size - self.size).await?;
            self.size = size;
        }
        self.shrink(size);
        Ok(())
    }

    /// Has room for exactly so much from now on, if that needs no waiting.
    pub fn try_resize(&mut self, size: usize) -> bool {
        let fits = size <= self.size || self.budget.try_take(size - self.size);
        if fits {
            self.size = self.size.max(size);
            self.shrink(size);
        }
        fits
    }

    /// Has room for no more than so much from now on.
    pub fn shrink(&mut self, size: usize) {
        if let Some(over @ 1..) = self.size.checked_sub(size) {
            self.size = size;
            self.budget.give(over);
        }
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// A share of nothing yet, beside this one.
    #[must_use]
    pub fn beside(&self) -> Share {
        self.budget.share()
    }

    /// Takes over what another share has.
    pub fn join(&mut self, mut other: Share) {
        self.size += std::mem::take(&mut other.size);
    }

    /// All that it has, as a share of its own.
    #[must_use]
    pub fn take(&mut self) -> Share {
        let mut taken = self.beside();
        taken.size = std::mem::take(&mut self.size);
        taken
    }

    /// Gives bytes their room, until the last clone of them is gone. The rest is given back.
    pub fn hold(mut self, bytes: Bytes) -> Bytes {
        self.shrink(bytes.len());
        if self.size == 0 { bytes } else { Bytes::from_owner(Held { bytes, _share: self }) }
    }
}

/// Bytes together with their share of the memory.
struct Held {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What a client is told of a request that has no room.
impl From<Full> for Fault {
    fn from(full: Full) -> Fault {
        match full {
            Full::Now => {
                let message = "The gateway holds as much as its memory allows. Try again soon.";
                let fault = Fault::new(FaultClass::Overloaded, message);
                Fault { status: Some(503), retry_after_ms: Some(1000), ..fault }
            }
            Full::Ever => {
                let message = "The request takes more memory than the gateway has for all of them: \
                               its JSON has too many values. Send less, or raise limits.memory in \
                               the gateway's configuration.";
                Fault { status: Some(413), ..Fault::new(FaultClass::TooLarge, message) }
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.size > 0 {
            self.budget.give(self.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_small_body_passes_a_large_one_that_waits() {
        let budget = Budget::new(1 << 20);
        let mut first = budget.share();
        first.reach(900 << 10, 900 << 10).await.unwrap();
        let mut large = budget.share();
        let mut small = budget.share();
        let (refused, fits) =
            tokio::join!(large.reach(500 << 10, 500 << 10), small.reach(1000, 1000));
        assert_eq!((refused, fits), (Err(Full::Now), Ok(())));
        drop(first);
        assert_eq!(large.reach(500 << 10, 500 << 10).await, Ok(()));
        drop((large, small));
        assert_eq!(budget.taken.load(Ordering::SeqCst), 0);
        assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_fits_is_not_waited_for() {
        let budget = Budget::new(100);
        let mut share = budget.share();
        assert_eq!(share.resize(101).await, Err(Full::Ever));
        assert_eq!(share.resize(60).await, Ok(()));
        let bytes = share.hold(Bytes::from_static(b"0123456789"));
        assert_eq!(budget.taken.load(Ordering::SeqCst), 10);
        let part = bytes.slice(..1);
        drop(bytes);
        assert_eq!(budget.taken.load(Ordering::SeqCst), 10);
        drop(part);
        assert_eq!(budget.taken.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn room_that_is_freed_goes_to_who_waits() {
        let budget = Budget::new(100);
        let mut first = budget.share();
        first.reach(80, 80).await.unwrap();
        let mut second = budget.share();
        let free = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(first);
        };
        let (taken, ()) = tokio::join!(second.reach(50, 50), free);
        assert_eq!(taken, Ok(()));
    }
}
