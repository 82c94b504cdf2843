//! A prepared request to its upstream, as often as it takes and may.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use toolwright::upstream::retry::{Hint, Retry, Verdict};
use toolwright::upstream::{Incoming, Outgoing, Remote};
use toolwright_core::dialect::WireReply;
use toolwright_core::{Fault, FaultClass, Json};

use super::ask::Ask;
use super::headers;
use super::prepare::Prepared;
use super::weight::SMALL;
use crate::telemetry::exchanged::Attempt;
use crate::telemetry::{Trail, trace};

/// Why an upstream gave no answer.
pub struct Failure {
    /// What it said, or what went wrong on the way
    pub fault: Fault,
    /// Its own words, if it said something
    pub said: Option<Said>,
}

/// A reply that is no answer, as it came.
pub struct Said {
    /// Its status
    pub status: StatusCode,
    /// Its headers
    pub headers: HeaderMap,
    /// Its body; empty if it cannot be passed on
    pub body: Bytes,
}

impl Failure {
    /// Whether nobody else needs to be asked: the request itself is at fault.
    pub fn is_final(&self) -> bool {
        matches!(self.fault.class, FaultClass::Invalid | FaultClass::TooLarge)
    }
}

impl From<Fault> for Box<Failure> {
    fn from(fault: Fault) -> Box<Failure> {
        Box::new(Failure { fault, said: None })
    }
}

/// How long to wait for another attempt while there is somebody else to ask.
pub const IMPATIENT: Duration = Duration::from_secs(1);

/// The longest failure that is read. It is not weighed.
const LONGEST: usize = SMALL;

/// Sends until there is an answer, or a failure that is not to be tried again: at once, or after a
/// wait for which there is patience. Attempts are noted.
pub async fn send(
    ask: &Ask,
    remote: &Remote,
    prepared: &Prepared,
    patience: Duration,
    trail: Trail,
    attempts: &mut Vec<Attempt>,
) -> Result<Incoming, Box<Failure>> {
    let mut retry = Retry::new(remote.retries());
    loop {
        let began = trail.elapsed();
        let parent = trail.traceparent(attempts.len());
        let sent = once(ask, remote, prepared, parent).await;
        let fault = sent.as_ref().err().map(|failure| failure.fault.class);
        let took = trail.elapsed().saturating_sub(began);
        attempts.push(Attempt { upstream: remote.id().into(), fault, began, took });
        let failure = match sent {
            Ok(incoming) => return Ok(incoming),
            Err(failure) => failure,
        };
        let headers = failure.said.as_ref().map(|said| &said.headers);
        let hint = headers.map(|headers| Hint::of(headers, SystemTime::now()));
        match retry.after_reply(&failure.fault, hint.unwrap_or_default()) {
            Verdict::Wait(wait) if wait <= patience => tokio::time::sleep(wait).await,
            Verdict::Wait(_) | Verdict::GiveUp => return Err(failure),
        }
    }
}

async fn once(
    ask: &Ask,
    remote: &Remote,
    prepared: &Prepared,
    parent: Option<HeaderValue>,
) -> Result<Incoming, Box<Failure>> {
    let mut outgoing = Outgoing {
        path: prepared.path.clone(),
        headers: prepared.headers.clone(),
        body: prepared.body.clone(),
        client: ask.credential.clone(),
    };
    if let Some(parent) = parent {
        outgoing.headers.insert(trace::HEADER, parent);
    }
    let incoming = remote.send(outgoing).await?;
    if incoming.status.is_success() {
        return Ok(incoming);
    }
    let Incoming { status, headers, body } = incoming;
    // The status says enough where the body cannot be had, is no API's, or has a key in it.
    let mut body = body.collect(LONGEST).await.unwrap_or_default();
    let mut parsed = Json::parse_bytes(&body).unwrap_or(Json::Null);
    if parsed.as_object().is_none() || remote.is_given_away(&body) {
        (body, parsed) = (Bytes::new(), Json::Null);
    }
    let told = headers::told(&headers);
    let wire = WireReply { status: status.as_u16(), headers: told, body: parsed };
    let fault = remote.codec().decode_fault(wire);
    Err(Box::new(Failure { fault, said: Some(Said { status, headers, body }) }))
}
