//! Bodies between the gateway and its upstreams, for the ledger.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use toolwright_transport::BodyObserver;

use super::record::{Payloads, UpstreamPayloads};

/// Maximum number of bytes of a body that are recorded.
pub(super) const MAX_RECORDED_BODY: usize = 1 << 20;

/// Maximum number of attempts of an exchange whose bodies are recorded.
const MAX_RECORDED_ATTEMPTS: usize = 8;

/// Records the bodies of the attempts of an exchange. Clones share one record.
#[derive(Debug, Clone, Default)]
pub struct WireRecorder(Arc<Mutex<UpstreamPayloads>>);

impl WireRecorder {
    /// Records the body of a request, and returns the function that records the body of its reply.
    pub fn begin(&self, upstream: &str, request: &Bytes) -> BodyObserver {
        let (own, mut all) = (self.clone(), self.0.lock());
        let (index, request) = (all.len(), request.slice(..request.len().min(MAX_RECORDED_BODY)));
        if index < MAX_RECORDED_ATTEMPTS {
            all.push((upstream.into(), Payloads { request, ..Payloads::default() }));
        }
        Box::new(move |bytes| {
            // The record is taken when the exchange ends.
            if let Some((_, Payloads { response, .. })) = own.0.lock().get_mut(index) {
                let room = MAX_RECORDED_BODY.saturating_sub(response.len());
                response.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        })
    }

    /// Takes all bodies.
    pub(super) fn take(&self) -> UpstreamPayloads {
        std::mem::take(&mut *self.0.lock())
    }
}
