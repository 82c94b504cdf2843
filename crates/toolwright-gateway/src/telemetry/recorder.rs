//! Records one exchange, from the head of its request to the last byte of its reply.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use toolwright_core::{Dialect, FaultClass, Usage};
use toolwright_dialects::translate::Report;

use super::attempts::AttemptContext;
use super::record::{Attempt, ExchangeRecord, Payloads};
use super::run::RunRecord;
use super::trace::Trace;
use super::wire::{MAX_RECORDED_BODY, WireRecorder};
use super::{RequestId, Telemetry};
use crate::key::Reservation;

/// Bytes of JSON or text that count as a token where nothing is decoded.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Records one exchange, and charges its client. Emits exactly one record: when it is dropped, as a
/// finished exchange after [`ExchangeRecorder::complete`], otherwise as one whose client disconnected.
#[derive(Debug)]
pub struct ExchangeRecorder {
    /// The record so far. Boxed, because the recorder moves through several futures
    pub record: Box<ExchangeRecord>,
    telemetry: Telemetry,
    began: Instant,
    /// The current span of work; none while the gateway waits for client, upstream or tools
    busy: Option<BusySpan>,
    /// Whether the whole reply was sent, successful or with a fault
    is_complete: bool,
    /// Estimated tokens of the reply so far, where they can be counted as they arrive
    pub output_tokens: Option<u64>,
    /// Tokens that are reserved for the exchange, if those of its client are limited
    pub reservation: Option<Reservation>,
    /// The record of a run of tools
    pub run: Option<RunRecord>,
    /// Records the bodies of attempts, if the ledger has them
    wire: Option<WireRecorder>,
}

/// A span of time in which the gateway works on an exchange, from its creation until it is given to
/// [`ExchangeRecorder::add_busy`].
#[derive(Debug)]
#[must_use]
pub struct BusySpan(Instant);

impl BusySpan {
    /// Starts a span now.
    pub fn start() -> BusySpan {
        BusySpan(Instant::now())
    }
}

/// Excludes a wait from the time that the gateway adds, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Waiting<'r>(&'r mut ExchangeRecorder);

impl Waiting<'_> {
    /// Records an attempt at an upstream.
    pub fn add_attempt(&mut self, attempt: Attempt) {
        self.0.record.attempts.push(attempt);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.busy = Some(BusySpan::start());
    }
}

impl ExchangeRecorder {
    pub(super) fn new(record: ExchangeRecord, telemetry: Telemetry) -> ExchangeRecorder {
        telemetry.0.metrics.begun();
        ExchangeRecorder {
            record: Box::new(record),
            telemetry,
            began: Instant::now(),
            busy: None,
            is_complete: false,
            output_tokens: None,
            reservation: None,
            run: None,
            wire: None,
        }
    }

    /// The id of the request.
    pub fn id(&self) -> RequestId {
        self.record.id
    }

    /// The time since the exchange began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Counts the time from the start of a span on as work, except for waits.
    pub fn work(&mut self, span: BusySpan) {
        self.busy = Some(span);
    }

