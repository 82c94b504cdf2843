//! The report of a run: its state, its outputs, its steps, and what it waits for.

use std::sync::Arc;

use toolwright_core::Json;
use toolwright_core::object;
use toolwright_json::Object;
use toolwright_runtime::redact::excerpt;

use crate::plan::{Interpreter, Plan, Step, StepError, StepResult, StepState, StepStatus};

use super::journal::{Question, RunRecord, RunStatus};
use super::memory::Reservation;
use super::replay::{NestedQuestion, Replay};
use super::scope::outermost;

/// Maximum number of bytes of a preview.
const PREVIEW_BYTES: usize = 500;

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport {
    /// The run
    pub run: RunRecord,
    /// The outputs of the plan; what has no value yet is null. Empty if they are too large, or were not asked for
    pub outputs: Object,
    /// The steps, in the order of the plan
    pub steps: Vec<StepReport>,
    /// The calls that wait for a person
    pub questions: Vec<StepQuestion>,
    /// Why the run as a whole failed, if no step did; or why the outputs of a run that succeeded cannot be read
    pub error: Option<StepError>,
    #[allow(dead_code, reason = "held until the report is dropped")]
    memory: Option<Arc<Reservation>>,
}

/// The report of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepReport {
    /// The id
    pub id: String,
    /// The name of the tool
    pub tool: String,
    /// The state, with times and counts
    pub status: StepStatus,
    /// Why it failed, was skipped or did not run
    pub reason: Option<String>,
    /// The kind of error, if it failed
    pub error_kind: Option<String>,
    /// The steps that did not run because it failed
    pub blocks: Vec<String>,
    /// The beginning of its arguments, with the values of references, in a report on request: absent with `each`, while
    /// the step waits for other steps, and at the end of a drive
    pub input: Option<Json>,
    /// Its output
    pub output: Option<Arc<Json>>,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepQuestion {
    /// The id of the step
    pub step: String,
    /// The item of its `each`
    pub item: Option<usize>,
    /// The tool of the call; of a call within the call of a step, that of the step if the question does not name one
    pub tool: String,
    /// The question
    pub question: Question,
}

impl RunReport {
    /// Reports a run. The outputs are computed if they are not given. The memory is what is reserved for the report,
    /// and for its outputs.
    pub(crate) fn new(
        run: RunRecord,
        replay: &Replay,
        nested: Vec<NestedQuestion>,
        outputs: Option<Result<Object, StepError>>,
        error: Option<StepError>,
        memory: Option<Arc<Reservation>>,
    ) -> RunReport {
        let interpreter = &replay.interpreter;
        let plan = interpreter.plan();
        let id = |step: usize| plan.steps[step].id.clone();
        let mut steps: Vec<StepReport> = Vec::with_capacity(plan.steps.len());
        for ((at, step), status) in plan.steps.iter().enumerate().zip(replay.statuses()) {
            let mut report = StepReport {
                id: step.id.clone(),
                tool: step.tool.clone(),
                status,
                reason: None,
                error_kind: None,
                blocks: Vec::new(),
                input: replay.has_inputs.then(|| input(interpreter, at)).flatten(),
                output: None,
            };
            match interpreter.result(at) {
                Some(StepResult::Succeeded(output)) => report.output = Some(Arc::clone(output)),
                Some(StepResult::Skipped { reason }) => report.reason = Some(reason.clone()),
                Some(StepResult::Failed { error, .. }) => {
                    report.reason = Some(error.message.clone());
                    report.error_kind = Some(error.kind.clone());
                }
                None if run.status.is_final() => report.status.state = StepState::Cancelled,
                Some(StepResult::Blocked { by }) => {
                    report.reason = Some(format!("the step '{}' failed", id(*by)));
                    steps[*by].blocks.push(step.id.clone());
                }
                None => {}
            }
            steps.push(report);
        }
        let questions = StepQuestion::all(plan, replay, nested);
        let (outputs, too_large) = match outputs.unwrap_or_else(|| interpreter.outputs()) {
            Ok(outputs) => (outputs, None),
            Err(too_large) => (Object::new(), Some(too_large)),
        };
        RunReport { run, outputs, steps, questions, error: error.or(too_large), memory }
    }

