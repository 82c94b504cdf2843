//! Cancels requests whose callers no longer wait.

use toolwright_core::object;
use toolwright_dialects::dialect::mcp::Era;

use super::{Core, Link};
use crate::message::{Message, Notification};
use crate::protocol::CANCELLED;

/// Cancels a request that is no longer wanted. Over HTTP without a handshake, closing the stream does that.
pub(super) struct CancelOnDrop<'c> {
    pub(super) core: &'c Core,
    /// The request; none once it was answered
    pub(super) id: Option<u64>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let params = object! {"requestId": id, "reason": "the caller no longer waits"};
        let message = Message::Notification(Notification { method: CANCELLED.to_owned(), params });
        let runtime = tokio::runtime::Handle::try_current();
        match (&self.core.link, runtime) {
            (Link::Stdio(stdio), _) => stdio.try_send(&message),
            (Link::Http(http), Ok(runtime)) if self.core.era == Era::Handshake => {
                let http = http.clone();
                runtime.spawn(async move {
                    let _ = http.notify(&message).await;
                });
            }
            (Link::Sse(sse), Ok(runtime)) => {
                let sender = sse.sender.clone();
                runtime.spawn(async move { sender.notify(&message).await });
            }
            _ => {}
        }
    }
}
