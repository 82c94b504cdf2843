//! A canonical request to a vendor, and its answer in canonical words: what the library asks.
//!
//! ```text
//! Request → fit → encode → send (again) → decode → restore → Response, or its events
//! ```

use std::future::Future;

use toolwright_core::Response;
use toolwright_core::dialect::WireReply;
use toolwright_core::event::split;
use toolwright_core::fault::Fault;
use toolwright_core::frame::Framing;
use toolwright_core::request::Request;
use toolwright_core::translate::{Report, TranslateError, VendorCodec};

use super::attempt::{self, Failure};
use super::stream::Answering;
use super::transport::fault;
use super::{Incoming, Outgoing, Remote};
use crate::model::{EventStream, Upstream, event_stream};

/// A request that was written, with what was lost of it.
pub(super) struct Question {
    outgoing: Outgoing,
    pub(super) report: Report,
}

impl Upstream for Remote {
    fn respond(&self, request: Request) -> impl Future<Output = Result<Response, Fault>> + Send {
        let question = self.question(Request { stream: Some(false), ..request });
        async move {
            let question = question?;
            attempt::persist(self, || whole(self, &question)).await
        }
    }

    fn stream(&self, request: Request) -> impl Future<Output = Result<EventStream, Fault>> + Send {
        let question = self.question(Request { stream: Some(true), ..request });
        async move {
            let question = question?;
            attempt::persist(self, || begin(self, &question)).await
        }
    }
}

impl Remote {
    /// Speaks the dialect by the version that requests are fitted for.
    pub(super) fn vendor_codec(&self) -> VendorCodec<'_> {
        VendorCodec::new(self.codec())
            .with_version(self.version())
            .with_think_tags(self.has_think_tags())
    }

    /// Reads a successful reply in canonical words, with the report of the request that it answers,
    /// wherever that was written.
    pub fn read(&self, wire: WireReply, asked: &Report) -> Result<Response, Fault> {
        read(self, asked, wire).map_err(Failure::into_fault)
    }

    /// Reads a successful reply as it arrives, as [`read`](Remote::read) does. It is given when its
    /// first event is there; a fault until then is no answer.
    pub async fn hear(&self, incoming: Incoming, asked: &Report) -> Result<EventStream, Fault> {
        hear(self, asked, incoming).await.map_err(Failure::into_fault)
    }

    fn question(&self, request: Request) -> Result<Question, Fault> {
        let spoken = self.vendor_codec().encode_request(request);
        self.losses().of_request(&spoken.report)?;
        Ok(Question { outgoing: attempt::outgoing(spoken.value), report: spoken.report })
    }
}

/// One attempt at a whole answer.
async fn whole(remote: &Remote, question: &Question) -> Result<Response, Failure> {
    let incoming = attempt::send(remote, &question.outgoing).await?;
    let wire = attempt::document(remote, incoming).await?;
    read(remote, &question.report, wire)
}

/// Reads a whole answer.
fn read(remote: &Remote, asked: &Report, wire: WireReply) -> Result<Response, Failure> {
    let read = remote.vendor_codec().decode_response(wire.clone(), &asked.aliases);
    let restored = match read {
        Ok(restored) => restored,
        Err(TranslateError::Decode(error)) => {
            return Err(attempt::unreadable(remote, wire, &error));
        }
        Err(error) => return Err(fault::answer(remote.id(), &error.to_string()).into()),
    };
    remote.losses().tell(&restored.report);
    let mut response = restored.value;
    let mut report = restored.report;
    report.losses.splice(..0, asked.losses.iter().cloned());
    report.note(remote.codec().dialect(), &mut response.extra);
    Ok(response)
}

/// One attempt at a stream: it is given to the caller when its first event is there. Until then a
/// fault may be tried again.
async fn begin(remote: &Remote, question: &Question) -> Result<EventStream, Failure> {
    let incoming = attempt::send(remote, &question.outgoing).await?;
    hear(remote, &question.report, incoming).await
}

/// Waits for the first event of a reply.
async fn hear(remote: &Remote, asked: &Report, incoming: Incoming) -> Result<EventStream, Failure> {
    // Some servers know no streams and answer at once.
    if is_document(&incoming) && remote.codec().framing() != Framing::Ndjson {
        let wire = attempt::document(remote, incoming).await?;
        return Ok(event_stream(split::split(read(remote, asked, wire)?)));
    }
    let mut answering = Answering::new(remote, asked, incoming.body);
    match answering.first().await {
        Ok(()) => Ok(Box::pin(answering)),
        Err(fault) => Err((*fault).into()),
    }
}

fn is_document(incoming: &Incoming) -> bool {
    let kind = incoming.headers.get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}
