//! A run as its workflow has it: what was started, where the tools are, and what happened to the calls so far. All of
//! it is the input of the workflow, so that a long run can continue as a new workflow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Json, Tool, ToolKind, object};
use toolwright_json::Object;
use toolwright_runtime::handle::Owner;
use toolwright_runtime::settings::Effect;

use crate::plan::{Graph, Interpreter, PlanTool, PlanTools, Resource, ResourceUse, StepError};

use crate::run::journal::record::read_error;
use crate::run::journal::{Entry, EntryEvent};
use crate::run::replay::{NestedQuestion, Replay, nested_questions, split_entries};
use crate::run::scope::split;
use crate::run::{RunRecord, RunStatus};

/// A run.
#[derive(Debug, Clone)]
pub(super) struct RunState {
    pub(super) record: RunRecord,
    pub(super) settings: RunSettings,
    /// The tools of the plan, by name
    pub(super) tools: BTreeMap<String, ToolPlace>,
    pub(super) entries: Vec<Entry>,
    /// How long calls have been in progress, in milliseconds, in earlier workflows of the run
    pub(super) active_ms: u64,
    /// Why the run as a whole failed
    pub(super) error: Option<StepError>,
}

/// Settings of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunSettings {
    /// Maximum number of concurrent calls
    pub(super) parallel: usize,
    /// A worker that has not been heard of for this long is lost
    pub(super) heartbeat: Duration,
}

/// A tool, and the task queue of the worker that has it.
#[derive(Debug, Clone)]
pub(super) struct ToolPlace {
    pub(super) queue: String,
    pub(super) effect: Effect,
    pub(super) digest: Option<String>,
    pub(super) uses: Vec<ResourceUse>,
}

impl RunState {
    pub(super) fn to_json(&self) -> Object {
        let record = &self.record;
        let mut out = object! {"run": &*record.id, "tenant": &*record.caller.tenant};
        out.insert("created_ms", record.created_ms);
        out.insert("record", record.to_record());
        out.insert("parallel", self.settings.parallel);
        out.insert("heartbeat_ms", millis(self.settings.heartbeat));
        let tools = self.tools.iter().map(|(name, place)| (name.clone().into(), place.to_json()));
        out.insert("tools", tools.collect::<Object>());
        out.insert("active_ms", self.active_ms);
        out.insert("entries", self.entries.iter().map(write_entry).collect::<Vec<Json>>());
        out
    }

    pub(super) fn from_json(document: &Json) -> Result<RunState, DocumentError> {
        let fields = ObjectReader::of(document)?;
        let (id, tenant) = (fields.text("run")?, fields.text("tenant")?);
        let mut record =
            fields.required("record", |record| RunRecord::from_record(id, tenant, record))?;
        record.created_ms = fields.count("created_ms")?;
        let tools = fields.object("tools")?.as_object().iter();
        let tools = tools.map(|(name, place)| Ok((name.to_owned(), ToolPlace::from_json(place)?)));
        Ok(RunState {
            record,
            settings: RunSettings {
                parallel: fields.count("parallel")?,
                heartbeat: Duration::from_millis(fields.count("heartbeat_ms")?),
            },
            tools: tools.collect::<Result<_, DocumentError>>()?,
            entries: fields.list("entries", read_entry)?,
            active_ms: fields.count("active_ms")?,
            error: None,
        })
    }

    /// Returns the run with its entries applied.
    pub(super) fn replay(&self) -> Replay {
        let tools = PlanTools::new(self.tools.iter().map(|(name, place)| {
            let mut tool =
                PlanTool::new(Tool { name: name.clone(), ..Tool::default() }, Vec::new());
            tool.uses.clone_from(&place.uses);
            tool
        }));
        let record = &self.record;
        let graph = Arc::new(Graph::new(&record.plan, &tools));
        let (plan, inputs) = (Arc::clone(&record.plan), Arc::clone(&record.inputs));
        let interpreter = Interpreter::with_handles(plan, graph, inputs);
        let own = self.entries.iter().filter(|entry| split(&entry.step).0.is_empty());
        let mut replay = Replay::new(record.created_ms, own.cloned().collect(), interpreter);
        replay.driven_ms = self.active_ms;
        replay
    }

    /// Returns the questions within calls.
    pub(super) fn nested_questions(&self) -> Vec<NestedQuestion> {
        let (_, nested) = split_entries(self.entries.clone());
        nested_questions(&nested, true)
    }

    /// Returns the end of the run, for the result of its workflow.
    pub(super) fn end_to_json(&self) -> Object {
        let mut out = object! {"status": self.record.status.as_str()};
        out.insert_some("ended_ms", self.record.ended_ms);
        out.insert_some("error", self.error.as_ref().map(StepError::to_json));
        out
    }

    /// Reads what [`end_to_json`](Self::end_to_json) wrote.
    pub(super) fn read_end(&mut self, document: &Json) -> Result<(), DocumentError> {
        let fields = ObjectReader::of(document)?;
        self.record.status = fields.word("status", "a status", RunStatus::parse)?;
        self.record.ended_ms = fields.optional_count("ended_ms")?;
        self.error = fields.optional("error", read_error)?;
        Ok(())
    }
}

