//! The events of a run, as server-sent events.

use std::collections::VecDeque;

use futures_util::stream;
use tokio::sync::broadcast;
use toolwright_core::json::Object;
use toolwright_core::{Fault, Json, object};
use toolwright_plan::{PlanEvent, PlanEventKind};

use super::Asker;
use crate::http::{Reply, event_reply};

impl Asker {
    /// Streams the report of a run, then its events until it ends or waits for a person.
    pub(super) async fn events(&self, id: &str) -> Result<Reply, Fault> {
        // Subscribed before the report is made, so that no event is missed.
        let watch = self.state.plans.watch(id);
        let (_, report) = self.find(id).await?;
        let mut first = report.to_json();
        first.insert("event", "report");
        let state = EventStream { waiting: VecDeque::from([first]), events: watch };
        let reply = event_reply(stream::unfold(state, EventStream::next));
        Ok(reply.map(|body| body.until(self.client.removed())))
    }
}

/// The events of a run, on their way to a client.
struct EventStream {
    waiting: VecDeque<Object>,
    events: Option<broadcast::Receiver<PlanEvent>>,
}

impl EventStream {
    async fn next(mut self) -> Option<(String, EventStream)> {
        if let Some(event) = self.waiting.pop_front() {
            return Some((frame(&event), self));
        }
        let mut events = self.events.take()?;
        let event = match events.recv().await {
            Ok(event) => {
                if !matches!(event.kind, PlanEventKind::RunEnded { .. }) {
                    self.events = Some(events);
                }
                event.to_json()
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                self.events = Some(events);
                object! {"event": "missed", "count": missed}
            }
            Err(broadcast::error::RecvError::Closed) => return None,
        };
        Some((frame(&event), self))
    }
}

fn frame(event: &Object) -> String {
    let name = event.get("event").and_then(Json::as_str).unwrap_or("message");
    format!("event: {name}\ndata: {}\n\n", event.compact())
}
