//! The memory that bodies of requests may take together. A small body finds room beside a large one
//! that waits, so nobody can block the others by asking for much.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a body waits for room.
const PATIENCE: Duration = Duration::from_secs(2);

/// The least that a share grows by: bodies of usual size settle their account once.
const STEP: usize = 64 << 10;

/// Bytes for all bodies.
#[derive(Debug)]
pub(super) struct Budget {
    all: usize,
    taken: AtomicUsize,
    waiting: AtomicUsize,
    freed: Notify,
}

/// There was no room in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// What one body has of the budget. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    size: usize,
}

impl Budget {
    pub(super) fn new(all: usize) -> Arc<Budget> {
        let taken = AtomicUsize::new(0);
        Arc::new(Budget { all, taken, waiting: AtomicUsize::new(0), freed: Notify::new() })
    }

    /// A share of nothing yet.
    pub(super) fn share(self: &Arc<Budget>) -> Share {
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
        tokio::time::timeout(PATIENCE, wait).await.map_err(|_| Full)
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
    pub(super) async fn reach(&mut self, size: usize, most: usize) -> Result<(), Full> {
        if size <= self.size {
            return Ok(());
        }
        // By doubling, so that a body settles its account a few times at most; exactly, where room
        // is scarce.
        let ample = (self.size * 2).max(STEP).min(most).max(size);
        if self.budget.try_take(ample - self.size) {
            self.size = ample;
            return Ok(());
        }
        self.budget.take(size - self.size).await?;
        self.size = size;
        Ok(())
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
        assert_eq!((refused, fits), (Err(Full), Ok(())));
        drop(first);
        assert_eq!(large.reach(500 << 10, 500 << 10).await, Ok(()));
        drop((large, small));
        assert_eq!(budget.taken.load(Ordering::SeqCst), 0);
        assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
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
