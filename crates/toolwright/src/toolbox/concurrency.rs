//! How many calls may run at once, of one tool and of all.
//!
//! A permit is held until the tool has really ended, not until its caller stopped waiting: a thread
//! that hangs counts.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

use crate::error::{CallError, CallErrorKind};
use crate::session::Scope;

/// A limit, or none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limit(Option<Arc<Semaphore>>);

/// Leave to run, given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    _held: Option<OwnedSemaphorePermit>,
}

impl Limit {
    /// At most so many at once; fewer than one would be none ever.
    pub(crate) fn of(calls: usize) -> Limit {
        Limit(Some(Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS)))))
    }

    /// Waits for leave to run, at most until the call's deadline.
    pub(crate) async fn enter(&self, scope: &Scope) -> Result<Permit, CallError> {
        let Some(semaphore) = &self.0 else { return Ok(Permit { _held: None }) };
        if let Ok(permit) = semaphore.clone().try_acquire_owned() {
            return Ok(Permit { _held: Some(permit) });
        }
        let waited = wait(semaphore.clone().acquire_owned(), scope).await?;
        Ok(Permit { _held: Some(waited.map_err(|_| too_late(scope))?) })
    }
}

/// Waits for something, at most until the call's deadline.
pub(crate) async fn wait<T>(
    future: impl Future<Output = T>,
    scope: &Scope,
) -> Result<T, CallError> {
    tokio::select! {
        waited = timeout_at(scope.deadline, future) => waited.map_err(|_| too_late(scope)),
        () = scope.cancel.cancelled() => Err(too_late(scope)),
    }
}

/// Why a call that waited did not begin.
pub(crate) fn too_late(scope: &Scope) -> CallError {
    if scope.cancel.is_cancelled() {
        return super::execute::cancelled(&scope.tool);
    }
    busy(&scope.tool)
}

fn busy(tool: &str) -> CallError {
    let text = format!(
        "Too many calls are under way, and {tool} could not begin in time. Nothing was done. Call \
         it again later."
    );
    CallError::new(CallErrorKind::Busy, text).retryable()
}
