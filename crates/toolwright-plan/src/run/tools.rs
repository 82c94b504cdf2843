//! The tools of a toolbox, as far as checks, order and views of a plan depend on them.

use std::collections::BTreeSet;

use futures_util::future::{BoxFuture, join_all};
use toolwright_runtime::error::CallErrorKind;
use toolwright_runtime::handler::Handler;
use toolwright_runtime::settings::{Effect, Fill};
use toolwright_runtime::toolbox::Toolbox;

use crate::plan::{PlanTool, PlanTools, Resource, ResourceUse};

/// Returns the named tools of a toolbox, such as those of [the steps of a
/// plan](crate::plan::Plan::tool_names). A tool whose source fails is marked as unavailable, a name
/// without a tool is left out. The names of all tools are known for suggestions.
pub fn plan_tools<'a>(
    toolbox: &'a Toolbox,
    names: impl IntoIterator<Item = &'a str>,
) -> BoxFuture<'a, PlanTools> {
    Box::pin(find_all(toolbox, names.into_iter().collect()))
}

async fn find_all(toolbox: &Toolbox, names: BTreeSet<&str>) -> PlanTools {
    let resolved = join_all(names.iter().map(|name| toolbox.resolve(name))).await;
    let (mut found, mut unavailable, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for (name, resolved) in names.into_iter().zip(resolved) {
        match resolved {
            Ok(handler) => found.push(plan_tool(name, &handler)),
            Err(error) if error.kind == CallErrorKind::UnknownTool => unknown.push(name),
            Err(_) => unavailable.push(name.to_owned()),
        }
    }
    let mut tools = PlanTools::new(found)
        .with_unavailable(unavailable)
        .with_names(toolbox.all_names().iter().map(ToString::to_string));
    for name in unknown {
        let missing = toolbox.explain_missing(name).await;
        tools = tools.with_names(missing.similar);
        if let Some(reason) = missing.reason {
            tools = tools.with_missing(name, reason);
        }
    }
    tools
}

/// Returns a tool by the name that a plan has for it.
fn plan_tool(name: &str, handler: &Handler) -> PlanTool {
    let settings = handler.settings();
    let mut tool = PlanTool::new(handler.tool().clone(), settings.hidden.clone());
    name.clone_into(&mut tool.tool.name);
    tool.exact_name.clone_from(&settings.exact_name);
    tool.is_read_only = settings.effect == Effect::None;
    tool.digest = Some(handler.digest().to_string());
    let slot =
        |name: &String, writes| ResourceUse { resource: Resource::Slot(name.clone()), writes };
    tool.uses.extend(settings.slot.as_ref().map(|output| slot(&output.slot, true)));
    tool.uses.extend(settings.fills.iter().filter_map(|(_, fill)| match fill {
        Fill::Slot(fill) => Some(slot(&fill.slot, false)),
        _ => None,
    }));
    tool.uses.extend(handler.needs().iter().map(|need| ResourceUse {
        resource: Resource::Context(need.name().to_owned()),
        writes: need.is_exclusive(),
    }));
    tool
}
