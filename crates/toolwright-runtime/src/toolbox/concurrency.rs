//! Limits on concurrent calls, of one tool and of a toolbox.
//!
//! A permit is held until the tool has ended, not until its caller stops waiting: a blocked thread
//! still counts.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

use crate::error::{CallError, CallErrorKind};
use crate::session::Scope;

/// An optional limit on concurrent calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limit(Option<Arc<Semaphore>>);

/// A permit to run, released on drop; none without a limit.
pub(crate) type Permit = Option<OwnedSemaphorePermit>;

impl Limit {
    /// Allows that many concurrent calls, at least one.
    pub(crate) fn new(calls: usize) -> Limit {
        Limit(Some(Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS)))))
    }

    /// Waits for a permit, at most until the deadline of the call.
    pub(crate) async fn acquire(&self, scope: &Scope) -> Result<Permit, CallError> {
        let Some(semaphore) = &self.0 else { return Ok(None) };
        if let Ok(permit) = semaphore.clone().try_acquire_owned() {
            return Ok(Some(permit));
        }
        let waited = wait(semaphore.clone().acquire_owned(), scope).await?;
        Ok(Some(waited.map_err(|_| too_late(scope))?))
    }
}

/// Awaits a future, at most until the deadline of the call.
pub(crate) async fn wait<T>(
    future: impl Future<Output = T>,
    scope: &Scope,
) -> Result<T, CallError> {
    tokio::select! {
        waited = timeout_at(scope.deadline, future) => waited.map_err(|_| too_late(scope)),
        () = scope.cancel.cancelled() => Err(too_late(scope)),
    }
}

/// The error of a call that waited in vain.
pub(crate) fn too_late(scope: &Scope) -> CallError {
    if scope.cancel.is_cancelled() {
        return super::execute::cancelled(&scope.tool);
    }
    let text = format!(
        "Too many calls are running, and {} could not start in time. Nothing was done. Call it again \
         later.",
        scope.tool
    );
    CallError::new(CallErrorKind::Busy, text).retryable()
}
