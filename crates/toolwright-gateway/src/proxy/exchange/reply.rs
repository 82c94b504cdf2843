//! The last step of an exchange: the head of its reply, and a body that passes, is whole, or is being
//! made.

use http::{HeaderName, HeaderValue, header};
use toolwright::model::event_stream;
use toolwright::upstream::Incoming;
use toolwright_core::Response;
use toolwright_core::event::split::split;
use toolwright_core::frame::FrameWriter;

use super::Exchange;
use crate::http::{Reply, ReplyBody};
use crate::proxy::close::Close;
use crate::proxy::endpoint::Purpose;
use crate::proxy::pass::{Pass, Tap};
use crate::proxy::prepare::Translation;
use crate::proxy::relay::{Relay, Source, Strictness};
use crate::proxy::responses::capture::PassedAnswer;
use crate::proxy::send::{Failure, Said};
use crate::proxy::{fault, headers, whole};
use crate::telemetry::losses;

/// The header that says who answered, or was asked last.
const UPSTREAM: HeaderName = HeaderName::from_static("toolwright-upstream");

impl Exchange {
    /// The vendor's bytes, as they come.
    pub(super) fn untouched(mut self, incoming: Incoming) -> Reply {
        self.close.share.shrink(0);
        let Incoming { status, headers, body } = incoming;
        let codec = self.ask.endpoint.codec;
        let framing = whole::framing(codec, self.ask.endpoint.framing(), &headers);
        let share = self.close.share.beside();
        let tap = match framing.filter(|_| self.ask.stream) {
            _ if self.ask.endpoint.purpose != Purpose::Generate => Tap::Off,
            Some(framing) => Tap::stream(codec, framing),
            None => Tap::whole(codec, share),
        };
        let mut reply = Reply::new(ReplyBody::empty());
        *reply.status_mut() = status;
        *reply.headers_mut() = headers::back(headers);
        self.head(&mut reply);
        let close = self.close(&reply);
        let upstream = close.recorder.record().upstream.as_deref().unwrap_or_default();
        let ids = close.capture.clone().filter(|_| status.is_success());
        let ids = ids.map(|capture| PassedAnswer::new(capture, upstream));
        *reply.body_mut() = ReplyBody::stream(Pass::new(body, tap, close).with_ids(ids));
        reply
    }

    /// A whole answer to the client, who may have asked for a stream nevertheless.
    pub(super) fn whole(mut self, response: Response, translation: &Translation) -> Reply {
        if self.ask.stream {
            let events = event_stream(split(response));
            return self.relay(Source::Events(events), translation);
        }
        let whole = match whole::answer(translation, response) {
            Ok(whole) => whole,
            Err(fault) => return self.fail(fault.into()),
        };
        self.close.recorder.add_reply(whole.watch);
        self.close.recorder.set_response_report(whole.report);
        let share = self.close.share.take();
        let reply = fault::wire(whole.reply).map(|body| body.held(share));
        self.finish(reply)
    }

    /// Sends a reply that is whole, and ends the exchange.
    pub(super) fn finish(mut self, mut reply: Reply) -> Reply {
        self.head(&mut reply);
        let mut close = self.close(&reply);
        close.recorder.add_sent(reply.body().whole());
        if let (Some(capture), Ok(body)) =
            (&close.capture, std::str::from_utf8(reply.body().whole()))
        {
            capture.answer(body);
        }
        close.done();
        reply
    }

    /// An answer to the client as it is being made.
    pub(super) fn relay(mut self, source: Source, translation: &Translation) -> Reply {
        let mut reply = Reply::new(ReplyBody::empty());
        let framing = self.ask.endpoint.framing();
        let kind = HeaderValue::from_static(framing.content_type());
        reply.headers_mut().insert(header::CONTENT_TYPE, kind);
        reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        self.head(&mut reply);
        if matches!(source, Source::Bytes(_)) {
            let report = &self.close.recorder.record().request_report;
            self.close.share.shrink(translation.weight(report));
        }
        let strictness = if self.ask.strict { Strictness::Refuses } else { Strictness::Reports };
        if !self.close.recorder.record().request_report.losses.is_empty() {
            self.close.recorder.publish_losses();
        }
        let close = self.close(&reply);
        let writer = translation.back().writer().with_framer(FrameWriter::new(framing));
        let relay = Relay::new(source, writer, strictness, close);
        *reply.body_mut() = ReplyBody::stream(relay);
        reply
    }

    /// A failure: the upstream's own words where it speaks the client's dialect.
    pub(super) fn fail(mut self, failure: Box<Failure>) -> Reply {
        let Failure { fault, said, .. } = *failure;
        self.close.recorder.set_fault(Some(fault.class));
        let mut reply = match said {
            Some(Said { status, headers, body })
                if self.close.recorder.record().untouched && !body.is_empty() =>
            {
                let mut reply = Reply::new(ReplyBody::full(body));
                *reply.status_mut() = status;
                *reply.headers_mut() = headers::back(headers);
                reply
            }
            _ => {
                let fault = self.effects.explain(fault);
                fault::reply(self.ask.endpoint.codec, self.close.recorder.id(), fault)
            }
        };
        self.effects.forbid_retry(&mut reply);
        self.finish(reply)
    }

    /// What every reply says in its head.
    fn head(&mut self, reply: &mut Reply) {
        let (headers, record) = (reply.headers_mut(), self.close.recorder.record());
        fault::name(headers, self.ask.endpoint.dialect, record.id);
        let upstream = record.upstream.as_deref().map(HeaderValue::try_from);
        if let Some(Ok(upstream)) = upstream {
            headers.insert(UPSTREAM, upstream);
        }
        if let Some(lost) = losses::value(&record.request_report, &record.response_report) {
            headers.insert(losses::HEADER, lost);
        }
    }

    /// Nothing is left for us but the body.
    fn close(mut self, reply: &Reply) -> Close {
        self.close.recorder.set_status(reply.status().as_u16());
        self.close.recorder.rest();
        self.close
    }
}
