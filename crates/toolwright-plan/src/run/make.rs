//! A plan by a model: it writes one with a forced call, whose parameters are those of plans, and receives the errors of
//! the check until the plan is valid.

use toolwright_core::args::{CoercionOptions, Parameters, parse};
use toolwright_core::{
    Arguments, Body, Call, Fault, Json, Message, Outcome, Part, Request, Response, Tool, ToolChoice,
};
use toolwright_runtime::model::Model;

use crate::plan::{MAX_STEPS, Plan, PlanError, PlanTool, PlanTools, check};

/// The tool that the model calls with the plan.
const WRITE_PLAN: &str = "write_plan";

/// The usual number of plans that a model may write.
pub const MAX_ATTEMPTS: u32 = 3;

/// Maximum number of errors that the model receives at once.
const MAX_ERRORS: usize = 20;

const INSTRUCTIONS: &str = "You write plans: calls of tools as steps of a graph. Write one plan that does what the user \
    asks for, and call write_plan with it. The plan is checked, and runs later, without you: you see no results, so a step \
    gets what it needs from earlier steps by references. {\"$from\": \"step\"} in the place of a value stands for the \
    output of a step, {\"$from\": \"step/rows/0\"} for the part at the JSON Pointer /rows/0. A step refers only to steps \
    above it; steps without references to each other run at the same time. Use \"each\" to call a tool for every item of an \
    array, and \"inputs\" for values that change from run to run. Put results that the user wants into \"outputs\". Use \
    only these tools, with arguments that their parameters accept:";

/// A plan that a model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MadePlan {
    /// The plan, which is valid
    pub plan: Plan,
    /// Number of plans that the model wrote
    pub attempts: u32,
}

/// Why a model wrote no valid plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// The model did not answer
    #[error("the model did not answer: {}", .0.message)]
    Model(Box<Fault>),
    /// The last plan is invalid
    #[error("the model wrote {attempts} plan(s), and none is valid; the last one has {} error(s)", .errors.len())]
    Invalid {
        /// Number of plans that the model wrote
        attempts: u32,
        /// Everything that is wrong with the last one
        errors: Vec<PlanError>,
        /// The last one
        document: Json,
    },
}

/// Lets a model write a plan for a task with the given tools, at most `attempts` times.
pub async fn make_plan(
    model: &Model,
    task: &str,
    tools: &PlanTools,
    attempts: u32,
) -> Result<MadePlan, MakeError> {
    let definitions: Vec<Json> = tools.iter().map(PlanTool::definition).map(Json::Object).collect();
    let instructions = format!("{INSTRUCTIONS}\n\n{}", Json::Array(definitions).compact());
    let tool = Tool::function(WRITE_PLAN, Plan::schema())
        .with_description("Writes the plan. It is checked, and errors come back.");
    let mut request = Request::new([Message::user(task)])
        .with_instructions(instructions)
        .with_tools([tool.clone()])
        .with_tool_choice(ToolChoice::Tool(WRITE_PLAN.to_owned()));
    request.parallel = Some(false);
    let parameters = Parameters::compile(&tool, &[]).ok();
    let mut written = 0;
    loop {
        let response = model.respond(request.clone()).await;
        let response = response.map_err(|fault| MakeError::Model(Box::new(fault)))?;
        written += 1;
        let (message, call) = with_one_call(response, written);
        let arguments = match &call {
            Some(call) => call.arguments.clone(),
            None => Arguments::from_text(message.text()),
        };
        let document = read(&arguments, parameters.as_ref());
        let (plan, shape) = Plan::parse_partly(&document);
        let errors = check(&plan, tools, MAX_STEPS).with_shape_errors(shape).errors;
        if errors.is_empty() {
            return Ok(MadePlan { plan, attempts: written });
        }
        if written >= attempts {
            return Err(MakeError::Invalid { attempts: written, errors, document });
        }
        request.messages.push(message);
        request.messages.push(feedback(call.as_ref(), &errors));
    }
}

/// Returns the message of a response with its first call alone, and the call, which has an id.
fn with_one_call(response: Response, attempt: u32) -> (Message, Option<Call>) {
    let mut message = response.message();
    let mut first = None;
    message.parts.retain_mut(|part| match &mut part.body {
        Body::Call(call) => {
            let is_first = first.is_none();
            if is_first {
                call.id.get_or_insert_with(|| format!("plan_{attempt}"));
                first = Some(call.clone());
            }
            is_first
        }
        _ => true,
    });
    (message, first)
}

/// Reads the document that a model wrote, with the repairs of every call. What cannot be read is null.
fn read(arguments: &Arguments, parameters: Option<&Parameters>) -> Json {
    let parsed = parse(arguments);
    let Some(parameters) = parameters else { return Json::Null };
    let resolved = parameters.resolve(parsed, &CoercionOptions::default());
    if resolved.is_understood() { resolved.arguments().clone().into() } else { Json::Null }
}

fn feedback(call: Option<&Call>, errors: &[PlanError]) -> Message {
    let mut lines: Vec<String> = errors.iter().take(MAX_ERRORS).map(ToString::to_string).collect();
    if errors.len() > MAX_ERRORS {
        lines.push(format!("and {} more", errors.len() - MAX_ERRORS));
    }
    let text = format!(
        "The plan is not valid:\n{}\nCorrect it, and call write_plan again with the whole plan.",
        lines.join("\n")
    );
    match call {
        Some(call) => Message::tool(Outcome {
            call_id: call.id.clone(),
            name: Some(call.name.clone()),
            content: vec![Part::text(text)],
            error: Some(true),
        }),
        None => Message::user(text),
    }
}
