//! The events of a run for its client.

use std::collections::VecDeque;

use futures_util::{StreamExt, stream};
use toolwright_core::Event;
use toolwright_runtime::model::EventStream;

use super::ToolRun;
use super::effects::Effects;

/// Streams these events, and then those of a run that may have more.
pub(super) fn run_events(
    events: Vec<Event>,
    work: Option<Box<ToolRun>>,
    effects: Effects,
) -> EventStream {
    let state = (VecDeque::from(events), work);
    let events = stream::unfold(state, |(mut events, mut work)| async move {
        while events.is_empty() {
            let (rest, more) = work.take()?.more().await;
            (work, events) = (rest, more.into());
        }
        Some((events.pop_front()?, (events, work)))
    });
    Box::pin(events.map(move |event| match event {
        Event::Fault(fault) => Event::Fault(effects.explain(fault)),
        event => event,
    }))
}
