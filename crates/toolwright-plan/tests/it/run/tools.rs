//! The tools of random plans. They do what the reference says, and log when they start and when they have their effect.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Json;
use toolwright_core::Tool;
use toolwright_core::json::Object;
use toolwright_plan::{Plan, plan_tool};
use toolwright_runtime::call::{Policy, Rule, Verdict};
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::{Effect, Fill, Handler, Output, SlotFill, SlotOutput, ToolError, Toolbox};

use super::generate;
use super::reference::work;

/// Where calls are logged, outside of the engine.
pub trait Log: Send + Sync + 'static {
    /// Logs that a call has started. Returns how often it had started before.
    fn start(&self, place: &str, key: &str) -> u64;

    /// Logs that a call has its effect, and the result that it will return.
    fn effect(&self, place: &str, key: &str, result: &Result<Json, String>);
}

/// Returns a step and its item as text; of a step within the call of another one, `outer/inner` and the item of the
/// outer step.
pub fn place(step: &str, item: Option<usize>) -> String {
    let (step, item) = match step.split_once('#').map(|(outer, rest)| (outer, rest.split_once('/')))
    {
        Some((outer, Some((item, inner)))) => {
            (format!("{outer}/{inner}"), Some(item.parse().unwrap()))
        }
        _ => (step.to_owned(), item),
    };
    item.map_or_else(|| step.clone(), |item| format!("{step} {item}"))
}

/// Returns a toolbox whose calls take up to `longest` before and after their effects.
pub fn toolbox(log: &Arc<dyn Log>, longest: Duration) -> Toolbox {
    let tool = |name, effect| tool(name, effect, Arc::clone(log), longest);
    let store = tool("store", Effect::Keyed).with_slot(SlotOutput::new("slot"));
    let load = tool("load", Effect::None)
        .with_hidden(["slot"])
        .with_fill("slot", Fill::Slot(SlotFill::new("slot")));
    let tools = [
        tool("read", Effect::None),
        tool("keyed", Effect::Keyed),
        tool("once", Effect::Once),
        tool("ask", Effect::Once),
        store,
        load,
    ];
    let policy = Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["ask"]));
    let plan = Arc::new(Plan::parse(&generate::nested()).unwrap());
    let nested = Tool::function("nested", super::open_schema());
    let nested = plan_tool(nested, plan, Toolbox::new(tools.clone()).unwrap());
    Toolbox::new(tools.into_iter().chain([nested]))
        .unwrap()
        .with_policy(policy)
        .with_handles(Arc::new(MemoryHandles::default()))
}

fn tool(name: &str, effect: Effect, log: Arc<dyn Log>, longest: Duration) -> Handler {
    Handler::new(Tool::function(name, super::open_schema()), move |scope, arguments: Object| {
        let log = Arc::clone(&log);
        async move {
            let item =
                arguments.get("at").and_then(Json::as_u64).map(|at| usize::try_from(at).unwrap());
            let place = place(arguments.get("id").and_then(Json::as_str).unwrap(), item);
            let earlier = log.start(&place, &scope.key);
            let fraction = |part: usize| u32::from(scope.key.as_bytes()[part]) % 8;
            tokio::time::sleep(longest * fraction(10) / 8).await;
            if earlier < arguments.get("flaky").and_then(Json::as_u64).unwrap_or(0) {
                return Err(ToolError::new("not yet").retryable());
            }
            let result = work(&arguments);
            log.effect(&place, &scope.key, &result);
            tokio::time::sleep(longest * fraction(11) / 8).await;
            result.map_err(ToolError::new).map(|output| match output {
                Json::String(text) => Output::text(text),
                output => Output::json(output),
            })
        }
    })
    .with_effect(effect)
}
