//! A call on its way to a worker, and how it ended, as documents.

use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Json, object};
use toolwright_json::Object;
use toolwright_runtime::call::Approval;
use toolwright_runtime::session::Caller;

use crate::plan::stored::Needs;
use crate::plan::{Plan, PlannedCall, Step};

use super::state::text;
use crate::run::StepAnswer;
use crate::run::call::CallEnd;
use crate::run::journal::Question;
use crate::run::journal::record::read_error;

/// A call that a worker makes.
pub(super) struct CallOrder {
    pub(super) run: String,
    pub(super) caller: Caller,
    /// The step, as far as its calls depend on it
    pub(super) step: Step,
    pub(super) call: PlannedCall,
    pub(super) answered: Option<(Question, StepAnswer)>,
    /// The digest of the tool when the run started
    pub(super) digest: Option<String>,
    /// Number of attempts of the run, with this one, and their maximum
    pub(super) calls: u64,
    pub(super) max_calls: u64,
    /// The parts of the output that the workflow must know
    pub(super) needs: Needs,
    /// Maximum number of bytes of the output in the reply
    pub(super) inline: usize,
}

impl CallOrder {
    pub(super) fn to_json(&self) -> Object {
        let Step { id, tool, retry, timeout_ms, idempotent, .. } = &self.step;
        let step = Step {
            tool: tool.clone(),
            retry: *retry,
            timeout_ms: *timeout_ms,
            idempotent: *idempotent,
            ..Step::default()
        };
        let mut out = object! {"run": self.run.as_str(), "tenant": &*self.caller.tenant};
        out.insert("caller", &*self.caller.id);
        out.insert("step", id.as_str());
        out.insert_some("item", self.call.item);
        out.insert("call", step.to_json());
        out.insert("arguments", self.call.arguments.clone());
        let as_handle = self.call.as_handle.iter().map(String::as_str);
        out.insert("as_handle", as_handle.collect::<Vec<&str>>());
        if let Some((question, answer)) = &self.answered {
            if let Question::Approval(approval) = question {
                out.insert("approval", approval.to_json());
            }
            out.insert("answer", answer.to_json());
        }
        out.insert_some("digest", self.digest.as_deref());
        out.insert("calls", self.calls);
        out.insert("max_calls", self.max_calls);
        out.insert("needs", self.needs.to_json());
        out.insert("inline", self.inline);
        out
    }

    pub(super) fn from_json(document: &Json) -> Result<CallOrder, DocumentError> {
        let fields = ObjectReader::of(document)?;
        let id = fields.text("step")?;
        let step = fields.required("call", |step| {
            let steps = Object::from_iter([(id.to_owned().into(), step.clone())]);
            let plan = Plan::parse(&object! {"plan": "1", "steps": steps}.into());
            let plan = plan.map_err(|_| DocumentError::new("a step"))?;
            plan.steps.into_iter().next().ok_or_else(|| DocumentError::new("a step"))
        })?;
        let approval = fields.optional("approval", Approval::from_json)?.map(Box::new);
        let question = approval.map_or(Question::Uncertain, Question::Approval);
        let answer = fields.optional("answer", StepAnswer::from_json)?;
        Ok(CallOrder {
            run: fields.text("run")?.to_owned(),
            caller: Caller::new(fields.text("caller")?).with_tenant(fields.text("tenant")?),
            step,
            call: PlannedCall {
                step: 0,
                item: fields.optional_count("item")?,
                arguments: fields.object("arguments")?.as_object().clone(),
                as_handle: fields.list("as_handle", text)?,
                calls: 1,
            },
            answered: answer.map(|answer| (question, answer)),
            digest: fields.owned("digest")?,
            calls: fields.count("calls")?,
            max_calls: fields.count("max_calls")?,
            needs: fields.required("needs", |needs| Ok(Needs::from_json(needs)))?,
            inline: fields.count("inline")?,
        })
    }
}

/// Writes how a call ended that was not cancelled: it has a result, or waits for a person.
pub(super) fn write_end(end: &CallEnd, started_ms: u64) -> Object {
    match end {
        CallEnd::Done { result, ended_ms, attempts, .. } => {
            let mut out = object! {"started_ms": started_ms, "ended_ms": *ended_ms};
            out.insert("attempts", *attempts);
            match result {
                Ok(output) => out.insert("output", output.clone()),
                Err(error) => out.insert("error", error.to_json()),
            }
            out
        }
        CallEnd::Waiting(Question::Approval(approval)) => {
            object! {"approval": approval.to_json()}
        }
        _ => object! {"within": true},
    }
}

/// Reads what [`write_end`] wrote.
pub(super) fn read_end(document: &Json) -> Result<CallEnd, DocumentError> {
    let fields = ObjectReader::of(document)?;
    if let Some(approval) = fields.optional("approval", Approval::from_json)? {
        return Ok(CallEnd::Waiting(Question::Approval(Box::new(approval))));
    }
    if fields.as_object().contains_key("within") {
        return Ok(CallEnd::Waiting(Question::Within));
    }
    let result = match fields.optional("error", read_error)? {
        Some(error) => Err(error),
        None => Ok(fields.required("output", |output| Ok(output.clone()))?),
    };
    Ok(CallEnd::Done {
        result,
        started_ms: Some(fields.count("started_ms")?),
        ended_ms: fields.count("ended_ms")?,
        attempts: fields.count("attempts")?,
    })
}
