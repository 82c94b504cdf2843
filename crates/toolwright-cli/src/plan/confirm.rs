//! Shows the steps of a plan to a person, and asks whether it may run.

use std::io::{self, Write};

use toolwright_core::Json;
use toolwright_gateway::terminal::{self, counted};
use toolwright_plan::{Plan, PlanTools, Step, View, ViewNode};
use toolwright_runtime::call::Answer;

use crate::exit::{self, Failure};
use crate::tools;

/// Maximum number of characters of arguments in a row.
const MAX_SHOWN: usize = 100;

/// Shows the steps with their arguments and those that are missing, and asks. Without a terminal it refuses.
pub(super) fn confirm(name: &str, plan: &Plan, tools: &PlanTools) -> Result<(), Failure> {
    let view = View::new(plan, tools);
    let view = view.map_err(|errors| super::refuse(name, &errors))?;
    let rows: Vec<[String; 4]> =
        plan.steps.iter().zip(&view.nodes).map(|(step, node)| row(step, node)).collect();
    let mut stderr = io::stderr().lock();
    terminal::table(&mut stderr, &["STEP", "TOOL", "ARGUMENTS", "MISSING"], &rows)
        .and_then(|()| stderr.flush())
        .map_err(exit::io("stderr"))?;
    drop(stderr);
    if !tools::is_interactive() {
        let what = "the plan has to be confirmed, and there is no terminal to ask";
        return Err(Failure::failed(what).with_hint("pass --yes to run it without a question"));
    }
    let steps = counted(plan.steps.len(), "step", "steps");
    match tools::confirm_text(&steps, "The plan has not been run yet.")? {
        Answer::Approve => Ok(()),
        Answer::Reject(_) => Err(Failure::failed("the plan was not confirmed; nothing was run")),
    }
}

fn row(step: &Step, node: &ViewNode) -> [String; 4] {
    let document = Json::Object(step.to_json());
    let mut shown = document.get("args").map(Json::compact).unwrap_or_default();
    if let Some(each) = document.get("each") {
        shown = format!("each {}: {shown}", each.compact());
    }
    let shown = exit::shorten(&shown, MAX_SHOWN);
    [step.id.clone(), step.tool.clone(), shown, node.missing_tool_args.join(", ")]
}
