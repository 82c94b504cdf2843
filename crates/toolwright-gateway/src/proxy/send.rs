//! A prepared request to its upstream, as often as it takes and may.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use toolwright::upstream::retry::{Retry, RetryHint, Verdict};
use toolwright::upstream::{Incoming, Outgoing, Remote};
use toolwright_core::dialect::WireReply;
use toolwright_core::{Fault, FaultClass, Json};

use super::ask::Ask;
use super::headers;
use super::prepare::Prepared;
use super::weight::SMALL;
use crate::telemetry::record::Attempt;
use crate::telemetry::{AttemptContext, trace};

/// Why an upstream gave no answer.
pub struct Failure {
    /// What it said, or what went wrong on the way
    pub fault: Fault,
    /// Its own words, if it said something
    pub said: Option<Said>,
    /// Where it is at fault
    blame: Blame,
}

/// What would have to be another for an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blame {
    /// What the fault's class says
    Class,
    /// The upstream: the request cannot be said to this one
    Pair,
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
    /// A request that cannot be said to this upstream, and perhaps to another.
    pub fn unfit(fault: Fault) -> Box<Failure> {
        Box::new(Failure { fault, said: None, blame: Blame::Pair })
    }

    /// Whether the upstream was not asked, because the request does not fit it.
    pub fn is_unfit(&self) -> bool {
        self.blame == Blame::Pair
    }

    /// Whether nobody else needs to be asked: the request itself is at fault.
    pub fn is_final(&self) -> bool {
        !self.is_unfit() && matches!(self.fault.class, FaultClass::Invalid | FaultClass::TooLarge)
    }
}

impl From<Fault> for Box<Failure> {
    fn from(fault: Fault) -> Box<Failure> {
        Box::new(Failure { fault, said: None, blame: Blame::Class })
    }
}

/// The longest failure that is read. It is not weighed.
const LONGEST: usize = SMALL;

/// Sends until there is an answer, or a failure that is not to be tried again: at once, or after a
/// wait for which there is patience. Each attempt is noted when it ends, or is given up because the
/// client left.
pub async fn send(
    ask: &Ask,
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
        let parent = context.traceparent(count);
        count += 1;
        let mut attempt = Attempting {
            upstream: remote.id(),
            context,
            began,
            fault: None,
            add: &mut add_attempt,
        };
        let sent = once(ask, remote, prepared, parent).await;
        attempt.fault = sent.as_ref().err().map(|failure| failure.fault.class);
        drop(attempt);
        let failure = match sent {
            Ok(incoming) => return Ok(incoming),
            Err(failure) => failure,
        };
        let headers = failure.said.as_ref().map(|said| &said.headers);
        let hint = headers.map(|headers| RetryHint::from_headers(headers, SystemTime::now()));
        match retry.after_reply(&failure.fault, hint.unwrap_or_default()) {
            Verdict::Wait(wait) if wait <= patience => tokio::time::sleep(wait).await,
            Verdict::Wait(_) | Verdict::GiveUp => return Err(failure),
        }
    }
}

/// An attempt under way, noted when it ends.
struct Attempting<'a, N: FnMut(Attempt)> {
    upstream: &'a str,
    context: AttemptContext,
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
    ask: &Ask,
    remote: &Remote,
    prepared: &Prepared,
    parent: Option<HeaderValue>,
) -> Result<Incoming, Box<Failure>> {
    let mut outgoing = Outgoing {
        method: Method::POST,
        path: prepared.path.clone(),
        headers: prepared.headers.clone(),
        body: prepared.body.clone(),
        client: ask.credential.clone(),
    };
    if let Some(parent) = parent {
        outgoing.headers.insert(trace::HEADER, parent);
    }
    let incoming = remote.send(outgoing).await?;
    if incoming.status.is_success() { Ok(incoming) } else { Err(refusal(remote, incoming).await) }
}

/// What an upstream says in a reply that is no success, without its key.
pub(crate) async fn refusal(remote: &Remote, incoming: Incoming) -> Box<Failure> {
    let Incoming { status, headers, body } = incoming;
    // The status says enough where the body cannot be had, or is no API's.
    let mut body = body.collect(LONGEST).await.unwrap_or_default();
    if let Cow::Owned(redacted) = remote.redact_key(str::from_utf8(&body).unwrap_or_default()) {
        body = Bytes::from(redacted);
    }
    let mut parsed = Json::parse_bytes(&body).unwrap_or(Json::Null);
    if parsed.as_object().is_none() {
        (body, parsed) = (Bytes::new(), Json::Null);
    }
    let told = headers::told(&headers);
    let wire = WireReply { status: status.as_u16(), headers: told, body: parsed };
    let fault = remote.codec().decode_fault(wire);
    let said = Some(Said { status, headers, body });
    Box::new(Failure { fault, said, blame: Blame::Class })
}
