//! The context of a run, bound for one call.

use std::any::Any;

use tokio::runtime::Handle;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use crate::context::MissingContext;
use crate::error::{CallErrorKind, ToolError};
use crate::session::Scope;

type Read<T> = Result<OwnedRwLockReadGuard<T>, ToolError>;
type Write<T> = Result<OwnedRwLockWriteGuard<T>, ToolError>;

/// The value, to read beside others.
pub async fn read<T: Any + Send + Sync>(scope: &Scope) -> Read<T> {
    wait(scope, scope.session.context.read()).await
}

/// The value, to change alone.
pub async fn write<T: Any + Send + Sync>(scope: &Scope) -> Write<T> {
    wait(scope, scope.session.context.write()).await
}

/// As [`read`], on a thread that may block.
pub fn blocking_read<T: Any + Send + Sync>(scope: &Scope) -> Read<T> {
    Handle::try_current()?.block_on(read(scope))
}

/// As [`write`], on a thread that may block.
pub fn blocking_write<T: Any + Send + Sync>(scope: &Scope) -> Write<T> {
    Handle::try_current()?.block_on(write(scope))
}

/// Waits, but not longer than somebody waits for the call: a thread cannot be given up from outside,
/// and a call that was given up must not begin its work when its turn comes.
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
    ToolError::new("The call was given up while it waited for its context; nothing was done.")
        .with_kind(CallErrorKind::Cancelled.as_str())
        .retryable()
}
