//! Runs a call in its own task, so that its deadline holds whatever the tool does, and contains panics.
//!
//! The caller stops waiting at the deadline or on cancellation; the tool learns it from the token of its
//! scope and is aborted a little later. If the tool stops by itself, as one that kills its process, the caller
//! waits for that. A thread cannot be aborted: a blocking tool continues, keeps its
//! permits, and is recorded when it ends.

use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::concurrency;
use super::job::{Execution, Job};
use crate::error::{CallError, CallErrorKind};
use crate::settings::Effect;

/// Time between the cancellation of a tool and its abortion.
const ABORT_DELAY: Duration = Duration::from_secs(2);

/// Runs a job until its deadline or its cancellation.
pub(crate) async fn execute(job: Job) -> Execution {
    let scope = &job.scope;
    if scope.cancel.is_cancelled() || scope.deadline <= Instant::now() {
        return Execution::refused(concurrency::too_late(scope));
    }
    let (tool, deadline, cancel) = (scope.tool.clone(), scope.deadline, scope.cancel.clone());
    let pauses = scope.pauses.clone();
    let settings = job.item.handler.settings();
    let (effect, limit) = (settings.effect, settings.deadline);
    let stops_on_cancel = settings.stops_on_cancel;
    let blocking = job.item.handler.is_blocking();
    let active = job.active.clone();
    let mut task = tokio::spawn(job.run());
    let mut guard = AbortGuard {
        cancel: cancel.clone(),
        task: (!blocking).then(|| task.abort_handle()),
        ended: false,
    };
    let error = tokio::select! {
        biased;
        // Its error would only say that it was stopped.
        () = cancel.cancelled(), if stops_on_cancel => cancelled_midway(&tool, effect),
        ended = &mut task => {
            guard.ended = true;
            // Panics of the tool are caught within the task: the runtime shuts down, or this is a bug.
            return ended.unwrap_or_else(|_| Execution::failed(panicked(&tool, effect), active.attempts()));
        }
        () = cancel.cancelled() => cancelled_midway(&tool, effect),
        () = pauses.reached(deadline) => timed_out(&tool, limit, effect),
    };
    if stops_on_cancel {
        cancel.cancel();
        guard.ended = tokio::time::timeout(ABORT_DELAY, &mut task).await.is_ok();
    }
    Execution::failed(error, active.attempts())
}

/// Cancels and aborts a task when its caller stops waiting.
struct AbortGuard {
    cancel: CancellationToken,
    /// Absent for a thread, which cannot be aborted
    task: Option<AbortHandle>,
    ended: bool,
}

impl Drop for AbortGuard {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.cancel.cancel();
        if let (Some(task), Ok(runtime)) = (self.task.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move {
                tokio::time::sleep(ABORT_DELAY).await;
                task.abort();
            });
        }
    }
}

/// The warning that an effect may have happened.
fn effect_warning(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "",
        Effect::Keyed | Effect::Once => {
            " It may have had its effect nevertheless: find out before you call it again."
        }
    }
}

/// The error of a call that was cancelled before it began.
pub(crate) fn cancelled(tool: &str) -> CallError {
    let text = format!("The call of {tool} was cancelled before it began. Nothing was done.");
    CallError::new(CallErrorKind::Cancelled, text)
}

fn cancelled_midway(tool: &str, effect: Effect) -> CallError {
    let text = format!("The call of {tool} was cancelled while it ran.{}", effect_warning(effect));
    CallError::new(CallErrorKind::Cancelled, text)
}

fn timed_out(tool: &str, limit: Duration, effect: Effect) -> CallError {
    let advice = match effect {
        Effect::None => " Ask for less at once, or continue without it.",
        Effect::Keyed | Effect::Once => effect_warning(effect),
    };
    let text = format!("{tool} did not finish within {limit:?} and was stopped.{advice}");
    let error = CallError::new(CallErrorKind::TimedOut, text);
    if effect == Effect::None { error.retryable() } else { error }
}

/// The error of a tool that panicked. The panic message is not for the model.
pub(crate) fn panicked(tool: &str, effect: Effect) -> CallError {
    let text = format!(
        "{tool} crashed, through no fault of your call.{} Calling it again with the same arguments \
         will likely crash it again.",
        effect_warning(effect)
    );
    CallError::new(CallErrorKind::Panicked, text)
}
