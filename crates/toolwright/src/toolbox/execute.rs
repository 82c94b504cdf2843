//! A call runs: in a task of its own, so that its deadline holds whatever the tool does, behind a
//! fence that a panic does not cross.
//!
//! Whoever waits gives up at the deadline, or when the call is cancelled; the tool is told by its
//! scope's token and stopped a little later. A thread cannot be stopped: a tool that blocks goes on,
//! keeps its permits, and is recorded when it ends.

use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::concurrency;
use super::job::{Job, Ran};
use crate::error::{CallError, CallErrorKind};
use crate::settings::Effect;

/// How long a tool has to clean up when it was given up.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a job, as long as its deadline and the session allow.
pub(crate) async fn execute(job: Job) -> Ran {
    let scope = &job.scope;
    if scope.cancel.is_cancelled() || scope.deadline <= Instant::now() {
        return Ran::refused(concurrency::too_late(scope));
    }
    let (tool, deadline, cancel) = (scope.tool.clone(), scope.deadline, scope.cancel.clone());
    let settings = job.item.handler.settings();
    let (effect, limit) = (settings.effect, settings.deadline);
    let blocking = job.item.handler.is_blocking();
    let attempts = job.attempts.clone();
    let mut task = tokio::spawn(job.run());
    let mut vigil = Vigil {
        cancel: cancel.clone(),
        task: (!blocking).then(|| task.abort_handle()),
        ended: false,
    };
    tokio::select! {
        biased;
        ended = &mut task => {
            vigil.ended = true;
            // The tool has a fence of its own, so this is ours: the runtime shuts down, or we err.
            ended.unwrap_or_else(|_| Ran::failed(panicked(&tool, effect), &attempts))
        }
        () = cancel.cancelled() => Ran::failed(cancelled_midway(&tool, effect), &attempts),
        () = sleep_until(deadline) => Ran::failed(timed_out(&tool, limit, effect), &attempts),
    }
}

/// Watches over a task for as long as somebody waits for it.
struct Vigil {
    cancel: CancellationToken,
    /// None for a thread, which cannot be stopped
    task: Option<AbortHandle>,
    ended: bool,
}

impl Drop for Vigil {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.cancel.cancel();
        if let (Some(task), Ok(runtime)) = (self.task.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move {
                tokio::time::sleep(GRACE).await;
                task.abort();
            });
        }
    }
}

/// What is said of effects where nobody knows.
fn doubt(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "",
        Effect::Keyed | Effect::Once => {
            " It may have had its effect all the same: find out before you call it again."
        }
    }
}

/// Cancelled before anything was done.
pub(crate) fn cancelled(tool: &str) -> CallError {
    let text = format!("The call of {tool} was cancelled before it began. Nothing was done.");
    CallError::new(CallErrorKind::Cancelled, text)
}

fn cancelled_midway(tool: &str, effect: Effect) -> CallError {
    let text = format!("The call of {tool} was cancelled while it ran.{}", doubt(effect));
    CallError::new(CallErrorKind::Cancelled, text)
}

fn timed_out(tool: &str, limit: Duration, effect: Effect) -> CallError {
    let advice = match effect {
        Effect::None => " Ask for less at once, or go on without it.",
        Effect::Keyed | Effect::Once => doubt(effect),
    };
    let text = format!("{tool} did not end within {limit:?} and was given up.{advice}");
    let error = CallError::new(CallErrorKind::TimedOut, text);
    if effect == Effect::None { error.retryable() } else { error }
}

/// A tool's panic. Its words are for the tool's author, not for a model.
pub(crate) fn panicked(tool: &str, effect: Effect) -> CallError {
    let text = format!(
        "{tool} crashed, through no fault of your call.{} Calling it again with the same arguments \
         will likely crash it again.",
        doubt(effect)
    );
    CallError::new(CallErrorKind::Panicked, text)
}
