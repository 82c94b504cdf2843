//! Pictures of runs.

use std::sync::Arc;

use toolwright_core::Fault;
use toolwright_plan::{Graph, StepStatus, blocking, draw, plan_tools};

use super::{Asker, refusal};
use crate::fault::invalid;
use crate::http::{Reply, typed_reply};
use crate::query::Query;

/// Maximum number of steps and edges of a picture, whose cost grows faster than they do.
const MAX_DRAWN_STEPS: usize = 500;
const MAX_DRAWN_EDGES: usize = 2000;

/// The form of a picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Svg,
    Timeline,
    Mermaid,
}

impl Asker {
    /// Draws the steps of a run by their states, or when each of them ran.
    pub(super) async fn picture(&self, id: &str, query: &Query) -> Result<Reply, Fault> {
        let format = match query.get("format") {
            None | Some("svg") => Format::Svg,
            Some("timeline") => Format::Timeline,
            Some("mermaid") => Format::Mermaid,
            Some(_) => return Err(invalid("format", "`format` must be svg, timeline or mermaid.")),
        };
        let (_, report) = self.find(id).await?;
        let plan = Arc::clone(&report.run.plan);
        let tools = plan_tools(&self.toolbox().await, plan.tool_names()).await;
        let statuses: Vec<StepStatus> = report.steps.iter().map(|step| step.status).collect();
        let drawn = blocking(move || {
            let graph = Graph::new(&plan, &tools);
            let is_large =
                plan.steps.len() > MAX_DRAWN_STEPS || graph.edges().len() > MAX_DRAWN_EDGES;
            match format {
                Format::Svg if is_large => None,
                Format::Svg => Some(draw::svg(&plan, &graph, &statuses)),
                Format::Timeline => Some(draw::timeline(&plan, &statuses)),
                Format::Mermaid => Some(draw::mermaid(&plan, &graph, &statuses)),
            }
        });
        let Some(text) = drawn.await.map_err(refusal)? else {
            let message = format!(
                "The plan is too large for a picture: at most {MAX_DRAWN_STEPS} steps and {MAX_DRAWN_EDGES} edges. \
                 Use format=mermaid or format=timeline."
            );
            return Err(invalid("format", message));
        };
        let kind = match format {
            Format::Mermaid => "text/plain; charset=utf-8",
            _ => "image/svg+xml",
        };
        Ok(typed_reply(kind, text))
    }
}
