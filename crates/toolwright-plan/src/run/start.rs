//! The start of a run, on any engine: the plan and its inputs are checked, and the record is made.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use toolwright_core::args::Parameters;
use toolwright_core::{Json, Tool};
use toolwright_json::Object;
use toolwright_runtime::session::Caller;

use crate::plan::{Plan, PlanError, PlanErrorKind, PlanTools, check};

use super::engine::{NewRun, PlanRunError};
use super::journal::{RunRecord, RunStatus};
use super::threads;

/// Checks a plan with its inputs, pins its tools, and creates the record of its run. If there are more steps than the
/// maximum, this is the only error.
pub(crate) fn check_run(
    new: NewRun,
    tools: &mut PlanTools,
    max_steps: usize,
) -> Result<RunRecord, PlanRunError> {
    let NewRun { mut plan, inputs, caller, id, request, is_deferred } = new;
    let mut errors = check(&plan, tools, max_steps).errors;
    let inputs = if plan.steps.len() > max_steps {
        Json::Null
    } else {
        complete_inputs(&plan, inputs, &mut errors)
    };
    if !errors.is_empty() {
        return Err(PlanRunError::Invalid(errors));
    }
    tools.pin(&mut plan);
    let mut record = new_record(plan, Arc::new(inputs), caller, tools, None)?;
    record.id = id.unwrap_or(record.id);
    record.request = request;
    if is_deferred {
        record.status = RunStatus::Interrupted;
    }
    Ok(record)
}

/// Does work that may take long, such as the check of a large plan, on a thread that may block.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, PlanRunError> {
    let permit = threads::heavy().await;
    let work = move || {
        let _permit = permit;
        work()
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| PlanRunError::Engine(format!("work on a plan was interrupted: {error}")))
}

/// Creates the record of a run that starts now. A plan that was changed after it was parsed is refused if its document
/// could not be read again.
pub(super) fn new_record(
    plan: Plan,
    inputs: Arc<Json>,
    caller: Caller,
    tools: &PlanTools,
    parent: Option<Arc<str>>,
) -> Result<RunRecord, PlanRunError> {
    Plan::parse(&plan.to_json().into()).map_err(PlanRunError::Invalid)?;
    Ok(RunRecord {
        id: random_id()?,
        caller,
        digests: digests(&plan, tools),
        plan: Arc::new(plan),
        inputs,
        status: RunStatus::Running,
        created_ms: now_ms(),
        ended_ms: None,
        parent,
        request: None,
        resumes: false,
    })
}

/// Checks inputs and adds the defaults of absent ones.
fn complete_inputs(plan: &Plan, inputs: Json, errors: &mut Vec<PlanError>) -> Json {
    let mut fail = |path: String, message: String| {
        errors.push(PlanError::new(PlanErrorKind::Argument, path, message));
    };
    let Json::Object(mut inputs) = inputs else {
        fail("/inputs".to_owned(), "the inputs are not an object".to_owned());
        return Json::Null;
    };
    let Some(schema) = &plan.inputs else {
        if !inputs.is_empty() {
            fail("/inputs".to_owned(), "the plan has no inputs, and some are given".to_owned());
        }
        return Object::new().into();
    };
    let tool = Tool::function("inputs", schema.clone());
    // The parser of the plan has compiled the schema before.
    if let Ok(parameters) = Parameters::compile(&tool, &[]) {
        parameters.complete(&mut inputs, &[]);
        for violation in parameters.check().violations(&inputs.clone().into()) {
            fail(format!("/inputs{}", violation.path), violation.message);
        }
    }
    inputs.into()
}

/// Returns the digest of each tool of a plan, in the order of the plan.
pub(super) fn digests(plan: &Plan, tools: &PlanTools) -> Vec<(String, String)> {
    let mut digests: Vec<(String, String)> = Vec::new();
    for name in plan.tool_names() {
        let digest = tools.get(name).and_then(|tool| tool.digest.clone());
        let is_known = digests.iter().any(|(known, _)| known == name);
        digests.extend(digest.filter(|_| !is_known).map(|digest| (name.to_owned(), digest)));
    }
    digests
}

pub(crate) fn random_id() -> Result<Arc<str>, PlanRunError> {
    let mut bytes = [0; 16];
    let random = getrandom::fill(&mut bytes);
    random.map_err(|error| PlanRunError::NoRandomness(error.to_string()))?;
    Ok(format!("plan_{:032x}", u128::from_be_bytes(bytes)).into())
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
