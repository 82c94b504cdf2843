//! The memory budget of requests and replies, for their bytes and what is decoded from them. A
//! small request can proceed while a large one waits, so that a large request does not block
//! others.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use toolwright_core::{Fault, FaultClass};
use toolwright_plan::{MemoryBudget, PlanMemory};

/// Maximum time that a body waits for memory.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Minimum number of bytes that a share grows by, so that typical bodies reserve memory once.
const MIN_GROWTH: usize = 64 << 10;

/// The memory budget, in bytes.
#[derive(Debug)]
pub struct Budget {
    all: usize,
    taken: AtomicUsize,
    waiting: AtomicUsize,
    freed: Notify,
}

/// The budget has no capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// Not within the timeout
    Now,
    /// Not at all: the request exceeds the whole budget
    Ever,
}

impl MemoryBudget for Budget {
    fn reserve(&self, bytes: usize) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(async move { self.take(bytes).await.is_ok() })
    }

    fn release(&self, bytes: usize) {
        self.give(bytes);
    }

    fn total(&self) -> usize {
        self.all
    }
}

/// The part of the budget that one body or exchange has reserved. Released on drop.
#[must_use]
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    size: usize,
}

impl Budget {
    /// Creates a budget of this many bytes.
    pub fn new(all: usize) -> Arc<Budget> {
        let taken = AtomicUsize::new(0);
        Arc::new(Budget { all, taken, waiting: AtomicUsize::new(0), freed: Notify::new() })
    }

    /// Returns an empty share.
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
                // Registers before it checks, so that a release in between is not missed.
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
    /// Reserves memory for a body that has reached this size and may reach `most`. It grows with
    /// the bytes that arrived, not with the announced length, which costs a client nothing.
    pub async fn reach(&mut self, size: usize, most: usize) -> Result<(), Full> {
        if size <= self.size {
            return Ok(());
        }
        // Doubles, so that a body reserves memory only a few times; exact if memory is scarce.
        let ample = (self.size * 2).max(MIN_GROWTH).min(most).max(size);
        if self.budget.try_take(ample - self.size) {
            self.size = ample;
            return Ok(());
        }
        self.budget.take(size - self.size).await?;
        self.size = size;
        Ok(())
    }

    /// Resizes the share to exactly this many bytes; waits if it grows.
    pub async fn resize(&mut self, size: usize) -> Result<(), Full> {
        if size > self.size {
            self.budget.take(size - self.size).await?;
            self.size = size;
        }
        self.shrink(size);
        Ok(())
    }

    /// Resizes the share to exactly this many bytes, if that needs no waiting.
    pub fn try_resize(&mut self, size: usize) -> bool {
        let fits = size <= self.size || self.budget.try_take(size - self.size);
        if fits {
            self.size = self.size.max(size);
            self.shrink(size);
        }
        fits
    }

    /// Shrinks the share to at most this many bytes.
    pub fn shrink(&mut self, size: usize) {
        if let Some(over @ 1..) = self.size.checked_sub(size) {
            self.size = size;
            self.budget.give(over);
        }
    }

    /// Returns the number of reserved bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns an empty share of the same budget.
    pub fn beside(&self) -> Share {
        self.budget.share()
    }

    /// Returns the budget, for plans that a call runs.
    pub fn plan_memory(&self) -> PlanMemory {
        PlanMemory(Arc::clone(&self.budget) as Arc<dyn MemoryBudget>)
    }

    /// Takes over the bytes of another share.
    pub fn join(&mut self, mut other: Share) {
        self.size += std::mem::take(&mut other.size);
    }

    /// Moves all bytes into a new share.
    pub fn take(&mut self) -> Share {
        let mut taken = self.beside();
        taken.size = std::mem::take(&mut self.size);
        taken
    }

    /// Ties the share to bytes until their last clone is dropped. Releases the excess.
    pub fn hold(mut self, bytes: Bytes) -> Bytes {
        self.shrink(bytes.len());
        if self.size == 0 { bytes } else { Bytes::from_owner(Held { bytes, _share: self }) }
    }
}

/// Bytes together with their share.
struct Held {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The fault of a request that gets no memory.
impl From<Full> for Fault {
    fn from(full: Full) -> Fault {
        match full {
            Full::Now => {
                let message = "The gateway's memory is exhausted. Try again soon.";
                let fault = Fault::new(FaultClass::Overloaded, message);
                Fault { status: Some(503), retry_after_ms: Some(1000), ..fault }
            }
            Full::Ever => {
                let message = "The request needs more memory than the gateway has for all \
                               requests: its JSON has too many values. Send less, or raise \
                               limits.memory in the gateway's configuration.";
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
