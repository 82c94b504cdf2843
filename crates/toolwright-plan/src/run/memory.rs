//! The memory of runs: what a run holds is reserved in the budget of the host before it is built.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use toolwright_runtime::context::Context;
use toolwright_runtime::error::ToolError;

use crate::plan::StepError;

/// Memory that the values of runs may take. A host adds one to the [context](toolwright_runtime::Context) of its runs.
pub trait MemoryBudget: Send + Sync {
    /// Reserves bytes, and waits for them for a short time. Returns whether it has them.
    fn reserve(&self, bytes: usize) -> Pin<Box<dyn Future<Output = bool> + Send + '_>>;

    /// Releases reserved bytes.
    fn release(&self, bytes: usize);

    /// Number of bytes of the whole budget.
    fn total(&self) -> usize;
}

/// The memory budget of runs, as a value of a context.
#[derive(Clone)]
pub struct PlanMemory(pub Arc<dyn MemoryBudget>);

/// Reserved memory, which is released when it is dropped. Without a budget, there is as much as is asked for.
pub struct Reservation {
    budget: Option<PlanMemory>,
    bytes: Mutex<usize>,
    /// The size that was refused last, until as much is granted
    refused: AtomicUsize,
}

impl Reservation {
    /// Creates an empty reservation in the budget of a context.
    pub async fn of(context: &Context) -> Reservation {
        let budget = context.read::<PlanMemory>().await.ok().map(|budget| budget.clone());
        Reservation { budget, bytes: Mutex::default(), refused: AtomicUsize::new(usize::MAX) }
    }

    /// Reserves more bytes. After a refusal, a request for as much does not wait.
    pub(crate) async fn grow(&self, bytes: usize) -> Result<(), StepError> {
        let Some(PlanMemory(budget)) = &self.budget else { return Ok(()) };
        let refused = self.refused.load(Ordering::Relaxed);
        let reserved = if bytes < refused {
            budget.reserve(bytes).await
        } else {
            tokio::time::timeout(Duration::ZERO, budget.reserve(bytes)).await.unwrap_or(false)
        };
        if !reserved {
            self.refused.store(bytes.min(refused), Ordering::Relaxed);
            let message = format!(
                "{} MiB of memory are needed, and the host has too little left; use smaller values, refer to parts of \
                 them, or pass them by handle",
                bytes.div_ceil(1 << 20)
            );
            return Err(StepError::new("limit", message));
        }
        if bytes >= refused {
            self.refused.store(usize::MAX, Ordering::Relaxed);
        }
        *self.bytes.lock() += bytes;
        Ok(())
    }

    /// Whether so many bytes more may fit once others have released theirs.
    pub(crate) fn may_fit(&self, bytes: usize) -> bool {
        let total = self.budget.as_ref().map_or(usize::MAX, |PlanMemory(budget)| budget.total());
        self.bytes.lock().saturating_add(bytes) <= total
    }

    /// Reserves memory for the result of a call, of this many bytes: the bytes, the value, what is recorded of it.
    pub async fn grow_for_result(&self, bytes: usize) -> Result<(), ToolError> {
        let grown = self.grow(bytes.saturating_mul(3)).await;
        grown.map_err(|error| ToolError::new(error.message).with_kind(error.kind))
    }

    /// Releases some of the bytes.
    pub(crate) fn shrink(&self, bytes: usize) {
        let Some(PlanMemory(budget)) = &self.budget else { return };
        let mut held = self.bytes.lock();
        let bytes = bytes.min(*held);
        *held -= bytes;
        budget.release(bytes);
    }
}

/// Two reservations are equal, whatever they hold: they do not count when reports are compared.
impl PartialEq for Reservation {
    fn eq(&self, _: &Reservation) -> bool {
        true
    }
}

impl Eq for Reservation {}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(usize::MAX);
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reservation").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
