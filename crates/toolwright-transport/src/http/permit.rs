//! Limits on concurrent and on queued requests of an upstream.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A permit for one request, released on drop.
pub(crate) type Permit = OwnedSemaphorePermit;

/// Why no permit was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The queue is full
    QueueFull,
    /// No permit was released in time
    TimedOut(Duration),
}

/// The permits of an upstream.
#[derive(Debug)]
pub(crate) struct Permits {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Permits {
    pub(crate) fn new(running: usize, waiting: usize) -> Permits {
        let running = running.clamp(1, Semaphore::MAX_PERMITS);
        let waiting = waiting.min(Semaphore::MAX_PERMITS);
        Permits { running: Arc::new(Semaphore::new(running)), waiting: Semaphore::new(waiting) }
    }

    /// Waits for a permit, unless the queue is full or the timeout passes.
    pub(crate) async fn acquire(&self, timeout: Duration) -> Result<Permit, Full> {
        if let Ok(held) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(held);
        }
        let _queued = self.waiting.try_acquire().map_err(|_| Full::QueueFull)?;
        let acquiring = Arc::clone(&self.running).acquire_owned();
        match tokio::time::timeout(timeout, acquiring).await {
            Ok(Ok(held)) => Ok(held),
            // The semaphore is never closed.
            Ok(Err(_)) => Err(Full::QueueFull),
            Err(_) => Err(Full::TimedOut(timeout)),
        }
    }
}
