//! Functions that are plans: the calls of their steps are calls within the call of the function.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Tool;
use toolwright_core::plan::Plan;

use super::PlanToolboxes;
use crate::catalog::access::Access;
use crate::handler::Handler;
use crate::output::Output;
use crate::plan::local::nested;

/// Creates the tool of a plan. The time limit of the plan is its deadline.
pub(super) fn into_handler(tool: Tool, plan: Arc<Plan>, tools: PlanToolboxes) -> Handler {
    let deadline = plan.limits.time_ms.map(Duration::from_millis);
    let handler = Handler::new(tool, move |scope, inputs| {
        let (plan, tools) = (Arc::clone(&plan), Arc::clone(&tools));
        async move {
            let toolbox = tools(Access::of(&scope).await);
            Ok(Output::json(nested::run(&scope, &toolbox, &plan, inputs).await?))
        }
    });
    // Its steps may use slots and tokens of the request.
    let handler = handler.without_cache();
    match deadline {
        Some(deadline) => handler.with_deadline(deadline),
        None => handler,
    }
}