    /// Ends the current span of work, and counts no more until the returned guard is dropped.
    pub fn wait(&mut self) -> Waiting<'_> {
        self.end_work();
        Waiting(self)
    }

    /// Ends the current span of work. The time for the body of the reply is added separately.
    pub fn end_work(&mut self) {
        if let Some(span) = self.busy.take() {
            self.add_busy(span);
        }
    }

    /// Adds a span to the time that the gateway adds.
    pub fn add_busy(&mut self, BusySpan(start): BusySpan) {
        self.record.timing.added += start.elapsed();
    }

    /// Sets the span in a trace by the client's headers.
    pub fn trace(&mut self, headers: &HeaderMap) {
        self.record.trace = Some(Trace::of(headers, self.record.id));
    }

    /// Records the request, with its body if payloads are recorded.
    pub fn set_request(&mut self, model: &str, stream: bool, body: &Bytes) {
        self.record.requested_model = Some(model.into());
        self.record.stream = stream;
        self.record.bytes_in = body.len() as u64;
        if self.telemetry.wants_payloads() {
            let request = body.slice(..body.len().min(MAX_RECORDED_BODY));
            self.record.payloads = Some(Payloads { request, ..Payloads::default() });
            self.wire = self.telemetry.records().wants_payloads().then(WireRecorder::default);
        }
    }

    /// Starts with an upstream, `None` in place of a dialect for the model of the gateway. What was
    /// recorded of an earlier one is dropped.
    pub fn set_upstream(&mut self, upstream: &str, dialect: Option<Dialect>) {
        self.record.upstream = Some(upstream.into());
        self.record.upstream_dialect = dialect;
        self.record.untouched = false;
        self.record.request_report = Report::default();
    }

    /// Records that the last attempt failed after the head of its reply.
    pub fn fail_attempt(&mut self, fault: FaultClass) {
        if let Some(attempt) = self.record.attempts.last_mut() {
            attempt.fault = Some(fault);
        }
    }

    /// Records bytes of the reply's body that leave now.
    pub fn add_sent(&mut self, bytes: &[u8]) {
        if self.record.timing.first_byte.is_none() {
            self.record.timing.first_byte = Some(self.elapsed());
        }
        self.record.bytes_out += bytes.len() as u64;
        if let Some(Payloads { response, .. }) = &mut self.record.payloads {
            let room = MAX_RECORDED_BODY.saturating_sub(response.len());
            response.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Adds the record of the run so far.
    pub fn merge_run(&mut self) {
        if let Some(run) = &self.run {
            run.merge_into(&mut self.record);
        }
    }

    /// What attempts at upstreams need to know of the exchange.
    pub fn attempt_context(&self) -> AttemptContext {
        let recorded = self.telemetry.traces();
        let before = self.record.attempts.len();
        let (began, trace, wire) = (self.began, self.record.trace, self.wire.clone());
        AttemptContext { began, trace, recorded, before, wire }
    }

    /// The header `traceparent` for the next attempt at an upstream.
    pub fn traceparent(&self) -> Option<HeaderValue> {
        self.attempt_context().traceparent(0)
    }

    /// Publishes the losses so far, for a client that sees the header before the end of the reply. At
    /// the end they are published again, complete.
    pub fn publish_losses(&self) {
        self.telemetry.publish_losses(&self.record);
    }

    /// Marks the exchange as finished: the whole reply was sent, successful or with a fault.
    pub fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Finishes the exchange and emits its record.
    pub fn finish(mut self) {
        self.complete();
    }

    /// The tokens to charge: as the upstream counts them, or estimated if it does not say or the client
    /// disconnected before it could.
    fn used_tokens(&self) -> u64 {
        let record = &self.record;
        let total = record.usage.as_ref().map_or(0, Usage::total);
        let is_counted = record.usage.as_ref().is_some_and(|usage| usage.output.is_some());
        let is_whole = self.is_complete && record.fault.is_none();
        // An upstream was asked, and the client disconnected before the reply began.
        let is_left = record.status == 0 && !self.is_complete && record.upstream_dialect.is_some();
        if (is_counted && is_whole) || !(is_left || (200..300).contains(&record.status)) {
            return total;
        }
        let output = self.output_tokens.unwrap_or(record.bytes_out / BYTES_PER_TOKEN);
        total.max((record.bytes_in / BYTES_PER_TOKEN).saturating_add(output))
    }
}

impl Drop for ExchangeRecorder {
    fn drop(&mut self) {
        self.merge_run();
        if let Some(mut reservation) = self.reservation.take() {
            let used = self.used_tokens();
            let unpaid = self.run.as_ref().map_or(used, |run| run.unpaid(used));
            reservation.charge(unpaid, Instant::now());
        }
        if !self.is_complete && std::thread::panicking() {
            // The client is still there and gets the fault.
            self.record.fault = Some(FaultClass::Internal);
            self.record.status = 500;
        }
        self.record.client_left |= !self.is_complete && !std::thread::panicking();
        self.record.timing.total = self.elapsed();
        if let (Some(payloads), Some(wire)) = (&mut self.record.payloads, &self.wire) {
            payloads.upstream = wire.take();
            // The bytes of the last attempt are those of the client.
            payloads.upstream.pop_if(|_| self.record.untouched);
        }
        self.telemetry.0.metrics.ended();
        self.telemetry.emit_parts(&mut self.record);
    }
}
