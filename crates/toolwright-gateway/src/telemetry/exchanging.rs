//! An exchange under way. However it ends, it is told of once: when it is finished, or when it is
//! dropped because the client left.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue};
use toolwright_core::FaultClass;

use super::trace::Trace;
use super::trail::Trail;
use bytes::Bytes;

use super::exchanged::Payloads;
use super::{Exchanged, Telemetry};

/// What is known of an exchange so far. It reads and writes as an [`Exchanged`].
#[derive(Debug)]
pub struct Exchanging {
    /// In a place of its own, since it goes through many hands
    told: Box<Exchanged>,
    telemetry: Telemetry,
    began: Instant,
    end: End,
}

/// The most bytes of a body that are told.
const LONGEST: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Finished,
}

impl Exchanging {
    pub(super) fn new(told: Exchanged, telemetry: Telemetry) -> Exchanging {
        telemetry.0.metrics.begun();
        Exchanging { told: Box::new(told), telemetry, began: Instant::now(), end: End::Open }
    }

    /// How long it has lasted.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Some of the reply's body leaves now.
    pub fn sent(&mut self, bytes: &[u8]) {
        if self.told.took.first_byte.is_none() {
            self.told.took.first_byte = Some(self.elapsed());
        }
        self.told.bytes_out += bytes.len() as u64;
        if let Some(Payloads { response, .. }) = &mut self.told.payloads {
            let room = LONGEST.saturating_sub(response.len());
            response.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Brings the bodies along, where somebody wants them.
    pub fn bring(&mut self, request: &Bytes) {
        if self.telemetry.wants_payloads() {
            let request = request.slice(..request.len().min(LONGEST));
            self.told.payloads = Some(Payloads { request, response: Vec::new() });
        }
    }

    /// Takes the place in a trace that the client's headers give it.
    pub fn traced(&mut self, headers: &HeaderMap) {
        self.told.trace = Some(Trace::of(headers, self.told.id));
    }

    /// What attempts at upstreams must know of it.
    pub fn trail(&self) -> Trail {
        let recorded = self.telemetry.traces();
        Trail { began: self.began, trace: self.told.trace, recorded, before: 0 }
    }

    /// The header `traceparent` for the next attempt at an upstream.
    pub fn traceparent(&self) -> Option<HeaderValue> {
        self.trail().traceparent(self.told.attempts.len())
    }

    /// Keeps the reports as they are now, so that a client that sees the header before the end finds
    /// them. At the end they are kept again, whole.
    pub fn lost(&self) {
        self.telemetry.lost(&self.told);
    }

    /// All was said, well or with a fault: the client is still there.
    pub fn complete(&mut self) {
        self.end = End::Finished;
    }

    /// It is complete, and told of.
    pub fn finish(mut self) {
        self.complete();
    }
}

impl Deref for Exchanging {
    type Target = Exchanged;

    fn deref(&self) -> &Exchanged {
        &self.told
    }
}

impl DerefMut for Exchanging {
    fn deref_mut(&mut self) -> &mut Exchanged {
        &mut self.told
    }
}

impl Drop for Exchanging {
    fn drop(&mut self) {
        let open = self.end == End::Open;
        if open && std::thread::panicking() {
            // The client is there, and is told that we failed.
            self.told.fault = Some(FaultClass::Internal);
            self.told.status = 500;
        }
        self.told.left |= open && !std::thread::panicking();
        self.told.took.total = self.elapsed();
        self.telemetry.0.metrics.ended();
        self.telemetry.tell(&mut self.told);
    }
}
