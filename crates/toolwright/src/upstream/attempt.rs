//! A wire request to an upstream, as often as it takes: sent, judged by the status of its reply,
//! and sent again while that may help and the caller has seen nothing.

use std::future::Future;
use std::time::SystemTime;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use toolwright_core::dialect::{DecodeError, WireReply, WireRequest};
use toolwright_core::fault::Fault;
use toolwright_core::json::Json;

use super::retry::{Hint, Retry, Verdict};
use super::transport::fault;
use super::{Incoming, Outgoing, Remote};

/// The most bytes of a whole answer.
pub(super) const ANSWER: usize = 64 * 1024 * 1024;

/// The most bytes of an error that are read; what is longer is no error of an API.
const ERROR: usize = 1024 * 1024;

/// Why an attempt came to nothing.
pub(super) struct Failure {
    fault: Fault,
    hint: Hint,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure { fault, hint: Hint::default() }
    }
}

impl Failure {
    /// What it is to the caller, who does not try again.
    pub(super) fn into_fault(self) -> Fault {
        self.fault
    }
}

/// Makes an attempt, and further ones while they may help.
pub(super) async fn persist<T, A>(
    remote: &Remote,
    attempt: impl Fn() -> A + Send,
) -> Result<T, Fault>
where
    A: Future<Output = Result<T, Failure>> + Send,
{
    let mut retry = Retry::new(remote.retries());
    loop {
        let Failure { fault, hint } = match attempt().await {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        match retry.after_reply(&fault, hint) {
            Verdict::Wait(wait) => tokio::time::sleep(wait).await,
            Verdict::GiveUp => return Err(fault),
        }
    }
}

/// Writes what is sent.
pub(super) fn outgoing(wire: WireRequest) -> Outgoing {
    let pairs = wire.headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value).ok()?))
    });
    let headers: HeaderMap = pairs.collect();
    Outgoing::new(wire.path, wire.body.compact()).with_headers(headers)
}

/// Sends it once, and gives the reply if it is a success.
pub(super) async fn send(remote: &Remote, outgoing: &Outgoing) -> Result<Incoming, Failure> {
    let incoming = remote.send(outgoing.clone()).await?;
    if incoming.status.is_success() {
        return Ok(incoming);
    }
    let Incoming { status, headers, body } = incoming;
    // The status says enough where the body cannot be had.
    let body = body.collect(ERROR).await.unwrap_or_default();
    let hint = Hint::of(&headers, SystemTime::now());
    let body = Json::parse_bytes(&body).unwrap_or_default();
    let wire = WireReply { status: status.as_u16(), headers: wire_headers(&headers), body };
    Err(Failure { fault: hint.told(remote.codec().decode_fault(wire)), hint })
}

/// Reads a success as a JSON document.
pub(super) async fn document(remote: &Remote, incoming: Incoming) -> Result<WireReply, Failure> {
    let Incoming { status, headers, body } = incoming;
    let body = body.collect(ANSWER).await?;
    match Json::parse_bytes(&body) {
        Ok(body) => {
            Ok(WireReply { status: status.as_u16(), headers: wire_headers(&headers), body })
        }
        Err(_) => {
            Err(fault::answer(remote.id(), "answered with something that is not JSON").into())
        }
    }
}

/// What a reply that could not be read is to the caller. Some vendors say a fault with a status of
/// success: then it is that fault.
pub(super) fn unreadable(remote: &Remote, wire: WireReply, error: &DecodeError) -> Failure {
    if wire.body.get("error").is_some_and(|error| !error.is_null()) {
        return remote.codec().decode_fault(wire).into();
    }
    let what = format!("answered with something that is no answer of its dialect ({error})");
    fault::answer(remote.id(), &what).into()
}

fn wire_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    headers.iter().filter_map(text).collect()
}
