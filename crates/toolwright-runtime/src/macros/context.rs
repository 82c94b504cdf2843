//! Locks the context of a run for one call.

use std::any::Any;

use tokio::runtime::Handle;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use crate::context::MissingContext;
use crate::error::{CallErrorKind, ToolError};
use crate::session::Scope;

type Read<T> = Result<OwnedRwLockReadGuard<T>, ToolError>;
type Write<T> = Result<OwnedRwLockWriteGuard<T>, ToolError>;

/// Locks a value for shared access.
pub async fn read<T: Any + Send + Sync>(scope: &Scope) -> Read<T> {
    wait(scope, scope.session.context.read()).await
}

/// Locks a value for exclusive access.
pub async fn write<T: Any + Send + Sync>(scope: &Scope) -> Write<T> {
    wait(scope, scope.session.context.write()).await
}

/// Blocking form of [`read`].
pub fn blocking_read<T: Any + Send + Sync>(scope: &Scope) -> Read<T> {
    Handle::try_current()?.block_on(read(scope))
}

/// Blocking form of [`write`].
pub fn blocking_write<T: Any + Send + Sync>(scope: &Scope) -> Write<T> {
    Handle::try_current()?.block_on(write(scope))
}

/// Waits for the lock, at most until the call is cancelled: a blocked thread cannot be aborted, and
/// a cancelled call must not start when it gets the lock.
async fn wait<T>(
    scope: &Scope,
    turn: impl Future<Output = Result<T, MissingContext>>,
) -> Result<T, ToolError> {
    tokio::select! {
        biased;
        () = scope.cancel.cancelled() => Err(cancelled()),
        value = turn => value.map_err(missing),
    }
}

fn missing(error: MissingContext) -> ToolError {
    ToolError::from(error).with_kind(CallErrorKind::MissingContext.as_str())
}

fn cancelled() -> ToolError {
    ToolError::new("The call was cancelled while it waited for its context; nothing was done.")
        .with_kind(CallErrorKind::Cancelled.as_str())
        .retryable()
}