    /// Returns how much memory the values of the JSON form take, about. Its text takes at most as much again.
    pub fn weight(&self) -> usize {
        let questions = self.questions.iter().filter_map(|own| match &own.question {
            Question::Approval(approval) => Some(approval.arguments.weight()),
            _ => None,
        });
        self.outputs.weight() + questions.sum::<usize>()
    }

    /// Returns the state of the run.
    pub fn status(&self) -> RunStatus {
        self.run.status
    }

    /// Returns the JSON form, without the plan and the outputs of the steps.
    pub fn to_json(&self) -> Object {
        let mut out = object! {"run": &*self.run.id, "status": self.run.status.as_str()};
        out.insert_some("name", self.run.plan.name.as_deref());
        out.insert("created_ms", self.run.created_ms);
        out.insert_some("ended_ms", self.run.ended_ms);
        out.insert_some("parent", self.run.parent.as_deref());
        out.insert("outputs", self.outputs.clone());
        out.insert_some("error", self.error.as_ref().map(StepError::to_json));
        out.insert("steps", self.steps.iter().map(StepReport::to_json).collect::<Vec<Object>>());
        let questions: Vec<Object> = self.questions.iter().map(StepQuestion::to_json).collect();
        out.insert("questions", questions);
        out
    }
}

impl StepReport {
    /// Returns the JSON form. Input and output are previews: texts of limited length, without secrets.
    pub fn to_json(&self) -> Object {
        let mut out = object! {"id": self.id.as_str(), "tool": self.tool.as_str()};
        out.merge(&self.status.to_json());
        out.insert_some("reason", self.reason.as_deref());
        out.insert_some("error_kind", self.error_kind.as_deref());
        if !self.blocks.is_empty() {
            out.insert("blocks", self.blocks.iter().map(String::as_str).collect::<Vec<&str>>());
        }
        let preview = |value: &Json| excerpt::preview(value, PREVIEW_BYTES);
        out.insert_some("input_preview", self.input.as_ref().map(preview));
        out.insert_some("output_preview", self.output.as_deref().map(preview));
        out
    }
}

/// Returns the beginning of the arguments of a step.
fn input(interpreter: &Interpreter, step: usize) -> Option<Json> {
    let mut left = PREVIEW_BYTES;
    let mut cut = |value: &Json| {
        let cut = excerpt::before_excerpt(value, left);
        left = left.saturating_sub(cut.weight());
        cut
    };
    interpreter.excerpt(step, &mut cut).map(Json::Object)
}

impl StepQuestion {
    /// Returns the questions of a run, also those within its calls.
    pub(crate) fn all(
        plan: &Plan,
        replay: &Replay,
        nested: Vec<NestedQuestion>,
    ) -> Vec<StepQuestion> {
        let own = replay.questions().into_iter().map(|((step, item), question)| {
            let Step { id, tool, .. } = &plan.steps[step];
            let (step, tool) = (id.clone(), tool.clone());
            StepQuestion { step, item, tool, question: question.clone() }
        });
        let nested = nested.into_iter().filter_map(|nested| {
            let NestedQuestion { step, item, question, .. } = nested;
            let (outer, outer_item) = outermost(&step);
            let outer = plan.position(outer).filter(|at| !replay.is_abandoned(*at, outer_item))?;
            let tool = match &question {
                Question::Approval(approval) => approval.call.name.clone(),
                _ => plan.steps[outer].tool.clone(),
            };
            Some(StepQuestion { step, item, tool, question })
        });
        own.chain(nested).collect()
    }

    /// Returns the JSON form.
    pub fn to_json(&self) -> Object {
        let kind = match &self.question {
            Question::Approval(_) => "approval",
            Question::Uncertain | Question::Within => "uncertain",
        };
        let mut out = object! {"step": self.step.as_str()};
        out.insert_some("item", self.item);
        out.insert("kind", kind);
        out.insert("reason", self.question.reason());
        out.insert("tool", self.tool.as_str());
        if let Question::Approval(approval) = &self.question {
            out.insert("arguments", approval.arguments.clone());
        }
        out
    }
}
