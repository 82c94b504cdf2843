//! Functions that are plans: the calls of their steps are calls within the call of the function.

use std::sync::Arc;

use toolwright_core::Tool;
use toolwright_core::plan::Plan;

use super::PlanToolboxes;
use crate::catalog::access::Access;
use crate::handler::Handler;
use crate::plan::local::nested::plan_tool_with;

/// Creates the tool of a plan, whose steps may call what the caller may call.
pub(super) fn into_handler(tool: Tool, plan: Arc<Plan>, tools: PlanToolboxes) -> Handler {
    plan_tool_with(tool, plan, move |scope| {
        let tools = Arc::clone(&tools);
        async move { tools(Access::of(&scope).await) }
    })
}
