//! A response as a stream of events. Bytes are read only when an event is polled and none is buffered, so
//! that a slow reader applies backpressure to the upstream. Dropping the stream cancels the request.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use http_body::Body;
use toolwright_core::{Event, Fault};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::translate::{Report, TranslateError, VendorStreamDecoder};

use super::fault::{broken, fault_of};
use super::{IncomingBody, Remote};

/// The events of a response.
pub(super) struct ResponseStream {
    remote: Remote,
    /// `None` once the response has ended
    body: Option<IncomingBody>,
    decoder: VendorStreamDecoder,
    /// The losses of the request, which are added to the start event
    lost: Report,
    read: Vec<Event>,
    events: VecDeque<Event>,
}

impl ResponseStream {
    pub(super) fn new(remote: &Remote, asked: &Report, body: IncomingBody) -> ResponseStream {
        let aliases: &Aliases = &asked.aliases;
        ResponseStream {
            remote: remote.clone(),
            body: Some(body),
            decoder: remote.vendor_codec().decode_stream(aliases),
            lost: asked.clone(),
            read: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// Waits for the first event. A fault in its place is an error.
    pub(super) async fn first(&mut self) -> Result<(), Box<Fault>> {
        std::future::poll_fn(|context| self.poll_fill(context)).await;
        match self.events.pop_front() {
            Some(Event::Fault(fault)) => Err(Box::new(fault)),
            Some(event) => {
                self.events.push_front(event);
                Ok(())
            }
            None => {
                let what = "ended its response before the first event; try again";
                Err(Box::new(broken(self.remote.label(), what)))
            }
        }
    }

    /// Reads until an event is buffered or the response has ended.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.events.is_empty()
            && let Some(body) = &mut self.body
        {
            let read = match ready!(Pin::new(body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.decoder.push(&bytes, &mut self.read),
                    // No dialect uses trailers.
                    Err(_) => Ok(()),
                },
                Some(Err(fault)) => {
                    self.body = None;
                    self.events.push_back(Event::Fault(fault_of(fault)));
                    break;
                }
                None => {
                    self.body = None;
                    self.decoder.finish(&mut self.read)
                }
            };
            self.take(read);
        }
        Poll::Ready(())
    }

    /// Buffers the events that were read. Nothing follows the end of a response.
    fn take(&mut self, read: Result<(), TranslateError>) {
        for mut event in std::mem::take(&mut self.read) {
            let dialect = self.remote.codec().dialect();
            match &mut event {
                Event::Start(start) => self.lost.attach_to(dialect, &mut start.extra),
                Event::Stop(stop) => {
                    let report = self.decoder.report();
                    self.remote.losses().notify(&report);
                    report.attach_to(dialect, &mut stop.extra);
                }
                _ => {}
            }
            let over = matches!(event, Event::End | Event::Fault(_));
            self.events.push_back(event);
            if over {
                self.body = None;
                return;
            }
        }
        if read.is_err() {
            self.body = None;
            let what = "sent a damaged stream; try again";
            self.events.push_back(Event::Fault(broken(self.remote.label(), what)));
        }
    }
}

impl Stream for ResponseStream {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        ready!(this.poll_fill(context));
        Poll::Ready(this.events.pop_front())
    }
}
