//! The last step of an exchange: the head of its reply, and a body that passes through, is complete, or is
//! translated as it arrives.

use http::{HeaderName, HeaderValue, header};
use toolwright_core::event::split::split;
use toolwright_core::{Fault, FaultClass, Response};
use toolwright_dialects::dialect::ResponseSummary;
use toolwright_dialects::frame::FrameWriter;
use toolwright_dialects::translate::Translated;
use toolwright_runtime::model::event_stream;
use toolwright_runtime::upstream::Incoming;

use super::Exchange;
use crate::conversation::{self, ConversationId};
use crate::fault;
use crate::http::{Reply, ReplyBody};
use crate::proxy::endpoint::Purpose;
use crate::proxy::finalizer::Finalizer;
use crate::proxy::passthrough::{Observer, PassthroughBody};
use crate::proxy::prepare::{Translation, refused};
use crate::proxy::send::{Failure, UpstreamError};
use crate::proxy::translating::{Source, TranslatingBody};
use crate::proxy::{headers, whole};
use crate::telemetry::losses;

/// The header that names the upstream that answered, or was asked last.
const UPSTREAM: HeaderName = HeaderName::from_static("toolwright-upstream");

/// The header that names the approvals that a run waits for, separated by commas.
const APPROVAL: HeaderName = HeaderName::from_static("toolwright-approval");

impl Exchange {
    /// Replies with the upstream's bytes as they arrive.
    pub(super) fn untouched(mut self, incoming: Incoming) -> Reply {
        self.finalizer.share.shrink(0);
        let Incoming { status, headers, body } = incoming;
        let codec = self.inbound.endpoint.codec;
        let framing = whole::framing(codec, self.inbound.endpoint.framing(), &headers);
        let share = self.finalizer.share.beside();
        let observer = match framing.filter(|_| self.inbound.stream) {
            _ if self.inbound.endpoint.purpose != Purpose::Generate => Observer::Off,
            Some(framing) => Observer::of_stream(codec, framing),
            None => Observer::of_body(codec, share),
        };
        let mut reply = Reply::new(ReplyBody::empty());
        *reply.status_mut() = status;
        *reply.headers_mut() = headers::back(headers);
        self.head(&mut reply);
        let finalizer = self.close(&reply);
        let upstream = finalizer.recorder.record.upstream.as_deref().unwrap_or_default();
        let ids = finalizer.capture.as_ref().filter(|_| status.is_success());
        let ids = ids.map(|capture| capture.passing(upstream));
        *reply.body_mut() = ReplyBody::stream(PassthroughBody::new(body, observer, ids, finalizer));
        reply
    }

    /// Replies with a complete response, as a stream if the client asked for one.
    pub(super) fn reply_with(mut self, response: Response, translation: &Translation) -> Reply {
        if self.inbound.stream {
            let events = event_stream(split(response));
            return self.relay(Source::Events(events), translation);
        }
        let summary = ResponseSummary::from_response(&response);
        let Translated { value, report } = match translation.back().answer(response) {
            Ok(translated) => translated,
            Err(error) => return self.fail(refused(error).into()),
        };
        self.finalizer.recorder.record.add_reply(summary);
        self.finalizer.recorder.record.response_report = report;
        let share = self.finalizer.share.take();
        let reply = fault::wire(value).map(|body| body.held(share));
        self.finish(reply)
    }

    /// Sends a complete reply and ends the exchange.
    pub(super) fn finish(mut self, mut reply: Reply) -> Reply {
        self.head(&mut reply);
        let mut finalizer = self.close(&reply);
        finalizer.recorder.add_sent(reply.body().full_bytes());
        if let (Some(capture), Ok(body)) =
            (&finalizer.capture, std::str::from_utf8(reply.body().full_bytes()))
        {
            capture.answer(body);
        }
        finalizer.done();
        reply
    }

    /// Replies with a stream that is translated as it arrives.
    pub(super) fn relay(mut self, source: Source, translation: &Translation) -> Reply {
        let mut reply = Reply::new(ReplyBody::empty());
        let framing = self.inbound.endpoint.framing();
        let kind = HeaderValue::from_static(framing.content_type());
        reply.headers_mut().insert(header::CONTENT_TYPE, kind);
        reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        self.head(&mut reply);
        if matches!(source, Source::Bytes(_)) {
            let report = &self.finalizer.recorder.record.request_report;
            self.finalizer.share.shrink(translation.weight(report));
        }
        if !self.finalizer.recorder.record.request_report.losses.is_empty() {
            self.finalizer.recorder.publish_losses();
        }
        let mut stream = translation.back().stream().with_framer(FrameWriter::new(framing));
        if self.inbound.strict {
            stream = stream.with_refusal(strict_refusal());
        }
        let finalizer = self.close(&reply);
        *reply.body_mut() = ReplyBody::stream(TranslatingBody::new(source, stream, finalizer));
        reply
    }

    /// Replies with a fault: the upstream's own error if it speaks the client's dialect.
    pub(super) fn fail(mut self, failure: Box<Failure>) -> Reply {
        let Failure { fault, error, .. } = *failure;
        self.finalizer.recorder.record.fault = Some(fault.class);
        let mut reply = match error {
            Some(UpstreamError { status, headers, body })
                if self.finalizer.recorder.record.untouched && !body.is_empty() =>
            {
                let mut reply = Reply::new(ReplyBody::full(body));
                *reply.status_mut() = status;
                *reply.headers_mut() = headers::back(headers);
                reply
            }
            _ => {
                let fault = self.effects.explain(fault);
                fault::reply(self.inbound.endpoint.codec, self.finalizer.recorder.id(), fault)
            }
        };
        self.effects.forbid_retry(&mut reply);
        self.finish(reply)
    }

    /// Sets the headers that every reply has.
    fn head(&mut self, reply: &mut Reply) {
        let (headers, record) = (reply.headers_mut(), &self.finalizer.recorder.record);
        fault::name(headers, self.inbound.endpoint.dialect, record.id);
        let upstream = record.upstream.as_deref().map(HeaderValue::try_from);
        if let Some(Ok(upstream)) = upstream {
            headers.insert(UPSTREAM, upstream);
        }
        if let Some(conversation) = self.conversation.as_ref().and_then(ConversationId::header) {
            headers.insert(conversation::HEADER, conversation);
        }
        let approval = self.approval.as_ref().and_then(|own| own.get());
        if let Some(Ok(approval)) = approval.map(HeaderValue::try_from) {
            headers.insert(APPROVAL, approval);
        }
        if let Some(lost) = losses::value(&record.request_report, &record.response_report) {
            headers.insert(losses::HEADER, lost);
        }
    }

    /// Ends the work on the head. Only the body is left.
    fn close(mut self, reply: &Reply) -> Finalizer {
        self.finalizer.recorder.record.status = reply.status().as_u16();
        self.finalizer.recorder.end_work();
        self.finalizer
    }
}

/// The fault that ends a stream at its first loss, if the client asked for a strict translation.
fn strict_refusal() -> Fault {
    let message = "Refused: the answer holds something that this dialect cannot say. Ask without \
                   `toolwright-strict` to get the rest of it.";
    Fault::new(FaultClass::Invalid, message)
}
