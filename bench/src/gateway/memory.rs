//! A thousand concurrent streams: the gateway's memory, and the latency of first bytes.

use std::time::Duration;

use super::Plan;
use super::route::{Route, Stage};
use crate::failure::Outcome;
use crate::load::ClientPool;
use crate::process::Child;
use crate::question::{ReplyKind, Size};

/// Its title.
pub(crate) const NAME: &str = "1000 streams";
const STREAMS: usize = 1000;
const RAMP: Duration = Duration::from_secs(1);

/// The measurement on one route. Times in microseconds, memory in megabytes.
#[derive(Debug, Clone)]
pub(crate) struct OpenStreams {
    /// The route
    pub(crate) route: Route,
    /// The maximum number of streams that were open when the memory was read
    pub(crate) open: usize,
    /// Memory of the measured process, while most were open
    pub(crate) resident: f64,
    /// Times to the first byte
    pub(crate) first: [f64; 3],
    /// Processor seconds for a thousand streams
    pub(crate) cost: f64,
}

/// Opens them on each route in turn.
pub(crate) async fn open_streams(plan: &Plan, stage: &Stage) -> Outcome<Vec<OpenStreams>> {
    // Fifty events with this gap last longer than opening all streams.
    let model = if plan.short { "mock-gap-40" } else { "mock-gap-100" };
    let mut open_streams = Vec::new();
    for route in plan.routes {
        let streams = streams(stage, *route, model).await;
        open_streams
            .push(streams.map_err(|failure| failure.within(&format!("{NAME}: {}", route.name())))?);
    }
    Ok(open_streams)
}

async fn streams(stage: &Stage, route: Route, model: &str) -> Outcome<OpenStreams> {
    let mut target = stage.target(route, Size::Standard, ReplyKind::Stream).await?;
    target.question = route.question(model, Size::Standard, ReplyKind::Stream);
    let child = stage.measured(route);
    let pool = ClientPool::connect(target, STREAMS).await?;
    let before = child.map(|child| (child, child.usage()));
    let mut most = (0, f64::NAN);
    let samples = pool
        .streams(RAMP, |open| {
            if open >= most.0 {
                most = (open, child.map_or(f64::NAN, Child::resident).max(most.1));
            }
        })
        .await?;
    let spent = before.map(|(child, before)| child.usage().since(&before));
    let thousands = samples.count() as f64 / 1000.0;
    Ok(OpenStreams {
        route,
        open: most.0,
        resident: most.1,
        first: [50.0, 99.0, 99.9].map(|percent| samples.first(percent)),
        cost: spent.map_or(f64::NAN, |spent| spent.as_secs_f64() / thousands),
    })
}
