//! What workflows reply: the tools of workers, pages of a run, and how it ended.

use std::collections::BTreeMap;

use temporalio_client::errors::WorkflowGetResultError;
use temporalio_common::error::IncomingError;
use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Json, object};

use crate::plan::PlanTools;

use super::payload::Document;
use super::state::{RunState, ToolPlace, read_entry, read_tool, text};
use crate::run::PlanRunError;
use crate::run::journal::PlanJournalError;

/// Reads the tools of the workers. Of several workers with a tool, the first has its calls.
pub(super) fn read_tools(
    document: &Json,
) -> Result<(PlanTools, BTreeMap<String, ToolPlace>), DocumentError> {
    let (mut tools, mut places) = (Vec::new(), BTreeMap::new());
    let (mut unavailable, mut names) = (Vec::new(), Vec::new());
    for reply in document.as_array().unwrap_or_default() {
        let fields = ObjectReader::of(reply)?;
        let queue = fields.text("queue")?;
        for (tool, effect) in fields.list("tools", read_tool)? {
            let name = tool.tool.name.clone();
            if places.contains_key(&name) {
                continue;
            }
            let (digest, uses) = (tool.digest.clone(), tool.uses.clone());
            let place = ToolPlace { queue: queue.to_owned(), effect, digest, uses };
            places.extend(tool.exact_name.clone().map(|name| (name, place.clone())));
            places.insert(name, place);
            tools.push(tool);
        }
        unavailable.extend(fields.list("unavailable", text)?);
        names.extend(fields.list("names", text)?);
    }
    unavailable.retain(|name| !places.contains_key(name));
    let tools = PlanTools::new(tools).with_unavailable(unavailable).with_names(names);
    Ok((tools, places))
}

/// Adds a page of entries to a run. Returns the steps with calls in progress, and the number of all entries.
pub(super) fn take_page(
    found: &mut Option<RunState>,
    page: &Json,
) -> Result<(Vec<usize>, usize), DocumentError> {
    let fields = ObjectReader::of(page)?;
    if let Some(run) = fields.optional("run", RunState::from_json)? {
        *found = Some(run);
    }
    let state = found.as_mut().ok_or_else(|| DocumentError::new("a run").within("run"))?;
    state.read_end(page)?;
    state.entries.extend(fields.list("page", read_entry)?);
    let position = |step: &Json| {
        let step = step.as_u64().and_then(|at| usize::try_from(at).ok());
        step.ok_or_else(|| DocumentError::new("the position of a step"))
    };
    Ok((fields.list("running", position)?, fields.count("total")?))
}

/// Returns the end of a run from the result of its workflow.
pub(super) fn read_result(
    run: &str,
    ended: Result<Document, WorkflowGetResultError>,
) -> Result<Json, PlanRunError> {
    let details = match ended {
        Ok(result) => return Ok(result.0),
        Err(WorkflowGetResultError::Cancelled { details }) => {
            details.deserialize::<Document>().ok()
        }
        Err(WorkflowGetResultError::Failed(error)) => match &*error {
            IncomingError::Application(failure) => {
                let details = failure.details::<Document>().ok().flatten();
                let message = failure.to_string();
                Some(details.unwrap_or_else(|| ended_by_force(&message)))
            }
            error => Some(ended_by_force(&error.to_string())),
        },
        Err(WorkflowGetResultError::Terminated { .. }) => {
            Some(ended_by_force("the workflow was terminated"))
        }
        Err(WorkflowGetResultError::TimedOut) => Some(ended_by_force("the workflow timed out")),
        Err(WorkflowGetResultError::NotFound(_)) => {
            return Err(PlanJournalError::UnknownRun(run.to_owned()).into());
        }
        Err(error) => return Err(PlanRunError::Engine(format!("Temporal: {error}"))),
    };
    Ok(details.unwrap_or_else(|| object! {"status": "cancelled"}.into()).0)
}

/// The end of a run whose workflow did not end itself.
fn ended_by_force(message: &str) -> Document {
    let error = object! {"kind": "workflow", "message": message};
    object! {"status": "failed", "error": error}.into()
}
