//! A tool that failed: whether it may be tried again, when, and what the model is told.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{CallError, CallErrorKind, ToolError};
use crate::handler::Handler;
use crate::session::Scope;
use crate::settings::Retry;

/// Waits for the next attempt. False if there is no time for one, or the call was given up.
pub(crate) async fn wait(retry: &Retry, attempt: u32, scope: &Scope) -> bool {
    let wait = spread(retry.wait(attempt), &scope.key, attempt);
    match Instant::now().checked_add(wait) {
        Some(end) if end < scope.deadline => {}
        _ => return false,
    }
    tokio::select! {
        () = sleep(wait) => true,
        () = scope.cancel.cancelled() => false,
    }
}

/// Shortens a wait by up to a quarter, differently for each call and attempt, so that calls that
/// failed together do not return together.
fn spread(wait: Duration, key: &str, attempt: u32) -> Duration {
    let at = usize::try_from(attempt).unwrap_or(0) % key.len().max(1);
    let letter = key.as_bytes().get(at).copied().unwrap_or(0);
    wait.saturating_sub(wait / 1024 * u32::from(letter))
}

/// What a model is told of a tool's own error.
pub(crate) fn failed(handler: &Handler, error: &ToolError) -> CallError {
    let settings = handler.settings();
    let text = match &settings.error_text {
        // The words are the host's code, which may fail as any code.
        Some(words) => std::panic::catch_unwind(AssertUnwindSafe(|| words(error)))
            .unwrap_or_else(|_| format!("{} failed.", handler.tool().name)),
        // An envelope says by itself that the call failed.
        None if settings.envelope.is_some() => error.message.clone(),
        None => format!("{} failed: {}", handler.tool().name, error.message),
    };
    CallError {
        kind: CallErrorKind::Failed,
        text,
        tool_kind: Some(error.kind.clone()),
        retryable: error.retryable,
    }
}

#[cfg(test)]
mod tests {
    use super::spread;
    use std::time::Duration;

    #[test]
    fn waits_are_spread_within_a_quarter() {
        let wait = Duration::from_millis(100);
        for key in ["", "0", "0123456789abcdef"] {
            for attempt in 0..20 {
                let spread = spread(wait, key, attempt);
                assert!(spread <= wait && spread >= wait * 3 / 4, "{key} {attempt} {spread:?}");
            }
        }
        assert_ne!(spread(wait, "abc", 1), spread(wait, "abc", 2));
    }
}
