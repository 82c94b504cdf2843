//! How many requests an upstream has at once, and how many wait for their turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Leave to be under way; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _held: OwnedSemaphorePermit,
}

/// Why there is no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// As many wait already as may
    Crowded,
    /// None came free in time
    TooLong(Duration),
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

    /// Waits for a permit, unless too many do or it takes too long.
    pub(crate) async fn acquire(&self, patience: Duration) -> Result<Permit, Full> {
        if let Ok(held) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(Permit { _held: held });
        }
        let _place = self.waiting.try_acquire().map_err(|_| Full::Crowded)?;
        let turn = Arc::clone(&self.running).acquire_owned();
        match tokio::time::timeout(patience, turn).await {
            Ok(Ok(held)) => Ok(Permit { _held: held }),
            // Nobody closes the semaphore.
            Ok(Err(_)) => Err(Full::Crowded),
            Err(_) => Err(Full::TooLong(patience)),
        }
    }
}
