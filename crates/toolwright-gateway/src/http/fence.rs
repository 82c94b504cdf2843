//! The fence around a request: a panic in it is a fault of that request and of no other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// The future panicked. What it said is with the panic hook, for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("panicked")]
pub struct Panicked;

/// Runs a future to its end or to its panic. The future is somewhere else: a connection would keep
/// room for it from its first request to its end.
pub async fn fenced<T>(mut future: Pin<Box<impl Future<Output = T>>>) -> Result<T, Panicked> {
    std::future::poll_fn(|cx| {
        // The future is never polled again after a panic, so nobody sees what the panic left behind.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    })
    .await
}
