//! Sends a wire request and retries it while a retry may help and the caller has seen nothing.

use std::future::Future;
use std::time::SystemTime;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use toolwright_core::{Fault, wire_json};
use toolwright_dialects::dialect::{DecodeError, WireReply, WireRequest};
use toolwright_transport::HttpFault;

use super::fault::{fault_of, invalid_response};
use super::retry::{Retry, RetryHint, Verdict};
use super::{Incoming, Outgoing, Remote};

/// Maximum size, in bytes, of a complete response.
pub(super) const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Maximum size, in bytes, of an error body that is read.
const MAX_ERROR_BYTES: usize = 1024 * 1024;

/// Why an attempt failed.
pub(super) struct Failure {
    fault: Fault,
    hint: RetryHint,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure { fault, hint: RetryHint::default() }
    }
}

impl From<HttpFault> for Failure {
    fn from(fault: HttpFault) -> Failure {
        fault_of(fault).into()
    }
}

impl Failure {
    /// The fault for the caller.
    pub(super) fn into_fault(self) -> Fault {
        self.fault
    }
}

/// Runs an attempt, and retries it while that may help.
pub(super) async fn with_retries<T, A>(
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

/// Builds the HTTP request of a wire request.
pub(super) fn outgoing(wire: WireRequest) -> Outgoing {
    let pairs = wire.headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value).ok()?))
    });
    let headers: HeaderMap = pairs.collect();
    Outgoing::new(wire.path, wire.body.compact()).with_headers(headers)
}

/// Sends a request once and returns a successful response.
pub(super) async fn send(remote: &Remote, outgoing: &Outgoing) -> Result<Incoming, Failure> {
    let incoming = remote.send(outgoing.clone()).await?;
    if incoming.status.is_success() {
        return Ok(incoming);
    }
    let Incoming { status, headers, body } = incoming;
    // The status is enough if the body cannot be read.
    let body = body.collect(MAX_ERROR_BYTES).await.unwrap_or_default();
    let hint = RetryHint::from_headers(&headers, SystemTime::now());
    let body = wire_json::parse_bytes(&body).unwrap_or_default();
    let wire = WireReply { status: status.as_u16(), headers: wire_headers(&headers), body };
    Err(Failure { fault: hint.apply_to(remote.codec().decode_fault(wire)), hint })
}

/// Reads a response as a JSON document.
pub(super) async fn document(remote: &Remote, incoming: Incoming) -> Result<WireReply, Failure> {
    let Incoming { status, headers, body } = incoming;
    let body = body.collect(MAX_RESPONSE_BYTES).await?;
    match wire_json::parse_bytes(&body) {
        Ok(body) => {
            Ok(WireReply { status: status.as_u16(), headers: wire_headers(&headers), body })
        }
        Err(_) => Err(invalid_response(remote.label(), "sent a response that is not JSON").into()),
    }
}

/// The failure of a response that cannot be decoded. Some vendors send a fault with a success status;
/// then it is that fault.
pub(super) fn unreadable(remote: &Remote, wire: WireReply, error: &DecodeError) -> Failure {
    if wire.body.get("error").is_some_and(|error| !error.is_null()) {
        return remote.codec().decode_fault(wire).into();
    }
    let what = format!("sent a response that is invalid in its dialect ({error})");
    invalid_response(remote.label(), &what).into()
}

fn wire_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    headers.iter().filter_map(text).collect()
}
