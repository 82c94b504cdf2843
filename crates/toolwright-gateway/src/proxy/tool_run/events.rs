//! The events of a run for its client.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use toolwright_core::Event;

use super::ToolRun;
use crate::proxy::effects::Effects;

type More = Pin<Box<dyn Future<Output = (Option<Box<ToolRun>>, Vec<Event>)> + Send>>;

/// The stream of events of a run for its client.
pub(super) struct RunEvents {
    events: VecDeque<Event>,
    next: Option<More>,
    effects: Effects,
}

impl RunEvents {
    /// Creates the stream that begins with these events, of a run that may have more.
    pub(super) fn new(
        events: Vec<Event>,
        work: Option<Box<ToolRun>>,
        effects: Effects,
    ) -> RunEvents {
        let next = work.map(|work| Box::pin(work.more()) as More);
        RunEvents { events: events.into(), next, effects }
    }
}

impl Stream for RunEvents {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        loop {
            match this.events.pop_front() {
                Some(Event::Fault(fault)) => {
                    return Poll::Ready(Some(Event::Fault(this.effects.explain(fault))));
                }
                Some(event) => return Poll::Ready(Some(event)),
                None => {}
            }
            let Some(next) = &mut this.next else { return Poll::Ready(None) };
            let (work, events) = ready!(next.as_mut().poll(context));
            this.events.extend(events);
            this.next = work.map(|work| Box::pin(work.more()) as More);
        }
    }
}
