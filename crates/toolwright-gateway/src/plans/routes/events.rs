//! The events of a run, as server-sent events.

use futures_util::stream;
use tokio::sync::broadcast;
use toolwright_core::json::Object;
use toolwright_core::{Fault, Json, object};
use toolwright_plan::{Engine, PlanEvent, PlanEventKind};

use super::{Asker, refusal};
use crate::http::{Reply, Share, event_reply};

impl Asker {
    /// Streams the report of a run, then its events until it ends or waits for a person.
    pub(super) async fn events(&self, id: &str) -> Result<Reply, Fault> {
        // Subscribed before the report is made, so that no event is missed.
        let watch = self.state.plans.watch(id);
        let engine = self.engine_with(id).await?;
        let mut report = engine.report(id).await.map_err(refusal)?;
        let share = self.report_share(&mut report).await?;
        let mut first = report.to_json();
        first.insert("event", "report");
        drop(report);
        let state = EventStream { first: Some(first), share: Some(share), events: watch };
        let reply = event_reply(stream::unfold(state, EventStream::next));
        Ok(reply.map(|body| body.until(self.client.removed())))
    }
}

/// The events of a run, on their way to a client.
struct EventStream {
    /// The report
    first: Option<Object>,
    /// The memory of the report, until it is sent
    share: Option<Share>,
    events: Option<broadcast::Receiver<PlanEvent>>,
}

impl EventStream {
    async fn next(mut self) -> Option<(String, EventStream)> {
        if let Some(event) = self.first.take() {
            return Some((frame(&event), self));
        }
        self.share = None;
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
