//! The memory of runs: what a run holds is reserved in the budget of the host before it is built.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use toolwright_core::plan::StepError;

use crate::context::Context;

/// Memory that the values of runs may take. A host adds one to the [context](crate::Context) of its runs.
pub trait MemoryBudget: Send + Sync {
    /// Reserves bytes, and waits for them for a short time. Returns whether it has them.
    fn reserve(&self, bytes: usize) -> Pin<Box<dyn Future<Output = bool> + Send + '_>>;

    /// Releases reserved bytes.
    fn release(&self, bytes: usize);
}

/// The memory budget of runs, as a value of a context.
#[derive(Clone)]
pub struct PlanMemory(pub Arc<dyn MemoryBudget>);

/// Reserved memory, which is released when it is dropped. Without a budget, there is as much as is asked for.
#[derive(Default)]
pub(crate) struct Reservation {
    budget: Option<PlanMemory>,
    bytes: Mutex<usize>,
}

impl Reservation {
    /// Creates an empty reservation in the budget of a context.
    pub(crate) async fn of(context: &Context) -> Reservation {
        let budget = context.read::<PlanMemory>().await.ok().map(|budget| budget.clone());
        Reservation { budget, bytes: Mutex::default() }
    }

    /// Reserves more bytes.
    pub(crate) async fn grow(&self, bytes: usize) -> Result<(), StepError> {
        let Some(PlanMemory(budget)) = &self.budget else { return Ok(()) };
        if !budget.reserve(bytes).await {
            let message = format!(
                "{} MiB of memory are needed, and the host has too little left; use smaller values, refer to parts of \
                 them, or pass them by handle",
                bytes.div_ceil(1 << 20)
            );
            return Err(StepError::new("limit", message));
        }
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
        Ok(())
    }

    /// Releases some of the bytes.
    pub(crate) fn shrink(&self, bytes: usize) {
        let Some(PlanMemory(budget)) = &self.budget else { return };
        let mut held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes.min(*held);
        *held -= bytes;
        budget.release(bytes);
    }
}

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