impl RunRecord {
    /// Returns the owner of the values of the run.
    pub(super) fn owner(&self) -> Owner {
        Owner { tenant: self.caller.tenant.clone(), conversation: self.id.clone() }
    }
}

impl ToolPlace {
    fn to_json(&self) -> Json {
        let mut out = object! {"queue": self.queue.as_str(), "effect": self.effect.name()};
        out.insert_some("digest", self.digest.as_deref());
        out.insert("uses", self.uses.iter().map(write_use).collect::<Vec<Json>>());
        out.into()
    }

    fn from_json(document: &Json) -> Result<ToolPlace, DocumentError> {
        let fields = ObjectReader::of(document)?;
        Ok(ToolPlace {
            queue: fields.text("queue")?.to_owned(),
            effect: fields.word("effect", "an effect", Effect::from_name)?,
            digest: fields.owned("digest")?,
            uses: fields.list("uses", read_use)?,
        })
    }
}

/// Writes the tool of a worker, with its effect.
pub(super) fn write_tool(tool: &PlanTool, effect: Effect) -> Object {
    let mut out = object! {"name": tool.tool.name.as_str(), "effect": effect.name()};
    match &tool.tool.kind {
        ToolKind::Function(parameters) => out.insert_some("parameters", parameters.clone()),
        ToolKind::Custom(format) => out.insert("custom", format.clone().unwrap_or_default()),
        ToolKind::Hosted(definition) => out.insert("hosted", definition.clone()),
    }
    out.insert_some("output", tool.tool.output.clone());
    out.insert("hidden", tool.hidden.iter().map(String::as_str).collect::<Vec<&str>>());
    out.insert_some("digest", tool.digest.as_deref());
    out.insert_some("exact_name", tool.exact_name.as_deref());
    out.insert("uses", tool.uses.iter().map(write_use).collect::<Vec<Json>>());
    out
}

/// Reads what [`write_tool`] wrote.
pub(super) fn read_tool(document: &Json) -> Result<(PlanTool, Effect), DocumentError> {
    let fields = ObjectReader::of(document)?;
    let value = |name: &str| fields.as_object().get(name).cloned();
    let kind = match (value("custom"), value("hosted")) {
        (Some(format), _) => ToolKind::Custom(Some(format).filter(|format| !format.is_null())),
        (_, Some(definition)) => ToolKind::Hosted(definition),
        _ => ToolKind::Function(value("parameters")),
    };
    let name = fields.text("name")?.to_owned();
    let tool = Tool { name, kind, output: value("output"), ..Tool::default() };
    let mut tool = PlanTool::new(tool, fields.list("hidden", text)?);
    tool.digest = fields.owned("digest")?;
    tool.exact_name = fields.owned("exact_name")?;
    tool.uses = fields.list("uses", read_use)?;
    Ok((tool, fields.word("effect", "an effect", Effect::from_name)?))
}

/// Reads a text.
pub(super) fn text(value: &Json) -> Result<String, DocumentError> {
    value.as_str().map(str::to_owned).ok_or_else(|| DocumentError::new("text"))
}

fn write_use(used: &ResourceUse) -> Json {
    let (kind, name) = match &used.resource {
        Resource::Slot(name) => ("slot", name),
        Resource::Context(name) => ("context", name),
    };
    let mut out = object! {"writes": used.writes};
    out.insert(kind, name.as_str());
    out.into()
}

fn read_use(document: &Json) -> Result<ResourceUse, DocumentError> {
    let fields = ObjectReader::of(document)?;
    let resource = match fields.owned("slot")? {
        Some(name) => Resource::Slot(name),
        None => Resource::Context(fields.text("context")?.to_owned()),
    };
    Ok(ResourceUse { resource, writes: fields.flag("writes")? })
}

/// Writes an entry as `[step, item, time_ms, kind, data]`: a run may have many.
pub(super) fn write_entry(entry: &Entry) -> Json {
    let (kind, data) = entry.event.to_record();
    let item = entry.item.map_or(Json::Null, Json::from);
    vec![entry.step.as_str().into(), item, entry.time_ms.into(), kind.into(), data].into()
}

/// Reads what [`write_entry`] wrote.
pub(super) fn read_entry(document: &Json) -> Result<Entry, DocumentError> {
    let invalid = || DocumentError::new("an entry");
    let [step, item, time, kind, data] = document.as_array().unwrap_or_default() else {
        return Err(invalid());
    };
    let item = match item {
        Json::Null => None,
        item => Some(item.as_u64().and_then(|at| usize::try_from(at).ok()).ok_or_else(invalid)?),
    };
    let event = EntryEvent::from_record(kind.as_str().ok_or_else(invalid)?, data)?;
    Ok(Entry::new(text(step)?, item, time.as_u64().ok_or_else(invalid)?, event))
}

/// Returns a duration in milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
