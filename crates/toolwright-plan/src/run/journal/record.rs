//! Runs and entries as JSON, for journals that store them.

use std::sync::Arc;

use toolwright_core::document::{DocumentError, ObjectReader, items, text};
use toolwright_core::{Json, object};
use toolwright_json::{MAX_DEPTH, Object};
use toolwright_runtime::call::Approval;
use toolwright_runtime::session::Caller;

use crate::plan::{Plan, StepError};

use super::{EntryEvent, Question, RunRecord, RunStatus, StepAnswer};

/// Parses a document that contains values, each of which may have the maximum depth.
pub(crate) fn parse(text: &str) -> Result<Json, DocumentError> {
    let parsed = Json::parse_deep(text, 2 * MAX_DEPTH);
    parsed.map_err(|_| DocumentError::new("JSON"))
}

impl RunRecord {
    /// Returns what does not change in the course of the run, without id, tenant and time.
    pub(crate) fn to_record(&self) -> Object {
        let digests = self.digests.iter();
        let digests =
            digests.map(|(tool, digest)| Json::from(vec![tool.as_str(), digest.as_str()]));
        let mut record = Object::new();
        record.insert("caller", &*self.caller.id);
        record.insert("plan", self.plan.to_json());
        record.insert("inputs", (*self.inputs).clone());
        record.insert("digests", digests.collect::<Vec<Json>>());
        record.insert_some("parent", self.parent.as_deref());
        record.insert_some("request", self.request.as_deref());
        record.insert_some("resumes", self.resumes.then_some(true));
        record
    }

    /// Reads a stored record, as that of a run in progress without times.
    pub(crate) fn from_record(
        id: &str,
        tenant: &str,
        record: &Json,
    ) -> Result<RunRecord, DocumentError> {
        let fields = ObjectReader::of(record)?;
        let plan = fields
            .required("plan", |plan| Plan::parse(plan).map_err(|_| DocumentError::new("a plan")))?;
        let digest = |pair: &Json| {
            let pair = items(pair, |own| text(own).map(str::to_owned))?;
            <[String; 2]>::try_from(pair).map(Into::into).map_err(|_| DocumentError::new("a pair"))
        };
        Ok(RunRecord {
            id: id.into(),
            caller: Caller::new(fields.text("caller")?).with_tenant(tenant),
            plan: Arc::new(plan),
            inputs: Arc::new(fields.required("inputs", |value| Ok(value.clone()))?),
            digests: fields.list("digests", digest)?,
            status: RunStatus::Running,
            created_ms: 0,
            ended_ms: None,
            parent: fields.owned("parent")?,
            request: fields.owned("request")?,
            resumes: record.get("resumes").and_then(Json::as_bool) == Some(true),
        })
    }
}

impl EntryEvent {
    /// Returns the kind and the data, for a stored record.
    pub(crate) fn to_record(&self) -> (&'static str, Json) {
        let call = |started_ms: u64, attempts: u32| object! {"started_ms": started_ms, "attempts": attempts};
        match self {
            EntryEvent::Intent => ("intent", Json::Null),
            EntryEvent::Withdrawn => ("withdrawn", Json::Null),
            EntryEvent::Succeeded { output, started_ms, attempts } => {
                let mut data = call(*started_ms, *attempts);
                data.insert("output", (**output).clone());
                ("succeeded", data.into())
            }
            EntryEvent::Failed { error, started_ms, attempts } => {
                let mut data = call(*started_ms, *attempts);
                data.insert("error", error.to_json());
                ("failed", data.into())
            }
            EntryEvent::Asked(Question::Approval(approval)) => ("asked", approval.to_json()),
            EntryEvent::Asked(Question::Uncertain | Question::Within) => ("uncertain", Json::Null),
            EntryEvent::Answered { answer, by } => {
                let mut data = answer.to_json();
                if let (Json::Object(data), Some(by)) = (&mut data, by) {
                    data.insert("by", &**by);
                }
                ("answered", data)
            }
            EntryEvent::Resumed => ("resumed", Json::Null),
            EntryEvent::DriveStarted => ("drive_started", Json::Null),
            EntryEvent::DriveEnded { error } => {
                ("drive_ended", error.as_ref().map(StepError::to_json).into())
            }
        }
    }

    /// Reads a stored record.
    pub(crate) fn from_record(kind: &str, data: &Json) -> Result<EntryEvent, DocumentError> {
        let fields = || ObjectReader::of(data);
        Ok(match kind {
            "intent" => EntryEvent::Intent,
            "withdrawn" => EntryEvent::Withdrawn,
            "succeeded" => EntryEvent::Succeeded {
                output: Arc::new(fields()?.required("output", |value| Ok(value.clone()))?),
                started_ms: fields()?.count("started_ms")?,
                attempts: fields()?.count("attempts")?,
            },
            "failed" => EntryEvent::Failed {
                error: fields()?.required("error", read_error)?,
                started_ms: fields()?.count("started_ms")?,
                attempts: fields()?.count("attempts")?,
            },
            "asked" => EntryEvent::Asked(Question::Approval(Box::new(Approval::from_json(data)?))),
            "uncertain" => EntryEvent::Asked(Question::Uncertain),
            "answered" => EntryEvent::Answered {
                answer: StepAnswer::from_json(data)?,
                by: fields()?.owned("by")?,
            },
            "resumed" => EntryEvent::Resumed,
            "drive_started" => EntryEvent::DriveStarted,
            "drive_ended" if *data == Json::Null => EntryEvent::DriveEnded { error: None },
            "drive_ended" => EntryEvent::DriveEnded { error: Some(read_error(data)?) },
            _ => return Err(DocumentError::new("a known kind of entry")),
        })
    }
}

/// Reads the error of a step.
pub(crate) fn read_error(document: &Json) -> Result<StepError, DocumentError> {
    let fields = ObjectReader::of(document)?;
    Ok(StepError::new(fields.text("kind")?, fields.text("message")?))
}
