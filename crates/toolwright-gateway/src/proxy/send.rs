//! Sends a prepared request to its upstream, with retries.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use toolwright_core::{Fault, FaultClass, Json, wire_json};
use toolwright_dialects::dialect::WireReply;
use toolwright_runtime::upstream::retry::{Retry, RetryHint, Verdict};
use toolwright_runtime::upstream::{Incoming, Outgoing, Remote};

use super::headers;
use super::inbound::InboundRequest;
use super::prepare::Prepared;
use super::weight::UNWEIGHED_BYTES;
use crate::telemetry::record::Attempt;
use crate::telemetry::{AttemptContext, trace};

/// Why an upstream did not answer.
pub struct Failure {
    /// The fault, decoded from the reply or raised on the way
    pub fault: Fault,
    /// The reply, if there was one
    pub error: Option<UpstreamError>,
    /// What the failure depends on
    blame: Blame,
}

/// What a failure depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blame {
    /// The class of the fault
    Class,
    /// The upstream, whose dialect cannot express the request
    Pair,
}

/// The error reply of an upstream, as it was received.
pub struct UpstreamError {
    /// Its status
    pub status: StatusCode,
    /// Its headers
    pub headers: HeaderMap,
    /// Its body; empty if it cannot be passed on
    pub body: Bytes,
}

impl Failure {
    /// Creates the failure of a request that this upstream cannot take, but another one may.
    pub fn unfit(fault: Fault) -> Box<Failure> {
        Box::new(Failure { fault, error: None, blame: Blame::Pair })
    }

    /// Whether the upstream was not asked, because the request does not fit it.
    pub fn is_unfit(&self) -> bool {
        self.blame == Blame::Pair
    }

    /// Whether the request itself is at fault, so that no other upstream is asked.
    pub fn is_final(&self) -> bool {
        !self.is_unfit() && matches!(self.fault.class, FaultClass::Invalid | FaultClass::TooLarge)
    }
}

impl From<Fault> for Box<Failure> {
    fn from(fault: Fault) -> Box<Failure> {
        Box::new(Failure { fault, error: None, blame: Blame::Class })
    }
}

/// Maximum size in bytes of an error reply that is read. No memory is reserved for it.
const MAX_ERROR_BODY: usize = UNWEIGHED_BYTES;

/// Sends a request until there is an answer or a failure that is not retried. Retries that would wait
/// longer than `patience` are not made. Each attempt is recorded when it ends or the client disconnects.
pub async fn send(
    inbound: &InboundRequest,
    remote: &Remote,
    prepared: &Prepared,
    patience: Duration,
    context: AttemptContext,
    mut add_attempt: impl FnMut(Attempt),
) -> Result<Incoming, Box<Failure>> {
    let mut retry = Retry::new(remote.retries());
    let mut count = 0;
    loop {
        let began = context.elapsed();
        count += 1;
        let mut attempt = Attempting {
            upstream: remote.id(),
            context: &context,
            began,
            fault: None,
            add: &mut add_attempt,
        };
        let sent = once(inbound, remote, prepared, &context, count - 1).await;
        attempt.fault = sent.as_ref().err().map(|failure| failure.fault.class);
        drop(attempt);
        let failure = match sent {
            Ok(incoming) => return Ok(incoming),
            Err(failure) => failure,
        };
        let headers = failure.error.as_ref().map(|error| &error.headers);
        let hint = headers.map(|headers| RetryHint::from_headers(headers, SystemTime::now()));
        match retry.after_reply(&failure.fault, hint.unwrap_or_default()) {
            Verdict::Wait(wait) if wait <= patience => tokio::time::sleep(wait).await,
            Verdict::Wait(_) | Verdict::GiveUp => return Err(failure),
        }
    }
}

/// An attempt in progress, recorded when it is dropped.
struct Attempting<'a, N: FnMut(Attempt)> {
    upstream: &'a str,
    context: &'a AttemptContext,
    began: Duration,
    fault: Option<FaultClass>,
    add: &'a mut N,
}

impl<N: FnMut(Attempt)> Drop for Attempting<'_, N> {
    fn drop(&mut self) {
        let took = self.context.elapsed().saturating_sub(self.began);
        let (upstream, fault, began) = (self.upstream.into(), self.fault, self.began);
        (self.add)(Attempt { upstream, fault, began, took });
    }
}

async fn once(
    inbound: &InboundRequest,
    remote: &Remote,
    prepared: &Prepared,
    context: &AttemptContext,
    attempts: usize,
) -> Result<Incoming, Box<Failure>> {
    let mut outgoing = Outgoing {
        method: Method::POST,
        path: prepared.path.clone(),
        headers: prepared.headers.clone(),
        body: prepared.body.clone(),
        client: inbound.credential.clone(),
    };
    if let Some(parent) = context.traceparent(attempts) {
        outgoing.headers.insert(trace::HEADER, parent);
    }
    let observer = context.wire.as_ref().map(|wire| wire.begin(remote.id(), &prepared.body));
    let mut incoming = remote.send(outgoing).await?;
    if let Some(observer) = observer {
        incoming.body.observe(observer);
    }
    if incoming.status.is_success() { Ok(incoming) } else { Err(refusal(remote, incoming).await) }
}

/// Decodes the error reply of an upstream. Its key is redacted.
pub(crate) async fn refusal(remote: &Remote, incoming: Incoming) -> Box<Failure> {
    let Incoming { status, headers, body } = incoming;
    // The status is enough if the body cannot be read or is not that of an API.
    let mut body = body.collect(MAX_ERROR_BODY).await.unwrap_or_default();
    if let Cow::Owned(redacted) = remote.redact_key(str::from_utf8(&body).unwrap_or_default()) {
        body = Bytes::from(redacted);
    }
    let mut parsed = wire_json::parse_bytes(&body).unwrap_or(Json::Null);
    if parsed.as_object().is_none() {
        (body, parsed) = (Bytes::new(), Json::Null);
    }
    let told = headers::for_codec(&headers);
    let wire = WireReply { status: status.as_u16(), headers: told, body: parsed };
    let fault = remote.codec().decode_fault(wire);
    let error = Some(UpstreamError { status, headers, body });
    Box::new(Failure { fault, error, blame: Blame::Class })
}
