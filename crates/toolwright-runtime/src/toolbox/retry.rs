//! Retries of a failed tool, and the error text for the model.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{CallError, CallErrorKind, ToolError};
use crate::handler::Handler;
use crate::session::Scope;
use crate::settings::Retry;

/// Waits for the next attempt. Returns false if the deadline or a cancellation comes first.
pub(crate) async fn wait(retry: &Retry, attempt: u32, scope: &Scope) -> bool {
    let wait = jitter(retry.wait(attempt), &scope.key, attempt);
    match Instant::now().checked_add(wait) {
        Some(end) if end < scope.deadline => {}
        _ => return false,
    }
    tokio::select! {
        () = sleep(wait) => true,
        () = scope.cancel.cancelled() => false,
    }
}

/// Shortens a wait by up to a quarter, differently for each call and attempt, so that calls that failed
/// together do not retry together.
fn jitter(wait: Duration, key: &str, attempt: u32) -> Duration {
    let at = usize::try_from(attempt).unwrap_or(0) % key.len().max(1);
    let letter = key.as_bytes().get(at).copied().unwrap_or(0);
    wait.saturating_sub(wait / 1024 * u32::from(letter))
}

/// The error for the model of a tool's own error.
pub(crate) fn failed(handler: &Handler, error: &ToolError) -> CallError {
    let settings = handler.settings();
    let text = match &settings.error_text {
        // The text is written by a function of the host, which may panic.
        Some(write) => std::panic::catch_unwind(AssertUnwindSafe(|| write(error)))
            .unwrap_or_else(|_| format!("{} failed.", handler.tool().name)),
        // The envelope already says that the call failed.
        None if settings.envelope.is_some() => error.message.clone(),
        None => format!("{} failed: {}", handler.tool().name, error.message),
    };
    CallError {
        kind: error.call_kind.unwrap_or(CallErrorKind::Failed),
        text,
        tool_kind: Some(error.kind.clone()),
        retryable: error.retryable,
    }
}

#[cfg(test)]
mod tests {
    use super::jitter;
    use std::time::Duration;

    #[test]
    fn jitter_shortens_waits_by_at_most_a_quarter() {
        let wait = Duration::from_millis(100);
        for key in ["", "0", "0123456789abcdef"] {
            for attempt in 0..20 {
                let spread = jitter(wait, key, attempt);
                assert!(spread <= wait && spread >= wait * 3 / 4, "{key} {attempt} {spread:?}");
            }
        }
        assert_ne!(jitter(wait, "abc", 1), jitter(wait, "abc", 2));
    }
}
