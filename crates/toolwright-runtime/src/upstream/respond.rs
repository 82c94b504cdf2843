//! Sends a canonical request to a vendor and decodes its response.
//!
//! ```text
//! Request → fit → encode → send (again) → decode → restore → Response, or its events
//! ```

use std::future::Future;

use toolwright_core::event::split;
use toolwright_core::{Fault, Request, Response};
use toolwright_dialects::dialect::WireReply;
use toolwright_dialects::frame::Framing;
use toolwright_dialects::translate::{Report, TranslateError, VendorCodec};

use super::attempt::{self, Failure};
use super::fault::invalid_response;
use super::stream::ResponseStream;
use super::{Incoming, Outgoing, Remote};
use crate::model::{EventStream, Upstream, event_stream};

/// An encoded request, with the report of its losses.
pub(super) struct EncodedRequest {
    outgoing: Outgoing,
    pub(super) report: Report,
}

impl Upstream for Remote {
    fn respond(&self, request: Request) -> impl Future<Output = Result<Response, Fault>> + Send {
        let encoded = self.encode(Request { stream: Some(false), ..request });
        async move {
            let encoded = encoded?;
            attempt::with_retries(self, || attempt_response(self, &encoded)).await
        }
    }

    fn stream(&self, request: Request) -> impl Future<Output = Result<EventStream, Fault>> + Send {
        let encoded = self.encode(Request { stream: Some(true), ..request });
        async move {
            let encoded = encoded?;
            attempt::with_retries(self, || attempt_stream(self, &encoded)).await
        }
    }
}

impl Remote {
    /// The codec for the API version of this remote.
    pub(super) fn vendor_codec(&self) -> VendorCodec<'_> {
        VendorCodec::new(self.codec())
            .with_version(self.version())
            .with_think_tags(self.has_think_tags())
    }

    /// Decodes a successful response, with the report of the request that it answers.
    pub fn decode_response(&self, wire: WireReply, asked: &Report) -> Result<Response, Fault> {
        decode(self, asked, wire).map_err(Failure::into_fault)
    }

    /// Decodes a successful response as it arrives. Returns when the first event has arrived; a fault before
    /// it is an error.
    pub async fn decode_stream(
        &self,
        incoming: Incoming,
        asked: &Report,
    ) -> Result<EventStream, Fault> {
        decode_stream(self, asked, incoming).await.map_err(Failure::into_fault)
    }

    fn encode(&self, request: Request) -> Result<EncodedRequest, Fault> {
        let encoded = self.vendor_codec().encode_request(request);
        self.losses().check_request(&encoded.report)?;
        Ok(EncodedRequest { outgoing: attempt::outgoing(encoded.value), report: encoded.report })
    }
}

/// One attempt at a complete response.
async fn attempt_response(remote: &Remote, encoded: &EncodedRequest) -> Result<Response, Failure> {
    let incoming = attempt::send(remote, &encoded.outgoing).await?;
    let wire = attempt::document(remote, incoming).await?;
    decode(remote, &encoded.report, wire)
}

/// Decodes a complete response.
fn decode(remote: &Remote, asked: &Report, wire: WireReply) -> Result<Response, Failure> {
    let read = remote.vendor_codec().decode_response(wire.clone(), &asked.aliases);
    let restored = match read {
        Ok(restored) => restored,
        Err(TranslateError::Decode(error)) => {
            return Err(attempt::unreadable(remote, wire, &error));
        }
        Err(error) => return Err(invalid_response(remote.label(), &error.to_string()).into()),
    };
    remote.losses().notify(&restored.report);
    let mut response = restored.value;
    let mut report = restored.report;
    report.losses.splice(..0, asked.losses.iter().cloned());
    report.attach_to(remote.codec().dialect(), &mut response.extra);
    Ok(response)
}

/// One attempt at a stream. It returns when the first event has arrived; until then a fault may be
/// retried.
async fn attempt_stream(remote: &Remote, encoded: &EncodedRequest) -> Result<EventStream, Failure> {
    let incoming = attempt::send(remote, &encoded.outgoing).await?;
    decode_stream(remote, &encoded.report, incoming).await
}

/// Waits for the first event of a stream.
async fn decode_stream(
    remote: &Remote,
    asked: &Report,
    incoming: Incoming,
) -> Result<EventStream, Failure> {
    // Some servers ignore the stream flag and send a complete response.
    if is_document(&incoming) && remote.codec().framing() != Framing::Ndjson {
        let wire = attempt::document(remote, incoming).await?;
        return Ok(event_stream(split::split(decode(remote, asked, wire)?)));
    }
    let mut stream = ResponseStream::new(remote, asked, incoming.body);
    match stream.first().await {
        Ok(()) => Ok(Box::pin(stream)),
        Err(fault) => Err((*fault).into()),
    }
}

fn is_document(incoming: &Incoming) -> bool {
    let kind = incoming.headers.get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}
